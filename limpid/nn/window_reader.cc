// Reads the tokens of a model that sees a window of the last ones.
#include <fmt/format.h>

#include <map>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/nn/detail/token_reader.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/vmap.h"

namespace limpid::nn::detail {
namespace {

class WindowReader final : public TokenReader {
 public:
  WindowReader(const Function& window, const Params& params, const LanguageModel::Options& options)
      : bound_(bind(window, params)),
        pool_(options.pool),
        places_(static_cast<std::size_t>(options.sequences)) {
    if (bound_.inputs().size() > 1) (void)params.at(bound_.inputs().front().name);  // it is missing
    const Type& tokens = bound_.inputs().back().type;
    const Type& logits = bound_.type(bound_.outputs().front().value);
    if (tokens.dtype != Dtype::kI32 || tokens.shape.rank() != 1 || logits.dtype != Dtype::kF32 ||
        logits.shape.rank() != 1)
      throw Error(ErrorCode::kShape,
                  fmt::format("language model: expected a function from i32[context] to "
                              "f32[vocabulary], got one from {} to {}",
                              to_string(tokens), to_string(logits)));
    context_ = static_cast<std::size_t>(tokens.shape[0]);
    vocabulary_ = static_cast<std::size_t>(logits.shape[0]);
    for (const auto& [name, value] : params) weight_bytes_ += value.bytes().size();
    tokens_.resize(places_ * context_);
    logits_.resize(places_ * vocabulary_);
    reading_.reserve(places_);
  }

  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(vocabulary_); }

  void read(std::span<TokenSequence* const> sequences) override {
    reading_.clear();
    for (TokenSequence* s : sequences) {
      if (s->unread() == 0) continue;
      fill_window(s->tokens, std::span(tokens_).subspan(reading_.size() * context_, context_));
      reading_.push_back(s);
    }
    if (reading_.empty()) return;
    const void* const in[] = {tokens_.data()};
    void* const out[] = {logits_.data()};
    pass(pass_rows(reading_.size(), places_)).workspace.run(in, out);
    for (std::size_t r = 0; r < reading_.size(); ++r) {
      TokenSequence& s = *reading_[r];
      s.read = s.follows = s.tokens.size();
      const auto row = std::span(logits_).subspan(r * vocabulary_, vocabulary_);
      std::copy(row.begin(), row.end(), s.logits.begin());
    }
  }

  void move(std::size_t, std::size_t, std::size_t) override {}  // a place keeps nothing

  void prepare() override {
    for_each_pass_rows(places_, [&](std::size_t rows) { pass(rows); });
  }

  LanguageModel::Bytes bytes() const override {
    LanguageModel::Bytes all{.weights = weight_bytes_};
    for (const auto& [rows, pass] : passes_) all.workspaces += pass.bytes;
    return all;
  }

 private:
  struct Pass {
    std::size_t bytes;
    Workspace workspace;
  };

  Pass& pass(std::size_t rows) {
    if (const auto found = passes_.find(rows); found != passes_.end()) return found->second;
    const Executable code = compile(vmap(bound_, {0}, static_cast<std::int64_t>(rows)));
    return passes_.emplace(rows, Pass{code.workspace_bytes(), Workspace(code, pool_)})
        .first->second;
  }

  Function bound_;
  ThreadPool* pool_;
  std::size_t places_, context_ = 0, vocabulary_ = 0, weight_bytes_ = 0;
  std::vector<std::int32_t> tokens_;
  std::vector<float> logits_;
  std::vector<TokenSequence*> reading_;
  std::map<std::size_t, Pass> passes_;  // by rows
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
