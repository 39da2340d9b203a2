// ModelFolder: a folder whose models are served as they come, change and leave. Leans on models.h
// and access_log.h.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "limpid/serve/access_log.h"
#include "limpid/serve/models.h"

namespace limpid::serve {

// Every file NAME.safetensors or NAME.onnx and every folder NAME is a model NAME, or, called
// NAME@VERSION, a version of one; what begins with a dot is none. The folder is looked at every
// second. What changed is read once it stays as it is for a second; a model that cannot be read
// leaves the one before it serving, and the log and the index say so.
class ModelFolder {
 public:
  // Reads what is there. Throws kIo where there is no such folder. Both must outlive this.
  ModelFolder(std::string path, Models& models, AccessLog& log);
  // Waits for the model that is being read.
  ~ModelFolder();
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

 private:
  // What tells whether a model changed: names, sizes, times and numbers of its files.
  using Stamp = std::string;
  struct Known {
    Models::Id id;
    Stamp read;  // of the model as it was read
  };
  using Seen = std::map<std::string, Stamp>;  // by the name in the folder

  void watch();
  bool look(Seen& seen) const;
  void add(const std::string& name);
  void read(const std::string& name, const Stamp& stamp);
  void remove_others(const Seen& seen);

  const std::string path_;
  Models& models_;
  AccessLog& log_;
  Seen last_;
  std::map<std::string, Known> known_;
  std::set<std::string> refused_;  // names that cannot be served
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace limpid::serve
