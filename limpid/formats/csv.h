// CSV: tables of numbers and categories as text (RFC 4180). Depends on core, file.h and utf8.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace limpid {

// The maximum size of a file in bytes, and the maximum number of columns.
inline constexpr std::uint64_t kMaxCsvBytes = std::uint64_t{4} << 30;
inline constexpr std::size_t kMaxCsvColumns = 65'536;

// Options of load_csv(): separator, header and kinds of columns.
struct CsvOptions {
  // The separator of fields: ',', ';' or a tab. Default: a tab if the first line has one outside of
  // quotes, else a semicolon if it has one, else a comma.
  std::optional<char> separator = {};
  // Whether the first line holds the names of the columns. Default: yes, unless one of its fields
  // is a number.
  std::optional<bool> header = {};

  // What a column holds.
  enum class Kind : std::uint8_t {
    kAny,          // numbers or categories, as the first value decides; all values must match
    kNumeric,      // numbers
    kCategorical,  // categories, whatever they look like
    kDate,         // dates, as days since 1970-01-01: 2026-03-01 or 2026-03-01T12:00:00, UTC
    kIgnored,      // skipped; only its quotes are checked
  };
  // What a missing value is written as, in upper or lower case; an empty field is one, too.
  std::vector<std::string> missing = {"NA", "NaN", "?"};
  // The kind of a column, by its name and its number, from 1; default: kAny.
  std::function<Kind(std::string_view name, std::size_t number)> kind = {};
};

// A column. Its numbers are rounded to f32.
struct CsvColumn {
  std::string name;  // from the header; without a name there, "column1", "column2", ...
  bool categorical = false;
  bool date = false;
  std::vector<float> numbers;           // one per row; NaN if missing
  std::vector<std::string> categories;  // distinct, sorted by bytes
  std::vector<std::int32_t> codes;      // the category of each row; -1 if missing
  // What rounding did: numbers that differ from the one in the row before, but no longer as f32;
  // the largest error; the range before.
  std::int64_t merged = 0;
  double rounding = 0, least = 0, most = 0;
};

// The columns of a file, each with a value for every row.
struct CsvTable {
  std::vector<CsvColumn> columns;   // without the ignored ones
  std::vector<std::int64_t> lines;  // the line where each row begins, from 1
  bool header = false;

  std::int64_t rows() const { return static_cast<std::int64_t>(lines.size()); }
};

// Reads a file of UTF-8 text, with or without a byte order mark; lines end in LF or CR LF, and
// empty lines are ignored. Blanks around a field are removed unless they are quoted. Numbers are
// decimal with a point, in any locale, and rounded to the nearest f32. The minus may be U+2212.
//
// Throws kIo if the file cannot be read; kUnsupported beyond the limits above; and kFormat, naming
// line and column, if a line has another number of fields than the first, a quote is misplaced,
// text is not UTF-8, a kAny column has no value, mixes numbers and text or begins with a number
// with a decimal comma, a number is not finite in f32, a date is none, a name is repeated, or there
// are no rows.
CsvTable load_csv(const std::filesystem::path& path, const CsvOptions& options = {});

// The same from memory. `where` names the source in errors.
CsvTable parse_csv(std::string_view text, std::string_view where, const CsvOptions& options = {});

}  // namespace limpid
