#include "limpid/view/language.h"
#include "limpid/core/base64.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>

#include "limpid/core/error.h"
#include "limpid/data/data_config.h"
#include "limpid/data/text/byte_pair.h"
#include "limpid/models/generate.h"
#include "limpid/nn/char_lm.h"
#include "limpid/nn/gpt.h"
#include "limpid/ops/ops.h"
#include "limpid/view/api.h"
#include "limpid/view/compare.h"
#include "limpid/view/data.h"
#include "limpid/view/forward.h"
#include "limpid/view/gradient.h"
#include "limpid/view/whatif.h"
#include "tests/refusals.h"
#include "tests/view/trained.h"

namespace limpid::view {
namespace {

class ViewLanguage : public Trained {
 protected:
  void SetUp() override {
    Trained::SetUp();
    std::ofstream file(folder_ / "text.txt");
    for (int i = 0; i < 50; ++i) file << "to be or not to be that is the question\n";
    file.close();
    train::TrainConfig config;
    config.data = "text:" + (folder_ / "text.txt").string();
    config.model = "gpt";
    config.width = 16;
    config.layers = {2};
    config.heads = 2;
    config.kv_heads = 1;
    config.context = 16;
    config.steps = 20;
    add("gpt", config);
  }
  static Subject text(const std::string& said) {
    return {.model = "r1", .input = InputSpec{InputSpec::Text{said}}};
  }
  // The cache of a text of `length` tokens.
  static void expect_cache(const Json& said, const Cache& cache, std::int64_t length) {
    EXPECT_EQ(said.at("length").as_integer(), length);
    EXPECT_EQ(said.at("capacity").as_integer(), 16);
    EXPECT_EQ(said.at("bytes").as_integer(), cache.bytes);
    EXPECT_EQ(cache.length, length);
    EXPECT_EQ(cache.capacity, 16);
  }
};

TEST_F(ViewLanguage, TheLastBlockSaysWhatTheModelSays) {
  const Language l = language(*session_, {.subject = text("to be or"), .most = 1000});
  ASSERT_EQ(l.tokens.size(), 8u);
  EXPECT_EQ(l.tokens[3].text, "b");
  EXPECT_EQ(l.cache.length, 8);
  // Keys and values of two blocks, 8 tokens, 8 numbers of one head that both queries share.
  EXPECT_EQ(l.cache.bytes, 2 * 2 * 8 * 8 * std::int64_t{sizeof(float)});
  double sum = 0;
  for (std::size_t i = 0; i < l.next.size(); ++i) {
    sum += l.next[i].probability;
    if (i > 0) {
      EXPECT_LE(l.next[i].logit.value, l.next[i - 1].logit.value);
    }
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  ASSERT_EQ(l.blocks.size(), 3u);  // the embedding and two blocks
  EXPECT_EQ(l.blocks[2].name, "layers.1");
  ASSERT_EQ(l.blocks[2].lens.size(), 8u);
  const ShownBlock::Guess& guess = l.blocks[2].lens.back().front();
  EXPECT_EQ(guess.token.id, l.next.front().token.id);
  EXPECT_NEAR(guess.probability, l.next.front().probability, 1e-6);
  EXPECT_EQ(l.blocks[0].norms.size(), 8u);
  EXPECT_EQ(language(*session_, {.subject = text("to be or"), .most = 3}).next.size(), 3u);
  // The forward pass says the same.
  const Forward f = forward(*session_, {.subject = text("to be or")});
  EXPECT_EQ(*f.spoken.chosen, l.next.front().token.id);
  // The stream after a block is its last sum.
  const auto last = std::find_if(f.rows.rbegin(), f.rows.rend(), [](const ForwardRow& row) {
    return row.trace.layer == "layers.1" && row.trace.op == "add";
  });
  ASSERT_NE(last, f.rows.rend());
  for (std::size_t t = 0; t < 8; ++t) {
    double squares = 0;
    for (const float x : last->values->elements.values<float>().subspan(16 * t, 16))
      squares += static_cast<double>(x) * static_cast<double>(x);
    EXPECT_NEAR(l.blocks[2].norms[t], std::sqrt(squares), 1e-9);
  }
}

TEST_F(ViewLanguage, TheLensIsOnTheLastTokens) {
  const Language l = language(*session_, {.subject = text("to be or"), .lens = 3});
  const Language all = language(*session_, {.subject = text("to be or"), .lens = 100});
  for (std::size_t b = 0; b < l.blocks.size(); ++b) {
    ASSERT_EQ(l.blocks[b].lens.size(), 3u);
    for (std::size_t t = 0; t < 3; ++t)
      for (std::size_t i = 0; i < 3; ++i) {
        const ShownBlock::Guess &few = l.blocks[b].lens[t][i],
                                &whole = all.blocks[b].lens[5 + t][i];
        EXPECT_EQ(few.token.id, whole.token.id);
        EXPECT_NEAR(few.probability, whole.probability, 1e-6);
      }
  }
}

TEST_F(ViewLanguage, TheLensHasTheEditsOfParameters) {
  const auto guess = [&](const Subject& subject, std::int64_t lens) {
    const Language l = language(*session_, {.subject = subject, .lens = lens});
    const ShownBlock::Guess last = l.blocks.back().lens.back().front();
    EXPECT_EQ(last.token.id, l.next.front().token.id);
    EXPECT_NEAR(last.probability, l.next.front().probability, 1e-6);
    return last.probability;
  };
  Subject edited = text("to be or");
  const double before = guess(edited, 3);
  edited.changes.push_back({.edit = parse_edit("%norm.weight *= -1")});
  // Before the last block, an edit reaches the lens by the stream.
  edited.changes.push_back({.edit = parse_edit("%0[7, 3] = 2")});
  EXPECT_GT(std::abs(guess(edited, 3) - before), 1e-3);
  EXPECT_NEAR(guess(edited, 8), guess(edited, 3), 1e-6);
}

TEST_F(ViewLanguage, ProbabilitiesAreThoseOfTheSampling) {
  const Language l =
      language(*session_, {.subject = text("to be"), .sampling = {.temperature = 0.5, .top_k = 3}});
  for (std::size_t i = 0; i < l.next.size(); ++i) EXPECT_EQ(l.next[i].kept, i < 3);
  EXPECT_NEAR(l.next[0].probability / l.next[1].probability,
              std::exp((l.next[0].logit.value - l.next[1].logit.value) / 0.5), 1e-4);
}

TEST_F(ViewLanguage, ARequestHasItsSampling) {
  const auto said = [&](const std::string& options) {
    return asked("language", R"({"model": "r1", "input": {"text": "to be"})" + options + "}");
  };
  const auto kept = [&](const std::string& sampling) {
    const Json all = said(R"(, "temperature": 2, )" + sampling);
    const Json::Array& next = all.at("next").elements();
    return std::count_if(next.begin(), next.end(),
                         [](const Json& n) { return n.at("kept").as_bool(); });
  };
  EXPECT_EQ(kept(R"("top_p": 1e-6)"), 1);
  EXPECT_EQ(kept(R"("top_k": 4)"), 4);
  const auto first = [&](const std::string& options) {
    return said(options).at("next").at(0).at("probability").as_number();
  };
  EXPECT_GT(first(""), first(R"(, "temperature": 2)"));
  EXPECT_EQ(said(R"(, "most": 3)").at("next").size(), 3u);
  const auto lens = [&](const std::string& options) {
    return asked("language",
                 R"({"model": "r1", "input": {"text": "to be or not to "})" + options + "}")
        .at("blocks")
        .at(0)
        .at("lens")
        .size();
  };
  EXPECT_EQ(lens(""), 16u);
  EXPECT_EQ(lens(R"(, "lens": 3)"), 3u);
  expect_cache(said("").at("cache"), language(*session_, {.subject = text("to be")}).cache, 5);
}

TEST_F(ViewLanguage, ARequestGetsTheTokensThatAreNew) {
  const Generated all =
      generate(*session_, {.model = "r1", .text = "to be", .seed = 9, .count = 6}, 0);
  const Json said = asked("generate", R"({"model": "r1", "text": "to be", "seed": 9, "count": 6})");
  ASSERT_EQ(all.added, 6u);
  ASSERT_EQ(said.at("added").size(), 6u);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_EQ(said.at("added").at(i).at("id").as_integer(), all.tokens[5 + i].id);
  EXPECT_EQ(said.at("tokens").size(), 11u);
  expect_cache(said.at("cache"), all.cache, 11);
  // One after the other, they are the same.
  for (int drawn = 0; drawn < 2; ++drawn) {
    const std::string before = drawn == 0 ? "" : all.tokens[5].text;
    const Json one =
        asked("generate", R"({"model": "r1", "text": "to be)" + before +
                              R"(", "seed": 9, "drawn": )" + std::to_string(drawn) + "}");
    ASSERT_EQ(one.at("added").size(), 1u);
    EXPECT_EQ(one.at("added").at(0).at("id").as_integer(),
              all.tokens[static_cast<std::size_t>(5 + drawn)].id);
  }
}

// A text's examples are as long as the run's context.
TEST_F(ViewLanguage, ExamplesAreThoseOfTheRun) {
  const auto open = session_->model("r1");
  EXPECT_EQ(session_->examples(*open, open->data, "train")->input_type().shape, (Shape{16}));
  // And of the model after one of its steps.
  const auto step = session_->runs().at("r1", 1).model;
  EXPECT_EQ(session_->examples(*step, step->data, "train")->input_type().shape, (Shape{16}));
}

TEST_F(ViewLanguage, AnExampleIsItsTokens) {
  const auto data =
      session_->examples(*session_->model("r1"), session_->runs().data("r1"), "train");
  const Subject third{
      .model = "r1",
      .input = InputSpec{InputSpec::Example{.data = "", .part = "train", .index = 3}}};
  const Tensor inputs = data->inputs_of(3, 1);
  const auto tokens = inputs.values<std::int32_t>();
  const Language l = language(*session_, {.subject = third});
  ASSERT_EQ(l.tokens.size(), 16u);
  std::string text;
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(l.tokens[i].id, tokens[i]);
    text += l.tokens[i].text;
  }
  const Json shown =
      to_json(show_examples(*session_, {.model = "r1", .part = "train", .first = 3}));
  EXPECT_EQ(shown.at("examples").at(0).at("text").as_string(), text);
  // The last of its targets is what follows the whole text.
  const std::vector<double> targets = to_doubles(data->targets_of(3, 1));
  const auto token = [&](double target) {
    return token_text(*data->tokenizer, static_cast<std::int32_t>(target));
  };
  ASSERT_NE(token(targets.front()), token(targets.back()));
  EXPECT_EQ(shown.at("examples").at(0).at("label").as_string(), token(targets.back()));
  EXPECT_TRUE(shown.at("picture").is_null());
  EXPECT_TRUE(shown.at("classes").is_null());
}

// It is padded with tokens that do not count.
TEST_F(ViewLanguage, TheLastWindowEndsWithItsText) {
  const auto data = session_->examples(*session_->model("r1"), session_->runs().data("r1"), "test");
  const std::int64_t last = data->size() - 1, counted = data->counted(last);
  ASSERT_LT(counted, 16);
  const Subject subject{
      .model = "r1",
      .input = InputSpec{InputSpec::Example{.data = "", .part = "test", .index = last}}};
  const Forward shown = forward(*session_, {.subject = subject});
  const Tensor& all = shown.spoken.outputs.at(0).values.elements;
  const Tensor logits = all.reshape({16, all.elements() / 16});
  const auto probabilities = [&](std::int64_t row) {
    return probabilities_of_last(Task::kNextToken, logits.rows(row, 1));
  };
  EXPECT_EQ(shown.spoken.probabilities, probabilities(counted - 1));
  EXPECT_EQ(shown.spoken.chosen, shown.spoken.likeliest.at(0).first);
  EXPECT_EQ(to_json(shown).at("answer").at("row").as_integer(), counted - 1);
  ASSERT_TRUE(shown.example);
  const std::vector<double>& targets = shown.example->target;
  double loss = 0;
  for (std::int64_t row = 0; row < counted; ++row) {
    const auto target = static_cast<std::size_t>(targets.at(static_cast<std::size_t>(row)));
    loss -= std::log(static_cast<double>(probabilities(row).at(target)));
  }
  loss /= static_cast<double>(counted);
  const Gradients own = gradient(*session_, {.subject = subject});
  EXPECT_NEAR(own.value.value, loss, 1e-5);
  EXPECT_EQ(gradient(*session_, {.subject = subject, .target = targets}).value, own.value);
  const std::string text =
      show_examples(*session_, {.model = "r1", .part = "test", .first = last}).examples.at(0).text;
  // The newline after it is a target alone.
  EXPECT_EQ(text.size(), static_cast<std::size_t>(counted));
  EXPECT_TRUE(std::string("to be or not to be that is the question").ends_with(text)) << text;
}

TEST_F(ViewLanguage, ATextIsShownAsItsTokens) {
  const Json said = asked("tokens", R"({"model": "r1", "text": "to be"})");
  EXPECT_EQ(said.at("context").as_integer(), 16);
  std::string text;
  for (const Json& token : said.at("tokens").elements()) text += token.at("text").as_string();
  EXPECT_EQ(text, "to be");
}

// One of a hidden layer, without a transformer's blocks and caches.
TEST_F(ViewLanguage, AModelWithoutAttentionGoesOnForEver) {
  train::TrainConfig config;
  config.data = "text:" + (folder_ / "text.txt").string();
  config.context = 6;
  config.embedding = 4;
  config.hidden = {8};
  config.steps = 5;
  add("charlm", config);
  EXPECT_EQ(show_examples(*session_, {.model = "r2"}).examples.at(0).text.size(), 6u);
  const Subject said{.model = "r2", .input = InputSpec{InputSpec::Text{"to be "}}};
  const Language l = language(*session_, {.subject = said});
  EXPECT_TRUE(l.blocks.empty());
  EXPECT_TRUE(l.attention.empty());
  EXPECT_FALSE(l.next.empty());
  EXPECT_EQ(l.cache.capacity, 0);
  EXPECT_EQ(l.cache.bytes, 0);
  EXPECT_EQ(context_of(session_->model("r2")->model), 0);
  const Generated all = generate(*session_, {.model = "r2", .text = "to be ", .count = 40}, 0);
  EXPECT_EQ(all.added, 40u);
  // For ever, but not in one answer.
  EXPECT_EQ(generate(*session_, {.model = "r2", .text = "to", .count = 256}, 0).added, 256u);
  EXPECT_THROW(generate(*session_, {.model = "r2", .text = "to", .count = 257}, 0), Error);
}

// It was edited for a text, and takes others.
TEST_F(ViewLanguage, AVariantTakesTextsOfAnyLength) {
  Subject edited = text("to be");
  edited.changes.push_back({.edit = parse_edit("%0 += 1")});
  expect_message(*edit_text(*session_, edited).command);
  const auto kept = keep(*session_, edited, "moved");
  EXPECT_EQ(kept->hash(), keep(*session_, {"r1", {}, edited.changes}, "moved")->hash());
  const Subject longer{kept->id, InputSpec{InputSpec::Text{"to be or not"}}};
  Subject again = text("to be or not");
  again.changes = edited.changes;
  EXPECT_TRUE(compare(*session_, longer, again).only_a.empty());
  EXPECT_EQ(language(*session_, {.subject = longer}).tokens.size(), 12u);
}

TEST_F(ViewLanguage, TheFirstTextIsOfLettersThatTheModelKnows) {
  EXPECT_EQ(model_json(*session_->model("r1")).at("text").as_string(), "the qui bron o");
}

TEST_F(ViewLanguage, AttentionLooksBackAndSumsToOne) {
  const Language l = language(*session_, {.subject = text("to be"), .lens = 0});
  ASSERT_EQ(l.attention.size(), 2u);
  EXPECT_EQ(l.attention[0].heads, 2);
  for (std::int64_t layer = 0; layer < 2; ++layer)
    for (std::int64_t head = 0; head < 2; ++head) {
      const Tensor w = attention_of(*session_, text("to be"), layer, head);
      ASSERT_EQ(w.shape(), (Shape{5, 5}));
      const std::vector<double>& entropy =
          l.attention[static_cast<std::size_t>(layer)].entropy[static_cast<std::size_t>(head)];
      for (std::size_t q = 0; q < 5; ++q) {
        double sum = 0, bits = 0;
        for (std::size_t k = 0; k < 5; ++k) {
          const auto x = static_cast<double>(w.values<float>()[q * 5 + k]);
          if (k > q) {
            EXPECT_EQ(x, 0);
          } else {
            bits -= x * std::log2(x);
          }
          sum += x;
        }
        EXPECT_NEAR(sum, 1, 1e-6);
        // As a part of the largest possible; the first token has no choice.
        EXPECT_NEAR(entropy[q], q == 0 ? 1 : bits / std::log2(q + 1), 1e-6);
      }
    }
  for (const auto& [layer, head] : {std::pair(2, 0), {5, 0}, {-1, 0}, {0, 2}, {0, 3}, {0, -1}})
    expect_refused(ErrorCode::kNotFound,
                   [&, at = layer, of = head] { attention_of(*session_, text("to be"), at, of); });
  const Json said =
      asked("attention", R"({"model": "r1", "input": {"text": "to be"}, "layer": 1, "head": 1})");
  EXPECT_EQ(said.at("queries").as_integer(), 5);
  EXPECT_EQ(said.at("keys").as_integer(), 5);
  EXPECT_EQ(said.at("weights").at("base64").as_string(),
            base64(attention_of(*session_, text("to be"), 1, 1).bytes()));
}

TEST_F(ViewLanguage, OneTokenAtATimeIsTheTextOfGenerate) {
  std::string expected;
  limpid::generate(session_->model("r1")->model, {.prompt = "to be", .tokens = 6, .seed = 9},
                   [&](std::size_t, std::string_view characters) { expected += characters; });
  GenerateRequest request{.model = "r1", .text = "to be", .seed = 9, .count = 6};
  std::string at_once, stepwise;
  const Generated all = generate(*session_, request, 0);
  for (std::size_t i = 5; i < 11; ++i) at_once += all.tokens[i].text;
  EXPECT_EQ(at_once, expected);
  request.count = 1;
  for (std::int64_t i = 0; i < 6; ++i) {
    const Generated one = generate(*session_, request, i);
    request.tokens.clear();
    for (const ShownToken& t : one.tokens) request.tokens.push_back(t.id);
    stepwise += one.tokens.back().text;
  }
  EXPECT_EQ(stepwise, expected);
  EXPECT_EQ(all.text, "to be" + expected);
  request.count = 6;
  EXPECT_THROW(generate(*session_, request, 6), Error);  // 11 + 6 > 16
}

TEST_F(ViewLanguage, TokensAreTheTextTheyAreOf) {
  const auto next_of = [&](InputSpec input) {
    std::string next;
    for (const NextToken& n :
         language(*session_, {.subject = {.model = "r1", .input = std::move(input)}}).next)
      next += fmt::format("{} {} ", n.token.id, n.logit.bits);
    return next;
  };
  InputSpec::Tokens tokens;
  for (const ShownToken& t : tokens_of(*session_, "r1", "to be")) tokens.tokens.push_back(t.id);
  EXPECT_EQ(next_of({tokens}), next_of({InputSpec::Text{"to be"}}));
  EXPECT_THROW(next_of({InputSpec::Tokens{}}), Error);
  EXPECT_THROW(next_of({InputSpec::Tokens{{0, 99}}}), Error);
  EXPECT_THROW(next_of({InputSpec::Tokens{{-1}}}), Error);
}

TEST(ViewTokens, BytesAreShownThatAreNoCharacter) {
  const Tokenizer bytes = Tokenizer::bytes();
  EXPECT_EQ(token_text(bytes, 'a'), "a");
  EXPECT_EQ(token_text(bytes, '\n'), "\n");
  EXPECT_EQ(token_text(bytes, 0xce), "<ce>");
}

// A network that was never trained, as the model of a session.
class ViewUntrained : public ::testing::Test {
 protected:
  template <class Net>
  std::string add(const Net& net, const DataConfig& data) {
    Json config = Json::parse(net.config());
    config["data"] = to_json(data);
    return session_
        .add({.name = "net", .model = {net.function(), net.init(Key(1)), config.dump()}})
        ->id;
  }
  // Whose tokens are the bytes, with these marks.
  std::string add_of_bytes(const Tokenizer::Marks& marks) {
    BytePairRules rules;
    for (int byte = 0; byte < 256; ++byte) rules.tokens.emplace_back(1, static_cast<char>(byte));
    DataConfig data{.task = Task::kNextToken};
    data.tokenizer = Tokenizer::byte_pair(rules, marks);
    return add(nn::CharLm{256, 3, 5, nn::mlp({15, 8, 256}, relu)}, data);
  }
  static DataConfig letters() {
    return {.task = Task::kNextToken, .class_names = {"a", "b", "c", "d", "e"}};
  }
  Session session_{{}};
};

TEST_F(ViewUntrained, ARequestExplainsTheNeuronOfItsToken) {
  const std::string id =
      add(nn::Gpt{.vocabulary = 5, .context = 8, .layers = 1, .width = 4, .heads = 1}, letters());
  const auto asked = [&](const std::string& row) {
    return Json::parse(answer(session_, "neuron",
                              R"({"model": ")" + id + R"(", "input": {"text": "abcd"}, )" + row +
                                  R"("layer": "lm_head", "index": 2})"));
  };
  EXPECT_EQ(asked("").at("row").as_integer(), 3);
  for (const std::int64_t row : {0, 2}) {
    const Json said = asked(fmt::format(R"("row": {}, )", row));
    EXPECT_EQ(said.at("row").as_integer(), row);
    EXPECT_NE(said.at("z").dump(), asked("").at("z").dump()) << row;
  }
  // What a page opens next is a layer, and attention is none.
  const Subject subject{id, InputSpec{InputSpec::Text{"abcd"}}};
  const std::vector<std::string> layers = layers_of(session_.model(id)->model.function);
  for (const std::string& layer : layers) {
    const std::string source = neuron(session_, {.subject = subject, .layer = layer}).source;
    EXPECT_TRUE(source.empty() || std::count(layers.begin(), layers.end(), source) == 1) << source;
    EXPECT_TRUE(source.empty() || !layer.ends_with("o_proj")) << source;
  }
}

TEST_F(ViewUntrained, AnOutputWithoutATokenIsShownByItsNumberAndNeverDrawn) {
  const std::string id = add(nn::CharLm{6, 3, 5, nn::mlp({15, 8, 6}, relu)}, letters());
  const Language l = language(session_, {.subject = {id, InputSpec{InputSpec::Text{"abc"}}}});
  std::vector<std::string> texts(6);
  for (const NextToken& n : l.next) texts.at(static_cast<std::size_t>(n.token.id)) = n.token.text;
  EXPECT_EQ(texts, (std::vector<std::string>{"a", "b", "c", "d", "e", "<5>"}));
  const Generated all = generate(session_, {.model = id, .text = "abc", .seed = 3, .count = 60}, 0);
  ASSERT_EQ(all.tokens.size(), 63u);
  for (const ShownToken& token : all.tokens) EXPECT_LT(token.id, 5);
}

TEST_F(ViewUntrained, ATextEndsWhereTheModelEndsIt) {
  const auto written = [&](std::optional<std::int32_t> end) {
    const std::string id = add_of_bytes({{}, end});
    return generate(session_, {.model = id, .text = "ab", .seed = 3, .count = 20}, 0);
  };
  const std::vector<ShownToken> endless = written({}).tokens;
  ASSERT_EQ(endless.size(), 22u);
  std::size_t first = 2;
  while (endless[first].id != endless[12].id) ++first;
  const Generated ended = written(endless[12].id);
  EXPECT_EQ(ended.added, first - 2);
  ASSERT_EQ(ended.tokens.size(), first);
  for (std::size_t i = 0; i < first; ++i) EXPECT_EQ(ended.tokens[i].id, endless[i].id);
}

TEST_F(ViewUntrained, TheMarkOfABeginningIsNoPartOfTheText) {
  const std::string id = add_of_bytes({'>', {}});
  const Generated all = generate(session_, {.model = id, .text = "ab", .count = 0}, 0);
  ASSERT_EQ(all.tokens.size(), 3u);
  EXPECT_EQ(all.tokens[0].id, '>');
  EXPECT_EQ(all.text, "ab");
}

TEST_F(ViewLanguage, TheNextTokenHasItsText) {
  const Forward shown = forward(*session_, {.subject = text("to be")});
  const Language said = language(*session_, {.subject = text("to be")});
  ASSERT_EQ(shown.spoken.likeliest.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(shown.spoken.likeliest[i].first, said.next[i].token.id);
    EXPECT_EQ(shown.spoken.likeliest[i].second, said.next[i].token.text);
  }
  EXPECT_EQ(shown.spoken.likeliest[0].second, shown.spoken.label);
  for (const NextToken& next : said.next)
    EXPECT_NEAR(shown.spoken.probabilities.at(static_cast<std::size_t>(next.token.id)),
                next.probability, 1e-6);
}

TEST_F(ViewLanguage, WhatIsKeptBetweenTextsChangesNone) {
  const auto expect_text = [&](const std::string& prompt, const std::string& model = "r1") {
    std::string expected, came;
    limpid::generate(session_->model(model)->model, {.prompt = prompt, .tokens = 4, .seed = 2},
                     [&](std::size_t, std::string_view characters) { expected += characters; });
    const Generated all =
        generate(*session_, {.model = model, .text = prompt, .seed = 2, .count = 4}, 0);
    for (std::size_t i = all.tokens.size() - 4; i < all.tokens.size(); ++i)
      came += all.tokens[i].text;
    EXPECT_EQ(came, expected) << prompt;
  };
  // Longer, repeated, shorter, with another end, and entirely different.
  for (const char* const prompt : {"to", "to be or", "to be or", "to be", "to bt", "question"})
    expect_text(prompt);
  EXPECT_THROW(generate(*session_, {.model = "r1", .tokens = {1, 99}}, 0), Error);
  expect_text("to be");
  // Another model has its turn while this one stays open.
  train::TrainConfig config = train::RunFolder(folder_ / "gpt").read_config();
  config.seed = 7;
  add("other", config);
  for (const char* const model : {"r2", "r1", "r2"}) expect_text("to be", model);
  // The run has another model now.
  train::Run(config, {.folder = folder_ / "gpt", .overwrite = true}).train();
  expect_text("to be");
}

TEST_F(ViewLanguage, ATextMayFillTheContext) {
  GenerateRequest request{.model = "r1", .text = "to be or not", .count = 4};
  EXPECT_EQ(generate(*session_, request, 0).tokens.size(), 16u);
  ++request.count;
  EXPECT_THROW(generate(*session_, request, 0), Error);
}

TEST_F(ViewLanguage, RefusesWhatIsNoText) {
  EXPECT_THROW(tokens_of(*session_, "r0", "a"), Error);
  EXPECT_THROW(tokens_of(*session_, "r1", "\xff"), Error);
  const auto of_tokens = [](std::vector<std::int32_t> tokens) {
    return Subject{.model = "r1", .input = InputSpec{InputSpec::Tokens{std::move(tokens)}}};
  };
  const auto size = static_cast<std::int32_t>(session_->model("r1")->tokenizer->size());
  EXPECT_EQ(language(*session_, {.subject = of_tokens({size - 1})}).tokens.size(), 1u);
  for (const std::vector<std::int32_t>& wrong : {std::vector<std::int32_t>{}, {size}, {-1}})
    expect_refused(ErrorCode::kInvalidArgument,
                   [&] { forward(*session_, {.subject = of_tokens(wrong)}); });
  EXPECT_THROW(language(*session_, {.subject = text("")}), Error);
  EXPECT_THROW(language(*session_, {.subject = text(std::string(100, 't'))}), Error);
  EXPECT_THROW(language(*session_, {.subject = text("to"), .sampling = {.top_p = 0}}), Error);
  GenerateRequest request{.model = "r1", .tokens = {99}};
  EXPECT_THROW(generate(*session_, request, 0), Error);
  EXPECT_THROW(generate(*session_, {.model = "r1", .text = "to", .count = -1}, 0), Error);
  EXPECT_THROW(generate(*session_, {.model = "r1", .text = ""}, 0), Error);
}

}  // namespace
}  // namespace limpid::view
