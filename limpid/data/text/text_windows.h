// Data sets from texts: the target is the next token. Depends on tokenizer.h and dataset.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "limpid/core/tensor.h"
#include "limpid/data/dataset.h"

namespace limpid {

// A data set of the windows of tokens i32 [N]. Throws what TokenWindows::check throws.
Dataset windows_of(const Tensor& tokens, std::int64_t context,
                   TokenWindows::Kind kind = TokenWindows::Kind::kSliding);

// How to split a text into examples.
struct WindowOptions {
  std::int64_t context = 8;
  // Whether every token of a window has a target (kShifted for training, else kTiled), or only the
  // last one (kSliding).
  bool every_token = false;
  std::string tokenizer = "characters";  // see tokenizer_for
};

// The tokenizer with this name: "characters" (those of the text), "bytes", or "bpe:DIR" (read by
// load_tokenizer). Throws kInvalidArgument for another name, as check_tokenizer_name does,
// kNotFound for a folder without a tokenizer, and what load_tokenizer throws.
Tokenizer tokenizer_for(std::string_view name, std::string_view text);
void check_tokenizer_name(std::string_view name);

// Windows of the first nine tenths of a file for training, and of the last tenth for testing; the
// validation set is empty. Tenths count characters if these are the tokens, else bytes. Characters
// become the class_names. Throws what tokenizer_for, load_text, split_text and windows_of throw.
Split load_text_windows(const std::filesystem::path& path, const WindowOptions& options);

// The test set with a given tokenizer; options.tokenizer is ignored.
Dataset load_test_windows(const std::filesystem::path& path, const Tokenizer& tokenizer,
                          const WindowOptions& options);

}  // namespace limpid
