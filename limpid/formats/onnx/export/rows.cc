// Export of ops that read and write rows of tensors by index.
#include <algorithm>
#include <limits>

#include "limpid/core/half.h"
#include "limpid/formats/onnx/export/detail/export_op.h"
#include "limpid/ops/ops.h"

namespace limpid::onnx::detail {
namespace {

using List = std::vector<std::int64_t>;

// Whether each index is in [first, size), and the indices with `otherwise` in place of those that
// are not.
struct Checked {
  std::string inside;
  std::string numbers;
};
Checked check_numbers(OpCall& c, std::size_t input, Number first, Number size, Number otherwise) {
  GraphWriter& g = c.graph();
  const Dtype d = c.dtype(input);
  const std::string numbers = c.input(input);
  const std::string inside = g.node("And", {g.node("LessOrEqual", {g.integer(first, d), numbers}),
                                            g.node("Less", {numbers, g.integer(size, d)})});
  return {inside, g.node("Where", {inside, numbers, g.integer(otherwise, d)})};
}

// Whether all elements of a constant are in [first, size).
bool all_inside(const Tensor* numbers, Number first, Number size) {
  if (!numbers || size.factor != 0) return false;
  const auto inside = [&](auto all) {
    return std::all_of(all.begin(), all.end(),
                       [&](auto i) { return i >= first.constant && i < size.constant; });
  };
  return numbers->dtype() == Dtype::kI32 ? inside(numbers->values<std::int32_t>())
                                         : inside(numbers->values<std::int64_t>());
}

// Each number as a list of one, in i64.
std::string as_lists(OpCall& c, const std::string& numbers, std::size_t rank) {
  GraphWriter& g = c.graph();
  const std::string wide = g.node("Cast", {numbers}, {{"to", element_type(Dtype::kI64)}});
  return g.node("Unsqueeze", {wide, g.integers(List{static_cast<std::int64_t>(rank)})});
}

// Rows by index, `none` for one out of range, for which ONNX fails; its negative ones count from
// the end.
Names write_rows(OpCall& c, bool from_either_end, const Tensor& none) {
  GraphWriter& g = c.graph();
  const std::int64_t batch = c.fixed_integer("batch");
  const Numbers x = c.shape(0), indices = c.shape(1);
  const Number rows = x[static_cast<std::size_t>(batch)];
  if (rows.is(0)) {
    return {g.node("ConstantOfShape", {g.integers(c.output_shape())},
                   {{"value", none.reshape(Shape{1})}})};
  }
  const auto gather = [&](const std::string& numbers) {
    if (batch == 0) return g.node("Gather", {c.input(0), numbers});
    return g.node("GatherND", {c.input(0), as_lists(c, numbers, indices.size())},
                  {{"batch_dims", batch}});
  };
  const Number first = from_either_end ? rows * -1 : Number{};
  if (all_inside(c.constant(1), first, rows)) return {gather(c.input(1))};
  const Checked checked = check_numbers(c, 1, first, rows, {});
  const std::string found = gather(checked.numbers);
  std::string inside = checked.inside;
  List axes;
  for (std::size_t d = indices.size(); d < c.output_shape().size(); ++d)
    axes.push_back(static_cast<std::int64_t>(d));
  if (!axes.empty()) inside = g.node("Unsqueeze", {inside, g.integers(axes)});
  return {g.node("Where", {inside, found, g.constant(none)})};
}

Names write_gather(OpCall& c) { return write_rows(c, false, Tensor::zeros({c.dtype(0), Shape{}})); }

Names write_take(OpCall& c) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Dtype d = c.dtype(0);
  return write_rows(c, true,
                    d == Dtype::kF64    ? Tensor::scalar(static_cast<double>(kNan))
                    : d == Dtype::kF32  ? Tensor::scalar(kNan)
                    : d == Dtype::kBf16 ? Tensor::scalar(to_bf16(kNan))
                    : d == Dtype::kF16  ? Tensor::scalar(to_f16(kNan))
                                        : Tensor::zeros({d, Shape{}}));
}

// The operands of a scatter as matrices of rows: those of all batches one after another, with one
// row more in each for numbers that are none. `data` is (batches, size, row...), or "" for zeros.
std::string scatter(OpCall& c, const std::string& data, std::size_t indices_at, Number size,
                    const std::vector<Written>& attributes) {
  GraphWriter& g = c.graph();
  const auto batch = static_cast<std::ptrdiff_t>(c.fixed_integer("batch"));
  const Numbers indices = c.shape(indices_at), updates = c.shape(indices_at + 1);
  const Number batches = product({indices.begin(), indices.begin() + batch});
  const Number each = product({indices.begin() + batch, indices.end()});
  const Number more = size + Number{1, 0};
  const Number all_rows = product({batches, more});
  const Numbers row(updates.begin() + static_cast<std::ptrdiff_t>(indices.size()), updates.end());
  const auto with_row = [&](Numbers dims) {
    dims.insert(dims.end(), row.begin(), row.end());
    return g.integers(dims);
  };
  const auto zeros = [&](const Numbers& dims) {
    return g.node("ConstantOfShape", {with_row(dims)},
                  {{"value", Tensor::zeros({c.output_dtype(), Shape{1}})}});
  };

  const Checked checked = check_numbers(c, indices_at, {}, size, size);
  std::string numbers = g.node("Cast", {checked.numbers}, {{"to", element_type(Dtype::kI64)}});
  numbers = g.node("Reshape", {numbers, g.integers(Numbers{batches, each})});
  const std::string firsts = g.node(
      "Range",
      {g.constant(0, Dtype::kI64), g.integer(all_rows, Dtype::kI64), g.integer(more, Dtype::kI64)});
  numbers = g.node("Add", {numbers, g.node("Unsqueeze", {firsts, g.integers(List{1})})});
  numbers = g.node("Reshape", {numbers, g.integers(Numbers{product({batches, each}), {1, 0}})});
  std::string into = data.empty() ? zeros({all_rows}) : "";
  if (!data.empty()) {
    const std::string apart = g.node("Reshape", {data, with_row({batches, size})});
    const std::string longer =
        g.node("Concat", {apart, zeros({batches, {1, 0}})}, {{"axis", std::int64_t{1}}});
    into = g.node("Reshape", {longer, with_row({all_rows})});
  }
  const std::string flat =
      g.node("Reshape", {c.input(indices_at + 1), with_row({product({batches, each})})});
  const std::string all = g.node("ScatterND", {into, numbers, flat}, attributes);
  const std::string apart = g.node("Reshape", {all, with_row({batches, more})});
  const std::string kept =
      g.node("Slice", {apart, g.integers(List{0}), g.integers(Numbers{size}), g.integers(List{1})});
  return g.node("Reshape", {kept, g.integers(c.output_shape())});
}

Names write_scatter_add(OpCall& c) {
  return {scatter(c, "", 0, c.integer("size"), {{"reduction", std::string("add")}})};
}

Number rows_of_data(const OpCall& c) {
  return c.shape(0)[static_cast<std::size_t>(c.fixed_integer("batch"))];
}
Names write_scatter(OpCall& c) { return {scatter(c, c.input(0), 1, rows_of_data(c), {})}; }
Names write_scatter_multiply(OpCall& c) {
  return {scatter(c, c.input(0), 1, rows_of_data(c), {{"reduction", std::string("mul")}})};
}

constexpr ExportOp kRowExports[] = {
    {&op::gather, write_gather},
    {&op::take, write_take},
    {&op::scatter_add, write_scatter_add},
    {&op::scatter, write_scatter},
    {&op::scatter_multiply, write_scatter_multiply},
};

}  // namespace

std::span<const ExportOp> row_export_ops() { return kRowExports; }

}  // namespace limpid::onnx::detail
