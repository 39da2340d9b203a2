#include "limpid/serve/model_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <new>
#include <utility>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"

namespace limpid::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kBetweenLooks{1};

bool is_model(const fs::path& path, const std::string& name) {
  std::error_code ignored;
  if (name.starts_with('.')) return false;
  if (fs::is_directory(path, ignored)) return true;
  return path.extension() == ".safetensors" || path.extension() == ".onnx";
}

bool is_lack_of_memory(const std::exception& thrown) {
  const auto* const error = dynamic_cast<const Error*>(&thrown);
  return error ? error->code() == ErrorCode::kNoMemory
               : dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr;
}

// Identifies a state of a file; also defined for a missing file.
std::string stamp_of_file(const fs::path& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return "gone;";
  // The time of the last change, not of the last write: it includes permissions, so that a file
  // that could not be read is tried again after chmod.
  return fmt::format("{}:{}:{}:{}.{};", facts.st_dev, facts.st_ino, facts.st_size,
                     facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec);
}

std::string stamp_of(const fs::path& path) {
  std::string stamp = stamp_of_file(path);
  std::error_code error;
  if (!fs::is_directory(path, error)) return stamp;
  std::vector<std::string> files;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    files.push_back(at->path().filename());
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) stamp += file + "=" + stamp_of_file(path / file);
  return stamp;
}

}  // namespace

ModelFolder::ModelFolder(std::string path, Models& models, AccessLog& log)
    : path_(std::move(path)), models_(models), log_(log) {
  Seen seen;
  if (!look(seen))
    throw Error(ErrorCode::kIo,
                fmt::format("serve: {}: the folder cannot be read", in_quotes(path_)));
  for (const auto& [name, stamp] : seen) {
    add(name);
    read(name, stamp);
  }
  last_ = std::move(seen);
  thread_ = std::thread([this] { watch(); });
}

ModelFolder::~ModelFolder() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void ModelFolder::watch() {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, kBetweenLooks, [&] { return stop_; })) {
    lock.unlock();
    try {
      look_again();
    } catch (const std::exception& error) {
      // Out of memory: the next look tries again.
      log_.event("look failed", error.what());
    }
    lock.lock();
  }
}

void ModelFolder::look_again() {
  Seen seen;
  // Keeps serving the models if the folder cannot be read for a while.
  if (!look(seen)) return;
  remove_others(seen);
  for (const auto& [name, stamp] : seen) {
    if (!known_.contains(name)) add(name);
    const auto before = last_.find(name);
    if (before != last_.end() && before->second == stamp)
      read(name, stamp);
    else if (const auto changed = known_.find(name); changed != known_.end())
      changed->second.skip = changed->second.pause = 0;
  }
  last_ = std::move(seen);
}

// Returns false if the folder cannot be read.
bool ModelFolder::look(Seen& seen) const {
  std::error_code error;
  fs::directory_iterator at(path_, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename();
    if (is_model(at->path(), name)) seen[name] = stamp_of(at->path());
  }
  return !error;
}

void ModelFolder::add(const std::string& name) {
  const fs::path path = fs::path(path_) / name;
  std::error_code ignored;
  const std::string called = fs::is_directory(path, ignored) ? name : path.stem().string();
  try {
    if (called.find('=') != std::string::npos)
      throw Error(ErrorCode::kInvalidArgument, "serve: a model's name has no =");
    known_[name] = {models_.add(called + "=" + path.string(), true), ""};
  } catch (const Error& error) {
    // Tried again at every look: the model that has the name may leave.
    if (refused_.insert(name).second)
      log_.event("load failed", fmt::format("{}: {}", name, error.what()));
  }
}

// Does nothing if this state of the model was read. A model that found no memory is read again, at
// growing intervals: a large one may never find enough.
void ModelFolder::read(const std::string& name, const Stamp& stamp) {
  constexpr int kLongestPause = 60;
  const auto found = known_.find(name);
  if (found == known_.end() || found->second.read == stamp) return;
  Known& known = found->second;
  if (known.skip > 0) {
    --known.skip;
    return;
  }
  Stamp read = stamp;
  try {
    models_.load(known.id.name, known.id.version);
    known.read = std::move(read);
    known.pause = 0;
    log_.event("load", fmt::format("{} from {}", known.id.name, name));
  } catch (const std::exception& error) {
    if (is_lack_of_memory(error)) {
      known.skip = known.pause;
      known.pause = std::min(2 * known.pause + 1, kLongestPause);
    } else {
      known.read = std::move(read);
    }
    log_.event("load failed", fmt::format("{}: {}", name, error.what()));
  }
}

void ModelFolder::remove_others(const Seen& seen) {
  std::erase_if(refused_, [&](const std::string& name) { return !seen.contains(name); });
  std::erase_if(known_, [&](const auto& one) {
    if (seen.contains(one.first)) return false;
    models_.remove(one.second.id);
    log_.event("unload", fmt::format("{}: {} is gone", one.second.id.name, one.first));
    return true;
  });
}

}  // namespace limpid::serve
