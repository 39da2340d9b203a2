#include "limpid/train/run/earlier_runs.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
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

// The rules of the findings in a run's log; a log that cannot be read has none. Only these lines
// are parsed: a log may have very many others.
std::vector<std::string> rules_found(const fs::path& log) {
  constexpr std::string_view kFinding = R"({"event":"finding",)";
  std::vector<std::string> rules;
  std::string text;
  try {
    text = read_text(log);
  } catch (const Error&) {
    return rules;
  }
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const auto line = std::string_view(text).substr(begin, end - begin);
    if (!line.starts_with(kFinding)) continue;
    const std::optional<Json> event = Json::try_parse(line);
    const Json* const rule = event ? event->find("rule") : nullptr;
    if (rule && rule->is_string()) rules.push_back(rule->as_string());
  }
  return rules;
}

}  // namespace

std::vector<EarlierRun> earlier_runs(const fs::path& run) {
  std::error_code error;
  const fs::path folder = fs::canonical(run, error);
  if (error) return {};
  const fs::path own = RunFolder(folder).config();
  const fs::file_time_type begin = fs::last_write_time(own, error);
  const std::optional<Json> config = error ? std::nullopt : read_config(own);
  const std::optional<DataSpec> source = config ? source_of(*config) : std::nullopt;
  if (!source) return {};
  std::vector<EarlierRun> earlier;
  for (fs::directory_iterator it(folder.parent_path(), error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;  // a folder that is no run, or is gone
    const fs::path other = RunFolder(it->path()).config();
    const fs::file_time_type time = fs::last_write_time(other, ignored);
    if (ignored || time >= begin) continue;
    if (std::optional<Json> tried = read_config(other); tried && source_of(*tried) == source)
      earlier.push_back({*std::move(tried), rules_found(RunFolder(it->path()).log())});
  }
  return earlier;
}

}  // namespace limpid::train
