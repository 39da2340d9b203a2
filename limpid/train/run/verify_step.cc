#include "limpid/train/run/verify_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/train/log/run_log.h"
#include "limpid/train/run/checkpoint.h"
#include "limpid/train/run/run_setup.h"

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

bool extends(const ResumeEvent& event) { return !event.command.empty(); }

std::optional<ResumeEvent> last_extension(const RunLog& log) {
  const auto last = std::find_if(log.resumes.rbegin(), log.resumes.rend(), extends);
  return last == log.resumes.rend() ? std::nullopt : std::optional(*last);
}

// The configuration that made a step: a longer run has another schedule of the learning rate. The
// log has the first configuration and the last one. The folder's may be that of a longer run that
// was killed before it began.
TrainConfig config_of_step(const RunFolder& folder, const RunLog& log, std::int64_t step) {
  const auto first = std::find_if(log.resumes.begin(), log.resumes.end(), extends);
  const auto last = last_extension(log);
  if (last && step > last->step) {
    // Logs of older versions do not have it.
    if (!last->config) return folder.read_config();
    return parse_train_config(last->config->dump(), folder.log().string());
  }
  if (last && step > first->step)
    refuse_step(
        fmt::format("step {}: the run was extended after steps {} and {}, expected a step that is "
                    "not in between",
                    step, first->step, last->step));
  return parse_train_config(log.run.config.dump(), folder.log().string());
}

}  // namespace

VerifiedShard verify_shard(const RunFolder& folder, std::int64_t step, std::int64_t shard,
                           const std::filesystem::path& checkpoint, ThreadPool* pool) {
  const RunLog log = parse_run_log(folder.log());
  const TrainConfig config = config_of_step(folder, log, step);
  const RunSetup setup(config, load_data(config));
  Trainer trainer(setup.problem, setup.data, options_of(setup.config, setup.data), pool);
  if (step < 1 || step > trainer.steps())
    refuse_step(fmt::format("step {}: the run has steps 1 to {}", step, trainer.steps()));
  std::optional<Checkpoint> from;
  if (!checkpoint.empty())
    from = load_checkpoint(checkpoint);
  else if (folder.has_checkpoint())
    from = load_checkpoint(folder.checkpoint());
  if (checkpoint.empty() && from && from->state.step >= step) from.reset();
  const auto extended = last_extension(log);
  if (from) {
    const auto path = in_quotes((checkpoint.empty() ? folder.checkpoint() : checkpoint).string());
    const std::uint64_t data_hash = setup.data_hash(pool);
    // The one with which the run became longer is that of the shorter run.
    const bool begins = extended && step > extended->step && from->state.step == extended->step &&
                        is_same_run(from->run, setup.config, data_hash, path);
    if (!begins && from->run != identity_of(setup.config, data_hash))
      refuse_step(fmt::format(
          "{}: the checkpoint has another configuration or other data than the run", path));
    if (from->state.step >= step)
      refuse_step(fmt::format("{}: the checkpoint is after step {}, expected one before step {}",
                              path, from->state.step, step));
    trainer.restore(from->state);
  }
  if (!from && extended && step > extended->step)
    refuse_step(
        fmt::format("the run was extended after step {}, expected a checkpoint from after "
                    "that and before step {}",
                    extended->step, step));
  VerifiedShard result;
  result.from = trainer.steps_done();
  while (trainer.steps_done() + 1 < step && trainer.ending() == Ending::kNone) trainer.step();
  if (trainer.ending() != Ending::kNone)
    refuse_step(fmt::format("the training ends after step {}: {}", trainer.steps_done(),
                            name(trainer.ending())));
  result.hash = fmt::format("{:016x}", trainer.hash_of_shard(shard));
  result.logged = logged_hash(log, step, shard);
  return result;
}

}  // namespace limpid::train
