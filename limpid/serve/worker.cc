#include "limpid/serve/worker.h"

namespace limpid::serve {
namespace {

constexpr std::size_t kMostTasks = 16;

}  // namespace

Worker::Worker() : thread_([this] { work(); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  posted_.notify_one();
  thread_.join();
}

bool Worker::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() >= kMostTasks) return false;
    tasks_.push_back(std::move(task));
  }
  posted_.notify_one();
  return true;
}

void Worker::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    posted_.wait(lock, [&] { return stop_ || !tasks_.empty(); });
    if (stop_) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace limpid::serve
