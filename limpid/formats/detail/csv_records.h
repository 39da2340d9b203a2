// Reads the records of CSV text (RFC 4180) one by one, copying only fields with escaped quotes.
// Depends on report.h; included only by sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/formats/detail/report.h"

namespace limpid::detail {

class CsvRecords {
 public:
  // The text and the reporter must outlive this object.
  CsvRecords(std::string_view text, char separator, std::size_t most_fields,
             const Reporter& report);

  // Moves to the next record and skips empty lines; false at the end of the text.
  bool next();
  // The fields of this record, without quotes and without unquoted blanks around them. Valid until
  // the next call of next().
  const std::vector<std::string_view>& fields() const { return fields_; }
  // The line in which this record begins, counted from 1.
  std::int64_t line() const { return record_line_; }

 private:
  bool at(char c) const { return !rest_.empty() && rest_.front() == c; }
  bool at_line_end() const { return rest_.empty() || at('\n') || rest_.substr(0, 2) == "\r\n"; }
  void skip_blanks();
  void skip_line_end();
  std::string_view field();
  std::string_view bare_field();
  std::string_view quoted_field();

  std::string_view rest_;
  char separator_;
  std::size_t most_fields_;
  const Reporter& report_;
  std::int64_t line_ = 1;
  std::int64_t record_line_ = 0;
  std::vector<std::string_view> fields_;
  std::deque<std::string> unescaped_;  // a deque keeps views into it valid
};

}  // namespace limpid::detail
