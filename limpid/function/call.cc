#include "limpid/function/call.h"

namespace limpid {

std::vector<Value> call(const Function& f, std::span<const Value> arguments) {
  return innermost(arguments, "a call of function '" + f.name() + "'")
      .inline_function(f, arguments);
}

namespace detail {

void InputNames::add_name(const std::string& position, std::string name) {
  while (!taken_.insert(name).second) name = Args::join(position.empty() ? "_" : position, name);
  all_.push_back(std::move(name));
}

std::vector<Type> types_of(std::span<const Value> values) {
  std::vector<Type> types;
  for (const Value& v : values) types.push_back(v.type());
  return types;
}

}  // namespace detail
}  // namespace limpid
