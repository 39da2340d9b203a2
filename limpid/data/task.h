// Task: the learning task. Depends on core/enum_names.h.
#pragma once

#include <cstdint>

#include "limpid/core/enum_names.h"

namespace limpid {

// The learning task: what a network predicts.
enum class Task : std::uint8_t {
  kClassification,  // one of several classes
  kMultiLabel,      // any number of labels at once, each 0 or 1
  kRegression,      // numbers
  kNextToken,       // the next token of a text
};

// Its names (core/enum_names.h).
constexpr EnumNames<4> enum_names(Task) {
  return {"task", {"classification", "multilabel", "regression", "next_token"}};
}

}  // namespace limpid
