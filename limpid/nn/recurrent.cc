#include "limpid/nn/recurrent.h"

#include <fmt/format.h>

#include <cmath>

#include "limpid/core/error.h"
#include "limpid/nn/detail/recurrence.h"
#include "limpid/nn/init.h"
#include "limpid/nn/sequential.h"
#include "limpid/ops/ops.h"

namespace limpid::nn {
namespace {

using detail::Recurrence;
using detail::Recurrent;

// What all layers have.
struct Stack {
  Recurrent kind;
  std::string_view name;
  std::int64_t input, hidden, layers;
  bool bias;
  double dropout;
  bool bidirectional;
  std::string_view nonlinearity = "tanh";

  std::int64_t directions() const { return bidirectional ? 2 : 1; }
  std::int64_t input_of(std::int64_t layer) const {
    return layer == 0 ? input : hidden * directions();
  }
};

void check_sizes(std::string_view name, std::int64_t input, std::int64_t hidden) {
  if (input < 1 || hidden < 1)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: expected sizes of 1 or more, got an input of {} and {} hidden "
                            "units",
                            name, input, hidden));
}

void check_stack(const Stack& s) {
  check_sizes(s.name, s.input, s.hidden);
  if (s.layers < 1)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: expected 1 layer or more, got {}", s.name, s.layers));
}

std::array<detail::Activate, 3> activations_of(std::string_view name,
                                               std::string_view nonlinearity) {
  if (nonlinearity == "tanh") return {};
  if (nonlinearity != "relu")
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: nonlinearity: expected tanh or relu, got '{}'", name, nonlinearity));
  return {nullptr, [](Value x) { return relu(x); }, nullptr};
}

// Uniform in +-1 / sqrt(hidden).
Tensor drawn(Key key, const Shape& shape, std::int64_t hidden) {
  const auto fan = static_cast<double>(shape.rank() > 1 ? shape[1] : 1);
  const Shape matrix = shape.rank() > 1 ? shape : shape.insert(1, 1);
  const double gain = std::sqrt(fan / (3 * static_cast<double>(hidden)));
  return kaiming_uniform(gain)(key, matrix).reshape(shape);
}

// The parameters of one direction, or of a cell. `suffix` is "_l0_reverse", say.
void add_params(Params& params, Key key, const std::string& suffix, std::int64_t rows,
                std::int64_t input, std::int64_t hidden, bool bias) {
  params.set("weight_ih" + suffix, drawn(key.fold_in(0), {rows, input}, hidden));
  params.set("weight_hh" + suffix, drawn(key.fold_in(1), {rows, hidden}, hidden));
  if (!bias) return;
  params.set("bias_ih" + suffix, drawn(key.fold_in(2), {rows}, hidden));
  params.set("bias_hh" + suffix, drawn(key.fold_in(3), {rows}, hidden));
}

Recurrence weights_of(Recurrent kind, const Args& params, const std::string& suffix, bool bias) {
  Recurrence r;
  r.kind = kind;
  r.w_ih = params.at("weight_ih" + suffix);
  r.w_hh = params.at("weight_hh" + suffix);
  if (bias) r.b_ih = params.at("bias_ih" + suffix);
  if (bias) r.b_hh = params.at("bias_hh" + suffix);
  return r;
}

std::string suffix_of(std::int64_t layer, bool reverse) {
  return fmt::format("_l{}{}", layer, reverse ? "_reverse" : "");
}

Params init_stack(const Stack& s, Key key) {
  check_stack(s);
  Params params;
  std::uint64_t number = 0;
  for (std::int64_t layer = 0; layer < s.layers; ++layer)
    for (std::int64_t d = 0; d < s.directions(); ++d)
      add_params(params, key.fold_in(number++), suffix_of(layer, d == 1),
                 detail::gates_of(s.kind) * s.hidden, s.input_of(layer), s.hidden, s.bias);
  return params;
}

// The first two dimensions exchanged: batch and time.
Value exchanged(const Value& x) { return x.rank() == 3 ? transpose(x, {1, 0, 2}) : x; }

void check_x(const Stack& s, const Value& x) {
  if ((x.rank() != 2 && x.rank() != 3) || x.shape().back() != s.input)
    throw Error(ErrorCode::kShape, fmt::format("{}: x is {}, expected (T, {}) or (N, T, {})",
                                               s.name, to_string(x.type()), s.input, s.input));
}

// The states of all layers and directions, (count, ...), or zeros.
Value states_of(const Stack& s, const Value& given, const Value& x, std::string_view which) {
  Shape shape = x.rank() == 3 ? Shape{x.shape()[0], s.hidden} : Shape{s.hidden};
  shape = shape.insert(0, s.layers * s.directions());
  if (!given) return broadcast(constant(x.builder(), 0, x.dtype()), shape);
  if (!(given.shape() == shape))
    throw Error(ErrorCode::kShape, fmt::format("{}: {} is {}, expected {}", s.name, which,
                                               to_string(given.type()), to_string(shape)));
  return given;
}

Value state_at(const Value& states, std::int64_t i) {
  return reshape(slice(states, 0, i, i + 1), states.shape().erase(0));
}

Value stacked_states(std::vector<Value> states) {
  for (Value& v : states) v = reshape(v, v.shape().insert(0, 1));
  return concatenate(states, 0);
}

Recurred run_stack(const Stack& s, const Args& params, const Value& x,
                   const RecurrentInputs& inputs) {
  check_stack(s);
  check_x(s, x);
  if (inputs.lengths) {
    const Shape expected = x.rank() == 3 ? Shape{x.shape()[0]} : Shape{};
    if (inputs.lengths.dtype() != Dtype::kI32 || !(inputs.lengths.shape() == expected))
      throw Error(inputs.lengths.dtype() != Dtype::kI32 ? ErrorCode::kDtype : ErrorCode::kShape,
                  fmt::format("{}: lengths are {}, expected i32{}", s.name,
                              to_string(inputs.lengths.type()), to_string(expected)));
  }
  const bool lstm = s.kind == Recurrent::kLstm;
  const Value h = states_of(s, inputs.state.h, x, "h");
  const Value c = lstm ? states_of(s, inputs.state.c, x, "c") : Value();
  std::vector<Value> last_h, last_c;
  Value y = exchanged(x);
  for (std::int64_t layer = 0; layer < s.layers; ++layer) {
    std::vector<Value> directions;
    for (std::int64_t d = 0; d < s.directions(); ++d) {
      Recurrence r = weights_of(s.kind, params, suffix_of(layer, d == 1), s.bias);
      r.reverse = d == 1;
      r.activations = activations_of(s.name, s.nonlinearity);
      const std::int64_t at = layer * s.directions() + d;
      const detail::RecurrentRun run = detail::run_recurrence(
          r, y, {state_at(h, at), lstm ? state_at(c, at) : Value()}, inputs.lengths);
      directions.push_back(run.y);
      last_h.push_back(run.last.h);
      if (lstm) last_c.push_back(run.last.c);
    }
    y = directions.size() == 1 ? directions[0]
                               : concatenate(directions, static_cast<std::int64_t>(y.rank()) - 1);
    if (inputs.key && s.dropout > 0 && layer + 1 < s.layers)
      y = limpid::dropout(y, *part_key(inputs.key, layer), s.dropout);
  }
  return {exchanged(y), {stacked_states(last_h), lstm ? stacked_states(last_c) : Value()}};
}

Stack stack_of(const RNN& l) {
  return {Recurrent::kRnn, "RNN",     l.input,         l.hidden,      l.layers,
          l.bias,          l.dropout, l.bidirectional, l.nonlinearity};
}
Stack stack_of(const LSTM& l) {
  return {Recurrent::kLstm, "LSTM", l.input,   l.hidden,
          l.layers,         l.bias, l.dropout, l.bidirectional};
}
Stack stack_of(const GRU& l) {
  return {Recurrent::kGru, "GRU", l.input, l.hidden, l.layers, l.bias, l.dropout, l.bidirectional};
}

Params init_cell(Recurrent kind, std::string_view name, Key key, std::int64_t input,
                 std::int64_t hidden, bool bias) {
  check_sizes(name, input, hidden);
  Params params;
  add_params(params, key, "", detail::gates_of(kind) * hidden, input, hidden, bias);
  return params;
}

Value zeros_for(const Value& x, std::int64_t hidden) {
  return broadcast(constant(x.builder(), 0, x.dtype()), x.shape().replace(x.rank() - 1, hidden));
}

detail::RecurrentState run_cell(Recurrence r, const Value& x, HiddenState state,
                                std::int64_t hidden) {
  if (!state.h) state.h = zeros_for(x, hidden);
  if (r.kind == Recurrent::kLstm && !state.c) state.c = zeros_for(x, hidden);
  return detail::step_of(r, linear(x, r.w_ih, r.b_ih), {state.h, state.c});
}

}  // namespace

Params RNN::init(Key key) const { return init_stack(stack_of(*this), key); }
Recurred RNN::run(const Args& params, Value x, const RecurrentInputs& inputs) const {
  return run_stack(stack_of(*this), params, x, inputs);
}
Value RNN::operator()(const Args& params, Value x, std::optional<Value> key) const {
  return run(params, x, {.key = key}).y;
}

Params LSTM::init(Key key) const { return init_stack(stack_of(*this), key); }
Recurred LSTM::run(const Args& params, Value x, const RecurrentInputs& inputs) const {
  return run_stack(stack_of(*this), params, x, inputs);
}
Value LSTM::operator()(const Args& params, Value x, std::optional<Value> key) const {
  return run(params, x, {.key = key}).y;
}

Params GRU::init(Key key) const { return init_stack(stack_of(*this), key); }
Recurred GRU::run(const Args& params, Value x, const RecurrentInputs& inputs) const {
  return run_stack(stack_of(*this), params, x, inputs);
}
Value GRU::operator()(const Args& params, Value x, std::optional<Value> key) const {
  return run(params, x, {.key = key}).y;
}

Params RNNCell::init(Key key) const {
  return init_cell(Recurrent::kRnn, "RNNCell", key, input, hidden, bias);
}
Value RNNCell::operator()(const Args& params, Value x, Value h) const {
  Recurrence r = weights_of(Recurrent::kRnn, params, "", bias);
  r.activations = activations_of("RNNCell", nonlinearity);
  return run_cell(std::move(r), x, {h, {}}, hidden).h;
}

Params LSTMCell::init(Key key) const {
  return init_cell(Recurrent::kLstm, "LSTMCell", key, input, hidden, bias);
}
HiddenState LSTMCell::operator()(const Args& params, Value x, HiddenState state) const {
  const detail::RecurrentState next =
      run_cell(weights_of(Recurrent::kLstm, params, "", bias), x, state, hidden);
  return {next.h, next.c};
}

Params GRUCell::init(Key key) const {
  return init_cell(Recurrent::kGru, "GRUCell", key, input, hidden, bias);
}
Value GRUCell::operator()(const Args& params, Value x, Value h) const {
  return run_cell(weights_of(Recurrent::kGru, params, "", bias), x, {h, {}}, hidden).h;
}

}  // namespace limpid::nn
