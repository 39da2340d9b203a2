// The targets as a program for libFuzzer: --target=NAME chooses one. With --write=FOLDER it only
// writes the target's seeds to FOLDER/seeds and its dictionary to FOLDER/words.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "limpid/core/error.h"
#include "tests/fuzz/support.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed);

namespace {

namespace fs = std::filesystem;
using limpid::fuzz::Bytes;

const limpid::fuzz::Target* chosen = nullptr;

const limpid::fuzz::Target& target() { return *chosen; }

void choose(std::string_view name) {
  std::string names;
  for (const limpid::fuzz::Target* one : limpid::fuzz::all_targets()) {
    if (one->name == name) chosen = one;
    names += fmt::format(" {}", one->name);
  }
  if (chosen) return;
  fmt::print(stderr, "fuzz: expected --target=NAME, one of:{}; got '{}'\n", names, name);
  std::exit(2);
}

void write_to(const fs::path& folder) {
  fs::create_directories(folder / "seeds");
  std::size_t number = 0;
  for (const Bytes& seed : target().seeds())
    std::ofstream(folder / "seeds" / fmt::format("{:03}", number++), std::ios::binary)
        << limpid::fuzz::text_of(seed);
  std::ofstream words(folder / "words");
  for (const std::string& word : target().words()) {
    words << '"';
    for (const char c : word) words << fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    words << "\"\n";
  }
}

Bytes mutated(Bytes bytes, std::size_t most) {
  const std::size_t size = bytes.size();
  bytes.resize(std::max(most, size));
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, bytes.size()));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kTarget = "--target=", kWrite = "--write=";
  std::string_view name, folder;
  int kept = 1;  // libFuzzer warns of what it does not know
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument((*argv)[i]);
    if (argument.starts_with(kTarget)) {
      name = argument.substr(kTarget.size());
    } else if (argument.starts_with(kWrite)) {
      folder = argument.substr(kWrite.size());
    } else {
      (*argv)[kept++] = (*argv)[i];
    }
  }
  *argc = kept;
  choose(name);
  if (!folder.empty()) {
    write_to(folder);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    target().read(std::as_bytes(std::span(data, size)));
  } catch (const limpid::Error&) {
    // A valid outcome. Any other exception ends the process.
  }
  return 0;
}

// The mutation of libFuzzer; in every other round on the content inside a checksum or length.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  if (target().within && seed % 2 == 0) {
    const auto change = [most](Bytes& content) { content = mutated(std::move(content), most); };
    const Bytes changed = target().within(std::as_bytes(std::span(data, size)), change);
    if (!changed.empty() && changed.size() <= most) {
      std::copy_n(reinterpret_cast<const std::uint8_t*>(changed.data()), changed.size(), data);
      return changed.size();
    }
  }
  return LLVMFuzzerMutate(data, size, most);
}
