// Worker: threads for rare, long tasks, which begin one after another.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "limpid/serve/ticket.h"

namespace limpid::serve {

class Worker {
 public:
  // Starts the threads, at least one.
  explicit Worker(int threads = 1);
  // Waits for the tasks that have begun and drops the others.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Posts a task, which must not throw. Returns false if 16 tasks are waiting already. A task that
  // waits is dropped once its ticket is given up.
  bool post(std::function<void()> task, std::shared_ptr<const Ticket> ticket = nullptr);

 private:
  struct Task {
    bool is_given_up() const { return ticket && ticket->given_up(); }

    std::function<void()> run;
    std::shared_ptr<const Ticket> ticket;
  };

  void work();
  void end();

  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<Task> tasks_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace limpid::serve
