// Tables as plain text, for people. Leans on core.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// "(32, 784)"; "()" for a scalar.
std::string tuple_text(const Shape& shape);

}  // namespace limpid
