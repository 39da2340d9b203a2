// limpid, the command line tool: `limpid --help` says what it does.
#include <csignal>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>

#include "apps/limpid/command.h"
#include "apps/limpid/output.h"
#include "apps/limpid/stop_signals.h"

namespace limpid::tool {

// The commands, one a file: each adds itself to the command line, with what it does as its
// callback.
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

namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;

int fail(int code, std::string_view message) {
  print_error(message);
  return code;
}

// What CLI11 reports: help and version are no errors.
int report(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() != 0) return fail(kUsage, error.what());
  std::ostringstream out;
  app.exit(error, out, out);
  print(out.str());
  flush();
  return 0;
}

// CLI11 would only say that a subcommand is required. Commands may have commands of their own.
void check_command(const CLI::App& app, int argc, char** argv) {
  const auto commands = app.get_subcommands({});
  if (commands.empty() || argc < 2 || argv[1][0] == '-') return;
  std::string names;
  for (const CLI::App* command : commands) {
    if (command->get_name() == argv[1]) return check_command(*command, argc - 1, argv + 1);
    names += " " + command->get_name();
  }
  throw UsageError(std::string("there is no command '") + argv[1] + "'; there are:" + names);
}

int run(int argc, char** argv) {
  CLI::App app("Feed-forward neural networks as pure functions.", "limpid");
  app.set_version_flag("--version", "limpid " LIMPID_VERSION);
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.require_subcommand(1);
  for (auto* add : {add_train, add_eval, add_run, add_generate, add_summary, add_trace, add_show,
                    add_quantize, add_ops, add_hash, add_selftest, add_perceptron, add_lab,
                    add_doctor, add_report, add_gradcheck, add_emit, add_convert})
    add(app);
#ifdef LIMPID_ONNX
  add_onnx_ops(app);
  add_onnx_test(app);
#endif
  try {
    check_command(app, argc, argv);
    app.parse(argc, argv);
    flush();
    return 0;
  } catch (const CLI::ParseError& e) {
    return report(app, e);
  } catch (const UsageError& e) {
    return fail(kUsage, e.what());
  }
}

}  // namespace
}  // namespace limpid::tool

int main(int argc, char** argv) {
  namespace tool = limpid::tool;
  // A file that may not grow is an error like a full disk, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return tool::run(argc, argv);
  } catch (const tool::Interrupted& e) {
    return tool::fail(e.exit_code(), e.what());
  } catch (const std::bad_alloc&) {
    return tool::fail(tool::kFailure, "out of memory");
  } catch (const std::exception& e) {
    return tool::fail(tool::kFailure, e.what());
  }
}
