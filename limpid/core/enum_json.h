// Values of enumerations in JSON, by their names. Depends on enum_names.h and json.h.
#pragma once

#include "limpid/core/enum_names.h"
#include "limpid/core/json.h"

namespace limpid {

// Throws kFormat, naming the path, for what is not the name of a value.
template <NamedEnum E>
E enum_from_json(const JsonView& json) {
  if (const std::optional<E> value = find_name<E>(json.as_string())) return *value;
  json.refuse(one_of(all_names<E>()));
}

}  // namespace limpid
