// Progress of a training run on standard output.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limpid/data/dataset.h"
#include "limpid/train/log/events.h"

namespace limpid::tool {

// The metrics in each epoch's line, besides the losses.
std::vector<std::string> shown_metrics(Task task);

// A table of epochs and, on a terminal that supports it, a progress bar with the remaining time.
class Progress {
 public:
  // `watched` is the set of the evaluations: "validation" or "test". Without `bar`, only the table
  // is printed.
  Progress(Task task, std::string watched, std::int64_t steps, std::int64_t steps_an_epoch,
           bool bar);

  void begin();
  void step(const train::StepEvent& step);
  // Of many epochs only some get a line: about fifty, the best before each, and the last.
  void epoch(const train::EpochEvent& epoch, bool last);
  // Prints a text above the bar.
  void say(const std::string& text);

 private:
  void row(const train::EpochEvent& epoch) const;
  void clear();

  std::vector<std::string> metrics_;
  std::string watched_;
  std::int64_t steps_, steps_an_epoch_, epochs_;
  bool redraws_;
  bool drawn_ = false;
  std::optional<train::EpochEvent> best_;  // the best one since the last line, not printed yet
  std::int64_t first_step_ = -1;           // first step in this process, for the remaining time
  std::chrono::steady_clock::time_point start_{}, last_{};
};

}  // namespace limpid::tool
