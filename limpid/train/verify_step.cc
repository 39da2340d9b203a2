#include "limpid/train/verify_step.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/train/checkpoint.h"
#include "limpid/train/run_log.h"
#include "limpid/train/run_setup.h"

namespace limpid::train {
namespace {

[[noreturn]] void refuse_step(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, "verify-step: " + message);
}

std::optional<std::string> logged_hash(const RunLog& log, std::int64_t step, std::int64_t shard) {
  for (const StepEvent& event : log.steps)
    if (event.step == step && static_cast<std::size_t>(shard) < event.shards.size())
      return event.shards[static_cast<std::size_t>(shard)];
  return {};
}

}  // namespace

VerifiedShard verify_shard(const RunFolder& folder, std::int64_t step, std::int64_t shard,
                           const std::filesystem::path& checkpoint, ThreadPool* pool) {
  const TrainConfig config = folder.read_config();
  const RunSetup setup(config, load_data(config));
  Trainer trainer(setup.problem, setup.data, options_of(setup.config, setup.data), pool);
  if (step < 1 || step > trainer.steps())
    refuse_step(fmt::format("step {}: the run has steps 1 to {}", step, trainer.steps()));
  std::optional<Checkpoint> from;
  if (!checkpoint.empty())
    from = load_checkpoint(checkpoint);
  else if (folder.has_checkpoint())
    from = load_checkpoint(folder.checkpoint());
  if (from) {
    const auto path = in_quotes((checkpoint.empty() ? folder.checkpoint() : checkpoint).string());
    if (from->run != identity_of(setup.config, setup.data_hash(pool)))
      refuse_step(fmt::format(
          "{}: the checkpoint has another configuration or other data than the run", path));
    if (from->state.step < step)
      trainer.restore(from->state);
    else if (!checkpoint.empty())
      refuse_step(fmt::format("{}: the checkpoint is after step {}, expected one before step {}",
                              path, from->state.step, step));
  }
  VerifiedShard result;
  result.from = trainer.steps_done();
  while (trainer.steps_done() + 1 < step && trainer.ending() == Ending::kNone) trainer.step();
  if (trainer.ending() != Ending::kNone)
    refuse_step(fmt::format("the training ends after step {}: {}", trainer.steps_done(),
                            name(trainer.ending())));
  result.hash = fmt::format("{:016x}", trainer.hash_of_shard(shard));
  result.logged = logged_hash(parse_run_log(folder.log()), step, shard);
  return result;
}

}  // namespace limpid::train
