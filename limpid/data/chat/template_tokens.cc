// From a chat template's source to tokens.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "limpid/core/in_quotes.h"
#include "limpid/data/chat/detail/template_tokens.h"

namespace limpid::detail {
namespace {

// Where in the source: line and column, counted from 1.
std::string place_in_source(std::string_view source, std::size_t at) {
  const std::string_view before = source.substr(0, at);
  const std::size_t line = before.rfind('\n');
  return fmt::format("line {}, column {}", 1 + std::count(before.begin(), before.end(), '\n'),
                     line == std::string_view::npos ? at + 1 : at - line);
}

bool is_template_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_template_digit(char c) { return c >= '0' && c <= '9'; }
bool is_template_blank(char c) { return c == ' ' || (c >= 0x09 && c <= 0x0d); }

class TemplateLexer {
 public:
  using Kind = TemplateToken::Kind;

  explicit TemplateLexer(std::string_view source) : source_(source) {}

  std::vector<TemplateToken> read() {
    while (at_ < source_.size()) {
      const std::size_t tag = next_tag();
      std::string_view data = source_.substr(at_, tag - at_);
      const char kind = tag < source_.size() ? source_[tag + 1] : '\0';
      if (kind != '\0') data = before_tag(data, kind, tag + 2);
      if (!data.empty()) tokens_.push_back({Kind::kData, std::string(data), at_});
      if (kind == '\0') break;
      at_ = tag + 2;
      if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) ++at_;
      if (kind == '#')
        comment(tag);
      else
        inside(kind == '{', tag);
    }
    return std::move(tokens_);
  }

 private:
  std::size_t next_tag() const {
    for (std::size_t i = at_; i + 1 < source_.size(); ++i)
      if (source_[i] == '{' &&
          (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#'))
        return i;
    return source_.size();
  }

  // The data before a tag, trimmed according to the sign after the tag's opening.
  std::string_view before_tag(std::string_view data, char kind, std::size_t sign_at) const {
    const char sign = sign_at < source_.size() ? source_[sign_at] : '\0';
    if (sign == '-') return without_trailing_space(data);
    if (sign == '+' || kind == '{') return data;
    const std::size_t line = data.rfind('\n') + 1;  // 0 where there is none
    if (line == 0 && !line_begins_) return data;
    const std::string_view last = data.substr(line);
    return without_leading_space(last).empty() ? data.substr(0, line) : data;
  }

  void comment(std::size_t tag) {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos)
      refuse_template(ErrorCode::kFormat, source_, tag, "a comment that does not end");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    at_ = end + 2;
    after_tag(sign, true);
  }

  // At the end of a tag: how much of the following data it removes.
  void after_tag(char sign, bool takes_line_end) {
    if (sign == '-') {
      at_ = source_.size() - without_leading_space(source_.substr(at_)).size();
      return;
    }
    line_begins_ = takes_line_end && sign != '+' && at_ < source_.size() && source_[at_] == '\n';
    if (line_begins_) ++at_;
  }

  void inside(bool output, std::size_t tag) {
    tokens_.push_back({output ? Kind::kOutput : Kind::kStatement, "", tag});
    const std::string_view end = output ? "}}" : "%}";
    std::string open;  // open brackets: a tag does not end inside of them
    for (;;) {
      while (at_ < source_.size() && is_template_blank(source_[at_])) ++at_;
      if (at_ >= source_.size())
        refuse_template(ErrorCode::kFormat, source_, tag, "a tag that does not end");
      const std::string_view rest = source_.substr(at_);
      const bool signed_end =
          (rest[0] == '-' || (rest[0] == '+' && !output)) && rest.substr(1).starts_with(end);
      if (open.empty() && (signed_end || rest.starts_with(end))) {
        tokens_.push_back({Kind::kEnd, "", at_});
        at_ += end.size() + (signed_end ? 1 : 0);
        return after_tag(signed_end ? rest[0] : '\0', !output);
      }
      token(rest);
      if (tokens_.back().kind == Kind::kOperator) note_bracket(open, tokens_.back());
    }
  }

  void note_bracket(std::string& open, const TemplateToken& token) const {
    constexpr std::string_view kOpening = "([{", kClosing = ")]}";
    if (kOpening.find(token.text) != std::string_view::npos) open += token.text;
    const std::size_t which = kClosing.find(token.text);
    if (which == std::string_view::npos) return;
    if (open.empty() || open.back() != kOpening[which])
      refuse_template(ErrorCode::kFormat, source_, token.at,
                      fmt::format("{} closes no bracket", in_quotes(token.text)));
    open.pop_back();
  }

  void token(std::string_view rest) {
    const std::size_t begin = at_;
    if (is_template_letter(rest[0])) {
      while (at_ < source_.size() &&
             (is_template_letter(source_[at_]) || is_template_digit(source_[at_])))
        ++at_;
      tokens_.push_back({Kind::kName, std::string(source_.substr(begin, at_ - begin)), begin});
    } else if (is_template_digit(rest[0])) {
      number(begin);
    } else if (rest[0] == '\'' || rest[0] == '"') {
      std::string text = quoted_text(rest[0]);
      tokens_.push_back({Kind::kText, std::move(text), begin});
    } else {
      for (const std::string_view known :
           {"==", "!=", "<=", ">=", "//", "**", "+", "-", "*", "/", "%", "~", "<",
            ">",  "=",  "(",  ")",  "[",  "]",  ".", ",", ":", "|", "{", "}"})
        if (rest.starts_with(known)) {
          at_ += known.size();
          tokens_.push_back({Kind::kOperator, std::string(known), begin});
          return;
        }
      refuse_template(ErrorCode::kFormat, source_, begin,
                      fmt::format("unexpected character {}", in_quotes(rest.substr(0, 1))));
    }
  }

  void number(std::size_t begin) {
    TemplateToken token{Kind::kInteger, "", begin};
    const char* const last = source_.data() + source_.size();
    const auto [stop, error] = std::from_chars(source_.data() + begin, last, token.integer);
    at_ = static_cast<std::size_t>(stop - source_.data());
    const char next = at_ < source_.size() ? source_[at_] : ' ';
    const bool fraction =
        next == '.' && at_ + 1 < source_.size() && is_template_digit(source_[at_ + 1]);
    const bool leading_zero = source_[begin] == '0' && at_ - begin > 1;
    if (error != std::errc{} || is_template_letter(next) || fraction || leading_zero)
      refuse_template(ErrorCode::kUnsupported, source_, begin, "a number that is not an integer");
    tokens_.push_back(std::move(token));
  }

  std::string quoted_text(char quote) {
    const std::size_t begin = at_++;
    std::string text;
    for (; at_ < source_.size() && source_[at_] != quote; ++at_) {
      if (source_[at_] != '\\') {
        text += source_[at_];
        continue;
      }
      constexpr std::string_view kEscapes = "n\nt\tr\r\\\\''\"\"";
      const char c = ++at_ < source_.size() ? source_[at_] : '\0';
      std::size_t i = 0;
      while (i < kEscapes.size() && kEscapes[i] != c) i += 2;
      if (i >= kEscapes.size())
        refuse_template(ErrorCode::kUnsupported, source_, at_ - 1,
                        fmt::format("the escape sequence \\{}", c == '\0' ? ' ' : c));
      text += kEscapes[i + 1];
    }
    if (at_++ >= source_.size())
      refuse_template(ErrorCode::kFormat, source_, begin, "a string that does not end");
    return text;
  }

  const std::string_view source_;
  std::size_t at_ = 0;
  bool line_begins_ = true;  // after the last tag
  std::vector<TemplateToken> tokens_;
};

}  // namespace

std::vector<TemplateToken> template_tokens(std::string_view source) {
  return TemplateLexer(source).read();
}

std::string with_plain_lines(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    text += source[i] == '\r' ? '\n' : source[i];
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

void refuse_template(ErrorCode code, std::string_view source, std::size_t at,
                     std::string_view what) {
  throw Error(code, fmt::format("chat template, {}: {}", place_in_source(source, at), what));
}

std::size_t space_at(std::string_view text) {
  if (text.empty()) return 0;
  const auto c = static_cast<unsigned char>(text[0]);
  if (c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f)) return 1;
  if (c != 0xC2 && (c < 0xE1 || c > 0xE3)) return 0;  // the first bytes of those below
  for (const std::string_view space :
       {"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005",
        "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f",
        "\u3000"})
    if (text.starts_with(space)) return space.size();
  return 0;
}

std::string_view without_leading_space(std::string_view text) {
  while (const std::size_t size = space_at(text)) text.remove_prefix(size);
  return text;
}

std::string_view without_trailing_space(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = last_character_size(text);
    if (space_at(text.substr(text.size() - size)) != size) break;
    text.remove_suffix(size);
  }
  return text;
}

std::size_t character_size(std::string_view text) {
  std::size_t size = 1;
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) ++size;
  return size;
}

std::size_t last_character_size(std::string_view text) {
  std::size_t size = 1;
  while (size < text.size() && size < 4 &&
         (static_cast<unsigned char>(text[text.size() - size]) & 0xC0) == 0x80)
    ++size;
  return size;
}

}  // namespace limpid::detail
