// A text as examples: what is to be learnt is what follows its tokens. Leans on tokenizer.h and
// dataset.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "limpid/core/tensor.h"
#include "limpid/data/dataset.h"

namespace limpid {

// The windows of tokens i32 [N] as examples. Throws what TokenWindows::check throws.
Dataset windows_of(const Tensor& tokens, std::int64_t context,
                   TokenWindows::Kind kind = TokenWindows::Kind::kSliding);

// How a text becomes examples.
struct WindowOptions {
  std::int64_t context = 8;
  // Whether every token of a window has a target (kShifted for training, kTiled else), or what
  // stands behind the window alone is one (kSliding).
  bool every_token = false;
  std::string tokenizer = "characters";  // see tokenizer_for
};

// "characters", those of the text; "bytes"; or "bpe:DIR", the byte pairs of a folder that
// load_tokenizer reads. Throws kInvalidArgument for another name, as check_tokenizer_name does,
// kNotFound for a folder without a tokenizer, and what load_tokenizer throws.
Tokenizer tokenizer_for(std::string_view name, std::string_view text);
void check_tokenizer_name(std::string_view name);

// Windows of the first nine tenths of a file for training, of the last tenth for the test; there is
// no validation part. Tenths are of characters where these are the tokens, else of bytes.
// Characters are the class_names, too. Throws what tokenizer_for, load_text, split_text and
// windows_of throw.
Split load_text_windows(const std::filesystem::path& path, const WindowOptions& options);

// The test part as tokens of a tokenizer that there is; options.tokenizer does not count.
Dataset load_test_windows(const std::filesystem::path& path, const Tokenizer& tokenizer,
                          const WindowOptions& options);

}  // namespace limpid
