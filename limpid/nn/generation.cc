#include "limpid/nn/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "limpid/core/error.h"

namespace limpid::nn {
namespace {

std::span<const std::int32_t> checked(const LanguageModel& model,
                                      std::span<const std::int32_t> prompt,
                                      const Generation::Options& options) {
  if (prompt.empty())
    throw Error(ErrorCode::kInvalidArgument, "generation: expected a prompt of at least one token");
  if (options.vocabulary < 0 || options.vocabulary > model.vocabulary())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("generation: expected a vocabulary of at most {} tokens, the model's, "
                            "got {}",
                            model.vocabulary(), options.vocabulary));
  const auto capacity = static_cast<std::size_t>(model.capacity());
  return prompt.last(std::min(prompt.size(), capacity));
}

}  // namespace

Generation::Generation(LanguageModel& model, std::span<const std::int32_t> prompt,
                       const Options& options)
    : sequence_(model.join(checked(model, prompt, options))),
      options_(options),
      capacity_(static_cast<std::size_t>(model.capacity())) {
  if (options_.vocabulary == 0) options_.vocabulary = model.vocabulary();
  if (options_.repetition != 1) seen_.insert(prompt.begin(), prompt.end());
}

std::span<const float> Generation::logits() const {
  return sequence_.logits().first(static_cast<std::size_t>(options_.vocabulary));
}

void Generation::draw_ahead() {
  const Key key = options_.key.fold_in(drawn_);
  const bool counts = options_.presence != 0 || options_.frequency != 0;
  if (options_.bias.empty() && !counts && options_.repetition == 1) {
    ahead_ = sample(logits(), options_.sampling, key);
    return;
  }
  const std::span<const float> unchanged = logits();
  std::vector<float> changed(unchanged.begin(), unchanged.end());
  const auto change = [&](std::int32_t token, const auto& by) {
    if (token < 0 || static_cast<std::size_t>(token) >= changed.size()) return;
    float& logit = changed[static_cast<std::size_t>(token)];
    logit = static_cast<float>(by(static_cast<double>(logit)));
  };
  if (options_.repetition != 1)
    for (const std::int32_t token : seen_)
      change(token, [&](double logit) {
        return logit > 0 ? logit / options_.repetition : logit * options_.repetition;
      });
  if (counts)
    for (const auto& [token, count] : counts_)
      change(token, [&, times = static_cast<double>(count)](double logit) {
        return logit - options_.presence - times * options_.frequency;
      });
  for (const auto& [token, value] : options_.bias)
    change(token, [&, added = value](double logit) { return logit + added; });
  ahead_ = sample(changed, options_.sampling, key);
}

std::int32_t Generation::draw() {
  if (!ahead_) draw_ahead();
  const std::int32_t token = *ahead_;
  ++drawn_;
  append(token);
  if (options_.presence != 0 || options_.frequency != 0) ++counts_[token];
  return token;
}

void Generation::append(std::int32_t token) {
  ahead_.reset();
  if (options_.repetition != 1) seen_.insert(token);
  const std::span<const std::int32_t> all = sequence_.tokens();
  if (all.size() < capacity_) return sequence_.append(token);
  // Keeps the later half, the new token included.
  const std::size_t kept = std::max<std::size_t>(1, capacity_ / 2) - 1;
  std::vector<std::int32_t> half(all.end() - static_cast<std::ptrdiff_t>(kept), all.end());
  half.push_back(token);
  const std::vector<std::int32_t> whole(all.begin(), all.end());  // for a token that is refused
  sequence_.truncate(0);
  try {
    sequence_.append(half);
  } catch (const Error&) {
    sequence_.append(whole);
    throw;
  }
}

}  // namespace limpid::nn
