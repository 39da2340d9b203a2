// ChatTemplate: renders chat messages as the text format that a model was trained with, by the
// template that comes with its weights. Supports a subset of Jinja, rendered as Hugging Face's
// transformers do (trim_blocks and lstrip_blocks set). Other templates are refused. Depends on
// core/json.h.
//
// Statements: for NAME in, if, elif, else, set NAME =, comments, whitespace control. Expressions:
// texts, integers, lists, true, false, none; names, .attribute, [index], [from:to]; == != < <= > >=
// in, not in; and, or, not; + - * // % ~; A if B else C; the filters trim, length, tojson; the
// tests defined, undefined, none, string; the methods strip, lstrip, rstrip, startswith, endswith;
// loop.first, last, index, index0, length; raise_exception(TEXT).
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

  // Renders the template. `variables` is an object: messages, add_generation_prompt, bos_token,
  // eos_token. Throws kInvalidArgument with the template's message if it raises an exception, and
  // for values that an operation does not take; kUnsupported if the text or the work exceeds a
  // limit.
  std::string render(const Json& variables) const;

 private:
  struct Node;
  class Parser;
  class Renderer;

  std::unique_ptr<const Node> root_;
};

}  // namespace limpid
