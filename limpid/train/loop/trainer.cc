#include "limpid/train/loop/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"

namespace limpid::train {
namespace {

// Purposes of the keys that are derived from a run's seed. 4 is that of its text samples.
enum Purpose : std::uint64_t { kInitKey, kShuffleKey, kDropoutKey, kOffsetKey, kAugmentKey = 5 };

[[noreturn]] void refuse_training(const std::string& message,
                                  ErrorCode code = ErrorCode::kInvalidArgument) {
  throw Error(code, "train: " + message);
}

// The data set of the evaluation after each epoch.
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

// Throws kFormat unless the values have the expected names and types.
void check_values(const std::vector<Input>& expected, const Params& values, std::string_view what) {
  if (values.size() != expected.size())
    refuse_training(fmt::format("{} of the state: expected {} tensors, got {}", what,
                                expected.size(), values.size()),
                    ErrorCode::kFormat);
  for (const Input& e : expected) {
    const Tensor* value = values.find(e.name);
    if (!value || !(value->type() == e.type))
      refuse_training(
          fmt::format("{} of the state: expected {} for '{}', got {}", what, to_string(e.type),
                      e.name, value ? to_string(value->type()) : "nothing"),
          ErrorCode::kFormat);
  }
}

std::vector<Input> inputs_of(const Buffers& buffers) {
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    inputs.push_back({buffers.names()[i], buffers.type(i)});
  return inputs;
}

// For each non-trainable value, whether a step changes it; the others keep their bits.
std::vector<bool> changed_values(const Problem& problem, std::int64_t rows) {
  const Function loss = loss_function(problem, rows);
  std::vector<bool> changes;
  for (const auto& [name, value] : problem.non_trainable) {
    changes.push_back(loss.outputs()[1 + changes.size()].value !=
                      static_cast<ValueId>(loss.input_index(name)));
    if (changes.back() && value.dtype() != Dtype::kF32)
      refuse_training(
          fmt::format("{} is {} and changes with every step, but shards are added in f32 only",
                      name, to_string(value.type())),
          ErrorCode::kUnsupported);
  }
  return changes;
}

// The number of elements after a shard's gradient: its loss and the non-trainable values that
// change.
std::size_t tail_of(const Params& non_trainable, const std::vector<bool>& changes) {
  std::size_t tail = 1, i = 0;
  for (const auto& [name, value] : non_trainable)
    if (changes[i++]) tail += static_cast<std::size_t>(value.elements());
  return tail;
}

// The number of logits, or of other outputs.
std::int64_t classes_of(const Problem& problem) {
  return problem.inference.type(problem.inference.outputs().front().value).shape.back();
}

void check_part(const Problem& problem, const Dataset& part) {
  const Type& x = problem.example().type;
  if (!part.fits(x))
    refuse_training(fmt::format("{}: expected examples of type {}, as the model takes, got {}",
                                part.name, to_string(x), to_string(part.input_type())),
                    ErrorCode::kShape);
  if (!(part.target_type() == problem.target))
    refuse_training(fmt::format("{}: expected targets of type {}, got {}", part.name,
                                to_string(problem.target), to_string(part.target_type())),
                    ErrorCode::kShape);
  if (part.has_classes() && part.classes > classes_of(problem))
    refuse_training(
        fmt::format("{}: expected at most {} classes, one per logit of the model, got {}",
                    part.name, classes_of(problem), part.classes));
}

}  // namespace

Key augment_key(std::uint64_t seed) { return Key(seed).fold_in(kAugmentKey); }

// ---- a run

Trainer::Trainer(Problem problem, const Split& data, const TrainOptions& options, ThreadPool* pool,
                 distribute::Communicator* ranks)
    : problem_(std::move(problem)),
      data_(data),
      options_(options),
      pool_(pool),
      key_(options.seed),
      batches_{data.train.size(), options.batch, options.accumulate, options.shards},
      schedule_(options.schedule),
      params_(in_order_of(problem_.parameters(), problem_.init(key_.fold_in(kInitKey)))),
      non_trainable_(problem_.non_trainable),
      non_trainable_before_(problem_.non_trainable),
      optimizer_(Params{}),
      sums_(options.accumulate > 1 && options.shards == 1 ? zeros_of(sum_inputs(problem_))
                                                          : Params{}),
      average_(options.ema > 0 ? last_model() : Params{}) {
  check();
  if (mixes(options.augmentation))
    problem_.mixed_target = Type{Dtype::kF32, {classes_of(problem_)}};
  if (options.recompute > 0) problem_.recompute = every(options.recompute);
  if (ranks && ranks->size() > options.shards)
    refuse_training(
        fmt::format("expected at most one rank per shard, got {} ranks (shards: {}); choose "
                    "--shards {} or more",
                    ranks->size(), options.shards, ranks->size()));
  if (options.shards > 1) {
    changes_ = changed_values(problem_, batches_.most_rows());
    sharded_ = std::make_unique<ShardedUpdate>(problem_, options.rule, params_, options.shards,
                                               tail_of(problem_.non_trainable, changes_),
                                               options.divided_update, ranks, pool);
  }
  optimizer_ =
      Buffers(sharded_ ? sharded_->first_state()
                       : optim::init(options.rule.optimizer, zeros_of(problem_.parameters())));
  steps_an_epoch_ = batches_.updates_an_epoch();
  steps_ = options.steps.value_or(product_or_most(steps_an_epoch_, options.epochs));
  schedule_.steps = steps_;
  if (watched(data).size() > 0) evaluator_.emplace(problem_, watched(data), pool, ranks);
  if (steps_ == 0) ending_ = Ending::kFinished;
}

void Trainer::check() const {
  if (options_.epochs < 0)
    refuse_training(fmt::format("expected 0 or more epochs, got {}", options_.epochs));
  if (options_.steps && *options_.steps < 0)
    refuse_training(fmt::format("expected 0 or more steps, got {}", *options_.steps));
  if (options_.batch < 1)
    refuse_training(fmt::format("expected a batch of 1 or more, got {}", options_.batch));
  if (options_.accumulate < 1)
    refuse_training(
        fmt::format("expected 1 or more micro-batches per step, got {}", options_.accumulate));
  if (options_.shards < 1 || options_.shards > kMostShards)
    refuse_training(fmt::format("expected 1 to {} shards, got {}", kMostShards, options_.shards));
  if (!(options_.ema >= 0 && options_.ema < 1))
    refuse_training(
        fmt::format("expected an average's decay of 0 or more and below 1, got {}", options_.ema));
  if (data_.train.size() == 0)
    refuse_training(fmt::format("{}: expected examples to train on, got none", data_.train.name));
  for (const Dataset* part : {&data_.train, &data_.validation, &data_.test})
    if (part->size() > 0) check_part(problem_, *part);
  check_augmentation(options_.augmentation, data_.train);
  const std::vector<std::string> metrics = metric_names(problem_.task, data_.train.outputs());
  if (std::find(metrics.begin(), metrics.end(), options_.metric) == metrics.end())
    throw_missing(options_.metric, metrics);
  if (options_.early_stopping && data_.validation.size() == 0)
    refuse_training("early stopping: expected data with a validation set");
}

// The number of epochs done after `step` steps. At the end of the run, a partial epoch counts.
std::int64_t Trainer::epochs_done(std::int64_t step) const {
  return step == steps_ ? BatchPlan::ceil_div(step, steps_an_epoch_) : step / steps_an_epoch_;
}

std::int64_t Trainer::examples_of_update() const {
  return batches_.update(step_ % steps_an_epoch_).size();
}

StepResult Trainer::step(const Wishes& wishes) {
  const DefaultFloatMode mode;
  if (ending_ != Ending::kNone)
    refuse_training(fmt::format("the training has ended: {}", name(ending_)));
  if (!loader_) start_loader();
  const auto start = std::chrono::steady_clock::now();
  const double rate = learning_rate();
  const Update done = sharded_ ? sharded_update(static_cast<float>(rate), wishes)
                               : update(static_cast<float>(rate), wishes);
  StepResult result{{step_ + 1, step_ / steps_an_epoch_ + 1, static_cast<double>(done.loss), rate,
                     static_cast<double>(done.gradient_norm)},
                    done.wishes};
  for (const std::uint64_t hash : done.hashes)
    result.step.shards.push_back(fmt::format("{:016x}", hash));
  bool finite = std::isfinite(done.loss) && std::isfinite(done.gradient_norm);
  if (finite && options_.check_finite) {
    finite = params_.next_is_finite() && optimizer_.next_is_finite();
    if (sharded_) finite = sharded_->all_agree(finite);
  }
  if (!finite) {
    // As before the update: its micro-batches have changed it.
    if (options_.accumulate > 1 && !sharded_) std::swap(non_trainable_, non_trainable_before_);
    ending_ = Ending::kNonFinite;
    return result;
  }
  params_.advance();
  non_trainable_.advance();
  optimizer_.advance();
  ++step_;
  if (options_.ema > 0) update_average();
  const std::int64_t examples = done.examples;
  loss_sum_ += result.step.loss * static_cast<double>(examples);
  gradient_norm_sum_ += result.step.gradient_norm;
  time_ += std::chrono::steady_clock::now() - start;
  timed_examples_ += examples;
  if (step_ % steps_an_epoch_ == 0 || step_ == steps_) result.epoch = end_epoch();
  return result;
}

// The dropout key of micro-batch `m` of the current update.
Key Trainer::key_of(std::int64_t m) const {
  const std::int64_t first = step_ / steps_an_epoch_ * batches_.batches_an_epoch() +
                             step_ % steps_an_epoch_ * options_.accumulate;
  return key_.fold_in(kDropoutKey).fold_in(static_cast<std::uint64_t>(first + m));
}

Trainer::Update Trainer::update(float rate, const Wishes& wishes, Until until) {
  Update result;
  result.examples = examples_of_update();
  const std::int64_t parts = BatchPlan::ceil_div(result.examples, options_.batch);
  if (options_.accumulate > 1) {
    sums_.zero();
    non_trainable_before_.copy_from(non_trainable_);
  }
  for (std::int64_t part = 0; part < parts; ++part) {
    last_.batch = loader_->next();
    last_.key = static_cast<std::int64_t>(key_of(part).bits());
    last_.share = static_cast<float>(static_cast<double>(last_.batch.rows) /
                                     static_cast<double>(result.examples));
    last_.rate = rate;
    if (part + 1 < parts) {
      run(Part::kAccumulate, result);
      if (until == Until::kNonFinite && !sums_.next_is_finite()) return result;
      non_trainable_.advance();
      sums_.advance();
    } else {
      run(options_.accumulate > 1 ? Part::kLast : Part::kWhole, result);
    }
  }
  if (wishes) result.wishes = wishes();
  return result;
}

// ---- an update of several shards

// The last shard comes first, because observed() shows the first one.
Trainer::Update Trainer::sharded_update(float rate, const Wishes& wishes) {
  Update result;
  result.examples = examples_of_update();
  distribute::Reduction& sum = sharded_->sum();
  const distribute::ShardRange own = sum.shards();
  const std::int64_t every = options_.hash_shards_every;
  const bool hashed = every > 0 && (step_ == 0 || (step_ + 1) % every == 0);
  std::vector<std::uint64_t> hashes(hashed ? static_cast<std::size_t>(own.size()) : 0);
  sum.begin();
  for (std::int64_t shard = own.end; shard-- > own.begin;) {
    float* const gradient = gradient_of_shard(shard, result);
    if (hashed) hashes[static_cast<std::size_t>(shard - own.begin)] = hash_of_gradient(gradient);
    sum.add(shard, gradient);
  }
  // Asked for as late as possible: a signal that came during the shards still counts.
  const ShardedUpdate::Made made =
      (*sharded_)(params_, optimizer_, rate, wishes ? wishes() : 0, hashes);
  result.loss = made.tail[0];
  const float* non_trainable = made.tail + 1;
  for (std::size_t i = 0; i < non_trainable_.size(); ++i) {
    const std::size_t bytes = non_trainable_.type(i).bytes();
    std::memcpy(non_trainable_.next(i),
                changes_[i] ? static_cast<const void*>(non_trainable) : non_trainable_.now(i),
                bytes);
    if (changes_[i]) non_trainable += bytes / sizeof(float);
  }
  result.gradient_norm = made.gradient_norm;
  result.wishes = made.wishes;
  result.hashes = made.hashes;
  return result;
}

// The gradient of a shard and its tail, in memory of the sum. Micro-batches are accumulated in
// order, as if there were no other shards.
float* Trainer::gradient_of_shard(std::int64_t shard, const Update& update, Until until) {
  const RowRange rows = batches_.shard(batches_.update(step_ % steps_an_epoch_), shard);
  distribute::Reduction& sum = sharded_->sum();
  float* sums = sum.take();
  std::memset(sums, 0, (sharded_->elements() + 1) * sizeof(float));
  non_trainable_before_.copy_from(non_trainable_);
  for (std::int64_t m = 0; m < batches_.micro_batches(rows); ++m) {
    float* const next = sum.take();
    last_.batch = loader_->next();
    last_.key =
        static_cast<std::int64_t>(key_of(m).fold_in(static_cast<std::uint64_t>(shard)).bits());
    last_.share = static_cast<float>(static_cast<double>(last_.batch.rows) /
                                     static_cast<double>(update.examples));
    inputs_.clear();
    outputs_.clear();
    for (std::size_t i = 0; i < params_.size(); ++i) inputs_.push_back(params_.now(i));
    for (std::size_t i = 0; i < non_trainable_.size(); ++i) {
      inputs_.push_back(non_trainable_before_.now(i));
      outputs_.push_back(non_trainable_before_.next(i));
    }
    for (std::size_t i = 0; i < params_.size(); ++i) {
      inputs_.push_back(sums + params_.offset(i) / sizeof(float));
      outputs_.push_back(next + params_.offset(i) / sizeof(float));
    }
    inputs_.push_back(sums + sharded_->elements());
    outputs_.push_back(next + sharded_->elements());
    inputs_.insert(inputs_.end(), {last_.batch.x, last_.batch.y, &last_.key, &last_.share});
    last_.plan = &plan_of(Part::kAccumulate, last_.batch.rows);
    last_.plan->workspace.run(inputs_, outputs_);
    non_trainable_before_.advance();
    sum.give_back(sums);
    sums = next;
    if (until == Until::kNonFinite && !is_finite(sums)) break;
  }
  // The shard's share of the non-trainable values.
  const auto share =
      static_cast<float>(static_cast<double>(rows.size()) / static_cast<double>(update.examples));
  float* tail = sums + sharded_->elements() + 1;
  for (std::size_t i = 0; i < non_trainable_.size(); ++i) {
    if (!changes_[i]) continue;
    const auto* const values = reinterpret_cast<const float*>(non_trainable_before_.now(i));
    const std::size_t count = non_trainable_.type(i).bytes() / sizeof(float);
    tail = std::transform(values, values + count, tail, [&](float v) { return v * share; });
  }
  return sums;
}

// Whether a shard's gradient and loss are.
bool Trainer::is_finite(const float* gradient) const {
  return std::all_of(gradient, gradient + sharded_->elements() + 1,
                     [](float v) { return std::isfinite(v); });
}

// Of a shard's gradient and loss.
std::uint64_t Trainer::hash_of_gradient(const float* gradient) const {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < params_.size(); ++i)
    hash = limpid::hash(
        {reinterpret_cast<const std::byte*>(gradient) + params_.offset(i), params_.type(i).bytes()},
        hash);
  return limpid::hash(std::as_bytes(std::span(gradient + sharded_->elements(), 1)), hash);
}

std::uint64_t Trainer::hash_of_shard(std::int64_t shard) {
  const DefaultFloatMode mode;
  if (!sharded_ || shard < sharded_->sum().shards().begin || shard >= sharded_->sum().shards().end)
    refuse_training(
        sharded_ ? fmt::format("expected a shard from 0 to {}, got {}", options_.shards - 1, shard)
                 : fmt::format("shard {}: the run is not trained in shards", shard));
  feed_shard(shard);
  Update update;
  update.examples = examples_of_update();
  float* const gradient = gradient_of_shard(shard, update);
  const std::uint64_t hash = hash_of_gradient(gradient);
  sharded_->sum().give_back(gradient);
  forget_last_step();
  return hash;
}

// The next micro-batch of this rank's shards, in the order in which updates use them; without
// shards, of the whole update.
std::optional<PrefetchingLoader::Piece> Trainer::next_piece() {
  const distribute::ShardRange own =
      sharded_ ? sharded_->sum().shards() : distribute::ShardRange{0, 1};
  for (; fed_.step < steps_; ++fed_.step) {
    const RowRange update = batches_.update(fed_.step % steps_an_epoch_);
    for (; fed_.shard < own.size(); ++fed_.shard) {
      const RowRange shard = batches_.shard(update, own.end - 1 - fed_.shard);
      if (fed_.micro_batch < batches_.micro_batches(shard))
        return PrefetchingLoader::Piece{fed_.step / steps_an_epoch_,
                                        batches_.micro_batch(shard, fed_.micro_batch++)};
      fed_.micro_batch = 0;
    }
    fed_.shard = 0;
  }
  return {};
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
  reads(non_trainable_);
  writes(non_trainable_);
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
  return plans_.get(std::pair{part, rows}, [&] {
    const Function function = part == Part::kAccumulate ? accumulate_function(problem_, rows)
                              : part == Part::kLast
                                  ? accumulated_step_function(problem_, options_.rule, rows)
                                  : step_function(problem_, options_.rule, rows);
    return Plan{function, Workspace(compile(function), pool_)};
  });
}

void Trainer::start_loader() {
  fed_ = {step_};
  feed([this] { return next_piece(); });
}

// Feeds the micro-batches of a shard of the next update, and no more.
void Trainer::feed_shard(std::int64_t shard) {
  const RowRange rows = batches_.shard(batches_.update(step_ % steps_an_epoch_), shard);
  feed([this, rows, m = std::int64_t{0}]() mutable -> std::optional<PrefetchingLoader::Piece> {
    if (m >= batches_.micro_batches(rows)) return {};
    return PrefetchingLoader::Piece{step_ / steps_an_epoch_, batches_.micro_batch(rows, m++)};
  });
}

void Trainer::feed(PrefetchingLoader::Pieces pieces) {
  loader_ = std::make_unique<PrefetchingLoader>(
      data_.train,
      PrefetchingLoader::Options{
          .most_rows = batches_.most_rows(),
          .key = key_.fold_in(kShuffleKey),
          .offset_key = key_.fold_in(kOffsetKey),
          .ahead = options_.gather_ahead,
          .augmentation = options_.augmentation,
          .augment_key = augment_key(options_.seed),
          .classes = mixes(options_.augmentation) ? classes_of(problem_) : 0},
      std::move(pieces));
}

// ---- epochs

EpochEvent Trainer::end_epoch() {
  EpochEvent epoch;
  epoch.epoch = epochs_done(step_);
  epoch.step = step_;
  const std::int64_t steps = step_ - (epoch.epoch - 1) * steps_an_epoch_;
  const std::int64_t examples = batches_.update(steps - 1).end;
  epoch.learning_rate = schedule_.at(step_ - 1);
  epoch.train.set("loss", loss_sum_ / static_cast<double>(examples));
  epoch.gradient_norm = gradient_norm_sum_ / static_cast<double>(steps);
  epoch.samples_per_second = static_cast<double>(timed_examples_) / time_.count();
  // A run that ends within an epoch may go on from there.
  if (step_ % steps_an_epoch_ == 0) loss_sum_ = gradient_norm_sum_ = 0;
  timed_examples_ = 0;
  time_ = {};
  if (evaluator_) epoch.validation = (*evaluator_)(model_pointers()).metrics;
  if (data_.validation.size() > 0) compare(epoch);
  if (step_ == steps_ && ending_ == Ending::kNone) ending_ = Ending::kFinished;
  return epoch;
}

// Whether early stopping was added to a run that had none, and so has no model of its best epoch:
// the next epoch is compared with none.
bool Trainer::has_lost_best() const {
  return options_.early_stopping && best_epoch_ > 0 && best_.empty();
}

// Decides whether this epoch is the best so far, and whether to stop early. NaN is never better.
void Trainer::compare(EpochEvent& epoch) {
  const double score = epoch.validation.at(options_.metric);
  const double gain = larger_is_better(options_.metric) ? score - best_score_ : best_score_ - score;
  const double least = options_.early_stopping ? options_.early_stopping->min_delta : 0;
  epoch.best = best_epoch_ == 0 || has_lost_best() ? !std::isnan(score) : gain > least;
  if (epoch.best) {
    best_epoch_ = epoch.epoch;
    best_score_ = score;
  }
  if (!options_.early_stopping) return;
  if (epoch.best) best_ = options_.ema > 0 ? average_.values() : last_model();
  if (!has_lost_best() && epoch.epoch - best_epoch_ >= options_.early_stopping->patience)
    ending_ = Ending::kEarlyStopping;
}

// a + (1 - d) (p - a) for each number, d = min(ema, (1 + n) / (10 + n)) after n updates.
void Trainer::update_average() {
  const auto n = static_cast<double>(step_);
  const auto share = static_cast<float>(1 - std::min(options_.ema, (1 + n) / (10 + n)));
  const auto add = [&](const Buffers& values, std::size_t first) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t bytes = values.type(i).bytes();
      if (values.type(i).dtype != Dtype::kF32) {
        std::memcpy(average_.next(first + i), values.now(i), bytes);
        continue;
      }
      const auto* const now = reinterpret_cast<const float*>(values.now(i));
      const auto* const before = reinterpret_cast<const float*>(average_.now(first + i));
      std::transform(now, now + bytes / sizeof(float), before,
                     reinterpret_cast<float*>(average_.next(first + i)),
                     [share](float p, float a) { return a + share * (p - a); });
    }
  };
  add(params_, 0);
  add(non_trainable_, params_.size());
  average_.advance();
}

// The parameters and the non-trainable values.
Params Trainer::last_model() const {
  Params all = params_.values();
  all.merge("", non_trainable_.values());
  return all;
}

// In the order of the inference's inputs.
std::vector<const void*> Trainer::model_pointers() const {
  std::vector<const void*> pointers;
  std::size_t trained = 0;
  for (const Input& input : problem_.inference.inputs()) {
    if (pointers.size() + 1 == problem_.inference.inputs().size()) break;
    if (options_.ema > 0)
      pointers.push_back(average_.now(average_.index(input.name)));
    else if (problem_.non_trainable.find(input.name))
      pointers.push_back(non_trainable_.now(non_trainable_.index(input.name)));
    else
      pointers.push_back(params_.now(trained++));
  }
  return pointers;
}

Params Trainer::model() const {
  Params all = best_;
  if (all.empty()) all = options_.ema > 0 ? average_.values() : last_model();
  const std::vector<Input>& inputs = problem_.inference.inputs();
  return in_order_of({inputs.begin(), inputs.end() - 1}, all);
}

// ---- the state

TrainState Trainer::state() const {
  return {options_.seed,
          step_,
          params_.values(),
          non_trainable_.values(),
          sharded_ ? sharded_->whole(optimizer_) : optimizer_.values(),
          loss_sum_,
          gradient_norm_sum_,
          best_epoch_,
          best_score_,
          best_,
          average_.values()};
}

void Trainer::restore(const TrainState& state) {
  if (state.seed != options_.seed)
    refuse_training(
        fmt::format("expected a state of seed {}, got one of seed {}", options_.seed, state.seed),
        ErrorCode::kFormat);
  if (state.step < 0 || state.step > steps_)
    refuse_training(fmt::format("expected a state after step 0 to {}, got one after step {}",
                                steps_, state.step),
                    ErrorCode::kFormat);
  const std::int64_t epochs = epochs_done(state.step);
  // A shorter run may have ended there, within an epoch that was its best.
  const std::int64_t begun = BatchPlan::ceil_div(state.step, steps_an_epoch_);
  if (state.best_epoch < 0 || state.best_epoch > begun)
    refuse_training(fmt::format("expected a best epoch of 0 to {} in the state, got {}", begun,
                                state.best_epoch),
                    ErrorCode::kFormat);
  check_values(inputs_of(params_), state.params, "parameters");
  check_values(inputs_of(non_trainable_), state.non_trainable, "non-trainable values");
  check_values(sharded_ ? sharded_->state_inputs() : inputs_of(optimizer_), state.optimizer,
               "optimiser");
  if (!state.best.empty()) {
    std::vector<Input> all = inputs_of(params_);
    const std::vector<Input> non_trainable = inputs_of(non_trainable_);
    all.insert(all.end(), non_trainable.begin(), non_trainable.end());
    check_values(all, state.best, "best model");
  }
  if (options_.ema > 0 && !state.average.empty())
    check_values(inputs_of(average_), state.average, "average");
  params_.set(state.params);
  non_trainable_.set(state.non_trainable);
  optimizer_.set(sharded_ ? sharded_->part_of(state.optimizer) : state.optimizer);
  // A run that had no average begins one.
  if (options_.ema > 0) average_.set(state.average.empty() ? last_model() : state.average);
  step_ = state.step;
  loss_sum_ = state.loss_sum;
  gradient_norm_sum_ = state.gradient_norm_sum;
  best_epoch_ = state.best_epoch;
  best_score_ = state.best_score;
  // Without early stopping the model is the last one.
  best_ = options_.early_stopping ? state.best : Params{};
  timed_examples_ = 0;
  time_ = {};
  forget_last_step();
  ending_ = Ending::kNone;
  const bool evaluated = step_ > 0 && (step_ % steps_an_epoch_ == 0 || step_ == steps_);
  const bool tired = options_.early_stopping && evaluated && !has_lost_best() &&
                     epochs - best_epoch_ >= options_.early_stopping->patience;
  if (tired) ending_ = Ending::kEarlyStopping;
  if (step_ == steps_) ending_ = tired ? Ending::kEarlyStopping : Ending::kFinished;
}

// ---- looking at the last step

// Its batch is in the memory of the loader.
void Trainer::forget_last_step() {
  last_ = {};
  loader_.reset();
}

std::vector<const void*> Trainer::observed() const {
  if (!last_.plan) refuse_training("expected a step before observed()");
  std::vector<const void*> pointers;
  const auto add = [&](const Buffers& buffers, bool before) {
    for (std::size_t i = 0; i < buffers.size(); ++i)
      pointers.push_back(before ? buffers.next(i) : buffers.now(i));
  };
  add(params_, true);
  add(non_trainable_, true);
  pointers.insert(pointers.end(), {last_.batch.x, last_.batch.y, &last_.key});
  add(params_, false);
  return pointers;
}

// Runs the micro-batches again: only the last one's inputs are still there.
Trainer::Replay Trainer::replay() {
  const DefaultFloatMode mode;
  if (!last_.plan) refuse_training("expected a step before replay()");
  if (ending_ != Ending::kNonFinite || (!sharded_ && options_.accumulate == 1))
    return replay_of_last_run();
  if (!sharded_) {
    start_loader();
    update(last_.rate, {}, Until::kNonFinite);
    Replay replay = replay_of_last_run();
    std::swap(non_trainable_, non_trainable_before_);
    return replay;
  }
  const distribute::ShardRange own = sharded_->sum().shards();
  Update update;
  update.examples = examples_of_update();
  for (std::int64_t shard = own.begin; shard < own.end; ++shard) {
    if (batches_.shard(batches_.update(step_ % steps_an_epoch_), shard).size() == 0) continue;
    feed_shard(shard);
    float* const gradient = gradient_of_shard(shard, update, Until::kNonFinite);
    const bool finite = is_finite(gradient);
    sharded_->sum().give_back(gradient);
    if (!finite) break;
  }
  return replay_of_last_run();
}

Trainer::Replay Trainer::replay_of_last_run() const {
  Replay replay{last_.plan->function, {}};
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    replay.inputs.push_back(Tensor::generate_bytes(
        replay.function.inputs()[i].type,
        [&](std::span<std::byte> out) { std::memcpy(out.data(), inputs_[i], out.size()); }));
  return replay;
}

}  // namespace limpid::train
