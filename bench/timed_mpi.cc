// An MPI module that measures the time of another one: run `LIMPID_MPI_MODULES=FOLDER
// LIMPID_TIMED_MODULE=FILE mpirun -n 2 limpid train ...`, with this module as
// FOLDER/limpid-mpi-openmpi.so and the other one as FILE. At the end each rank prints its time in
// exchanges. Time counts from the first message of an exchange to the end of the last, also while
// the rank computes: give each rank one subtree.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "limpid/distribute/detail/mpi_module.h"

namespace {

using Clock = std::chrono::steady_clock;
using limpid::distribute::detail::MpiModule;

struct Request {
  void* of_module;
  bool timed;
};

const MpiModule* module = nullptr;
int exchanging = 0;  // requests of the current exchange
Clock::time_point began;
std::chrono::duration<double> in_exchanges{};
long exchanges = 0;

int start() {
  const char* const file = std::getenv("LIMPID_TIMED_MODULE");
  void* const library = file ? ::dlopen(file, RTLD_NOW | RTLD_GLOBAL) : nullptr;
  const void* const table =
      library ? ::dlsym(library, limpid::distribute::detail::kMpiModuleSymbol) : nullptr;
  if (!table) {
    std::fprintf(stderr, "timed_mpi: expected an MPI module in LIMPID_TIMED_MODULE, got %s\n",
                 file ? file : "");
    return 1;
  }
  module = static_cast<const MpiModule*>(table);
  return module->start();
}

int rank() { return module->rank(); }
int size() { return module->size(); }

// An exchange lasts from its first request to the end of its last one. Heartbeats do not count.
void* follow(void* request, int tag) {
  if (!request) return nullptr;
  const bool timed = tag == 1;
  if (timed && exchanging++ == 0) began = Clock::now();
  return new Request{request, timed};
}

void* send(const void* data, int bytes, int to, int tag) {
  return follow(module->send(data, bytes, to, tag), tag);
}

void* receive(void* data, int bytes, int from, int tag) {
  return follow(module->receive(data, bytes, from, tag), tag);
}

int test(void* request) {
  auto* const followed = static_cast<Request*>(request);
  const int state = module->test(followed->of_module);
  if (state == 0) return 0;
  if (followed->timed && --exchanging == 0) {
    in_exchanges += Clock::now() - began;
    ++exchanges;
  }
  delete followed;
  return state;
}

void end() {
  std::printf("timed_mpi: rank %d, %ld exchanges, %.6f s\n", rank(), exchanges,
              in_exchanges.count());
  module->end();
}

void abort_all(int code) { module->abort(code); }

}  // namespace

extern "C" __attribute__((visibility("default")))
const MpiModule limpid_mpi_module = {limpid::distribute::detail::kMpiModuleVersion,
                                     start,
                                     rank,
                                     size,
                                     send,
                                     receive,
                                     test,
                                     end,
                                     abort_all};
