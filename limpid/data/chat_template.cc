#include "limpid/data/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"

namespace limpid {
namespace detail {

enum class TokenKind { kData, kOutput, kStatement, kEnd, kName, kText, kInteger, kOperator };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;    // of data, names, texts and operators
  std::size_t at = 0;  // in the source
  std::int64_t integer = 0;
};

}  // namespace detail

namespace {

using detail::Token;
using detail::TokenKind;

// In this file: texts as Python has them; Lexer, from the source to tokens; Parser, from tokens to
// a tree of Nodes; Renderer, from the tree and the variables to the text.

// Upper bounds: templates and messages are untrusted input.
constexpr std::size_t kMostSource = std::size_t{1} << 16;
constexpr std::size_t kDeepest = 64;
constexpr std::size_t kMostSteps = 1'000'000;
constexpr std::size_t kMostText = std::size_t{16} << 20;

// ---- texts, as Python has them

// The bytes of the white space that a text begins with, 0 where it begins with none.
std::size_t space_at(std::string_view text) {
  if (text.empty()) return 0;
  const auto c = static_cast<unsigned char>(text[0]);
  if (c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f)) return 1;
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
    // The last character.
    std::size_t size = 1;
    while (size < text.size() && size < 4 &&
           (static_cast<unsigned char>(text[text.size() - size]) & 0xC0) == 0x80)
      ++size;
    if (space_at(text.substr(text.size() - size)) != size) break;
    text.remove_suffix(size);
  }
  return text;
}

// ---- tokens

// Where in the source: line and column, counted from 1.
std::string place_of(std::string_view source, std::size_t at) {
  const std::string_view before = source.substr(0, at);
  const std::size_t line = before.rfind('\n');
  return fmt::format("line {}, column {}", 1 + std::count(before.begin(), before.end(), '\n'),
                     line == std::string_view::npos ? at + 1 : at - line);
}

[[noreturn]] void refuse_template(ErrorCode code, std::string_view source, std::size_t at,
                                  std::string_view what) {
  throw Error(code, fmt::format("chat template, {}: {}", place_of(source, at), what));
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || (c >= 0x09 && c <= 0x0d); }

// Data, and between kOutput or kStatement and kEnd the tokens of a tag.
class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> read() {
    while (at_ < source_.size()) {
      const std::size_t tag = next_tag();
      std::string_view data = source_.substr(at_, tag - at_);
      const char kind = tag < source_.size() ? source_[tag + 1] : '\0';
      if (kind != '\0') data = before_tag(data, kind, tag + 2);
      if (!data.empty()) tokens_.push_back({TokenKind::kData, std::string(data), at_});
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

  // What is left of the data before a tag, by the sign that follows the tag's beginning.
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
      refuse_template(ErrorCode::kFormat, source_, tag, "a comment without an end");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    at_ = end + 2;
    after_tag(sign, true);
  }

  // At the end of a tag: what it takes of the data that follows.
  void after_tag(char sign, bool takes_line_end) {
    if (sign == '-') {
      const std::string_view rest = source_.substr(at_);
      const std::size_t size = rest.size() - without_leading_space(rest).size();
      at_ += size;
      line_begins_ = size > 0 && source_[at_ - 1] == '\n';
      return;
    }
    line_begins_ = takes_line_end && sign != '+' && at_ < source_.size() && source_[at_] == '\n';
    if (line_begins_) ++at_;
  }

  void inside(bool output, std::size_t tag) {
    tokens_.push_back({output ? TokenKind::kOutput : TokenKind::kStatement, "", tag});
    const std::string_view end = output ? "}}" : "%}";
    for (;;) {
      while (at_ < source_.size() && is_blank(source_[at_])) ++at_;
      if (at_ >= source_.size())
        refuse_template(ErrorCode::kFormat, source_, tag, "a tag without an end");
      const std::string_view rest = source_.substr(at_);
      const bool signed_end =
          (rest[0] == '-' || (rest[0] == '+' && !output)) && rest.substr(1).starts_with(end);
      if (signed_end || rest.starts_with(end)) {
        tokens_.push_back({TokenKind::kEnd, "", at_});
        at_ += end.size() + (signed_end ? 1 : 0);
        return after_tag(signed_end ? rest[0] : '\0', !output);
      }
      token(rest);
    }
  }

  void token(std::string_view rest) {
    const std::size_t begin = at_;
    if (is_letter(rest[0])) {
      while (at_ < source_.size() && (is_letter(source_[at_]) || is_digit(source_[at_]))) ++at_;
      tokens_.push_back({TokenKind::kName, std::string(source_.substr(begin, at_ - begin)), begin});
    } else if (is_digit(rest[0])) {
      Token token{TokenKind::kInteger, "", begin};
      const char* const last = source_.data() + source_.size();
      const auto [stop, error] = std::from_chars(source_.data() + begin, last, token.integer);
      at_ = static_cast<std::size_t>(stop - source_.data());
      const char next = at_ < source_.size() ? source_[at_] : ' ';
      const bool fraction = next == '.' && at_ + 1 < source_.size() && is_digit(source_[at_ + 1]);
      if (error != std::errc{} || is_letter(next) || fraction)
        refuse_template(ErrorCode::kUnsupported, source_, begin, "a number that is no integer");
      tokens_.push_back(std::move(token));
    } else if (rest[0] == '\'' || rest[0] == '"') {
      tokens_.push_back({TokenKind::kText, quoted_text(rest[0]), begin});
    } else {
      for (const std::string_view known :
           {"==", "!=", "<=", ">=", "//", "**", "+", "-", "*", "/", "%", "~", "<",
            ">",  "=",  "(",  ")",  "[",  "]",  ".", ",", ":", "|", "{", "}"})
        if (rest.starts_with(known)) {
          at_ += known.size();
          tokens_.push_back({TokenKind::kOperator, std::string(known), begin});
          return;
        }
      refuse_template(ErrorCode::kFormat, source_, begin,
                      fmt::format("an unknown character {}", in_quotes(rest.substr(0, 1))));
    }
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
                        fmt::format("the escape \\{}", c == '\0' ? ' ' : c));
      text += kEscapes[i + 1];
    }
    if (at_++ >= source_.size())
      refuse_template(ErrorCode::kFormat, source_, begin, "a text without an end");
    return text;
  }

  const std::string_view source_;
  std::size_t at_ = 0;
  bool line_begins_ = true;  // behind the last tag
  std::vector<Token> tokens_;
};

// As Jinja reads a source: lines end with \n, and the last one has no end.
std::string with_plain_lines(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    text += source[i] == '\r' ? '\n' : source[i];
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

constexpr std::array<std::string_view, 5> kLoop{"first", "last", "index", "index0", "length"};
constexpr std::array<std::string_view, 3> kFilters{"trim", "length", "tojson"};
constexpr std::array<std::string_view, 4> kTests{"defined", "undefined", "none", "string"};
constexpr std::array<std::string_view, 5> kMethods{"strip", "lstrip", "rstrip", "startswith",
                                                   "endswith"};
// Attributes that an object of Python has beside its members.
constexpr std::array<std::string_view, 11> kOfObjects{"clear",      "copy",   "fromkeys", "get",
                                                      "items",      "keys",   "pop",      "popitem",
                                                      "setdefault", "update", "values"};

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

struct ChatTemplate::Node {
  enum class Kind {
    kData,      // text
    kBlock,     // children one after the other
    kOutput,    // child
    kFor,       // text: the name; list, body
    kIf,        // condition, body, and perhaps what stands for else
    kSet,       // text: the name; value
    kConstant,  // constant
    kName,      // text
    kMember,    // text: of the child
    kIndex,     // of the first child by the second
    kSlice,     // of the first child; from, to: of Kind kNothing where they are left out
    kNothing,
    kList,
    kUnary,      // text: not, -
    kBinary,     // text: the operator
    kCondition,  // condition, then, else
    kFilter,     // text
    kTest,       // text
    kMethod,     // text: of the first child with the second
    kRaise,
  };

  Kind kind = Kind::kBlock;
  std::size_t at = 0;
  std::string text = {};
  Json constant = {};
  std::vector<std::unique_ptr<Node>> children = {};
  std::string source = {};  // of the root
};

class ChatTemplate::Parser {
 public:
  explicit Parser(std::string source) : source_(std::move(source)), tokens_(Lexer(source_).read()) {
    tokens_.push_back({TokenKind::kEnd, "", source_.size()});
  }

  std::unique_ptr<Node> parse() {
    std::unique_ptr<Node> root = block({});
    if (next_ + 1 < tokens_.size()) refuse("a tag that belongs to no statement");
    root->source = source_;
    return root;
  }

 private:
  using Kind = Node::Kind;
  using Pointer = std::unique_ptr<Node>;

  template <class... Children>
  Pointer node(Kind kind, std::size_t at, std::string text, Children... children) {
    auto made = std::make_unique<Node>();
    made->kind = kind;
    made->at = at;
    made->text = std::move(text);
    (made->children.push_back(std::move(children)), ...);
    return made;
  }

  const Token& token() const { return tokens_[next_]; }
  bool is(TokenKind kind, std::string_view text) const {
    return token().kind == kind && token().text == text;
  }
  bool take(TokenKind kind, std::string_view text) {
    if (!is(kind, text)) return false;
    ++next_;
    return true;
  }
  bool take_operator(std::string_view text) { return take(TokenKind::kOperator, text); }
  bool take_word(std::string_view text) { return take(TokenKind::kName, text); }

  std::string shown() const {
    switch (token().kind) {
      case TokenKind::kName:
      case TokenKind::kOperator:
        return in_quotes(token().text);
      case TokenKind::kText:
        return "a text";
      case TokenKind::kInteger:
        return "a number";
      default:
        return "the end of a tag";
    }
  }
  [[noreturn]] void refuse(std::string_view what, ErrorCode code = ErrorCode::kFormat) const {
    refuse_template(code, source_, token().at, what);
  }
  [[noreturn]] void refuse_construct(std::string_view what) const {
    refuse(fmt::format("{} is not supported", what), ErrorCode::kUnsupported);
  }
  void expect_operator(std::string_view text) {
    if (!take_operator(text)) refuse(fmt::format("expected {}, got {}", in_quotes(text), shown()));
  }
  void expect_end() {
    if (token().kind != TokenKind::kEnd) refuse_construct(fmt::format("{} here", shown()));
    ++next_;
  }
  std::string name() {
    if (token().kind != TokenKind::kName) refuse(fmt::format("expected a name, got {}", shown()));
    return tokens_[next_++].text;
  }

  struct Deeper {
    explicit Deeper(Parser& parser) : of(parser) {
      if (++of.depth_ > kDeepest) of.refuse_construct("so deep a nesting");
    }
    ~Deeper() { --of.depth_; }
    Parser& of;
  };

  // ---- statements

  // Up to a statement of one of the words, at which it stands then.
  Pointer block(std::initializer_list<std::string_view> ends) {
    const Deeper deeper(*this);
    Pointer all = node(Kind::kBlock, token().at, "");
    while (next_ + 1 < tokens_.size()) {
      const Token& first = token();
      if (first.kind == TokenKind::kData) {
        all->children.push_back(node(Kind::kData, first.at, first.text));
        ++next_;
      } else if (first.kind == TokenKind::kOutput) {
        ++next_;
        all->children.push_back(node(Kind::kOutput, first.at, "", expression()));
        expect_end();
      } else {
        const Token& word = tokens_[next_ + 1];
        if (word.kind == TokenKind::kName &&
            std::find(ends.begin(), ends.end(), word.text) != ends.end())
          return all;
        ++next_;
        all->children.push_back(statement());
      }
    }
    if (ends.size() > 0) refuse(fmt::format("expected {{% {} %}}", *(ends.end() - 1)));
    return all;
  }

  Pointer statement() {
    const std::size_t at = token().at;
    if (take_word("if")) return if_statement(at);
    if (take_word("for")) return for_statement(at);
    if (!is(TokenKind::kName, "set")) refuse_construct(fmt::format("the statement {}", shown()));
    ++next_;
    std::string to = name();
    if (!is(TokenKind::kOperator, "=")) refuse_construct(fmt::format("set with {}", shown()));
    ++next_;
    Pointer made = node(Kind::kSet, at, std::move(to), expression());
    expect_end();
    return made;
  }

  Pointer if_statement(std::size_t at) {
    const Deeper deeper(*this);
    Pointer condition = either();
    expect_end();
    Pointer body = block({"elif", "else", "endif"});
    ++next_;  // the statement's beginning
    Pointer made = node(Kind::kIf, at, "", std::move(condition), std::move(body));
    const std::size_t next = token().at;
    if (take_word("elif")) {
      made->children.push_back(if_statement(next));
      return made;
    }
    if (take_word("else")) {
      expect_end();
      made->children.push_back(block({"endif"}));
      ++next_;
    }
    if (!take_word("endif")) refuse("expected {% endif %}");
    expect_end();
    return made;
  }

  Pointer for_statement(std::size_t at) {
    std::string variable = name();
    if (!take_word("in")) refuse_construct(fmt::format("for with {}", shown()));
    Pointer list = either();
    if (token().kind != TokenKind::kEnd) refuse_construct(fmt::format("for with {}", shown()));
    ++next_;
    Pointer body = block({"else", "endfor"});
    ++next_;
    if (is(TokenKind::kName, "else")) refuse_construct("else of a for");
    ++next_;
    expect_end();
    return node(Kind::kFor, at, std::move(variable), std::move(list), std::move(body));
  }

  // ---- expressions, the loosest first

  Pointer expression() {
    const Deeper deeper(*this);
    Pointer value = either();
    while (is(TokenKind::kName, "if")) {
      const std::size_t at = token().at;
      ++next_;
      Pointer condition = either();
      Pointer otherwise = take_word("else") ? expression() : node(Kind::kNothing, token().at, "");
      value = node(Kind::kCondition, at, "", std::move(condition), std::move(value),
                   std::move(otherwise));
    }
    return value;
  }

  Pointer either() {
    const Deeper deeper(*this);
    Pointer left = both();
    while (is(TokenKind::kName, "or")) left = binary(std::move(left), &Parser::both);
    return left;
  }
  Pointer both() {
    Pointer left = negation();
    while (is(TokenKind::kName, "and")) left = binary(std::move(left), &Parser::negation);
    return left;
  }
  Pointer negation() {
    const Deeper deeper(*this);
    const std::size_t at = token().at;
    if (take_word("not")) return node(Kind::kUnary, at, "not", negation());
    return comparison();
  }

  Pointer comparison() {
    Pointer left = sum();
    const std::size_t at = token().at;
    std::string which;
    if (token().kind == TokenKind::kOperator)
      for (const std::string_view known : {"==", "!=", "<", "<=", ">", ">="})
        if (take_operator(known)) {
          which = known;
          break;
        }
    if (which.empty() && is(TokenKind::kName, "not") && tokens_[next_ + 1].text == "in") {
      next_ += 2;
      which = "not in";
    } else if (which.empty() && take_word("in")) {
      which = "in";
    }
    if (which.empty()) return left;
    Pointer made = node(Kind::kBinary, at, which, std::move(left), sum());
    for (const std::string_view known : {"==", "!=", "<", "<=", ">", ">="})
      if (is(TokenKind::kOperator, known)) refuse_construct("a comparison of comparisons");
    if (is(TokenKind::kName, "in") || is(TokenKind::kName, "not"))
      refuse_construct("a comparison of comparisons");
    return made;
  }

  Pointer sum() {
    Pointer left = joined();
    while (is(TokenKind::kOperator, "+") || is(TokenKind::kOperator, "-"))
      left = binary(std::move(left), &Parser::joined);
    return left;
  }
  Pointer joined() {
    Pointer left = product();
    while (is(TokenKind::kOperator, "~")) left = binary(std::move(left), &Parser::product);
    return left;
  }
  Pointer product() {
    Pointer left = unary();
    for (;;) {
      if (is(TokenKind::kOperator, "/") || is(TokenKind::kOperator, "**"))
        refuse_construct(shown());
      if (!is(TokenKind::kOperator, "*") && !is(TokenKind::kOperator, "//") &&
          !is(TokenKind::kOperator, "%"))
        return left;
      left = binary(std::move(left), &Parser::unary);
    }
  }
  Pointer binary(Pointer left, Pointer (Parser::*right)()) {
    const Deeper deeper(*this);
    const Token& which = tokens_[next_++];
    return node(Kind::kBinary, which.at, which.text, std::move(left), (this->*right)());
  }

  Pointer unary() {
    const Deeper deeper(*this);
    const std::size_t at = token().at;
    if (take_operator("-")) {
      // Jinja's filters bind less than this sign.
      if (token().kind != TokenKind::kInteger) refuse_construct("- before what is no number");
      return node(Kind::kUnary, at, "-", primary());
    }
    return filtered(members(primary()));
  }

  Pointer primary() {
    const Token& first = token();
    ++next_;
    if (first.kind == TokenKind::kText || first.kind == TokenKind::kInteger) {
      Pointer made = node(Kind::kConstant, first.at, "");
      made->constant = first.kind == TokenKind::kText ? Json(first.text) : Json(first.integer);
      return made;
    }
    if (first.kind == TokenKind::kName) return named(first);
    if (first.kind == TokenKind::kOperator && first.text == "(") {
      Pointer inner = expression();
      if (is(TokenKind::kOperator, ",")) refuse_construct("a tuple");
      expect_operator(")");
      return inner;
    }
    if (first.kind == TokenKind::kOperator && first.text == "[") {
      Pointer list = node(Kind::kList, first.at, "");
      while (!take_operator("]")) {
        list->children.push_back(expression());
        if (!is(TokenKind::kOperator, "]")) expect_operator(",");
      }
      return list;
    }
    --next_;
    if (is(TokenKind::kOperator, "{")) refuse_construct("a dictionary");
    refuse(fmt::format("expected a value, got {}", shown()));
  }

  Pointer named(const Token& first) {
    static constexpr std::array<std::string_view, 10> kWords{"and", "or",   "not",  "in",  "is",
                                                             "if",  "else", "elif", "for", "set"};
    const auto constant = [&](Json value) {
      Pointer made = node(Kind::kConstant, first.at, "");
      made->constant = std::move(value);
      return made;
    };
    if (first.text == "true" || first.text == "True") return constant(true);
    if (first.text == "false" || first.text == "False") return constant(false);
    if (first.text == "none" || first.text == "None") return constant(Json());
    if (is_among(kWords, first.text)) {
      --next_;
      refuse(fmt::format("expected a value, got {}", shown()));
    }
    if (first.text == "raise_exception" && take_operator("(")) {
      Pointer made = node(Kind::kRaise, first.at, "", expression());
      expect_operator(")");
      return made;
    }
    if (is(TokenKind::kOperator, "(")) {
      --next_;
      refuse_construct(fmt::format("the function {}", in_quotes(first.text)));
    }
    return node(Kind::kName, first.at, first.text);
  }

  Pointer members(Pointer value) {
    std::size_t count = 0;
    for (;; ++count) {
      if (count + depth_ > kDeepest) refuse_construct("so deep a nesting");
      const std::size_t at = token().at;
      if (take_operator(".")) {
        if (token().kind == TokenKind::kInteger) refuse_construct("an index behind a point");
        const std::size_t begin = next_;
        std::string member = name();
        if (take_operator("(")) {
          if (!is_among(kMethods, member)) {
            next_ = begin;
            refuse_construct(fmt::format("the method {}", in_quotes(member)));
          }
          const bool with = member == "startswith" || member == "endswith";
          value = node(Kind::kMethod, at, member, std::move(value));
          if (with) value->children.push_back(expression());
          if (!is(TokenKind::kOperator, ")"))
            refuse_construct(fmt::format("{} with these arguments", member));
          ++next_;
          continue;
        }
        const bool of_loop = value->kind == Kind::kName && value->text == "loop";
        if ((of_loop && !is_among(kLoop, member)) || is_among(kOfObjects, member) ||
            is_among(kMethods, member)) {
          next_ = begin;
          refuse_construct(fmt::format("the attribute {}", in_quotes(member)));
        }
        value = node(Kind::kMember, at, std::move(member), std::move(value));
      } else if (take_operator("[")) {
        value = subscript(at, std::move(value));
      } else if (is(TokenKind::kOperator, "(")) {
        refuse_construct("a call of what is no name");
      } else {
        return value;
      }
    }
  }

  Pointer subscript(std::size_t at, Pointer value) {
    const auto bound = [&] {
      return is(TokenKind::kOperator, ":") || is(TokenKind::kOperator, "]")
                 ? node(Kind::kNothing, token().at, "")
                 : expression();
    };
    if (is(TokenKind::kOperator, "]")) refuse("expected an index, got ']'");
    Pointer from = bound();
    if (!take_operator(":")) {
      expect_operator("]");
      return node(Kind::kIndex, at, "", std::move(value), std::move(from));
    }
    Pointer to = bound();
    if (is(TokenKind::kOperator, ":")) refuse_construct("a slice with a step");
    expect_operator("]");
    return node(Kind::kSlice, at, "", std::move(value), std::move(from), std::move(to));
  }

  Pointer filtered(Pointer value) {
    std::size_t count = 0;
    for (;; ++count) {
      if (count + depth_ > kDeepest) refuse_construct("so deep a nesting");
      const std::size_t at = token().at;
      if (take_operator("|")) {
        if (token().kind == TokenKind::kName && !is_among(kFilters, token().text))
          refuse_construct(fmt::format("the filter {}", shown()));
        value = node(Kind::kFilter, at, name(), std::move(value));
        if (is(TokenKind::kOperator, "("))
          refuse_construct(fmt::format("the filter {} with arguments", value->text));
        if (is(TokenKind::kOperator, ".") || is(TokenKind::kOperator, "["))
          refuse_construct(fmt::format("{} behind a filter", shown()));
      } else if (take_word("is")) {
        const bool negated = take_word("not");
        if (token().kind == TokenKind::kName && !is_among(kTests, token().text))
          refuse_construct(fmt::format("the test {}", shown()));
        value = node(Kind::kTest, at, name(), std::move(value));
        // Jinja takes what follows for the test's argument.
        const bool goes_on = is(TokenKind::kName, "and") || is(TokenKind::kName, "or") ||
                             is(TokenKind::kName, "else") || is(TokenKind::kOperator, "|") ||
                             token().kind == TokenKind::kEnd ||
                             (token().kind == TokenKind::kOperator && token().text != "(" &&
                              token().text != "[" && token().text != "{");
        if (!goes_on) refuse_construct(fmt::format("{} behind a test", shown()));
        if (negated) value = node(Kind::kUnary, at, "not", std::move(value));
      } else {
        return value;
      }
    }
  }

  const std::string source_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0, depth_ = 0;
};

// A value is a pointer to JSON, nullptr where it is undefined.
class ChatTemplate::Renderer {
 public:
  Renderer(const Node& root, const Json& variables) : source_(root.source) {
    scopes_.emplace_back();
    for (const Json::Member& member : variables.members())
      scopes_.back().emplace_back(member.key, &member.value);
  }

  std::string text_of(const Node& root) {
    run(root);
    return std::move(out_);
  }

 private:
  using Kind = Node::Kind;
  using Value = const Json*;

  [[noreturn]] void refuse(const Node& node, std::string_view what,
                           ErrorCode code = ErrorCode::kInvalidArgument) const {
    refuse_template(code, source_, node.at, what);
  }
  void step(const Node& node) {
    if (++steps_ > kMostSteps) refuse(node, "it takes too long", ErrorCode::kUnsupported);
  }
  // A value that is made here. Texts of messages are pointed to, not copied.
  Value made(const Node& node, Json value) {
    if (value.is_string()) made_bytes_ += value.as_string().size();
    if (made_bytes_ > 4 * kMostText)
      refuse(node, "it makes too much text", ErrorCode::kUnsupported);
    return &made_.emplace_back(std::move(value));
  }
  void write(const Node& node, std::string_view text) {
    if (out_.size() + text.size() > kMostText)
      refuse(node, "it makes too much text", ErrorCode::kUnsupported);
    out_ += text;
  }

  // ---- statements

  void run(const Node& node) {
    step(node);
    switch (node.kind) {
      case Kind::kData:
        return write(node, node.text);
      case Kind::kBlock:
        for (const auto& child : node.children) run(*child);
        return;
      case Kind::kOutput: {
        const Value value = evaluate(*node.children[0]);
        return write(node, shown(node, value));
      }
      case Kind::kSet: {
        const Value value = evaluate(*node.children[0]);
        return set(node.text, value);
      }
      case Kind::kIf:
        if (is_true(evaluate(*node.children[0])))
          run(*node.children[1]);
        else if (node.children.size() > 2)
          run(*node.children[2]);
        return;
      case Kind::kFor:
        return loop(node);
      default:
        refuse(node, "no statement");
    }
  }

  void loop(const Node& node) {
    const Value list = evaluate(*node.children[0]);
    if (!list) return;
    if (!list->is_array()) refuse(node, "for: expected a list");
    const std::size_t count = list->size();
    // Nothing that is made in a turn outlives it: what `set` names there is gone with its scope.
    const std::size_t kept = made_.size();
    for (std::size_t i = 0; i < count; ++i) {
      scopes_.emplace_back();
      set(node.text, &list->at(i));
      set("loop", made(node, Json{{"first", i == 0},
                                  {"last", i + 1 == count},
                                  {"index", i + 1},
                                  {"index0", i},
                                  {"length", count}}));
      run(*node.children[1]);
      scopes_.pop_back();
      made_.resize(kept);
    }
  }

  void set(const std::string& name, Value value) {
    for (auto& [key, there] : scopes_.back())
      if (key == name) {
        there = value;
        return;
      }
    scopes_.back().emplace_back(name, value);
  }

  // ---- values, as Python has them

  static bool is_true(Value value) {
    if (!value || value->is_null()) return false;
    if (value->is_bool()) return value->as_bool();
    if (value->is_integer()) return *value != 0;
    if (value->is_string()) return !value->as_string().empty();
    return value->is_number() || value->size() > 0;
  }

  std::string shown(const Node& node, Value value) const {
    if (!value) return "";
    if (value->is_string()) return value->as_string();
    if (value->is_null()) return "None";
    if (value->is_bool()) return value->as_bool() ? "True" : "False";
    if (value->is_small_integer()) return fmt::format("{}", value->as_integer());
    refuse(node, "a list, an object or a fraction as text", ErrorCode::kUnsupported);
  }

  // Of a small integer or a truth value, which counts as one.
  static std::optional<std::int64_t> integer(Value value) {
    if (value && value->is_bool()) return value->as_bool() ? 1 : 0;
    if (value && value->is_small_integer()) return value->as_integer();
    return std::nullopt;
  }

  bool are_equal(const Node& node, Value a, Value b) const {
    if (!a || !b) return !a && !b;
    const auto x = integer(a), y = integer(b);
    if (x && y) return *x == *y;
    for (const Value value : {a, b})
      if (value->is_array() || value->is_object() || (value->is_number() && !integer(value)))
        refuse(node, "a comparison of lists, objects or fractions", ErrorCode::kUnsupported);
    return *a == *b;
  }

  bool contains(const Node& node, Value one, Value all) {
    if (!all) return false;
    if (all->is_string()) {
      if (!one || !one->is_string()) refuse(node, "in: expected a text in a text");
      return all->as_string().find(one->as_string()) != std::string::npos;
    }
    if (all->is_object()) return one && one->is_string() && all->contains(one->as_string());
    if (!all->is_array()) refuse(node, "in: expected a text, a list or an object");
    for (const Json& element : all->elements()) {
      step(node);
      if (are_equal(node, one, &element)) return true;
    }
    return false;
  }

  const std::string& text(const Node& node, Value value) const {
    if (!value || !value->is_string()) refuse(node, fmt::format("{}: expected a text", node.text));
    return value->as_string();
  }

  Value evaluate(const Node& node) {
    step(node);
    const auto child = [&](std::size_t i) { return evaluate(*node.children[i]); };
    switch (node.kind) {
      case Kind::kConstant:
        return &node.constant;
      case Kind::kNothing:
        return nullptr;
      case Kind::kName:
        return variable(node.text);
      case Kind::kMember:
        return member(node, child(0), node.text);
      case Kind::kIndex: {
        const Value of = child(0), by = child(1);
        return element(node, of, by);
      }
      case Kind::kSlice:
        return slice(node);
      case Kind::kList: {
        Json list = Json::array();
        for (const auto& one : node.children) {
          const Value value = evaluate(*one);
          if (!value || value->is_array() || value->is_object())
            refuse(node, "a list of other than texts and numbers", ErrorCode::kUnsupported);
          list.push_back(*value);
        }
        return made(node, std::move(list));
      }
      case Kind::kUnary: {
        const Value value = child(0);
        if (node.text == "not") return made(node, Json(!is_true(value)));
        return made(node, Json(-value->as_integer()));
      }
      case Kind::kBinary:
        return binary(node);
      case Kind::kCondition:
        return is_true(child(0)) ? child(1) : child(2);
      case Kind::kFilter:
        return filter(node, child(0));
      case Kind::kTest:
        return test(node, child(0));
      case Kind::kMethod:
        return method(node);
      case Kind::kRaise: {
        const Value message = child(0);
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("chat template: {}", shown(node, message)));
      }
      default:
        refuse(node, "no expression");
    }
  }

  Value variable(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      for (const auto& [key, value] : *scope)
        if (key == name) return value;
    return nullptr;
  }

  Value member(const Node& node, Value of, const std::string& name) const {
    if (!of) refuse(node, fmt::format("the member {} of what is not defined", in_quotes(name)));
    if (!of->is_object())
      refuse(node, fmt::format("the member {} of what is no object", in_quotes(name)),
             ErrorCode::kUnsupported);
    return of->find(name);
  }

  Value element(const Node& node, Value of, Value by) const {
    if (by && by->is_string()) return member(node, of, by->as_string());
    const std::optional<std::int64_t> index = integer(by);
    if (!of || !of->is_array() || !index)
      refuse(node, "an index of other than a list by a number", ErrorCode::kUnsupported);
    const auto count = static_cast<std::int64_t>(of->size());
    const std::int64_t i = *index < 0 ? *index + count : *index;
    return i >= 0 && i < count ? &of->at(static_cast<std::size_t>(i)) : nullptr;
  }

  Value slice(const Node& node) {
    const Value of = evaluate(*node.children[0]);
    if (!of || !of->is_array())
      refuse(node, "a slice of other than a list", ErrorCode::kUnsupported);
    const auto count = static_cast<std::int64_t>(of->size());
    const auto bound = [&](std::size_t child, std::int64_t otherwise) {
      if (node.children[child]->kind == Kind::kNothing) return otherwise;
      const std::optional<std::int64_t> given = integer(evaluate(*node.children[child]));
      if (!given) refuse(node, "a slice: expected integers");
      return std::clamp(*given < 0 ? *given + count : *given, std::int64_t{0}, count);
    };
    const std::int64_t from = bound(1, 0), to = bound(2, count);
    Json part = Json::array();
    for (std::int64_t i = from; i < to; ++i) {
      step(node);
      const Json& one = of->at(static_cast<std::size_t>(i));
      sliced_bytes_ += size_of(one);
      if (sliced_bytes_ > 4 * kMostText)
        refuse(node, "it makes too much text", ErrorCode::kUnsupported);
      part.push_back(one);
    }
    return made(node, std::move(part));
  }

  static std::size_t size_of(const Json& value) {
    if (value.is_string()) return value.as_string().size();
    std::size_t size = 1;
    if (value.is_array())
      for (const Json& one : value.elements()) size += size_of(one);
    if (value.is_object())
      for (const Json::Member& one : value.members()) size += one.key.size() + size_of(one.value);
    return size;
  }

  Value binary(const Node& node) {
    const std::string& which = node.text;
    const Value a = evaluate(*node.children[0]);
    if (which == "and" && !is_true(a)) return a;
    if (which == "or" && is_true(a)) return a;
    const Value b = evaluate(*node.children[1]);
    if (which == "and" || which == "or") return b;
    if (which == "==") return made(node, Json(are_equal(node, a, b)));
    if (which == "!=") return made(node, Json(!are_equal(node, a, b)));
    if (which == "in") return made(node, Json(contains(node, a, b)));
    if (which == "not in") return made(node, Json(!contains(node, a, b)));
    if (which == "~") return joined(node, shown(node, a), shown(node, b));
    if (which == "+" && a && b && a->is_string() && b->is_string())
      return joined(node, a->as_string(), b->as_string());
    const std::optional<std::int64_t> x = integer(a), y = integer(b);
    if (!x || !y) refuse(node, fmt::format("{}: expected two texts or two integers", which));
    return arithmetic(node, *x, *y);
  }

  Value joined(const Node& node, const std::string& a, const std::string& b) {
    if (a.size() + b.size() > kMostText)
      refuse(node, "it makes too much text", ErrorCode::kUnsupported);
    return made(node, Json(a + b));
  }

  Value arithmetic(const Node& node, std::int64_t x, std::int64_t y) {
    const std::string& which = node.text;
    if (which == "<") return made(node, Json(x < y));
    if (which == "<=") return made(node, Json(x <= y));
    if (which == ">") return made(node, Json(x > y));
    if (which == ">=") return made(node, Json(x >= y));
    std::int64_t result = 0;
    bool overflow = false;
    if (which == "+") {
      overflow = __builtin_add_overflow(x, y, &result);
    } else if (which == "-") {
      overflow = __builtin_sub_overflow(x, y, &result);
    } else if (which == "*") {
      overflow = __builtin_mul_overflow(x, y, &result);
    } else if (y == 0 || (y == -1 && x == std::numeric_limits<std::int64_t>::min())) {
      overflow = true;
    } else {
      // Towards minus infinity, as Python divides.
      const std::int64_t rest = x % y;
      const bool lower = rest != 0 && (rest < 0) != (y < 0);
      result = which == "%" ? rest + (lower ? y : 0) : x / y - (lower ? 1 : 0);
    }
    if (overflow) refuse(node, fmt::format("{}: the result is no integer of 64 bits", which));
    return made(node, Json(result));
  }

  Value filter(const Node& node, Value value) {
    if (node.text == "tojson") {
      std::string json;
      add_json(node, json, value);
      return made(node, Json(std::move(json)));
    }
    if (node.text == "length" && value && (value->is_array() || value->is_object()))
      return made(node, Json(value->size()));
    const std::string& given = text(node, value);
    if (node.text == "trim") return trimmed(node, given, true, true);
    return made(node, Json(std::count_if(given.begin(), given.end(), [](char c) {
                  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                })));
  }

  Value trimmed(const Node& node, std::string_view text, bool front, bool back) {
    if (front) text = without_leading_space(text);
    if (back) text = without_trailing_space(text);
    return made(node, Json(std::string(text)));
  }

  // As Python's json.dumps(value, ensure_ascii=False).
  void add_json(const Node& node, std::string& json, Value value) {
    step(node);
    if (json.size() > kMostText) refuse(node, "it makes too much text", ErrorCode::kUnsupported);
    if (value && value->is_string()) {
      add_json_text(json, value->as_string());
    } else if (value && (value->is_null() || value->is_bool() || value->is_small_integer())) {
      json += value->dump();
    } else if (value && value->is_array()) {
      json += '[';
      for (const Json& one : value->elements()) {
        if (json.back() != '[' || &one != value->elements().data()) json += ", ";
        add_json(node, json, &one);
      }
      json += ']';
    } else if (value && value->is_object()) {
      json += '{';
      bool first = true;
      for (const Json::Member& one : value->members()) {
        if (!std::exchange(first, false)) json += ", ";
        add_json_text(json, one.key);
        json += ": ";
        add_json(node, json, &one.value);
      }
      json += '}';
    } else {
      refuse(node, "tojson of a fraction or of what is not defined", ErrorCode::kUnsupported);
    }
  }

  static void add_json_text(std::string& json, std::string_view text) {
    constexpr std::string_view kShort = "\"\"\\\\\nn\rr\tt\bb\ff";
    json += '"';
    for (const char c : text) {
      std::size_t i = 0;
      while (i < kShort.size() && kShort[i] != c) i += 2;
      if (i < kShort.size())
        json.append(1, '\\').append(1, kShort[i + 1]);
      else if (static_cast<unsigned char>(c) < 0x20)
        json += fmt::format("\\u{:04x}", c);
      else
        json += c;
    }
    json += '"';
  }

  Value test(const Node& node, Value value) {
    const bool found = node.text == "defined"     ? value != nullptr
                       : node.text == "undefined" ? value == nullptr
                       : node.text == "none"      ? value && value->is_null()
                                                  : value && value->is_string();
    return made(node, Json(found));
  }

  Value method(const Node& node) {
    const std::string& of = text(node, evaluate(*node.children[0]));
    if (node.children.size() == 1)
      return trimmed(node, of, node.text != "rstrip", node.text != "lstrip");
    const std::string& part = text(node, evaluate(*node.children[1]));
    return made(node, Json(node.text == "startswith" ? of.starts_with(part) : of.ends_with(part)));
  }

  const std::string& source_;
  std::string out_;
  std::vector<std::vector<std::pair<std::string, Value>>> scopes_;
  std::deque<Json> made_;
  std::size_t steps_ = 0, made_bytes_ = 0, sliced_bytes_ = 0;
};

ChatTemplate::ChatTemplate(std::string_view source) {
  if (source.size() > kMostSource)
    throw Error(ErrorCode::kUnsupported, fmt::format("chat template: expected at most {} bytes, "
                                                     "got {}",
                                                     kMostSource, source.size()));
  root_ = Parser(with_plain_lines(source)).parse();
}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

std::string ChatTemplate::render(const Json& variables) const {
  return Renderer(*root_, variables).text_of(*root_);
}

}  // namespace limpid
