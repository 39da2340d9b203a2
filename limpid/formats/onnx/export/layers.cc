// Export of products, norms and the softmax family.
#include <algorithm>

#include "limpid/formats/onnx/export/detail/export_op.h"
#include "limpid/ops/ops.h"

namespace limpid::onnx::detail {
namespace {

using List = std::vector<std::int64_t>;

std::string transposed(GraphWriter& g, const std::string& x, std::size_t rank) {
  List order(rank);
  for (std::size_t d = 0; d < rank; ++d) order[d] = static_cast<std::int64_t>(d);
  std::swap(order[rank - 2], order[rank - 1]);
  return g.node("Transpose", {x}, {{"perm", order}});
}

// An operand in the dtype of the result: bf16 weights are widened here.
std::string widened(OpCall& c, std::size_t input) {
  if (c.dtype(input) != Dtype::kBf16) return c.input(input);
  return c.graph().node("Cast", {c.input(input)}, {{"to", element_type(c.output_dtype())}});
}

// Products of i8 have i32 sums.
Names write_matmul(OpCall& c) {
  GraphWriter& g = c.graph();
  const auto operand = [&](std::size_t i, std::string_view flag) {
    const std::string x = widened(c, i);
    return c.flag(flag) ? transposed(g, x, c.shape(i).size()) : x;
  };
  const std::string a = operand(0, "transpose_a"), b = operand(1, "transpose_b");
  return {g.node(c.dtype(0) == Dtype::kI8 ? "MatMulInteger" : "MatMul", {a, b})};
}

// Gemm takes only matrices.
Names write_linear(OpCall& c) {
  GraphWriter& g = c.graph();
  const std::string weight = widened(c, 1);
  if (c.shape(0).size() == 2) {
    Names in{c.input(0), weight};
    if (c.inputs() == 3) in.push_back(c.input(2));
    return {g.node("Gemm", in, {{"transB", std::int64_t{1}}})};
  }
  const std::string product = g.node("MatMul", {c.input(0), transposed(g, weight, 2)});
  if (c.inputs() == 2) return {product};
  return {g.node("Add", {product, c.input(2)})};
}

// As the body, but with one scale after the other: if they are multiplied first, ONNX Runtime 1.30
// treats them as scales of whole matrices and loses all but the first row's.
Names write_quantized_linear(OpCall& c) {
  GraphWriter& g = c.graph();
  const auto number = [&](double value) { return g.constant(value, Dtype::kF32); };
  const std::string x = c.input(0);
  const std::string largest = g.node("ReduceMax", {g.node("Abs", {x})},
                                     {{"axes", List{-1}}, {"keepdims", std::int64_t{1}}});
  const std::string whole =
      g.node("Round", {g.node("Mul", {x, g.node("Div", {number(127), largest})})});
  const std::string codes = g.node("Cast", {g.node("Clip", {whole, number(-127), number(127)})},
                                   {{"to", element_type(Dtype::kI8)}});
  const std::string sums = g.node("MatMulInteger", {codes, transposed(g, c.input(1), 2)});
  const std::string wide = g.node("Cast", {sums}, {{"to", element_type(Dtype::kF32)}});
  const std::string scaled = g.node("Mul", {wide, g.node("Div", {largest, number(127)})});
  const std::string y = g.node("Mul", {scaled, c.input(2)});
  if (c.inputs() == 3) return {y};
  return {g.node("Add", {y, c.input(3)})};
}

// ---- convolutions

// ONNX has no negative padding: of conv, the input is cropped before; of conv_transpose, zeros are
// added after, and then the bias.
Names write_conv(OpCall& c) {
  GraphWriter& g = c.graph();
  const bool transposed = &c.op() == &op::conv_transpose;
  List low = c.fixed_integers("low"), high = c.fixed_integers("high");
  List outside(2 * (low.size() + 2));  // of Pad, in all dimensions
  bool is_cropped = false;
  for (std::size_t d = 0; d < low.size(); ++d)
    for (const auto& [padding, at] :
         {std::pair{&low[d], d + 2}, std::pair{&high[d], low.size() + d + 4}}) {
      outside[at] = std::min<std::int64_t>(*padding, 0);
      is_cropped = is_cropped || *padding < 0;
      *padding = std::max<std::int64_t>(*padding, 0);
    }
  const auto padded = [&](const std::string& x) {
    const std::vector<std::int64_t>& pads = outside;
    return g.node("Pad", {x, g.constant(Tensor::from<std::int64_t>(
                                 Shape{static_cast<std::int64_t>(pads.size())}, pads))});
  };
  List pads = low;
  pads.insert(pads.end(), high.begin(), high.end());
  Names in = c.all_inputs();
  if (is_cropped && !transposed) in[0] = padded(in[0]);
  const bool bias_after = is_cropped && transposed && in.size() == 3;
  if (bias_after) in.pop_back();
  std::string y = g.node(c.op().onnx.name, in,
                         {{"dilations", c.fixed_integers("dilation")},
                          {"group", c.fixed_integer("groups")},
                          {"pads", pads},
                          {"strides", c.fixed_integers("stride")}});
  if (is_cropped && transposed) {
    for (std::int64_t& n : outside) n = -n;
    y = padded(y);
  }
  if (!bias_after) return {y};
  List shape(low.size() + 1, 1);
  shape[0] = -1;
  const std::string bias =
      g.node("Reshape", {c.input(2), g.constant(Tensor::from<std::int64_t>(
                                         Shape{static_cast<std::int64_t>(shape.size())}, shape))});
  return {g.node("Add", {y, bias})};
}

// ---- norms

// ONNX has eps and intermediate sums in f32.
bool has_gamma_in_f32(const Call& call) {
  return call.inputs.size() > 1 && call.inputs[0].dtype == Dtype::kF32;
}

Names write_layer_norm(OpCall& c) {
  return {c.graph().node(
      "LayerNormalization", c.all_inputs(),
      {{"axis", -c.fixed_integer("dims")}, {"epsilon", static_cast<float>(c.real("eps"))}})};
}

Names write_batch_norm_inference(OpCall& c) {
  return {c.graph().node("BatchNormalization", c.all_inputs(),
                         {{"epsilon", static_cast<float>(c.real("eps"))}})};
}

// ---- softmax

Names write_softmax(OpCall& c) {
  return {c.graph().node(c.op().onnx.name, {c.input(0)}, {{"axis", c.fixed_integer("axis")}})};
}

Names write_log_sum_exp(OpCall& c) {
  return {c.graph().node("ReduceLogSumExp", {c.input(0)},
                         {{"axes", List{c.fixed_integer("axis")}}, {"keepdims", std::int64_t{0}}})};
}

constexpr ExportOp kLayerExports[] = {
    {&op::matmul, write_matmul},
    {&op::linear, write_linear},
    {&op::quantized_linear, write_quantized_linear},
    {&op::conv, write_conv},
    {&op::conv_transpose, write_conv},
    {&op::layer_norm, write_layer_norm, has_gamma_in_f32},
    {&op::batch_norm_inference, write_batch_norm_inference, is_f32},
    {&op::softmax, write_softmax},
    {&op::log_softmax, write_softmax},
    {&op::log_sum_exp, write_log_sum_exp},
};

}  // namespace

std::span<const ExportOp> layer_export_ops() { return kLayerExports; }

}  // namespace limpid::onnx::detail
