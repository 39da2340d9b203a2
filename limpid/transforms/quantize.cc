#include "limpid/transforms/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/rewrite.h"

namespace limpid {
namespace {

// The layout in which a parameter is multiplied: (out, in), as the weight of a linear, or (in,
// out).
enum class Layout : std::uint8_t { kOutIn, kInOut };

std::optional<Layout> layout_of_use(const Function& f, const Node& node, std::size_t operand) {
  if (operand != 1) return std::nullopt;
  if (node.op == &op::linear) return Layout::kOutIn;
  if (node.op != &op::matmul || node.attributes.get<bool>("transpose_a") ||
      f.type(node.inputs[0]).shape.rank() != 2)
    return std::nullopt;
  return node.attributes.get<bool>("transpose_b") ? Layout::kOutIn : Layout::kInOut;
}

// Whether the op gathers rows of an operand.
bool is_table(const Node& node, std::size_t operand) {
  return operand == 0 && (node.op == &op::gather || node.op == &op::take) &&
         node.attributes.integer("batch") == 0;
}

// The layout that all products of an input agree on; nothing if any other op reads the input.
std::optional<Layout> layout_of(const Function& f, ValueId input) {
  std::optional<Layout> layout;
  bool table = false;
  for (const Output& o : f.outputs())
    if (o.value == input) return std::nullopt;
  for (const Node& node : f.nodes())
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != input) continue;
      if (is_table(node, i)) {
        table = true;
        continue;
      }
      const std::optional<Layout> use = layout_of_use(f, node, i);
      if (!use || (layout && *layout != *use)) return std::nullopt;
      layout = use;
    }
  if (table && layout == Layout::kInOut) return std::nullopt;
  return layout;
}

std::vector<Tensor> evaluate(const Tensor& in,
                             const std::function<std::vector<Value>(const Value&)>& code) {
  const Function f = trace("quantize", {{"weight", in.type()}},
                           [&](std::span<const Value> x) { return code(x[0]); });
  return interpret(f, {&in, 1});
}

// What a parameter becomes.
struct Weight {
  Tensor values;
  std::optional<Tensor> scale;  // of i8
};

Weight narrowed(const Tensor& weight, Layout layout, Dtype to) {
  const std::vector<Tensor> result = evaluate(weight, [&](const Value& w) {
    if (to == Dtype::kBf16) return std::vector<Value>{cast(w, to)};
    const QuantizedRows rows = quantize_rows(layout == Layout::kInOut ? transpose(w, {1, 0}) : w);
    return std::vector<Value>{rows.codes, reshape(rows.scale, {rows.scale.shape()[0]})};
  });
  if (to == Dtype::kBf16) return {result[0], std::nullopt};
  return {result[0], result[1]};
}

class Quantize {
 public:
  Quantize(const Function& f, const Params& params, const QuantizeOptions& options)
      : f_(f), params_(params), options_(options) {}

  Quantized run() {
    check();
    for (std::size_t i = 0; i < f_.inputs().size(); ++i) narrow(static_cast<ValueId>(i));
    write();
    return std::move(result_);
  }

  // With the quantised parameters so far.
  Function run_given() {
    for (std::size_t i = 0; i < f_.inputs().size(); ++i) take(static_cast<ValueId>(i));
    write();
    return std::move(result_.function);
  }

 private:
  void check() const {
    if (options_.to != Dtype::kBf16 && options_.to != Dtype::kI8)
      fail(fmt::format("to {}: expected bf16 or i8", name(options_.to)));
    for (const std::string& name : options_.exclude) (void)params_.at(name);
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("quantize of '{}': {}", f_.name(), what));
  }

  void narrow(ValueId id) {
    const Input& input = f_.inputs()[static_cast<std::size_t>(id)];
    const Tensor* value = params_.find(input.name);
    const std::optional<Layout> layout = layout_of(f_, id);
    if (!value || !layout || !can_be_narrow(input, *layout)) return;
    if (!(value->type() == input.type))
      throw Error(value->dtype() == input.type.dtype ? ErrorCode::kShape : ErrorCode::kDtype,
                  fmt::format("quantize of '{}': input '{}': expected {}, got {}", f_.name(),
                              input.name, to_string(input.type), to_string(value->type())));
    Weight weight = narrowed(*value, *layout, options_.to);
    if (weight.scale) check_scales(input.name, *weight.scale);
    result_.done.push_back(fmt::format("{}: {} became {}{}", input.name, to_string(input.type),
                                       to_string(weight.values.type()),
                                       weight.scale ? " and a scale for each output" : ""));
    weights_.emplace(id, std::move(weight));
  }

  void take(ValueId id) {
    const Input& input = f_.inputs()[static_cast<std::size_t>(id)];
    const Tensor* value = params_.find(input.name);
    if (!value || input.type.dtype != Dtype::kF32 ||
        (value->dtype() != Dtype::kBf16 && value->dtype() != Dtype::kI8))
      return;
    const std::optional<Layout> layout = layout_of(f_, id);
    if (!layout)
      fail(fmt::format("'{}' is {}, and ops other than matrix products read it", input.name,
                       to_string(value->type())));
    Weight weight{*value, std::nullopt};
    Shape expected = input.type.shape;
    if (value->dtype() == Dtype::kI8) {
      if (layout == Layout::kInOut) expected = {expected[1], expected[0]};
      weight.scale = params_.at(name_of_scale(input.name));
    }
    if (!(value->shape() == expected))
      throw Error(ErrorCode::kShape,
                  fmt::format("quantize of '{}': '{}' is {}, expected the shape {}", f_.name(),
                              input.name, to_string(value->type()), to_string(expected)));
    weights_.emplace(id, std::move(weight));
  }

  bool can_be_narrow(const Input& input, Layout layout) const {
    const auto& exclude = options_.exclude;
    const Shape& shape = input.type.shape;
    if (input.type.dtype != Dtype::kF32 || shape.rank() != 2 || shape.elements() == 0 ||
        std::find(exclude.begin(), exclude.end(), input.name) != exclude.end())
      return false;
    const std::int64_t terms = shape[layout == Layout::kOutIn ? 1 : 0];
    return options_.to == Dtype::kBf16 ||
           terms <= static_cast<std::int64_t>(arithmetic::kMostI8Terms);
  }

  void check_scales(const std::string& name, const Tensor& scale) const {
    const std::string scale_name = name_of_scale(name);
    for (const Input& input : f_.inputs())
      if (input.name == scale_name) fail(fmt::format("there already is an input '{}'", scale_name));
    const auto values = scale.values<float>();
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]))
        fail(fmt::format("'{}' has a NaN or an infinity at output {}", name, i));
  }

  static std::string name_of_scale(const std::string& weight) { return weight + "_scale"; }

  // The Function with quantised inputs, and the parameters in its order.
  void write() {
    Builder builder(f_.name());
    std::vector<Value> values;
    for (std::size_t i = 0; i < f_.inputs().size(); ++i) {
      const Input& input = f_.inputs()[i];
      const auto found = weights_.find(static_cast<ValueId>(i));
      if (found == weights_.end()) {
        values.push_back(builder.input(input.name, input.type));
        if (const Tensor* value = params_.find(input.name)) result_.params.set(input.name, *value);
        continue;
      }
      const Weight& weight = found->second;
      values.push_back(builder.input(input.name, weight.values.type()));
      result_.params.set(input.name, weight.values);
      narrow_.insert(values.back().id());
      if (!weight.scale) continue;
      const std::string scale = name_of_scale(input.name);
      scales_[values.back().id()] = builder.input(scale, weight.scale->type());
      result_.params.set(scale, *weight.scale);
    }
    rewrite_nodes(builder, f_, values,
                  [&](Builder& b, const Node& node, std::span<const Value> in) {
                    return write_node(b, node, in);
                  });
    for (const auto& [name, value] : params_)
      if (!result_.params.find(name)) result_.params.set(name, value);
    result_.function = builder.finish(outputs_of(f_, values), output_names(f_));
  }

  std::vector<Value> write_node(Builder& builder, const Node& node,
                                std::span<const Value> in) const {
    if (!in.empty() && is_table(node, 0) && narrow_.count(in[0].id()) > 0)
      return {rows_of_table(builder, node, in)};
    const auto scale = in.size() < 2 ? scales_.end() : scales_.find(in[1].id());
    if (scale == scales_.end()) return builder.call(*node.op, in, node.attributes);
    return {quantized_linear(in[0], in[1], scale->second, in.size() == 3 ? in[2] : Value())};
  }

  Value rows_of_table(Builder& builder, const Node& node, std::span<const Value> in) const {
    const auto rows_of = [&](const Value& table) {
      return builder.call(*node.op, {{table, in[1]}}, node.attributes)[0];
    };
    const Value rows = cast(rows_of(in[0]), Dtype::kF32);
    const auto scale = scales_.find(in[0].id());
    if (scale == scales_.end()) return rows;
    return rows * expand_axis(rows_of(scale->second), rows.shape(), -1);
  }

  const Function& f_;
  const Params& params_;
  const QuantizeOptions& options_;
  std::map<ValueId, Weight> weights_;  // by inputs of f
  std::set<ValueId> narrow_;           // inputs of the new Function
  std::map<ValueId, Value> scales_;    // by inputs of the new Function
  Quantized result_;
};

}  // namespace

Quantized quantize(const Function& f, const Params& params, const QuantizeOptions& options) {
  return Quantize(f, params, options).run();
}

Function with_narrow_params(const Function& f, const Params& params) {
  const QuantizeOptions unused;
  return Quantize(f, params, unused).run_given();
}

}  // namespace limpid
