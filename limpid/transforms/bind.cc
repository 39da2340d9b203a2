#include "limpid/transforms/bind.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/ops/constant.h"
#include "limpid/transforms/rewrite.h"

namespace limpid {

Function bind(const Function& f, const Params& values) {
  std::size_t bound = 0;
  for (const Input& input : f.inputs()) {
    const Tensor* value = values.find(input.name);
    if (!value) continue;
    ++bound;
    if (!(input.type == value->type()))
      throw Error(input.type.dtype == value->dtype() ? ErrorCode::kShape : ErrorCode::kDtype,
                  fmt::format("bind of '{}': input '{}': expected {}, got {}", f.name(), input.name,
                              to_string(input.type), to_string(value->type())));
  }
  if (bound < values.size())
    for (const auto& [name, value] : values) (void)f.input_index(name);  // one is not there
  Builder builder(f.name());
  std::vector<Value> inputs(f.inputs().size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!values.find(f.inputs()[i].name))
      inputs[i] = builder.input(f.inputs()[i].name, f.inputs()[i].type);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (const Tensor* value = values.find(f.inputs()[i].name))
      inputs[i] = constant(builder, *value);
  return builder.finish(builder.inline_function(f, inputs), output_names(f));
}

}  // namespace limpid
