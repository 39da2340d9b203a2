#include "apps/limpid/support/output_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "apps/limpid/support/cli.h"
#include "limpid/core/in_quotes.h"
#include "limpid/train/run/run_folder.h"

namespace limpid::tool {
namespace {

namespace fs = std::filesystem;

// Through links; a path that cannot be asked about is no other's.
bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code none;
  return fs::equivalent(a, b, none);
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

bool is_of_run(const fs::path& out, const fs::path& folder) {
  const train::RunFolder run(folder);
  std::error_code none;
  if (!fs::exists(run.log(), none)) return false;
  const fs::path files[] = {run.config(), run.log(), run.checkpoint(), run.model(), run.report()};
  return std::any_of(std::begin(files), std::end(files),
                     [&](const fs::path& file) { return is_same(out, file); });
}

}  // namespace

std::vector<fs::path> files_of(const DataSpec& spec) {
  std::vector<fs::path> files;
  if (!spec.value.empty()) files.emplace_back(spec.value);
  for (const DataSpec::Option& option : spec.options)
    if (option.key == "test" || option.key == "targets") files.emplace_back(option.value);
  return files;
}

void refuse_input_as_output(std::string_view option, const fs::path& out,
                            const std::vector<fs::path>& inputs) {
  const auto refuse = [&](std::string_view what) {
    throw UsageError(fmt::format("{} {}: expected another file, this one {}", option,
                                 in_quotes(out.string()), what));
  };
  std::error_code none;
  if (!fs::is_regular_file(out, none)) return;
  for (const fs::path& input : inputs) {
    const bool folder = fs::is_directory(input, none);
    if (is_same(out, input) || (folder && is_same(folder_of(out), input)))
      refuse("is read by the command");
    if (is_of_run(out, folder ? input : folder_of(input)))
      refuse("belongs to the run whose model is read");
  }
}

}  // namespace limpid::tool
