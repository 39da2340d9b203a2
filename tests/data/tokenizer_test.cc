#include "limpid/data/text/tokenizer.h"

#include <map>

#include "limpid/data/data_config.h"
#include "limpid/data/text/byte_pair.h"
#include "limpid/formats/model.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

Tensor tokens(std::vector<std::int32_t> numbers) {
  return Tensor::from(Shape{static_cast<std::int64_t>(numbers.size())}, numbers);
}

Tokenizer characters_of(std::string_view text) { return Tokenizer(Vocabulary(text)); }

TEST(Tokenizer, OfCharactersIsItsVocabulary) {
  const Tokenizer tokenizer = characters_of("b\xc3\xa9 a\n");
  EXPECT_EQ(tokenizer.kind(), "characters");
  EXPECT_EQ(tokenizer.size(), 5);
  const Tensor ids = tokenizer.encode("\xc3\xa9 b");
  EXPECT_TRUE(ids.same_bits(tokens({4, 1, 3})));
  EXPECT_EQ(tokenizer.decode(ids.values<std::int32_t>()), "\xc3\xa9 b");
  expect_refused(ErrorCode::kNotFound, [&] { tokenizer.encode("a\nz"); });
}

// A model's file has it as JSON.
TEST(Tokenizer, OfAsManyTokensAsThereMayBeIsReadFromItsConfig) {
  BytePairRules rules;
  std::map<std::string, std::int32_t> ids;
  const auto add = [&](const std::string& token) {
    ids.emplace(token, static_cast<std::int32_t>(rules.tokens.size()));
    rules.tokens.push_back(token);
  };
  const auto byte = [](int b) { return std::string(1, static_cast<char>(b)); };
  for (int b = 0; b < 256; ++b) add(byte(b));
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      add(byte(a) + byte(b));
      rules.merges.emplace_back(ids.at(byte(a)), ids.at(byte(b)));
    }
  for (int i = 0; rules.tokens.size() < kMaxTokens; ++i) {
    const std::string a = byte(i >> 16), b = byte(i >> 8), c = byte(i);
    add(a + b + c);
    rules.merges.emplace_back(ids.at(a + b), ids.at(c));
    rules.merges.emplace_back(ids.at(a), ids.at(b + c));
  }
  EXPECT_GT(rules.merges.size(), kMaxMerges * 3 / 4);
  const Tokenizer tokenizer = Tokenizer::byte_pair(rules);
  EXPECT_EQ(Tokenizer::from_config(Json::parse(tokenizer.config().dump())), tokenizer);
}

TEST(Tokenizer, OfBytesTakesEveryByte) {
  const Tokenizer tokenizer = Tokenizer::bytes();
  EXPECT_EQ(tokenizer.kind(), "bytes");
  EXPECT_EQ(tokenizer.size(), 256);
  EXPECT_TRUE(tokenizer.encode("a\xc3\xa9\xff").same_bits(tokens({97, 195, 169, 255})));
  EXPECT_TRUE(tokenizer.encode("").same_bits(tokens({})));
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(all).values<std::int32_t>()), all);
  for (const std::int32_t token : {-1, 256})
    expect_refused(ErrorCode::kInvalidArgument, [&] { tokenizer.decode({&token, 1}); });
}

TEST(Tokenizer, ComesBackFromItsConfig) {
  for (const Tokenizer& tokenizer : {characters_of("hello\n"), Tokenizer::bytes()})
    EXPECT_EQ(Tokenizer::from_config(tokenizer.config()), tokenizer);
  EXPECT_FALSE(characters_of("ab") == characters_of("ac"));
  EXPECT_FALSE(characters_of("ab") == Tokenizer::bytes());
}

TEST(Tokenizer, RefusesAConfigThatIsNone) {
  for (const std::string_view text :
       {"[]", "{}", R"({"kind":1})", R"({"kind":"characters","characters":["a",2]})",
        R"({"kind":"words"})", R"({"kind":"characters"})",
        R"({"kind":"characters","characters":["b","a"]})", R"({"kind":"bytes","kind":"bytes"})"})
    expect_refused(ErrorCode::kFormat, [&] {
      const Json json = Json::parse(text);
      Tokenizer::from_config(JsonView(json, "config.tokenizer"));
    });
}

TEST(Tokenizer, StandsInTheDataOfAModel) {
  DataConfig config{.task = Task::kNextToken};
  config.tokenizer = Tokenizer::bytes();
  const DataConfig back = data_config_from_json(to_json(config));
  EXPECT_EQ(back, config);
  EXPECT_EQ(tokenizer_of(back), Tokenizer::bytes());
}

TEST(Tokenizer, IsTheClassNamesWhereTheDataHasNoOther) {
  const DataConfig config{.task = Task::kNextToken, .class_names = {"a", "b"}};
  EXPECT_EQ(tokenizer_of(config), characters_of("ab"));
  EXPECT_EQ(tokenizer_of({.task = Task::kClassification, .class_names = {"a", "b"}}), std::nullopt);
  expect_refused(ErrorCode::kFormat,
                 [] { tokenizer_of({.task = Task::kNextToken, .class_names = {"ab"}}); });
}

}  // namespace
}  // namespace limpid
