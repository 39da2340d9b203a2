// Task: the learning task.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace limpid {

// The learning task: what a network predicts.
enum class Task : std::uint8_t {
  kClassification,  // one of several classes
  kMultiLabel,      // any number of labels at once, each 0 or 1
  kRegression,      // numbers
  kNextToken,       // the next token of a text
};

// "classification", "multilabel", "regression", "next_token".
std::string_view name(Task task);
std::optional<Task> task_from_name(std::string_view name);

}  // namespace limpid
