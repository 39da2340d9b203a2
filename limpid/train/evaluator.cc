#include "limpid/train/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/ops/reduce.h"
#include "limpid/transforms/vmap.h"

namespace limpid::train {
namespace {

constexpr std::int64_t kBatch = 256;

void check_data(const Input& example, const Dataset& data) {
  const Type expected{example.type.dtype, example.type.shape.insert(0, data.size())};
  if (!(data.inputs.type() == expected))
    throw Error(ErrorCode::kShape,
                fmt::format("evaluate: {}: the model takes {} for one example, {} came for all",
                            data.name, to_string(example.type), to_string(data.inputs.type())));
}

}  // namespace

Evaluator::Evaluator(const Function& inference, const Losses& losses, const Dataset& data,
                     ThreadPool* pool)
    : data_(data), pool_(pool) {
  check_data(inference.inputs().back(), data);
  std::vector<Input> inputs = inference.inputs();
  const Shape target = data.targets.shape();
  inputs.push_back({"target", {data.targets.dtype(), target.erase(0)}});
  function_ = trace("evaluate", inputs, [&](std::span<const Value> in) {
    const std::size_t params = inference.inputs().size() - 1;
    Args values;
    for (std::size_t i = 0; i < params; ++i) values.set(inputs[i].name, in[i]);
    const Value output = in[0].builder().inline_function(inference, in.first(params + 1)).front();
    const Value loss = losses(values, output, in.back());
    return std::vector<Value>{output, loss.rank() == 0 ? loss : mean(loss)};
  });
}

Workspace& Evaluator::workspace_of(std::int64_t size) {
  for (Batch& b : batches_)
    if (b.size == size) return b.workspace;
  std::vector<std::optional<std::int64_t>> axes(function_.inputs().size());
  axes[axes.size() - 2] = 0;
  axes[axes.size() - 1] = 0;
  batches_.push_back({size, Workspace(compile(vmap(function_, axes, size)), pool_)});
  return batches_.back().workspace;
}

TestResult Evaluator::operator()(std::span<const void* const> params) {
  const Type& output = function_.type(function_.outputs().front().value);
  std::vector<float> losses(kBatch);
  double loss = 0;
  const Tensor outputs = Tensor::generate_bytes(
      {output.dtype, output.shape.insert(0, data_.size())}, [&](std::span<std::byte> all) {
        for (std::int64_t first = 0; first < data_.size(); first += kBatch) {
          const std::int64_t count = std::min(kBatch, data_.size() - first);
          std::vector<const void*> inputs(params.begin(), params.end());
          inputs.push_back(data_.inputs.rows(first, count).bytes().data());
          inputs.push_back(data_.targets.rows(first, count).bytes().data());
          void* const results[] = {all.data() + static_cast<std::size_t>(first) * output.bytes(),
                                   losses.data()};
          workspace_of(count).run(inputs, results);
          for (std::int64_t i = 0; i < count; ++i)
            loss += static_cast<double>(losses[static_cast<std::size_t>(i)]);
        }
      });
  const TestResult scores = metrics_of(data_.task, outputs, data_.targets);
  TestResult result{{}, scores.confusion, scores.per_class};
  result.metrics.set("loss", loss / static_cast<double>(std::max<std::int64_t>(1, data_.size())));
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
