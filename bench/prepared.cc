#include "bench/prepared.h"

namespace bench {

namespace lp = limpid;

lp::Tensor some_numbers(const lp::Type& type) {
  if (type.dtype != lp::Dtype::kF32) return lp::Tensor::zeros(type);
  return lp::Tensor::generate<float>(type.shape, [](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = 0.01f * (static_cast<float>(i % 23) - 11.0f);
  });
}

lp::Params some_params(const lp::nn::Mlp& net) {
  lp::Params params;
  for (std::size_t l = 0; l + 1 < net.sizes.size(); ++l) {
    const std::string name = "layers." + std::to_string(l);
    params.set(name + ".weight", some_numbers({lp::Dtype::kF32, {net.sizes[l + 1], net.sizes[l]}}));
    params.set(name + ".bias", some_numbers({lp::Dtype::kF32, {net.sizes[l + 1]}}));
  }
  return params;
}

Prepared::Prepared(const lp::Function& function, int threads)
    : pool_({.threads = threads, .pin_caller = true}),
      executable_(lp::compile(function)),
      workspace_(std::make_unique<lp::Workspace>(executable_, &pool_)) {
  for (const lp::Input& input : executable_.inputs()) {
    tensors_.push_back(some_numbers(input.type));
    inputs_.push_back(tensors_.back().bytes().data());
  }
  for (const lp::Type& type : executable_.output_types()) {
    results_.emplace_back(type.bytes());
    outputs_.push_back(results_.back().data());
  }
}

}  // namespace bench
