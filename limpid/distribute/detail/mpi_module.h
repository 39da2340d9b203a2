// What a module that speaks MPI offers: a table of C functions, so that one program works with any
// MPI. Each module is compiled against one of them, and loaded where that one's launcher is seen.
#pragma once

namespace limpid::distribute::detail {

// Calls are made one at a time, by any thread.
struct MpiModule {
  int version;  // kMpiModuleVersion
  // MPI_Init_thread. 0: it went well.
  int (*start)();
  int (*rank)();
  int (*size)();
  // Begin to send or receive; nullptr where MPI refuses. Memory stays until test() says 1.
  void* (*send)(const void* data, int bytes, int to, int tag);
  void* (*receive)(void* data, int bytes, int from, int tag);
  // 1: done, and the request is gone; 0: not yet; -1: failed.
  int (*test)(void* request);
  // MPI_Finalize; MPI_Abort.
  void (*end)();
  void (*abort)(int code);
};

inline constexpr int kMpiModuleVersion = 1;
inline constexpr const char* kMpiModuleSymbol = "limpid_mpi_module";

}  // namespace limpid::distribute::detail
