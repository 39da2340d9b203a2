#include "limpid/data/text/text_pipeline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "limpid/data/text/tokenizer.h"
#include "limpid/data/text/tokenizer_files.h"
#include "tests/formats/helpers.h"
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

// ---- tokenizer.model

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
std::string number(std::uint64_t field, std::uint64_t value) {
  return varint(field << 3) + varint(value);
}
std::string bytes(std::uint64_t field, const std::string& value) {
  return varint(field << 3 | 2) + varint(value.size()) + value;
}
// A piece of ModelProto.
std::string piece(const std::string& text, float score, std::uint64_t kind = 1) {
  const auto bits = std::bit_cast<std::uint32_t>(score);
  std::string fixed = varint(2 << 3 | 5);
  for (int i = 0; i < 4; ++i) fixed.push_back(static_cast<char>(bits >> (8 * i)));
  return bytes(1, bytes(1, text) + fixed + (kind == 1 ? "" : number(3, kind)));
}
// Trainer and normalizer.
std::string specs(std::uint64_t type, bool falls_back, bool prefixes, bool trims) {
  return bytes(2, number(3, type) + (falls_back ? number(35, 1) : "")) +
         bytes(3, number(3, prefixes ? 1 : 0) + number(4, trims ? 1 : 0));
}

class SentencePieceFile : public ::testing::Test {
 protected:
  Tokenizer tokenizer(const std::string& content, const std::string& config = "") {
    write("tokenizer.model", content);
    if (!config.empty()) write("tokenizer_config.json", config);
    return load_tokenizer(folder_.path()).value();
  }
  void write(const char* name, const std::string& content) {
    testing::write(folder_ / name, std::as_bytes(std::span(content)));
  }
  static std::vector<std::int32_t> ids(const Tokenizer& tokenizer, std::string_view text) {
    return tokenizer.tokens(text, {.special = true, .whole = true}).ids;
  }

  const std::string mark_ = "\xe2\x96\x81";
  const std::string pieces_ = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) +
                              piece("<0xC3>", 0, 6) + piece("<0xA9>", 0, 6);
  testing::TemporaryFolder folder_;
};

// 5: ab, 6: bc, 7: the mark and a, 8: abc, 9 to 12: a, b, c, the mark.
TEST_F(SentencePieceFile, OfByteFallbackMergesByScore) {
  const std::string merged = piece("ab", -1) + piece("bc", -2) + piece(mark_ + "a", -3) +
                             piece("abc", -4) + piece("a", -5) + piece("b", -6) + piece("c", -7) +
                             piece(mark_, -8);
  const Tokenizer begins = tokenizer(pieces_ + merged + specs(2, true, true, false));
  EXPECT_EQ(begins.kind(), "tokenizer_json");
  EXPECT_EQ(begins.marks().begin, 1);
  // The mark and a would be a token, but ab comes first.
  EXPECT_EQ(ids(begins, "abc"), (std::vector<std::int32_t>{1, 12, 8}));
  EXPECT_EQ(ids(begins, "a  bc\xc3\xa9?"), (std::vector<std::int32_t>{1, 7, 12, 12, 6, 3, 4, 0}));
  EXPECT_EQ(begins.text(std::vector<std::int32_t>{1, 7, 12, 12, 6, 3, 4}, true), "a  bc\xc3\xa9");
  EXPECT_EQ(begins.encode("</s>").shape()[0], 2);  // the mark, and what is unknown
  const Tokenizer plain =
      tokenizer(pieces_ + merged + specs(2, true, true, false), R"({"add_bos_token": false})");
  EXPECT_EQ(ids(plain, "abc"), (std::vector<std::int32_t>{12, 8}));
}

TEST_F(SentencePieceFile, OfUnigramTakesTheMostProbable) {
  const std::string probable = piece(mark_ + "a", -2) + piece("b", -3) + piece("ab", -4.5f) +
                               piece(mark_, -1) + piece("a", -9);
  const Tokenizer one = tokenizer(pieces_ + probable + specs(1, false, true, true));
  EXPECT_EQ(one.marks().begin, std::nullopt);
  EXPECT_EQ(ids(one, "  ab   b "), (std::vector<std::int32_t>{5, 6, 8, 6}));
  EXPECT_EQ(one.tokens("</s>", {}).ids, (std::vector<std::int32_t>{8, 0}));
  EXPECT_EQ(ids(one, "</s>"), (std::vector<std::int32_t>{2}));
}

TEST_F(SentencePieceFile, IsRefusedWhereItIsBroken) {
  const auto refused = [&](ErrorCode code, const std::string& content) {
    expect_refused(code, [&] { tokenizer(content); });
  };
  constexpr ErrorCode kUnsupported = ErrorCode::kUnsupported, kFormat = ErrorCode::kFormat;
  const std::string good = pieces_ + piece("a", -1);
  refused(kFormat, "");
  refused(kFormat, good.substr(0, good.size() - 1));
  refused(kFormat, std::string(11, '\xff'));
  refused(kFormat, "\x0b");
  refused(kFormat, piece("a", -1));
  refused(kFormat, good + piece("a", 0, 7));
  refused(kFormat, good + piece("\xff", 0));
  refused(kUnsupported, good + specs(3, false, true, true));
  refused(kUnsupported, good + bytes(2, number(24, 1)));
  refused(kUnsupported, good + bytes(3, number(5, 0)));
  refused(kUnsupported, good + piece("x", 0, 4));
  refused(kFormat, good + bytes(3, bytes(2, "abc")));
}

// A pattern that takes time beyond all bounds is stopped.
// BERT's first form: a list of pieces, one a line.
TEST(WordList, IsReadAsItsTokenizerJson) {
  const std::filesystem::path bert = testing::source_folder() / "tests/huggingface/bert";
  const Json file = Json::parse(testing::read(bert / "tokenizer.json"), kTokenizerJson);
  std::string lines;
  for (const Json::Member& piece : file.at("model").at("vocab").members())
    lines += piece.key + "\n";
  const testing::TemporaryFolder folder;
  const auto write = [&](const char* name, const std::string& content) {
    testing::write(folder / name, std::as_bytes(std::span(content)));
  };
  const auto ids = [](const Tokenizer& tokenizer, std::string_view text) {
    return tokenizer.tokens(text, {.special = true, .whole = true}).ids;
  };
  write("vocab.txt", lines);
  const Tokenizer whole = *load_tokenizer(bert), listed = *load_tokenizer(folder.path());
  EXPECT_EQ(listed.kind(), "tokenizer_json");
  EXPECT_EQ(listed.size(), whole.size());
  for (const char* text :
       {"The cats sits.", "", "[MASK] runs!", "D\xc3\xb3g \xe4\xb8\xad, ab", "xyz"}) {
    EXPECT_EQ(ids(listed, text), ids(whole, text)) << text;
    EXPECT_EQ(listed.text(ids(listed, text)), whole.text(ids(whole, text))) << text;
  }
  write("tokenizer_config.json", R"({"do_lower_case": false, "unk_token": {"content": "!"}})");
  const Tokenizer cased = *load_tokenizer(folder.path());
  EXPECT_EQ(ids(cased, "The cat"), (std::vector<std::int32_t>{2, 20, 6, 3}));
  for (const char* config :
       {R"({"cls_token": "[NONE]"})", R"({"unk_token": 3})", "[", R"({"do_lower_case": 1})"}) {
    write("tokenizer_config.json", config);
    expect_refused(ErrorCode::kFormat, [&] { load_tokenizer(folder.path()); });
  }
  std::filesystem::remove(folder / "tokenizer_config.json");
  for (const std::string& broken :
       {lines + "cat\n", std::string("[UNK]\n[CLS]\n"), std::string(), lines + "\xff\n"}) {
    write("vocab.txt", broken);
    expect_refused(ErrorCode::kFormat, [&] { load_tokenizer(folder.path()); });
  }
}

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
