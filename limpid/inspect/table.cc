#include "limpid/inspect/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "limpid/core/utf8.h"

namespace limpid {
namespace {

// Code points of UTF-8 text, an approximation of its width.
std::size_t width_of(std::string_view text) { return utf8_length(text); }

std::string line_of(const std::vector<Column>& columns, const std::vector<std::string>& cells,
                    const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (c > 0) line += "  ";
    const std::string space(widths[c] - width_of(cells[c]), ' ');
    line += columns[c].align == Align::kRight ? space + cells[c] : cells[c] + space;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string to_text(const Table& table) {
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& c : table.columns) lines.front().push_back(printable(c.title));
  for (const auto& row : table.rows) {
    lines.emplace_back();
    for (const std::string& cell : row) lines.back().push_back(printable(cell));
  }
  std::vector<std::size_t> widths(table.columns.size(), 0);
  for (const auto& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c)
      widths[c] = std::max(widths[c], width_of(line[c]));
  std::string text;
  for (const auto& line : lines) text += line_of(table.columns, line, widths);
  return text;
}

std::string printable(std::string_view text, std::string_view kept) {
  std::string result;
  while (!text.empty()) {
    const std::optional<CodePoint> point = first_code_point(text);
    const std::string_view bytes = text.substr(0, point ? point->bytes : 1);
    const bool control =
        !point || point->value < 0x20 || (point->value >= 0x7f && point->value < 0xa0);
    if (!control || kept.find(bytes) != std::string_view::npos)
      result += bytes;
    else
      for (const char c : bytes) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    text.remove_prefix(bytes.size());
  }
  return result;
}

std::string tuple_text(const Shape& shape) {
  return fmt::format("({})", fmt::join(shape.begin(), shape.end(), ", "));
}

}  // namespace limpid
