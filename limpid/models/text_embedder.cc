#include "limpid/models/text_embedder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "limpid/compile/packings.h"
#include "limpid/core/error.h"
#include "limpid/core/json.h"
#include "limpid/core/utf8.h"
#include "limpid/models/prompt.h"
#include "limpid/transforms/quantize.h"

namespace limpid {
namespace {

// Of all texts that one run computes, so that its workspace stays in the cache.
constexpr std::int64_t kTokensOfRun = 2048;
// A text is encoded up to four times as many bytes as its tokens can have, as spaces are in none:
// the work for a text of any length has a bound.
constexpr std::size_t kBytesOfToken = 16;

std::vector<std::string> labels_of(const Model& model) {
  const Json config = Json::parse(model.config);
  const Json* const labels = config.find("labels");
  return labels ? JsonView(*labels, "labels").as_strings() : std::vector<std::string>{};
}

}  // namespace

std::optional<nn::TextEncoder> text_encoder_of(const Model& model) {
  const std::optional<Json> config = Json::try_parse(model.config);
  const Json* const kind = config ? config->find("model") : nullptr;
  if (!kind || *kind != "text_encoder") return std::nullopt;
  return nn::TextEncoder::from_config(model.config);
}

struct TextEmbedder::State {
  nn::TextEncoder net;
  Params params;
  Options options;
  std::optional<Tokenizer> tokenizer;
  std::string no_tokenizer;    // the reason
  std::size_t most_bytes = 0;  // of a text that is encoded
  std::vector<std::string> labels;
  std::shared_ptr<Packings> packings = std::make_shared<Packings>();
  std::mutex mutex;
  std::map<std::pair<std::int64_t, bool>, Predictor> predictors;  // by length, and of pairs

  std::string_view bounded(std::string_view text, bool truncate) const;

  const Predictor& predictor(std::int64_t length, bool pair) {
    const std::lock_guard lock(mutex);
    auto found = predictors.find({length, pair});
    if (found == predictors.end())
      found =
          predictors
              .try_emplace(
                  {length, pair}, with_narrow_params(net.function(length, pair), params), params,
                  Predictor::Options{.most_rows = std::max<std::int64_t>(kTokensOfRun / length, 1),
                                     .pool = options.pool,
                                     .most_runs = options.most_runs,
                                     .shared = {},
                                     .compile = {.packings = packings}})
              .first;
    return found->second;
  }
};

TextEmbedder::TextEmbedder(const Model& model, const Options& options) {
  const std::optional<nn::TextEncoder> net = text_encoder_of(model);
  if (!net)
    throw Error(ErrorCode::kInvalidArgument,
                "expected a text encoder, such as a BERT, to embed texts with; this model is none");
  state_ = std::make_unique<State>();
  state_->net = *net;
  state_->params = model.params;
  state_->options = options;
  state_->labels = labels_of(model);
  try {
    state_->tokenizer = tokenizer_of(model);
    state_->most_bytes = static_cast<std::size_t>(net->context) *
                         std::max(longest_token(*state_->tokenizer), kBytesOfToken) * 4;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    state_->no_tokenizer = error.what();
  }
}
TextEmbedder::~TextEmbedder() = default;
TextEmbedder::TextEmbedder(TextEmbedder&&) noexcept = default;
TextEmbedder& TextEmbedder::operator=(TextEmbedder&&) noexcept = default;

const nn::TextEncoder& TextEmbedder::net() const { return state_->net; }
const std::vector<std::string>& TextEmbedder::labels() const { return state_->labels; }
std::int64_t TextEmbedder::size() const {
  return state_->net.classes > 0 ? state_->net.classes : state_->net.width;
}

// A text that is not much longer than the model takes: its beginning if it may be truncated.
std::string_view TextEmbedder::State::bounded(std::string_view text, bool truncate) const {
  if (!tokenizer) throw Error(ErrorCode::kInvalidArgument, no_tokenizer);
  if (text.size() <= most_bytes) return text;
  if (!truncate)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("the text has {} bytes, expected at most {}, as the model takes {} "
                            "tokens; truncate keeps the first ones",
                            text.size(), most_bytes, net.context));
  std::size_t end = most_bytes;
  while (end > 0 && continues_character(text[end])) --end;
  return text.substr(0, end);
}

std::vector<std::int32_t> TextEmbedder::tokens(std::string_view text, bool truncate) const {
  text = state_->bounded(text, truncate);
  std::vector<std::int32_t> tokens =
      state_->tokenizer->tokens(text, {.special = true, .whole = true}).ids;
  const auto most = static_cast<std::size_t>(state_->net.context);
  if (tokens.size() <= most) return tokens;
  if (!truncate)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("the text has {} tokens, expected at most {}, as the model takes; "
                            "truncate keeps the first ones",
                            tokens.size(), most));
  const TextPipeline* const pipeline = state_->tokenizer->pipeline();
  const std::size_t after = pipeline ? std::min(pipeline->after().size(), most) : 0;
  tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(most - after),
               tokens.end() - static_cast<std::ptrdiff_t>(after));
  return tokens;
}

TextEmbedder::Pairs TextEmbedder::pairs(std::string_view query,
                                        std::span<const std::string> documents,
                                        bool truncate) const {
  query = state_->bounded(query, truncate);
  const TextPipeline* const pipeline = state_->tokenizer->pipeline();
  if (!pipeline || !pipeline->pair())
    throw Error(ErrorCode::kInvalidArgument,
                "expected a tokenizer with a template of two texts; this one has none");
  const PairTemplate& around = *pipeline->pair();
  const auto encoded = [&](std::string_view text) {
    return state_->tokenizer->tokens(text, {.special = true}).ids;
  };
  const std::vector<std::int32_t> first = encoded(query);
  const std::size_t fixed = around.before.size() + around.between.size() + around.after.size();
  const auto context = static_cast<std::size_t>(state_->net.context);
  const std::size_t most = context > fixed ? context - fixed : 0;
  Pairs pairs;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    try {
      const std::vector<std::int32_t> second = encoded(state_->bounded(documents[i], truncate));
      std::size_t a = first.size(), b = second.size();
      if (a + b > most) {
        if (!truncate)
          throw Error(
              ErrorCode::kInvalidArgument,
              fmt::format("the pair has {} tokens, expected at most {}, as the model takes; "
                          "truncate keeps the first ones of each text",
                          a + b + fixed, context));
        std::size_t& shorter = a > b ? b : a;
        std::size_t& longer = a > b ? a : b;
        longer = std::max(shorter, most - std::min(most, shorter));
        if (shorter + longer > most) {
          shorter = most / 2;
          longer = shorter + most % 2;
        }
      }
      std::vector<std::int32_t> text;
      const auto add = [&](const std::vector<std::int32_t>& tokens, std::size_t count) {
        text.insert(text.end(), tokens.begin(),
                    tokens.begin() + static_cast<std::ptrdiff_t>(count));
      };
      add(around.before, around.before.size());
      add(first, a);
      const std::size_t middle = text.size();
      add(around.between, around.between.size());
      add(second, b);
      add(around.after, around.after.size());
      if (has_second_type())
        pairs.seconds.push_back(
            static_cast<std::int32_t>(around.second ? middle + *around.second : text.size()));
      pairs.texts.push_back(std::move(text));
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("document {}: {}", i, error.what()));
    }
  }
  return pairs;
}

void TextEmbedder::check_tokens(std::span<const std::int32_t> tokens) const {
  const nn::TextEncoder& net = state_->net;
  if (tokens.empty() || tokens.size() > static_cast<std::size_t>(net.context))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("expected 1 to {} tokens, got {}", net.context, tokens.size()));
  for (const std::int32_t token : tokens)
    if (token < 0 || token >= net.vocabulary)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("expected a token of 0 to {}, got {}", net.vocabulary - 1, token));
}

std::vector<Tensor> TextEmbedder::padded_inputs(std::span<const std::vector<std::int32_t>> texts,
                                                std::span<const std::size_t> numbers,
                                                std::int64_t length,
                                                std::span<const std::int32_t> seconds) {
  const auto n = static_cast<std::int64_t>(numbers.size());
  std::vector<std::int32_t> tokens(numbers.size() * static_cast<std::size_t>(length)), counts,
      starts;
  for (std::size_t r = 0; r < numbers.size(); ++r) {
    const std::vector<std::int32_t>& text = texts[numbers[r]];
    std::copy(text.begin(), text.end(), tokens.begin() + static_cast<std::ptrdiff_t>(r) * length);
    counts.push_back(static_cast<std::int32_t>(text.size()));
    if (!seconds.empty()) starts.push_back(seconds[numbers[r]]);
  }
  std::vector<Tensor> inputs{Tensor::from<std::int32_t>({n, length}, tokens),
                             Tensor::from<std::int32_t>({n}, counts)};
  if (!seconds.empty()) inputs.push_back(Tensor::from<std::int32_t>({n}, starts));
  return inputs;
}

Tensor TextEmbedder::operator()(std::span<const std::vector<std::int32_t>> texts,
                                std::span<const std::int32_t> seconds) const {
  std::map<std::int64_t, std::vector<std::size_t>> by_length;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    try {
      check_tokens(texts[i]);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("text {}: {}", i, error.what()));
    }
    by_length[state_->net.padded(static_cast<std::int64_t>(texts[i].size()))].push_back(i);
  }
  const auto width = static_cast<std::size_t>(size());
  std::vector<float> rows(texts.size() * width);
  for (const auto& [length, places] : by_length) {
    const Tensor made = state_->predictor(
        length, !seconds.empty())(padded_inputs(texts, places, length, seconds))[0];
    const std::span<const float> values = made.values<float>();
    for (std::size_t r = 0; r < places.size(); ++r)
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(r * width), width,
                  rows.begin() + static_cast<std::ptrdiff_t>(places[r] * width));
  }
  return Tensor::from<float>({static_cast<std::int64_t>(texts.size()), size()}, rows);
}

Tensor TextEmbedder::operator()(const std::vector<std::string>& texts, bool truncate) const {
  std::vector<std::vector<std::int32_t>> all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    try {
      all.push_back(tokens(texts[i], truncate));
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("text {}: {}", i, error.what()));
    }
  }
  return (*this)(all);
}

std::vector<std::int64_t> TextEmbedder::lengths() const {
  std::vector<std::int64_t> all{state_->net.padded(1)};
  while (all.back() < state_->net.context) all.push_back(state_->net.padded(all.back() + 1));
  return all;
}

const Predictor& TextEmbedder::predictor(std::int64_t length, bool pair) const {
  return state_->predictor(length, pair);
}

std::size_t TextEmbedder::bytes() const {
  const std::lock_guard lock(state_->mutex);
  std::size_t bytes = state_->packings->bytes();
  for (const auto& [kind, predictor] : state_->predictors)
    for (const Predictor::Plan& plan : predictor.plans()) bytes += plan.bytes;
  return bytes;
}

}  // namespace limpid
