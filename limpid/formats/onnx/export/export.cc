// A Function, its parameters and their names as the messages of a model.
#include "limpid/formats/onnx/export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/in_quotes.h"
#include "limpid/formats/file.h"
#include "limpid/formats/onnx/export/detail/calls.h"
#include "limpid/formats/onnx/export/detail/recurrent_layers.h"
#include "limpid/ops/attention.h"
#include "limpid/transforms/rewrite.h"

namespace limpid::onnx {
namespace {

using detail::AnyBatch;
using detail::Calls;
using detail::ExportOp;
using detail::find_export_op;
using detail::GraphWriter;
using detail::Message;
using detail::tensor_message;
using detail::value_message;
using detail::with_recurrent_layers;

// Fields of the messages in onnx.proto.
namespace model_proto {
constexpr std::uint32_t kIrVersion = 1, kProducer = 2, kGraph = 7, kOpsets = 8, kMetadata = 14;
}
namespace graph_proto {
constexpr std::uint32_t kName = 2, kInitializer = 5, kInput = 11, kOutput = 12;
}

constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 31) - 1;

void check_params(const Function& function, const Params& params) {
  for (const auto& [name, tensor] : params) {
    const Type& type = function.inputs()[function.input_index(name)].type;
    if (!(type == tensor.type()))
      throw Error(type.dtype == tensor.dtype() ? ErrorCode::kShape : ErrorCode::kDtype,
                  fmt::format("onnx: parameter {} is {}, the function expects {}", in_quotes(name),
                              to_string(tensor.type()), to_string(type)));
  }
}

bool is_written_by_body(const Call& call) {
  if (call.op.is_primitive() || !call.op.onnx.none_because.empty()) return false;
  const std::optional<ExportOp> row = find_export_op(call.op);
  return !row || (row->only_where && !row->only_where(call));
}

// All calls that cannot be exported, with the reasons.
void refuse_what_has_no_counterpart(const Function& f) {
  std::vector<std::string> refused;
  for (const limpid::Node& node : f.nodes()) {
    if (find_export_op(*node.op)) continue;
    const Function::CallTypes types = f.call_types(node);
    const Call call{*node.op, types.inputs, types.outputs, node.attributes, node.scope};
    const std::string_view because = node.op->onnx.none_because;
    refused.push_back(
        fmt::format("{} ({})", where(call), because.empty() ? "no ONNX operator" : because));
  }
  if (!refused.empty())
    throw Error(ErrorCode::kUnsupported,
                fmt::format("onnx: cannot be written: {}", fmt::join(refused, ", ")));
}

// The Attention operator belongs to a later version than the one written.
Function with_attention_by_parts(const Function& function) {
  return rewrite(function,
                 [](Builder& builder, const limpid::Node& node, std::span<const Value> in) {
                   if (node.op != &op::scaled_dot_product_attention)
                     return builder.call(*node.op, in, node.attributes);
                   return std::vector<Value>{attention_by_parts(in, node.attributes)};
                 });
}

AnyBatch in_operators(const Function& original, const Params& params,
                      const ExportOptions& options) {
  std::vector<bool> batched(original.inputs().size());
  if (!options.batch.empty())
    for (std::size_t i = 0; i < batched.size(); ++i)
      batched[i] = !params.find(original.inputs()[i].name);
  const Function function = with_recurrent_layers(with_attention_by_parts(original), batched);
  AnyBatch f(function);
  if (!options.batch.empty()) {
    if (std::count(batched.begin(), batched.end(), true) == 0)
      throw Error(ErrorCode::kInvalidArgument,
                  "onnx: expected an input without a parameter, for the batch; all have one");
    f = AnyBatch(function, batched);
  }
  f.expand(is_written_by_body);
  f.check();
  refuse_what_has_no_counterpart(f.function());
  return f;
}

class ModelWriter {
 public:
  ModelWriter(const AnyBatch& function, const Params& params, const ExportOptions& options)
      : function_(function), params_(params), options_(options), calls_(names(), function) {
    calls_.write();
    outputs();
    graph_.write_to(graph_message_);
    graph_message_.text(graph_proto::kName, f().name().empty() ? "function" : f().name());
  }

  Message message() && {
    Message opset;  // domain "", version
    opset.integer(2, kExportOpset);
    Message model;
    model.integer(model_proto::kIrVersion, kExportIrVersion);
    model.text(model_proto::kProducer, "limpid");
    model.message(model_proto::kGraph, std::move(graph_message_));
    model.message(model_proto::kOpsets, std::move(opset));
    for (const auto& [key, value] : options_.metadata) {
      Message entry;  // key, value
      model.message(model_proto::kMetadata, std::move(entry.text(1, key).text(2, value)));
    }
    return model;
  }

 private:
  const Function& f() const { return function_.function(); }

  void value(std::uint32_t field, const std::string& name, ValueId id) {
    graph_message_.message(
        field, value_message(name, f().type(id).dtype, function_.shape(id), options_.batch));
  }

  // Takes the names of inputs, parameters and outputs, and writes the first two.
  GraphWriter& names() {
    for (std::size_t i = 0; i < f().inputs().size(); ++i) {
      const std::string& name = f().inputs()[i].name;
      graph_.take_name(name);
      if (const Tensor* tensor = params_.find(name)) {
        graph_message_.message(graph_proto::kInitializer, tensor_message(name, *tensor));
      } else {
        value(graph_proto::kInput, name, static_cast<ValueId>(i));
        graph_.set_source_of_n(name);
      }
    }
    for (const Output& output : f().outputs())
      output_names_.push_back(graph_.take_name(output.name.empty() ? "output" : output.name));
    return graph_;
  }

  void outputs() {
    // First name all outputs: a node written below may use a value that is renamed as an output.
    for (const Output& output : f().outputs()) calls_.name(output.value);
    for (std::size_t i = 0; i < output_names_.size(); ++i) {
      const ValueId id = f().outputs()[i].value;
      const std::string& name = output_names_[i];
      const auto end = output_names_.begin() + static_cast<std::ptrdiff_t>(i);
      const std::string now = calls_.name(id);
      const bool is_output = std::find(output_names_.begin(), end, now) != end;
      if (is_output || !calls_.rename(now, name))
        graph_.rename(graph_.node("Identity", {now}), name);
      value(graph_proto::kOutput, name, id);
    }
  }

  const AnyBatch& function_;
  const Params& params_;
  const ExportOptions& options_;
  GraphWriter graph_;
  std::vector<std::string> output_names_;
  Message graph_message_;
  Calls calls_;
};

Message message_of(const Function& function, const Params& params, const ExportOptions& options) {
  const DefaultFloatMode mode;
  check_params(function, params);
  Message message = ModelWriter(in_operators(function, params, options), params, options).message();
  if (message.size() > kMostBytes)
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("onnx: a model of {} bytes, the format allows {}", message.size(), kMostBytes));
  return message;
}

}  // namespace

void save_onnx(const std::filesystem::path& path, const Function& function, const Params& params,
               const ExportOptions& options) {
  const Message message = message_of(function, params, options);
  write_file_atomically(path, message.parts());
}

std::vector<std::byte> serialize_onnx(const Function& function, const Params& params,
                                      const ExportOptions& options) {
  const Message message = message_of(function, params, options);
  std::vector<std::byte> bytes;
  bytes.reserve(message.size());
  for (const auto& part : message.parts()) bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

}  // namespace limpid::onnx
