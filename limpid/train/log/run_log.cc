#include "limpid/train/log/run_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/formats/file.h"
#include "limpid/train/log/detail/event_json.h"

namespace limpid::train {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 32;  // a log of months

struct Line {
  std::string_view text;  // without its '\n'
  std::size_t number;     // counted from 1
  bool ended;             // by a '\n'
  bool last;
};

// Calls f for every line.
template <class F>
void each_line(std::string_view text, const F& f) {
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const bool ended = end != std::string_view::npos;
    const std::string_view rest = ended ? text.substr(end + 1) : std::string_view();
    f(Line{text.substr(0, end), ++number, ended, rest.empty()});
    text = rest;
  }
}

// Calls f(line, event or nothing) for every line except a broken last one, for which it returns a
// note.
template <class F>
std::optional<std::string> each_event(std::string_view text, const std::string& source,
                                      const F& f) {
  std::optional<std::string> note;
  each_line(text, [&](const Line& line) {
    std::optional<Event> event;
    try {
      event = detail::parse_event(line.text);
    } catch (const Error& e) {
      const std::string where = fmt::format("{}: line {}: {}", source, line.number, e.what());
      if (!line.last || line.number == 1) throw Error(ErrorCode::kFormat, where);
      note = where + "; ignored, as it is the last";
      return;
    }
    if ((line.number == 1) != (event && std::holds_alternative<RunEvent>(*event)))
      throw Error(ErrorCode::kFormat,
                  fmt::format("{}: line {}: expected the event 'run' first, and nowhere else",
                              source, line.number));
    f(line, event);
  });
  return note;
}

// The steps done when it was written, as far as it tells; of an end more than any.
template <class E>
std::int64_t steps_of(const E& event) {
  if constexpr (std::is_same_v<E, EndEvent>)
    return std::numeric_limits<std::int64_t>::max();
  else if constexpr (std::is_same_v<E, ProbeEvent>)
    return sum_or_most(event.step, 1);  // it tells of the step that follows
  else if constexpr (requires { event.step; })
    return event.step;
  else
    return 0;
}

std::string_view text_of(const Tensor& bytes) {
  return {reinterpret_cast<const char*>(bytes.bytes().data()), bytes.bytes().size()};
}

}  // namespace

void RunLog::add(const Event& event) {
  struct {
    RunLog& log;
    void operator()(const RunEvent& e) { log.run = e; }
    void operator()(const DataFacts& e) { log.data = e; }
    void operator()(const StepEvent& e) { log.steps.push_back(e); }
    void operator()(const ProbeEvent& e) { log.probes.push_back(e); }
    void operator()(const EpochEvent& e) { log.epochs.push_back(e); }
    void operator()(const SampleEvent& e) { log.samples.push_back(e); }
    void operator()(const Finding& e) { log.findings.push_back(e); }
    void operator()(const ResumeEvent& e) { log.resumes.push_back(e); }
    void operator()(const EndEvent& e) { log.end = e; }
  } visitor{*this};
  std::visit(visitor, event);
}

const Json& RunLog::config() const {
  for (auto e = resumes.rbegin(); e != resumes.rend(); ++e)
    if (e->config) return *e->config;
  return run.config;
}

std::int64_t RunLog::steps_done() const {
  if (end && end->step) return *end->step;
  return std::max(last_step(), resumes.empty() ? 0 : resumes.back().step);
}

std::int64_t RunLog::last_step() const {
  std::int64_t last = 0;
  const auto look = [&](const auto& events) {
    if (!events.empty()) last = std::max(last, steps_of(events.back()));
  };
  look(steps);
  look(probes);
  look(epochs);
  look(samples);
  return last;
}

std::string_view RunLog::watched_part() const {
  return run.data.validation == 0 && run.data.test > 0 ? "test" : "validation";
}

RunLog parse_run_log(std::string_view text, const std::string& source) {
  RunLog log;
  if (text.empty())
    throw Error(ErrorCode::kFormat, fmt::format("{}: is empty, expected a run's log", source));
  const auto note = each_event(text, source, [&](const Line& line, const auto& event) {
    if (event)
      log.add(*event);
    else
      log.notes.push_back(
          fmt::format("{}: line {}: an event of an unknown kind; ignored", source, line.number));
  });
  if (note) log.notes.push_back(*note);
  return log;
}

RunLog parse_run_log(const std::filesystem::path& path) {
  return parse_run_log(text_of(read_file(path, kMaxBytes)), path.string());
}

std::string lines_where(std::string_view text, const std::string& source,
                        const std::function<bool(const Event&)>& wanted) {
  std::string kept;
  each_event(text, source, [&](const Line& line, const auto& event) {
    if (event && wanted(*event)) kept.append(line.text).push_back('\n');
  });
  return kept;
}

std::string log_until(std::string_view text, std::int64_t step, const std::string& source) {
  return lines_where(text, source, [&](const Event& event) {
    return std::visit([](const auto& e) { return steps_of(e); }, event) <= step;
  });
}

}  // namespace limpid::train
