// The folder of a training run and its files. Leans on config.h and formats/file.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limpid/data/open_model.h"
#include "limpid/formats/file.h"
#include "limpid/train/config.h"

namespace limpid::train {

class RunFolder {
 public:
  // The path alone; nothing is looked at.
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.json"; }
  std::filesystem::path log() const { return path_ / "log.jsonl"; }
  std::filesystem::path checkpoint() const { return path_ / "checkpoint.safetensors"; }
  std::filesystem::path model() const { return path_ / kRunModelFile; }
  std::filesystem::path report() const { return path_ / "report.html"; }

  bool has_checkpoint() const;
  // A run that would be lost if another one began here.
  struct HeldRun {
    std::int64_t step = 0;  // steps done, as far as the checkpoint says
    bool finished = false;  // it has a model
  };
  // Nothing where there is neither a model nor a checkpoint that can be read.
  std::optional<HeldRun> held_run() const;
  // The command that started the run, as its log says; else one that repeats its configuration;
  // empty where there is neither.
  std::vector<std::string> first_command() const;
  // Throws what read_text and parse_train_config throw.
  TrainConfig read_config() const;

  // Makes the folder where there is none. Throws kIo.
  void create() const;
  // Removes an earlier run's files and writes the configuration. Throws kIo.
  void begin(const TrainConfig& config) const;
  void write_config(const TrainConfig& config) const;
  // Removes the temporary files that a killed process left.
  void tidy() const;

 private:
  std::filesystem::path path_;
};

// The log of a run that is given as its folder, or as the log itself.
std::filesystem::path log_path(const std::filesystem::path& run);

// The text of a file. Throws what read_file throws.
std::string read_text(const std::filesystem::path& path);

// The log as it grows: each line reaches the file whole or, where the process is killed, cut, which
// readers ignore.
class LogFile {
 public:
  // Replaces what is there by `text`, atomically; lines are appended to it. Throws kIo.
  LogFile(const std::filesystem::path& path, std::string_view text);
  // Throws kIo.
  void write(std::string_view line);
  // Returns when the lines are on the disk: what counts on them is written afterwards. Throws kIo.
  void sync() { file_.sync(); }

 private:
  AppendFile file_;
};

}  // namespace limpid::train
