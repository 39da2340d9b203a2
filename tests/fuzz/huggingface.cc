// The folder of a language model: config.json, a zero byte, the index or nothing, a zero byte, and
// safetensors.
#include "limpid/formats/huggingface.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "limpid/formats/detail/huggingface.h"
#include "limpid/formats/safetensors.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/text_encoder.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

constexpr const char* kShard = "a.safetensors";

Bytes packed(std::string_view config, std::string_view index, std::span<const std::byte> weights) {
  Bytes all = bytes_of(std::string(config) + '\0' + std::string(index) + '\0');
  all.insert(all.end(), weights.begin(), weights.end());
  return all;
}

void read(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  const std::size_t first = std::min(text.find('\0'), text.size());
  const std::size_t second = std::min(text.find('\0', first + 1), text.size());
  const std::string_view config = text.substr(0, first);
  const std::string_view index =
      first < second ? text.substr(first + 1, second - first - 1) : std::string_view();
  const auto weights = bytes.subspan(std::min(second + 1, bytes.size()));
  const TemporaryFolder folder;
  folder.write("config.json", bytes_of(config));
  if (!index.empty()) folder.write("model.safetensors.index.json", bytes_of(index));
  folder.write(index.empty() ? "model.safetensors" : kShard, weights);
  const Model model = load_huggingface(folder.path());
  for (const auto& [name, tensor] : model.params) touch(tensor);
  const TemporaryFolder out;
  save_huggingface(out.path(), model);
  const Model back = load_huggingface(out.path());
  require(back.config == model.config && back.function == model.function,
          "a model is read as it was written");
}

// A folder of each family of encoders, with classes.
std::vector<Bytes> encoder_seeds() {
  std::vector<Bytes> all;
  for (const detail::HuggingFaceEncoder& family : detail::huggingface_encoders()) {
    const std::string config = fmt::format(
        R"({{"model_type":"{}","architectures":["XForSequenceClassification"],"vocab_size":5,)"
        R"("max_position_embeddings":6,"num_hidden_layers":1,"hidden_size":4,"n_layers":1,"dim":4,)"
        R"("num_attention_heads":2,"intermediate_size":6,"n_heads":2,"hidden_dim":6,)"
        R"("layer_norm_eps":1e-5,"id2label":{{"0":"a","1":"b"}}}})",
        family.type);
    const Json json = Json::parse(config);
    const detail::Reporter report("fuzz", "seed");
    const nn::TextEncoder net = family.read(detail::HuggingFaceKeys(json, report));
    Params tensors;
    for (const Input& parameter : net.parameters()) {
      const detail::HuggingFaceTensor tensor = detail::huggingface_tensor(family, parameter);
      tensors.set((tensor.prefixed ? std::string(family.prefix) : "") + tensor.name,
                  Tensor::zeros({Dtype::kF32, parameter.type.shape.replace(0, tensor.rows)}));
    }
    const TemporaryFolder folder;
    save_safetensors(folder.path() / "seed", {std::move(tensors), {}});
    all.push_back(packed(config, "", file_bytes(folder.path() / "seed")));
  }
  return all;
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all = encoder_seeds();
  nn::Gpt gpt2 = nn::gpt2_shaped(), llama = nn::llama_shaped();
  llama.kv_heads = 1;
  for (nn::Gpt net : {gpt2, llama}) {
    net.vocabulary = 5;
    net.context = net.width = 4;
    net.heads = 2;
    net.layers = 1;
    const TemporaryFolder folder;
    save_huggingface(folder.path(), {net.function(), net.init(Key(1)), net.config()});
    const Bytes weights = file_bytes(folder.path() / "model.safetensors");
    const std::string config(text_of(file_bytes(folder.path() / "config.json")));
    std::vector<std::string> places;
    for (const auto& [name, tensor] : parse_safetensors(weights, "seed").tensors)
      places.push_back("\"" + name + "\":\"" + kShard + "\"");
    all.push_back(packed(config, "", weights));
    all.push_back(
        packed(config, fmt::format(R"({{"weight_map":{{{}}}}})", fmt::join(places, ",")), weights));
  }
  return all;
}

std::vector<std::string> words() {
  return {"\"weight_map\"",
          "\"model_type\"",
          "\"gpt2\"",
          "\"llama\"",
          "\"bert\"",
          "\"mpnet\"",
          "\"id2label\"",
          "\"relative_attention_num_buckets\"",
          "\"n_layer\"",
          "\"n_embd\"",
          "\"n_inner\"",
          "\"tie_word_embeddings\"",
          "\"rope_scaling\"",
          "\"rope_type\"",
          "\"llama3\"",
          "\"factor\"",
          "\"lm_head.weight\"",
          "../",
          "null",
          "true",
          "false",
          "-1",
          "1e300",
          "16777216",
          "18446744073709551615"};
}

}  // namespace

const Target& huggingface() {
  static const Target target{"huggingface", read, seeds, words};
  return target;
}

}  // namespace limpid::fuzz
