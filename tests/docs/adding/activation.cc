// An activation that is in limpid/ops/activation.cc alone: by name, compiled, in ONNX and in C++.
#include <cstdio>
#include <string>

#include "limpid/compile/executable.h"
#include "limpid/emit/emit.h"
#include "limpid/formats/onnx/export.h"
#include "limpid/function/builder.h"
#include "limpid/nn/activation.h"

using namespace limpid;

int main() {
  const auto activation = nn::activation_from_name("softsign");
  const Function f = trace("f", {{"x", {Dtype::kF32, {3}}}}, [&](std::span<const Value> in) {
    return std::vector<Value>{activation.apply(in[0])};
  });
  const Tensor x = Tensor::from<float>({3}, {1, -3, 7});
  std::printf("%s", find_op("softsign") ? "softsign" : "no op");
  const std::vector<Tensor> y = compile(f)(std::vector{x});
  for (const float element : y[0].values<float>()) std::printf(" %g", element);
  const auto onnx = onnx::serialize_onnx(f);
  const std::string bytes(reinterpret_cast<const char*>(onnx.data()), onnx.size());
  std::printf("\nONNX: %s\n",
              bytes.find("Softsign") != std::string::npos ? "Softsign" : "its body");
  std::printf("C++: %s\n",
              emit_cpp(f).find("std::fabs") != std::string::npos ? "its body" : "none");
}
