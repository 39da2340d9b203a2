#include "limpid/train/classifier.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <map>
#include <memory>

#include "limpid/core/error.h"
#include "limpid/data/batches.h"
#include "limpid/function/builder.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/vmap.h"

namespace limpid::train {
namespace {

// Purposes of the keys that a run's seed gives.
enum Purpose : std::uint64_t { kInitKey, kShuffleKey, kDropoutKey };

Function classifier_loss(const nn::Mlp& net, const std::vector<Input>& params, std::int64_t batch) {
  std::vector<Input> inputs = params;
  inputs.push_back({"x", {Dtype::kF32, {batch, net.sizes.front()}}});
  inputs.push_back({"y", {Dtype::kI32, {batch}}});
  inputs.push_back({"key", {Dtype::kI64, {}}});
  return trace("loss", inputs,
               [&](std::span<const Value> in) {
                 Args args;
                 for (std::size_t i = 0; i < params.size(); ++i) args.set(params[i].name, in[i]);
                 const std::size_t x = params.size();
                 const Value logits = net(args, in[x], in[x + 2]);
                 const Builder::Scope scope(logits.builder(), "loss");
                 return std::vector<Value>{mean(softmax_cross_entropy(logits, in[x + 1]))};
               },
               {"loss"});
}

// The parameters of a model of one example: all inputs but the last.
std::vector<Input> parameter_inputs(const Function& model) {
  return {model.inputs().begin(), model.inputs().end() - 1};
}

Args clipped(Args gradients, const optim::Clip& clip) {
  if (clip.value) gradients = optim::clip_by_value(gradients, *clip.value);
  if (clip.norm) gradients = optim::clip_by_global_norm(gradients, *clip.norm);
  return gradients;
}

// What a step reads and writes that lives on: two copies of parameters and state, which change
// places.
class Carried {
 public:
  explicit Carried(const Params& values) {
    for (const auto& [name, value] : values) {
      types_.push_back(value.type());
      names_.push_back(name);
      for (auto& copy : copies_) copy.push_back(allocate_aligned(value.bytes().size()));
      std::copy(value.bytes().begin(), value.bytes().end(), copies_[0].back().get());
    }
  }

  std::size_t size() const { return types_.size(); }
  const void* now(std::size_t i) const { return copies_[current_][i].get(); }
  void* next(std::size_t i) const { return copies_[1 - current_][i].get(); }
  void advance() { current_ = 1 - current_; }

  // The first `count` of them as tensors.
  Params values(std::size_t count) const {
    Params result;
    for (std::size_t i = 0; i < count; ++i)
      result.set(names_[i], Tensor::generate_bytes(types_[i], [&](std::span<std::byte> out) {
                   std::copy_n(static_cast<const std::byte*>(now(i)), out.size(), out.data());
                 }));
    return result;
  }

 private:
  std::vector<Type> types_;
  std::vector<std::string> names_;
  std::vector<std::shared_ptr<std::byte>> copies_[2];
  std::size_t current_ = 0;
};

// A compiled step for one batch size, with the memory of its batch.
class Step {
 public:
  Step(const nn::Mlp& net, const ClassifierOptions& options, std::int64_t batch, ThreadPool* pool)
      : workspace_(compile(classifier_step(net, options.optimizer, batch, options.clip)), pool),
        x_(allocate_aligned(static_cast<std::size_t>(batch * net.sizes.front()) * sizeof(float))),
        y_(allocate_aligned(static_cast<std::size_t>(batch) * sizeof(std::int32_t))),
        x_bytes_(static_cast<std::size_t>(batch * net.sizes.front()) * sizeof(float)),
        y_bytes_(static_cast<std::size_t>(batch) * sizeof(std::int32_t)) {}

  struct Result {
    float loss = 0;
    float gradient_norm = 0;
  };

  Result run(Carried& carried, const Dataset& data, std::span<const std::int32_t> rows, Key key,
             double rate) {
    gather_rows(data.inputs, rows, {x_.get(), x_bytes_});
    gather_rows(data.targets, rows, {y_.get(), y_bytes_});
    const auto key_bits = static_cast<std::int64_t>(key.bits());
    const auto rate_f32 = static_cast<float>(rate);
    Result result;
    inputs_.clear();
    outputs_.clear();
    for (std::size_t i = 0; i < carried.size(); ++i) {
      inputs_.push_back(carried.now(i));
      outputs_.push_back(carried.next(i));
    }
    inputs_.insert(inputs_.end(), {x_.get(), y_.get(), &key_bits, &rate_f32});
    outputs_.insert(outputs_.end(), {&result.loss, &result.gradient_norm});
    workspace_.run(inputs_, outputs_);
    carried.advance();
    return result;
  }

 private:
  Workspace workspace_;
  std::shared_ptr<std::byte> x_;
  std::shared_ptr<std::byte> y_;
  std::size_t x_bytes_;
  std::size_t y_bytes_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

void check_data(const nn::Mlp& net, const Split& data, const ClassifierOptions& options) {
  const auto refuse = [](const std::string& message) {
    throw Error(ErrorCode::kInvalidArgument, "train: " + message);
  };
  net.layers();
  if (options.epochs < 0) refuse(fmt::format("{} epochs, 0 or more are expected", options.epochs));
  if (options.batch < 1) refuse(fmt::format("a batch of {}, 1 or more is expected", options.batch));
  for (const Dataset* part : {&data.train, &data.test}) {
    if (part->inputs.shape().rank() != 2 || part->inputs.shape()[1] != net.sizes.front())
      refuse(fmt::format("{}: examples are {}, the network expects {} features", part->name,
                         to_string(part->inputs.type()), net.sizes.front()));
    if (part->classes > net.sizes.back())
      refuse(fmt::format("{}: has {} classes, the network gives {} logits", part->name,
                         part->classes, net.sizes.back()));
  }
  if (data.train.size() == 0) refuse(fmt::format("{}: there are no examples", data.train.name));
}

void check_finite(float loss, std::int64_t epoch, std::int64_t step, double rate) {
  if (!std::isfinite(loss))
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("train: the loss is {} in step {} of epoch {}, a finite one is expected; "
                    "a learning rate below {} may help",
                    loss, step, epoch, rate));
}

// One run, from the first step to the last.
class Run {
 public:
  Run(const nn::Mlp& net, const Split& data, const ClassifierOptions& options, ThreadPool* pool)
      : net_(net), data_(data), options_(options), pool_(pool), key_(options.seed) {
    const std::int64_t n = data.train.size();
    steps_an_epoch_ = (n + options.batch - 1) / options.batch;
    schedule_ = options.schedule;
    schedule_.steps = steps_an_epoch_ * options.epochs;
  }

  Params train(const Observer& observer) {
    Params carried_values = net_.init(key_.fold_in(kInitKey));
    const std::size_t parameters = carried_values.size();
    Evaluator evaluate(net_.function(), data_.test, pool_);
    carried_values.merge("", optim::init(options_.optimizer, carried_values));
    Carried carried(carried_values);
    for (std::int64_t e = 0; e < options_.epochs; ++e) {
      EpochReport report = epoch(carried, e, observer);
      std::vector<const void*> now;
      for (std::size_t i = 0; i < parameters; ++i) now.push_back(carried.now(i));
      report.test = evaluate(now);
      if (observer.epoch) observer.epoch(report);
    }
    return carried.values(parameters);
  }

 private:
  EpochReport epoch(Carried& carried, std::int64_t e, const Observer& observer) {
    const auto start = std::chrono::steady_clock::now();
    const Batches batches(data_.train.size(),
                          {.size = options_.batch, .shuffle = true, .keep_partial = true},
                          key_.fold_in(kShuffleKey), e);
    EpochReport report{e + 1, options_.epochs, 0, 0, {}, 0, 0};
    for (std::int64_t b = 0; b < batches.size(); ++b) {
      const std::int64_t step = e * steps_an_epoch_ + b;
      const auto rows = batches[b];
      report.learning_rate = schedule_.at(step);
      const Key key = key_.fold_in(kDropoutKey).fold_in(static_cast<std::uint64_t>(step));
      const Step::Result result = step_of(static_cast<std::int64_t>(rows.size()))
                                      .run(carried, data_.train, rows, key, report.learning_rate);
      check_finite(result.loss, e + 1, b + 1, report.learning_rate);
      report.train_loss += static_cast<double>(result.loss) * static_cast<double>(rows.size());
      report.gradient_norm += static_cast<double>(result.gradient_norm);
      if (observer.step)
        observer.step(
            {e + 1, options_.epochs, b + 1, batches.size(), static_cast<double>(result.loss)});
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    const auto examples = static_cast<double>(data_.train.size());
    report.train_loss /= examples;
    report.gradient_norm /= static_cast<double>(batches.size());
    report.samples_per_second = examples / time.count();
    return report;
  }

  Step& step_of(std::int64_t batch) {
    auto& step = step_by_size_[batch];
    if (!step) step = std::make_unique<Step>(net_, options_, batch, pool_);
    return *step;
  }

  const nn::Mlp& net_;
  const Split& data_;
  const ClassifierOptions& options_;
  ThreadPool* pool_;
  Key key_;
  std::int64_t steps_an_epoch_ = 0;
  optim::Schedule schedule_;
  std::map<std::int64_t, std::unique_ptr<Step>> step_by_size_;
};

}  // namespace

Function classifier_step(const nn::Mlp& net, const optim::Optimizer& optimizer, std::int64_t batch,
                         const optim::Clip& clip) {
  const std::vector<Input> params = parameter_inputs(net.function());
  std::vector<std::size_t> wrt(params.size());
  for (std::size_t i = 0; i < wrt.size(); ++i) wrt[i] = i;
  const Function loss = value_and_grad(classifier_loss(net, params, batch), wrt);

  const std::vector<Input> state = optim::state_inputs(optimizer, params);

  std::vector<Input> inputs = params;
  inputs.insert(inputs.end(), state.begin(), state.end());
  inputs.insert(inputs.end(), loss.inputs().begin() + static_cast<std::ptrdiff_t>(params.size()),
                loss.inputs().end());
  inputs.push_back({"rate", {Dtype::kF32, {}}});

  std::vector<std::string> names;
  for (std::size_t i = 0; i < params.size() + state.size(); ++i) names.push_back(inputs[i].name);
  names.insert(names.end(), {"loss", "gradient_norm"});
  return trace(
      "classifier_step", inputs,
      [&](std::span<const Value> in) {
        const std::size_t p = params.size();
        const std::size_t s = p + state.size();
        std::vector<Value> arguments(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(p));
        arguments.insert(arguments.end(), {in[s], in[s + 1], in[s + 2]});
        Builder& builder = in[0].builder();
        const std::vector<Value> results = builder.inline_function(loss, arguments);
        Args values, gradients, moments;
        for (std::size_t i = 0; i < p; ++i) values.set(params[i].name, in[i]);
        for (std::size_t i = 0; i < p; ++i) gradients.set(params[i].name, results[1 + i]);
        for (std::size_t i = p; i < s; ++i) moments.set(inputs[i].name, in[i]);
        const Builder::Scope scope(builder, "optimizer");
        const Value norm = optim::global_norm(gradients);
        const optim::Update next =
            optim::update(optimizer, values, clipped(gradients, clip), moments, in[s + 3]);
        std::vector<Value> outputs = next.params.values();
        for (const auto& [name, value] : next.state) outputs.push_back(value);
        outputs.insert(outputs.end(), {results[0], norm});
        return outputs;
      },
      names);
}

Params train_classifier(const nn::Mlp& net, const Split& data, const ClassifierOptions& options,
                        ThreadPool* pool, const Observer& observer) {
  check_data(net, data, options);
  return Run(net, data, options, pool).train(observer);
}

// ---- evaluation

Evaluator::Evaluator(const Function& model, const Dataset& data, ThreadPool* pool)
    : data_(data), pool_(pool) {
  // The same model with the loss of its logits beside them.
  std::vector<Input> inputs = model.inputs();
  inputs.push_back({"label", {Dtype::kI32, {}}});
  model_ = trace("evaluate", inputs, [&](std::span<const Value> in) {
    const Value logits = in[0].builder().inline_function(model, in.first(in.size() - 1)).front();
    return std::vector<Value>{softmax_cross_entropy(logits, in.back()),
                              argmax(logits, -1) == in.back()};
  });
}

Evaluator::Batch& Evaluator::batch_of(std::int64_t size) {
  for (Batch& b : batches_)
    if (b.size == size) return b;
  std::vector<std::optional<std::int64_t>> axes(model_.inputs().size());
  axes[axes.size() - 2] = 0;
  axes[axes.size() - 1] = 0;
  const Executable executable = compile(vmap(model_, axes, size));
  batches_.push_back({size, Workspace(executable, pool_)});
  return batches_.back();
}

Evaluation Evaluator::operator()(std::span<const void* const> params) {
  constexpr std::int64_t kBatch = 256;
  Evaluation result;
  std::vector<float> losses(kBatch);
  std::unique_ptr<bool[]> hits(new bool[kBatch]);
  std::int64_t correct = 0;
  for (std::int64_t first = 0; first < data_.size(); first += kBatch) {
    const std::int64_t count = std::min(kBatch, data_.size() - first);
    std::vector<const void*> inputs(params.begin(), params.end());
    inputs.push_back(data_.inputs.rows(first, count).bytes().data());
    inputs.push_back(data_.targets.rows(first, count).bytes().data());
    void* const outputs[] = {losses.data(), hits.get()};
    batch_of(count).workspace.run(inputs, outputs);
    for (std::int64_t i = 0; i < count; ++i) {
      result.loss += static_cast<double>(losses[static_cast<std::size_t>(i)]);
      correct += hits[static_cast<std::size_t>(i)];
    }
  }
  const auto examples = static_cast<double>(std::max<std::int64_t>(1, data_.size()));
  result.loss /= examples;
  result.accuracy = static_cast<double>(correct) / examples;
  return result;
}

Evaluation Evaluator::operator()(const Params& params) {
  std::vector<const void*> pointers;
  for (std::size_t i = 0; i + 2 < model_.inputs().size(); ++i)
    pointers.push_back(params.at(model_.inputs()[i].name).bytes().data());
  return (*this)(pointers);
}

}  // namespace limpid::train
