// CSV: a table of numbers and categories in text (RFC 4180). Leans on core, file.h and utf8.h.
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

// The most bytes that a file may have, and the most columns.
inline constexpr std::uint64_t kMaxCsvBytes = std::uint64_t{4} << 30;
inline constexpr std::size_t kMaxCsvColumns = 65'536;

// How the text is cut up, and what its columns are.
struct CsvOptions {
  // What stands between fields: ',', ';' or a tab. By default a tab where the first line has one
  // outside of quotes, else a semicolon where it has one, else a comma.
  std::optional<char> separator = {};
  // Whether the first line holds the columns' names. By default it does unless one of its fields is
  // a number.
  std::optional<bool> header = {};

  // What a column holds.
  enum class Kind : std::uint8_t {
    kAny,          // numbers or categories, as the first value is; the others must be alike
    kNumeric,      // numbers
    kCategorical,  // categories, whatever they look like
    kIgnored,      // not read, but for the quotes
  };
  // What a column is to be, by its name and its number, counted from 1; kAny where there is none.
  std::function<Kind(std::string_view name, std::size_t number)> kind = {};
};

// A value is missing where its field is empty, NA, NaN or ?, in capitals or not.
struct CsvColumn {
  std::string name;  // from the header, else and where that is empty "column1", "column2", ...
  bool categorical = false;
  std::vector<float> numbers;           // a value each row, NaN where it is missing
  std::vector<std::string> categories;  // distinct, in the order of their bytes
  std::vector<std::int32_t> codes;      // the number of the row's category, -1 where it is missing
};

// The columns of a file, each with a value for every row.
struct CsvTable {
  std::vector<CsvColumn> columns;   // without those that were ignored
  std::vector<std::int64_t> lines;  // where each row begins, counted from 1
  bool header = false;

  std::int64_t rows() const { return static_cast<std::int64_t>(lines.size()); }
};

// Reads a file of UTF-8 text, with or without a byte order mark; lines end in LF or CR LF, and
// empty lines count for nothing. Blanks around a field are no part of it, unless they are inside of
// its quotes. Numbers are decimal with a point, whatever the locale, rounded to the nearest f32.
//
// Throws kIo where the file cannot be read; kFormat, naming line and column, where a line has
// another number of fields than the first, a quote is out of place, text is not UTF-8, a column of
// kAny has no value at all, mixes numbers with text or begins with a number with a decimal comma, a
// number is not finite in f32, a name comes twice, or there are no rows; kUnsupported beyond the
// limits above.
CsvTable load_csv(const std::filesystem::path& path, const CsvOptions& options = {});

// The same from memory. `where` names the source in errors.
CsvTable parse_csv(std::string_view text, std::string_view where, const CsvOptions& options = {});

}  // namespace limpid
