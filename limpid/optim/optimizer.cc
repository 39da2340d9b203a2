#include "limpid/optim/optimizer.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/optim/clip.h"

namespace limpid::optim {
namespace {

// ---- numbers by name

enum class Range : std::uint8_t { kShare, kBelowOne, kNotNegative, kSwitch };

struct Number {
  std::string_view name;
  Range range;
  double (*get)(const Optimizer&);
  void (*set)(Optimizer&, double);
};

template <auto member>
struct Owner;
template <class T, class M, M T::*member>
struct Owner<member> {
  using Type = T;
  using Member = M;
};

template <auto member>
constexpr Number number(std::string_view name, Range range) {
  using T = typename Owner<member>::Type;
  using M = typename Owner<member>::Member;
  return {name, range,
          [](const Optimizer& o) { return static_cast<double>(std::get<T>(o).*member); },
          [](Optimizer& o, double v) { std::get<T>(o).*member = static_cast<M>(v); }};
}

constexpr Number kSgd[] = {number<&Sgd::momentum>("momentum", Range::kShare),
                           number<&Sgd::weight_decay>("weight_decay", Range::kNotNegative),
                           number<&Sgd::nesterov>("nesterov", Range::kSwitch),
                           number<&Sgd::decay_vectors>("decay_vectors", Range::kSwitch)};
constexpr Number kRmsProp[] = {number<&RmsProp::alpha>("alpha", Range::kShare),
                               number<&RmsProp::eps>("eps", Range::kNotNegative),
                               number<&RmsProp::momentum>("momentum", Range::kShare),
                               number<&RmsProp::weight_decay>("weight_decay", Range::kNotNegative),
                               number<&RmsProp::centered>("centered", Range::kSwitch),
                               number<&RmsProp::decay_vectors>("decay_vectors", Range::kSwitch)};
template <class A>
constexpr Number kAdam[] = {number<&A::beta1>("beta1", Range::kBelowOne),
                            number<&A::beta2>("beta2", Range::kBelowOne),
                            number<&A::eps>("eps", Range::kNotNegative),
                            number<&A::weight_decay>("weight_decay", Range::kNotNegative),
                            number<&A::amsgrad>("amsgrad", Range::kSwitch),
                            number<&A::decay_vectors>("decay_vectors", Range::kSwitch)};
constexpr Number kAdagrad[] = {number<&Adagrad::eps>("eps", Range::kNotNegative),
                               number<&Adagrad::initial_sum>("initial_sum", Range::kNotNegative),
                               number<&Adagrad::weight_decay>("weight_decay", Range::kNotNegative),
                               number<&Adagrad::decay_vectors>("decay_vectors", Range::kSwitch)};

// ---- the table, in the order of the variant

struct Row {
  std::string_view name;
  Optimizer (*make)();
  double rate;
  std::span<const Number> numbers;
};

template <class T>
Optimizer make() {
  return T{};
}

constexpr Row kOptimizers[] = {
    {"sgd", make<Sgd>, 0.05, kSgd},
    {"rmsprop", make<RmsProp>, 0.01, kRmsProp},
    {"adam", make<Adam>, 0.001, kAdam<Adam>},
    {"adamw", make<AdamW>, 0.001, kAdam<AdamW>},
    {"adagrad", make<Adagrad>, 0.01, kAdagrad},
};
static_assert(std::size(kOptimizers) == std::variant_size_v<Optimizer>);

const Row& row_of(const Optimizer& optimizer) { return kOptimizers[optimizer.index()]; }

bool fits(Range range, double value) {
  switch (range) {
    case Range::kShare:
      return value >= 0 && value <= 1;
    case Range::kBelowOne:
      return value >= 0 && value < 1;
    case Range::kNotNegative:
      return value >= 0 && value <= 1e30;
    case Range::kSwitch:
      return value == 0 || value == 1;
  }
  return false;
}

std::string_view text(Range range) {
  switch (range) {
    case Range::kShare:
      return "a number in [0, 1]";
    case Range::kBelowOne:
      return "a number in [0, 1)";
    case Range::kNotNegative:
      return "a number that is not negative";
    case Range::kSwitch:
      return "0 or 1";
  }
  return "";
}

}  // namespace

Params init(const Optimizer& optimizer, const Params& params) {
  return std::visit([&](const auto& o) { return o.init(params); }, optimizer);
}

Update update(const Optimizer& optimizer, const Args& params, const Args& gradients,
              const Args& state, Value rate, Value gradient_scale) {
  return std::visit(
      [&](const auto& o) {
        if constexpr (requires { o(params, gradients, state, rate, gradient_scale); })
          return o(params, gradients, state, rate, gradient_scale);
        else
          return o(params, gradient_scale ? scaled(gradients, gradient_scale) : gradients, state,
                   rate);
      },
      optimizer);
}

std::vector<Input> state_inputs(const Optimizer& optimizer, const std::vector<Input>& params) {
  // For the names and types of the state; nothing reads these values.
  Params zeros;
  for (const Input& p : params) zeros.set(p.name, Tensor::zeros(p.type));
  std::vector<Input> inputs;
  for (const auto& [name, value] : init(optimizer, zeros)) inputs.push_back({name, value.type()});
  return inputs;
}

Function update_function(const Optimizer& optimizer, const std::vector<Input>& params) {
  if (params.empty())
    throw Error(ErrorCode::kInvalidArgument, "update_function: there are no parameters");
  std::vector<Input> inputs = params;
  for (const Input& p : params) inputs.push_back({Args::join("gradient", p.name), p.type});
  const std::vector<Input> state = state_inputs(optimizer, params);
  inputs.insert(inputs.end(), state.begin(), state.end());
  inputs.push_back({"rate", {params.front().type.dtype, {}}});
  std::vector<std::string> names;
  for (const Input& p : params) names.push_back(p.name);
  for (const Input& s : state) names.push_back(s.name);
  return trace(
      fmt::format("{}_update", name(optimizer)), inputs,
      [&](std::span<const Value> in) {
        const std::size_t n = params.size();
        Args values, gradients, moments;
        for (std::size_t i = 0; i < n; ++i) values.set(params[i].name, in[i]);
        for (std::size_t i = 0; i < n; ++i) gradients.set(params[i].name, in[n + i]);
        for (std::size_t i = 0; i < state.size(); ++i) moments.set(state[i].name, in[2 * n + i]);
        const Update next = update(optimizer, values, gradients, moments, in.back());
        std::vector<Value> outputs = next.params.values();
        for (const auto& [name, value] : next.state) outputs.push_back(value);
        return outputs;
      },
      names);
}

std::string_view name(const Optimizer& optimizer) { return row_of(optimizer).name; }

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const Row& r : kOptimizers) names.emplace_back(r.name);
  return names;
}

Optimizer optimizer_from_name(std::string_view name) {
  for (const Row& r : kOptimizers)
    if (r.name == name) return r.make();
  throw_missing(name, optimizer_names());
}

double usual_rate(const Optimizer& optimizer) { return row_of(optimizer).rate; }

std::vector<std::pair<std::string, double>> numbers(const Optimizer& optimizer) {
  std::vector<std::pair<std::string, double>> all;
  for (const Number& n : row_of(optimizer).numbers) all.emplace_back(n.name, n.get(optimizer));
  return all;
}

void set_number(Optimizer& optimizer, std::string_view number, double value) {
  std::vector<std::string> names;
  for (const Number& n : row_of(optimizer).numbers) {
    names.emplace_back(n.name);
    if (n.name != number) continue;
    if (!fits(n.range, value))
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: {} is {}, {} is expected", name(optimizer), number, value,
                              text(n.range)));
    return n.set(optimizer, value);
  }
  throw Error(ErrorCode::kNotFound, fmt::format("{}: has no {}; it has {}", name(optimizer), number,
                                                fmt::join(names, ", ")));
}

}  // namespace limpid::optim
