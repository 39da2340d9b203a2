// ModelFolder: watches a folder and serves its models as they are added, changed and removed.
// Depends on models.h and access_log.h.
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

// Every file NAME.safetensors or NAME.onnx and every folder NAME is a model NAME; NAME@VERSION is a
// version of it; names that begin with a dot are ignored. The folder is checked every second. A
// changed model is read when it has not changed for a second. If a model cannot be read, the
// previous one stays in service, and the log and the index give the reason.
class ModelFolder {
 public:
  // Reads the models in the folder. Throws kIo if there is no such folder. `models` and `log` must
  // outlive this.
  ModelFolder(std::string path, Models& models, AccessLog& log);
  // Waits until the current model is read.
  ~ModelFolder();
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

 private:
  // Identifies a state of a model: names, sizes, times and inode numbers of its files.
  using Stamp = std::string;
  struct Known {
    Models::Id id;
    Stamp read;     // of the model that was read, or that cannot be read
    int skip = 0;   // looks until it is tried again after it found no memory
    int pause = 0;  // looks between the next two tries
  };
  using Seen = std::map<std::string, Stamp>;  // by name in the folder

  void watch();
  void look_again();
  bool look(Seen& seen) const;
  void add(const std::string& name);
  void read(const std::string& name, const Stamp& stamp);
  void remove_others(const Seen& seen);

  const std::string path_;
  Models& models_;
  AccessLog& log_;
  Seen last_;
  std::map<std::string, Known> known_;
  std::set<std::string> refused_;  // names that were refused, as the log says
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace limpid::serve
