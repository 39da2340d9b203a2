// If and Loop. If the condition of an If is known at import, only the taken branch is imported;
// otherwise both branches and a select, since Functions are pure. A Loop is unrolled.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

// The outputs of a branch that runs unconditionally. Errors name the branch; the importer adds the
// node.
Values branch_of(const Node& node, std::string_view name) {
  try {
    return node.inline_graph(name, {});
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("{}: {} (both branches are computed, as the condition "
                                      "depends on the values of an input)",
                                      name, e.what()));
  }
}

Values select_branch(const Node& node) {
  const Value input = node.input(0);
  if (input.dtype() != Dtype::kBool || input.shape().elements() != 1)
    node.fail(ErrorCode::kDtype,
              fmt::format("the condition is {}, expected one bool", to_string(input.type())));
  const Value condition = reshape(input, {});
  const Values taken = branch_of(node, "then_branch");
  const Values otherwise = branch_of(node, "else_branch");
  if (taken.size() != otherwise.size())
    node.fail(ErrorCode::kFormat, fmt::format("then_branch has {} outputs, else_branch {}",
                                              taken.size(), otherwise.size()));
  Values results;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (!(taken[i].type() == otherwise[i].type()))
      node.fail(ErrorCode::kUnsupported,
                fmt::format("output {} is {} in then_branch and {} in else_branch; expected one "
                            "shape and dtype, as the condition depends on the values of an input",
                            i, to_string(taken[i].type()), to_string(otherwise[i].type())));
    results.push_back(select(condition, taken[i], otherwise[i]));
  }
  return results;
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
  if (!condition) return select_branch(node);
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

Values import_loop(Node& node) {
  const bool counted = node.has_input(0);
  const std::int64_t most = counted ? node.known_integer(0) : 0;
  bool go_on = !node.has_input(1) || node.known_bool(1);
  Values carried;
  for (std::size_t i = 2; i < node.input_count(); ++i) carried.push_back(node.input(i));
  const std::size_t scans = node.output_count() - std::min(node.output_count(), carried.size());

  std::vector<Values> scanned(scans);
  std::int64_t number = 0;
  for (; go_on && (!counted || number < most); ++number) {
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

constexpr NodeOp kControlFlowOperators[] = {
    {.name = "If",
     .meaning = "the taken branch; a select of both if the condition depends on an input",
     .import = import_if},
    {.name = "Loop",
     .meaning = "the body, unrolled; trip count known at import",
     .import = import_loop},
};

}  // namespace

constexpr std::span<const NodeOp> control_flow_operators = kControlFlowOperators;

}  // namespace limpid::onnx::detail
