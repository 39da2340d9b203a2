#include "limpid/data/text/text_pipeline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "limpid/data/text/tokenizer.h"
#include "tests/refusals.h"
#include "tests/source_folder.h"

namespace limpid {
namespace {

// 256 tokens, one for each byte, and "</w>" after each word.
Json bytes_model() {
  Json vocabulary = Json::object();
  for (int byte = 0; byte < 256; ++byte) vocabulary[fmt::format("<0x{:02X}>", byte)] = byte;
  return {{"type", "BPE"},
          {"end_of_word_suffix", "</w>"},
          {"byte_fallback", true},
          {"vocab", vocabulary},
          {"merges", Json::array()}};
}

Json fixtures() {
  std::ifstream file(testing::source_folder() / "tests/tokenizers/fixtures.json");
  return Json::parse(std::string(std::istreambuf_iterator<char>(file), {}), kTokenizerJson);
}

std::vector<std::int32_t> ids_in(const Json& list) {
  std::vector<std::int32_t> ids;
  for (const Json& id : list.elements()) ids.push_back(static_cast<std::int32_t>(id.as_integer()));
  return ids;
}

// What the tokenizers library makes of each step, alone.
TEST(TextPipeline, DoesWhatTheTokenizersLibraryDoes) {
  const Json all = fixtures();
  EXPECT_GT(all.size(), 60u);
  for (const Json& fixture : all.elements()) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, fixture.at("name").as_string());
    Json file = fixture.at("tokenizer");
    if (file.at("model") == "bytes") file["model"] = bytes_model();
    const TextPipeline pipeline(file);
    for (const Json& one : fixture.at("cases").elements()) {
      const std::string& text = one.at("text").as_string();
      const TextTokens tokens = pipeline.encode(text, {.special = true, .whole = true});
      const TextTokens spans =
          pipeline.encode(text, {.special = true, .whole = true, .spans = true});
      EXPECT_EQ(tokens.ids, spans.ids) << one.dump();
      ASSERT_EQ(spans.ids.size(), spans.spans.size());
      for (const TextTokens::Span& span : spans.spans) {
        EXPECT_LE(span.begin, span.end);
        EXPECT_LE(span.end, text.size());
      }
      if (const Json* const seen = one.find("seen")) {
        std::string bytes;
        for (const std::int32_t id : tokens.ids) bytes.push_back(static_cast<char>(id));
        EXPECT_EQ(bytes, seen->as_string()) << one.dump();
        continue;
      }
      EXPECT_EQ(tokens.ids, ids_in(one.at("ids"))) << one.dump();
      EXPECT_EQ(pipeline.text(ids_in(one.at("ids"))), one.at("decoded").as_string()) << one.dump();
      EXPECT_EQ(pipeline.text(ids_in(one.at("ids")), true), one.at("plain").as_string());
    }
  }
}

Json file_of(const Json& model) { return {{"model", model}}; }
Json words(std::initializer_list<const char*> list) {
  Json vocabulary = Json::object();
  std::int64_t id = 0;
  for (const char* word : list) vocabulary[word] = id++;
  return vocabulary;
}

Json small() {
  return {
      {"added_tokens", Json::array({Json{{"id", 7}, {"content", "<s>"}, {"special", true}}})},
      {"normalizer",
       {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\xe2\x96\x81"}}},
      {"model",
       {{"type", "BPE"},
        {"vocab", words({"a", "b", "\xe2\x96\x81", "ab", "<0xC3>", "<0xA9>"})},
        {"byte_fallback", true},
        {"merges", Json::array({"a b"})}}},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders",
         Json::array(
             {Json{
                  {"type", "Replace"}, {"pattern", {{"String", "\xe2\x96\x81"}}}, {"content", " "}},
              Json{{"type", "ByteFallback"}}, Json{{"type", "Fuse"}},
              Json{{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}})}}}};
}

// The text of a special token is text, unless it is asked for.
TEST(TextPipeline, SpecialTokensAreTextOrTokens) {
  const TextPipeline pipeline(small());
  EXPECT_EQ(pipeline.size(), 8);  // number 6 has no token
  EXPECT_EQ(pipeline.encode("ab<s>a", {.special = true}).ids, (std::vector<std::int32_t>{3, 7, 0}));
  // Neither '<' nor 's' nor '>' has a token here.
  EXPECT_EQ(pipeline.encode("ab<s>a", {}).ids, (std::vector<std::int32_t>{3, 0}));
  EXPECT_TRUE(pipeline.is_special(7));
  EXPECT_FALSE(pipeline.is_special(6));
  EXPECT_EQ(pipeline.token(6), "");
}

TEST(TextPipeline, KnowsTheBytesOfEachToken) {
  const TextPipeline pipeline(small());
  using Span = TextTokens::Span;
  EXPECT_EQ(pipeline.encode("b ab\xc3\xa9<s>", {.special = true, .spans = true}).spans,
            (std::vector<Span>{{0, 1}, {1, 2}, {2, 4}, {4, 5}, {5, 6}, {6, 9}}));
}

// What a token adds to a text does not depend on the tokens before it; that of a whole text is
// without the space in front.
TEST(TextPipeline, DecodesTokenByToken) {
  const TextPipeline pipeline(small());
  const std::vector<std::int32_t> ids = {2, 3, 4, 5, 2, 0};
  std::string one_by_one;
  for (const std::int32_t id : ids) one_by_one += pipeline.decode({&id, 1});
  EXPECT_EQ(one_by_one, " ab\xc3\xa9 a");
  EXPECT_EQ(pipeline.decode(ids), one_by_one);
  EXPECT_EQ(pipeline.text(ids), "ab\xc3\xa9 a");
  EXPECT_EQ(pipeline.decode(std::vector<std::int32_t>{4}), "\xc3");
  EXPECT_EQ(pipeline.text(std::vector<std::int32_t>{4}), "\xef\xbf\xbd");
}

// A configuration keeps it.
TEST(TextPipeline, IsAKindOfTokenizer) {
  const Tokenizer tokenizer = Tokenizer::tokenizer_json(small(), 7);
  EXPECT_EQ(tokenizer.kind(), "tokenizer_json");
  EXPECT_EQ(tokenizer.size(), 8);
  EXPECT_EQ(tokenizer.marks(), (Tokenizer::Marks{std::nullopt, 7}));
  const Json config = Json::parse(tokenizer.config().dump());
  EXPECT_EQ(Tokenizer::from_config(config), tokenizer);
  EXPECT_FALSE(Tokenizer::tokenizer_json(small()) == tokenizer);
  const Tensor encoded = tokenizer.encode("ab a");
  const auto ids = encoded.values<std::int32_t>();
  EXPECT_EQ(std::vector<std::int32_t>(ids.begin(), ids.end()),
            (std::vector<std::int32_t>{3, 2, 0}));
  EXPECT_EQ(tokenizer.text(ids), "ab a");
  expect_refused(ErrorCode::kFormat, [] { Tokenizer::tokenizer_json(small(), 8); });
}

// One word of a million characters: all pairs looked at again for each merge would take hours.
TEST(TextPipeline, LongWordsAreMergedInTime) {
  const TextPipeline pipeline(file_of({{"type", "BPE"},
                                       {"vocab", words({"x", "xx", "xxxx", "xxxxxxxx"})},
                                       {"merges", Json::array({"x x", "xx xx", "xxxx xxxx"})}}));
  EXPECT_EQ(pipeline.encode(std::string(1'000'000, 'x'), {}).ids.size(), 125'000u);
}

TEST(TextPipeline, RefusesTextsThatItCannotEncode) {
  const TextPipeline pipeline(small());
  expect_refused(ErrorCode::kFormat, [&] { pipeline.encode("a\xff", {}); });
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { pipeline.decode(std::vector<std::int32_t>{8}); });
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { pipeline.text(std::vector<std::int32_t>{-1}); });
  const TextPipeline level(file_of({{"type", "WordLevel"}, {"vocab", words({"a"})}}));
  expect_refused(ErrorCode::kNotFound, [&] { level.encode("b", {}); });
  const TextPipeline unigram(
      file_of({{"type", "Unigram"}, {"vocab", Json::array({Json::array({"a", -1.0})})}}));
  expect_refused(ErrorCode::kNotFound, [&] { unigram.encode("b", {}); });
  const TextPipeline pairs(file_of(
      {{"type", "BPE"}, {"unk_token", "?"}, {"vocab", words({"a"})}, {"merges", Json::array()}}));
  expect_refused(ErrorCode::kNotFound, [&] { pairs.encode("b", {}); });
}

// A pattern that takes time beyond all bounds is stopped.
TEST(TextPipeline, APatternHasABudget) {
  Json file = small();
  file["pre_tokenizer"] = {{"type", "Split"},
                           {"pattern", {{"Regex", "(?:a|a)+(?:a|a)+(?:a|a)+b"}}},
                           {"behavior", "Isolated"}};
  const TextPipeline pipeline(file);
  expect_refused(ErrorCode::kUnsupported, [&] { pipeline.encode(std::string(500, 'a'), {}); });
}

TEST(TextPipeline, RefusesPatternsByName) {
  for (const char* pattern : {"(?<=a)b",
                              "(?>a)",
                              "(a",
                              "a)",
                              "[a",
                              "a{2",
                              "a{3,2}",
                              "a{2000}",
                              "*a",
                              "a**",
                              "a{2}+",
                              "(a|)*",
                              "(?:a)++",
                              "\\p{Han}",
                              "\\p{L",
                              "\\q",
                              "\\x{110000}",
                              "\\uD",
                              "[z-a]",
                              "[a&&b]",
                              "[[:alpha:]]",
                              "\\b",
                              "a(?i)b",
                              "\xff",
                              "(((((((((((((((((((((((((((((((((((a"}) {
    Json file = small();
    file["pre_tokenizer"] = {
        {"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}};
    expect_refused(ErrorCode::kUnsupported, [&] { TextPipeline pipeline(file); });
  }
}

TEST(TextPipeline, RefusesFilesByName) {
  constexpr ErrorCode kUnsupported = ErrorCode::kUnsupported, kFormat = ErrorCode::kFormat;
  const auto refused = [](ErrorCode code, const char* key, const Json& value) {
    Json file = small();
    file[key] = value;
    expect_refused(code, [&] { TextPipeline pipeline(file); });
  };
  refused(kUnsupported, "normalizer", {{"type", "Other"}});
  refused(kUnsupported, "pre_tokenizer", {{"type", "UnicodeScripts"}});
  refused(kUnsupported, "decoder", {{"type", "CTC"}});
  refused(kUnsupported, "post_processor", {{"type", "Other"}});
  refused(kUnsupported, "model", {{"type", "Other"}});
  refused(kFormat, "normalizer", "NFC");
  refused(kFormat, "normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "////"}});
  refused(kFormat, "normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "?"}});
  refused(kFormat, "pre_tokenizer",
          {{"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "Other"}});
  refused(kFormat, "pre_tokenizer", {{"type", "Metaspace"}, {"prepend_scheme", "other"}});
  refused(kFormat, "added_tokens", Json::array({Json{{"id", -1}, {"content", "x"}}}));
  const auto bpe = [](const Json& vocabulary, const Json& merges) {
    return Json{{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}};
  };
  refused(kFormat, "model", bpe(words({"a"}), Json::array({"a a"})));
  refused(kFormat, "model", bpe(words({"a", "aa"}), Json::array({"aa"})));
  refused(kFormat, "model", bpe(Json{{"a", -1}}, Json::array()));
  refused(kFormat, "model", bpe(Json::array(), Json::array()));
  refused(kFormat, "model", bpe(Json{{"a", 1 << 20}}, Json::array()));
  refused(kUnsupported, "model",
          {{"type", "BPE"}, {"dropout", 0.1}, {"vocab", words({"a"})}, {"merges", Json::array()}});
  refused(kFormat, "model", {{"type", "WordPiece"}, {"vocab", words({"a"})}});
  refused(kFormat, "model", {{"type", "Unigram"}, {"vocab", Json::array({"a"})}});
  refused(kFormat, "model",
          {{"type", "Unigram"}, {"unk_id", 1}, {"vocab", Json::array({Json::array({"a", 0})})}});
  refused(
      kFormat, "post_processor",
      {{"type", "BertProcessing"}, {"cls", Json::array({"c", 9})}, {"sep", Json::array({"s", 0})}});
}

}  // namespace
}  // namespace limpid
