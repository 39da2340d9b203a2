// The report of a training run as one self-contained HTML page. Depends on train, inspect and
// chart.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limpid/inspect/summary.h"
#include "limpid/train/diagnostics/doctor.h"

namespace limpid::report {

// A misclassified example.
struct Mistake {
  std::int64_t row = 0;  // of the test set
  std::int64_t label = 0, answer = 0;
  double probability = 0;            // of the prediction `answer`
  std::vector<std::uint8_t> pixels;  // 0 black, 255 white
  std::int64_t width = 0;
};

// Data for the report that is not in the log; each part is optional.
struct Beside {
  std::optional<Summary> summary;
  std::vector<Mistake> mistakes;  // the most confident first
};

// The page: results, findings of the doctor, model, curves, layers, confusion matrix, and how to
// reproduce the run. All text from the log is escaped. The page has no scripts and loads no other
// files.
std::string report_html(const train::RunLog& log, const std::vector<train::Finding>& findings,
                        const Beside& beside = {});

}  // namespace limpid::report
