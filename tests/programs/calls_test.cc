// Calls of Functions and of code: captured values, arguments by name and position, and error
// messages.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "limpid/limpid.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

Function squares() {
  return trace("squares", {{"a", f32({3})}, {"b", f32({3})}}, [](std::span<const Value> in) {
    return std::vector{sum((in[0] - in[1]) * (in[0] - in[1]))};
  });
}

const Tensor kA = Tensor::from<float>({3}, {1, 2, 3});
const Tensor kB = Tensor::from<float>({3}, {1, 0, -1});

// ---- Functions

TEST(Call, RunsAFunctionOnTensors) {
  const Function f = squares();
  const Tensor result = f(kA, kB);
  EXPECT_EQ(result.item<float>(), 20);
  EXPECT_EQ(f(kA, kB).size(), 1u);
  const Tensor named = f(Params{{"b", kB}, {"a", kA}});
  EXPECT_TRUE(named.same_bits(result));
}

TEST(Call, WritesAFunctionIntoTheOneUnderWay) {
  const Function f = squares();
  auto twice = compile([&](Value a, Value b) { return f(a, b) + f(b, a); });
  EXPECT_EQ(twice(kA, kB).item<float>(), 40);
}

TEST(Call, WritesAFunctionWithItsScopesAndShapes) {
  const Function layer = trace("layer", {{"x", f32({3})}}, [](std::span<const Value> in) {
    const Builder::Scope scope(in[0].builder(), "mlp");
    return std::vector{exp(in[0])};
  });
  const Function net = trace("net", {{"x", f32({3})}}, [&](std::span<const Value> in) {
    const Builder::Scope scope(in[0].builder(), "layers.2");
    return in[0].builder().inline_function(layer, in);
  });
  EXPECT_EQ(net.nodes()[0].scope, "layers.2.mlp");
  expect_refused(ErrorCode::kShape, [&] {
    trace("net", {{"x", f32({4})}},
          [&](std::span<const Value> in) { return in[0].builder().inline_function(layer, in); });
  });
}

TEST(Call, SaysWhatAFunctionExpects) {
  const Function f = squares();
  expect_refused(ErrorCode::kInvalidArgument, [&] { f(kA); });
  expect_refused(ErrorCode::kNotFound, [&] { f(Params{{"a", kA}, {"c", kB}}); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { f(Params{{"a", kA}, {"b", kB}, {"c", kB}}); });
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    trace("outer", {{"a", f32({3})}},
          [&](std::span<const Value> in) { return std::vector<Value>{f(in[0])}; });
  });
  Builder other("other");
  const Value stranger = other.input("x", f32({}));
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    trace("outer", {}, [&](std::span<const Value>) { return std::vector{stranger}; });
  });
  const Function both = trace("both", {{"x", f32({})}}, [](std::span<const Value> in) {
    return std::vector{in[0], in[0] * 2.0};
  });
  expect_refused(ErrorCode::kInvalidArgument, [&] { const Tensor one = both(3.0); });
  EXPECT_EQ(both(3.0)[1].item<float>(), 6);
}

TEST(Call, KeepsWhatItCompiled) {
  const Function f = squares();
  int made = 0;
  const auto make = [&] {
    ++made;
    return std::make_shared<const int>(7);
  };
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): what is tested
  const Function copy = f;
  EXPECT_EQ(f.keep<int>(make), copy.keep<int>(make));
  EXPECT_EQ(made, 1);
}

// The second thread calls while the first one makes.
TEST(Call, KeepsOneThingForAllThreads) {
  const Function f = squares();
  std::atomic<int> made{0};
  const auto make = [&] {
    ++made;
    for (int i = 0; i < 10 && made < 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::make_shared<const int>(7);
  };
  std::shared_ptr<const void> other;
  std::thread second([&, copy = f] {
    while (made == 0) std::this_thread::yield();
    other = copy.keep<int>(make);
  });
  const std::shared_ptr<const void> one = f.keep<int>(make);
  second.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(other, one);
}

// ---- what is captured

TEST(Capture, ClosuresAreInputsThatNobodyNames) {
  // d/dq of the sum over a of q a x, mapped over a, with x shared, by three Functions.
  auto f = compile([](Value as, Value x) {
    return vmap([&](Value a) { return grad([&](Value q) { return q * a * x; })(x); })(as);
  });
  const Tensor result = f(kA, 5.0);
  EXPECT_TRUE(result.same_bits(Tensor::from<float>({3}, {5, 10, 15}))) << to_text(result);
}

TEST(Capture, IsDifferentiatedByTheCodeAround) {
  // x -> d/dy (x y^2) at y = 3 is 6 x; its derivative by x is 6.
  auto f = compile(
      grad([](Value x) { return grad([&](Value y) { return x * y * y; })(number_like(x, 3)); }));
  EXPECT_EQ(f(2.0).item<float>(), 6);
}

// x and y are the first values of two functions around the innermost one.
TEST(Capture, TellsTheFunctionsAroundApart) {
  // z x y^2 by z is x y^2, and that by y is 2 x y, at y = 3.
  auto f = compile([](Value x) {
    return grad([&](Value y) {
      return grad([&](Value z) { return z * x * y * y; })(number_like(x, 1));
    })(number_like(x, 3));
  });
  EXPECT_EQ(f(2.0).item<float>(), 12);
}

TEST(Capture, TakesANameThatIsFree) {
  Builder outer("outer");
  const Value x = outer.input("x", f32({}));
  Builder inner("inner", outer);
  const Value own = inner.input("captured.1", f32({}));
  const Function f = inner.finish(std::vector{own + x});
  ASSERT_EQ(f.inputs().size(), 2u);
  EXPECT_EQ(f.inputs()[1].name, "captured.captured.1");
}

TEST(Capture, OfAValueThatIsReadAgainIsTheSameInput) {
  Builder outer("outer");
  const Value x = outer.input("x", f32({}));
  Builder inner("inner", outer);
  const Value square = inner.call(op::multiply, std::vector{x, x})[0];
  EXPECT_EQ(inner.finish(std::vector{square + x}).inputs().size(), 1u);
}

// So that rules about constants see them.
TEST(Capture, OfAConstantIsAConstant) {
  Builder outer("outer");
  const Value number = constant(outer, 2, Dtype::kF32);
  Builder inner("inner", outer);
  const Function f = inner.finish(inner.call(op::negate, std::vector{number}));
  EXPECT_TRUE(f.inputs().empty());
  EXPECT_EQ(f.nodes()[0].op, &op::constant);
}

TEST(Capture, MayBeAllThatIsReturned) {
  auto f = compile([](Value xs, Value y) { return vmap([&](Value) { return y; })(xs); });
  EXPECT_TRUE(f(kA, 2.0).same_bits(Tensor::from<float>({3}, {2, 2, 2})));
}

TEST(Capture, KeepsTheScopesOfLayers) {
  Builder builder("f");
  const Value x = builder.input("x", f32({4}));
  const nn::Mlp net = nn::mlp({4, 2}, relu);
  Args params;
  for (const auto& [name, tensor] : net.init(Key{0}))
    params.set(name, builder.input(name, tensor.type()));
  const Value loss =
      grad([&](const Args& p) { return sum(net(p, x)); })(params).at("layers.0.bias");
  const Function f = builder.finish(std::vector{loss});
  EXPECT_TRUE(std::all_of(f.nodes().begin(), f.nodes().end(), [](const Node& n) {
    return n.op != &op::linear || n.scope == "layers.0";
  })) << to_text(f);
}

// The part of the scope that the code around had entered before the code is left out, but not one
// that begins with the letters of another.
TEST(Capture, KeepsTheScopesEnteredInItsCode) {
  Builder outer("outer");
  const Value x = outer.input("x", f32({}));
  const auto scope_of = [&](Builder& inner, const char* name) {
    const Builder::Scope scope(outer, name);
    return inner.finish(inner.call(op::negate, std::vector{x})).nodes()[0].scope;
  };
  std::optional<Builder> other;
  {
    const Builder::Scope scope(outer, "mlp");
    other.emplace("inner", outer);
  }
  EXPECT_EQ(scope_of(*other, "mlp10.up"), "");
  const Builder::Scope net(outer, "net");
  Builder inner("inner", outer);
  EXPECT_EQ(scope_of(inner, "layers.0"), "layers.0");
}

// A Function may give back what the code captured. That is not what was made last, here a number.
TEST(Capture, AValueThatACallGivesBackIsCapturedAgain) {
  const Function second = trace("second", {{"a", f32({3})}, {"b", f32({3})}},
                                [](std::span<const Value> in) { return std::vector{in[1]}; });
  auto f = compile([&](Value x) {
    return grad([&](Value y) {
      const Value number = constant(y.builder(), 100, Dtype::kF32);
      const Value captured = call(second, std::vector{y, x})[0];
      return sum(number * grad([&](Value z) { return sum(z * captured * y); })(y));
    })(x);
  });
  EXPECT_TRUE(f(kA).same_bits(Tensor::from<float>({3}, {100, 200, 300}))) << to_text(f(kA));
}

TEST(Capture, IsRefusedBetweenFunctionsOfTheirOwn) {
  Builder one("one"), other("other");
  const Value a = one.input("a", f32({}));
  const Value b = other.input("b", f32({}));
  expect_refused(ErrorCode::kInvalidArgument, [&] { a + b; });
}

// A value of a function may not leave it before it is complete.
TEST(Capture, IsRefusedOutOfTheFunctionWithin) {
  Builder outer("outer"), middle("middle", outer), inner("inner", middle);
  const Value x = inner.input("x", f32({}));
  expect_refused(ErrorCode::kInvalidArgument, [&] { middle.call(op::negate, std::vector{x}, {}); });
}

TEST(Capture, AValueOfThePastIsASentence) {
  Value kept;
  auto leak = compile([&](Value x) {
    grad([&](Value y) {
      kept = y;
      return y * y;
    })(x);
    return x + kept;
  });
  expect_refused(ErrorCode::kInvalidArgument, [&] { leak(1.0); });
  trace("f", {{"x", f32({})}}, [&](std::span<const Value> in) {
    kept = in[0];
    return std::vector{in[0]};
  });
  expect_refused(ErrorCode::kInvalidArgument, [&] { kept.type(); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { exp(kept); });
  // Another Builder at the same address is another Function.
  Builder later("later");
  expect_refused(ErrorCode::kInvalidArgument, [&] { kept.type(); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { Value().type(); });
}

// ---- what is chosen

TEST(OfCode, PositionsAndNamesChoose) {
  auto f = [](const Args& p, Value x) { return sum(p.at("a") * p.at("b") * x); };
  auto both = compile(grad<0, 1>(f));
  const Params p{{"a", kA}, {"b", kB}};
  const auto [by_p, by_x] = both(p, kA);
  EXPECT_EQ(by_p.names(), p.names());
  EXPECT_TRUE(by_p.at("a").same_bits(Tensor::from<float>({3}, {1, 0, -3})));
  EXPECT_TRUE(by_x.same_bits(Tensor::from<float>({3}, {1, 0, -3})));
  const Params part = compile(grad(f, {"b"}))(p, kA);
  EXPECT_EQ(part.names(), std::vector<std::string>{"b"});
  expect_refused(ErrorCode::kNotFound, [&] { compile(grad(f, {"c"}))(p, kA); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { compile(grad<1>(f, {"b"}))(p, kA); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { compile(grad<0, 1>(f, {"b"}))(p, kA); });
}

TEST(OfCode, ResultsHaveTheFormOfWhatTheCodeReturns) {
  auto f = [](Value x) { return std::tuple{sum(x), std::tuple{x * 2.0}, Args{{"y", x}}}; };
  const auto [value, gradient] = compile(value_and_grad(f))(kA);
  EXPECT_EQ(std::get<0>(value).item<float>(), 6);
  EXPECT_EQ(std::get<0>(std::get<1>(value)).values<float>()[2], 6);
  EXPECT_TRUE(std::get<2>(value).at("y").same_bits(kA));
  EXPECT_TRUE(gradient.same_bits(Tensor::from<float>({3}, {1, 1, 1})));
}

TEST(OfCode, FunctionsAreDifferentiatedByName) {
  const Function f = squares();
  EXPECT_EQ(grad(f, {"b"}), grad(f, {1}));
  EXPECT_EQ(grad(f), grad(f, {0}));
  expect_refused(ErrorCode::kNotFound, [&] { grad(f, {"c"}); });
}

TEST(OfCode, TangentsMayNameAPart) {
  auto f = [](const Args& p) { return Args{{"product", p.at("a") * p.at("b")}}; };
  auto moved = compile([&](const Args& p, const Args& t) { return jvp(f)(p, t); });
  const auto result = moved(Params{{"a", kA}, {"b", kB}}, Params{{"b", kA}});
  EXPECT_TRUE(result.value.at("product").same_bits(Tensor::from<float>({3}, {1, 0, -3})));
  EXPECT_TRUE(result.tangent.at("product").same_bits(Tensor::from<float>({3}, {1, 4, 9})));
}

// A tangent of integers would be missing among the results.
TEST(OfCode, IntegersHaveNoTangent) {
  auto counted = [](Value x) { return cast(x, Dtype::kI32); };
  auto moved = compile([&](Value x, Value t) { return jvp(counted)(x, t).value; });
  expect_refused(ErrorCode::kDtype, [&] { moved(kA, kB); });
}

TEST(OfCode, VmapTakesAxesAndChecksSizes) {
  auto f = [](Value a, Value b) { return a * b; };
  const Tensor m = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  auto columns = compile([&](Value x, Value y) { return vmap(f, {1, std::nullopt})(x, y); });
  const Tensor two = Tensor::from<float>({2}, {1, 3});
  EXPECT_EQ(to_string(columns(m, two).type()), "f32[3, 2]");
  auto last = compile([&](Value x, Value y) { return vmap(f, {-1, std::nullopt})(x, y); });
  EXPECT_TRUE(last(m, two).same_bits(columns(m, two)));
  auto rows = compile([&](Value x, Value y) { return vmap(f)(x, y); });
  expect_refused(ErrorCode::kShape, [&] { rows(m, kA); });
  auto wrong = compile([&](Value x, Value y) { return vmap(f, {0})(x, y); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { wrong(m, m); });
}

// ---- groups

TEST(Groups, ArithmeticIsByName) {
  auto f = compile([](const Args& p, const Args& g, Value rate) {
    return std::tuple{p - rate * g, -(p / 2.0) + 1.0, dot(p, g)};
  });
  const auto [next, other, product] =
      f(Params{{"a", kA}, {"b", kB}}, Params{{"b", kB}, {"a", kA}}, 0.5);
  EXPECT_TRUE(next.at("a").same_bits(Tensor::from<float>({3}, {0.5, 1, 1.5})));
  EXPECT_TRUE(other.at("b").same_bits(Tensor::from<float>({3}, {0.5, 1, 1.5})));
  EXPECT_EQ(product.item<float>(), 16);
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    f(Params{{"a", kA}}, Params{{"b", kB}}, 0.5);
  });
}

TEST(Groups, OperandsKeepTheirOrder) {
  auto f = compile([](const Args& p, const Args& q, Value v) {
    const std::vector<Args> all{p + q,   p - q,   p * q,   p / q,  //
                                p + v,   p - v,   p * v,   p / v,   v + p,   v - p,
                                v * p,   v / p,   p + 2.0, p - 2.0, p * 2.0, p / 2.0,
                                2.0 + p, 2.0 - p, 2.0 * p, 2.0 / p};
    Args results;
    for (const Args& one : all) results.set(std::to_string(results.size()), one.at("a"));
    return results;
  });
  const auto number = [](float x) { return Params{{"a", Tensor::from<float>({1}, {x})}}; };
  std::vector<float> got;
  for (const auto& [name, result] : f(number(8), number(2), 2.0))
    got.push_back(result.item<float>());
  const std::vector<float> first{10, 6, 16, 4}, second{10, -6, 16, 0.25};
  std::vector<float> want = first;
  for (int both = 0; both < 2; ++both)
    for (const auto& part : {first, second}) want.insert(want.end(), part.begin(), part.end());
  EXPECT_EQ(got, want);
}

// ---- plans

TEST(Compiled, BindsGroupsThatStayTheSameObjects) {
  int traced = 0;
  auto f = compile([&](const Args& p, Value x) {
    ++traced;
    return linear(x, p.at("w"), Value());
  });
  const Tensor w = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Params p{{"w", w}};
  const Tensor first = f(p, kA);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(f(p, kA).same_bits(first));
  // Equal values in another buffer, other values, and the first ones again.
  const Params other{{"w", Tensor::from<float>({2, 3}, {6, 5, 4, 3, 2, 1})}};
  const Params equal{{"w", Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6})}};
  EXPECT_TRUE(f(equal, kA).same_bits(first));
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(f(other, kA).same_bits(Tensor::from<float>({2}, {28, 10}))) << i;
  EXPECT_TRUE(f(p, kA).same_bits(first));
  EXPECT_EQ(traced, 1);
  f(Params{{"w", Tensor::from<float>({1, 3}, {1, 2, 3})}}, kA);
  EXPECT_EQ(traced, 2);
}

// Both groups have two vectors of three; the code asks for them by name.
TEST(Compiled, TellsGroupsOfOtherNamesApart) {
  auto f = compile([](const Args& p) { return p.at("a") - p.at("b"); });
  EXPECT_TRUE(f(Params{{"a", kA}, {"b", kB}}).same_bits(f(Params{{"b", kB}, {"a", kA}})));
  EXPECT_FALSE(f(Params{{"a", kA}, {"b", kB}}).same_bits(f(Params{{"b", kA}, {"a", kB}})));
}

// The same names in the same order, but of other groups.
TEST(Compiled, TellsWhereAGroupEnds) {
  const auto total = [](const Args& group) {
    Value sum;
    for (const auto& [name, value] : group) sum = sum ? sum + value : value;
    return sum;
  };
  auto f = compile([&](const Args& p, const Args& q) { return total(p) - total(q); });
  const Tensor a = Tensor::scalar(1.0f), b = Tensor::scalar(10.0f), c = Tensor::scalar(100.0f);
  EXPECT_EQ(f(Params{{"a", a}}, Params{{"b", b}, {"c", c}}).item<float>(), -109);
  EXPECT_EQ(f(Params{{"a", a}, {"b", b}}, Params{{"c", c}}).item<float>(), -89);
  auto which = compile(
      [](const Args& p, const Args& q) { return p.empty() ? q.at("a") * -1.0 : p.at("a"); });
  EXPECT_EQ(which(Params{{"a", a}}, Params{}).item<float>(), 1);
  EXPECT_EQ(which(Params{}, Params{{"a", a}}).item<float>(), -1);
}

// The next parameters may be where the last ones were.
TEST(Compiled, BindsNoParametersThatAreGone) {
  auto f = compile([](const Args& p) { return p.at("w") * 2.0; });
  const auto memory = std::make_shared<std::vector<float>>(3);
  const auto doubled = [&](float number) {
    std::fill(memory->begin(), memory->end(), number);
    const std::shared_ptr<const void> owner(memory.get(), [memory](const void*) {});
    const Params p{
        {"w", Tensor::borrow({Dtype::kF32, {3}}, std::as_bytes(std::span(*memory)), owner)}};
    for (int i = 0; i < 3; ++i) f(p);
    return f(p).values<float>()[0];
  };
  EXPECT_EQ(doubled(1), 2);
  EXPECT_EQ(doubled(5), 10);
  // Nobody owns it: it may change between two calls, and is packed in each.
  auto product = compile([](const Args& p, Value x) { return matmul(x, p.at("w")); });
  const Params borrowed{
      {"w", Tensor::borrow({Dtype::kF32, {3, 1}}, std::as_bytes(std::span(*memory)), nullptr)}};
  const Tensor ones = Tensor::from<float>({1, 3}, {1, 1, 1});
  for (int i = 1; i < 5; ++i) {
    std::fill(memory->begin(), memory->end(), static_cast<float>(i));
    EXPECT_EQ(Tensor(product(borrowed, ones)).values<float>()[0], 3 * i);
  }
}

TEST(Compiled, KeepsNoParametersAlive) {
  auto f = compile([](const Args& p) { return p.at("w") * 2.0; });
  std::weak_ptr<const void> owner;
  {
    const Params p{{"w", Tensor::from<float>({3}, {1, 2, 3})}};
    owner = p.at("w").owner();
    f(p);
  }
  EXPECT_TRUE(owner.expired());
}

// Arguments without a name are named by their positions, and so may be entries of a group.
TEST(Compiled, TakesGroupsWhoseNamesAreNumbers) {
  auto f = compile([](const Args& p, Value x) { return p.at("1") * x + p.at("0"); });
  EXPECT_TRUE(f(Params{{"1", kA}, {"0", kB}}, 2.0).same_bits(Tensor::from<float>({3}, {3, 4, 5})));
}

TEST(Compiled, TakesNumbersKeysAndTuples) {
  auto f = compile([](Value rate, const std::tuple<Value, Args>& more, Value key) {
    return std::get<0>(more) * rate + std::get<1>(more).at("a") + 0.0 * sum(uniform(key, {2}));
  });
  const Tensor result = f(0.5, std::tuple{kA, Params{{"a", kB}}}, Key{3});
  EXPECT_TRUE(result.same_bits(Tensor::from<float>({3}, {1.5, 1, 0.5})));
}

TEST(Compiled, TakesIntegersOf32Bits) {
  auto f = compile([](Value n) { return n; });
  EXPECT_EQ(Tensor(f(std::int64_t{-1} << 31)).item<std::int32_t>(),
            std::numeric_limits<int>::min());
  expect_refused(ErrorCode::kInvalidArgument, [&] { f(std::int64_t{1} << 31); });
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { f(std::numeric_limits<std::uint64_t>::max()); });
}

// ---- with_gradient

TEST(WithGradient, KeepsItsGradientUnderVmapAndTwice) {
  // y = x w, with a gradient twice the true one.
  const auto doubled = with_gradient([](Value x, Value w) { return sum(x * w); },
                                     [](Value x, Value w, Value, Value cotangent) {
                                       return std::tuple{2.0 * cotangent * w, 2.0 * cotangent * x};
                                     });
  auto f = compile([&](Value xs, Value w) {
    return grad([&](Value v) { return sum(vmap([&](Value x) { return doubled(x, v); })(xs)); })(w);
  });
  const Tensor rows = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(f(rows, kA).same_bits(Tensor::from<float>({3}, {10, 14, 18})))
      << to_text(f(rows, kA));
  auto second = compile([&](Value xs, Value w) {
    // d/dv of x . d/du (u . v), with u = x: 2 x because of the doubled gradient.
    return vmap([&](Value x) {
      return grad(
          [&](Value v) { return sum(x * grad([&](Value u) { return doubled(u, v); })(x)); })(w);
    })(xs);
  });
  EXPECT_TRUE(second(rows, kA).same_bits(Tensor::from<float>({2, 3}, {2, 4, 6, 8, 10, 12})))
      << to_text(second(rows, kA));
}

// Batches of 2 and of 4, the outer one first.
TEST(WithGradient, TellsTheBatchesAroundItApart) {
  const auto doubled = with_gradient([](Value x, Value w) { return sum(x * w); },
                                     [](Value x, Value w, Value, Value cotangent) {
                                       return std::tuple{2.0 * cotangent * w, 2.0 * cotangent * x};
                                     });
  auto f = compile([&](Value batches, Value w) {
    return grad([&](Value v) {
      const auto of_rows = [&](Value rows) {
        return sum(vmap([&](Value x) { return doubled(x, v); })(rows));
      };
      return sum(vmap(of_rows)(batches));
    })(w);
  });
  std::vector<float> numbers(24);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  // Twice the sums of the columns.
  EXPECT_TRUE(f(Tensor::from<float>({2, 4, 3}, numbers), kA)
                  .same_bits(Tensor::from<float>({3}, {168, 184, 200})));
}

// Example by example; the second slope is twice what it would be without the gradient given.
TEST(WithGradient, TakesABatchOfEachInput) {
  const auto product = with_gradient([](Value x, Value w) { return sum(x * w); },
                                     [](Value x, Value w, Value, Value c) {
                                       return std::tuple{c * w, c * x * 2.0};
                                     });
  auto each = [&](Value x, Value w) { return vmap(product)(x, w); };
  const Tensor x = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor w = Tensor::from<float>({2, 3}, {1, 0, -1, 2, 2, 2});
  EXPECT_TRUE(compile(each)(x, w).same_bits(Tensor::from<float>({2}, {-2, 30})));
  const auto [by_x, by_w] =
      compile(grad<0, 1>([&](Value a, Value b) { return sum(each(a, b)); }))(x, w);
  EXPECT_TRUE(by_x.same_bits(w));
  EXPECT_TRUE(by_w.same_bits(Tensor::from<float>({2, 3}, {2, 4, 6, 8, 10, 12})));
}

TEST(WithGradient, RefusesCotangentsThatDoNotFit) {
  const auto product = [](Value x, Value w) { return sum(x * w); };
  const auto gradient = [](const auto& f) { return compile(grad<0, 1>(f)); };
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    gradient(with_gradient(product, [](Value, Value w, Value, Value c) { return c * w; }))(kA, kB);
  });
  expect_refused(ErrorCode::kShape, [&] {
    gradient(with_gradient(product, [](Value, Value w, Value, Value c) {
      return std::tuple{c * w, c};
    }))(kA, kB);
  });
}

// A number may be stored in fewer bits on the way. Integers have no cotangents.
TEST(WithGradient, PassesThroughStoredFloats) {
  const auto tripled =
      with_gradient([](Value x, Value) { return cast(x, Dtype::kF32); },
                    [](Value x, Value n, Value, Value c) {
                      return std::tuple{cast(3.0 * c, x.dtype()), number_like(n, 1)};
                    });
  for (const Dtype stored : {Dtype::kBf16, Dtype::kF16}) {
    const auto f = [&](Value x) { return sum(tripled(cast(x, stored), cast(x, Dtype::kI32))); };
    EXPECT_TRUE(compile(grad(f))(kA).same_bits(Tensor::from<float>({3}, {3, 3, 3})))
        << name(stored);
  }
}

// The cotangents of a batch for a number that it shares are added in f32, and rounded once.
TEST(WithGradient, OfABatchAddsUpWhatASharedStoredFloatGets) {
  const auto scaled =
      with_gradient([](Value x, Value s) { return x * cast(s, Dtype::kF32); },
                    [](Value x, Value s, Value, Value c) {
                      return std::tuple{c * cast(s, Dtype::kF32), cast(c * x, s.dtype())};
                    });
  const auto f = [&](Value rows, Value s) {
    const Value stored = cast(s, Dtype::kBf16);
    return sum(vmap([&](Value x) { return scaled(x, stored); })(rows));
  };
  // 259 is rounded once, to even. Added one by one in bf16, the ones are lost.
  EXPECT_TRUE(compile(grad<1>(f))(Tensor::from<float>({4}, {256, 1, 1, 1}), Tensor::scalar(1.0f))
                  .same_bits(Tensor::scalar(260.0f)));
}

// A bool or a small integer that a batch shares has no cotangents that could be added.
TEST(WithGradient, OfABatchIgnoresWhatASharedIntegerGets) {
  const auto times = with_gradient([](Value x, Value n) { return x * cast(n, Dtype::kF32); },
                                   [](Value, Value n, Value, Value c) {
                                     return std::tuple{c * cast(n, Dtype::kF32), n};
                                   });
  for (const Dtype dtype : {Dtype::kBool, Dtype::kU8, Dtype::kI8, Dtype::kI32, Dtype::kI64}) {
    const auto f = [&](Value rows, Value n) {
      const Value shared = cast(n, dtype);
      return sum(vmap([&](Value x) { return times(x, shared); })(rows));
    };
    EXPECT_TRUE(compile(grad(f))(kA, 1.0).same_bits(Tensor::from<float>({3}, {1, 1, 1})))
        << name(dtype);
  }
}

TEST(WithGradient, StopsAGradient) {
  // x stop(x) has the slope stop(x), alone and in batches of batches.
  const auto f = [](Value x) { return sum(x * stop_gradient(x)); };
  EXPECT_TRUE(compile(grad(f))(kA).same_bits(kA));
  const auto rows = [&](Value xs) { return sum(vmap(f)(xs)); };
  const Tensor batch = Tensor::from<float>({2, 2, 1}, {1, 2, 3, 4});
  EXPECT_TRUE(compile([&](Value xs) {
                return grad([&](Value all) { return sum(vmap(rows)(all)); })(xs);
              })(batch)
                  .same_bits(batch));
  // Where nothing else depends on x, its gradient is zero, and nothing of the way back is computed.
  const Function g = grad(trace("g", {{"x", f32({3})}}, [](std::span<const Value> in) {
    return std::vector{sum(stop_gradient(tanh(in[0])))};
  }));
  EXPECT_TRUE(Tensor(g(kA)).same_bits(Tensor::zeros(f32({3}))));
  EXPECT_EQ(to_text(simplify(g)).find("tanh"), std::string::npos);
}

// All of them have one name; each keeps its own body and gradient.
TEST(WithGradient, IsNotMergedWithAnotherOfTheSameValue) {
  const auto straight =
      with_gradient([](Value x) { return round(x); }, [](Value, Value, Value c) { return c; });
  const auto twice =
      with_gradient([](Value x) { return x * 2.0; }, [](Value, Value, Value c) { return c * 2.0; });
  const Function f = trace("f", {{"x", f32({3})}}, [&](std::span<const Value> in) {
    return std::vector{straight(in[0]), twice(in[0]), stop_gradient(in[0])};
  });
  EXPECT_EQ(simplify(f).nodes().size(), 3u);
  const auto loss = [&](Value x) { return sum(straight(x) * stop_gradient(x)); };
  EXPECT_TRUE(compile(grad(loss))(kA).same_bits(kA));
}

TEST(WithGradient, StopsWhatHasNoGradient) {
  const Tensor weights = Tensor::from<float>({3}, {1, -2, 3});
  const std::map<std::string, std::function<Value(Value)>> constants{
      {"an op without a gradient", [](Value x) { return stop_gradient(step(x)); }},
      {"rows by their number",
       [](Value x) { return stop_gradient(broadcast(gather(x, argmax(x, 0)), x.shape())); }},
      {"beside one that nothing reads",
       [](Value x) {
         (void)argmax(x, 0);
         return stop_gradient(x);
       }},
      {"before an op without a gradient", [](Value x) { return step(stop_gradient(x)); }},
      {"a condition",
       [](Value x) {
         const Value y = stop_gradient(x);
         return select(less(y, -y), y, y * 2.0);
       }},
      {"read by ops with and without a gradient", [](Value x) {
         const Value y = stop_gradient(x);
         return y + step(y);
       }}};
  for (const auto& [name, constant] : constants) {
    const Function f = trace("f", {{"x", f32({3})}, {"w", f32({3})}},
                             [&](auto in) { return std::vector{sum(in[1] * constant(in[0]))}; });
    EXPECT_TRUE(
        interpret(grad(f, {0}), std::vector{kA, weights})[0].same_bits(Tensor::zeros(f32({3}))))
        << name;
  }
  // But not of what goes around it.
  const Function around = trace("f", {{"x", f32({3})}}, [](std::span<const Value> in) {
    return std::vector{sum(stop_gradient(in[0]) + step(in[0]))};
  });
  expect_refused(ErrorCode::kNoGradient, [&] { grad(around, {0}); });
  // Nor of one result of several, of which another has a gradient.
  const Function apart =
      trace("f", {{"x", f32({3})}, {"w", f32({3})}}, [](std::span<const Value> in) {
        const std::vector<Value> both = barrier(std::vector{in[1], in[0]});
        return std::vector{sum(both[0] + step(both[1]))};
      });
  expect_refused(ErrorCode::kNoGradient, [&] { grad(apart, {0}); });
}

// As ops whose results are steps of numbers.
TEST(WithGradient, NumbersThatBecomeIntegersHaveNone) {
  for (const Dtype to : {Dtype::kI32, Dtype::kBool}) {
    const Function f =
        trace("f", {{"x", f32({3})}, {"w", f32({3})}}, [&](std::span<const Value> in) {
          return std::vector{sum(in[1] + cast(cast(in[0], to), Dtype::kF32))};
        });
    expect_refused(ErrorCode::kNoGradient, [&] { grad(f, {0}); });
    EXPECT_NO_THROW(grad(f, {1}));
  }
}

// The tangent is the gradient's transposed, which there is only if it is linear.
TEST(WithGradient, HasATangentIfItIsLinearInTheCotangent) {
  const auto tangent_of = [](const auto& code) {
    const Function f = trace("f", {{"x", f32({3})}},
                             [&](std::span<const Value> in) { return std::vector{code(in[0])}; });
    return interpret(jvp(f, {0}), std::vector<Tensor>{kA, kB})[1];
  };
  const auto square = [](Value x) { return x * x; };
  EXPECT_TRUE(tangent_of(with_gradient(square, [](Value x, Value, Value c) {
                return 3.0 * x * c;
              })).same_bits(Tensor::from<float>({3}, {3, 0, -9})));
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    tangent_of(with_gradient(square, [](Value, Value, Value c) { return c * c; }));
  });
}

TEST(WithGradient, IsNoPartOfAFile) {
  const auto rounded = with_gradient([](Value x) { return round(x); },
                                     [](Value, Value, Value cotangent) { return cotangent; });
  const Function f = trace("f", {{"x", f32({2})}},
                           [&](std::span<const Value> in) { return std::vector{rounded(in[0])}; });
  expect_refused(ErrorCode::kUnsupported, [&] { save_model("never.safetensors", {f, {}, ""}); });
  expect_refused(ErrorCode::kParse, [&] { parse_function(to_text(f)); });
  const Function open = expand(f);
  EXPECT_EQ(open.nodes().at(0).op, &op::round);
  EXPECT_TRUE(Tensor(f(Tensor::from<float>({2}, {0.4f, 1.7f})))
                  .same_bits(Tensor::from<float>({2}, {0, 2})));
}

// A comparison of Values is a Value: `if (a == b)` does not compile.
static_assert(!std::is_constructible_v<bool, decltype(Value() == Value())>);
static_assert(!std::is_constructible_v<bool, decltype(Value() < Value())>);
static_assert(std::is_convertible_v<decltype(Value() == Value()), Value>);

}  // namespace
}  // namespace limpid
