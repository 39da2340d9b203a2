// What the tests against PyTorch's numbers share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "limpid/compile/executable.h"
#include "limpid/core/params.h"
#include "limpid/formats/safetensors.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "tests/source_folder.h"

namespace limpid::golden {

inline Params fixture(const std::string& name) {
  return load_safetensors(testing::source_folder() / "tests/golden" / (name + ".safetensors"))
      .tensors;
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

// The fixture's inputs that this test's Functions take: floating ones as T, "same" as bool.
template <class T>
Params inputs_as(const Params& golden, const std::vector<std::string>& names) {
  Params inputs;
  for (const std::string& name : names) {
    const Tensor& t = golden.at(name);
    if (t.dtype() != Dtype::kF64) {
      inputs.set(name, t);
    } else if (name == "same") {
      inputs.set(name, Tensor::generate<bool>(t.shape(), [&](std::span<bool> out) {
                   for (std::size_t i = 0; i < out.size(); ++i) out[i] = t.values<double>()[i] > 0;
                 }));
    } else {
      inputs.set(name, Tensor::generate<T>(t.shape(), [&](std::span<T> out) {
                   for (std::size_t i = 0; i < out.size(); ++i)
                     out[i] = static_cast<T>(t.values<double>()[i]);
                 }));
    }
  }
  return inputs;
}

template <class T>
void expect_values(const Tensor& got, const Tensor& want, double tolerance,
                   const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  for (std::size_t i = 0; i < got.values<T>().size(); ++i) {
    const double w = want.values<double>()[i];
    EXPECT_NEAR(static_cast<double>(got.values<T>()[i]), w, tolerance * (1 + std::fabs(w)))
        << what << " " << i;
  }
}

// The value of `code` and the gradients of sum(up * value), up being 1 where it is not named,
// against the entries `key` + suffix and `key`.d<name> for every name that has one.
template <class T>
void expect_case(const Params& golden, const std::string& key, const std::string& suffix,
                 std::vector<std::string> names, const std::string& up,
                 const std::function<Value(const Args&)>& code, double tolerance) {
  std::vector<std::string> floating;
  for (const std::string& name : names)
    if (golden.find(key + ".d" + name)) floating.push_back(name);
  if (!up.empty()) names.push_back(up);
  const Params inputs = inputs_as<T>(golden, names);
  std::vector<Input> types;
  std::vector<std::size_t> wrt;
  for (const auto& [name, value] : inputs) {
    if (std::find(floating.begin(), floating.end(), name) != floating.end())
      wrt.push_back(types.size());
    types.push_back({name, value.type()});
  }
  const Function f = trace("case", types, [&](std::span<const Value> in) {
    Args args;
    for (std::size_t i = 0; i < in.size(); ++i) args.set(types[i].name, in[i]);
    const Value y = code(args);
    return std::vector<Value>{sum(up.empty() ? y : y * args.at(up)), y};
  });
  const std::vector<Tensor> results = interpret(value_and_grad(f, wrt), inputs.values());
  expect_values<T>(results[1], golden.at(key + suffix), tolerance, key);
  ASSERT_FALSE(wrt.empty()) << key;
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    const std::string entry = key + ".d" + types[wrt[i]].name;
    expect_values<T>(results[2 + i], golden.at(entry), tolerance, entry);
  }
}

}  // namespace limpid::golden
