// limpid help: the help of a command, and man pages made from it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/help_text.h"
#include "apps/limpid/support/output.h"
#include "limpid/formats/file.h"

namespace limpid::tool {
namespace {

struct HelpArguments {
  std::vector<std::string> command;
  bool man = false;
  std::string folder;  // "" unless --man-pages
};

// Escapes a text for troff: backslashes, dots and quotes at the start of a line, and hyphens.
std::string troff(std::string_view text) {
  std::string result;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
    line_begins = c == '\n';
  }
  return result;
}

// A list of words may end a line after each: the list may be longer than one.
std::string with_breaks(const std::string& words) {
  std::string result;
  for (const char c : words) {
    result += c;
    if (c == '|') result += "\\:";
  }
  return result;
}

// "limpid-lab-init", of the words "limpid", "lab" and "init".
std::string page_name(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, "-"));
}

// Writes an option or argument: names and value, then its help.
std::string entry(const OptionFacts& option) {
  std::string heading;
  for (const std::string& name : option.names)
    heading += (heading.empty() ? "\\fB" : ", \\fB") + troff(name) + "\\fR";
  if (!option.value.empty() && !option.is_argument())
    heading += " \\fI" + with_breaks(troff(option.value)) + "\\fR";
  return fmt::format(".TP\n{}\n{}\n", heading, troff(text_of(option)));
}

std::string synopsis(const CommandFacts& command, const std::vector<std::string>& words) {
  std::string text = fmt::format("\\fB{}\\fR", troff(fmt::format("{}", fmt::join(words, " "))));
  if (!command.commands.empty()) return text + " \\fICOMMAND\\fR [\\fIOPTIONS\\fR]";
  text += " [\\fIOPTIONS\\fR]";
  for (const OptionFacts& option : command.options)
    if (option.is_argument()) {
      const std::string name =
          "\\fI" + troff(option.names.front()) + "\\fR" + (option.repeated ? "..." : "");
      text += option.required ? " " + name : " [" + name + "]";
    }
  return text;
}

std::string commands_section(const CommandFacts& command) {
  std::string text, group;
  for (const CommandFacts& c : command.commands) {
    if (c.group != group) text += fmt::format(".SS {}\n", troff(c.group));
    group = c.group;
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", troff(c.name), troff(c.help));
  }
  return text;
}

// `words`: how the command is called, "limpid" first.
std::string man_page(const CommandFacts& command, const std::vector<std::string>& words) {
  const std::string name = page_name(words);
  std::string title = name;
  for (char& c : title)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  std::string text = fmt::format(
      ".TH {} 1 \"\" \"limpid {}\" \"Limpid\"\n.ad l\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n",
      troff(title), LIMPID_VERSION, troff(name), troff(command.help), synopsis(command, words));
  std::string arguments, options;
  for (const OptionFacts& option : command.options)
    (option.is_argument() ? arguments : options) += entry(option);
  const auto section = [&](std::string_view heading, const std::string& body) {
    if (!body.empty()) text += fmt::format(".SH {}\n{}", heading, body);
  };
  section("ARGUMENTS", arguments);
  section("COMMANDS", commands_section(command));
  section("OPTIONS", options);
  section("NOTES", command.footer.empty() ? "" : troff(command.footer) + "\n");
  section("EXIT STATUS",
          "0: success. 1: an error. 2: an invalid command line. 129, 130 and 143: interrupted by "
          "SIGHUP, SIGINT and SIGTERM.\n");
  if (words.size() > 1) section("SEE ALSO", ".BR limpid (1)\n");
  return text;
}

void write_pages(const CommandFacts& command, std::vector<std::string>& words,
                 const std::filesystem::path& folder) {
  const std::string page = man_page(command, words);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(page));
  write_file_atomically(folder / (page_name(words) + ".1"), {&bytes, 1});
  for (const CommandFacts& c : command.commands) {
    words.push_back(c.name);
    write_pages(c, words, folder);
    words.pop_back();
  }
}

void help(const Command& app, const HelpArguments& options) {
  const CommandFacts command = app.facts(options.command);
  std::vector<std::string> words = {"limpid"};
  if (!options.folder.empty()) return write_pages(app.facts(), words, options.folder);
  words.insert(words.end(), options.command.begin(), options.command.end());
  print(options.man ? man_page(command, words)
                    : help_text(command, fmt::format("{}", fmt::join(words, " "))));
}

}  // namespace

void add_help(Command& app) {
  auto options = std::make_shared<HelpArguments>();
  Command command = app.command("help", "Print the help of a command, or its man page");
  command.option("COMMAND", options->command, "Command, such as train or lab init");
  command.flag("--man", options->man, "Print a man page: limpid help train --man | man -l -");
  command
      .option("--man-pages", options->folder, "Write the man pages of all commands to this folder")
      .path("DIR");
  command.run([app = command, options] { help(app, *options); });
}

}  // namespace limpid::tool
