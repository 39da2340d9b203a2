#include "limpid/optim/optimizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <type_traits>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/optim/clip.h"

namespace limpid::optim {
namespace {

// ---- the records, in the order of the variant

struct Row {
  std::string_view name;
  Optimizer (*make)();
};

template <class T>
Optimizer make() {
  return T{};
}

template <class... Ts>
std::array<Row, sizeof...(Ts)> rows_of(const std::variant<Ts...>*) {
  return {{{Ts::record.name, make<Ts>}...}};
}

std::span<const Row> rows() {
  static const auto all = rows_of(static_cast<const Optimizer*>(nullptr));
  return all;
}

// Calls code(optimiser, its record).
template <class O, class Code>
auto with_record(O&& optimizer, const Code& code) {
  return std::visit([&](auto& o) { return code(o, std::decay_t<decltype(o)>::record); }, optimizer);
}

template <class T>
double get(const T& optimizer, const HyperParameter<T>& number) {
  return std::visit([&](auto member) { return static_cast<double>(optimizer.*member); },
                    number.member);
}

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
  // Used for the names and types of the state; these values are never read.
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

std::string_view name(const Optimizer& optimizer) {
  return with_record(optimizer, [](const auto&, const auto& record) { return record.name; });
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const Row& r : rows()) names.emplace_back(r.name);
  return names;
}

Optimizer optimizer_from_name(std::string_view name) {
  for (const Row& r : rows())
    if (r.name == name) return r.make();
  throw_missing(name, optimizer_names());
}

double usual_rate(const Optimizer& optimizer) {
  return with_record(optimizer, [](const auto&, const auto& record) { return record.rate; });
}

std::vector<std::pair<std::string, double>> numbers(const Optimizer& optimizer) {
  std::vector<std::pair<std::string, double>> all;
  with_record(optimizer, [&](const auto& o, const auto& record) {
    for (const auto& number : record.numbers) all.emplace_back(number.name, get(o, number));
  });
  return all;
}

void set_number(Optimizer& optimizer, std::string_view number, double value) {
  with_record(optimizer, [&](auto& o, const auto& record) {
    std::vector<std::string_view> names;
    for (const auto& n : record.numbers) {
      names.push_back(n.name);
      if (n.name != number) continue;
      if (!fits(n.range, value))
        throw Error(
            ErrorCode::kInvalidArgument,
            fmt::format("{}: {} is {}, expected {}", record.name, number, value, text(n.range)));
      return std::visit(
          [&](auto member) { o.*member = static_cast<std::decay_t<decltype(o.*member)>>(value); },
          n.member);
    }
    throw Error(ErrorCode::kNotFound, fmt::format("{}: has no {}; it has {}", record.name, number,
                                                  fmt::join(names, ", ")));
  });
}

std::vector<Number> numbers_of(std::string_view optimizer) {
  std::vector<Number> all;
  const Optimizer usual = optimizer_from_name(optimizer);
  with_record(usual, [&](const auto& o, const auto& record) {
    for (const auto& n : record.numbers) {
      const double value = get(o, n);
      all.push_back({n.name, n.help, n.range, value, n.in_training.value_or(value)});
    }
  });
  return all;
}

}  // namespace limpid::optim
