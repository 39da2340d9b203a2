// Reads SentencePiece's models.
#include "limpid/data/text/detail/sentencepiece.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/utf8.h"
#include "limpid/data/text/text_pipeline.h"

namespace limpid::detail {
namespace {

constexpr std::string_view kMark = "\xe2\x96\x81";  // what stands for a space

[[noreturn]] void bad_message(const std::string& what) {
  throw Error(ErrorCode::kFormat, "SentencePiece: " + what);
}
[[noreturn]] void unsupported_message(const std::string& what) {
  throw Error(ErrorCode::kUnsupported, "SentencePiece: " + what);
}

// A field of a protobuf message.
struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;      // of a varint, or 32 bits
  std::string_view bytes = {};  // of a text or a message
};

// The fields of a message, one after the other.
class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t key = varint();
    Field field{.number = key >> 3};
    switch (key & 7) {
      case 0:
        field.value = varint();
        return field;
      case 1:
        take(8);
        return field;
      case 2:
        field.bytes = take(varint());
        return field;
      case 5:
        for (const char byte : take(4))
          field.value = field.value >> 8 | std::uint64_t{static_cast<unsigned char>(byte)} << 24;
        return field;
      default:
        bad_message(fmt::format("a field of wire type {}", key & 7));
    }
  }

 private:
  std::string_view take(std::uint64_t bytes) {
    if (bytes > rest_.size()) bad_message("the file ends too early");
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    bad_message("a number of more than 64 bits");
  }

  std::string_view rest_;
};

enum class PieceKind : std::uint8_t {
  kNormal = 1,
  kUnknown,
  kControl,
  kUserDefined,
  kUnused,
  kByte
};

struct SentencePiece {
  std::string text = {};
  float score = 0;
  PieceKind kind = PieceKind::kNormal;
};

struct SentencePieceModel {
  std::vector<SentencePiece> pieces = {};
  std::uint64_t type = 1;  // 1: Unigram, 2: BPE
  bool falls_back = false, suffixes = false;
  std::string characters_map = {};
  bool prefixes = true, trims = true, escapes = true;
};

SentencePiece piece_of(std::string_view message) {
  SentencePiece piece;
  Fields fields(message);
  while (const std::optional<Field> field = fields.next()) {
    if (field->number == 1) piece.text = field->bytes;
    if (field->number == 2)
      piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
    if (field->number != 3) continue;
    if (field->value < 1 || field->value > 6)
      bad_message(fmt::format("a piece of type {}", field->value));
    piece.kind = static_cast<PieceKind>(field->value);
  }
  if (piece.text.empty() || !is_utf8(piece.text)) bad_message("a piece that is no text");
  return piece;
}

SentencePieceModel model_of(std::string_view file) {
  SentencePieceModel model;
  Fields fields(file);
  while (const std::optional<Field> field = fields.next()) {
    if (field->number == 1) {
      if (model.pieces.size() == kMaxPipelineTokens)
        unsupported_message(fmt::format("expected at most {} pieces", kMaxPipelineTokens));
      model.pieces.push_back(piece_of(field->bytes));
    }
    Fields inner(field->number == 2 || field->number == 3 ? field->bytes : std::string_view());
    while (const std::optional<Field> one = inner.next()) {
      const bool flag = one->value != 0;
      if (field->number == 2) {
        if (one->number == 3) model.type = one->value;
        if (one->number == 24) model.suffixes = flag;
        if (one->number == 35) model.falls_back = flag;
      } else {
        if (one->number == 2) model.characters_map = one->bytes;
        if (one->number == 3) model.prefixes = flag;
        if (one->number == 4) model.trims = flag;
        if (one->number == 5) model.escapes = flag;
      }
    }
  }
  if (model.pieces.empty()) bad_message("there are no pieces");
  return model;
}

std::string base64_of(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j <= bytes.size() ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

// The pairs of pieces that make a piece, those of the highest score first, then in the order in
// which the tokenizers library has them.
Json merges_of_pieces(const std::vector<SentencePiece>& pieces) {
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t i = 0; i < pieces.size(); ++i) ids.emplace(pieces[i].text, i);
  struct Merge {
    float score;
    std::size_t left, right;
  };
  std::vector<Merge> all;
  for (const SentencePiece& piece : pieces) {
    const std::string_view text = piece.text;
    const std::size_t first = all.size();
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (continues_character(text[i])) continue;
      const auto left = ids.find(text.substr(0, i)), right = ids.find(text.substr(i));
      if (left != ids.end() && right != ids.end())
        all.push_back({piece.score, left->second, right->second});
    }
    std::sort(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
              [](const Merge& a, const Merge& b) {
                return std::pair(a.left, a.right) < std::pair(b.left, b.right);
              });
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Merge& a, const Merge& b) { return a.score > b.score; });
  Json merges = Json::array();
  for (const Merge& merge : all)
    merges.push_back(Json::array({pieces[merge.left].text, pieces[merge.right].text}));
  return merges;
}

Json replacement(std::string_view kind, std::string_view pattern, std::string_view content) {
  return {{"type", "Replace"}, {"pattern", {{std::string(kind), pattern}}}, {"content", content}};
}

Json normalizer_of(const SentencePieceModel& model) {
  Json steps = Json::array();
  if (!model.characters_map.empty())
    steps.push_back(
        {{"type", "Precompiled"}, {"precompiled_charsmap", base64_of(model.characters_map)}});
  if (model.trims) {
    steps.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
    steps.push_back(replacement("Regex", " {2,}", " "));
  }
  if (model.prefixes) steps.push_back({{"type", "Prepend"}, {"prepend", kMark}});
  steps.push_back(replacement("String", " ", kMark));
  return {{"type", "Sequence"}, {"normalizers", steps}};
}

}  // namespace

bool sentencepiece_begins(std::string_view file) { return model_of(file).type == 2; }

Json json_of_sentencepiece(std::string_view file, bool begins) {
  const SentencePieceModel model = model_of(file);
  if (model.type != 1 && model.type != 2)
    unsupported_message(
        fmt::format("model_type is {}, expected 1 (Unigram) or 2 (BPE)", model.type));
  if (model.suffixes) unsupported_message("treat_whitespace_as_suffix is true, expected false");
  if (!model.escapes) unsupported_message("escape_whitespaces is false, expected true");
  std::optional<std::size_t> unknown, begin;
  Json added = Json::array(), vocabulary = model.type == 2 ? Json::object() : Json::array();
  Json::Object tokens;
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    const SentencePiece& piece = model.pieces[i];
    const bool special = piece.kind == PieceKind::kControl || piece.kind == PieceKind::kUnknown;
    if (piece.kind == PieceKind::kUnknown) unknown = i;
    if (piece.text == "<s>" || piece.text == "<bos>") begin = i;
    if (model.prefixes && piece.kind == PieceKind::kUserDefined)
      unsupported_message(
          fmt::format("the piece {} of the user, with add_dummy_prefix", in_quotes(piece.text)));
    if (special || piece.kind == PieceKind::kUserDefined)
      added.push_back(
          {{"id", i}, {"content", piece.text}, {"special", special}, {"normalized", false}});
    if (model.type == 2)
      tokens.push_back({piece.text, i});
    else
      vocabulary.push_back(Json::array({piece.text, static_cast<double>(piece.score)}));
  }
  if (!unknown) bad_message("there is no piece for what is unknown");
  Json json{{"added_tokens", added}, {"normalizer", normalizer_of(model)}};
  if (model.type == 2)
    json["model"] = {{"type", "BPE"},
                     {"vocab", std::move(tokens)},
                     {"merges", merges_of_pieces(model.pieces)},
                     {"unk_token", model.pieces[*unknown].text},
                     {"fuse_unk", true},
                     {"byte_fallback", model.falls_back}};
  else
    json["model"] = {{"type", "Unigram"},
                     {"vocab", std::move(vocabulary)},
                     {"unk_id", *unknown},
                     {"byte_fallback", model.falls_back}};
  if (begins && begin) {
    const std::string& name = model.pieces[*begin].text;
    json["post_processor"] = {{"type", "TemplateProcessing"},
                              {"single", Json::array({Json{{"SpecialToken", {{"id", name}}}},
                                                      Json{{"Sequence", {{"id", "A"}}}}})},
                              {"special_tokens", {{name, {{"ids", Json::array({*begin})}}}}}};
  }
  Json decoders = Json::array(
      {replacement("String", kMark, " "), Json{{"type", "ByteFallback"}}, Json{{"type", "Fuse"}}});
  if (model.prefixes)
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  json["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
  return json;
}

}  // namespace limpid::detail
