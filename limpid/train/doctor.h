// The doctor: rules that recognise an illness of training from a run's log, and say what to try.
// docs/reference/doctor.md is made from the table of rules. Leans on run_log.h.
#pragma once

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
class Thresholds {
 public:
  // Throws kNotFound, naming those there are; kInvalidArgument for a value that is not finite.
  void set(std::string_view name, double value);
  double operator[](std::string_view name) const;

 private:
  Numbers changed_;
};

struct Rule {
  std::string_view name;
  std::string_view looks_for;
  std::string_view fix;
  std::span<const Threshold> thresholds;
  // What is the matter, if it is; rule and step are filled in by diagnose().
  std::optional<Finding> (*check)(const RunLog& log, const Thresholds& thresholds);
};
std::span<const Rule> rules();

// What the rules find in a log, complete or not, the gravest first; each rule speaks once, of the
// layer where it is worst.
std::vector<Finding> diagnose(const RunLog& log, const Thresholds& thresholds = {});

// Those of `found` whose rule has not spoken before.
std::vector<Finding> new_findings(const std::vector<Finding>& found,
                                  const std::vector<Finding>& before);

// The reference page of the rules, in Markdown.
std::string doctor_reference();

}  // namespace limpid::train
