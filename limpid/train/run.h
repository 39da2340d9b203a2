// Run: a configuration becomes a training run: data, model, recipe, log, checkpoints, samples of
// text, findings, and going on after whatever ended it. It tells what happens as typed events, to a
// terminal, a log or a page. Leans on trainer.h, run_folder.h and doctor.h.
//
//   train::TrainConfig config;  // what is not chosen suits the data
//   config.data = "moons";
//   train::Run run(config, {.folder = "runs/moons"});
//   run.on_event([](const train::Event& event) { ... });
//   const train::EndEvent end = run.train();
//   const Model model = run.model();
//
// The bits of the model depend on the configuration and the data alone: not on threads, ranks,
// listeners, checkpoints or interruptions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/compile/thread_pool.h"
#include "limpid/data/dataset.h"
#include "limpid/distribute/communicator.h"
#include "limpid/formats/model.h"
#include "limpid/train/config.h"
#include "limpid/train/events.h"
#include "limpid/train/run_log.h"
#include "limpid/train/trainer.h"

namespace limpid::train {

// Where a run is kept, and who helps.
struct RunOptions {
  // The run's folder (see run_folder.h): configuration, log, checkpoint and model. Empty: nothing
  // is written.
  std::filesystem::path folder = {};
  bool overwrite = false;  // the run that the folder holds
  ThreadPool* pool = nullptr;
  bool gather_ahead = false;                             // as in TrainOptions
  std::vector<std::string> command = {"limpid::train"};  // what the log says started the run
  // Several ranks share the work: each makes a Run of the same arguments and then the same calls.
  // The first one alone has the folder, tells events, and returns what an end says.
  distribute::Communicator* ranks = nullptr;
};

class Run {
 public:
  // Loads the data that the configuration names and prepares everything; nothing is written. The
  // pool must outlive the run. Throws what load_data of run_setup.h throws, and kInvalidArgument
  // where choices contradict each other or do not fit the data, naming the key.
  explicit Run(const TrainConfig& config, const RunOptions& options = {});
  // The same with data in memory; features are standardised as the data set that `config.data`
  // names would be.
  Run(const TrainConfig& config, Split data, const RunOptions& options = {});
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Listeners are called by the thread that trains, in the order in which things happen; what they
  // throw ends the call under way. Add them before start() or resume().

  // Every event of the log, after the log's file has it.
  void on_event(std::function<void(const Event& event)> listener);
  // Every step: the log has one of `log_every`.
  void on_step(std::function<void(const StepEvent& step)> listener);
  // A checkpoint reached the disk.
  void on_checkpoint(std::function<void(std::int64_t step)> listener);

  // With ranks, start() and resume() first compare version, configuration, data and arithmetic of
  // all of them, and throw kInvalidArgument with the name of a rank that has others.

  // Begins: RunEvent, DataFacts, what the doctor finds in the data, the first checkpoint. Throws
  // kInvalidArgument where the folder holds a run, unless options.overwrite; kIo, also while
  // another Run, of this process or another one, writes into the folder: a Run holds its folder
  // until finish() or interrupt() returns, step() ends it, or it is destroyed.
  void start();
  // Goes on from the folder's checkpoint, with the log so far and a ResumeEvent; a folder without a
  // checkpoint starts. Where the configuration asks for more epochs, steps or patience than the
  // run's own, the run becomes longer, even a finished one; its learning rate then follows the
  // schedule of the new length. A run without a folder goes on after interrupt() alone. Throws
  // kInvalidArgument where there is nothing to go on with, or the checkpoint is of another
  // configuration or other data; what load_checkpoint and parse_run_log throw; kIo.
  void resume();

  // Starts unless that was done, or goes on after an interruption, and steps until no step follows:
  // then finish(); or until `stop`, asked after each step, says true: then interrupt(). Throws what
  // those four throw.
  EndEvent train(const std::function<bool()>& stop = {});

  // One update, with the probe, evaluation, diagnosis, sample and checkpoint that are due. Where
  // the loss or the gradient is not finite, writes the checkpoint before it and the EndEvent, and
  // throws kInvalidArgument with the op that made the number.
  void step();
  // Whether to stop here: the wish itself; with ranks, all answer alike, that a rank wished so
  // before the last step.
  bool agree_to_stop(bool wish);
  bool done() const { return trainer().ending() != Ending::kNone; }
  // Evaluates, writes the model, and ends the log with an EndEvent. After the last step.
  EndEvent finish();
  // Writes a checkpoint and ends the log with an EndEvent of kInterrupted; resume() goes on.
  EndEvent interrupt();

  const TrainConfig& config() const;  // complete
  const Split& data() const;          // the parts, as loaded
  const Trainer& trainer() const;     // the loop under way
  const RunLog& log() const;          // every event so far

  // As it is now, with everything that its file has.
  Model model() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace limpid::train
