// Training runs: their logs as deltas, starting and stopping runs, and recomputing any step.
// Depends on session.h and train.
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

#include "limpid/core/enum_names.h"
#include "limpid/core/json.h"
#include "limpid/train/run/run.h"
#include "limpid/train/run/run_folder.h"
#include "limpid/view/session.h"

namespace limpid::view {

enum class RunState : std::uint8_t { kRunning, kPaused, kFinished, kStopped, kElsewhere };
constexpr EnumNames<5> enum_names(RunState) {
  return {"state", {"running", "paused", "finished", "stopped", "elsewhere"}};
}

// A request for a run's log.
struct LogRequest {
  std::string run = {};
  std::int64_t cursor = 0;  // of the last response; 0: from the beginning
  // For the first response: about this many steps and epochs, an eighth as many probes and samples.
  std::int64_t most = 2000;
};

// The new events of a log.
struct LogDelta {
  std::string run = {};
  std::int64_t cursor = 0;
  RunState state = RunState::kElsewhere;
  std::string error = {};  // why training here failed; may be empty
  bool reset = false;      // the log was restarted: discard earlier events
  std::optional<Json> begun = {};
  std::vector<train::StepEvent> steps = {};
  bool thinned = false;
  std::int64_t total_steps = 0;  // number of steps read for this response
  std::vector<Json> epochs = {}, probes = {}, samples = {}, findings = {};
  std::optional<Json> end = {};

  bool empty() const {
    return !reset && !begun && steps.empty() && epochs.empty() && probes.empty() &&
           samples.empty() && findings.empty() && !end;
  }
};

// The state of a run after a number of steps.
struct StepAgain {
  std::shared_ptr<const OpenModel> model = {};
  std::int64_t step = 0, steps = 0;
  std::int64_t from = 0;            // the step from which it was recomputed
  std::optional<double> loss = {};  // of the step's batch, before the update
  // Whether the checkpoint of this step has the same bits; nullopt also if the step is taken from
  // it.
  std::optional<bool> verified = {};
  double seconds = 0;
};

// The runs of a session. Thread-safe.
class Runs {
 public:
  explicit Runs(Session& session);
  // Interrupts active runs.
  ~Runs();
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  // Adds a run folder and returns its id. Throws kNotFound if it has neither a configuration nor a
  // log.
  std::string add(const std::filesystem::path& folder);
  std::vector<std::string> ids() const;
  bool has(std::string_view id) const;
  // These throw kNotFound for an unknown id.
  std::filesystem::path folder(std::string_view id) const;
  RunState state(std::string_view id) const;
  // The data set of its configuration; may be empty.
  std::string data(std::string_view id) const;
  // Its entry in the page's list.
  Json info(std::string_view id) const;

  LogDelta log(const LogRequest& request);

  // Starts a run in the session's folder, with a name of letters, digits, '-' and '_'. Throws
  // kInvalidArgument for an invalid or taken name, or a data set that is not allowed
  // (Session::check_data), and what train::Run throws.
  std::string start(const std::string& name, const Json& config);
  enum class Action : std::uint8_t { kPause, kResume, kStop };
  // Throws kInvalidArgument if the state of the run does not allow it.
  void act(std::string_view id, Action action);

  // The run after `step` steps, recomputed from the nearest known state; adds it as the model
  // "ID@STEP". Throws kInvalidArgument for a step out of range, or one before every known state: of
  // a run that was made longer, only checkpoints since then are known if its schedule decays to the
  // end of the run.
  StepAgain at(std::string_view id, std::int64_t step);

 private:
  struct Entry;
  class Replayed;

  Entry& entry(std::string_view id) const;
  void train(Entry& entry);

  Session& session_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

constexpr EnumNames<3> enum_names(Runs::Action) { return {"action", {"pause", "resume", "stop"}}; }
using limpid::name;

// A key for which configurations differ, and the value in each (null: none).
struct ConfigRow {
  std::string key = {};
  std::vector<Json> values = {};
};
std::vector<ConfigRow> config_diff(const std::vector<Json>& configs);

// Keeps about `most` steps: of each of most / 4 intervals the first, the last, and those with the
// smallest and the largest loss.
std::vector<train::StepEvent> thinned(const std::vector<train::StepEvent>& steps,
                                      std::int64_t most);

// To JSON, as in docs/view-api.md.
Json to_json(const LogDelta& delta);
Json to_json(const StepAgain& again);

}  // namespace limpid::view
