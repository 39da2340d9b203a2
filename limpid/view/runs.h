// Runs of training: their logs as deltas, starting and stopping them, and any step of them again.
// Leans on session.h and train.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/train/run.h"
#include "limpid/train/run_folder.h"
#include "limpid/view/session.h"

namespace limpid::view {

enum class RunState : std::uint8_t { kRunning, kPaused, kFinished, kStopped, kElsewhere };
std::string_view name(RunState state);  // "running", ...

// What a page asks of a run's log.
struct LogRequest {
  std::string run = {};
  std::int64_t cursor = 0;  // of the last answer; 0: from the beginning
  // Of the first answer: about so many steps and epochs, an eighth as many probes and samples.
  std::int64_t most = 2000;
};

// What is new in a log.
struct LogDelta {
  std::string run = {};
  std::int64_t cursor = 0;
  RunState state = RunState::kElsewhere;
  bool reset = false;  // the log began anew: what was there before is no longer
  std::optional<Json> begun = {};
  std::vector<train::StepEvent> steps = {};
  bool thinned = false;
  std::int64_t total_steps = 0;  // that were read for this answer
  std::vector<Json> epochs = {}, probes = {}, samples = {}, findings = {};
  std::optional<Json> end = {};

  bool empty() const {
    return !reset && !begun && steps.empty() && epochs.empty() && probes.empty() &&
           samples.empty() && findings.empty() && !end;
  }
};

// A run after so many steps.
struct StepAgain {
  std::shared_ptr<const OpenModel> model = {};
  std::int64_t step = 0, steps = 0;
  std::int64_t from = 0;              // the step that it was computed from
  std::optional<double> loss = {};    // of the step's batch, before its update
  std::optional<bool> verified = {};  // whether the bits are those of a checkpoint or model there
  double seconds = 0;
};

// Of one session; used from any thread.
class Runs {
 public:
  explicit Runs(Session& session);
  // Interrupts what is training.
  ~Runs();
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  // The folder of a run. Throws kNotFound where there is neither a configuration nor a log.
  std::string add(const std::filesystem::path& folder);
  std::vector<std::string> ids() const;
  bool has(std::string_view id) const;
  // Throw kNotFound for another id.
  std::filesystem::path folder(std::string_view id) const;
  RunState state(std::string_view id) const;
  // The data set of its configuration; empty where it names none.
  std::string data(std::string_view id) const;
  // As the page lists it.
  Json info(std::string_view id) const;

  LogDelta log(const LogRequest& request);

  // Begins a run in the session's folder under a name of letters, digits, '-' and '_'. Throws
  // kInvalidArgument for another name, a name that is taken, or a data set that was not named, and
  // what train::Run throws.
  std::string start(const std::string& name, const Json& config);
  enum class Action : std::uint8_t { kPause, kResume, kStop };
  // Throws kInvalidArgument where the run is not in a state for that.
  void act(std::string_view id, Action action);

  // The run after `step` steps, computed from the nearest state that is known; it becomes the model
  // "ID@STEP". Throws kInvalidArgument for a step outside of the run.
  StepAgain at(std::string_view id, std::int64_t step);

 private:
  struct Entry;
  class Replayed;

  Entry& entry(std::string_view id) const;
  void train(Entry& entry, bool resume);

  Session& session_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

Runs::Action action_from_name(std::string_view name);  // "pause", "resume", "stop"

// Where configurations differ: key, and what each has there (null: nothing).
struct ConfigRow {
  std::string key = {};
  std::vector<Json> values = {};
};
std::vector<ConfigRow> config_diff(const std::vector<Json>& configs);

// Keeps about `most` steps: of each of most / 4 stretches the first, the last, and those of the
// least and the largest loss.
std::vector<train::StepEvent> thinned(const std::vector<train::StepEvent>& steps,
                                      std::int64_t most);

// As JSON: the types of docs/view-api.md.
Json to_json(const LogDelta& delta);
Json to_json(const StepAgain& again);

}  // namespace limpid::view
