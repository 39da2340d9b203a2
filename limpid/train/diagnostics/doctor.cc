#include "limpid/train/diagnostics/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/in_quotes.h"
#include "limpid/train/config/config.h"
#include "limpid/train/diagnostics/detail/rules.h"

namespace limpid::train {

std::span<const Rule> rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    for (const std::span<const Rule> part :
         {detail::rules_of_data, detail::rules_of_loss, detail::rules_of_layers,
          detail::rules_of_transformers, detail::rules_of_regularisation})
      all.insert(all.end(), part.begin(), part.end());
    const auto place = [](const Rule& rule) {
      const Cause explains = rule.explains.value_or(Cause::kRegularisation);
      return std::tuple(std::min(rule.cause, explains), !rule.explains, explains);
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](const Rule& a, const Rule& b) { return place(a) < place(b); });
    return all;
  }();
  return rules;
}

namespace {

const ConfigKey* key_at(std::string_view path) {
  const auto keys = config_keys();
  const auto found = std::find_if(keys.begin(), keys.end(),
                                  [&](const ConfigKey& key) { return key.path == path; });
  return found == keys.end() ? nullptr : &*found;
}

// ---- remedies

// Numbers too close to make a difference.
bool alike(const Json& a, const Json& b) {
  constexpr double kNear = 0.1;
  if (!a.is_number() || !b.is_number()) return a == b;
  return std::fabs(a.as_number() - b.as_number()) <= kNear * std::fabs(a.as_number());
}

bool has(const Json& config, const Setting& setting) {
  const Json* const value = detail::value_at(config, setting.key);
  return value && alike(*value, setting.value);
}
bool has(const Json& config, const Remedy& remedy) {
  return !remedy.settings.empty() &&
         std::all_of(remedy.settings.begin(), remedy.settings.end(),
                     [&](const Setting& setting) { return has(config, setting); });
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.as_string();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& element : value.elements()) text += (text.empty() ? "" : ",") + text_of(element);
  return text;
}

std::string text_of(const Remedy& remedy) {
  if (remedy.settings.empty()) return remedy.words;
  std::string text;
  for (const Setting& setting : remedy.settings) {
    const ConfigKey* const key = key_at(setting.key);
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", key ? key->flag : setting.key,
                        text_of(setting.value));
  }
  return text;
}

// "a", "a, or b", "a, b, or c".
std::string text_of(const std::vector<Remedy>& remedies) {
  if (remedies.empty())
    return "every known remedy is already in use or was tried in an earlier run";
  std::string text = text_of(remedies.front());
  for (std::size_t i = 1; i < remedies.size(); ++i)
    text += (i + 1 == remedies.size() ? ", or " : ", ") + text_of(remedies[i]);
  return text;
}

// Drops remedies that make no sense or were tried already, and those that change a key in `moved`.
// Adds the keys of the others to `moved`.
void keep_useful(Finding& finding, const RunLog& log, std::span<const EarlierRun> earlier,
                 std::set<std::string>& moved) {
  std::vector<Remedy>& remedies = finding.remedies;
  const auto in_vain = [&](const EarlierRun& run, const Remedy& remedy) {
    return has(run.config, remedy) &&
           std::find(run.rules.begin(), run.rules.end(), finding.rule) != run.rules.end();
  };
  const auto in_force = [&](const Setting& setting) { return has(log.config(), setting); };
  std::erase_if(remedies, [&](Remedy& remedy) {
    const bool tried = has(log.config(), remedy) ||
                       std::any_of(earlier.begin(), earlier.end(),
                                   [&](const EarlierRun& run) { return in_vain(run, remedy); });
    std::erase_if(remedy.settings, in_force);
    return tried || std::any_of(remedy.settings.begin(), remedy.settings.end(),
                                [&](const Setting& s) { return moved.count(s.key) > 0; });
  });
  for (const Remedy& remedy : remedies)
    for (const Setting& setting : remedy.settings) moved.insert(setting.key);
}

// ---- findings

// A finding and its rule.
struct Found {
  const Rule* rule;
  Finding finding;
  const Found* root = nullptr;  // what explains it
};

// In the order of rules(). Explanations are transitive.
void find_roots(std::vector<Found>& all) {
  for (auto it = all.begin(); it != all.end(); ++it) {
    const auto root = std::find_if(all.begin(), it, [&](const Found& other) {
      return !other.root && other.rule->explains && *other.rule->explains <= it->rule->cause;
    });
    if (root == it) continue;
    it->root = &*root;
    root->finding.severity = std::max(root->finding.severity, it->finding.severity);
  }
}

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
  // All are shares, ratios and counts.
  if (!std::isfinite(value) || value < 0)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("threshold {}: expected a finite number of at least 0, got {}", name, value));
  changed_.set(std::string(name), value);
}

double Thresholds::operator[](std::string_view name) const {
  const double* changed = changed_.find(name);
  return changed ? *changed : threshold_named(name).value;
}

bool Thresholds::change(const Rule& rule) const {
  return std::any_of(rule.thresholds.begin(), rule.thresholds.end(),
                     [&](const Threshold& t) { return changed_.find(t.name) != nullptr; });
}

std::vector<Finding> diagnose(const RunLog& log, const Thresholds& thresholds,
                              std::span<const EarlierRun> earlier) {
  const DefaultFloatMode mode;
  std::vector<Found> all;
  for (const Rule& rule : rules()) {
    std::optional<Finding> finding = rule.check(log, thresholds);
    if (!finding) continue;
    finding->rule = rule.name;
    finding->step = log.last_step();
    all.push_back({&rule, *std::move(finding)});
  }
  find_roots(all);
  std::vector<Found*> roots;
  for (Found& found : all)
    if (!found.root) roots.push_back(&found);
  std::stable_sort(roots.begin(), roots.end(), [](const Found* a, const Found* b) {
    return a->finding.severity > b->finding.severity;
  });
  std::vector<Finding> findings;
  std::set<std::string> moved;
  for (Found* root : roots) {
    keep_useful(root->finding, log, earlier, moved);
    root->finding.fix = text_of(root->finding.remedies);
    findings.push_back(root->finding);
    for (Found& found : all) {
      if (found.root != root) continue;
      found.finding.remedies.clear();
      found.finding.follows_from = root->rule->name;
      found.finding.fix = fmt::format("see {}", root->rule->name);
      findings.push_back(found.finding);
    }
  }
  return findings;
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

std::vector<Finding> earlier_findings(const RunLog& log, const std::vector<Finding>& found,
                                      const Thresholds& thresholds) {
  std::vector<Finding> earlier = new_findings(log.findings, found);
  std::erase_if(earlier, [&](const Finding& f) {
    const auto all = rules();
    const auto rule =
        std::find_if(all.begin(), all.end(), [&](const Rule& r) { return r.name == f.rule; });
    return rule != all.end() && thresholds.change(*rule);
  });
  return earlier;
}

std::string doctor_reference() {
  std::string text =
      "# What the doctor looks for\n\n"
      "`limpid doctor RUN` reads the log of a run and reports its problems; `limpid train` does so "
      "at the end of every epoch.\n"
      "Each rule reports once, for the layer where the problem is worst. `limpid doctor "
      "--markdown` writes this page from\n"
      "limpid/train/diagnostics/rules_of_*.cc. `--threshold name=value` changes a threshold.\n\n"
      "The rules are listed in the order in which they explain each other. If a rule explains a "
      "cause, findings of that cause\n"
      "and of later causes are its consequences. The causes in order: data, initialisation, rate, "
      "architecture, regularisation.\n\n"
      "| rule | cause | explains, from | looks for | what to try |\n"
      "|---|---|---|---|---|\n";
  for (const Rule& rule : rules())
    text += fmt::format("| {} | {} | {} | {} | {} |\n", rule.name, name(rule.cause),
                        rule.explains ? name(*rule.explains) : "", rule.looks_for, rule.fix);
  text += "\n| threshold | default | rule | meaning |\n|---|---|---|---|\n";
  for (const Rule& rule : rules())
    for (const Threshold& t : rule.thresholds)
      text += fmt::format("| {} | {:g} | {} | {} |\n", t.name, t.value, rule.name, t.meaning);
  return text;
}

}  // namespace limpid::train
