// TextEmbedder: the embeddings of texts, or the logits of their classes, by a text encoder. Depends
// on predictor.h, nn/text_encoder.h and tokenizer.h.
//
//   const TextEmbedder embed(open_model("all-MiniLM-L6-v2"));
//   const Tensor vectors = embed({"A cat sits.", "Ein Satz."});  // [2, 384]
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/compile/predictor.h"
#include "limpid/data/text/tokenizer.h"
#include "limpid/formats/model.h"
#include "limpid/nn/text_encoder.h"

namespace limpid {

// The hyper-parameters of a text encoder; nullopt for another model.
std::optional<nn::TextEncoder> text_encoder_of(const Model& model);

// The row of a text has the same bits alone and among any other texts. Texts of similar lengths are
// computed together. Plans are compiled when they are first needed, and share the packed weights.
// Thread-safe.
class TextEmbedder {
 public:
  struct Options {
    ThreadPool* pool = nullptr;  // threads for a call; must outlive the TextEmbedder
    int most_runs = 8;           // the most runs at the same time, by different threads
  };

  // Throws kInvalidArgument for a model that is no text encoder; without a tokenizer, texts are
  // refused, tokens are not.
  TextEmbedder(const Model& model, const Options& options);
  explicit TextEmbedder(const Model& model) : TextEmbedder(model, Options{}) {}
  ~TextEmbedder();
  TextEmbedder(TextEmbedder&&) noexcept;
  TextEmbedder& operator=(TextEmbedder&&) noexcept;

  // The hyper-parameters.
  const nn::TextEncoder& net() const;
  // The names of the classes; empty if the model has none.
  const std::vector<std::string>& labels() const;
  // The number of elements of a row: the width, or the number of classes.
  std::int64_t size() const;

  // The tokens of a text, with those that the tokenizer's template adds, such as [CLS] and [SEP].
  // A text that is too long for the model is refused. With `truncate` it loses tokens at its end;
  // those that the template adds stay. Throws kInvalidArgument for a model without a tokenizer, for
  // a text of more tokens than the model takes and, before it is encoded, for a text of far more
  // bytes than that; and what Tokenizer::tokens throws.
  std::vector<std::int32_t> tokens(std::string_view text, bool truncate = false) const;

  // Pairs of texts, which a cross-encoder reads as one.
  struct Pairs {
    std::vector<std::vector<std::int32_t>> texts;
    // Of each pair, the first token of the second type; empty if the model has no second type.
    std::vector<std::int32_t> seconds;
  };
  // The tokens of `query` with each of the documents. A pair that is too long for the model is
  // refused; with `truncate` the longer text loses tokens at its end, until both are equally long,
  // then both (the tokenizers library: longest_first). Throws as tokens(), naming the document; and
  // kInvalidArgument for a tokenizer whose template is of one text only.
  Pairs pairs(std::string_view query, std::span<const std::string> documents,
              bool truncate = false) const;

  // f32 [n, size()]. Throws what check_tokens() and tokens() throw, naming the text.
  Tensor operator()(std::span<const std::vector<std::int32_t>> texts,
                    std::span<const std::int32_t> seconds = {}) const;
  Tensor operator()(const Pairs& pairs) const { return (*this)(pairs.texts, pairs.seconds); }
  Tensor operator()(const std::vector<std::string>& texts, bool truncate = false) const;

  // The lengths that texts are padded to.
  std::vector<std::int64_t> lengths() const;
  // For texts that are padded to this length, or pairs with a second type of tokens; it takes
  // padded_inputs().
  const Predictor& predictor(std::int64_t length, bool pair = false) const;
  // Whether pairs have a second type of tokens.
  bool has_second_type() const { return net().token_types > 1; }
  // The texts with these numbers, padded to a length: "tokens" i32 [n, length], "count" i32 [n];
  // with `seconds`, of all texts, also "second" i32 [n].
  static std::vector<Tensor> padded_inputs(std::span<const std::vector<std::int32_t>> texts,
                                           std::span<const std::size_t> numbers,
                                           std::int64_t length,
                                           std::span<const std::int32_t> seconds = {});
  // Throws kInvalidArgument for a text of none or more tokens than the model takes, and for a token
  // outside of the vocabulary.
  void check_tokens(std::span<const std::int32_t> tokens) const;
  // Bytes of the packed weights and of all workspaces.
  std::size_t bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace limpid
