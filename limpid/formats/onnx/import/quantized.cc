// Recognises the operators that quantized_linear is exported as.
#include "limpid/formats/onnx/import/detail/quantized.h"

#include <optional>
#include <utility>

#include "limpid/core/arithmetic.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/rewrite.h"
#include "limpid/transforms/simplify.h"

namespace limpid::onnx::detail {
namespace {

// A product as the exporter writes it (see write_quantized_linear), by values of the function.
struct Product {
  ValueId x, weight, scale, bias = -1;
};

// Matches the calls that made a value.
class Match {
 public:
  explicit Match(const Function& f) : f_(f), makers_(f.types().size(), nullptr) {
    for (const limpid::Node& node : f.nodes())
      for (std::size_t i = 0; i < f.output_count(node); ++i)
        makers_[static_cast<std::size_t>(node.first_output) + i] = &node;
  }

  // ((codes weight^T) row_scale) scale + bias, in which codes and row_scale are of x.
  std::optional<Product> product(ValueId y) const {
    if (const limpid::Node* sum = made_by(y, op::add))
      for (const int i : {0, 1})
        if (auto p = scaled_product(sum->inputs[1 - i]))
          if (const auto bias = column(sum->inputs[i], f_.type(p->scale))) {
            p->bias = *bias;
            return p;
          }
    return scaled_product(y);
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

  const limpid::Node* made_by(ValueId id, const Op& op) const {
    const limpid::Node* maker = makers_[index(id)];
    return maker && maker->op == &op ? maker : nullptr;
  }

  // The operands of a call of two, in both orders.
  template <class F>
  auto in_both_orders(const limpid::Node& node, const F& f) const {
    auto result = f(node.inputs[0], node.inputs[1]);
    return result ? result : f(node.inputs[1], node.inputs[0]);
  }

  // The value under reshapes: the same elements in the same order.
  ValueId flat(ValueId id) const {
    while (const limpid::Node* maker = made_by(id, op::reshape)) id = maker->inputs[0];
    return id;
  }
  // As above, if each reshape keeps the last dimension, and so the rows.
  ValueId same_rows(ValueId id) const {
    if (f_.type(id).shape.rank() == 0) return id;
    const std::int64_t last = f_.type(id).shape.back();
    const limpid::Node* maker = made_by(id, op::reshape);
    for (; maker; maker = made_by(id, op::reshape)) {
      const Shape& from = f_.type(maker->inputs[0]).shape;
      if (from.rank() == 0 || from.back() != last) break;
      id = maker->inputs[0];
    }
    return id;
  }

  // One number for each row of a value: the operand of a broadcast along the last dimension only.
  std::optional<ValueId> by_row(ValueId id) const {
    const limpid::Node* stretch = made_by(same_rows(id), op::broadcast);
    if (!stretch) return {};
    const Shape& to = f_.type(stretch->first_output).shape;
    const Shape& from = f_.type(stretch->inputs[0]).shape;
    if (to.rank() == 0 || !(from == to.replace(to.rank() - 1, 1))) return {};
    return flat(stretch->inputs[0]);
  }

  // A vector broadcast to all rows, [out] or [1, ..., out], as type [out].
  std::optional<ValueId> column(ValueId id, const Type& type) const {
    id = same_rows(id);
    if (const limpid::Node* stretch = made_by(id, op::broadcast)) id = stretch->inputs[0];
    const Shape& shape = f_.type(id).shape;
    if (shape.rank() == 0 || shape.elements() != shape.back()) return {};
    id = flat(id);
    return f_.type(id) == type ? std::optional(id) : std::nullopt;
  }

  bool is_all(ValueId id, float number) const {
    for (const limpid::Node* maker = makers_[index(id)]; maker; maker = makers_[index(id)]) {
      if (maker->op == &op::constant) {
        const Tensor& tensor = maker->attributes.get<Tensor>("value");
        if (tensor.dtype() != Dtype::kF32) return false;
        for (const float v : tensor.values<float>())
          if (v != number) return false;
        return true;
      }
      if (maker->op != &op::broadcast && maker->op != &op::reshape) return false;
      id = maker->inputs[0];
    }
    return false;
  }

  // The largest magnitude of each row, as it is made of x by rows.
  bool is_largest(ValueId id, ValueId x) const {
    const limpid::Node* max = made_by(flat(id), op::max);
    if (!max) return false;
    const Shape& of = f_.type(max->inputs[0]).shape;
    const limpid::Node* magnitude = made_by(same_rows(max->inputs[0]), op::abs);
    return magnitude &&
           max->attributes.integer("axis") + 1 == static_cast<std::int64_t>(of.rank()) &&
           same_rows(magnitude->inputs[0]) == same_rows(x);
  }

  // largest / 127 by row.
  bool is_row_scale(ValueId id, ValueId x) const {
    const auto scale = by_row(id);
    const limpid::Node* quotient = scale ? made_by(*scale, op::divide) : nullptr;
    return quotient && is_all(quotient->inputs[1], 127) && is_largest(quotient->inputs[0], x);
  }

  // min(max(round(x (127 / largest)), -127), 127) in i8: x.
  std::optional<ValueId> coded(ValueId id) const {
    const limpid::Node* codes = made_by(same_rows(id), op::cast);
    const auto below = codes ? bounded(codes->inputs[0], op::minimum, 127) : std::nullopt;
    const auto both = below ? bounded(*below, op::maximum, -127) : std::nullopt;
    const limpid::Node* whole = both ? made_by(same_rows(*both), op::round) : nullptr;
    const limpid::Node* steps =
        whole ? made_by(same_rows(whole->inputs[0]), op::multiply) : nullptr;
    if (!steps) return {};
    return in_both_orders(*steps, [&](ValueId x, ValueId factor) -> std::optional<ValueId> {
      const auto by = by_row(factor);
      const limpid::Node* quotient = by ? made_by(*by, op::divide) : nullptr;
      const bool fits = quotient && is_all(quotient->inputs[0], 127) &&
                        f_.type(x).dtype == Dtype::kF32 && is_largest(quotient->inputs[1], x);
      return fits ? std::optional(x) : std::nullopt;
    });
  }

  std::optional<ValueId> bounded(ValueId id, const Op& op, float bound) const {
    const limpid::Node* call = made_by(same_rows(id), op);
    if (!call) return {};
    return in_both_orders(*call, [&](ValueId x, ValueId limit) {
      return is_all(limit, bound) ? std::optional(x) : std::nullopt;
    });
  }

  // The weight (out, in) of a product with its transpose.
  std::optional<ValueId> weight_of(const limpid::Node& matmul) const {
    const ValueId b = matmul.inputs[1];
    if (matmul.attributes.get<bool>("transpose_a") || f_.type(b).shape.rank() != 2) return {};
    if (matmul.attributes.get<bool>("transpose_b")) return b;
    const limpid::Node* turned = made_by(b, op::transpose);
    if (!turned) return {};
    return turned->inputs[0];
  }

  std::optional<Product> scaled_product(ValueId y) const {
    const limpid::Node* scaled = made_by(same_rows(y), op::multiply);
    if (!scaled) return {};
    return in_both_orders(*scaled, [&](ValueId rows, ValueId scale) -> std::optional<Product> {
      const limpid::Node* by_rows = made_by(same_rows(rows), op::multiply);
      if (!by_rows) return {};
      return in_both_orders(*by_rows, [&](ValueId wide, ValueId row_scale) {
        return product_of(wide, row_scale, scale);
      });
    });
  }

  std::optional<Product> product_of(ValueId wide, ValueId row_scale, ValueId scale) const {
    const limpid::Node* sums = made_by(same_rows(wide), op::cast);
    const limpid::Node* matmul = sums ? made_by(same_rows(sums->inputs[0]), op::matmul) : nullptr;
    if (!matmul || f_.type(matmul->inputs[0]).dtype != Dtype::kI8) return {};
    const auto weight = weight_of(*matmul);
    const auto x = coded(matmul->inputs[0]);
    if (!weight || !x || !is_row_scale(row_scale, *x)) return {};
    constexpr auto kMostTerms = static_cast<std::int64_t>(arithmetic::kMostI8Terms);
    if (f_.type(*weight).shape[1] < 1 || f_.type(*weight).shape[1] > kMostTerms) return {};
    const auto of_column = column(scale, {Dtype::kF32, {f_.type(*weight).shape[0]}});
    if (!of_column) return {};
    return Product{*x, *weight, *of_column};
  }

  const Function& f_;
  std::vector<const limpid::Node*> makers_;
};

}  // namespace

Function with_quantized_linear(const Function& function) {
  const Match match(function);
  Builder builder(function.name());
  std::vector<Value> values;
  for (const Input& i : function.inputs()) values.push_back(builder.input(i.name, i.type));
  const auto at = [&](ValueId id) { return values[static_cast<std::size_t>(id)]; };
  bool found = false;
  rewrite_nodes(builder, function, values, [&](Builder&, const limpid::Node& node, auto inputs) {
    const auto p = match.product(node.first_output);
    if (!p) return builder.call(*node.op, inputs, node.attributes);
    found = true;
    const Value y = quantized_linear(at(p->x), at(p->weight), at(p->scale),
                                     p->bias < 0 ? Value() : at(p->bias));
    return Values{reshape(y, function.type(node.first_output).shape)};
  });
  if (!found) return function;
  return simplify(builder.finish(outputs_of(function, values), output_names(function)));
}

}  // namespace limpid::onnx::detail
