// The interface of an MPI module: a table of C functions, so that one program works with any MPI
// implementation. Each module is compiled against one implementation, and loaded when its launcher
// is detected.
#pragma once

namespace limpid::distribute::detail {

// Calls are serialised, but may come from any thread.
struct MpiModule {
  int version;  // kMpiModuleVersion
  // MPI_Init_thread. Returns 0 on success.
  int (*start)();
  int (*rank)();
  int (*size)();
  // Start to send or receive; nullptr on failure. The memory must stay valid until test() returns
  // 1.
  void* (*send)(const void* data, int bytes, int to, int tag);
  void* (*receive)(void* data, int bytes, int from, int tag);
  // 1: done, and the request is freed; 0: not yet; -1: failed.
  int (*test)(void* request);
  // MPI_Finalize; MPI_Abort.
  void (*end)();
  void (*abort)(int code);
};

inline constexpr int kMpiModuleVersion = 1;
inline constexpr const char* kMpiModuleSymbol = "limpid_mpi_module";

}  // namespace limpid::distribute::detail
