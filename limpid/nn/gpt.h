// Gpt: a decoder-only transformer language model. Its blocks are pre-norm by default: x +
// attention(norm(x)), then x + feed_forward(norm(x)). The options cover the choices of GPT-2
// (Radford et al. 2019), Llama (Touvron et al. 2023) and the families since.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/enum_names.h"
#include "limpid/function/function.h"
#include "limpid/nn/linear.h"
#include "limpid/nn/rotary.h"

namespace limpid::nn {

// Normalisation in the blocks: "layer", "rms".
enum class GptNorm : std::uint8_t { kLayer, kRms };
constexpr EnumNames<2> enum_names(GptNorm) { return {"norm", {"layer", "rms"}}; }
// Feed-forward networks: an activation, or, of the names that end in "glu" or "glu_tanh", a gated
// one.
enum class GptFeedForward : std::uint8_t { kGelu, kGeluTanh, kSwiglu, kRelu, kGeglu, kGegluTanh };
constexpr EnumNames<6> enum_names(GptFeedForward) {
  return {"feed-forward layer", {"gelu", "gelu_tanh", "swiglu", "relu", "geglu", "geglu_tanh"}};
}
// Position encoding: "learned", "rotary".
enum class GptPositions : std::uint8_t { kLearned, kRotary };
constexpr EnumNames<2> enum_names(GptPositions) { return {"positions", {"learned", "rotary"}}; }
// Norms of queries and keys, by the root mean square: of each head (Qwen 3), or of all heads
// together (OLMo 2).
enum class GptHeadNorm : std::uint8_t { kNone, kEach, kAll };
constexpr EnumNames<3> enum_names(GptHeadNorm) {
  return {"norm of queries and keys", {"none", "each", "all"}};
}
// How a block rotates queries and keys: by the base of the net, by its local base, or not at all.
enum class GptRotation : std::uint8_t { kGlobal, kLocal, kNone };
constexpr EnumNames<3> enum_names(GptRotation) { return {"rotation", {"global", "local", "none"}}; }
using limpid::name;

// The hyper-parameters.
struct Gpt {
  // Upper bounds: a configuration is untrusted input.
  static constexpr std::int64_t kMaxLayers = 1024;
  static constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;  // of all other sizes

  std::int64_t vocabulary = 0;  // number of tokens
  std::int64_t context = 64;    // context length in tokens
  std::int64_t layers = 4;
  std::int64_t width = 128;   // model dimension: size of a token's vector between blocks
  std::int64_t heads = 4;     // query heads
  std::int64_t kv_heads = 0;  // key/value heads (grouped-query attention); 0: as many as heads
  std::int64_t hidden = 0;    // hidden size of the feed-forward; 0: 4 * width, or with SwiGLU 8/3 *
                              // width, for equal parameter counts
  GptNorm norm = GptNorm::kLayer;
  double norm_eps = 1e-5;
  GptFeedForward feed_forward = GptFeedForward::kGelu;
  GptPositions positions = GptPositions::kLearned;
  double rotary_base = 10000;
  std::optional<RotaryScaling> rotary_scaling = {};
  bool bias = false;  // biases of the projections; a layer norm always has one
  bool tied = true;   // tied embeddings: the output projection is the embedding table
  // Dropout rate, in training only: of the embeddings and of each attention and feed-forward
  // output.
  double dropout = 0;

  // ---- what other families than GPT-2 and Llama have

  std::int64_t head_size = 0;  // dimension of a head; 0: width / heads
  bool query_bias = false;     // biases of q_proj, k_proj and v_proj, as `bias` has them
  bool output_bias = false;    // of o_proj
  bool feed_forward_bias = false;
  bool head_bias = false;    // of the output projection, which is then not tied
  bool pre_norm = true;      // the norms before attention and feed-forward
  bool post_norm = false;    // norms of their results, before they are added to x
  bool parallel = false;     // x + attention(norm(x)) + feed_forward(norm(x)) (GPT-NeoX)
  bool shared_norm = false;  // in parallel blocks: one norm for both
  GptHeadNorm head_norm = GptHeadNorm::kNone;
  std::int64_t rotary_size = 0;  // elements of a head that are rotated; 0: all
  // Divides the frequency of each pair, none: by 1; factor of sines and cosines (YaRN: Peng et al.
  // 2023; LongRoPE: Ding et al. 2024).
  std::vector<double> rotary_divisors = {};
  double rotary_gain = 1;
  double local_rotary_base = 10000;         // of the blocks with a local rotation
  std::vector<GptRotation> rotations = {};  // of each block; none: all global
  double embedding_scale = 1;               // factor of the embedding of tokens
  double residual_scale = 1;                // of what a block adds to x
  double attention_scale = 0;  // of the products of queries and keys; 0: 1 / sqrt(head)
  double logit_scale = 1;
  double logit_cap = 0;  // logits become cap tanh(logits / cap); 0: they stay

  std::int64_t head() const { return head_size > 0 ? head_size : width / heads; }
  std::int64_t rotated() const { return rotary_size > 0 ? rotary_size : head(); }
  // The rotation of a block.
  GptRotation rotation(std::size_t block) const {
    return rotations.empty() ? GptRotation::kGlobal : rotations.at(block);
  }
  std::int64_t key_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  std::int64_t hidden_width() const;  // hidden size of the feed-forward

  // Throws kInvalidArgument for a size below 1 or above its bound, and for sizes that do not match.
  void check() const;

  // The parameters, under Llama's names:
  //   embed_tokens.weight (vocabulary, width), embed_positions.weight (context, width) if they
  //   are learned; for block i, under "layers.i.", input_layernorm.weight (and .bias),
  //   self_attn.{q,k,v,o}_proj.weight (and .bias), post_attention_layernorm.weight,
  //   mlp.gate_proj.weight (gated), mlp.up_proj.weight, mlp.down_proj.weight; with norms of queries
  //   and keys self_attn.{q,k}_norm.weight; with post_norm attention_output_layernorm.weight and
  //   mlp_output_layernorm.weight; norm.weight; lm_head.weight (vocabulary, width) if it is not
  //   tied, and lm_head.bias.
  // Weights are initialised by normal(0.02), projections into the residual stream by
  // depth_scaled_normal(layers).
  Params init(Key key) const;

  // ids i32 or i64 (..., length), length <= context, to logits (..., length, vocabulary). The
  // logits at a position depend on the ids up to that position. Dropout is active if a key (i64
  // scalar) is given. Throws kShape.
  Value operator()(const Args& params, Value ids, std::optional<Value> key = {}) const;

  // The model of one example, without dropout. Inputs: the parameters, then "tokens" i32[length]
  // (length 0 means the context length). Output: "logits" f32[length, vocabulary].
  Function function(std::int64_t length = 0) const;

  // The names and types of the parameters, without initialising them.
  std::vector<Input> parameters() const;

  // ---- with a KV cache; limpid/nn/language_model.h runs it

  // The sizes of one pass with caches.
  struct Chunk {
    std::int64_t sequences = 1;
    std::int64_t length = 1;    // tokens of each sequence in this pass
    std::int64_t capacity = 0;  // tokens that each cache can hold; 0: the context length
    bool last = false;          // only the logits of one token of each sequence
  };

  // The caches of block i: "layers.i.self_attn.keys" (sequences, kv_heads, head, capacity) and
  // "layers.i.self_attn.values" (sequences, kv_heads, capacity, head).
  std::vector<Input> caches(const Chunk& chunk) const;

  // One pass over the next tokens of each sequence. Inputs: the parameters; "tokens" i32
  // [sequences, length]; "positions" i32 [sequences], the number of tokens already in each cache;
  // with `last`, "lengths" i32 [sequences], the number of valid tokens in each row; the caches.
  // Outputs: "logits" f32 [sequences, length, vocabulary], or with `last` f32 [sequences,
  // vocabulary], those after token lengths - 1; and the updated caches. The logits of a token have
  // the bits of function(), whatever the other sequences and however the tokens were split into
  // chunks. Throws kInvalidArgument.
  Function cached_function(const Chunk& chunk) const;

  // The hyper-parameters as JSON, and from JSON. from_config throws kParse,
  // kInvalidArgument, or kNotFound for an unknown name.
  std::string config() const;
  static Gpt from_config(std::string_view json);
};

// The choices of GPT-2 and of Llama. All sizes are those of a default Gpt; set your own.
Gpt gpt2_shaped();   // layer norm, GELU (tanh), learned positions, biases, tied
Gpt llama_shaped();  // RMS norm, SwiGLU, rotary positions, no biases, not tied

}  // namespace limpid::nn
