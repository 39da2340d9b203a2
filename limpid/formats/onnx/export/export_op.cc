// A call as its op's export function sees it, and the table of these functions.
#include "limpid/formats/onnx/export/detail/export_op.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/formats/onnx/export.h"
#include "limpid/formats/onnx/export/detail/calls.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

// Dimension d of a shape of this rank, counted from the right; 1 before its first.
Number from_right(const Numbers& shape, std::size_t d) {
  return d < shape.size() ? shape[shape.size() - 1 - d] : Number{1, 0};
}

// Whether values of these shapes broadcast to exactly `whole`.
bool make(const std::vector<Numbers>& shapes, const Numbers& whole) {
  for (std::size_t d = 0; d < whole.size(); ++d) {
    const Number wanted = from_right(whole, d);
    const auto has_it = [&](const Numbers& s) {
      return d < s.size() && from_right(s, d) == wanted;
    };
    if (std::none_of(shapes.begin(), shapes.end(), has_it)) return false;
  }
  return true;
}

}  // namespace

Dtype OpCall::dtype(std::size_t input) const {
  return function_.function().type(here().inputs[input]).dtype;
}
Numbers OpCall::shape(std::size_t input) const { return function_.shape(here().inputs[input]); }
std::string OpCall::input(std::size_t i) { return calls_.name(here().inputs[i]); }
std::string OpCall::narrow_input(std::size_t i) { return calls_.narrow(here().inputs[i]).name; }

Names OpCall::all_inputs() {
  Names names;
  for (std::size_t i = 0; i < inputs(); ++i) names.push_back(input(i));
  return names;
}

Names OpCall::stretching_inputs() {
  std::vector<Numbers> shapes;
  Names names;
  for (std::size_t i = 0; i < inputs(); ++i) {
    const Calls::Narrow narrow = calls_.narrow(here().inputs[i]);
    shapes.push_back(narrow.shape);
    names.push_back(narrow.name);
  }
  if (!make(shapes, shape(inputs() - 1))) names.back() = input(inputs() - 1);
  return names;
}

const Tensor* OpCall::constant(std::size_t input) const {
  ValueId id = here().inputs[input];
  for (;;) {
    const Node* maker = calls_.maker(id);
    if (!maker) return nullptr;
    if (maker->op == &op::constant) return &maker->attributes.get<Tensor>("value");
    if (maker->op != &op::broadcast) return nullptr;
    id = maker->inputs[0];
  }
}

std::int64_t OpCall::fixed_integer(std::string_view name) const {
  const Number number = integer(name);
  if (number.factor != 0)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("onnx: {} of {} depends on the batch size", name, op().name));
  return number.constant;
}

std::vector<std::int64_t> OpCall::fixed_integers(std::string_view name) const {
  std::vector<std::int64_t> list;
  for (const Number& n : integers(name)) {
    if (n.factor != 0)
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("onnx: {} of {} depend on the batch size", name, op().name));
    list.push_back(n.constant);
  }
  return list;
}

Dtype OpCall::output_dtype() const { return function_.function().type(here().first_output).dtype; }
Numbers OpCall::output_shape() const { return function_.shape(here().first_output); }

void OpCall::repeat(std::size_t input) { calls_.repeat(here().first_output, here().inputs[input]); }

std::optional<ExportOp> find_export_op(const Op& op) {
  for (const auto& table : {elementwise_export_ops(), shape_export_ops(), row_export_ops(),
                            layer_export_ops(), pooling_export_ops(), recurrent_export_ops()}) {
    const auto row =
        std::find_if(table.begin(), table.end(), [&](const ExportOp& r) { return r.op == &op; });
    if (row != table.end()) return *row;
  }
  if (op.onnx.is_node && op.onnx.first <= kExportOpset) return ExportOp{&op, write_elementwise};
  return {};
}

Names write_elementwise(OpCall& call) {
  return {call.graph().node(call.op().onnx.name, call.stretching_inputs())};
}

}  // namespace limpid::onnx::detail
