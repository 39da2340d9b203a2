#include "apps/limpid/data_spec.h"

#include <fmt/format.h>

#include <charconv>

#include "apps/limpid/command.h"
#include "limpid/data/digits.h"
#include "limpid/formats/in_quotes.h"

namespace limpid::tool {
namespace {

[[noreturn]] void refuse(std::string_view spec, std::string_view why) {
  throw UsageError(fmt::format("--data {}: {}", in_quotes(spec), why));
}

void check_rows(std::int64_t first, std::int64_t count, std::int64_t size) {
  if (first < 0 || count < 0 || first > size - count)
    throw UsageError(fmt::format("the test part has {} examples, 0 to {}: {} to {} are not there",
                                 size, size - 1, first, first + count - 1));
}

}  // namespace

DataSpec parse_data_spec(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const bool has_rest = colon != std::string_view::npos;
  const std::string_view rest = has_rest ? text.substr(colon + 1) : std::string_view();
  DataSpec spec;
  if (kind == "digits") {
    if (!has_rest) return spec;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), spec.seed);
    if (error != std::errc{} || end != rest.data() + rest.size())
      refuse(text, "the seed is an integer from 0 to 2^64 - 1");
    return spec;
  }
  if (kind == "idx") {
    if (rest.empty()) refuse(text, "a folder belongs behind idx:");
    spec.kind = DataSpec::Kind::kIdx;
    spec.folder = rest;
    return spec;
  }
  refuse(text, "expected digits, digits:SEED or idx:DIR");
}

Split load_data(const DataSpec& spec, const DataCounts& counts) {
  if (spec.kind == DataSpec::Kind::kIdx) return load_idx_folder(spec.folder);
  return digits_split(spec.seed, counts.train, counts.test);
}

Dataset load_test_rows(const DataSpec& spec, std::int64_t first, std::int64_t count) {
  // A digit depends on its number alone: those behind the last one wanted need not be drawn.
  DataCounts counts{.train = 0};
  if (spec.kind == DataSpec::Kind::kDigits) {
    check_rows(first, count, counts.test);
    counts.test = first + count;
  }
  Dataset test = load_data(spec, counts).test;
  check_rows(first, count, test.size());
  test.inputs = test.inputs.rows(first, count);
  test.targets = test.targets.rows(first, count);
  return test;
}

}  // namespace limpid::tool
