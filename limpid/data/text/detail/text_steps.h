// The steps of a tokenizer.json before and after its model: normalizers, pre-tokenizers, decoders.
// Depends on pieces.h; included only by sources.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/data/text/detail/pieces.h"

namespace limpid::detail {

// Appends the changed text.
using Normalizer = std::function<void(const Piece&, AlignedText& to)>;
using PieceSink = std::function<void(const Piece&)>;
// Passes on the parts of a piece that are not empty, in order. They live until the sink returns.
using Splitter = std::function<void(const Piece&, const PieceSink&)>;
// The texts of tokens, which a decoder changes. Those of a `whole` text become what the tokenizers
// library gives. Those of a part of a text become the bytes that each adds to a text, whatever
// comes before it.
struct DecodedTokens {
  std::vector<std::string> texts;
  bool whole = true;
  bool fused = false;  // whether they are one text by now
};
using Decoder = std::function<void(DecodedTokens&)>;

// The steps of a JSON object of a tokenizer.json; a null has none. A sequence gives all of its
// steps. Throw kUnsupported, naming the type, for a step that is not supported, and kFormat.
std::vector<Normalizer> normalizers_of(const JsonView& json);
std::vector<Splitter> splitters_of(const JsonView& json);
std::vector<Decoder> decoders_of(const JsonView& json);

// Runs all normalizers.
AlignedText normalized(const std::vector<Normalizer>& steps, const Piece& piece);

// A null, or no member, is the default.
bool flag_or(const JsonView& json, std::string_view key, bool otherwise);
std::string text_or(const JsonView& json, std::string_view key, std::string_view otherwise);
// "type" of a step.
std::string type_of_step(const JsonView& json);
// The steps of a list under a key of each type "Sequence", or the step itself.
std::vector<JsonView> steps_of(const JsonView& json, std::string_view key);
[[noreturn]] void unsupported_step(const JsonView& json);

}  // namespace limpid::detail
