// Twenty steps of every optimiser, clipping, and the rates of every schedule, beside PyTorch's.
#include <type_traits>

#include "limpid/nn/mlp.h"
#include "limpid/optim/clip.h"
#include "limpid/optim/optimizer.h"
#include "limpid/optim/schedule.h"
#include "tests/golden/golden.h"

namespace limpid::golden {
namespace {

struct OptimizerCase {
  std::string name;
  optim::Optimizer optimizer;
  double rate;
};

std::vector<OptimizerCase> optimizer_cases() {
  using namespace optim;
  return {
      {"sgd", Sgd{}, 0.1},
      {"momentum", Sgd{.momentum = 0.9}, 0.1},
      {"nesterov", Sgd{.momentum = 0.9, .weight_decay = 0.02, .nesterov = true}, 0.1},
      {"rmsprop", RmsProp{}, 0.01},
      {"rmsprop_momentum", RmsProp{.momentum = 0.5, .weight_decay = 0.1}, 0.01},
      {"rmsprop_centered", RmsProp{.alpha = 0.9, .centered = true}, 0.01},
      {"rmsprop_all", RmsProp{0.8, 1e-3, 0.9, 0.1, true}, 0.01},
      {"adam", Adam{}, 0.01},
      {"adam_decay", Adam{0.8, 0.95, 1e-4, 0.1}, 0.01},
      {"adam_amsgrad", Adam{.beta2 = 0.5, .amsgrad = true}, 0.01},
      {"adamw", AdamW{}, 0.01},
      {"adamw_amsgrad", AdamW{.beta2 = 0.5, .weight_decay = 0.3, .amsgrad = true}, 0.01},
      {"adagrad", Adagrad{}, 0.05},
      {"adagrad_all", Adagrad{1e-3, 0.5, 0.1}, 0.05},
  };
}

// A f64 tensor as T.
template <class T>
Tensor as(const Tensor& wide) {
  return Tensor::generate<T>(wide.shape(), [&](std::span<T> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(wide.values<double>()[i]);
  });
}

const std::vector<std::string> kNames{"w", "b"};

// Steps 1, 5 and 20, in f64 (the formula) and f32 (the arithmetic).
template <class T>
void expect_twenty_steps(const OptimizerCase& c, double tolerance) {
  const Params golden = fixture("optimizers");
  Params start;
  for (const std::string& name : kNames) start.set(name, as<T>(golden.at("start." + name)));
  const Function f = optim::update_function(c.optimizer, nn::inputs_of(start));
  Params carried = start;
  carried.merge("", optim::init(c.optimizer, start));
  std::int64_t recorded = 0;
  for (std::int64_t step = 0; step < 20; ++step) {
    std::vector<Tensor> inputs = carried.values();
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      const Tensor g = golden.at("gradient." + kNames[i]).rows(step, 1);
      inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(kNames.size() + i),
                    as<T>(g.reshape(start.at(kNames[i]).shape())));
    }
    inputs.push_back(Tensor::scalar(static_cast<T>(c.rate)));
    const std::vector<Tensor> outputs = interpret(f, inputs);
    std::size_t i = 0;
    for (const std::string& name : carried.names()) carried.set(name, outputs[i++]);
    if (step != 0 && step != 4 && step != 19) continue;
    for (const std::string& name : kNames)
      expect_values<T>(
          carried.at(name),
          golden.at(c.name + "." + name).rows(recorded, 1).reshape(carried.at(name).shape()),
          tolerance, c.name + " " + name + " after step " + std::to_string(step + 1));
    ++recorded;
  }
}

TEST(Optimisers, TwentyStepsAgree) {
  for (const OptimizerCase& c : optimizer_cases()) {
    expect_twenty_steps<double>(c, 1e-14);
    expect_twenty_steps<float>(c, 2e-6);
  }
}

TEST(Optimisers, ClippingAgrees) {
  const Params golden = fixture("optimizers");
  std::vector<Input> inputs;
  std::vector<Tensor> gradients;
  for (const std::string& name : kNames) {
    const limpid::Shape shape = golden.at("start." + name).shape();
    gradients.push_back(golden.at("gradient." + name).rows(0, 1).reshape(shape));
    inputs.push_back({name, gradients.back().type()});
  }
  const Function f = trace("clip", inputs, [](std::span<const Value> in) {
    const Args g{{"w", in[0]}, {"b", in[1]}};
    std::vector<Value> out = optim::clip_by_value(g, 0.1).values();
    for (const Value& v : optim::clip_by_global_norm(g, 0.25).values()) out.push_back(v);
    out.push_back(optim::global_norm(g));
    return out;
  });
  const std::vector<Tensor> got = interpret(f, gradients);
  const char* const names[] = {"clip_value.w", "clip_value.b", "clip_norm.w", "clip_norm.b",
                               "norm"};
  for (std::size_t i = 0; i < got.size(); ++i)
    expect_values<double>(got[i], golden.at(names[i]), 1e-15, names[i]);
}

TEST(Schedules, RatesAgree) {
  const Params golden = fixture("schedules");
  for (const std::string& name : all_names<optim::Schedule::Kind>())
    for (const auto& [prefix, warmup] : {std::pair{"", 0}, std::pair{"warm_", 5}}) {
      const optim::Schedule schedule{
          from_name<optim::Schedule::Kind>(name), 0.4, 20, warmup, 4, 0.3};
      const auto want = golden.at(prefix + name).values<double>();
      for (std::size_t i = 0; i < want.size(); ++i)
        EXPECT_NEAR(schedule.at(static_cast<std::int64_t>(i)), want[i], 1e-15)
            << prefix << name << " " << i;
    }
}

}  // namespace
}  // namespace limpid::golden
