#include "limpid/models/open_model.h"

#include <fstream>
#include <sstream>

#include "limpid/data/chat/chat.h"
#include "limpid/data/data_config.h"
#include "limpid/data/digits.h"
#include "limpid/models/pretrained.h"
#include "limpid/models/prompt.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/mlp.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"
#include "tests/source_folder.h"

namespace limpid {
namespace {

using testing::bytes_of;
using testing::TemporaryFolder;

Model small_model() {
  const nn::Mlp net{{2, 3}};
  return {net.function(), net.init(Key(1)), net.config()};
}

void expect_same(const Model& a, const Model& b) {
  EXPECT_EQ(a.function, b.function);
  EXPECT_EQ(a.config, b.config);
  ASSERT_EQ(a.params.names(), b.params.names());
  for (const auto& [name, value] : a.params)
    EXPECT_TRUE(value.same_bits(b.params.at(name))) << name;
}

TEST(OpenModel, SafetensorsUnderAnyName) {
  const TemporaryFolder folder;
  const Model model = small_model();
  for (const char* const name : {"m.safetensors", "m", "m.bin"}) {
    write_model(folder / name, model);
    expect_same(open_model(folder / name), model);
  }
}

TEST(OpenModel, TheFolderOfARun) {
  const TemporaryFolder folder;
  save_model(folder / kRunModelFile, small_model());
  testing::write(folder / "config.json", bytes_of(R"({"data": "moons"})"));
  expect_same(open_model(folder.path()), small_model());
  expect_same(open_model(folder.path() / ""), small_model());
}

TEST(OpenModel, AFolderOfHuggingFace) {
  const std::filesystem::path gpt2 = testing::source_folder() / "tests/huggingface/gpt2";
  expect_same(open_model(gpt2), load_pretrained(gpt2));
}

TEST(OpenModel, AFolderOfHuggingFaceIsWrittenWhereTheNameEndsWithASlash) {
  const TemporaryFolder folder;
  const nn::Gpt net{
      .vocabulary = 5, .context = 3, .layers = 1, .width = 4, .heads = 1, .bias = true};
  const Model model{net.function(), net.init(Key(0)), net.config()};
  write_model(folder.path() / "gpt" / "", model);
  EXPECT_TRUE(std::filesystem::exists(folder / "gpt/config.json"));
  const Model back = open_model(folder / "gpt");
  EXPECT_EQ(back.params.names(), model.params.names());
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { write_model(folder.path() / "mlp" / "", small_model()); });
}

// More logits than tokens are usual: sizes are rounded up.
TEST(OpenModel, AFolderOfHuggingFaceHasALogitForEachTokenOfItsTokenizer) {
  const auto folder_of = [](const TemporaryFolder& folder, std::int64_t vocabulary) {
    const nn::Gpt net{
        .vocabulary = vocabulary, .context = 3, .layers = 1, .width = 4, .heads = 1, .bias = true};
    write_model(folder.path() / "gpt" / "", {net.function(), net.init(Key(0)), net.config()});
    for (const char* const name : {"vocab.json", "merges.txt"})
      std::filesystem::copy_file(testing::source_folder() / "tests/data/byte_pair" / name,
                                 folder / "gpt" / name);
    return folder / "gpt";
  };
  for (const std::int64_t vocabulary : {508, 509}) {
    const TemporaryFolder folder;
    const Model model = open_model(folder_of(folder, vocabulary));
    EXPECT_EQ(tokenizer_of(*data_config_of(model))->size(), 508) << vocabulary;
  }
  const TemporaryFolder folder;
  const std::filesystem::path small = folder_of(folder, 507);
  expect_refused(ErrorCode::kFormat, [&] { open_model(small); });
}

class HuggingFaceTokenizer : public ::testing::Test {
 protected:
  static Model without_tokenizer() {
    const nn::Gpt net{
        .vocabulary = 508, .context = 3, .layers = 1, .width = 4, .heads = 1, .bias = true};
    return {net.function(), net.init(Key(0)), net.config()};
  }
  // A model with the tokenizer of the fixture, whose token 3 ends a text.
  Model model() const {
    const std::filesystem::path gpt = folder_ / "given";
    write_model(gpt / "", without_tokenizer());
    for (const char* const name : {"vocab.json", "merges.txt"})
      std::filesystem::copy_file(testing::source_folder() / "tests/data/byte_pair" / name,
                                 gpt / name);
    std::stringstream text;
    text << std::ifstream(gpt / "config.json").rdbuf();
    Json config = Json::parse(text.str());
    config["eos_token_id"] = 3;
    std::ofstream(gpt / "config.json") << config.dump();
    return open_model(gpt);
  }

  const TemporaryFolder folder_;
};

TEST_F(HuggingFaceTokenizer, ComesBackWithItsEnd) {
  const Model given = model();
  write_model(folder_.path() / "copy" / "", given);
  const Tokenizer back = tokenizer_of(open_model(folder_ / "copy"));
  EXPECT_EQ(back.marks().end, 3);
  EXPECT_TRUE(back == tokenizer_of(given));
}

TEST_F(HuggingFaceTokenizer, ComesWithTheChatOfItsFolder) {
  const std::filesystem::path gpt = folder_ / "given";
  EXPECT_FALSE(Json::parse(model().config).contains("chat"));
  testing::write(gpt / "chat_template.jinja", bytes_of("T"));
  EXPECT_EQ(Json::parse(open_model(gpt).config).at("chat"), load_chat_config(gpt));
}

// The numbers of a model are of use without a tokenizer, too; a prompt is refused with its reason.
TEST_F(HuggingFaceTokenizer, OfAnotherKindLeavesItsReason) {
  model();
  testing::write(folder_ / "given/tokenizer.json", bytes_of(R"({"model": {"type": "Other"}})"));
  const Model without = open_model(folder_ / "given");
  expect_refused(ErrorCode::kInvalidArgument, [&] { tokenizer_of(without); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { tokenizer_of(without); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { tokenizer_of(small_model()); });
}

// Its own replaces vocab.json and merges.txt; nothing of a model is written beside another's.
TEST_F(HuggingFaceTokenizer, IsNotThatOfAnotherModel) {
  const Model given = model();
  const std::filesystem::path old = folder_ / "old";
  write_model(old / "", given);
  EXPECT_NO_THROW(write_model(old / "", given));
  std::filesystem::remove(old / "model.safetensors");
  expect_refused(ErrorCode::kInvalidArgument, [&] { write_model(old / "", without_tokenizer()); });
  std::ofstream(old / "tokenizer.json") << "{}";
  expect_refused(ErrorCode::kInvalidArgument, [&] { write_model(old / "", given); });
  EXPECT_FALSE(std::filesystem::exists(old / "model.safetensors"));
}

// `limpid convert` says what a folder of Hugging Face has no place for.
TEST(OpenModel, AFolderOfHuggingFaceLosesTheNamesOfTheData) {
  using Names = std::vector<std::string>;
  const auto lost = [](const DataConfig& data) {
    return lost_in_pretrained({Function(), {}, Json{{"data", to_json(data)}}.dump()});
  };
  EXPECT_EQ(lost({.task = Task::kRegression, .feature_names = {"x"}}), Names{"the column names"});
  EXPECT_EQ(lost({.task = Task::kRegression, .target_names = {"y"}}), Names{"the column names"});
  EXPECT_EQ(lost({.task = Task::kClassification, .class_names = {"cat", "dog"}}),
            Names{"the class names"});
  EXPECT_EQ(
      lost({.task = Task::kRegression,
            .table =
                TableSchema{.task = Task::kRegression, .features = {{"x"}}, .targets = {{"y"}}}}),
      Names{"the column names"});
  // The class names of a language model are the characters of its tokenizer.
  EXPECT_EQ(lost({.task = Task::kNextToken, .class_names = {"a", "b"}}), Names{"the tokenizer"});
}

TEST(OpenModel, ThatIsNotThereOrBroken) {
  const TemporaryFolder folder;
  expect_refused(ErrorCode::kIo, [&] { open_model(folder / "none.safetensors"); });
  expect_refused(ErrorCode::kIo, [&] { open_model(folder.path()); });
  expect_refused(ErrorCode::kIo, [&] { open_model(folder.path() / "none" / ""); });
  expect_refused(ErrorCode::kIo, [&] { open_model(""); });
  testing::write(folder / "m", bytes_of("no safetensors file"));
  expect_refused(ErrorCode::kFormat, [&] { open_model(folder / "m"); });
  testing::write(folder / "config.json", bytes_of(R"({"model_type": "t5"})"));
  expect_refused(ErrorCode::kUnsupported, [&] { open_model(folder.path()); });
}

// ---- another library's format

std::filesystem::path written_path;
std::optional<std::int64_t> written_batch;
constexpr ModelFormat kAnother{
    .load =
        [](const std::filesystem::path& path, const Dimensions& dimensions) {
          Model model = small_model();
          model.config = path.filename().string() + " " + std::to_string(dimensions.at("length"));
          return model;
        },
    .save =
        [](const std::filesystem::path& path, const Model&, std::optional<std::int64_t> batch) {
          written_path = path;
          written_batch = batch;
        }};

TEST(OpenModel, OnnxByTheFormatThatIsPassed) {
  const Model model = open_model("a/m.onnx", {.onnx = &kAnother, .dimensions = {{"length", 7}}});
  EXPECT_EQ(model.config, "m.onnx 7");
  write_model("b/m.onnx", model, {.onnx = &kAnother, .batch = 3});
  EXPECT_EQ(written_path, "b/m.onnx");
  EXPECT_EQ(written_batch, 3);
}

TEST(OpenModel, OnnxWithoutItsComponentSaysWhatIsMissing) {
  expect_refused(ErrorCode::kUnsupported, [] { open_model("m.onnx"); });
  expect_refused(ErrorCode::kUnsupported, [] { write_model("m.onnx", small_model()); });
}

TEST(OpenModel, OptionsOfOnnxAreForItAlone) {
  const TemporaryFolder folder;
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    open_model(folder / "m", {.dimensions = {{"n", 1}}});
  });
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { write_model(folder / "m", small_model(), {.batch = 1}); });
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace limpid
