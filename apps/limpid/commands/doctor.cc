// limpid doctor: finds problems of a training run, and says what to try.
#include "limpid/train/diagnostics/doctor.h"
#include "limpid/core/number_text.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/findings.h"
#include "apps/limpid/support/output.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/inspect/table.h"
#include "limpid/train/run/earlier_runs.h"
#include "limpid/train/run/run_folder.h"

namespace limpid::tool {
namespace {

struct DoctorArguments {
  std::string run;
  std::vector<std::string> thresholds;  // "name=value"
  bool json = false;
  bool markdown = false;
};

// An unknown rule or an invalid number is a usage error.
train::Thresholds parse_thresholds(const std::vector<std::string>& all) {
  train::Thresholds thresholds;
  for (const std::string& text : all) {
    const std::size_t equals = text.find('=');
    double value = 0;
    const char* const last = text.data() + text.size();
    const char* const first = equals == std::string::npos ? last : text.data() + equals + 1;
    const auto [end, error] = std::from_chars(first, last, value);
    if (error != std::errc{} || end != last)
      throw UsageError(fmt::format("--threshold {}: expected NAME=VALUE, as in dead_share=0.3",
                                   in_quotes(text)));
    try {
      thresholds.set(text.substr(0, equals), value);
    } catch (const Error& e) {
      throw UsageError(fmt::format("--threshold: {}", e.what()));
    }
  }
  return thresholds;
}

Json findings_json(const std::vector<train::Finding>& findings) {
  Json list = Json::array();
  for (const train::Finding& f : findings) {
    list.push_back(Json::parse(train::to_json_line(f)));
    list[list.size() - 1].erase("event");
  }
  return list;
}

void doctor(const DoctorArguments& options) {
  if (options.markdown) return print(train::doctor_reference());
  if (options.run.empty()) throw UsageError("expected a run folder");
  const train::Thresholds thresholds = parse_thresholds(options.thresholds);
  const train::RunLog log = train::parse_run_log(train::log_path(options.run));
  const std::vector<train::Finding> found =
      train::diagnose(log, thresholds, train::earlier_runs(options.run));
  const std::vector<train::Finding> earlier = train::earlier_findings(log, found, thresholds);
  if (options.json)
    return print_json({{"findings", findings_json(found)},
                       {"earlier", findings_json(earlier)},
                       {"notes", log.notes}});
  for (const std::string& note : log.notes) print(fmt::format("note: {}\n", printable(note)));
  for (const train::Finding& f : found) print(to_text(f));
  // Without its remedies: by now, the opposite may help.
  for (const train::Finding& f : earlier)
    print(fmt::format("at step {}, no longer at the end: {}: {}\n", f.step, printable(f.rule),
                      printable(f.symptom)));
  if (found.empty() && earlier.empty())
    print(fmt::format("{} rules found nothing wrong in {}.\n", train::rules().size(),
                      counted(log.steps_done(), "step")));
}

}  // namespace

void add_doctor(Command& app) {
  auto options = std::make_shared<DoctorArguments>();
  Command command =
      app.command("doctor", "Diagnose a training run: problems, likely causes, what to try");
  command.option("RUN", options->run, "Run folder written by train, or its log.jsonl").path("RUN");
  command
      .option("--threshold", options->thresholds,
              "Threshold of a rule, once for each; docs/reference/doctor.md lists them")
      .type("NAME=VALUE");
  command.flag("--json", options->json, "Print JSON");
  command.flag("--markdown", options->markdown,
               "Print the reference of all rules as Markdown (docs/reference/doctor.md), and exit");
  command.run([options] { doctor(*options); });
}

}  // namespace limpid::tool
