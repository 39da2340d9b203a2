// --data: the data set of a command.
#pragma once

#include <string>

#include "apps/limpid/command.h"
#include "limpid/core/error.h"
#include "limpid/data/load_data.h"

namespace limpid::tool {

// code(), in which every kParse is about the spec of --data. Throws UsageError for it.
template <class Code>
auto with_data_option(const Code& code) {
  try {
    return code();
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kParse) throw;
    throw UsageError(std::string("--") + e.what());  // it begins with "data"
  }
}

// What the option says. Throws UsageError where parse_data_spec refuses it.
inline DataSpec parse_data_option(const std::string& text) {
  return with_data_option([&] { return parse_data_spec(text); });
}

}  // namespace limpid::tool
