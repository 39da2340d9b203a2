#include "limpid/data/text_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/utf8.h"
#include "limpid/data/text.h"
#include "limpid/data/tokenizer_files.h"

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

std::string load(const std::filesystem::path& path, std::string_view tokenizer) {
  return tokenizer == kCharacters ? load_text(path) : load_bytes(path);
}

TextParts split(std::string_view text, std::string_view tokenizer) {
  return tokenizer == kCharacters ? split_text(text) : split_bytes(text);
}

Dataset windows_of_text(std::string_view text, const Tokenizer& tokenizer,
                        const WindowOptions& options, Kind kind) {
  Dataset data = windows_of(tokenizer.encode(text), options.context,
                            options.every_token ? kind : Kind::kSliding);
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
                fmt::format("there is no tokenizer {}; {}, {} or {}DIR is expected",
                            in_quotes(name), kCharacters, kBytes, kBytePairs));
}

Tokenizer tokenizer_for(std::string_view name, std::string_view text) {
  check_tokenizer_name(name);
  if (name == kCharacters) return Tokenizer(Vocabulary(text));
  if (name == kBytes) return Tokenizer::bytes();
  const std::filesystem::path folder(name.substr(kBytePairs.size()));
  if (const std::optional<Tokenizer> tokenizer = load_tokenizer(folder)) return *tokenizer;
  throw Error(ErrorCode::kNotFound,
              fmt::format("tokenizer {}: neither tokenizer.json nor vocab.json and merges.txt",
                          in_quotes(folder.string())));
}

Split load_text_windows(const std::filesystem::path& path, const WindowOptions& options) {
  const std::string text = load(path, options.tokenizer);
  const TextParts parts = split(text, options.tokenizer);
  const Tokenizer tokenizer = tokenizer_for(options.tokenizer, text);
  return naming(path, [&] {
    Split split;
    split.train = windows_of_text(parts.train, tokenizer, options, Kind::kShifted);
    split.test = windows_of_text(parts.test, tokenizer, options, Kind::kTiled);
    for (Dataset* part : {&split.train, &split.test}) {
      part->name = path.filename().string();
      if (options.tokenizer == kCharacters) part->class_names = Vocabulary(text).characters();
    }
    return split;
  });
}

Dataset load_test_windows(const std::filesystem::path& path, const Tokenizer& tokenizer,
                          const WindowOptions& options) {
  const std::string text = load(path, tokenizer.kind());
  const TextParts parts = split(text, tokenizer.kind());
  return naming(path, [&] {
    try {
      Dataset data = windows_of_text(parts.test, tokenizer, options, Kind::kTiled);
      data.name = path.string();
      return data;
    } catch (const Error& e) {
      if (e.code() == ErrorCode::kNotFound) throw_unknown(parts, tokenizer);
      throw;
    }
  });
}

}  // namespace limpid
