// Together: what a thread hands over to other threads piece by piece, handed over at once. Depends
// on nothing.
#pragma once

#include <functional>

namespace limpid::serve {

// While one lives, its thread's calls of hand_over() keep their tasks; its end posts those of each
// receiver as one. A thread that computes is thus interrupted once by those that it wakes. There is
// one on a thread at a time.
class Together {
 public:
  using Task = std::function<void()>;
  using Post =
      std::function<void(Task task)>;  // has a task run on another thread, after earlier ones

  Together();
  ~Together();
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

  // The address tells receivers apart.
  static void hand_over(const void* receiver, const Post& post, Task task);
};

}  // namespace limpid::serve
