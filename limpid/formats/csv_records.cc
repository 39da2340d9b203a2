// The cutting of CSV text into records and fields.
#include <algorithm>

#include "limpid/formats/detail/csv_records.h"

namespace limpid::detail {

CsvRecords::CsvRecords(std::string_view text, char separator, std::size_t most_fields,
                       const Reporter& report)
    : rest_(text), separator_(separator), most_fields_(most_fields), report_(report) {}

bool CsvRecords::next() {
  while (!rest_.empty() && at_line_end()) skip_line_end();
  if (rest_.empty()) return false;
  record_line_ = line_;
  fields_.clear();
  unescaped_.clear();
  for (;;) {
    if (fields_.size() == most_fields_)
      report_.unsupported("line {} has more than {} fields", record_line_, most_fields_);
    fields_.push_back(field());
    if (at_line_end()) break;
    rest_.remove_prefix(1);  // the separator: field() stops at nothing else
  }
  skip_line_end();
  return true;
}

void CsvRecords::skip_blanks() {
  while ((at(' ') || at('\t')) && !at(separator_)) rest_.remove_prefix(1);
}

void CsvRecords::skip_line_end() {
  if (rest_.empty()) return;
  rest_.remove_prefix(at('\r') ? 2 : 1);
  ++line_;
}

std::string_view CsvRecords::field() {
  skip_blanks();
  return at('"') ? quoted_field() : bare_field();
}

std::string_view CsvRecords::bare_field() {
  const auto ends = [this](char c) {
    return c == separator_ || c == '\n' || c == '\r' || c == '"' || c == '\0';
  };
  const auto end =
      static_cast<std::size_t>(std::find_if(rest_.begin(), rest_.end(), ends) - rest_.begin());
  std::string_view value = rest_.substr(0, end);
  rest_.remove_prefix(end);
  if (at('"')) report_.broken("line {}: a quote inside an unquoted field", line_);
  if (at('\0')) report_.broken("line {}: a zero byte", line_);
  if (!at(separator_) && !at_line_end())
    report_.broken("line {}: a carriage return without a line feed", line_);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  return value;
}

std::string_view CsvRecords::quoted_field() {
  const std::int64_t opened = line_;
  rest_.remove_prefix(1);
  std::string_view value;
  std::string* unescaped = nullptr;
  for (;;) {
    const std::size_t quote = rest_.find('"');
    if (quote == std::string_view::npos) report_.broken("line {}: a quote is never closed", opened);
    const std::string_view part = rest_.substr(0, quote);
    line_ += std::count(part.begin(), part.end(), '\n');
    rest_.remove_prefix(quote + 1);
    const bool doubled = at('"');
    if (doubled && !unescaped) unescaped = &unescaped_.emplace_back();
    if (unescaped) unescaped->append(part);
    value = part;
    if (!doubled) break;
    unescaped->push_back('"');
    rest_.remove_prefix(1);
  }
  skip_blanks();
  if (!at(separator_) && !at_line_end())
    report_.broken("line {}: text after a closing quote; inside a quoted field, double each quote",
                   line_);
  return unescaped ? std::string_view(*unescaped) : value;
}

}  // namespace limpid::detail
