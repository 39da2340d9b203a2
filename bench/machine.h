// A description of the machine.
#pragma once

#include <string>
#include <vector>

namespace bench {

struct Machine {
  std::string cpu;     // the model's name
  std::string vendor;  // such as "GenuineIntel"
  std::string isa;     // the vector extensions, fastest first
  std::string system;  // kernel and distribution
  std::string compiler;
  std::string flags;      // compiler flags of limpid
  std::vector<int> cpus;  // usable by this process
};

Machine this_machine();

// The numbers of threads to measure: those asked for, or 1 and 2 as far as there are CPUs. Throws
// std::runtime_error if there are fewer CPUs than asked for.
std::vector<int> numbers_of_threads(const std::vector<int>& asked, const Machine& machine);

}  // namespace bench
