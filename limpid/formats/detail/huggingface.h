// What reading and writing of Hugging Face's folders share. Leans on nn; included by sources alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/formats/detail/report.h"
#include "limpid/nn/gpt.h"

namespace limpid::detail {

inline constexpr const char* kHuggingFaceConfig = "config.json";
inline constexpr const char* kHuggingFaceWeights = "model.safetensors";
inline constexpr const char* kHuggingFaceIndex = "model.safetensors.index.json";

enum class HuggingFaceType { kGpt2, kLlama };

struct HuggingFaceConfig {
  HuggingFaceType type;
  nn::Gpt net;
};

// The most bytes of a folder's JSON.
inline constexpr std::uint64_t kMaxHuggingFaceJson = std::uint64_t{12} << 20;
// Throws as the report does where it is none.
Json parse_huggingface_json(std::string_view text, const Reporter& report);

// The text of config.json to a net, and a net to it. Throws as huggingface.h says.
HuggingFaceConfig huggingface_config(std::string_view text, const Reporter& report);
Json huggingface_json(const HuggingFaceConfig& config);

// The model type whose choices are those of a net. Throws kUnsupported, naming the choice.
HuggingFaceType huggingface_type(const nn::Gpt& net);

// Where a parameter of a Gpt is found.
struct HuggingFaceTensor {
  std::string name;         // behind the prefix
  bool prefixed = true;     // whether there may be one
  bool transposed = false;  // (in, out) for our (out, in)
  int part = 0;             // of `parts` along the dimension of outputs
  int parts = 1;
};
HuggingFaceTensor huggingface_tensor(HuggingFaceType type, std::string_view parameter);

// "transformer." or "model.".
std::string_view huggingface_prefix(HuggingFaceType type);

// Whether a tensor of such files, named behind the prefix, is no parameter: masks, frequencies.
bool is_huggingface_buffer(HuggingFaceType type, std::string_view name);

}  // namespace limpid::detail
