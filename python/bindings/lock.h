// The interpreter's lock, given away and taken. At the end of a program Python ends every other
// thread that asks for the lock, by pthread_exit(): that unwinds the thread's stack, and a
// destructor on the way would end the process by std::terminate(). Such a thread waits here until
// the process has ended, as Python does itself from version 3.14 on. Depends on bindings.h.
#pragma once

#include <cxxabi.h>
#include <unistd.h>

#include "bindings.h"

namespace limpid::python {

template <class Take>
void take_lock(const Take& take) noexcept {
  try {
    take();
  } catch (const abi::__forced_unwind&) {
    for (;;) pause();
  }
}

// While it lives, the calling thread does not hold the lock.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() {
    take_lock([this] { PyEval_RestoreThread(state_); });
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

// While it lives, the calling thread holds the lock, whether it did before or not.
class Locked {
 public:
  Locked() {
    take_lock([this] { before_ = PyGILState_Ensure(); });
  }
  ~Locked() { PyGILState_Release(before_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE before_;
};

}  // namespace limpid::python
