// The libraries of the comparison, and how their programs are started.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/machine.h"
#include "bench/process.h"

namespace bench {

struct Peer {
  std::string name;
  std::string library;  // the end of its program's name: subject_torch, start_torch
  std::string variant;  // its argument
  std::string blas;     // a folder whose libblas.so.3 it is to use
};

// Limpid first; without any of the others a comparison goes on.
const std::vector<Peer>& all_peers();

// What a peer's process is given: its BLAS library and threads, placed on the first CPUs. Debian's
// OpenBLAS takes Intel's newer CPUs for ones without AVX and is then five times slower; it is told
// what they are.
std::vector<std::pair<std::string, std::string>> environment(const std::string& blas,
                                                             const Machine& machine, int threads);
// Where Debian has OpenBLAS for OpenMP.
inline constexpr const char* kOpenBlas = "/usr/lib/x86_64-linux-gnu/openblas-openmp";

// Starts <prefix><library> of the folder that this program is in, with its threads placed on the
// first CPUs. Throws std::runtime_error where it was not built.
std::unique_ptr<Process> start(const Peer& peer, const std::string& prefix, const Machine& machine,
                               int threads);

}  // namespace bench
