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
}

std::span<const float> Generation::logits() const {
  return sequence_.logits().first(static_cast<std::size_t>(options_.vocabulary));
}

void Generation::draw_ahead() {
  ahead_ = sample(logits(), options_.sampling, options_.key.fold_in(drawn_));
}

std::int32_t Generation::draw() {
  if (!ahead_) draw_ahead();
  const std::int32_t token = *ahead_;
  ++drawn_;
  append(token);
  return token;
}

void Generation::append(std::int32_t token) {
  ahead_.reset();
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
