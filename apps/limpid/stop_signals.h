// SIGINT and SIGTERM as a wish that long work can look at, instead of the end of the process.
#pragma once

#include <csignal>
#include <stdexcept>
#include <string>

namespace limpid::tool {

// While it lives, the first of the two signals is remembered; a second one ends the process as
// always. One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The signal that came, 0 while none did.
  static int received();

 private:
  struct sigaction interrupt_ {
  }, terminate_{};
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
