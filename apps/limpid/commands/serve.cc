// limpid serve: models over HTTP.
#include <fmt/format.h>
#include <sys/resource.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/model_file.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/threads.h"
#include "limpid/serve/bearer_token.h"
#include "limpid/serve/model_folder.h"
#include "limpid/serve/router.h"
#include "limpid/serve/server.h"

namespace limpid::tool {
namespace {

// The members of Limits that are times.
struct TimeOption {
  const char* flag;
  std::chrono::milliseconds serve::Limits::*member;
  const char* help;
};
constexpr std::array<TimeOption, 5> kTimes{{
    {"--header-time", &serve::Limits::header_time, "Maximum seconds for a header"},
    {"--idle-time", &serve::Limits::idle_time, "Maximum seconds between two requests"},
    {"--slack", &serve::Limits::slack, "Maximum seconds without progress in a body or an answer"},
    {"--deadline", &serve::Limits::request_time,
     "Maximum seconds from a request to its answer, or to the first part of a streamed one; then "
     "504"},
    {"--drain", &serve::Limits::drain_time,
     "Maximum seconds to finish requests in progress after SIGTERM"},
}};

struct ServeArguments {
  std::vector<std::string> models;
  std::string folder;  // --models
  std::string bind = "127.0.0.1";
  std::int64_t port = 8000;
  std::int64_t max_batch = 64;
  std::int64_t max_delay = 0;  // microseconds
  std::int64_t workers = 2;
  int threads = 1;
  std::string token_file;
  std::string access_log;
  bool allow_load = false;
  bool inspect = false;
  std::vector<std::string> origins;
  std::int64_t max_texts = 16;
  std::uint64_t cache_memory = std::uint64_t{1} << 30;
  serve::Limits limits = {};
  std::array<double, kTimes.size()> times = {};  // seconds
};

// Every allocation as large as a request empties malloc's fast bins first.
void leave_out_fast_bins() {
#ifdef __GLIBC__
  ::mallopt(M_MXFAST, 0);
#endif
}

// Writing to an access log that nobody reads any more must not end the server.
void ignore_broken_pipes() { std::signal(SIGPIPE, SIG_IGN); }

// Each connection is an open file. Raises the limit of this process to what the system allows; if
// that is too little, fewer connections are accepted, so that the others are refused at once.
void fit_connections(std::size_t& connections) {
  constexpr rlim_t kOthers = 64;  // models, logs, the event loop
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  const rlim_t before = files.rlim_cur;
  files.rlim_cur = std::clamp<rlim_t>(connections + kOthers, before, files.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &files) != 0) files.rlim_cur = before;
  const rlim_t room = files.rlim_cur > kOthers ? files.rlim_cur - kOthers : 1;
  connections = std::min<std::size_t>(connections, room);
}

// The server is declared last, so that it ends first: the others outlive all that uses
// them.
void run(const ServeArguments& options) {
  leave_out_fast_bins();
  ignore_broken_pipes();
  const serve::Limits& limits = options.limits;
  std::optional<serve::BearerToken> token;
  if (!options.token_file.empty()) token = serve::BearerToken::read(options.token_file);
  serve::AccessLog log(options.access_log);
  serve::Metrics metrics;
  ThreadPool pool({.threads = options.threads});
  serve::Batcher batcher({.workers = static_cast<int>(options.workers),
                          .max_batch = options.max_batch,
                          .max_delay = std::chrono::microseconds(options.max_delay),
                          .max_queue = limits.queue});
  serve::Scheduler scheduler({.max_queue = limits.queue});
  serve::Models models({.open =
                            [](const std::string& path) {
                              return open_model({path, {}});
                            },
                        .max_batch = options.max_batch,
                        .workers = static_cast<int>(options.workers),
                        .pool = &pool,
                        .max_texts = options.max_texts,
                        .cache_memory = options.cache_memory,
                        .keep_sources = options.inspect},
                       batcher, scheduler, metrics);
  for (const std::string& spec : options.models) {
    const serve::Models::Id id = models.add(spec);
    models.load(id.name, id.version);
  }
  std::optional<serve::ModelFolder> folder;
  if (!options.folder.empty()) folder.emplace(options.folder, models, log);

  serve::Server* running = nullptr;
  serve::Router router({.limits = limits,
                        .models = models,
                        .batcher = batcher,
                        .scheduler = scheduler,
                        .metrics = metrics,
                        .log = log,
                        .version = LIMPID_VERSION,
                        .may_load = options.allow_load,
                        .may_inspect = options.inspect,
                        .gauges =
                            [&] {
                              return serve::Metrics::Gauges{.connections = running->connections(),
                                                            .body_bytes = running->body_bytes()};
                            },
                        .draining = [&] { return running->draining(); }});
  serve::Server server(
      {.address = options.bind,
       .port = static_cast<std::uint16_t>(options.port),
       .limits = limits,
       .origins = options.origins,
       .admit =
           [&](const serve::Request& head) {
             if (token) token->check(head);
           },
       .say = serve::error_of,
       .handle =
           [&](serve::Request request, const std::shared_ptr<serve::Answer>& answer) {
             router(std::move(request), answer);
           },
       .on_round = [&] { batcher.wake(); }},
      metrics, log);
  running = &server;
  print(fmt::format("listening on {}\n", server.url()));
  flush();
  server.run();
}

}  // namespace

void add_serve(Command& app) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  auto options = std::make_shared<ServeArguments>();
  Command command = app.command("serve", "Answer requests over HTTP: docs/serving.md");
  command.option("MODEL", options->models,
                 "Models: PATH, served under the name of its file or folder, or NAME=PATH or "
                 "NAME@VERSION=PATH");
  command
      .option("--models", options->folder,
              "Folder of models; models that are added, changed or removed while the server runs "
              "are loaded, replaced or unloaded")
      .type("DIR");
  command.option("--port", options->port, "Port to listen on; 0: a free one")
      .check(within(0, 65535));
  command.option("--bind", options->bind, "Address to listen on").type("ADDRESS");
  command.option("--max-batch", options->max_batch, "Maximum number of rows computed together")
      .check(within(1, 65536));
  command
      .option("--max-delay", options->max_delay,
              "Microseconds that a request may wait for others to share its batch; 0: a free "
              "worker starts at once")
      .check(within(0, 10'000'000));
  command
      .option("--workers", options->workers,
              "Number of batches computed at the same time; of one model, one fewer")
      .check(within(1, 256));
  add_threads_option(command, options->threads);
  command
      .option("--token-file", options->token_file,
              "File whose first line every request must send: Authorization: Bearer LINE")
      .type("FILE");
  command
      .option("--access-log", options->access_log,
              "File to append a line of JSON to for each request; -: standard error")
      .type("FILE");
  command.flag("--allow-load", options->allow_load,
               "Let clients load and unload the models through /v2/repository");
  command.flag("--inspect", options->inspect,
               "Let clients trace models: /v2/models/M/trace answers like limpid trace");
  command
      .option("--allow-origin", options->origins,
              "Origin whose web pages may send requests and read answers (CORS): "
              "https://example.org, or * for all; may be repeated")
      .type("URL");

  command
      .option("--max-texts", options->max_texts,
              "Maximum number of texts that a language model generates at a time")
      .check(within(1, 1024));
  command
      .option("--cache-memory", options->cache_memory,
              "Bytes for the KV caches of a language model; less memory: fewer texts at a time, "
              "then a shorter context")
      .check(within(1, kMost));

  serve::Limits& limits = options->limits;
  command.option("--max-url", limits.url, "Maximum bytes of a URL").check(within(64, 1 << 20));
  command.option("--max-header", limits.header, "Maximum bytes of a header")
      .check(within(256, 1 << 20));
  command.option("--max-body", limits.body, "Maximum bytes of a body").check(within(0, kMost));
  command.option("--max-bodies", limits.bodies, "Maximum bytes of all bodies in progress")
      .check(within(0, kMost));
  command
      .option("--max-answers", limits.answers,
              "Maximum bytes of the tensors of all answers in progress")
      .check(within(1, kMost));
  command
      .option("--max-answer", limits.answer,
              "Maximum bytes of the tensors, or of the log probabilities, of an answer")
      .check(within(1, kMost));
  command.option("--max-rows", limits.rows, "Maximum rows of a request").check(within(1, 1 << 30));
  command.option("--max-tokens", limits.tokens, "Maximum tokens of a completion")
      .check(within(1, 1 << 30));
  command.option("--max-completions", limits.texts, "Maximum completions of a request")
      .check(within(1, 1 << 16));
  command.option("--max-connections", limits.connections, "Connections").check(within(1, 1 << 20));
  command
      .option("--max-queue", limits.queue,
              "Maximum number of waiting requests and texts of completions; others are refused "
              "with 503")
      .check(within(1, 1 << 20));
  command
      .option("--min-rate", limits.rate,
              "Minimum bytes per second of a body or an answer; slower clients are disconnected")
      .check(within(1, 1 << 30));
  command
      .option("--max-stream", limits.stream,
              "Maximum bytes of a streamed answer that wait for its client; beyond that the client "
              "is disconnected")
      .check(within(1, kMost));
  // A millisecond is the unit of Limits; far longer times overflow the clock.
  constexpr double kShortest = 0.001, kLongest = 1e9;
  for (std::size_t i = 0; i < kTimes.size(); ++i) {
    options->times[i] = std::chrono::duration<double>(limits.*kTimes[i].member).count();
    command.option(kTimes[i].flag, options->times[i], kTimes[i].help)
        .check(number_within(kShortest, kLongest));
  }
  command.run([options] {
    if (options->models.empty() && options->folder.empty())
      throw UsageError("expected MODEL or --models");
    for (std::size_t i = 0; i < kTimes.size(); ++i)
      options->limits.*kTimes[i].member =
          std::chrono::milliseconds(static_cast<std::int64_t>(options->times[i] * 1000));
    fit_connections(options->limits.connections);
    // More texts than the queue takes would always be refused, as if the queue were full.
    options->limits.texts =
        std::min(options->limits.texts, static_cast<std::int64_t>(options->limits.queue));
    // An answer larger than all may be would always be refused, as if the others were to blame.
    options->limits.answer = std::min(options->limits.answer, options->limits.answers);
    run(*options);
  });
}

}  // namespace limpid::tool
