// Shared by reading and writing of Hugging Face folders. Depends on nn; included only by sources.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/formats/detail/report.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/text_encoder.h"

namespace limpid::detail {

inline constexpr const char* kHuggingFaceConfig = "config.json";
inline constexpr const char* kHuggingFaceWeights = "model.safetensors";
inline constexpr const char* kHuggingFaceIndex = "model.safetensors.index.json";

class HuggingFaceKeys;

// What sets a family of models apart: a row of huggingface_families.cc.
struct HuggingFaceFamily;

struct HuggingFaceConfig {
  const HuggingFaceFamily* family;
  nn::Gpt net;
};

// The maximum size of a JSON file in bytes.
inline constexpr std::uint64_t kMaxHuggingFaceJson = std::uint64_t{12} << 20;
// Parses JSON. Throws by the reporter if it is malformed.
Json parse_huggingface_json(std::string_view text, const Reporter& report);

// Converts config.json to a net, and a net to config.json. Throw as load_huggingface and
// save_huggingface.
HuggingFaceConfig huggingface_config(const HuggingFaceKeys& keys);
Json huggingface_json(const HuggingFaceConfig& config, std::optional<std::int32_t> eos_token);

// GPT-2's or Llama's, whichever a net is. Throws kUnsupported, naming the option that neither has.
const HuggingFaceFamily& huggingface_family(const nn::Gpt& net);
// Whether a model is a GPT-2, not a Llama.
bool is_gpt2(const HuggingFaceFamily& family);

// The tensor of a file that holds a parameter.
struct HuggingFaceTensor {
  std::string name;         // without the prefix
  bool prefixed = true;     // whether it may have the prefix
  bool transposed = false;  // stored as (in, out) instead of (out, in)
  bool adds_one = false;    // stored less 1
  // Row r of the parameter is row first + r / block * stride + r % block of `rows`.
  std::int64_t first = 0, block = 1, stride = 1, rows = 0;

  std::int64_t row(std::int64_t r) const { return first + r / block * stride + r % block; }
  // Whether it is the parameter, as it is.
  bool is_same(std::int64_t parameter_rows) const {
    return !transposed && !adds_one && rows == parameter_rows;
  }
};
HuggingFaceTensor huggingface_tensor(const HuggingFaceConfig& config, const Input& parameter);

// "layers.3.mlp.up_proj.weight" is block "layers.3.", with the family's name for the blocks, layer
// "mlp.up_proj", kind "weight".
struct HuggingFaceName {
  std::string block;
  std::string_view layer, kind;
};
HuggingFaceName huggingface_name(std::string_view parameter, std::string_view blocks);

// Such as "transformer." or "model.".
std::string_view huggingface_prefix(const HuggingFaceFamily& family);

// Whether a tensor, named without the prefix, is not a parameter but a buffer: masks, frequencies.
bool is_huggingface_buffer(const HuggingFaceFamily& family, std::string_view name);

// The values of an object under their keys; one that is not there, or null, is the default.
class HuggingFaceKeys {
 public:
  HuggingFaceKeys(const Json& json, const Reporter& report);

  bool has(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }
  const Json& at(const char* key) const { return json_.at(key); }
  const Reporter& report() const { return report_; }

  std::int64_t integer(const char* key, std::int64_t otherwise,
                       std::int64_t most = nn::Gpt::kMaxSize) const;
  double number(const char* key, double otherwise) const;
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key, std::string_view otherwise) const;
  std::vector<double> numbers(const char* key) const;
  // Refuses a key that would make it another model.
  void must_be(const char* key, bool value) const;
  void must_be_absent(const char* key) const;
  // Refuses a file without one of these.
  void must_have(std::initializer_list<const char*> keys) const;
  [[noreturn]] void expected(const char* key, std::string_view what) const;

 private:
  const Json& json_;
  const Reporter& report_;
};

// The families by model_type.
struct HuggingFaceFamily {
  // Which rows of a tensor are those of a parameter.
  enum class Rows : std::uint8_t {
    kAll,
    kQueries,  // queries, keys and values, one after the other
    kKeys,
    kValues,
    kQueriesByHead,  // those of each head, one after the other
    kKeysByHead,
    kValuesByHead,
    kFirstHalf,
    kSecondHalf,
    kFromTwo  // after two rows of something else
  };
  // A layer of a Gpt, and of the family.
  struct Layer {
    std::string_view ours, theirs;
    Rows rows = Rows::kAll;
    bool turned = false;  // Conv1D, whose weight is (in, out)
  };

  std::string_view type;
  nn::Gpt (*read)(const HuggingFaceKeys& keys);
  std::string_view prefix = "model.";
  std::string_view blocks = "layers";
  bool norms_add_one = false;
  std::span<const Layer> layers = {};  // of a block and outside of it, where they have other names
  std::span<const std::string_view> buffers = kUsualBuffers;  // ends of names
  static constexpr std::string_view kUsualBuffers[] = {"rotary_emb.inv_freq"};
};
std::span<const HuggingFaceFamily> huggingface_families();

// The families of encoders by model_type.
struct HuggingFaceEncoder {
  using Layer = HuggingFaceFamily::Layer;

  std::string_view type;
  nn::TextEncoder (*read)(const HuggingFaceKeys& keys);
  std::string_view prefix;
  std::string_view blocks = "encoder.layer";
  std::span<const std::span<const Layer>> layers = {};  // the first table with a layer has its name
};
std::span<const HuggingFaceEncoder> huggingface_encoders();
HuggingFaceTensor huggingface_tensor(const HuggingFaceEncoder& family, const Input& parameter);
// Whether a tensor, named without the prefix, is no part of a TextEncoder.
bool is_left_out_of_encoders(std::string_view name);
// The names of the classes; empty if config.json has none.
std::vector<std::string> huggingface_labels(const HuggingFaceKeys& keys, std::int64_t classes);
// Of the config.json of sentence-transformers' module Pooling.
void read_pooling(const HuggingFaceKeys& keys, nn::TextEncoder& net);

}  // namespace limpid::detail
