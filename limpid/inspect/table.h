// Tables and numbers as plain text, for people. Leans on core.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/dtype.h"
#include "limpid/core/shape.h"

namespace limpid {

enum class Align : std::uint8_t { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

// A heading and rows; a row may be shorter than the heading.
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

// Lines as wide as their cells need, two spaces between columns, none at the end; each line ends in
// '\n'. Cells pass through printable().
std::string to_text(const Table& table);

// UTF-8 with the bytes of every control character (C0, DEL, C1), and what is no UTF-8, as \xNN, so
// that a name from a file cannot move a terminal's cursor; ASCII of `kept` stays.
std::string printable(std::string_view text, std::string_view kept = "");

// "235,146".
std::string grouped(std::int64_t number);
// "(32, 784)"; "()" for a scalar.
std::string tuple_text(const Shape& shape);
// At most six significant digits: "1.94", "-0.000123457", "nan".
std::string short_number(double number);
// The fewest digits that read back as the same number of that dtype (f32 or f64).
std::string exact_number(double number, Dtype dtype);

}  // namespace limpid
