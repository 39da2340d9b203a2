#include "limpid/data/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/utf8.h"
#include "limpid/formats/file.h"

namespace limpid {
namespace {

std::int64_t line_of(std::string_view text, std::size_t place) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place), '\n');
}

// f(character, where it begins) for every character. Throws kFormat, naming `source`.
template <class F>
void for_each_character(std::string_view text, std::string_view source, const F& f) {
  std::size_t place = 0;
  while (const std::optional<CodePoint> point = first_code_point(text.substr(place))) {
    f(point->value, place);
    place += point->bytes;
  }
  if (place == text.size()) return;
  const std::size_t line_start = text.substr(0, place).rfind('\n') + 1;  // 0 where there is none
  throw Error(ErrorCode::kFormat, fmt::format("{}: line {}: byte {} is not UTF-8", source,
                                              line_of(text, place), place - line_start + 1));
}

std::string where(const std::filesystem::path& path) {
  return fmt::format("text {}", in_quotes(path.string()));
}
[[noreturn]] void throw_empty(const std::filesystem::path& path) {
  throw Error(ErrorCode::kFormat, where(path) + ": is empty");
}

}  // namespace

TextFile open_bytes(const std::filesystem::path& path) {
  TextFile file{read_or_map_file(path, kMaxTextBytes), {}};
  const auto values = file.bytes.values<std::uint8_t>();
  if (values.empty()) throw_empty(path);
  file.text = {reinterpret_cast<const char*>(values.data()), values.size()};
  return file;
}

TextFile open_text(const std::filesystem::path& path) {
  TextFile file = open_bytes(path);
  if (file.text.starts_with("\xef\xbb\xbf")) file.text.remove_prefix(3);
  if (file.text.empty()) throw_empty(path);
  for_each_character(file.text, where(path), [](char32_t, std::size_t) {});
  return file;
}

std::string load_bytes(const std::filesystem::path& path) {
  return std::string(open_bytes(path).text);
}

std::string load_text(const std::filesystem::path& path) {
  return std::string(open_text(path).text);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (end < text.size() && !line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

TextParts split_text(std::string_view text) {
  std::size_t count = 0;
  for_each_character(text, "text", [&](char32_t, std::size_t) { ++count; });
  std::size_t left = count * 9 / 10;
  std::size_t cut = text.size();
  for_each_character(text, "text", [&](char32_t, std::size_t place) {
    if (left == 0 && cut == text.size()) cut = place;
    left -= left > 0;
  });
  return {text.substr(0, cut), text.substr(cut)};
}

TextParts split_bytes(std::string_view bytes) {
  const std::size_t cut = bytes.size() / 10 * 9 + bytes.size() % 10 * 9 / 10;
  return {bytes.substr(0, cut), bytes.substr(cut)};
}

Vocabulary::Vocabulary(std::string_view text) {
  std::set<char32_t> distinct;
  for_each_character(text, "text", [&](char32_t c, std::size_t) { distinct.insert(c); });
  code_points_.assign(distinct.begin(), distinct.end());
}

Vocabulary::Vocabulary(const std::vector<std::string>& characters) {
  for (const std::string& character : characters) {
    const std::optional<CodePoint> point = first_code_point(character);
    if (!point || point->bytes != character.size())
      throw Error(ErrorCode::kFormat,
                  fmt::format("vocabulary: {} is not a character", in_quotes(character)));
    if (!code_points_.empty() && point->value <= code_points_.back())
      throw Error(ErrorCode::kFormat,
                  fmt::format("vocabulary: expected distinct characters in ascending order, got {}",
                              in_quotes(character)));
    code_points_.push_back(point->value);
  }
}

std::vector<std::string> Vocabulary::characters() const {
  std::vector<std::string> all;
  for (const char32_t c : code_points_) all.push_back(utf8_of(c));
  return all;
}

Tensor Vocabulary::encode(std::string_view text) const {
  std::vector<std::int32_t> numbers;
  for_each_character(text, "text", [&](char32_t c, std::size_t place) {
    const auto found = std::lower_bound(code_points_.begin(), code_points_.end(), c);
    if (found == code_points_.end() || *found != c)
      throw Error(ErrorCode::kNotFound,
                  fmt::format("text: line {}: the vocabulary has no U+{:04X}", line_of(text, place),
                              static_cast<std::uint32_t>(c)));
    numbers.push_back(static_cast<std::int32_t>(found - code_points_.begin()));
  });
  return Tensor::from(Shape{static_cast<std::int64_t>(numbers.size())}, numbers);
}

std::string Vocabulary::decode(std::span<const std::int32_t> numbers) const {
  std::string text;
  for (const std::int32_t number : numbers) {
    if (number < 0 || number >= size())
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("vocabulary: index {} is outside of {} characters", number, size()));
    text += utf8_of(code_points_[static_cast<std::size_t>(number)]);
  }
  return text;
}

}  // namespace limpid
