// Commands and their options, without the headers of the parser: only cli.cc includes CLI11.
// Depends on the library's core alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace limpid::tool {

// The command line asks for what does not exist or makes no sense: exit code 2. Whatever goes wrong
// beyond the command line is a limpid::Error: exit code 1.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What the text of an option must be; otherwise "--option: expected X, got 'text'".
struct Check {
  std::function<bool(const std::string& text)> fits;
  std::string expected;
};
Check positive(bool or_zero = false);
Check within(std::int64_t low, std::int64_t high);

// What help says of an option or an argument.
struct OptionFacts {
  std::vector<std::string> names;  // "-h", "--help"; of an argument one: "MODEL"
  std::string value;               // as help shows it: "N", "bf16|int8"; empty for a flag
  std::string help;
  bool required = false;

  bool is_argument() const { return !names.front().starts_with('-'); }
  bool is_path() const;
  std::vector<std::string> choices() const;  // of "bf16|int8"; else empty
};

// What help says of a command and of those below it, in the order of their addition.
struct CommandFacts {
  std::string name, help;
  std::string group;   // under which its parent lists it
  std::string footer;  // the end of --help
  std::vector<OptionFacts> options;
  std::vector<CommandFacts> commands;
};

// Refers to an option of a command, which keeps it.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& type(const std::string& name);  // as help shows its value: "N", "NUMBERS"
  // The value is a path, which cannot be empty: help shows it as "FILE", "RUN" or "PATH".
  Option& path(const std::string& name);
  Option& check(Check check);
  Option& required();
  Option& needs(const Option& other);
  Option& excludes(const Option& other);

 private:
  CLI::Option* option_;
};

// Refers to a command, which the CommandLine keeps. Names with "--" are options, others are
// arguments in the order in which they are added. A value changes only if the user gives the
// option; help shows the default of a number or a choice.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command command(const std::string& name, const std::string& help);
  // This command; --help lists the commands that are added through the result under a title.
  Command group(const std::string& title) const;
  void footer(const std::string& text);  // the end of --help
  // The user must give one of its commands.
  void require_command();
  // What the command does, after all options have their values.
  void run(std::function<void()> action);

  Option option(const std::string& name, std::string& value, const std::string& help);
  Option option(const std::string& name, std::optional<std::string>& value,
                const std::string& help);
  Option option(const std::string& name, std::int64_t& value, const std::string& help);
  Option option(const std::string& name, std::optional<std::int64_t>& value,
                const std::string& help);
  Option option(const std::string& name, int& value, const std::string& help);
  Option option(const std::string& name, std::uint64_t& value, const std::string& help);
  Option option(const std::string& name, double& value, const std::string& help);
  // One value each time it is given; an argument takes all that follow.
  Option option(const std::string& name, std::vector<std::string>& values, const std::string& help);
  // Hands over the last text given.
  Option option(const std::string& name, std::function<void(const std::string&)> set,
                const std::string& help);
  // One of these, in any case of letters.
  Option choice(const std::string& name, std::string& value, std::vector<std::string> choices,
                const std::string& help);

  Option flag(const std::string& name, bool& value, const std::string& help);
  // --name and --no-name; hands over which of them came last.
  Option flag(const std::string& name, std::function<void(bool)> set, const std::string& help);

  // An option that this command has.
  Option at(const std::string& name);

  // All commands of the command line that this one belongs to. Call it in an action: then all are
  // there.
  CommandFacts line() const;
  // The text of --help of a command: {} for the whole line, {"lab", "init"}. Throws UsageError
  // where there is none.
  std::string help_of(const std::vector<std::string>& command) const;

 private:
  CLI::App* app_;
  std::string group_;
};

class CommandLine {
 public:
  CommandLine(const std::string& program, const std::string& about, const std::string& version);
  ~CommandLine();

  Command root();
  // Runs the command that the arguments name; or gives the text that --help or --version asks for.
  // Throws UsageError for arguments that make no sense, and what the command throws.
  std::string run(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace limpid::tool
