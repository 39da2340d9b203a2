#include "limpid/data/chat/chat.h"

#include <algorithm>
#include <string_view>
#include <system_error>

#include "limpid/core/error.h"
#include "limpid/formats/file.h"

namespace limpid {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{32} << 20;
constexpr JsonLimits kChatFiles{
    .bytes = kMostBytes, .members = kMaxPipelineTokens, .values = 2'500'000};

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
    to.push_back(static_cast<std::int32_t>(JsonView(number).as_integer(0, kMaxPipelineTokens - 1)));
  };
  if (!found->is_array()) return add(*found);
  for (const Json& number : found->elements()) add(number);
}

// Why the tokens of a chat's text are not known; empty where they are.
std::string unknown_tokens(const fs::path& folder) {
  std::error_code ignored;  // a path that cannot be asked about is not there
  for (const char* file : {"tokenizer.json", "tokenizer.model"})
    if (fs::exists(folder / file, ignored)) return "";
  return "a chat template needs tokenizer.json beside it";
}

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
          {"unsupported", unknown_tokens(folder)}};
}

Chat::Chat(const JsonView& config)
    : template_(config.at("template").as_string()), marks_(config.at("marks").value()) {
  for (const Json::Member& mark : marks_.members()) mark.value.as_string();
  for (const JsonView& end : config.at("ends").elements())
    ends_.push_back(static_cast<std::int32_t>(end.as_integer(0, kMaxPipelineTokens - 1)));
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
  return tokenizer.tokens(template_.render(variables), {.special = true}).ids;
}

}  // namespace limpid
