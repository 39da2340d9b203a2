#include "limpid/data/text/text_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/utf8.h"
#include "limpid/data/text/detail/added_tokens.h"
#include "limpid/data/text/detail/text_steps.h"
#include "limpid/data/text/detail/token_models.h"

namespace limpid {
namespace {

using detail::AddedToken;
using detail::AddedTokens;
using detail::AlignedText;
using detail::FoundTokens;
using detail::Origin;
using detail::Piece;

const Json& no_json() {
  static const Json kNothing;
  return kNothing;
}

// A member, or null.
JsonView member_or_null(const JsonView& json, std::string_view key) {
  const std::optional<JsonView> found = json.find(key);
  return found ? *found : JsonView(no_json(), std::string(key));
}

std::int32_t token_number(const JsonView& json) {
  return static_cast<std::int32_t>(json.as_integer(0, kMaxPipelineTokens - 1));
}

// ---- templates

// The tokens around one text, and around two.
struct Frame {
  std::vector<std::int32_t> before = {}, after = {};
  std::optional<PairTemplate> pair = {};
};

// nullopt unless it is the text A, then the text B, with the types 0 and then 1, or 0 alone.
std::optional<PairTemplate> pair_of_template(const JsonView& json) {
  const std::optional<JsonView> parts = json.find("pair");
  if (!parts || !parts->value().is_array()) return {};
  PairTemplate pair;
  std::size_t texts = 0;  // so far
  std::int64_t type = 0;
  const auto take_type = [&](const JsonView& part) {
    const std::optional<JsonView> given = part.find("type_id");
    const std::int64_t next = given ? given->as_integer() : 0;
    if (next == type) return true;
    if (next != 1 || texts == 0) return false;
    type = 1;
    if (texts == 1) pair.second = pair.between.size();
    return texts == 1;
  };
  for (const JsonView& part : parts->elements()) {
    if (const std::optional<JsonView> sequence = part.find("Sequence")) {
      if (texts == 2 || sequence->at("id").as_string() != (texts == 0 ? "A" : "B") ||
          !take_type(*sequence))
        return {};
      ++texts;
      continue;
    }
    const JsonView special = part.at("SpecialToken");
    if (!take_type(special)) return {};
    std::vector<std::int32_t>& side = texts == 0   ? pair.before
                                      : texts == 1 ? pair.between
                                                   : pair.after;
    for (const JsonView& id :
         json.at("special_tokens").at(special.at("id").as_string()).at("ids").elements())
      side.push_back(token_number(id));
  }
  return texts == 2 ? std::optional(pair) : std::nullopt;
}

Frame frame_of_template(const JsonView& json) {
  Frame frame{.pair = pair_of_template(json)};
  bool behind = false;
  for (const JsonView& part : json.at("single").elements()) {
    if (const std::optional<JsonView> sequence = part.find("Sequence")) {
      if (behind || sequence->at("id").as_string() != "A") part.refuse("the text 'A' once");
      behind = true;
      continue;
    }
    const std::string& name = part.at("SpecialToken").at("id").as_string();
    for (const JsonView& id : json.at("special_tokens").at(name).at("ids").elements())
      (behind ? frame.after : frame.before).push_back(token_number(id));
  }
  return frame;
}

// Of a token before the text and one after it; between two texts the second one, some times.
Frame frame_of_ends(const JsonView& step, std::size_t between,
                    const std::optional<std::size_t>& second) {
  const std::int32_t first = token_number(step.at("cls").at(1)),
                     last = token_number(step.at("sep").at(1));
  return {{first},
          {last},
          PairTemplate{{first}, std::vector<std::int32_t>(between, last), {last}, second}};
}

Frame frame_of(const JsonView& json) {
  Frame frame;
  bool found = false;
  for (const JsonView& step : detail::steps_of(json, "processors")) {
    const std::string type = detail::type_of_step(step);
    if (type == "ByteLevel") continue;  // changes offsets only
    if (found) detail::unsupported_step(step);
    found = true;
    if (type == "TemplateProcessing")
      frame = frame_of_template(step);
    else if (type == "BertProcessing")
      frame = frame_of_ends(step, 1, 1);
    else if (type == "RobertaProcessing")
      frame = frame_of_ends(step, 2, {});
    else
      detail::unsupported_step(step);
  }
  return frame;
}

// ---- tokens

AddedToken added_token(const JsonView& json) {
  const bool special = detail::flag_or(json, "special", false);
  return {.id = token_number(json.at("id")),
          .text = json.at("content").as_string(),
          .special = special,
          .single_word = detail::flag_or(json, "single_word", false),
          .left = detail::flag_or(json, "lstrip", false),
          .right = detail::flag_or(json, "rstrip", false),
          .normalized = detail::flag_or(json, "normalized", !special)};
}

std::set<std::string, std::less<>> special_texts(const JsonView& file) {
  std::set<std::string, std::less<>> texts;
  const JsonView list = member_or_null(file, "added_tokens");
  if (list.value().is_null()) return texts;
  for (const JsonView& element : list.elements())
    if (AddedToken token = added_token(element); token.special) texts.insert(std::move(token.text));
  return texts;
}

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

}  // namespace

struct TextPipeline::State {
  Json json;
  std::vector<detail::Normalizer> normalizers;
  std::vector<detail::Splitter> splitters;
  std::vector<detail::Decoder> decoders;
  std::unique_ptr<detail::TokenModel> model;
  std::vector<AddedToken> added;
  AddedTokens found_first, found_normalized;
  Frame frame;
  std::vector<std::string_view> tokens;  // by number
  std::vector<bool> special;

  explicit State(Json content) : json(std::move(content)) {
    const JsonView view(json);
    normalizers = detail::normalizers_of(member_or_null(view, "normalizer"));
    splitters = detail::splitters_of(member_or_null(view, "pre_tokenizer"));
    decoders = detail::decoders_of(member_or_null(view, "decoder"));
    model = detail::token_model_of(view.at("model"), special_texts(view));
    frame = frame_of(member_or_null(view, "post_processor"));
    add_tokens(member_or_null(view, "added_tokens"));
    number_tokens();
    std::vector<const std::vector<std::int32_t>*> sides{&frame.before, &frame.after};
    if (const auto& pair = frame.pair)
      sides.insert(sides.end(), {&pair->before, &pair->between, &pair->after});
    for (const std::vector<std::int32_t>* side : sides)
      for (const std::int32_t token : *side)
        if (static_cast<std::size_t>(token) >= tokens.size())
          throw Error(ErrorCode::kFormat,
                      fmt::format("post_processor: token {} is outside of {} tokens", token,
                                  tokens.size()));
  }

  void add_tokens(const JsonView& list) {
    if (list.value().is_null()) return;
    std::vector<AddedToken> first, later;
    for (const JsonView& element : list.elements()) {
      AddedToken token = added_token(element);
      if (token.text.empty()) continue;
      // A token of the model keeps its number there.
      if (const std::int32_t known = model->find(token.text); known >= 0) token.id = known;
      added.push_back(token);
      if (!token.normalized) {
        first.push_back(std::move(token));
        continue;
      }
      token.text = detail::normalized(normalizers, {token.text}).text;
      if (!token.text.empty()) later.push_back(std::move(token));
    }
    found_first = AddedTokens(std::move(first));
    found_normalized = AddedTokens(std::move(later));
  }

  void number_tokens() {
    const auto put = [&](std::int32_t id, std::string_view text) {
      const auto place = static_cast<std::size_t>(id);
      if (place >= tokens.size()) {
        tokens.resize(place + 1);
        special.resize(place + 1);
      }
      tokens[place] = text;
    };
    for (const auto& [text, id] : model->ids()) put(id, text);
    for (const AddedToken& token : added) {
      put(token.id, token.text);
      if (token.special) special[static_cast<std::size_t>(token.id)] = true;
    }
    if (tokens.empty()) throw Error(ErrorCode::kFormat, "model.vocab: there are no tokens");
  }

  std::string decoded(std::vector<std::string> texts, bool whole) const {
    detail::DecodedTokens all{.texts = std::move(texts), .whole = whole};
    for (const detail::Decoder& decoder : decoders) decoder(all);
    std::string text;
    for (std::size_t i = 0; i < all.texts.size(); ++i) {
      if (decoders.empty() && (i > 0 || !whole)) text += ' ';
      text += all.texts[i];
    }
    return text;
  }

  std::size_t checked(std::int32_t token) const {
    if (token < 0 || static_cast<std::size_t>(token) >= tokens.size())
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("tokenizer: token {} is outside of {} tokens", token, tokens.size()));
    return static_cast<std::size_t>(token);
  }
};

// Encodes one text.
class TextPipeline::Encoder {
 public:
  Encoder(const State& state, const EncodeOptions& options) : state_(state), options_(options) {
    found_.tracks = options.spans;
    for (std::size_t i = 0; i < state.splitters.size(); ++i)
      sinks_.emplace_back([this, i](const Piece& piece) { split(piece, i + 1); });
  }

  void encode(std::string_view text) {
    if (options_.spans)
      for (std::size_t i = 0; i < text.size(); ++i)
        origins_.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + 1)});
    const Piece whole{text, options_.spans ? origins_.data() : nullptr, true};
    split_added(state_.found_first, whole, [&](const Piece& part) {
      if (state_.normalizers.empty()) return split_added(state_.found_normalized, part, words_);
      const AlignedText changed = detail::normalized(state_.normalizers, part);
      split_added(state_.found_normalized, changed.piece(part.starts), words_);
    });
  }

  FoundTokens& found() { return found_; }

 private:
  void split_added(const AddedTokens& added, const Piece& piece, const detail::PieceSink& between) {
    added.split(piece.text, options_.special,
                [&](std::optional<std::int32_t> token, std::size_t begin, std::size_t end) {
                  if (token)
                    found_.add(*token, piece, begin, end);
                  else
                    between(piece.part(begin, end));
                });
  }

  void split(const Piece& piece, std::size_t step) {
    if (step < state_.splitters.size())
      state_.splitters[step](piece, sinks_[step]);
    else
      add_word(piece);
  }

  void add_word(const Piece& word) {
    constexpr std::size_t kLongest = 64;  // of the words that are remembered, in bytes
    if (options_.spans || word.text.size() > kLongest || !state_.model->is_slow())
      return state_.model->encode(word, found_);
    if (const auto known = known_.find(word.text); known != known_.end()) {
      for (std::size_t i = 0; i < known->second.second; ++i)
        found_.ids.push_back(found_.ids[known->second.first + i]);
      return;
    }
    const std::size_t begin = found_.ids.size();
    state_.model->encode(word, found_);
    known_.emplace(word.text, std::pair(begin, found_.ids.size() - begin));
  }

  const State& state_;
  const EncodeOptions& options_;
  std::vector<Origin> origins_ = {};
  FoundTokens found_ = {};
  // The place in the result of the tokens of a word seen before, and their number.
  std::unordered_map<std::string, std::pair<std::size_t, std::size_t>, TextHash, std::equal_to<>>
      known_ = {};
  std::vector<detail::PieceSink> sinks_ = {};
  const detail::PieceSink words_ = [this](const Piece& piece) { split(piece, 0); };
};

TextPipeline::TextPipeline(Json json) : state_(std::make_unique<State>(std::move(json))) {}
TextPipeline::~TextPipeline() = default;

const Json& TextPipeline::json() const { return state_->json; }
std::int64_t TextPipeline::size() const { return static_cast<std::int64_t>(state_->tokens.size()); }
const std::vector<std::int32_t>& TextPipeline::before() const { return state_->frame.before; }
const std::vector<std::int32_t>& TextPipeline::after() const { return state_->frame.after; }
const std::optional<PairTemplate>& TextPipeline::pair() const { return state_->frame.pair; }

bool TextPipeline::is_special(std::int32_t token) const {
  return state_->special[state_->checked(token)];
}
std::string_view TextPipeline::token(std::int32_t token) const {
  return state_->tokens[state_->checked(token)];
}

TextTokens TextPipeline::encode(std::string_view text, const EncodeOptions& options) const {
  if (const std::size_t fault = utf8_fault(text); fault < text.size())
    throw Error(ErrorCode::kFormat,
                fmt::format("tokenizer: the text is not UTF-8: byte {}", fault + 1));
  Encoder encoder(*state_, options);
  encoder.encode(text);
  TextTokens tokens{.ids = std::move(encoder.found().ids)};
  for (const Origin& origin : encoder.found().origins)
    tokens.spans.push_back({origin.begin, origin.end});
  if (!options.whole) return tokens;
  tokens.ids.insert(tokens.ids.begin(), before().begin(), before().end());
  tokens.ids.insert(tokens.ids.end(), after().begin(), after().end());
  if (!options.spans) return tokens;
  tokens.spans.insert(tokens.spans.begin(), before().size(), {0, 0});
  tokens.spans.insert(tokens.spans.end(), after().size(), {text.size(), text.size()});
  return tokens;
}

std::string TextPipeline::decode(std::span<const std::int32_t> tokens) const {
  std::string bytes;
  for (const std::int32_t token : tokens)
    bytes += state_->decoded({std::string(state_->tokens[state_->checked(token)])}, false);
  return bytes;
}

std::string TextPipeline::text(std::span<const std::int32_t> tokens, bool skip_special) const {
  std::vector<std::string> texts;
  for (const std::int32_t token : tokens) {
    const std::size_t place = state_->checked(token);
    // A number without a token has no text.
    if (state_->tokens[place].empty() || (skip_special && state_->special[place])) continue;
    texts.emplace_back(state_->tokens[place]);
  }
  return state_->decoded(std::move(texts), true);
}

}  // namespace limpid
