#include "signals.h"

#include "lock.h"

#ifdef __linux__
#include <unistd.h>
#endif

namespace limpid::python {
namespace {

// Where this is not known, the interpreter finds out.
bool may_be_main_thread() {
#ifdef __linux__
  return gettid() == getpid();
#else
  return true;
#endif
}

}  // namespace

StopCheck signal_check() {
  return StopCheck([] {
    if (!may_be_main_thread()) return false;
    const Locked lock;
    return PyErr_CheckSignals() != 0;
  });
}

}  // namespace limpid::python
