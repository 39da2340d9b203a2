#include "limpid/data/text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "limpid/core/enum_json.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/data/text/byte_pair.h"
#include "limpid/data/text/detail/added_tokens.h"
#include "limpid/data/text/detail/byte_pair_text.h"

namespace limpid {
namespace {

constexpr std::string_view kCharacterKind = "characters";
constexpr std::string_view kByteKind = "bytes";
constexpr std::string_view kBytePair = "byte_pair";
constexpr std::string_view kTokenizerFile = "tokenizer_json";
constexpr std::int32_t kByteValues = 256;

// The number of a token.
std::int32_t number_of(const JsonView& json) {
  return static_cast<std::int32_t>(json.as_integer(0, kMaxPipelineTokens - 1));
}

[[noreturn]] void bad_tokenizer(std::string_view what) {
  throw Error(ErrorCode::kFormat, fmt::format("tokenizer: {}", what));
}

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

std::string decode_bytes(std::span<const std::int32_t> tokens) {
  std::string text;
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= kByteValues)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("tokenizer: token {} is outside of {} tokens", token, kByteValues));
    text.push_back(static_cast<char>(token));
  }
  return text;
}

// ---- byte pairs as JSON

Json json_of(const BytePairRules& rules) {
  const detail::BytePairText text = detail::to_text(rules);
  return {{"kind", kBytePair},
          {"words", name(rules.pre_tokenizer)},
          {"whole_words", rules.whole_words},
          {"tokens", text.tokens},
          {"special", text.special},
          {"merges", text.merges}};
}

BytePairRules rules_of(const JsonView& json) {
  detail::BytePairText text{.tokens = json.at("tokens").as_strings(),
                            .merges = json.at("merges").as_strings()};
  for (const JsonView& number : json.at("special").elements())
    text.special.push_back(number_of(number));
  BytePairRules rules = detail::rules_of(text);
  rules.pre_tokenizer = enum_from_json<PreTokenizer>(json.at("words"));
  rules.whole_words = json.at("whole_words").as_bool();
  return rules;
}

void check_marks(const Tokenizer::Marks& marks, std::int64_t count) {
  std::vector<std::int32_t> all = marks.more_ends;
  for (const std::optional<std::int32_t> mark : {marks.begin, marks.end})
    if (mark) all.push_back(*mark);
  for (const std::int32_t mark : all)
    if (mark < 0 || mark >= count)
      bad_tokenizer(fmt::format("special token {} is outside of {} tokens", mark, count));
}

// ---- the tokens of a text, and their bytes

// Those of parts of a text, between the special tokens.
template <class Encode>
TextTokens with_special_tokens(std::string_view text, const BytePairRules* rules,
                               const Encode& encode) {
  if (rules == nullptr) return encode(text);
  std::vector<detail::AddedToken> special;
  for (const std::int32_t id : rules->special)
    special.push_back(
        {.id = id, .text = rules->tokens[static_cast<std::size_t>(id)], .special = true});
  TextTokens all;
  detail::AddedTokens(std::move(special))
      .split(text, true,
             [&](std::optional<std::int32_t> token, std::size_t begin, std::size_t end) {
               if (token) {
                 all.ids.push_back(*token);
                 all.spans.push_back({begin, end});
                 return;
               }
               const TextTokens part = encode(text.substr(begin, end - begin));
               all.ids.insert(all.ids.end(), part.ids.begin(), part.ids.end());
               for (const TextTokens::Span& span : part.spans)
                 all.spans.push_back({begin + span.begin, begin + span.end});
             });
  return all;
}

Tokenizer::Marks marks_of(const JsonView& json) {
  const auto read = [&](const char* key) {
    const std::optional<JsonView> found = json.find(key);
    return found ? std::optional(number_of(*found)) : std::nullopt;
  };
  Tokenizer::Marks marks{.begin = read("begin"), .end = read("end")};
  if (const std::optional<JsonView> more = json.find("more_ends"))
    for (const JsonView& end : more->elements()) marks.more_ends.push_back(number_of(end));
  return marks;
}

}  // namespace

Tokenizer Tokenizer::byte_pair(BytePairRules rules, Marks marks) {
  auto scheme = std::make_shared<const BytePair>(std::move(rules));
  const auto count = static_cast<std::int32_t>(scheme->rules().tokens.size());
  check_marks(marks, count);
  return Tokenizer(Scheme(std::move(scheme)), std::move(marks));
}

Tokenizer Tokenizer::tokenizer_json(Json file, std::optional<std::int32_t> end,
                                    std::vector<std::int32_t> more_ends) {
  auto scheme = std::make_shared<const TextPipeline>(std::move(file));
  Marks marks{.begin = {}, .end = end, .more_ends = std::move(more_ends)};
  check_marks(marks, scheme->size());
  if (!scheme->before().empty()) marks.begin = scheme->before().front();
  return Tokenizer(Scheme(std::move(scheme)), std::move(marks));
}

bool Tokenizer::ends_text(std::int32_t token) const {
  return marks_.end == token || std::find(marks_.more_ends.begin(), marks_.more_ends.end(),
                                          token) != marks_.more_ends.end();
}

std::string_view Tokenizer::kind() const {
  constexpr std::string_view kKinds[] = {kCharacterKind, kByteKind, kBytePair, kTokenizerFile};
  return kKinds[scheme_.index()];
}

std::int64_t Tokenizer::size() const {
  return std::visit(Overloaded{[](const Vocabulary& vocabulary) { return vocabulary.size(); },
                               [](const Bytes&) -> std::int64_t { return kByteValues; },
                               [](const std::shared_ptr<const BytePair>& pairs) {
                                 return static_cast<std::int64_t>(pairs->rules().tokens.size());
                               },
                               [](const std::shared_ptr<const TextPipeline>& pipeline) {
                                 return pipeline->size();
                               }},
                    scheme_);
}

const BytePairRules* Tokenizer::byte_pair_rules() const {
  const auto* const pairs = std::get_if<std::shared_ptr<const BytePair>>(&scheme_);
  return pairs ? &(*pairs)->rules() : nullptr;
}

const TextPipeline* Tokenizer::pipeline() const {
  const auto* const found = std::get_if<std::shared_ptr<const TextPipeline>>(&scheme_);
  return found ? found->get() : nullptr;
}

Tensor Tokenizer::encode(std::string_view text) const {
  const auto tensor_of = [](const auto& tokens) {
    return Tensor::generate<std::int32_t>(Shape{static_cast<std::int64_t>(tokens.size())},
                                          [&](std::span<std::int32_t> out) {
                                            for (std::size_t i = 0; i < tokens.size(); ++i)
                                              out[i] = tokens[i];
                                          });
  };
  return std::visit(
      Overloaded{[&](const Vocabulary& vocabulary) { return vocabulary.encode(text); },
                 [&](const Bytes&) {
                   return tensor_of(
                       std::span(reinterpret_cast<const unsigned char*>(text.data()), text.size()));
                 },
                 [&](const std::shared_ptr<const BytePair>& pairs) {
                   return tensor_of(pairs->encode(text));
                 },
                 [&](const std::shared_ptr<const TextPipeline>& pipeline) {
                   return tensor_of(pipeline->encode(text, {}).ids);
                 }},
      scheme_);
}

TextTokens Tokenizer::tokens(std::string_view text, const EncodeOptions& options) const {
  if (const TextPipeline* const file = pipeline()) return file->encode(text, options);
  TextTokens all = with_special_tokens(text, options.special ? byte_pair_rules() : nullptr,
                                       [&](std::string_view part) {
                                         const Tensor encoded = encode(part);
                                         const auto ids = encoded.values<std::int32_t>();
                                         TextTokens tokens{.ids = {ids.begin(), ids.end()}};
                                         // Each token is the bytes that it decodes to.
                                         std::size_t place = 0;
                                         for (const std::int32_t id : ids) {
                                           const std::size_t end = place + decode({&id, 1}).size();
                                           tokens.spans.push_back({place, end});
                                           place = end;
                                         }
                                         return tokens;
                                       });
  if (options.whole && marks_.begin) {
    all.ids.insert(all.ids.begin(), *marks_.begin);
    all.spans.insert(all.spans.begin(), TextTokens::Span{});
  }
  if (!options.spans) all.spans.clear();
  return all;
}

std::string Tokenizer::decode(std::span<const std::int32_t> tokens) const {
  return std::visit(
      Overloaded{
          [&](const Vocabulary& vocabulary) { return vocabulary.decode(tokens); },
          [&](const Bytes&) { return decode_bytes(tokens); },
          [&](const std::shared_ptr<const BytePair>& pairs) { return pairs->decode(tokens); },
          [&](const std::shared_ptr<const TextPipeline>& pipeline) {
            return pipeline->decode(tokens);
          }},
      scheme_);
}

std::string Tokenizer::text(std::span<const std::int32_t> tokens, bool skip_special) const {
  if (const TextPipeline* const file = pipeline()) return file->text(tokens, skip_special);
  const BytePairRules* const rules = skip_special ? byte_pair_rules() : nullptr;
  if (rules == nullptr) return decode(tokens);
  std::vector<std::int32_t> kept;
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(kept), [&](std::int32_t token) {
    return std::find(rules->special.begin(), rules->special.end(), token) == rules->special.end();
  });
  return decode(kept);
}

Json Tokenizer::config() const {
  Json json = std::visit(
      Overloaded{
          [](const Vocabulary& vocabulary) {
            return Json{{"kind", kCharacterKind}, {"characters", vocabulary.characters()}};
          },
          [](const Bytes&) {
            return Json{{"kind", kByteKind}};
          },
          [](const std::shared_ptr<const BytePair>& pairs) { return json_of(pairs->rules()); },
          [](const std::shared_ptr<const TextPipeline>& pipeline) {
            // As a text: a vocabulary is a larger object than a configuration may have.
            return Json{{"kind", kTokenizerFile}, {"file", pipeline->json().dump()}};
          }},
      scheme_);
  if (marks_.begin && !pipeline()) json["begin"] = *marks_.begin;
  if (marks_.end) json["end"] = *marks_.end;
  if (!marks_.more_ends.empty()) json["more_ends"] = marks_.more_ends;
  return json;
}

Tokenizer Tokenizer::from_config(const JsonView& json) {
  const std::string& kind = json.at("kind").as_string();
  if (kind == kByteKind) return bytes();
  if (kind == kCharacterKind) return Tokenizer(Vocabulary(json.at("characters").as_strings()));
  if (kind == kBytePair) return byte_pair(rules_of(json), marks_of(json));
  if (kind == kTokenizerFile)
    return tokenizer_json(Json::parse(json.at("file").as_string(), kTokenizerJson),
                          marks_of(json).end, marks_of(json).more_ends);
  bad_tokenizer(fmt::format("there is no kind {}", in_quotes(kind)));
}

bool Tokenizer::operator==(const Tokenizer& other) const {
  const BytePairRules* const mine = byte_pair_rules();
  const BytePairRules* const others = other.byte_pair_rules();
  if (pipeline() && other.pipeline())
    return pipeline()->json() == other.pipeline()->json() && marks_ == other.marks_;
  const bool same = mine && others ? *mine == *others : scheme_ == other.scheme_;
  return same && marks_ == other.marks_;
}

}  // namespace limpid
