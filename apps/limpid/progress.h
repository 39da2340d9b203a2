// How a training run shows on a terminal, in a pipe, or to another program.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limpid/data/dataset.h"
#include "limpid/train/events.h"

namespace limpid::tool {

// What each epoch's line shows beside the losses.
std::vector<std::string> shown_metrics(Task task);

// A table of epochs, and on a terminal that can a bar with the time that is left, drawn over
// itself.
class Progress {
 public:
  // `watched` says which part the evaluations look at: "validation" or "test". Without `bar` there
  // is the table alone.
  Progress(Task task, std::string watched, std::int64_t steps, std::int64_t steps_an_epoch,
           bool bar);

  void begin();
  void step(const train::StepEvent& step);
  // Of very many epochs only some have a line: about fifty, the best before each, and the last.
  void epoch(const train::EpochEvent& epoch, bool last);
  // A text of its own, above the bar.
  void say(const std::string& text);

 private:
  void row(const train::EpochEvent& epoch) const;
  void clear();

  std::vector<std::string> metrics_;
  std::string watched_;
  std::int64_t steps_, steps_an_epoch_, epochs_;
  bool redraws_;
  bool drawn_ = false;
  std::optional<train::EpochEvent> best_;  // since the last line, which does not show it
  std::int64_t first_step_ = -1;           // seen by this process, for the time that is left
  std::chrono::steady_clock::time_point start_{}, last_{};
};

}  // namespace limpid::tool
