#include "limpid/train/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/train/detail/rules.h"

namespace limpid::train {

std::span<const Rule> rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    for (const std::span<const Rule> part : {detail::rules_of_loss, detail::rules_of_layers,
                                             detail::rules_of_transformers, detail::rules_of_data})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rules;
}

namespace {

const Threshold& threshold_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Rule& rule : rules())
    for (const Threshold& t : rule.thresholds) {
      if (t.name == name) return t;
      names.emplace_back(t.name);
    }
  throw Error(ErrorCode::kNotFound, fmt::format("there is no threshold {}; there are: {}",
                                                in_quotes(name), fmt::join(names, ", ")));
}

}  // namespace

void Thresholds::set(std::string_view name, double value) {
  threshold_named(name);
  if (!std::isfinite(value))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("threshold {}: a finite number is expected, {} came", name, value));
  changed_.set(std::string(name), value);
}

double Thresholds::operator[](std::string_view name) const {
  const double* changed = changed_.find(name);
  return changed ? *changed : threshold_named(name).value;
}

std::vector<Finding> diagnose(const RunLog& log, const Thresholds& thresholds) {
  std::vector<Finding> found;
  for (const Rule& rule : rules()) {
    std::optional<Finding> finding = rule.check(log, thresholds);
    if (!finding) continue;
    finding->rule = rule.name;
    finding->step = log.steps_done();
    found.push_back(*std::move(finding));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  return found;
}

std::vector<Finding> new_findings(const std::vector<Finding>& found,
                                  const std::vector<Finding>& before) {
  std::vector<Finding> result;
  for (const Finding& f : found)
    if (std::none_of(before.begin(), before.end(),
                     [&](const Finding& b) { return b.rule == f.rule; }))
      result.push_back(f);
  return result;
}

std::string doctor_reference() {
  std::string text =
      "# What the doctor looks for\n\n"
      "`limpid doctor RUN` reads the log of a run and tells what is wrong with it; `limpid train` "
      "does so at the end of every\nepoch. Each rule speaks once, of the layer where it is worst. "
      "This page is written by `limpid doctor --markdown`; the\nrules stand in "
      "limpid/train/rules_of_*.cc. `--threshold name=value` changes a threshold.\n\n"
      "| rule | looks for | what to try |\n|---|---|---|\n";
  for (const Rule& rule : rules())
    text += fmt::format("| {} | {} | {} |\n", rule.name, rule.looks_for, rule.fix);
  text += "\n| threshold | default | rule | meaning |\n|---|---|---|---|\n";
  for (const Rule& rule : rules())
    for (const Threshold& t : rule.thresholds)
      text += fmt::format("| {} | {:g} | {} | {} |\n", t.name, t.value, rule.name, t.meaning);
  return text;
}

}  // namespace limpid::train
