// If and Loop, whose conditions must be known at import: the branch that is taken takes the place
// of the one, and as many copies of the body that of the other.
#include <fmt/format.h>

#include <algorithm>

#include "limpid/formats/onnx/detail/operators.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

Values import_if(Node& node) {
  return node.inline_graph(node.known_bool(0) ? "then_branch" : "else_branch", {});
}

// What a body gives: whether to go on, the values that are carried on, and an element of each scan
// output. The importer's limit on nodes ends loops without end.
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
    node.fail(ErrorCode::kFormat, fmt::format("the body has {} outputs, {} or more are expected",
                                              results.size(), 1 + carried.size()));
  const auto middle = results.begin() + 1 + static_cast<std::ptrdiff_t>(carried.size());
  const Value condition = results[0];
  if (condition.dtype() != Dtype::kBool || condition.shape().elements() != 1)
    node.fail(ErrorCode::kDtype, fmt::format("the body's condition is {}, one bool is expected",
                                             to_string(condition.type())));
  return {
      node.known(condition).item<bool>(), {results.begin() + 1, middle}, {middle, results.end()}};
}

// Elements in a row; of none, their type is that of an element of a turn that is not taken.
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

constexpr NodeOp kTable[] = {
    {.name = "If",
     .meaning = "the branch that is taken; the condition known at import",
     .import = import_if},
    {.name = "Loop",
     .meaning = "the body, once for each turn; their number known at import",
     .import = import_loop},
};

}  // namespace

constexpr std::span<const NodeOp> control_operators = kTable;

}  // namespace limpid::onnx::detail
