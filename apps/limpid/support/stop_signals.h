// Turns SIGINT, SIGTERM and SIGHUP into a flag that long work can poll, instead of ending the
// process.
#pragma once

#include <csignal>
#include <stdexcept>
#include <string>

namespace limpid::tool {

// For its lifetime, records the first of these signals. A second SIGINT or SIGTERM of the same kind
// ends the process as usual. SIGHUP may arrive several times, from the system and from the shell,
// and counts once; if it was ignored (nohup), it stays ignored. Only one object at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The first signal received; 0 if none.
  static int received();
  // Acts as if SIGHUP had been received: for a write that failed because the terminal was closed,
  // before the signal.
  static void hang_up();

 private:
  struct sigaction interrupt_ {
  }, terminate_{}, hang_up_{};
};

// Work was stopped cleanly because of a signal: exit code 128 + signal, as in shells.
class Interrupted : public std::runtime_error {
 public:
  Interrupted(int signal, const std::string& message)
      : std::runtime_error(message), signal_(signal) {}
  int exit_code() const { return 128 + signal_; }

 private:
  int signal_;
};

}  // namespace limpid::tool
