// SIGINT, SIGTERM and SIGHUP as a wish that long work can look at, instead of the end of the
// process.
#pragma once

#include <csignal>
#include <stdexcept>
#include <string>

namespace limpid::tool {

// While it lives, the first of these signals is remembered. The same SIGINT or SIGTERM again ends
// the process as always. SIGHUP may come several times, from the system and from the shell, and
// means the same each time; where it was ignored (nohup) it stays so. One object at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The signal that came first, 0 while none did.
  static int received();
  // Acts as if SIGHUP had come: a write failed since the terminal was closed, before the signal.
  static void hang_up();

 private:
  struct sigaction interrupt_ {
  }, terminate_{}, hang_up_{};
};

// Work was given up because of a signal, in good order: exit code 128 + signal, as shells have it.
class Interrupted : public std::runtime_error {
 public:
  Interrupted(int signal, const std::string& message)
      : std::runtime_error(message), signal_(signal) {}
  int exit_code() const { return 128 + signal_; }

 private:
  int signal_;
};

}  // namespace limpid::tool
