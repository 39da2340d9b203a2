// JSON: values, reading them from untrusted text within limits, and writing them.
// Depends on error.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace limpid {

// Limits on the work and memory that an untrusted text can cause.
struct JsonLimits {
  // Larger than any text that the library writes: a model's tokenizer may have 262,144 tokens and
  // 524,288 merges.
  std::size_t bytes = std::size_t{32} << 20;
  std::size_t depth = 16;
  std::size_t members = 1024;  // of one object
  std::size_t values = 1'000'000;
};

// How a value is written.
struct JsonFormat {
  int indent = 0;                // spaces per level, each value on its own line; 0: one line
  bool ascii = false;            // write other characters as \uNNNN
  bool replace_invalid = false;  // invalid UTF-8 becomes U+FFFD instead of an error
};

// A value: null, true or false, a number, a string, an array or an object.
class Json {
 public:
  struct Member;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;  // in the order in which members were added

  // Each constructor makes a value of the matching kind; the default is null. Pointers do not
  // convert to bool.
  // NOLINTBEGIN(google-explicit-constructor)
  Json();
  Json(std::nullptr_t);
  template <std::same_as<bool> T>
  Json(T flag);
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T number);
  template <std::floating_point T>
  Json(T number);
  Json(std::string text);
  Json(std::string_view text);
  Json(const char* text);
  Json(Array elements);
  template <class T>
  Json(const std::vector<T>& elements);
  // An object: Json{{"name", "x"}, {"rows", 3}}.
  Json(Object members);
  Json(std::initializer_list<Member> members);
  // NOLINTEND(google-explicit-constructor)
  static Json array(std::initializer_list<Json> elements = {});
  static Json object();

  // Throws kFormat for text that is not JSON, goes beyond the limits or has a key twice in one
  // object. Byte positions in messages count from 1.
  static Json parse(std::string_view text, const JsonLimits& limits = {});
  // As parse(), but returns nullopt for text that is not JSON.
  static std::optional<Json> try_parse(std::string_view text, const JsonLimits& limits = {});

  // The shortest digits that read back as the same number; infinities and NaNs are written as null.
  // Throws kInvalidArgument for text that is not UTF-8, unless the format replaces it.
  std::string dump(const JsonFormat& format = {}) const;

  bool is_null() const { return is<Null>(); }
  bool is_bool() const { return is<bool>(); }
  bool is_small_integer() const { return is<std::int64_t>(); }  // below 2^63
  bool is_integer() const { return is_small_integer() || is<std::uint64_t>(); }
  bool is_number() const { return is_integer() || is<double>(); }
  bool is_string() const { return is<std::string>(); }
  bool is_array() const { return is<Array>(); }
  bool is_object() const { return is<Object>(); }

  // The value as a type. Each throws kFormat if the value has another type. The errors of JsonView
  // also name the path.
  bool as_bool() const;
  std::int64_t as_integer() const;    // within the range of the type
  std::uint64_t as_unsigned() const;  // 0 or more
  double as_number() const;           // integers, too
  const std::string& as_string() const;
  const Array& elements() const;
  const Object& members() const;
  Array& elements();
  Object& members();

  // The member of an object; nullptr if there is no such member, or if this is not an object.
  // Linear time.
  const Json* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  // Throws kFormat if there is no such member or element.
  const Json& at(std::string_view key) const;
  const Json& at(std::size_t index) const;
  // Elements or members; 0 for all other values.
  std::size_t size() const;

  // Null becomes an empty object or array; other values throw kFormat.
  Json& operator[](std::string_view key);  // adds the member if there is none
  Json& operator[](std::size_t index);     // throws kFormat if there is no such element
  void push_back(Json element);
  // Sets every member of `object` in this one.
  void update(const Json& object);
  // Removes a member, if there is one.
  void erase(std::string_view key);

  // The order of members counts; 1 and 1.0 differ.
  bool operator==(const Json& other) const;

 private:
  // Not trivial: of a variant of trivial types, strings and vectors alone libstdc++ 12 believes
  // that it always has a value, and destroys one where a copy found no memory.
  // NOLINTBEGIN(modernize-use-equals-default)
  struct Null {
    Null() noexcept {}
    Null(const Null&) noexcept {}
    Null& operator=(const Null&) noexcept { return *this; }
    bool operator==(const Null&) const = default;
  };
  // NOLINTEND(modernize-use-equals-default)

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value_);
  }
  template <class T>
  const T& get(std::string_view expected) const;

  std::variant<Null, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> value_;
};

// One member of an object.
struct Json::Member {
  std::string key;
  Json value;

  bool operator==(const Member&) const = default;
};

// Defined here: clang needs the complete type Member to make a vector of it.
inline Json::Json() = default;
inline Json::Json(std::nullptr_t) {}
template <std::same_as<bool> T>
Json::Json(T flag) : value_(flag) {}
template <std::integral T>
requires(!std::same_as<T, bool>) Json::Json(T number) {
  // One representation per number: unsigned only beyond the signed range.
  if (std::in_range<std::int64_t>(number))
    value_ = static_cast<std::int64_t>(number);
  else
    value_ = static_cast<std::uint64_t>(number);
}
template <std::floating_point T>
Json::Json(T number) : value_(static_cast<double>(number)) {}
template <class T>
Json::Json(const std::vector<T>& elements) : value_(Array(elements.begin(), elements.end())) {}
inline Json::Json(std::string text) : value_(std::move(text)) {}
inline Json::Json(std::string_view text) : value_(std::string(text)) {}
inline Json::Json(const char* text) : value_(std::string(text)) {}
inline Json::Json(Array elements) : value_(std::move(elements)) {}
inline Json Json::array(std::initializer_list<Json> elements) { return Array(elements); }
inline Json Json::object() { return Object(); }
inline Json::Json(Object members) : value_(std::move(members)) {}
inline Json::Json(std::initializer_list<Member> members) : value_(Object(members)) {}

// A value in a document, together with its path. Errors name the path, as in "mlp.sizes[2]:
// expected an integer, got 0.5". The document must outlive the view.
class JsonView {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  JsonView(const Json& value, std::string path = "") : value_(&value), path_(std::move(path)) {}

  const Json& value() const { return *value_; }
  const std::string& path() const { return path_; }

  // As the methods of Json; all throw kFormat. as_integer also throws outside [low, high].
  bool as_bool() const;
  std::int64_t as_integer(std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                          std::int64_t high = std::numeric_limits<std::int64_t>::max()) const;
  double as_number() const;
  const std::string& as_string() const;
  std::vector<std::string> as_strings() const;
  std::vector<JsonView> elements() const;
  std::vector<std::pair<std::string, JsonView>> members() const;

  // A member of an object. Throws kFormat if the value is not an object or has no such member.
  JsonView at(std::string_view key) const;
  // An element of an array. Throws kFormat if the value is not an array or has no such element.
  JsonView at(std::size_t index) const;
  // nullopt if the object has no such member. Throws kFormat if the value is not an object.
  std::optional<JsonView> find(std::string_view key) const;

  // Throws "path: expected X, got Y".
  [[noreturn]] void refuse(std::string_view expected) const;

 private:
  void expect(bool fits, std::string_view expected) const {
    if (!fits) refuse(expected);
  }
  JsonView member(std::string_view key, const Json& value) const;

  const Json* value_;
  std::string path_;
};

// A value for a message: one line of ASCII, cut after 60 bytes.
std::string brief(const Json& value);

// Receives the values of a text in order. An exception from a method stops the reading.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void null() = 0;
  virtual void boolean(bool value) = 0;
  virtual void negative(std::int64_t value) = 0;                   // an integer with a minus sign
  virtual void integer(std::uint64_t value) = 0;                   // any other integer
  virtual void number(double value, const std::string& text) = 0;  // with a fraction or exponent
  virtual void string(std::string& value) = 0;
  virtual void begin_object() = 0;
  virtual void key(std::string& name) = 0;
  virtual void end_object() = 0;
  virtual void begin_array() = 0;
  virtual void end_array() = 0;
  // Called if the text is not JSON; must throw. `position` counts bytes from 0.
  virtual void fault(std::size_t position, const std::string& why) = 0;
};

// Reads a text without limits of its own and without recursion.
void read_json(std::string_view text, JsonEvents& events);

}  // namespace limpid
