#include "limpid/train/diagnostics/ngram.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"

namespace limpid::train {
namespace {

int bits_of(std::int64_t vocabulary) {
  return std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(vocabulary - 1))));
}

// Counting more would take as much memory as a text has n-grams, some 200 bytes for each.
constexpr std::int64_t kMostTokens = std::int64_t{1} << 20;

// Calls use(run) for each token from the one at `first` to the one before `all`, in order; the run
// ends with that token and has `length` tokens, or fewer at the beginning of the text.
template <class Use>
void for_each_run(const Tensor& tokens, std::int64_t first, std::int64_t all, std::int64_t length,
                  const Use& use) {
  constexpr std::int64_t kBlock = 65536;
  std::vector<std::int32_t> block;
  for (std::int64_t begin = first; begin < all; begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, all);
    const std::int64_t start = std::max<std::int64_t>(0, begin - length + 1);
    block.resize(static_cast<std::size_t>(end - start));
    tokens.read_rows(start, end - start, std::as_writable_bytes(std::span(block)));
    for (std::int64_t last = begin; last < end; ++last) {
      const auto until = std::span(block).first(static_cast<std::size_t>(last - start + 1));
      use(until.last(std::min(static_cast<std::size_t>(length), until.size())));
    }
  }
}

const TokenWindows& windows_in(const Dataset& text) {
  if (!text.windows)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("n-gram: expected text in windows, got {}", text.name));
  return *text.windows;
}

}  // namespace

int NGram::order_for(std::int64_t vocabulary, int most) {
  return std::min(most, 64 / bits_of(vocabulary));
}

NGram::NGram(const Tensor& tokens, std::int64_t vocabulary, int order) : vocabulary_(vocabulary) {
  if (vocabulary < 1 || order < 1 || order > order_for(vocabulary, order))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("n-gram: expected an order of at least 1 whose tokens fit 64 bits, got "
                            "order {} with {} tokens",
                            order, vocabulary));
  bits_ = bits_of(vocabulary);
  for (std::int64_t n = 1; n <= order; ++n) {
    auto& counts = counts_.emplace_back();
    auto& contexts = contexts_.emplace_back();
    for_each_run(tokens, n - 1, std::min(tokens.shape()[0], kMostTokens), n,
                 [&](std::span<const std::int32_t> gram) {
                   Context& context = contexts[packed(gram.first(gram.size() - 1))];
                   ++context.count;
                   context.followers += counts[packed(gram)]++ == 0;
                 });
  }
}

std::uint64_t NGram::packed(std::span<const std::int32_t> tokens) const {
  std::uint64_t number = 0;
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= vocabulary_)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("n-gram: token {}, expected 0 to {}", token, vocabulary_ - 1));
    number = number << bits_ | static_cast<std::uint64_t>(token);
  }
  return number;
}

double NGram::probability(std::span<const std::int32_t> before, std::int32_t token) const {
  const DefaultFloatMode mode;
  double p = 1 / static_cast<double>(vocabulary_);
  std::vector<std::int32_t> gram;
  const std::size_t most = std::min(counts_.size() - 1, before.size());
  for (std::size_t n = 0; n <= most; ++n) {
    const auto context = contexts_[n].find(packed(before.last(n)));
    if (context == contexts_[n].end()) break;  // nor has a longer one been seen
    gram.assign(before.end() - static_cast<std::ptrdiff_t>(n), before.end());
    gram.push_back(token);
    const auto found = counts_[n].find(packed(gram));
    const auto count = static_cast<double>(found == counts_[n].end() ? 0 : found->second);
    const auto followers = static_cast<double>(context->second.followers);
    p = (count + followers * p) / (static_cast<double>(context->second.count) + followers);
  }
  return p;
}

double NGram::loss(const Tensor& tokens, std::int64_t skipped) const {
  const DefaultFloatMode mode;
  const std::int64_t size = tokens.shape()[0];
  if (skipped < 0 || skipped >= size)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("n-gram: expected tokens to score, got {} tokens of which {} are skipped", size,
                    skipped));
  double sum = 0;
  for_each_run(tokens, skipped, size, order(), [&](std::span<const std::int32_t> run) {
    sum -= arithmetic::log(probability(run.first(run.size() - 1), run.back()));
  });
  return sum / static_cast<double>(size - skipped);
}

Numbers ngram_metrics(const Split& text) {
  const DefaultFloatMode mode;
  const std::int64_t vocabulary = text.train.classes;
  const TokenWindows& train = windows_in(text.train);
  const TokenWindows& test = windows_in(text.test);
  const NGram ngram(train.tokens, vocabulary, NGram::order_for(vocabulary));
  const double loss = ngram.loss(test.tokens, test.first_target());
  return {{"ngram_perplexity", arithmetic::exp(loss)},
          {"ngram_bits_per_token", loss / arithmetic::log(2.0)}};
}

}  // namespace limpid::train
