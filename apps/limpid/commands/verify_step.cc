// limpid verify-step: one shard of one step of a run, computed again and compared with its log.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/threads.h"
#include "limpid/core/error.h"
#include "limpid/train/run/verify_step.h"

namespace limpid::tool {
namespace {

struct VerifyArguments {
  std::string run, checkpoint;
  std::optional<std::int64_t> step, shard;
  int threads = 1;
  bool json = false;
};

void verify_step(const VerifyArguments& options) {
  ThreadPool pool({.threads = options.threads});
  const train::VerifiedShard found = train::verify_shard(
      train::RunFolder(options.run), *options.step, *options.shard, options.checkpoint, &pool);
  const bool differs = found.logged && *found.logged != found.hash;
  if (options.json) {
    Json json{{"step", *options.step},
              {"shard", *options.shard},
              {"from", found.from},
              {"hash", found.hash}};
    if (found.logged) json["logged"] = *found.logged;
    print_json(json);
  } else if (!differs) {
    print(fmt::format(
        "step {}, shard {}: {}, {}\n", *options.step, *options.shard, found.hash,
        found.logged ? "as logged"
                     : "not in the log: it needs --log-shards and a step logged by --log-every"));
  }
  if (differs)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("verify-step: step {}, shard {}: computed {}, but the log has {}",
                            *options.step, *options.shard, found.hash, *found.logged));
}

}  // namespace

void add_verify_step(Command& app) {
  auto options = std::make_shared<VerifyArguments>();
  Command command = app.command("verify-step",
                                "Recompute one shard of a training step from the checkpoint before "
                                "it, and compare its gradient's hash with the log's");
  command.footer("See docs/scale.md.");
  command.option("RUN", options->run, "Run folder written by train").path("RUN").required();
  command.option("--step", options->step, "Step, counted from 1").required();
  command.option("--shard", options->shard, "Shard, counted from 0").required();
  command
      .option("--checkpoint", options->checkpoint,
              "Checkpoint to begin with; default: the run's if it is before the step, else the "
              "initial weights")
      .path("FILE");
  add_threads_option(command, options->threads);
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { verify_step(*options); });
}

}  // namespace limpid::tool
