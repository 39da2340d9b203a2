// Chat: the tokens of a chat's messages, by the chat template of a model. Leans on chat_template.h
// and tokenizer.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/data/chat_template.h"
#include "limpid/data/tokenizer.h"
#include "limpid/formats/model.h"

namespace limpid {

// The key "chat" of a model's config, from the files of its folder: the template
// (chat_template.jinja, else tokenizer_config.json), the special tokens that it may name, and the
// tokens that end an answer. Null where there is no template. Throws kIo; kFormat for a file that
// is broken.
Json load_chat_config(const std::filesystem::path& folder);

class Chat {
 public:
  // Nothing for a model without a template. Throws what ChatTemplate throws, and kUnsupported for a
  // tokenizer whose tokens of such texts are not known here.
  static std::optional<Chat> of(const Model& model);

  // The tokens of the messages, each an object of texts, and of the beginning of an answer. As
  // Hugging Face's tokenizers have it, a special token's text is that token, in a message, too.
  // Throws what render() throws.
  std::vector<std::int32_t> prompt(const Tokenizer& tokenizer, const Json& messages) const;
  // Tokens that end an answer, beside the tokenizer's own.
  const std::vector<std::int32_t>& ends() const { return ends_; }

 private:
  explicit Chat(const JsonView& config);

  ChatTemplate template_;
  Json marks_;
  std::vector<std::int32_t> ends_;
};

}  // namespace limpid
