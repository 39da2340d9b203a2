#include "apps/limpid/support/findings.h"

#include <fmt/format.h>

#include "limpid/inspect/table.h"
#include "limpid/train/log/run_log.h"

namespace limpid::tool {

std::string to_text(const train::Finding& f) {
  const std::string what = f.layer.empty() ? f.rule : fmt::format("{} in {}", f.rule, f.layer);
  if (!f.follows_from.empty())
    return fmt::format("  from {} follows {}: {}\n", printable(f.follows_from), printable(what),
                       printable(f.symptom));
  return fmt::format("{}: {}\n  symptom  {}\n  cause    {}\n  try      {}\n", name(f.severity),
                     printable(what), printable(f.symptom), printable(f.cause), printable(f.fix));
}

}  // namespace limpid::tool
