// ChatTemplate: renders chat messages as the text format that a model was trained with, by the
// template that comes with its weights. Supports a subset of Jinja, rendered as Hugging Face's
// transformers do (trim_blocks and lstrip_blocks set). The rest is refused: statements and syntax
// when the template is parsed, all else when a rendering reaches it. Depends on core/json.h.
//
// Statements: for NAME, NAME in LIST if, if, elif, else, set NAME =, set NAMESPACE.NAME =, macro,
// break, continue, generation, comments, whitespace control. Values: texts, integers, lists,
// tuples, dictionaries, true, false, none; names, .attribute, [index], [from:to:step]. Operators:
// == != < <= > >= in, not in; and, or, not; + - * // % ~; A if B else C. Filters: trim, length
// (count), tojson, list, items, join, default (d), select, reject, selectattr, rejectattr. Tests:
// defined, undefined, none, string, mapping, iterable, sequence, number, integer, boolean, true,
// false, equalto (eq, ==), ne (!=), in. Methods: strip, lstrip, rstrip, startswith, endswith,
// split; items, keys, values, get. Functions: namespace, raise_exception, strftime_now. loop.first,
// last, index, index0, length.
//
// In limpid/data: template_tokens, template_parser and template_names make a tree of a source,
// template_value and template_operations are Python's values, template_render walks the tree.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "limpid/core/json.h"

namespace limpid {

class ChatTemplate {
 public:
  // Throws kFormat for a syntax error, kUnsupported for a construct outside the subset above; both
  // name line and column.
  explicit ChatTemplate(std::string_view source);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  // Renders the template. `variables` is an object of the names that the template may use, such as
  // messages, add_generation_prompt, bos_token and eos_token. Throws kInvalidArgument with the
  // template's message if it raises an exception, and for values that an operation does not take;
  // kUnsupported if the text or the work exceeds a limit.
  std::string render(const Json& variables) const;

 private:
  struct Parts;

  std::unique_ptr<const Parts> parts_;
};

}  // namespace limpid
