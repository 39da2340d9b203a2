// Runs from code: events, files, and resuming after anything.
#include "limpid/train/run/run.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "limpid/compile/thread_pool.h"
#include "limpid/distribute/in_process.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/models/open_model.h"
#include "limpid/train/run/earlier_runs.h"
#include "limpid/train/run/run_folder.h"
#include "limpid/train/run/run_setup.h"
#include "limpid/train/run/verify_step.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid::train {
namespace {

using limpid::testing::bytes_of;
using limpid::testing::read;
using limpid::testing::TemporaryFolder;

constexpr std::int64_t kSteps = 20;  // of small_config()

TrainConfig small_config() {
  TrainConfig config;
  config.data = "moons,count=40,split=3/1";
  config.hidden = {6};
  config.dropout = 0.2;
  config.epochs = 5;
  config.batch = 8;
  config.log_every = 3;
  return config;
}

void expect_same(const Params& a, const Params& b) {
  ASSERT_EQ(a.names(), b.names());
  for (const auto& [name, value] : a) EXPECT_TRUE(value.same_bits(b.at(name))) << name;
}

// The events of a log without fields that differ from run to run: times and resumes.
std::vector<std::string> told(const RunLog& log) {
  std::vector<std::string> lines;
  for (const StepEvent& e : log.steps) lines.push_back(to_json_line(e));
  for (const ProbeEvent& e : log.probes) lines.push_back(to_json_line(e));
  for (EpochEvent e : log.epochs) {
    e.samples_per_second = 0;
    lines.push_back(to_json_line(e));
  }
  for (const SampleEvent& e : log.samples) lines.push_back(to_json_line(e));
  for (const Finding& e : log.findings) lines.push_back(to_json_line(e));
  if (log.end) {
    EndEvent end = *log.end;
    end.seconds = 0;
    lines.push_back(to_json_line(end));
  }
  return lines;
}

void expect_same(const RunLog& a, const RunLog& b) { EXPECT_EQ(told(a), told(b)); }

// The model and the log of an uninterrupted run.
struct Whole {
  Params params;
  RunLog log;

  explicit Whole(const TrainConfig& config) {
    train::Run run(config);
    run.train();
    params = run.model().params;
    log = run.log();
  }
};

auto after(std::int64_t steps) {
  return [left = steps]() mutable { return --left == 0; };
}

// Killed before the new run has a checkpoint, the folder still has something.
TEST(Run, AnOldModelStaysUntilTheNewRunHasACheckpoint) {
  const TemporaryFolder folder;
  train::Run(small_config(), {.folder = folder / "run"}).train();
  const RunFolder held(folder / "run");
  held.begin(small_config());
  EXPECT_TRUE(std::filesystem::exists(held.model()));
  EXPECT_FALSE(held.has_checkpoint());
  train::Run(small_config(), {.folder = folder / "run", .overwrite = true}).start();
  EXPECT_FALSE(std::filesystem::exists(held.model()));
  EXPECT_TRUE(held.has_checkpoint());
}

TEST(Run, ACheckpointIsAModel) {
  const TemporaryFolder folder;
  train::Run run(small_config(), {.folder = folder / "run"});
  run.train();
  const Model model = load_model(RunFolder(folder / "run").checkpoint());
  EXPECT_TRUE(model.function == run.model().function);
  EXPECT_EQ(model.config, run.model().config);
  for (const auto& [name, tensor] : run.model().params)
    EXPECT_TRUE(model.params.at(name).same_bits(tensor)) << name;
  EXPECT_EQ(model.params.size(), run.model().params.size());
}

// A kill while a file is written leaves one behind.
TEST(Run, BeginsWithoutTheFilesOfAKilledRun) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "run");
  const ::pid_t killed = ::fork();
  if (killed == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(killed, nullptr, 0), killed);
  const std::string of_killed = fmt::format(".limpid-{}-0.tmp", killed);
  const std::string of_this = fmt::format(".limpid-{}-99999.tmp", ::getpid());
  // The first process of a system is alive.
  for (const std::string& name :
       {std::string(".limpid-7.tmp"), of_killed, of_this, std::string(".limpid-1-0.tmp"),
        std::string(".limpid-notes"), std::string("mine.tmp")})
    std::ofstream(folder / "run" / name) << "a part";
  train::Run(small_config(), {.folder = folder / "run"}).train();
  for (const std::string& name : {std::string(".limpid-7.tmp"), of_killed, of_this})
    EXPECT_FALSE(std::filesystem::exists(folder / "run" / name)) << name;
  for (const char* name : {".limpid-1-0.tmp", ".limpid-notes", "mine.tmp"})
    EXPECT_TRUE(std::filesystem::exists(folder / "run" / name)) << name;
  std::ofstream(folder / "run/.limpid-8.tmp") << "a part";
  train::Run(small_config(), {.folder = folder / "run"}).resume();
  EXPECT_FALSE(std::filesystem::exists(folder / "run/.limpid-8.tmp"));
}

// ---- what it tells

TEST(Run, TellsWhatHappensInItsOrder) {
  const TemporaryFolder folder;
  const auto begin = std::chrono::steady_clock::now();
  train::Run run(small_config(), {.folder = folder / "run", .command = {"me"}});
  std::string lines, kinds;
  run.on_event([&](const Event& event) {
    constexpr const char* kKinds = "rdspetf>.";  // in the order of Event
    lines += to_json_line(event);
    kinds += kKinds[event.index()];
    EXPECT_EQ(read(RunFolder(folder / "run").log()), lines) << "the log has it first";
  });
  std::int64_t steps = 0;
  run.on_step([&](const StepEvent& step) { EXPECT_EQ(step.step, ++steps); });
  std::vector<std::int64_t> checkpoints;
  run.on_checkpoint([&](std::int64_t step) { checkpoints.push_back(step); });
  const EndEvent end = run.train();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(end.seconds, 0);
  EXPECT_LE(end.seconds, time.count());
  EXPECT_EQ(steps, kSteps);
  EXPECT_EQ(checkpoints.front(), 0);
  EXPECT_EQ(checkpoints.back(), kSteps);
  // Between the first and the last one more than a second passes each time.
  EXPECT_LE(static_cast<double>(checkpoints.size()), 2 + time.count());
  EXPECT_EQ(end.reason, "finished");
  EXPECT_EQ(end.test.metrics.at("accuracy"), run.log().end->test.metrics.at("accuracy"));
  EXPECT_EQ(end.validation.at("loss"), run.log().epochs.back().validation.at("loss"));
  EXPECT_TRUE(kinds.starts_with("rd")) << kinds;
  EXPECT_TRUE(kinds.ends_with(".")) << kinds;
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), 's'), 1 + kSteps / 3) << kinds;
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), 'e'), 5) << kinds;
  std::vector<std::int64_t> probed;
  for (const ProbeEvent& probe : run.log().probes) probed.push_back(probe.step);
  // Four times in the first epoch, which has four steps, then once in each.
  EXPECT_EQ(probed, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 8, 12, 16}));
  EXPECT_EQ(run.log().run.command, std::vector<std::string>{"me"});
  EXPECT_EQ(run.log().run.task, "classification");
  EXPECT_TRUE(run.log().run.model.is_object());
  const RunEvent::Data& sizes = run.log().run.data;
  EXPECT_EQ((std::vector{sizes.train, sizes.validation, sizes.test, sizes.features, sizes.outputs}),
            (std::vector<std::int64_t>{30, 10, 40, 2, 2}));
  utsname system{};
  ASSERT_EQ(::uname(&system), 0);
  EXPECT_EQ(run.log().run.environment.system,
            fmt::format("{} {} {}", system.sysname, system.release, system.machine));
  std::ifstream processors("/proc/cpuinfo");
  const std::string cpu = run.log().run.environment.cpu,
                    known{std::istreambuf_iterator<char>(processors), {}};
  EXPECT_TRUE(cpu == "unknown" || known.find(": " + cpu + "\n") != std::string::npos) << cpu;
  EXPECT_EQ(parse_run_log(log_path(folder / "run")).steps.size(), 1 + kSteps / 3);
}

TEST(Run, ALanguageModelTellsSamplesOfItsText) {
  const TemporaryFolder folder;
  testing::write(folder / "text", bytes_of("so it goes, and so it went, and so it will go on\n"));
  TrainConfig config;
  config.data = "text:" + (folder / "text").string();
  config.model = "charlm";
  config.context = 3;
  config.embedding = 4;
  config.hidden = {5};
  config.steps = 6;
  config.sample_every = 3;
  train::Run run(config);
  run.train();
  ASSERT_EQ(run.log().samples.size(), 2u);
  EXPECT_EQ(run.log().samples[0].step, 3);
  EXPECT_FALSE(run.log().samples[1].text.empty());
}

// What a small model writes that has learnt this text, which is one part again and again.
std::string sample_of(const std::string& part) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 40; ++i) text += part;
  testing::write(folder / "text", bytes_of(text));
  TrainConfig config;
  config.data = "text:" + (folder / "text").string();
  config.model = "charlm";
  config.context = 1;
  config.hidden = {8};
  config.steps = 40;
  config.sample_every = 40;
  config.rate = 0.05;
  train::Run run(config);
  run.train();
  return run.log().samples.at(0).text;
}

// In this text c follows a newline, and b a tab, which is token 0.
TEST(Run, ASampleIsOfALineThatBegins) { EXPECT_EQ(sample_of("\tb\nc").substr(0, 4), "c\tb\n"); }

// Here b follows a, which is token 0.
TEST(Run, ASampleOfATextWithoutLinesBeginsWithItsFirstToken) {
  EXPECT_EQ(sample_of("ab").substr(0, 3), "bab");
}

TEST(Run, ProbesAsOftenAsIsAsked) {
  const auto probed = [](std::int64_t every) {
    TrainConfig config = small_config();
    config.probe_every = every;
    train::Run run(config);
    run.train();
    std::vector<std::int64_t> steps;
    for (const ProbeEvent& probe : run.log().probes) steps.push_back(probe.step);
    return steps;
  };
  EXPECT_EQ(probed(7), (std::vector<std::int64_t>{0, 7, 14}));
  EXPECT_EQ(probed(0), std::vector<std::int64_t>{});
}

// At the quarters of the first epoch, and then at equal distances that may be longer than it.
TEST(Run, ProbesALongRunAtTheQuartersOfItsFirstEpoch) {
  TrainConfig config = small_config();
  config.hidden = {2};
  config.epochs = 110;
  train::Run run(config);
  run.train();
  std::vector<std::int64_t> steps;
  for (const ProbeEvent& probe : run.log().probes) steps.push_back(probe.step);
  ASSERT_EQ(steps.size(), 3 + 440u / 5);
  steps.resize(6);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{0, 1, 2, 3, 5, 10}));
}

// It has ended before it began.
TEST(Run, OfNoStepsRefusesToMakeOne) {
  TrainConfig config = small_config();
  config.epochs = 0;
  train::Run run(config);
  run.start();
  expect_refused(ErrorCode::kInvalidArgument, [&] { run.step(); });
  EXPECT_EQ(run.finish().reason, "finished");
}

TEST(Run, WhatAListenerThrowsEndsTheCall) {
  train::Run run(small_config());
  run.on_step([](const StepEvent& step) {
    if (step.step == 2) throw std::runtime_error("enough");
  });
  EXPECT_THROW(run.train(), std::runtime_error);
  EXPECT_EQ(run.trainer().steps_done(), 2);
}

// At whichever event, or step, a listener failed.
TEST(Run, TellsWhatACallThatFailedLeft) {
  const Whole whole(small_config());
  for (const bool of_steps : {false, true}) {
    std::int64_t calls = 1;
    for (std::int64_t failing = 0; failing < calls; ++failing) {
      SCOPED_TRACE(failing);
      train::Run run(small_config());
      calls = 0;
      const auto listener = [&](const auto&) {
        if (calls++ == failing) throw std::runtime_error("enough");
      };
      std::vector<std::int64_t> steps;
      if (of_steps)
        run.on_step(listener);
      else
        run.on_event(listener);
      run.on_step([&](const StepEvent& step) { steps.push_back(step.step); });
      EXPECT_THROW(run.train(), std::runtime_error);
      if (!run.log().end) run.train();
      expect_same(run.log(), whole.log);
      EXPECT_EQ(std::ssize(steps), of_steps ? kSteps - 1 : kSteps);
    }
    EXPECT_GE(calls, kSteps / 3);
  }
}

// The log of a run at a rate that is far too high.
RunLog log_with_findings() {
  TrainConfig config = small_config();
  config.epochs = 30;
  config.rate = 30.0;
  train::Run run(config);
  run.train();
  EXPECT_FALSE(run.log().findings.empty());
  return run.log();
}

// Once, though the doctor looks at the run again and again.
TEST(Run, TellsAFindingAfterTheEpochThatShowsIt) {
  const RunLog log = log_with_findings();
  EXPECT_LT(log.findings.at(0).step, log.steps_done() / 2);
  std::set<std::pair<std::string, std::string>> told;
  for (const Finding& finding : log.findings)
    EXPECT_TRUE(told.emplace(finding.rule, finding.layer).second) << finding.rule;
}

// After one epoch the loss may yet fall: it has, or has not, when the run is over.
TEST(Run, TellsWhatOnlyAnEndedRunShows) {
  TrainConfig config = small_config();
  config.epochs = 1;
  config.dropout = 0.99;
  train::Run run(config);
  run.train();
  const std::vector<Finding>& findings = run.log().findings;
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(),
                          [](const Finding& f) { return f.rule == "too_much_dropout"; }));
}

// Before hours are spent on it.
TEST(Run, TellsWhatIsWrongWithTheDataBeforeTheFirstStep) {
  TrainConfig config = small_config();
  Split data = load_data(config);
  data.validation = data.train;
  train::Run run(config, std::move(data));
  run.start();
  ASSERT_EQ(run.log().findings.size(), 1u);
  EXPECT_EQ(run.log().findings[0].rule, "leaked_rows");
  EXPECT_TRUE(run.log().steps.empty());
}

// ---- what it writes

TEST(Run, HasACheckpointAsOftenAsIsAsked) {
  const TemporaryFolder folder;
  TrainConfig config = small_config();
  config.checkpoint_every = 6;
  train::Run run(config, {.folder = folder / "run"});
  std::vector<std::int64_t> checkpoints;
  run.on_checkpoint([&](std::int64_t step) { checkpoints.push_back(step); });
  run.train();
  EXPECT_EQ(checkpoints, (std::vector<std::int64_t>{0, 6, 12, 18, kSteps}));
}

// Of four steps.
TEST(Run, AnEpochThatTookASecondEndsWithACheckpoint) {
  const TemporaryFolder folder;
  train::Run run(small_config(), {.folder = folder / "run"});
  std::vector<std::int64_t> checkpoints;
  run.on_step([](const StepEvent& step) {
    if (step.step == 2) std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  });
  run.on_checkpoint([&](std::int64_t step) { checkpoints.push_back(step); });
  run.train();
  ASSERT_GE(checkpoints.size(), 3u);
  EXPECT_EQ(checkpoints[1], 4);
}

// Of so many epochs the log keeps every second one, the best one and the last one.
TrainConfig long_config() {
  TrainConfig config = small_config();
  config.hidden = {2};
  config.batch = 30;
  config.epochs = 5000;
  config.log_every = 1000;
  config.probe_every = 0;
  config.checkpoint_every = 4097;
  config.dropout = 0;
  config.schedule = "constant";
  config.optimizer = "sgd";
  config.rate = 2e-5;
  return config;
}

TEST(Run, ALongRunThatIsKilledHasItsBestEpoch) {
  const TemporaryFolder folder;
  const TrainConfig config = long_config();
  {
    train::Run run(config, {.folder = folder / "run"});
    run.train([&] { return run.trainer().steps_done() == 4098; });
    ASSERT_EQ(run.trainer().best_epoch(), 4098);
  }
  // As the log was at the checkpoint.
  const std::string text = read(RunFolder(folder / "run").log());
  const RunLog log = parse_run_log(log_until(text, 4097, "log"), "log");
  EXPECT_EQ(log.epochs.back().epoch, 4097);
}

// Its first epoch is the best one.
TEST(Run, ALongRunThatHasEndedKeepsItsLastEpoch) {
  const TemporaryFolder folder;
  const RunOptions options{.folder = folder / "run"};
  TrainConfig config = long_config();
  config.epochs = 4099;
  config.rate = 1e-30;
  train::Run(config, options).train();
  const RunLog whole = parse_run_log(log_path(options.folder));
  EXPECT_EQ(whole.epochs.back().epoch, 4099);
  for (const bool finishes : {true, false, true}) {
    train::Run run(config, options);
    run.resume();
    if (finishes)
      run.finish();
    else
      run.interrupt();
    const RunLog log = parse_run_log(log_path(options.folder));
    EXPECT_EQ(log.epochs.size(), whole.epochs.size());
    EXPECT_EQ(log.epochs.back().epoch, 4099);
    if (finishes) expect_same(log, whole);
  }
  // As the log was at the last checkpoint.
  train::Run(config, options).resume();
  EXPECT_EQ(parse_run_log(log_path(options.folder)).epochs.back().epoch, 4099);
}

TEST(Run, ItsFolderOpensAsItsModel) {
  const TemporaryFolder folder;
  train::Run run(small_config(), {.folder = folder / "run"});
  run.train();
  const Model model = open_model(folder / "run");
  EXPECT_EQ(model.function, run.model().function);
  EXPECT_EQ(model.config, run.model().config);
  expect_same(model.params, run.model().params);
  EXPECT_EQ(to_json(RunFolder(folder / "run").read_config()), to_json(run.config()));
}

TEST(Run, NothingButTheConfigurationChangesABit) {
  const TemporaryFolder folder;
  const Whole whole(small_config());
  ThreadPool pool({.threads = 3});
  train::Run run(small_config(), {.folder = folder / "run", .pool = &pool, .gather_ahead = true});
  run.on_step([](const StepEvent&) {});
  run.train();
  expect_same(run.model().params, whole.params);
  expect_same(run.log(), whole.log);
}

TEST(Run, DataInMemoryIsTrainedOnAsThatOfItsName) {
  const Whole whole(small_config());
  train::Run run(small_config(), load_data(small_config()));
  run.train();
  expect_same(run.model().params, whole.params);
}

TEST(Run, DataInMemoryMayHaveAnyName) {
  const TemporaryFolder folder;
  std::ofstream(folder / "text.txt") << std::string(200, 'a') + std::string(200, 'b');
  TrainConfig config;
  config.model = "charlm";
  config.data = "text:" + (folder / "text.txt").string();
  config.hidden = {4};
  config.epochs = 1;
  Split data = load_data(config);
  config.data = "my corpus";
  train::Run run(config, std::move(data), {.folder = folder / "run"});
  run.train();
  EXPECT_TRUE(std::filesystem::exists(folder / "run" / "model.safetensors"));
}

// Names of classes need not be UTF-8, which a model's file is.
TEST(Run, ClassesOfDataInMemoryMayHaveAnyName) {
  const TemporaryFolder folder;
  Split data = load_data(small_config());
  for (Dataset* part : {&data.train, &data.validation, &data.test})
    part->class_names = {"caf\xe9", "tea"};
  train::Run run(small_config(), std::move(data), {.folder = folder / "run"});
  run.train();
  const std::vector<std::string> names = {"caf\xef\xbf\xbd", "tea"};
  EXPECT_EQ(data_config_of(open_model(folder / "run"))->class_names, names);
}

// Whole numbers are classes where nobody says otherwise.
TEST(Run, ATableIsOfTheTaskThatIsChosen) {
  const TemporaryFolder folder;
  std::ofstream(folder / "table.csv") << "x,y\n1,0\n2,1\n3,0\n4,1\n5,0\n6,1\n7,0\n8,1\n";
  TrainConfig config;
  config.data = "csv:" + (folder / "table.csv").string() + ",target=y";
  EXPECT_EQ(load_data(config).train.task, Task::kClassification);
  config.task = "regression";
  EXPECT_EQ(load_data(config).train.task, Task::kRegression);
}

TEST(Run, StepsByHandAreThoseOfTrain) {
  const Whole whole(small_config());
  train::Run run(small_config());
  run.start();
  while (!run.done()) run.step();
  run.finish();
  expect_same(run.model().params, whole.params);
  expect_same(run.log(), whole.log);
}

// ---- stopping and going on

class Stopped : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(Stopped, AnotherRunGoesOnFromTheFolder) {
  const Whole whole(small_config());
  const TemporaryFolder folder;
  const RunOptions options{.folder = folder / "run"};
  {
    train::Run run(small_config(), options);
    EXPECT_EQ(run.train(after(GetParam())).reason, kInterrupted);
    EXPECT_EQ(run.trainer().steps_done(), GetParam());
    EXPECT_EQ(parse_run_log(log_path(options.folder)).steps_done(), GetParam());
    EXPECT_EQ(RunFolder(options.folder).held_run()->step, GetParam());
    EXPECT_FALSE(RunFolder(options.folder).held_run()->finished);
  }
  train::Run run(RunFolder(options.folder).read_config(), options);
  run.resume();
  EXPECT_EQ(run.train().reason, "finished");
  expect_same(run.model().params, whole.params);
  expect_same(run.log(), whole.log);
  expect_same(parse_run_log(log_path(options.folder)), whole.log);
  EXPECT_EQ(run.log().resumes.size(), 1u);
  EXPECT_EQ(run.log().steps_done(), kSteps);
  EXPECT_TRUE(RunFolder(options.folder).held_run()->finished);
}

TEST_P(Stopped, TheSameRunGoesOn) {
  const Whole whole(small_config());
  const TemporaryFolder folder;
  for (const std::filesystem::path& path : {std::filesystem::path(), folder / "run"}) {
    train::Run run(small_config(), {.folder = path});
    run.on_step(
        [&](const StepEvent& step) { EXPECT_FALSE(run.log().end) << "step " << step.step; });
    EXPECT_EQ(run.train(after(GetParam())).reason, kInterrupted);
    EXPECT_EQ(run.train().reason, "finished");
    expect_same(run.model().params, whole.params);
    expect_same(run.log(), whole.log);
  }
}
INSTANTIATE_TEST_SUITE_P(Steps, Stopped, ::testing::Values(1, 7, 8, kSteps));

TEST(Run, ARunWithoutACheckpointStartsWhereItIsResumed) {
  const Whole whole(small_config());
  const TemporaryFolder folder;
  train::Run run(small_config(), {.folder = folder / "run"});
  run.resume();
  run.train();
  expect_same(run.log(), whole.log);
  EXPECT_TRUE(run.log().resumes.empty());
}

// ---- several ranks

// The configuration of a run that ranks can share.
TrainConfig shared_config() {
  TrainConfig config = small_config();
  config.shards = 2;
  return config;
}

TEST(RunOfRanks, StopsWhereOneIsAskedToAndGoesOnFromTheFolderOfTheFirst) {
  const Whole whole(shared_config());
  const TemporaryFolder folder;
  for (const bool resumes : {false, true})
    distribute::run_in_process(2, [&](distribute::Communicator& ranks) {
      train::Run run(shared_config(), {.folder = folder / "run", .ranks = &ranks});
      std::int64_t told = 0;
      run.on_event([&](const Event&) { ++told; });
      if (resumes) run.resume();
      EXPECT_EQ(run.trainer().steps_done(), resumes ? 7 : 0);
      // The last rank is asked while it makes step 7.
      const EndEvent end =
          run.train([&] { return ranks.rank() == 1 && run.trainer().steps_done() == 6; });
      EXPECT_EQ(end.reason, resumes ? "finished" : kInterrupted);
      EXPECT_EQ(run.trainer().steps_done(), resumes ? kSteps : 7);
      EXPECT_EQ(told == 0, ranks.rank() == 1);
      if (!resumes) return;
      expect_same(run.model().params, whole.params);
      if (ranks.rank() == 0) expect_same(run.log(), whole.log);
    });
  expect_same(parse_run_log(log_path(folder / "run")), whole.log);
}

TEST(RunOfRanks, AreComparedWhereTheyResume) {
  const TemporaryFolder folder;
  train::Run(shared_config(), {.folder = folder / "run"}).train(after(3));
  distribute::run_in_process(2, [&](distribute::Communicator& ranks) {
    TrainConfig config = shared_config();
    if (ranks.rank() == 1) config.rate = 0.5;
    train::Run run(config, {.folder = folder / "run", .ranks = &ranks});
    expect_refused(ErrorCode::kInvalidArgument, [&] { run.resume(); });
  });
}

TEST(RunOfRanks, StartsWhereTheFirstHasNoCheckpoint) {
  const Whole whole(shared_config());
  const TemporaryFolder folder;
  distribute::run_in_process(2, [&](distribute::Communicator& ranks) {
    train::Run run(shared_config(), {.folder = folder / "run", .ranks = &ranks});
    run.resume();
    EXPECT_EQ(run.train().reason, "finished");
    expect_same(run.model().params, whole.params);
  });
  EXPECT_TRUE(parse_run_log(log_path(folder / "run")).resumes.empty());
}

// ---- what it refuses

TEST(Run, RunsAreOverwrittenOnlyWhereThatIsWanted) {
  const TemporaryFolder folder;
  RunOptions options{.folder = folder / "run"};
  train::Run(small_config(), options).train(after(3));
  expect_refused(ErrorCode::kInvalidArgument, [&] { train::Run(small_config(), options).start(); });
  options.overwrite = true;
  std::ofstream(RunFolder(options.folder).report()) << "of the run before";
  train::Run(small_config(), options).train();
  EXPECT_FALSE(std::filesystem::exists(RunFolder(options.folder).report()));
  options.overwrite = false;
  expect_refused(ErrorCode::kInvalidArgument, [&] { train::Run(small_config(), options).start(); });
  options.overwrite = true;
  train::Run(small_config(), options).start();
  EXPECT_FALSE(RunFolder(options.folder).held_run()->finished) << "its model is gone";
}

// Nothing can be resumed from it.
TEST(Run, AFolderWithABrokenCheckpointHoldsWhatItsModelSays) {
  const TemporaryFolder folder;
  const RunFolder run(folder.path());
  EXPECT_FALSE(run.held_run());
  std::ofstream(run.checkpoint()) << "no checkpoint";
  EXPECT_FALSE(run.held_run());
  std::ofstream(run.model()) << "a model";
  for (int time = 0; time < 2; ++time) {
    ASSERT_TRUE(run.held_run());
    EXPECT_TRUE(run.held_run()->finished);
    EXPECT_EQ(run.held_run()->step, 0);
    std::filesystem::remove(run.checkpoint());
  }
}

// `config.json` is the name of many files.
TEST(Run, AFileThatNoRunWroteIsNotReplaced) {
  const auto start = [](const std::filesystem::path& folder, bool overwrite) {
    train::Run(small_config(), {.folder = folder, .overwrite = overwrite}).start();
  };
  const std::string config = to_text(small_config());
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {"config.json", R"({"model_type": "gpt2"})"},
           {"config.json", config},  // without the end of its last line
           {"config.json", "{\"seed\": 3}\n"},
           {"log.jsonl", "{\"event\": \"epoch\"}\n"},
           {"checkpoint.safetensors", "weights"},
           {"report.html", "<p>"}})
    for (const bool overwrite : {false, true}) {
      SCOPED_TRACE(name + " " + text);
      const TemporaryFolder folder;
      std::ofstream(folder / name) << text;
      expect_refused(ErrorCode::kInvalidArgument, [&] { start(folder.path(), overwrite); });
      EXPECT_EQ(read(folder / name), text);
      EXPECT_EQ(folder.names(), std::vector<std::string>{name});
      std::filesystem::remove(folder / name);
      EXPECT_NO_THROW(start(folder.path(), false));
    }
  // A run is one even if some of its files are broken, or were made by another version.
  const TemporaryFolder folder;
  const RunFolder files(folder / "run");
  train::Run(small_config(), {.folder = files.path()}).train(after(3));
  const auto log = bytes_of(read(files.log())), checkpoint = bytes_of(read(files.checkpoint()));
  for (const int whole : {0, 1, 2}) {
    std::ofstream(files.config()) << (whole == 0 ? config + "\n" : "broken");
    limpid::testing::write(files.log(), whole == 1 ? log : bytes_of("broken"));
    limpid::testing::write(files.checkpoint(), whole == 2 ? checkpoint : bytes_of("broken"));
    EXPECT_FALSE(files.foreign_file()) << whole;
  }
  std::filesystem::remove(files.checkpoint());
  EXPECT_EQ(files.foreign_file(), files.config());
}

TEST(Run, AFolderHasOneRunAtATime) {
  const TemporaryFolder folder;
  const RunOptions options{.folder = folder / "run"};
  train::Run first(small_config(), options), second(small_config(), options);
  const auto expect_held = [](const std::function<void()>& begin) {
    expect_refused(ErrorCode::kIo, begin);
  };
  first.start();
  first.step();
  expect_held([&] { second.start(); });
  expect_held([&] { second.resume(); });
  first.interrupt();
  second.resume();
  expect_held([&] { first.resume(); });
  EXPECT_EQ(second.train([] { return false; }).reason, "finished");
  first.resume();
  EXPECT_TRUE(first.done());
}

TEST(Run, ARunThatCouldNotBeginHoldsNothing) {
  const TemporaryFolder folder;
  const RunOptions options{.folder = folder / "run"};
  train::Run(small_config(), options).train();
  train::Run refused(small_config(), options);
  EXPECT_THROW(refused.start(), Error);
  train::Run(small_config(), options).resume();
}

TEST(Run, ARunThatCouldNotResumeMayStart) {
  const Whole whole(small_config());
  const TemporaryFolder folder;
  const RunOptions options{.folder = folder / "run", .overwrite = true};
  train::Run(small_config(), options).train(after(7));
  std::ofstream(RunFolder(options.folder).log()) << "no log";
  train::Run run(small_config(), options);
  expect_refused(ErrorCode::kFormat, [&] { run.resume(); });
  run.start();
  EXPECT_EQ(run.trainer().steps_done(), 0);
  run.train();
  expect_same(run.model().params, whole.params);
  expect_same(run.log(), whole.log);
}

TEST(Run, ARunThatFailedToGoOnDoesNotStartThere) {
  const TemporaryFolder folder;
  const RunOptions options{.folder = folder / "run", .overwrite = true};
  train::Run(small_config(), options).train(after(7));
  train::Run run(small_config(), options);
  bool fails = true;
  run.on_event([&](const Event& event) {
    if (std::holds_alternative<ResumeEvent>(event) && std::exchange(fails, false))
      throw std::runtime_error("enough");
  });
  EXPECT_THROW(run.resume(), std::runtime_error);
  expect_refused(ErrorCode::kInvalidArgument, [&] { run.start(); });
  run.resume();
  EXPECT_EQ(run.train().reason, "finished");
}

TEST(Run, ARunThatIsDestroyedHoldsNothing) {
  const TemporaryFolder folder;
  const RunOptions options{.folder = folder / "run"};
  train::Run(small_config(), options).start();
  train::Run(small_config(), options).resume();
}

// If the rate does not depend on the length, it equals a run that was longer from the start.
TEST(Run, AFinishedRunBecomesLonger) {
  TrainConfig config = small_config();
  config.schedule = "constant";
  config.patience.reset();
  config.epochs = 4;
  const Whole whole(config);
  const TemporaryFolder folder;
  const RunOptions options{.folder = folder / "run", .command = {"make", "it", "longer"}};
  config.epochs = 2;
  train::Run(config, options).train();
  TrainConfig longer = RunFolder(options.folder).read_config();
  longer.epochs = 4;
  train::Run run(longer, options);
  run.resume();
  EXPECT_EQ(run.train().reason, "finished");
  expect_same(run.model().params, whole.params);
  EXPECT_EQ(run.log().resumes.back().command, options.command);
  EXPECT_EQ(parse_run_log(log_path(options.folder)).resumes.back().command, options.command);
  EXPECT_EQ(RunFolder(options.folder).read_config().epochs, 4);
  // From then on it is a run of the new length.
  train::Run again(RunFolder(options.folder).read_config(), options);
  again.resume();
  EXPECT_TRUE(again.log().resumes.back().command.empty());
  again.finish();
  // It may also stop earlier or later than it was to.
  TrainConfig patient = RunFolder(options.folder).read_config();
  patient.patience = 50;
  train::Run(patient, options).resume();
  EXPECT_EQ(RunFolder(options.folder).read_config().patience, 50);
  longer.batch = 9;
  expect_refused(ErrorCode::kInvalidArgument, [&] { train::Run(longer, options).resume(); });
}

TEST(Run, ARunOfAFewStepsBecomesLonger) {
  TrainConfig config = small_config();
  config.schedule = "constant";
  config.epochs.reset();
  config.steps = 6;
  const Whole whole(config);
  const TemporaryFolder folder;
  const RunOptions options{.folder = folder / "run"};
  config.steps = 3;
  train::Run(config, options).train();
  config.steps = 6;
  train::Run run(config, options);
  run.resume();
  run.train();
  expect_same(run.model().params, whole.params);
}

// Its configuration is that of the longer run, its checkpoint still that of the shorter one.
TEST(Run, AnExtendedRunThatIsKilledBeforeItsNextCheckpointGoesOn) {
  TrainConfig config = small_config();
  config.schedule = "constant";
  config.epochs = 4;
  const Whole whole(config);
  const TemporaryFolder folder;
  RunOptions options{.folder = folder / "run"};
  config.epochs = 2;
  train::Run(config, options).train();
  TrainConfig longer = RunFolder(options.folder).read_config();
  longer.epochs = 4;
  options.command = {"make", "it", "longer"};
  train::Run(longer, options).resume();
  options.command = {"go", "on"};
  train::Run run(RunFolder(options.folder).read_config(), options);
  run.resume();
  EXPECT_EQ(run.train().reason, "finished");
  expect_same(run.model().params, whole.params);
  const RunLog log = parse_run_log(log_path(options.folder));
  ASSERT_EQ(log.resumes.size(), 2u);
  EXPECT_EQ(log.resumes[0].command, (std::vector<std::string>{"make", "it", "longer"}));
  EXPECT_TRUE(log.resumes[1].command.empty());
  EXPECT_EQ(log.run.config.at("epochs"), 2);
  EXPECT_EQ(log.config(), to_json(longer));
}

TEST(Run, ARunKilledBeforeItsFirstCheckpointKeepsItsCommand) {
  const TemporaryFolder folder;
  RunOptions options{.folder = folder / "run", .command = {"limpid", "train", "first"}};
  {
    train::Run run(small_config(), options);
    run.start();
  }
  std::filesystem::remove(RunFolder(options.folder).checkpoint());
  options.command = {"limpid", "train", "--resume", "run"};
  train::Run resumed(small_config(), options);
  resumed.resume();
  EXPECT_EQ(resumed.log().run.command, (std::vector<std::string>{"limpid", "train", "first"}));
  // If the log was cut in its first line, too, a command that makes the same run.
  const RunFolder cut(folder / "cut");
  cut.create();
  cut.begin(small_config());
  std::ofstream(cut.log()) << R"({"event": "run", "comm)";
  train::Run again(small_config(), {.folder = cut.path(), .command = options.command});
  again.resume();
  EXPECT_EQ(again.log().run.command,
            (std::vector<std::string>{"limpid", "train", "--config", cut.config().string()}));
}

TEST(Run, AnotherConfigurationDoesNotGoOn) {
  const TemporaryFolder folder;
  const RunOptions options{.folder = folder / "run"};
  train::Run(small_config(), options).train(after(3));
  TrainConfig other = small_config();
  other.seed = 1;
  expect_refused(ErrorCode::kInvalidArgument, [&] { train::Run(other, options).resume(); });
  other.seed = 0;
  other.data = "moons:2,count=40,split=3/1";
  expect_refused(ErrorCode::kInvalidArgument, [&] { train::Run(other, options).resume(); });
}

TEST(Run, CallsThatComeTooEarlyOrTwice) {
  train::Run run(small_config());
  expect_refused(ErrorCode::kInvalidArgument, [&] { run.step(); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { run.resume(); });
  run.start();
  expect_refused(ErrorCode::kInvalidArgument, [&] { run.start(); });
  run.train();
  expect_refused(ErrorCode::kInvalidArgument, [&] { run.train(); });
}

TEST(Run, ConfigurationsThatMakeNoSense) {
  TrainConfig config = small_config();
  config.loss = "mse";
  expect_refused(ErrorCode::kInvalidArgument, [&] { train::Run run(config); });
  config = small_config();
  config.data = "mnist";
  expect_refused(ErrorCode::kParse, [&] { train::Run run(config); });
}

TEST(Run, RefusesDataWithoutATrainingSet) {
  Split data = load_data(small_config());
  data.train = data.train.rows(0, 0);
  TrainConfig config = small_config();
  for (const char* norm : {"none", "batch"}) {
    config.norm = norm;
    expect_refused(ErrorCode::kInvalidArgument, [&] { train::Run(config, data); });
  }
}

// Whichever of the micro-batches, or of the shards, has it.
TEST(Run, NamesTheInputThatIsNotFinite) {
  for (const bool shards : {false, true})
    for (const std::size_t row : {0, 13, 29}) {
      TrainConfig config = small_config();
      // Shards of one and two rows; the row comes in one of three steps.
      config.batch = shards ? 10 : 5;
      (shards ? config.shards : config.accumulate) = 6;
      Split data = load_data(config);
      const auto before = data.train.inputs.values<float>();
      ASSERT_EQ(before.size(), 60u);
      data.train.inputs = Tensor::generate<float>({30, 2}, [&](std::span<float> out) {
        std::copy(before.begin(), before.end(), out.begin());
        out[2 * row + 1] = std::nanf("");
      });
      train::Run run(config, std::move(data));
      expect_refused(ErrorCode::kInvalidArgument, [&] { run.train(); });
    }
}

// An evaluation may take minutes. Who ends the run within it has the state before the step.
TEST(Run, IsStoppedWithinTheEvaluationOfAnEpoch) {
  const TemporaryFolder folder;
  TrainConfig config = small_config();
  config.data = "moons:1,count=100000,split=1/99";
  config.batch = 500;
  config.hidden = {1024, 1024};
  config.epochs = 1;
  train::Run run(config, {.folder = folder / "run"});
  run.start();
  const std::int64_t last = run.trainer().steps_an_epoch();
  while (run.trainer().steps_done() < last - 1) EXPECT_FALSE(run.step());
  EXPECT_TRUE(run.step([] { return true; }));
  EXPECT_EQ(run.trainer().steps_done(), last - 1);
  EXPECT_EQ(run.interrupt().step, last - 1);
  // Its checkpoint is that of a run that ended there, between two steps.
  train::Run between(config, {.folder = folder / "between"});
  between.train(after(last - 1));
  EXPECT_EQ(read(RunFolder(folder / "run").checkpoint()),
            read(RunFolder(folder / "between").checkpoint()));
}

// The interpreter would take hours for a large network.
TEST(Run, AStepOfVeryManyOperationsIsNotReplayed) {
  TrainConfig config = small_config();
  config.data = "moons:1,count=3000";
  config.hidden = {4096, 4096};
  config.batch = 1024;
  config.rate = 1e30;
  train::Run run(config);
  expect_refused(ErrorCode::kInvalidArgument, [&] { run.train(); });
}

TEST(Run, ALossThatIsNotFiniteEndsItWithTheStateBefore) {
  const TemporaryFolder folder;
  TrainConfig config = small_config();
  config.rate = 1e30;
  config.checkpoint_every = 1000;
  train::Run run(config, {.folder = folder / "run"});
  expect_refused(ErrorCode::kInvalidArgument, [&] { run.train(); });
  EXPECT_EQ(run.log().end->reason, "non-finite loss");
  // The step that ended it is logged, though it is none of every third one.
  ASSERT_EQ(run.log().steps.size(), 2u);
  EXPECT_EQ(run.log().steps.back().step, 2);
  EXPECT_FALSE(std::isfinite(run.log().steps.back().loss));
  ASSERT_EQ(run.log().findings.size(), 1u);
  EXPECT_EQ(run.log().findings[0].rule, "loss_not_finite");
  EXPECT_FALSE(RunFolder(folder / "run").held_run()->finished);
  EXPECT_EQ(RunFolder(folder / "run").held_run()->step, 1);
  train::Run again(config, {.folder = folder / "run"});
  again.resume();
  expect_refused(ErrorCode::kInvalidArgument, [&] { again.train(); });
  expect_same(again.log(), run.log());
}

// Without --check-finite, the step before has made the number, and the kept state holds it.
TEST(Run, AStateThatIsNotFiniteIsNotCalledTheOneBefore) {
  const TemporaryFolder folder;
  TrainConfig config = small_config();
  config.optimizer = "adam";
  config.rate = 0.01;
  config.optimizer_numbers["eps"] = 0.0;
  train::Run run(config, {.folder = folder / "run"});
  expect_refused(ErrorCode::kInvalidArgument, [&] { run.train(); });
  ASSERT_EQ(run.log().findings.size(), 1u);
  EXPECT_EQ(run.log().findings[0].remedies[0].settings[0].key, "optimizer.eps");
}

// The caller makes room, or mends its listener, and goes on.
TEST(Run, ALossThatIsNotFiniteEndsItEvenIfAWriteFailed) {
  TrainConfig config = small_config();
  config.rate = 1e30;
  config.checkpoint_every = 1000;
  train::Run well(config);
  EXPECT_THROW(well.train(), Error);
  const std::vector<std::function<void(train::Run&)>> calls = {
      [](train::Run& run) { run.train(); }, [](train::Run& run) { run.step(); },
      [](train::Run& run) { run.finish(); }};
  for (const bool at_checkpoint : {true, false})
    for (const auto& call : calls) {
      const TemporaryFolder folder;
      train::Run run(config, {.folder = folder / "run"});
      bool fails = true;
      const auto fail_once = [&](bool here) {
        if (here && std::exchange(fails, false)) throw std::runtime_error("full");
      };
      run.on_checkpoint([&](std::int64_t step) { fail_once(at_checkpoint && step == 1); });
      run.on_event([&](const Event& event) {
        const auto* const step = std::get_if<StepEvent>(&event);
        if (!at_checkpoint && step) fail_once(step->step == 2);
      });
      EXPECT_THROW(run.train(), std::runtime_error);
      expect_refused(ErrorCode::kInvalidArgument, [&] { call(run); });
      EXPECT_FALSE(RunFolder(folder / "run").held_run()->finished);
      expect_same(run.log(), well.log());
      expect_same(parse_run_log(log_path(folder / "run")), well.log());
    }
}

// ---- the shards of a step once more

TEST(VerifyShard, BeginsAtACheckpointBeforeTheStep) {
  const TemporaryFolder folder;
  const RunFolder run(folder / "run");
  TrainConfig config = shared_config();
  config.log_shards = true;
  config.log_every = 1;
  train::Run(config, {.folder = run.path()}).train(after(12));
  const std::filesystem::path twelve = folder / "twelve.safetensors";
  std::filesystem::copy_file(run.checkpoint(), twelve);
  const VerifiedShard next = verify_shard(run, 13, 1);
  EXPECT_EQ(next.from, 12);
  EXPECT_FALSE(next.logged);
  EXPECT_EQ(verify_shard(run, 12, 1).from, 0) << "its checkpoint is behind that step";
  const VerifiedShard first = verify_shard(run, 1, 0);
  EXPECT_EQ(first.hash, first.logged);

  train::Run again(config, {.folder = run.path()});
  again.resume();
  again.train();
  ASSERT_EQ(again.log().steps.size(), static_cast<std::size_t>(kSteps));
  EXPECT_EQ(next.hash, again.log().steps[12].shards.at(1));
  for (const std::int64_t step : {13, 15})
    for (const std::int64_t shard : {0, 1}) {
      const VerifiedShard found = verify_shard(run, step, shard, twelve);
      EXPECT_EQ(found.from, 12);
      EXPECT_EQ(found.logged, again.log().steps[static_cast<std::size_t>(step - 1)].shards.at(
                                  static_cast<std::size_t>(shard)));
      EXPECT_EQ(found.hash, found.logged);
      EXPECT_EQ(verify_shard(run, step, shard).hash, found.hash) << "from the first weights";
    }

  const auto refused = [](const std::function<void()>& code) {
    expect_refused(ErrorCode::kInvalidArgument, code);
  };
  refused([&] { verify_shard(run, 12, 0, twelve); });
  refused([&] { verify_shard(run, 0, 0); });
  refused([&] { verify_shard(run, 21, 0); });
  for (const std::int64_t shard : {-1, 2}) refused([&] { verify_shard(run, 15, shard, twelve); });
  config.seed = 1;
  config.log_shards = false;
  train::Run(config, {.folder = folder / "other"}).train(after(3));
  EXPECT_FALSE(verify_shard(RunFolder(folder / "other"), 2, 1).logged) << "it logs no hashes";
  refused([&] { verify_shard(run, 15, 0, RunFolder(folder / "other").checkpoint()); });
  std::filesystem::remove(run.checkpoint());
  EXPECT_EQ(verify_shard(run, 2, 1).from, 0) << "it has none";
}

// Of a run that was made longer twice, the steps in between have a configuration that is gone.
TEST(VerifyShard, HasTheStepsBeforeTheFirstExtension) {
  const TemporaryFolder folder;
  const RunFolder run(folder / "run");
  TrainConfig config = shared_config();
  config.log_shards = true;
  config.log_every = 1;
  train::Run(config, {.folder = run.path()}).train();
  for (const std::int64_t epochs : {6, 7}) {
    config = run.read_config();
    config.epochs = epochs;
    train::Run longer(config, {.folder = run.path(), .command = {"make", "it", "longer"}});
    longer.resume();
    longer.train();
  }
  const VerifiedShard last = verify_shard(run, kSteps, 0);
  ASSERT_TRUE(last.logged);
  EXPECT_EQ(last.hash, *last.logged);
  expect_refused(ErrorCode::kInvalidArgument, [&] { verify_shard(run, kSteps + 1, 0); });
}

// As it was made longer: before its log says so, then before its next checkpoint.
TEST(VerifyShard, HasTheStepsOfARunThatWasKilled) {
  const TemporaryFolder folder;
  const RunFolder run(folder / "run");
  TrainConfig config = shared_config();
  config.log_shards = true;
  config.log_every = 1;
  config.checkpoint_every = 1000;
  train::Run(config, {.folder = run.path()}).train();
  TrainConfig longer = run.read_config();
  longer.epochs = 7;
  run.write_config(longer);
  for (const std::int64_t step : {2, 20}) {
    const VerifiedShard found = verify_shard(run, step, 0);
    EXPECT_EQ(found.hash, found.logged.value()) << step;
  }
  expect_refused(ErrorCode::kInvalidArgument, [&] { verify_shard(run, 21, 0); });
  {
    train::Run killed(longer, {.folder = run.path(), .command = {"make", "it", "longer"}});
    killed.resume();
    for (int i = 0; i < 3; ++i) killed.step();
  }
  for (const std::int64_t step : {20, 21, 23}) {
    const VerifiedShard found = verify_shard(run, step, 0);
    EXPECT_EQ(found.hash, found.logged.value()) << step;
    EXPECT_EQ(found.from, step > 20 ? 20 : 0);
  }
  // Made longer once more, but killed before its log says so.
  const TrainConfig killed = run.read_config();
  TrainConfig longest = killed;
  longest.epochs = 9;
  run.write_config(longest);
  EXPECT_EQ(verify_shard(run, 23, 0).hash, verify_shard(run, 23, 0).logged.value());
  run.write_config(killed);
  // Not from another checkpoint of the shorter run.
  train::Run(config, {.folder = folder / "shorter"}).train(after(12));
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { verify_shard(run, 21, 0, RunFolder(folder / "shorter").checkpoint()); });
}

// An epoch has four steps, and the second one is not better.
TEST(VerifyShard, HasNoStepAfterEarlyStopping) {
  const TemporaryFolder folder;
  const RunFolder run(folder / "run");
  TrainConfig config = shared_config();
  config.rate = 1e-30;
  config.patience = 1;
  train::Run(config, {.folder = run.path()}).train();
  EXPECT_NO_THROW(verify_shard(run, 8, 0));
  for (const std::int64_t step : {9, 10})
    expect_refused(ErrorCode::kInvalidArgument, [&] { verify_shard(run, step, 0); });
}

// What the doctor takes for tried.
TEST(EarlierRuns, AreThoseBesideItThatBeganBeforeOnTheSameData) {
  const TemporaryFolder folder;
  const auto put = [&](const std::string& name, const std::string& config, int minute) {
    std::filesystem::create_directory(folder / name);
    const std::filesystem::path path = RunFolder(folder / name).config();
    limpid::testing::write(path, bytes_of(config));
    const auto time = std::filesystem::last_write_time(folder.path());
    std::filesystem::last_write_time(path, time + std::chrono::minutes(minute));
  };
  put("own", R"({"data": "moons:1,count=40", "batch": 1})", -5);
  put("before", R"({"data": "moons:1,noise=0", "batch": 2})", -9);
  put("long-before", R"({"data": "moons:1,count=40", "batch": 3})", -90);
  put("after", R"({"data": "moons:1,count=40", "batch": 4})", -1);
  put("of-another-seed", R"({"data": "moons:2,count=40", "batch": 5})", -9);
  put("of-other-data", R"({"data": "xor:1,count=40", "batch": 6})", -9);
  put("of-no-data", R"({"batch": 7})", -9);
  put("of-a-number", R"({"data": 8, "batch": 8})", -9);
  put("broken", R"({"data": "moons:1)", -9);
  std::filesystem::create_directory(folder / "empty");
  std::vector<std::int64_t> batches;
  limpid::testing::write(
      RunFolder(folder / "before").log(),
      bytes_of("{\"event\":\"finding\",\"rule\":\"few_rows\"}\n{\"event\":\"finding\",\n"));
  for (const EarlierRun& run : earlier_runs(folder / "own")) {
    batches.push_back(run.config.at("batch").as_integer());
    EXPECT_EQ(run.rules, batches.back() == 2 ? std::vector<std::string>{"few_rows"}
                                             : std::vector<std::string>{});
  }
  std::sort(batches.begin(), batches.end());
  EXPECT_EQ(batches, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(earlier_runs(folder / "own/").size(), 2U);
  EXPECT_TRUE(earlier_runs(folder / "broken").empty());
  EXPECT_TRUE(earlier_runs(folder / "none").empty());
}

}  // namespace
}  // namespace limpid::train
