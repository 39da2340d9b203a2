// Worker: a thread for what takes long and is rare, one task after the other.
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
  // Waits for the task under way; drops the others.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // A task, which must not throw. False where 16 wait already.
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
