// A run of training as one page of HTML that needs nothing beside itself. Leans on train, inspect
// and chart.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limpid/inspect/summary.h"
#include "limpid/train/doctor.h"

namespace limpid::report {

// An example that the model got wrong.
struct Mistake {
  std::int64_t row = 0;  // of the test part
  std::int64_t label = 0, answer = 0;
  double probability = 0;            // of the answer
  std::vector<std::uint8_t> pixels;  // 0 black, 255 white
  std::int64_t width = 0;
};

// What the log alone does not tell; each may be missing.
struct Beside {
  std::optional<Summary> summary;
  std::vector<Mistake> mistakes;  // the worst first
};

// The page: what came out, what the doctor found, the model, the curves, the layers, the confusion
// matrix, and what repeats the run. All text from the log is escaped; the page has no script and
// asks for nothing from elsewhere.
std::string report_html(const train::RunLog& log, const std::vector<train::Finding>& findings,
                        const Beside& beside = {});

}  // namespace limpid::report
