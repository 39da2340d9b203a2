#include "limpid/transforms/jvp.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/ops/constant.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/rewrite.h"
#include "limpid/transforms/simplify.h"

namespace limpid {
namespace {

// Only the last `count` outputs.
Function last_outputs(const Function& f, std::size_t count) {
  Builder builder(f.name());
  std::vector<Value> in;
  for (const Input& i : f.inputs()) in.push_back(builder.input(i.name, i.type));
  const std::vector<Value> out = builder.inline_function(f, in);
  return builder.finish(std::span<const Value>(out).last(count));
}

// The derivative of a linear function is the same at every point. If it is not, a gradient rule is
// wrong. The rules of this library are tested, so it is one of the caller's.
void check_unused(const Function& f, std::size_t first, std::size_t count) {
  for (const Node& node : f.nodes())
    for (ValueId id : node.inputs)
      if (static_cast<std::size_t>(id) >= first && static_cast<std::size_t>(id) < first + count)
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("jvp of '{}': a gradient rule is not linear in the cotangent: {} "
                                "uses it",
                                f.name(), where({*node.op, {}, {}, node.attributes, node.scope})));
}

}  // namespace

Function jvp(const Function& f, const Wrt& by_inputs) {
  const std::vector<std::size_t> wrt = by_inputs.positions_in(f);
  // x, c to f(x), J^T c
  const Function backward = vjp(f, wrt);
  const std::size_t inputs = f.inputs().size();
  const std::size_t cotangents = f.outputs().size();
  // J^T c is linear in c, so that its vjp by c, with the cotangent t, is J t whatever c is.
  std::vector<std::size_t> by;
  for (std::size_t o = 0; o < cotangents; ++o)
    if (const Dtype d = f.type(f.outputs()[o].value).dtype; d == Dtype::kF32 || d == Dtype::kF64)
      by.push_back(inputs + o);
  const Function transposed =
      simplify(last_outputs(vjp(last_outputs(backward, wrt.size()), by), by.size()));
  check_unused(transposed, inputs, cotangents);

  Builder builder(f.name());
  std::vector<Value> values;
  for (const Input& i : f.inputs()) values.push_back(builder.input(i.name, i.type));
  std::vector<std::string> moving;
  for (std::size_t i : wrt) moving.push_back(f.inputs()[i].name);
  moving = further_names(f, "tangent", std::move(moving));
  std::vector<Value> tangents;
  for (std::size_t i = 0; i < wrt.size(); ++i)
    tangents.push_back(builder.input(moving[i], f.inputs()[wrt[i]].type));
  // The cotangents are unused: any constants will do.
  for (const Output& o : f.outputs())
    values.push_back(constant(builder, Tensor::zeros(f.type(o.value))));
  std::vector<Value> outputs = builder.inline_function(backward, values);
  outputs.resize(cotangents);
  std::vector<std::string> names = output_names(f);
  values.insert(values.end(), tangents.begin(), tangents.end());
  for (const Value& v : builder.inline_function(transposed, values)) outputs.push_back(v);
  for (std::size_t i : by) {
    const std::string& name = f.outputs()[i - inputs].name;
    names.push_back("tangent." + (name.empty() ? std::to_string(i - inputs) : name));
  }
  return simplify(builder.finish(outputs, std::move(names)));
}

}  // namespace limpid
