// The values of a chat template, as Python has them. Depends on template_tree.h.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/data/chat/detail/template_tree.h"

namespace limpid::detail {

struct TemplateFrame;
struct TemplateLoop;
struct TemplateSequence;
struct TemplateDictionary;
struct TemplateNamespace;

// Texts, lists and dictionaries do not change and are shared.
class TemplateValue {
 public:
  struct None {};
  // A number that is no integer of 64 bits.
  struct OtherNumber {
    bool is_zero = false;
  };
  struct Macro {
    const TemplateNode* node = nullptr;
    TemplateFrame* frame = nullptr;  // in which it was defined
  };
  // What every template may name.
  struct Global {
    std::string_view name;
  };

  TemplateValue() = default;  // undefined
  // NOLINTBEGIN(google-explicit-constructor)
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, TemplateValue>) TemplateValue(T value)
      : value_(std::move(value)) {}
  TemplateValue(std::string text) : value_(std::make_shared<const std::string>(std::move(text))) {}
  TemplateValue(TemplateSequence sequence);
  TemplateValue(TemplateDictionary dictionary);
  // NOLINTEND(google-explicit-constructor)

  bool is_undefined() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_none() const { return std::holds_alternative<None>(value_); }
  // nullptr for another value.
  const OtherNumber* other_number() const { return std::get_if<OtherNumber>(&value_); }
  const bool* boolean() const { return std::get_if<bool>(&value_); }
  const std::string* text() const { return pointed<std::string>(); }
  const TemplateSequence* sequence() const { return pointed<TemplateSequence>(); }
  const TemplateDictionary* dictionary() const { return pointed<TemplateDictionary>(); }
  TemplateNamespace* name_space() const { return plain<TemplateNamespace>(); }
  TemplateLoop* loop() const { return plain<TemplateLoop>(); }
  const Macro* macro() const { return std::get_if<Macro>(&value_); }
  const Global* global() const { return std::get_if<Global>(&value_); }
  // Of an integer, or of a truth value, which counts as one.
  std::optional<std::int64_t> integer() const {
    if (const auto* const number = std::get_if<std::int64_t>(&value_)) return *number;
    if (const bool* const flag = boolean()) return *flag ? 1 : 0;
    return std::nullopt;
  }

 private:
  template <class T>
  const T* pointed() const {
    const auto* const pointer = std::get_if<std::shared_ptr<const T>>(&value_);
    return pointer ? pointer->get() : nullptr;
  }
  template <class T>
  T* plain() const {
    const auto* const pointer = std::get_if<T*>(&value_);
    return pointer ? *pointer : nullptr;
  }

  std::variant<std::monostate, None, bool, std::int64_t, OtherNumber,
               std::shared_ptr<const std::string>, std::shared_ptr<const TemplateSequence>,
               std::shared_ptr<const TemplateDictionary>, TemplateNamespace*, TemplateLoop*, Macro,
               Global>
      value_;
};

struct TemplateSequence {
  // A view is what items() and their like give, an iterator what filters give: it ends where it was
  // read once.
  enum class Kind : std::uint8_t { kList, kTuple, kView, kIterator };

  Kind kind = Kind::kList;
  std::vector<TemplateValue> elements;
  std::size_t depth = 1;  // of sequences and dictionaries in it
};

struct TemplateMembers {
  std::vector<std::pair<std::string, TemplateValue>> all;

  // nullptr where there is none.
  const TemplateValue* find(std::string_view key) const;
  void set(std::string_view key, TemplateValue value);
};

struct TemplateDictionary {
  TemplateMembers members;
  std::size_t depth = 1;
};

// The only thing that changes. A rendering owns all of them, since one may be in another's members.
struct TemplateNamespace {
  TemplateMembers members;
};

// Sequences and dictionaries in each other, that of the value among them.
std::size_t depth_of(const TemplateValue& value);

// Throws kUnsupported for what is nested too deep.
TemplateValue template_value(const Json& json);

// Deeper ones are refused.
inline constexpr std::size_t kDeepestValue = 64;

}  // namespace limpid::detail
