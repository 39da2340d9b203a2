// limpid summary: layers, shapes, parameters and FLOPs of a model.
#include "limpid/inspect/summary.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/model_file.h"
#include "apps/limpid/support/output.h"
#include "limpid/transforms/vmap.h"

namespace limpid::tool {
namespace {

// Keeps the FLOPs of every model that load_model accepts below 2^63.
constexpr std::int64_t kLargestBatch = 100'000;

struct SummaryArguments {
  ModelOptions model;
  std::int64_t batch = 32;
  bool ops = false;
  bool json = false;
};

Json summary_json(const Summary& s) {
  Json rows = Json::array();
  for (const SummaryRow& row : s.rows)
    rows.push_back({{"layer", row.layer},
                    {"op", row.op},
                    {"output", json_of(row.output)},
                    {"parameters", row.parameters},
                    {"multiply_adds", row.multiply_adds}});
  Json inputs = Json::array();
  for (const Input& input : s.inputs)
    inputs.push_back({{"name", input.name}, {"shape", json_of(input.type.shape)}});
  Json bytes = Json::object();
  for (const auto& [dtype, count] : s.bytes_by_dtype) bytes[name(dtype)] = count;
  return {{"name", s.name},
          {"batch", s.batch},
          {"inputs", inputs},
          {"rows", rows},
          {"parameters", s.parameters},
          {"trainable", s.trainable},
          {"statistics", s.statistics},
          {"multiply_adds", s.multiply_adds},
          {"input_bytes", s.input_bytes},
          {"forward_bytes", s.forward_bytes},
          {"parameter_bytes", s.parameter_bytes},
          {"parameter_bytes_by_dtype", bytes}};
}

Json rows_json(const std::vector<ShapeRow>& rows) {
  Json list = Json::array();
  for (const ShapeRow& row : rows)
    list.push_back({{"value", row.value},
                    {"layer", row.layer},
                    {"op", row.op},
                    {"dtype", name(row.output.dtype)},
                    {"output", json_of(row.output.shape)},
                    {"note", row.note},
                    {"parameters", row.parameters},
                    {"flops", row.flops}});
  return Json{{"ops", list}};
}

// The model after batching, op by op.
std::vector<ShapeRow> ops_of(const Model& model, std::int64_t batch) {
  std::vector<std::optional<std::int64_t>> axes(model.function.inputs().size());
  for (const Input& input : data_inputs(model)) axes[model.function.input_index(input.name)] = 0;
  return shape_trace(vmap(model.function, axes, batch), model.params);
}

void summary(const SummaryArguments& options) {
  const Model model = open_model(options.model);
  if (options.ops) {
    const std::vector<ShapeRow> rows = ops_of(model, options.batch);
    options.json ? print_json(rows_json(rows)) : print(to_text(rows));
    return;
  }
  const Summary result = summarize(model.function, model.params, options.batch);
  options.json ? print_json(summary_json(result)) : print(to_text(result));
}

}  // namespace

void add_summary(Command& app) {
  auto options = std::make_shared<SummaryArguments>();
  Command command =
      app.command("summary", "Print a model's layers, shapes, parameter counts and multiply-adds");
  add_model_option(command, options->model);
  command.option("--batch", options->batch, "Batch size in examples")
      .check(within(1, kLargestBatch));
  command.flag("--ops", options->ops,
               "Print every op with its shape, FLOPs and attributes instead");
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { summary(*options); });
}

}  // namespace limpid::tool
