// LogThinner: keeps the log of a run bounded, however long the run is. Depends on run_log.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/train/run_log.h"

namespace limpid::train {

// Of each kind of event that comes again and again, a log keeps those whose number (steps done,
// epochs) is a multiple of a distance. The distance doubles when there are too many; then the log
// is thinned. It follows from how far the run is, so that a resumed run keeps the same events.
// The first step, and among the epochs the best one and the last one, stay, too.
class LogThinner {
 public:
  // The distance in steps between two events of a kind as they come; 0: always few.
  struct Distances {
    std::int64_t step = 1, probe = 0, sample = 0;
  };
  // Multiples of the distance that are kept, at most.
  static constexpr std::int64_t kMostSteps = 16'384;
  static constexpr std::int64_t kMostEpochs = 4'096;
  static constexpr std::int64_t kMostProbes = 512;
  static constexpr std::int64_t kMostSamples = 1'024;

  explicit LogThinner(const Distances& distances);

  // The events that the log takes now that `event` comes: none, it alone, or it after the best
  // epoch left out before it; at the end of the run after the last epoch, too.
  std::vector<Event> admit(const Event& event);
  // Whether a distance has grown since the last call: what is in the log is to be thinned before
  // more is written.
  bool has_grown();

  // Leaves out of a log what this thinner would not admit now. The text is that of a file of lines;
  // throws kFormat as parse_run_log does.
  void thin(RunLog& log);
  std::string thin(std::string_view text, const std::string& source);

 private:
  struct Kind {
    std::int64_t distance, most;
    bool admits(std::int64_t number) const { return distance == 0 || number % distance == 0; }
    bool grow(std::int64_t number);
  };

  void follow(const Event& event);
  bool keeps(const Event& event, std::int64_t best_epoch) const;

  Kind steps_, epochs_, probes_, samples_;
  bool grown_ = false;
  std::optional<EpochEvent> best_, last_;  // since the last epoch that the log took
};

}  // namespace limpid::train
