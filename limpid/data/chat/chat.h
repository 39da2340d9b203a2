// Chat: turns chat messages into tokens, by the chat template of a model. Depends on
// chat_template.h and tokenizer.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/data/chat/chat_template.h"
#include "limpid/data/text/tokenizer.h"
#include "limpid/formats/model.h"

namespace limpid {

// Reads the chat configuration of a model from its folder, for the key "chat" of the model's
// config: the template (chat_template.jinja, else tokenizer_config.json), the special tokens that
// it may use, and the tokens that end an answer. Null if there is no template. Throws kIo, kFormat
// for a malformed file, kUnsupported for one that is too large.
Json load_chat_config(const std::filesystem::path& folder);

class Chat {
 public:
  // nullopt for a model without a template. Throws what ChatTemplate throws, and kUnsupported for a
  // tokenizer that is not supported for chats.
  static std::optional<Chat> of(const Model& model);

  // The tokens of the messages, a JSON array of objects of strings, followed by the start of an
  // answer. As in Hugging Face's tokenizers, the text of a special token becomes that token, even
  // inside a message. Throws what render() throws.
  std::vector<std::int32_t> prompt(const Tokenizer& tokenizer, const Json& messages) const;
  // Tokens that end an answer, in addition to the tokenizer's EOS.
  const std::vector<std::int32_t>& ends() const { return ends_; }

 private:
  explicit Chat(const JsonView& config);

  ChatTemplate template_;
  Json marks_;
  std::vector<std::int32_t> ends_;
};

}  // namespace limpid
