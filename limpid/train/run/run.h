// Run: a training run from a configuration, with data, model, recipe, log, checkpoints, text
// samples, diagnosis and resuming. It reports its progress as typed events. Depends on trainer.h,
// run_folder.h and doctor.h.
//
//   train::TrainConfig config;  // what is not chosen suits the data
//   config.data = "moons";
//   train::Run run(config, {.folder = "runs/moons"});
//   run.on_event([](const train::Event& event) { ... });
//   const train::EndEvent end = run.train();
//   const Model model = run.model();
//
// The bits of the model depend only on the configuration and the data, not on threads, ranks,
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
#include "limpid/train/config/config.h"
#include "limpid/train/log/events.h"
#include "limpid/train/log/run_log.h"
#include "limpid/train/loop/custom_model.h"
#include "limpid/train/loop/trainer.h"

namespace limpid::train {

// Options of a Run.
struct RunOptions {
  // The run's folder (see run_folder.h): configuration, log, checkpoint and model. Empty: nothing
  // is written.
  std::filesystem::path folder = {};
  bool overwrite = false;  // an existing run in the folder
  ThreadPool* pool = nullptr;
  bool gather_ahead = false;                             // see TrainOptions
  std::vector<std::string> command = {"limpid::train"};  // command line for the log
  // Several ranks share the work: each constructs a Run with the same arguments and makes the same
  // calls. Only the first rank uses the folder, reports events, and returns a filled EndEvent.
  distribute::Communicator* ranks = nullptr;
};

class Run {
 public:
  // Loads the data of the configuration and prepares the run; writes nothing. The pool must outlive
  // the run. Throws what load_data of run_setup.h throws, and kInvalidArgument, naming the key, if
  // choices contradict each other or do not match the data.
  explicit Run(const TrainConfig& config, const RunOptions& options = {});
  // The same with data in memory. Features are standardised as for the data set named by
  // `config.data`.
  Run(const TrainConfig& config, Split data, const RunOptions& options = {});
  // The same with a network of one's own, to which no features are standardised. To resume, give
  // the same. Also throws what custom_problem throws.
  Run(const TrainConfig& config, Split data, const CustomModel& model,
      const RunOptions& options = {});
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Listeners are called in the training thread, in the order of events. Add listeners before
  // start() or resume(). An exception from a listener, or a write that fails, ends the current
  // call; the next call of step(), finish(), interrupt() or train() first does what that call left
  // to do.

  // For every event of the log, after it was written to the log file.
  void on_event(std::function<void(const Event& event)> listener);
  // For every step; the log has only one in `log_every`.
  void on_step(std::function<void(const StepEvent& step)> listener);
  // For every checkpoint, after it was written.
  void on_checkpoint(std::function<void(std::int64_t step)> listener);

  // With ranks, start() and resume() first compare version, configuration, data and arithmetic of
  // all ranks. They throw kInvalidArgument, naming a rank that differs.

  // Starts the run: RunEvent, DataFacts, findings on the data, first checkpoint. Throws
  // kInvalidArgument if the folder holds a run, unless options.overwrite; if it has a file, such as
  // a config.json, that no run wrote (RunFolder::foreign_file()); and after a resume() that failed
  // when it had restored the checkpoint; kIo, also if another Run, in this process or another one,
  // has the folder locked. A Run locks its folder until finish() or interrupt() returns, step()
  // ends the run, or the Run is destroyed.
  void start();
  // Resumes from the folder's checkpoint, with the log so far and a ResumeEvent; starts if the
  // folder has no checkpoint. If the configuration asks for more epochs, steps or patience than the
  // original run, the run is extended, even a finished one; the learning rate then follows the
  // schedule of the new length. A run without a folder can only resume after interrupt(). Throws
  // kInvalidArgument if there is nothing to resume, or if the checkpoint belongs to another
  // configuration or other data; what load_checkpoint and parse_run_log throw; kIo.
  void resume();

  // Starts the run if necessary, or resumes it after an interruption. Then steps until the end and
  // calls finish(); or until step(stop) returns true, and calls interrupt().
  // Throws what start(), resume(), step(), finish() and interrupt() throw.
  EndEvent train(const std::function<bool()>& stop = {});

  // One update, with the probe, evaluation, diagnosis, text sample and checkpoint that are due. If
  // the loss or the gradient is not finite, writes the checkpoint before this step and the
  // EndEvent, and throws kInvalidArgument, naming the op that caused it. Returns whether to stop
  // the run: stop(), called at the end of the step, and during an evaluation, which may take
  // minutes: if it is true there, the step is not done. With ranks, each calls it when it has
  // computed its gradients, and all return whether it was true on any of them.
  bool step(const std::function<bool()>& stop = {});
  bool done() const { return trainer().ending() != Ending::kNone; }
  // Call it after the last step: evaluates, writes the model, and ends the log with an EndEvent. If
  // the loss or the gradient was not finite, throws the error of that step.
  EndEvent finish();
  // Writes a checkpoint and ends the log with an EndEvent with kInterrupted; resume() can continue.
  EndEvent interrupt();

  const TrainConfig& config() const;  // complete
  const Split& data() const;          // training, validation and test set, as loaded
  const Trainer& trainer() const;     // the training loop
  const RunLog& log() const;          // every event so far

  // The current model, with everything that the model file has.
  Model model() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace limpid::train
