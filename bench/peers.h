// The libraries of the comparison, and how their programs are started.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
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

// Starts <prefix><library> of the folder that this program is in, with its threads placed on the
// first CPUs. Throws std::runtime_error where it was not built.
std::unique_ptr<Process> start(const Peer& peer, const std::string& prefix, const Machine& machine,
                               int threads);

}  // namespace bench
