#include "apps/limpid/support/cli.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "apps/limpid/support/help_text.h"
#include "limpid/core/in_quotes.h"

namespace limpid::tool {
namespace {

template <class T>
std::optional<T> number_from(std::string_view text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return {};
  if constexpr (std::is_floating_point_v<T>)
    if (!std::isfinite(number)) return {};
  return number;
}

template <class T>
constexpr std::string_view kExpected = "an integer";
template <>
constexpr std::string_view kExpected<std::uint64_t> = "an integer from 0 to 2^64 - 1";
template <>
constexpr std::string_view kExpected<double> = "a number";

// An option with one value, passed to set() after all checks.
CLI::Option* text_option(CLI::App& app, const std::string& name, const std::string& help,
                         std::function<void(const std::string&)> set) {
  return app
      .add_option(
          name,
          [set = std::move(set)](const CLI::results_t& texts) { return set(texts.front()), true; },
          help)
      ->type_size(1)
      ->expected(1)
      ->type_name("TEXT");
}

// Value: a number or an optional number.
template <class T>
T number_in(const std::optional<T>&);
template <class T>
T number_in(const T&);

template <class Value>
Option number_option(CLI::App& app, const std::string& name, Value& value,
                     const std::string& help) {
  using Number = decltype(number_in(value));
  Option option(text_option(app, name, help,
                            [&](const std::string& text) { value = *number_from<Number>(text); }));
  const auto fits = [](const std::string& text) { return number_from<Number>(text).has_value(); };
  option.check({fits, std::string(kExpected<Number>)});
  return option.type(std::is_floating_point_v<Number> ? "X" : "N");
}

template <class T>
std::string with_default(const std::string& help, const T& value) {
  return fmt::format("{}; default: {}", help, value);
}

bool equal_letters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

const CLI::App& command_of(const CLI::App& app, const std::string& name) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return *command;
    names += " " + command->get_name();
  }
  if (names.empty())
    throw UsageError(fmt::format("{} has no commands, got {}", app.get_name(), in_quotes(name)));
  throw UsageError(fmt::format("there is no command {}; there are:{}", in_quotes(name), names));
}

// The parser's own message would only say that a command is required.
void check_command(const CLI::App& app, int argc, char** argv) {
  if (app.get_subcommands({}).empty() || argc < 2 || argv[1][0] == '-') return;
  check_command(command_of(app, argv[1]), argc - 1, argv + 1);
}

const CLI::App& line_of(const CLI::App& app) {
  return app.get_parent() ? line_of(*app.get_parent()) : app;
}

std::vector<std::string> names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::sort(names.begin(), names.end());  // the set is ordered by address
  return names;
}

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts{.names = {},
                    .value = {},
                    .help = option.get_description(),
                    .required = option.get_required(),
                    .repeated = option.get_positional() && option.get_allow_extra_args(),
                    .needs = names_of(option.get_needs()),
                    .excludes = names_of(option.get_excludes())};
  if (option.get_positional()) {
    facts.names = {option.get_name(true)};
  } else {
    for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  }
  if (option.get_type_size() > 0) facts.value = option.get_type_name();
  return facts;
}

CommandFacts facts_of(const CLI::App& app) {
  CommandFacts facts{.name = app.get_name(),
                     .help = app.get_description(),
                     .group = app.get_group(),
                     .footer = app.get_footer(),
                     .options = {},
                     .commands = {}};
  for (const CLI::Option* option : app.get_options()) facts.options.push_back(facts_of(*option));
  for (const CLI::App* command : app.get_subcommands({}))
    facts.commands.push_back(facts_of(*command));
  return facts;
}

// The command of the arguments, as far as they were parsed, and how the user calls it.
struct Called {
  const CLI::App* command;
  std::string words;
};

Called called_in(const CLI::App& app) {
  Called called{&app, app.get_name()};
  while (!called.command->get_subcommands().empty()) {
    called.command = called.command->get_subcommands().front();
    called.words += " " + called.command->get_name();
  }
  return called;
}

// The message for invalid arguments. The parser's own is used where it names the option and what
// was expected of it.
std::string message_of(const CLI::App& app, const CLI::ParseError& error) {
  const Called called = called_in(app);
  const bool incomplete = dynamic_cast<const CLI::RequiredError*>(&error);
  // What is missing may be missing because its name was misspelt.
  const std::vector<std::string> extras = app.remaining(true);
  if (!extras.empty() && extras.front().starts_with('-'))
    return fmt::format("unknown option {}; `{} --help` lists the options",
                       in_quotes(extras.front()), called.words);
  if (incomplete && called.command->get_require_subcommand_min() > 0)
    return fmt::format("expected a command; `{} --help` lists them", called.words);
  if (!extras.empty() && dynamic_cast<const CLI::ExtrasError*>(&error))
    return fmt::format("unexpected argument {}", in_quotes(extras.front()));
  const std::string_view text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    const std::string option(text.substr(0, text.find_first_of(": ")));
    const CLI::Option* const found =
        option.starts_with('-') ? called.command->get_option_no_throw(option) : nullptr;
    if (!found) return fmt::format("--{}: expected no value", option);
    return fmt::format("{}: expected one value, got {}", option,
                       found->count() > 1 ? std::to_string(found->count()) : "none");
  }
  return std::string(text);
}

constexpr std::string_view kPathTypes[] = {"FILE", "RUN", "PATH", "DIR"};

}  // namespace

// ---------------------------------------------------------------------------------------------
// Checks
// ---------------------------------------------------------------------------------------------

Check not_negative() {
  const auto fits = [](const std::string& text) {
    const std::optional<double> number = number_from<double>(text);
    return number && *number >= 0;
  };
  return {fits, "a number of 0 or more"};
}

Check share() {
  const auto fits = [](const std::string& text) {
    const std::optional<double> number = number_from<double>(text);
    return number && *number > 0 && *number <= 1;
  };
  return {fits, "a number above 0 and at most 1"};
}

Check number_within(double low, double high) {
  const auto fits = [=](const std::string& text) {
    const std::optional<double> number = number_from<double>(text);
    return number && *number >= low && *number <= high;
  };
  return {fits, fmt::format("a number from {} to {}", low, high)};
}

Check within(std::int64_t low, std::int64_t high) {
  const auto fits = [=](const std::string& text) {
    const std::optional<std::int64_t> number = number_from<std::int64_t>(text);
    return number && *number >= low && *number <= high;
  };
  return {fits, fmt::format("an integer from {} to {}", low, high)};
}

// ---------------------------------------------------------------------------------------------
// Options
// ---------------------------------------------------------------------------------------------

bool OptionFacts::is_path() const {
  return std::find(std::begin(kPathTypes), std::end(kPathTypes), value) != std::end(kPathTypes);
}

std::vector<std::string> OptionFacts::choices() const {
  std::vector<std::string> all;
  if (value.find('|') == std::string::npos) return all;
  std::istringstream parts(value);
  for (std::string choice; std::getline(parts, choice, '|');) all.push_back(choice);
  return all;
}

Option& Option::type(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::path(const std::string& name) {
  check({[](const std::string& text) { return !text.empty(); }, "a path"});
  return type(name);
}

Option& Option::check(Check check) {
  // The latest check first: it says more than the check of the type.
  option_->transform(CLI::Validator(
      [check = std::move(check)](std::string& text) {
        if (check.fits(text)) return std::string();
        return fmt::format("expected {}, got {}", check.expected, in_quotes(text));
      },
      ""));
  return *this;
}

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

// ---------------------------------------------------------------------------------------------
// Commands
// ---------------------------------------------------------------------------------------------

Command Command::command(const std::string& name, const std::string& help) {
  CLI::App* const added = app_->add_subcommand(name, help);
  if (!group_.empty()) added->group(group_);
  return Command(added);
}

Command Command::group(const std::string& title) const {
  Command same = *this;
  same.group_ = title;
  return same;
}

void Command::footer(const std::string& text) { app_->footer(text); }
void Command::require_command() { app_->require_subcommand(1); }
void Command::run(std::function<void()> action) { app_->callback(std::move(action)); }

Option Command::option(const std::string& name, std::function<void(const std::string&)> set,
                       const std::string& help) {
  return Option(text_option(*app_, name, help, std::move(set))
                    ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast));
}

Option Command::option(const std::string& name, std::string& value, const std::string& help) {
  return Option(text_option(*app_, name, help, [&](const std::string& text) { value = text; }));
}

Option Command::option(const std::string& name, std::optional<std::string>& value,
                       const std::string& help) {
  return Option(text_option(*app_, name, help, [&](const std::string& text) { value = text; }));
}

Option Command::option(const std::string& name, std::int64_t& value, const std::string& help) {
  return number_option(*app_, name, value, with_default(help, value));
}
Option Command::option(const std::string& name, std::optional<std::int64_t>& value,
                       const std::string& help) {
  return number_option(*app_, name, value, help);
}
Option Command::option(const std::string& name, int& value, const std::string& help) {
  return number_option(*app_, name, value, with_default(help, value));
}
Option Command::option(const std::string& name, std::uint64_t& value, const std::string& help) {
  return number_option(*app_, name, value, with_default(help, value));
}
Option Command::option(const std::string& name, double& value, const std::string& help) {
  return number_option(*app_, name, value, with_default(help, value));
}

Option Command::option(const std::string& name, std::vector<std::string>& values,
                       const std::string& help) {
  const bool named = name.starts_with("--");
  return Option(
      app_->add_option(
              name, [&](const CLI::results_t& texts) { return values = texts, true; }, help)
          ->type_size(1)
          ->expected(named ? 1 : -1)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
          ->type_name("TEXT"));
}

Option Command::choice(const std::string& name, std::string& value,
                       std::vector<std::string> choices, const std::string& help) {
  const auto find = [choices](const std::string& text) -> std::optional<std::string> {
    for (const std::string& choice : choices)
      if (equal_letters(choice, text)) return choice;
    return {};
  };
  Option option(text_option(*app_, name, value.empty() ? help : with_default(help, value),
                            [&, find](const std::string& text) { value = *find(text); }));
  option.type(fmt::format("{}", fmt::join(choices, "|")));
  option.check({[find](const std::string& text) { return find(text).has_value(); },
                fmt::format("one of {}", fmt::join(choices, ", "))});
  return option;
}

Option Command::flag(const std::string& name, bool& value, const std::string& help) {
  return Option(app_->add_flag_function(
                        name, [&](std::int64_t times) { value = times > 0; }, help)
                    ->disable_flag_override());
}

Option Command::flag(const std::string& name, std::function<void(bool)> set,
                     const std::string& help) {
  return Option(app_->add_flag_function(
                        fmt::format("{},!--no-{}", name, name.substr(2)),
                        [set = std::move(set)](std::int64_t times) { set(times > 0); }, help)
                    ->disable_flag_override()
                    ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast));
}

Option Command::at(const std::string& name) { return Option(app_->get_option(name)); }

CommandFacts Command::facts(const std::vector<std::string>& command) const {
  const CLI::App* found = &line_of(*app_);
  for (const std::string& name : command) found = &command_of(*found, name);
  return facts_of(*found);
}

// ---------------------------------------------------------------------------------------------
// The command line
// ---------------------------------------------------------------------------------------------

CommandLine::CommandLine(const std::string& program, const std::string& about,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(about, program)) {
  app_->set_version_flag("--version", version, "Print the version and exit");
  app_->set_help_flag("-h,--help", "Print this help and exit");
  app_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() { return Command(app_.get()); }

std::string CommandLine::run(int argc, char** argv) {
  check_command(*app_, argc, argv);
  try {
    app_->parse(argc, argv);
    return "";
  } catch (const CLI::CallForHelp&) {
    const Called called = called_in(*app_);
    return help_text(facts_of(*called.command), called.words);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) throw UsageError(message_of(*app_, e));
    std::ostringstream out;
    app_->exit(e, out, out);
    return out.str();
  }
}

}  // namespace limpid::tool
