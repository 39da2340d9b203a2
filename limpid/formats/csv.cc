#include "limpid/formats/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <unordered_map>

#include "limpid/core/float_mode.h"
#include "limpid/core/utf8.h"
#include "limpid/formats/detail/csv_records.h"
#include "limpid/formats/detail/report.h"
#include "limpid/formats/file.h"

namespace limpid {
namespace {

using detail::CsvRecords;
using detail::Reporter;
using Kind = CsvOptions::Kind;

using Words = std::vector<std::string>;

bool is_missing(std::string_view cell, const Words& words) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; };
  const auto same = [&](char a, char b) { return lower(a) == lower(b); };
  return cell.empty() || std::any_of(words.begin(), words.end(), [&](const std::string& word) {
           return std::equal(cell.begin(), cell.end(), word.begin(), word.end(), same);
         });
}

// Whether a non-zero decimal number is below 1 in magnitude, by the power of ten of its first
// digit: from_chars does not distinguish overflow from underflow.
bool below_one(std::string_view number) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 60;
  const std::size_t e = std::min(number.size(), number.find_first_of("eE"));
  const auto point = static_cast<std::int64_t>(std::min(e, number.find('.')));
  const auto first = static_cast<std::int64_t>(number.find_first_of("123456789"));
  const std::int64_t power = first < point ? point - first - 1 : point - first;
  if (e == number.size()) return power < 0;
  std::string_view exponent = number.substr(e + 1);
  if (exponent.front() == '+') exponent.remove_prefix(1);
  std::int64_t value = 0;
  if (std::from_chars(exponent.data(), exponent.data() + exponent.size(), value).ec != std::errc{})
    value = exponent.front() == '-' ? -kHuge : kHuge;
  return power + std::clamp(value, -kHuge, kHuge) < 0;
}

// The number in a cell, infinite if it overflows f32; nothing if the cell is not a number.
std::optional<float> number_of(std::string_view cell) {
  constexpr std::string_view kMinus = "\u2212";
  std::string with_hyphen;
  if (cell.substr(0, kMinus.size()) == kMinus)
    cell = with_hyphen = fmt::format("-{}", cell.substr(kMinus.size()));
  if (cell.size() > 1 && cell.front() == '+' && cell[1] != '-') cell.remove_prefix(1);
  const char* const end = cell.data() + cell.size();
  float number = 0;
  const auto [behind, error] = std::from_chars(cell.data(), end, number);
  if (behind != end || error == std::errc::invalid_argument || std::isnan(number)) return {};
  if (error == std::errc{}) return number;
  if (!below_one(cell)) return std::numeric_limits<float>::infinity();
  double wide = 0;  // stays 0 where f64 is too coarse, too
  std::from_chars(cell.data(), end, wide);
  return static_cast<float>(wide);
}

// A number as f64, which number_of has accepted.
double wide_number_of(std::string_view cell) {
  const std::size_t first = cell.find_first_of("0123456789.");
  if (first == std::string_view::npos) return 0;
  double number = 0;
  std::from_chars(cell.data() + first, cell.data() + cell.size(), number);
  return first > 0 && cell.front() != '+' ? -number : number;
}

// Takes a number of `digits` digits off the front.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  int number = 0;
  const std::string_view taken = text.substr(0, digits);
  const auto [end, error] = std::from_chars(taken.data(), taken.data() + taken.size(), number);
  if (error != std::errc{} || end != taken.data() + digits || taken.front() == '-') return {};
  text.remove_prefix(digits);
  return number;
}

bool take(std::string_view& text, std::string_view one_of) {
  if (text.empty() || one_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// The share of a day of "HH:MM", "HH:MM:SS", "HH:MM:SS.FRACTION", each with or without a Z.
std::optional<double> time_of(std::string_view text) {
  const auto hours = take_digits(text, 2);
  if (!hours || *hours > 23 || !take(text, ":")) return {};
  const auto minutes = take_digits(text, 2);
  if (!minutes || *minutes > 59) return {};
  double seconds = 0;
  if (take(text, ":")) {
    const auto whole = take_digits(text, 2);
    if (!whole || *whole > 60) return {};
    seconds = *whole;
    if (take(text, "."))
      for (double place = 0.1; !text.empty() && text.front() >= '0' && text.front() <= '9';
           place /= 10)
        seconds += place * *take_digits(text, 1);
  }
  take(text, "Z");
  if (!text.empty()) return {};
  return ((*hours * 60 + *minutes) * 60 + seconds) / 86'400;
}

// Days since 1970-01-01 of a date in ISO 8601, "2026-03-01", with or without a time after a T or
// a blank.
std::optional<double> date_of(std::string_view text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, "-")) return {};
  const auto month = take_digits(text, 2);
  if (!month || !take(text, "-")) return {};
  const auto day = take_digits(text, 2);
  if (!day) return {};
  namespace chrono = std::chrono;
  const chrono::year_month_day date{chrono::year(*year),
                                    chrono::month(static_cast<unsigned>(*month)),
                                    chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return {};
  const auto days = static_cast<double>(chrono::sys_days(date).time_since_epoch().count());
  if (text.empty()) return days;
  const std::optional<double> time = take(text, "T ") ? time_of(text) : std::nullopt;
  return time ? std::optional(days + *time) : std::nullopt;
}

// Collects the cells of one column.
class ColumnReader {
 public:
  // `rows`: an upper bound.
  ColumnReader(std::string name, Kind kind, std::size_t rows, const Words& missing,
               const Reporter& report)
      : kind_(kind), rows_(rows), missing_(missing), report_(report) {
    column_.name = std::move(name);
    column_.date = kind == Kind::kDate;
  }

  Kind kind() const { return kind_; }

  void add(std::string_view cell, std::int64_t line) {
    if (kind_ == Kind::kIgnored) return;
    if (is_missing(cell, missing_)) {
      if (first_line_ == 0)
        ++leading_missing_;
      else
        add_missing(1);
      return;
    }
    if (first_line_ == 0) begin(cell, line);
    if (column_.categorical)
      add_category(cell, line);
    else
      add_number(cell, line);
  }

  // Sorts the categories. Throws if the column has no values that determine its kind.
  CsvColumn finish() && {
    if (first_line_ == 0) {
      if (kind_ == Kind::kAny)
        report_.broken("column {} has no value in any row", in_quotes(column_.name));
      column_.categorical = kind_ == Kind::kCategorical;
      add_missing(leading_missing_);
    }
    if (column_.categorical) sort_categories();
    return std::move(column_);
  }

 private:
  // The first value determines the kind of column.
  void begin(std::string_view cell, std::int64_t line) {
    first_line_ = line;
    first_ = cell;
    if (kind_ == Kind::kAny) refuse_decimal_comma(cell, line);
    column_.categorical = kind_ == Kind::kCategorical || (kind_ == Kind::kAny && !number_of(cell));
    reserve();
    add_missing(leading_missing_);
  }

  void reserve() {
    if (column_.categorical)
      column_.codes.reserve(rows_);
    else
      column_.numbers.reserve(rows_);
  }

  void add_missing(std::size_t count) {
    if (column_.categorical)
      column_.codes.insert(column_.codes.end(), count, -1);
    else
      column_.numbers.insert(column_.numbers.end(), count, std::nanf(""));
  }

  void add_number(std::string_view cell, std::int64_t line) {
    if (kind_ == Kind::kDate) return add_date(cell, line);
    const std::optional<float> number = number_of(cell);
    if (!number && kind_ == Kind::kAny) refuse_mixture(cell, line);
    if (!number)
      report_.broken("line {}, column {}: {} is not a number", line, in_quotes(column_.name),
                     in_quotes(cell));
    if (!std::isfinite(*number))
      report_.broken("line {}, column {}: {} is not a finite f32 number", line,
                     in_quotes(column_.name), in_quotes(cell));
    constexpr std::size_t kExactDigits = 6;  // numbers of so few digits stay different as f32
    add_rounded(*number,
                cell.size() > kExactDigits ? wide_number_of(cell) : static_cast<double>(*number));
  }

  void add_date(std::string_view cell, std::int64_t line) {
    const std::optional<double> days = date_of(cell);
    if (!days)
      report_.broken("line {}, column {}: expected a date like 2026-03-01, got {}", line,
                     in_quotes(column_.name), in_quotes(cell));
    add_rounded(static_cast<float>(*days), *days);
  }

  void add_rounded(float number, double exact) {
    if (exact != last_ && static_cast<float>(last_) == number) ++column_.merged;
    column_.rounding = std::max(column_.rounding, std::abs(static_cast<double>(number) - exact));
    column_.least = std::isnan(last_) ? exact : std::min(column_.least, exact);
    column_.most = std::isnan(last_) ? exact : std::max(column_.most, exact);
    last_ = exact;
    column_.numbers.push_back(number);
  }

  void add_category(std::string_view cell, std::int64_t line) {
    const auto [entry, is_new] =
        code_of_.try_emplace(std::string(cell), static_cast<std::int32_t>(code_of_.size()));
    if (is_new) {
      if (kind_ == Kind::kAny && number_of(cell)) refuse_mixture(cell, line);
      if (const std::size_t fault = utf8_fault(cell); fault != cell.size())
        report_.broken("line {}, column {}: {} is not UTF-8", line, in_quotes(column_.name),
                       in_quotes(cell));
      column_.categories.emplace_back(cell);
    }
    column_.codes.push_back(entry->second);
  }

  [[noreturn]] void refuse_mixture(std::string_view cell, std::int64_t line) const {
    report_.broken("line {}, column {}: {} is {}, but {} in line {} is {}", line,
                   in_quotes(column_.name), in_quotes(cell),
                   column_.categorical ? "a number" : "text", in_quotes(first_), first_line_,
                   column_.categorical ? "text" : "a number");
  }

  // Taken as categories, such numbers would go unnoticed.
  void refuse_decimal_comma(std::string_view cell, std::int64_t line) const {
    std::string with_point(cell);
    std::replace(with_point.begin(), with_point.end(), ',', '.');
    if (with_point != cell && number_of(with_point))
      report_.broken("line {}, column {}: {} has a decimal comma, expected a decimal point", line,
                     in_quotes(column_.name), in_quotes(cell));
  }

  void sort_categories() {
    std::vector<std::int32_t> order(column_.categories.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [this](std::int32_t a, std::int32_t b) {
      return column_.categories[static_cast<std::size_t>(a)] <
             column_.categories[static_cast<std::size_t>(b)];
    });
    std::vector<std::int32_t> place(order.size());
    std::vector<std::string> sorted;
    sorted.reserve(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto from = static_cast<std::size_t>(order[i]);
      place[from] = static_cast<std::int32_t>(i);
      sorted.push_back(std::move(column_.categories[from]));
    }
    column_.categories = std::move(sorted);
    for (std::int32_t& code : column_.codes)
      if (code >= 0) code = place[static_cast<std::size_t>(code)];
  }

  Kind kind_;
  std::size_t rows_;
  const Words& missing_;
  const Reporter& report_;
  double last_ = std::nan("");  // the last number before it was rounded
  CsvColumn column_;
  std::unordered_map<std::string, std::int32_t> code_of_;
  std::size_t leading_missing_ = 0;
  std::int64_t first_line_ = 0;  // 0: no value so far
  std::string first_;
};

char detect_separator(std::string_view text) {
  bool quoted = false, semicolon = false;
  for (const char c : text.substr(std::min(text.size(), text.find_first_not_of("\r\n")))) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\t') return c;
    if (c == '\n') break;
    semicolon = semicolon || c == ';';
  }
  return semicolon ? ';' : ',';
}

std::vector<std::string> read_names(const CsvRecords& records, bool header,
                                    const Reporter& report) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const std::string_view field : records.fields()) {
    names.push_back(header && !field.empty() ? std::string(field)
                                             : fmt::format("column{}", names.size() + 1));
    if (!is_utf8(names.back()))
      report.broken("line {}: the column name {} is not UTF-8", records.line(),
                    in_quotes(names.back()));
    if (!taken.insert(names.back()).second)
      report.broken("line {}: two columns are named {}, if this is the header", records.line(),
                    in_quotes(names.back()));
  }
  return names;
}

// An upper bound on the rows: each takes a non-empty line, and each field a separator or line end.
// Memory reserved once is half of the peak of a growing vector.
std::size_t most_rows(std::string_view text, std::size_t columns) {
  std::size_t lines = 1;
  bool empty = true;
  for (const char c : text) {
    lines += c == '\n' && !empty;
    empty = c == '\n' || (empty && c == '\r');
  }
  return std::min(lines, text.size() / columns + 1);
}

// The text after its byte order mark.
std::string_view without_mark(std::string_view text, const Reporter& report) {
  if (text.substr(0, 2) == "\xff\xfe" || text.substr(0, 2) == "\xfe\xff")
    report.unsupported("is UTF-16 text, expected UTF-8");
  return text.substr(text.substr(0, 3) == "\xef\xbb\xbf" ? 3 : 0);
}

}  // namespace

CsvTable load_csv(const std::filesystem::path& path, const CsvOptions& options) {
  const Tensor bytes = read_or_map_file(path, kMaxCsvBytes);
  const auto text = bytes.values<std::uint8_t>();
  return parse_csv({reinterpret_cast<const char*>(text.data()), text.size()}, path.string(),
                   options);
}

CsvTable parse_csv(std::string_view text, std::string_view where, const CsvOptions& options) {
  const DefaultFloatMode mode;
  const Reporter report("csv", where);
  text = without_mark(text, report);
  CsvRecords records(text, options.separator.value_or(detect_separator(text)), kMaxCsvColumns,
                     report);
  if (!records.next()) report.broken("has no lines");
  CsvTable table;
  table.header = options.header.value_or(
      std::none_of(records.fields().begin(), records.fields().end(),
                   [](std::string_view field) { return number_of(field).has_value(); }));

  const std::size_t rows = most_rows(text, records.fields().size());
  table.lines.reserve(rows);
  std::vector<ColumnReader> readers;
  for (std::string& name : read_names(records, table.header, report)) {
    const Kind kind = options.kind ? options.kind(name, readers.size() + 1) : Kind::kAny;
    readers.emplace_back(std::move(name), kind, rows, options.missing, report);
  }
  const std::int64_t first_line = records.line();
  for (bool more = table.header ? records.next() : true; more; more = records.next()) {
    const auto& fields = records.fields();
    if (fields.size() != readers.size())
      report.broken("line {}: expected {} fields, as in line {}, got {}", records.line(),
                    readers.size(), first_line, fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) readers[i].add(fields[i], records.line());
    table.lines.push_back(records.line());
  }
  if (table.lines.empty()) report.broken("has no rows after the header");
  if (table.lines.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    report.unsupported("has {} rows, at most 2^31 - 1 are supported", table.lines.size());
  for (ColumnReader& reader : readers)
    if (reader.kind() != Kind::kIgnored) table.columns.push_back(std::move(reader).finish());
  return table;
}

}  // namespace limpid
