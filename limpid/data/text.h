// Text as characters: read whole, cut into parts, turned into numbers by a vocabulary. Leans on
// formats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/tensor.h"

namespace limpid {

// The most bytes that a text may have.
inline constexpr std::uint64_t kMaxTextBytes = std::uint64_t{1} << 30;

// The bytes of a file. Throws kIo where it cannot be read, kFormat where it is empty.
std::string load_bytes(const std::filesystem::path& path);

// The text of a file, as it is but for a byte order mark. Throws kIo where it cannot be read,
// kFormat where it is empty or, naming line and byte, where it is not UTF-8.
std::string load_text(const std::filesystem::path& path);

// The lines, without their ends (LF or CR LF). An end at the end of the text opens no further line.
std::vector<std::string_view> lines_of(std::string_view text);

// Two parts of one text, which must outlive them.
struct TextParts {
  std::string_view train, test;
};

// The first floor(9 N / 10) of N characters for training, the others for the test. Throws kFormat
// where the text is not UTF-8.
TextParts split_text(std::string_view text);
// The same counting bytes, whatever they are.
TextParts split_bytes(std::string_view bytes);

// The characters of a text and their numbers: 0, 1, ... in the order of their code points.
class Vocabulary {
 public:
  // Of the distinct characters of a text. Throws kFormat where it is not UTF-8.
  explicit Vocabulary(std::string_view text);
  // Of these characters, each a string of one, in this order, as characters() gave them. Throws
  // kFormat where one is no character or they are not in the order of their code points.
  explicit Vocabulary(const std::vector<std::string>& characters);

  std::int64_t size() const { return static_cast<std::int64_t>(code_points_.size()); }
  // Each as UTF-8, in the order of their numbers.
  std::vector<std::string> characters() const;

  // The numbers of a text's characters, i32 [N]. Throws kNotFound, naming the line, for a character
  // that is not in the vocabulary, kFormat where the text is not UTF-8.
  Tensor encode(std::string_view text) const;
  // Back. Throws kInvalidArgument for a number outside of [0, size()).
  std::string decode(std::span<const std::int32_t> numbers) const;

  bool operator==(const Vocabulary&) const = default;

 private:
  std::vector<char32_t> code_points_;  // sorted
};

}  // namespace limpid
