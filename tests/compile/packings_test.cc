// Packings: plans share packed weights, keep no others, and their bits do not change.
#include "limpid/compile/packings.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>

#include "limpid/compile/executable.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/quantize.h"
#include "limpid/transforms/vmap.h"

namespace limpid {
namespace {

Tensor numbers(const Shape& shape, Key key) {
  return Tensor::generate<float>(shape, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = key.uniform(i) - 0.5f;
  });
}

// A network and parameters of a dtype for its weights.
struct Net {
  explicit Net(const std::vector<std::int64_t>& sizes, Dtype weights = Dtype::kF32)
      : mlp(nn::mlp(sizes, relu)), function(mlp.function()), params(mlp.init(Key(0))) {
    if (weights == Dtype::kF32) return;
    Quantized quantized = quantize(function, params, {.to = weights});
    function = quantized.function;
    params = quantized.params;
  }

  Function of(std::int64_t rows) const { return vmap(bind(function, params), {0}, rows); }
  std::size_t bytes() const {
    std::size_t bytes = 0;
    for (const auto& [name, p] : params) bytes += p.bytes().size();
    return bytes;
  }

  nn::Mlp mlp;
  Function function;
  Params params;
};

constexpr std::array kWeights = {Dtype::kF32, Dtype::kBf16, Dtype::kI8};

TEST(Packings, HoldOnePackingForAllPlans) {
  for (const Dtype weights : kWeights) {
    const Net net({300, 700, 400, 10}, weights);
    const CompileOptions options{.packings = std::make_shared<Packings>()};
    std::vector<Executable> plans;
    plans.push_back(compile(net.of(1), options));
    const std::size_t bytes = options.packings->bytes();
    EXPECT_LT(static_cast<double>(bytes), 1.15 * static_cast<double>(net.bytes()));
    for (const std::int64_t rows : {2, 16, 64, 300}) {
      plans.push_back(compile(net.of(rows), options));
      EXPECT_EQ(options.packings->bytes(), bytes) << rows << " rows of " << name(weights);
      const std::vector<Tensor> x = {numbers({rows, 300}, Key(1))};
      EXPECT_TRUE(plans.back()(x)[0].same_bits(compile(net.of(rows))(x)[0]));
      EXPECT_EQ(plans.back().plan(), compile(net.of(rows)).plan());
    }
    plans.erase(plans.begin() + 1, plans.end());
    EXPECT_EQ(options.packings->bytes(), bytes) << "the first plan has what the others found";
    plans.clear();
    EXPECT_EQ(options.packings->bytes(), 0u);
  }
}

// A transformer's plans for a prompt and for a token hold its weights once. The embedding table,
// which is gathered from in place, is not counted.
TEST(Packings, HoldTheWeightsOfATransformerOnce) {
  for (const bool tied : {true, false}) {
    nn::Gpt net = nn::gpt2_shaped();
    net.vocabulary = 20000;
    net.context = 64;
    net.tied = tied;
    const Params f32 = net.init(Key(0));
    for (const Dtype weights : kWeights) {
      const Params params =
          weights == Dtype::kF32 ? f32 : quantize(net.function(), f32, {.to = weights}).params;
      double bytes = 0;
      for (const auto& [name, p] : params) bytes += static_cast<double>(p.bytes().size());
      const CompileOptions options{.packings = std::make_shared<Packings>()};
      std::vector<Executable> passes;
      for (const std::int64_t length : {64, 1}) {
        const Function pass = net.cached_function({.length = length, .last = true});
        passes.push_back(compile(bind(with_narrow_params(pass, params), params), options));
      }
      EXPECT_LT(static_cast<double>(options.packings->bytes()), 1.15 * bytes) << name(weights);
    }
  }
}

// A deferred weight, as in a Hugging Face folder, is computed only for packing, whatever else a
// compilation does with it.
TEST(Packings, KeepNothingOfDeferredWeights) {
  const Net net({300, 700, 10});
  int made = 0;
  Params deferred;
  for (const auto& [name, p] : net.params)
    deferred.set(name, Tensor::deferred(p.type(), [&made, from = p](std::span<std::byte> out) {
                   ++made;
                   std::copy(from.bytes().begin(), from.bytes().end(), out.begin());
                 }));
  const CompileOptions options{.packings = std::make_shared<Packings>()};
  const Tensor x = numbers({2, 300}, Key(1));
  const Function of_deferred = bind(net.function, deferred);
  const Executable two = compile(vmap(of_deferred, {0}, 2), options);
  EXPECT_EQ(made, 4);
  const Executable one = compile(of_deferred, options);
  EXPECT_EQ(made, 4) << "found, not packed again";
  EXPECT_TRUE(two({&x, 1})[0].same_bits(compile(net.of(2))({&x, 1})[0]));
  EXPECT_EQ(made, 4) << "no step reads the weights themselves";
  EXPECT_TRUE(deferred.at("layers.0.weight").same_bits(net.params.at("layers.0.weight")));
  EXPECT_EQ(made, 5) << "nothing was kept";
}

// Large matrices have their own memory, which is freed separately.
TEST(Packings, KeepNothingThatNoPlanReads) {
  const Net large({2100, 2100, 10});
  const Function f = large.of(1);
  const auto last = bind(
      trace("last",
            {{"layers.1.weight", large.params.at("layers.1.weight").type()},
             {"x", {Dtype::kF32, {2100}}}},
            [](std::span<const Value> in) { return std::vector<Value>{linear(in[1], in[0])}; }),
      {{"layers.1.weight", large.params.at("layers.1.weight")}});
  const CompileOptions options{.packings = std::make_shared<Packings>()};
  std::vector<Executable> plans = {compile(f, options), compile(last, options)};
  EXPECT_GT(options.packings->bytes(), std::size_t{2100} * 2100 * 4);
  plans.erase(plans.begin());
  EXPECT_LT(options.packings->bytes(), std::size_t{200} * 2100);
}

// A square matrix that is multiplied with as it is, and transposed.
TEST(Packings, OfBothLayoutsAreApart) {
  constexpr std::int64_t kSide = 70;
  const Tensor x = numbers({3, kSide}, Key(1)), w = numbers({kSide, kSide}, Key(2));
  for (const Dtype dtype : {Dtype::kF32, Dtype::kBf16}) {
    const auto products = [&](bool plain, bool transposed) {
      return trace("products", {{"x", x.type()}, {"w", {dtype, w.shape()}}},
                   [&](std::span<const Value> in) {
                     std::vector<Value> all;
                     if (transposed) all.push_back(linear(in[0], in[1]));
                     if (plain) all.push_back(matmul(in[0], in[1]));
                     return all;
                   });
    };
    const Function narrow = trace("narrow", {{"w", w.type()}}, [&](std::span<const Value> in) {
      return std::vector<Value>{cast(in[0], dtype)};
    });
    const Tensor weight = interpret(narrow, {&w, 1})[0];
    const std::vector<Tensor> in = {x, weight};
    const std::vector<Tensor> want = interpret(products(true, true), in);
    EXPECT_FALSE(want[0].same_bits(want[1]));
    // In one plan, with weights that come with each run or are bound, and in plans that share them.
    const CompileOptions options{.packings = std::make_shared<Packings>()};
    const auto bound = [&](bool plain, bool transposed) {
      return compile(bind(products(plain, transposed), {{"w", weight}}), options);
    };
    const std::vector<Tensor> free = compile(products(true, true))(in);
    const std::vector<Tensor> both = bound(true, true)({&x, 1});
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(free[i].same_bits(want[i])) << name(dtype) << i;
      EXPECT_TRUE(both[i].same_bits(want[i])) << name(dtype) << i;
    }
    const Executable transposed = bound(false, true), plain = bound(true, false);
    EXPECT_TRUE(transposed({&x, 1})[0].same_bits(want[0])) << name(dtype);
    EXPECT_TRUE(plain({&x, 1})[0].same_bits(want[1])) << name(dtype);
  }
}

TEST(Packings, OfAnInstructionSetAreItsOwn) {
  const Net net({300, 70});
  const CompileOptions shared{.packings = std::make_shared<Packings>()};
  const std::vector<Tensor> x = {numbers({3, 300}, Key(1))};
  const Tensor expected = interpret(net.of(3), x)[0];
  std::vector<Executable> plans;
  for (const kernels::Isa isa : kernels::available_isas()) {
    CompileOptions options = shared;
    options.isa = isa;
    plans.push_back(compile(net.of(3), options));
    EXPECT_TRUE(plans.back()(x)[0].same_bits(expected)) << name(isa);
  }
}

TEST(Packings, KeepNoConstantThatWasPacked) {
  for (const Dtype weights : kWeights) {
    const CompileOptions options{.packings = std::make_shared<Packings>()};
    std::vector<std::weak_ptr<const Tensor>> originals;
    const std::vector<Tensor> x = {numbers({5, 300}, Key(1))};
    std::vector<Tensor> expected;
    std::vector<Executable> plans;
    {
      Net net({300, 700, 10}, weights);
      for (const std::string& name : net.params.names()) {
        if (!name.ends_with("weight")) continue;
        const auto owner = std::make_shared<const Tensor>(net.params.at(name));
        originals.emplace_back(owner);
        net.params.set(name, Tensor::borrow(owner->type(), owner->bytes(), owner));
      }
      expected = interpret(net.of(5), x);
      plans.push_back(compile(net.of(5), options));
    }
    ASSERT_EQ(originals.size(), 2u);
    for (const auto& original : originals) EXPECT_TRUE(original.expired());
    EXPECT_TRUE(plans.back()(x)[0].same_bits(expected[0]));
  }
}

// Memory that was freed may hold other weights, and elements that nothing keeps may change.
TEST(Packings, FindNoWeightsThatAreGoneOrThatNothingKeeps) {
  for (const bool kept : {true, false}) {
    std::vector<float> memory(64 * 48, 1.0f);
    const auto weights = [&] {
      return Tensor::borrow({Dtype::kF32, {64, 48}}, std::as_bytes(std::span(memory)),
                            kept ? std::make_shared<int>(0) : nullptr);
    };
    const Function product =
        trace("f", {{"x", {Dtype::kF32, {2, 64}}}, {"w", {Dtype::kF32, {64, 48}}}},
              [](std::span<const Value> in) { return std::vector<Value>{matmul(in[0], in[1])}; });
    const CompileOptions options{.packings = std::make_shared<Packings>()};
    const std::vector<Tensor> x = {numbers({2, 64}, Key(1))};
    const Executable before = compile(bind(product, {{"w", weights()}}), options);
    const Tensor result = before(x)[0];
    std::fill(memory.begin(), memory.end(), 2.0f);
    const Tensor after = compile(bind(product, {{"w", weights()}}), options)(x)[0];
    EXPECT_TRUE(after.same_bits(interpret(product, std::vector<Tensor>{x[0], weights()})[0]));
    EXPECT_FALSE(after.same_bits(result));
    EXPECT_TRUE(before(x)[0].same_bits(result));
  }
}

TEST(Packings, OfConstantsOfTheSameElementsAreTheirOwn) {
  const Tensor whole = numbers({150'000}, Key(1)), other = numbers({150'000}, Key(2)),
               owner = numbers({480'000}, Key(1));
  // The first elements of a constant begin where the constant does.
  std::vector<Tensor> constants{whole.rows(0, 10), whole, other};
  // Nothing keeps these, so each is copied.
  for (const Shape& shape : {Shape{480'000}, Shape{2, 240'000}, Shape{3, 160'000}, Shape{800, 600}})
    constants.push_back(Tensor::borrow({Dtype::kF32, shape}, owner.bytes(), nullptr));
  const Function f = trace("f", {{"x", f32({})}}, [&](std::span<const Value> in) {
    std::vector<Value> results;
    for (const Tensor& t : constants)
      results.push_back(constant(in[0].builder(), t) * broadcast(in[0], t.shape()));
    return results;
  });
  const Tensor x = Tensor::scalar(0.5f);
  const std::vector<Tensor> got = compile(f)({&x, 1}), want = interpret(f, {&x, 1});
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(got[i].same_bits(want[i])) << i;
}

TEST(Packings, AreSharedByThreadsThatCompile) {
  const Net net({64, 130, 10});
  const CompileOptions options{.packings = std::make_shared<Packings>()};
  const Executable first = compile(net.of(1), options);
  const std::size_t bytes = options.packings->bytes();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const std::vector<Tensor> x = {numbers({1 + t, 64}, Key(1))};
      const Tensor expected = interpret(net.of(1 + t), x)[0];
      for (int i = 0; i < 10; ++i)
        wrong += !compile(net.of(1 + t), options)(x)[0].same_bits(expected);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(options.packings->bytes(), bytes);
}

// While the first weight is packed, the only plan with the second one ends.
TEST(Packings, AreHeldWhileAPlanThatFindsThemIsMade) {
  const CompileOptions options{.packings = std::make_shared<Packings>()};
  const Tensor large = numbers({512, 6144}, Key(2));
  const auto product = [](const Tensor& weight) {
    return bind(
        trace("product", {{"x", {Dtype::kF32, {2, 512}}}, {"w", {Dtype::kF32, weight.shape()}}},
              [](std::span<const Value> in) { return std::vector<Value>{matmul(in[0], in[1])}; }),
        {{"w", weight}});
  };
  std::optional<Executable> last = compile(product(large), options);
  const std::vector<Tensor> x = {numbers({2, 512}, Key(3))};
  const Tensor square = numbers({512, 512}, Key(4));
  const Tensor first = Tensor::deferred(square.type(), [&](std::span<std::byte> out) {
    last.reset();
    std::copy(square.bytes().begin(), square.bytes().end(), out.begin());
  });
  const auto products = [&](const Tensor& weight) {
    return trace("products", {{"x", x[0].type()}}, [&](std::span<const Value> in) {
      Builder& builder = in[0].builder();
      return std::vector<Value>{
          matmul(matmul(in[0], constant(builder, weight)), constant(builder, large))};
    });
  };
  const Function f = products(first);
  ASSERT_TRUE(last);
  const Executable plan = compile(f, options);
  EXPECT_FALSE(last);
  EXPECT_TRUE(plan(x)[0].same_bits(interpret(products(square), x)[0]));
}

}  // namespace
}  // namespace limpid
