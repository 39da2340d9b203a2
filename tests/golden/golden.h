// What the tests against PyTorch's numbers share.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "limpid/compile/executable.h"
#include "limpid/core/params.h"
#include "limpid/formats/safetensors.h"
#include "limpid/function/builder.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"

namespace limpid::golden {

inline Params fixture(const std::string& name) {
  return load_safetensors(LIMPID_GOLDEN + name + ".safetensors").tensors;
}

struct Sampled {
  Tensor value;
  Tensor gradient;
};

// f(x), and the gradient of sum(up * f(x)) by x.
inline Sampled sample(const std::function<Value(Value)>& f, const Tensor& x, const Tensor& up) {
  const Function loss =
      trace("f", {{"x", x.type()}, {"up", up.type()}}, [&](std::span<const Value> in) {
        const Value y = f(in[0]);
        return std::vector<Value>{sum(y * in[1]), y};
      });
  const std::vector<Tensor> inputs{x, up};
  const std::vector<Tensor> results = compile(value_and_grad(loss, {0}))(inputs);
  return {results[1], results[2]};
}

inline void expect_close(const Tensor& got, const Tensor& want, double relative, double absolute,
                         const std::string& what) {
  const auto g = got.values<float>();
  const auto w = want.values<float>();
  ASSERT_EQ(g.size(), w.size());
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (std::isnan(w[i])) {
      EXPECT_TRUE(std::isnan(g[i])) << what << " " << i;
      continue;
    }
    if (std::isinf(w[i])) {
      EXPECT_EQ(g[i], w[i]) << what << " " << i;
      continue;
    }
    EXPECT_NEAR(g[i], w[i], absolute + relative * std::fabs(w[i])) << what << " " << i;
  }
}

inline Tensor ones(const Shape& shape) {
  return Tensor::generate<float>(shape, [](std::span<float> out) {
    for (float& x : out) x = 1;
  });
}

}  // namespace limpid::golden
