// What the figures were measured on.
#pragma once

#include <string>
#include <vector>

namespace bench {

struct Machine {
  std::string cpu;     // the model's name
  std::string vendor;  // "GenuineIntel", for one
  std::string isa;     // the vector extensions, fastest first
  std::string system;  // kernel and distribution
  std::string compiler;
  std::string flags;      // that limpid is compiled with
  std::vector<int> cpus;  // that this process may use
};

Machine this_machine();

}  // namespace bench
