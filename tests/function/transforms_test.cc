// Transformations one by one, beyond the laws that hold for every op.
#include <gtest/gtest.h>

#include <functional>
#include <string_view>
#include <tuple>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/inspect/op_example.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/expand.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/rewrite.h"
#include "limpid/transforms/simplify.h"
#include "limpid/transforms/vmap.h"
#include "limpid/transforms/widen.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

const Type kScalar{Dtype::kF64, {}};

Function scalar_function(Value (*code)(Value)) {
  return trace("f", {{"x", kScalar}},
               [&](std::span<const Value> in) { return std::vector<Value>{code(in[0])}; });
}

double at(const Function& f, double x) {
  return interpret(f, std::vector<Tensor>{Tensor::scalar(x)})[0].item<double>();
}

TEST(Grad, OfGradOfGrad) {
  // x^4: 4 x^3, 12 x^2, 24 x, 24
  Function f = scalar_function([](Value x) { return x * x * x * x; });
  for (double expected : {32.0, 48.0, 48.0, 24.0, 0.0}) {
    f = grad(f, {0});
    EXPECT_EQ(at(f, 2), expected) << to_text(f);
  }
}

TEST(Grad, NamesWhatItGives) {
  const Function f =
      trace("f", {{"x", kScalar}, {"y", kScalar}},
            [](std::span<const Value> in) { return std::vector<Value>{in[0] * in[1]}; }, {"loss"});
  const auto names = [](const Function& g) {
    std::vector<std::string> all;
    for (const Output& o : g.outputs()) all.push_back(o.name);
    return all;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(grad(f, {1})), Names{"grad.y"});
  EXPECT_EQ(names(value_and_grad(f, {1, 0})), (Names{"loss", "grad.y", "grad.x"}));
}

TEST(Grad, IsZeroWhereNothingDepends) {
  const Function f = trace("f", {{"x", kScalar}, {"y", kScalar}}, [](std::span<const Value> in) {
    return std::vector<Value>{exp(in[0])};
  });
  const Function g = grad(f, {1});
  EXPECT_EQ(
      interpret(g, std::vector<Tensor>{Tensor::scalar(1.0), Tensor::scalar(2.0)})[0].item<double>(),
      0);
  // Even if it is rounded beside.
  const Function beside = trace("f", {{"x", kScalar}, {"y", kScalar}}, [](auto in) {
    (void)floor(in[1]);
    return std::vector<Value>{exp(in[0])};
  });
  EXPECT_EQ(grad(beside, {1}), g);
}

// Only an op between the input and the result.
TEST(Grad, NamesTheOpThatHasNone) {
  const Type row{Dtype::kF64, {3}};
  const Function f = trace("f", {{"x", row}, {"y", row}}, [](std::span<const Value> in) {
    const auto place = [](const Value& v, const char* layer) {
      const Builder::Scope scope(v.builder(), layer);
      return cast(argmax(v, 0), Dtype::kF64);
    };
    const Value first = place(in[0], "first"), second = place(in[1], "second");
    return std::vector<Value>{first + second};
  });
  for (const std::size_t input : {0, 1})
    expect_refused(ErrorCode::kNoGradient, [&] { grad(f, {input, 1 - input}); });
}

TEST(Grad, SaysWhyThereIsNone) {
  const auto refused = [](Value (*code)(Value, Value)) {
    const Type row{Dtype::kF64, {3}};
    const Function f = trace("f", {{"x", row}, {"y", row}}, [&](std::span<const Value> in) {
      const Builder::Scope scope(in[0].builder(), "head");
      return std::vector<Value>{cast(code(in[0], in[1]), Dtype::kF64)};
    });
    expect_refused(ErrorCode::kNoGradient, [&] { grad(f, {0, 1}); });
  };
  refused([](Value x, Value y) { return sum(x) + cast(argmax(y, 0), Dtype::kF64); });
  refused([](Value x, Value y) { return sum(y) + cast(cast(sum(x), Dtype::kI32), Dtype::kF64); });
}

// Of the results of one op, any may be the one that is read.
TEST(Grad, GoesThroughAnyResult) {
  const Type row{Dtype::kF32, {3}};
  const Tensor x = Tensor::from<float>({3}, {1, 2, 3});
  const Function f = trace("f", {{"x", row}}, [](std::span<const Value> in) {
    const std::vector<Value> both{exp(in[0]), in[0]};
    return std::vector<Value>{sum(barrier(both)[1])};
  });
  EXPECT_TRUE(
      interpret(grad(f, {0}), std::vector{x})[0].same_bits(Tensor::from<float>({3}, {1, 1, 1})));
  // An output that is no number matters, though it has no cotangent.
  const Function place = trace("f", {{"x", row}, {"w", row}}, [](std::span<const Value> in) {
    return std::vector<Value>{sum(in[1]), argmax(in[0], 0)};
  });
  EXPECT_NO_THROW(vjp(place, {1}));
  expect_refused(ErrorCode::kNoGradient, [&] { vjp(place, {0}); });
}

TEST(Grad, RefusesWhatHasNone) {
  const auto refused = [](ErrorCode code, const Type& x,
                          const std::function<std::vector<Value>(std::span<const Value>)>& body) {
    const Function f = trace("f", {{"x", x}}, body);
    expect_refused(code, [&] { grad(f, {0}); });
    expect_refused(code, [&] { value_and_grad(f, {0}); });
  };
  const auto itself = [](auto in) { return std::vector<Value>{in[0]}; };
  const auto as_f32 = [](auto in) { return std::vector<Value>{cast(in[0], Dtype::kF32)}; };
  const auto as_i32 = [](auto in) { return std::vector<Value>{cast(in[0], Dtype::kI32)}; };
  refused(ErrorCode::kShape, {Dtype::kF32, {3}}, itself);
  refused(ErrorCode::kShape, {Dtype::kF32, {1}}, itself);
  refused(ErrorCode::kDtype, {Dtype::kI32, {}}, as_f32);
  refused(ErrorCode::kDtype, {Dtype::kBf16, {}}, as_f32);
  refused(ErrorCode::kDtype, {Dtype::kF32, {}}, as_i32);
  refused(ErrorCode::kInvalidArgument, {Dtype::kF32, {3}},
          [](auto) { return std::vector<Value>{}; });
  expect_refused(ErrorCode::kInvalidArgument,
                 [] { grad(scalar_function([](Value x) { return exp(x); }), {1}); });
}

TEST(Vjp, IsTheTransposedJacobian) {
  const Function f = trace("f", {{"x", {Dtype::kF64, {2}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{in[0] * in[0], sum(in[0])};
  });
  const Function g = vjp(f, {0});
  const std::vector<Tensor> out =
      interpret(g, std::vector<Tensor>{Tensor::from<double>({2}, {3, 5}),
                                       Tensor::from<double>({2}, {1, 10}), Tensor::scalar(100.0)});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[2].values<double>()[0], 106);
  EXPECT_EQ(out[2].values<double>()[1], 200);
}

TEST(Vmap, OfGradIsTheGradientOfEveryExample) {
  const Function g = grad(scalar_function([](Value x) { return x * x * x; }), {0});
  const Function batch = vmap(g, {0}, 3);
  const Tensor out = interpret(batch, std::vector<Tensor>{Tensor::from<double>({3}, {1, 2, 3})})[0];
  EXPECT_EQ(out.values<double>()[2], 27);
}

TEST(Vmap, OfVmapAndGradOfVmap) {
  const Function f = trace("f", {{"x", kScalar}, {"y", kScalar}}, [](std::span<const Value> in) {
    return std::vector<Value>{in[0] * in[1]};
  });
  const Function outer = vmap(vmap(f, {0, std::nullopt}, 2), {std::nullopt, 0}, 3);
  const std::vector<Tensor> inputs{Tensor::from<double>({2}, {1, 2}),
                                   Tensor::from<double>({3}, {10, 20, 30})};
  const Tensor table = interpret(outer, inputs)[0];
  EXPECT_EQ(table.shape(), (Shape{3, 2}));
  EXPECT_EQ(table.values<double>()[5], 60);
  const Function loss = trace("loss", outer.inputs(), [&](std::span<const Value> in) {
    return std::vector<Value>{sum(in[0].builder().inline_function(outer, in)[0])};
  });
  const Tensor g = interpret(grad(loss, {0}), inputs)[0];
  EXPECT_EQ(g.values<double>()[0], 60);
}

// Results of inputs that all examples share have no batch dimension, even if their own dimension
// has the same size.
TEST(Vmap, OpsOnWhatIsSharedHaveNoBatch) {
  const Type three{Dtype::kF32, {3}};
  const Function f = trace("f", {{"x", three}, {"w", three}}, [](std::span<const Value> in) {
    return std::vector<Value>{in[0] * exp(in[1])};
  });
  const Tensor x = Tensor::from<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor w = Tensor::from<float>({3}, {0, 1, 2});
  const Tensor together = interpret(vmap(f, {0, std::nullopt}, 3), std::vector{x, w})[0];
  for (std::int64_t i = 0; i < 3; ++i) {
    const Tensor alone = interpret(f, std::vector{x.rows(i, 1).reshape({3}), w})[0];
    EXPECT_TRUE(together.rows(i, 1).reshape({3}).same_bits(alone)) << i;
  }
}

// Whoever reads row i of a result finds one, whether the result depends on the example or not.
TEST(Vmap, AResultThatIsSharedIsRepeated) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {2}}}, {"w", {Dtype::kF32, {2}}}},
                           [](std::span<const Value> in) {
                             return std::vector<Value>{in[0] * in[1], exp(in[1]), in[1]};
                           },
                           {"product", "shared", "given"});
  const Function mapped = vmap(f, {0, std::nullopt}, 3);
  for (const Output& o : mapped.outputs())
    EXPECT_EQ(mapped.type(o.value).shape, Shape({3, 2})) << to_text(mapped);
  EXPECT_EQ(output_names(mapped), (std::vector<std::string>{"product", "shared", "given"}));
}

// A trace of a batch, or of a backward pass, names the layer of each op.
TEST(Vmap, AndGradKeepTheScopesOfOps) {
  const Function f = trace("f", {{"x", kScalar}}, [](std::span<const Value> in) {
    const Builder::Scope scope(in[0].builder(), "head");
    return std::vector<Value>{tanh(in[0])};
  });
  for (const Function& g : {vmap(f, {0}, 3), grad(f, {0}), vmap(grad(f, {0}), {0}, 3)}) {
    for (const Node& node : g.nodes())
      if (node.op != &op::constant && node.op != &op::broadcast) {
        EXPECT_EQ(node.scope, "head") << to_text(g);
      }
  }
}

TEST(Vmap, TakesAnAxisForEachInputAndOneAtLeast) {
  const Function f = trace("f", {{"x", kScalar}, {"y", kScalar}}, [](std::span<const Value> in) {
    return std::vector<Value>{in[0] * in[1]};
  });
  const auto refused = [&](ErrorCode code, const std::vector<std::optional<std::int64_t>>& axes) {
    expect_refused(code, [&] { vmap(f, axes, 3); });
  };
  refused(ErrorCode::kInvalidArgument, {0});
  refused(ErrorCode::kInvalidArgument, {0, 0, 0});
  refused(ErrorCode::kInvalidArgument, {std::nullopt, std::nullopt});
  refused(ErrorCode::kShape, {std::nullopt, 1});
}

// x^3, whose rules decline if they are told to. They are wrong, which shows who answers.
constexpr AttributeSpec kDeclines[] = {{"declines", AttributeKind::kBool}};
std::vector<Value> cube_gradient(const GradientCall& c) {
  if (c.attributes.get<bool>("declines")) return {};
  return {100.0 * c.cotangents[0]};
}
std::vector<Value> cube_batching(const BatchingCall& c) {
  if (c.attributes.get<bool>("declines")) return {};
  return {100.0 * c.inputs[0]};
}
std::vector<Value> cube_body(std::span<const Value> in, const Attributes&) {
  return {in[0] * in[0] * in[0]};
}
constexpr Op cube_with(Gradient gradient) {
  return {.name = "cube",
          .formula = "x^3",
          .shapes = "[...] -> [...]",
          .min_inputs = 1,
          .max_inputs = 1,
          .attributes = kDeclines,
          .types = floating_elementwise,
          .body = cube_body,
          .gradient = gradient_or_body(gradient),
          .batching = batching_or_body(cube_batching),
          .flops = flops_of_body,
          .onnx = {},
          .examples = unary_examples};
}
constinit const Op kCube = complete(cube_with(cube_gradient));

Function cube(const Op& op, bool declines) {
  return trace("f", {{"x", kScalar}}, [&](std::span<const Value> in) {
    return std::vector<Value>{call1(op, {in[0]}, {{"declines", declines}})};
  });
}

TEST(Grad, RuleMayDeclineToTheBody) {
  EXPECT_EQ(at(grad(cube(kCube, false), {0}), 2), 100);
  EXPECT_EQ(at(grad(cube(kCube, true), {0}), 2), 12);
  EXPECT_EQ(at(grad(grad(cube(kCube, true), {0}), {0}), 2), 12);
}

TEST(Vmap, RuleMayDeclineToTheBody) {
  const std::vector<Tensor> x{Tensor::from<double>({2}, {2, 3})};
  const auto second = [&](bool declines) {
    return interpret(vmap(cube(kCube, declines), {0}, 2), x)[0].values<double>()[1];
  };
  EXPECT_EQ(second(false), 300);
  EXPECT_EQ(second(true), 27);
}

TEST(Grad, RuleDeclinesByTypesAndAttributesAlone) {
  static constinit const Op by_cotangent = complete(cube_with([](const GradientCall& c) {
    const Value& cotangent = c.cotangents[0];
    return std::vector<Value>(cotangent.builder().maker(cotangent.id()) ? 0 : 1, cotangent);
  }));
  expect_refused(ErrorCode::kInternal, [] { grad(cube(by_cotangent, false), {0}); });
}

TEST(Bind, ReplacesInputsAndRefusesStrangers) {
  const nn::Mlp net = nn::mlp({2, 3, 1}, relu);
  const Params params = net.init(Key(0));
  const Function bound = bind(net.function(), params);
  ASSERT_EQ(bound.inputs().size(), 1u);
  EXPECT_EQ(bound.inputs()[0].name, "x");
  EXPECT_EQ(bound.outputs()[0].name, "logits");
  const auto refused = [&](ErrorCode code, const Params& with) {
    expect_refused(code, [&] { bind(net.function(), with); });
  };
  refused(ErrorCode::kNotFound, {{"layers.9.weight", Tensor()}});
  refused(ErrorCode::kNotFound, {{"layers.0.bias", params.at("layers.0.bias")},
                                 {"layers.O.weight", params.at("layers.0.weight")}});
  refused(ErrorCode::kShape, {{"layers.0.bias", Tensor::zeros({Dtype::kF32, {4}})}});
  refused(ErrorCode::kDtype, {{"layers.0.bias", Tensor::zeros({Dtype::kF64, {3}})}});
}

// A cast's dtype is an attribute.
TEST(Widen, WidensWhatOpsAreToldToo) {
  const Function f = trace(
      "f", {{"i", {Dtype::kI32, {2}}}, {"x", {Dtype::kF32, {2}}}}, [](std::span<const Value> in) {
        return std::vector<Value>{in[1] * cast(in[0], Dtype::kF32) + 0.1, in[0]};
      });
  const Function wide = widen(f);
  verify(wide);
  const std::vector<Tensor> out =
      interpret(wide, std::vector<Tensor>{Tensor::from<std::int32_t>({2}, {3, 1 << 30}),
                                          Tensor::from<double>({2}, {2, 1})});
  // Widened after it was rounded to f32.
  EXPECT_TRUE(out[0].same_bits(Tensor::from<double>(
      {2}, {6 + static_cast<double>(0.1f), 0x1p30 + static_cast<double>(0.1f)})));
  EXPECT_EQ(out[1].dtype(), Dtype::kI32);
  const Function named =
      trace("f", {{"x", kScalar}},
            [](std::span<const Value> in) { return std::vector<Value>{in[0]}; }, {"y"});
  EXPECT_EQ(output_names(widen(named)), std::vector<std::string>{"y"});
}

TEST(Simplify, SharesCallsAndDropsTheDead) {
  const Function f = trace("f", {{"x", kScalar}}, [](std::span<const Value> in) {
    tanh(in[0]);
    return std::vector<Value>{exp(in[0]) * exp(in[0]) + 1.0 + 1.0};
  });
  const Function g = simplify(f);
  // exp, multiply, the constant once, two additions
  EXPECT_EQ(g.nodes().size(), 5u) << to_text(g);
  EXPECT_EQ(at(f, 0.3), at(g, 0.3));
}

// Barriers prevent the merging of their readers.
TEST(Simplify, KeepsEveryBarrier) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {3}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{exp(barrier(in[0])), exp(barrier(in[0]))};
  });
  EXPECT_EQ(simplify(f).nodes().size(), 4u);
}

TEST(Simplify, KeepsCastsThatRound) {
  const Function f = trace("f", {{"x", {Dtype::kI64, {}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{cast(cast(in[0], Dtype::kF64), Dtype::kI64)};
  });
  constexpr std::int64_t kRounded = std::int64_t{1} << 53;
  EXPECT_EQ(interpret(simplify(f), std::vector<Tensor>{Tensor::scalar(kRounded + 1)})[0]
                .item<std::int64_t>(),
            kRounded);
}

TEST(Simplify, KeepsZerosOfBothSignsApart) {
  const Function f = trace("f", {{"x", kScalar}}, [](std::span<const Value> in) {
    return std::vector<Value>{in[0] * 0.0, in[0] * -0.0};
  });
  EXPECT_EQ(simplify(f).nodes().size(), 4u);
}

// A call is needed for any of its results, not for its first alone.
TEST(Simplify, KeepsACallForItsLastResult) {
  const Function f = trace("f", {{"x", kScalar}, {"y", kScalar}}, [](std::span<const Value> in) {
    return std::vector<Value>{barrier(in)[1]};
  });
  EXPECT_EQ(simplify(f), f) << to_text(simplify(f));
}

TEST(Simplify, KeepsWhatACallReadsForAnyOfItsResults) {
  for (const std::size_t read : {0, 1}) {
    const Function f = trace("f", {{"x", kScalar}, {"y", kScalar}}, [&](std::span<const Value> in) {
      return std::vector<Value>{barrier(std::vector{exp(in[0]), exp(in[1])})[read]};
    });
    EXPECT_EQ(simplify(f), f) << to_text(simplify(f));
  }
}

// A key of 8 bytes would become megabytes of random numbers in a model's file.
TEST(Simplify, FoldsNoConstantsIntoMuchLargerOnes) {
  const auto drawn = [](std::int64_t count) {
    return simplify(trace("f", {{"x", kScalar}}, [&](std::span<const Value> in) {
      const Value key = constant(in[0].builder(), key_tensor(Key(7)));
      return std::vector<Value>{uniform(key, {count})};
    }));
  };
  EXPECT_EQ(drawn(4096).nodes().size(), 1u) << to_text(drawn(4096), {.max_elements = 4});
  EXPECT_EQ(drawn(4097).nodes().size(), 2u) << to_text(drawn(4097), {.max_elements = 4});
  const Function as_large = simplify(trace("f", {{"x", kScalar}}, [](std::span<const Value> in) {
    return std::vector{exp(constant(in[0].builder(), Tensor::zeros({Dtype::kF32, {4097}})))};
  }));
  EXPECT_EQ(as_large.nodes().size(), 1u);
}

// Reference arithmetic would take long.
std::size_t count_of(const Function& f, const Op& op) {
  return static_cast<std::size_t>(std::count_if(f.nodes().begin(), f.nodes().end(),
                                                [&](const Node& n) { return n.op == &op; }));
}

// A short text may have many calls that are each little.
TEST(Simplify, FoldsNoMoreThanAMomentInAll) {
  Builder products("products");
  const Value m = constant(products, Tensor::zeros({Dtype::kF32, {256, 256}}));
  Value y = m;
  for (int i = 0; i < 12; ++i) y = matmul(y, m);  // 2^25 operations each
  EXPECT_EQ(count_of(simplify(products.finish(std::vector{y}, {"y"})), op::matmul), 4u);
}

TEST(Simplify, FoldsIntoNoMoreElementsThanSomeTimesThoseGiven) {
  constexpr std::int64_t kCalls = 40;
  const auto left = [](std::int64_t size) {
    Builder sums("sums");
    const Value x = constant(sums, Tensor::zeros({Dtype::kF32, {size}}));
    std::vector<Value> results;
    std::vector<std::string> names;
    for (std::int64_t i = 1; i <= kCalls; ++i) {
      results.push_back(slice(x, 0, i, size));
      names.push_back("y" + std::to_string(i));
    }
    return count_of(simplify(sums.finish(results, names)), op::slice);
  };
  EXPECT_EQ(left(1 << 10), 0u);
  EXPECT_EQ(left(1 << 19), 28u);  // 12 results of that size are 2^22 + 4 * 2^19 elements
}

// A text can be written so that each pass makes the next one possible.
TEST(Simplify, GivesUpAfterSomePasses) {
  const auto nodes_of = [](int levels) {
    const Function f = trace("f", {{"x", {Dtype::kF32, {4}}}}, [&](std::span<const Value> in) {
      const Value tall = reshape(in[0], {4, 1}), square = reshape(in[0], {2, 2});
      Value y = in[0];
      for (int i = 0; i < levels; ++i) {
        const Value& b = i % 2 == 0 ? tall : square;
        y = maximum(reshape(y, b.shape()), b);
      }
      return std::vector<Value>{y};
    });
    return simplify(f).nodes().size();
  };
  EXPECT_LT(nodes_of(10), 4u);
  EXPECT_GT(nodes_of(200), 100u);
}

TEST(Simplify, FoldsNoLargeProducts) {
  const auto product = [](std::int64_t n) {
    return simplify(trace("f", {{"x", kScalar}}, [&](std::span<const Value> in) {
      const Value a = constant(in[0].builder(), Tensor::zeros({Dtype::kF32, {n, n}}));
      return std::vector<Value>{matmul(a, a)};
    }));
  };
  EXPECT_EQ(product(8).nodes().size(), 1u);
  EXPECT_EQ(product(513).nodes().size(), 2u);  // 2 * 513^3 operations are more than 2^28
}

// Nothing is computed where all results are empty, and everything where one has elements.
TEST(Interpret, ComputesWhatHasElementsBesideAnEmptyResult) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {2}}}, {"none", {Dtype::kF32, {0}}}},
                           [](std::span<const Value> in) { return barrier(in); });
  const std::vector<Tensor> in{Tensor::from<float>({2}, {3, 4}), Tensor()};
  EXPECT_TRUE(interpret(f, in)[0].same_bits(in[0]));
}

// In the order of the calls, and of the results of each.
TEST(Interpret, ShowsEveryResultOfEveryCall) {
  const Function f = trace("f", {{"x", kScalar}, {"y", kScalar}}, [](std::span<const Value> in) {
    const std::vector<Value> both = barrier(in);
    return std::vector<Value>{both[0] - both[1]};
  });
  std::vector<std::tuple<std::string_view, std::size_t, double>> seen;
  interpret(f, std::vector<Tensor>{Tensor::scalar(5.0), Tensor::scalar(3.0)},
            [&](const Node& node, std::size_t result, const Tensor& value) {
              seen.emplace_back(node.op->name, result, value.item<double>());
            });
  EXPECT_EQ(seen, (decltype(seen){{"barrier", 0, 5}, {"barrier", 1, 3}, {"subtract", 0, 2}}));
}

// Bodies have compositions, too.
TEST(Expand, LeavesPrimitives) {
  std::vector<Function> functions{nn::mlp({2, 3, 1}, gelu).function()};
  for (const Op* op : all_ops())
    for (const Example& e : op->examples()) functions.push_back(function_of(*op, e));
  for (const Function& f : functions)
    for (const Node& node : expand(f).nodes())
      EXPECT_TRUE(node.op->is_primitive()) << node.op->name << " of " << f.name();
}

}  // namespace
}  // namespace limpid
