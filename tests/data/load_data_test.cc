#include "limpid/data/load_data.h"

#include "limpid/data/arrays.h"
#include "limpid/data/data_config.h"
#include "limpid/data/digits.h"
#include "limpid/data/split.h"
#include "limpid/data/synthetic.h"
#include "limpid/formats/npy.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/mlp.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using namespace std::string_literals;
using testing::bytes_of;

// Both have the same bits, or neither exists.
void expect_same(const Dataset& a, const Dataset& b) {
  ASSERT_EQ(a.size(), b.size());
  if (a.size() == 0) return;
  EXPECT_TRUE(a.inputs_of(0, a.size()).same_bits(b.inputs_of(0, b.size())));
  EXPECT_TRUE(a.targets_of(0, a.size()).same_bits(b.targets_of(0, b.size())));
}

void expect_same(const Split& a, const Split& b) {
  expect_same(a.train, b.train);
  expect_same(a.validation, b.validation);
  expect_same(a.test, b.test);
}

// An untrained model of the features of `data` that stores the description of its data.
Model model_for(const Dataset& data) {
  const nn::Mlp net{{data.input_type().shape.elements(), data.outputs()}};
  return {net.function(), net.init(Key(0)),
          R"({"data": )" + to_json(data_config(data)).dump() + "}"};
}

// Files of every kind that reads files.
class LoadData : public ::testing::Test {
 protected:
  LoadData() {
    put("pets.csv",
        "weight,colour,kind\n4.1,grey,cat\n21.5,brown,dog\n3.6,brown,cat\n18,grey,dog\n"
        "24.3,grey,dog\n4.4,white,cat\n3.9,grey,cat\n19.2,white,dog\n5,white,cat\n");
    put("new.csv", "colour;weight\nbrown;20.5\nwhite;3.5\n");
    put("text", "the quick brown fox jumps over the lazy dog, and then the dog jumps over it");
    put("train-images-idx3-ubyte", "\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\3\0\x33\xff\1\2\3"s);
    put("train-labels-idx1-ubyte", "\0\0\x08\1\0\0\0\2\2\0"s);
    put("t10k-images-idx3-ubyte", "\0\0\x08\3\0\0\0\1\0\0\0\1\0\0\0\3\0\0\0"s);
    put("t10k-labels-idx1-ubyte", "\0\0\x08\1\0\0\0\1\1"s);
    save_npy(folder_ / "x.npy", x_);
    save_npy(folder_ / "y.npy", y_);
    save_npz(folder_ / "both.npz", {{"x", x_}, {"y", y_}});
    save_npz(
        folder_ / "parts.npz",
        {{"x_train", x_}, {"y_train", y_}, {"x_test", x_.rows(3, 2)}, {"y_test", y_.rows(3, 2)}});
  }
  void put(std::string_view name, std::string_view content) {
    testing::write(folder_ / name, bytes_of(content));
  }
  std::string at(std::string_view name) const { return (folder_ / name).string(); }

  testing::TemporaryFolder folder_;
  Tensor x_ = Tensor::from<float>({6, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  Tensor y_ = Tensor::from<std::int32_t>({6}, {0, 1, 2, 0, 1, 2});
};

TEST_F(LoadData, DigitsAreThoseOfTheSeed) {
  expect_same(load_data("digits:7,count=3"), digits_split(7, 3, 3));
  expect_same(load_data("digits,count=4,split=3/1"),
              with_validation(digits_split(0, 4, 4), {3, 1, 0}, Key(0).fold_in(2)));
}

TEST_F(LoadData, SyntheticDataIsThatOfItsName) {
  for (const std::string_view name : synthetic_names()) {
    const std::string spec = std::string(name) + ":5,count=8,noise=0.5";
    expect_same(load_data(spec), synthetic_split(name, 5, {.count = 8, .noise = 0.5}));
  }
}

TEST_F(LoadData, FoldersOfIdxFiles) {
  expect_same(load_data("idx:" + folder_.path().string()), load_idx_folder(folder_.path()));
  const Split split = load_data("idx:" + folder_.path().string() + ",split=1/1,seed=3");
  EXPECT_EQ(split.train.size(), 1);
  EXPECT_EQ(split.validation.size(), 1);
}

TEST_F(LoadData, TablesWithTheirOptions) {
  const std::string pets = at("pets.csv");
  expect_same(load_data("csv:" + pets + ",target=kind"),
              load_table(pets, {.targets = {"kind"}}, {80, 10, 10}, Key(0).fold_in(2)));
  expect_same(
      load_data("csv:" + pets + ",target=kind,ignore=colour,split=2/1,seed=9"),
      load_table(pets, {.targets = {"kind"}, .ignored = {"colour"}}, {2, 1, 0}, Key(9).fold_in(2)));
  expect_same(load_data("csv:" + pets + ",target=kind,test=" + pets),
              load_table(pets, {.targets = {"kind"}}, {100, 0, 0}, Key(0).fold_in(2), pets));
}

TEST_F(LoadData, TablesWithTheSeparatorOfTheirOption) {
  std::string text;
  for (int i = 0; i < 10; ++i) text += i % 2 == 0 ? "a,b;c\td\n" : "e,f;g\th\n";
  put("any.csv", text);
  using Names = std::vector<std::string>;
  for (const auto& [separator, classes] : {std::pair{"comma", Names{"b;c\td", "f;g\th"}},
                                           {"semicolon", {"c\td", "g\th"}},
                                           {"tab", {"d", "h"}}}) {
    const std::string spec = "csv:" + at("any.csv") + ",target=2,header=no,separator=";
    EXPECT_EQ(load_data(spec + separator).train.class_names, classes);
  }
}

TEST_F(LoadData, TablesWithWhatTheyDoNotHave) {
  put("few.csv", "c;y\na;0\nb;1\n");
  put("other.csv", "c;y\nb;1\nnew;0\n");
  put("bare.csv", "1,0,2\n,1,2\n3,0,2\n");
  const TableText semicolons{.separator = ';'};
  expect_same(
      load_data("csv:" + at("few.csv") +
                ",target=y,separator=semicolon,unseen=zeros,test=" + at("other.csv")),
      load_table(at("few.csv"), {.text = semicolons, .targets = {"y"}, .unseen = Unseen::kZeros},
                 {100, 0, 0}, Key(0).fold_in(2), at("other.csv")));
  for (const auto& [name, missing] :
       {std::pair{"drop", Missing::kDrop}, {"impute", Missing::kImpute}})
    expect_same(
        load_data("csv:" + at("bare.csv") + ",target=2,header=no,split=1/0/0,missing=" + name),
        load_table(at("bare.csv"),
                   {.text = {.header = false}, .targets = {"2"}, .missing = missing}, {1, 0, 0},
                   Key(0).fold_in(2)));
}

TEST_F(LoadData, TablesWhoseNumbersAreCategoriesOrLabels) {
  put("numbers.csv", "a,b,y\n1,0,1\n2,1,0\n1,1,1\n");
  const std::string numbers = "csv:" + at("numbers.csv") + ",target=y,split=1/0/0";
  const SplitRatio all{1, 0, 0};
  const Split categories = load_data(numbers + ",categorical=a");
  expect_same(categories,
              load_table(at("numbers.csv"), {.targets = {"y"}, .categorical = {"a"}}, all, Key(0)));
  EXPECT_EQ(categories.train.inputs.shape(), (Shape{3, 3}));
  EXPECT_EQ(load_data(numbers).train.task, Task::kClassification);
  EXPECT_EQ(load_data(numbers + ",task=regression").train.task, Task::kRegression);
  const LoadOptions regression{.task = Task::kRegression};
  EXPECT_EQ(load_data(numbers, regression).train.task, Task::kRegression);
  EXPECT_EQ(load_data(numbers + ",task=classification", regression).train.task,
            Task::kClassification);
}

// Of a text, whose characters are the names of its tokens; of a split without other parts.
TEST_F(LoadData, ADataConfigReadsBackWhatItWrites) {
  Dataset text =
      load_data("text:" + at("text"), {.text = {.context = 3, .every_token = true}}).train;
  ASSERT_TRUE(text.tokenizer);
  DataConfig config = data_config(text);
  EXPECT_FALSE(config.tokenizer) << "the names say it";
  EXPECT_EQ(config.class_names, text.class_names);
  config.split = SplitRecord{
      .shares = {1, 0, 0}, .seed = ~std::uint64_t{0}, .rows = 0, .hash = 0xfedcba9876543210};
  const Json json = to_json(config);
  const DataConfig read = data_config_from_json(JsonView(json));
  EXPECT_EQ(read.class_names, config.class_names);
  ASSERT_TRUE(read.split);
  EXPECT_EQ(*read.split, *config.split);
  EXPECT_EQ(*tokenizer_of(read), *text.tokenizer);
  for (const char* seed : {"18446744073709551616", "-1", "1x", ""}) {
    Json broken = json;
    broken["split"]["seed"] = seed;
    EXPECT_THROW(data_config_from_json(JsonView(broken)), Error) << seed;
  }
}

// A path may have commas; what follows one is an option if it is a word and a =.
TEST_F(LoadData, AnOptionIsAWordBehindAComma) {
  const DataSpec spec = parse_data_spec("csv:a,=b,c,2d=e,target=k,ignore=x,y");
  EXPECT_EQ(spec.value, "a,=b,c,2d=e");
  ASSERT_EQ(spec.options.size(), 2U);
  EXPECT_EQ(spec.options[0].value, "k");
  EXPECT_EQ(spec.options[1].key, "ignore");
  EXPECT_EQ(spec.options[1].value, "x,y");
  EXPECT_EQ(to_text(spec), "csv:a,=b,c,2d=e,target=k,ignore=x,y");
  EXPECT_EQ(parse_data_spec("npz:a,").value, "a,");
  EXPECT_EQ(parse_data_spec("npz:a,b").value, "a,b");
}

TEST_F(LoadData, ExamplesForAModelWithoutATableAreReadAsTheSpecSays) {
  const nn::Mlp net{{4, 2}};
  const Model bare{net.function(), net.init(Key(0)), net.config()};
  const std::string pets = "csv:" + at("pets.csv") + ",target=kind";
  expect_same(load_examples(parse_data_spec(pets), bare),
              load_table(at("pets.csv"), {.targets = {"kind"}}, {1, 0, 0}, Key(0)).train);
  for (const std::string& more : {",split=4/2/2,seed=3"s, ",test=" + at("pets.csv")})
    expect_same(load_examples(parse_data_spec(pets + more), bare), load_data(pets + more).test);
}

TEST_F(LoadData, Arrays) {
  const Dataset all = arrays_split({{"x", x_}, {"y", y_}}, "a").train;
  const Split expected = split_rows(all, {80, 10, 10}, Key(0).fold_in(2));
  expect_same(load_data("npz:" + at("both.npz")), expected);
  expect_same(load_data("npy:" + at("x.npy") + ",targets=" + at("y.npy")), expected);
  const Split parts = load_data("npz:" + at("parts.npz"));
  EXPECT_EQ(parts.train.size(), 6);
  EXPECT_EQ(parts.validation.size(), 0);
  EXPECT_EQ(parts.test.size(), 2);
}

// Channels last in the file, first in a row; for a model of features as they are in the file.
TEST_F(LoadData, ArraysOfPictures) {
  std::vector<std::uint8_t> bytes(6 * 9 * 8 * 3);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7);
  const Tensor x = Tensor::from<std::uint8_t>(Shape{6, 9, 8, 3}, bytes);
  save_npz(folder_ / "pictures.npz", {{"x", x}, {"y", y_}});
  const std::string spec = "npz:" + at("pictures.npz");
  const Split split = load_data(spec);
  EXPECT_EQ(split.train.picture, (PictureShape{3, 9, 8, 255}));
  const Dataset turned = load_examples(parse_data_spec(spec), model_for(split.train));
  const Dataset flat = load_data(spec + ",layout=flat,split=1/0").train;
  EXPECT_FALSE(flat.picture);
  EXPECT_EQ(turned.inputs_of(0, 1).values<float>()[1], flat.inputs_of(0, 1).values<float>()[3]);
  expect_same(load_examples(parse_data_spec(spec), model_for(flat)), flat);
  expect_refused(ErrorCode::kShape, [&] {
    load_examples(parse_data_spec(spec + ",layout=nchw"), model_for(split.train));
  });
  // Numbers of another range.
  Dataset other = split.train;
  other.picture->white = 1;
  expect_refused(ErrorCode::kShape,
                 [&] { load_examples(parse_data_spec(spec), model_for(other)); });
  const DataConfig config = data_config(split.train);
  const Json json = to_json(config);
  EXPECT_EQ(data_config_from_json(JsonView(json)).picture, config.picture);
  for (const char* picture : {"[3, 9]", "[3, 9, 8, 255, 1]", "[0, 9, 8]", "[3, 9, 8, -1]"}) {
    Json broken = json;
    broken["picture"] = Json::parse(picture);
    EXPECT_THROW(data_config_from_json(JsonView(broken)), Error) << picture;
  }
}

TEST_F(LoadData, TextsAsTheOptionsWantThem) {
  const LoadOptions options{.text = {.context = 3, .every_token = true, .tokenizer = "bytes"}};
  expect_same(load_data("text:" + at("text"), options),
              load_text_windows(at("text"), options.text));
}

TEST_F(LoadData, ATaskOfTheConfigurationIsForSpecsThatSayNone) {
  const LoadOptions regression{.task = Task::kRegression};
  EXPECT_EQ(load_data("npz:" + at("both.npz")).train.task, Task::kClassification);
  EXPECT_EQ(load_data("npz:" + at("both.npz"), regression).train.task, Task::kRegression);
  EXPECT_EQ(load_data("npz:" + at("both.npz") + ",task=classification", regression).train.task,
            Task::kClassification);
  EXPECT_EQ(
      load_data("csv:" + at("pets.csv") + ",target=weight,ignore=kind", {.task = Task::kRegression})
          .train.task,
      Task::kRegression);
  EXPECT_EQ(load_data("moons", regression).train.task, Task::kClassification);
}

TEST_F(LoadData, ATextComesBackFromItsSpec) {
  for (const std::string text :
       {"digits", "digits:7", "moons:3,count=20,noise=0", "csv:a,b:c.csv,target=kind,target=size",
        "idx:some/folder,standardize=minmax", "npy:x.npy,targets=y.npy,task=regression"})
    EXPECT_EQ(to_text(parse_data_spec(text)), text);
  const DataSpec spec = parse_data_spec("csv:a,b.csv,target=x,separator=tab");
  EXPECT_EQ(spec, (DataSpec{"csv", "a,b.csv", {{"target", "x"}, {"separator", "tab"}}}));
}

TEST_F(LoadData, SpecsThatMeanNothingAreRefusedWithWhatThereIs) {
  for (const std::string_view spec :
       {"mnist", "", "digits:", "digits:-1", "moons:18446744073709551616", "csv:", "idx",
        "csv:a.csv,targt=x", "text:a,split=80/20", "digits,noise=1", "csv:a.csv,target=",
        "csv:a.csv,split=80", "moons,count=0", "digits,count=1e3", "moons,noise=nan",
        "csv:a,header=1", "idx:a,standardize=robust", "moons,noise=-0.1", "moons,noise=1.1e6"})
    expect_refused(ErrorCode::kParse, [&] { parse_data_spec(spec); });
  EXPECT_EQ(load_data("moons,count=1").train.size(), 1);
  EXPECT_EQ(load_data("moons,count=2,noise=1e6").train.size(), 2);
}

TEST_F(LoadData, SpecsMadeByHandAreCheckedToo) {
  expect_refused(ErrorCode::kParse, [] { load_data(DataSpec{"mnist"}); });
  expect_refused(ErrorCode::kParse, [] { scaling_of(DataSpec{"csv"}); });
  const DataSpec wrong{"moons", "", {{"target", "x"}}};
  expect_refused(ErrorCode::kParse, [&] { load_data(wrong); });
  expect_refused(ErrorCode::kParse, [] { load_data(DataSpec{"moons", "x"}); });
}

TEST_F(LoadData, OnlyTrainingNeedsTheTargetsOfArrays) {
  const std::string spec = "npy:" + at("x.npy");
  expect_refused(ErrorCode::kParse, [&] { load_data(spec); });
  const Model model = model_for(arrays_split({{"x", x_}, {"y", y_}}, "a").train);
  const Dataset rows = load_examples(parse_data_spec(spec), model, Targets::kIfPresent);
  EXPECT_TRUE(rows.inputs.same_bits(x_));
  EXPECT_EQ(rows.target_type().shape.elements(), 0);
}

// Whole numbers are not labels where the model was trained on other numbers, unless the spec says
// so.
TEST_F(LoadData, ExamplesOfArraysHaveTheTaskOfTheModel) {
  const LoadOptions regression{.task = Task::kRegression};
  const Model model = model_for(load_data("npz:" + at("both.npz"), regression).train);
  const auto task = [&](const std::string& more) {
    return load_examples(parse_data_spec("npz:" + at("both.npz") + more), model).task;
  };
  EXPECT_EQ(task(""), Task::kRegression);
  EXPECT_EQ(task(",task=classification"), Task::kClassification);
}

TEST_F(LoadData, ExamplesAreTheTestPart) {
  const auto examples = [](const std::string& text) {
    const DataSpec spec = parse_data_spec(text);
    const Split split = load_data(spec);
    expect_same(load_examples(spec, model_for(split.train)), split.test);
  };
  examples("digits:7,count=3");
  examples("moons,count=5");
  examples("moons:7,count=5");
  examples("sine:7,count=5,noise=0.5");
  examples("idx:" + folder_.path().string());
  examples("npz:" + at("parts.npz"));
  examples("npz:" + at("both.npz") + ",split=4/1/1");
  examples("csv:" + at("pets.csv") + ",target=kind,split=4/1/1");
  put("others.csv", "weight,colour,kind\n22.5,white,dog\n3.4,grey,cat\n17,brown,dog\n");
  examples("csv:" + at("pets.csv") + ",target=kind,test=" + at("others.csv"));
  // Other rows would be some that the model was trained on.
  for (const std::string seed : {"1", "2", "3"}) {
    examples("npz:" + at("both.npz") + ",split=4/1/1,seed=" + seed);
    examples("csv:" + at("pets.csv") + ",target=kind,split=4/1/1,seed=" + seed);
  }
  // The first row would be taken for a header, and its semicolon for a separator.
  put("odd.csv", "a;b,cat\nc;d,dog\na;b,dog\nc;d,cat\na;b,cat\nc;d,dog\n");
  const std::string odd = "csv:" + at("odd.csv") + ",target=2,header=no,separator=comma";
  examples(odd + ",split=4/1/1");
  put("odder.csv", "c;d,cat\na;b,dog\n");
  examples(odd + ",test=" + at("odder.csv"));
}

TEST_F(LoadData, ExamplesOfATableWithoutASplitAreItsRowsReadAsTheModelsWere) {
  const Split split = load_data("csv:" + at("pets.csv") + ",target=kind");
  const DataSpec other = parse_data_spec("csv:" + at("new.csv"));
  const Dataset rows = load_examples(other, model_for(split.train), Targets::kIfPresent);
  EXPECT_TRUE(rows.inputs.same_bits(Tensor::from<float>({2, 4}, {20.5f, 1, 0, 0, 3.5f, 0, 0, 1})));
  const DataSpec arrays = parse_data_spec("npz:" + at("both.npz"));
  EXPECT_EQ(load_examples(arrays, model_for(load_data(arrays).train)).size(), 6);
}

// For the training table, a model is scored on the rows that training held out.
TEST_F(LoadData, ExamplesOfTheTableOfTrainingAreThoseItHeldOut) {
  const auto trained = [&](const std::string& text, bool recorded = true) {
    const Split split = load_data(text);
    const std::optional<SplitRule> rule = split_rule_of(parse_data_spec(text));
    DataConfig config = data_config(split.train);
    if (recorded) config.split = record_of(split, rule->shares, rule->seed);
    Model model = model_for(split.train);
    model.config = R"({"data": )" + to_json(config).dump() + "}";
    return std::pair(std::move(model), split);
  };
  const std::string pets = "csv:" + at("pets.csv") + ",target=kind";
  const auto expect = [](const HeldOut& found, HeldOut::Part part, const Dataset& rows,
                         std::int64_t of) {
    EXPECT_EQ(found.part, part);
    EXPECT_EQ(found.of, of);
    expect_same(found.examples, rows);
  };
  const DataSpec whole = parse_data_spec("csv:" + at("pets.csv"));
  for (const std::string& more : {std::string(), ",split=4/2/2,seed=3"s, ",missing=impute"s}) {
    const auto [model, split] = trained(pets + more);
    expect(load_held_out(whole, model), HeldOut::Part::kTest, split.test, 9);
    // The same rows in another file, with columns in another order.
    put("other.csv",
        "kind,colour,weight\ncat,grey,4.1\ndog,brown,21.5\ncat,brown,3.6\ndog,grey,18\n"
        "dog,grey,24.3\ncat,white,4.4\ncat,grey,3.9\ndog,white,19.2\ncat,white,5\n");
    expect(load_held_out(parse_data_spec("csv:" + at("other.csv")), model), HeldOut::Part::kTest,
           split.test, 9);
  }
  const auto [no_test, parts] = trained(pets + ",split=2/1");
  expect(load_held_out(whole, no_test), HeldOut::Part::kValidation, parts.validation, 9);
  const std::string with_test = pets + ",test=" + at("pets.csv");
  const auto [own_test, given] = trained(with_test + ",split=2/1");
  expect(load_held_out(whole, own_test), HeldOut::Part::kValidation, given.validation, 9);
  const auto [all, rows] = trained(with_test);
  expect(load_held_out(whole, all), HeldOut::Part::kTraining, rows.train, 9);
  const auto [arrays, cut] = trained("npz:" + at("both.npz"));
  expect(load_held_out(parse_data_spec("npz:" + at("both.npz")), arrays), HeldOut::Part::kTest,
         cut.test, 6);

  // Another table of the same length; then a split or a test table given in the spec; then a model
  // without a record of its split.
  const auto [model, split] = trained(pets);
  put("another.csv",
      "weight,colour,kind\n4.1,grey,cat\n21.5,brown,dog\n3.6,brown,cat\n18,grey,dog\n"
      "24.3,grey,dog\n4.4,white,cat\n3.9,grey,cat\n19.2,white,dog\n5.5,white,cat\n");
  const DataSpec another = parse_data_spec("csv:" + at("another.csv"));
  expect(load_held_out(another, model), HeldOut::Part::kGiven, load_examples(another, model), 0);
  const DataSpec said = parse_data_spec("csv:" + at("pets.csv") + ",split=5/2/2");
  expect(load_held_out(said, model), HeldOut::Part::kGiven, load_examples(said, model), 0);
  const DataSpec table = parse_data_spec(with_test);
  expect(load_held_out(table, model), HeldOut::Part::kGiven, load_examples(table, model), 0);
  Model odd = model;
  Json config = Json::parse(odd.config);
  config["data"]["split"]["shares"] = Json::array({1, 1'000'000, 1'000'000});
  odd.config = config.dump();
  expect(load_held_out(whole, odd), HeldOut::Part::kGiven, load_examples(whole, odd), 0);
  const Model silent = trained(pets, false).first;
  expect(load_held_out(whole, silent), HeldOut::Part::kGiven, load_examples(whole, silent), 0);
}

TEST_F(LoadData, DigitsThatNobodyLooksAtAreNotDrawn) {
  const Model model = model_for(digits(Key(0), 1));
  const Dataset two = load_examples(parse_data_spec("digits:7"), model, Targets::kRequired, 2);
  expect_same(two, digits_split(7, 0, 2).test);
}

TEST_F(LoadData, ExamplesOfATextAreInTheModelsTokens) {
  const DataSpec spec = parse_data_spec("text:" + at("text"));
  const LoadOptions options{.text = {.context = 3, .every_token = true, .tokenizer = "bytes"}};
  const Split split = load_data(spec, options);
  const nn::Gpt net{.vocabulary = 256, .context = 3, .layers = 1, .width = 4, .heads = 1};
  const Model model{net.function(), net.init(Key(0)),
                    R"({"data": )" + to_json(data_config(split.train)).dump() + "}"};
  expect_same(load_examples(spec, model), split.test);
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { load_examples(spec, model_for(digits(Key(0), 1))); });
}

TEST_F(LoadData, ExamplesOfATextHaveItsNameAndThoseOfTheModelsCharacters) {
  const DataSpec spec = parse_data_spec("text:" + at("text"));
  const Split split = load_data(spec, {.text = {.context = 3, .tokenizer = "characters"}});
  const nn::Gpt net{
      .vocabulary = split.train.classes, .context = 3, .layers = 1, .width = 4, .heads = 1};
  const Model model{net.function(), net.init(Key(0)),
                    R"({"data": )" + to_json(data_config(split.train)).dump() + "}"};
  const Dataset examples = load_examples(spec, model);
  EXPECT_EQ(examples.name, at("text"));  // as messages about them say
  EXPECT_EQ(examples.class_names, split.test.class_names);
  EXPECT_EQ(split.test.class_names.size(), 28U);  // the letters, a space and a comma
}

TEST_F(LoadData, TablesAndArraysAreStandardisedUnlessTheSpecSaysOtherwise) {
  const auto scaling = [](std::string_view text) { return scaling_of(parse_data_spec(text)); };
  EXPECT_EQ(scaling("csv:a"), Scaling::kZScore);
  EXPECT_EQ(scaling("npz:a"), Scaling::kZScore);
  EXPECT_EQ(scaling("npy:a"), Scaling::kZScore);
  EXPECT_EQ(scaling("idx:a"), Scaling::kNone);
  EXPECT_EQ(scaling("digits"), Scaling::kNone);
  EXPECT_EQ(scaling("moons,standardize=minmax"), Scaling::kMinMax);
  EXPECT_EQ(scaling("csv:a,standardize=none"), Scaling::kNone);
}

TEST_F(LoadData, OnlyTablesAndArraysHaveARuleOfTheirSplit) {
  const auto rule = [](std::string_view text) { return split_rule_of(parse_data_spec(text)); };
  for (const char* text : {"digits", "moons,split=80/20", "idx:a", "text:a"})
    EXPECT_FALSE(rule(text)) << text;
  for (const char* text : {"csv:a,target=x", "npz:a", "npy:a,targets=b"})
    EXPECT_EQ(rule(text)->shares, (SplitRatio{80, 10, 10})) << text;
  EXPECT_EQ(rule("csv:a,target=x,test=b")->shares, (SplitRatio{100, 0, 0}));
  EXPECT_EQ(rule("csv:a,target=x,test=b,split=3/1")->shares, (SplitRatio{3, 1, 0}));
  EXPECT_EQ(rule("npz:a,seed=7")->seed, 7U);
}

}  // namespace
}  // namespace limpid
