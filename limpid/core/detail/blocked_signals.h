// Keeps signals away from the library's threads: signals belong to the program's own threads.
#pragma once

#include <csignal>

namespace limpid::detail {

// Blocks all signals in this thread for its lifetime. A thread that is started meanwhile inherits
// the mask.
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
