#include "limpid/train/text_sampler.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/nn/sampling.h"

namespace limpid::train {

TextSampler::TextSampler(const Function& inference, ThreadPool* pool)
    : workspace_(compile(inference), pool) {
  const Type& tokens = inference.inputs().back().type;
  const Type& logits = inference.type(inference.outputs().front().value);
  every_token_ = logits.shape.rank() == 2;
  const bool fits =
      tokens.dtype == Dtype::kI32 && tokens.shape.rank() == 1 && logits.dtype == Dtype::kF32 &&
      (logits.shape.rank() == 1 || (every_token_ && logits.shape[0] == tokens.shape[0]));
  if (!fits)
    throw Error(ErrorCode::kShape,
                fmt::format("text sampler: from {} to {}, from i32[context] to f32[vocabulary] or "
                            "f32[context, vocabulary] is expected",
                            to_string(tokens), to_string(logits)));
  context_ = tokens.shape[0];
  vocabulary_ = logits.shape.back();
  for (const Input& input : inference.inputs()) params_.push_back(input.name);
  params_.pop_back();
}

std::vector<std::int32_t> TextSampler::operator()(const Params& params, std::int32_t first,
                                                  std::int64_t count, Key key) {
  // Behind a text that is shorter than the window stands what causal models do not see; the others
  // see the first token again and again before it.
  const auto width = static_cast<std::size_t>(context_);
  std::vector<std::int32_t> window(width, first);
  std::size_t length = every_token_ ? 1 : width;
  std::vector<float> logits(static_cast<std::size_t>(vocabulary_) * (every_token_ ? width : 1));
  std::vector<const void*> inputs;
  for (const std::string& name : params_) inputs.push_back(params.at(name).bytes().data());
  inputs.push_back(window.data());
  void* const outputs[] = {logits.data()};
  std::vector<std::int32_t> text;
  for (std::int64_t i = 0; i < count; ++i) {
    workspace_.run(inputs, outputs);
    const auto row = every_token_ ? (length - 1) * static_cast<std::size_t>(vocabulary_) : 0;
    const std::int32_t token =
        nn::sample(std::span(logits).subspan(row, static_cast<std::size_t>(vocabulary_)), {},
                   key.fold_in(static_cast<std::uint64_t>(i)));
    text.push_back(token);
    if (length == width)
      std::rotate(window.begin(), window.begin() + 1, window.end());
    else
      ++length;
    window[length - 1] = token;
  }
  return text;
}

}  // namespace limpid::train
