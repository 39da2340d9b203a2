// ChatTemplate: the messages of a chat as the text that a model was trained with, by the template
// comes with its weights. A part of Jinja, rendered as Hugging Face's transformers render it
// (trim_blocks and lstrip_blocks set). A template that uses anything else is refused. Leans on
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
  // Throws kFormat for what is no template, kUnsupported for a construct that is not among those
  // above, each with the line and column.
  explicit ChatTemplate(std::string_view source);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  // The text for the variables, an object: messages, add_generation_prompt, bos_token, eos_token.
  // Throws kInvalidArgument with the template's own message where it raises one, and for values
  // that an operation does not take; kUnsupported for a text or work beyond what a prompt needs.
  std::string render(const Json& variables) const;

 private:
  struct Node;
  class Parser;
  class Renderer;

  std::unique_ptr<const Node> root_;
};

}  // namespace limpid
