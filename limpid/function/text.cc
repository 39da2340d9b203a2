#include "limpid/function/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/visit_dtype.h"
#include "limpid/function/builder.h"
#include "limpid/function/nested.h"

namespace limpid {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// ---- printing

// Always contains a point, an exponent or a word (inf, nan), so that a real number never reads as
// an integer.
template <class T>
std::string real_text(T value) {
  if (std::isnan(value)) return "nan";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".ein") == std::string::npos) text += ".0";
  return text;
}

template <class T>
std::string values_text(const Tensor& tensor) {
  std::vector<std::string> parts;
  for (T v : tensor.values<T>()) {
    if constexpr (std::is_floating_point_v<T>)
      parts.push_back(real_text(v));
    else if constexpr (std::is_same_v<T, Bf16> || std::is_same_v<T, F16>)
      parts.push_back(fmt::format("{}", v.bits));
    else
      parts.push_back(fmt::format("{}", static_cast<std::int64_t>(v)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string values_text(const Tensor& tensor) {
  return visit(tensor.dtype(),
               [&]<class T>(std::type_identity<T>) { return values_text<T>(tensor); });
}

std::string attributes_text(const Attributes& attributes, const TextOptions& options) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : attributes)
    parts.push_back(fmt::format("{} = {}", key, attribute_text(value, options)));
  return parts.empty() ? "" : fmt::format(" {{{}}}", fmt::join(parts, ", "));
}

// The lines after the first, those of a Function in an attribute, moved to the right. (A name holds
// no end of a line: it is escaped.)
std::string indented(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result;
}

}  // namespace

std::string quoted_name(std::string_view name) {
  bool plain = !name.empty() && !is_digit(name.front());
  for (char c : name) plain &= is_name_character(c);
  if (plain) return std::string(name);
  std::string text = "\"";
  for (char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      text += c;
  }
  return text + "\"";
}

std::string types_text(std::span<const Type> types) {
  std::vector<std::string> parts;
  for (const Type& t : types) parts.push_back(to_string(t));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string to_text(const Tensor& tensor, const TextOptions& options) {
  const DefaultFloatMode mode;
  if (tensor.elements() > options.max_elements) return to_string(tensor.type()) + " ...";
  return fmt::format("{} ({})", to_string(tensor.type()), values_text(tensor));
}

std::string attribute_text(const Attribute& attribute, const TextOptions& options) {
  const DefaultFloatMode mode;
  struct Printer {
    const TextOptions& options;
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return real_text(v); }
    std::string operator()(const std::vector<std::int64_t>& v) const {
      return fmt::format("[{}]", fmt::join(v, ", "));
    }
    std::string operator()(Dtype v) const { return std::string(name(v)); }
    std::string operator()(const Tensor& v) const { return to_text(v, options); }
    std::string operator()(const Nested& v) const {
      if (!options.bodies) return "function " + quoted_name(v.function().name());
      std::string text = to_text(v.function(), options);
      text.pop_back();  // the end of its last line
      return text;
    }
  };
  return std::visit(Printer{options}, attribute);
}

std::string node_text(const Function& function, const Node& node, const TextOptions& options) {
  std::vector<std::string> results;
  std::vector<std::string> inputs;
  std::vector<Type> types;
  for (std::size_t i = 0; i < function.output_count(node); ++i) {
    const ValueId id = node.first_output + static_cast<ValueId>(i);
    results.push_back(value_name(function, id));
    types.push_back(function.type(id));
  }
  for (ValueId id : node.inputs) inputs.push_back(value_name(function, id));
  return fmt::format("{} = {}({}){} : {}{}", fmt::join(results, ", "),
                     node.op ? std::string_view(node.op->name) : "(no op)", fmt::join(inputs, ", "),
                     attributes_text(node.attributes, options), types_text(types),
                     node.scope.empty() ? "" : "  @" + quoted_name(node.scope));
}

std::string to_text(const Function& function, const TextOptions& options) {
  const DefaultFloatMode mode;
  std::vector<std::string> inputs;
  for (const Input& i : function.inputs())
    inputs.push_back(fmt::format("%{}: {}", quoted_name(i.name), to_string(i.type)));
  std::string text =
      fmt::format("function {}({}) {{\n", quoted_name(function.name()), fmt::join(inputs, ", "));
  for (const Node& node : function.nodes())
    text += "  " + indented(node_text(function, node, options)) + "\n";
  std::vector<std::string> outputs;
  for (const Output& o : function.outputs())
    outputs.push_back((o.name.empty() ? "" : quoted_name(o.name) + " = ") +
                      value_name(function, o.value));
  return text + fmt::format("  return {}\n}}\n", fmt::join(outputs, ", "));
}

// ---- parsing

namespace {

// Limits on the text of a Function: a few bytes of it may need hundreds of bytes of memory.
constexpr std::size_t kMaxNodes = 100'000;
constexpr std::size_t kMaxInputs = 65'536;    // and as many outputs
constexpr std::size_t kMaxOperands = 65'536;  // of one op (a barrier), and as many results
constexpr std::size_t kMaxAttributes = 64;    // of one op
constexpr std::size_t kMaxIntegers = 65'536;  // of one attribute that is a list

class Parser {
  // Errors of an op's rules keep their code and learn the line.
  template <class F>
  auto guarded(const F& f) {
    try {
      return f();
    } catch (const Error& e) {
      throw Error(e.code(), fmt::format("function text, line {}: {}", line(), e.what()));
    }
  }

 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Function whole() {
    word("function");
    Function result = function();
    skip_space();
    if (at_ != text_.size()) fail("text after the end of the function");
    return result;
  }

 private:
  // What follows the word "function".
  Function function() {
    check_limit(static_cast<std::size_t>(depth_++), kMostDepth, "functions inside each other");
    std::map<std::string, Value> values_around = std::exchange(values_, {});
    Builder builder(name());
    expect("(");
    if (!accept(")")) {
      do {
        check_limit(values_.size(), kMaxInputs, "inputs");
        expect("%");
        const std::string input = name();
        expect(":");
        const Type t = type();
        values_["%" + quoted_name(input)] = guarded([&] { return builder.input(input, t); });
      } while (accept(","));
      expect(")");
    }
    expect("{");
    while (peek() == '%') {
      check_limit(nodes_++, kMaxNodes, "ops");
      node(builder);
    }
    word("return");
    std::vector<Value> outputs;
    std::vector<std::string> names;
    if (peek() != '}') {
      do {
        check_limit(names.size(), kMaxInputs, "outputs");
        names.emplace_back();
        if (peek() != '%') {
          names.back() = name();
          expect("=");
        }
        outputs.push_back(value());
      } while (accept(","));
    }
    expect("}");
    values_ = std::move(values_around);
    --depth_;
    return builder.finish(outputs, std::move(names));
  }

  void node(Builder& builder) {
    std::vector<std::string> results;
    do {
      check_limit(results.size(), kMaxOperands, "results");
      results.push_back(value_token());
    } while (accept(","));
    expect("=");
    const std::string op_name = name();
    const Op* op = find_op(op_name);
    if (!op) fail(fmt::format("there is no op '{}'", op_name));
    std::vector<Value> inputs;
    expect("(");
    if (!accept(")")) {
      do {
        check_limit(inputs.size(), kMaxOperands, "operands");
        inputs.push_back(value());
      } while (accept(","));
      expect(")");
    }
    Attributes parsed = attributes();
    expect(":");
    std::vector<Type> types;
    do {
      check_limit(types.size(), kMaxOperands, "types");
      types.push_back(type());
    } while (accept(","));
    const std::string scope = accept("@") ? name() : std::string();
    const Builder::Scope in_scope = guarded([&] { return Builder::Scope(builder, scope); });
    const std::vector<Value> made =
        guarded([&] { return builder.call(*op, inputs, std::move(parsed)); });
    std::vector<Type> expected;
    for (const Value& v : made) expected.push_back(v.type());
    if (expected != types)
      fail(fmt::format("{} gives {}, the text says {}", op_name, types_text(expected),
                       types_text(types)));
    if (results.size() != made.size())
      fail(fmt::format("{} gives {} results, the text names {}", op_name, made.size(),
                       results.size()));
    for (std::size_t i = 0; i < made.size(); ++i)
      if (!values_.emplace(results[i], made[i]).second)
        fail(fmt::format("{} is defined twice", results[i]));
  }

  Attributes attributes() {
    Attributes result;
    if (!accept("{")) return result;
    do {
      check_limit(result.size(), kMaxAttributes, "attributes");
      const std::string key = name();
      if (result.find(key)) fail(fmt::format("attribute '{}' is given twice", key));
      expect("=");
      result.set(key, attribute());
    } while (accept(","));
    expect("}");
    return result;
  }

  Attribute attribute() {
    const char c = peek();
    if (c == '[') return integers();
    if (is_digit(c) || c == '-') return number();
    const std::size_t begin = at_;
    const std::string token = name();
    if (token == "true") return true;
    if (token == "false") return false;
    if (token == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (token == "inf") return std::numeric_limits<double>::infinity();
    if (token == "function") return Nested(function());
    const std::optional<Dtype> dtype = dtype_from_name(token);
    if (!dtype) fail(fmt::format("'{}' is not an attribute value", token));
    if (peek() != '[') return *dtype;
    at_ = begin;
    return tensor();
  }

  Attribute number() {
    const std::string token = number_token();
    if (token.find_first_of(".ein") != std::string::npos) return real<double>(token);
    return integer<std::int64_t>(token);
  }

  std::vector<std::int64_t> integers() {
    std::vector<std::int64_t> result;
    expect("[");
    if (accept("]")) return result;
    do {
      check_limit(result.size(), kMaxIntegers, "integers in a list");
      result.push_back(integer<std::int64_t>(number_token()));
    } while (accept(","));
    expect("]");
    return result;
  }

  Type type() {
    const std::string token = name();
    const std::optional<Dtype> dtype = dtype_from_name(token);
    if (!dtype) fail(fmt::format("'{}' is not a dtype", token));
    const std::vector<std::int64_t> dims = integers();
    return guarded([&] { return Type{*dtype, Shape(dims)}; });
  }

  Tensor tensor() {
    const Type t = type();
    return visit(t.dtype, [&]<class T>(std::type_identity<T>) {
      return elements<T>(t, [&] {
        if constexpr (std::is_same_v<T, bool>)
          return truth();
        else if constexpr (std::is_floating_point_v<T>)
          return real<T>(number_token());
        else if constexpr (std::is_integral_v<T>)
          return integer<T>(number_token());
        else
          return T{integer<std::uint16_t>(number_token())};
      });
    });
  }

  template <class T, class Read>
  Tensor elements(const Type& t, const Read& read) {
    expect("(");
    const auto wrong = [&](std::string_view given) {
      fail(fmt::format("{} takes {} values, got {}", to_string(t), t.shape.elements(), given));
    };
    // A value takes at least one character plus a comma or bracket, so a short text cannot request
    // much memory.
    if (static_cast<std::size_t>(t.shape.elements()) > (text_.size() - at_) / 2) wrong("fewer");
    Tensor result = Tensor::generate<T>(t.shape, [&](std::span<T> out) {
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (i == 0 ? peek() == ')' : !accept(",")) wrong(std::to_string(i));
        out[i] = read();
      }
    });
    if (peek() == ',' || (t.shape.elements() == 0 && peek() != ')')) wrong("more");
    expect(")");
    return result;
  }

  bool truth() {
    const auto value = integer<std::uint8_t>(number_token());
    if (value > 1) fail("a bool is neither 0 nor 1");
    return value != 0;
  }

  template <class T>
  T real(const std::string& token) {
    if (token == "nan") return std::numeric_limits<T>::quiet_NaN();
    T result{};
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), result);
    // from_chars reports "out of range" for a number that rounds to zero; printed text has none.
    if (error != std::errc{} || end != token.data() + token.size())
      fail(fmt::format("'{}' is not a real number", token));
    return result;
  }

  template <class T>
  T integer(const std::string& token) {
    T result{};
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), result);
    if (error != std::errc{} || end != token.data() + token.size())
      fail(fmt::format("'{}' is not an integer of its type", token));
    return result;
  }

  std::string number_token() {
    skip_space();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (is_name_character(text_[at_]) || text_[at_] == '-' || text_[at_] == '+'))
      ++at_;
    if (begin == at_) fail("expected a number");
    return std::string(text_.substr(begin, at_ - begin));
  }

  // "%x" or "%12" as the text form prints it.
  std::string value_token() {
    expect("%");
    if (at_ < text_.size() && is_digit(text_[at_])) return "%" + number_token();
    return "%" + quoted_name(name());
  }

  Value value() {
    const std::string token = value_token();
    const auto found = values_.find(token);
    if (found == values_.end()) fail(fmt::format("{} is used before it is defined", token));
    return found->second;
  }

  std::string name() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '"') return quoted();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
    if (begin == at_) fail("expected a name");
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string quoted() {
    std::string result;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] != '\\') {
        result += text_[at_];
        continue;
      }
      if (++at_ >= text_.size()) break;
      if (text_[at_] != 'x') {
        result += text_[at_];
        continue;
      }
      unsigned byte = 0;
      if (at_ + 2 >= text_.size() ||
          std::from_chars(&text_[at_ + 1], &text_[at_ + 1] + 2, byte, 16).ptr !=
              &text_[at_ + 1] + 2)
        fail("\\x takes two hexadecimal digits");
      result += static_cast<char>(byte);
      at_ += 2;
    }
    if (at_ >= text_.size()) fail("a quoted name does not end");
    ++at_;
    return result;
  }

  void word(std::string_view wanted) {
    if (name() != wanted) fail(fmt::format("expected '{}'", wanted));
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("expected '{}'", token));
  }

  // Throws before one more than `count` is added.
  void check_limit(std::size_t count, std::size_t limit, std::string_view what) const {
    if (count == limit) fail(fmt::format("more than {} {}", limit, what));
  }

  std::size_t line() const {
    return 1 + static_cast<std::size_t>(std::count(
                   text_.begin(),
                   text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())), '\n'));
  }
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorCode::kParse, fmt::format("function text, line {}: {}", line(), message));
  }
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t nodes_ = 0;  // of all Functions
  int depth_ = 0;
  std::map<std::string, Value> values_;  // of the innermost Function
};

}  // namespace

Function parse_function(std::string_view text) {
  const DefaultFloatMode mode;
  return Parser(text).whole();
}

void require_known_ops(const Function& function) {
  for (const Node& node : function.nodes()) {
    for (const Function& nested : nested_functions(node.attributes)) require_known_ops(nested);
    if (find_op(node.op->name) != node.op)
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("function '{}': {} is an op of this program alone, so it cannot be "
                              "saved; expand(function) can, which has its results, but takes the "
                              "gradient of its body",
                              function.name(), node.op->name));
  }
}

}  // namespace limpid
