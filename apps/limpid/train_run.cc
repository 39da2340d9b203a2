#include "apps/limpid/train_run.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>

#include "apps/limpid/command.h"
#include "apps/limpid/data_spec.h"
#include "apps/limpid/environment.h"
#include "apps/limpid/findings.h"
#include "apps/limpid/output.h"
#include "apps/limpid/progress.h"
#include "apps/limpid/report.h"
#include "apps/limpid/run_folder.h"
#include "apps/limpid/scores.h"
#include "apps/limpid/stop_signals.h"
#include "apps/limpid/threads.h"
#include "limpid/core/error.h"
#include "limpid/data/data_config.h"
#include "limpid/formats/in_quotes.h"
#include "limpid/formats/model.h"
#include "limpid/inspect/table.h"
#include "limpid/train/checkpoint.h"
#include "limpid/train/data_facts.h"
#include "limpid/train/doctor.h"
#include "limpid/train/find_nonfinite.h"
#include "limpid/train/ngram.h"
#include "limpid/train/probe.h"
#include "limpid/train/text_sampler.h"
#include "limpid/train/trainer.h"

namespace limpid::tool {
namespace {

using train::Ending;

// ---------------------------------------------------------------------------------------------
// What is trained on what
// ---------------------------------------------------------------------------------------------

DataSpec spec_of(const train::TrainConfig& config) {
  DataSpec spec = parse_data_spec(config.data.value_or("digits"));
  if (config.task && !spec.table.task) spec.table.task = task_from_name(*config.task);
  return spec;
}

// code(), whose Error is a fault of the configuration.
template <class Code>
auto as_usage(const Code& code) {
  try {
    return code();
  } catch (const Error& e) {
    throw UsageError(e.what());
  }
}

// Everything that the configuration makes, in the order in which it is made.
struct Setup {
  DataSpec spec;
  Split data;
  train::TrainConfig config;  // complete
  std::string network;        // its hyper-parameters as JSON
  train::Problem problem;

  explicit Setup(const train::TrainConfig& chosen)
      : spec(spec_of(chosen)),
        data(load_data(spec, as_usage([&] { return train::window_options_of(chosen); }))),
        config(as_usage([&] { return train::complete(chosen, data); })) {
    if (*config.model == "gpt") {
      const nn::Gpt net = train::gpt_of(config, data.train.classes);
      network = net.config();
      problem = train::gpt_problem(net, train::loss_of(config));
    } else if (*config.model == "charlm") {
      const nn::CharLm net = train::char_lm_of(config);
      network = net.config();
      problem = train::char_lm_problem(net, train::loss_of(config));
    } else {
      const nn::Mlp net = train::network_of(config);
      network = net.config();
      problem = train::mlp_problem(net, data.train.task, train::loss_of(config),
                                   fit_standardization(data.train, scaling_of(spec)));
    }
  }

  // What the model file says of itself.
  std::string model_config() const {
    Json json = Json::parse(network);
    json["loss"] = Json::parse(to_json(train::loss_of(config)));
    json["data"] = Json::parse(to_json(data_config(data.train)));
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  // No two runs with the same text differ.
  std::string identity() const {
    std::uint64_t h = 0;
    const auto add = [&](const Tensor& t) {
      const std::uint64_t next = limpid::hash(t);
      h = limpid::hash(std::as_bytes(std::span(&next, 1)), h);
    };
    for (const Dataset* part : {&data.train, &data.validation, &data.test}) {
      add(part->inputs);
      add(part->targets);
      if (part->windows) add(part->windows->tokens);
    }
    return fmt::format("{}\ndata {:016x}\n", to_json(config), h);
  }
};

train::RunEvent run_event(const Setup& setup, const RunOptions& options) {
  train::RunEvent event;
  event.version = LIMPID_VERSION;
  event.command = command_line();
  event.config = to_json(setup.config);
  event.model = setup.network;
  for (const Input& p : setup.problem.parameters()) event.parameters += p.type.shape.elements();
  event.task = limpid::name(setup.data.train.task);
  const Dataset& train = setup.data.train;
  event.data = {train.name,
                train.size(),
                setup.data.validation.size(),
                setup.data.test.size(),
                train.input_type().shape.elements(),
                train.outputs(),
                train.class_names};
  event.environment = environment(options.threads);
  return event;
}

// ---------------------------------------------------------------------------------------------
// When to look into the layers
// ---------------------------------------------------------------------------------------------

class ProbeTimes {
 public:
  ProbeTimes(const std::optional<std::int64_t>& every, const train::Trainer& trainer)
      : every_(every), an_epoch_(std::min(trainer.steps_an_epoch(), trainer.steps())) {
    if (!every) usual_ = std::max(an_epoch_, (trainer.steps() + kMost - 1) / kMost);
  }
  // Whether the step behind `done` others is looked at.
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

// ---------------------------------------------------------------------------------------------
// What a model that goes on with a text writes as it learns
// ---------------------------------------------------------------------------------------------

class Samples {
 public:
  Samples(const Setup& setup, ThreadPool& pool)
      : every_(setup.config.sample_every.value_or(0)),
        tokenizer_(setup.data.train.tokenizer),
        key_(Key(static_cast<std::uint64_t>(*setup.config.seed)).fold_in(kSampleKey)) {
    if (every_ > 0) sampler_.emplace(setup.problem.inference, &pool);
  }

  bool at(std::int64_t done) const { return every_ > 0 && done % every_ == 0; }

  train::SampleEvent draw(const train::Trainer& trainer) {
    constexpr std::int64_t kTokens = 100;
    const std::vector<std::int32_t> tokens =
        (*sampler_)(trainer.model(), beginning(), kTokens, key_);
    return {trainer.steps_done(), tokenizer_->decode(tokens)};
  }

 private:
  // The end of a line, or token 0 where there is none.
  std::int32_t beginning() const {
    try {
      return tokenizer_->encode("\n").values<std::int32_t>().back();
    } catch (const Error& e) {
      if (e.code() != ErrorCode::kNotFound) throw;
      return 0;
    }
  }

  static constexpr std::uint64_t kSampleKey = 4;  // of the run's seed, behind those of the trainer
  std::int64_t every_;
  std::optional<Tokenizer> tokenizer_;
  Key key_;
  std::optional<train::TextSampler> sampler_;
};

// ---------------------------------------------------------------------------------------------
// A run
// ---------------------------------------------------------------------------------------------

class TrainRun {
 public:
  TrainRun(const train::TrainConfig& chosen, const RunOptions& options)
      : options_(options),
        setup_(chosen),
        pool_({.threads = options.threads, .pin_caller = true}),
        trainer_(setup_.problem, setup_.data, trainer_options(), &pool_),
        probe_times_(setup_.config.probe_every, trainer_),
        samples_(setup_, pool_),
        progress_(setup_.data.train.task, watched(), trainer_.steps(), trainer_.steps_an_epoch()) {
    if (!options.out.empty()) {
      folder_.emplace(options.out);
      identity_ = setup_.identity();
    }
  }

  void begin() {
    if (folder_) {
      if (!options_.overwrite) refuse_to_overwrite();
      folder_->begin(to_json(setup_.config) + "\n");
      file_.emplace(folder_->log(), "");
    }
    introduce();
    write(run_event(setup_, options_));
    const train::DataFacts facts = train::data_facts(setup_.data);
    write(facts);
    diagnose();
    checkpoint();
  }

  // Without a checkpoint the run has not come far enough for one, and begins again.
  void go_on() {
    if (!folder_->has_checkpoint()) {
      begin();
      return;
    }
    const train::Checkpoint checkpoint = train::load_checkpoint(folder_->checkpoint());
    if (checkpoint.run != identity_)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: the checkpoint is of another configuration or of other data "
                              "than the run's now",
                              in_quotes(folder_->checkpoint().string())));
    trainer_.restore(checkpoint.state);
    folder_->tidy();
    const std::string source = folder_->log().string();
    const std::string kept =
        train::log_until(read_text(folder_->log()), trainer_.steps_done(), source);
    log_ = train::parse_run_log(kept, source);
    file_.emplace(folder_->log(), kept);
    introduce();
    say(fmt::format("goes on behind step {} of {}\n", trainer_.steps_done(), trainer_.steps()));
    write(train::ResumeEvent{trainer_.steps_done()});
  }

  void train() {
    const StopSignals signals;
    if (!options_.json) progress_.begin();
    while (trainer_.ending() == Ending::kNone) {
      const bool probed = probe_times_.at(trainer_.steps_done());
      const train::StepResult result = trainer_.step();
      if (trainer_.ending() == Ending::kNonFinite) fail(result.step);
      if (probed) probe();
      if (result.step.step % *setup_.config.log_every == 0) write(result.step);
      if (!options_.json) progress_.step(result.step);
      if (result.epoch) end_epoch(*result.epoch);
      if (samples_.at(trainer_.steps_done())) write(samples_.draw(trainer_));
      if (wants_checkpoint(result)) checkpoint();
      if (StopSignals::received() != 0) interrupt();
    }
  }

  void finish() {
    checkpoint();
    const Params model = trainer_.model();
    train::EndEvent end;
    end.reason = name(trainer_.ending());
    end.best_epoch = trainer_.state().best_epoch;
    if (setup_.data.validation.size() > 0)
      end.validation =
          train::Evaluator(setup_.problem, setup_.data.validation, &pool_)(model).metrics;
    if (setup_.data.test.size() > 0)
      end.test = train::Evaluator(setup_.problem, setup_.data.test, &pool_)(model);
    if (setup_.problem.task == Task::kNextToken)
      end.test.metrics.merge("", train::ngram_metrics(setup_.data));
    end.seconds = seconds();
    const Model saved{setup_.problem.inference, model, setup_.model_config()};
    if (folder_) save_model(folder_->model(), saved);
    end_with(end);
    if (folder_) write_report(folder_->path(), log_, &saved, &setup_.data.test);
    if (trainer_.ending() == Ending::kEarlyStopping)
      say(fmt::format("stopped early: epoch {} was the best, its model is kept\n", end.best_epoch));
    if (setup_.data.test.size() > 0)
      say(fmt::format("\non the {} examples of the test part:\n\n{}", setup_.data.test.size(),
                      scores_text(setup_.data.test, end.test)));
    if (folder_) say(fmt::format("\nsaved {}\n", folder_->model().string()));
  }

 private:
  train::TrainOptions trainer_options() const {
    train::TrainOptions options = train::options_of(setup_.config, setup_.data);
    options.gather_ahead = options_.threads < allowed_cpus();
    return options;
  }

  std::string watched() const {
    if (setup_.data.validation.size() > 0) return "validation";
    return setup_.data.test.size() > 0 ? "test" : "";
  }

  void refuse_to_overwrite() const {
    if (!folder_->has_checkpoint()) return;
    std::int64_t step = 0;
    try {
      step = train::load_checkpoint(folder_->checkpoint()).state.step;
    } catch (const Error&) {
      return;  // nothing that anybody could go on with
    }
    std::error_code ignored;
    if (!std::filesystem::exists(folder_->model(), ignored))
      throw UsageError(fmt::format(
          "--out {}: holds a run that is not finished (step {}); --resume {} goes on with it, "
          "--overwrite begins anew",
          in_quotes(options_.out), step, options_.out));
  }

  void introduce() {
    const Split& data = setup_.data;
    std::string parts =
        fmt::format("{}: {} examples to train on", data.train.name, data.train.size());
    if (data.validation.size() > 0)
      parts += fmt::format(", {} to validate", data.validation.size());
    if (data.test.size() > 0) parts += fmt::format(", {} to test", data.test.size());
    say(fmt::format("{}; {} for {} on {} thread{}\n", parts, network_text(),
                    limpid::name(data.train.task), options_.threads,
                    options_.threads == 1 ? "" : "s"));
  }

  std::string network_text() const {
    const train::TrainConfig& config = setup_.config;
    if (*config.model != "gpt") return fmt::format("{}", fmt::join(*config.layers, "-"));
    return fmt::format("a gpt of {} blocks, {} heads and width {}", config.layers->front(),
                       *config.heads, *config.width);
  }

  // ---- telling

  void write(const train::Event& event) {
    log_.add(event);
    if (!file_ && !options_.json) return;
    const std::string line = train::to_json_line(event);
    if (file_) file_->write(line);
    if (options_.json) {
      print(line);
      flush();
    }
  }

  void say(const std::string& text) {
    if (!options_.json) progress_.say(text);
  }

  void diagnose() { diagnose(log_); }

  void diagnose(const train::RunLog& log) {
    for (const train::Finding& finding : train::new_findings(train::diagnose(log), log_.findings)) {
      write(finding);
      say(to_text(finding));
    }
  }

  // What the end gives away stands before it, where a resumed run would have it.
  void end_with(const train::EndEvent& end) {
    train::RunLog whole = log_;
    whole.add(end);
    diagnose(whole);
    write(end);
  }

  void probe() {
    const std::int64_t rows = trainer_.observed_rows();
    auto found = probes_.find(rows);
    if (found == probes_.end())
      found = probes_
                  .try_emplace(rows, train::loss_function(setup_.problem, rows),
                               setup_.problem.parameters().size(), &pool_)
                  .first;
    write(train::ProbeEvent{trainer_.steps_done() - 1, found->second(trainer_.observed())});
  }

  void end_epoch(const train::EpochEvent& epoch) {
    write(epoch);
    if (!options_.json) progress_.epoch(epoch, trainer_.ending() != Ending::kNone);
    // Of very many epochs the doctor sees a hundred and the last.
    constexpr std::int64_t kVisits = 100;
    const std::int64_t every = (trainer_.epochs() + kVisits - 1) / kVisits;
    if (epoch.epoch % every == 0 || trainer_.ending() != Ending::kNone) diagnose();
  }

  // ---- checkpoints

  bool wants_checkpoint(const train::StepResult& result) const {
    const std::int64_t every = *setup_.config.checkpoint_every;
    if (every > 0) return trainer_.steps_done() % every == 0;
    const auto age = std::chrono::steady_clock::now() - last_checkpoint_;
    return age > (result.epoch ? std::chrono::seconds(1) : std::chrono::seconds(60));
  }

  void checkpoint() {
    if (!folder_) return;
    train::save_checkpoint(folder_->checkpoint(), {trainer_.state(), identity_});
    last_checkpoint_ = std::chrono::steady_clock::now();
  }

  // ---- other ends

  [[noreturn]] void interrupt() {
    const int signal = StopSignals::received();
    checkpoint();
    train::EndEvent end;
    end.reason = "interrupted";
    end.best_epoch = trainer_.state().best_epoch;
    end.seconds = seconds();
    write(end);
    progress_.say("");
    const std::string how =
        folder_ ? fmt::format("`limpid train --resume {}` goes on", folder_->path().string())
                : "nothing was saved, since there is no --out";
    throw Interrupted(signal, fmt::format("train: interrupted after step {} of {}; {}",
                                          trainer_.steps_done(), trainer_.steps(), how));
  }

  [[noreturn]] void fail(const train::StepEvent& step) {
    checkpoint();
    write(step);
    const train::Trainer::Replay replay = trainer_.replay();
    const auto origin = train::find_nonfinite(replay.function, replay.inputs);
    train::EndEvent end;
    end.reason = name(Ending::kNonFinite);
    end.best_epoch = trainer_.state().best_epoch;
    end.seconds = seconds();
    end_with(end);
    if (folder_) write_report(folder_->path(), log_);
    progress_.say("");
    std::string message = fmt::format(
        "train: step {} of epoch {} gave a loss of {} and a gradient of norm {}, "
        "finite ones are expected",
        step.step, step.epoch, short_number(step.loss), short_number(step.gradient_norm));
    if (origin) message += ": " + train::to_text(*origin);
    if (folder_)
      message +=
          fmt::format("; the state before it is in {}", in_quotes(folder_->checkpoint().string()));
    throw Error(ErrorCode::kInvalidArgument, message);
  }

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  RunOptions options_;
  Setup setup_;
  ThreadPool pool_;
  train::Trainer trainer_;
  ProbeTimes probe_times_;
  Samples samples_;
  Progress progress_;
  std::optional<RunFolder> folder_;
  std::string identity_;
  std::optional<LogFile> file_;
  train::RunLog log_;
  std::map<std::int64_t, train::Probe> probes_;  // by rows of the batch
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_checkpoint_{};
};

}  // namespace

void train_from_start(const train::TrainConfig& config, const RunOptions& options) {
  TrainRun run(config, options);
  run.begin();
  run.train();
  run.finish();
}

void train_from_checkpoint(const RunOptions& options) {
  const RunFolder folder(options.out);
  const std::string path = folder.config().string();
  TrainRun run(train::parse_train_config(read_text(folder.config()), path), options);
  run.go_on();
  run.train();
  run.finish();
}

}  // namespace limpid::tool
