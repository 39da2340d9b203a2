// If, Loop and Scan. If the condition of an If is known at import, only the taken branch is
// imported; otherwise both, as Functions of a cond. A Loop of a few turns, and one whose types
// change, is unrolled; another is a scan, or a while_loop if its body decides when it ends.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/along_axis.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/shape.h"
#include "limpid/transforms/control.h"
#include "limpid/transforms/scan.h"
#include "limpid/transforms/vmap.h"

namespace limpid::onnx::detail {
namespace {

Value one_bool(const Node& node, const Value& value, std::string_view what) {
  if (value.dtype() != Dtype::kBool || value.shape().elements() != 1)
    node.fail(ErrorCode::kDtype,
              fmt::format("{} is {}, expected one bool", what, to_string(value.type())));
  return reshape(value, {});
}

// A branch as a Function of what it captures. Errors name the branch; the importer adds the node.
TracedGraph branch_of(const Node& node, std::string_view name) {
  try {
    return node.trace_graph(
        name, [](Builder&) { return Values(); }, [](Values&) {});
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("{}: {} (both branches are imported, as the condition "
                                      "depends on the values of an input)",
                                      name, e.what()));
  }
}

Values choose_branch(const Node& node) {
  const Value condition = one_bool(node, node.input(0), "the condition");
  const TracedGraph taken = branch_of(node, "then_branch");
  const TracedGraph otherwise = branch_of(node, "else_branch");
  const std::size_t count = taken.function.outputs().size();
  if (count != otherwise.function.outputs().size())
    node.fail(ErrorCode::kFormat, fmt::format("then_branch has {} outputs, else_branch {}", count,
                                              otherwise.function.outputs().size()));
  for (std::size_t i = 0; i < count; ++i) {
    const auto type_of = [&](const Function& f) { return f.type(f.outputs()[i].value); };
    if (!(type_of(taken.function) == type_of(otherwise.function)))
      node.fail(ErrorCode::kUnsupported,
                fmt::format("output {} is {} in then_branch and {} in else_branch; expected one "
                            "shape and dtype, as the condition depends on the values of an input",
                            i, to_string(type_of(taken.function)),
                            to_string(type_of(otherwise.function))));
  }
  return limpid::detail::cond_of(condition, taken.function, taken.captured, otherwise.function,
                                 otherwise.captured);
}

// Nothing if it depends on inputs, or needs more arithmetic than an import performs.
std::optional<bool> known_condition(const Node& node) {
  if (!node.is_known(0)) return {};
  try {
    return node.known_bool(0);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kUnsupported) throw;
    return {};
  }
}

Values import_if(Node& node) {
  const std::optional<bool> condition = known_condition(node);
  if (!condition) return choose_branch(node);
  return node.inline_graph(*condition ? "then_branch" : "else_branch", {});
}

// A body's outputs: whether to continue, the carried values, and an element of each scan output.
// The importer's limit on nodes ends infinite loops.
struct Turn {
  bool go_on = false;
  Values carried;
  Values scanned;
};

Turn run_body(const Node& node, std::int64_t number, const Values& carried) {
  Values arguments{constant(node.builder(), Tensor::scalar(number)),
                   constant(node.builder(), Tensor::scalar(true))};
  arguments.insert(arguments.end(), carried.begin(), carried.end());
  const Values results = node.inline_graph("body", arguments);
  if (results.size() < 1 + carried.size())
    node.fail(ErrorCode::kFormat, fmt::format("the body has {} outputs, expected {} or more",
                                              results.size(), 1 + carried.size()));
  const auto middle = results.begin() + 1 + static_cast<std::ptrdiff_t>(carried.size());
  const Value condition = results[0];
  if (condition.dtype() != Dtype::kBool || condition.shape().elements() != 1)
    node.fail(ErrorCode::kDtype, fmt::format("the body's condition is {}, expected one bool",
                                             to_string(condition.type())));
  return {
      node.known(condition).item<bool>(), {results.begin() + 1, middle}, {middle, results.end()}};
}

// Stacks elements. If there are none, the element type comes from an iteration that is imported but
// not used.
Value stacked(const Values& elements, Value like) {
  Values rows;
  for (const Value& e : elements) rows.push_back(reshape(e, e.shape().insert(0, 1)));
  if (!rows.empty()) return concatenate(rows, 0);
  return constant(like.builder(), Tensor::zeros({like.dtype(), like.shape().insert(0, 0)}));
}

Values unrolled_loop(Node& node, std::optional<std::int64_t> most, bool go_on, Values carried) {
  const std::size_t scans = node.output_count() - std::min(node.output_count(), carried.size());
  std::vector<Values> scanned(scans);
  std::int64_t number = 0;
  for (; go_on && (!most || number < *most); ++number) {
    Turn turn = run_body(node, number, carried);
    go_on = turn.go_on;
    carried = std::move(turn.carried);
    if (turn.scanned.size() < scans)
      node.fail(ErrorCode::kFormat,
                fmt::format("{} scan outputs, the body gives {}", scans, turn.scanned.size()));
    for (std::size_t i = 0; i < scans; ++i) scanned[i].push_back(turn.scanned[i]);
  }
  Values results = carried;
  if (scans == 0) return results;
  const Values like = number > 0 ? Values() : run_body(node, 0, carried).scanned;
  if (number == 0 && like.size() < scans)
    node.fail(ErrorCode::kFormat,
              fmt::format("{} scan outputs, the body gives {}", scans, like.size()));
  for (std::size_t i = 0; i < scans; ++i)
    results.push_back(stacked(scanned[i], number > 0 ? Value() : like[i]));
  return results;
}

// ---- a Loop as an op

// The body as a Function of the number of the turn and the carried values. Its outputs: the next
// number, whether to go on, the carried values, and the elements of the scan outputs.
struct LoopBody {
  TracedGraph graph;
  bool always_goes_on = false;
};

LoopBody trace_body(const Node& node, const Values& carried) {
  LoopBody body;
  Value number;
  const auto arguments = [&](Builder& builder) {
    number = builder.input("turn", {Dtype::kI64, {}});
    Values all{number};
    for (std::size_t i = 0; i < carried.size(); ++i)
      all.push_back(builder.input(fmt::format("carried.{}", i), carried[i].type()));
    all.insert(all.begin() + 1, constant(builder, Tensor::scalar(true)));
    return all;
  };
  body.graph = node.trace_graph("body", arguments, [&](Values& results) {
    if (results.size() < 1 + carried.size())
      node.fail(ErrorCode::kFormat, fmt::format("the body has {} outputs, expected {} or more",
                                                results.size(), 1 + carried.size()));
    for (std::size_t i = 0; i < carried.size(); ++i)
      if (!(results[i + 1].type() == carried[i].type()))
        node.fail(ErrorCode::kUnsupported,
                  fmt::format("carried value {} is {} before a turn and {} after it; expected one "
                              "type, as the number of turns depends on the values of an input",
                              i, to_string(carried[i].type()), to_string(results[i + 1].type())));
    results[0] = one_bool(node, results[0], "the body's condition");
    body.always_goes_on = node.is_known(results[0]) && node.known(results[0]).item<bool>();
    results.insert(results.begin(), number + constant(number.builder(), 1, Dtype::kI64));
  });
  return body;
}

// With a part of the outputs.
Function with_outputs(const Function& f, std::span<const std::size_t> outputs) {
  Builder builder(f.name());
  Values in;
  for (const Input& i : f.inputs()) in.push_back(builder.input(i.name, i.type));
  const Values all = builder.inline_function(f, in);
  Values results;
  for (const std::size_t o : outputs) results.push_back(all[o]);
  return builder.finish(results);
}

Values counted_loop(const Node& node, const LoopBody& body, std::int64_t turns,
                    const Values& carried) {
  constexpr std::int64_t kMostTurns = std::int64_t{1} << 31;
  if (turns > kMostTurns)
    node.fail(ErrorCode::kUnsupported,
              fmt::format("{} turns, at most {} have scan outputs", turns, kMostTurns));
  std::vector<std::size_t> outputs{0};
  for (std::size_t o = 2; o < body.graph.function.outputs().size(); ++o) outputs.push_back(o);
  Builder& builder = innermost(carried, "Loop");
  Values carry{constant(builder, Tensor::scalar(std::int64_t{0}))};
  carry.insert(carry.end(), carried.begin(), carried.end());
  const Scanned all = scan(with_outputs(body.graph.function, outputs), carry, {},
                           body.graph.captured, {.length = turns});
  Values results(all.carry.begin() + 1, all.carry.end());
  results.insert(results.end(), all.stacked.begin(), all.stacked.end());
  return results;
}

// The carry: the number of the turn, whether to go on, the carried values.
Values open_loop(const Node& node, const LoopBody& body, const Value& go_on,
                 const Values& carried) {
  if (body.graph.function.outputs().size() > carried.size() + 2)
    node.fail(
        ErrorCode::kUnsupported,
        "its scan outputs have as many elements as it has turns, which are unknown at import");
  const Value most = node.has_input(0) ? reshape(cast(node.input(0), Dtype::kI64), {}) : Value();
  Values carry{constant(node.builder(), Tensor::scalar(std::int64_t{0})), go_on};
  carry.insert(carry.end(), carried.begin(), carried.end());
  Values shared = body.graph.captured;
  if (most) shared.push_back(most);
  Builder test("condition"), step("body");
  const auto inputs = [&](Builder& builder) {
    Values in;
    for (const Values* const part : {&carry, &shared})
      for (const Value& v : *part) in.push_back(builder.input(std::to_string(in.size()), v.type()));
    return in;
  };
  const Values of_test = inputs(test);
  const Value within = most ? logical_and(of_test[1], of_test[0] < of_test.back()) : of_test[1];
  const Function condition = test.finish(Values{within});
  Values arguments = inputs(step);
  if (most) arguments.pop_back();
  arguments.erase(arguments.begin() + 1);
  const Function turn = step.finish(step.inline_function(body.graph.function, arguments));
  const Values last = while_loop(condition, turn, carry, shared);
  return {last.begin() + 2, last.end()};
}

Values import_loop(Node& node) {
  // Fewer turns are unrolled: their constants fold.
  constexpr std::int64_t kFew = 8;
  const bool counted = node.has_input(0), tested = node.has_input(1);
  std::optional<std::int64_t> most;
  if (counted && node.is_known(0)) most = node.known_integer(0);
  const bool knows_first = !tested || node.is_known(1);
  const bool first = knows_first && (!tested || node.known_bool(1));
  Values carried;
  for (std::size_t i = 2; i < node.input_count(); ++i) carried.push_back(node.input(i));
  const bool known = (!counted || most) && knows_first;
  if (known && (!first || (most && *most <= kFew)))
    return unrolled_loop(node, most, first, std::move(carried));
  LoopBody body;
  try {
    body = trace_body(node, carried);
  } catch (const Error&) {
    if (!known) throw;
    return unrolled_loop(node, most, first, std::move(carried));
  }
  if (known && body.always_goes_on && most && !carried.empty())
    return counted_loop(node, body, *most, carried);
  if (known && (body.graph.function.outputs().size() > carried.size() + 2 || carried.empty()))
    return unrolled_loop(node, most, first, std::move(carried));
  const Value go_on = tested ? one_bool(node, node.input(1), "the condition")
                             : constant(node.builder(), Tensor::scalar(true));
  return open_loop(node, body, go_on, carried);
}

// ---- Scan

std::vector<std::int64_t> numbers_of(const Node& node, std::string_view name, std::size_t count) {
  if (!node.has(name)) return std::vector<std::int64_t>(count, 0);
  const std::vector<std::int64_t> all = node.integers(name);
  if (all.size() != count)
    node.fail(ErrorCode::kFormat,
              fmt::format("{} has {} numbers, expected {}", name, all.size(), count));
  return all;
}

// Moves an axis to the front, or from there.
Value with_axis(const Value& x, std::size_t from, std::size_t to) {
  if (from == to) return x;
  std::vector<std::int64_t> order;
  for (std::size_t d = 0; d < x.rank(); ++d)
    if (d != from) order.push_back(static_cast<std::int64_t>(d));
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), static_cast<std::int64_t>(from));
  return transpose(x, order);
}

// Version 8 has a batch before all dimensions, and lengths before all inputs; `batch` is its size.
Values import_scan(Node& node) {
  const bool old = node.version() < 9;
  const std::size_t first = old ? 1 : 0;
  const auto scanned = node.integer("num_scan_inputs");
  const std::size_t inputs = node.input_count() - std::min(node.input_count(), first);
  if (scanned < 1 || static_cast<std::size_t>(scanned) > inputs)
    node.fail(ErrorCode::kFormat, fmt::format("num_scan_inputs {} of {} inputs", scanned, inputs));
  const auto count = static_cast<std::size_t>(scanned);
  const std::size_t states = inputs - count;
  if (old && node.has_input(0)) node.fail(ErrorCode::kUnsupported, "lengths of the sequences");
  const auto axes = numbers_of(node, "scan_input_axes", count);
  const auto directions = numbers_of(node, old ? "directions" : "scan_input_directions", count);
  Values carry, xs;
  for (std::size_t i = 0; i < states; ++i) carry.push_back(node.input(first + i));
  for (std::size_t i = 0; i < count; ++i) {
    const Value x = node.input(first + states + i);
    const std::size_t axis = old ? 1 : normalize_axis(axes[i], x.rank(), "scan_input_axes");
    if (axis >= x.rank()) node.fail(ErrorCode::kShape, "expected a batch and a dimension of steps");
    const Value in_front = with_axis(x, axis, 0);
    xs.push_back(directions[i] != 0 ? flip(in_front, 0) : in_front);
  }
  const auto without_first = [&](const Value& x) {
    if (x.rank() == 0) node.fail(ErrorCode::kShape, "expected a batch");
    return Type{x.dtype(), x.shape().erase(0)};
  };
  const TracedGraph body = node.trace_graph(
      "body",
      [&](Builder& builder) {
        Values in;
        const auto add = [&](const Type& type) {
          in.push_back(builder.input(std::to_string(in.size()), type));
        };
        for (const Value& c : carry) add(old ? without_first(c) : c.type());
        for (const Value& x : xs) {
          const Type part = without_first(x);
          add(old ? Type{part.dtype, part.shape.erase(0)} : part);
        }
        return in;
      },
      [](Values&) {});
  Function step = body.function;
  if (old) {
    std::vector<std::optional<std::int64_t>> batched(states + count, 0);
    batched.resize(step.inputs().size());
    step = vmap(step, batched, xs[0].shape()[1]);
  }
  if (step.outputs().size() < states)
    node.fail(ErrorCode::kFormat, fmt::format("the body has {} outputs, expected {} or more",
                                              step.outputs().size(), states));
  const Scanned all = scan(step, carry, xs, body.captured);
  Values results = all.carry;
  const std::size_t outputs = all.stacked.size();
  const auto out_axes = numbers_of(node, "scan_output_axes", outputs);
  const auto out_directions = numbers_of(node, "scan_output_directions", outputs);
  for (std::size_t i = 0; i < outputs; ++i) {
    const Value y = out_directions[i] != 0 ? flip(all.stacked[i], 0) : all.stacked[i];
    const std::size_t axis = old ? 1 : normalize_axis(out_axes[i], y.rank(), "scan_output_axes");
    results.push_back(with_axis(y, 0, axis));
  }
  return results;
}

constexpr NodeOp kControlFlowOperators[] = {
    {.name = "If",
     .meaning = "the taken branch; cond if the condition depends on an input",
     .import = import_if},
    {.name = "Loop",
     .meaning = "scan; while_loop if its body ends it; a few turns are unrolled",
     .import = import_loop},
    {.name = "Scan", .since = 8, .meaning = "scan", .import = import_scan},
};

}  // namespace

constexpr std::span<const NodeOp> control_flow_operators = kControlFlowOperators;

}  // namespace limpid::onnx::detail
