// CSV text, read with every kind of options.
#include "limpid/formats/csv.h"

#include "tests/fuzz/csv_files.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

void check(const CsvTable& table) {
  for (const CsvColumn& column : table.columns) {
    const auto rows = static_cast<std::size_t>(table.rows());
    require(column.categorical ? column.codes.size() == rows && column.numbers.empty()
                               : column.numbers.size() == rows && column.codes.empty(),
            "a column has a value in every row");
    for (const std::int32_t code : column.codes)
      require(code >= -1 && code < static_cast<std::int64_t>(column.categories.size()),
              "a code is a category's");
  }
}

void read(std::span<const std::byte> bytes) {
  using Kind = CsvOptions::Kind;
  const std::string_view text = text_of(bytes);
  for (const std::optional<char> separator :
       {std::optional<char>(), std::optional(';'), std::optional('\t')})
    goes_well([&] { check(parse_csv(text, "fuzz", {separator})); });
  for (const Kind kind : {Kind::kNumeric, Kind::kCategorical, Kind::kDate, Kind::kIgnored})
    goes_well([&] {
      const auto second = [kind](std::string_view, std::size_t number) {
        return number == 2 ? kind : Kind::kAny;
      };
      check(parse_csv(text, "fuzz", {.header = kind == Kind::kNumeric, .kind = second}));
    });
  check(parse_csv(text, "fuzz"));
}

std::vector<std::string> words() {
  return {"\"",    "\"\"",         ",",        ";",        "\t",      "\r\n",  "\n",
          "NA",    "nan",          "inf",      "-0",       "1e39",    "1e-46", "+1",
          "0x1p3", "\xef\xbb\xbf", "\xff\xfe", "\xc3\xa9", "column1", "?",     "1,5"};
}

}  // namespace

const Target& csv() {
  static const Target target{"csv", read, csv_files, words};
  return target;
}

}  // namespace limpid::fuzz
