#include "limpid/train/run/run_folder.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>
#include <variant>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/system_error.h"
#include "limpid/models/adapter.h"
#include "limpid/train/log/detail/event_json.h"
#include "limpid/train/run/checkpoint.h"

namespace limpid::train {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostText = std::uint64_t{1} << 32;  // a log of months

[[noreturn]] void fail(const fs::path& path, const std::error_code& reason) {
  throw SystemError(reason.value(),
                    fmt::format("write {}: {}", in_quotes(path.string()), reason.message()));
}

void remove_file(const fs::path& old) {
  std::error_code error;
  fs::remove(old, error);
  if (error) fail(old, error);
}

void write_text(const fs::path& path, std::string_view text) {
  const std::array<std::span<const std::byte>, 1> parts{std::as_bytes(std::span(text))};
  write_file_atomically(path, parts);
}

// The text of a configuration in the folder of its run. A file that a user wrote has other white
// space, if it is a configuration at all.
std::string written(const TrainConfig& chosen) { return to_text(chosen) + "\n"; }

bool is_written_config(const fs::path& path) {
  try {
    const std::string text = read_text(path);
    return text == written(parse_train_config(text, path.string()));
  } catch (const Error&) {
    return false;
  }
}

bool is_checkpoint(const fs::path& path) {
  try {
    load_checkpoint(path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The first event of a log, if that is the start of a run.
std::optional<RunEvent> start_in(const fs::path& log) {
  std::ifstream file(log, std::ios::binary);
  try {
    // Only the first line: a log may have a million.
    if (std::string line; std::getline(file, line))
      if (auto event = detail::parse_event(line))
        if (auto* const run = std::get_if<RunEvent>(&*event)) return std::move(*run);
  } catch (const Error&) {  // it was cut when the process ended
  }
  return {};
}

}  // namespace

bool RunFolder::has_checkpoint() const {
  std::error_code ignored;
  return fs::exists(checkpoint(), ignored);
}

std::optional<RunFolder::HeldRun> RunFolder::held_run() const {
  std::error_code ignored;
  HeldRun run{.finished = fs::exists(model(), ignored)};
  try {
    if (has_checkpoint())
      run.step = load_checkpoint(checkpoint()).state.step;
    else if (!run.finished)
      return {};
  } catch (const Error&) {
    if (!run.finished) return {};  // no model, and no checkpoint to resume from
  }
  return run;
}

std::optional<fs::path> RunFolder::foreign_file() const {
  if (is_written_config(config()) || start_in(log()) || is_checkpoint(checkpoint())) return {};
  std::error_code ignored;
  for (const fs::path& file : {config(), log(), checkpoint(), report()})
    if (fs::exists(file, ignored)) return file;
  return {};
}

std::vector<std::string> RunFolder::first_command() const {
  std::error_code ignored;
  if (std::optional<RunEvent> run = start_in(log())) return std::move(run->command);
  if (!fs::exists(config(), ignored)) return {};
  return {"limpid", "train", "--config", config().string()};
}

TrainConfig RunFolder::read_config() const {
  return parse_train_config(read_text(config()), config().string());
}

void RunFolder::create() const {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) fail(path_, error);
}

void RunFolder::write_config(const TrainConfig& chosen) const {
  write_text(config(), written(chosen));
}

void RunFolder::begin(const TrainConfig& chosen) const {
  for (const fs::path& old : {checkpoint(), log(), report()}) remove_file(old);
  tidy();
  write_config(chosen);
}

void RunFolder::remove_model() const {
  for (const char* file : {kAdapterConfig, kAdapterWeights}) remove_file(adapter() / file);
  remove_file(model());
}

// `limpid report` may be writing into the folder.
void RunFolder::tidy() const {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, ignored))
    if (is_left_behind(entry.path())) fs::remove(entry.path(), ignored);
}

fs::path log_path(const fs::path& run) {
  std::error_code ignored;  // opening the path then reports the error
  return fs::is_directory(run, ignored) ? RunFolder(run).log() : run;
}

std::string read_text(const fs::path& path) {
  const Tensor bytes = read_file(path, kMostText);
  const auto values = bytes.values<std::uint8_t>();
  return {reinterpret_cast<const char*>(values.data()), values.size()};
}

LogFile::LogFile(const fs::path& path, std::string_view text)
    : file_((write_text(path, text), path)) {}

void LogFile::write(std::string_view line) { file_.write(std::as_bytes(std::span(line))); }

}  // namespace limpid::train
