#include "limpid/function/signature.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/core/number_text.h"

namespace limpid {

void check_signature(const Call& call) {
  const Op& op = call.op;
  const auto count = static_cast<int>(call.inputs.size());
  if (count < op.min_inputs || count > op.max_inputs)
    throw Error(ErrorCode::kInvalidArgument,
                op.min_inputs == op.max_inputs
                    ? fmt::format("{}: takes {}, got {}", where(call),
                                  counted(op.min_inputs, "input"), count)
                    : fmt::format("{}: takes {} to {} inputs, got {}", where(call), op.min_inputs,
                                  op.max_inputs, count));
  for (const AttributeSpec& spec : op.attributes) {
    const Attribute* found = call.attributes.find(spec.name);
    if (!found)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: attribute '{}' is missing", where(call), spec.name));
    if (found->index() != static_cast<std::size_t>(spec.kind))
      throw Error(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: attribute '{}' must be {}", where(call), spec.name, name(spec.kind)));
  }
  for (const auto& [key, value] : call.attributes) {
    bool known = false;
    for (const AttributeSpec& spec : op.attributes) known |= spec.name == key;
    if (!known)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: there is no attribute '{}'", where(call), key));
  }
}

}  // namespace limpid
