// The log of a run: writes and reads one line of JSON per event. Depends on events.h.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/train/log/events.h"

namespace limpid::train {

// One line with its '\n'. Non-finite numbers become the strings "nan", "inf" and "-inf"; invalid
// UTF-8 becomes U+FFFD.
std::string to_json_line(const Event& event);

// The events of a run, by kind, each kind in the order of the log.
struct RunLog {
  RunEvent run;
  std::optional<DataFacts> data;
  std::vector<StepEvent> steps;
  std::vector<ProbeEvent> probes;
  std::vector<EpochEvent> epochs;
  std::vector<SampleEvent> samples;
  std::vector<Finding> findings;
  std::vector<ResumeEvent> resumes;
  std::optional<EndEvent> end;
  std::vector<std::string> notes;  // what was skipped in reading, one line each

  // Adds an event to the list of its kind.
  void add(const Event& event);
  // The configuration of the run as it is now: that of its last extension, if there was one.
  const Json& config() const;
  // The number of steps done, from the EndEvent, else from the other events.
  std::int64_t steps_done() const;
  // The last step of any training event. If its loss was not finite, the step was not done.
  std::int64_t last_step() const;
  // The set of EpochEvent::validation: "validation", or "test" if there is no validation set.
  std::string_view watched_part() const;
};

// Reads a log; `source` names it in messages. A cut or malformed last line and events of unknown
// kinds are skipped, with a note. Throws kFormat, naming the line, for any other malformed line,
// and unless the first event is the only RunEvent.
RunLog parse_run_log(std::string_view text, const std::string& source);

// Reads the file at `path`; throws what read_file throws, too.
RunLog parse_run_log(const std::filesystem::path& path);

// The lines of a log to keep when resuming from a checkpoint at `step`: without events of later
// steps and without the EndEvent. Throws kFormat as parse_run_log does.
std::string log_until(std::string_view text, std::int64_t step, const std::string& source);

// The lines of the events for which `wanted` is true; malformed and unknown ones are left out.
// Throws kFormat as parse_run_log does.
std::string lines_where(std::string_view text, const std::string& source,
                        const std::function<bool(const Event&)>& wanted);

}  // namespace limpid::train
