// The tokenizer files of pretrained models. Depends on tokenizer.h.
#pragma once

#include <filesystem>
#include <optional>

#include "limpid/data/text/tokenizer.h"

namespace limpid {

// Reads the tokenizer of a folder: from tokenizer.json, as Hugging Face's tokenizers library writes
// it, else from tokenizer.model, as SentencePiece writes it, else from vocab.json and merges.txt,
// as for GPT-2, else from vocab.txt, as for BERT; nullopt if there is none. A byte-level BPE as
// that of GPT-2 and Llama 3 becomes a "byte_pair", another one a "tokenizer_json". EOS is
// eos_token_id of config.json, else of generation_config.json; further ones of either end a text,
// too. Throws kFormat for malformed files; kUnsupported, naming it, for a step that is not
// supported; kIo. docs/files.md gives the limits.
std::optional<Tokenizer> load_tokenizer(const std::filesystem::path& folder);

// Whether vocab.json and merges.txt can store a tokenizer: byte-pair encoding as in GPT-2.
bool fits_tokenizer_files(const Tokenizer& tokenizer);
// Writes vocab.json and merges.txt into a folder; writes nothing for another tokenizer. Throws kIo.
void save_tokenizer(const std::filesystem::path& folder, const Tokenizer& tokenizer);

}  // namespace limpid
