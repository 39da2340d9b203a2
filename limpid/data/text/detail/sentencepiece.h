// tokenizer.model of SentencePiece (Kudo and Richardson 2018), as what a tokenizer.json would say.
// Depends on core/json.h; included only by sources.
#pragma once

#include <string_view>

#include "limpid/core/json.h"

namespace limpid::detail {

// The content of a file: a protobuf message ModelProto of sentencepiece_model.proto. Texts begin
// with BOS if `begins`. Throws kFormat for a malformed file, kUnsupported for a model of words or
// characters and for options that are not supported, by name.
Json json_of_sentencepiece(std::string_view file, bool begins);
// Whether texts begin with BOS unless a tokenizer_config.json says otherwise: those of a BPE do.
bool sentencepiece_begins(std::string_view file);

}  // namespace limpid::detail
