// Chats as tokens: special tokens in texts.
#include "limpid/data/chat/chat.h"

#include <string>
#include <vector>

#include "limpid/data/text/byte_pair.h"
#include "limpid/models/pretrained.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

// A token for each byte, then the special ones.
BytePairRules rules_with(const std::vector<std::string>& special) {
  BytePairRules rules;
  for (int byte = 0; byte < 256; ++byte) rules.tokens.emplace_back(1, static_cast<char>(byte));
  for (const std::string& text : special) {
    rules.special.push_back(static_cast<std::int32_t>(rules.tokens.size()));
    rules.tokens.push_back(text);
  }
  return rules;
}

std::vector<std::int32_t> prompt_of(const BytePairRules& rules, const std::string& text) {
  const Json config = {{"chat",
                        {{"template", "{{ messages[0]['content'] }}"},
                         {"marks", Json::object()},
                         {"ends", Json::array()},
                         {"unsupported", ""}}}};
  const Model model{Function(), {}, config.dump()};
  Json messages = Json::array();
  messages.push_back({{"content", text}});
  return Chat::of(model)->prompt(Tokenizer::byte_pair(rules), messages);
}

// The longest special token at each place, by trying all of them.
std::vector<std::int32_t> expected(const BytePairRules& rules, const std::string& text) {
  std::vector<std::int32_t> tokens;
  for (std::size_t at = 0; at < text.size();) {
    std::int32_t longest = -1;
    std::size_t length = 0;
    for (const std::int32_t number : rules.special) {
      const std::string& token = rules.tokens[static_cast<std::size_t>(number)];
      if (text.compare(at, token.size(), token) != 0 || token.size() <= length) continue;
      longest = number;
      length = token.size();
    }
    tokens.push_back(longest >= 0 ? longest : static_cast<unsigned char>(text[at]));
    at += longest >= 0 ? length : 1;
  }
  return tokens;
}

TEST(Chat, TakesTheLongestSpecialToken) {
  const BytePairRules rules =
      rules_with({"<", "<ab", "<a", "<abcd", "<b", "<abx", "ab", "\xff", "<abcde", "zz"});
  EXPECT_EQ(prompt_of(rules, "<abce"), (std::vector<std::int32_t>{257, 'c', 'e'}));
  EXPECT_EQ(prompt_of(rules, "<c<b<"), (std::vector<std::int32_t>{256, 'c', 260, 256}));
  std::uint32_t random = 1;
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 12; ++i) {
      random = random * 1664525 + 1013904223;
      text += "<abcdexz\xff"[(random >> 24) % 9];
    }
    ASSERT_EQ(prompt_of(rules, text), expected(rules, text)) << text;
  }
}

// Llama 3 has 256 special tokens that begin alike: a search through all of them at each place of
// this text would take minutes, and the test's limit of time would end it.
TEST(Chat, ManySpecialTokensThatBeginAlike) {
  std::vector<std::string> special;
  for (int i = 0; i < 20'000; ++i) special.push_back("<|" + std::to_string(i) + "|>");
  const BytePairRules rules = rules_with(special);
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += "<|";
  text += "<|19999|>";
  const std::vector<std::int32_t> tokens = prompt_of(rules, text);
  EXPECT_EQ(tokens.size(), 600'001u);
  EXPECT_EQ(tokens.back(), 256 + 19'999);
}

// Of a text of bytes.
std::string text_of(const std::vector<std::int32_t>& tokens) {
  std::string text;
  for (const std::int32_t token : tokens) text.push_back(static_cast<char>(token));
  return text;
}

// Templates ask whether there are any, and whether they are to end with the answer's beginning.
TEST(Chat, DefinesToolsAndDocumentsThatAreNotThere) {
  const Json config = {
      {"chat",
       {{"template", "{{ tools is none }} {{ documents is none }} {{ add_generation_prompt }}"},
        {"marks", Json::object()},
        {"ends", Json::array()},
        {"unsupported", ""}}}};
  const Model model{Function(), {}, config.dump()};
  EXPECT_EQ(text_of(Chat::of(model)->prompt(Tokenizer::byte_pair(rules_with({})), Json::array())),
            "True True True");
}

TEST(Chat, WhoseMarksAreNoTextsOrWhoseEndsAreNoTokensIsRefused) {
  const Json none = Json::object();
  for (const auto& [marks, ends] : std::vector<std::pair<Json, Json>>{
           {{{"bos_token", 1}}, Json::array()},  // a template would write it into its texts
           {Json::array(), Json::array()},
           {none, Json::array({7, -1})},
           {none, Json::array({7, kMaxPipelineTokens})}}) {
    const Json config = {
        {"chat", {{"template", ""}, {"marks", marks}, {"ends", ends}, {"unsupported", ""}}}};
    expect_refused(ErrorCode::kFormat, [&] { Chat::of({Function(), {}, config.dump()}); });
  }
}

// A template may name each of them.
TEST(Chat, HasAllMarksOfItsFolder) {
  const testing::TemporaryFolder folder;
  Json config, marks;
  for (const std::string name : {"bos", "eos", "unk", "sep", "pad", "cls", "mask"})
    marks[name + "_token"] = config[name + "_token"] = "<" + name + ">";
  config["chat_template"] = "";
  config["other_token"] = "<other>";
  testing::write(folder / "tokenizer_config.json", testing::bytes_of(config.dump()));
  EXPECT_EQ(load_chat_config(folder.path()).at("marks"), marks);
}

// `limpid convert` says so.
TEST(Chat, IsLostWhereAModelIsWrittenAsAFolderOfHuggingFace) {
  const auto lost = [](const Json& config) {
    return lost_in_pretrained({Function(), {}, config.dump()});
  };
  EXPECT_EQ(lost({{"chat", Json::object()}}), std::vector<std::string>{"the chat template"});
  EXPECT_EQ(lost(Json::object()), std::vector<std::string>{});
}

TEST(Chat, IsConfiguredByTheFilesOfItsFolder) {
  const testing::TemporaryFolder folder;
  const auto put = [&](std::string_view name, std::string_view text) {
    testing::write(folder / name, testing::bytes_of(text));
  };
  const auto loaded = [&](const char* key) { return load_chat_config(folder.path()).at(key); };
  EXPECT_TRUE(load_chat_config(folder.path()).is_null());
  put("tokenizer_config.json", R"({"chat_template": [{"name": "tool_use", "template": "T"}]})");
  EXPECT_TRUE(load_chat_config(folder.path()).is_null());  // none of them is the default
  put("tokenizer_config.json",
      R"({"chat_template": [{"name": "tool_use", "template": "T"},
                            {"name": "default", "template": "D"}],
          "bos_token": "<s>", "eos_token": {"content": "</s>"}, "pad_token": null})");
  EXPECT_EQ(loaded("template"), "D");
  EXPECT_EQ(loaded("marks"), (Json{{"bos_token", "<s>"}, {"eos_token", "</s>"}}));
  EXPECT_EQ(loaded("ends"), Json::array());
  EXPECT_EQ(loaded("unsupported"), "a chat template needs tokenizer.json beside it");
  put("tokenizer.json", R"({"added_tokens": [{"content": "</s>", "rstrip": false}]})");
  EXPECT_EQ(loaded("unsupported"), "");
  put("config.json", R"({"eos_token_id": 7})");
  EXPECT_EQ(loaded("ends"), Json::array({7}));
  put("generation_config.json", R"({"eos_token_id": [9, 7, 0]})");
  EXPECT_EQ(loaded("ends"), Json::array({0, 7, 9}));
  put("chat_template.jinja", "J");  // the newer place of a template
  EXPECT_EQ(loaded("template"), "J");
}

// `limpid serve` says it where a chat is asked for.
TEST(Chat, OfATokenizerThatIsNotSupportedIsRefusedWithItsReason) {
  const auto chat = [](const std::string& why) {
    const Json config = {{"chat",
                          {{"template", "{{ bos_token }}"},
                           {"marks", {{"bos_token", "<s>"}}},
                           {"ends", Json::array({2, 7})},
                           {"unsupported", why}}}};
    return Chat::of({Function(), {}, config.dump()});
  };
  EXPECT_EQ(testing::error_of(ErrorCode::kUnsupported, [&] { chat("no tokens"); }), "no tokens");
  EXPECT_EQ(chat("")->ends(), (std::vector<std::int32_t>{2, 7}));
  EXPECT_EQ(text_of(chat("")->prompt(Tokenizer::byte_pair(rules_with({})), Json::array())), "<s>");
}

TEST(Chat, NamesTheFileThatIsBroken) {
  const testing::TemporaryFolder folder;
  const auto refused = [&](std::string_view text) {
    testing::write(folder / "tokenizer_config.json", testing::bytes_of(text));
    expect_refused(ErrorCode::kFormat, [&] { load_chat_config(folder.path()); });
  };
  refused("[]");
  refused("{");
}

// As tokenizer.json is read for the tokenizer.
TEST(Chat, ReadsATokenizerOfAMillionValues) {
  const testing::TemporaryFolder folder;
  std::string zeros, vocabulary = R"("0":0)";
  for (int i = 0; i < 1'100'000; ++i) zeros += ",0";
  for (std::size_t i = 1; i < kMaxTokens; ++i) vocabulary += ",\"" + std::to_string(i) + "\":0";
  testing::write(folder / "chat_template.jinja", testing::bytes_of("T"));
  testing::write(folder / "tokenizer.json",
                 testing::bytes_of(R"({"more":[0)" + zeros + R"(],"vocab":{)" + vocabulary + "}}"));
  EXPECT_EQ(load_chat_config(folder.path()).at("unsupported"), "");
}

}  // namespace
}  // namespace limpid
