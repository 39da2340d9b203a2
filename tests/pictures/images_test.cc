// Folders and tables of picture files as data sets.
#include "limpid/data/pictures/images.h"

#include <fmt/format.h>

#include <filesystem>
#include <thread>

#include "limpid/data/load_data.h"
#include "limpid/data/pictures/picture_example.h"
#include "limpid/nn/mlp.h"
#include "tests/formats/helpers.h"
#include "tests/pictures/picture_files.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

namespace fs = std::filesystem;
using testing::bytes_of;
using namespace std::string_literals;

// A grey picture of one value.
std::string grey(int value, std::uint32_t height = 2, std::uint32_t width = 3) {
  return testing::png_file(
      {height, width, testing::kPngGrey, 8, std::string(height * width, static_cast<char>(value))});
}

std::string coloured(int value, std::uint32_t height = 2, std::uint32_t width = 3) {
  return testing::png_file({height, width, testing::kPngRgb, 8,
                            std::string(3 * height * width, static_cast<char>(value))});
}

class Images : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& content) {
    fs::create_directories((folder_ / name).parent_path());
    testing::write(folder_ / name, bytes_of(content));
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  // Three cats and two dogs, whose values are ten times and a hundred times their numbers.
  void put_pets(const std::string& folder) {
    for (int i = 0; i < 3; ++i) put(fmt::format("{}/cat/{}.png", folder, i), grey(10 * i));
    for (int i = 0; i < 2; ++i) put(fmt::format("{}/dog/{}.png", folder, i), grey(100 * i));
  }
  Split load(const std::string& name, const ImagesOptions& options = {}) const {
    return load_images(at(name), options);
  }
  void refused(ErrorCode code, const std::string& name, const ImagesOptions& options = {},
               int line = __builtin_LINE()) {
    expect_refused(
        code, [&] { load(name, options); }, line);
  }

  testing::TemporaryFolder folder_;
};

// The first number of each row, as bytes.
std::vector<int> values_of(const Dataset& data) {
  std::vector<int> all;
  for (std::int64_t i = 0; i < data.size(); ++i)
    all.push_back(static_cast<int>(std::lround(data.inputs_of(i, 1).values<float>()[0] * 255)));
  return all;
}

std::vector<std::int32_t> labels_of(const Dataset& data) {
  const auto labels = data.targets.values<std::int32_t>();
  return {labels.begin(), labels.end()};
}

Model model_of(const Dataset& data) {
  const nn::Mlp net{{data.inputs.shape()[1], std::max<std::int64_t>(2, data.classes)}};
  Model model{net.function(), net.init(Key(0)), net.config()};
  model.config = R"({"data": )" + to_json(data_config(data)).dump() + "}";
  return model;
}

TEST_F(Images, AFolderForEachClass) {
  put_pets("pets");
  put("pets/cat/deeper/9.JPEG", testing::jpeg_file({2, 3, 1, std::string(6, '\x42')}));
  put("pets/.hidden/1.png", "none");
  put("pets/cat/.thumbnail.png", "none");
  put("pets/cat/notes.txt", "none");
  put("pets/README", "none");
  const Split split = load("pets/");
  const Dataset& data = split.train;
  EXPECT_EQ(split.test.size(), 0);
  EXPECT_EQ(split.validation.size(), 0);
  EXPECT_EQ(data.name, "pets");
  EXPECT_EQ(data.task, Task::kClassification);
  EXPECT_EQ(data.classes, 2);
  EXPECT_EQ(data.class_names, (std::vector{"cat"s, "dog"s}));
  EXPECT_EQ(data.picture, (PictureShape{1, 2, 3}));
  EXPECT_EQ(data.inputs.shape(), (Shape{6, 6}));
  EXPECT_EQ(values_of(data), (std::vector{0, 10, 20, 0x42, 0, 100}));
  EXPECT_EQ(labels_of(data), (std::vector<std::int32_t>{0, 0, 0, 0, 1, 1}));
  ASSERT_EQ(data.notes.size(), 1U);
  expect_message(data.notes.front());
  EXPECT_FALSE(data.rows_of_table);
}

TEST_F(Images, ClassesThatAreNumbersAreInTheirOrder) {
  for (const int i : {0, 2, 10, 7}) put(fmt::format("set/{}/a.png", i), grey(i));
  const Dataset data = load("set").train;
  EXPECT_EQ(data.class_names, (std::vector{"0"s, "2"s, "7"s, "10"s}));
  EXPECT_EQ(values_of(data), (std::vector{0, 10, 2, 7}));
  EXPECT_EQ(labels_of(data), (std::vector<std::int32_t>{0, 3, 1, 2}));
}

TEST_F(Images, PartsOfAFolder) {
  put_pets("set/train");
  put("set/test/dog/a.png", grey(7));
  EXPECT_EQ(load("set").train.size(), 5);
  EXPECT_EQ(values_of(load("set").test), std::vector{7});
  EXPECT_EQ(labels_of(load("set").test), std::vector<std::int32_t>{1});
  EXPECT_EQ(load("set").validation.size(), 0);
  put("set/val/cat/b.png", grey(8));
  EXPECT_EQ(values_of(load("set").validation), std::vector{8});
  EXPECT_EQ(values_of(load("set").test), std::vector{7});
  fs::remove_all(folder_ / "set/test");
  EXPECT_EQ(values_of(load("set").test), std::vector{8});
  EXPECT_EQ(load("set").validation.size(), 0);
  put("set/val/zebra/b.png", grey(8));
  refused(ErrorCode::kFormat, "set");
}

TEST_F(Images, ATableOfFilesAndLabels) {
  put_pets("pets");
  put("table.csv", "id,label,file\n1,b,pets/cat/1.png\n2,a,pets/cat/2.png\n3,b,pets/dog/1.png\n");
  const Dataset data = load("table.csv").train;
  EXPECT_EQ(data.class_names, (std::vector{"a"s, "b"s}));
  EXPECT_EQ(values_of(data), (std::vector{10, 20, 100}));
  EXPECT_EQ(labels_of(data), (std::vector<std::int32_t>{1, 0, 1}));
  put("semicolons.csv", "\xef\xbb\xbf\"file\";label\npets/cat/1.png;\"x;y\"\npets/cat/2.png;z\n");
  EXPECT_EQ(load("semicolons.csv").train.class_names, (std::vector{"x;y"s, "z"s}));

  put("new.csv", "file\npets/cat/1.png\n");
  refused(ErrorCode::kFormat, "new.csv");
  const ImagesOptions unlabelled{.targets = Targets::kIfPresent, .classes = {{"a"s, "b"s}}};
  const Dataset rows = load("new.csv", unlabelled).train;
  EXPECT_EQ(rows.target_type().shape.elements(), 0);
  EXPECT_EQ(rows.classes, 2);
  put("short.csv", "file,label\npets/cat/1.png\n");
  put("empty.csv", "file,label\npets/cat/1.png,\n");
  put("nameless.csv", "file,label\n,a\n");
  put("missing.csv", "file,label\npets/none.png,a\npets/none.png,b\n");
  put("nothing.csv", "");
  put("header.csv", "file,label\n");
  put("one.csv", "file,label\npets/cat/1.png,a\n");
  for (const char* name :
       {"short.csv", "empty.csv", "nameless.csv", "nothing.csv", "header.csv", "one.csv"})
    refused(ErrorCode::kFormat, name);
  refused(ErrorCode::kIo, "missing.csv");
  EXPECT_EQ(load("empty.csv", unlabelled).train.target_type().shape.elements(), 0);
}

TEST_F(Images, OfSeveralSizesNeedAnOption) {
  put_pets("pets");
  put("pets/dog/9.png", grey(50, 4, 4));
  refused(ErrorCode::kFormat, "pets");
  const Dataset data = load("pets", {.size = PictureSize{4, 2}}).train;
  EXPECT_EQ(data.picture, (PictureShape{1, 4, 2}));
  EXPECT_EQ(values_of(data), (std::vector{0, 10, 20, 0, 100, 50}));
}

TEST_F(Images, AreInColourIfOneIs) {
  put_pets("pets");
  EXPECT_EQ(load("pets").train.picture->channels, 1);
  EXPECT_EQ(load("pets", {.colour = PictureColour::kRgb}).train.picture->channels, 3);
  put("pets/dog/9.png", coloured(9));
  const Dataset data = load("pets").train;
  EXPECT_EQ(data.picture, (PictureShape{3, 2, 3}));
  EXPECT_EQ(data.inputs.shape(), (Shape{6, 18}));
  EXPECT_EQ(load("pets", {.colour = PictureColour::kGrey}).train.picture->channels, 1);
}

TEST_F(Images, BrokenOnesAreNamedOrLeftOut) {
  put_pets("pets");
  const std::string good = grey(77);
  put("pets/cat/3.png", "\x89PNG\r\n\x1a\nbroken");
  refused(ErrorCode::kFormat, "pets");
  const ImagesOptions skip{.broken = BrokenPictures::kSkip, .name_files = true};
  fs::remove(folder_ / "pets/cat/3.png");
  // The header is whole, the pixels are not.
  put("pets/cat/1.png", good.substr(0, good.size() - 20));
  const Dataset all = load("pets").train;
  EXPECT_EQ(all.size(), 5);
  expect_refused(ErrorCode::kFormat, [&] { all.inputs_of(1, 1).bytes(); });
  put("pets/dog/0.png", "nothing");
  const Dataset data = load("pets", skip).train;
  EXPECT_EQ(values_of(data), (std::vector{0, 20, 100}));
  EXPECT_EQ(labels_of(data), (std::vector<std::int32_t>{0, 0, 1}));
  ASSERT_EQ(data.notes.size(), 1U);
  expect_message(data.notes.front());
  ASSERT_TRUE(data.rows_of_table);
  EXPECT_EQ(data.rows_of_table->of_example, (std::vector<std::int64_t>{0, 2, 4}));
  EXPECT_EQ(data.rows_of_table->ids[4], "dog/1.png");
  EXPECT_EQ(data.rows_of_table->whole(), 5);
  ASSERT_EQ(data.rows_of_table->left_out.size(), 2U);
  EXPECT_EQ(data.rows_of_table->left_out[1].row, 3);
  for (const std::string name : {"cat/0", "cat/1", "cat/2", "dog/1"})
    put("pets/" + name + ".png", "nothing");
  refused(ErrorCode::kFormat, "pets", skip);
}

TEST_F(Images, FoldersThatAreNoDataSets) {
  refused(ErrorCode::kIo, "none");
  fs::create_directories(folder_ / "empty");
  refused(ErrorCode::kFormat, "empty");
  put("one/cat/1.png", grey(1));
  refused(ErrorCode::kFormat, "one");
  put("hollow/cat/1.png", grey(1));
  put("hollow/dog/1.gif", "GIF89a");
  refused(ErrorCode::kFormat, "hollow");
  put("beside/cat/1.png", grey(1));
  put("beside/dog/1.png", grey(1));
  put("beside/lost.png", grey(1));
  refused(ErrorCode::kFormat, "beside");
  put("latin/caf\xe9/1.png", grey(1));
  put("latin/dog/1.png", grey(1));
  refused(ErrorCode::kFormat, "latin");
}

// The run's hash of its data covers the pixels.
TEST_F(Images, TheHashOfTheDataIsThatOfThePixels) {
  put_pets("pets");
  const auto hash = [&] { return hash_of_parts(load("pets")); };
  const std::uint64_t before = hash();
  EXPECT_EQ(hash(), before);
  put("pets/dog/1.png", grey(101));
  const std::uint64_t after = hash();
  EXPECT_NE(after, before);
  // Another file of the same pixels.
  put("pets/dog/1.png", testing::png_file({.height = 2,
                                           .width = 3,
                                           .rows = std::string(6, '\x65'),
                                           .chunks = testing::png_chunk("tEXt", "x"s)}));
  EXPECT_EQ(hash(), after);
}

// A row has the same bits whoever reads it, and how often.
TEST_F(Images, RowsAreReadFromSeveralThreads) {
  for (int i = 0; i < 40; ++i) put(fmt::format("set/{}/{}.png", i % 2, i), grey(i, 9, 9));
  const Dataset data = load("set", {.size = PictureSize{5, 5}}).train;
  const Tensor expected = load("set", {.size = PictureSize{5, 5}}).train.inputs.read_once();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t i = 0; i < data.size(); ++i)
        wrong[t] += !data.inputs_of(i, 1).same_bits(expected.rows(i, 1));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::vector<int>(4)));
}

TEST_F(Images, LoadingCanBeEnded) {
  put_pets("pets");
  int files = 0;
  const ImagesOptions counted{.between = [&] {
    if (++files == 3) throw Error(ErrorCode::kIo, "stop");
  }};
  EXPECT_THROW(load("pets", counted), Error);
}

// ---- as a kind of data

TEST_F(Images, AreSplitUnlessTheyHaveParts) {
  for (int i = 0; i < 20; ++i) put(fmt::format("set/{}/{}.png", i % 2, i), grey(i));
  const Split split = load_data("images:" + at("set"));
  EXPECT_EQ(split.train.size(), 16);
  EXPECT_EQ(split.validation.size(), 2);
  EXPECT_EQ(split.test.size(), 2);
  EXPECT_EQ(split.test.picture, (PictureShape{1, 2, 3}));
  EXPECT_EQ(load_data("images:" + at("set") + ",split=3/1").train.size(), 15);
  put_pets("parts/train");
  put("parts/test/dog/a.png", grey(7));
  EXPECT_EQ(load_data("images:" + at("parts")).train.size(), 5);
  EXPECT_EQ(load_data("images:" + at("parts") + ",split=4/1").validation.size(), 1);
  EXPECT_EQ(load_data("images:" + at("parts") + ",size=5,colour=rgb").test.picture,
            (PictureShape{3, 5, 5}));
  EXPECT_EQ(scaling_of(parse_data_spec("images:" + at("set"))), Scaling::kNone);
  for (const std::string option : {"size=0", "size=9x", "size=8193", "size=3x4x5", "size=x",
                                   "colour=red", "broken=yes", "layout=nhwc"})
    expect_refused(ErrorCode::kParse, [&] { parse_data_spec("images:set," + option); });
}

TEST_F(Images, ExamplesAreBroughtToTheModelsPictures) {
  put_pets("pets");
  const std::string spec = "images:" + at("pets");
  const Model model = model_of(load_data(spec + ",size=4x6,split=3/1").train);
  put("new/dog/1.png", coloured(44, 8, 12));
  put("new/dog/2.png", grey(99));
  const Dataset rows = load_examples(parse_data_spec("images:" + at("new")), model);
  EXPECT_EQ(rows.picture, (PictureShape{1, 4, 6}));
  EXPECT_EQ(values_of(rows), (std::vector{44, 99}));
  EXPECT_EQ(labels_of(rows), (std::vector<std::int32_t>{1, 1}));
  EXPECT_EQ(rows.classes, 2);
  ASSERT_TRUE(rows.rows_of_table);
  EXPECT_EQ(rows.rows_of_table->ids, (std::vector{"dog/1.png"s, "dog/2.png"s}));
  EXPECT_EQ(load_examples(parse_data_spec(spec + ",size=4x6,colour=grey"), model).size(), 5);
  expect_refused(ErrorCode::kShape,
                 [&] { load_examples(parse_data_spec(spec + ",size=6x4"), model); });
  expect_refused(ErrorCode::kShape,
                 [&] { load_examples(parse_data_spec(spec + ",colour=rgb"), model); });
  put("new/zebra/1.png", grey(1));
  expect_refused(ErrorCode::kFormat,
                 [&] { load_examples(parse_data_spec("images:" + at("new")), model); });
  put("flat/b.png", grey(2));
  put("flat/a.png", grey(1));
  const DataSpec flat = parse_data_spec("images:" + at("flat"));
  const Dataset unlabelled = load_examples(flat, model, Targets::kIfPresent);
  EXPECT_EQ(values_of(unlabelled), (std::vector{1, 2}));
  EXPECT_EQ(unlabelled.target_type().shape.elements(), 0);
  expect_refused(ErrorCode::kFormat, [&] { load_examples(flat, model); });
}

TEST_F(Images, AModelKnowsWhatItsTrainingHeldOut) {
  for (int i = 0; i < 20; ++i) put(fmt::format("set/{}/{}.png", i % 2, i), grey(i));
  const DataSpec spec = parse_data_spec("images:" + at("set"));
  const Split split = load_data(spec);
  DataConfig config = data_config(split.train);
  config.split = record_of(split, split_rule_of(spec)->shares, 0);
  Model model = model_of(split.train);
  model.config = R"({"data": )" + to_json(config).dump() + "}";
  const HeldOut found = load_held_out(spec, model);
  EXPECT_EQ(found.part, HeldOut::Part::kTest);
  EXPECT_EQ(values_of(found.examples), values_of(split.test));
}

// A model whose classes have no names, as of IDX files.
TEST_F(Images, NumbersAreClassesWithoutNames) {
  Dataset data = load_examples(parse_data_spec("digits,count=2"), Model{});
  const Model model = model_of(data);
  put("set/7/a.png", grey(1, 30, 30));
  const DataSpec spec = parse_data_spec("images:" + at("set"));
  EXPECT_EQ(labels_of(load_examples(spec, model)), std::vector<std::int32_t>{7});
  put("set/seven/a.png", grey(1, 30, 30));
  expect_refused(ErrorCode::kFormat, [&] { load_examples(spec, model); });
}

TEST_F(Images, OfAModelOfAnotherTaskHaveNoTargets) {
  put_pets("pets");
  Dataset numbers = load_data("images:" + at("pets")).train;
  numbers.task = Task::kRegression;
  const DataSpec spec = parse_data_spec("images:" + at("pets"));
  const Dataset rows = load_examples(spec, model_of(numbers), Targets::kIfPresent);
  EXPECT_EQ(rows.task, Task::kRegression);
  EXPECT_EQ(rows.target_type().shape.elements(), 0);
  expect_refused(ErrorCode::kUnsupported, [&] { load_examples(spec, model_of(numbers)); });
}

TEST_F(Images, OnePictureForAModel) {
  put_pets("pets");
  const Model model = model_of(load_data("images:" + at("pets") + ",size=4x6,split=3/1").train);
  put("one.png", coloured(51, 8, 12));
  EXPECT_EQ(picture_shape_of(model), (PictureShape{1, 4, 6}));
  const Dataset one = load_picture(at("one.png"), model);
  EXPECT_EQ(one.size(), 1);
  EXPECT_EQ(values_of(one), std::vector{51});
  EXPECT_EQ(one.classes, 2);
  EXPECT_EQ(one.class_names, (std::vector{"cat"s, "dog"s}));
  put("broken.png", "x");
  expect_refused(ErrorCode::kFormat, [&] { load_picture(at("broken.png"), model); });
  expect_refused(ErrorCode::kIo, [&] { load_picture(at("none.png"), model); });
  const Model moons = model_of(load_data("moons,count=4").train);
  EXPECT_FALSE(picture_shape_of(moons));
  expect_refused(ErrorCode::kUnsupported, [&] { load_picture(at("one.png"), moons); });
  // Of an array of bytes white is 255.
  Dataset bytes = load_data("images:" + at("pets") + ",size=4x6,split=3/1").train;
  bytes.picture->white = 255;
  EXPECT_EQ(load_picture(at("one.png"), model_of(bytes)).inputs.values<float>()[0], 51.0f);
  bytes.picture->white = 0;
  EXPECT_FALSE(picture_shape_of(model_of(bytes)));
}

}  // namespace
}  // namespace limpid
