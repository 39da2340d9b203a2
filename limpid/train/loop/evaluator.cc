#include "limpid/train/loop/evaluator.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/stop_check.h"
#include "limpid/function/builder.h"
#include "limpid/ops/reduce.h"

namespace limpid::train {
namespace {

void check_data(const Input& example, const Dataset& data) {
  if (!data.fits(example.type))
    throw Error(ErrorCode::kShape,
                fmt::format("evaluate: {}: the model takes {} for one example, got {}", data.name,
                            to_string(example.type), to_string(data.input_type())));
}

// The number of examples per batch, bounded so that losses and outputs take little memory.
std::int64_t batch_for(const Type& output, const Type& losses) {
  constexpr std::int64_t kExamples = 256, kLosses = 4096, kOutputs = std::int64_t{1} << 24;
  const auto least = [](std::int64_t most, const Type& one) {
    return std::max<std::int64_t>(1, most / std::max<std::int64_t>(1, one.shape.elements()));
  };
  return std::min({kExamples, least(kLosses, losses), least(kOutputs, output)});
}

}  // namespace

Evaluator::Evaluator(const Function& inference, const Losses& losses, const Dataset& data,
                     ThreadPool* pool, distribute::Communicator* ranks)
    : data_(data), ranks_(ranks) {
  check_data(inference.inputs().back(), data);
  std::vector<Input> inputs = inference.inputs();
  inputs.push_back({"target", data.target_type()});
  function_ = trace("evaluate", inputs, [&](std::span<const Value> in) {
    const std::size_t params = inference.inputs().size() - 1;
    Args values;
    for (std::size_t i = 0; i < params; ++i) values.set(inputs[i].name, in[i]);
    const Value output = in[0].builder().inline_function(inference, in.first(params + 1)).front();
    const Value loss = losses(values, output, in.back());
    const bool whole = loss.rank() == 0 || data.task == Task::kNextToken;
    return std::vector<Value>{output, whole ? loss : mean(loss)};
  });
  const auto type = [&](std::size_t i) { return function_.type(function_.outputs()[i].value); };
  batch_ = batch_for(type(0), type(1));
  Predictor::Options options{.most_rows = batch_, .pool = pool, .most_runs = 1};
  for (std::size_t i = 0; i + 1 < inference.inputs().size(); ++i)
    options.shared.push_back(inputs[i].name);
  predict_.emplace(function_, Params{}, options);
}

// The number of an example's losses that count.
std::int64_t Evaluator::counted(std::int64_t row) const {
  const std::int64_t each = function_.type(function_.outputs()[1].value).shape.elements();
  return std::min(each, data_.counted(row));
}

std::span<std::byte> Evaluator::outputs_at(std::span<std::byte> memory, std::int64_t begin,
                                           distribute::ShardRange examples) const {
  if (reads_text()) return {};
  const std::size_t each = output().bytes();
  return memory.subspan(static_cast<std::size_t>(examples.begin - begin) * each,
                        static_cast<std::size_t>(examples.size()) * each);
}

void Evaluator::Sums::add(const Scores& scores) {
  for (const float l : scores.losses) loss += static_cast<double>(l);
  losses += static_cast<std::int64_t>(scores.losses.size());
  tokens.add(scores.tokens);
}

// Evaluates examples [first, first + count). Their outputs are kept if there is room for them.
void Evaluator::run(std::span<const Tensor> params, std::int64_t first, std::int64_t count,
                    Scores& scores, std::span<std::byte> outputs) {
  std::vector<Tensor> inputs(params.begin(), params.end());
  const Tensor targets = data_.targets_of(first, count);
  const Shape& example = function_.inputs()[inputs.size()].type.shape;
  inputs.insert(inputs.end(),
                {data_.inputs_of(first, count).reshape(example.insert(0, count)), targets});
  const std::vector<Tensor> results = (*predict_)(inputs);
  const std::span<const float> losses = results[1].values<float>();
  const std::int64_t each = results[1].elements() / count;
  const std::size_t before = scores.losses.size();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto of_example = losses.begin() + i * each;
    scores.losses.insert(scores.losses.end(), of_example, of_example + counted(first + i));
  }
  if (reads_text())
    append_scores(scores.tokens, results[0], targets,
                  static_cast<std::int64_t>(scores.losses.size() - before));
  else
    std::copy(results[0].bytes().begin(), results[0].bytes().end(), outputs.begin());
}

// This rank's examples, and on the first rank the results of all. It adds the results of a batch at
// once: the examples before are its own.
void Evaluator::run_all(std::span<const Tensor> params, std::span<std::byte> outputs, Sums& sums) {
  const distribute::ShardRange own = examples_of(rank());
  Scores scores;
  for (std::int64_t first = own.begin; first < own.end; first += batch_) {
    throw_if_stopped();
    const std::int64_t count = std::min(batch_, own.end - first);
    run(params, first, count, scores, outputs_at(outputs, own.begin, {first, first + count}));
    if (rank() > 0) continue;
    sums.add(scores);
    scores = {};
  }
  if (rank() == 0) return receive(outputs, sums);
  const distribute::Communicator::Sent sent[] = {
      {0, std::as_bytes(std::span(scores.losses))},
      {0, std::as_bytes(std::span(scores.tokens.losses))},
      {0, std::as_bytes(std::span(&scores.tokens.right, 1))},
      {0, outputs_at(outputs, own.begin, own)}};
  ranks_->exchange(sent, {});
}

// One rank after the other, so that the scores of only one of them are in memory.
void Evaluator::receive(std::span<std::byte> outputs, Sums& sums) {
  for (int r = 1; r < size(); ++r) {
    const distribute::ShardRange theirs = examples_of(r);
    std::size_t losses = 0;
    for (std::int64_t row = theirs.begin; row < theirs.end; ++row)
      losses += static_cast<std::size_t>(counted(row));
    Scores scores;
    scores.losses.resize(losses);
    scores.tokens.losses.resize(reads_text() ? losses : 0);
    const distribute::Communicator::Received received[] = {
        {r, std::as_writable_bytes(std::span(scores.losses))},
        {r, std::as_writable_bytes(std::span(scores.tokens.losses))},
        {r, std::as_writable_bytes(std::span(&scores.tokens.right, 1))},
        {r, outputs_at(outputs, 0, theirs)}};
    ranks_->exchange({}, received);
    sums.add(scores);
  }
}

// The first rank's metrics, for all.
TestResult Evaluator::share(const TestResult& result) {
  const std::vector<std::string> names = metric_names(data_.task, output().shape.back());
  std::vector<double> values(names.size());
  if (rank() == 0)
    std::transform(names.begin(), names.end(), values.begin(),
                   [&](const std::string& name) { return result.metrics.at(name); });
  const std::vector<std::byte> bytes =
      distribute::from_first(*ranks_, std::as_bytes(std::span(values)));
  if (rank() == 0) return result;
  std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(values)).begin());
  TestResult shared;
  for (std::size_t i = 0; i < names.size(); ++i) shared.metrics.set(names[i], values[i]);
  return shared;
}

TestResult Evaluator::operator()(Pointers pointers) {
  const DefaultFloatMode mode;
  std::vector<Tensor> params;
  for (const void* pointer : pointers) {
    const Type& type = function_.inputs()[params.size()].type;
    params.push_back(
        Tensor::borrow(type, {static_cast<const std::byte*>(pointer), type.bytes()}, nullptr));
  }
  Sums sums;
  const std::int64_t kept =
      reads_text() ? 0 : (rank() == 0 ? data_.size() : examples_of(rank()).size());
  const Tensor outputs =
      Tensor::generate_bytes({output().dtype, output().shape.insert(0, kept)},
                             [&](std::span<std::byte> all) { run_all(params, all, sums); });
  if (rank() > 0) return share({});
  const TestResult scores = reads_text()
                                ? sums.tokens.result()
                                : metrics_of(data_.task, outputs, data_.targets_of(0, kept));
  TestResult result{{}, scores.confusion, scores.per_class, scores.per_target};
  result.metrics.set("loss",
                     sums.loss / static_cast<double>(std::max<std::int64_t>(1, sums.losses)));
  result.metrics.merge("", scores.metrics);
  return ranks_ ? share(result) : result;
}

TestResult Evaluator::operator()(const Params& params) {
  std::vector<const void*> pointers;
  for (std::size_t i = 0; i + 2 < function_.inputs().size(); ++i)
    pointers.push_back(params.at(function_.inputs()[i].name).bytes().data());
  return (*this)(pointers);
}

}  // namespace limpid::train
