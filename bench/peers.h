// The libraries of the comparison, and the start of their programs.
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
  std::string blas;     // the folder with the libblas.so.3 to use
};

// Limpid is first. A comparison leaves out the others if they are missing.
const std::vector<Peer>& all_peers();

// The options of a peer's process: its BLAS library, and threads placed on the first CPUs. Debian's
// OpenBLAS mistakes newer Intel CPUs for ones without AVX, which makes it five times slower; an
// environment variable corrects it.
std::vector<std::pair<std::string, std::string>> environment(const std::string& blas,
                                                             const Machine& machine, int threads);
// The folder of Debian's OpenBLAS for OpenMP.
inline constexpr const char* kOpenBlas = "/usr/lib/x86_64-linux-gnu/openblas-openmp";

// Starts <prefix><library> from the folder of this program, with its threads on the first CPUs.
// Throws std::runtime_error if it was not built.
std::unique_ptr<Process> start(const Peer& peer, const std::string& prefix, const Machine& machine,
                               int threads);

}  // namespace bench
