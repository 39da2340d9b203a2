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
  std::map<std::int64_t, Predictor> predictors;  // by length

  const Predictor& predictor(std::int64_t length) {
    const std::lock_guard lock(mutex);
    auto found = predictors.find(length);
    if (found == predictors.end())
      found = predictors
                  .try_emplace(length, with_narrow_params(net.function(length), params), params,
                               Predictor::Options{
                                   .most_rows = std::max<std::int64_t>(kTokensOfRun / length, 1),
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

std::vector<std::int32_t> TextEmbedder::tokens(std::string_view text, bool truncate) const {
  if (!state_->tokenizer) throw Error(ErrorCode::kInvalidArgument, state_->no_tokenizer);
  if (text.size() > state_->most_bytes) {
    if (!truncate)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("the text has {} bytes, expected at most {}, as the model takes {} "
                              "tokens; truncate keeps the first ones",
                              text.size(), state_->most_bytes, state_->net.context));
    std::size_t end = state_->most_bytes;
    while (end > 0 && continues_character(text[end])) --end;
    text = text.substr(0, end);
  }
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
                                                std::int64_t length) {
  const auto n = static_cast<std::int64_t>(numbers.size());
  std::vector<std::int32_t> tokens(numbers.size() * static_cast<std::size_t>(length)), counts;
  for (std::size_t r = 0; r < numbers.size(); ++r) {
    const std::vector<std::int32_t>& text = texts[numbers[r]];
    std::copy(text.begin(), text.end(), tokens.begin() + static_cast<std::ptrdiff_t>(r) * length);
    counts.push_back(static_cast<std::int32_t>(text.size()));
  }
  return {Tensor::from<std::int32_t>({n, length}, tokens), Tensor::from<std::int32_t>({n}, counts)};
}

Tensor TextEmbedder::operator()(std::span<const std::vector<std::int32_t>> texts) const {
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
    const Tensor made = state_->predictor(length)(padded_inputs(texts, places, length))[0];
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

const Predictor& TextEmbedder::predictor(std::int64_t length) const {
  return state_->predictor(length);
}

std::size_t TextEmbedder::bytes() const {
  const std::lock_guard lock(state_->mutex);
  std::size_t bytes = state_->packings->bytes();
  for (const auto& [length, predictor] : state_->predictors)
    for (const Predictor::Plan& plan : predictor.plans()) bytes += plan.bytes;
  return bytes;
}

}  // namespace limpid
