// RNN, LSTM and GRU, with all of their attributes, and ReverseSequence.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "limpid/core/in_quotes.h"
#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/nn/detail/recurrence.h"
#include "limpid/ops/ops.h"

namespace limpid::onnx::detail {
namespace {

using nn::detail::Recurrence;
using nn::detail::Recurrent;

// The alphas and betas of a node, which the functions that have one take in turn.
struct Slopes {
  std::vector<double> alphas, betas;
  std::size_t next_alpha = 0, next_beta = 0;

  double alpha(double otherwise) {
    return next_alpha < alphas.size() ? alphas[next_alpha++] : otherwise;
  }
  double beta(double otherwise) {
    return next_beta < betas.size() ? betas[next_beta++] : otherwise;
  }
};

nn::detail::Activate activation_named(const Node& node, std::string name, Slopes& slopes) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name == "relu") return [](Value x) { return relu(x); };
  if (name == "tanh") return [](Value x) { return tanh(x); };
  if (name == "sigmoid") return [](Value x) { return sigmoid(x); };
  if (name == "softsign") return [](Value x) { return x / (1.0 + abs(x)); };
  if (name == "softplus") return [](Value x) { return softplus(x); };
  if (name == "leakyrelu") return [a = slopes.alpha(0.01f)](Value x) { return leaky_relu(x, a); };
  if (name == "thresholdedrelu")
    return [a = slopes.alpha(1)](Value x) {
      return select(x > number_like(x, a), x, number_like(x, 0));
    };
  if (name == "elu")
    return [a = slopes.alpha(1)](Value x) {
      return select(x > number_like(x, 0), x, a * (exp(x) - 1.0));
    };
  if (name == "affine") {
    const double a = slopes.alpha(1), b = slopes.beta(0);
    return [a, b](Value x) { return a * x + b; };
  }
  if (name == "scaledtanh") {
    const double a = slopes.alpha(1), b = slopes.beta(1);
    return [a, b](Value x) { return a * tanh(b * x); };
  }
  if (name == "hardsigmoid") {
    const double a = slopes.alpha(0.2f), b = slopes.beta(0.5);
    return [a, b](Value x) { return clamp(a * x + b, 0, 1); };
  }
  node.fail(ErrorCode::kUnsupported, fmt::format("activation {}", in_quotes(name)));
}

// The functions of all directions, in the order of Recurrence::activations.
std::vector<std::array<nn::detail::Activate, 3>> activations_of(const Node& node, Recurrent kind,
                                                                std::size_t directions) {
  std::vector<std::array<nn::detail::Activate, 3>> all(directions);
  if (!node.has("activations")) return all;
  const std::vector<std::string> names = node.texts("activations");
  const std::size_t each = kind == Recurrent::kLstm ? 3 : kind == Recurrent::kGru ? 2 : 1;
  if (names.size() != each * directions)
    node.fail(ErrorCode::kFormat,
              fmt::format("{} activations, expected {}", names.size(), each * directions));
  Slopes slopes;
  if (node.has("activation_alpha")) slopes.alphas = node.reals("activation_alpha");
  if (node.has("activation_beta")) slopes.betas = node.reals("activation_beta");
  const std::size_t first = kind == Recurrent::kRnn ? 1 : 0;  // it has no gates
  for (std::size_t i = 0; i < names.size(); ++i)
    all[i / each][first + i % each] = activation_named(node, names[i], slopes);
  return all;
}

// Rows of `size` in another order: part `order[i]` first comes part i.
Value gates_in_order(const Value& x, std::span<const std::int64_t> order) {
  const std::int64_t size = x.shape()[0] / static_cast<std::int64_t>(order.size());
  std::vector<Value> parts;
  for (const std::int64_t part : order)
    parts.push_back(slice(x, 0, part * size, (part + 1) * size));
  return parts.size() == 1 ? parts[0] : concatenate(parts, 0);
}

// PyTorch's order in terms of ONNX's: LSTM i o f c to i f c o, GRU z r h to r z h.
std::span<const std::int64_t> order_of(Recurrent kind) {
  static constexpr std::int64_t kOne[] = {0}, kLstm[] = {0, 2, 3, 1}, kGru[] = {1, 0, 2};
  if (kind == Recurrent::kLstm) return kLstm;
  if (kind == Recurrent::kGru) return kGru;
  return kOne;
}

Value direction_of(const Value& x, std::int64_t i) {
  return reshape(slice(x, 0, i, i + 1), x.shape().erase(0));
}

Value axes_moved(const Value& x, std::vector<std::int64_t> order) {
  return transpose(x, std::move(order));
}

void expect_sizes(const Node& node, const Value& x, std::string_view name, const Shape& shape) {
  if (!(x.shape() == shape))
    node.fail(ErrorCode::kShape,
              fmt::format("{} is {}, expected {}", name, to_string(x.type()), to_string(shape)));
}

// Nothing if all are full.
Value lengths_of(const Node& node, std::int64_t steps, std::int64_t batch) {
  if (!node.has_input(4)) return {};
  const Value lengths = node.input(4);
  expect_sizes(node, lengths, "sequence_lens", {batch});
  if (node.is_known(4)) {
    const std::vector<std::int64_t> all = node.known_integers(4);
    if (std::all_of(all.begin(), all.end(), [&](std::int64_t n) { return n == steps; })) return {};
  }
  return cast(lengths, Dtype::kI32);
}

template <Recurrent kind>
Values import_recurrent(Node& node) {
  const std::int64_t layout = node.integer("layout", 0);
  const std::string direction = node.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    node.fail(ErrorCode::kFormat, fmt::format("direction {}", in_quotes(direction)));
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  Value x = node.input(0);
  if (x.rank() != 3) node.fail(ErrorCode::kShape, "expected X of three dimensions");
  if (layout == 1) x = axes_moved(x, {1, 0, 2});
  const std::int64_t steps = x.shape()[0], batch = x.shape()[1];
  const Value w = node.input(1), r = node.input(2);
  if (r.rank() != 3) node.fail(ErrorCode::kShape, "expected R of three dimensions");
  const std::int64_t hidden = r.shape()[2];
  const std::int64_t gates = nn::detail::gates_of(kind);
  expect_sizes(node, w, "W", {directions, gates * hidden, x.shape()[2]});
  expect_sizes(node, r, "R", {directions, gates * hidden, hidden});
  const auto state_input = [&](std::size_t i, std::string_view name) {
    if (!node.has_input(i))
      return broadcast(constant(node.builder(), 0, x.dtype()), {directions, batch, hidden});
    const Value given = layout == 1 ? axes_moved(node.input(i), {1, 0, 2}) : node.input(i);
    expect_sizes(node, given, name, {directions, batch, hidden});
    return given;
  };
  constexpr bool kIsLstm = kind == Recurrent::kLstm;
  const Value h = state_input(5, "initial_h");
  const Value c = kIsLstm ? state_input(6, "initial_c") : Value();
  const Value lengths = lengths_of(node, steps, batch);
  const Value bias = node.optional_input(3);
  if (bias) expect_sizes(node, bias, "B", {directions, 2 * gates * hidden});
  const Value peepholes = kIsLstm ? node.optional_input(7) : Value();
  if (peepholes) expect_sizes(node, peepholes, "P", {directions, 3 * hidden});
  const auto activations = activations_of(node, kind, static_cast<std::size_t>(directions));
  const std::span<const std::int64_t> order = order_of(kind);

  Values ys, hs, cs;
  for (std::int64_t d = 0; d < directions; ++d) {
    Recurrence one;
    one.kind = kind;
    one.w_ih = gates_in_order(direction_of(w, d), order);
    one.w_hh = gates_in_order(direction_of(r, d), order);
    if (bias) {
      const Value both = direction_of(bias, d);
      one.b_ih = gates_in_order(slice(both, 0, 0, gates * hidden), order);
      one.b_hh = gates_in_order(slice(both, 0, gates * hidden, 2 * gates * hidden), order);
    }
    one.reverse = direction == "reverse" || d == 1;
    one.activations = activations[static_cast<std::size_t>(d)];
    if (peepholes) {
      constexpr std::int64_t kOrder[] = {0, 2, 1};  // i o f to i f o
      one.peepholes = gates_in_order(direction_of(peepholes, d), kOrder);
    }
    one.clip = node.real("clip", 0);
    one.input_forget = node.flag("input_forget", false);
    one.reset_after = node.flag("linear_before_reset", false);
    const nn::detail::RecurrentRun run = nn::detail::run_recurrence(
        one, x, {direction_of(h, d), kIsLstm ? direction_of(c, d) : Value()}, lengths);
    ys.push_back(reshape(run.y, {steps, 1, batch, hidden}));
    hs.push_back(reshape(run.last.h, {1, batch, hidden}));
    if (kIsLstm) cs.push_back(reshape(run.last.c, {1, batch, hidden}));
  }
  const auto joined = [&](const Values& parts, std::int64_t axis) {
    return parts.size() == 1 ? parts[0] : concatenate(parts, axis);
  };
  Value y = joined(ys, 1), last_h = joined(hs, 0);
  Value last_c = kIsLstm ? joined(cs, 0) : Value();
  if (layout == 1) {
    y = axes_moved(y, {2, 0, 1, 3});
    last_h = axes_moved(last_h, {1, 0, 2});
    if (kIsLstm) last_c = axes_moved(last_c, {1, 0, 2});
  }
  if (kIsLstm) return {y, last_h, last_c};
  return {y, last_h};
}

// Step t of an example of n steps comes from n - 1 - t, and from t beyond them.
Values import_reverse_sequence(Node& node) {
  const Value x = node.input(0), given = node.input(1);
  const std::int64_t batch_axis = node.integer("batch_axis", 1);
  const std::int64_t time_axis = node.integer("time_axis", 0);
  if (x.rank() < 2 || batch_axis + time_axis != 1 || batch_axis * time_axis != 0)
    node.fail(ErrorCode::kFormat,
              fmt::format("batch_axis {} and time_axis {} of {}: expected 0 and 1", batch_axis,
                          time_axis, to_string(x.type())));
  std::vector<std::int64_t> order(x.rank());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  if (batch_axis == 1) std::swap(order[0], order[1]);
  const Value rows = axes_moved(x, order);
  const std::int64_t batch = rows.shape()[0], steps = rows.shape()[1];
  expect_sizes(node, given, "sequence_lens", {batch});
  const Shape both{batch, steps};
  const Value t = broadcast(iota(node.builder(), steps), both);
  const Value n = broadcast(reshape(cast(given, Dtype::kI32), {batch, 1}), both);
  const Value from = select(t < n, n - t - 1.0, t);
  return {axes_moved(take_rows(rows, from, 1), order)};
}

constexpr NodeOp kRecurrentOperators[] = {
    {.name = "GRU",
     .meaning = "a scan for each direction",
     .import = import_recurrent<Recurrent::kGru>},
    {.name = "LSTM",
     .meaning = "a scan for each direction",
     .import = import_recurrent<Recurrent::kLstm>},
    {.name = "RNN",
     .meaning = "a scan for each direction",
     .import = import_recurrent<Recurrent::kRnn>},
    {.name = "ReverseSequence", .meaning = "take_rows", .import = import_reverse_sequence},
};

}  // namespace

constexpr std::span<const NodeOp> recurrent_operators = kRecurrentOperators;

}  // namespace limpid::onnx::detail
