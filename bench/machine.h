// What the figures were measured on.
#pragma once

#include <string>
#include <vector>

namespace bench {

struct Machine {
  std::string cpu;     // the model's name
  std::string isa;     // the vector extensions, fastest first
  std::string system;  // kernel and distribution
  std::string compiler;
  std::vector<int> cpus;  // that this process may use
};

Machine this_machine();

// Fused multiply-adds from registers, in GFLOP/s (two a multiply-add), on the calling thread: the
// best of several attempts. 0 where this program does not know the instructions.
double peak_gflops();

}  // namespace bench
