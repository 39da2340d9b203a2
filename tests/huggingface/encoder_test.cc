// Text encoders in Hugging Face's folders; make_encoder_fixtures.py says how they were made.
#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "limpid/core/json.h"
#include "limpid/data/text/text_pipeline.h"
#include "limpid/formats/huggingface.h"
#include "limpid/formats/safetensors.h"
#include "limpid/models/open_model.h"
#include "limpid/models/text_embedder.h"
#include "limpid/transforms/quantize.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"
#include "tests/source_folder.h"

namespace limpid::encoders {
namespace {

namespace fs = std::filesystem;

const fs::path kFixtures = testing::source_folder() / "tests/huggingface";

struct Expected {
  std::vector<std::vector<std::int32_t>> texts;
  Tensor rows;
};

Expected expected_of(const fs::path& folder) {
  const Params all = load_safetensors(folder / "expected.safetensors").tensors;
  Expected expected{.texts = {}, .rows = all.at("rows")};
  for (int i = 0; all.find(fmt::format("tokens.{}", i)); ++i) {
    const auto tokens = all.at(fmt::format("tokens.{}", i)).values<std::int32_t>();
    expected.texts.emplace_back(tokens.begin(), tokens.end());
  }
  return expected;
}

void expect_near(const Tensor& ours, const Tensor& theirs, double tolerance) {
  ASSERT_EQ(ours.shape(), theirs.shape());
  double largest = 0;
  for (std::size_t i = 0; i < theirs.values<float>().size(); ++i) {
    const double a = static_cast<double>(ours.values<float>()[i]);
    const double b = static_cast<double>(theirs.values<float>()[i]);
    EXPECT_LE(std::fabs(a - b), tolerance * (1 + std::fabs(b))) << i;
    largest = std::max(largest, std::fabs(b));
  }
  EXPECT_GT(largest, 0.3);
}

void expect_same_bits(std::span<const float> a, std::span<const float> b) {
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  }));
}

class Encoder : public ::testing::TestWithParam<const char*> {
 protected:
  const fs::path folder_ = kFixtures / GetParam();
  const Expected expected_ = expected_of(folder_);
};

TEST_P(Encoder, HasTheRowsOfPyTorch) {
  expect_near(TextEmbedder(open_model(folder_))(expected_.texts), expected_.rows, 1e-5);
}

TEST_P(Encoder, GivesATextTheSameBitsAloneAndHoweverItIsPadded) {
  const Model model = open_model(folder_);
  const TextEmbedder embed(model);
  const Tensor together = embed(expected_.texts);
  const auto width = static_cast<std::size_t>(embed.size());
  for (std::size_t i = 0; i < expected_.texts.size(); ++i) {
    const auto row = together.values<float>().subspan(i * width, width);
    expect_same_bits(embed(std::span(&expected_.texts[i], 1)).values<float>(), row);
    // The function of the file, whose length is the context.
    std::vector<std::int32_t> padded = expected_.texts[i];
    padded.resize(static_cast<std::size_t>(embed.net().context), 7);
    const std::vector<Tensor> alone = predict(
        model,
        Params{{"tokens", Tensor::from<std::int32_t>({embed.net().context}, padded)},
               {"count", Tensor::scalar(static_cast<std::int32_t>(expected_.texts[i].size()))}});
    expect_same_bits(alone[0].values<float>(), row);
  }
}

TEST_P(Encoder, BecomesAModelOfOneFile) {
  const Model model = open_model(folder_);
  const testing::TemporaryFolder out;
  save_model(out / "m.safetensors", model);
  const Model back = load_model(out / "m.safetensors");
  EXPECT_EQ(back.function, model.function);
  EXPECT_EQ(text_encoder_of(back)->config(), text_encoder_of(model)->config());
  expect_same_bits(TextEmbedder(back)(expected_.texts).values<float>(),
                   TextEmbedder(model)(expected_.texts).values<float>());
}

TEST_P(Encoder, MayBeQuantized) {
  const Model model = open_model(folder_);
  Quantized narrow = quantize(model.function, model.params, {.to = Dtype::kI8});
  const TextEmbedder embed({std::move(narrow.function), std::move(narrow.params), model.config});
  expect_near(embed(expected_.texts), expected_.rows, 0.2);
}

INSTANTIATE_TEST_SUITE_P(HuggingFace, Encoder,
                         ::testing::Values("bert", "bert-classes", "xlm-roberta", "roberta-classes",
                                           "distilbert-classes", "mpnet"),
                         [](const auto& family) {
                           std::string name = family.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(TextEmbedder, HasTheLabelsOfTheFolder) {
  EXPECT_EQ(TextEmbedder(open_model(kFixtures / "roberta-classes")).labels(),
            (std::vector<std::string>{"bad", "fair", "good"}));
  EXPECT_TRUE(TextEmbedder(open_model(kFixtures / "distilbert-classes")).labels().empty());
}

TEST(TextEmbedder, TakesTexts) {
  const TextEmbedder embed(open_model(kFixtures / "bert"));
  const std::vector<std::int32_t> tokens{2, 5, 6, 10, 8, 18, 3};
  EXPECT_EQ(embed.tokens("The cats sits."), tokens);
  expect_same_bits(embed({"The cats sits.", "a"}).values<float>().first(16),
                   embed(std::span(&tokens, 1)).values<float>());
}

TEST(TextEmbedder, TruncatesWhereItIsAsked) {
  const TextEmbedder embed(open_model(kFixtures / "bert"));
  std::string text;
  for (int i = 0; i < 60; ++i) text += "a ";
  expect_refused(ErrorCode::kInvalidArgument, [&] { embed.tokens(text); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { embed({"a", text}); });
  std::vector<std::int32_t> tokens(40, 12);
  tokens.front() = 2;
  tokens.back() = 3;
  EXPECT_EQ(embed.tokens(text, true), tokens);
}

// Whatever a text has beyond what its tokens can have is not encoded.
TEST(TextEmbedder, BoundsTheWorkForALongText) {
  const TextEmbedder embed(open_model(kFixtures / "bert"));
  std::string text;
  for (int i = 0; i < 100; ++i) text += "a ";
  const std::vector<std::int32_t> tokens = embed.tokens(text, true);
  text.resize(std::size_t{60} << 20, '\xc3');  // half a character, and so no text
  expect_refused(ErrorCode::kInvalidArgument, [&] { embed.tokens(text); });
  text.replace(200, 60'000, std::string(60'000, 'b'));
  EXPECT_EQ(embed.tokens(text, true), tokens);
}

// ---- two texts as one

const std::vector<std::string> kDocuments{"a dog runs!", "The cat sits.", "a"};

TEST(CrossEncoder, ReadsAQueryWithEachDocument) {
  const Params all = load_safetensors(kFixtures / "bert-pairs/expected.safetensors").tensors;
  const Expected expected = expected_of(kFixtures / "bert-pairs");
  const TextEmbedder embed(open_model(kFixtures / "bert-pairs"));
  const TextEmbedder::Pairs pairs = embed.pairs("the cat sits.", kDocuments);
  EXPECT_EQ(pairs.texts, expected.texts);
  const auto seconds = all.at("seconds").values<std::int32_t>();
  EXPECT_EQ(pairs.seconds, std::vector<std::int32_t>(seconds.begin(), seconds.end()));
  const Tensor rows = embed(pairs);
  expect_near(rows, expected.rows, 1e-5);
  // Alone, and padded with others, a pair has the same bits.
  for (std::size_t i = 0; i < kDocuments.size(); ++i)
    expect_same_bits(embed(embed.pairs("the cat sits.", {&kDocuments[i], 1})).values<float>(),
                     rows.values<float>().subspan(i, 1));
  // The types of the tokens count.
  EXPECT_NE(embed(pairs.texts).values<float>()[0], rows.values<float>()[0]);
}

// As the tokenizers library truncates: the longer text first, then both.
TEST(CrossEncoder, TruncatesTheLongerText) {
  const TextEmbedder embed(open_model(kFixtures / "bert-pairs"));
  const auto sizes = [&](std::size_t query, std::size_t document) {
    std::string a, b;
    for (std::size_t i = 0; i < query; ++i) a += "a ";
    for (std::size_t i = 0; i < document; ++i) b += "b ";
    const std::vector<std::int32_t> ids = embed.pairs(a, {&b, 1}, true).texts[0];
    return std::pair(std::count(ids.begin(), ids.end(), 12),
                     std::count(ids.begin(), ids.end(), 13));
  };
  EXPECT_EQ(sizes(10, 27), (std::pair<std::ptrdiff_t, std::ptrdiff_t>(10, 27)));
  EXPECT_EQ(sizes(10, 60), (std::pair<std::ptrdiff_t, std::ptrdiff_t>(10, 27)));
  EXPECT_EQ(sizes(60, 10), (std::pair<std::ptrdiff_t, std::ptrdiff_t>(27, 10)));
  EXPECT_EQ(sizes(60, 50), (std::pair<std::ptrdiff_t, std::ptrdiff_t>(19, 18)));
  EXPECT_EQ(sizes(50, 50), (std::pair<std::ptrdiff_t, std::ptrdiff_t>(18, 19)));
  const std::vector<std::string> documents{"a", "b " + std::string(90, '.')};
  expect_refused(ErrorCode::kInvalidArgument, [&] { embed.pairs("a", documents); });
}

TEST(CrossEncoder, NeedsATemplateOfTwoTexts) {
  const auto with = [](const Json& processor) {
    Json tokenizer = Json::parse(testing::read(kFixtures / "bert/tokenizer.json"), kTokenizerJson);
    tokenizer["post_processor"] = processor;
    return TextPipeline(tokenizer).pair();
  };
  const auto special = [](const char* id, int type) {
    return Json{{"SpecialToken", {{"id", id}, {"type_id", type}}}};
  };
  const auto text = [](const char* id, int type) {
    return Json{{"Sequence", {{"id", id}, {"type_id", type}}}};
  };
  const auto of = [&](const Json& pair) {
    return with({{"type", "TemplateProcessing"},
                 {"single", Json::array({text("A", 0)})},
                 {"pair", pair},
                 {"special_tokens",
                  {{"[CLS]", {{"id", "[CLS]"}, {"ids", Json::array({2})}}},
                   {"[SEP]", {{"id", "[SEP]"}, {"ids", Json::array({3})}}}}}});
  };
  const auto bert = of(Json::array(
      {special("[CLS]", 0), text("A", 0), special("[SEP]", 0), text("B", 1), special("[SEP]", 1)}));
  ASSERT_TRUE(bert);
  EXPECT_EQ(bert->before, (std::vector<std::int32_t>{2}));
  EXPECT_EQ(bert->between, (std::vector<std::int32_t>{3}));
  EXPECT_EQ(bert->after, (std::vector<std::int32_t>{3}));
  EXPECT_EQ(bert->second, std::size_t{1});
  const auto one_type =
      of(Json::array({text("A", 0), special("[SEP]", 0), special("[SEP]", 0), text("B", 0)}));
  ASSERT_TRUE(one_type);
  EXPECT_EQ(one_type->between.size(), 2u);
  EXPECT_FALSE(one_type->second);
  EXPECT_EQ(of(Json::array({text("A", 0), special("[SEP]", 1), text("B", 1)}))->second,
            std::size_t{0});
  for (const Json& none : {Json::array({text("B", 0), text("A", 1)}),
                           Json::array({text("A", 1), text("B", 0)}), Json::array({text("A", 0)}),
                           Json::array({text("A", 0), text("B", 0), special("[SEP]", 1)}), Json(3)})
    EXPECT_FALSE(of(none));
  const auto roberta = with({{"type", "RobertaProcessing"},
                             {"sep", Json::array({"[SEP]", 3})},
                             {"cls", Json::array({"[CLS]", 2})}});
  EXPECT_EQ(roberta->between, (std::vector<std::int32_t>{3, 3}));
  EXPECT_FALSE(roberta->second);
}

TEST(TextEncoder, NeedsTwoTypesForAPair) {
  const nn::TextEncoder net{
      .vocabulary = 5, .context = 8, .layers = 1, .width = 4, .heads = 1, .hidden = 4};
  expect_refused(ErrorCode::kInvalidArgument, [&] { net.function(8, true); });
}

TEST(TextEmbedder, RefusesTokensThatTheModelDoesNotTake) {
  const TextEmbedder embed(open_model(kFixtures / "bert"));
  for (const std::vector<std::int32_t>& tokens :
       {std::vector<std::int32_t>{}, {29}, {-1}, std::vector<std::int32_t>(41, 5)})
    expect_refused(ErrorCode::kInvalidArgument, [&] { embed(std::span(&tokens, 1)); });
}

TEST(TextEmbedder, RefusesOtherModels) {
  expect_refused(ErrorCode::kInvalidArgument,
                 [] { TextEmbedder(open_model(kFixtures / "llama")); });
}

TEST(TextEncoder, PadsToFewLengths) {
  const nn::TextEncoder net{.vocabulary = 10, .context = 100};
  std::vector<std::int64_t> lengths;
  for (std::int64_t count = 1; count <= 100; ++count)
    if (lengths.empty() || net.padded(count) != lengths.back())
      lengths.push_back(net.padded(count));
  EXPECT_EQ(lengths, (std::vector<std::int64_t>{8, 12, 16, 24, 32, 48, 64, 96, 100}));
}

// The parameters that are initialised are those of the function.
TEST(TextEncoder, InitialisesItsParameters) {
  const nn::TextEncoder net{.vocabulary = 10,
                            .context = 8,
                            .layers = 1,
                            .width = 8,
                            .heads = 2,
                            .hidden = 12,
                            .token_types = 2,
                            .distances = 8,
                            .normalize = true,
                            .classes = 3};
  const Params params = net.init(Key(1));
  const std::vector<Input> inputs = net.parameters();
  ASSERT_EQ(params.size(), inputs.size());
  for (const Input& input : inputs) EXPECT_EQ(params.at(input.name).type(), input.type);
  EXPECT_EQ(nn::TextEncoder::from_config(net.config()).config(), net.config());
}

// ---- folders that are refused

class ChangedEncoder {
 public:
  explicit ChangedEncoder(const char* fixture) {
    fs::copy(kFixtures / fixture, folder_.path(), fs::copy_options::recursive);
  }

  // Sets a key of a file; the code with which the folder is then refused.
  void set(const char* file, const char* key, const Json& value) {
    const fs::path path = folder_.path() / file;
    Json json = Json::parse(testing::read(path));
    (json.is_array() ? json.elements().back() : json)[key] = value;
    testing::write(path, testing::bytes_of(json.dump()));
  }
  void expect(ErrorCode code) {
    expect_refused(code, [&] { load_huggingface(folder_.path()); });
  }

 private:
  testing::TemporaryFolder folder_;
};

void expect_refusal(const char* fixture, const char* file, const char* key, const Json& value,
                    ErrorCode code) {
  ChangedEncoder changed(fixture);
  changed.set(file, key, value);
  changed.expect(code);
}

TEST(EncoderFolder, WhoseConfigurationIsAnotherModelIsRefused) {
  const auto config = [](const char* key, const Json& value, ErrorCode code) {
    expect_refusal("bert", "config.json", key, value, code);
  };
  config("model_type", "t5", ErrorCode::kUnsupported);
  config("architectures", Json::array({"BertForTokenClassification"}), ErrorCode::kUnsupported);
  config("architectures", "BertModel", ErrorCode::kFormat);
  config("position_embedding_type", "relative_key", ErrorCode::kUnsupported);
  config("hidden_act", "silu", ErrorCode::kUnsupported);
  config("is_decoder", true, ErrorCode::kUnsupported);
  config("quantization_config", Json::object(), ErrorCode::kUnsupported);
  config("hidden_size", Json(), ErrorCode::kFormat);
  config("num_attention_heads", 3, ErrorCode::kFormat);
  config("max_position_embeddings", 41, ErrorCode::kFormat);
  config("num_hidden_layers", 3, ErrorCode::kFormat);
  config("num_hidden_layers", 1, ErrorCode::kFormat);
  expect_refusal("xlm-roberta", "config.json", "pad_token_id", 3, ErrorCode::kUnsupported);
  expect_refusal("xlm-roberta", "config.json", "max_position_embeddings", 2, ErrorCode::kFormat);
  expect_refusal("mpnet", "config.json", "relative_attention_num_buckets", 30, ErrorCode::kFormat);
  expect_refusal("roberta-classes", "config.json", "id2label", {{"0", "x"}, {"1", "y"}, {"3", "z"}},
                 ErrorCode::kFormat);
  expect_refusal("roberta-classes", "config.json", "id2label", {{"0", "x"}}, ErrorCode::kFormat);
}

TEST(EncoderFolder, WhoseModulesAreOthersIsRefused) {
  const auto last = [](const char* key, const Json& value, ErrorCode code) {
    expect_refusal("mpnet", "modules.json", key, value, code);
  };
  last("type", "sentence_transformers.models.Dense", ErrorCode::kUnsupported);
  last("path", "../1_Pooling", ErrorCode::kFormat);
  last("path", "..", ErrorCode::kFormat);
  last("path", "2_Pooling", ErrorCode::kIo);
  const auto pooling = [](const char* key, const Json& value, ErrorCode code) {
    expect_refusal("mpnet", "1_Pooling/config.json", key, value, code);
  };
  pooling("pooling_mode_mean_tokens", true, ErrorCode::kUnsupported);
  pooling("pooling_mode_cls_token", false, ErrorCode::kUnsupported);
  pooling("pooling_mode_lasttoken", true, ErrorCode::kUnsupported);
  pooling("word_embedding_dimension", 17, ErrorCode::kFormat);
}

// The table of positions may have more rows than sentence-transformers takes tokens.
TEST(EncoderFolder, MayTakeFewerTokensThanItHasPositions) {
  const testing::TemporaryFolder folder;
  fs::copy(kFixtures / "xlm-roberta", folder.path(), fs::copy_options::recursive);
  testing::write(folder / "sentence_bert_config.json",
                 testing::bytes_of(R"({"max_seq_length": 20, "do_lower_case": false})"));
  const TextEmbedder embed(open_model(folder.path()));
  EXPECT_EQ(embed.net().context, 20);
  const Expected expected = expected_of(kFixtures / "xlm-roberta");
  expect_same_bits(
      embed(std::span(expected.texts).first(3)).values<float>(),
      TextEmbedder(open_model(kFixtures / "xlm-roberta"))(std::span(expected.texts).first(3))
          .values<float>());
}

}  // namespace
}  // namespace limpid::encoders
