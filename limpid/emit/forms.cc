// The expressions that records give, filled in with operands.
#include "limpid/emit/detail/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace limpid::emit {

std::optional<std::string> element_form(const Call& call, std::span<const std::string> operands) {
  const Cpp& cpp = call.op.cpp;
  std::string form(is_floating(call.inputs.back().dtype) ? cpp.floating : cpp.other);
  if (cpp.expression.given()) form = cpp.expression(call);
  if (form.empty()) return {};
  std::array<std::string_view, 3> words;
  std::copy(operands.begin(), operands.end(), words.begin());
  return fmt::format(fmt::runtime(form), words[0], words[1], words[2]);
}

}  // namespace limpid::emit
