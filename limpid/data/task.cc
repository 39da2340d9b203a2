#include "limpid/data/task.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace limpid {
namespace {

constexpr std::pair<Task, std::string_view> kTasks[] = {{Task::kClassification, "classification"},
                                                        {Task::kMultiLabel, "multilabel"},
                                                        {Task::kRegression, "regression"},
                                                        {Task::kNextToken, "next_token"}};

}  // namespace

std::string_view name(Task task) {
  return std::find_if(std::begin(kTasks), std::end(kTasks),
                      [&](const auto& entry) { return entry.first == task; })
      ->second;
}

std::optional<Task> task_from_name(std::string_view name) {
  for (const auto& [task, task_name] : kTasks)
    if (task_name == name) return task;
  return {};
}

}  // namespace limpid
