// An MPI module (detail/mpi_module.h). It uses MPI only to send and receive bytes, and is compiled
// once for each MPI implementation.
#include <mpi.h>

#include <memory>

#include "limpid/distribute/detail/mpi_module.h"

namespace {

MPI_Comm ranks = MPI_COMM_NULL;  // a duplicate, so that no other library gets our messages

int start() {
  int level = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS ||
      level < MPI_THREAD_SERIALIZED)
    return 1;
  if (MPI_Comm_dup(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS) return 1;
  return MPI_Comm_set_errhandler(ranks, MPI_ERRORS_RETURN) == MPI_SUCCESS ? 0 : 1;
}

int rank() {
  int result = 0;
  MPI_Comm_rank(ranks, &result);
  return result;
}

int size() {
  int result = 1;
  MPI_Comm_size(ranks, &result);
  return result;
}

void* send(const void* data, int bytes, int to, int tag) {
  auto request = std::make_unique<MPI_Request>();
  if (MPI_Isend(data, bytes, MPI_BYTE, to, tag, ranks, request.get()) != MPI_SUCCESS)
    return nullptr;
  return request.release();
}

void* receive(void* data, int bytes, int from, int tag) {
  auto request = std::make_unique<MPI_Request>();
  if (MPI_Irecv(data, bytes, MPI_BYTE, from, tag, ranks, request.get()) != MPI_SUCCESS)
    return nullptr;
  return request.release();
}

int test(void* request) {
  int done = 0;
  if (MPI_Test(static_cast<MPI_Request*>(request), &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
    return -1;
  if (done == 0) return 0;
  delete static_cast<MPI_Request*>(request);
  return 1;
}

void end() {
  MPI_Comm_free(&ranks);
  MPI_Finalize();
}

void abort_all(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

}  // namespace

extern "C" __attribute__((visibility("default")))
const limpid::distribute::detail::MpiModule limpid_mpi_module = {
    limpid::distribute::detail::kMpiModuleVersion,
    start,
    rank,
    size,
    send,
    receive,
    test,
    end,
    abort_all};
