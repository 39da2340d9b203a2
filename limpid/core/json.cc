// The one source that includes nlohmann-json: it splits text into tokens, and writes numbers and
// strings.
#include "limpid/core/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfenv>
#include <nlohmann/json.hpp>
#include <set>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/in_quotes.h"

namespace limpid {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::kFormat, what); }

// ---------------------------------------------------------------------------------------------
// Reading
// ---------------------------------------------------------------------------------------------

// The events, by the names that nlohmann-json requires.
class Adapter {
 public:
  explicit Adapter(JsonEvents& events) : events_(events) {}

  bool null() { return events_.null(), true; }
  bool boolean(bool value) { return events_.boolean(value), true; }
  bool number_integer(std::int64_t value) { return events_.negative(value), true; }
  bool number_unsigned(std::uint64_t value) { return events_.integer(value), true; }
  bool number_float(double value, const std::string& text) {
    return events_.number(value, text), true;
  }
  bool string(std::string& value) { return events_.string(value), true; }
  bool binary(std::vector<std::uint8_t>&) { return false; }  // there is none in text
  bool start_object(std::size_t) { return events_.begin_object(), true; }
  bool key(std::string& name) { return events_.key(name), true; }
  bool end_object() { return events_.end_object(), true; }
  bool start_array(std::size_t) { return events_.begin_array(), true; }
  bool end_array() { return events_.end_array(), true; }
  bool parse_error(std::size_t position, const std::string& token, const std::exception& error) {
    // The message follows the exception's name in brackets. It repeats a part of the text, which
    // may hold any bytes.
    const std::string_view what = error.what();
    std::string why;
    for (const char c : what.substr(what.find("] ") + 2))
      why += c >= 0x20 && c < 0x7f ? std::string(1, c)
                                   : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    // How other languages write these numbers begins so. What was read before may stand before it.
    const std::size_t before = token.find_last_of(" \t\n\r[,:");
    const std::string last = before == std::string::npos ? token : token.substr(before + 1);
    for (const std::string_view begin : {"N", "-N", "na", "-n", "I", "-I", "i", "-i"})
      if (last == begin)
        why +=
            "; JSON has no NaN and no infinities: where they may stand, they are strings, "
            "\"NaN\", \"Infinity\" and \"-Infinity\"";
    events_.fault(position == 0 ? 0 : position - 1, why);
    return false;
  }

 private:
  JsonEvents& events_;
};

// Rounds to nearest while it lives, as the C library's strtod sees it, which nlohmann-json calls:
// on x86 it looks at the other unit, whose mode DefaultFloatMode leaves alone.
class RoundingOfStrtod {
 public:
  RoundingOfStrtod() : before_(std::fegetround()) {
    if (before_ != FE_TONEAREST) std::fesetround(FE_TONEAREST);
  }
  ~RoundingOfStrtod() {
    if (before_ != FE_TONEAREST) std::fesetround(before_);
  }
  RoundingOfStrtod(const RoundingOfStrtod&) = delete;
  RoundingOfStrtod& operator=(const RoundingOfStrtod&) = delete;

 private:
  const int before_;
};

class SyntaxError : public Error {
 public:
  explicit SyntaxError(const std::string& why) : Error(ErrorCode::kFormat, why) {}
};

// Builds the document, and checks every value against the limits before it is stored.
class Builder final : public JsonEvents {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  Json document;

  void null() override { add({}); }
  void boolean(bool value) override { add(value); }
  void negative(std::int64_t value) override { add(value); }
  void integer(std::uint64_t value) override { add(value); }
  void number(double value, const std::string&) override { add(value); }
  void string(std::string& value) override { add(std::move(value)); }
  void begin_object() override { open(Json::object()); }
  void begin_array() override { open(Json::array()); }
  void end_object() override { open_.pop_back(); }
  void end_array() override { open_.pop_back(); }
  void key(std::string& name) override {
    Level& level = open_.back();
    if (!level.keys.insert(name).second)
      refuse(fmt::format("duplicate key {} in an object", in_quotes(name)));
    if (level.keys.size() > limits_.members)
      refuse(fmt::format("a JSON object has more than {} members", limits_.members));
    level.next = std::move(name);
  }
  void fault(std::size_t, const std::string& why) override { throw SyntaxError(why); }

 private:
  // A container that is not yet complete. Only the innermost one grows, so the others do not move.
  struct Level {
    Json::Array* array;  // one of the two
    Json::Object* object;
    std::string next;  // the key of its next member
    std::set<std::string> keys;
  };

  Json& add(Json value) {
    if (++values_ > limits_.values)
      refuse(fmt::format("JSON holds more than {} values", limits_.values));
    if (open_.empty()) return document = std::move(value);
    Level& level = open_.back();
    if (level.array) return level.array->emplace_back(std::move(value));
    level.object->push_back({std::move(level.next), std::move(value)});
    return level.object->back().value;
  }
  void open(Json container) {
    if (open_.size() == limits_.depth)
      refuse(fmt::format("JSON is nested too deeply: expected at most {} levels", limits_.depth));
    Json& place = add(std::move(container));
    open_.push_back({place.is_array() ? &place.elements() : nullptr,
                     place.is_object() ? &place.members() : nullptr,
                     {},
                     {}});
  }

  const JsonLimits& limits_;
  std::vector<Level> open_;
  std::size_t values_ = 0;
};

// ---------------------------------------------------------------------------------------------
// Writing
// ---------------------------------------------------------------------------------------------

using Library = nlohmann::json;

class Writer {
 public:
  explicit Writer(const JsonFormat& format) : format_(format) {}

  std::string text;

  void write(const Json& value, int level) {
    if (value.is_array())
      write_all(value.elements(), '[', ']', level,
                [&](const Json& element) { write(element, level + 1); });
    else if (value.is_object())
      write_all(value.members(), '{', '}', level, [&](const Json::Member& member) {
        write_string(member.key);
        text += format_.indent > 0 ? ": " : ":";
        write(member.value, level + 1);
      });
    else if (value.is_string())
      write_string(value.as_string());
    else
      write_scalar(value);
  }

 private:
  template <class List, class WriteOne>
  void write_all(const List& list, char begin, char end, int level, const WriteOne& write_one) {
    text += begin;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) text += ',';
      new_line(level + 1);
      write_one(list[i]);
    }
    if (!list.empty()) new_line(level);
    text += end;
  }
  void new_line(int level) {
    if (format_.indent > 0) text.append(1, '\n').append(as_size(level * format_.indent), ' ');
  }
  static std::size_t as_size(int count) { return static_cast<std::size_t>(count); }

  void write_scalar(const Json& value) {
    if (value.is_null())
      text += "null";
    else if (value.is_bool())
      text += value.as_bool() ? "true" : "false";
    else if (value.is_small_integer())
      text += fmt::format("{}", value.as_integer());
    else if (value.is_integer())
      text += fmt::format("{}", value.as_unsigned());
    else
      text += Library(value.as_number()).dump();
  }

  void write_string(const std::string& string) {
    const bool plain = std::all_of(string.begin(), string.end(), [](char c) {
      return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
    });
    if (plain) {
      text.append(1, '"').append(string).append(1, '"');
      return;
    }
    using Invalid = Library::error_handler_t;
    try {
      text += Library(string).dump(-1, ' ', format_.ascii,
                                   format_.replace_invalid ? Invalid::replace : Invalid::strict);
    } catch (const Library::type_error&) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("JSON: expected UTF-8, got {}",
                              Json(string).dump({.ascii = true, .replace_invalid = true})));
    }
  }

  const JsonFormat& format_;
};

// ---------------------------------------------------------------------------------------------
// Types and their errors
// ---------------------------------------------------------------------------------------------

constexpr std::string_view kBool = "true or false";
constexpr std::string_view kInteger = "an integer";
constexpr std::string_view kNumber = "a number";
constexpr std::string_view kString = "a string";
constexpr std::string_view kArray = "a list";
constexpr std::string_view kObject = "an object";

[[noreturn]] void refuse_type(std::string_view expected, const Json& value) {
  refuse(fmt::format("expected {}, got {}", expected, brief(value)));
}

[[noreturn]] void refuse_at(const std::string& path, const std::string& what) {
  refuse(path.empty() ? what : fmt::format("{}: {}", path, what));
}

}  // namespace

void read_json(std::string_view text, JsonEvents& events) {
  const RoundingOfStrtod rounding;
  const DefaultFloatMode mode;
  // nlohmann-json takes a zero byte for the end of its input.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos)
    return events.fault(zero, fmt::format("parse error at byte {}: a zero byte", zero + 1));
  Adapter adapter(events);
  Library::sax_parse(text.begin(), text.end(), &adapter);
}

Json Json::parse(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes)
    refuse(fmt::format("JSON: expected at most {1} bytes, got {0}", text.size(), limits.bytes));
  Builder builder(limits);
  read_json(text, builder);
  return std::move(builder.document);
}

std::optional<Json> Json::try_parse(std::string_view text, const JsonLimits& limits) {
  try {
    return parse(text, limits);
  } catch (const SyntaxError&) {
    return {};
  }
}

std::string Json::dump(const JsonFormat& format) const {
  const DefaultFloatMode mode;
  Writer writer(format);
  writer.write(*this, 0);
  return std::move(writer.text);
}

bool Json::as_bool() const { return get<bool>(kBool); }
double Json::as_number() const {
  if (const auto* number = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*number);
  return get<double>(kNumber);
}
std::uint64_t Json::as_unsigned() const {
  if (is_small_integer() && as_integer() >= 0) return static_cast<std::uint64_t>(as_integer());
  return get<std::uint64_t>("an integer of 0 or more");
}
std::int64_t Json::as_integer() const { return get<std::int64_t>(kInteger); }
const std::string& Json::as_string() const { return get<std::string>(kString); }
const Json::Array& Json::elements() const { return get<Array>(kArray); }
const Json::Object& Json::members() const { return get<Object>(kObject); }
Json::Array& Json::elements() { return const_cast<Array&>(std::as_const(*this).elements()); }
Json::Object& Json::members() { return const_cast<Object&>(std::as_const(*this).members()); }

template <class T>
const T& Json::get(std::string_view expected) const {
  const T* const value = std::get_if<T>(&value_);
  if (!value) refuse_type(expected, *this);
  return *value;
}

const Json* Json::find(std::string_view key) const {
  const auto* const object = std::get_if<Object>(&value_);
  if (!object) return nullptr;
  const auto found = std::find_if(object->begin(), object->end(),
                                  [&](const Member& member) { return member.key == key; });
  return found == object->end() ? nullptr : &found->value;
}

const Json& Json::at(std::string_view key) const {
  const Json* const found = find(key);
  if (!found) refuse(fmt::format("{} is missing", in_quotes(key)));
  return *found;
}

const Json& Json::at(std::size_t index) const {
  if (index >= elements().size())
    refuse(fmt::format("expected more than {} elements, got {}", index, elements().size()));
  return elements()[index];
}

std::size_t Json::size() const {
  return is_array() ? elements().size() : is_object() ? members().size() : 0;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = Object();
  if (const Json* const found = find(key)) return const_cast<Json&>(*found);
  return members().emplace_back(Member{std::string(key), {}}).value;
}

Json& Json::operator[](std::size_t index) {
  return const_cast<Json&>(std::as_const(*this).at(index));
}

void Json::push_back(Json element) {
  if (is_null()) value_ = Array();
  elements().push_back(std::move(element));
}

void Json::update(const Json& object) {
  for (const auto& [key, value] : object.members()) (*this)[key] = value;
}

void Json::erase(std::string_view key) {
  std::erase_if(members(), [&](const Member& member) { return member.key == key; });
}

bool Json::operator==(const Json& other) const { return value_ == other.value_; }

std::string brief(const Json& value) {
  constexpr std::size_t kMost = 60;
  std::string text = value.dump({.ascii = true, .replace_invalid = true});
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

// ---------------------------------------------------------------------------------------------
// Views
// ---------------------------------------------------------------------------------------------

bool JsonView::as_bool() const {
  expect(value_->is_bool(), kBool);
  return value_->as_bool();
}

double JsonView::as_number() const {
  expect(value_->is_number(), kNumber);
  return value_->as_number();
}

std::int64_t JsonView::as_integer(std::int64_t low, std::int64_t high) const {
  const bool bounded = low != std::numeric_limits<std::int64_t>::min() ||
                       high != std::numeric_limits<std::int64_t>::max();
  const auto fits = [&] {
    if (!value_->is_small_integer()) return false;
    return value_->as_integer() >= low && value_->as_integer() <= high;
  };
  if (!fits()) refuse(bounded ? fmt::format("an integer from {} to {}", low, high) : "an integer");
  return value_->as_integer();
}

const std::string& JsonView::as_string() const {
  expect(value_->is_string(), kString);
  return value_->as_string();
}

std::vector<std::string> JsonView::as_strings() const {
  expect(value_->is_array(), kArray);
  std::vector<std::string> all;
  all.reserve(value_->size());
  for (const Json& element : value_->elements())
    all.push_back(element.is_string() ? element.as_string() : at(all.size()).as_string());
  return all;
}

std::vector<JsonView> JsonView::elements() const {
  expect(value_->is_array(), kArray);
  std::vector<JsonView> all;
  for (const Json& element : value_->elements())
    all.emplace_back(element, fmt::format("{}[{}]", path_, all.size()));
  return all;
}

std::vector<std::pair<std::string, JsonView>> JsonView::members() const {
  expect(value_->is_object(), kObject);
  std::vector<std::pair<std::string, JsonView>> all;
  for (const auto& [key, value] : value_->members()) all.emplace_back(key, member(key, value));
  return all;
}

std::optional<JsonView> JsonView::find(std::string_view key) const {
  expect(value_->is_object(), kObject);
  const Json* const found = value_->find(key);
  return found ? std::optional(member(key, *found)) : std::nullopt;
}

JsonView JsonView::at(std::string_view key) const {
  if (std::optional<JsonView> found = find(key)) return *std::move(found);
  refuse_at(path_, fmt::format("{} is missing", in_quotes(key)));
}

JsonView JsonView::at(std::size_t index) const {
  expect(value_->is_array() && index < value_->size(),
         fmt::format("a list of more than {} elements", index));
  return {value_->elements()[index], fmt::format("{}[{}]", path_, index)};
}

JsonView JsonView::member(std::string_view key, const Json& value) const {
  const std::string quoted = in_quotes(key);
  const std::string_view name = std::string_view(quoted).substr(1, quoted.size() - 2);
  return {value, path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name)};
}

void JsonView::refuse(std::string_view expected) const {
  refuse_at(path_, fmt::format("expected {}, got {}", expected, brief(*value_)));
}

}  // namespace limpid
