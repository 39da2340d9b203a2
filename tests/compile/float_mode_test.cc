// The program's floating-point environment does not affect results, and is restored afterwards.
#include "limpid/core/float_mode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "limpid/compile/executable.h"
#include "limpid/compile/profile.h"
#include "limpid/core/key.h"
#include "limpid/core/stop_check.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"

namespace limpid {
namespace {

#if defined(__x86_64__)
std::uint64_t modes() { return __builtin_ia32_stmxcsr() & ~0x3fu; }
void set_modes(std::uint64_t modes) { __builtin_ia32_ldmxcsr(static_cast<unsigned>(modes)); }
constexpr std::uint64_t kDefault = 0x1f80;
constexpr std::uint64_t kOthers[] = {kDefault | 0x8000, kDefault | 0x0040, kDefault | 0x8040,
                                     kDefault | 0x2000, kDefault | 0x4000, kDefault | 0x6000};
#elif defined(__aarch64__)
std::uint64_t modes() {
  std::uint64_t fpcr;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  return fpcr;
}
void set_modes(std::uint64_t modes) { asm volatile("msr fpcr, %0" ::"r"(modes)); }
constexpr std::uint64_t kDefault = 0;
constexpr std::uint64_t kOthers[] = {0x1000000, 0x400000, 0x800000, 0xc00000};
#endif

// Products that are subnormal, sums that are rounded, a matrix product, and functions.
Function function() {
  const Type type{Dtype::kF32, {96, 96}};
  Builder builder("modes");
  const Value x = builder.input("x", type), w = builder.input("w", type);
  const Value tiny = x * 1e-20 * (w * 1e-20);
  const Value product = matmul(x, w);
  const Value other = exp(x) + log1p(abs(w)) / 3.0;
  return builder.finish(std::vector<Value>{tiny, tiny * 1e30, product, other, cast(x, Dtype::kF16),
                                           floor(sum(x, 0))});
}

std::vector<Tensor> inputs() {
  std::vector<Tensor> all;
  for (std::uint64_t k = 0; k < 2; ++k)
    all.push_back(Tensor::generate<float>({96, 96}, [&](std::span<float> out) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = 2.0f * Key(k).uniform(i) - 1.0f;
    }));
  return all;
}

void expect_unseen(const std::function<std::vector<Tensor>()>& run) {
  const std::vector<Tensor> expected = run();
  int subnormal = 0;
  for (const float x : expected[0].values<float>()) subnormal += std::fpclassify(x) == FP_SUBNORMAL;
  EXPECT_GT(subnormal, 100);
  for (const std::uint64_t other : kOthers) {
    set_modes(other);
    const std::vector<Tensor> got = run();
    const std::uint64_t after = modes();
    set_modes(kDefault);
    EXPECT_EQ(after, other);
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(got[i].same_bits(expected[i])) << "result " << i << ", modes " << other;
  }
}

class FloatMode : public testing::Test {
 protected:
  void SetUp() override { set_modes(kDefault); }
  void TearDown() override { set_modes(kDefault); }
  const Function f_ = function();
  const std::vector<Tensor> in_ = inputs();
};

TEST_F(FloatMode, DoesNotShowInTheInterpreter) {
  expect_unseen([&] { return interpret(f_, in_); });
}

TEST_F(FloatMode, DoesNotShowInAnExecutable) {
  for (const kernels::Isa isa : kernels::available_isas()) {
    const Executable executable = compile(f_, {isa});
    expect_unseen([&] { return executable(in_); });
  }
}

// By the plan's estimate, which takes the cache for full, the run is so long that it asks.
TEST_F(FloatMode, DoesNotShowInARunThatMayEndEarly) {
  Builder builder("long");
  const Value x = builder.input("x", in_[0].type()), w = builder.input("w", in_[1].type());
  const Value at = builder.input("at", {Dtype::kI32, {}});
  std::vector<Value> all = builder.inline_function(f_, std::vector<Value>{x, w});
  const auto zeros = [&](const Shape& shape) {
    return constant(builder, Tensor::zeros(f32(shape)));
  };
  all.push_back(
      cached_attention(zeros({1, 1000, 1}), zeros({1, 1, 40000}), zeros({1, 40000, 1}), at));
  const Function f = builder.finish(all);
  const Executable executable = compile(f);
  int asked = 0;
  expect_unseen([&] {
    StopCheck check([&] {
      ++asked;
      return false;
    });
    return *executable(std::vector{in_[0], in_[1], Tensor::scalar(std::int32_t{0})}, check);
  });
  EXPECT_GT(asked, 0);
}

TEST_F(FloatMode, DoesNotShowWhereAPoolShares) {
  const Executable executable = compile(f_);
  expect_unseen([&] {
    ThreadPool pool({.threads = 3});
    return executable(in_, &pool);
  });
}

// Where an input is given away, a profile leaves its last results.
TEST_F(FloatMode, DoesNotShowInAProfile) {
  const Function f = trace("f", {{"x", f32({96, 8})}}, [](std::span<const Value> in) {
    const auto weight = [&](const Shape& shape, std::uint64_t key) {
      return constant(in[0].builder(), Tensor::generate<float>(shape, [&](std::span<float> out) {
                        for (std::size_t i = 0; i < out.size(); ++i) out[i] = Key(key).uniform(i);
                      }));
    };
    return std::vector<Value>{
        linear(linear(in[0], weight({16, 8}, 1)) * 1e-20, weight({8, 16}, 2)) * 1e-20};
  });
  CompileOptions options;
  options.donations = {{0, 0}};
  expect_unseen([&] {
    const Tensor x = Tensor::from<float>({96, 8}, in_[0].values<float>().first(96 * 8));
    profile(f, {&x, 1}, 1, nullptr, options);
    return std::vector{x};
  });
}

// Constants are folded when a Function is compiled.
TEST_F(FloatMode, DoesNotShowInConstants) {
  Builder builder("folded");
  const Value tiny = constant(builder, 1e-20, Dtype::kF32);
  const Value values = constant(builder, in_[0].reshape({96 * 96}).rows(0, 1000));
  const Function f = builder.finish(std::vector<Value>{values * tiny * 1e-20});
  expect_unseen([&] { return compile(f)(std::vector<Tensor>{}); });
}

// A plan rounds the numbers of an op to f32 when it is made.
TEST_F(FloatMode, DoesNotShowInWhatAPlanKeepsOfAnOp) {
  Builder builder("norm");
  const Value x = builder.input("x", in_[0].type()), w = builder.input("w", in_[1].type());
  const Value tiny = x * 1e-20 * (w * 1e-20);
  const Function f = builder.finish(
      std::vector<Value>{tiny, rms_norm(x * 1e-3, {}, 0.1), layer_norm(x * 1e-3, {}, {}, 0.1)});
  expect_unseen([&] { return compile(f)(in_); });
}

TEST_F(FloatMode, IsTheDefaultWhileTheGuardLives) {
  for (const std::uint64_t other : kOthers) {
    set_modes(other);
    std::uint64_t inside = 0;
    {
      const DefaultFloatMode guard;
      inside = modes();
    }
    const std::uint64_t after = modes();
    set_modes(kDefault);
    EXPECT_EQ(inside, kDefault);
    EXPECT_EQ(after, other);
  }
}

}  // namespace
}  // namespace limpid
