#include "limpid/core/stop_check.h"

namespace limpid {
namespace {

thread_local StopCheck* check_of_thread = nullptr;

}  // namespace

const char* Stopped::what() const noexcept { return "stopped"; }

StopScope::StopScope(StopCheck* check) noexcept : before_(std::exchange(check_of_thread, check)) {}
StopScope::~StopScope() { check_of_thread = before_; }

StopCheck* StopScope::check() noexcept { return check_of_thread; }

void throw_if_stopped() {
  if (check_of_thread && check_of_thread->stops()) throw Stopped();
}

}  // namespace limpid
