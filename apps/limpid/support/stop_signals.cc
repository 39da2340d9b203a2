#include "apps/limpid/support/stop_signals.h"

namespace limpid::tool {
namespace {

volatile std::sig_atomic_t received_signal = 0;

extern "C" void remember(int signal) {
  if (received_signal == 0) received_signal = signal;
}

}  // namespace

StopSignals::StopSignals() {
  received_signal = 0;
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &interrupt_);
  ::sigaction(SIGTERM, &action, &terminate_);
  action.sa_flags = static_cast<int>(SA_RESTART);
  ::sigaction(SIGHUP, nullptr, &hang_up_);
  if (hang_up_.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
}

StopSignals::~StopSignals() {
  ::sigaction(SIGINT, &interrupt_, nullptr);
  ::sigaction(SIGTERM, &terminate_, nullptr);
  ::sigaction(SIGHUP, &hang_up_, nullptr);
}

int StopSignals::received() { return received_signal; }
void StopSignals::hang_up() { remember(SIGHUP); }

}  // namespace limpid::tool
