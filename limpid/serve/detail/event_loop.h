// EventLoop: the thread of all connections, as a receiver of other threads' tasks. Included only
// by server.cc and connection.cc, as Asio's headers are slow to compile.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <mutex>
#include <utility>

#include "limpid/serve/deferred_posts.h"

namespace limpid::serve {

// Keeps memory for the one handler that is posted at a time: posting never fails for want of
// memory.
class EventLoop final : public Receiver {
 public:
  boost::asio::io_context& context() { return context_; }
  bool is_this_thread() const { return context_.get_executor().running_in_this_thread(); }

  // The tasks must not throw.
  void post(Tasks tasks) noexcept override {
    const std::lock_guard lock(mutex_);
    tasks_.splice(tasks_.end(), tasks);
    if (!std::exchange(posted_, true)) boost::asio::post(context_, RunTasks{this});
  }

 private:
  static constexpr std::size_t kRoom = 128;

  template <typename T>
  struct Allocator {
    using value_type = T;

    explicit Allocator(std::byte* its_room) : room(its_room) {}
    template <typename U>
    explicit Allocator(const Allocator<U>& other) : room(other.room) {}
    T* allocate(std::size_t) {
      static_assert(sizeof(T) <= kRoom);
      return reinterpret_cast<T*>(room);
    }
    void deallocate(T*, std::size_t) {}
    bool operator==(const Allocator&) const = default;

    std::byte* room;
  };

  struct RunTasks {
    using allocator_type = Allocator<void>;

    allocator_type get_allocator() const { return allocator_type(loop->room_.data()); }
    void operator()() const { loop->run_tasks(); }

    EventLoop* loop;
  };

  // The room is free again: Asio has moved the handler out of it.
  void run_tasks() {
    Tasks tasks;
    {
      const std::lock_guard lock(mutex_);
      tasks.swap(tasks_);
      posted_ = false;
    }
    for (const auto& task : tasks) task();
  }

  std::mutex mutex_;
  Tasks tasks_;  // guarded by the mutex
  bool posted_ = false;
  alignas(std::max_align_t) std::array<std::byte, kRoom> room_;
  // Declared last: its destructor destroys a handler that is still in the room.
  mutable boost::asio::io_context context_{BOOST_ASIO_CONCURRENCY_HINT_SAFE};
};

}  // namespace limpid::serve
