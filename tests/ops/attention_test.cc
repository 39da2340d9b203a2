// What a query does not see has no effect on it: neither on its result nor on any gradient.
#include "limpid/ops/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "limpid/compile/executable.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/jvp.h"

namespace limpid {
namespace {

template <class T>
class HiddenKeys : public testing::Test {};
using Floating = testing::Types<float, double>;
TYPED_TEST_SUITE(HiddenKeys, Floating);

constexpr std::int64_t kQueries = 3, kKeys = 4, kSize = 2;

template <class T>
Tensor numbers(const Shape& shape, double phase) {
  std::vector<T> x(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(std::sin(phase + 1.7 * static_cast<double>(i)));
  return Tensor::from(shape, x);
}

// The row of a hidden key, filled with a number.
template <class T>
Tensor with_row(const Tensor& x, std::int64_t row, T number) {
  std::vector<T> y(x.values<T>().begin(), x.values<T>().end());
  for (std::int64_t d = 0; d < kSize; ++d) y[static_cast<std::size_t>(row * kSize + d)] = number;
  return Tensor::from(x.shape(), y);
}

struct Masked {
  const char* name;
  bool causal;
  Tensor mask;          // none if it is a scalar
  std::int64_t hidden;  // a key that the first `blind` queries do not see
  std::int64_t blind;
};

template <class T>
std::vector<Masked> masks() {
  constexpr T inf = std::numeric_limits<T>::infinity();
  const bool seen[] = {true, false, true, true, true, false, false, true, true, false, true, false};
  std::vector<T> added;
  for (std::size_t i = 0; i < std::size(seen); ++i)
    added.push_back(seen[i] ? static_cast<T>(i) / 8 : -inf);
  const Shape shape{kQueries, kKeys};
  return {{"bool", false, Tensor::from<bool>(shape, seen), 1, kQueries},
          {"added", false, Tensor::from(shape, added), 1, kQueries},
          {"causal", true, Tensor::scalar<T>(0), kKeys - 1, kQueries - 1},
          {"causal and bool", true, Tensor::from<bool>(shape, seen), 1, kQueries}};
}

// The results and the gradients of the queries that do not see the key, then the tangents.
template <class T>
std::vector<std::vector<Tensor>> all_of(const Masked& m, const Tensor& k, const Tensor& v) {
  std::vector<Tensor> in{numbers<T>({kQueries, kSize}, 0.1), k, v};
  std::vector<Input> inputs{{"q", in[0].type()}, {"k", k.type()}, {"v", v.type()}};
  if (m.mask.shape().rank() > 0) {
    in.push_back(m.mask);
    inputs.push_back({"mask", m.mask.type()});
  }
  const auto attend = [&](std::span<const Value> x) {
    AttentionOptions options;
    options.causal = m.causal;
    if (x.size() == 4) options.mask = x[3];
    const Value y = scaled_dot_product_attention(x[0], x[1], x[2], options);
    return slice(y, 0, 0, m.blind);
  };
  const Function values = trace(
      "values", inputs, [&](std::span<const Value> x) { return std::vector<Value>{attend(x)}; });
  const Function total = trace("total", inputs, [&](std::span<const Value> x) {
    const Value y = attend(x);
    return std::vector<Value>{sum(y * y)};
  });
  std::vector<std::size_t> wrt{0, 1, 2};
  std::vector<Tensor> moving = in;
  for (std::size_t i = 0; i < 3; ++i) moving.push_back(numbers<T>(in[i].shape(), 0.5));
  const Function gradient = grad(total, wrt), tangent = jvp(values, wrt);
  // The second derivative, in one direction.
  const Function slope = trace("slope", inputs, [&](std::span<const Value> x) {
    Value all;
    for (const Value& g : x[0].builder().inline_function(gradient, x))
      all = all ? all + sum(g * g) : sum(g * g);
    return std::vector<Value>{all};
  });
  const Function second = grad(slope, wrt);
  return {interpret(values, in), interpret(gradient, in), interpret(tangent, moving),
          interpret(second, in), compile(values)(in),     compile(gradient)(in),
          compile(second)(in)};
}

TYPED_TEST(HiddenKeys, HaveNoEffectWhateverTheyHold) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  const Tensor k = numbers<T>({kKeys, kSize}, 0.2), v = numbers<T>({kKeys, kSize}, 0.3);
  for (const Masked& m : masks<T>()) {
    const Tensor no_key = with_row<T>(k, m.hidden, 0), no_value = with_row<T>(v, m.hidden, 0);
    const auto usual = all_of<T>(m, no_key, no_value);
    for (const Tensor& g : usual[1])
      for (const T x : g.values<T>()) ASSERT_TRUE(std::isfinite(x)) << m.name;
    for (const T poison : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(),
                           static_cast<T>(0.9 * Limits::max())}) {
      const Tensor bad_key = with_row<T>(k, m.hidden, poison);
      const Tensor bad_value = with_row<T>(v, m.hidden, poison);
      for (const auto& [key, value] :
           {std::pair{bad_key, no_value}, std::pair{no_key, bad_value}}) {
        const auto found = all_of<T>(m, key, value);
        for (std::size_t what = 0; what < usual.size(); ++what)
          for (std::size_t i = 0; i < usual[what].size(); ++i) {
            const auto a = found[what][i].template values<T>();
            const auto b = usual[what][i].template values<T>();
            EXPECT_EQ(std::vector<T>(a.begin(), a.end()), std::vector<T>(b.begin(), b.end()))
                << m.name << ", " << poison << (key.same_bits(no_key) ? " value" : " key")
                << ", result " << what << ", " << i;
          }
      }
    }
  }
}

// -infinity added to every score of a query, or a mask of false: there is nothing to see.
TYPED_TEST(HiddenKeys, AQueryThatSeesNoneGivesZero) {
  using T = TypeParam;
  const Shape shape{kQueries, kKeys};
  std::vector<T> added(static_cast<std::size_t>(shape.elements()), 0);
  bool seen[kQueries * kKeys];
  for (std::size_t i = 0; i < added.size(); ++i) {
    seen[i] = i / kKeys != 1;
    if (!seen[i]) added[i] = -std::numeric_limits<T>::infinity();
  }
  const Tensor k = numbers<T>({kKeys, kSize}, 0.2), v = numbers<T>({kKeys, kSize}, 0.3);
  const auto by_number = all_of<T>({"", false, Tensor::from(shape, added), 0, kQueries}, k, v);
  const auto by_bool = all_of<T>({"", false, Tensor::from<bool>(shape, seen), 0, kQueries}, k, v);
  for (std::size_t what = 0; what < by_bool.size(); ++what)
    for (std::size_t i = 0; i < by_bool[what].size(); ++i) {
      const auto a = by_number[what][i].template values<T>();
      const auto b = by_bool[what][i].template values<T>();
      EXPECT_EQ(std::vector<T>(a.begin(), a.end()), std::vector<T>(b.begin(), b.end())) << what;
    }
  for (std::size_t d = 0; d < kSize; ++d) {
    EXPECT_EQ(by_number[0][0].template values<T>()[kSize + d], 0);
    EXPECT_EQ(by_number[1][0].template values<T>()[kSize + d], 0);
  }
}

}  // namespace
}  // namespace limpid
