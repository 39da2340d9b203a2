// No signals for the threads that the library starts: they belong to the program's own.
#pragma once

#include <csignal>

namespace limpid::detail {

// While it lives, this thread takes no signals. A thread inherits the mask of the one that starts
// it.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace limpid::detail
