// Reads the tokens of a model that sees a window of the last ones.
#include <fmt/format.h>

#include <iterator>

#include "limpid/compile/plan_store.h"
#include "limpid/compile/predictor.h"
#include "limpid/core/error.h"
#include "limpid/nn/detail/token_reader.h"

namespace limpid::nn::detail {
namespace {

// The model's input and output. Throws kShape if the Function is not of this form.
struct Sizes {
  std::int64_t context, vocabulary;
};
Sizes sizes_of(const Function& window) {
  if (window.inputs().empty() || window.outputs().empty())
    throw Error(ErrorCode::kShape,
                fmt::format("language model: expected a function from i32[context] to "
                            "f32[vocabulary], got one with {} inputs and {} outputs",
                            window.inputs().size(), window.outputs().size()));
  const Type& tokens = window.inputs().back().type;
  const Type& logits = window.type(window.outputs().front().value);
  if (tokens.dtype != Dtype::kI32 || tokens.shape.rank() != 1 || logits.dtype != Dtype::kF32 ||
      logits.shape.rank() != 1)
    throw Error(ErrorCode::kShape,
                fmt::format("language model: expected a function from i32[context] to "
                            "f32[vocabulary], got one from {} to {}",
                            to_string(tokens), to_string(logits)));
  return {tokens.shape[0], logits.shape[0]};
}

class WindowReader final : public TokenReader {
 public:
  WindowReader(const Function& window, const Params& params, const LanguageModel::Options& options)
      : sizes_(sizes_of(window)),
        most_rows_(std::min<std::int64_t>(options.sequences, kMostRows)),
        predict_(window, params, {.most_rows = most_rows_, .pool = options.pool}) {
    if (predict_.inputs().size() > 1) (void)params.at(predict_.inputs().front().name);  // missing
    for (const auto& [name, value] : params) weight_bytes_ += value.type().bytes();
  }

  std::int64_t vocabulary() const override { return sizes_.vocabulary; }

  void read(std::span<TokenSequence* const> sequences) override {
    std::vector<TokenSequence*> reading;
    std::copy_if(sequences.begin(), sequences.end(), std::back_inserter(reading),
                 [](const TokenSequence* s) { return s->unread() > 0; });
    if (reading.empty()) return;
    const Shape shape{static_cast<std::int64_t>(reading.size()), sizes_.context};
    const auto context = static_cast<std::size_t>(sizes_.context);
    const Tensor windows = Tensor::generate<std::int32_t>(shape, [&](std::span<std::int32_t> out) {
      for (std::size_t r = 0; r < reading.size(); ++r)
        fill_window(reading[r]->tokens, out.subspan(r * context, context));
    });
    const Tensor logits = predict_({windows})[0];
    for (std::size_t r = 0; r < reading.size(); ++r) {
      TokenSequence& s = *reading[r];
      s.read = s.follows = s.tokens.size();
      const auto row = logits.values<float>().subspan(r * s.logits.size(), s.logits.size());
      std::copy(row.begin(), row.end(), s.logits.begin());
    }
  }

  void move(std::size_t, std::size_t, std::size_t) override {}  // a place keeps nothing

  void prepare() override {
    const auto most = static_cast<std::size_t>(most_rows_);
    for_each_plan_rows(
        most, [&](std::size_t rows) { predict_.prepare({static_cast<std::int64_t>(rows)}); });
  }

  LanguageModel::Bytes bytes() const override {
    LanguageModel::Bytes all{.weights = weight_bytes_};
    for (const Predictor::Plan& plan : predict_.plans()) all.workspaces += plan.bytes;
    return all;
  }

 private:
  static constexpr std::int64_t kMostRows = 256;  // that a pass takes; more take several

  Sizes sizes_;
  std::int64_t most_rows_;
  Predictor predict_;
  std::size_t weight_bytes_ = 0;
};

}  // namespace

std::unique_ptr<TokenReader> window_reader(const Function& window, const Params& params,
                                           const LanguageModel::Options& options) {
  return std::make_unique<WindowReader>(window, params, options);
}

}  // namespace limpid::nn::detail

namespace limpid::nn {

void fill_window(std::span<const std::int32_t> tokens, std::span<std::int32_t> window) {
  if (tokens.empty())
    throw Error(ErrorCode::kInvalidArgument, "fill_window: expected at least one token, got none");
  const std::span<const std::int32_t> seen = tokens.last(std::min(tokens.size(), window.size()));
  const std::size_t missing = window.size() - seen.size();
  std::fill_n(window.begin(), missing, tokens.front());
  std::copy(seen.begin(), seen.end(), window.begin() + static_cast<std::ptrdiff_t>(missing));
}

}  // namespace limpid::nn
