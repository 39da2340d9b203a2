// LogThinner: bounds the size of a run's log, however long the run is. Depends on run_log.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/train/log/run_log.h"

namespace limpid::train {

// For each kind of recurring event, the log keeps those whose number (steps done, epochs) is a
// multiple of a distance. The distance doubles when there are too many; then the log is thinned.
// The distance depends only on the progress of the run, so a resumed run keeps the same events. The
// first step, the best epoch and the last epoch are always kept.
class LogThinner {
 public:
  // The distance in steps between two events of a kind before thinning; 0: always few. And the
  // number of hashes in a step's event: the more, the fewer steps are kept.
  struct Distances {
    std::int64_t step = 1, probe = 0, sample = 0;
    std::int64_t hashes = 0;
  };
  // The maximum number of events of each kind.
  static constexpr std::int64_t kMostSteps = 16'384;
  static constexpr std::int64_t kMostEpochs = 4'096;
  static constexpr std::int64_t kMostProbes = 512;
  static constexpr std::int64_t kMostSamples = 1'024;
  // The maximum number of hashes of all steps: 40 MB of text.
  static constexpr std::int64_t kMostHashes = std::int64_t{1} << 21;

  explicit LogThinner(const Distances& distances);

  // The events to write to the log for `event`: none, or `event`, possibly preceded by the best
  // epoch that was left out, and at the end of the run also by the last epoch.
  std::vector<Event> admit(const Event& event);
  // The best epoch if admit() left it out, to write it to the log before a checkpoint: a run that
  // resumes from there must have it. admit() then no longer returns it.
  std::optional<EpochEvent> take_best();
  // The last epoch if admit() left it out, to write it to the log of a run that has ended.
  std::optional<EpochEvent> take_last();
  // Whether a distance, or the number of epochs of take_best(), has grown too large since the last
  // call. If so, thin the log before writing more.
  bool has_grown();

  // Removes from a log the events that this thinner would not admit now. `text` is the text of a
  // log file; throws kFormat as parse_run_log does. If its last epoch is removed, take_last() gives
  // it.
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
  std::int64_t taken_ = 0;                 // by take_best() since the log was thinned
  std::int64_t final_ = 0;                 // epoch of take_last()
  std::optional<EpochEvent> best_, last_;  // since the last epoch in the log
};

}  // namespace limpid::train
