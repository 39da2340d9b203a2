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

std::filesystem::path log_path(const std::string& run) {
  std::error_code ignored;  // what cannot be asked about is opened as it is, and refused then
  const std::filesystem::path path = run;
  return std::filesystem::is_directory(path, ignored) ? path / "log.jsonl" : path;
}

}  // namespace limpid::tool
