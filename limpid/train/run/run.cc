#include "limpid/train/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/number_text.h"
#include "limpid/core/stop_check.h"
#include "limpid/distribute/communicator.h"
#include "limpid/formats/folder_lock.h"
#include "limpid/function/interpret.h"
#include "limpid/models/adapter.h"
#include "limpid/train/diagnostics/data_facts.h"
#include "limpid/train/diagnostics/doctor.h"
#include "limpid/train/diagnostics/find_nonfinite.h"
#include "limpid/train/diagnostics/ngram.h"
#include "limpid/train/diagnostics/probe.h"
#include "limpid/train/log/log_thinner.h"
#include "limpid/train/run/checkpoint.h"
#include "limpid/train/run/earlier_runs.h"
#include "limpid/train/run/environment.h"
#include "limpid/train/run/rank_check.h"
#include "limpid/train/run/run_folder.h"
#include "limpid/train/run/run_setup.h"
#include "limpid/train/run/text_sampler.h"

namespace limpid::train {
namespace {

using Clock = std::chrono::steady_clock;

template <class Code>
auto in_default_mode(const Code& code) {
  const DefaultFloatMode mode;
  return code();
}

[[noreturn]] void refuse_run(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

RunEvent run_event(const RunSetup& setup, const std::vector<std::string>& command, int threads) {
  RunEvent event;
  event.version = library_version();
  event.command = command;
  event.config = to_json(setup.config);
  event.model = Json::parse(setup.network);
  for (const Input& p : setup.problem.parameters()) event.parameters += p.type.shape.elements();
  event.task = limpid::name(setup.data.train.task);
  const Dataset& train = setup.data.train;
  event.data = {train.name,
                train.size(),
                setup.data.validation.size(),
                setup.data.test.size(),
                train.input_type().shape.elements(),
                train.outputs(),
                train.class_names,
                train.notes};
  event.environment = environment(threads);
  return event;
}

// Which steps a probe of the layers looks at.
class ProbeTimes {
 public:
  ProbeTimes(const std::optional<std::int64_t>& every, const Trainer& trainer)
      : every_(every), an_epoch_(std::min(trainer.steps_an_epoch(), trainer.steps())) {
    if (!every)
      usual_ = std::max({std::int64_t{1}, an_epoch_, (trainer.steps() + kMost - 1) / kMost});
  }
  // Steps between two events if the configuration says so; 0: they are few.
  std::int64_t distance() const { return every_.value_or(0); }
  // Whether the step after `done` others is one of them.
  bool at(std::int64_t done) const {
    if (every_) return *every_ > 0 && done % *every_ == 0;
    const std::int64_t quarter = an_epoch_ / 4;
    return done % usual_ == 0 || (done < an_epoch_ && quarter > 0 && done % quarter == 0);
  }

 private:
  static constexpr std::int64_t kMost = 100;  // probes of a run
  std::optional<std::int64_t> every_;
  std::int64_t an_epoch_ = 0;
  std::int64_t usual_ = 1;
};

// The texts that a language model generates as it learns.
class Samples {
 public:
  Samples(const RunSetup& setup, ThreadPool* pool)
      : every_(setup.config.sample_every.value_or(0)),
        tokenizer_(setup.data.train.tokenizer),
        key_(Key(static_cast<std::uint64_t>(*setup.config.seed)).fold_in(kSampleKey)) {
    if (every_ > 0) sampler_.emplace(setup.problem, pool);
  }

  std::int64_t distance() const { return every_; }
  bool at(std::int64_t done) const { return every_ > 0 && done % every_ == 0; }

  SampleEvent draw(const Trainer& trainer) {
    constexpr std::int64_t kTokens = 100;
    const std::vector<std::int32_t> tokens =
        (*sampler_)(trainer.model(), beginning(), kTokens, key_);
    return {trainer.steps_done(), tokenizer_->decode(tokens)};
  }

 private:
  // A newline, or token 0 where there is none.
  std::int32_t beginning() const {
    try {
      return tokenizer_->encode("\n").values<std::int32_t>().back();
    } catch (const Error& e) {
      if (e.code() != ErrorCode::kNotFound) throw;
      return 0;
    }
  }

  static constexpr std::uint64_t kSampleKey = 4;  // of the run's seed, after those of the trainer
  std::int64_t every_;
  std::optional<Tokenizer> tokenizer_;
  Key key_;
  std::optional<TextSampler> sampler_;
};

}  // namespace

class Run::Impl {
 public:
  Impl(RunSetup setup, const RunOptions& options)
      : options_(options),
        setup_(std::move(setup)),
        trainer_(setup_.problem, setup_.data, trainer_options(), options.pool, options.ranks),
        probe_times_(setup_.config.probe_every, trainer_),
        samples_(setup_, options.pool),
        thinner_({.step = *setup_.config.log_every,
                  .probe = probe_times_.distance(),
                  .sample = samples_.distance(),
                  .hashes = *setup_.config.log_shards ? *setup_.config.shards : 0}) {
    if (options.folder.empty() && !options.ranks) return;
    data_hash_ = setup_.data_hash(options.pool);
    if (leads() && !options.folder.empty()) folder_.emplace(options.folder);
  }

  void start();
  void resume();
  EndEvent train(const std::function<bool()>& stop);
  bool step(const std::function<bool()>& stop);
  EndEvent finish();
  EndEvent interrupt();
  // The model, and the adapters that were trained.
  void save(const Params& params) const;

  RunOptions options_;
  RunSetup setup_;
  Trainer trainer_;
  RunLog log_;
  std::vector<std::function<void(const Event&)>> on_event_;
  std::vector<std::function<void(const StepEvent&)>> on_step_;
  std::vector<std::function<void(std::int64_t)>> on_checkpoint_;

 private:
  enum class Stage : std::uint8_t { kNew, kUnderWay, kPaused, kEnded };

  TrainOptions trainer_options() const {
    TrainOptions options = options_of(setup_.config, setup_.data);
    options.gather_ahead = options_.gather_ahead;
    return options;
  }
  // Bits of a step's wishes.
  enum Wish : std::uint32_t { kStop = 1, kCheckpoint = 2 };

  // The rank that has the folder, and tells.
  bool leads() const { return !options_.ranks || options_.ranks->rank() == 0; }
  void compare_ranks();
  bool ends_epoch() const;
  bool make_step(const std::function<bool()>& asked);
  std::uint32_t wishes(bool stop) const;
  void expect(Stage stage, std::string_view call) const;
  template <class Begin>
  void begin_locked(const Begin& begin);
  void begin();
  void go_on();
  void check_run(const Checkpoint& checkpoint);
  // The configuration of the run in the folder, as its log has it.
  TrainConfig logged_config() const;
  void begin_again();
  void go_on_in_folder(std::string_view log);
  void write(const Event& event);
  // Writes the epochs that the log would have only later, the best one and that with which the
  // training ended: a kill must not lose them.
  void write_best();
  // `always`: the log has the event, whatever its step.
  void tell(const Event& event, bool always = false);
  void tell_untold();
  void do_left();
  void diagnose(const RunLog& log);
  void end_with(const EndEvent& end);
  bool is_parameter(const Trainer::Replay& replay, std::string_view value) const;
  EndEvent end_event(std::string_view reason) const;
  void probe();
  void diagnose_after(const EpochEvent& epoch);
  bool wants_checkpoint(std::uint32_t wishes) const;
  void checkpoint();
  [[noreturn]] void fail();

  Stage stage_ = Stage::kNew;
  ProbeTimes probe_times_;
  Samples samples_;
  std::optional<RunFolder> folder_;
  std::optional<FolderLock> lock_;
  std::uint64_t data_hash_ = 0;
  Metadata metadata_;              // of the checkpoints' model
  std::unique_ptr<LogFile> file_;  // if it cannot be replaced, the old one stays
  LogThinner thinner_;
  std::vector<std::string> extension_;  // the command that made the run longer
  // The runs beside this one, read once: there may be many of them.
  std::optional<std::vector<EarlierRun>> earlier_;
  std::map<std::int64_t, Probe> probes_;  // by rows of the batch
  StepResult last_;                       // the last step
  // What is still to be done for the last step. If a write or a listener ends a call, the next call
  // does the rest first.
  std::deque<std::function<void()>> left_;
  // Events for the log and the listeners, in their order, each after the lines that it has there.
  struct Untold {
    std::deque<Event> lines;
    std::optional<Event> event;
  };
  std::deque<Untold> untold_;
  bool must_thin_ = false;  // the log, before more is written
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_checkpoint_{};
};

// ---- how it begins

void Run::Impl::expect(Stage stage, std::string_view call) const {
  constexpr std::string_view kStages[] = {"has not started", "is under way", "was interrupted",
                                          "has ended"};
  if (stage_ != stage)
    refuse_run(
        fmt::format("train: {} of a run that {}", call, kStages[static_cast<std::size_t>(stage_)]));
}

// Another run that writes into the folder would leave neither whole. A run that could not begin
// holds nothing.
template <class Begin>
void Run::Impl::begin_locked(const Begin& begin) {
  if (!folder_) return begin();
  folder_->create();
  lock_.emplace(folder_->path());
  try {
    begin();
  } catch (...) {
    if (stage_ != Stage::kUnderWay) lock_.reset();
    throw;
  }
}

void Run::Impl::compare_ranks() {
  if (options_.ranks)
    require_alike(*options_.ranks, rank_facts(to_text(setup_.config), data_hash_));
}

void Run::Impl::start() {
  expect(Stage::kNew, "start()");
  if (trainer_.steps_done() > 0)
    refuse_run(fmt::format(
        "train: start() of a run whose resume() failed after step {}, expected one at step 0",
        trainer_.steps_done()));
  compare_ranks();
  begin_locked([this] { begin(); });
}

void Run::Impl::begin() {
  if (folder_) {
    if (const auto file = folder_->foreign_file())
      refuse_run(fmt::format("train: no run wrote {}, expected another folder",
                             in_quotes(file->string())));
    const auto held = options_.overwrite ? std::nullopt : folder_->held_run();
    if (held)
      refuse_run(fmt::format("train: the folder {} holds a run that is {} (step {})",
                             in_quotes(folder_->path().string()),
                             held->finished ? "finished" : "not finished", held->step));
    folder_->begin(setup_.config);
    file_ = std::make_unique<LogFile>(folder_->log(), "");
  }
  log_ = {};  // of a beginning that failed
  untold_.clear();
  if (leads()) {
    tell(run_event(setup_, options_.command, options_.pool ? options_.pool->threads() : 1));
    tell(data_facts(setup_.data));
    diagnose(log_);
  }
  checkpoint();
  // Until now the folder had the model of the run that it replaces.
  if (folder_) folder_->remove_model();
  stage_ = Stage::kUnderWay;
}

void Run::Impl::resume() {
  if (stage_ != Stage::kPaused) expect(Stage::kNew, "resume()");
  compare_ranks();
  begin_locked([this] { go_on(); });
}

// All ranks resume from the checkpoint that the first rank finds in its folder.
void Run::Impl::go_on() {
  const bool starts = folder_ && !folder_->has_checkpoint();
  std::optional<Checkpoint> checkpoint;
  if (folder_ && !starts) {
    checkpoint = load_checkpoint(folder_->checkpoint());
    check_run(*checkpoint);
  } else if (leads() && !starts && stage_ != Stage::kPaused) {
    refuse_run("train: resume() of a run that has no folder");
  }
  if (options_.ranks && !options_.folder.empty()) {
    const std::vector<std::byte> found = distribute::from_first(
        *options_.ranks, checkpoint ? serialize_checkpoint(*checkpoint) : std::vector<std::byte>());
    if (found.empty()) return begin_again();
    checkpoint = parse_checkpoint(found, "of the first rank");
  } else if (starts) {
    return begin_again();
  }
  untold_.clear();
  std::string log;  // read first: where it is broken, the trainer stays as it was
  if (folder_)
    log = log_until(read_text(folder_->log()), checkpoint->state.step, folder_->log().string());
  if (checkpoint) {
    if (checkpoint->state.step > trainer_.steps())
      refuse_run(fmt::format("train: expected at least {} steps, as many as are done, got {}",
                             checkpoint->state.step, trainer_.steps()));
    trainer_.restore(checkpoint->state);
  }
  if (folder_)
    go_on_in_folder(log);
  else
    log_.end.reset();
  ResumeEvent event{trainer_.steps_done(), extension_};
  if (!extension_.empty()) event.config = to_json(setup_.config);
  tell(event);
  stage_ = Stage::kUnderWay;
}

// It was not this call that began the run.
void Run::Impl::begin_again() {
  if (folder_)
    if (auto command = folder_->first_command(); !command.empty())
      options_.command = std::move(command);
  begin();
}

void Run::Impl::go_on_in_folder(std::string_view log) {
  folder_->tidy();
  if (!extension_.empty()) folder_->write_config(setup_.config);
  const std::string source = folder_->log().string();
  const std::string kept = thinner_.thin(log, source);
  log_ = parse_run_log(kept, source);
  file_ = std::make_unique<LogFile>(folder_->log(), kept);
  write_best();
}

// A run may become longer or shorter; everything else of its configuration stays.
void Run::Impl::check_run(const Checkpoint& checkpoint) {
  extension_.clear();
  if (checkpoint.run == identity_of(setup_.config, data_hash_)) return;
  const std::string source = folder_->checkpoint().string();
  if (!is_same_run(checkpoint.run, setup_.config, data_hash_, source))
    refuse_run(
        fmt::format("{}: the checkpoint has another configuration or other data than the run",
                    in_quotes(source)));
  // A run that was killed before its next checkpoint is of the new length already, but only if its
  // log says so.
  if (to_text(logged_config()) != to_text(setup_.config)) extension_ = options_.command;
}

TrainConfig Run::Impl::logged_config() const {
  const RunLog log = parse_run_log(folder_->log());
  const auto last = std::find_if(log.resumes.rbegin(), log.resumes.rend(),
                                 [](const ResumeEvent& event) { return !event.command.empty(); });
  // Logs of older versions do not say what an extended run is.
  if (last != log.resumes.rend() && !last->config) return folder_->read_config();
  return parse_train_config(log.config().dump(), folder_->log().string());
}

// ---- how it goes

EndEvent Run::Impl::train(const std::function<bool()>& stop) {
  if (stage_ == Stage::kNew)
    start();
  else if (stage_ == Stage::kPaused)
    resume();
  while (trainer_.ending() == Ending::kNone)
    if (step(stop)) return interrupt();
  return finish();
}

bool Run::Impl::ends_epoch() const {
  const std::int64_t next = trainer_.steps_done() + 1;
  return next % std::max<std::int64_t>(1, trainer_.steps_an_epoch()) == 0 ||
         next == trainer_.steps();
}

// The next step, with the evaluation after an epoch. False where that took so long that it was
// stopped: then the step is not done. Ranks are asked together, and only between steps.
bool Run::Impl::make_step(const std::function<bool()>& asked) {
  const auto wished = [&] { return wishes(options_.ranks && asked()); };
  if (options_.ranks || !ends_epoch()) {
    last_ = trainer_.step(wished);
    return true;
  }
  const TrainState before = trainer_.state();
  // Who counts the calls counts steps, unless an evaluation takes long.
  const auto first = Clock::now() + std::chrono::seconds(1);
  StopCheck check([&] { return Clock::now() >= first && asked(); });
  try {
    const StopScope scope(check);
    last_ = trainer_.step(wished);
    return true;
  } catch (const Stopped&) {
    trainer_.restore(before);
    return false;
  }
}

// What this rank wants all ranks to do after the current step.
std::uint32_t Run::Impl::wishes(bool stop) const {
  const auto age = Clock::now() - last_checkpoint_;
  const bool checkpoint =
      leads() && age > (ends_epoch() ? std::chrono::seconds(1) : std::chrono::seconds(60));
  return (stop ? kStop : 0U) | (checkpoint ? kCheckpoint : 0U);
}

bool Run::Impl::step(const std::function<bool()>& stop) {
  expect(Stage::kUnderWay, "step()");
  do_left();
  if (trainer_.ending() == Ending::kNonFinite) fail();
  const bool probed = probe_times_.at(trainer_.steps_done());
  const auto asked = [&] { return stop && stop(); };
  if (!make_step(asked)) return true;
  if (trainer_.ending() == Ending::kNonFinite) fail();
  if (leads()) {
    if (probed) left_.emplace_back([this] { probe(); });
    // The loss of the initial weights is always logged: the doctor compares later losses with it.
    if (last_.step.step == 1 || last_.step.step % *setup_.config.log_every == 0)
      left_.emplace_back([this] { tell(last_.step); });
    left_.emplace_back([this] {
      for (const auto& listener : on_step_) listener(last_.step);
    });
    if (last_.epoch) {
      left_.emplace_back([this] { tell(*last_.epoch); });
      left_.emplace_back([this] { diagnose_after(*last_.epoch); });
    }
    if (samples_.at(trainer_.steps_done()))
      left_.emplace_back([this] { tell(samples_.draw(trainer_)); });
  }
  if (wants_checkpoint(last_.wishes)) left_.emplace_back([this] { checkpoint(); });
  do_left();
  return options_.ranks ? (last_.wishes & kStop) != 0 : asked();
}

void Run::Impl::do_left() {
  tell_untold();
  while (!left_.empty()) {
    const std::function<void()> next = std::move(left_.front());
    left_.pop_front();
    next();
  }
}

void Run::Impl::tell_untold() {
  if (must_thin_) {
    if (file_) {
      const std::string source = folder_->log().string();
      file_ = std::make_unique<LogFile>(folder_->log(),
                                        thinner_.thin(read_text(folder_->log()), source));
    }
    thinner_.thin(log_);
    must_thin_ = false;
  }
  while (!untold_.empty()) {
    std::deque<Event>& lines = untold_.front().lines;
    for (; !lines.empty(); lines.pop_front()) write(lines.front());
    const std::optional<Event> event = std::move(untold_.front().event);
    untold_.pop_front();
    if (!event) continue;
    const auto* const end = std::get_if<EndEvent>(&*event);
    const bool ends = end && end->reason != kInterrupted;
    if (ends) stage_ = Stage::kEnded;
    for (const auto& listener : on_event_) listener(*event);
    if (ends && file_) file_->sync();
    if (ends) lock_.reset();
  }
}

void Run::Impl::write(const Event& event) {
  if (file_) file_->write(to_json_line(event));
  log_.add(event);
}

void Run::Impl::write_best() {
  if (const std::optional<EpochEvent> best = thinner_.take_best()) untold_.push_back({{*best}, {}});
  if (trainer_.ending() != Ending::kNone)
    if (const std::optional<EpochEvent> last = thinner_.take_last())
      untold_.push_back({{*last}, {}});
  tell_untold();
}

void Run::Impl::tell(const Event& event, bool always) {
  if (!leads()) return;
  // As many events as a log may hold of a run of this length.
  const std::vector<Event> lines = always ? std::vector{event} : thinner_.admit(event);
  must_thin_ = thinner_.has_grown() || must_thin_;
  untold_.push_back({{lines.begin(), lines.end()}, event});
  tell_untold();
}

void Run::Impl::diagnose(const RunLog& log) {
  if (!leads()) return;
  if (!earlier_) earlier_ = folder_ ? earlier_runs(folder_->path()) : std::vector<EarlierRun>();
  for (const Finding& finding : new_findings(train::diagnose(log, {}, *earlier_), log_.findings))
    untold_.push_back({{finding}, finding});
  tell_untold();
}

void Run::Impl::probe() {
  const std::int64_t rows = trainer_.observed_rows();
  auto found = probes_.find(rows);
  if (found == probes_.end())
    found = probes_
                .try_emplace(rows, loss_function(trainer_.problem(), rows),
                             trainer_.problem().parameters().size(), options_.pool)
                .first;
  tell(ProbeEvent{trainer_.steps_done() - 1, found->second(trainer_.observed())});
}

void Run::Impl::diagnose_after(const EpochEvent& epoch) {
  // Of very many epochs the doctor sees a hundred and the last.
  constexpr std::int64_t kVisits = 100;
  const std::int64_t every = (trainer_.epochs() + kVisits - 1) / kVisits;
  if (epoch.epoch % every == 0 || trainer_.ending() != Ending::kNone) diagnose(log_);
}

bool Run::Impl::wants_checkpoint(std::uint32_t wishes) const {
  const std::int64_t every = *setup_.config.checkpoint_every;
  return every > 0 ? trainer_.steps_done() % every == 0 : (wishes & kCheckpoint) != 0;
}

// All ranks have a part of the state.
void Run::Impl::checkpoint() {
  if (options_.folder.empty()) return;
  Checkpoint now{trainer_.state(), {}};
  last_checkpoint_ = Clock::now();
  if (!folder_) return;
  now.run = identity_of(setup_.config, data_hash_);
  if (metadata_.empty())
    metadata_ = model_metadata(setup_.problem.inference, setup_.model_config());
  now.model = metadata_;
  write_best();
  // After a power failure, too, the log must have all steps of the checkpoint: resuming continues
  // it.
  file_->sync();
  save_checkpoint(folder_->checkpoint(), now);
  for (const auto& listener : on_checkpoint_) listener(trainer_.steps_done());
}

// ---- how it ends

EndEvent Run::Impl::end_event(std::string_view reason) const {
  EndEvent end;
  end.reason = reason;
  end.step = trainer_.steps_done();
  end.best_epoch = trainer_.best_epoch();
  end.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  return end;
}

// The findings are logged before the end: a resumed run logs them there, too.
void Run::Impl::end_with(const EndEvent& end) {
  RunLog whole = log_;
  whole.add(end);
  diagnose(whole);
  if (!leads()) stage_ = Stage::kEnded;
  tell(end);
}

EndEvent Run::Impl::finish() {
  expect(Stage::kUnderWay, "finish()");
  do_left();
  if (trainer_.ending() == Ending::kNonFinite) fail();
  if (stage_ == Stage::kEnded) return *log_.end;  // only that was left
  checkpoint();
  const Params params = trainer_.model();
  const Split& data = setup_.data;
  Numbers validation;
  TestResult test;
  const auto evaluate = [&](const Dataset& part) {
    return Evaluator(setup_.problem, part, options_.pool, options_.ranks)(params);
  };
  if (data.validation.size() > 0) validation = evaluate(data.validation).metrics;
  if (data.test.size() > 0) test = evaluate(data.test);
  if (!leads()) {
    stage_ = Stage::kEnded;
    return end_event(name(trainer_.ending()));
  }
  // Before the baseline, which takes time and memory.
  if (folder_) save(params);
  if (setup_.problem.task == Task::kNextToken) test.metrics.merge("", ngram_metrics(data));
  EndEvent end = end_event(name(trainer_.ending()));
  end.validation = std::move(validation);
  end.test = std::move(test);
  end_with(end);
  return end;
}

void Run::Impl::save(const Params& params) const {
  save_model(folder_->model(), setup_.problem.model(params, setup_.model_config()));
  const std::optional<nn::Lora> lora = lora_of(setup_.config);
  if (!lora) return;
  Adapter adapter{
      .alpha = lora->alpha, .targets = lora->targets, .base = setup_.config.from.value_or("")};
  for (const Input& input : setup_.problem.parameters())
    adapter.params.set(input.name, params.at(input.name));
  if (setup_.problem.task == Task::kNextToken) adapter.task = "CAUSAL_LM";
  save_adapter(folder_->adapter(), adapter);
}

EndEvent Run::Impl::interrupt() {
  expect(Stage::kUnderWay, "interrupt()");
  do_left();
  checkpoint();
  const EndEvent end = end_event(kInterrupted);
  stage_ = Stage::kPaused;
  tell(end);
  lock_.reset();
  return end;
}

// Whether the value, by its name, is one of the parameters that the step began with.
bool Run::Impl::is_parameter(const Trainer::Replay& replay, std::string_view value) const {
  const std::vector<Input> parameters = setup_.problem.parameters();
  const std::vector<Input>& inputs = replay.function.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (value_name(replay.function, static_cast<ValueId>(i)) == value)
      return std::any_of(parameters.begin(), parameters.end(),
                         [&](const Input& p) { return p.name == inputs[i].name; });
  return false;
}

// Called again if a write or a listener ended the call before.
void Run::Impl::fail() {
  const StepEvent& failed = last_.step;
  if (stage_ != Stage::kEnded) {
    checkpoint();
    if (log_.steps.empty() || log_.steps.back().step != failed.step) tell(failed, /*always=*/true);
  }
  const Trainer::Replay replay = trainer_.replay();
  // The interpreter would take some minutes for this many, and hours for a large network.
  constexpr std::int64_t kMostFlops = 100'000'000'000;
  const bool replayed = flops_of(replay.function) <= kMostFlops;
  const auto origin = replayed ? find_nonfinite(replay.function, replay.inputs) : std::nullopt;
  if (stage_ != Stage::kEnded) end_with(end_event(name(Ending::kNonFinite)));
  std::string message = fmt::format(
      "train: step {} of epoch {} gave a loss of {} and a gradient norm of {}, expected finite "
      "ones",
      failed.step, failed.epoch, short_number(failed.loss), short_number(failed.gradient_norm));
  if (origin) message += ": " + to_text(*origin);
  if (!replayed)
    message +=
        "; the step has too many operations to look for the first such number, a smaller "
        "--batch has fewer";
  if (folder_) {
    // Without --check-finite, the step before may have made the number.
    const bool before = origin && origin->ops.empty() && is_parameter(replay, origin->value);
    message += fmt::format(
        "; the state before it{} in {}",
        before ? " holds this number (--check-finite ends a run before such a state is kept); it is"
               : " is",
        in_quotes(folder_->checkpoint().string()));
  }
  refuse_run(message);
}

// ---- the interface

Run::Run(const TrainConfig& config, const RunOptions& options)
    : Run(config, load_data(config), options) {}
Run::Run(const TrainConfig& config, Split data, const RunOptions& options)
    : impl_(in_default_mode(
          [&] { return std::make_unique<Impl>(RunSetup(config, std::move(data)), options); })) {}
Run::Run(const TrainConfig& config, Split data, const CustomModel& model, const RunOptions& options)
    : impl_(in_default_mode([&] {
        return std::make_unique<Impl>(RunSetup(config, std::move(data), model), options);
      })) {}
Run::~Run() = default;

void Run::on_event(std::function<void(const Event&)> listener) {
  impl_->on_event_.push_back(std::move(listener));
}
void Run::on_step(std::function<void(const StepEvent&)> listener) {
  impl_->on_step_.push_back(std::move(listener));
}
void Run::on_checkpoint(std::function<void(std::int64_t)> listener) {
  impl_->on_checkpoint_.push_back(std::move(listener));
}

void Run::start() {
  in_default_mode([&] { impl_->start(); });
}
void Run::resume() {
  in_default_mode([&] { impl_->resume(); });
}
EndEvent Run::train(const std::function<bool()>& stop) {
  return in_default_mode([&] { return impl_->train(stop); });
}
bool Run::step(const std::function<bool()>& stop) {
  return in_default_mode([&] { return impl_->step(stop); });
}
EndEvent Run::finish() {
  return in_default_mode([&] { return impl_->finish(); });
}
EndEvent Run::interrupt() {
  return in_default_mode([&] { return impl_->interrupt(); });
}

const TrainConfig& Run::config() const { return impl_->setup_.config; }
const Split& Run::data() const { return impl_->setup_.data; }
const Trainer& Run::trainer() const { return impl_->trainer_; }
const RunLog& Run::log() const { return impl_->log_; }
Model Run::model() const {
  return impl_->setup_.problem.model(impl_->trainer_.model(), impl_->setup_.model_config());
}

}  // namespace limpid::train
