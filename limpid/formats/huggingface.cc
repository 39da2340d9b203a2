#include "limpid/formats/huggingface.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_map>

#include "limpid/core/float_mode.h"
#include "limpid/core/half.h"
#include "limpid/core/system_error.h"
#include "limpid/formats/detail/huggingface.h"
#include "limpid/formats/file.h"
#include "limpid/formats/safetensors.h"
#include "limpid/transforms/quantize.h"

namespace limpid {
namespace {

namespace fs = std::filesystem;
using detail::HuggingFaceConfig;
using detail::HuggingFaceTensor;
using detail::Reporter;

constexpr std::size_t kMaxFiles = 1024;

bool is_file(const fs::path& path) {
  std::error_code ignored;  // a path that cannot be asked about is a matter of reading it
  return fs::exists(path, ignored);
}

Reporter reporter_of(const fs::path& path) { return {"hugging face", path.string()}; }

std::string_view text_of(const Tensor& file) {
  const auto bytes = file.values<std::uint8_t>();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Tensor read_json(const fs::path& path) { return read_file(path, detail::kMaxHuggingFaceJson); }

Json json_of_file(const fs::path& path, const Reporter& report) {
  return detail::parse_huggingface_json(text_of(read_json(path)), report);
}

// ---------------------------------------------------------------------------------------------
// The tensors of a folder
// ---------------------------------------------------------------------------------------------

using Tensors = std::map<std::string, Tensor, std::less<>>;

// "weight_map" of the index: the names of tensors by the names of files.
std::map<std::string, std::set<std::string>> files_of(const Json& index, const Reporter& report) {
  const Json* const found = index.find("weight_map");
  if (!found || !found->is_object())
    report.broken("weight_map: expected an object of tensors and their files");
  std::map<std::string, std::set<std::string>> files;
  for (const auto& [tensor, file] : found->members()) {
    if (!file.is_string())
      report.broken("weight_map: {}: expected the name of a file", in_quotes(tensor));
    const auto name = file.as_string();
    if (name.empty() || name == "." || name == ".." ||
        name.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos)
      report.broken("weight_map: {}: {} is not the name of a file in this folder",
                    in_quotes(tensor), in_quotes(name));
    files[name].insert(tensor);
    if (files.size() > kMaxFiles)
      report.unsupported("weight_map: more than {} files are named", kMaxFiles);
  }
  return files;
}

Tensors tensors_of_files(const fs::path& folder) {
  const Reporter report = reporter_of(folder / detail::kHuggingFaceIndex);
  Tensors tensors;
  for (const auto& [file, names] :
       files_of(json_of_file(folder / detail::kHuggingFaceIndex, report), report)) {
    const Params there = map_safetensors(folder / file).tensors;
    std::set<std::string> found;
    for (const auto& [name, tensor] : there) {
      if (!names.contains(name))
        report.broken("weight_map: {} has the tensor {}, which the index does not list",
                      in_quotes(file), in_quotes(name));
      found.insert(name);
      tensors.emplace(name, tensor);
    }
    for (const std::string& name : names)
      if (!found.contains(name))
        report.broken("weight_map: {} has no tensor {}", in_quotes(file), in_quotes(name));
  }
  return tensors;
}

Tensors tensors_of(const fs::path& folder) {
  const fs::path one = folder / detail::kHuggingFaceWeights;
  if (!is_file(one) && is_file(folder / detail::kHuggingFaceIndex)) return tensors_of_files(folder);
  Tensors tensors;
  for (const auto& [name, tensor] : map_safetensors(one).tensors) tensors.emplace(name, tensor);
  return tensors;
}

// ---------------------------------------------------------------------------------------------
// From their tensors to ours
// ---------------------------------------------------------------------------------------------

// The rows of a parameter (out, in), or the elements of a vector, of a tensor that holds them. Made
// of the mapped file when it is read, which a plan that packs it does once.
template <class From, class To>
Tensor turned(const Tensor& tensor, const HuggingFaceTensor& from, const Shape& shape) {
  return Tensor::deferred({dtype_of<To>, shape}, [=](std::span<std::byte> bytes) {
    const std::span<const From> values = tensor.values<From>();
    const std::span<To> to(reinterpret_cast<To*>(bytes.data()), bytes.size() / sizeof(To));
    const auto value = [&](std::size_t i) {
      if constexpr (std::is_same_v<From, To>) {
        return values[i];
      } else {
        return to_f32(values[i]);
      }
    };
    const auto rows = static_cast<std::size_t>(shape[0]);
    const std::size_t columns = rows == 0 ? 0 : to.size() / rows;
    const auto row = [&](std::size_t r) {
      return static_cast<std::size_t>(from.row(static_cast<std::int64_t>(r)));
    };
    if (!from.transposed) {
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) to[r * columns + c] = value(row(r) * columns + c);
    } else {
      const auto stride = static_cast<std::size_t>(from.rows);
      // In squares: reads and writes then stay in the cache.
      constexpr std::size_t kSquare = 32;
      for (std::size_t c0 = 0; c0 < columns; c0 += kSquare)
        for (std::size_t r0 = 0; r0 < rows; r0 += kSquare)
          for (std::size_t r = r0; r < std::min(r0 + kSquare, rows); ++r)
            for (std::size_t c = c0; c < std::min(c0 + kSquare, columns); ++c)
              to[r * columns + c] = value(c * stride + row(r));
    }
    if constexpr (std::is_same_v<To, float>)
      if (from.adds_one)
        for (float& one : to) one += 1;
  });
}

// In the same dtype, and where nothing changes, where it is.
template <class T>
Tensor kept(const Tensor& tensor, const HuggingFaceTensor& from, const Shape& shape) {
  return from.is_same(shape[0]) ? tensor : turned<T, T>(tensor, from, shape);
}

// What quantize() would make bf16: matrices of products.
bool may_be_bf16(const nn::Gpt& net, const Input& parameter) {
  const bool embeds = parameter.name == "embed_tokens.weight" && !net.tied;
  return parameter.type.shape.rank() == 2 && parameter.name != "embed_positions.weight" && !embeds;
}

// The shape in the file of what becomes a parameter of this shape.
Shape shape_in_file(const HuggingFaceTensor& tensor, const Shape& shape) {
  const Shape whole = shape.replace(0, tensor.rows);
  return tensor.transposed ? Shape{whole[1], whole[0]} : whole;
}

class Weights {
 public:
  Weights(const HuggingFaceConfig& config, Tensors tensors, const Reporter& report)
      : config_(config), tensors_(std::move(tensors)), report_(report) {
    const std::string_view prefix = detail::huggingface_prefix(*config.family);
    const auto first = tensors_.lower_bound(prefix);
    if (first != tensors_.end() && first->first.substr(0, prefix.size()) == prefix)
      prefix_ = prefix;
  }

  Params params() {
    Params params;
    for (const Input& parameter : config_.net.parameters())
      params.set(parameter.name, value_of(parameter));
    for (const auto& [name, tensor] : tensors_)
      if (!used_.contains(name) && !is_needless(name))
        report_.broken("the model has no tensor {}", in_quotes(name));
    return params;
  }

 private:
  Tensor value_of(const Input& parameter) {
    const HuggingFaceTensor from = detail::huggingface_tensor(config_, parameter);
    const std::string name = (from.prefixed ? prefix_ : "") + from.name;
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) report_.broken("the tensor {} is missing", in_quotes(name));
    used_.insert(name);
    const Tensor& tensor = found->second;
    const Shape expected = shape_in_file(from, parameter.type.shape);
    if (!(tensor.shape() == expected))
      report_.broken("the tensor {} is {}, expected {}", in_quotes(name), to_string(tensor.shape()),
                     to_string(expected));
    switch (tensor.dtype()) {
      case Dtype::kF32:
        return kept<float>(tensor, from, parameter.type.shape);
      case Dtype::kF16:
        return turned<F16, float>(tensor, from, parameter.type.shape);
      case Dtype::kBf16:
        return may_be_bf16(config_.net, parameter)
                   ? kept<Bf16>(tensor, from, parameter.type.shape)
                   : turned<Bf16, float>(tensor, from, parameter.type.shape);
      default:
        report_.unsupported("the tensor {} is {}; expected f32, f16 or bf16", in_quotes(name),
                            limpid::name(tensor.dtype()));
    }
  }

  // Masks and frequencies, and the head of a model that uses its embedding for one.
  bool is_needless(std::string_view name) const {
    if (config_.net.tied && (name == "lm_head.weight" || name == "embed_out.weight")) return true;
    return detail::is_huggingface_buffer(*config_.family, name);
  }

  const HuggingFaceConfig& config_;
  const Tensors tensors_;
  const Reporter& report_;
  std::string prefix_;
  std::set<std::string, std::less<>> used_;
};

// The most tokens that the function of a model is tried with.
constexpr std::int64_t kMaxLength = std::int64_t{1} << 16;

Function function_that_fits(const nn::Gpt& net, const Params& params) {
  for (std::int64_t length = std::min(net.context, kMaxLength);; length = (length + 1) / 2) {
    Model model{with_narrow_params(net.function(length), params), params, {}};
    if (length == 1 || example_bytes(model) <= kMaxExampleBytes) return model.function;
  }
}

// ---------------------------------------------------------------------------------------------
// From ours to theirs
// ---------------------------------------------------------------------------------------------

// A parameter in f32; one that a net without biases does not have is zeros.
Tensor parameter_or_zeros(const Params& params, const Input& parameter) {
  const Tensor* const found = params.find(parameter.name);
  if (!found) return Tensor::zeros(parameter.type);
  if (found->type() == Type{Dtype::kBf16, parameter.type.shape})
    return turned<Bf16, float>(*found, {.name = "", .rows = parameter.type.shape[0]},
                               parameter.type.shape);
  if (!(found->type() == parameter.type))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("the parameter {} is {}, expected {}", in_quotes(parameter.name),
                            to_string(found->type()), to_string(parameter.type)));
  return *found;
}

// Writes the rows of a parameter into a tensor of theirs: turned(), the other way.
void put(const Tensor& ours, const HuggingFaceTensor& to, std::span<float> theirs) {
  const std::span<const float> from = ours.values<float>();
  const auto rows = static_cast<std::size_t>(ours.shape()[0]);
  const std::size_t columns = rows == 0 ? 0 : from.size() / rows;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = static_cast<std::size_t>(to.row(static_cast<std::int64_t>(r)));
    for (std::size_t c = 0; c < columns; ++c)
      theirs[to.transposed ? c * static_cast<std::size_t>(to.rows) + row : row * columns + c] =
          from[r * columns + c];
  }
}

Params their_tensors(const HuggingFaceConfig& config, const Params& params) {
  const std::vector<Input> parameters = config.net.parameters();
  const std::string prefix(detail::huggingface_prefix(*config.family));
  Params tensors;
  for (const Input& parameter : parameters) {
    const HuggingFaceTensor to = detail::huggingface_tensor(config, parameter);
    if (to.first > 0) continue;  // goes into the tensor of the first part
    const std::string name = (to.prefixed ? prefix : "") + to.name;
    if (to.is_same(parameter.type.shape[0])) {
      tensors.set(name, parameter_or_zeros(params, parameter));
      continue;
    }
    const Shape shape = shape_in_file(to, parameter.type.shape);
    tensors.set(name, Tensor::generate<float>(shape, [&](std::span<float> out) {
                  for (const Input& one : parameters) {
                    const HuggingFaceTensor part = detail::huggingface_tensor(config, one);
                    if (part.name == to.name) put(parameter_or_zeros(params, one), part, out);
                  }
                }));
  }
  return tensors;
}

// Of a model that is to be written.
nn::Gpt net_of(const Model& model) {
  try {
    return nn::Gpt::from_config(model.config);
  } catch (const Error& e) {
    const Json config = Json::try_parse(model.config).value_or(Json::object());
    const Json* const kind = config.find("model");
    const bool other = kind && kind->is_string() && kind->as_string() != "gpt";
    throw Error(
        e.code(),
        fmt::format(
            "expected a transformer (gpt) to write as a Hugging Face folder, got {}",
            other ? fmt::format("the architecture {}", in_quotes(kind->as_string())) : e.what()));
  }
}

}  // namespace

bool is_huggingface(const fs::path& folder) {
  const fs::path path = folder / detail::kHuggingFaceConfig;
  if (!is_file(path)) return false;
  try {
    const Json json = json_of_file(path, reporter_of(path));
    return json.contains("model_type");
  } catch (const Error&) {
    return false;  // whatever it is, it is none
  }
}

Model load_huggingface(const fs::path& folder, std::int64_t length) {
  const DefaultFloatMode mode;
  const fs::path path = folder / detail::kHuggingFaceConfig;
  const Reporter report = reporter_of(path);
  const HuggingFaceConfig config = huggingface_config(text_of(read_json(path)), report);
  if (length < 0 || length > config.net.context)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("hugging face {0}: expected a length of 1 to {2}, the context length, got {1}",
                    in_quotes(folder.string()), length, config.net.context));
  const Reporter of_folder = reporter_of(folder);
  Params params = Weights(config, tensors_of(folder), of_folder).params();
  Function function = length == 0 ? function_that_fits(config.net, params)
                                  : with_narrow_params(config.net.function(length), params);
  Model model{std::move(function), std::move(params), config.net.config()};
  check_model(model);
  return model;
}

void save_huggingface(const fs::path& folder, const Model& model,
                      std::optional<std::int32_t> eos_token) {
  const DefaultFloatMode mode;
  nn::Gpt net = net_of(model);
  const detail::HuggingFaceFamily& family = detail::huggingface_family(net);
  if (is_gpt2(family)) net.bias = true;
  const HuggingFaceConfig config{&family, std::move(net)};
  const Safetensors weights{their_tensors(config, model.params), {{"format", "pt"}}};
  const std::string json = detail::huggingface_json(config, eos_token).dump({.indent = 2}) + "\n";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw SystemError(error.value(),
                      fmt::format("make {}: {}", in_quotes(folder.string()), error.message()));
  save_safetensors(folder / detail::kHuggingFaceWeights, weights);
  const std::span<const std::byte> text = std::as_bytes(std::span(json));
  write_file_atomically(folder / detail::kHuggingFaceConfig, {&text, 1});
}

}  // namespace limpid
