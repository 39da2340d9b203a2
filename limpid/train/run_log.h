// The log of a run: a line of JSON for each event, written and read back. Leans on events.h.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/train/events.h"

namespace limpid::train {

// One line with its '\n'. Numbers that are not finite are the strings "nan", "inf" and "-inf"; text
// that is not UTF-8 has U+FFFD in its place.
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
  std::vector<std::string> notes;  // what was passed over in reading, a line each

  // Puts an event where its kind is kept.
  void add(const Event& event);
  // What the end says, or else as far as the events tell.
  std::int64_t steps_done() const;
  // The last step that an event of training tells of, whichever of them are logged. Where its loss
  // was not finite it was not done.
  std::int64_t last_step() const;
  // The part that EpochEvent::validation tells of: "test" where there is no validation part.
  std::string_view watched_part() const;
};

// `source` stands in messages. A last line that was cut or is broken is passed over, and so are
// events of unknown kinds; both leave a note. Throws kFormat, naming the line, for any other line
// that is no event, and where the first event is not the only RunEvent.
RunLog parse_run_log(std::string_view text, const std::string& source);

// Reads the file at `path`; throws what read_file throws, too.
RunLog parse_run_log(const std::filesystem::path& path);

// The lines of a log that a checkpoint after `step` steps can go on behind: what told of later
// steps, or of the end, is gone. Throws kFormat as parse_run_log does.
std::string log_until(std::string_view text, std::int64_t step, const std::string& source);

// The lines of the events that `wanted` says; broken and unknown ones are left out. Throws kFormat
// as parse_run_log does.
std::string lines_where(std::string_view text, const std::string& source,
                        const std::function<bool(const Event&)>& wanted);

std::string_view name(Severity severity);  // "info", "warning", "error"

}  // namespace limpid::train
