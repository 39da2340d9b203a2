// A chat template as a tree, and where its names find their values. Depends on template_tokens.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace limpid::detail {

// Where a name's value is: a slot of the frame `up` levels up.
struct TemplateRef {
  std::size_t up = 0, slot = 0;
};

// The slots of a frame: of the template, a loop's turn, a loop's condition or a macro's call. What
// is in a slot when the frame begins:
struct TemplateLoad {
  enum class Kind : std::uint8_t {
    kParameter,  // set by what makes the frame
    kVariable,   // a variable of the rendering
    kOuter,      // a copy of a name's value further out
    kUndefined,
  };

  Kind kind = Kind::kUndefined;
  std::string name = {};
  TemplateRef outer = {};
};
using TemplateScope = std::vector<TemplateLoad>;

struct TemplateNode {
  enum class Kind : std::uint8_t {
    kData,        // text
    kBlock,       // children one after the other
    kOutput,      // child
    kFor,         // names: what an element is unpacked to; list, body, and perhaps a condition
    kIf,          // condition and body (of elif, too), and an optional else body
    kSet,         // text: the name; value
    kSetMember,   // text: the member of the namespace that `ref` names; value
    kBreak,       // of the innermost loop
    kContinue,    // likewise
    kMacro,       // text: the name; names: of parameters; body, and defaults of the last ones
    kConstant,    // a text, an integer, true, false or none
    kName,        // text
    kMember,      // text: of the child
    kIndex,       // of the first child by the second
    kSlice,       // of the first child; from, to, step: of Kind kNothing where they are left out
    kNothing,     // undefined
    kList,        // children
    kTuple,       // children
    kDictionary,  // key, value, key, value
    kNot,         // child
    kBinary,      // text: the operator
    kCondition,   // condition, then, else
    kFilter,      // text: the name; of the first child with the others
    kTest,        // text: the name; of the first child with the others
    kCall,        // of the first child with the others
  };
  enum class Constant : std::uint8_t { kNone, kFalse, kTrue, kInteger, kText };

  Kind kind = Kind::kBlock;
  Constant constant = Constant::kNone;
  std::int64_t integer = 0;
  std::size_t at = 0;      // in the source
  std::size_t height = 1;  // of the tree from here
  std::string text = {};   // of a constant, too
  std::vector<std::unique_ptr<TemplateNode>> children = {};
  std::vector<std::string> names = {};  // of a filter, test or call: those of its last arguments

  // Set by bind_names().
  TemplateRef ref = {};
  std::vector<std::size_t> slots =
      {};                         // of a loop's names, then of "loop"; of a macro's parameters
  TemplateScope scope = {};       // of the template, a loop's turn, a macro's call
  TemplateScope test_scope = {};  // of a loop's condition
};

// Throws kFormat for what is no template, kUnsupported for a construct that is not among those of
// ChatTemplate, each with the line and column.
std::unique_ptr<TemplateNode> parse_template(const std::string& source);

// Where Jinja finds the value of each name, which the places of all assignments in a frame decide
// before any of them runs (jinja2/idtracking.py).
void bind_names(TemplateNode& root);

}  // namespace limpid::detail
