#include "bench/machine.h"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "bench/cpus.h"

namespace bench {
namespace {

// The value of a "key : value" or KEY=value line, without quotes.
std::string line_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const std::size_t value = line.find_first_not_of("\t :=\"", key.size());
    if (value == std::string::npos) continue;
    line = line.substr(value);
    line.erase(std::remove(line.begin(), line.end(), '"'), line.end());
    return line;
  }
  return "unknown";
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.cpu = line_of("/proc/cpuinfo", "model name");
  machine.vendor = line_of("/proc/cpuinfo", "vendor_id");
  const std::string flags = " " + line_of("/proc/cpuinfo", "flags") + " ";
  for (const char* name : {"amx_bf16", "avx512_bf16", "avx512_vnni", "avx512f", "fma", "avx2"})
    if (flags.find(" " + std::string(name) + " ") != std::string::npos)
      machine.isa += (machine.isa.empty() ? "" : " ") + std::string(name);
  utsname system;
  uname(&system);
  machine.system = std::string(system.sysname) + " " + system.release + ", " +
                   line_of("/etc/os-release", "PRETTY_NAME");
#ifdef __clang__
  machine.compiler = "Clang " __clang_version__;
#else
  machine.compiler = "GCC " __VERSION__;
#endif
  machine.cpus = allowed_cpus();
#ifdef LIMPID_FLAGS
  machine.flags = LIMPID_FLAGS;
#endif
  return machine;
}

std::vector<int> numbers_of_threads(const std::vector<int>& asked, const Machine& machine) {
  const int most = static_cast<int>(machine.cpus.size());
  if (asked.empty()) return most < 2 ? std::vector{1} : std::vector{1, 2};
  for (const int threads : asked)
    if (threads > most)
      throw std::runtime_error("--threads: expected at most " + std::to_string(most) +
                               ", the number of CPUs, got " + std::to_string(threads));
  return asked;
}

}  // namespace bench
