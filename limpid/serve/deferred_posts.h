// DeferredPosts: tasks that a thread hands over to other threads one by one, handed over at once.
// Depends on nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>

namespace limpid::serve {

// A thread that runs tasks of others.
class Receiver {
 public:
  using Tasks = std::list<std::function<void()>>;

  virtual ~Receiver() = default;
  // Has the tasks run in their order, after those of earlier calls. Needs no memory, so that a
  // thread can report that it has none left.
  virtual void post(Tasks tasks) noexcept = 0;
};

// While one lives, its thread's calls of post() keep their tasks; its end posts those of each
// receiver together. A thread that computes is thus interrupted once by those that it wakes. There
// is one on a thread at a time.
class DeferredPosts {
 public:
  DeferredPosts();
  ~DeferredPosts();
  DeferredPosts(const DeferredPosts&) = delete;
  DeferredPosts& operator=(const DeferredPosts&) = delete;

  // Throws std::bad_alloc; then the task is dropped.
  static void post(const std::shared_ptr<Receiver>& receiver, std::function<void()> task);

  // A number of the one on this thread, which no later one has; 0: there is none.
  static std::uint64_t round();
};

}  // namespace limpid::serve
