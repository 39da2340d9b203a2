#include "limpid/inspect/op_example.h"

#include <cstdint>
#include <string>

#include "limpid/core/half.h"
#include "limpid/core/visit_dtype.h"
#include "limpid/function/builder.h"

namespace limpid {
namespace {

template <class T, class F>
Tensor fill(const Type& type, const F& draw) {
  return Tensor::generate<T>(type.shape, [&](std::span<T> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = draw(i);
  });
}

}  // namespace

Tensor random_tensor(const Type& type, Key key, double low, double high, std::int64_t bound) {
  const auto real = [&](std::size_t i) {
    return low + (high - low) * static_cast<double>(key.uniform(i));
  };
  const auto whole = [&](std::size_t i) {
    return bound <= 0 ? 0 : key.below(static_cast<std::uint64_t>(bound), i);
  };
  return visit(type.dtype, [&]<class T>(std::type_identity<T>) {
    return fill<T>(type, [&](std::size_t i) {
      if constexpr (std::is_same_v<T, Bf16>)
        return to_bf16(real(i));
      else if constexpr (std::is_same_v<T, F16>)
        return to_f16(real(i));
      else if constexpr (std::is_same_v<T, bool>)
        return key.below(2, i) != 0;
      else if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(real(i));
      else
        return static_cast<T>(whole(i));
    });
  });
}

std::vector<Tensor> random_inputs(const Example& example, Key key) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < example.inputs.size(); ++i)
    inputs.push_back(
        random_tensor(example.inputs[i], key.fold_in(i), example.low, example.high, example.bound));
  return inputs;
}

std::vector<Tensor> random_inputs(const Function& function, Key key, double low, double high,
                                  std::int64_t bound) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < function.inputs().size(); ++i)
    inputs.push_back(random_tensor(function.inputs()[i].type, key.fold_in(i), low, high, bound));
  return inputs;
}

Function function_of(const Op& op, const Example& example) {
  Builder builder(std::string(op.name));
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < example.inputs.size(); ++i)
    inputs.push_back(builder.input("x" + std::to_string(i), example.inputs[i]));
  const std::vector<Value> outputs = builder.call(op, inputs, example.attributes);
  return builder.finish(outputs);
}

}  // namespace limpid
