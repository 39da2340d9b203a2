// Decoders of tokenizer.json: what turns tokens into text.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "limpid/core/utf8.h"
#include "limpid/data/text/detail/byte_alphabet.h"
#include "limpid/data/text/detail/pattern.h"
#include "limpid/data/text/detail/text_steps.h"

namespace limpid::detail {
namespace {

using Texts = std::vector<std::string>;

std::string joined(const Texts& texts) {
  std::string all;
  for (const std::string& text : texts) all += text;
  return all;
}

// The bytes at the front that could begin a character, at least one: what one U+FFFD replaces (The
// Unicode Standard, section 3.9, "maximal subpart").
std::size_t subpart(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0xc2 || first > 0xf4 || text.size() < 2) return 1;
  const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high || first < 0xe0) return 1;
  return first >= 0xf0 && text.size() > 2 && continues_character(text[2]) ? 3 : 2;
}

// The bytes as a text: those that are none become U+FFFD.
std::string valid(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t fault = utf8_fault(bytes);
    text += bytes.substr(0, fault);
    bytes.remove_prefix(fault);
    if (bytes.empty()) break;
    text += "\xef\xbf\xbd";
    bytes.remove_prefix(subpart(bytes));
  }
  return text;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// ---- the decoders

void decode_byte_level(DecodedTokens& tokens) {
  for (std::string& text : tokens.texts)
    if (std::optional<std::string> bytes = from_byte_alphabet(text)) text = std::move(*bytes);
  if (tokens.whole) tokens.texts = {valid(joined(tokens.texts))};
  tokens.fused = true;
}

Decoder decode_metaspace(const JsonView& json) {
  const std::string mark = text_or(json, "replacement", "\xe2\x96\x81");
  if (mark.empty()) json.at("replacement").refuse("a character");
  const bool prepends =
      text_or(json, "prepend_scheme",
              flag_or(json, "add_prefix_space", true) ? "always" : "never") != "never";
  return [mark, prepends](DecodedTokens& tokens) {
    for (std::size_t i = 0; i < tokens.texts.size(); ++i)
      replace_all(tokens.texts[i], mark, i == 0 && tokens.whole && prepends ? "" : " ");
  };
}

Decoder decode_word_piece(const JsonView& json) {
  const std::string prefix = text_or(json, "prefix", "##");
  const bool cleans = flag_or(json, "cleanup", true);
  return [prefix, cleans](DecodedTokens& tokens) {
    for (std::size_t i = 0; i < tokens.texts.size(); ++i) {
      std::string& text = tokens.texts[i];
      if (i > 0 || !tokens.whole) {
        if (text.starts_with(prefix))
          text.erase(0, prefix.size());
        else
          text.insert(0, " ");
      }
      if (!cleans) continue;
      constexpr std::pair<std::string_view, std::string_view> kClean[] = {
          {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
          {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
          {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
      for (const auto& [from, to] : kClean) replace_all(text, from, to);
    }
  };
}

Decoder decode_end_of_words(const JsonView& json) {
  const std::string suffix = text_or(json, "suffix", "</w>");
  if (suffix.empty()) json.at("suffix").refuse("a text that is not empty");
  return [suffix](DecodedTokens& tokens) {
    for (std::size_t i = 0; i < tokens.texts.size(); ++i)
      replace_all(tokens.texts[i], suffix, tokens.whole && i + 1 == tokens.texts.size() ? "" : " ");
  };
}

// The byte of "<0x41>".
std::optional<char> byte_of(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    if (c >= '0' && c <= '9')
      value = value * 16 + (c - '0');
    else if ((c | 32) >= 'a' && (c | 32) <= 'f')
      value = value * 16 + ((c | 32) - 'a' + 10);
    else
      return std::nullopt;
  }
  return static_cast<char>(value);
}

// A run of bytes that is no text as a whole becomes U+FFFD for each of them.
void decode_byte_fallback(DecodedTokens& tokens) {
  Texts texts;
  std::string bytes;
  const auto flush = [&] {
    constexpr std::string_view kReplacement = "\xef\xbf\xbd";
    if (!tokens.whole || is_utf8(bytes)) {
      if (!bytes.empty()) texts.push_back(bytes);
    } else {
      texts.insert(texts.end(), bytes.size(), std::string(kReplacement));
    }
    bytes.clear();
  };
  for (std::string& text : tokens.texts) {
    if (const std::optional<char> byte = byte_of(text)) {
      bytes.push_back(*byte);
      continue;
    }
    flush();
    texts.push_back(std::move(text));
  }
  flush();
  tokens.texts = std::move(texts);
}

void decode_fuse(DecodedTokens& tokens) {
  tokens.texts = {joined(tokens.texts)};
  tokens.fused = true;
}

Decoder decode_strip(const JsonView& json) {
  const std::string content = json.at("content").as_string();
  const auto start = static_cast<std::size_t>(json.at("start").as_integer(0));
  const auto stop = static_cast<std::size_t>(json.at("stop").as_integer(0));
  if (content.empty()) json.at("content").refuse("a character");
  return [content, start, stop](DecodedTokens& tokens) {
    if (tokens.fused && !tokens.whole) return;  // the ends of a text are elsewhere
    for (std::string& text : tokens.texts) {
      for (std::size_t i = 0; i < start && text.starts_with(content); ++i)
        text.erase(0, content.size());
      for (std::size_t i = 0; i < stop && text.ends_with(content); ++i)
        text.erase(text.size() - content.size());
    }
  };
}

Decoder decode_replace(const JsonView& json) {
  const std::string content = json.at("content").as_string();
  const JsonView pattern = json.at("pattern");
  if (const std::optional<JsonView> regex = pattern.find("Regex")) {
    const auto compiled = std::make_shared<const Pattern>(regex->as_string());
    return [compiled, content](DecodedTokens& tokens) {
      for (std::string& text : tokens.texts) {
        if (!is_utf8(text)) continue;  // a part of a character has no match
        Pattern::Search search(*compiled, text);
        std::string changed;
        std::size_t done = 0;
        while (const std::optional<Pattern::Match> match = search.next()) {
          changed += text.substr(done, match->begin - done) + content;
          done = match->end;
        }
        text = changed + text.substr(done);
      }
    };
  }
  const std::string searched = pattern.at("String").as_string();
  if (searched.empty()) unsupported_step(json);
  return [searched, content](DecodedTokens& tokens) {
    for (std::string& text : tokens.texts) replace_all(text, searched, content);
  };
}

Decoder decoder_of(const JsonView& json) {
  const std::string type = type_of_step(json);
  if (type == "ByteLevel") return decode_byte_level;
  if (type == "Metaspace") return decode_metaspace(json);
  if (type == "WordPiece") return decode_word_piece(json);
  if (type == "BPEDecoder") return decode_end_of_words(json);
  if (type == "ByteFallback") return decode_byte_fallback;
  if (type == "Fuse") return decode_fuse;
  if (type == "Strip") return decode_strip(json);
  if (type == "Replace") return decode_replace(json);
  unsupported_step(json);
}

}  // namespace

std::vector<Decoder> decoders_of(const JsonView& json) {
  std::vector<Decoder> steps;
  for (const JsonView& step : steps_of(json, "decoders")) steps.push_back(decoder_of(step));
  return steps;
}

}  // namespace limpid::detail
