// limpid view: models, runs and training in a browser.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/model_file.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/page_files.h"
#include "apps/limpid/support/threads.h"
#include "apps/limpid/support/view_server.h"
#include "limpid/data/load_data.h"
#include "limpid/serve/server.h"

namespace limpid::tool {
namespace {

struct ViewArguments {
  std::vector<std::string> paths;
  std::vector<std::string> data;
  std::string runs;
  std::int64_t port = 0;
  bool no_open = false;
  int threads = 1;
};

// Hands an address to the desktop's browser; nothing happens where there is none.
void open_browser(const std::string& url) {
  if (!std::getenv("DISPLAY") && !std::getenv("WAYLAND_DISPLAY")) return;
  std::string program = "xdg-open", address = url;
  char* const arguments[] = {program.data(), address.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", 1 /* O_WRONLY */, 0);
  pid_t child = 0;
  if (posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments, environ) == 0)
    std::thread([child] { ::waitpid(child, nullptr, 0); }).detach();
  posix_spawn_file_actions_destroy(&actions);
}

void view_them(const ViewArguments& options) {
  constexpr std::chrono::milliseconds kLongest{600'000};
  for (const std::string& spec : options.data) parse_data_spec(spec);
  view::Session session({.paths = options.paths,
                         .data = options.data,
                         .folder = options.runs,
                         .onnx = onnx_format(),
                         .version = LIMPID_VERSION,
                         .threads = options.threads});
  const std::string token = random_token();
  ViewServer pages(session, token);
  serve::AccessLog log("");
  serve::Metrics metrics;
  serve::Limits limits;
  limits.body = session.limits().file;
  limits.request_time = kLongest;
  limits.drain_time = std::chrono::milliseconds(2000);
  serve::Server server({.port = static_cast<std::uint16_t>(options.port),
                        .limits = limits,
                        .admit = [&](const serve::Request& head) { pages.admit(head); },
                        .handle =
                            [&](serve::Request request, std::shared_ptr<serve::Answer> answer) {
                              pages.answer(std::move(request), std::move(answer));
                            }},
                       metrics, log);
  const std::string address = server.url();
  const std::string url = fmt::format("{}/?token={}", address, token);
  print(url + "\n");
  flush();
  if (page_files().empty())
    print_note("this tool was built without npm and has no page: see docs/view.md");
  else if (!options.no_open)
    open_browser(url);
  server.run();
}

}  // namespace

void add_view(Command& app) {
  auto options = std::make_shared<ViewArguments>();
  Command command = app.command(
      "view", "View models, runs and training in a browser, on this machine only: docs/view.md");
  command
      .option(
          "PATH", options->paths,
          "Models (safetensors, ONNX as NAME.onnx, Hugging Face folders) and run folders; none: "
          "the playground and the lab")
      .path("PATH");
  command.option("--data", options->data, "Data set that the page may show, once for each")
      .type("SPEC");
  command.option("--runs", options->runs, "Folder where the page may start runs").path("DIR");
  command.option("--port", options->port, "Port to listen on; 0: a free one")
      .check(within(0, 65535));
  command.flag("--no-open", options->no_open, "Open no browser");
  add_threads_option(command, options->threads);
  command.run([options] { view_them(*options); });
}

}  // namespace limpid::tool
