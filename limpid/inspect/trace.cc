#include "limpid/inspect/trace.h"

#include <fmt/format.h>

#include "limpid/core/number_text.h"
#include "limpid/function/interpret.h"
#include "limpid/inspect/table.h"

namespace limpid {

Observation observe(const Function& function, const Params& inputs, const Observer& observer) {
  Observation run{function, {}};
  for (const Input& input : function.inputs()) run.values.push_back(inputs.at(input.name));
  const std::vector<Tensor> arguments = run.values;
  interpret(function, arguments, [&](const Node& node, std::size_t result, const Tensor& value) {
    run.values.push_back(value);
    if (observer) observer(node, result, value);
  });
  return run;
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

Json to_json(const TraceRow& row) {
  const Statistics& s = row.statistics;
  return {{"value", row.value},
          {"layer", row.layer},
          {"op", row.op},
          {"dtype", name(row.type.dtype)},
          {"shape", Json::Array(row.type.shape.dims().begin(), row.type.shape.dims().end())},
          {"min", s.min},
          {"mean", s.mean},
          {"std", s.std},
          {"max", s.max},
          {"zero_share", s.zero_share},
          {"nans", s.nans},
          {"infs", s.infs}};
}

}  // namespace limpid
