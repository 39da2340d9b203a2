// Gpt: a transformer that goes on with tokens. Pre-norm blocks, x + attention(norm(x)), then
// x + feed_forward(norm(x)), with the choices that GPT-2 (Radford et al. 2019) and Llama (Touvron
// et al. 2023) make differently.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/function/function.h"
#include "limpid/nn/linear.h"
#include "limpid/nn/rotary.h"

namespace limpid::nn {

// What norms the blocks have: "layer", "rms".
enum class GptNorm : std::uint8_t { kLayer, kRms };
// What their feed-forwards are: "gelu", "gelu_tanh", "swiglu".
enum class GptFeedForward : std::uint8_t { kGelu, kGeluTanh, kSwiglu };
// How they know of positions: "learned", "rotary".
enum class GptPositions : std::uint8_t { kLearned, kRotary };

// The hyper-parameters.
struct Gpt {
  // More than any net has: a configuration may be anybody's.
  static constexpr std::int64_t kMaxLayers = 1024;
  static constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;  // of everything else

  std::int64_t vocabulary = 0;  // tokens that there are
  std::int64_t context = 64;    // tokens that it sees, at most
  std::int64_t layers = 4;
  std::int64_t width = 128;   // numbers for each token between the blocks
  std::int64_t heads = 4;     // of queries
  std::int64_t kv_heads = 0;  // of keys and values (grouped-query attention); 0: as many as heads
  std::int64_t hidden = 0;    // of the feed-forward; 0: 4 width, and with SwiGLU, whose three
                              // matrices then have the parameters of two, 8/3 width
  GptNorm norm = GptNorm::kLayer;
  double norm_eps = 1e-5;
  GptFeedForward feed_forward = GptFeedForward::kGelu;
  GptPositions positions = GptPositions::kLearned;
  double rotary_base = 10000;
  std::optional<RotaryScaling> rotary_scaling = {};
  bool bias = false;   // of the projections; a layer norm always has one
  bool tied = true;    // the logits by the embedding's own table
  double dropout = 0;  // of the embedding and of what each block adds, in training only

  std::int64_t head() const { return width / heads; }  // numbers of a query
  std::int64_t key_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  std::int64_t hidden_width() const;  // numbers inside of the feed-forward

  // Throws kInvalidArgument where sizes are below 1 or beyond the above, or do not fit each other.
  void check() const;

  // The parameters, under Llama's names:
  //   embed_tokens.weight (vocabulary, width), embed_positions.weight (context, width) where they
  //   are learned; for block i, under "layers.i.", input_layernorm.weight (and .bias),
  //   self_attn.{q,k,v,o}_proj.weight (and .bias), post_attention_layernorm.weight,
  //   mlp.gate_proj.weight (SwiGLU), mlp.up_proj.weight, mlp.down_proj.weight; norm.weight;
  //   lm_head.weight (vocabulary, width) where it is not tied.
  // Weights are normal of std 0.02, those into the residual stream by depth_scaled_normal.
  Params init(Key key) const;

  // ids i32 or i64 (..., length), length <= context, to logits (..., length, vocabulary); those at
  // a position depend on the ids up to it. With a key (i64 scalar) dropout is at work. Throws
  // kShape.
  Value operator()(const Args& params, Value ids, std::optional<Value> key = {}) const;

  // The model of one example, without dropout: the parameters, then "tokens" i32[length] (0: the
  // context), to "logits" f32[length, vocabulary].
  Function function(std::int64_t length = 0) const;

  // The types of the parameters, without drawing them.
  std::vector<Input> parameters() const;

  // ---- with a cache of keys and values; limpid/nn/language_model.h runs it

  // How many tokens come at once, and to what.
  struct Chunk {
    std::int64_t sequences = 1;
    std::int64_t length = 1;    // tokens of each sequence that come at once
    std::int64_t capacity = 0;  // tokens that the cache of a sequence holds; 0: the context
    bool last = false;          // logits of one token of each sequence alone
  };

  // The caches: of block i "layers.i.self_attn.keys" (sequences, heads of keys, head, capacity) and
  // "layers.i.self_attn.values" (sequences, heads of keys, capacity, head).
  std::vector<Input> caches(const Chunk& chunk) const;

  // What comes next in each sequence: the parameters; "tokens" i32 [sequences, length];
  // "positions" i32 [sequences], the tokens that each cache holds already; with `last` "lengths"
  // i32 [sequences], those of the tokens that count; the caches. To "logits" f32 [sequences,
  // length, vocabulary], or with `last` [sequences, vocabulary] behind token lengths - 1; and the
  // caches with the tokens in them. The logits of a token are those of function(), bit for bit,
  // whatever its neighbours and however it was cut into chunks. Throws kInvalidArgument.
  Function cached_function(const Chunk& chunk) const;

  // The hyper-parameters as JSON, and back. from_config throws kParse or kInvalidArgument.
  std::string config() const;
  static Gpt from_config(std::string_view json);
};

// GPT-2's choices and Llama's, at sizes of the caller's: the rest is as in a default Gpt.
Gpt gpt2_shaped();   // layer norm, GELU (tanh), learned positions, biases, tied
Gpt llama_shaped();  // RMS norm, SwiGLU, rotary positions, no biases, not tied

// The names of all choices, and of one.
std::vector<std::string> gpt_norm_names();
std::vector<std::string> gpt_feed_forward_names();
std::vector<std::string> gpt_position_names();
std::string_view name(GptNorm norm);
std::string_view name(GptFeedForward feed_forward);
std::string_view name(GptPositions positions);
// Throw kNotFound, naming those there are.
GptNorm gpt_norm_from_name(std::string_view name);
GptFeedForward gpt_feed_forward_from_name(std::string_view name);
GptPositions gpt_positions_from_name(std::string_view name);

}  // namespace limpid::nn
