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

namespace {

std::vector<lp::Tensor> some_inputs(const lp::Function& function) {
  std::vector<lp::Tensor> inputs;
  for (const lp::Input& input : function.inputs()) inputs.push_back(some_numbers(input.type));
  return inputs;
}

}  // namespace

Prepared::Prepared(const lp::Function& function, int threads)
    : Prepared(function, threads, some_inputs(function)) {}

Prepared::Prepared(const lp::Function& function, int threads, std::vector<lp::Tensor> inputs)
    : pool_({.threads = threads, .pin_caller = true}),
      executable_(lp::compile(function)),
      workspace_(std::make_unique<lp::Workspace>(executable_, &pool_)),
      tensors_(std::move(inputs)) {
  for (const lp::Tensor& input : tensors_) inputs_.push_back(input.bytes().data());
  for (const lp::Type& type : executable_.output_types()) {
    results_.emplace_back(type.bytes());
    outputs_.push_back(results_.back().data());
  }
}

}  // namespace bench
