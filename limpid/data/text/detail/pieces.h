// Texts whose bytes know where they came from, as a tokenizer changes and splits them. Included
// only by sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace limpid::detail {

// The bytes of the original text that something was made of.
struct Origin {
  std::uint32_t begin = 0, end = 0;
};

// A part of a text. Does not own it.
struct Piece {
  std::string_view text;
  const Origin* origins = nullptr;  // of each byte; nullptr: not tracked
  bool starts = false;              // whether it is at the start of the original text

  Piece part(std::size_t begin, std::size_t end) const {
    return {text.substr(begin, end - begin), origins ? origins + begin : nullptr,
            starts && begin == 0};
  }
  // Of these bytes, at least one.
  Origin origin(std::size_t begin, std::size_t end) const {
    return origins ? Origin{origins[begin].begin, origins[end - 1].end} : Origin{};
  }
  // Of what is inserted at the start.
  Origin start() const {
    return origins && !text.empty() ? Origin{origins[0].begin, origins[0].begin} : Origin{};
  }
};

// A changed text, written from its start to its end.
struct AlignedText {
  std::string text = {};
  std::vector<Origin> origins = {};
  bool tracks = false;

  void append(std::string_view bytes, Origin origin) {
    text += bytes;
    if (tracks) origins.insert(origins.end(), bytes.size(), origin);
  }
  // The bytes of a piece as they are.
  void append(const Piece& piece) {
    text += piece.text;
    if (tracks) origins.insert(origins.end(), piece.origins, piece.origins + piece.text.size());
  }
  void clear() {
    text.clear();
    origins.clear();
  }
  Piece piece(bool starts) const { return {text, tracks ? origins.data() : nullptr, starts}; }
};

}  // namespace limpid::detail
