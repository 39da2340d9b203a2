#include "limpid/data/text/byte_pair.h"

#include <fmt/format.h>

#include "limpid/data/text/pre_tokenizer.h"
#include "limpid/data/text/tokenizer_files.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"
#include "tests/source_folder.h"

namespace limpid {
namespace {

namespace fs = std::filesystem;
using testing::bytes_of;
using Ids = std::vector<std::int32_t>;

const fs::path kFixtures = testing::source_folder() / "tests/data/byte_pair";

Tokenizer loaded(const fs::path& folder) {
  const std::optional<Tokenizer> tokenizer = load_tokenizer(folder);
  if (!tokenizer) throw std::runtime_error("no tokenizer");
  return *tokenizer;
}

Ids ids_of(const Tensor& tokens) {
  const auto values = tokens.values<std::int32_t>();
  return {values.begin(), values.end()};
}

Ids ids_of(const Json& list) {
  Ids ids;
  for (const Json& id : list.elements()) ids.push_back(static_cast<std::int32_t>(id.as_integer()));
  return ids;
}

// A text whose characters are its bytes.
std::string from_latin1(std::string_view utf8) {
  std::string bytes;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto first = static_cast<unsigned char>(utf8[i]);
    bytes.push_back(first < 0x80 ? utf8[i]
                                 : static_cast<char>((first & 3) << 6 | (utf8[++i] & 0x3f)));
  }
  return bytes;
}

// All byte tokens and these: a's and b's that merge into longer ones.
BytePairRules rules_with(const std::vector<std::string>& more,
                         const std::vector<std::pair<std::string, std::string>>& merges) {
  BytePairRules rules;
  for (int byte = 0; byte < 256; ++byte) rules.tokens.emplace_back(1, static_cast<char>(byte));
  rules.tokens.insert(rules.tokens.end(), more.begin(), more.end());
  const auto number = [&](const std::string& token) {
    return static_cast<std::int32_t>(std::find(rules.tokens.begin(), rules.tokens.end(), token) -
                                     rules.tokens.begin());
  };
  for (const auto& [left, right] : merges) rules.merges.emplace_back(number(left), number(right));
  return rules;
}

TEST(PreTokenizer, AreThoseOfTheirPatterns) {
  const auto words = [](std::string_view text, PreTokenizer pattern) {
    std::vector<std::string> all;
    while (!text.empty()) {
      all.emplace_back(text.substr(0, first_word(text, pattern)));
      text.remove_prefix(all.back().size());
    }
    return all;
  };
  using All = std::vector<std::string>;
  constexpr std::string_view kText = "I've 12345 dogs!!  ok\n";
  EXPECT_EQ(words(kText, PreTokenizer::kGpt2),
            (All{"I", "'ve", " 12345", " dogs", "!!", " ", " ok", "\n"}));
  EXPECT_EQ(words(kText, PreTokenizer::kLlama3),
            (All{"I", "'ve", " ", "123", "45", " dogs", "!!", " ", " ok", "\n"}));
  for (const std::string end : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    for (const PreTokenizer pattern : {PreTokenizer::kGpt2, PreTokenizer::kLlama3})
      EXPECT_EQ(words("I" + end + "x", pattern), (All{"I", end, "x"}));
  // What lies behind a text is not of it.
  EXPECT_EQ(words(std::string_view("'re").substr(0, 2), PreTokenizer::kGpt2), (All{"'", "r"}));
  // The long s is an s where case is ignored.
  EXPECT_EQ(words("I'\u017fo", PreTokenizer::kGpt2), (All{"I", "'", "\u017fo"}));
  EXPECT_EQ(words("I'\u017fo", PreTokenizer::kLlama3), (All{"I", "'\u017f", "o"}));
  // A carriage return ends a line, too.
  EXPECT_EQ(words("!\r\nx\rab", PreTokenizer::kLlama3), (All{"!\r\n", "x", "\r", "ab"}));
  // White space of more than one byte belongs to the line end after it.
  EXPECT_EQ(words("\u00a0\nx", PreTokenizer::kLlama3), (All{"\u00a0\n", "x"}));
}

TEST(BytePair, EncodesAsAnotherProgramDid) {
  const Tokenizer gpt2 = loaded(kFixtures);
  const Tokenizer llama3 = loaded(kFixtures / "llama3");
  EXPECT_EQ(gpt2.kind(), "byte_pair");
  EXPECT_EQ(gpt2.size(), 256 + 250 + 1 + 1);
  EXPECT_EQ(llama3.size(), 256 + 250 + 1 + 2);
  const Json cases = Json::parse(testing::read(kFixtures / "cases.json"));
  EXPECT_GE(cases.size(), 30u);
  std::size_t different = 0;
  for (const Json& c : cases.elements()) {
    const std::string text = from_latin1(c.at("text").as_string());
    EXPECT_EQ(ids_of(gpt2.encode(text)), ids_of(c.at("gpt2"))) << text;
    EXPECT_EQ(ids_of(llama3.encode(text)), ids_of(c.at("llama3"))) << text;
    EXPECT_EQ(gpt2.decode(ids_of(c.at("gpt2"))), text);
    EXPECT_EQ(llama3.decode(ids_of(c.at("llama3"))), text);
    different += c.at("gpt2") != c.at("llama3");
  }
  EXPECT_GE(different, 5u);
}

TEST(BytePair, HasTheMarksOfItsFiles) {
  EXPECT_EQ(loaded(kFixtures).marks(), (Tokenizer::Marks{std::nullopt, 507}));
  EXPECT_EQ(loaded(kFixtures / "llama3").marks(), (Tokenizer::Marks{507, std::nullopt}));
  const std::int32_t end = 507;
  EXPECT_EQ(loaded(kFixtures).decode({&end, 1}), "<|endoftext|>");
}

TEST(BytePair, ComesBackFromItsConfig) {
  for (const fs::path& folder : {kFixtures, kFixtures / "llama3"}) {
    const Tokenizer tokenizer = loaded(folder);
    const Tokenizer back = Tokenizer::from_config(tokenizer.config());
    EXPECT_EQ(back, tokenizer);
    EXPECT_EQ(back.encode("it is wholly so").elements(),
              tokenizer.encode("it is wholly so").elements());
  }
  EXPECT_FALSE(loaded(kFixtures) == loaded(kFixtures / "llama3"));
}

// Their texts are not written in the alphabet of the others.
TEST(BytePair, SpecialTokensOfAnyTextComeBackFromAConfig) {
  BytePairRules rules = rules_with({"<a b>", "\u00e9\n"}, {});
  rules.special = {256, 257};
  const Tokenizer tokenizer = Tokenizer::byte_pair(rules, {});
  EXPECT_EQ(Tokenizer::from_config(tokenizer.config()), tokenizer);
}

TEST(BytePair, MergesTheFirstLearntAndTheLeftmost) {
  const BytePair pairs(
      rules_with({"aa", "ab", "aaa", "bb"}, {{"a", "b"}, {"a", "a"}, {"aa", "a"}, {"b", "b"}}));
  EXPECT_EQ(pairs.encode("aab"), (Ids{97, 257}));
  EXPECT_EQ(pairs.encode("aaa"), (Ids{258}));
  EXPECT_EQ(pairs.encode("aaaa"), (Ids{256, 256}));
  EXPECT_EQ(pairs.encode("aaaaa"), (Ids{256, 258}));
  EXPECT_EQ(pairs.encode("abbb"), (Ids{257, 259}));
  EXPECT_EQ(pairs.encode("bbb ab bbb"), (Ids{259, 98, 32, 257, 32, 259, 98}));
}

// Neither one endless word nor a million words takes long.
TEST(BytePair, TakesLongTexts) {
  const BytePair pairs(rules_with({"aa", "aaaa"}, {{"a", "a"}, {"aa", "aa"}}));
  const std::string word(1'000'001, 'a');
  Ids expected(250'000, 257);
  expected.push_back(97);
  EXPECT_EQ(pairs.encode(word), expected);
  std::string blanks(1'000'000, ' ');
  EXPECT_EQ(pairs.encode(blanks).size(), blanks.size());
}

TEST(BytePair, AWholeWordGoesBeforeMergesWhereTheRulesSaySo) {
  BytePairRules rules = rules_with({"ab", "abc"}, {{"a", "b"}});
  EXPECT_EQ(BytePair(rules).encode("abc"), (Ids{256, 99}));
  rules.whole_words = true;
  EXPECT_EQ(BytePair(rules).encode("abc"), (Ids{257}));
  EXPECT_EQ(BytePair(rules).encode("abcd"), (Ids{256, 99, 100}));
  rules.special = {257};
  EXPECT_EQ(BytePair(rules).encode("abc"), (Ids{256, 99}));
}

TEST(BytePair, RefusesRulesThatContradictThemselves) {
  const auto refused = [](BytePairRules rules) {
    expect_refused(ErrorCode::kFormat, [&] { BytePair pairs(rules); });
  };
  BytePairRules rules = rules_with({}, {});
  rules.tokens[7] = "seven";
  refused(rules);
  refused(rules_with({"a"}, {}));
  refused(rules_with({""}, {}));
  refused(rules_with({"ab"}, {{"a", "b"}, {"a", "b"}}));
  refused(rules_with({}, {{"a", "b"}}));
  rules = rules_with({"ab"}, {});
  rules.merges.emplace_back(97, 257);
  refused(rules);
  rules = rules_with({}, {});
  rules.special = {256};
  refused(rules);
  rules = rules_with({}, {});
  rules.tokens.resize(kMaxTokens + 1, "x");
  expect_refused(ErrorCode::kUnsupported, [&] { BytePair pairs(rules); });
  rules = rules_with({}, {});
  rules.merges.resize(kMaxMerges + 1);
  expect_refused(ErrorCode::kUnsupported, [&] { BytePair pairs(rules); });
  const BytePair pairs(rules_with({}, {}));
  for (const std::int32_t token : {-1, 256})
    expect_refused(ErrorCode::kInvalidArgument, [&] { pairs.decode({&token, 1}); });
}

// ---- files

// A copy of the fixtures' folder in which one text is another.
class Changed {
 public:
  explicit Changed(const fs::path& fixtures) {
    for (const auto& entry : fs::directory_iterator(fixtures))
      if (entry.is_regular_file()) fs::copy(entry.path(), folder_.path());
  }
  void replace(std::string_view name, std::string_view what, std::string_view by) {
    std::string text = testing::read(folder_ / name);
    const std::size_t place = text.find(what);
    ASSERT_NE(place, std::string::npos) << what;
    testing::write(folder_ / name, bytes_of(text.replace(place, what.size(), by)));
  }
  void refused(ErrorCode code = ErrorCode::kFormat) const {
    expect_refused(code, [&] { load_tokenizer(folder_.path()); });
  }
  const testing::TemporaryFolder& folder() const { return folder_; }

 private:
  testing::TemporaryFolder folder_;
};

TEST(TokenizerFiles, AreThereOrNot) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(load_tokenizer(folder.path()), std::nullopt);
  testing::write(folder / "vocab.json", bytes_of("{}"));
  EXPECT_EQ(load_tokenizer(folder.path()), std::nullopt);
}

TEST(TokenizerFiles, OfGpt2AreRefusedWhereTheyAreBroken) {
  using Text = std::string_view;
  for (const auto& [name, what, by] :
       std::vector<std::tuple<Text, Text, Text>>{{"vocab.json", "{", "["},
                                                 {"vocab.json", R"("!":0)", R"("!":1)"},
                                                 {"vocab.json", R"("!":0)", R"("!":508)"},
                                                 {"vocab.json", R"("!":0)", R"("!":4294967296)"},
                                                 {"vocab.json", R"("!":0)", R"("!":0.5)"},
                                                 {"vocab.json", R"("!":0)", R"("!":null)"},
                                                 {"vocab.json", R"("!":0)", R"("\"":0)"},
                                                 {"vocab.json", R"("!":0)", R"("! !":0)"},
                                                 {"vocab.json", R"("!":0)", R"("!!":0)"},
                                                 {"merges.txt", "h e\n", "he\n"},
                                                 {"merges.txt", "h e\n", "h  e\n"},
                                                 {"merges.txt", "h e\n", "h e\nh e\n"},
                                                 {"merges.txt", "h e\n", "h z\n"},
                                                 {"merges.txt", "h e\n", "# h\nh e\n"},
                                                 {"merges.txt", "h e\n", "h \xff\n"},
                                                 {"config.json", "507", "508"},
                                                 {"config.json", "507", "\"x\""}}) {
    Changed files(kFixtures);
    files.replace(name, what, by);
    files.refused();
  }
}

TEST(TokenizerFiles, OfGpt2MayBeginWithAMerge) {
  Changed files(kFixtures);
  files.replace("merges.txt", "#version: 0.2\n", "");
  EXPECT_EQ(loaded(files.folder().path()), loaded(kFixtures));
  files.replace("merges.txt", "\n", "\n\n");
  EXPECT_EQ(loaded(files.folder().path()), loaded(kFixtures));
}

// Every token of a list ends a text, that of generation_config.json too.
TEST(TokenizerFiles, SeveralTokensMayEndAText) {
  Changed files(kFixtures);
  files.replace("config.json", "507", "[506,507]");
  testing::write(files.folder() / "generation_config.json",
                 bytes_of(R"({"eos_token_id": [507, 3]})"));
  const Tokenizer tokenizer = loaded(files.folder().path());
  EXPECT_EQ(tokenizer.marks(), (Tokenizer::Marks{std::nullopt, 506, {507, 3}}));
  for (const std::int32_t token : {3, 506, 507}) EXPECT_TRUE(tokenizer.ends_text(token));
  EXPECT_FALSE(tokenizer.ends_text(4));
  EXPECT_EQ(Tokenizer::from_config(tokenizer.config()), tokenizer);
}

// Of several tokens the first is EOS.
TEST(TokenizerFiles, TheConfigNamesTheEnd) {
  const auto end = [](std::string_view instead) {
    Changed files(kFixtures);
    files.replace("config.json", "507", instead);
    return loaded(files.folder().path()).marks().end;
  };
  EXPECT_EQ(end("[506,507]"), 506);
  EXPECT_EQ(end("null"), std::nullopt);
}

// Texts of special tokens are no bytes in the alphabet of the others, wherever their numbers are.
TEST(TokenizerFiles, SpecialTokensMayHaveAnyNumber) {
  Changed files(kFixtures / "llama3");
  files.replace("tokenizer.json", R"("!":0)", R"("!":507)");
  files.replace("tokenizer.json", R"("id":507)", R"("id":0)");
  files.replace("tokenizer.json", R"("ids":[507])", R"("ids":[0])");
  const Tokenizer tokenizer = loaded(files.folder().path());
  EXPECT_EQ(tokenizer.marks(), (Tokenizer::Marks{0, std::nullopt}));
  for (std::int32_t id : ids_of(tokenizer.encode("it is! "))) EXPECT_GT(id, 0);
  EXPECT_EQ(tokenizer.decode(ids_of(tokenizer.encode("it is! "))), "it is! ");
}

TEST(TokenizerFiles, OfOtherKindsAreRefusedByName) {
  constexpr ErrorCode kUnsupported = ErrorCode::kUnsupported, kFormat = ErrorCode::kFormat;
  using Text = std::string_view;
  for (const auto& [what, by, code] : std::vector<std::tuple<Text, Text, ErrorCode>>{
           {R"("BPE")", R"("Other")", kUnsupported},
           {R"("BPE")", R"("Unigram")", kFormat},
           {R"("normalizer":null)", R"("normalizer":{"type":"Other"})", kUnsupported},
           {"{1,3}", "(?<=a)", kUnsupported},
           {R"("use_regex":false}])", R"("use_regex":false},{"type":"Other"}])", kUnsupported},
           {R"("id":508)", R"("id":507)", kFormat},
           {R"("id":508)", R"("id":0)", kFormat},
           {R"("ids":[507])", R"("ids":[-1])", kFormat},
           {R"(["h","e"])", R"("h e r")", kFormat},
           {R"(["h","e"])", R"(["h"])", kFormat},
           {R"(["h","e"])", R"(["h","e","r"])", kFormat}}) {
    Changed files(kFixtures / "llama3");
    files.replace("tokenizer.json", what, by);
    files.refused(code);
  }
}

// Of tokenizers like that of Llama 3, those with another step are pipelines.
TEST(TokenizerFiles, OfOtherKindsArePipelines) {
  using Text = std::string_view;
  for (const auto& [what, by] : std::vector<std::pair<Text, Text>>{
           {R"("byte_fallback":false)", R"("byte_fallback":true)"},
           {R"("dropout":null)", R"("end_of_word_suffix":"</w>")"},
           {R"("normalizer":null)", R"("normalizer":{"type":"NFC"})"},
           {"{1,3}", "{1,4}"},
           {R"("behavior":"Isolated")", R"("behavior":"Removed")"},
           {R"("invert":false)", R"("invert":true)"},
           {R"("ByteLevel","add_prefix_space":false)", R"("ByteLevel")"},
           {R"("use_regex":false)", R"("use_regex":true)"},
           {R"("use_regex":false}])", R"("use_regex":false},{"type":"Digits"}])"},
           {R"("id":508)", R"("id":509)"}}) {
    Changed files(kFixtures / "llama3");
    files.replace("tokenizer.json", what, by);
    EXPECT_EQ(loaded(files.folder().path()).kind(), "tokenizer_json") << by;
  }
}

TEST(TokenizerFiles, MaySayTheSameInOtherWays) {
  const auto same = [](std::string_view what, std::string_view by) {
    Changed files(kFixtures / "llama3");
    files.replace("tokenizer.json", what, by);
    EXPECT_EQ(loaded(files.folder().path()), loaded(kFixtures / "llama3")) << by;
  };
  same(R"("dropout":null)", R"("continuing_subword_prefix":"","end_of_word_suffix":"")");
  same(R"("!":0)", R"("<|begin_of_text|>":507,"!":0)");  // an added token, here too
}

// Each of the 280,147 merges of Llama 3 is three values; a vocabulary has a member for each token.
TEST(TokenizerFiles, MayHaveAMillionValues) {
  Changed files(kFixtures / "llama3");
  std::string zeros, vocabulary = R"("0":0)";
  for (int i = 0; i < 1'100'000; ++i) zeros += ",0";
  for (std::size_t i = 1; i < kMaxTokens; ++i) vocabulary += ",\"" + std::to_string(i) + "\":0";
  files.replace("tokenizer.json", "{",
                R"({"more":[0)" + zeros + R"(],"most":{)" + vocabulary + "},");
  EXPECT_EQ(loaded(files.folder().path()), loaded(kFixtures / "llama3"));
}

// A template may stand alone, and begin with the text.
TEST(TokenizerFiles, ATextBeginsAsItsTemplateDoes) {
  const auto begin = [](std::string_view single) {
    Changed files(kFixtures / "llama3");
    Json json = Json::parse(testing::read(files.folder() / "tokenizer.json"));
    json["post_processor"] = {{"type", "TemplateProcessing"},
                              {"single", Json::parse(single)},
                              {"special_tokens", Json::parse(R"({"<": {"ids": [7]}})")}};
    testing::write(files.folder() / "tokenizer.json", bytes_of(json.dump()));
    return loaded(files.folder().path()).marks().begin;
  };
  EXPECT_EQ(begin(R"([{"SpecialToken": {"id": "<"}}, {"Sequence": {"id": "A"}}])"), 7);
  EXPECT_EQ(begin(R"([{"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "<"}}])"), std::nullopt);
  EXPECT_EQ(begin("[]"), std::nullopt);
}

// One that says more than vocab.json and merges.txt goes before them.
TEST(TokenizerFiles, AreReadFromTokenizerJsonFirst) {
  const Changed files(kFixtures / "llama3");
  for (const char* name : {"vocab.json", "merges.txt"})
    fs::copy(kFixtures / name, files.folder().path());
  EXPECT_EQ(loaded(files.folder().path()), loaded(kFixtures / "llama3"));
}

TEST(TokenizerFiles, BeyondTheLimitAreNamedOnce) {
  const testing::TemporaryFolder folder;
  const fs::path path = folder / "tokenizer.json";
  testing::write(path, {});
  fs::resize_file(path, (std::uintmax_t{96} << 20) + 1);  // sparse
  EXPECT_EQ(testing::error_of(ErrorCode::kUnsupported, [&] { load_tokenizer(folder.path()); }),
            "read '" + path.string() + "': has 100663297 bytes, the limit is 100663296");
}

TEST(TokenizerFiles, OfGpt2AreWritten) {
  const testing::TemporaryFolder folder;
  const Tokenizer tokenizer = loaded(kFixtures);
  save_tokenizer(folder.path(), tokenizer);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"merges.txt", "vocab.json"}));
  EXPECT_EQ(*loaded(folder.path()).byte_pair_rules(), *tokenizer.byte_pair_rules());
  EXPECT_EQ(testing::read(folder / "merges.txt"), testing::read(kFixtures / "merges.txt"));
  const testing::TemporaryFolder empty;
  save_tokenizer(empty.path(), loaded(kFixtures / "llama3"));
  save_tokenizer(empty.path(), Tokenizer::bytes());
  EXPECT_EQ(empty.names(), std::vector<std::string>{});
}

// vocab.json and merges.txt have no place for these.
TEST(TokenizerFiles, AreNotWrittenWhereTheyWouldLoseSomething) {
  const auto fits = [](const auto& change, Tokenizer::Marks marks) {
    BytePairRules rules = rules_with({"aa", "end"}, {{"a", "a"}});
    change(rules);
    return fits_tokenizer_files(Tokenizer::byte_pair(std::move(rules), marks));
  };
  const auto as_it_is = [](BytePairRules&) {};
  EXPECT_TRUE(fits(as_it_is, {}));
  EXPECT_TRUE(fits(as_it_is, {{}, 257}));
  EXPECT_FALSE(fits(as_it_is, {257, 257}));
  EXPECT_FALSE(fits([](BytePairRules& rules) { rules.whole_words = true; }, {}));
  EXPECT_FALSE(fits([](BytePairRules& rules) { rules.special = {257}; }, {}));
  EXPECT_FALSE(fits([](BytePairRules& rules) { rules.pre_tokenizer = PreTokenizer::kLlama3; }, {}));
}

TEST(TokenizerFiles, OfGpt2MayBeOneFile) {
  Changed files(kFixtures / "llama3");
  const std::string text = testing::read(files.folder() / "tokenizer.json");
  Json json = Json::parse(text);
  json["pre_tokenizer"] = Json{{"type", "ByteLevel"}, {"add_prefix_space", false}};
  json["model"]["ignore_merges"] = false;
  json["post_processor"] = nullptr;
  std::vector<std::string> merges;
  for (const Json& merge : json["model"]["merges"].elements())
    merges.push_back(merge.at(0).as_string() + " " + merge.at(1).as_string());
  json["model"]["merges"] = merges;
  testing::write(files.folder() / "tokenizer.json", bytes_of(json.dump()));
  const Tokenizer tokenizer = loaded(files.folder().path());
  const std::string sample = "the  fox\n\n 12345 it's";
  EXPECT_EQ(ids_of(tokenizer.encode(sample)), ids_of(loaded(kFixtures).encode(sample)));
  EXPECT_EQ(tokenizer.marks(), Tokenizer::Marks{});
}

TEST(TokenizerFiles, MergesAreIgnoredWhereTheFileSaysSoAlone) {
  const auto with = [](std::string_view instead) {
    Changed files(kFixtures / "llama3");
    files.replace("tokenizer.json", R"("ignore_merges":true,)", instead);
    return loaded(files.folder().path());
  };
  EXPECT_TRUE(with("") == with(R"("ignore_merges":false,)"));
  EXPECT_FALSE(with("") == loaded(kFixtures / "llama3"));
}

// Texts begin and end with the marks, so that others are other tokenizers.
TEST(BytePair, NumbersBelowZeroAreOfNoToken) {
  BytePairRules rules = rules_with({"aa"}, {{"a", "a"}});
  for (const Tokenizer::Marks& marks : {Tokenizer::Marks{-1, {}}, {{}, -1}, {257, {}}})
    expect_refused(ErrorCode::kFormat, [&] { Tokenizer::byte_pair(rules, marks); });
  rules.special = {-1, 3};
  expect_refused(ErrorCode::kFormat, [&] { BytePair{rules}; });
  rules.special = {257};
  expect_refused(ErrorCode::kFormat, [&] { BytePair{rules}; });
  rules.special.clear();
  for (const std::pair<std::int32_t, std::int32_t>& merge :
       {std::pair{-1, 97}, {97, -1}, {257, 97}, {97, 257}}) {
    rules.merges = {merge};
    expect_refused(ErrorCode::kFormat, [&] { BytePair{rules}; });
  }
  Json config = Tokenizer::byte_pair(rules_with({}, {}), {}).config();
  config["words"] = "gpt5";
  expect_refused(ErrorCode::kFormat, [&] { Tokenizer::from_config(JsonView(config)); });
}

TEST(BytePair, TokenizersAreEqualByTheirMarksToo) {
  const auto with = [](Tokenizer::Marks marks) {
    return Tokenizer::byte_pair(rules_with({"aa"}, {{"a", "a"}}), marks);
  };
  const Tokenizer both = with({1, 2});
  EXPECT_EQ(both, with({1, 2}));
  EXPECT_EQ(both, Tokenizer::from_config(both.config()));
  for (const Tokenizer::Marks& marks : {Tokenizer::Marks{}, {1, {}}, {{}, 2}, {2, 1}, {1, 1}})
    EXPECT_FALSE(both == with(marks));
}

}  // namespace
}  // namespace limpid
