// Operators, filters, tests and methods of chat templates.
#include "limpid/data/chat/detail/template_operations.h"
#include "limpid/core/json.h"
#include "limpid/core/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "limpid/core/in_quotes.h"
#include "limpid/data/chat/detail/template_tokens.h"

namespace limpid::detail {
namespace {

using Sequence = TemplateSequence::Kind;

constexpr std::size_t kMostSteps = 1'000'000;
constexpr std::size_t kMostMade = std::size_t{64} << 20;
constexpr std::int64_t kMostIndent = 16;
constexpr std::size_t kMostSliced = std::size_t{4} << 20;  // bytes of a text

// Attributes that Python's values have: such a name is not looked up among the elements.
constexpr std::array<std::string_view, 11> kOfDictionaries{
    "clear", "copy",    "fromkeys",   "get",    "items", "keys",
    "pop",   "popitem", "setdefault", "update", "values"};
constexpr std::array<std::string_view, 11> kOfLists{"append", "clear",   "copy",   "count",
                                                    "extend", "index",   "insert", "pop",
                                                    "remove", "reverse", "sort"};
constexpr std::array<std::string_view, 11> kOfNumbers{
    "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator", "from_bytes", "imag",
    "is_integer",       "numerator", "real",       "to_bytes"};
constexpr std::array<std::string_view, 47> kOfTexts{
    "capitalize",   "casefold",    "center",    "count",      "encode",       "endswith",
    "expandtabs",   "find",        "format",    "format_map", "index",        "isalnum",
    "isalpha",      "isascii",     "isdecimal", "isdigit",    "isidentifier", "islower",
    "isnumeric",    "isprintable", "isspace",   "istitle",    "isupper",      "join",
    "ljust",        "lower",       "lstrip",    "maketrans",  "partition",    "removeprefix",
    "removesuffix", "replace",     "rfind",     "rindex",     "rjust",        "rpartition",
    "rsplit",       "rstrip",      "split",     "splitlines", "startswith",   "strip",
    "swapcase",     "title",       "translate", "upper",      "zfill"};

std::span<const std::string_view> attributes_of(const TemplateValue& value) {
  if (value.text()) return kOfTexts;
  if (value.dictionary()) return kOfDictionaries;
  if (value.sequence()) return kOfLists;
  if (value.integer()) return kOfNumbers;
  return {};
}

bool is_kind(const TemplateValue& value, Sequence kind) {
  return value.sequence() && value.sequence()->kind == kind;
}

// A list or a tuple.
const TemplateSequence* plain_sequence(const TemplateValue& value) {
  return is_kind(value, Sequence::kList) || is_kind(value, Sequence::kTuple) ? value.sequence()
                                                                             : nullptr;
}

std::int64_t characters_in(std::string_view text) {
  return static_cast<std::int64_t>(utf8_length(text));
}

std::vector<std::string_view> characters_of_text(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    all.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return all;
}

std::string_view after_characters(std::string_view text, std::size_t count) {
  for (; count > 0; --count) text.remove_prefix(character_size(text));
  return text;
}

// As Python's slice.indices(length).
std::vector<std::size_t> slice_indices(std::int64_t count, std::optional<std::int64_t> from,
                                       std::optional<std::int64_t> to, std::int64_t step) {
  step = std::clamp(step, -count - 1, count + 1);
  const std::int64_t low = step < 0 ? -1 : 0, high = step < 0 ? count - 1 : count;
  const auto bound = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
    if (!given) return otherwise;
    return std::clamp(*given < 0 ? *given + count : *given, low, high);
  };
  const std::int64_t first = bound(from, step < 0 ? high : low);
  const std::int64_t last = bound(to, step < 0 ? low : high);
  std::vector<std::size_t> all;
  for (std::int64_t i = first; step < 0 ? i > last : i < last; i += step)
    all.push_back(static_cast<std::size_t>(i));
  return all;
}

void add_json_text(std::string& json, std::string_view text) {
  json += Json(text).dump({.replace_invalid = true});
}

}  // namespace

// ---- bounds

void TemplateWork::refuse(const TemplateNode& node, std::string_view what, ErrorCode code) const {
  refuse_template(code, source_, node.at, what);
}

void TemplateWork::refuse_construct(const TemplateNode& node, std::string_view what) const {
  refuse(node, fmt::format("{} is not supported", what), ErrorCode::kUnsupported);
}

void TemplateWork::step(const TemplateNode& node, std::size_t count) {
  steps_ += count;
  if (steps_ > kMostSteps) refuse(node, "rendering takes too many steps", ErrorCode::kUnsupported);
}

void TemplateWork::make(const TemplateNode& node, std::size_t bytes) {
  read(node, bytes);
  bytes_ += bytes;
  if (bytes_ > kMostMade) refuse(node, "the text is too long", ErrorCode::kUnsupported);
}

// ---- values

bool TemplateOperations::is_true(const TemplateValue& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (const auto number = value.integer()) return *number != 0;
  if (const auto* const number = value.other_number()) return !number->is_zero;
  if (const std::string* const text = value.text()) return !text->empty();
  if (const TemplateDictionary* const all = value.dictionary()) return !all->members.all.empty();
  if (const TemplateSequence* const all = value.sequence())
    return all->kind == Sequence::kIterator || !all->elements.empty();
  return true;
}

std::string TemplateOperations::shown(const TemplateNode& node, const TemplateValue& value) {
  if (value.is_undefined()) return "";
  if (value.is_none()) return "None";
  if (const bool* const flag = value.boolean()) return *flag ? "True" : "False";
  if (const auto number = value.integer()) return fmt::format("{}", *number);
  if (const std::string* const text = value.text()) {
    work_.read(node, text->size());
    return *text;
  }
  work_.refuse_construct(node, "converting a list, an object or a fraction to text");
}

std::vector<TemplateValue> TemplateOperations::elements(const TemplateNode& node,
                                                        const TemplateValue& value) {
  std::vector<TemplateValue> all;
  if (value.is_undefined()) return all;
  if (const TemplateSequence* const sequence = value.sequence()) {
    all = sequence->elements;
  } else if (const TemplateDictionary* const dictionary = value.dictionary()) {
    for (const auto& [key, member] : dictionary->members.all) all.push_back(text(node, key));
  } else if (const std::string* const text = value.text()) {
    work_.step(node, text->size());
    for (const std::string_view c : characters_of_text(*text)) all.emplace_back(std::string(c));
  } else {
    work_.refuse(node, "expected a list, got a value without elements");
  }
  work_.step(node, all.size());
  return all;
}

TemplateValue TemplateOperations::text(const TemplateNode& node, std::string made) {
  work_.make(node, made.size());
  return made;
}

TemplateValue TemplateOperations::list(const TemplateNode& node, Sequence kind,
                                       std::vector<TemplateValue> elements) {
  work_.step(node, elements.size());
  TemplateSequence made{.kind = kind, .elements = std::move(elements)};
  for (const TemplateValue& one : made.elements)
    made.depth = std::max(made.depth, depth_of(one) + 1);
  if (made.depth > kDeepestValue) work_.refuse_construct(node, "a list nested this deeply");
  return made;
}

TemplateValue TemplateOperations::dictionary(const TemplateNode& node,
                                             std::vector<TemplateValue> pairs) {
  TemplateDictionary made;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const std::string* const key = pairs[i].text();
    if (!key) work_.refuse_construct(node, "a dictionary with keys that are not strings");
    work_.step(node, 1 + made.members.all.size() / 32);
    work_.make(node, key->size());
    made.depth = std::max(made.depth, depth_of(pairs[i + 1]) + 1);
    made.members.set(*key, std::move(pairs[i + 1]));
  }
  if (made.depth > kDeepestValue) work_.refuse_construct(node, "a dictionary nested this deeply");
  return made;
}

const TemplateValue& TemplateOperations::kept(const TemplateNode& node,
                                              const TemplateValue& value) const {
  if (is_kind(value, Sequence::kIterator))
    work_.refuse_construct(node, "an iterator that is not a list");
  return value;
}

const std::string& TemplateOperations::expect_text(const TemplateNode& node,
                                                   const TemplateValue& value,
                                                   std::string_view of) const {
  if (!value.text()) work_.refuse(node, fmt::format("{}: expected a string", of));
  return *value.text();
}

// ---- members, elements, slices

TemplateValue TemplateOperations::find(const TemplateNode& node, const TemplateMembers& members,
                                       std::string_view key) {
  work_.step(node, members.all.size() / 32);
  const TemplateValue* const found = members.find(key);
  return found ? *found : TemplateValue();
}

void TemplateOperations::check_attribute(const TemplateNode& node, const TemplateValue& of,
                                         std::string_view name) {
  const auto attributes = attributes_of(of);
  // The sandbox of Jinja has its rules for names that begin with _.
  if (name.starts_with("__") || (of.name_space() && name.starts_with("_")) ||
      std::find(attributes.begin(), attributes.end(), name) != attributes.end())
    work_.refuse_construct(node, fmt::format("the attribute {}", in_quotes(name)));
}

TemplateValue TemplateOperations::member(const TemplateNode& node, const TemplateValue& of,
                                         const std::string& name) {
  if (of.is_undefined())
    work_.refuse(node, fmt::format("the member {} of an undefined value", in_quotes(name)));
  check_attribute(node, of, name);
  if (const TemplateDictionary* const dictionary = of.dictionary())
    return find(node, dictionary->members, name);
  if (const TemplateNamespace* const space = of.name_space())
    return find(node, space->members, name);
  if (of.other_number() || (of.sequence() && !plain_sequence(of)))
    work_.refuse_construct(node, fmt::format("the attribute {}", in_quotes(name)));
  return {};
}

TemplateValue TemplateOperations::element(const TemplateNode& node, const TemplateValue& of,
                                          const TemplateValue& by) {
  if (of.is_undefined()) work_.refuse(node, "an element of an undefined value");
  if (of.other_number() || (of.sequence() && !plain_sequence(of)))
    work_.refuse_construct(node,
                           "an element of something other than a list, a string or a dictionary");
  if (const std::string* const key = by.text()) {
    if (of.dictionary())
      if (TemplateValue found = find(node, of.dictionary()->members, *key); !found.is_undefined())
        return found;
    return member(node, of, *key);
  }
  const std::optional<std::int64_t> index = by.integer();
  if (!index) return {};
  const auto inside = [&](std::int64_t count) -> std::optional<std::size_t> {
    const std::int64_t i = *index < 0 ? *index + count : *index;
    if (i < 0 || i >= count) return std::nullopt;
    return static_cast<std::size_t>(i);
  };
  if (const TemplateSequence* const list = plain_sequence(of)) {
    const auto i = inside(static_cast<std::int64_t>(list->elements.size()));
    return i ? list->elements[*i] : TemplateValue();
  }
  if (const std::string* const text_of = of.text()) {
    work_.read(node, text_of->size());
    const auto i = inside(characters_in(*text_of));
    if (!i) return {};
    const std::string_view rest = after_characters(*text_of, *i);
    return text(node, std::string(rest.substr(0, character_size(rest))));
  }
  return {};
}

TemplateValue TemplateOperations::slice(const TemplateNode& node, const TemplateValue& of,
                                        const TemplateValue& from, const TemplateValue& to,
                                        const TemplateValue& step) {
  using Kind = TemplateNode::Kind;
  const auto bound = [&](const TemplateValue& value,
                         std::size_t child) -> std::optional<std::int64_t> {
    if (value.is_none() || node.children[child]->kind == Kind::kNothing) return std::nullopt;
    if (!value.integer()) work_.refuse(node, "a slice: expected integers");
    return value.integer();
  };
  const auto first = bound(from, 1), last = bound(to, 2);
  const std::int64_t by = bound(step, 3).value_or(1);
  if (by == 0) work_.refuse(node, "a slice: expected a step other than 0");
  if (const TemplateSequence* const all = plain_sequence(of)) {
    std::vector<TemplateValue> part;
    for (const std::size_t i :
         slice_indices(static_cast<std::int64_t>(all->elements.size()), first, last, by))
      part.push_back(all->elements[i]);
    return list(node, all->kind, std::move(part));
  }
  if (!of.text())
    work_.refuse_construct(node, "a slice of something other than a list or a string");
  if (of.text()->size() > kMostSliced)
    work_.refuse_construct(node, "a slice of a string this long");
  work_.step(node, of.text()->size() / 64);
  const std::vector<std::string_view> all = characters_of_text(*of.text());
  std::string part;
  for (const std::size_t i : slice_indices(static_cast<std::int64_t>(all.size()), first, last, by))
    part += all[i];
  return text(node, std::move(part));
}

// ---- operators

bool TemplateOperations::are_equal(const TemplateNode& node, const TemplateValue& a,
                                   const TemplateValue& b) {
  work_.step(node);
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.text() || b.text()) {
    if (!a.text() || !b.text()) return false;
    if (a.text()->size() == b.text()->size()) work_.read(node, a.text()->size());
    return *a.text() == *b.text();
  }
  const auto x = a.integer(), y = b.integer();
  if (x && y) return *x == *y;
  for (const TemplateValue* const value : {&a, &b})
    if (!value->integer() && !value->dictionary() && !plain_sequence(*value))
      work_.refuse_construct(node, "this comparison");
  if (const TemplateDictionary* const all = a.dictionary(), * const others = b.dictionary();
      all && others) {
    if (all->members.all.size() != others->members.all.size()) return false;
    for (const auto& [key, value] : all->members.all) {
      work_.step(node, others->members.all.size() / 32);
      const TemplateValue* const other = others->members.find(key);
      if (!other || !are_equal(node, value, *other)) return false;
    }
    return true;
  }
  const TemplateSequence *const all = a.sequence(), *const others = b.sequence();
  if (!all || !others || all->kind != others->kind ||
      all->elements.size() != others->elements.size())
    return false;
  for (std::size_t i = 0; i < all->elements.size(); ++i)
    if (!are_equal(node, all->elements[i], others->elements[i])) return false;
  return true;
}

bool TemplateOperations::contains(const TemplateNode& node, const TemplateValue& all,
                                  const TemplateValue& one) {
  if (all.is_undefined()) return false;
  if (const std::string* const text = all.text()) {
    const std::string& part = expect_text(node, one, "in");
    // In the worst case quadratic in the number of characters.
    work_.read(node, text->size() * (1 + part.size() / 16));
    return text->find(part) != std::string::npos;
  }
  if (const TemplateDictionary* const dictionary = all.dictionary()) {
    if (one.sequence() || one.dictionary() || one.other_number())
      work_.refuse_construct(node, "such a key in a dictionary");
    work_.step(node, dictionary->members.all.size() / 32);
    return one.text() && dictionary->members.find(*one.text());
  }
  if (!all.sequence()) work_.refuse(node, "in: expected a string, a list or an object");
  if (!plain_sequence(all) && (one.sequence() || one.dictionary()))
    work_.refuse_construct(node, "such a key in a view");
  const auto& elements = all.sequence()->elements;
  return std::any_of(elements.begin(), elements.end(),
                     [&](const TemplateValue& element) { return are_equal(node, one, element); });
}

TemplateValue TemplateOperations::binary(const TemplateNode& node, const std::string& which,
                                         const TemplateValue& a, const TemplateValue& b) {
  if (which == "==") return are_equal(node, a, b);
  if (which == "!=") return !are_equal(node, a, b);
  if (which == "in") return contains(node, b, a);
  if (which == "not in") return !contains(node, b, a);
  if (which == "~") return text(node, shown(node, a) + shown(node, b));
  if (which[0] == '<' || which[0] == '>') return order(node, which, a, b);
  if (a.other_number() || b.other_number())
    work_.refuse_construct(node, fmt::format("{} of fractions", which));
  if (which == "+" && a.text() && b.text()) return text(node, *a.text() + *b.text());
  if (which == "+" && plain_sequence(a) && plain_sequence(b) &&
      a.sequence()->kind == b.sequence()->kind) {
    std::vector<TemplateValue> both = a.sequence()->elements;
    both.insert(both.end(), b.sequence()->elements.begin(), b.sequence()->elements.end());
    return list(node, a.sequence()->kind, std::move(both));
  }
  const auto x = a.integer(), y = b.integer();
  if (x && y) return arithmetic(node, which, *x, *y);
  if ((which == "%" && a.text()) ||
      (which == "*" && (a.text() || b.text() || a.sequence() || b.sequence())))
    work_.refuse_construct(node, fmt::format("{} of strings or lists", which));
  work_.refuse(node, fmt::format("{}: expected two strings or two integers", which));
}

TemplateValue TemplateOperations::order(const TemplateNode& node, const std::string& which,
                                        const TemplateValue& a, const TemplateValue& b) {
  if (a.other_number() || b.other_number() || (a.sequence() && b.sequence()))
    work_.refuse_construct(node, fmt::format("{} of lists or fractions", which));
  std::int64_t x = a.integer().value_or(0), y = b.integer().value_or(0);
  if (a.text() && b.text()) {
    work_.read(node, std::min(a.text()->size(), b.text()->size()));
    // Bytes of UTF-8 sort like their characters.
    x = a.text()->compare(*b.text());
    y = 0;
  } else if (!a.integer() || !b.integer()) {
    work_.refuse(node, fmt::format("{}: expected two strings or two integers", which));
  }
  return which == "<" ? x < y : which == "<=" ? x <= y : which == ">" ? x > y : x >= y;
}

TemplateValue TemplateOperations::arithmetic(const TemplateNode& node, const std::string& which,
                                             std::int64_t x, std::int64_t y) {
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
  if (overflow) work_.refuse(node, fmt::format("{}: the result is not a 64-bit integer", which));
  return result;
}

// ---- filters

std::int64_t TemplateOperations::length(const TemplateNode& node, const TemplateValue& value) {
  if (value.is_undefined()) return 0;
  if (const std::string* const text = value.text()) {
    work_.read(node, text->size());
    return characters_in(*text);
  }
  if (const TemplateDictionary* const all = value.dictionary())
    return static_cast<std::int64_t>(all->members.all.size());
  if (!value.sequence() || is_kind(value, Sequence::kIterator))
    work_.refuse(node, "length: expected a string, a list or a dictionary");
  return static_cast<std::int64_t>(value.sequence()->elements.size());
}

TemplateValue TemplateOperations::filter(const TemplateNode& node, const TemplateValue& value,
                                         const TemplateArguments& arguments) {
  const std::string& name = node.text;
  if (name == "tojson") return json(node, value, arguments);
  if (name == "selectattr") return selected(node, value, arguments, true, true);
  if (name == "rejectattr") return selected(node, value, arguments, true, false);
  if (name == "select") return selected(node, value, arguments, false, true);
  if (name == "reject") return selected(node, value, arguments, false, false);
  const auto with_at_most = [&](std::size_t count) {
    if (!arguments.named.empty() || arguments.values.size() > count)
      work_.refuse_construct(node, fmt::format("the filter {} with these arguments", name));
  };
  if (name == "trim") {
    with_at_most(1);
    if (value.text()) return trimmed(node, *value.text(), arguments, true, true);
    return trimmed(node, shown(node, value), arguments, true, true);
  }
  if (name == "length" || name == "count") {
    with_at_most(0);
    return length(node, value);
  }
  if (name == "list") {
    with_at_most(0);
    return list(node, Sequence::kList, elements(node, value));
  }
  if (name == "items") {
    with_at_most(0);
    if (!value.is_undefined() && !value.dictionary())
      work_.refuse_construct(node, "items of something other than a dictionary");
    return list(node, Sequence::kIterator,
                value.dictionary() ? elements(node, view(node, value, "items"))
                                   : std::vector<TemplateValue>());
  }
  if (name == "default" || name == "d") {
    with_at_most(2);
    const bool also_false = arguments.values.size() > 1 && is_true(arguments.values[1]);
    if (!value.is_undefined() && !(also_false && !is_true(value))) return value;
    return arguments.values.empty() ? TemplateValue(std::string()) : arguments.values[0];
  }
  if (name == "join") {
    with_at_most(1);
    const std::string between = arguments.values.empty() ? "" : shown(node, arguments.values[0]);
    std::string all;
    bool first = true;
    for (const TemplateValue& one : elements(node, value)) {
      if (!std::exchange(first, false)) all += between;
      work_.make(node, between.size());
      const std::string part = shown(node, one);
      work_.make(node, part.size());
      all += part;
    }
    return all;
  }
  work_.refuse_construct(node, fmt::format("the filter {}", in_quotes(name)));
}

TemplateValue TemplateOperations::selected(const TemplateNode& node, const TemplateValue& value,
                                           const TemplateArguments& arguments, bool by_attribute,
                                           bool wanted) {
  std::vector<TemplateValue> rest = arguments.values;
  if (!arguments.named.empty() || (by_attribute && (rest.empty() || !rest.front().text())))
    work_.refuse_construct(node, fmt::format("the filter {} with these arguments", node.text));
  std::string attribute;
  if (by_attribute) {
    attribute = *rest.front().text();
    rest.erase(rest.begin());
    if (attribute.find_first_of(".0123456789") != std::string::npos)
      work_.refuse_construct(node, fmt::format("the attribute {}", in_quotes(attribute)));
  }
  std::string which;
  if (!rest.empty()) {
    which = expect_text(node, rest.front(), node.text);
    rest.erase(rest.begin());
  }
  const TemplateArguments of_test{.values = std::move(rest), .named = {}};
  std::vector<TemplateValue> part;
  if (is_true(value))
    for (const TemplateValue& one : elements(node, value)) {
      const TemplateValue by = by_attribute ? element(node, one, attribute) : one;
      if ((which.empty() ? is_true(by) : test(node, which, by, of_test)) == wanted)
        part.push_back(one);
    }
  return list(node, Sequence::kIterator, std::move(part));
}

// As Python's json.dumps(value, ensure_ascii=False, indent=...).
TemplateValue TemplateOperations::json(const TemplateNode& node, const TemplateValue& value,
                                       const TemplateArguments& arguments) {
  std::int64_t indent = -1;  // none
  bool known = arguments.values.empty() && arguments.named.size() <= 1;
  for (const auto& [name, given] : arguments.named) {
    const std::int64_t number = given.boolean() ? -1 : given.integer().value_or(-1);
    known = known && name == "indent" && number >= 0 && number <= kMostIndent;
    indent = number;
  }
  if (!known) work_.refuse_construct(node, "the filter tojson with these arguments");
  std::string made;
  add_json(node, made, value, indent, 0);
  return text(node, std::move(made));
}

void TemplateOperations::add_json(const TemplateNode& node, std::string& json,
                                  const TemplateValue& value, std::int64_t indent,
                                  std::int64_t level) {
  work_.step(node);
  const std::size_t before = json.size();
  const auto line = [&](std::int64_t depth) {
    if (indent < 0) return;
    const auto blanks = static_cast<std::size_t>(indent * depth);
    work_.make(node, blanks);
    json.append(1, '\n').append(blanks, ' ');
  };
  bool first = true;
  const auto separate = [&] {
    if (!std::exchange(first, false)) json += indent >= 0 ? "," : ", ";
    line(level + 1);
  };
  if (value.text()) {
    add_json_text(json, *value.text());
  } else if (value.is_none()) {
    json += "null";
  } else if (value.boolean()) {
    json += *value.boolean() ? "true" : "false";
  } else if (value.integer()) {
    json += fmt::format("{}", *value.integer());
  } else if (const TemplateSequence* const list = plain_sequence(value)) {
    json += '[';
    for (const TemplateValue& one : list->elements) {
      separate();
      add_json(node, json, one, indent, level + 1);
    }
    if (!first) line(level);
    json += ']';
  } else if (const TemplateDictionary* const dictionary = value.dictionary()) {
    json += '{';
    for (const auto& [key, one] : dictionary->members.all) {
      separate();
      work_.make(node, key.size());
      add_json_text(json, key);
      json += ": ";
      add_json(node, json, one, indent, level + 1);
    }
    if (!first) line(level);
    json += '}';
  } else if (value.other_number()) {
    work_.refuse_construct(node, "tojson of a fraction");
  } else {
    work_.refuse(node, "tojson: expected a string, a number, a list or a dictionary");
  }
  // Its elements were counted when they were added.
  if (!value.sequence() && !value.dictionary()) work_.make(node, json.size() - before);
}

// ---- tests

bool TemplateOperations::test(const TemplateNode& node, const std::string& name,
                              const TemplateValue& value, const TemplateArguments& arguments) {
  const bool equal = name == "equalto" || name == "eq" || name == "==";
  const bool unequal = name == "ne" || name == "!=";
  const std::size_t expected = equal || unequal || name == "in" ? 1 : 0;
  const auto refuse_test = [&] {
    work_.refuse_construct(node, fmt::format("the test {}", in_quotes(name)));
  };
  if (!arguments.named.empty() || arguments.values.size() != expected) refuse_test();
  if (equal) return are_equal(node, value, arguments.values[0]);
  if (unequal) return !are_equal(node, value, arguments.values[0]);
  if (name == "in") return contains(node, arguments.values[0], value);
  if (name == "defined") return !value.is_undefined();
  if (name == "undefined") return value.is_undefined();
  if (name == "none") return value.is_none();
  if (name == "string") return value.text() != nullptr;
  if (name == "mapping") return value.dictionary() != nullptr;
  if (name == "boolean") return value.boolean() != nullptr;
  if (name == "true") return value.boolean() && *value.boolean();
  if (name == "false") return value.boolean() && !*value.boolean();
  if (name == "number") return value.integer() || value.other_number();
  if (name == "integer" && !value.other_number()) return value.integer() && !value.boolean();
  const bool has_elements = value.text() || value.dictionary() || value.is_undefined();
  if (name == "iterable") return has_elements || value.sequence();
  if (name == "sequence") return has_elements || plain_sequence(value);
  refuse_test();
  return false;
}

// ---- methods

TemplateValue TemplateOperations::method(const TemplateNode& node, const TemplateValue& of,
                                         const std::string& name,
                                         const TemplateArguments& arguments) {
  const auto& values = arguments.values;
  const auto with_at_most = [&](std::size_t count) {
    if (!arguments.named.empty() || values.size() > count)
      work_.refuse_construct(node, fmt::format("{} with these arguments", name));
  };
  if (of.is_undefined())
    work_.refuse(node, fmt::format("the method {} of an undefined value", in_quotes(name)));
  if (const std::string* const text_of = of.text()) {
    with_at_most(1);
    if (name == "strip" || name == "lstrip" || name == "rstrip")
      return trimmed(node, *text_of, arguments, name != "rstrip", name != "lstrip");
    if (name == "split") return split(node, *text_of, arguments);
    if (name == "startswith" || name == "endswith") {
      if (values.empty()) work_.refuse(node, fmt::format("{}: expected a string", name));
      if (values[0].sequence())
        work_.refuse_construct(node, fmt::format("{} with these arguments", name));
      const std::string& part = expect_text(node, values[0], name);
      work_.read(node, part.size());
      return name == "startswith" ? text_of->starts_with(part) : text_of->ends_with(part);
    }
  }
  if (of.dictionary()) {
    if (name == "items" || name == "keys" || name == "values") {
      with_at_most(0);
      return view(node, of, name);
    }
    if (name == "get") {
      with_at_most(2);
      if (values.empty()) work_.refuse(node, "get: expected a key");
      if (contains(node, of, values[0]))
        return find(node, of.dictionary()->members, *values[0].text());
      return values.size() > 1 ? values[1] : TemplateValue(TemplateValue::None{});
    }
  }
  const auto attributes = attributes_of(of);
  if (of.other_number() || name.starts_with("__") ||
      std::find(attributes.begin(), attributes.end(), name) != attributes.end())
    work_.refuse_construct(node, fmt::format("the method {}", in_quotes(name)));
  work_.refuse(node, fmt::format("{} is not a method", in_quotes(name)));
}

TemplateValue TemplateOperations::trimmed(const TemplateNode& node, const std::string& of,
                                          const TemplateArguments& arguments, bool front,
                                          bool back) {
  std::string_view rest = of;
  work_.read(node, rest.size());
  const TemplateValue given =
      arguments.values.empty() ? TemplateValue(TemplateValue::None{}) : arguments.values[0];
  if (given.is_none()) {
    if (front) rest = without_leading_space(rest);
    if (back) rest = without_trailing_space(rest);
    return text(node, std::string(rest));
  }
  const std::string& characters = expect_text(node, given, "strip");
  work_.read(node, rest.size() * (8 + characters.size()));
  // In UTF-8, a match can only begin at the start of a character.
  const auto is_given = [&](std::string_view c) { return characters.find(c) != std::string::npos; };
  while (front && !rest.empty() && is_given(rest.substr(0, character_size(rest))))
    rest.remove_prefix(character_size(rest));
  while (back && !rest.empty() && is_given(rest.substr(rest.size() - last_character_size(rest))))
    rest.remove_suffix(last_character_size(rest));
  return text(node, std::string(rest));
}

TemplateValue TemplateOperations::split(const TemplateNode& node, const std::string& of,
                                        const TemplateArguments& arguments) {
  std::vector<TemplateValue> parts;
  if (arguments.values.empty() || arguments.values[0].is_none()) {
    work_.read(node, of.size());
    std::string_view rest = without_leading_space(of);
    while (!rest.empty()) {
      std::size_t end = 0;
      while (end < rest.size() && space_at(rest.substr(end)) == 0) ++end;
      parts.push_back(text(node, std::string(rest.substr(0, end))));
      work_.step(node);
      rest = without_leading_space(rest.substr(end));
    }
    return list(node, Sequence::kList, std::move(parts));
  }
  const std::string& by = expect_text(node, arguments.values[0], "split");
  if (by.empty()) work_.refuse(node, "split: expected a string that is not empty");
  work_.read(node, of.size() * (1 + by.size() / 16));
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + by.size()) {
    end = of.find(by, begin);
    parts.push_back(text(node, of.substr(begin, end == std::string::npos ? end : end - begin)));
    work_.step(node);
  }
  return list(node, Sequence::kList, std::move(parts));
}

// What items(), keys() and values() give.
TemplateValue TemplateOperations::view(const TemplateNode& node, const TemplateValue& of,
                                       std::string_view which) {
  std::vector<TemplateValue> all;
  for (const auto& [key, value] : of.dictionary()->members.all) {
    work_.step(node);
    if (which == "values")
      all.push_back(value);
    else if (which == "keys")
      all.push_back(text(node, key));
    else
      all.push_back(list(node, Sequence::kTuple, {text(node, key), value}));
  }
  return list(node, Sequence::kView, std::move(all));
}

}  // namespace limpid::detail
