#include "limpid/optim/optimizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "limpid/core/enum_names.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/function/builder.h"
#include "limpid/optim/clip.h"
#include "limpid/optim/detail/check_scalar.h"

namespace limpid::optim {
namespace {

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

Optimizer::Optimizer(const OptimizerRecord& record) : record_(&record) {
  for (const Number& n : record.numbers) values_.push_back(n.usual);
}

void Optimizer::set(std::size_t number, double value) {
  const Number& n = record_->numbers[number];
  if (!fits(n.range, value))
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: {} is {}, expected {}", record_->name,
                                                         n.name, value, text(n.range)));
  values_[number] = value;
}

Params init(const Optimizer& optimizer, const Params& params) {
  return optimizer.record().init(optimizer.values(), params);
}

// A broadcast would give a parameter another shape, or one element of a gradient to several of its
// elements.
Update update(const Optimizer& optimizer, const Args& params, const Args& gradients,
              const Args& state, Value rate, Value gradient_scale) {
  for (const auto& [name, p] : params)
    if (const Value& g = gradients.at(name); g.shape() != p.shape())
      throw Error(ErrorCode::kShape,
                  fmt::format("optimizer: gradient of {}: expected the shape of {}, got {}",
                              in_quotes(name), to_string(p.type()), to_string(g.type())));
  detail::check_scalar("rate", rate);
  const OptimizerRecord& record = optimizer.record();
  if (!gradient_scale) return record.step(optimizer.values(), {params, gradients, state, rate});
  detail::check_scalar("scale of the gradients", gradient_scale);
  if (record.scales_gradients)
    return record.step(optimizer.values(), {params, gradients, state, rate, gradient_scale});
  return record.step(optimizer.values(), {params, scaled(gradients, gradient_scale), state, rate});
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

std::string_view name(const Optimizer& optimizer) { return optimizer.record().name; }

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const OptimizerRecord* record : all_optimizers()) names.emplace_back(record->name);
  return names;
}

Optimizer optimizer_from_name(std::string_view name) {
  for (const OptimizerRecord* record : all_optimizers())
    if (record->name == name) return Optimizer(*record);
  refuse_name("optimizer", optimizer_names(), name);
}

double usual_rate(const Optimizer& optimizer) { return optimizer.record().rate; }

std::vector<std::pair<std::string, double>> numbers(const Optimizer& optimizer) {
  std::vector<std::pair<std::string, double>> all;
  for (std::size_t i = 0; i < optimizer.values().size(); ++i)
    all.emplace_back(optimizer.record().numbers[i].name, optimizer.values()[i]);
  return all;
}

void set_number(Optimizer& optimizer, std::string_view number, double value) {
  const OptimizerRecord& record = optimizer.record();
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < record.numbers.size(); ++i) {
    if (record.numbers[i].name == number) return optimizer.set(i, value);
    names.push_back(record.numbers[i].name);
  }
  throw Error(ErrorCode::kNotFound,
              fmt::format("{}: has no {}; it has {}", record.name, number, fmt::join(names, ", ")));
}

std::span<const Number> numbers_of(std::string_view optimizer) {
  return optimizer_from_name(optimizer).record().numbers;
}

}  // namespace limpid::optim
