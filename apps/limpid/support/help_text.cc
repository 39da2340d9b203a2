#include "apps/limpid/support/help_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "apps/limpid/support/output.h"
#include "apps/limpid/support/terminal.h"

namespace limpid::tool {
namespace {

// The widths of the text, and of the column of names.
struct Layout {
  std::size_t columns, names;
};

Layout layout() {
  constexpr std::size_t kMost = 100, kLeast = 30, kNarrow = 70;
  const std::size_t columns = is_terminal() ? std::clamp(terminal_columns(), kLeast, kMost) : kMost;
  // On a narrow terminal each text begins below its name.
  return {columns, columns < kNarrow ? 6u : 30u};
}

// Where to break a word longer than `room`: after the last '|' or ',' that fits, or nowhere.
std::size_t break_of(std::string_view word, std::size_t room) {
  if (word.size() <= room || room == 0) return word.size();
  const std::size_t last = word.find_last_of("|,", room - 1);
  return last == std::string_view::npos ? word.size() : last + 1;
}

// Appends words to a text whose last line has `column` columns. Further lines are indented.
void append_words(std::string& out, std::string_view text, std::size_t column, std::size_t indent,
                  std::size_t columns) {
  const auto new_line = [&] {
    out += '\n';
    out.append(indent, ' ');
    column = indent;
  };
  bool first = true;
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, blank);
    text.remove_prefix(std::min(blank + 1, text.size()));
    const std::size_t room = columns > column + 1 ? columns - column - 1 : 0;
    const bool fits_alone = indent + word.size() <= columns;
    if (!first && word.size() > room && (fits_alone || break_of(word, room) == word.size())) {
      new_line();
    } else if (!first) {
      out += ' ';
      ++column;
    }
    first = false;
    while (!word.empty()) {
      const std::size_t part = break_of(word, columns > column ? columns - column : 0);
      out += word.substr(0, part);
      column += part;
      word.remove_prefix(part);
      if (!word.empty()) new_line();
    }
  }
}

// Appends "  NAME  text", with the text in its own column. After a long name it begins a new line.
void append_entry(std::string& out, const std::string& name, const std::string& text,
                  const Layout& layout) {
  std::string entry = "  ";
  append_words(entry, name, entry.size(), 4, layout.columns);
  const std::size_t last_line = entry.rfind('\n');
  std::size_t column = entry.size() - (last_line == std::string::npos ? 0 : last_line + 1);
  if (last_line != std::string::npos || column + 2 > layout.names) {
    entry += '\n';
    column = 0;
  }
  entry.append(layout.names - column, ' ');
  append_words(entry, text, layout.names, layout.names, layout.columns);
  out += entry + '\n';
}

// Lines of any length, one by one.
void append_lines(std::string& out, std::string_view text, const Layout& layout) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    append_words(out, text.substr(0, end), 0, 0, layout.columns);
    out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string name_of(const OptionFacts& option) {
  std::string name = fmt::format("{}", fmt::join(option.names, ", "));
  if (!option.value.empty() && !option.is_argument()) name += " " + option.value;
  return name;
}

std::string usage(const CommandFacts& command, const std::string& called) {
  std::string text = fmt::format("Usage: {}", called);
  if (!command.commands.empty()) return text + " COMMAND [OPTIONS]";
  text += " [OPTIONS]";
  for (const OptionFacts& option : command.options) {
    if (!option.is_argument()) continue;
    const std::string name = option.names.front() + (option.repeated ? "..." : "");
    text += option.required ? " " + name : " [" + name + "]";
  }
  return text;
}

}  // namespace

std::string text_of(const OptionFacts& option) {
  std::string text = option.help;
  if (option.is_argument() && !option.choices().empty())
    text += fmt::format(": {}", fmt::join(option.choices(), ", "));
  if (option.required && !option.is_argument()) text += "; required";
  if (!option.needs.empty()) text += fmt::format("; needs {}", fmt::join(option.needs, ", "));
  if (!option.excludes.empty())
    text += fmt::format("; not with {}", fmt::join(option.excludes, ", "));
  return text;
}

std::string help_text(const CommandFacts& command, const std::string& called) {
  const Layout layout = tool::layout();
  std::string text;
  append_lines(text, command.help, layout);
  append_lines(text, usage(command, called), layout);
  const auto options = [&](std::string_view title, bool arguments) {
    std::string entries;
    for (const OptionFacts& option : command.options)
      if (option.is_argument() == arguments)
        append_entry(entries, name_of(option), text_of(option), layout);
    if (!entries.empty()) text += fmt::format("\n{}:\n{}", title, entries);
  };
  options("Arguments", true);
  options("Options", false);
  std::string group;
  for (const CommandFacts& c : command.commands) {
    if (c.group != group) text += fmt::format("\n{}:\n", c.group);
    group = c.group;
    append_entry(text, c.name, c.help, layout);
  }
  if (!command.footer.empty()) text += '\n';
  append_lines(text, command.footer, layout);
  return text;
}

}  // namespace limpid::tool
