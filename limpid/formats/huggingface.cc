#include "limpid/formats/huggingface.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
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

// Whether it leads to nothing outside of a folder.
bool is_name_in_folder(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

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
    if (!is_name_in_folder(name))
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

// The parameters of a net, and where the files of a family have them.
struct Layout {
  std::vector<Input> parameters;
  std::string_view prefix;
  std::function<HuggingFaceTensor(const Input& parameter)> tensor;
  std::function<bool(std::string_view name)> is_needless;  // named without the prefix
  std::function<bool(const Input& parameter)> may_be_bf16;
};

Layout layout_of(const HuggingFaceConfig& config) {
  return {.parameters = config.net.parameters(),
          .prefix = detail::huggingface_prefix(*config.family),
          .tensor = [config](const Input& p) { return detail::huggingface_tensor(config, p); },
          // Masks and frequencies, and the head of a model that uses its embedding for one.
          .is_needless =
              [config](std::string_view name) {
                const bool head = name == "lm_head.weight" || name == "embed_out.weight";
                return (config.net.tied && head) ||
                       detail::is_huggingface_buffer(*config.family, name);
              },
          // What quantize() would make bf16: matrices of products.
          .may_be_bf16 =
              [tied = config.net.tied](const Input& parameter) {
                const bool embeds = parameter.name == "embed_tokens.weight" && !tied;
                return parameter.type.shape.rank() == 2 &&
                       parameter.name != "embed_positions.weight" && !embeds;
              }};
}

Layout layout_of(const detail::HuggingFaceEncoder& family, const nn::TextEncoder& net) {
  return {.parameters = net.parameters(),
          .prefix = family.prefix,
          .tensor = [&family](const Input& p) { return detail::huggingface_tensor(family, p); },
          .is_needless = detail::is_left_out_of_encoders,
          .may_be_bf16 =
              [](const Input& parameter) {
                return parameter.type.shape.rank() == 2 && !parameter.name.starts_with("embed_");
              }};
}

// The shape in the file of what becomes a parameter of this shape.
Shape shape_in_file(const HuggingFaceTensor& tensor, const Shape& shape) {
  const Shape whole = shape.replace(0, tensor.rows);
  return tensor.transposed ? Shape{whole[1], whole[0]} : whole;
}

class Weights {
 public:
  Weights(Layout layout, Tensors tensors, const Reporter& report)
      : layout_(std::move(layout)), tensors_(std::move(tensors)), report_(report) {
    const auto first = tensors_.lower_bound(layout_.prefix);
    if (first != tensors_.end() && first->first.starts_with(layout_.prefix))
      prefix_ = layout_.prefix;
  }

  Params params() {
    Params params;
    for (const Input& parameter : layout_.parameters)
      params.set(parameter.name, value_of(parameter));
    for (const auto& [name, tensor] : tensors_)
      if (!used_.contains(name) && !layout_.is_needless(without_prefix(name)))
        report_.broken("the model has no tensor {}", in_quotes(name));
    return params;
  }

 private:
  std::string_view without_prefix(std::string_view name) const {
    return name.starts_with(prefix_) ? name.substr(prefix_.size()) : name;
  }

  // The first files of BERT call the weight and the bias of a norm gamma and beta.
  Tensors::const_iterator find(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found != tensors_.end()) return found;
    for (const auto& [now, before] : {std::pair("LayerNorm.weight", "LayerNorm.gamma"),
                                      std::pair("LayerNorm.bias", "LayerNorm.beta")})
      if (name.ends_with(now))
        return tensors_.find(name.substr(0, name.size() - std::string_view(now).size()) + before);
    return found;
  }

  Tensor value_of(const Input& parameter) {
    const HuggingFaceTensor from = layout_.tensor(parameter);
    const std::string name = (from.prefixed ? prefix_ : "") + from.name;
    const auto found = find(name);
    if (found == tensors_.end()) report_.broken("the tensor {} is missing", in_quotes(name));
    used_.insert(found->first);
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
        return layout_.may_be_bf16(parameter)
                   ? kept<Bf16>(tensor, from, parameter.type.shape)
                   : turned<Bf16, float>(tensor, from, parameter.type.shape);
      default:
        report_.unsupported("the tensor {} is {}; expected f32, f16 or bf16", in_quotes(name),
                            limpid::name(tensor.dtype()));
    }
  }

  const Layout layout_;
  const Tensors tensors_;
  const Reporter& report_;
  std::string prefix_;
  std::set<std::string, std::less<>> used_;
};

// The most tokens that the function of a model is tried with.
constexpr std::int64_t kMaxLength = std::int64_t{1} << 16;

template <class Net>
Function function_that_fits(const Net& net, const Params& params) {
  for (std::int64_t length = std::min(net.context, kMaxLength);; length = (length + 1) / 2) {
    Model model{with_narrow_params(net.function(length), params), params, {}};
    if (length == 1 || example_bytes(model) <= kMaxExampleBytes) return model.function;
  }
}

// The model of a net with the tensors of a folder.
template <class Net>
Model model_of(const fs::path& folder, const Net& net, Layout layout, std::int64_t length) {
  if (length < 0 || length > net.context)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("hugging face {0}: expected a length of 1 to {2}, the context length, got {1}",
                    in_quotes(folder.string()), length, net.context));
  const Reporter of_folder = reporter_of(folder);
  Params params = Weights(std::move(layout), tensors_of(folder), of_folder).params();
  Function function = length == 0 ? function_that_fits(net, params)
                                  : with_narrow_params(net.function(length), params);
  return {std::move(function), std::move(params), net.config()};
}

// What sentence-transformers adds to a model: how the vectors of tokens become that of the text.
void read_sentence_files(const fs::path& folder, nn::TextEncoder& net) {
  if (const fs::path path = folder / "sentence_bert_config.json"; is_file(path)) {
    const Reporter report = reporter_of(path);
    const Json json = json_of_file(path, report);
    const detail::HuggingFaceKeys keys(json, report);
    keys.must_be("do_lower_case", false);
    net.context = std::min(net.context, keys.integer("max_seq_length", net.context));
  }
  const fs::path path = folder / "modules.json";
  if (!is_file(path)) return;
  const Reporter report = reporter_of(path);
  const Json modules = json_of_file(path, report);
  if (!modules.is_array()) report.broken("expected a list of modules");
  for (const Json& module : modules.elements()) {
    const detail::HuggingFaceKeys keys(module, report);
    const std::string type = keys.text("type", ""), at = keys.text("path", "");
    const std::string kind = type.substr(type.rfind('.') + 1);
    if (kind == "Transformer" && at.empty()) continue;
    if (kind == "Normalize") {
      net.normalize = true;
      continue;
    }
    if (kind != "Pooling")
      report.unsupported(
          "the module {} in {}, expected a Transformer in this folder, Pooling and "
          "Normalize",
          in_quotes(type), in_quotes(at));
    if (!is_name_in_folder(at))
      report.broken("path: {} is not the name of a folder in this folder", in_quotes(at));
    const fs::path pooling = folder / at / detail::kHuggingFaceConfig;
    const Reporter of_pooling = reporter_of(pooling);
    const Json json = json_of_file(pooling, of_pooling);
    detail::read_pooling(detail::HuggingFaceKeys(json, of_pooling), net);
  }
}

Model load_encoder(const fs::path& folder, const detail::HuggingFaceEncoder& family,
                   const detail::HuggingFaceKeys& keys, std::int64_t length) {
  keys.must_be_absent("quantization_config");
  nn::TextEncoder net = family.read(keys);
  try {
    net.check();
  } catch (const Error& e) {
    keys.report().broken("{}", e.what());
  }
  const std::int64_t rows = net.context;
  read_sentence_files(folder, net);
  // The table of positions has rows for longer texts, which are left out.
  Layout layout = layout_of(family, net);
  layout.tensor = [&family, rows](const Input& parameter) {
    HuggingFaceTensor tensor = detail::huggingface_tensor(family, parameter);
    if (parameter.name == "embed_positions.weight") tensor.rows += rows - parameter.type.shape[0];
    return tensor;
  };
  Model model = model_of(folder, net, std::move(layout), length);
  if (const auto labels = detail::huggingface_labels(keys, net.classes); !labels.empty()) {
    Json config = Json::parse(model.config);
    config["labels"] = labels;
    model.config = config.dump();
  }
  return model;
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
  const Json json = json_of_file(path, report);
  const detail::HuggingFaceKeys keys(json, report);
  const std::string type = keys.text("model_type", "");
  for (const detail::HuggingFaceEncoder& family : detail::huggingface_encoders())
    if (family.type == type) {
      Model model = load_encoder(folder, family, keys, length);
      check_model(model);
      return model;
    }
  const HuggingFaceConfig config = detail::huggingface_config(keys);
  Model model = model_of(folder, config.net, layout_of(config), length);
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
