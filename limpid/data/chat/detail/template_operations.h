// What the operators, filters, tests and methods of a chat template make of values, as Python and
// Jinja have it, within bounds. Depends on template_value.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/data/chat/detail/template_value.h"

namespace limpid::detail {

// What a filter, test or function is given.
struct TemplateArguments {
  std::vector<TemplateValue> values;
  std::vector<std::pair<std::string, TemplateValue>> named;
};

// What a rendering may cost: templates and messages are untrusted input.
class TemplateWork {
 public:
  explicit TemplateWork(const std::string& source) : source_(source) {}

  [[noreturn]] void refuse(const TemplateNode& node, std::string_view what,
                           ErrorCode code = ErrorCode::kInvalidArgument) const;
  // "... is not supported".
  [[noreturn]] void refuse_construct(const TemplateNode& node, std::string_view what) const;
  void step(const TemplateNode& node, std::size_t count = 1);
  // Text that is looked at, and text that is made.
  void read(const TemplateNode& node, std::size_t bytes) { step(node, bytes / 1024); }
  void make(const TemplateNode& node, std::size_t bytes);

 private:
  const std::string& source_;
  std::size_t steps_ = 0, bytes_ = 0;
};

// Each throws kInvalidArgument where Python or Jinja refuses the values, kUnsupported for what is
// not known here, with the line and column of the node.
class TemplateOperations {
 public:
  explicit TemplateOperations(TemplateWork& work) : work_(work) {}

  static bool is_true(const TemplateValue& value);
  // What a tag of output writes.
  std::string shown(const TemplateNode& node, const TemplateValue& value);
  // What a loop goes through.
  std::vector<TemplateValue> elements(const TemplateNode& node, const TemplateValue& value);

  TemplateValue list(const TemplateNode& node, TemplateSequence::Kind kind,
                     std::vector<TemplateValue> elements);
  TemplateValue dictionary(const TemplateNode& node, std::vector<TemplateValue> pairs);
  // Only what may be kept: an iterator can be read once.
  const TemplateValue& kept(const TemplateNode& node, const TemplateValue& value) const;

  TemplateValue member(const TemplateNode& node, const TemplateValue& of, const std::string& name);
  TemplateValue element(const TemplateNode& node, const TemplateValue& of, const TemplateValue& by);
  // Bounds are undefined where they are left out.
  TemplateValue slice(const TemplateNode& node, const TemplateValue& of, const TemplateValue& from,
                      const TemplateValue& to, const TemplateValue& step);
  // All but `and` and `or`.
  TemplateValue binary(const TemplateNode& node, const std::string& which, const TemplateValue& a,
                       const TemplateValue& b);
  TemplateValue filter(const TemplateNode& node, const TemplateValue& value,
                       const TemplateArguments& arguments);
  bool test(const TemplateNode& node, const std::string& name, const TemplateValue& value,
            const TemplateArguments& arguments);
  TemplateValue method(const TemplateNode& node, const TemplateValue& of, const std::string& name,
                       const TemplateArguments& arguments);

 private:
  TemplateValue text(const TemplateNode& node, std::string made);
  const std::string& expect_text(const TemplateNode& node, const TemplateValue& value,
                                 std::string_view of) const;
  TemplateValue find(const TemplateNode& node, const TemplateMembers& members,
                     std::string_view key);
  void check_attribute(const TemplateNode& node, const TemplateValue& of, std::string_view name);
  bool are_equal(const TemplateNode& node, const TemplateValue& a, const TemplateValue& b);
  bool contains(const TemplateNode& node, const TemplateValue& all, const TemplateValue& one);
  TemplateValue order(const TemplateNode& node, const std::string& which, const TemplateValue& a,
                      const TemplateValue& b);
  TemplateValue arithmetic(const TemplateNode& node, const std::string& which, std::int64_t x,
                           std::int64_t y);
  std::int64_t length(const TemplateNode& node, const TemplateValue& value);
  TemplateValue trimmed(const TemplateNode& node, const std::string& of,
                        const TemplateArguments& arguments, bool front, bool back);
  TemplateValue split(const TemplateNode& node, const std::string& of,
                      const TemplateArguments& arguments);
  TemplateValue view(const TemplateNode& node, const TemplateValue& of, std::string_view which);
  TemplateValue selected(const TemplateNode& node, const TemplateValue& value,
                         const TemplateArguments& arguments, bool by_attribute, bool wanted);
  TemplateValue json(const TemplateNode& node, const TemplateValue& value,
                     const TemplateArguments& arguments);
  void add_json(const TemplateNode& node, std::string& json, const TemplateValue& value,
                std::int64_t indent, std::int64_t level);

  TemplateWork& work_;
};

}  // namespace limpid::detail
