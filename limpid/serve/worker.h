// Worker: a thread for rare, long tasks, which run one after another.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace limpid::serve {

class Worker {
 public:
  Worker();
  // Waits for the current task and drops the others.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Posts a task, which must not throw. Returns false if 16 tasks are waiting already.
  bool post(std::function<void()> task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> tasks_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace limpid::serve
