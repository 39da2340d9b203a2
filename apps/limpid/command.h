// What the commands of the tool share: errors of usage, and what options may be. A command is a
// file with a function add_NAME, which main.cc lists. Depends on CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>

namespace limpid::tool {

// The command line asks for what does not exist or makes no sense: exit code 2. Whatever goes wrong
// beyond the command line is a limpid::Error: exit code 1.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// For an option whose numbers are above 0, or not below it.
inline CLI::Validator positive(bool or_zero = false) {
  return CLI::Validator(
      [or_zero](std::string& text) {
        double number = 0;
        const bool well =
            CLI::detail::lexical_cast(text, number) && (number > 0 || (or_zero && number == 0));
        return well ? std::string()
                    : (or_zero ? "a number of 0 or more is expected, "
                               : "a positive number is expected, ") +
                          text + " came";
      },
      "");
}

// For an option whose numbers lie in [low, high].
inline CLI::Validator within(std::int64_t low, std::int64_t high) {
  return CLI::Range(low, high).description("");
}

// For an option that is a seed: CLI11 would wrap what is negative.
inline CLI::Validator seed() {
  return CLI::Validator(
      [](std::string& text) {
        std::uint64_t number = 0;
        const char* const end = text.data() + text.size();
        const auto [behind, error] = std::from_chars(text.data(), end, number);
        return error == std::errc{} && behind == end
                   ? std::string()
                   : "an integer from 0 to 2^64 - 1 is expected, " + text + " came";
      },
      "");
}

}  // namespace limpid::tool
