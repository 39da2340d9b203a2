#include "apps/limpid/support/view_lab.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "apps/limpid/lab/activations.h"
#include "apps/limpid/lab/approximation.h"
#include "apps/limpid/lab/collapse.h"
#include "apps/limpid/lab/init.h"
#include "apps/limpid/lab/perceptron.h"
#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/optim/optimizer.h"
#include "limpid/transforms/grad.h"
#include "limpid/view/numbers.h"

namespace limpid::tool {
namespace {

using view::number_from_json;
using view::number_json;
using view::Session;

// ---- members of requests and answers

std::int64_t lab_integer(const JsonView& json, std::string_view key, std::int64_t otherwise,
                         std::int64_t low, std::int64_t high) {
  const auto found = json.find(key);
  return found ? found->as_integer(low, high) : otherwise;
}

double lab_number(const JsonView& json, std::string_view key, double otherwise, double low,
                  double high) {
  const auto found = json.find(key);
  const double x = found ? found->as_number() : otherwise;
  if (!(x >= low && x <= high))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: expected {} to {}, got {}", key, low, high, x));
  return x;
}

std::vector<double> lab_numbers(const JsonView& json, std::string_view key,
                                std::vector<double> otherwise) {
  constexpr std::size_t kMost = 4096;
  const auto found = json.find(key);
  if (!found) return otherwise;
  std::vector<double> numbers;
  for (const JsonView& x : found->elements()) numbers.push_back(number_from_json(x));
  if (numbers.empty() || numbers.size() > kMost)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: expected 1 to {} numbers, got {}", key, kMost, numbers.size()));
  return numbers;
}

template <class T>
Json lab_list(const std::vector<T>& numbers) {
  Json list = Json::array();
  for (const T x : numbers) {
    if constexpr (std::is_same_v<T, float>)
      list.push_back(number_json(static_cast<double>(x), Dtype::kF32));
    else
      list.push_back(number_json(static_cast<double>(x)));
  }
  return list;
}

Json lab_values(const Tensor& tensor) {
  Json list = Json::array();
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const view::Exact x = view::exact_at(tensor, i);
    list.push_back(number_json(x.value, x.dtype));
  }
  return list;
}

Tensor lab_tensor(const std::vector<double>& numbers, const Shape& shape) {
  return Tensor::generate<float>(shape, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(numbers[i]);
  });
}

// What some code makes of one tensor.
Tensor lab_made(const Tensor& x, const std::function<Value(Value)>& code) {
  const Function f = trace("lab", {{"x", x.type()}}, [&](std::span<const Value> in) {
    return std::vector<Value>{code(in[0])};
  });
  return interpret(f, {&x, 1}).front();
}

// ---- curves

Json lab_activations(Session&, const JsonView&) {
  Json curves = Json::array();
  for (const lab::ActivationCurve& c : lab::activation_curves())
    curves.push_back({{"name", c.activation.name},
                      {"derivative", c.activation.derivative},
                      {"flat_below", number_json(c.activation.flat_below)},
                      {"flat_above", number_json(c.activation.flat_above)},
                      {"x", lab_list(c.x)},
                      {"y", lab_list(c.y)},
                      {"slope", lab_list(c.slope)}});
  return {{"curves", curves}};
}

Json lab_softmax(Session&, const JsonView& json) {
  const std::vector<double> logits = lab_numbers(json, "logits", {2, 1, 0.1, -1});
  const double temperature = lab_number(json, "temperature", 1, 1e-3, 1e3);
  const Tensor p = lab_made(lab_tensor(logits, {static_cast<std::int64_t>(logits.size())}),
                            [&](Value x) { return softmax(x / temperature); });
  double entropy = 0;
  for (const float x : p.values<float>())
    if (x > 0) entropy -= static_cast<double>(x) * std::log(static_cast<double>(x));
  return {{"probabilities", lab_values(p)}, {"entropy", entropy}};
}

Json lab_losses(Session&, const JsonView& json) {
  const double target = lab_number(json, "target", 1, -4, 4);
  constexpr int kPoints = 161;
  std::vector<double> xs;
  for (int i = 0; i < kPoints; ++i) xs.push_back(-4 + 0.05 * i);
  const Tensor x = lab_tensor(xs, {kPoints});
  struct NamedLoss {
    const char* name;
    Value (*loss)(Value x, double target);
  };
  constexpr auto kNone = Reduction::kNone;
  static const NamedLoss losses[] = {
      {"squared error", [](Value p, double t) { return mse_loss(p, number_like(p, t), kNone); }},
      {"absolute error", [](Value p, double t) { return mae_loss(p, number_like(p, t), kNone); }},
      {"huber", [](Value p, double t) { return huber_loss(p, number_like(p, t), 1, kNone); }},
      {"binary cross-entropy of a logit",
       [](Value p, double t) {
         return binary_cross_entropy_with_logits(p, number_like(p, t > 0.5 ? 1 : 0), kNone);
       }},
      {"hinge", [](Value p, double t) { return maximum(1.0 - p * (t > 0.5 ? 1.0 : -1.0), 0.0); }}};
  Json all = Json::array();
  for (const NamedLoss& loss : losses) {
    const Function f = trace("loss", {{"x", x.type()}}, [&](std::span<const Value> in) {
      const Value y = loss.loss(in[0], target);
      return std::vector<Value>{sum(y), y};
    });
    all.push_back({{"name", loss.name},
                   {"x", lab_values(x)},
                   {"y", lab_values(interpret(f, {&x, 1})[1])},
                   {"slope", lab_values(interpret(grad(f, {0}), {&x, 1})[0])}});
  }
  return {{"losses", all}};
}

// ---- layers

Json lab_init(Session&, const JsonView& json) {
  const lab::SpreadOptions options{
      .layers = lab_integer(json, "layers", 50, 1, 100),
      .width = lab_integer(json, "width", 128, 1, 512),
      .seed = static_cast<std::uint64_t>(lab_integer(json, "seed", 0, 0, std::int64_t{1} << 53))};
  Json rows = Json::array();
  for (const lab::Spread& s : lab::spreads(options))
    rows.push_back({{"layer", s.layer}, {"scheme", s.scheme}, {"stds", lab_list(s.stds)}});
  return {{"rows", rows}};
}

Json lab_norms(Session&, const JsonView& json) {
  constexpr int kRows = 4, kFeatures = 8;
  std::vector<double> usual;
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kFeatures; ++column)
      usual.push_back((column + 1) * 0.5 * (row + 1) - 2 +
                      0.25 * ((row * kFeatures + column) * 7 % 5));
  const std::vector<double> values = lab_numbers(json, "values", usual);
  if (values.size() != kRows * kFeatures)
    throw Error(ErrorCode::kInvalidArgument, "values: expected 4 rows of 8 numbers");
  const Tensor x = lab_tensor(values, {kRows, kFeatures});
  constexpr double kEps = 1e-5;
  struct NamedNorm {
    const char* name;
    Value (*norm)(Value x);
  };
  static const NamedNorm norms[] = {
      {"layer norm: each row", [](Value v) { return layer_norm(v); }},
      {"RMS norm: each row", [](Value v) { return rms_norm(v); }},
      {"batch norm: each column", [](Value v) {
         return transpose(layer_norm(transpose(v, {1, 0}), {}, {}, kEps), {1, 0});
       }}};
  Json rows = Json::array();
  for (const NamedNorm& n : norms)
    rows.push_back(
        {{"name", n.name}, {"before", lab_values(x)}, {"after", lab_values(lab_made(x, n.norm))}});
  return {{"rows", rows}};
}

Json lab_dropout(Session&, const JsonView& json) {
  const double rate = lab_number(json, "rate", 0.5, 0, 0.99);
  const auto seed =
      static_cast<std::uint64_t>(lab_integer(json, "seed", 0, 0, std::int64_t{1} << 53));
  const std::vector<double> values = lab_numbers(json, "values", std::vector<double>(64, 1.0));
  const Tensor x = lab_tensor(values, {static_cast<std::int64_t>(values.size())});
  const Tensor y = lab_made(
      x, [&](Value v) { return dropout(v, constant(v.builder(), key_tensor(Key(seed))), rate); });
  Json kept = Json::array();
  double total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float out = y.values<float>()[i];
    kept.push_back(out != 0 || values[i] == 0);
    total += static_cast<double>(out);
  }
  return {{"kept", kept},
          {"values", lab_values(y)},
          {"mean", number_json(total / static_cast<double>(values.size()))}};
}

// ---- optimisers

Value surface_of(const std::string& name, Value x, Value y) {
  if (name == "bowl") return 0.5 * x * x + 5.0 * y * y;
  if (name == "valley") {
    const Value bend = y - x * x;
    return (1.0 - x) * (1.0 - x) + 10.0 * bend * bend;
  }
  if (name == "saddle") return 0.5 * x * x - 0.5 * y * y + 0.1 * y * y * y * y;
  throw Error(
      ErrorCode::kNotFound,
      fmt::format("there is no surface {}: there are bowl, valley and saddle", in_quotes(name)));
}

Json lab_optimizers(Session&, const JsonView& json) {
  constexpr std::int64_t kGrid = 41;
  const auto named = json.find("surface");
  const std::string surface = named ? named->as_string() : "valley";
  const std::vector<double> start = lab_numbers(json, "start", {-1.5, 1.5});
  if (start.size() != 2) throw Error(ErrorCode::kInvalidArgument, "start: expected two numbers");
  const std::int64_t steps = lab_integer(json, "steps", 100, 1, 1000);
  const auto names = json.find("names");
  const std::vector<std::string> optimizers =
      names ? names->as_strings() : optim::optimizer_names();
  constexpr std::size_t kMostOptimizers = 16;
  if (optimizers.size() > kMostOptimizers)
    throw Error(ErrorCode::kInvalidArgument, "names: too many optimisers");

  const auto height = [&](Value p) {
    return surface_of(surface, reshape(slice(p, 0, 0, 1), Shape{}),
                      reshape(slice(p, 0, 1, 2), Shape{}));
  };
  const std::vector<Input> point{{"p", f32({2})}};
  const Function value = trace("surface", point, [&](std::span<const Value> in) {
    return std::vector<Value>{height(in[0])};
  });
  const Function slope = value_and_grad(value);
  Json paths = Json::array();
  for (const std::string& name : optimizers) {
    const optim::Optimizer optimizer = optim::optimizer_from_name(name);
    const double rate = lab_number(json, "rate", name == "sgd" ? 0.01 : 0.05, 0, 100);
    const Executable update = compile(optim::update_function(optimizer, point));
    const Executable gradient = compile(slope);
    Tensor p = lab_tensor(start, {2});
    std::vector<Tensor> state;
    for (const auto& [key, tensor] : optim::init(optimizer, {{"p", p}})) state.push_back(tensor);
    std::vector<float> x, y, z;
    for (std::int64_t i = 0; i <= steps; ++i) {
      const std::vector<Tensor> at = gradient({&p, 1});
      x.push_back(p.values<float>()[0]);
      y.push_back(p.values<float>()[1]);
      z.push_back(at[0].item<float>());
      std::vector<Tensor> inputs{p, at[1]};
      inputs.insert(inputs.end(), state.begin(), state.end());
      inputs.push_back(Tensor::scalar(static_cast<float>(rate)));
      std::vector<Tensor> next = update(inputs);
      p = next[0];
      state.assign(next.begin() + 1, next.end());
    }
    paths.push_back({{"name", name},
                     {"rate", rate},
                     {"x", lab_list(x)},
                     {"y", lab_list(y)},
                     {"z", lab_list(z)}});
  }
  std::vector<double> axis;
  for (std::int64_t i = 0; i < kGrid; ++i) axis.push_back(-2 + 0.1 * static_cast<double>(i));
  const Executable heights = compile(value);
  Json z = Json::array();
  for (const double at_y : axis)
    for (const double at_x : axis) {
      const Tensor p = lab_tensor({at_x, at_y}, {2});
      z.push_back(number_json(static_cast<double>(heights({&p, 1})[0].item<float>()), Dtype::kF32));
    }
  return {{"surface", {{"x", lab_list(axis)}, {"y", lab_list(axis)}, {"z", z}}}, {"paths", paths}};
}

// ---- networks

Json work_json(const lab::Work& work) {
  return {{"ops", work.ops}, {"parameters", work.parameters}, {"flops", work.flops}};
}

Json lab_collapse(Session&, const JsonView& json) {
  const lab::CollapseOptions options{
      .in = lab_integer(json, "in", 32, 1, 512),
      .hidden = lab_integer(json, "hidden", 128, 1, 512),
      .out = lab_integer(json, "out", 16, 1, 512),
      .seed = static_cast<std::uint64_t>(lab_integer(json, "seed", 0, 0, std::int64_t{1} << 53))};
  Json rows = Json::array();
  for (const lab::Collapse& c : lab::collapses(options))
    rows.push_back({{"network", c.network},
                    {"before", work_json(c.before)},
                    {"after", work_json(c.after)},
                    {"done", Json(c.done)},
                    {"position", lab_list(c.position)},
                    {"y", lab_list(c.y)},
                    {"largest", number_json(c.largest)},
                    {"difference", number_json(c.difference)}});
  return {{"rows", rows}};
}

Json lab_perceptron(Session&, const JsonView& json) {
  const auto target = json.find("target");
  const lab::Lesson lesson =
      lab::learn(lab::truth_table_from_name(target ? target->as_string() : "XOR"),
                 lab_integer(json, "epochs", 20, 1, 1000));
  Json epochs = Json::array();
  for (std::size_t e = 0; e < lesson.run.mistakes.size(); ++e)
    epochs.push_back({{"mistakes", lesson.run.mistakes[e]},
                      {"weights", lab_values(lesson.run.params[e].at("weight"))},
                      {"bias", lab_values(lesson.run.params[e].at("bias")).at(0)}});
  return {{"target", lesson.target},
          {"epochs", epochs},
          {"learnt", !lesson.run.mistakes.empty() && lesson.run.mistakes.back() == 0},
          {"ending", lab::ending(lesson)}};
}

Json lab_approximation(Session&, const JsonView& json) {
  lab::ApproximationOptions options;
  options.seed = static_cast<std::uint64_t>(lab_integer(json, "seed", 0, 0, std::int64_t{1} << 53));
  if (json.find("units")) options.units = lab_integer(json, "units", 8, 1, 64);
  Json rows = Json::array();
  for (const lab::Approximation& a : lab::approximations(options)) {
    Json x = Json::array();
    for (std::int64_t i = 0; i < a.x.shape()[0]; ++i) x.push_back(lab_values(a.x.rows(i, 1)));
    rows.push_back({{"task", a.task},
                    {"units", a.units},
                    {"activation", a.activation},
                    {"steps", a.steps},
                    {"loss", number_json(a.loss)},
                    {"error", number_json(a.error)},
                    {"x", x},
                    {"y", lab_values(a.y)},
                    {"predictions", lab_values(a.predictions)}});
  }
  return {{"rows", rows}};
}

constexpr view::Endpoint kLabEndpoints[] = {
    {"lab/activations", lab_activations},
    {"lab/softmax", lab_softmax},
    {"lab/losses", lab_losses},
    {"lab/init", lab_init},
    {"lab/norms", lab_norms},
    {"lab/dropout", lab_dropout},
    {"lab/optimizers", lab_optimizers},
    {"lab/collapse", lab_collapse},
    {"lab/perceptron", lab_perceptron},
    {"lab/approximation", lab_approximation},
};

}  // namespace

std::span<const view::Endpoint> lab_endpoints() { return kLabEndpoints; }

}  // namespace limpid::tool
