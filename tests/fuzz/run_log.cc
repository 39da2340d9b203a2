// Logs of training runs, with what the doctor and the report make of them.
#include "limpid/train/log/run_log.h"

#include <cmath>

#include "limpid/report/report.h"
#include "limpid/train/diagnostics/doctor.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

void read(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  const train::RunLog log = train::parse_run_log(text, "fuzz");
  const std::string half = train::log_until(text, 2, "fuzz");
  require(train::log_until(half, 2, "fuzz") == half, "what was kept is kept");
  report::report_html(log, train::diagnose(log));
}

std::vector<Bytes> seeds() {
  train::RunEvent run;
  run.version = "1.2.3";
  run.command = {"limpid", "train"};
  run.config = Json{{"data", "digits"}, {"early_stopping", Json{{"patience", 2}}}};
  run.model = Json{{"model", "mlp"}};
  run.task = "classification";
  run.data = {"digits", 60, 20, 10, 4, 2, {"no", "yes"}};
  run.environment = {"avx2", 2, "a CPU", "a system", "a compiler"};
  train::DataFacts facts;
  facts.rows = 60;
  facts.features = {{"height", 3, -1, 2, 0.5, 0.75}};
  facts.class_counts = {20, 40};
  facts.duplicates = {{"validation", "train", 2, 20, 7, 3}};
  const train::ProbeEvent probe{0,
                                {{"layers.0",
                                  {{"layers.0.weight", 0.5, 0.25, 4, 2, 0.125}},
                                  {{"relu", 0.1, 0.2, 0.3, 0.4, 0.5}}}}};
  train::EndEvent end;
  end.reason = "finished";
  end.step = 2;
  end.best_epoch = 1;
  end.validation = {{"loss", 0.5}};
  end.test = {
      {{"loss", 0.25}, {"accuracy", 0.75}}, {{3, 1}, {0, 4}}, {{1, 0.75, 0.8}, {0.8, 1, 0.9}}};
  std::string text;
  for (const train::Event& event : std::initializer_list<train::Event>{
           run, facts, probe, train::StepEvent{1, 1, 2.5, 0.1, 3},
           train::StepEvent{2, 1, std::nan(""), 0.1, 5},
           train::EpochEvent{
               1, 2, 0.1, {{"loss", 2}}, {{"loss", 3}, {"accuracy", 0.5}}, 3, 1e4, true},
           train::SampleEvent{2, "and so"},
           train::Finding{"loss_not_finite", train::Severity::kError, "layers.0", "symptom",
                          "cause", "fix", 2},
           train::ResumeEvent{2}, end})
    text += to_json_line(event);
  return {bytes_of(text), bytes_of(text.substr(0, text.find('\n') + 1)),
          bytes_of(text.substr(0, text.size() - 9))};
}

std::vector<std::string> words() {
  std::vector<std::string> all = {"{",
                                  "}",
                                  "[",
                                  "]",
                                  ":",
                                  ",",
                                  "\n",
                                  "\"nan\"",
                                  "\"inf\"",
                                  "\"-inf\"",
                                  "1e308",
                                  "-1",
                                  "9223372036854775807",
                                  "{\"event\":\"resume\",\"step\":3}\n"};
  for (const char* word :
       {"event",      "run",          "data",       "step", "probe",          "epoch",
        "finding",    "resume",       "end",        "loss", "layers",         "activations",
        "parameters", "train",        "validation", "test", "confusion",      "per_class",
        "best",       "class_counts", "features",   "task", "classification", "regression",
        "relu",       "tanh",         "sample",     "text"})
    all.push_back("\"" + std::string(word) + "\"");
  return all;
}

}  // namespace

const Target& run_log() {
  static const Target target{"run_log", read, seeds, words};
  return target;
}

}  // namespace limpid::fuzz
