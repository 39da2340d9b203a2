// --data: the data set of a command.
#pragma once

#include <string>

#include "apps/limpid/support/command.h"
#include "limpid/core/error.h"
#include "limpid/data/load_data.h"

namespace limpid::tool {

// Calls code(), and turns kParse errors, which are about the spec of --data or about the list of
// --augment, into UsageError.
template <class Code>
auto with_data_option(const Code& code) {
  try {
    return code();
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kParse) throw;
    throw UsageError(std::string("--") + e.what());  // it begins with "data", "augment"
  }
}

// Parses the option. Throws UsageError if parse_data_spec refuses it.
inline DataSpec parse_data_option(const std::string& text) {
  return with_data_option([&] { return parse_data_spec(text); });
}

}  // namespace limpid::tool
