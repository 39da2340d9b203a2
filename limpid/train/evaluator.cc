#include "limpid/train/evaluator.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/ops/reduce.h"

namespace limpid::train {
namespace {

void check_data(const Input& example, const Dataset& data) {
  if (!(data.input_type() == example.type))
    throw Error(ErrorCode::kShape,
                fmt::format("evaluate: {}: the model takes {} for one example, {} came", data.name,
                            to_string(example.type), to_string(data.input_type())));
}

// So many examples that neither losses nor outputs of a batch are very many.
std::int64_t batch_for(const Type& output, const Type& losses) {
  constexpr std::int64_t kExamples = 256, kLosses = 4096, kOutputs = std::int64_t{1} << 24;
  const auto least = [](std::int64_t most, const Type& one) {
    return std::max<std::int64_t>(1, most / std::max<std::int64_t>(1, one.shape.elements()));
  };
  return std::min({kExamples, least(kLosses, losses), least(kOutputs, output)});
}

}  // namespace

Evaluator::Evaluator(const Function& inference, const Losses& losses, const Dataset& data,
                     ThreadPool* pool)
    : data_(data) {
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

// And their losses, as far as they count.
Tensor Evaluator::run(std::span<const Tensor> params, std::int64_t first, std::int64_t count,
                      const Tensor& targets, Sums& sums) {
  std::vector<Tensor> inputs(params.begin(), params.end());
  inputs.insert(inputs.end(), {data_.inputs_of(first, count), targets});
  const std::vector<Tensor> results = (*predict_)(inputs);
  const std::span<const float> losses = results[1].values<float>();
  const std::int64_t each = results[1].elements() / count;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t counted = std::min(each, data_.counted(first + i));
    for (std::int64_t l = 0; l < counted; ++l)
      sums.loss += static_cast<double>(losses[static_cast<std::size_t>(i * each + l)]);
    sums.losses += counted;
  }
  return results[0];
}

TestResult Evaluator::all_at_once(std::span<const Tensor> params, Sums& sums) {
  const Type& output = function_.type(function_.outputs().front().value);
  const Tensor targets = data_.targets_of(0, data_.size());
  const Tensor outputs = Tensor::generate_bytes(
      {output.dtype, output.shape.insert(0, data_.size())}, [&](std::span<std::byte> all) {
        for (std::int64_t first = 0; first < data_.size(); first += batch_) {
          const std::int64_t count = std::min(batch_, data_.size() - first);
          const Tensor part = run(params, first, count, targets.rows(first, count), sums);
          std::copy(part.bytes().begin(), part.bytes().end(),
                    all.begin() + first * static_cast<std::int64_t>(output.bytes()));
        }
      });
  return metrics_of(data_.task, outputs, targets);
}

TestResult Evaluator::batch_by_batch(std::span<const Tensor> params, Sums& sums) {
  NextTokenMetrics metrics;
  for (std::int64_t first = 0; first < data_.size(); first += batch_) {
    const std::int64_t count = std::min(batch_, data_.size() - first);
    const Tensor targets = data_.targets_of(first, count);
    const std::int64_t before = sums.losses;
    const Tensor outputs = run(params, first, count, targets, sums);
    metrics.add(outputs, targets, sums.losses - before);
  }
  return metrics.result();
}

TestResult Evaluator::operator()(Pointers pointers) {
  std::vector<Tensor> params;
  for (const void* pointer : pointers) {
    const Type& type = function_.inputs()[params.size()].type;
    params.push_back(
        Tensor::borrow(type, {static_cast<const std::byte*>(pointer), type.bytes()}, nullptr));
  }
  Sums sums;
  const TestResult scores =
      data_.task == Task::kNextToken ? batch_by_batch(params, sums) : all_at_once(params, sums);
  TestResult result{{}, scores.confusion, scores.per_class};
  result.metrics.set("loss",
                     sums.loss / static_cast<double>(std::max<std::int64_t>(1, sums.losses)));
  result.metrics.merge("", scores.metrics);
  return result;
}

TestResult Evaluator::operator()(const Params& params) {
  std::vector<const void*> pointers;
  for (std::size_t i = 0; i + 2 < function_.inputs().size(); ++i)
    pointers.push_back(params.at(function_.inputs()[i].name).bytes().data());
  return (*this)(pointers);
}

}  // namespace limpid::train
