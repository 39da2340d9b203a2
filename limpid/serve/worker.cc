#include "limpid/serve/worker.h"

#include <utility>

namespace limpid::serve {
namespace {

constexpr std::size_t kMostTasks = 16;

}  // namespace

Worker::Worker(int threads) {
  try {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (...) {  // the system has no more threads
    end();
    throw;
  }
}

Worker::~Worker() { end(); }

void Worker::end() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  posted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Worker::post(std::function<void()> task, std::shared_ptr<const Ticket> ticket) {
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() >= kMostTasks)
      std::erase_if(tasks_, [](const Task& waiting) { return waiting.is_given_up(); });
    if (tasks_.size() >= kMostTasks) return false;
    tasks_.push_back({std::move(task), std::move(ticket)});
  }
  posted_.notify_one();
  return true;
}

void Worker::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    posted_.wait(lock, [&] { return stop_ || !tasks_.empty(); });
    if (stop_) return;
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    if (!task.is_given_up()) task.run();
    lock.lock();
  }
}

}  // namespace limpid::serve
