// The commands of the tool, one a file: each adds itself to the command line, with what it does as
// its callback. Leans on CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>

namespace limpid::tool {

void add_convert(CLI::App& app);
void add_doctor(CLI::App& app);
void add_emit(CLI::App& app);
void add_eval(CLI::App& app);
void add_generate(CLI::App& app);
void add_gradcheck(CLI::App& app);
void add_hash(CLI::App& app);
void add_lab(CLI::App& app);
void add_onnx_ops(CLI::App& app);   // where the tool is built with ONNX,
void add_onnx_test(CLI::App& app);  // and so is this
void add_ops(CLI::App& app);
void add_perceptron(CLI::App& app);
void add_quantize(CLI::App& app);
void add_report(CLI::App& app);
void add_run(CLI::App& app);
void add_selftest(CLI::App& app);
void add_show(CLI::App& app);
void add_summary(CLI::App& app);
void add_trace(CLI::App& app);
void add_train(CLI::App& app);

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
