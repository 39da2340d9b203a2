#include "limpid/inspect/trace.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "limpid/core/half.h"
#include "limpid/function/interpret.h"
#include "limpid/inspect/table.h"

namespace limpid {
namespace {

double number_of(Bf16 v) { return to_f32(v); }
double number_of(F16 v) { return to_f32(v); }
template <class T>
double number_of(T v) {
  return static_cast<double>(v);
}

template <class T>
std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> result;
  result.reserve(static_cast<std::size_t>(tensor.elements()));
  for (T v : tensor.values<T>()) result.push_back(number_of(v));
  return result;
}

std::vector<double> numbers(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case Dtype::kF32:
      return numbers<float>(tensor);
    case Dtype::kF64:
      return numbers<double>(tensor);
    case Dtype::kBf16:
      return numbers<Bf16>(tensor);
    case Dtype::kF16:
      return numbers<F16>(tensor);
    case Dtype::kI32:
      return numbers<std::int32_t>(tensor);
    case Dtype::kI64:
      return numbers<std::int64_t>(tensor);
    case Dtype::kU8:
      return numbers<std::uint8_t>(tensor);
    case Dtype::kBool:
      return numbers<bool>(tensor);
  }
  return {};
}

}  // namespace

Observation observe(const Function& function, const Params& inputs) {
  Observation run{function, {}};
  for (const Input& input : function.inputs()) run.values.push_back(inputs.at(input.name));
  const std::vector<Tensor> arguments = run.values;
  interpret(function, arguments,
            [&](const Node&, std::size_t, const Tensor& value) { run.values.push_back(value); });
  return run;
}

Statistics statistics(const Tensor& tensor) {
  const std::vector<double> all = numbers(tensor);
  Statistics s;
  s.count = static_cast<std::int64_t>(all.size());
  s.min = s.max = s.mean = s.std = std::numeric_limits<double>::quiet_NaN();
  std::int64_t zeros = 0;
  std::int64_t finite = 0;
  double sum = 0;
  for (double v : all) {
    zeros += v == 0;
    s.nans += std::isnan(v);
    s.infs += std::isinf(v);
    if (!std::isfinite(v)) continue;
    ++finite;
    sum += v;
    s.min = std::fmin(s.min, v);
    s.max = std::fmax(s.max, v);
  }
  if (!all.empty()) s.zero_share = static_cast<double>(zeros) / static_cast<double>(all.size());
  if (finite == 0) return s;
  s.mean = sum / static_cast<double>(finite);
  double squares = 0;
  for (double v : all)
    if (std::isfinite(v)) squares += (v - s.mean) * (v - s.mean);
  s.std = std::sqrt(squares / static_cast<double>(finite));
  return s;
}

std::vector<TraceRow> trace_rows(const Observation& run, const Params& params) {
  const Function& f = run.function;
  std::vector<TraceRow> rows;
  const auto add = [&](ValueId id, const std::string& layer, std::string_view op) {
    rows.push_back({value_name(f, id), layer, std::string(op), f.type(id), statistics(run[id])});
  };
  for (std::size_t i = 0; i < f.inputs().size(); ++i)
    if (!params.find(f.inputs()[i].name)) add(static_cast<ValueId>(i), "", "input");
  for (const Node& node : f.nodes())
    for (std::size_t r = 0; r < f.output_count(node); ++r)
      add(node.first_output + static_cast<ValueId>(r), node.scope, node.op->name);
  return rows;
}

std::string to_text(const std::vector<TraceRow>& rows) {
  Table table{{{"value"},
               {"layer"},
               {"op"},
               {"shape"},
               {"min", Align::kRight},
               {"mean", Align::kRight},
               {"std", Align::kRight},
               {"max", Align::kRight},
               {"zero", Align::kRight},
               {"NaN", Align::kRight},
               {"Inf", Align::kRight}},
              {}};
  for (const TraceRow& row : rows) {
    const Statistics& s = row.statistics;
    table.rows.push_back({row.value, row.layer, row.op, tuple_text(row.type.shape),
                          short_number(s.min), short_number(s.mean), short_number(s.std),
                          short_number(s.max), fmt::format("{:.1f}%", 100 * s.zero_share),
                          grouped(s.nans), grouped(s.infs)});
  }
  return to_text(table);
}

}  // namespace limpid
