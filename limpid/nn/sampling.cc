#include "limpid/nn/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"

namespace limpid::nn {
namespace {

[[noreturn]] void refuse_sampling(const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, "sample: " + why);
}

void check(std::span<const float> logits, const Sampling& s) {
  if (!(s.temperature >= 0 && std::isfinite(s.temperature)))
    refuse_sampling(fmt::format("a temperature of {}, 0 or more is expected", s.temperature));
  if (s.top_k < 0) refuse_sampling(fmt::format("a top_k of {}, 0 or more is expected", s.top_k));
  if (!(s.top_p > 0 && s.top_p <= 1))
    refuse_sampling(fmt::format("a top_p of {}, above 0 to 1 is expected", s.top_p));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  bool possible = false;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == kInfinity)
      refuse_sampling(fmt::format("logit {} is {}", i, logits[i]));
    possible = possible || logits[i] > -kInfinity;
  }
  if (!possible) refuse_sampling(fmt::format("none of the {} tokens is possible", logits.size()));
}

}  // namespace

std::vector<Choice> choices(std::span<const float> logits, const Sampling& s) {
  check(logits, s);
  if (s.temperature == 0)
    return {{static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) -
                                       logits.begin())}};
  std::vector<std::int32_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto logit_of = [&](std::int32_t token) { return logits[static_cast<std::size_t>(token)]; };
  std::stable_sort(tokens.begin(), tokens.end(),
                   [&](std::int32_t a, std::int32_t b) { return logit_of(a) > logit_of(b); });
  if (s.top_k > 0 && static_cast<std::uint64_t>(s.top_k) < tokens.size())
    tokens.resize(static_cast<std::size_t>(s.top_k));

  const double most = static_cast<double>(logit_of(tokens.front()));
  std::vector<Choice> all;
  double sum = 0;
  for (const std::int32_t token : tokens) {
    // The exponential of f32 has the same bits everywhere, that of f64 is the C library's. It is 0
    // long before -200.
    const double scaled = (static_cast<double>(logit_of(token)) - most) / s.temperature;
    all.push_back({token, static_cast<double>(
                              arithmetic::exp(static_cast<float>(std::max(scaled, -200.0))))});
    sum += all.back().weight;
  }
  std::size_t left = 0;
  double kept = 0;
  do kept += all[left++].weight;
  while (left < all.size() && kept < s.top_p * sum);
  all.resize(left);
  return all;
}

std::int32_t sample(std::span<const float> logits, const Sampling& sampling, Key key) {
  const std::vector<Choice> all = choices(logits, sampling);
  double sum = 0;
  for (const Choice& choice : all) sum += choice.weight;
  double place = static_cast<double>(key.uniform(0)) * sum;
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    place -= all[i].weight;
    if (place < 0) return all[i].token;
  }
  return all.back().token;
}

}  // namespace limpid::nn
