// Maps parameter names of Hugging Face's files to those of a Gpt. Llama's names are the same.
#include <algorithm>
#include <array>
#include <utility>

#include "limpid/formats/detail/huggingface.h"

namespace limpid::detail {
namespace {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// A layer of a Gpt's block, and of a GPT-2's.
struct Layer {
  std::string_view ours, theirs;
  bool turned = false;  // Conv1D, whose weight is (in, out)
  int part = 0;
  int parts = 1;
};
constexpr std::array kLayers = {
    Layer{"input_layernorm", "ln_1"},
    Layer{"self_attn.q_proj", "attn.c_attn", true, 0, 3},
    Layer{"self_attn.k_proj", "attn.c_attn", true, 1, 3},
    Layer{"self_attn.v_proj", "attn.c_attn", true, 2, 3},
    Layer{"self_attn.o_proj", "attn.c_proj", true},
    Layer{"post_attention_layernorm", "ln_2"},
    Layer{"mlp.up_proj", "mlp.c_fc", true},
    Layer{"mlp.down_proj", "mlp.c_proj", true},
};

// "layers.3.mlp.up_proj.weight": "3", "mlp.up_proj", "weight".
HuggingFaceTensor of_block(std::string_view parameter) {
  parameter.remove_prefix(parameter.find('.') + 1);
  const std::string_view number = parameter.substr(0, parameter.find('.'));
  parameter.remove_prefix(number.size() + 1);
  const std::size_t dot = parameter.rfind('.');
  const std::string_view layer = parameter.substr(0, dot), kind = parameter.substr(dot + 1);
  const auto found =
      std::find_if(kLayers.begin(), kLayers.end(), [&](const Layer& l) { return l.ours == layer; });
  return {.name = fmt::format("h.{}.{}.{}", number, found->theirs, kind),
          .transposed = found->turned && kind == "weight",
          .part = found->part,
          .parts = found->parts};
}

}  // namespace

HuggingFaceTensor huggingface_tensor(HuggingFaceType type, std::string_view parameter) {
  if (parameter == "lm_head.weight") return {.name = "lm_head.weight", .prefixed = false};
  if (type == HuggingFaceType::kLlama) return {.name = std::string(parameter)};
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"embed_tokens.weight", "wte.weight"},
      {"embed_positions.weight", "wpe.weight"},
      {"norm.weight", "ln_f.weight"},
      {"norm.bias", "ln_f.bias"}};
  for (const auto& [ours, theirs] : kOthers)
    if (parameter == ours) return {.name = std::string(theirs)};
  return of_block(parameter);
}

std::string_view huggingface_prefix(HuggingFaceType type) {
  return type == HuggingFaceType::kGpt2 ? "transformer." : "model.";
}

bool is_huggingface_buffer(HuggingFaceType type, std::string_view name) {
  if (type == HuggingFaceType::kLlama) return ends_with(name, "rotary_emb.inv_freq");
  return ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias");
}

}  // namespace limpid::detail
