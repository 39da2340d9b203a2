#include "limpid/transforms/jacobian.h"

#include <fmt/format.h>

#include <numeric>
#include <optional>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/ops/rearrange.h"
#include "limpid/ops/shape.h"
#include "limpid/transforms/detail/bodies.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/jvp.h"
#include "limpid/transforms/vmap.h"

namespace limpid {
namespace {

bool is_real(const Type& type) { return type.dtype == Dtype::kF32 || type.dtype == Dtype::kF64; }

Shape shape_of_both(const Shape& first, const Shape& second) {
  Shape both = first;
  for (const std::int64_t d : second) both = both.insert(both.rank(), d);
  return both;
}

// Row i is 1 at element i of the type, and 0 elsewhere.
Value unit_rows(Builder& builder, const Type& type) {
  const std::int64_t n = type.shape.elements();
  return reshape(eye(builder, n, n, 0, type.dtype), type.shape.insert(0, n));
}

// The results of a Function for a batch of one of its inputs, `batched`.
std::vector<Value> for_each_row(Builder& builder, const Function& f, std::vector<Value> inputs,
                                std::size_t batched, const Type& type) {
  std::vector<std::optional<std::int64_t>> axes(inputs.size());
  axes[batched] = 0;
  inputs[batched] = unit_rows(builder, type);
  return builder.inline_function(vmap(f, axes, type.shape.elements()), inputs);
}

std::vector<Value> reverse_jacobian(Builder& builder, const Function& f, const Wrt& wrt,
                                    std::span<const Value> in) {
  const Function back = vjp(f, wrt);
  const std::size_t outputs = f.outputs().size(), by = wrt.positions_in(f).size();
  std::vector<Value> inputs(in.begin(), in.end()), results;
  for (const Output& o : f.outputs()) inputs.push_back(detail::zeros_of(builder, f.type(o.value)));
  for (std::size_t o = 0; o < outputs; ++o) {
    const Type type = f.type(f.outputs()[o].value);
    if (!is_real(type)) continue;
    const std::vector<Value> rows = for_each_row(builder, back, inputs, in.size() + o, type);
    for (std::size_t w = 0; w < by; ++w) {
      const Value& row = rows[outputs + w];
      results.push_back(reshape(row, shape_of_both(type.shape, row.shape().erase(0))));
    }
  }
  return results;
}

std::vector<Value> forward_jacobian(Builder& builder, const Function& f, const Wrt& wrt,
                                    std::span<const Value> in) {
  const Function forward = jvp(f, wrt);
  const std::vector<std::size_t> by = wrt.positions_in(f);
  std::vector<Value> inputs(in.begin(), in.end());
  for (const std::size_t w : by) inputs.push_back(detail::zeros_of(builder, f.inputs()[w].type));
  std::vector<std::vector<Value>> columns;  // of each input, for every real output
  for (std::size_t w = 0; w < by.size(); ++w) {
    const Type type = f.inputs()[by[w]].type;
    const std::vector<Value> all = for_each_row(builder, forward, inputs, in.size() + w, type);
    std::vector<Value>& moved = columns.emplace_back();
    for (std::size_t o = f.outputs().size(); o < all.size(); ++o) {
      std::vector<std::int64_t> order(all[o].rank());
      std::iota(order.begin(), order.end() - 1, 1);
      order.back() = 0;
      const Value last = transpose(all[o], order);
      moved.push_back(
          reshape(last, shape_of_both(last.shape().erase(last.rank() - 1), type.shape)));
    }
  }
  std::vector<Value> results;
  for (std::size_t o = 0; o < columns[0].size(); ++o)
    for (const std::vector<Value>& column : columns) results.push_back(column[o]);
  return results;
}

}  // namespace

Function jacobian(const Function& f, const Wrt& wrt, JacobianMode mode) {
  bool any = false;
  for (const Output& o : f.outputs()) any = any || is_real(f.type(o.value));
  if (!any)
    throw Error(
        ErrorCode::kDtype,
        fmt::format("jacobian of '{}': expected an output of f32 or f64, got none", f.name()));
  Builder builder(f.name());
  std::vector<Value> in;
  for (const Input& i : f.inputs()) in.push_back(builder.input(i.name, i.type));
  const bool reverse = mode == JacobianMode::kReverse;
  const std::vector<Value> results =
      reverse ? reverse_jacobian(builder, f, wrt, in) : forward_jacobian(builder, f, wrt, in);
  return builder.finish(results);
}

Function hessian(const Function& f, const Wrt& wrt) {
  const Function slopes = grad(f, wrt);
  return jacobian(slopes, Wrt(wrt.positions_in(f)), JacobianMode::kForward);
}

Function hvp(const Function& f, const Wrt& wrt) {
  const Function moved = jvp(grad(f, wrt), Wrt(wrt.positions_in(f)));
  const std::size_t by = wrt.positions_in(f).size();
  Builder builder(f.name());
  std::vector<Value> in;
  for (const Input& i : moved.inputs()) in.push_back(builder.input(i.name, i.type));
  const std::vector<Value> all = builder.inline_function(moved, in);
  return builder.finish(
      std::vector<Value>(all.begin() + static_cast<std::ptrdiff_t>(by), all.end()));
}

}  // namespace limpid
