#include "limpid/train/run/environment.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <string>

#include "limpid/kernels/isa.h"

namespace limpid::train {
namespace {

// The processor's name as Linux gives it; on Arm there is none.
std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string system_name() {
  utsname names{};
  if (::uname(&names) != 0) return "unknown";
  return fmt::format("{} {} {}", names.sysname, names.release, names.machine);
}

}  // namespace

RunEvent::Environment environment(int threads) {
#ifdef __clang__
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "gcc " __VERSION__;
#endif
  return {std::string(kernels::name(kernels::default_isa())), threads, cpu_name(), system_name(),
          compiler};
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

std::string library_version() { return LIMPID_VERSION; }

}  // namespace limpid::train
