// limpid serve: models over HTTP.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/limpid/command.h"
#include "apps/limpid/model_file.h"
#include "apps/limpid/output.h"
#include "apps/limpid/threads.h"
#include "limpid/serve/bearer_token.h"
#include "limpid/serve/router.h"
#include "limpid/serve/server.h"

namespace limpid::tool {
namespace {

struct ServeArguments {
  std::vector<std::string> models;
  std::string bind = "127.0.0.1";
  std::int64_t port = 8000;
  std::int64_t max_batch = 64;
  std::int64_t max_delay = 0;  // microseconds
  std::int64_t workers = 1;
  int threads = 1;
  std::string token_file;
  std::string access_log;
  bool allow_load = false;
  std::vector<std::string> origins;
  // As Limits has them, in the units of the command line.
  std::int64_t max_url = 0, max_header = 0, max_body = 0, max_bodies = 0, max_answer = 0;
  std::int64_t max_rows = 0, max_connections = 0, max_queue = 0, min_rate = 0, max_stream = 0;
  double header_time = 0, idle_time = 0, slack = 0, deadline = 0, drain = 0;
};

double seconds(std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1000; }
std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

void set_defaults(ServeArguments& options) {
  const serve::Limits limits;
  options.max_url = static_cast<std::int64_t>(limits.url);
  options.max_header = static_cast<std::int64_t>(limits.header);
  options.max_body = static_cast<std::int64_t>(limits.body);
  options.max_bodies = static_cast<std::int64_t>(limits.bodies);
  options.max_answer = static_cast<std::int64_t>(limits.answer);
  options.max_rows = limits.rows;
  options.max_connections = static_cast<std::int64_t>(limits.connections);
  options.max_queue = static_cast<std::int64_t>(limits.queue);
  options.min_rate = static_cast<std::int64_t>(limits.rate);
  options.max_stream = static_cast<std::int64_t>(limits.stream);
  options.header_time = seconds(limits.header_time);
  options.idle_time = seconds(limits.idle_time);
  options.slack = seconds(limits.slack);
  options.deadline = seconds(limits.request_time);
  options.drain = seconds(limits.drain_time);
}

serve::Limits limits_of(const ServeArguments& options) {
  serve::Limits limits;
  limits.url = static_cast<std::size_t>(options.max_url);
  limits.header = static_cast<std::size_t>(options.max_header);
  limits.body = static_cast<std::size_t>(options.max_body);
  limits.bodies = static_cast<std::size_t>(options.max_bodies);
  limits.answer = static_cast<std::size_t>(options.max_answer);
  limits.rows = options.max_rows;
  limits.connections = static_cast<std::size_t>(options.max_connections);
  limits.queue = static_cast<std::size_t>(options.max_queue);
  limits.rate = static_cast<std::size_t>(options.min_rate);
  limits.stream = static_cast<std::size_t>(options.max_stream);
  limits.header_time = milliseconds(options.header_time);
  limits.idle_time = milliseconds(options.idle_time);
  limits.slack = milliseconds(options.slack);
  limits.request_time = milliseconds(options.deadline);
  limits.drain_time = milliseconds(options.drain);
  return limits;
}

// In the order in which they end: nobody answers once the server is gone.
void run(const ServeArguments& options) {
  const serve::Limits limits = limits_of(options);
  std::optional<serve::BearerToken> token;
  if (!options.token_file.empty()) token = serve::BearerToken::read(options.token_file);
  serve::AccessLog log(options.access_log);
  serve::Metrics metrics;
  ThreadPool pool({.threads = options.threads});
  serve::Batcher batcher({.workers = static_cast<int>(options.workers),
                          .max_batch = options.max_batch,
                          .max_delay = std::chrono::microseconds(options.max_delay),
                          .max_queue = limits.queue});
  serve::Models models({.open =
                            [](const std::string& path) {
                              return open_model({path, {}});
                            },
                        .max_batch = options.max_batch,
                        .workers = static_cast<int>(options.workers),
                        .pool = &pool},
                       batcher, metrics);
  for (const std::string& spec : options.models) models.load(models.add(spec));

  serve::Server* running = nullptr;
  serve::Router router({.limits = limits,
                        .models = models,
                        .batcher = batcher,
                        .metrics = metrics,
                        .log = log,
                        .version = LIMPID_VERSION,
                        .may_load = options.allow_load,
                        .gauges =
                            [&] {
                              return serve::Metrics::Gauges{.connections = running->connections(),
                                                            .body_bytes = running->body_bytes()};
                            },
                        .draining = [&] { return running->draining(); }});
  serve::Server server({.address = options.bind,
                        .port = static_cast<std::uint16_t>(options.port),
                        .limits = limits,
                        .origins = options.origins,
                        .admit =
                            [&](const serve::Request& head) {
                              if (token) token->check(head);
                            },
                        .handle =
                            [&](serve::Request request, std::shared_ptr<serve::Answer> answer) {
                              router(std::move(request), answer);
                            }},
                       metrics, log);
  running = &server;
  print(fmt::format("listening on {}\n", server.url()));
  flush();
  server.run();
}

}  // namespace

void add_serve(Command& app) {
  auto options = std::make_shared<ServeArguments>();
  set_defaults(*options);
  Command command = app.command("serve", "Answer requests over HTTP: docs/serving.md");
  command
      .option("MODEL", options->models,
              "Models: PATH, served under the name of its file or folder, or NAME=PATH or "
              "NAME@VERSION=PATH")
      .required();
  command.option("--port", options->port, "Port to listen on; 0: a free one")
      .check(within(0, 65535));
  command.option("--bind", options->bind, "Address to listen on").type("ADDRESS");
  command.option("--max-batch", options->max_batch, "Rows that are computed together, at most")
      .check(within(1, 65536));
  command
      .option("--max-delay", options->max_delay,
              "Microseconds that a request may wait for others to share its batch; 0: a free "
              "worker takes what is there")
      .check(within(0, 10'000'000));
  command.option("--workers", options->workers, "Batches that are computed at the same time")
      .check(within(1, 256));
  add_threads_option(command, options->threads);
  command
      .option("--token-file", options->token_file,
              "File whose first line every request must bring: Authorization: Bearer LINE")
      .type("FILE");
  command
      .option("--access-log", options->access_log,
              "File to append a line of JSON to for each request; -: standard error")
      .type("FILE");
  command.flag("--allow-load", options->allow_load,
               "Let clients load and unload the models through /v2/repository");
  command
      .option(
          "--allow-origin", options->origins,
          "Origin whose web pages may ask and read answers, https://example.org, or *: all; may be "
          "repeated")
      .type("URL");

  Command limits = command;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  limits.option("--max-url", options->max_url, "Bytes of a URL").check(within(64, 1 << 20));
  limits.option("--max-header", options->max_header, "Bytes of a header")
      .check(within(256, 1 << 20));
  limits.option("--max-body", options->max_body, "Bytes of a body").check(within(0, kMost));
  limits.option("--max-bodies", options->max_bodies, "Bytes of all bodies under way")
      .check(within(0, kMost));
  limits.option("--max-answer", options->max_answer, "Bytes of the tensors of an answer")
      .check(within(1, kMost));
  limits.option("--max-rows", options->max_rows, "Rows of a request").check(within(1, 1 << 30));
  limits.option("--max-connections", options->max_connections, "Connections")
      .check(within(1, 1 << 20));
  limits.option("--max-queue", options->max_queue, "Requests that wait; others are refused, 503")
      .check(within(1, 1 << 20));
  limits
      .option("--min-rate", options->min_rate,
              "Bytes a second of a body or an answer; slower clients are cut off")
      .check(within(1, 1 << 30));
  limits
      .option("--max-stream", options->max_stream,
              "Bytes of a streamed answer that wait for its client; with more it is cut off")
      .check(within(1, kMost));
  limits.option("--header-time", options->header_time, "Seconds for a header").check(positive());
  limits.option("--idle-time", options->idle_time, "Seconds between two requests")
      .check(positive());
  limits.option("--slack", options->slack, "Seconds that a body or an answer may stand still")
      .check(positive());
  limits
      .option("--deadline", options->deadline,
              "Seconds from a request to its answer; later it is 504")
      .check(positive());
  limits.option("--drain", options->drain, "Seconds for what is under way when SIGTERM comes")
      .check(positive());
  command.run([options] { run(*options); });
}

}  // namespace limpid::tool
