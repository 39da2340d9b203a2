#include "limpid/inspect/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/core/number_text.h"
#include "limpid/data/standardize.h"
#include "limpid/function/builder.h"
#include "limpid/function/nested.h"
#include "limpid/function/text.h"
#include "limpid/inspect/detail/blocks.h"
#include "limpid/inspect/table.h"

namespace limpid {
namespace {

bool multiplies_matrices(const Op& op) {
  return op.role == Role::kProduct || op.role == Role::kConvolution ||
         op.role == Role::kAttention || op.role == Role::kCachedAttention;
}

std::int64_t multiply_adds(const Call& call);

std::int64_t multiply_adds(const Function& f) {
  std::int64_t total = 0;
  for (const Node& node : f.nodes()) {
    const Function::CallTypes types = f.call_types(node);
    total = sum_or_most(
        total, multiply_adds({*node.op, types.inputs, types.outputs, node.attributes, node.scope}));
  }
  return total;
}

// Half the flops of the products in a call, at any depth of its body. Of a loop, those of all
// steps, if their number is known; of a choice, the most.
std::int64_t multiply_adds(const Call& call) {
  if (!call.op.body) return multiplies_matrices(call.op) ? call.op.flops(call) / 2 : 0;
  const std::vector<Function> nested = nested_functions(call.attributes);
  if (nested.empty()) return multiply_adds(body_of(call));
  std::int64_t most = 0;
  for (const Function& f : nested) most = std::max(most, multiply_adds(f));
  const Attribute* const length = call.attributes.find("length");
  return length ? product_or_most(std::get<std::int64_t>(*length), most) : most;
}

// Which parameters an op is the first to use.
class FirstUses {
 public:
  FirstUses(const Function& function, const Params& params)
      : function_(function), params_(params) {}

  std::vector<const Input*> operator()(const Node& node) {
    std::vector<const Input*> first;
    for (ValueId id : node.inputs) {
      if (static_cast<std::size_t>(id) >= function_.inputs().size()) continue;
      const Input& input = function_.inputs()[static_cast<std::size_t>(id)];
      if (params_.find(input.name) && seen_.insert(id).second) first.push_back(&input);
    }
    return first;
  }

 private:
  const Function& function_;
  const Params& params_;
  std::set<ValueId> seen_;
};

std::int64_t elements_of(const std::vector<const Input*>& inputs) {
  std::int64_t total = 0;
  for (const Input* input : inputs) total = sum_or_most(total, input->type.shape.elements());
  return total;
}

std::int64_t bytes_of(const Type& type) { return static_cast<std::int64_t>(type.bytes()); }

Type batched(const Type& type, std::int64_t batch) {
  return {type.dtype, type.shape.insert(0, batch)};
}

// Non-trainable state: standardisation and batch norm's running statistics.
bool is_statistic(std::string_view parameter) {
  const std::string_view last = parameter.substr(parameter.rfind('.') + 1);
  return is_standardization(parameter) || last == "running_mean" || last == "running_var";
}

void count_parameters(Summary& summary, const Params& params) {
  for (const auto& [name, tensor] : params) {
    summary.parameters = sum_or_most(summary.parameters, tensor.elements());
    if (is_statistic(name))
      summary.statistics = sum_or_most(summary.statistics, tensor.elements());
    else if (is_floating(tensor.dtype()))
      summary.trainable = sum_or_most(summary.trainable, tensor.elements());
    const std::int64_t bytes = bytes_of(tensor.type());
    summary.parameter_bytes = sum_or_most(summary.parameter_bytes, bytes);
    auto& of = summary.bytes_by_dtype;
    auto same = std::find_if(of.begin(), of.end(), [dtype = tensor.dtype()](const auto& entry) {
      return entry.first == dtype;
    });
    if (same == of.end()) same = of.insert(of.end(), {tensor.dtype(), 0});
    same->second = sum_or_most(same->second, bytes);
  }
}

// "7.51 M" without a unit, "940.58 kB" of bytes; plain below a thousand.
std::string with_unit(std::int64_t count, std::string_view unit = "") {
  const auto n = static_cast<double>(count);
  if (count >= 1'000'000'000) return fmt::format("{:.2f} G{}", n / 1e9, unit);
  if (count >= 1'000'000) return fmt::format("{:.2f} M{}", n / 1e6, unit);
  if (count >= 1'000) return fmt::format("{:.2f} k{}", n / 1e3, unit);
  return fmt::format("{}{}{}", count, unit.empty() ? "" : " ", unit);
}

std::string count_or_nothing(std::int64_t count) { return count == 0 ? "" : grouped(count); }

std::vector<std::string> cells_of(std::string layer, const SummaryRow& row) {
  return {std::move(layer), row.op, tuple_text(row.output), count_or_nothing(row.parameters),
          count_or_nothing(row.multiply_adds)};
}

// Ops that only move elements.
bool moves_elements(const SummaryRow& row) {
  const Op* op = find_op(row.op);
  return op &&
         (op->role == Role::kRepeat || op->role == Role::kRearrange || op->role == Role::kMove);
}

// Draws a repeated block once: the stream down the left side, and the layers that add to it. Ops
// that only move elements are left out.
void add_block(const detail::RepeatedBlock& block, std::span<const SummaryRow> rows, Table& table) {
  const auto times = static_cast<std::int64_t>(block.times);
  std::int64_t parameters = 0, multiply_adds = 0;
  for (const SummaryRow& row : rows) {
    parameters = sum_or_most(parameters, row.parameters);
    multiply_adds = sum_or_most(multiply_adds, row.multiply_adds);
  }
  table.rows.push_back(
      {fmt::format("┌ {0}.{1} to {0}.{2}", block.stem, block.number, block.number + times - 1),
       fmt::format("{} times", times), "", count_or_nothing(product_or_most(times, parameters)),
       count_or_nothing(product_or_most(times, multiply_adds))});
  for (const SummaryRow& row : rows) {
    if (moves_elements(row)) continue;
    const std::string name = detail::name_in_block(row);
    const bool joins = name.empty() && row.op == "add";
    table.rows.push_back(cells_of(joins ? "├ +" : "│ " + name, row));
  }
  table.rows.push_back({"└"});
}

std::string note_of(const Node& node, const std::vector<const Input*>& parameters) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : node.attributes)
    parts.push_back(
        fmt::format("{} = {}", name, attribute_text(value, {.max_elements = 4, .bodies = false})));
  for (const Input* input : parameters)
    parts.push_back(fmt::format(
        "{} {}{}", input->name,
        input->type.dtype == Dtype::kF32 ? "" : fmt::format("{} ", name(input->type.dtype)),
        tuple_text(input->type.shape)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

Summary summarize(const Function& function, const Params& params, std::int64_t batch) {
  if (batch < 1)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("summary at a batch of {}", batch));
  Summary summary;
  summary.name = function.name();
  summary.batch = batch;
  count_parameters(summary, params);
  for (const Input& input : function.inputs()) {
    if (params.find(input.name)) continue;
    summary.inputs.push_back({input.name, batched(input.type, batch)});
    summary.input_bytes = sum_or_most(summary.input_bytes, bytes_of(summary.inputs.back().type));
  }
  FirstUses first_uses(function, params);
  for (const Node& node : function.nodes()) {
    const Function::CallTypes types = function.call_types(node);
    SummaryRow row;
    row.layer = node.scope;
    row.op = node.op->name;
    row.parameters = elements_of(first_uses(node));
    row.multiply_adds = product_or_most(
        batch, multiply_adds({*node.op, types.inputs, types.outputs, node.attributes, node.scope}));
    if (!types.outputs.empty()) row.output = batched(types.outputs.front(), batch).shape;
    for (const Type& type : types.outputs)
      summary.forward_bytes = sum_or_most(summary.forward_bytes, bytes_of(batched(type, batch)));
    summary.multiply_adds = sum_or_most(summary.multiply_adds, row.multiply_adds);
    summary.rows.push_back(std::move(row));
  }
  return summary;
}

std::string to_text(const Summary& summary) {
  Table table{{{"layer"},
               {"op"},
               {"output"},
               {"parameters", Align::kRight},
               {"multiply-adds", Align::kRight}},
              {}};
  for (const Input& input : summary.inputs)
    table.rows.push_back({input.name, "input", tuple_text(input.type.shape)});
  const std::vector<detail::RepeatedBlock> blocks = detail::repeated_blocks(summary.rows);
  auto block = blocks.begin();
  for (std::size_t i = 0; i < summary.rows.size();) {
    if (block == blocks.end() || i < block->first) {
      table.rows.push_back(cells_of(summary.rows[i].layer, summary.rows[i]));
      ++i;
      continue;
    }
    add_block(*block, std::span(summary.rows).subspan(block->first, block->size), table);
    i += block->size * block->times;
    ++block;
  }
  table.rows.push_back(
      {"total", "", "", grouped(summary.parameters), grouped(summary.multiply_adds)});

  Table totals{{{""}, {"", Align::kRight}},
               {{"parameters", grouped(summary.parameters)},
                {"trainable", grouped(summary.trainable)},
                {"multiply-adds", with_unit(summary.multiply_adds)},
                {"input size", with_unit(summary.input_bytes, "B")},
                {"forward size", with_unit(summary.forward_bytes, "B")},
                {"parameter size", with_unit(summary.parameter_bytes, "B")}}};
  if (summary.statistics > 0)
    totals.rows.insert(totals.rows.begin() + 2, {"statistics", grouped(summary.statistics)});
  if (summary.bytes_by_dtype.size() > 1)
    for (const auto& [dtype, bytes] : summary.bytes_by_dtype)
      totals.rows.push_back({fmt::format("  in {}", name(dtype)), with_unit(bytes, "B")});
  return fmt::format("{} at a batch of {}\n\n{}{}", printable(summary.name), summary.batch,
                     to_text(table), to_text(totals));
}

std::vector<ShapeRow> shape_trace(const Function& function, const Params& params) {
  std::vector<ShapeRow> rows;
  for (std::size_t i = 0; i < function.inputs().size(); ++i) {
    const Input& input = function.inputs()[i];
    if (params.find(input.name)) continue;
    rows.push_back(
        {value_name(function, static_cast<ValueId>(i)), "", "input", input.type, "", 0, 0});
  }
  FirstUses first_uses(function, params);
  for (const Node& node : function.nodes()) {
    const Function::CallTypes types = function.call_types(node);
    const std::vector<const Input*> parameters = first_uses(node);
    for (std::size_t r = 0; r < types.outputs.size(); ++r) {
      ShapeRow row{value_name(function, node.first_output + static_cast<ValueId>(r)),
                   node.scope,
                   std::string(node.op->name),
                   types.outputs[r],
                   "",
                   0,
                   0};
      if (r == 0) {
        row.note = note_of(node, parameters);
        row.parameters = elements_of(parameters);
        row.flops =
            node.op->flops({*node.op, types.inputs, types.outputs, node.attributes, node.scope});
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::string to_text(const std::vector<ShapeRow>& rows) {
  Table table{{{"value"},
               {"layer"},
               {"op"},
               {"output"},
               {"parameters", Align::kRight},
               {"FLOPs", Align::kRight},
               {"note"}},
              {}};
  std::int64_t parameters = 0;
  std::int64_t flops = 0;
  for (const ShapeRow& row : rows) {
    parameters = sum_or_most(parameters, row.parameters);
    flops = sum_or_most(flops, row.flops);
    table.rows.push_back({row.value, row.layer, row.op, tuple_text(row.output.shape),
                          count_or_nothing(row.parameters), count_or_nothing(row.flops), row.note});
  }
  table.rows.push_back({"total", "", "", "", grouped(parameters), grouped(flops)});
  return to_text(table);
}

}  // namespace limpid
