// The folder of a training run and its files. Depends on config.h and formats/file.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limpid/formats/file.h"
#include "limpid/models/open_model.h"
#include "limpid/train/config/config.h"

namespace limpid::train {

class RunFolder {
 public:
  // Stores the path; does not access the folder.
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.json"; }
  std::filesystem::path log() const { return path_ / "log.jsonl"; }
  std::filesystem::path checkpoint() const { return path_ / "checkpoint.safetensors"; }
  std::filesystem::path model() const { return path_ / kRunModelFile; }
  // Of a run that trains adapters: a folder in PEFT's format.
  std::filesystem::path adapter() const { return path_ / "adapter"; }
  std::filesystem::path report() const { return path_ / "report.html"; }

  bool has_checkpoint() const;
  // A run in the folder, which a new run would overwrite.
  struct HeldRun {
    std::int64_t step = 0;  // steps done, from the checkpoint
    bool finished = false;  // it has a model
  };
  // nullopt if there is neither a model nor a readable checkpoint.
  std::optional<HeldRun> held_run() const;
  // A file that begin() would replace, in a folder that no run wrote into: it has neither a run's
  // configuration nor its log or checkpoint. nullopt if there is no such file.
  std::optional<std::filesystem::path> foreign_file() const;
  // The command that started the run, from its log; else a command that reproduces its
  // configuration; empty if there is neither.
  std::vector<std::string> first_command() const;
  // Throws what read_text and parse_train_config throw.
  TrainConfig read_config() const;

  // Creates the folder if necessary. Throws kIo.
  void create() const;
  // Removes the files of an earlier run, but for its model, and writes the configuration. Call it
  // only if there is no foreign_file(). Throws kIo.
  void begin(const TrainConfig& config) const;
  // Removes the model of an earlier run, once the new one has a checkpoint. Throws kIo.
  void remove_model() const;
  void write_config(const TrainConfig& config) const;
  // Removes the temporary files of killed processes. Those of a living process stay.
  void tidy() const;

 private:
  std::filesystem::path path_;
};

// The path of a run's log, given the run folder or the log itself.
std::filesystem::path log_path(const std::filesystem::path& run);

// The text of a file. Throws what read_file throws.
std::string read_text(const std::filesystem::path& path);

// A log file to append to. If the process is killed, the last line may be cut, which readers
// ignore.
class LogFile {
 public:
  // Replaces the file by `text`, atomically; write() appends to it. Throws kIo.
  LogFile(const std::filesystem::path& path, std::string_view text);
  // Throws kIo.
  void write(std::string_view line);
  // Returns when all lines are on the disk (fsync). Call it before writing a file that depends on
  // them. Throws kIo.
  void sync() { file_.sync(); }

 private:
  AppendFile file_;
};

}  // namespace limpid::train
