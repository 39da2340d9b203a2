// Runs on a disk that fills up or breaks at any of their writes: they report it, leave no
// unreadable file, and later resume to the same bits.
#include "limpid/train/run/run.h"

#include <cerrno>

#include "limpid/train/run/checkpoint.h"
#include "limpid/train/run/run_folder.h"
#include "limpid/train/run/verify_step.h"
#include "tests/formats/helpers.h"
#include "tests/lives/system_calls.h"

namespace limpid::lives {
namespace {

using testing::TemporaryFolder;

train::TrainConfig small_config() {
  train::TrainConfig config;
  config.data = "moons,count=40,split=3/1";
  config.hidden = {4};
  config.epochs = 2;
  config.batch = 10;
  config.log_every = 1;
  config.checkpoint_every = 2;
  return config;
}

std::vector<std::string> steps_of(const train::RunLog& log) {
  std::vector<std::string> lines;
  for (const train::StepEvent& e : log.steps) lines.push_back(train::to_json_line(e));
  return lines;
}

TEST(RunOnADisk, LogsReachItBeforeTheCheckpointThatCountsOnThem) {
  const TemporaryFolder folder;
  SystemCalls calls{.folder = folder.path()};
  {
    const Watch watch(calls);
    train::Run run(small_config(), {.folder = folder.path()});
    run.train();
  }
  bool log_is_there = true;
  int checkpoints = 0;
  for (const std::string& call : calls.done) {
    if (call == "write log.jsonl") log_is_there = false;
    if (call == "fsync log.jsonl") log_is_there = true;
    if (call != "rename checkpoint.safetensors") continue;
    ++checkpoints;
    EXPECT_TRUE(log_is_there) << checkpoints;
  }
  EXPECT_EQ(checkpoints, 1 + 3 + 1);  // at the start, after steps 2, 4 and 6, at the end
  EXPECT_TRUE(log_is_there);
}

// Those of a run whose writes all succeed.
SystemCalls calls_of_a_run() {
  const TemporaryFolder folder;
  SystemCalls calls{.folder = folder.path()};
  {
    const Watch watch(calls);
    train::Run(small_config(), {.folder = folder.path()}).train();
  }
  return calls;
}

TEST(RunOnADisk, GoesOnAfterAnyWriteThatFailed) {
  train::Run whole(small_config());
  whole.train();
  const SystemCalls all = calls_of_a_run();
  ASSERT_GT(all.changes, 30);
  for (const int error : {ENOSPC, EIO})
    for (std::int64_t failing = 0; failing < all.changes; ++failing) {
      SCOPED_TRACE(::testing::Message() << all.done[static_cast<std::size_t>(failing)] << ", the "
                                        << failing << "th call, error " << error);
      const TemporaryFolder folder;
      SystemCalls calls{.folder = folder.path(), .first_failure = failing, .error = error};
      {
        const Watch watch(calls);
        train::Run run(small_config(), {.folder = folder.path()});
        // A failure to synchronise a folder is ignored.
        if (all.done[static_cast<std::size_t>(failing)] != "fsync folder" ||
            failing + 1 < all.changes)
          testing::expect_error(ErrorCode::kIo, std::generic_category().message(error),
                                [&] { run.train(); });
      }
      const train::RunFolder files(folder.path());
      EXPECT_NO_THROW(if (files.has_checkpoint()) train::load_checkpoint(files.checkpoint()));
      for (const std::string& name : folder.names())
        EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;

      SystemCalls calls_again{.folder = folder.path()};
      const Watch watch_again(calls_again);
      train::Run again(small_config(), {.folder = folder.path()});
      again.resume();
      while (!again.done()) again.step();
      again.finish();
      for (const auto& [name, value] : whole.model().params)
        EXPECT_TRUE(value.same_bits(again.model().params.at(name))) << name;
      EXPECT_EQ(steps_of(train::parse_run_log(files.log())), steps_of(whole.log()));
      if (::testing::Test::HasFailure()) return;
    }
}

// What a run told its listeners since it began.
struct Heard {
  std::string lines;                // as in the log
  std::vector<std::string> events;  // the same without times
  std::vector<std::int64_t> steps;

  void listen(train::Run& run) {
    run.on_event([this](train::Event event) {
      if (std::holds_alternative<train::RunEvent>(event)) *this = {};
      lines += train::to_json_line(event);
      if (auto* epoch = std::get_if<train::EpochEvent>(&event)) epoch->samples_per_second = 0;
      if (auto* end = std::get_if<train::EndEvent>(&event)) end->seconds = 0;
      events.push_back(train::to_json_line(event));
    });
    run.on_step([this](const train::StepEvent& step) { steps.push_back(step.step); });
  }
};

// The caller makes room and calls train() again.
TEST(RunOnADisk, GoesOnInTheSameProcessAfterAnyWriteThatFailed) {
  train::Run whole(small_config());
  Heard all_events;
  all_events.listen(whole);
  whole.train();
  const SystemCalls all = calls_of_a_run();
  for (std::int64_t failing = 0; failing < all.changes; ++failing) {
    SCOPED_TRACE(::testing::Message() << all.done[static_cast<std::size_t>(failing)] << ", the "
                                      << failing << "th call");
    const TemporaryFolder folder;
    SystemCalls calls{
        .folder = folder.path(), .first_failure = failing, .failures = 1, .error = ENOSPC};
    const Watch watch(calls);
    const train::RunFolder files(folder / "run");  // no other run is beside it
    train::Run run(small_config(), {.folder = files.path()});
    Heard heard;
    heard.listen(run);
    try {
      run.train();
    } catch (const Error&) {
      // Of an end that could not be flushed there is nothing left to do.
      if (!run.log().end) run.train();
    }
    EXPECT_EQ(heard.events, all_events.events);
    EXPECT_EQ(heard.steps, all_events.steps);
    EXPECT_EQ(testing::read(files.log()), heard.lines);
    EXPECT_TRUE(std::filesystem::exists(files.model()));
    for (const auto& [name, value] : whole.model().params)
      EXPECT_TRUE(value.same_bits(run.model().params.at(name))) << name;
    if (::testing::Test::HasFailure()) return;
  }
}

// Its steps have another learning rate than those before, and only the log says which these are.
TEST(RunOnADisk, BecomesLongerAfterAnyWriteThatFailed) {
  train::TrainConfig config = small_config();
  config.shards = 2;
  config.log_shards = true;
  for (const bool in_the_same_process : {false, true})
    for (std::int64_t failing = 0;; ++failing) {
      const TemporaryFolder folder;
      const train::RunFolder files(folder.path());
      train::Run(config, {.folder = folder.path()}).train();
      train::TrainConfig longer = files.read_config();
      longer.epochs = 4;
      SystemCalls calls{
          .folder = folder.path(), .first_failure = failing, .failures = 1, .error = ENOSPC};
      {
        const Watch watch(calls);
        train::Run run(longer, {.folder = folder.path()});
        try {
          run.resume();
        } catch (const Error&) {
          if (in_the_same_process) run.resume();
        }
      }
      if (failing >= calls.changes) break;
      SCOPED_TRACE(::testing::Message() << calls.done[static_cast<std::size_t>(failing)] << ", the "
                                        << failing << "th call");
      if (!in_the_same_process) train::Run(longer, {.folder = folder.path()}).resume();
      const train::RunLog log = train::parse_run_log(files.log());
      EXPECT_EQ(log.config(), train::to_json(longer));
      EXPECT_EQ(files.read_config().epochs, 4);
      ASSERT_EQ(log.steps.size(), 6u);
      for (const train::StepEvent& step : log.steps)
        EXPECT_EQ(train::verify_shard(files, step.step, 1).hash, step.shards.at(1)) << step.step;
      if (::testing::Test::HasFailure()) return;
    }
}

}  // namespace
}  // namespace limpid::lives
