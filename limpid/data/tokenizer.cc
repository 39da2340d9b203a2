#include "limpid/data/tokenizer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/formats/detail/bounded_json.h"
#include "limpid/formats/in_quotes.h"

namespace limpid {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kCharacters = "characters";
constexpr std::string_view kBytes = "bytes";
constexpr std::int64_t kByteValues = 256;

[[noreturn]] void refuse(std::string_view what) {
  throw Error(ErrorCode::kFormat, fmt::format("tokenizer: {}", what));
}

Tensor encode_bytes(std::string_view text) {
  return Tensor::generate<std::int32_t>(Shape{static_cast<std::int64_t>(text.size())},
                                        [&](std::span<std::int32_t> out) {
                                          for (std::size_t i = 0; i < text.size(); ++i)
                                            out[i] = static_cast<unsigned char>(text[i]);
                                        });
}

std::string decode_bytes(std::span<const std::int32_t> tokens) {
  std::string text;
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= kByteValues)
      throw Error(ErrorCode::kInvalidArgument, fmt::format("tokenizer: token {} of 256", token));
    text.push_back(static_cast<char>(token));
  }
  return text;
}

}  // namespace

std::string_view Tokenizer::kind() const {
  return std::holds_alternative<Bytes>(scheme_) ? kBytes : kCharacters;
}

std::int64_t Tokenizer::size() const {
  const Vocabulary* const vocabulary = std::get_if<Vocabulary>(&scheme_);
  return vocabulary ? vocabulary->size() : kByteValues;
}

Tensor Tokenizer::encode(std::string_view text) const {
  const Vocabulary* const vocabulary = std::get_if<Vocabulary>(&scheme_);
  return vocabulary ? vocabulary->encode(text) : encode_bytes(text);
}

std::string Tokenizer::decode(std::span<const std::int32_t> tokens) const {
  const Vocabulary* const vocabulary = std::get_if<Vocabulary>(&scheme_);
  return vocabulary ? vocabulary->decode(tokens) : decode_bytes(tokens);
}

std::string Tokenizer::config() const {
  Json json{{"kind", std::string(kind())}};
  if (const Vocabulary* const vocabulary = std::get_if<Vocabulary>(&scheme_))
    json["characters"] = vocabulary->characters();
  return json.dump();
}

Tokenizer Tokenizer::from_config(std::string_view text) {
  try {
    const Json json = detail::parse_bounded_json(text);
    const auto kind = json.at("kind").get<std::string>();
    if (kind == kBytes) return bytes();
    if (kind == kCharacters)
      return Tokenizer(Vocabulary(json.at("characters").get<std::vector<std::string>>()));
    refuse(fmt::format("no kind is called {}", in_quotes(kind)));
  } catch (const nlohmann::json::exception& e) {
    refuse(e.what());
  }
}

}  // namespace limpid
