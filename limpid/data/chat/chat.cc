#include "limpid/data/chat/chat.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include "limpid/core/error.h"
#include "limpid/data/text/byte_pair.h"
#include "limpid/formats/file.h"

namespace limpid {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{32} << 20;
constexpr JsonLimits kChatFiles{.bytes = kMostBytes, .members = kMaxTokens, .values = 2'500'000};

std::optional<std::string> text_of_file(const fs::path& path) {
  std::error_code ignored;  // a path that cannot be asked about is not there
  if (!fs::exists(path, ignored)) return std::nullopt;
  const Tensor file = read_file(path, kMostBytes);
  return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
}

// An object; null if there is no such file.
Json object_of_file(const fs::path& path) {
  const std::optional<std::string> text = text_of_file(path);
  if (!text) return {};
  try {
    Json json = Json::parse(*text, kChatFiles);
    json.members();
    return json;
  } catch (const Error& e) {
    throw Error(e.code(), path.filename().string() + ": " + e.what());
  }
}

const Json* member_of(const Json& json, std::string_view key) {
  const Json* const found = json.is_object() ? json.find(key) : nullptr;
  return found && !found->is_null() ? found : nullptr;
}

// The template of a tokenizer_config.json; if there are several, the default one.
std::optional<std::string> template_of(const Json& config) {
  const Json* const found = member_of(config, "chat_template");
  if (!found) return std::nullopt;
  if (found->is_string()) return found->as_string();
  for (const Json& one : found->elements())
    if (one.at("name") == "default") return one.at("template").as_string();
  return std::nullopt;
}

// A token's number or numbers, under a key.
void add_numbers(std::vector<std::int32_t>& to, const Json& config, std::string_view key) {
  const Json* const found = member_of(config, key);
  if (!found) return;
  const auto add = [&](const Json& number) {
    to.push_back(static_cast<std::int32_t>(JsonView(number).as_integer(0, kMaxTokens - 1)));
  };
  if (!found->is_array()) return add(*found);
  for (const Json& number : found->elements()) add(number);
}

// Why the tokens of a chat's text are not known; empty where they are.
std::string unknown_tokens(const Json& tokenizer) {
  if (tokenizer.is_null()) return "a chat template needs tokenizer.json beside it";
  if (const Json* const added = member_of(tokenizer, "added_tokens"))
    for (const Json& token : added->elements())
      for (const char* flag : {"lstrip", "rstrip", "single_word"})
        if (const Json* const value = member_of(token, flag); value && value->as_bool())
          return std::string("tokenizer.json: added_tokens with ") + flag + " are not supported";
  return "";
}

// Finds special tokens in a text.
class SpecialTokens {
 public:
  explicit SpecialTokens(const BytePairRules& rules) {
    for (const std::int32_t number : rules.special)
      tokens_.push_back({rules.tokens[static_cast<std::size_t>(number)], number});
    const auto is_before = [](const Token& a, const Token& b) { return a.text < b.text; };
    std::stable_sort(tokens_.begin(), tokens_.end(), is_before);
    std::vector<std::size_t> prefixes;  // of the token before: each is a prefix of the next
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      Token& token = tokens_[i];
      begins_[static_cast<unsigned char>(token.text[0])] = true;
      while (!prefixes.empty() && !token.text.starts_with(tokens_[prefixes.back()].text))
        prefixes.pop_back();
      if (!prefixes.empty()) token.prefix = prefixes.back();
      prefixes.push_back(i);
    }
  }

  struct Token {
    std::string_view text;
    std::int32_t number;
    std::size_t prefix = kNone;  // the longest other token that this one begins with
  };

  // The longest special token that the text begins with, or nullptr. Every such token is a prefix
  // of (or equal to) the last token that does not sort after the text.
  const Token* at_start_of(std::string_view text) const {
    if (text.empty() || !begins_[static_cast<unsigned char>(text[0])]) return nullptr;
    const auto is_behind = [](std::string_view t, const Token& token) { return t < token.text; };
    std::size_t at = static_cast<std::size_t>(
        std::upper_bound(tokens_.begin(), tokens_.end(), text, is_behind) - tokens_.begin());
    at = at == 0 ? kNone : at - 1;
    while (at != kNone && !text.starts_with(tokens_[at].text)) at = tokens_[at].prefix;
    return at == kNone ? nullptr : &tokens_[at];
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::vector<Token> tokens_;
  std::array<bool, 256> begins_{};
};

}  // namespace

Json load_chat_config(const fs::path& folder) {
  const Json config = object_of_file(folder / "tokenizer_config.json");
  std::optional<std::string> source = text_of_file(folder / "chat_template.jinja");
  if (!source) source = template_of(config);
  if (!source) return {};
  Json marks = Json::object();
  for (const char* key :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"})
    if (const Json* const mark = member_of(config, key))
      marks[key] = mark->is_object() ? mark->at("content").as_string() : mark->as_string();
  std::vector<std::int32_t> ends;
  add_numbers(ends, object_of_file(folder / "config.json"), "eos_token_id");
  add_numbers(ends, object_of_file(folder / "generation_config.json"), "eos_token_id");
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return {{"template", *source},
          {"marks", std::move(marks)},
          {"ends", ends},
          {"unsupported", unknown_tokens(object_of_file(folder / "tokenizer.json"))}};
}

Chat::Chat(const JsonView& config)
    : template_(config.at("template").as_string()), marks_(config.at("marks").value()) {
  for (const Json::Member& mark : marks_.members()) mark.value.as_string();
  for (const JsonView& end : config.at("ends").elements())
    ends_.push_back(static_cast<std::int32_t>(end.as_integer(0, kMaxTokens - 1)));
}

std::optional<Chat> Chat::of(const Model& model) {
  const std::optional<Json> config = Json::try_parse(model.config);
  const Json* const chat = config ? member_of(*config, "chat") : nullptr;
  if (!chat) return std::nullopt;
  const JsonView view(*chat, "chat");
  if (const std::string& why = view.at("unsupported").as_string(); !why.empty())
    throw Error(ErrorCode::kUnsupported, why);
  return Chat(view);
}

std::vector<std::int32_t> Chat::prompt(const Tokenizer& tokenizer, const Json& messages) const {
  Json variables = marks_;
  variables["messages"] = messages;
  variables["add_generation_prompt"] = true;
  // Defined even if there are none.
  variables["tools"] = Json();
  variables["documents"] = Json();
  const std::string text = template_.render(variables);
  std::vector<std::int32_t> tokens;
  const auto add = [&](std::string_view part) {
    if (part.empty()) return;
    const Tensor encoded = tokenizer.encode(part);
    const auto values = encoded.values<std::int32_t>();
    tokens.insert(tokens.end(), values.begin(), values.end());
  };
  std::size_t begin = 0;
  if (const BytePairRules* const rules = tokenizer.byte_pair_rules()) {
    const SpecialTokens special(*rules);
    for (std::size_t at = 0; at < text.size();) {
      const auto* const token = special.at_start_of(std::string_view(text).substr(at));
      if (!token) {
        ++at;
        continue;
      }
      add(std::string_view(text).substr(begin, at - begin));
      tokens.push_back(token->number);
      at += token->text.size();
      begin = at;
    }
  }
  add(std::string_view(text).substr(begin));
  return tokens;
}

}  // namespace limpid
