#include "limpid/train/run/earlier_runs.h"

#include <optional>
#include <string>
#include <system_error>

#include "limpid/core/error.h"
#include "limpid/data/load_data.h"
#include "limpid/train/run/run_folder.h"

namespace limpid::train {
namespace {

namespace fs = std::filesystem;

std::optional<Json> read_config(const fs::path& path) {
  try {
    return Json::try_parse(read_text(path));
  } catch (const Error&) {
    return {};
  }
}

// The data without its options.
std::optional<DataSpec> source_of(const Json& config) {
  const Json* const data = config.find("data");
  if (!data || !data->is_string()) return {};
  try {
    DataSpec spec = parse_data_spec(data->as_string());
    spec.options.clear();
    return spec;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::vector<Json> earlier_runs(const fs::path& run) {
  std::error_code error;
  const fs::path folder = fs::canonical(run, error);
  if (error) return {};
  const fs::path own = RunFolder(folder).config();
  const fs::file_time_type begin = fs::last_write_time(own, error);
  const std::optional<Json> config = error ? std::nullopt : read_config(own);
  const std::optional<DataSpec> source = config ? source_of(*config) : std::nullopt;
  if (!source) return {};
  std::vector<Json> earlier;
  for (fs::directory_iterator it(folder.parent_path(), error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;  // a folder that is no run, or is gone
    const fs::path other = RunFolder(it->path()).config();
    const fs::file_time_type time = fs::last_write_time(other, ignored);
    if (ignored || time >= begin) continue;
    if (std::optional<Json> tried = read_config(other); tried && source_of(*tried) == source)
      earlier.push_back(*std::move(tried));
  }
  return earlier;
}

}  // namespace limpid::train
