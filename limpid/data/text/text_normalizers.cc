// Normalizers of tokenizer.json: what changes a text before it is split.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/utf8.h"
#include "limpid/data/text/detail/code_points.h"
#include "limpid/data/text/detail/pattern.h"
#include "limpid/data/text/detail/text_steps.h"
#include "limpid/data/text/detail/unicode.h"

namespace limpid::detail {
namespace {

// Calls f(code point, its first byte, the byte after it) for each.
template <class F>
void for_each_character(const Piece& piece, const F& f) {
  for (std::size_t i = 0; i < piece.text.size();) {
    const CodePoint c = code_point_at(piece.text, i);
    f(c.value, i, i + c.bytes);
    i += c.bytes;
  }
}

// Keeps the characters for which `keeps` is true.
template <class F>
Normalizer filter(F keeps) {
  return [keeps](const Piece& piece, AlignedText& to) {
    for_each_character(piece, [&](char32_t c, std::size_t begin, std::size_t end) {
      if (keeps(c)) to.append(piece.part(begin, end));
    });
  };
}

// ---- normal forms

struct Decomposed {
  char32_t c;
  std::uint8_t combining;
  Origin origin;
};

// Puts runs of combining marks into canonical order.
void reorder(std::vector<Decomposed>& all) {
  for (std::size_t i = 0; i < all.size();) {
    if (all[i].combining == 0) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < all.size() && all[end].combining != 0) ++end;
    std::stable_sort(
        all.begin() + static_cast<std::ptrdiff_t>(i),
        all.begin() + static_cast<std::ptrdiff_t>(end),
        [](const Decomposed& a, const Decomposed& b) { return a.combining < b.combining; });
    i = end;
  }
}

// The canonical composition algorithm (The Unicode Standard, section 3.11).
void compose(std::vector<Decomposed>& all) {
  std::size_t kept = 0;
  std::size_t starter = all.size();  // none yet
  std::uint8_t last = 0;             // the combining class of the last one kept after the starter
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Decomposed next = all[i];
    const bool adjacent = starter + 1 == kept;
    if (starter < all.size() && (adjacent || (last < next.combining && last != 0))) {
      if (const char32_t joined = composition_of(all[starter].c, next.c)) {
        all[starter].c = joined;
        all[starter].origin.end = std::max(all[starter].origin.end, next.origin.end);
        continue;
      }
    }
    if (next.combining == 0) starter = kept;
    last = next.combining;
    all[kept++] = next;
  }
  all.resize(kept);
}

Normalizer normal_form(bool compatible, bool composed) {
  return [compatible, composed](const Piece& piece, AlignedText& to) {
    const NormalTraits concerns = {.compatible = compatible, .composed = composed};
    std::vector<Decomposed> all;
    std::u32string parts;
    const auto add = [&](char32_t c, std::size_t begin, std::size_t end) {
      parts.clear();
      append_decomposition(parts, c, compatible);
      for (const char32_t part : parts)
        all.push_back({part, combining_class(part), piece.origin(begin, end)});
    };
    const auto flush = [&] {
      reorder(all);
      if (composed) compose(all);
      for (const Decomposed& one : all) to.append(utf8_of(one.c), one.origin);
      all.clear();
    };
    // What a change concerns is from the character before it, with which it may compose, to the
    // next one that stays.
    std::size_t copied = 0, before = 0;
    bool changing = false;
    for_each_character(piece, [&](char32_t c, std::size_t begin, std::size_t end) {
      if (stays(c, concerns)) {
        if (changing) {
          flush();
          copied = begin;
        }
        changing = false;
      } else {
        if (!changing) {
          to.append(piece.part(copied, before));
          if (before < begin) add(code_point_at(piece.text, before).value, before, begin);
        }
        changing = true;
        add(c, begin, end);
      }
      before = changing ? end : begin;
    });
    if (changing)
      flush();
    else
      to.append(piece.part(copied, piece.text.size()));
  };
}

// ---- BERT's

bool is_chinese(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
      {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [c](const auto& range) { return c >= range.first && c <= range.second; });
}

void clean(const Piece& piece, AlignedText& to) {
  for_each_character(piece, [&](char32_t c, std::size_t begin, std::size_t end) {
    const bool space = is_white_space(c) && c != 0x0b && c != 0x0c && c != 0x85;
    constexpr char32_t kReplacement = 0xfffd;
    constexpr Categories kControls = bit_of(Category::kCc) | bit_of(Category::kCf) |
                                     bit_of(Category::kCo) | bit_of(Category::kCn);
    if (space)
      to.append(" ", piece.origin(begin, end));
    else if (c != 0 && c != kReplacement && !is_in(c, kControls))
      to.append(piece.part(begin, end));
  });
}

void space_chinese(const Piece& piece, AlignedText& to) {
  for_each_character(piece, [&](char32_t c, std::size_t begin, std::size_t end) {
    const bool apart = is_chinese(c);
    if (apart) to.append(" ", piece.origin(begin, end));
    to.append(piece.part(begin, end));
    if (apart) to.append(" ", piece.origin(begin, end));
  });
}

void lower(const Piece& piece, AlignedText& to) {
  std::string form;
  for_each_character(piece, [&](char32_t c, std::size_t begin, std::size_t end) {
    form.clear();
    append_lower(form, c);
    to.append(form, piece.origin(begin, end));
  });
}

std::vector<Normalizer> bert(const JsonView& json) {
  std::vector<Normalizer> steps;
  if (flag_or(json, "clean_text", true)) steps.emplace_back(clean);
  if (flag_or(json, "handle_chinese_chars", true)) steps.emplace_back(space_chinese);
  const bool lowers = flag_or(json, "lowercase", true);
  if (flag_or(json, "strip_accents", lowers)) {
    steps.push_back(normal_form(false, false));
    steps.push_back(filter([](char32_t c) { return category_of(c) != Category::kMn; }));
  }
  if (lowers) steps.emplace_back(lower);
  return steps;
}

// ---- replacing

Normalizer replace(const JsonView& json) {
  const std::string content = json.at("content").as_string();
  const JsonView pattern = json.at("pattern");
  if (const std::optional<JsonView> regex = pattern.find("Regex")) {
    const auto compiled = std::make_shared<const Pattern>(regex->as_string());
    return [compiled, content](const Piece& piece, AlignedText& to) {
      Pattern::Search search(*compiled, piece.text);
      std::size_t done = 0;
      while (const std::optional<Pattern::Match> match = search.next()) {
        to.append(piece.part(done, match->begin));
        to.append(content, match->end > match->begin ? piece.origin(match->begin, match->end)
                                                     : piece.start());
        done = match->end;
      }
      to.append(piece.part(done, piece.text.size()));
    };
  }
  const std::string searched = pattern.at("String").as_string();
  if (searched.empty()) unsupported_step(json);
  return [searched, content](const Piece& piece, AlignedText& to) {
    std::size_t done = 0;
    for (std::size_t at = piece.text.find(searched); at != std::string_view::npos;
         at = piece.text.find(searched, done)) {
      to.append(piece.part(done, at));
      to.append(content, piece.origin(at, at + searched.size()));
      done = at + searched.size();
    }
    to.append(piece.part(done, piece.text.size()));
  };
}

Normalizer prepend(const JsonView& json) {
  return [text = json.at("prepend").as_string()](const Piece& piece, AlignedText& to) {
    if (piece.text.empty()) return;
    to.append(text, piece.start());
    to.append(piece);
  };
}

Normalizer strip(const JsonView& json) {
  const bool left = flag_or(json, "strip_left", true);
  const bool right = flag_or(json, "strip_right", true);
  return [left, right](const Piece& piece, AlignedText& to) {
    std::size_t begin = 0, end = piece.text.size();
    while (left && begin < end) {
      const CodePoint c = code_point_at(piece.text, begin);
      if (!is_white_space(c.value)) break;
      begin += c.bytes;
    }
    while (right && begin < end) {
      const std::size_t last = before_place(piece.text, end);
      if (!is_white_space(code_point_at(piece.text, last).value)) break;
      end = last;
    }
    to.append(piece.part(begin, end));
  };
}

void nmt(const Piece& piece, AlignedText& to) {
  for_each_character(piece, [&](char32_t c, std::size_t begin, std::size_t end) {
    if ((c >= 0x01 && c <= 0x08) || c == 0x0b || (c >= 0x0e && c <= 0x1f) || c == 0x7f ||
        c == 0x8f || c == 0x9f)
      return;
    const bool space = c == 0x09 || c == 0x0a || c == 0x0c || c == 0x0d || c == 0x1680 ||
                       (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xfeff || c == 0xfffd;
    if (space)
      to.append(" ", piece.origin(begin, end));
    else
      to.append(piece.part(begin, end));
  });
}

// ---- SentencePiece's precompiled maps

// A double array of Darts, and the texts that it leads to.
class CharactersMap {
 public:
  CharactersMap(std::string_view bytes, const JsonView& json) {
    const auto word = [&](std::size_t at) {
      std::uint32_t value = 0;
      for (std::size_t i = 0; i < 4; ++i)
        value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
      return value;
    };
    if (bytes.size() < 4 || word(0) % 4 != 0 || word(0) > bytes.size() - 4)
      json.refuse("a map of characters of SentencePiece");
    for (std::size_t at = 4; at < 4 + std::size_t{word(0)}; at += 4) units_.push_back(word(at));
    texts_ = bytes.substr(4 + units_.size() * 4);
  }

  // What the shortest prefix of the text that is in the map becomes.
  std::optional<std::string_view> mapped(std::string_view text) const {
    std::uint32_t node = 0;
    if (units_.empty()) return std::nullopt;
    node ^= offset_of(units_[0]);
    for (const char byte : text) {
      const auto label = static_cast<unsigned char>(byte);
      node ^= label;
      if (node >= units_.size() || (units_[node] & 0x800000ff) != label || label == 0)
        return std::nullopt;
      const std::uint32_t unit = units_[node];
      node ^= offset_of(unit);
      if ((unit >> 8 & 1) == 0) continue;
      if (node >= units_.size()) return std::nullopt;
      const std::uint32_t place = units_[node] & 0x7fffffff;
      if (place >= texts_.size()) return std::nullopt;
      const std::string_view rest = std::string_view(texts_).substr(place);
      return rest.substr(0, rest.find('\0'));
    }
    return std::nullopt;
  }

 private:
  static std::uint32_t offset_of(std::uint32_t unit) {
    return (unit >> 10) << ((unit & 0x200) >> 6);
  }

  std::vector<std::uint32_t> units_;
  std::string texts_;
};

std::string from_base64(const JsonView& json) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : json.as_string()) {
    if (c == '=') break;
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) json.refuse("base64");
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return bytes;
}

// Clusters of fewer than 6 bytes are looked up as a whole, others, and what is not found, character
// by character: as the tokenizers library does it.
Normalizer precompiled(const JsonView& json) {
  const JsonView map = json.at("precompiled_charsmap");
  const auto shared = std::make_shared<const CharactersMap>(from_base64(map), map);
  return [shared](const Piece& piece, AlignedText& to) {
    constexpr std::size_t kLongest = 6;
    for (std::size_t i = 0; i < piece.text.size();) {
      const std::size_t bytes = first_grapheme(piece.text.substr(i));
      const Piece cluster = piece.part(i, i + bytes);
      i += bytes;
      const auto whole = bytes < kLongest ? shared->mapped(cluster.text) : std::nullopt;
      if (whole) {
        to.append(*whole, cluster.origin(0, bytes));
        continue;
      }
      for_each_character(cluster, [&](char32_t, std::size_t begin, std::size_t end) {
        if (const auto one = shared->mapped(cluster.text.substr(begin, end - begin)))
          to.append(*one, cluster.origin(begin, end));
        else
          to.append(cluster.part(begin, end));
      });
    }
  };
}

void add_normalizers(const JsonView& json, std::vector<Normalizer>& to) {
  const std::string type = type_of_step(json);
  if (type == "NFC")
    to.push_back(normal_form(false, true));
  else if (type == "NFD")
    to.push_back(normal_form(false, false));
  else if (type == "NFKC")
    to.push_back(normal_form(true, true));
  else if (type == "NFKD")
    to.push_back(normal_form(true, false));
  else if (type == "Lowercase")
    to.emplace_back(lower);
  else if (type == "StripAccents")
    to.push_back(filter([](char32_t c) { return !is_in(c, kMarks); }));
  else if (type == "Nmt")
    to.emplace_back(nmt);
  else if (type == "Replace")
    to.push_back(replace(json));
  else if (type == "Prepend")
    to.push_back(prepend(json));
  else if (type == "Strip")
    to.push_back(strip(json));
  else if (type == "Precompiled")
    to.push_back(precompiled(json));
  else if (type == "BertNormalizer")
    for (Normalizer& step : bert(json)) to.push_back(std::move(step));
  else
    unsupported_step(json);
}

}  // namespace

// ---- what all steps need

bool flag_or(const JsonView& json, std::string_view key, bool otherwise) {
  const std::optional<JsonView> found = json.find(key);
  return found && !found->value().is_null() ? found->as_bool() : otherwise;
}

std::string text_or(const JsonView& json, std::string_view key, std::string_view otherwise) {
  const std::optional<JsonView> found = json.find(key);
  return found && !found->value().is_null() ? found->as_string() : std::string(otherwise);
}

std::string type_of_step(const JsonView& json) { return json.at("type").as_string(); }

std::vector<JsonView> steps_of(const JsonView& json, std::string_view key) {
  std::vector<JsonView> steps;
  std::vector<JsonView> left = {json};  // the next one last
  while (!left.empty()) {
    const JsonView one = left.back();
    left.pop_back();
    if (one.value().is_null()) continue;
    if (type_of_step(one) != "Sequence") {
      steps.push_back(one);
      continue;
    }
    std::vector<JsonView> parts = one.at(key).elements();
    left.insert(left.end(), parts.rbegin(), parts.rend());
  }
  return steps;
}

void unsupported_step(const JsonView& json) {
  throw Error(ErrorCode::kUnsupported,
              fmt::format("{}: {} is not supported", json.path(), in_quotes(type_of_step(json))));
}

std::vector<Normalizer> normalizers_of(const JsonView& json) {
  std::vector<Normalizer> steps;
  for (const JsonView& step : steps_of(json, "normalizers")) add_normalizers(step, steps);
  return steps;
}

AlignedText normalized(const std::vector<Normalizer>& steps, const Piece& piece) {
  AlignedText now, next;
  now.tracks = next.tracks = piece.origins != nullptr;
  now.append(piece);
  for (const Normalizer& step : steps) {
    next.clear();
    step(now.piece(piece.starts), next);
    std::swap(now, next);
  }
  return now;
}

}  // namespace limpid::detail
