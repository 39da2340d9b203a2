#include "limpid/data/text/text_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/utf8.h"
#include "limpid/data/text/text.h"
#include "limpid/data/text/tokenizer_files.h"

namespace limpid {
namespace {

using Kind = TokenWindows::Kind;

constexpr std::string_view kCharacters = "characters", kBytes = "bytes", kBytePairs = "bpe:";

// Calls code(), naming the file in what it throws.
template <class Code>
auto naming(const std::filesystem::path& path, const Code& code) {
  try {
    return code();
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("text {}: {}", in_quotes(path.string()), e.what()));
  }
}

TextFile open_for(const std::filesystem::path& path, std::string_view tokenizer) {
  return tokenizer == kCharacters ? open_text(path) : open_bytes(path);
}

TextParts split(std::string_view text, std::string_view tokenizer) {
  return tokenizer == kCharacters ? split_text(text) : split_bytes(text);
}

// ---- tokens in less memory than i32

// Tokens i32 [n] in memory that `owner` keeps, each found by widen(its number there) when it is
// read.
template <class Narrow, class Widen>
Tensor widened(std::span<const Narrow> numbers, std::shared_ptr<const void> owner, Widen widen) {
  return Tensor::deferred_rows(
      {Dtype::kI32, Shape{static_cast<std::int64_t>(numbers.size())}},
      [numbers, widen, owner = std::move(owner)](std::int64_t first, std::int64_t count,
                                                 std::span<std::byte> out) {
        const auto from =
            numbers.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
        std::transform(from.begin(), from.end(), reinterpret_cast<std::int32_t*>(out.data()),
                       widen);
      });
}

// Tokens that are the bytes of the text: nothing is stored besides the file. Nothing where a token
// may have several bytes.
std::optional<Tensor> byte_tokens(const TextFile& file, std::string_view text,
                                  const Tokenizer& tokenizer) {
  std::array<bool, 256> occurs{};
  for (const char c : text) occurs[static_cast<unsigned char>(c)] = true;
  const bool ascii = std::find(occurs.begin() + 128, occurs.end(), true) == occurs.end();
  if (tokenizer.kind() != kBytes && !(tokenizer.kind() == kCharacters && ascii)) return {};
  std::string characters;
  for (std::size_t c = 0; c < occurs.size(); ++c)
    if (occurs[c]) characters.push_back(static_cast<char>(c));
  const Tensor encoded = tokenizer.encode(characters);
  std::array<std::int32_t, 256> token_of{};
  for (std::size_t i = 0; i < characters.size(); ++i)
    token_of[static_cast<unsigned char>(characters[i])] = encoded.values<std::int32_t>()[i];
  return widened(std::span(reinterpret_cast<const unsigned char*>(text.data()), text.size()),
                 std::make_shared<const Tensor>(file.bytes),
                 [token_of](unsigned char c) { return token_of[c]; });
}

// The beginning of a text, cut where tokens do not depend on what follows.
std::string_view first_piece(std::string_view text, const Tokenizer& tokenizer) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::size_t end = tokenizer.kind() == kCharacters ? std::min(kPiece, text.size()) : text.size();
  while (end < text.size() && continues_character(text[end])) ++end;
  return text.substr(0, end);
}

template <class Narrow>
Tensor narrow_tokens(std::string_view text, const Tokenizer& tokenizer) {
  const auto tokens = std::make_shared<std::vector<Narrow>>();
  tokens->reserve(text.size());  // address space: what no token fills is never touched
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view piece = first_piece(rest, tokenizer);
    const Tensor encoded = tokenizer.encode(piece);
    for (const std::int32_t token : encoded.values<std::int32_t>())
      tokens->push_back(static_cast<Narrow>(token));
    rest.remove_prefix(piece.size());
  }
  return widened(std::span<const Narrow>(*tokens), tokens,
                 [](Narrow token) { return static_cast<std::int32_t>(token); });
}

// The tokens of a part of a file, in as few bytes as they need.
Tensor tokens_of(const TextFile& file, std::string_view text, const Tokenizer& tokenizer) {
  if (std::optional<Tensor> tokens = byte_tokens(file, text, tokenizer)) return *tokens;
  if (tokenizer.size() <= 1 << 8) return narrow_tokens<std::uint8_t>(text, tokenizer);
  if (tokenizer.size() <= 1 << 16) return narrow_tokens<std::uint16_t>(text, tokenizer);
  return tokenizer.encode(text);
}

// Of the part of the text that is this set.
Dataset windows_of_text(const TextFile& file, std::string_view set, std::string_view text,
                        const Tokenizer& tokenizer, const WindowOptions& options, Kind kind) {
  const Tensor tokens = tokens_of(file, text, tokenizer);
  Dataset data;
  try {
    data = windows_of(tokens, options.context, options.every_token ? kind : Kind::kSliding);
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("the {} set: {}", set, e.what()));
  }
  data.classes = tokenizer.size();
  data.tokenizer = tokenizer;
  return data;
}

// Throws kNotFound for the first character of the test part that the tokenizer does not know, with
// its line number in the whole text.
void throw_unknown(const TextParts& parts, const Tokenizer& tokenizer) {
  std::int64_t line = 1 + std::count(parts.train.begin(), parts.train.end(), '\n');
  for (std::string_view rest = parts.test; !rest.empty();) {
    const std::optional<CodePoint> point = first_code_point(rest);
    if (!point) return;
    try {
      tokenizer.encode(rest.substr(0, point->bytes));
    } catch (const Error& e) {
      throw Error(e.code(), fmt::format("line {}: the model's vocabulary has no U+{:04X}", line,
                                        static_cast<std::uint32_t>(point->value)));
    }
    line += point->value == U'\n';
    rest.remove_prefix(point->bytes);
  }
}

}  // namespace

Dataset windows_of(const Tensor& tokens, std::int64_t context, Kind kind) {
  Dataset data;
  data.task = Task::kNextToken;
  data.windows = {tokens, context, kind};
  data.windows->check();
  return data;
}

void check_tokenizer_name(std::string_view name) {
  const bool folder = name.starts_with(kBytePairs) && name.size() > kBytePairs.size();
  if (name != kCharacters && name != kBytes && !folder)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("there is no tokenizer {}; expected {}, {} or {}DIR", in_quotes(name),
                            kCharacters, kBytes, kBytePairs));
}

Tokenizer tokenizer_for(std::string_view name, std::string_view text) {
  check_tokenizer_name(name);
  if (name == kCharacters) return Tokenizer(Vocabulary(text));
  if (name == kBytes) return Tokenizer::bytes();
  const std::filesystem::path folder(name.substr(kBytePairs.size()));
  if (const std::optional<Tokenizer> tokenizer = load_tokenizer(folder)) return *tokenizer;
  throw Error(
      ErrorCode::kNotFound,
      fmt::format(
          "tokenizer {}: the folder has neither tokenizer.json nor vocab.json and merges.txt",
          in_quotes(folder.string())));
}

Split load_text_windows(const std::filesystem::path& path, const WindowOptions& options) {
  const TextFile file = open_for(path, options.tokenizer);
  const TextParts parts = split(file.text, options.tokenizer);
  const Tokenizer tokenizer = tokenizer_for(options.tokenizer, file.text);
  return naming(path, [&] {
    Split split;
    split.train =
        windows_of_text(file, "training", parts.train, tokenizer, options, Kind::kShifted);
    split.test = windows_of_text(file, "test", parts.test, tokenizer, options, Kind::kTiled);
    for (Dataset* part : {&split.train, &split.test}) {
      part->name = path.filename().string();
      if (options.tokenizer == kCharacters) part->class_names = Vocabulary(file.text).characters();
    }
    return split;
  });
}

Dataset load_test_windows(const std::filesystem::path& path, const Tokenizer& tokenizer,
                          const WindowOptions& options) {
  const TextFile file = open_for(path, tokenizer.kind());
  const TextParts parts = split(file.text, tokenizer.kind());
  return naming(path, [&] {
    try {
      Dataset data = windows_of_text(file, "test", parts.test, tokenizer, options, Kind::kTiled);
      data.name = path.string();
      return data;
    } catch (const Error& e) {
      if (e.code() == ErrorCode::kNotFound) throw_unknown(parts, tokenizer);
      throw;
    }
  });
}

}  // namespace limpid
