// From a chat template's tokens to its tree.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "limpid/core/in_quotes.h"
#include "limpid/data/chat/detail/template_tokens.h"
#include "limpid/data/chat/detail/template_tree.h"

namespace limpid::detail {
namespace {

// The limit on nested tags and nested expressions, as each level uses stack.
constexpr std::size_t kDeepestNesting = 64;
constexpr std::size_t kHighestTree = 200;
constexpr std::size_t kMostParts = 1024;  // of a list or a dictionary

// Names to which Jinja gives a meaning of its own.
constexpr std::array<std::string_view, 11> kReservedNames{"true",   "false",   "none",  "True",
                                                          "False",  "None",    "loop",  "self",
                                                          "caller", "varargs", "kwargs"};
// Keywords, which Jinja reads as names where it expects a value. After a test they are refused.
constexpr std::array<std::string_view, 10> kWordsOfTemplates{"and", "or",   "not",  "in",  "is",
                                                             "if",  "else", "elif", "for", "set"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

class TemplateParser {
 public:
  explicit TemplateParser(const std::string& source)
      : source_(source), tokens_(template_tokens(source)) {
    tokens_.push_back({TokenKind::kEnd, "", source_.size()});
  }

  std::unique_ptr<TemplateNode> parse() {
    Pointer root = block({});
    if (next_ + 1 < tokens_.size()) refuse("a tag without its statement");
    return root;
  }

 private:
  using TokenKind = TemplateToken::Kind;
  using Kind = TemplateNode::Kind;
  using Pointer = std::unique_ptr<TemplateNode>;

  template <class... Children>
  Pointer node(Kind kind, std::size_t at, std::string text, Children... children) {
    auto made = std::make_unique<TemplateNode>();
    made->kind = kind;
    made->at = at;
    made->text = std::move(text);
    (add(*made, std::move(children)), ...);
    return made;
  }
  void add(TemplateNode& to, Pointer child) {
    to.height = std::max(to.height, child->height + 1);
    if (to.height > kHighestTree) refuse_construct("nesting this deep");
    to.children.push_back(std::move(child));
  }
  Pointer constant(std::size_t at, TemplateNode::Constant which) {
    Pointer made = node(Kind::kConstant, at, "");
    made->constant = which;
    return made;
  }

  const TemplateToken& token() const { return tokens_[next_]; }
  bool is(TokenKind kind, std::string_view text) const {
    return token().kind == kind && token().text == text;
  }
  bool is_operator(std::string_view text) const { return is(TokenKind::kOperator, text); }
  bool is_word(std::string_view text) const { return is(TokenKind::kName, text); }
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
        return "a string";
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
  // A name that is assigned.
  std::string target() {
    if (token().kind == TokenKind::kName && is_one_of(kReservedNames, token().text))
      refuse_construct(fmt::format("{} as the name of a variable", shown()));
    return name();
  }

  struct Deeper {
    explicit Deeper(TemplateParser& parser) : of(parser) {
      if (++of.depth_ > kDeepestNesting) of.refuse_construct("nesting this deep");
    }
    ~Deeper() { --of.depth_; }
    TemplateParser& of;
  };

  // ---- statements

  // Parses up to a statement that begins with one of `words`, and stops there.
  Pointer block(std::initializer_list<std::string_view> ends) {
    const Deeper deeper(*this);
    Pointer all = node(Kind::kBlock, token().at, "");
    while (next_ + 1 < tokens_.size()) {
      const TemplateToken& first = token();
      if (first.kind == TokenKind::kData) {
        add(*all, node(Kind::kData, first.at, first.text));
        ++next_;
      } else if (first.kind == TokenKind::kOutput) {
        ++next_;
        add(*all, node(Kind::kOutput, first.at, "", expression()));
        expect_end();
      } else {
        const TemplateToken& word = tokens_[next_ + 1];
        if (word.kind == TokenKind::kName &&
            std::find(ends.begin(), ends.end(), word.text) != ends.end())
          return all;
        ++next_;
        add(*all, statement());
      }
    }
    if (ends.size() > 0) refuse(fmt::format("expected {{% {} %}}", *(ends.end() - 1)));
    return all;
  }

  Pointer statement() {
    const std::size_t at = token().at;
    if (take_word("if")) return if_statement(at);
    if (take_word("for")) return for_statement(at);
    if (take_word("macro")) return macro_statement(at);
    if (take_word("generation")) return generation_statement();
    for (const auto& [word, kind] :
         {std::pair("break", Kind::kBreak), {"continue", Kind::kContinue}})
      if (is_word(word)) {
        if (loops_ == 0) refuse(fmt::format("{} outside of a loop", in_quotes(word)));
        ++next_;
        expect_end();
        return node(kind, at, "");
      }
    // What is set in Jinja's block of another extension ends with it.
    if (in_generation_) refuse_construct(fmt::format("{} in a generation block", shown()));
    if (!take_word("set")) refuse_construct(fmt::format("the statement {}", shown()));
    std::string to = target();
    const bool to_member = take_operator(".");
    Pointer made = node(to_member ? Kind::kSetMember : Kind::kSet, at, to_member ? name() : to);
    if (to_member) made->names.push_back(std::move(to));
    if (!take_operator("=")) refuse_construct(fmt::format("set with {}", shown()));
    add(*made, expression());
    expect_end();
    return made;
  }

  Pointer if_statement(std::size_t at) {
    const Deeper deeper(*this);
    Pointer made = node(Kind::kIf, at, "");
    do {
      add(*made, either());
      expect_end();
      add(*made, block({"elif", "else", "endif"}));
      ++next_;  // the statement's beginning
    } while (take_word("elif"));
    if (take_word("else")) {
      expect_end();
      add(*made, block({"endif"}));
      ++next_;
    }
    if (!take_word("endif")) refuse("expected {% endif %}");
    expect_end();
    return made;
  }

  Pointer for_statement(std::size_t at) {
    Pointer made = node(Kind::kFor, at, "");
    made->names.push_back(target());
    while (take_operator(",")) made->names.push_back(target());
    if (!take_word("in")) refuse_construct(fmt::format("for with {}", shown()));
    add(*made, either());
    Pointer condition = take_word("if") ? expression() : nullptr;
    if (token().kind != TokenKind::kEnd) refuse_construct(fmt::format("for with {}", shown()));
    ++next_;
    ++loops_;
    add(*made, block({"else", "endfor"}));
    --loops_;
    ++next_;
    if (is_word("else")) refuse_construct("else of a for");
    ++next_;
    expect_end();
    if (condition) add(*made, std::move(condition));
    return made;
  }

  // What an assistant says, which transformers marks for training: it is rendered as it is.
  Pointer generation_statement() {
    const Deeper deeper(*this);
    expect_end();
    const bool outside = !std::exchange(in_generation_, true);
    const std::size_t loops = std::exchange(loops_, 0);
    Pointer made = block({"endgeneration"});
    loops_ = loops;
    if (outside) in_generation_ = false;
    next_ += 2;  // the statement's beginning and its word
    expect_end();
    return made;
  }

  Pointer macro_statement(std::size_t at) {
    const Deeper deeper(*this);
    Pointer made = node(Kind::kMacro, at, target());
    std::vector<Pointer> defaults;
    expect_operator("(");
    while (!take_operator(")")) {
      if (!made->names.empty()) expect_operator(",");
      std::string parameter = target();
      if (std::find(made->names.begin(), made->names.end(), parameter) != made->names.end())
        refuse(fmt::format("duplicate parameter {}", in_quotes(parameter)));
      made->names.push_back(std::move(parameter));
      if (take_operator("="))
        defaults.push_back(expression());
      else if (!defaults.empty())
        refuse("expected a default, as the parameter before has one");
    }
    expect_end();
    const bool outside = !std::exchange(in_macro_, true);
    const std::size_t loops = std::exchange(loops_, 0);
    add(*made, block({"endmacro"}));
    loops_ = loops;
    if (outside) in_macro_ = false;
    next_ += 2;  // the statement's beginning and its word
    expect_end();
    for (Pointer& value : defaults) add(*made, std::move(value));
    return made;
  }

  // ---- expressions, the loosest first

  Pointer expression() {
    const Deeper deeper(*this);
    Pointer value = either();
    while (is_word("if")) {
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
    while (is_word("or")) left = binary(std::move(left), &TemplateParser::both);
    return left;
  }
  Pointer both() {
    Pointer left = negation();
    while (is_word("and")) left = binary(std::move(left), &TemplateParser::negation);
    return left;
  }
  Pointer negation() {
    const Deeper deeper(*this);
    const std::size_t at = token().at;
    if (take_word("not")) return node(Kind::kNot, at, "", negation());
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
    if (which.empty() && is_word("not") && tokens_[next_ + 1].text == "in") {
      next_ += 2;
      which = "not in";
    } else if (which.empty() && take_word("in")) {
      which = "in";
    }
    if (which.empty()) return left;
    Pointer made = node(Kind::kBinary, at, which, std::move(left), sum());
    for (const std::string_view known : {"==", "!=", "<", "<=", ">", ">="})
      if (is_operator(known)) refuse_construct("a chained comparison");
    if (is_word("in") || is_word("not")) refuse_construct("a chained comparison");
    return made;
  }

  Pointer sum() {
    Pointer left = joined();
    while (is_operator("+") || is_operator("-"))
      left = binary(std::move(left), &TemplateParser::joined);
    return left;
  }
  Pointer joined() {
    Pointer left = product();
    while (is_operator("~")) left = binary(std::move(left), &TemplateParser::product);
    return left;
  }
  Pointer product() {
    Pointer left = unary();
    for (;;) {
      if (is_operator("/") || is_operator("**")) refuse_construct(shown());
      if (!is_operator("*") && !is_operator("//") && !is_operator("%")) return left;
      left = binary(std::move(left), &TemplateParser::unary);
    }
  }
  Pointer binary(Pointer left, Pointer (TemplateParser::*right)()) {
    const Deeper deeper(*this);
    const TemplateToken& which = tokens_[next_++];
    return node(Kind::kBinary, which.at, which.text, std::move(left), (this->*right)());
  }

  Pointer unary() {
    const Deeper deeper(*this);
    if (take_operator("-")) {
      // Jinja's filters bind less than this sign.
      if (token().kind != TokenKind::kInteger)
        refuse_construct("- before something other than a number");
      Pointer number = primary();
      number->integer = -number->integer;
      if (is_operator(".") || is_operator("[") || is_operator("|") || is_word("is"))
        refuse_construct(fmt::format("{} after a number with a sign", shown()));
      return number;
    }
    return filtered(members(primary()));
  }

  Pointer primary() {
    const TemplateToken& first = token();
    ++next_;
    if (first.kind == TokenKind::kText || first.kind == TokenKind::kInteger) {
      const bool text = first.kind == TokenKind::kText;
      Pointer made = constant(
          first.at, text ? TemplateNode::Constant::kText : TemplateNode::Constant::kInteger);
      made->text = first.text;
      made->integer = first.integer;
      return made;
    }
    if (first.kind == TokenKind::kName) return named(first);
    if (first.kind == TokenKind::kOperator && first.text == "(") return in_parentheses(first.at);
    if (first.kind == TokenKind::kOperator && first.text == "[") {
      Pointer list = node(Kind::kList, first.at, "");
      add_parts(*list, "]", false);
      return list;
    }
    if (first.kind == TokenKind::kOperator && first.text == "{") {
      Pointer dictionary = node(Kind::kDictionary, first.at, "");
      add_parts(*dictionary, "}", true);
      return dictionary;
    }
    --next_;
    refuse(fmt::format("expected a value, got {}", shown()));
  }

  // A value in parentheses, or a tuple.
  Pointer in_parentheses(std::size_t at) {
    Pointer tuple = node(Kind::kTuple, at, "");
    if (take_operator(")")) return tuple;
    Pointer first = expression();
    if (take_operator(")")) return first;
    expect_operator(",");
    add(*tuple, std::move(first));
    add_parts(*tuple, ")", false);
    return tuple;
  }

  // Values with commas between them, and perhaps one after the last, up to a closing bracket.
  void add_parts(TemplateNode& to, std::string_view close, bool pairs) {
    while (!take_operator(close)) {
      if (to.children.size() >= 2 * kMostParts) refuse_construct("a list this long");
      add(to, expression());
      if (pairs) {
        expect_operator(":");
        add(to, expression());
      }
      if (!is_operator(close)) expect_operator(",");
    }
  }

  // The arguments of a filter, test or function.
  void add_arguments(TemplateNode& to) {
    expect_operator("(");
    while (!take_operator(")")) {
      if (is_operator("*") || is_operator("**"))
        refuse_construct(fmt::format("{} before arguments", shown()));
      const TemplateToken& after = tokens_[next_ + 1];
      const bool with_name = token().kind == TokenKind::kName &&
                             after.kind == TokenKind::kOperator && after.text == "=";
      if (with_name) {
        if (std::find(to.names.begin(), to.names.end(), token().text) != to.names.end())
          refuse(fmt::format("duplicate argument {}", shown()));
        to.names.push_back(token().text);
        next_ += 2;
      } else if (!to.names.empty()) {
        refuse("expected a name, as the argument before has one");
      }
      add(to, expression());
      if (!is_operator(")")) expect_operator(",");
    }
  }

  Pointer named(const TemplateToken& first) {
    using Constant = TemplateNode::Constant;
    if (first.text == "true" || first.text == "True") return constant(first.at, Constant::kTrue);
    if (first.text == "false" || first.text == "False") return constant(first.at, Constant::kFalse);
    if (first.text == "none" || first.text == "None") return constant(first.at, Constant::kNone);
    const bool of_macros =
        first.text == "caller" || first.text == "varargs" || first.text == "kwargs";
    if (first.text == "self" || (in_macro_ && of_macros)) {
      --next_;
      refuse_construct(fmt::format("the name {}", shown()));
    }
    return node(Kind::kName, first.at, first.text);
  }

  Pointer members(Pointer value) {
    std::size_t count = 0;
    for (;; ++count) {
      if (count + depth_ > kDeepestNesting) refuse_construct("nesting this deep");
      const std::size_t at = token().at;
      if (take_operator(".")) {
        if (token().kind == TokenKind::kInteger) refuse_construct("an index after a dot");
        const std::size_t of_member = token().at;
        value = node(Kind::kMember, of_member, name(), std::move(value));
      } else if (take_operator("[")) {
        value = subscript(at, std::move(value));
      } else if (is_operator("(")) {
        if (value->kind != Kind::kName && value->kind != Kind::kMember)
          refuse_construct("a call of something other than a name");
        const std::size_t of_function = value->at;
        value = node(Kind::kCall, of_function, "", std::move(value));
        add_arguments(*value);
      } else {
        return value;
      }
    }
  }

  Pointer subscript(std::size_t at, Pointer value) {
    const auto bound = [&] {
      return is_operator(":") || is_operator("]") ? node(Kind::kNothing, token().at, "")
                                                  : expression();
    };
    if (is_operator("]")) refuse("expected an index, got ']'");
    Pointer from = bound();
    if (is_operator(",")) refuse_construct("an index of several values");
    if (!take_operator(":")) {
      expect_operator("]");
      return node(Kind::kIndex, at, "", std::move(value), std::move(from));
    }
    Pointer to = bound();
    Pointer step = take_operator(":") ? bound() : node(Kind::kNothing, token().at, "");
    if (is_operator(",")) refuse_construct("an index of several values");
    expect_operator("]");
    return node(Kind::kSlice, at, "", std::move(value), std::move(from), std::move(to),
                std::move(step));
  }

  Pointer filtered(Pointer value) {
    std::size_t count = 0;
    for (;; ++count) {
      if (count + depth_ > kDeepestNesting) refuse_construct("nesting this deep");
      if (take_operator("|")) {
        const std::size_t at = token().at;
        value = node(Kind::kFilter, at, name(), std::move(value));
        if (is_operator("(")) add_arguments(*value);
        if (is_operator(".") || is_operator("[") || is_operator("("))
          refuse_construct(fmt::format("{} after a filter", shown()));
      } else if (take_word("is")) {
        value = tested(std::move(value));
      } else {
        return value;
      }
    }
  }

  Pointer tested(Pointer value) {
    const bool negated = take_word("not");
    const std::size_t at = token().at;
    value = node(Kind::kTest, at, name(), std::move(value));
    if (is_operator("(")) {
      add_arguments(*value);
    } else if (begins_argument()) {
      // Jinja takes a value that follows for the test's argument.
      if (token().kind == TokenKind::kName && is_one_of(kWordsOfTemplates, token().text))
        refuse_construct(fmt::format("{} after a test", shown()));
      add(*value, members(primary()));
    }
    if (is_operator(".") || is_operator("[") || is_operator("("))
      refuse_construct(fmt::format("{} after a test", shown()));
    return negated ? node(Kind::kNot, at, "", std::move(value)) : std::move(value);
  }

  bool begins_argument() const {
    if (token().kind == TokenKind::kName)
      return !is_word("else") && !is_word("or") && !is_word("and");
    return token().kind == TokenKind::kText || token().kind == TokenKind::kInteger ||
           is_operator("[") || is_operator("{");
  }

  const std::string& source_;
  std::vector<TemplateToken> tokens_;
  std::size_t next_ = 0, depth_ = 0;
  bool in_macro_ = false;
  bool in_generation_ = false;
  std::size_t loops_ = 0;  // that a break could end
};

}  // namespace

std::unique_ptr<TemplateNode> parse_template(const std::string& source) {
  return TemplateParser(source).parse();
}

}  // namespace limpid::detail
