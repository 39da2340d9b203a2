// Makes the choice of a process by its environment, and writes what it reached: choices.py.
#include "limpid_choice.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" {
int limpid_choice;
unsigned char limpid_choices_reached[sizeof limpid_choices_reached];
}

namespace {
// A test may start many processes. Each writes its own file.
void write_reached() {
  const char* const folder = std::getenv("LIMPID_CHOICES_REACHED");
  if (!folder) return;
  const std::string path = std::string(folder) + "/" + std::to_string(getpid());
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (!file) return;
  std::fwrite(limpid_choices_reached, 1, sizeof limpid_choices_reached, file);
  std::fclose(file);
}
// Before all other objects with a constructor.
[[gnu::constructor(101)]] void begin() {
  const char* const number = std::getenv("LIMPID_CHOICE");
  limpid_choice = number ? std::atoi(number) : 0;
  std::atexit(write_reached);
}
}  // namespace
