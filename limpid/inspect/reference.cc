#include "limpid/inspect/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "limpid/function/builder.h"
#include "limpid/function/text.h"
#include "limpid/inspect/op_example.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/rewrite.h"

namespace limpid {
namespace {

constexpr TextOptions kShort{.max_elements = 8};

bool is_differentiable(const Example& e) {
  return std::any_of(e.inputs.begin(), e.inputs.end(),
                     [](const Type& t) { return is_floating(t.dtype); });
}

// The f32 example with the most inputs, else the first example.
Example chosen_example(const Op& op) {
  const std::vector<Example> examples = op.examples();
  const Example* chosen = &examples.front();
  std::size_t most = 0;
  for (const Example& e : examples) {
    const bool in_f32 = std::any_of(e.inputs.begin(), e.inputs.end(), [](const Type& t) {
      return t.dtype == Dtype::kF32 && t.shape.rank() > 0;
    });
    if (!in_f32 || e.inputs.size() <= most) continue;
    chosen = &e;
    most = e.inputs.size();
  }
  return *chosen;
}

std::string code(const std::string& text) { return "```\n" + text + "```\n"; }

std::string kind_text(const Op& op) { return op.is_primitive() ? "primitive" : "composition"; }

std::string onnx_text(const Op& op) {
  return op.onnx.name.empty() ? "none" : fmt::format("{} (since {})", op.onnx.name, op.onnx.since);
}

std::string inputs_text(const Op& op) {
  return op.min_inputs == op.max_inputs ? fmt::format("{}", op.min_inputs)
                                        : fmt::format("{} to {}", op.min_inputs, op.max_inputs);
}

// The dtypes that the first floating or numeric input takes in the examples.
std::string dtypes_text(const Op& op) {
  std::vector<std::string_view> dtypes;
  for (const Example& e : op.examples())
    for (const Type& t : e.inputs)
      if (std::find(dtypes.begin(), dtypes.end(), name(t.dtype)) == dtypes.end())
        dtypes.push_back(name(t.dtype));
  return fmt::format("{}", fmt::join(dtypes, ", "));
}

std::string attributes_text(const Op& op) {
  std::vector<std::string> parts;
  for (const AttributeSpec& a : op.attributes)
    parts.push_back(fmt::format("`{}` ({})", a.name, name(a.kind)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// What the gradient transformation writes for the example.
std::string gradient_text(const Op& op, const Example& example) {
  const GradientRule& g = op.gradient;
  if (!g.none_because.empty()) return fmt::format("* gradient: none: {}\n", g.none_because);
  if (!g.by_rule()) return "* gradient: that of the body\n";
  if (!is_differentiable(example)) return "";
  const Function f = function_of(op, example);
  std::vector<std::size_t> wrt;
  for (std::size_t i = 0; i < example.inputs.size(); ++i)
    if (is_floating(example.inputs[i].dtype)) wrt.push_back(i);
  return "* gradient:\n\n" + code(to_text(in_order_of_graph(vjp(f, wrt)), kShort));
}

std::string body_text(const Op& op, const Example& example) {
  if (!op.body) return "";
  const Call call{op, example.inputs, {}, example.attributes, ""};
  return "* body:\n\n" + code(to_text(in_order_of_graph(body_of(call)), kShort)) + "\n";
}

}  // namespace

std::string op_reference(const Op& op) {
  const Example example = chosen_example(op);
  std::string text = fmt::format("## {}\n\n{}\n\n", op.name, op.formula);
  text += fmt::format("* shapes: {}\n", op.shapes);
  text += fmt::format("* {}, inputs: {}", kind_text(op), inputs_text(op));
  if (const std::string dtypes = dtypes_text(op); !dtypes.empty())
    text += fmt::format(", of {}", dtypes);
  text += "\n";
  if (!op.attributes.empty()) text += fmt::format("* attributes: {}\n", attributes_text(op));
  text += fmt::format("* accuracy: {}\n", op.is_primitive() ? op.accuracy : "its body's");
  text += fmt::format("* ONNX: {}\n", onnx_text(op));
  if (!op.source.empty()) text += fmt::format("* source: {}\n", op.source);
  text += body_text(op, example);
  return text + gradient_text(op, example);
}

std::string ops_reference() {
  std::string text =
      "# Operations\n\n"
      "`limpid ops --markdown` writes this page from the op table. Bodies and gradients are shown "
      "for example shapes; `%cotangent.0` is the cotangent of the result. docs/arithmetic.md "
      "defines every result to the bit.\n\n"
      "| op | formula | kind | ONNX |\n"
      "|---|---|---|---|\n";
  for (const Op* op : all_ops()) {
    std::string formula(op->formula);
    for (std::size_t at = 0; (at = formula.find('|', at)) != std::string::npos; at += 2)
      formula.insert(at, "\\");
    text += fmt::format("| [{0}](#{0}) | {1} | {2} | {3} |\n", op->name, formula, kind_text(*op),
                        op->onnx.name);
  }
  for (const Op* op : all_ops()) text += "\n" + op_reference(*op);
  return text;
}

}  // namespace limpid
