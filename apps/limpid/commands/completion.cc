// limpid completion: scripts that complete the command line in a shell, generated from the commands
// and their options.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/output.h"

namespace limpid::tool {
namespace {

// Calls f(command, path) for a command and all its subcommands. The path of "limpid lab init" is
// "/lab/init", that of "limpid" is "".
void each_command(const CommandFacts& command, const std::string& path,
                  const std::function<void(const CommandFacts&, const std::string&)>& f) {
  f(command, path);
  for (const CommandFacts& c : command.commands) each_command(c, path + "/" + c.name, f);
}

std::string names_of(const std::vector<CommandFacts>& commands) {
  std::vector<std::string> names;
  for (const CommandFacts& c : commands) names.push_back(c.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string options_of(const CommandFacts& command) {
  std::vector<std::string> names;
  for (const OptionFacts& option : command.options)
    if (!option.is_argument()) names.insert(names.end(), option.names.begin(), option.names.end());
  return fmt::format("{}", fmt::join(names, " "));
}

// The words that complete the arguments of a command, unless they are paths: choices, or names of
// commands.
std::vector<std::string> words_of(const CommandFacts& command, const CommandFacts& line) {
  std::vector<std::string> words;
  for (const OptionFacts& argument : command.options) {
    if (!argument.is_argument()) continue;
    for (const std::string& choice : argument.choices()) words.push_back(choice);
    if (argument.names.front() != "COMMAND") continue;
    for (const CommandFacts& c : line.commands) words.push_back(c.name);
  }
  return words;
}

// Puts a backslash before each of the characters in `special`.
std::string escaped(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

// Quotes a word for a shell, in single quotes.
std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

// ---- bash

std::string bash_script(const CommandFacts& line) {
  std::string paths, words, values;
  each_command(line, "", [&](const CommandFacts& command, const std::string& path) {
    if (!path.empty()) paths += (paths.empty() ? "" : " | ") + path;
    const std::vector<std::string> arguments = words_of(command, line);
    words += fmt::format("    '{}') words='{}' options='{}' ;;\n", path,
                         arguments.empty() ? names_of(command.commands)
                                           : fmt::format("{}", fmt::join(arguments, " ")),
                         options_of(command));
    for (const OptionFacts& option : command.options) {
      if (option.is_argument() || option.value.empty()) continue;
      const std::string completed =
          option.is_path()
              ? "mapfile -t COMPREPLY < <(compgen -f -- \"$current\")"
              : fmt::format("mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\")",
                            fmt::join(option.choices(), " "));
      for (const std::string& name : option.names)
        values += fmt::format("    '{}:{}') {}; return ;;\n", path, name, completed);
    }
  });
  return fmt::format(R"(# bash completion of limpid, written by `limpid completion bash`
_limpid() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  local path='' words='' options='' word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD - 1}}"; do
    case $path/$word in
      {}) path=$path/$word ;;
    esac
  done
  case $path:$previous in
{}  esac
  case $path in
{}  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  elif [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}}
complete -o filenames -F _limpid limpid
)",
                     paths, values, words);
}

// ---- zsh

// "--out[Run folder]:RUN:_files"
std::string zsh_option(const OptionFacts& option, const std::string& name) {
  std::string spec = name + "[" + escaped(option.help, "[]:\\") + "]";
  if (option.value.empty()) return spec;
  spec += ":" + escaped(option.value, "[]:\\") + ":";
  if (option.is_path()) return spec + "_files";
  if (const auto choices = option.choices(); !choices.empty())
    return spec + fmt::format("({})", fmt::join(choices, " "));
  return spec + " ";
}

std::string zsh_function(const CommandFacts& command, const std::string& path,
                         const CommandFacts& whole) {
  std::string name = "_limpid" + path;
  for (char& c : name)
    if (c == '/') c = '_';
  std::string specs;
  const auto add = [&](const std::string& spec) { specs += " \\\n    " + shell_quoted(spec); };
  for (const OptionFacts& option : command.options)
    for (const std::string& o : option.names)
      if (!option.is_argument()) add("*" + zsh_option(option, o));
  if (command.commands.empty()) {
    const std::vector<std::string> words = words_of(command, whole);
    add(words.empty() ? "*:argument:_files"
                      : fmt::format("*:argument:({})", fmt::join(words, " ")));
    return fmt::format("{}() {{\n  _arguments{}\n}}\n", name, specs);
  }
  add("1:command:->command");
  add("*::argument:->rest");
  std::string list, calls;
  for (const CommandFacts& c : command.commands) {
    list += "\n        " + shell_quoted(c.name + ":" + escaped(c.help, ":\\"));
    calls += fmt::format("        {}) {}_{} ;;\n", c.name, name, c.name);
  }
  return fmt::format(R"({}() {{
  local state line
  local -a commands
  _arguments -C{}
  case $state in
    command)
      commands=({}
      )
      _describe command commands ;;
    rest)
      case $line[1] in
{}      esac ;;
  esac
}}
)",
                     name, specs, list, calls);
}

std::string zsh_script(const CommandFacts& line) {
  std::string text = "#compdef limpid\n# zsh completion of limpid, by `limpid completion zsh`\n";
  each_command(line, "", [&](const CommandFacts& command, const std::string& path) {
    text += zsh_function(command, path, line);
  });
  // In a folder of $fpath, the script is the body of the function on its first call. It may also be
  // sourced.
  return text + R"(if [[ $funcstack[1] == _limpid ]]; then
  _limpid "$@"
else
  compdef _limpid limpid
fi
)";
}

// ---- fish

// The condition on the words before: "__fish_seen_subcommand_from lab; and ...".
std::string fish_condition(const CommandFacts& command, const std::string& path) {
  std::vector<std::string> parts;
  std::size_t begin = 1;
  while (begin < path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    parts.push_back("__fish_seen_subcommand_from " + path.substr(begin, end - begin));
    begin = end + 1;
  }
  if (!command.commands.empty())
    parts.push_back("not __fish_seen_subcommand_from " + names_of(command.commands));
  return fmt::format("{}", fmt::join(parts, "; and "));
}

std::string fish_script(const CommandFacts& line) {
  std::string text =
      "# fish completion of limpid, written by `limpid completion fish`\ncomplete -c limpid -f\n";
  each_command(line, "", [&](const CommandFacts& command, const std::string& path) {
    const std::string begin =
        fmt::format("complete -c limpid -n {}", shell_quoted(fish_condition(command, path)));
    for (const CommandFacts& c : command.commands)
      text += fmt::format("{} -a {} -d {}\n", begin, c.name, shell_quoted(escaped(c.help, "\\")));
    for (const OptionFacts& option : command.options) {
      if (option.is_argument()) continue;
      std::string names, value;
      for (const std::string& name : option.names)
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (option.is_path())
        value = " -r -F";
      else if (const auto choices = option.choices(); !choices.empty())
        value = fmt::format(" -x -a {}", shell_quoted(fmt::format("{}", fmt::join(choices, " "))));
      else if (!option.value.empty())
        value = " -x";
      text += fmt::format("{}{}{} -d {}\n", begin, names, value,
                          shell_quoted(escaped(option.help, "\\")));
    }
    if (!command.commands.empty()) return;
    const std::vector<std::string> words = words_of(command, line);
    text += begin +
            (words.empty()
                 ? " -F\n"
                 : fmt::format(" -a {}\n", shell_quoted(fmt::format("{}", fmt::join(words, " ")))));
  });
  return text;
}

}  // namespace

void add_completion(Command& app) {
  auto shell = std::make_shared<std::string>();
  Command command =
      app.command("completion", "Print a script by which bash, zsh or fish completes limpid");
  command.choice("SHELL", *shell, {"bash", "zsh", "fish"}, "Shell that reads the script")
      .required();
  command.footer(
      "bash: source <(limpid completion bash) in ~/.bashrc. zsh: source <(limpid completion zsh) "
      "in "
      "~/.zshrc, after compinit. fish: limpid completion fish | source in "
      "~/.config/fish/config.fish. Packages install all three.");
  command.run([app = command, shell] {
    const CommandFacts line = app.facts();
    if (*shell == "bash")
      print(bash_script(line));
    else
      print(*shell == "zsh" ? zsh_script(line) : fish_script(line));
  });
}

}  // namespace limpid::tool
