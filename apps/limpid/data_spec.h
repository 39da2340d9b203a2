// What --data means: "digits", "digits:SEED", "idx:DIR".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "limpid/data/dataset.h"

namespace limpid::tool {

struct DataSpec {
  enum class Kind : std::uint8_t { kDigits, kIdx };
  Kind kind = Kind::kDigits;
  std::uint64_t seed = 0;  // of the digits
  std::string folder;      // of the IDX files
};

// For the help of an option.
inline constexpr const char* kDataSpecHelp =
    "Examples: digits or digits:SEED (drawn here), idx:DIR (a folder of MNIST's four files)";

// Throws UsageError, naming what there is.
DataSpec parse_data_spec(std::string_view text);

// How many examples to draw of data that is drawn.
struct DataCounts {
  std::int64_t train = 60'000;
  std::int64_t test = 10'000;
};

// Throws what load_idx_folder throws.
Split load_data(const DataSpec& spec, const DataCounts& counts = {});

// Examples [first, first + count) of the test part. Throws UsageError where they are not all in it,
// and what load_idx_folder throws.
Dataset load_test_rows(const DataSpec& spec, std::int64_t first, std::int64_t count);

}  // namespace limpid::tool
