// Shared by reading and writing of Hugging Face folders. Depends on nn; included only by sources.
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

// The maximum size of a JSON file in bytes.
inline constexpr std::uint64_t kMaxHuggingFaceJson = std::uint64_t{12} << 20;
// Parses JSON. Throws by the reporter if it is malformed.
Json parse_huggingface_json(std::string_view text, const Reporter& report);

// Converts config.json to a net, and a net to config.json. Throw as load_huggingface and
// save_huggingface.
HuggingFaceConfig huggingface_config(std::string_view text, const Reporter& report);
Json huggingface_json(const HuggingFaceConfig& config, std::optional<std::int32_t> eos_token);

// The model type of a net. Throws kUnsupported, naming the option that no model type has.
HuggingFaceType huggingface_type(const nn::Gpt& net);

// The tensor of a file that holds a parameter of a Gpt.
struct HuggingFaceTensor {
  std::string name;         // without the prefix
  bool prefixed = true;     // whether it may have the prefix
  bool transposed = false;  // stored as (in, out) instead of (out, in)
  int part = 0;             // index among `parts`, along the output dimension
  int parts = 1;
};
HuggingFaceTensor huggingface_tensor(HuggingFaceType type, std::string_view parameter);

// "transformer." or "model.".
std::string_view huggingface_prefix(HuggingFaceType type);

// Whether a tensor, named without the prefix, is not a parameter but a buffer: masks, frequencies.
bool is_huggingface_buffer(HuggingFaceType type, std::string_view name);

}  // namespace limpid::detail
