// Windows of a text: tokens that stand one after the other, and the one behind them. Leans on
// text.h and dataset.h.
#pragma once

#include <cstdint>
#include <filesystem>

#include "limpid/core/tensor.h"
#include "limpid/data/dataset.h"

namespace limpid {

// The most bytes that the windows of a text may take.
inline constexpr std::int64_t kMaxWindowBytes = std::int64_t{1} << 31;

// All N - context windows of tokens i32 [N]: example i is tokens i to i + context - 1, its target
// token i + context. Throws kInvalidArgument for a context below 1, kShape where there are not more
// tokens than that, kUnsupported where the windows would take more than kMaxWindowBytes.
Dataset windows_of(const Tensor& tokens, std::int64_t context);

// The characters of a file as tokens, their numbers those of its Vocabulary, which is the
// class_names: windows of its first nine tenths for training, of the last tenth for the test; there
// is no validation part. Throws what load_text, split_text and windows_of throw.
Split load_text_windows(const std::filesystem::path& path, std::int64_t context);

}  // namespace limpid
