#include "bench/foreign.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace bench {
namespace {

std::filesystem::path new_folder() {
  std::string name = std::filesystem::temp_directory_path() / "limpid-bench-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  return name;
}

}  // namespace

// The compiler is given both for this source alone, so that its cache knows the others from another
// clone.
std::string source_path(const std::string& name) { return BENCH_SOURCES "/" + name; }
std::string node_modules() { return BENCH_NODE_MODULES; }

std::string python() {
  const char* const chosen = std::getenv("LIMPID_BENCH_PYTHON");
  return chosen && *chosen ? chosen : "/usr/bin/python3";
}

Foreign::Foreign(const Process::Options& options) : process_(options), folder_(new_folder()) {}

Foreign::~Foreign() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string Foreign::file(const std::string& name, std::span<const std::byte> bytes) const {
  std::ofstream out(path(name), std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + path(name));
  return path(name);
}

TimesItself Foreign::timing(const std::shared_ptr<Foreign>& self) {
  return [self](double milliseconds) {
    return self->process().ask("time " + std::to_string(milliseconds));
  };
}

}  // namespace bench
