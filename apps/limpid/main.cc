// limpid, the command line tool: `limpid --help` says what it does.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/stop_signals.h"

namespace limpid::tool {

// The commands, one per file: each adds itself to the command line.
void add_completion(Command& app);
void add_convert(Command& app);
void add_data(Command& app);
void add_doctor(Command& app);
void add_embed(Command& app);
void add_emit(Command& app);
void add_eval(Command& app);
void add_generate(Command& app);
void add_gradcheck(Command& app);
void add_hash(Command& app);
void add_help(Command& app);
void add_lab(Command& app);
void add_onnx_ops(Command& app);   // if the tool is built with ONNX
void add_onnx_test(Command& app);  // likewise
void add_ops(Command& app);
void add_perceptron(Command& app);
void add_quantize(Command& app);
void add_receipt(Command& app);  // where the tool is built with the server, and so is serve
void add_report(Command& app);
void add_run(Command& app);
void add_runs(Command& app);
void add_selftest(Command& app);
void add_serve(Command& app);
void add_show(Command& app);
void add_summary(Command& app);
void add_tokenize(Command& app);
void add_trace(Command& app);
void add_train(Command& app);
void add_view(Command& app);  // where the tool is built with the server
void add_verify_step(Command& app);

namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;

int fail(int code, std::string_view message) {
  print_error(message);
  return code;
}

int run(int argc, char** argv) {
  CommandLine line("limpid", "Neural networks as pure functions.", "limpid " LIMPID_VERSION);
  using Add = void (*)(Command&);
  const std::pair<const char*, std::vector<Add>> groups[] = {
      {"Train", {add_data, add_train, add_runs, add_doctor, add_report}},
      {"Use", {add_eval, add_run, add_generate, add_embed}},
      {"Look inside", {add_summary, add_trace, add_show, add_tokenize, add_ops}},
#ifdef LIMPID_ONNX
      {"Convert", {add_convert, add_quantize, add_emit, add_onnx_ops}},
      {"Check", {add_selftest, add_hash, add_gradcheck, add_verify_step, add_onnx_test}},
#else
      {"Convert", {add_convert, add_quantize, add_emit}},
      {"Check", {add_selftest, add_hash, add_gradcheck, add_verify_step}},
#endif
#ifdef LIMPID_SERVE
      {"Serve", {add_serve, add_receipt, add_view}},
#endif
      {"Learn", {add_perceptron, add_lab}},
      {"Help", {add_help, add_completion}},
  };
  for (const auto& [title, commands] : groups) {
    Command group = line.root().group(title);
    for (const Add add : commands) add(group);
  }
  try {
    print(line.run(argc, argv));
    flush();
    return 0;
  } catch (const UsageError& e) {
    return fail(kUsage, e.what());
  }
}

}  // namespace

// A descriptor of standard input, output or error that is closed: the next file that is opened
// would get it, and what is printed would end up there. So it is taken, for a use that still fails.
static void take_closed_descriptors() {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(standard, F_GETFD) == -1 && errno == EBADF)
      open("/dev/null", standard == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest one is free
}

}  // namespace limpid::tool

int main(int argc, char** argv) {
  namespace tool = limpid::tool;
  // A write beyond the limit of a file's size fails like a full disk; it does not end the process.
  std::signal(SIGXFSZ, SIG_IGN);
  tool::take_closed_descriptors();
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
