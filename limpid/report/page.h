// What pages share: the document around their contents, its sections and tables. Leans on html.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace limpid::report {

// A whole document that needs nothing beside itself; the title is escaped, the body is HTML.
std::string page(std::string_view title, std::string_view body);

// A heading above the content, HTML both; nothing where there is no content.
std::string section(std::string_view title, const std::string& content);

// Cells are HTML already, with a <td> or <th> of their own or without; the first column is
// left-aligned.
using Cells = std::vector<std::string>;
std::string table(std::string_view kind, const Cells& heading, const std::vector<Cells>& rows);

}  // namespace limpid::report
