// The doctor: rules that recognise an illness of training from a run's log, and say what to try.
// docs/reference/doctor.md is made from the table of rules. Leans on run_log.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/train/run_log.h"

namespace limpid::train {

struct Threshold {
  std::string_view name;
  double value;  // unless somebody asks for another one
  std::string_view meaning;
};

// The thresholds of all rules by name.
struct Rule;
class Thresholds {
 public:
  // Throws kNotFound, naming those there are; kInvalidArgument for a value that is not finite.
  void set(std::string_view name, double value);
  double operator[](std::string_view name) const;
  // Whether one of the rule's was set.
  bool change(const Rule& rule) const;

 private:
  Numbers changed_;
};

// Where an illness begins. The order is that in which training goes on: what is wrong at the
// beginning shows in everything behind it.
enum class Cause : std::uint8_t {
  kData,
  kInitialisation,
  kRate,
  kArchitecture,
  kRegularisation,
};
std::string_view name(Cause cause);  // "data", "initialisation", ...

struct Rule {
  std::string_view name;
  Cause cause;
  std::string_view looks_for;
  std::string_view fix;
  std::span<const Threshold> thresholds;
  // What is the matter, if it is, with its remedies, the best first; diagnose() fills in the rest.
  std::optional<Finding> (*check)(const RunLog& log, const Thresholds& thresholds);
  // Findings of this cause and of later ones follow from this rule's; nothing: it explains none.
  // Earlier than the rule's own where a late cause shows early, as dropout does in the first loss.
  std::optional<Cause> explains = {};
};
// In the order in which they explain: a finding never follows from that of a later rule.
std::span<const Rule> rules();

// What the rules find in a log, complete or not. A finding that another explains follows from it
// and stands behind it, without remedies. The others come by severity, then by cause; each is as
// grave as what it explains. Remedies that the run has in force are left out, and those that one of
// the `earlier` configurations of the same data had, and those that move what a finding before has
// moved. Each rule speaks once, of the layer where it is worst.
std::vector<Finding> diagnose(const RunLog& log, const Thresholds& thresholds = {},
                              std::span<const Json> earlier = {});

// What the log's training warned of and is over: its findings whose rules are not among those found
// now. Rules with other thresholds than training's were asked anew.
std::vector<Finding> earlier_findings(const RunLog& log, const std::vector<Finding>& found,
                                      const Thresholds& thresholds = {});

// Those of `found` whose rule has not spoken before.
std::vector<Finding> new_findings(const std::vector<Finding>& found,
                                  const std::vector<Finding>& before);

// The reference page of the rules, in Markdown.
std::string doctor_reference();

}  // namespace limpid::train
