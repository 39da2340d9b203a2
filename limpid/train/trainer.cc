#include "limpid/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "limpid/core/error.h"

namespace limpid::train {
namespace {

// Purposes of the keys that a run's seed gives.
enum Purpose : std::uint64_t { kInitKey, kShuffleKey, kDropoutKey, kOffsetKey };

[[noreturn]] void refuse(const std::string& message, ErrorCode code = ErrorCode::kInvalidArgument) {
  throw Error(code, "train: " + message);
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// What the trainer's evaluations look at.
const Dataset& watched(const Split& data) {
  return data.validation.size() > 0 ? data.validation : data.test;
}

Params zeros_of(const std::vector<Input>& inputs) {
  Params zeros;
  for (const Input& i : inputs) zeros.set(i.name, Tensor::zeros(i.type));
  return zeros;
}

Params in_order_of(const std::vector<Input>& inputs, const Params& values) {
  Params ordered;
  for (const Input& i : inputs) ordered.set(i.name, values.at(i.name));
  return ordered;
}

void check_part(const Problem& problem, const Dataset& part) {
  const Type& x = problem.example().type;
  if (!(part.input_type() == x))
    refuse(fmt::format("{}: an example is {}, the model takes {}", part.name,
                       to_string(part.input_type()), to_string(x)),
           ErrorCode::kShape);
  if (!(part.target_type() == problem.target))
    refuse(fmt::format("{}: the target of an example is {}, {} is expected", part.name,
                       to_string(part.target_type()), to_string(problem.target)),
           ErrorCode::kShape);
  const Type& output = problem.inference.type(problem.inference.outputs().front().value);
  if (part.has_classes() && part.classes > output.shape.back())
    refuse(fmt::format("{}: has {} classes, the model gives {} logits", part.name, part.classes,
                       output.shape.back()));
}

}  // namespace

std::string_view name(Ending ending) {
  constexpr std::string_view kNames[] = {"", "finished", "early stopping", "non-finite loss"};
  return kNames[static_cast<std::size_t>(ending)];
}

// ---- buffers

Trainer::Buffers::Buffers(const Params& values) {
  for (const auto& [name, value] : values) {
    types_.push_back(value.type());
    names_.push_back(name);
    for (auto& copy : copies_) copy.push_back(allocate_aligned(value.bytes().size()));
    std::copy(value.bytes().begin(), value.bytes().end(), copies_[0].back().get());
  }
}

void Trainer::Buffers::zero() {
  for (std::size_t i = 0; i < size(); ++i)
    std::memset(copies_[current_][i].get(), 0, types_[i].bytes());
}

void Trainer::Buffers::copy_from(const Buffers& other) {
  for (std::size_t i = 0; i < size(); ++i)
    std::memcpy(copies_[current_][i].get(), other.now(i), types_[i].bytes());
}

Params Trainer::Buffers::values() const {
  Params result;
  for (std::size_t i = 0; i < size(); ++i)
    result.set(names_[i], Tensor::generate_bytes(types_[i], [&](std::span<std::byte> out) {
                 std::memcpy(out.data(), now(i), out.size());
               }));
  return result;
}

std::size_t Trainer::Buffers::index(std::string_view name) const {
  return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
}

void Trainer::Buffers::check(const Params& values, std::string_view what) const {
  if (values.size() != size())
    refuse(fmt::format("the state has {} tensors of the {}, {} are expected", values.size(), what,
                       size()),
           ErrorCode::kFormat);
  for (std::size_t i = 0; i < size(); ++i) {
    const Tensor* value = values.find(names_[i]);
    if (!value || !(value->type() == types_[i]))
      refuse(fmt::format("the state has {} for '{}' of the {}, {} is expected",
                         value ? to_string(value->type()) : "nothing", names_[i], what,
                         to_string(types_[i])),
             ErrorCode::kFormat);
  }
}

void Trainer::Buffers::set(const Params& values) {
  for (std::size_t i = 0; i < size(); ++i) {
    const std::span<const std::byte> bytes = values.at(names_[i]).bytes();
    std::copy(bytes.begin(), bytes.end(), copies_[current_][i].get());
  }
}

bool Trainer::Buffers::next_is_finite() const {
  const auto finite = [&]<class T>(std::size_t i, T) {
    const std::span<const T> values{static_cast<const T*>(next(i)), types_[i].bytes() / sizeof(T)};
    return std::all_of(values.begin(), values.end(), [](T v) { return std::isfinite(v); });
  };
  for (std::size_t i = 0; i < size(); ++i) {
    if (types_[i].dtype == Dtype::kF32 && !finite(i, float{})) return false;
    if (types_[i].dtype == Dtype::kF64 && !finite(i, double{})) return false;
  }
  return true;
}

// ---- a run

Trainer::Trainer(Problem problem, const Split& data, const TrainOptions& options, ThreadPool* pool)
    : problem_(std::move(problem)),
      data_(data),
      options_(options),
      pool_(pool),
      key_(options.seed),
      schedule_(options.schedule),
      params_(in_order_of(problem_.parameters(), problem_.init(key_.fold_in(kInitKey)))),
      carried_(problem_.carried),
      carried_before_(problem_.carried),
      optimizer_(optim::init(options.rule.optimizer, zeros_of(problem_.parameters()))),
      sums_(options.accumulate > 1 ? zeros_of(sum_inputs(problem_)) : Params{}) {
  check();
  batches_an_epoch_ = ceil_div(data.train.size(), options.batch);
  steps_an_epoch_ = ceil_div(batches_an_epoch_, options.accumulate);
  steps_ = options.steps.value_or(steps_an_epoch_ * options.epochs);
  schedule_.steps = steps_;
  if (watched(data).size() > 0) evaluator_.emplace(problem_, watched(data), pool);
  if (steps_ == 0) ending_ = Ending::kFinished;
}

void Trainer::check() const {
  if (options_.epochs < 0)
    refuse(fmt::format("{} epochs, 0 or more are expected", options_.epochs));
  if (options_.steps && *options_.steps < 0)
    refuse(fmt::format("{} steps, 0 or more are expected", *options_.steps));
  if (options_.batch < 1)
    refuse(fmt::format("a batch of {}, 1 or more is expected", options_.batch));
  if (options_.accumulate < 1)
    refuse(fmt::format("{} micro batches an update, 1 or more are expected", options_.accumulate));
  if (data_.train.size() == 0) refuse(fmt::format("{}: there are no examples", data_.train.name));
  for (const Dataset* part : {&data_.train, &data_.validation, &data_.test})
    if (part->size() > 0) check_part(problem_, *part);
  const std::vector<std::string> metrics = metric_names(problem_.task, data_.train.outputs());
  if (std::find(metrics.begin(), metrics.end(), options_.metric) == metrics.end())
    throw_missing(options_.metric, metrics);
  if (options_.early_stopping && data_.validation.size() == 0)
    refuse("early stopping needs a validation part, the data has none");
}

// Behind that many steps; one that the end cuts short counts.
std::int64_t Trainer::epochs_done(std::int64_t step) const {
  return step == steps_ ? ceil_div(step, steps_an_epoch_) : step / steps_an_epoch_;
}

std::int64_t Trainer::examples_of_update() const {
  const std::int64_t first = step_ % steps_an_epoch_ * options_.accumulate * options_.batch;
  return std::min(options_.accumulate * options_.batch, data_.train.size() - first);
}

StepResult Trainer::step() {
  if (ending_ != Ending::kNone) refuse(fmt::format("the training has ended: {}", name(ending_)));
  if (!feeder_) start_feeder();
  const auto start = std::chrono::steady_clock::now();
  const double rate = learning_rate();
  const Update done = update(static_cast<float>(rate));
  StepResult result{{step_ + 1, step_ / steps_an_epoch_ + 1, static_cast<double>(done.loss), rate,
                     static_cast<double>(done.gradient_norm)}};
  const bool finite =
      std::isfinite(done.loss) && std::isfinite(done.gradient_norm) &&
      (!options_.check_finite || (params_.next_is_finite() && optimizer_.next_is_finite()));
  if (!finite) {
    // Swapped, not copied: replay() reads what the last micro batch read.
    if (options_.accumulate > 1) std::swap(carried_, carried_before_);
    ending_ = Ending::kNonFinite;
    return result;
  }
  params_.advance();
  carried_.advance();
  optimizer_.advance();
  ++step_;
  const std::int64_t examples = done.examples;
  loss_sum_ += result.step.loss * static_cast<double>(examples);
  gradient_norm_sum_ += result.step.gradient_norm;
  time_ += std::chrono::steady_clock::now() - start;
  timed_examples_ += examples;
  if (step_ % steps_an_epoch_ == 0 || step_ == steps_) result.epoch = end_epoch();
  return result;
}

Trainer::Update Trainer::update(float rate) {
  Update result;
  result.examples = examples_of_update();
  const std::int64_t parts = ceil_div(result.examples, options_.batch);
  const std::int64_t first =
      step_ / steps_an_epoch_ * batches_an_epoch_ + step_ % steps_an_epoch_ * options_.accumulate;
  if (options_.accumulate > 1) {
    sums_.zero();
    carried_before_.copy_from(carried_);
  }
  for (std::int64_t part = 0; part < parts; ++part) {
    const Key key = key_.fold_in(kDropoutKey).fold_in(static_cast<std::uint64_t>(first + part));
    last_.batch = feeder_->next();
    last_.key = static_cast<std::int64_t>(key.bits());
    last_.share = static_cast<float>(static_cast<double>(last_.batch.rows) /
                                     static_cast<double>(result.examples));
    last_.rate = rate;
    if (part + 1 < parts) {
      run(Part::kAccumulate, result);
      carried_.advance();
      sums_.advance();
    } else {
      run(options_.accumulate > 1 ? Part::kLast : Part::kWhole, result);
    }
  }
  return result;
}

// Inputs and outputs in the order of the functions of step.h.
void Trainer::run(Part part, Update& result) {
  inputs_.clear();
  outputs_.clear();
  const auto reads = [&](const Buffers& buffers) {
    for (std::size_t i = 0; i < buffers.size(); ++i) inputs_.push_back(buffers.now(i));
  };
  const auto writes = [&](const Buffers& buffers) {
    for (std::size_t i = 0; i < buffers.size(); ++i) outputs_.push_back(buffers.next(i));
  };
  reads(params_);
  if (part != Part::kAccumulate) writes(params_);
  reads(carried_);
  writes(carried_);
  if (part != Part::kAccumulate) {
    reads(optimizer_);
    writes(optimizer_);
    outputs_.insert(outputs_.end(), {&result.loss, &result.gradient_norm});
  } else {
    writes(sums_);
  }
  if (part != Part::kWhole) reads(sums_);
  inputs_.insert(inputs_.end(), {last_.batch.x, last_.batch.y, &last_.key});
  if (part != Part::kWhole) inputs_.push_back(&last_.share);
  if (part != Part::kAccumulate) inputs_.push_back(&last_.rate);
  last_.plan = &plan_of(part, last_.batch.rows);
  last_.plan->workspace.run(inputs_, outputs_);
}

Trainer::Plan& Trainer::plan_of(Part part, std::int64_t rows) {
  const std::pair key{part, rows};
  const auto found = plans_.find(key);
  if (found != plans_.end()) return found->second;
  const Function function = part == Part::kAccumulate ? accumulate_function(problem_, rows)
                            : part == Part::kLast
                                ? accumulated_step_function(problem_, options_.rule, rows)
                                : step_function(problem_, options_.rule, rows);
  return plans_.emplace(key, Plan{function, Workspace(compile(function), pool_)}).first->second;
}

void Trainer::start_feeder() {
  const std::int64_t epoch = step_ / steps_an_epoch_;
  feeder_ = std::make_unique<Feeder>(
      data_.train,
      Feeder::Options{.batch = options_.batch,
                      .epochs = epochs(),
                      .key = key_.fold_in(kShuffleKey),
                      .offset_key = key_.fold_in(kOffsetKey),
                      .ahead = options_.gather_ahead},
      epoch * batches_an_epoch_ + step_ % steps_an_epoch_ * options_.accumulate);
}

// ---- epochs

EpochEvent Trainer::end_epoch() {
  EpochEvent epoch;
  epoch.epoch = epochs_done(step_);
  epoch.step = step_;
  const std::int64_t steps = step_ - (epoch.epoch - 1) * steps_an_epoch_;
  const std::int64_t examples =
      std::min(steps * options_.accumulate * options_.batch, data_.train.size());
  epoch.learning_rate = schedule_.at(step_ - 1);
  epoch.train.set("loss", loss_sum_ / static_cast<double>(examples));
  epoch.gradient_norm = gradient_norm_sum_ / static_cast<double>(steps);
  epoch.samples_per_second = static_cast<double>(timed_examples_) / time_.count();
  loss_sum_ = gradient_norm_sum_ = 0;
  timed_examples_ = 0;
  time_ = {};
  if (evaluator_) epoch.validation = (*evaluator_)(model_pointers()).metrics;
  if (data_.validation.size() > 0) compare(epoch);
  if (step_ == steps_ && ending_ == Ending::kNone) ending_ = Ending::kFinished;
  return epoch;
}

// Is this epoch the best so far; and was the best one too long ago? NaN is never better.
void Trainer::compare(EpochEvent& epoch) {
  const double score = epoch.validation.at(options_.metric);
  const double gain = larger_is_better(options_.metric) ? score - best_score_ : best_score_ - score;
  const double least = options_.early_stopping ? options_.early_stopping->min_delta : 0;
  epoch.best = best_epoch_ == 0 ? !std::isnan(score) : gain > least;
  if (epoch.best) {
    best_epoch_ = epoch.epoch;
    best_score_ = score;
  }
  if (!options_.early_stopping) return;
  if (epoch.best) {
    best_ = params_.values();
    best_.merge("", carried_.values());
  }
  if (epoch.epoch - best_epoch_ >= options_.early_stopping->patience)
    ending_ = Ending::kEarlyStopping;
}

// In the order of the inference's inputs.
std::vector<const void*> Trainer::model_pointers() const {
  std::vector<const void*> pointers;
  std::size_t trained = 0;
  for (const Input& input : problem_.inference.inputs()) {
    if (pointers.size() + 1 == problem_.inference.inputs().size()) break;
    if (problem_.carried.find(input.name))
      pointers.push_back(carried_.now(carried_.index(input.name)));
    else
      pointers.push_back(params_.now(trained++));
  }
  return pointers;
}

Params Trainer::model() const {
  Params all = best_;
  if (all.empty()) {
    all = params_.values();
    all.merge("", carried_.values());
  }
  const std::vector<Input>& inputs = problem_.inference.inputs();
  return in_order_of({inputs.begin(), inputs.end() - 1}, all);
}

// ---- the state

TrainState Trainer::state() const {
  return {options_.seed,       step_,     params_.values(),   carried_.values(),
          optimizer_.values(), loss_sum_, gradient_norm_sum_, best_epoch_,
          best_score_,         best_};
}

void Trainer::restore(const TrainState& state) {
  if (state.seed != options_.seed)
    refuse(fmt::format("the state is of seed {}, the run of {}", state.seed, options_.seed),
           ErrorCode::kFormat);
  if (state.step < 0 || state.step > steps_)
    refuse(fmt::format("the state is behind step {}, the run has {}", state.step, steps_),
           ErrorCode::kFormat);
  const std::int64_t epochs = epochs_done(state.step);
  if (state.best_epoch < 0 || state.best_epoch > epochs)
    refuse(fmt::format("the state's best epoch is {}, but {} are done", state.best_epoch, epochs),
           ErrorCode::kFormat);
  params_.check(state.params, "parameters");
  carried_.check(state.carried, "carried values");
  optimizer_.check(state.optimizer, "optimiser");
  if (!state.best.empty()) {
    Params all = params_.values();
    all.merge("", carried_.values());
    Buffers(all).check(state.best, "best model");
  }
  params_.set(state.params);
  carried_.set(state.carried);
  optimizer_.set(state.optimizer);
  step_ = state.step;
  loss_sum_ = state.loss_sum;
  gradient_norm_sum_ = state.gradient_norm_sum;
  best_epoch_ = state.best_epoch;
  best_score_ = state.best_score;
  best_ = state.best;
  timed_examples_ = 0;
  time_ = {};
  feeder_.reset();
  ending_ = Ending::kNone;
  const bool evaluated = step_ > 0 && (step_ % steps_an_epoch_ == 0 || step_ == steps_);
  const bool tired = options_.early_stopping && evaluated &&
                     epochs - best_epoch_ >= options_.early_stopping->patience;
  if (tired) ending_ = Ending::kEarlyStopping;
  if (step_ == steps_) ending_ = tired ? Ending::kEarlyStopping : Ending::kFinished;
}

// ---- looking at the last step

std::vector<const void*> Trainer::observed() const {
  std::vector<const void*> pointers;
  const auto add = [&](const Buffers& buffers, bool before) {
    for (std::size_t i = 0; i < buffers.size(); ++i)
      pointers.push_back(before ? buffers.next(i) : buffers.now(i));
  };
  add(params_, true);
  add(carried_, true);
  pointers.insert(pointers.end(), {last_.batch.x, last_.batch.y, &last_.key});
  add(params_, false);
  return pointers;
}

Trainer::Replay Trainer::replay() const {
  if (!last_.plan) refuse("no step was made that could be repeated");
  Replay replay{last_.plan->function, {}};
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    replay.inputs.push_back(Tensor::generate_bytes(
        replay.function.inputs()[i].type,
        [&](std::span<std::byte> out) { std::memcpy(out.data(), inputs_[i], out.size()); }));
  return replay;
}

}  // namespace limpid::train
