// Tables as plain text. Depends on core.
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

// A header and rows. A row may have fewer cells than the header.
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

// Columns are as wide as their widest cell and separated by two spaces, without trailing spaces.
// Each line ends in '\n'. Cells are escaped by printable().
std::string to_text(const Table& table);

// Escapes the bytes of control characters (C0, DEL, C1) and of invalid UTF-8 as \xNN, so that a
// name from a file cannot control the terminal. ASCII characters in `kept` stay.
std::string printable(std::string_view text, std::string_view kept = "");

// "(32, 784)"; "()" for a scalar.
std::string tuple_text(const Shape& shape);

}  // namespace limpid
