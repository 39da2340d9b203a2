// A library used from a program in another language: its child process, and files that pass models
// and numbers to it.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/process.h"
#include "bench/subject.h"

namespace bench {

// Absolute paths of a file of this folder, and of ONNX Runtime's npm packages in the build.
std::string source_path(const std::string& name);
std::string node_modules();
// The Python interpreter with PyTorch: the environment's LIMPID_BENCH_PYTHON, or Debian's.
std::string python();

class Foreign {
 public:
  explicit Foreign(const Process::Options& options);
  ~Foreign();
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  Process& process() { return process_; }
  // A path in a folder that is removed with this object.
  std::string path(const std::string& name) const { return folder_ / name; }
  // Writes numbers to such a path, little-endian, and returns it.
  std::string file(const std::string& name, std::span<const std::byte> bytes) const;

  // The call that the answer to a preparing command describes.
  static TimesItself timing(const std::shared_ptr<Foreign>& self);

 private:
  Process process_;
  std::filesystem::path folder_;
};

}  // namespace bench
