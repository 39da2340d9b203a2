// Commands and their options, without the parser's headers: only cli.cc includes CLI11. Depends on
// the library's core, and for --help on help_text.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class Option;
}  // namespace CLI

namespace limpid::tool {

// Bad usage, an invalid command line: exit code 2. Every other failure is a limpid::Error: exit
// code 1.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A check of an option's text. If it fails: "--option: expected X, got 'text'".
struct Check {
  std::function<bool(const std::string& text)> fits;
  std::string expected;
};
Check not_negative();
Check share();  // above 0 and at most 1
Check number_within(double low, double high);
Check within(std::int64_t low, std::int64_t high);

// The help of an option or argument.
struct OptionFacts {
  std::vector<std::string> names;  // "-h", "--help"; for an argument, its only name: "MODEL"
  std::string value;               // placeholder in help: "N", "bf16|int8"; empty for a flag
  std::string help;
  bool required = false;
  bool repeated = false;                     // an argument that takes all that follow
  std::vector<std::string> needs, excludes;  // names of other options

  bool is_argument() const { return !names.front().starts_with('-'); }
  bool is_path() const;
  std::vector<std::string> choices() const;  // of "bf16|int8"; else empty
};

// The help of a command and its subcommands, in the order in which they were added.
struct CommandFacts {
  std::string name, help;
  std::string group;   // title under which its parent lists it
  std::string footer;  // the end of --help
  std::vector<OptionFacts> options;
  std::vector<CommandFacts> commands;
};

// Refers to an option of a command, which keeps it.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& type(const std::string& name);  // placeholder in help: "N", "NUMBERS"
  // The value is a path, which must not be empty. Placeholder in help: "FILE", "RUN" or "PATH".
  Option& path(const std::string& name);
  Option& check(Check check);
  Option& required();
  Option& needs(const Option& other);
  Option& excludes(const Option& other);

 private:
  CLI::Option* option_;
};

// Refers to a command, which the CommandLine owns. Names with "--" are options; others are
// positional arguments in the order in which they are added. A value changes only if the user gives
// the option. Help shows the default of a number or a choice.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command command(const std::string& name, const std::string& help);
  // This command with a title: --help lists commands that are added through the result under it.
  Command group(const std::string& title) const;
  void footer(const std::string& text);  // the end of --help
  // The user must give one of its subcommands.
  void require_command();
  // Sets the action of the command, called after all options have their values.
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
  // An option that can be repeated; an argument takes all that follow.
  Option option(const std::string& name, std::vector<std::string>& values, const std::string& help);
  // Passes the last text given to `set`.
  Option option(const std::string& name, std::function<void(const std::string&)> set,
                const std::string& help);
  // One of these choices, case-insensitive.
  Option choice(const std::string& name, std::string& value, std::vector<std::string> choices,
                const std::string& help);

  Option flag(const std::string& name, bool& value, const std::string& help);
  // --name and --no-name; passes the last one to `set`.
  Option flag(const std::string& name, std::function<void(bool)> set, const std::string& help);

  // An existing option of this command.
  Option at(const std::string& name);

  // A command of the command line: {} for the program with all its commands, {"lab", "init"} for a
  // subcommand. Call it in an action, when all commands were added. Throws UsageError if there is
  // no such command.
  CommandFacts facts(const std::vector<std::string>& command = {}) const;

 private:
  CLI::App* app_;
  std::string group_;
};

class CommandLine {
 public:
  CommandLine(const std::string& program, const std::string& about, const std::string& version);
  ~CommandLine();

  Command root();
  // Runs the command of the arguments; or returns the text of --help or --version. Throws
  // UsageError for invalid arguments, and what the command throws.
  std::string run(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace limpid::tool
