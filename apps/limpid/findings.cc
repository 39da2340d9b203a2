#include "apps/limpid/findings.h"

#include <fmt/format.h>

#include "limpid/inspect/table.h"
#include "limpid/train/run_log.h"

namespace limpid::tool {

std::string to_text(const train::Finding& f) {
  std::string heading = fmt::format("{}: {}", name(f.severity), f.rule);
  if (!f.layer.empty()) heading += " in " + f.layer;
  return fmt::format("{}\n  symptom  {}\n  cause    {}\n  try      {}\n", printable(heading),
                     printable(f.symptom), printable(f.cause), printable(f.fix));
}

}  // namespace limpid::tool
