// Task: what a network learns from its targets. Depends on nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace limpid {

// What a network learns from its targets.
enum class Task : std::uint8_t {
  kClassification,  // one class of several
  kMultiLabel,      // any number of labels at once, each 0 or 1
  kRegression,      // numbers
  kNextToken,       // what follows tokens of a text
};

// "classification", "multilabel", "regression", "next_token".
std::string_view name(Task task);
std::optional<Task> task_from_name(std::string_view name);

}  // namespace limpid
