// Optimisers: what holds for all of them. PyTorch's numbers are compared with in tests/golden.
#include "limpid/optim/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/core/key.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/optim/clip.h"
#include "tests/refusals.h"

namespace limpid::optim {
namespace {

// Every optimiser with its defaults, and with every option and hyper-parameter set.
std::vector<Optimizer> all() {
  std::vector<Optimizer> optimizers;
  for (const std::string& name : optimizer_names()) {
    optimizers.push_back(optimizer_from_name(name));
    Optimizer other = optimizers.back();
    for (const auto& [number, value] : numbers(other))
      set_number(other, number,
                 number == "eps" || number == "initial_sum"                       ? 1e-3
                 : number == "decay_vectors"                                      ? 0
                 : value == 0 && number != "weight_decay" && number != "momentum" ? 1
                                                                                  : 0.5);
    optimizers.push_back(other);
  }
  return optimizers;
}

double number_in(const Optimizer& optimizer, std::string_view name) {
  for (const auto& [key, value] : numbers(optimizer))
    if (key == name) return value;
  throw Error(ErrorCode::kNotFound, "no such number");
}

Params start() {
  return {{"w", Tensor::from<float>({2, 3}, {1, -2, 0.5f, 3, -0.25f, 2})},
          {"b", Tensor::from<float>({2}, {-1, 1.5f})}};
}

// One step along the given gradients; `carried` is the parameters, then the state.
void step(const Executable& update, std::size_t params, Params& carried, const Params& gradients,
          float rate) {
  std::vector<Tensor> inputs = carried.values();
  const std::vector<Tensor> g = gradients.values();
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(params), g.begin(), g.end());
  inputs.push_back(Tensor::scalar(rate));
  const std::vector<Tensor> outputs = update(inputs);
  std::size_t i = 0;
  for (const std::string& name : carried.names()) carried.set(name, outputs[i++]);
}

// The gradient of a sum of squares is twice the parameters: every optimiser decreases it.
TEST(Optimizer, AllGoDownhill) {
  for (const Optimizer& optimizer : all()) {
    const Executable update = compile(update_function(optimizer, nn::inputs_of(start())));
    Params carried = start();
    carried.merge("", init(optimizer, start()));
    const auto norm = [&] {
      double squares = 0;
      for (const char* p : {"w", "b"})
        for (float x : carried.at(p).values<float>()) squares += std::pow(x, 2);
      return squares;
    };
    const double before = norm();
    for (int s = 0; s < 50; ++s) {
      Params gradients;
      for (const char* p : {"w", "b"})
        gradients.set(p, Tensor::generate<float>(carried.at(p).shape(), [&](std::span<float> out) {
                        for (std::size_t i = 0; i < out.size(); ++i)
                          out[i] = 2 * carried.at(p).values<float>()[i];
                      }));
      step(update, 2, carried, gradients, 0.02f);
    }
    EXPECT_LT(norm(), 0.95 * before) << name(optimizer);
  }
}

TEST(Optimizer, CompiledEqualsInterpretedOnEveryInstructionSet) {
  for (const Optimizer& optimizer : all()) {
    const Function f = update_function(optimizer, nn::inputs_of(start()));
    verify(f);
    std::vector<Tensor> inputs = start().values();
    for (const Tensor& p : start().values()) inputs.push_back(p);
    for (const Tensor& s : init(optimizer, start()).values()) inputs.push_back(s);
    inputs.push_back(Tensor::scalar(0.1f));
    ASSERT_EQ(inputs.size(), f.inputs().size());
    for (int steps = 0; steps < 3; ++steps) {
      const std::vector<Tensor> expected = interpret(f, inputs);
      for (kernels::Isa isa : kernels::available_isas()) {
        const std::vector<Tensor> got = compile(f, {isa})(inputs);
        for (std::size_t i = 0; i < got.size(); ++i)
          EXPECT_TRUE(got[i].same_bits(expected[i])) << f.name() << " " << f.outputs()[i].name;
      }
      for (std::size_t i = 0; i < expected.size(); ++i) inputs[i < 2 ? i : i + 2] = expected[i];
    }
  }
}

TEST(Optimizer, StateComesOutAsItWentIn) {
  for (const Optimizer& optimizer : all()) {
    const Function f = update_function(optimizer, nn::inputs_of(start()));
    const Params state = init(optimizer, start());
    ASSERT_EQ(f.outputs().size(), 2 + state.size());
    std::size_t i = 2;
    for (const auto& [name, value] : state) {
      EXPECT_EQ(f.outputs()[i].name, name);
      EXPECT_EQ(f.type(f.outputs()[i++].value), value.type());
    }
  }
}

// A constant gradient has no variance, but for rounding, which an alpha of a power of two does not
// have; it must not make the result NaN.
TEST(Optimizer, CenteredRmsPropOnAConstantGradient) {
  const Shape shape{64};
  const Params params{{"w", Tensor::zeros({Dtype::kF32, shape})}};
  const Params gradients{{"w", Tensor::generate<float>(shape, [](std::span<float> out) {
                            for (std::size_t i = 0; i < out.size(); ++i)
                              out[i] = 0.1f * static_cast<float>(i + 1);
                          })}};
  const Optimizer optimizer = RmsProp{.alpha = 0.7, .centered = true};
  const Executable update = compile(update_function(optimizer, nn::inputs_of(params)));
  Params carried = params;
  carried.merge("", init(optimizer, params));
  for (int s = 0; s < 100; ++s) step(update, 1, carried, gradients, 1e-9f);
  for (float x : carried.at("w").values<float>()) EXPECT_TRUE(std::isfinite(x));
}

TEST(Optimizer, AdagradOfF64BeginsWithItsInitialSum) {
  const Params params{{"w", Tensor::zeros({Dtype::kF64, {2}})}};
  const Params state = init(Adagrad{.initial_sum = 0.1}, params);
  EXPECT_TRUE(state.at("sum.w").same_bits(Tensor::from<double>({2}, {0.1, 0.1})));
}

// With zero gradients, only weight decay changes the parameters.
TEST(Optimizer, VectorsDecayWhereAsked) {
  const Params params{{"weight", Tensor::from<float>({1, 2}, {1, 1})},
                      {"bias", Tensor::from<float>({2}, {1, 1})}};
  const Params gradients{{"weight", Tensor::zeros({Dtype::kF32, {1, 2}})},
                         {"bias", Tensor::zeros({Dtype::kF32, {2}})}};
  for (const std::string& name : optimizer_names())
    for (const bool vectors : {true, false}) {
      Optimizer optimizer = optimizer_from_name(name);
      set_number(optimizer, "weight_decay", 0.1);
      set_number(optimizer, "decay_vectors", vectors);
      Params carried = params;
      carried.merge("", init(optimizer, params));
      step(compile(update_function(optimizer, nn::inputs_of(params))), 2, carried, gradients,
           0.01f);
      EXPECT_LT(carried.at("weight").values<float>()[0], 1) << name;
      EXPECT_EQ(carried.at("bias").values<float>()[0] < 1, vectors) << name;
    }
}

TEST(Optimizer, NamesAndNumbers) {
  for (const std::string& name : optimizer_names()) {
    Optimizer optimizer = optimizer_from_name(name);
    EXPECT_EQ(optim::name(optimizer), name);
    std::size_t i = 0;
    for (const auto& [number, value] : numbers(optimizer)) {
      // A beta of 1 would divide by 1 - 1^t.
      const bool below_one = number.starts_with("beta");
      if (below_one) {
        EXPECT_THROW(set_number(optimizer, number, 1), Error) << number;
      }
      set_number(optimizer, number, below_one ? 0.5 : 1);
      EXPECT_EQ(optim::numbers(optimizer)[i++].second, below_one ? 0.5 : 1) << number;
      EXPECT_THROW(set_number(optimizer, number, -1), Error) << number;
      EXPECT_THROW(set_number(optimizer, number, std::nan("")), Error) << number;
    }
  }
  EXPECT_THROW(optimizer_from_name("none of them"), Error);
  Optimizer adam = Adam{};
  expect_refused(ErrorCode::kNotFound, [&] { set_number(adam, "momentum", 0.9); });
}

TEST(Optimizer, NumbersStayInTheirRange) {
  Optimizer adam = Adam{};
  EXPECT_THROW(set_number(adam, "amsgrad", 0.5), Error);  // a switch is on or off
  set_number(adam, "amsgrad", 0);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THROW(set_number(adam, "weight_decay", infinity), Error);
  EXPECT_THROW(set_number(adam, "eps", infinity), Error);
  Optimizer sgd = Sgd{};
  EXPECT_THROW(set_number(sgd, "momentum", 1.5), Error);
  // The ends of a range belong to it, but for the 1 of a beta.
  for (const auto& [number, value] : numbers(adam)) set_number(adam, number, 0);
  for (const auto& [number, value] : numbers(adam)) EXPECT_EQ(value, 0) << number;
  for (const auto& [number, value] : numbers(sgd)) set_number(sgd, number, 0);
  set_number(adam, "eps", 1e30);
  EXPECT_EQ(number_in(adam, "eps"), 1e30);
  set_number(sgd, "momentum", 1);
  EXPECT_EQ(number_in(sgd, "momentum"), 1);
  Optimizer rms = RmsProp{};
  EXPECT_THROW(set_number(rms, "alpha", 1.5), Error);
  Optimizer adagrad = Adagrad{};
  set_number(adagrad, "initial_sum", 2);
  set_number(adagrad, "weight_decay", 3);
  EXPECT_EQ(number_in(adagrad, "initial_sum"), 2);
  EXPECT_EQ(number_in(adagrad, "weight_decay"), 3);
}

TEST(Optimizer, ANumberOutOfItsRangeIsToldWhatIsExpected) {
  const auto refused = [](Optimizer optimizer, std::string_view number, double value) {
    expect_refused(ErrorCode::kInvalidArgument, [&] { set_number(optimizer, number, value); });
  };
  refused(Sgd{}, "momentum", 1.5);
  refused(Adam{}, "beta1", 1);
  refused(AdamW{}, "eps", -1);
  refused(RmsProp{}, "centered", 2);
}

TEST(Optimizer, HaveTheNumbersOfTheirKind) {
  for (const std::string& name : optimizer_names()) {
    const std::span<const Number> expected = numbers_of(name);
    const auto got = numbers(optimizer_from_name(name));
    ASSERT_EQ(got.size(), expected.size()) << name;
    EXPECT_GE(got.size(), 4U) << name;
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].first, expected[i].name);
      EXPECT_EQ(got[i].second, expected[i].usual) << name << " " << got[i].first;
    }
  }
}

TEST(Optimizer, AnUpdateIsOfSomething) {
  expect_refused(ErrorCode::kInvalidArgument, [&] { update_function(Sgd{}, {}); });
}

TEST(Optimizer, AnUpdateOfF64HasARateOfF64) {
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64}) {
    const Function f = update_function(Adam{}, {{"w", {dtype, {3}}}});
    EXPECT_EQ(f.name(), "adam_update");
    EXPECT_EQ(f.inputs()[2], (Input{"exp_avg.w", {dtype, {3}}}));
    EXPECT_EQ(f.inputs().back(), (Input{"rate", {dtype, {}}}));
  }
}

// A broadcast would give a parameter another shape, or its elements one number for all.
TEST(Optimizer, RefusesWhatWouldStretchAParameter) {
  const Shape w{2, 3}, none;
  for (const Optimizer& optimizer : all()) {
    const auto updated = [&](const Shape& gradient, const Shape& rate, const Shape& scale) {
      const Params params{{"w", Tensor::zeros({Dtype::kF32, w})}};
      const std::vector<Input> state = nn::inputs_of(init(optimizer, params));
      std::vector<Input> inputs{{"w", {Dtype::kF32, w}},
                                {"gradient", {Dtype::kF32, gradient}},
                                {"rate", {Dtype::kF32, rate}},
                                {"scale", {Dtype::kF32, scale}}};
      inputs.insert(inputs.end(), state.begin(), state.end());
      trace("step", inputs, [&](std::span<const Value> in) {
        Args carried;
        for (std::size_t i = 0; i < state.size(); ++i) carried.set(state[i].name, in[4 + i]);
        const Update next =
            update(optimizer, {{"w", in[0]}}, {{"w", in[1]}}, carried, in[2], in[3]);
        return std::vector<Value>{next.params.at("w")};
      });
    };
    EXPECT_NO_THROW(updated(w, none, none));
    for (const Shape& other : {Shape{3}, Shape{2, 1}, Shape{4, 2, 3}, none})
      expect_refused(ErrorCode::kShape, [&] { updated(other, none, none); });
    expect_refused(ErrorCode::kShape, [&] { updated(w, {3}, none); });
    expect_refused(ErrorCode::kShape, [&] { updated(w, none, {3}); });
  }
}

// Momentum and means have a state only where they are asked for.
TEST(Optimizer, KeepWhatTheyNeedAndItsSign) {
  const Params params{{"w", Tensor::from<float>({1}, {1})}};
  EXPECT_EQ(init(RmsProp{}, params).names(), std::vector<std::string>{"square_avg.w"});
  EXPECT_EQ(init(RmsProp{.momentum = 1, .centered = true}, params).names(),
            (std::vector<std::string>{"square_avg.w", "grad_avg.w", "momentum.w"}));
  EXPECT_EQ(init(Sgd{}, params).size(), 0U);
  EXPECT_EQ(init(Sgd{.momentum = 1}, params).names(), std::vector<std::string>{"momentum.w"});
  // Without momentum there is none to look ahead with.
  EXPECT_EQ(update_function(Sgd{.nesterov = true}, nn::inputs_of(params)),
            update_function(Sgd{}, nn::inputs_of(params)));
  const Optimizer centered = RmsProp{.alpha = 0.75, .centered = true};
  Params carried = params;
  carried.merge("", init(centered, params));
  const Params gradients{{"w", Tensor::from<float>({1}, {2})}};
  step(compile(update_function(centered, nn::inputs_of(params))), 1, carried, gradients, 0.5f);
  EXPECT_EQ(carried.at("square_avg.w").item<float>(), 1);
  EXPECT_EQ(carried.at("grad_avg.w").item<float>(), 0.5f);
}

// `limpid train` takes another momentum than a program that names none.
TEST(Optimizer, NumbersHaveTheirDefaultsInTraining) {
  const auto number_of = [](std::string_view optimizer, std::string_view name) {
    for (const Number& n : numbers_of(optimizer))
      if (n.name == name) return n;
    throw Error(ErrorCode::kNotFound, "no such number");
  };
  EXPECT_EQ(number_of("sgd", "momentum").usual, Sgd{}.momentum);
  EXPECT_EQ(number_of("sgd", "momentum").in_training, 0.9);
  EXPECT_EQ(number_of("adam", "beta1").usual, 0.9);
  EXPECT_EQ(number_of("adam", "beta1").in_training, 0.9);
  EXPECT_EQ(number_of("adam", "decay_vectors").usual, 1);
  EXPECT_EQ(number_of("adam", "decay_vectors").in_training, 0);
}

TEST(Optimizer, ScalesGradientsAsIfTheyWereScaledBefore) {
  std::vector<Optimizer> optimizers = all();
  optimizers.push_back(Adam{.weight_decay = 0.1});
  const Type matrix{Dtype::kF32, {3, 7}};
  for (const Optimizer& optimizer : optimizers) {
    const std::vector<Input> state = state_inputs(optimizer, {{"p", matrix}});
    std::vector<Input> inputs{{"p", matrix}, {"gradient", matrix}, {"rate", {Dtype::kF32, {}}}};
    inputs.insert(inputs.end(), state.begin(), state.end());
    const auto results = [&](bool on_the_way) {
      const Function f = trace("update", inputs, [&](std::span<const Value> in) {
        const Value scale = number_like(in[2], 0.3);
        const Args params{{"p", in[0]}}, gradients{{"p", in[1]}};
        Args moments;
        for (std::size_t i = 0; i < state.size(); ++i) moments.set(state[i].name, in[3 + i]);
        const Update next =
            on_the_way ? update(optimizer, params, gradients, moments, in[2], scale)
                       : update(optimizer, params, scaled(gradients, scale), moments, in[2]);
        std::vector<Value> values = next.params.values();
        for (const auto& [name, value] : next.state) values.push_back(value);
        return values;
      });
      std::vector<Tensor> tensors;
      for (const Input& input : inputs)
        tensors.push_back(
            input.type.dtype == Dtype::kF64
                ? Tensor::scalar(0.5)
                : Tensor::generate<float>(input.type.shape, [&](std::span<float> out) {
                    for (std::size_t i = 0; i < out.size(); ++i)
                      out[i] = 0.1f + Key(tensors.size()).uniform(i);
                  }));
      return interpret(f, tensors);
    };
    const std::vector<Tensor> got = results(true), want = results(false);
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(got[i].same_bits(want[i])) << name(optimizer) << ", output " << i;
  }
}

}  // namespace
}  // namespace limpid::optim
