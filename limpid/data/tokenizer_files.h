// The tokenizers of models that were made elsewhere, from the files beside their weights. Leans on
// tokenizer.h.
#pragma once

#include <filesystem>
#include <optional>

#include "limpid/data/tokenizer.h"

namespace limpid {

// The byte-level BPE tokenizer of a folder: its tokenizer.json, as Hugging Face's tokenizers write
// it for GPT-2 and Llama 3, or else its vocab.json and merges.txt, as GPT-2 has them; nothing where
// there is neither. The mark behind a text is eos_token_id of config.json, where that is there.
// Throws kFormat for files that are not what they should be, kUnsupported, naming it, for a
// tokenizer of another kind, kIo. docs/files.md has the limits.
std::optional<Tokenizer> load_tokenizer(const std::filesystem::path& folder);

// Whether vocab.json and merges.txt say all of a tokenizer: byte pairs as GPT-2's are.
bool fits_tokenizer_files(const Tokenizer& tokenizer);
// Writes these into a folder; of another tokenizer nothing. Throws kIo.
void save_tokenizer(const std::filesystem::path& folder, const Tokenizer& tokenizer);

}  // namespace limpid
