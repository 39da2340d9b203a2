// Prompts as tokens, and texts from a language model.
#include "limpid/models/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "limpid/data/data_config.h"
#include "limpid/data/text/byte_pair.h"
#include "limpid/limpid.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using Ids = std::vector<std::int32_t>;

// As training stores it: the tokenizer has the characters "\n", "a", "b" and "c".
std::string with_characters(const std::string& config) {
  return config.substr(0, config.size() - 1) +
         R"(,"data":{"task":"next_token","class_names":["\n","a","b","c"]}})";
}

// A token for each byte.
BytePairRules byte_rules() {
  BytePairRules rules;
  for (int byte = 0; byte < 256; ++byte) rules.tokens.emplace_back(1, static_cast<char>(byte));
  return rules;
}

// With a token that ends texts.
template <class Net>
Model model_of_bytes(const Net& net, std::optional<std::int32_t> end) {
  DataConfig data{.task = Task::kNextToken};
  data.tokenizer = Tokenizer::byte_pair(byte_rules(), {{}, end});
  Json config = Json::parse(net.config());
  config["data"] = to_json(data);
  return {net.function(), net.init(Key(1)), config.dump()};
}

Model transformer() {
  const nn::Gpt net{.vocabulary = 6, .context = 7, .layers = 1, .width = 12};
  return {net.function(), net.init(Key(1)), with_characters(net.config())};
}
Model window() {
  const nn::CharLm net{4, 3, 5, nn::mlp({15, 8, 4}, relu)};
  return {net.function(), net.init(Key(1)), with_characters(net.config())};
}

std::vector<std::string> texts_of(const Model& model, const GenerateOptions& options) {
  std::vector<std::string> texts(static_cast<std::size_t>(options.sequences));
  generate(model, options,
           [&](std::size_t i, std::string_view characters) { texts.at(i) += characters; });
  return texts;
}

TEST(Generate, GivesATextForEachSeedWhoeverElseIsThere) {
  ThreadPool two({.threads = 2});
  for (const Model& model : {transformer(), window()}) {
    GenerateOptions options{.prompt = "abc", .tokens = 30, .sequences = 3, .seed = 4};
    const std::vector<std::string> together = texts_of(model, options);
    options.sequences = 1;
    options.pool = &two;
    for (const std::string& text : together) {
      EXPECT_EQ(text.size(), 30u);
      EXPECT_EQ(texts_of(model, options)[0], text);
      ++options.seed;
    }
    EXPECT_NE(together[0], together[1]);
  }
}

TEST(Generate, DrawsAsGenerationDoes) {
  const Model model = transformer();
  const Tokenizer tokenizer = tokenizer_of(model);
  nn::LanguageModel language_model = language_model_of(model, {});
  nn::Generation generation(language_model, start_tokens(tokenizer),
                            {.sampling = {.top_k = 3}, .key = Key(9), .vocabulary = 4});
  std::string expected;
  for (int i = 0; i < 40; ++i) {
    while (!generation.ready()) language_model.step();
    const std::int32_t token = generation.draw();
    expected += tokenizer.decode({&token, 1});
  }
  EXPECT_EQ(texts_of(model, {.tokens = 40, .sampling = {.top_k = 3}, .seed = 9})[0], expected);
  EXPECT_EQ(texts_of(model, {.tokens = 0})[0], "");
}

// A byte that begins a character is told, too, where the text ends behind it.
TEST(Generate, TellsACharacterThatTheEndCutsOff) {
  const nn::CharLm net{256, 3, 5, nn::mlp({15, 8, 256}, relu)};
  const std::string config = net.config();
  const Model model{net.function(), net.init(Key(1)),
                    config.substr(0, config.size() - 1) +
                        R"(,"data":{"task":"next_token","tokenizer":{"kind":"bytes"}}})"};
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::string text = texts_of(model, {.tokens = 1, .seed = seed})[0];
    EXPECT_FALSE(text.empty()) << seed;
  }
}

// Of any number of tokens, which is "until the end".
TEST(Generate, AsManyTokensAsANumberCounts) {
  const nn::Gpt net{.vocabulary = 256, .context = 8, .layers = 1, .width = 4, .heads = 1};
  const Model model = model_of_bytes(net, 'a');
  GenerateOptions options{.prompt = "ab", .tokens = 10'000, .seed = 3};
  const std::string some = texts_of(model, options)[0];
  options.tokens = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(texts_of(model, options)[0], some);
}

// As without an end, up to there.
TEST(Generate, EndsWhereTheModelEndsItsText) {
  const nn::CharLm net{256, 3, 5, nn::mlp({15, 8, 256}, relu)};
  const Model endless = model_of_bytes(net, {});
  nn::LanguageModel language_model = language_model_of(endless, {});
  nn::Generation generation(language_model, Ids{'a', 'b'}, {.key = Key(3)});
  Ids ids;
  for (int i = 0; i < 20; ++i) {
    while (!generation.ready()) language_model.step();
    ids.push_back(generation.draw());
  }
  const std::int32_t end = ids[12];
  const std::int64_t before = std::find(ids.begin(), ids.end(), end) - ids.begin();
  GenerateOptions options{.prompt = "ab", .tokens = 20, .seed = 3};
  const std::string got = texts_of(model_of_bytes(net, end), options)[0];
  EXPECT_NE(got, texts_of(endless, options)[0]);
  options.tokens = before;
  EXPECT_EQ(got, texts_of(endless, options)[0]);
}

// One ends where the others still go on.
TEST(Generate, EachOfSeveralTextsEndsByItself) {
  const nn::CharLm net{256, 3, 5, nn::mlp({15, 8, 256}, relu)};
  const Model endless = model_of_bytes(net, {});
  nn::LanguageModel language_model = language_model_of(endless, {});
  nn::Generation generation(language_model, Ids{'a', 'b'}, {.key = Key(3)});
  while (!generation.ready()) language_model.step();
  const Model model = model_of_bytes(net, generation.draw());
  const std::vector<std::string> texts =
      texts_of(model, {.prompt = "ab", .tokens = 20, .sequences = 3, .seed = 3});
  ASSERT_EQ(texts.size(), 3U);
  EXPECT_EQ(texts[0], "");
  EXPECT_NE(texts[1], "");
  for (std::size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(texts[i], texts_of(model, {.prompt = "ab", .tokens = 20, .seed = 3 + i})[0]) << i;
}

// Room is made for as many tokens as are asked for.
TEST(Generate, AShorterTextIsTheBeginningOfALongerOne) {
  const nn::Gpt net{.vocabulary = 4, .context = 32, .layers = 1, .width = 12};
  const Model model{net.function(), net.init(Key(1)), with_characters(net.config())};
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    GenerateOptions options{.prompt = "abcabcaabbccabcabcab",
                            .tokens = 40,
                            .sampling = {.temperature = 0.2},
                            .seed = seed};
    const std::string longer = texts_of(model, options)[0];
    options.tokens = 12;
    EXPECT_EQ(texts_of(model, options)[0], longer.substr(0, 12)) << seed;
  }
}

TEST(Generate, RefusesWhatItCannotContinue) {
  const auto refused = [](ErrorCode code, const Model& model, const GenerateOptions& options = {}) {
    expect_refused(code, [&] { texts_of(model, options); });
  };
  const nn::CharLm small{3, 3, 5, nn::mlp({15, 8, 3}, relu)};
  const Params params = small.init(Key(0));
  refused(ErrorCode::kShape, {small.function(), params, with_characters(small.config())});
  refused(ErrorCode::kInvalidArgument, {small.function(), params, small.config()});
  refused(ErrorCode::kInvalidArgument, window(), {.prompt = ""});
  refused(ErrorCode::kNotFound, window(), {.prompt = "z"});
  refused(ErrorCode::kInvalidArgument, transformer(), {.sampling = {.temperature = -1}});
}

TEST(Prompt, IsTheTokensOfAText) {
  EXPECT_EQ(prompt_tokens(tokenizer_of(window()), "cab\n"), (Ids{3, 1, 2, 0}));
  EXPECT_EQ(start_tokens(tokenizer_of(window())), Ids{0});
  EXPECT_EQ(start_tokens(Tokenizer(Vocabulary("xyz"))), Ids{0});
  EXPECT_EQ(start_tokens(Tokenizer::bytes()), Ids{'\n'});
}

TEST(Prompt, ATextWithoutAPromptBeginsWithAMark) {
  BytePairRules rules = byte_rules();
  rules.tokens.insert(rules.tokens.end(), {"<s>", "</s>"});
  rules.special = {256, 257};
  const auto start = [&](const Tokenizer::Marks& marks) {
    return start_tokens(Tokenizer::byte_pair(rules, marks));
  };
  EXPECT_EQ(start({.begin = 256, .end = 257}), Ids{256});
  EXPECT_EQ(start({.begin = {}, .end = 257}), Ids{257});
  EXPECT_EQ(start({.begin = 256, .end = {}}), Ids{256});
  // One with a prompt, too; the mark of an end stands before no prompt.
  const auto prompt = [&](const Tokenizer::Marks& marks) {
    return prompt_tokens(Tokenizer::byte_pair(rules, marks), "a");
  };
  EXPECT_EQ(prompt({.begin = 256, .end = 257}), (Ids{256, 'a'}));
  EXPECT_EQ(prompt({.begin = {}, .end = 257}), Ids{'a'});
}

TEST(Prompt, OfMoreMemoryThanAnExampleMayTakeIsRefused) {
  const std::int64_t context = std::int64_t{1} << 24;
  const nn::Gpt net{.vocabulary = 6,
                    .context = context,
                    .layers = 1,
                    .width = 8,
                    .heads = 1,
                    .positions = nn::GptPositions::kRotary};
  const Model model{net.function(8), net.init(Key(1)), with_characters(net.config())};
  EXPECT_NO_THROW(at_length(model, 16));
  expect_refused(ErrorCode::kUnsupported, [&] { at_length(model, context); });
}

TEST(Prompt, FitsTheModel) {
  const auto input = [](const Model& model, const Ids& tokens) {
    const Tensor t = prompt_input(model, tokens);
    return Ids(t.values<std::int32_t>().begin(), t.values<std::int32_t>().end());
  };
  EXPECT_EQ(input(window(), {2}), (Ids{2, 2, 2}));
  EXPECT_EQ(input(window(), {2, 1}), (Ids{2, 2, 1}));
  EXPECT_EQ(input(window(), {0, 3, 2, 1}), (Ids{3, 2, 1}));
  const Model of_two = at_length(transformer(), 2);
  EXPECT_EQ(input(of_two, {2, 1}), (Ids{2, 1}));
  EXPECT_EQ(predict(of_two, prompt_input(of_two, Ids{2, 1})).shape(), (Shape{1, 2, 6}));
  // One of narrow weights keeps them.
  const auto narrow = [](const Model& model) {
    Quantized q = quantize(model.function, model.params, {.to = Dtype::kI8});
    return Model{std::move(q.function), std::move(q.params), model.config};
  };
  const Model narrow_of_two = at_length(narrow(transformer()), 2);
  EXPECT_EQ(narrow_of_two.function, narrow(of_two).function);
  EXPECT_NE(narrow_of_two.function, of_two.function);
  EXPECT_EQ(data_input(at_length(transformer(), 7)).type.shape, Shape{7});
  EXPECT_THROW(at_length(transformer(), 8), Error);
  EXPECT_THROW(prompt_input(window(), {}), Error);
  const nn::Mlp numbers = nn::mlp({3, 2}, relu);
  expect_refused(ErrorCode::kDtype, [&] {
    prompt_input({numbers.function(), numbers.init(Key(0)), numbers.config()}, Ids{1});
  });
}

TEST(CharacterStream, GivesCharactersWhenTheyAreComplete) {
  CharacterStream stream;
  EXPECT_EQ(stream.take("a\xC3"), "a");
  EXPECT_EQ(stream.take("\xA9"
                        "b\xF0\x9F"),
            "\u00e9"
            "b");
  EXPECT_EQ(stream.take("\x98"), "");
  EXPECT_EQ(stream.take("\x80"), "\U0001F600");
  EXPECT_EQ(stream.take("\xFF"
                        "c\xE2\x82"),
            "\uFFFD"
            "c");
  EXPECT_EQ(stream.rest(), "\uFFFD\uFFFD");
  EXPECT_EQ(stream.rest(), "");
  // The first and the last bytes that characters begin with.
  EXPECT_EQ(stream.take("\xC2"), "");
  EXPECT_EQ(stream.take("\x80\xF4\x8F\xBF"), "\u0080");
  EXPECT_EQ(stream.take("\xBF\xE0\xA0"), "\U0010FFFF");
  EXPECT_EQ(stream.take("\x80\xF0\x90\x80"), "\u0800");
  EXPECT_EQ(stream.take("\x80"), "\U00010000");
  // The form of a character, of a code point that has a shorter one.
  EXPECT_EQ(stream.take("\xE0\x80\x80"), "\uFFFD\uFFFD\uFFFD");
}

}  // namespace
}  // namespace limpid
