// The doctor: rules that diagnose training problems from the log of a run and suggest remedies.
// docs/reference/doctor.md is made from the table of rules. Depends on run_log.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/enum_names.h"
#include "limpid/train/log/run_log.h"

namespace limpid::train {

struct Threshold {
  std::string_view name;
  double value;  // default
  std::string_view meaning;
};

// The thresholds of all rules by name.
struct Rule;
class Thresholds {
 public:
  // Throws kNotFound for an unknown name (the message lists the names), kInvalidArgument for a
  // value that is negative or not finite.
  void set(std::string_view name, double value);
  double operator[](std::string_view name) const;
  // Whether a threshold of this rule was set.
  bool change(const Rule& rule) const;

 private:
  Numbers changed_;
};

// The origin of a problem, in causal order: an early cause shows in everything after it.
enum class Cause : std::uint8_t {
  kData,
  kInitialisation,
  kRate,
  kArchitecture,
  kRegularisation,
};
constexpr EnumNames<5> enum_names(Cause) {
  return {"cause", {"data", "initialisation", "rate", "architecture", "regularisation"}};
}
using limpid::name;

struct Rule {
  std::string_view name;
  Cause cause;
  std::string_view looks_for;
  std::string_view fix;
  std::span<const Threshold> thresholds;
  // The finding, if there is one, with its remedies, the best first. diagnose() fills in the rest.
  std::optional<Finding> (*check)(const RunLog& log, const Thresholds& thresholds);
  // A finding of this rule explains findings of this cause and of later ones; nullopt: it explains
  // none. May be earlier than the rule's own cause, if a late cause shows early, as dropout does in
  // the first loss.
  std::optional<Cause> explains = {};
};
// All rules, in causal order: a finding never follows from one of a later rule.
std::span<const Rule> rules();

// A run on the same data: what it was configured as, and the rules that found something in it.
struct EarlierRun {
  Json config;
  std::vector<std::string> rules;
};

// The findings in a log, complete or not. A finding that another one explains comes after it,
// without remedies. The others are sorted by severity, then by cause; each is at least as severe as
// the findings that it explains. Leaves out remedies that this run already uses, those that one of
// the `earlier` runs used in vain, as the same rule found something there, and those that change a
// setting which an earlier finding changes.
// Each rule reports at most once, for the worst layer.
std::vector<Finding> diagnose(const RunLog& log, const Thresholds& thresholds = {},
                              std::span<const EarlierRun> earlier = {});

// The findings in the log that no longer hold: those whose rules are not in `found`. Leaves out
// rules whose thresholds differ from those of training.
std::vector<Finding> earlier_findings(const RunLog& log, const std::vector<Finding>& found,
                                      const Thresholds& thresholds = {});

// The findings of `found` whose rule is not in `before`.
std::vector<Finding> new_findings(const std::vector<Finding>& found,
                                  const std::vector<Finding>& before);

// The reference page of the rules, in Markdown.
std::string doctor_reference();

}  // namespace limpid::train
