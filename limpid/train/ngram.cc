#include "limpid/train/ngram.h"

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

const TokenWindows& windows_in(const Dataset& text) {
  if (!text.windows)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("n-gram: {} is no text in windows", text.name));
  return *text.windows;
}

}  // namespace

int NGram::order_for(std::int64_t vocabulary, int most) {
  return std::min(most, 64 / bits_of(vocabulary));
}

NGram::NGram(std::span<const std::int32_t> tokens, std::int64_t vocabulary, int order)
    : vocabulary_(vocabulary) {
  if (vocabulary < 1 || order < 1 || order > order_for(vocabulary, order))
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "n-gram: order {} of {} tokens, whose bits are at most 64 together, is expected", order,
            vocabulary));
  bits_ = bits_of(vocabulary);
  for (std::size_t n = 1; n <= static_cast<std::size_t>(order); ++n) {
    auto& counts = counts_.emplace_back();
    auto& contexts = contexts_.emplace_back();
    for (std::size_t end = n; end <= tokens.size(); ++end) {
      const std::span<const std::int32_t> gram = tokens.subspan(end - n, n);
      Context& context = contexts[packed(gram.first(n - 1))];
      ++context.count;
      context.followers += counts[packed(gram)]++ == 0;
    }
  }
}

std::uint64_t NGram::packed(std::span<const std::int32_t> tokens) const {
  std::uint64_t number = 0;
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= vocabulary_)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("n-gram: token {}, 0 to {} are expected", token, vocabulary_ - 1));
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

double NGram::loss(std::span<const std::int32_t> tokens, std::int64_t skipped) const {
  const DefaultFloatMode mode;
  const auto size = static_cast<std::int64_t>(tokens.size());
  if (skipped < 0 || skipped >= size)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("n-gram: {} tokens after the first {} are none", size, skipped));
  double sum = 0;
  for (std::int64_t i = skipped; i < size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    sum -= arithmetic::log(probability(tokens.first(at), tokens[at]));
  }
  return sum / static_cast<double>(size - skipped);
}

Numbers ngram_metrics(const Split& text) {
  const DefaultFloatMode mode;
  const std::int64_t vocabulary = text.train.classes;
  const TokenWindows& train = windows_in(text.train);
  const TokenWindows& test = windows_in(text.test);
  const NGram ngram(train.tokens.values<std::int32_t>(), vocabulary, NGram::order_for(vocabulary));
  const double loss = ngram.loss(test.tokens.values<std::int32_t>(), test.first_target());
  return {{"ngram_perplexity", arithmetic::exp(loss)},
          {"ngram_bits_per_token", loss / arithmetic::log(2.0)}};
}

}  // namespace limpid::train
