#include "limpid/data/table/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "limpid/data/data_config.h"
#include "limpid/formats/model.h"
#include "limpid/nn/mlp.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using testing::bytes_of;

using Names = std::vector<std::string>;

// A file, and how it is read.
class Table : public ::testing::Test {
 protected:
  std::filesystem::path put(std::string_view text, std::string_view name = "t.csv") {
    testing::write(folder_ / name, bytes_of(text));
    return folder_ / name;
  }
  // All rows as the training part.
  Dataset read(std::string_view text, const TableOptions& options) {
    return load_table(put(text), options, {1, 0, 0}, Key(0)).train;
  }
  void refused(ErrorCode code, std::string_view text, const TableOptions& options,
               int line = __builtin_LINE()) {
    expect_refused(
        code, [&] { read(text, options); }, line);
  }

  testing::TemporaryFolder folder_;
};

Tensor float_tensor(const Shape& shape, std::initializer_list<float> values) {
  return Tensor::from<float>(shape, values);
}
Tensor classes(std::initializer_list<std::int32_t> values) {
  return Tensor::from<std::int32_t>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

constexpr std::string_view kPets =
    "id,kind,weight,colour\n1,dog,9.5,red\n2,cat,4,blue\n3,cat,3.5,green\n4,dog,7,red\n";

TEST_F(Table, BecomesFeaturesAndClasses) {
  const Dataset data = read(kPets, {.targets = {"kind"}, .ignored = {"id"}});
  EXPECT_EQ(data.name, "t.csv");
  EXPECT_EQ(data.task, Task::kClassification);
  EXPECT_EQ(data.feature_names, (Names{"weight", "colour=blue", "colour=green", "colour=red"}));
  EXPECT_TRUE(data.inputs.same_bits(
      float_tensor(Shape{4, 4}, {9.5f, 0, 0, 1, 4, 1, 0, 0, 3.5f, 0, 1, 0, 7, 0, 0, 1})));
  EXPECT_EQ(data.class_names, (Names{"cat", "dog"}));
  EXPECT_EQ(data.classes, 2);
  EXPECT_EQ(data.target_names, (Names{"kind"}));
  EXPECT_TRUE(data.targets.same_bits(classes({1, 0, 0, 1})));
}

TEST_F(Table, WithoutAHeaderHasNumbersForNames) {
  const Dataset data = read("1,a,5\n2,b,6\n", {.targets = {"2"}, .ignored = {"column3"}});
  EXPECT_EQ(data.feature_names, (Names{"column1"}));
  EXPECT_EQ(data.class_names, (Names{"a", "b"}));
}

TEST_F(Table, TakesNumbersForCategoriesWhereItIsTold) {
  const Dataset data =
      read("zip,y\n08,1.5\n8,2.5\n08,1.5\n", {.targets = {"y"}, .categorical = {"zip"}});
  EXPECT_EQ(data.feature_names, (Names{"zip=08", "zip=8"}));
  EXPECT_TRUE(data.inputs.same_bits(float_tensor(Shape{3, 2}, {1, 0, 0, 1, 1, 0})));
}

TEST_F(Table, TheTaskFollowsFromTheTargets) {
  const auto task = [&](std::string_view text, const TableOptions& options) {
    return read(text, options).task;
  };
  EXPECT_EQ(task("x,y\n1,0\n2,1\n", {.targets = {"y"}}), Task::kClassification);
  EXPECT_EQ(task("x,y\n1,0\n2,1\n3,2\n", {.targets = {"y"}}), Task::kClassification);
  EXPECT_EQ(task("x,y\n1,1\n2,2\n", {.targets = {"y"}}), Task::kRegression);
  EXPECT_EQ(task("x,y\n1,0\n2,2\n", {.targets = {"y"}}), Task::kRegression);
  EXPECT_EQ(task("x,y\n1,0\n2,0\n", {.targets = {"y"}}), Task::kRegression);
  EXPECT_EQ(task("x,y\n1,0\n2,0.5\n3,1\n", {.targets = {"y"}}), Task::kRegression);
  EXPECT_EQ(task("x,y,z\n1,0,1\n2,1,1\n", {.targets = {"y", "z"}}), Task::kMultiLabel);
  EXPECT_EQ(task("x,y,z\n1,0,1\n2,1,3\n", {.targets = {"y", "z"}}), Task::kRegression);
  EXPECT_EQ(task("x,y\n1,0\n2,1\n", {.targets = {"y"}, .task = Task::kRegression}),
            Task::kRegression);
  EXPECT_EQ(task("x,y\n1,0\n2,1\n", {.targets = {"y"}, .task = Task::kMultiLabel}),
            Task::kMultiLabel);
}

TEST_F(Table, UpTo256NumbersAreClasses) {
  for (const int count : {256, 257}) {
    std::string text = "x,y\n";
    for (int i = 0; i < count; ++i) text += fmt::format("{},{}\n", i, i);
    EXPECT_EQ(read(text, {.targets = {"y"}}).task,
              count == 256 ? Task::kClassification : Task::kRegression);
  }
}

TEST_F(Table, ClassesOfNumbersAreInTheirOrder) {
  const Dataset data =
      read("x,y\n1,10\n2,9\n3,10\n4,-1.5\n", {.targets = {"y"}, .task = Task::kClassification});
  EXPECT_EQ(data.class_names, (Names{"-1.5", "9", "10"}));
  EXPECT_TRUE(data.targets.same_bits(classes({2, 1, 2, 0})));
}

TEST_F(Table, MinusZeroIsTheClassOfZero) {
  const Dataset data =
      read("x,y\n1,-0\n2,1\n3,0\n", {.targets = {"y"}, .task = Task::kClassification});
  EXPECT_EQ(data.class_names, (Names{"0", "1"}));
  EXPECT_TRUE(data.targets.same_bits(classes({0, 1, 0})));
}

TEST_F(Table, SeveralTargetsAreColumnsInTheOrderNamed) {
  const Dataset data = read("a,x,b\n1,2,3\n4,5,6\n", {.targets = {"b", "a"}});
  EXPECT_EQ(data.task, Task::kRegression);
  EXPECT_EQ(data.classes, 0);
  EXPECT_EQ(data.outputs(), 2);
  EXPECT_EQ(data.target_names, (Names{"b", "a"}));
  EXPECT_TRUE(data.targets.same_bits(float_tensor(Shape{2, 2}, {3, 1, 6, 4})));
}

// A hole among labels does not make numbers of them.
TEST_F(Table, SeveralLabelsMayHaveHoles) {
  const TableOptions options{.targets = {"a", "b"}, .missing = Missing::kDrop};
  const Dataset data = read("x,a,b\n1,0,1\n2,,0\n3,1,1\n", options);
  EXPECT_EQ(data.task, Task::kMultiLabel);
  EXPECT_EQ(data.size(), 2);
}

constexpr std::string_view kHoles = "n,c,y\n1,a,0.5\n,b,1.5\n3,?,2.5\n5,b,3.5\n";

TEST_F(Table, AMissingValueIsAnErrorUnlessAsked) {
  refused(ErrorCode::kFormat, kHoles, {.targets = {"y"}});
  refused(ErrorCode::kFormat, "x,y\n1,2\n2,NA\n", {.targets = {"y"}});
  refused(ErrorCode::kFormat, "x,y\n1,2\n2,NA\n", {.targets = {"y"}, .missing = Missing::kImpute});
}

TEST_F(Table, RowsWithMissingValuesCanBeDropped) {
  const Dataset data = read(kHoles, {.targets = {"y"}, .missing = Missing::kDrop});
  EXPECT_TRUE(data.inputs.same_bits(float_tensor(Shape{2, 3}, {1, 1, 0, 5, 0, 1})));
  EXPECT_TRUE(data.targets.same_bits(float_tensor(Shape{2, 1}, {0.5f, 3.5f})));
  const Dataset labelled =
      read("x,y\n1,b\n2,\n3,a\n", {.targets = {"y"}, .missing = Missing::kDrop});
  EXPECT_TRUE(labelled.targets.same_bits(classes({1, 0})));
  refused(ErrorCode::kFormat, "x,y,z\n1,,2\n,1,3\n", {.targets = {"z"}, .missing = Missing::kDrop});
}

TEST_F(Table, MissingValuesCanBecomeMeanAndMode) {
  const Dataset data = read(kHoles, {.targets = {"y"}, .missing = Missing::kImpute});
  EXPECT_TRUE(
      data.inputs.same_bits(float_tensor(Shape{4, 3}, {1, 1, 0, 3, 0, 1, 3, 0, 1, 5, 0, 1})));
  // Of equally frequent categories the first.
  const Dataset even = read("c,y\nb,1\na,2\n,3\n", {.targets = {"y"}, .missing = Missing::kImpute});
  EXPECT_TRUE(even.inputs.same_bits(float_tensor(Shape{3, 2}, {0, 1, 1, 0, 1, 0})));
}

TEST_F(Table, MeanAndModeAreOfTheTrainingPart) {
  std::string text = "n,y\n";
  for (int i = 0; i < 20; ++i)
    text += fmt::format("{},{}.5\n", i % 4 == 3 ? "" : std::to_string(i), i);
  const Split split =
      load_table(put(text), {.targets = {"y"}, .missing = Missing::kImpute}, {50, 25, 25}, Key(1));
  double sum = 0, known = 0;
  const auto each = [](const Dataset& part, const auto& f) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(part.size()); ++i)
      f(static_cast<int>(part.targets.values<float>()[i]), part.inputs.values<float>()[i]);
  };
  each(split.train, [&](int row, float) {
    if (row % 4 != 3) sum += row, ++known;
  });
  int filled = 0;
  for (const Dataset* part : {&split.train, &split.validation, &split.test})
    each(*part, [&](int row, float x) {
      EXPECT_EQ(x, row % 4 == 3 ? static_cast<float>(sum / known) : static_cast<float>(row));
      filled += row % 4 == 3;
    });
  EXPECT_EQ(filled, 5);
}

TEST_F(Table, IsSplitByItsKey) {
  std::string text = "x,y\n";
  for (int i = 0; i < 40; ++i) text += fmt::format("{},{}.5\n", i, i);
  const Split split = load_table(put(text), {.targets = {"y"}}, {80, 10, 10}, Key(3));
  EXPECT_EQ(split.train.size(), 32);
  EXPECT_EQ(split.validation.size(), 4);
  EXPECT_EQ(split.test.size(), 4);
  const Dataset all = read(text, {.targets = {"y"}});
  EXPECT_TRUE(split.test.inputs.same_bits(split_rows(all, {80, 10, 10}, Key(3)).test.inputs));
}

TEST_F(Table, MayHaveAFileForTheTest) {
  const auto train = put("x,c,y\n1,a,no\n2,b,yes\n3,a,no\n4,b,yes\n");
  const auto test = put("y,more,c,x\nyes,8,a,7\n", "test.csv");
  const Split split = load_table(train, {.targets = {"y"}}, {75, 25, 0}, Key(0), test);
  EXPECT_EQ(split.train.size(), 3);
  EXPECT_EQ(split.validation.size(), 1);
  EXPECT_TRUE(split.test.inputs.same_bits(float_tensor(Shape{1, 3}, {7, 1, 0})));
  EXPECT_TRUE(split.test.targets.same_bits(classes({1})));
  for (const Dataset* part : {&split.train, &split.validation, &split.test})
    EXPECT_EQ(part->table, split.train.table);
  EXPECT_TRUE(split.train.table);
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    load_table(train, {.targets = {"y"}}, {80, 10, 10}, Key(0), test);
  });
}

TEST_F(Table, RefusesACategoricalColumnOfNothing) {
  const auto file = put("c,x,y\n,1,2\n,3,4\n");
  expect_refused(ErrorCode::kFormat, [&] {
    load_table(file, {.targets = {"y"}, .categorical = {"c"}, .missing = Missing::kImpute},
               {1, 0, 0}, Key(0));
  });
}

// What fills in is of the training part, which has the row or not.
TEST_F(Table, RefusesAColumnThatHasNoValueInTheTrainingPart) {
  for (const char* value : {"7", "a"}) {
    std::string text = "c,y\n";
    for (int i = 0; i < 10; ++i) text += fmt::format("{},{}.5\n", i == 4 ? value : "", i);
    const auto file = put(text);
    const TableOptions options{.targets = {"y"}, .missing = Missing::kImpute};
    int refused = 0;
    for (std::uint64_t key = 0; key < 16; ++key) try {
        EXPECT_EQ(load_table(file, options, {50, 50, 0}, Key(key)).train.size(), 5);
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::kFormat);
        ++refused;
      }
    EXPECT_GT(refused, 0) << value;
    EXPECT_LT(refused, 16) << value;
  }
}

TEST_F(Table, RefusesACategoryThatTrainingDidNotHave) {
  const auto train = put("c,y\na,0.5\nb,1.5\n");
  const auto test = put("c,y\nb,1\nnew,2\n", "test.csv");
  expect_refused(ErrorCode::kFormat, [&] {
    load_table(train, {.targets = {"y"}}, {1, 0, 0}, Key(0), test);
  });
  const Split split =
      load_table(train, {.targets = {"y"}, .unseen = Unseen::kZeros}, {1, 0, 0}, Key(0), test);
  EXPECT_TRUE(split.test.inputs.same_bits(float_tensor(Shape{2, 2}, {0, 1, 0, 0})));
  // Nor is it a number of the feature before.
  const auto beside = put("x,c,y\n3,a,0.5\n4,b,1.5\n", "beside.csv");
  const auto unseen = put("x,c,y\n5,new,2\n", "unseen.csv");
  const Split apart =
      load_table(beside, {.targets = {"y"}, .unseen = Unseen::kZeros}, {1, 0, 0}, Key(0), unseen);
  EXPECT_TRUE(apart.test.inputs.same_bits(float_tensor(Shape{1, 3}, {5, 0, 0})));
  // A class has no number if the training set did not have it.
  const auto labelled = put("x,y\n1,0\n2,1\n");
  const auto other = put("x,y\n1,0\n2,7\n", "other.csv");
  expect_refused(ErrorCode::kFormat, [&] {
    load_table(labelled, {.targets = {"y"}, .unseen = Unseen::kZeros}, {1, 0, 0}, Key(0), other);
  });
}

TEST_F(Table, NamesTheFirstOfManyColumns) {
  std::string names = "c0", row = "\n0";
  for (int c = 1; c < 14; ++c) {
    names += ",c" + std::to_string(c);
    row += "," + std::to_string(c);
  }
  refused(ErrorCode::kNotFound, names + row + "\n", {.targets = {"x"}});
}

TEST_F(Table, NamesTheColumnsThatThereAre) {
  refused(ErrorCode::kNotFound, kPets, {.targets = {"sort"}});
  refused(ErrorCode::kNotFound, kPets, {.targets = {"2"}});
  refused(ErrorCode::kNotFound, kPets, {.targets = {"kind"}, .ignored = {"x"}});
  refused(ErrorCode::kInvalidArgument, kPets, {});
  refused(ErrorCode::kInvalidArgument, kPets, {.targets = {"kind"}, .ignored = {"kind"}});
  refused(ErrorCode::kInvalidArgument, kPets, {.targets = {"kind"}, .categorical = {"kind"}});
  refused(ErrorCode::kInvalidArgument, kPets, {.targets = {"kind", "kind"}});
  refused(ErrorCode::kFormat, "y\n1\n2\n", {.targets = {"y"}});
}

TEST_F(Table, RefusesTargetsThatAreNoneOfTheTask) {
  refused(ErrorCode::kFormat, "a,b,c\n1,0,1\n",
          {.targets = {"a", "b"}, .task = Task::kClassification});
  refused(ErrorCode::kFormat, kPets, {.targets = {"kind"}, .task = Task::kRegression});
  refused(ErrorCode::kFormat, kPets, {.targets = {"weight", "kind"}});
  refused(ErrorCode::kFormat, kPets, {.targets = {"weight"}, .task = Task::kMultiLabel});
  refused(ErrorCode::kFormat, "x,y\n1,a\n2,a\n", {.targets = {"y"}});
}

TEST_F(Table, RefusesMoreCategoriesThanMakeSense) {
  std::string text = "name,x,y\n";
  for (int i = 0; i < 1025; ++i) text += fmt::format("n{},{}.5,{}.5\n", i, i, i);
  refused(ErrorCode::kUnsupported, text, {.targets = {"x"}, .categorical = {"name"}});
  refused(ErrorCode::kUnsupported, text,
          {.targets = {"x"}, .ignored = {"name"}, .task = Task::kClassification});
  refused(ErrorCode::kUnsupported, text, {.targets = {"name"}});
}

TEST_F(Table, RefusesFeaturesBeyondMemory) {
  // 1,024 categories in each of 30 columns, 60,000 rows: 7 GB of features from 9 MB of text.
  std::string text = "y";
  for (int c = 0; c < 30; ++c) text += fmt::format(",c{}", c);
  for (int row = 0; row < 60'000; ++row) {
    text += fmt::format("\n{}.5", row % 7);
    for (int c = 0; c < 30; ++c) text += fmt::format(",k{}", row % 1024);
  }
  refused(ErrorCode::kUnsupported, text, {.targets = {"y"}});
}

TEST_F(Table, ALargeOneKeepsANumberForEachCategory) {
  // 8 columns of 100 categories and one of numbers: 19 MB of features. Row r has k.. (r + c) % 100.
  constexpr int kRows = 6000, kColumns = 8, kCategories = 100;
  const auto is_missing = [](int row, int c) { return row % 51 == 7 && c >= 7; };
  std::string text = "y";
  for (int c = 0; c <= kColumns; ++c) text += fmt::format(",c{}", c);
  for (int row = 0; row < kRows; ++row) {
    text += fmt::format("\n{}.5", row);
    for (int c = 0; c <= kColumns; ++c) {
      const std::string cell =
          c == kColumns ? fmt::format("{}", row) : fmt::format("k{:02}", (row + c) % kCategories);
      text += "," + (is_missing(row, c) ? "" : cell);
    }
  }
  const auto path = put(text);
  for (const Missing missing : {Missing::kDrop, Missing::kImpute}) {
    const Split split =
        load_table(path, {.targets = {"y"}, .missing = missing}, {98, 1, 1}, Key(1));
    EXPECT_TRUE(split.train.inputs.has_deferred_rows());
    const std::vector<TableColumn>& columns = split.train.table->features;
    int seen = 0;
    for (const Dataset* part : {&split.train, &split.validation, &split.test})
      for (std::int64_t i = 0; i < part->size(); ++i, ++seen) {
        const int row =
            static_cast<int>(part->targets.values<float>()[static_cast<std::size_t>(i)]);
        std::vector<float> expected(kColumns * kCategories + 1);
        for (int c = 0; c < kColumns; ++c) {
          const auto& fill = columns[static_cast<std::size_t>(c)].fill;
          const int place =
              is_missing(row, c) ? static_cast<int>(fill.value()) : (row + c) % kCategories;
          expected[static_cast<std::size_t>(c * kCategories + place)] = 1;
        }
        expected.back() =
            is_missing(row, kColumns) ? columns.back().fill.value() : static_cast<float>(row);
        std::vector<float> features(expected.size());
        part->inputs.read_rows(i, 1, std::as_writable_bytes(std::span(features)));
        ASSERT_EQ(features, expected) << "row " << row;
      }
    EXPECT_EQ(seen, missing == Missing::kDrop ? kRows - (kRows + 43) / 51 : kRows);
  }
}

TEST_F(Table, IsReadAgainAsItWasRead) {
  const Dataset data = read(kPets, {.targets = {"kind"}, .ignored = {"id"}});
  const TableSchema schema = data.table.value();
  const auto file = put("colour,weight\nred,1\nblue,2\n", "new.csv");
  const Dataset rows = load_table_rows(file, schema, Targets::kIfPresent);
  EXPECT_TRUE(rows.inputs.same_bits(float_tensor(Shape{2, 4}, {1, 0, 0, 1, 2, 1, 0, 0})));
  EXPECT_EQ(rows.targets.shape(), (Shape{2, 0}));
  EXPECT_EQ(rows.class_names, (Names{"cat", "dog"}));
  expect_refused(ErrorCode::kFormat, [&] { load_table_rows(file, schema, Targets::kRequired); });
}

TEST_F(Table, HasItsTargetsReadAgainWhereTheyAre) {
  const Dataset data = read(kPets, {.targets = {"kind"}, .ignored = {"id"}});
  const TableSchema schema = data.table.value();
  const Dataset again = load_table_rows(put(kPets, "new.csv"), schema, Targets::kIfPresent);
  EXPECT_TRUE(again.targets.same_bits(data.targets));
  EXPECT_TRUE(again.inputs.same_bits(data.inputs));
}

// For a prediction, the targets are read where all of them are there.
TEST_F(Table, NeedsNoneOfItsTargetsReadAgain) {
  const Dataset data = read("a,y,z\n1,0.5,2\n2,1.5,3\n", {.targets = {"y", "z"}});
  const TableSchema schema = data.table.value();
  for (const char* text : {"a\n3\n", "a,y\n3,4\n", "z,a\n4,3\n"}) {
    const Dataset rows = load_table_rows(put(text, "new.csv"), schema, Targets::kIfPresent);
    EXPECT_TRUE(rows.inputs.same_bits(float_tensor(Shape{1, 1}, {3}))) << text;
    EXPECT_EQ(rows.targets.shape(), (Shape{1, 0})) << text;
  }
  const auto whole = put("z,a,y\n4,3,5\n", "new.csv");
  EXPECT_TRUE(load_table_rows(whole, schema, Targets::kIfPresent)
                  .targets.same_bits(float_tensor(Shape{1, 2}, {5, 4})));
}

TEST_F(Table, FillsWhatIsMissingInOneRow) {
  const Dataset data = read(kHoles, {.targets = {"y"}, .missing = Missing::kImpute});
  const TableSchema schema = data.table.value();
  const Dataset row = load_table_rows(put("n,c\n,?\n", "new.csv"), schema, Targets::kIfPresent);
  EXPECT_TRUE(row.inputs.same_bits(float_tensor(Shape{1, 3}, {3, 0, 1})));
}

// A prediction may treat holes and unseen categories otherwise than training did.
TEST_F(Table, IsReadAgainByOtherRules) {
  const TableSchema schema = read("n,c,y\n1,a,1\n5,b,2\n3,b,4\n", {.targets = {"y"}}).table.value();
  const auto holes = put("id,n,c\nNA,1,a\nsecond,,b\nthird,2,?\nfourth,4,a\n", "holes.csv");
  expect_refused(ErrorCode::kFormat, [&] { load_table_rows(holes, schema, Targets::kIfPresent); });
  const Dataset filled =
      load_table_rows(holes, schema, Targets::kIfPresent, {.missing = Missing::kImpute});
  EXPECT_TRUE(
      filled.inputs.same_bits(float_tensor(Shape{4, 3}, {1, 1, 0, 3, 0, 1, 2, 0, 1, 4, 1, 0})));
  const Dataset dropped =
      load_table_rows(holes, schema, Targets::kIfPresent,
                      {.text = {.missing = {"?"}}, .missing = Missing::kDrop, .id_column = "id"});
  EXPECT_TRUE(dropped.inputs.same_bits(float_tensor(Shape{2, 3}, {1, 1, 0, 4, 1, 0})));
  EXPECT_EQ(dropped.notes.size(), 1U);
  const TableRows& rows = dropped.rows_of_table.value();
  EXPECT_EQ(rows.of_example, (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(rows.ids, (Names{"NA", "second", "third", "fourth"}));
  ASSERT_EQ(rows.left_out.size(), 2U);
  EXPECT_EQ(rows.left_out[0].row, 1);
  EXPECT_NE(rows.left_out[0].why.find("'n'"), std::string::npos);
  EXPECT_NE(rows.left_out[1].why.find("'c'"), std::string::npos);
  EXPECT_EQ(dropped.rows(1, 1).rows_of_table->of_example, (std::vector<std::int64_t>{3}));
  const auto unseen = put("n,c\n1,new\n", "unseen.csv");
  EXPECT_TRUE(load_table_rows(unseen, schema, Targets::kIfPresent, {.unseen = Unseen::kZeros})
                  .inputs.same_bits(float_tensor(Shape{1, 3}, {1, 0, 0})));
  for (const char* id : {"n", "none"})
    EXPECT_THROW(load_table_rows(holes, schema, Targets::kIfPresent, {.id_column = id}), Error);
  // Training had no value of this column.
  TableSchema without = schema;
  without.features[0].fill.reset();
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    load_table_rows(holes, without, Targets::kIfPresent, {.missing = Missing::kImpute});
  });
}

TEST_F(Table, NeedsNoTargetsForAPrediction) {
  const TableSchema schema = read("n,y\n1,a\n5,b\n", {.targets = {"y"}}).table.value();
  for (const auto& [text, notes] : {std::pair{"n,y\n1,\n2,\n", 0U}, {"n,y\n1,a\n2,\n", 1U}}) {
    const Dataset rows = load_table_rows(put(text, "new.csv"), schema, Targets::kIfPresent);
    EXPECT_EQ(rows.targets.shape(), (Shape{2, 0}));
    EXPECT_EQ(rows.notes.size(), notes);
  }
}

// Names have no value in common with other tables.
TEST_F(Table, LeavesOutTextThatHardlyRepeats) {
  const auto text = [](int rows, int distinct) {
    std::string table = "name,x,y\n";
    for (int i = 0; i < rows; ++i) table += fmt::format("n{},{},{}\n", i % distinct, i, i % 2);
    return table;
  };
  const auto features = [&](int rows, int distinct, const TableOptions& options) {
    const Dataset data = read(text(rows, distinct), options);
    EXPECT_EQ(data.notes.size(), data.feature_names.size() == 1 ? 1U : 0U);
    return data.feature_names.size();
  };
  EXPECT_EQ(features(39, 20, {.targets = {"y"}}), 1U);
  EXPECT_EQ(features(40, 20, {.targets = {"y"}}), 21U);
  EXPECT_EQ(features(19, 19, {.targets = {"y"}}), 20U);
  EXPECT_EQ(features(39, 20, {.targets = {"y"}, .categorical = {"name"}}), 21U);
  refused(ErrorCode::kFormat, text(40, 40), {.targets = {"y"}, .ignored = {"x"}});
}

TEST_F(Table, SaysWhatItAssumed) {
  const auto notes = [&](std::string_view text, const TableOptions& options) {
    return read(text, options).notes.size();
  };
  EXPECT_EQ(notes("1,2\n3,4.5\n", {.targets = {"2"}}), 1U);
  EXPECT_EQ(notes("1,2\n3,4.5\n", {.text = {.header = false}, .targets = {"2"}}), 0U);
  EXPECT_EQ(notes("d,y\n2026-01-31,0.5\n2026-02-01,1\n", {.targets = {"y"}}), 1U);
  EXPECT_EQ(notes("p,y\n5%,0.5\n10%,1\n", {.targets = {"y"}}), 1U);
  EXPECT_EQ(notes("t,y\n1700000000,0.5\n1700000001,1\n", {.targets = {"y"}}), 1U);
  EXPECT_EQ(notes("t,y\n17000000,0.5\n17000002,1\n", {.targets = {"y"}}), 0U);
  EXPECT_EQ(notes("x,y\n1,1\n2,2\n3,1\n4,2\n", {.targets = {"y"}}), 1U);
  EXPECT_EQ(notes("x,y\n1,1\n2,2\n3,1\n4,2\n", {.targets = {"y"}, .task = Task::kRegression}), 0U);
}

TEST_F(Table, ReadsDatesAsDays) {
  const Dataset data = read("d,y\n1970-01-01,1\n2026-03-01T12:00,2\n1969-12-31 06:00:00Z,4\n",
                            {.targets = {"y"}, .dates = {"d"}});
  EXPECT_TRUE(data.inputs.same_bits(float_tensor(Shape{3, 1}, {0, 20513.5f, -0.75f})));
  const Dataset again =
      load_table_rows(put("d\n1970-01-02\n", "new.csv"), data.table.value(), Targets::kIfPresent);
  EXPECT_TRUE(again.inputs.same_bits(float_tensor(Shape{1, 1}, {1})));
  EXPECT_EQ(table_schema_from_json(JsonView(to_json(*data.table), "schema")), *data.table);
  for (const char* other : {"2026-02-30", "2026-1-01", "01/02/2026", "2026-01-01T24:00", "5"})
    refused(ErrorCode::kFormat, fmt::format("d,y\n{},1\n", other),
            {.targets = {"y"}, .dates = {"d"}});
}

TEST_F(Table, LeavesItsColumnsInTheConfigOfAModel) {
  const Dataset data = read(kPets, {.targets = {"kind"}, .ignored = {"id"}});
  DataConfig config = data_config(data);
  EXPECT_EQ(data_config_from_json(to_json(config)), config);
  config.split = SplitRecord{{70, 20, 10}, ~std::uint64_t{0}, 12, std::uint64_t{1} << 63};
  config.drawn = drawn_examples(data);
  EXPECT_EQ(config.drawn.size(), 4U);
  EXPECT_EQ(share_of_drawn(config.drawn, data), 1);
  EXPECT_EQ(share_of_drawn(config.drawn, data.rows(1, 3)), 0.75);
  EXPECT_EQ(share_of_drawn(config.drawn, data.rows(1, 2)), 0);
  EXPECT_EQ(data_config_from_json(to_json(config)), config);
  for (const auto& [key, wrong] : {std::pair<const char*, Json>{"shares", Json::array({1, 2})},
                                   {"shares", Json::array({0, 1, 1})},
                                   {"shares", Json::array({1'000'001, 1, 1})},
                                   {"shares", Json::array({1, 1'000'001, 1})},
                                   {"shares", Json::array({1, 1, 1'000'001})},
                                   {"seed", "-1"},
                                   {"hash", "xyz"},
                                   {"rows", -1}}) {
    Json json = to_json(config);
    json["split"][key] = wrong;
    expect_refused(ErrorCode::kFormat, [&] { data_config_from_json(json); });
  }
  EXPECT_EQ(config.table, data.table);
  const nn::Mlp net{{4, 2}};
  const std::string json = R"({"model": "mlp", "data": )" + to_json(config).dump() + "}";
  EXPECT_EQ(data_config_of({net.function(), net.init(Key(0)), json}), config);
  for (const char* other : {"", "no json", "[]", R"({"model": "mlp"})"})
    EXPECT_EQ(data_config_of({net.function(), net.init(Key(0)), other}), std::nullopt) << other;
}

// Any file gives consistent data sets, or an Error.
TEST_F(Table, ChangedBytesLoadOrAreRefused) {
  constexpr std::string_view kWhole = "n,c,y\n1,a,0\n2,b,1\n,?,1\n5,\"a\",0\n";
  constexpr std::string_view kTelling = ",;\"\n01.?ab";
  const Missing policies[] = {Missing::kError, Missing::kDrop, Missing::kImpute};
  const TableSchema schema =
      read(kWhole, {.targets = {"y"}, .missing = Missing::kImpute}).table.value();
  const auto check = [](const Dataset& data) {
    const auto inputs = data.inputs.values<float>();
    EXPECT_TRUE(std::all_of(inputs.begin(), inputs.end(), [](float x) { return x == x; }));
    EXPECT_EQ(data.inputs.shape()[1], static_cast<std::int64_t>(data.feature_names.size()));
    EXPECT_EQ(data.targets.shape()[0], data.size());
  };
  int loaded = 0;
  for (std::uint64_t round = 0; round < 600; ++round) {
    const Key key = Key(6).fold_in(round);
    std::string changed(kWhole);
    for (std::uint64_t i = 0; i <= key.below(3, 0); ++i)
      changed[key.below(changed.size(), 2 * i + 1)] =
          kTelling[key.below(kTelling.size(), 2 * i + 2)];
    const auto file = put(changed);
    const TableOptions options{.targets = {"y"}, .missing = policies[round % 3]};
    try {
      const Split split = load_table(file, options, {50, 25, 25}, key);
      for (const Dataset* part : {&split.train, &split.validation, &split.test}) check(*part);
      ++loaded;
    } catch (const Error&) {
    }
    try {
      check(load_table_rows(file, schema, Targets::kIfPresent));
    } catch (const Error&) {
    }
  }
  EXPECT_GT(loaded, 20);
  EXPECT_LT(loaded, 580);
}

TEST(TableSchema, RefusesWhatContradictsItself) {
  const auto reading = [](const std::string& json) {
    return [json] { table_schema_from_json(Json::parse(json)); };
  };
  const auto schema = [](std::string_view missing, std::string_view features, std::string_view task,
                         std::string_view targets) {
    return fmt::format(
        R"({{"task":"{}","missing":"{}","unseen":"error","features":[{}],"targets":[{}]}})", task,
        missing, features, targets);
  };
  const std::string y = R"({"name":"y","categorical":false})";
  const std::string x = R"({"name":"x","categorical":true,"categories":["a","b"],"fill":1})";
  const Json good = Json::parse(schema("impute", x, "regression", y));
  EXPECT_EQ(table_schema_from_json(good).features[0].fill, 1.0f);
  const std::string largest = R"({"name":"z","categorical":false,"fill":-3.4028234663852886e38})";
  EXPECT_EQ(table_schema_from_json(Json::parse(schema("impute", largest, "regression", y)))
                .features[0]
                .fill,
            std::numeric_limits<float>::lowest());
  const auto expect = [&](const std::string& json) {
    expect_refused(ErrorCode::kFormat, reading(json));
  };
  expect(schema("error", R"({"name":"x","categorical":true})", "regression", y));
  expect(schema("impute", y, "regression", y));
  for (const char* fill : {"2", "-1", "1e30", "0.5"})
    expect(schema(
        "impute",
        fmt::format(R"({{"name":"x","categorical":true,"categories":["a","b"],"fill":{}}})", fill),
        "regression", y));
  expect(schema("impute", R"({"name":"y","categorical":false,"fill":1e300})", "regression", y));
  expect(schema("error", y, "regression", ""));
  expect(schema("error", y, "classification", x + "," + x));
  expect(schema("error", x, "classification", y));
  expect(schema("error", y, "classification",
                R"({"name":"z","categorical":true,"categories":["a"]})"));
  expect(schema("error", y, "regression", x));
  // A numeric feature cannot be a categorical target.
  const std::string z = R"({"name":"z","categorical":true,"categories":["a","b"]})";
  expect(schema("error", R"({"name":"z","categorical":false})", "classification", z));
  expect(schema("error", x + "," + x, "regression", y));
  expect(schema("error", R"({"name":"z","categorical":true,"categories":["a","a"]})", "regression",
                y));
  expect(schema("error", y, "ranking", y));
  expect(schema("guess", y, "regression", y));
  expect("{");
  expect("{}");
  expect(std::string(100'000, '['));
}

}  // namespace
}  // namespace limpid
