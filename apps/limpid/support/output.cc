#include "apps/limpid/support/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

#include "limpid/core/error.h"
#include "limpid/core/number_text.h"
#include "limpid/inspect/table.h"

namespace limpid::tool {
namespace {

[[noreturn]] void throw_unwritten(int reason) {
  throw Error(ErrorCode::kIo, fmt::format("standard output: {}", std::strerror(reason)));
}

void write(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw_unwritten(errno);
}

}  // namespace

bool is_terminal() { return isatty(STDOUT_FILENO) == 1; }

void print(std::string_view text) {
  if (is_terminal())
    write(printable(text, "\n\t"));
  else
    write(text);
}

void print_control(std::string_view sequence) { write(sequence); }

// Names come from files: invalid UTF-8 in them is replaced.
void print_json(const Json& document) {
  print(document.dump({.indent = 2, .replace_invalid = true}) + "\n");
}

void flush() {
  errno = 0;
  if (std::fflush(stdout) != 0) throw_unwritten(errno);
}

void print_error(std::string_view message) {
  const std::string line = fmt::format("limpid: {}\n", printable(message));
  // If standard error fails, only the exit code can tell.
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void print_note(std::string_view message) { print_error("note: " + std::string(message)); }

Json json_of(float number) {
  if (!std::isfinite(number)) return nullptr;
  return as_printed(number);
}

Json json_of(double number) {
  if (!std::isfinite(number)) return nullptr;
  return number;
}

Json json_of(const Shape& shape) {
  Json list = Json::array();
  for (std::int64_t d : shape) list.push_back(d);
  return list;
}

Json json_of(const Tensor& tensor) {
  Json list = Json::array();
  for (float v : tensor.values<float>()) list.push_back(json_of(v));
  return list;
}

}  // namespace limpid::tool
