// TextEncoder: a bidirectional transformer that reads a whole text (BERT: Devlin et al. 2019). It
// gives the embedding of the text, or the logits of its classes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/enum_names.h"
#include "limpid/core/key.h"
#include "limpid/core/params.h"
#include "limpid/function/function.h"
#include "limpid/function/value.h"

namespace limpid::nn {

// The activation of the feed-forward networks.
enum class EncoderActivation : std::uint8_t { kGelu, kGeluTanh, kRelu };
constexpr EnumNames<3> enum_names(EncoderActivation) {
  return {"activation", {"gelu", "gelu_tanh", "relu"}};
}
// How the vectors of all tokens become that of the text: their mean, the first one, the largest of
// each element.
enum class TextPooling : std::uint8_t { kMean, kFirst, kMax };
constexpr EnumNames<3> enum_names(TextPooling) { return {"pooling", {"mean", "first", "max"}}; }
// The activation between the two layers of a head of classes.
enum class EncoderHead : std::uint8_t { kTanh, kRelu };
constexpr EnumNames<2> enum_names(EncoderHead) { return {"head", {"tanh", "relu"}}; }

// The hyper-parameters.
struct TextEncoder {
  // Upper bounds: a configuration is untrusted input.
  static constexpr std::int64_t kMaxLayers = 1024;
  static constexpr std::int64_t kMaxContext = std::int64_t{1} << 16;
  static constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;  // of all other sizes

  std::int64_t vocabulary = 0;  // number of tokens
  std::int64_t context = 512;   // the most tokens of a text
  std::int64_t layers = 12;
  std::int64_t width = 768;  // size of a token's vector
  std::int64_t heads = 12;
  std::int64_t hidden = 3072;    // hidden size of the feed-forward networks
  std::int64_t token_types = 0;  // rows of a table of which every token gets the first, in a pair
                                 // of texts those of the second one the second; 0: no table
  // Rows of a table of biases by distance, which all blocks add to their scores (T5: Raffel et al.
  // 2020, section 2.1; MPNet: Song et al. 2020); 0: none.
  std::int64_t distances = 0;
  double norm_eps = 1e-12;
  EncoderActivation activation = EncoderActivation::kGelu;
  TextPooling pooling = TextPooling::kMean;
  bool normalize = false;    // the embedding is divided by its Euclidean norm
  std::int64_t classes = 0;  // 0: the output is the embedding
  EncoderHead head = EncoderHead::kTanh;

  // Throws kInvalidArgument for a size below 1 or above its bound, and for heads that do not divide
  // the width.
  void check() const;

  // The parameters: embed_tokens.weight (vocabulary, width), embed_positions.weight (context,
  // width), embed_types.weight (token_types, width), embed_norm.{weight,bias};
  // embed_distances.weight (distances, heads); for block i, under "layers.i.",
  // self_attn.{q,k,v,o}_proj.{weight,bias}, self_attn_norm.{weight,bias},
  // mlp.{up,down}_proj.{weight,bias}, mlp_norm.{weight,bias}; with classes head.{weight,bias}
  // (width, width) and classifier.{weight,bias} (classes, width).
  std::vector<Input> parameters() const;
  // Drawn by normal(0.02); biases are 0.
  Params init(Key key) const;

  // tokens i32 [length], of which the first `count` (i32 scalar) are the text, to the vectors of
  // all tokens, f32 [length, width]. Tokens after the text have no effect on the vectors of the
  // text. In a pair of texts the tokens from `second` (i32 scalar) on have the second type. Throws
  // kShape, and kInvalidArgument for `second` without two types.
  Value operator()(const Args& params, Value tokens, Value count,
                   const std::optional<Value>& second = {}) const;

  // The model of one text. Inputs: the parameters, then "tokens" i32 [length] (length 0 means the
  // context) and "count" i32 []; of a pair of texts also "second" i32 []. Output: "embedding" f32
  // [width], or "logits" f32 [classes].
  Function function(std::int64_t length = 0, bool pair = false) const;

  // The length that a text of `count` tokens is padded to, whatever other texts are computed with
  // it: 8, 12, 16, 24 and so on, up to the context, so that few plans serve texts of all lengths.
  std::int64_t padded(std::int64_t count) const;

  // The hyper-parameters as JSON, and from JSON. from_config throws kParse, kInvalidArgument, or
  // kNotFound for an unknown name.
  std::string config() const;
  static TextEncoder from_config(std::string_view json);
};

}  // namespace limpid::nn
