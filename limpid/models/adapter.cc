#include "limpid/models/adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/json.h"
#include "limpid/formats/file.h"
#include "limpid/formats/safetensors.h"
#include "limpid/nn/lora.h"

namespace limpid {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostConfig = std::uint64_t{1} << 20;
// PEFT wraps the model, whose own parts are below "model.".
constexpr std::string_view kWrapped = "base_model.model.", kInner = "model.";
constexpr std::string_view kA = ".lora_A.weight", kB = ".lora_B.weight";

[[noreturn]] void refuse_adapter(ErrorCode code, const fs::path& path, const std::string& why) {
  throw Error(code, fmt::format("adapter {}: {}", in_quotes(path.string()), why));
}

bool is_empty(const Json& value) {
  return value.is_null() || (value.is_bool() && !value.as_bool()) ||
         ((value.is_array() || value.is_object()) && value.size() == 0);
}

Adapter read_config(const fs::path& path) {
  const Tensor file = read_file(path, kMostConfig);
  const auto bytes = file.values<std::uint8_t>();
  const std::optional<Json> read =
      Json::try_parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!read || !read->is_object())
    refuse_adapter(ErrorCode::kFormat, path, "expected a JSON object");
  const auto text = [&](const char* key) {
    const Json* const value = read->find(key);
    return value && value->is_string() ? value->as_string() : std::string();
  };
  if (text("peft_type") != "LORA")
    refuse_adapter(ErrorCode::kUnsupported, path,
                   fmt::format("peft_type is {}; expected \"LORA\"", in_quotes(text("peft_type"))));
  for (const char* key : {"use_dora", "fan_in_fan_out", "lora_bias", "alpha_pattern",
                          "layer_replication", "trainable_token_indices", "use_qalora"})
    if (const Json* const value = read->find(key); value && !is_empty(*value))
      refuse_adapter(ErrorCode::kUnsupported, path,
                     fmt::format("{} is {}; expected none", key, value->dump()));
  if (const std::string bias = text("bias"); !bias.empty() && bias != "none")
    refuse_adapter(ErrorCode::kUnsupported, path,
                   fmt::format("bias is {}; expected \"none\"", in_quotes(bias)));
  const Json* const alpha = read->find("lora_alpha");
  if (!alpha || !alpha->is_number() || !(alpha->as_number() > 0))
    refuse_adapter(ErrorCode::kFormat, path, "lora_alpha: expected a positive number");
  Adapter adapter{.alpha = alpha->as_number(),
                  .base = text("base_model_name_or_path"),
                  .task = text("task_type")};
  const Json* const stabilised = read->find("use_rslora");
  adapter.rank_stabilised = stabilised && !is_empty(*stabilised);
  if (const Json* const targets = read->find("target_modules"); targets && targets->is_array())
    for (const Json& target : targets->elements())
      if (target.is_string()) adapter.targets.push_back(target.as_string());
  return adapter;
}

// A name of the model's, of one of the file's.
std::string unwrapped(std::string_view name) {
  if (name.starts_with(kWrapped)) name.remove_prefix(kWrapped.size());
  if (name.starts_with(kInner)) name.remove_prefix(kInner.size());
  return std::string(name);
}

std::string wrapped(const std::string& name) {
  const bool outer = is_at_or_below(name, "lm_head");
  return fmt::format("{}{}{}", kWrapped, outer ? "" : kInner, name);
}

std::string module_of(const std::string& name, std::string_view end) {
  return name.substr(0, name.size() - end.size());
}

void check_pairs(const Params& params, const fs::path& path) {
  for (const auto& [name, value] : params)
    for (const auto& [one, other] : {std::pair(kA, kB), std::pair(kB, kA)}) {
      if (!name.ends_with(one)) continue;
      const std::string half = module_of(name, one) + std::string(other);
      const Tensor* const found = params.find(half);
      if (!found)
        refuse_adapter(ErrorCode::kFormat, path,
                       fmt::format("there is {}, but no {}", in_quotes(name), in_quotes(half)));
      const Tensor &a = one == kA ? value : *found, &b = one == kA ? *found : value;
      if (a.shape().rank() != 2 || b.shape().rank() != 2 || a.shape()[0] != b.shape()[1])
        refuse_adapter(
            ErrorCode::kFormat, path,
            fmt::format("{}: expected matrices (rank, in) and (out, rank), got {} and {}",
                        in_quotes(module_of(name, one)), to_string(a.type()), to_string(b.type())));
    }
}

}  // namespace

Adapter load_adapter(const fs::path& folder) {
  Adapter adapter = read_config(folder / kAdapterConfig);
  const fs::path path = folder / kAdapterWeights;
  for (const auto& [name, value] : map_safetensors(path).tensors) {
    if (name.find(".lora_") != std::string::npos && !name.ends_with(kA) && !name.ends_with(kB))
      refuse_adapter(
          ErrorCode::kUnsupported, path,
          fmt::format("{}: expected the matrices of lora_A and lora_B", in_quotes(name)));
    const std::string own = unwrapped(name);
    if (adapter.params.find(own))
      refuse_adapter(ErrorCode::kFormat, path, fmt::format("{} is there twice", in_quotes(own)));
    adapter.params.set(own, value);
  }
  check_pairs(adapter.params, path);
  return adapter;
}

void save_adapter(const fs::path& folder, const Adapter& adapter) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) refuse_adapter(ErrorCode::kIo, folder, error.message());
  Safetensors file;
  std::int64_t rank = 0;
  std::vector<std::string> whole;
  for (const auto& [name, value] : adapter.params) {
    file.tensors.set(wrapped(name), value);
    if (name.ends_with(kA))
      rank = value.shape()[0];
    else if (!name.ends_with(kB))
      whole.push_back(name.substr(0, name.rfind('.')));
  }
  whole.erase(std::unique(whole.begin(), whole.end()), whole.end());
  Json config{{"peft_type", "LORA"},
              {"task_type", adapter.task.empty() ? Json() : Json(adapter.task)},
              {"base_model_name_or_path", adapter.base},
              {"r", rank},
              {"lora_alpha", adapter.alpha},
              {"lora_dropout", 0.0},
              {"target_modules", adapter.targets},
              {"use_rslora", adapter.rank_stabilised},
              {"bias", "none"},
              {"fan_in_fan_out", false},
              {"inference_mode", true},
              {"modules_to_save", whole.empty() ? Json() : Json(whole)}};
  save_safetensors(folder / kAdapterWeights, file);
  const std::string text = config.dump({.indent = 2}) + "\n";
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  write_file_atomically(folder / kAdapterConfig, std::span(&bytes, 1));
}

Model merge_adapter(const Model& model, const Adapter& adapter) {
  Model merged = model;
  for (const auto& [name, value] : adapter.params) {
    const bool is_pair = name.ends_with(kA) || name.ends_with(kB);
    const std::string weight = is_pair ? module_of(name, kA) + ".weight" : name;
    const Tensor* const base = model.params.find(weight);
    if (!base)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("adapter: the model has no parameter {} for {}", in_quotes(weight),
                              in_quotes(name)));
    if (!is_pair) {
      if (base->type() != value.type())
        throw Error(ErrorCode::kShape,
                    fmt::format("adapter: {} is {}, expected {}", in_quotes(name),
                                to_string(value.type()), to_string(base->type())));
      merged.params.set(name, value);
    } else if (name.ends_with(kA)) {
      const Tensor& b = adapter.params.at(module_of(name, kA) + std::string(kB));
      if (base->shape() != Shape{b.shape()[0], value.shape()[1]})
        throw Error(
            ErrorCode::kShape,
            fmt::format("adapter: {} is {}, expected {}", in_quotes(weight),
                        to_string(base->type()), to_string(Shape{b.shape()[0], value.shape()[1]})));
      const auto rank = static_cast<double>(value.shape()[0]);
      const double scale = adapter.alpha / (adapter.rank_stabilised ? std::sqrt(rank) : rank);
      merged.params.set(weight, nn::adapted_weight(*base, value, b, scale));
    }
  }
  return merged;
}

}  // namespace limpid
