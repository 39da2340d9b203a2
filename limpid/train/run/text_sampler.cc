#include "limpid/train/run/text_sampler.h"

#include "limpid/core/error.h"
#include "limpid/nn/generation.h"

namespace limpid::train {

TextSampler::TextSampler(const Problem& problem, ThreadPool* pool)
    : model_of_(problem.language_model), pool_(pool) {
  if (!model_of_)
    throw Error(ErrorCode::kInvalidArgument,
                "text sampler: expected the problem of a language model, got another one");
}

std::vector<std::int32_t> TextSampler::operator()(const Params& params, std::int32_t first,
                                                  std::int64_t count, Key key) const {
  nn::LanguageModel model = model_of_(params, {.pool = pool_});
  nn::Generation generation(model, {&first, 1}, {.key = key});
  std::vector<std::int32_t> text;
  for (std::int64_t i = 0; i < count; ++i) {
    while (!generation.ready()) model.step();
    text.push_back(generation.draw());
  }
  return text;
}

}  // namespace limpid::train
