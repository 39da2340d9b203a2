#include "limpid/transforms/widen.h"

#include <algorithm>
#include <variant>

#include "limpid/core/float_mode.h"
#include "limpid/transforms/rewrite.h"

namespace limpid {
namespace {

Dtype widened(Dtype dtype) { return dtype == Dtype::kF32 ? Dtype::kF64 : dtype; }

Attributes widened(const Attributes& attributes) {
  Attributes result;
  for (const auto& [name, attribute] : attributes) {
    Attribute wide = attribute;
    if (const auto* dtype = std::get_if<Dtype>(&attribute)) wide = widened(*dtype);
    if (const auto* tensor = std::get_if<Tensor>(&attribute)) wide = widen(*tensor);
    if (const auto* body = std::get_if<Nested>(&attribute)) wide = widen(body->function());
    result.set(name, wide);
  }
  return result;
}

}  // namespace

Function widen(const Function& f) {
  Builder builder(f.name());
  std::vector<Value> values;
  for (const Input& i : f.inputs())
    values.push_back(builder.input(i.name, {widened(i.type.dtype), i.type.shape}));
  rewrite_nodes(builder, f, values, [](Builder& b, const Node& node, std::span<const Value> in) {
    return b.call(*node.op, in, widened(node.attributes));
  });
  return builder.finish(outputs_of(f, values), output_names(f));
}

Tensor widen(const Tensor& tensor) {
  if (tensor.dtype() != Dtype::kF32) return tensor;
  const DefaultFloatMode mode;  // subnormal numbers, too
  return Tensor::generate<double>(tensor.shape(), [&](std::span<double> out) {
    std::copy(tensor.values<float>().begin(), tensor.values<float>().end(), out.begin());
  });
}

}  // namespace limpid
