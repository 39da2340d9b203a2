// The common parts of pages: document, sections and tables. Depends on html.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace limpid::report {

// A self-contained HTML document. The title is escaped; the body is HTML.
std::string page(std::string_view title, std::string_view body);

// A heading and the content, both HTML; empty if there is no content.
std::string section(std::string_view title, const std::string& content);

// A table. Cells are HTML, with or without their own <td> or <th>. The first column is
// left-aligned.
using Cells = std::vector<std::string>;
std::string table(std::string_view kind, const Cells& heading, const std::vector<Cells>& rows);

}  // namespace limpid::report
