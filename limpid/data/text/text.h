// Text as characters: reading files, splitting, and encoding by a vocabulary. Depends on formats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/tensor.h"

namespace limpid {

// The maximum size of a text in bytes.
inline constexpr std::uint64_t kMaxTextBytes = std::uint64_t{1} << 30;

// A text file: its bytes, u8, which may be mapped (see read_or_map_file), and its text in them.
struct TextFile {
  Tensor bytes;
  std::string_view text;
};
// As load_bytes and load_text, without a copy.
TextFile open_bytes(const std::filesystem::path& path);
TextFile open_text(const std::filesystem::path& path);

// The bytes of a file. Throws kIo if it cannot be read, kUnsupported beyond kMaxTextBytes,
// kFormat if it is empty.
std::string load_bytes(const std::filesystem::path& path);

// The text of a file, without a byte order mark. Errors: those of load_bytes; kFormat, with the
// line and the byte, if the text is not UTF-8.
std::string load_text(const std::filesystem::path& path);

// The lines, without their ends (LF or CR LF). A newline at the end of the text does not start
// another line.
std::vector<std::string_view> lines_of(std::string_view text);

// Two parts of one text, which must outlive these views.
struct TextParts {
  std::string_view train, test;
};

// The first floor(9 N / 10) of N characters for training, the rest for testing. Throws kFormat if
// the text is not UTF-8.
TextParts split_text(std::string_view text);
// The same for N bytes, which need not be UTF-8.
TextParts split_bytes(std::string_view bytes);

// A vocabulary of characters: their ids are 0, 1, ... in the order of code points.
class Vocabulary {
 public:
  // The vocabulary of the distinct characters of a text. Throws kFormat if it is not UTF-8.
  explicit Vocabulary(std::string_view text);
  // The vocabulary of these characters, as returned by characters(). Throws kFormat if a string is
  // not exactly one character, or if they are not in the order of code points.
  explicit Vocabulary(const std::vector<std::string>& characters);

  std::int64_t size() const { return static_cast<std::int64_t>(code_points_.size()); }
  // The characters as UTF-8, in the order of their ids.
  std::vector<std::string> characters() const;

  // The ids of a text's characters, i32 [N]. Throws kNotFound, naming the line, for a character
  // that is not in the vocabulary, kFormat if the text is not UTF-8.
  Tensor encode(std::string_view text) const;
  // The text of these ids. Throws kInvalidArgument for an id outside of [0, size()).
  std::string decode(std::span<const std::int32_t> numbers) const;

  bool operator==(const Vocabulary&) const = default;

 private:
  std::vector<char32_t> code_points_;  // sorted
};

}  // namespace limpid
