// The folder of a training run: config.json, log.jsonl, checkpoint.safetensors, model.safetensors.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "limpid/train/run_log.h"

namespace limpid::tool {

class RunFolder {
 public:
  // The path alone; nothing is looked at.
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path config() const { return path_ / "config.json"; }
  std::filesystem::path log() const { return path_ / "log.jsonl"; }
  std::filesystem::path checkpoint() const { return path_ / "checkpoint.safetensors"; }
  std::filesystem::path model() const { return path_ / "model.safetensors"; }
  std::filesystem::path report() const { return path_ / "report.html"; }
  const std::filesystem::path& path() const { return path_; }

  bool has_checkpoint() const;

  // Removes the temporary files that a killed process left.
  void tidy() const;
  // Makes the folder, empties it of an earlier run, and writes its configuration. Throws kIo.
  void begin(std::string_view config_json);

 private:
  std::filesystem::path path_;
};

// The text of a file. Throws what read_file throws.
std::string read_text(const std::filesystem::path& path);

// The log as it grows: each line reaches the file whole or, where the process is killed, cut, which
// readers pass over.
class LogFile {
 public:
  // Replaces what is there by `text`, atomically, and goes on behind it. Throws kIo.
  LogFile(const std::filesystem::path& path, std::string_view text);
  // Throws kIo.
  void write(std::string_view line);

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace limpid::tool
