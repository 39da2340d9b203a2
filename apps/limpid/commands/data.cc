// limpid data: describes a data set.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/limpid/support/answers.h"
#include "apps/limpid/support/command.h"
#include "apps/limpid/support/data_spec.h"
#include "apps/limpid/support/examples.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/scores.h"
#include "limpid/core/number_text.h"
#include "limpid/data/augment.h"
#include "limpid/data/picture.h"
#include "limpid/formats/file.h"
#include "limpid/inspect/table.h"
#include "limpid/train/diagnostics/data_facts.h"
#include "limpid/train/loop/trainer.h"

namespace limpid::tool {
namespace {

struct DataArguments {
  std::string spec;
  bool show = false;
  std::int64_t count = 3;
  std::string augment = "none", sheet;
  bool json = false;
};

using Part = std::pair<const char*, const Dataset*>;

std::vector<Part> parts_of(const Split& split) {
  std::vector<Part> parts;
  for (const Part& part : {Part{"training", &split.train}, Part{"validation", &split.validation},
                           Part{"test", &split.test}})
    if (part.second->size() > 0) parts.push_back(part);
  return parts;
}

std::string column_name(const std::vector<std::string>& names, std::int64_t column) {
  const auto at = static_cast<std::size_t>(column);
  return at < names.size() ? names[at] : std::to_string(column);
}

// Statistics of columns are for tables, not for images and texts.
constexpr std::int64_t kMostColumns = 64;

bool has_columns(const Dataset& data) {
  return !data.windows && data.input_type().shape.elements() <= kMostColumns;
}

// ---- text

std::string columns_text(const Dataset& data, const train::DataFacts& facts) {
  Table table{{{"feature"},
               {"min", Align::kRight},
               {"mean", Align::kRight},
               {"std", Align::kRight},
               {"max", Align::kRight}},
              {}};
  std::vector<train::FeatureFacts> features = facts.features;
  std::sort(features.begin(), features.end(),
            [](const auto& a, const auto& b) { return a.column < b.column; });
  for (const train::FeatureFacts& f : features)
    table.rows.push_back({column_name(data.feature_names, f.column), short_number(f.min),
                          short_number(f.mean), short_number(f.std), short_number(f.max)});
  return to_text(table);
}

std::string classes_text(const Dataset& data, const train::DataFacts& facts) {
  Table table{{{"class"}, {"training examples", Align::kRight}}, {}};
  for (std::size_t c = 0; c < facts.class_counts.size(); ++c)
    table.rows.push_back({class_name(data, c), grouped(facts.class_counts[c])});
  return to_text(table);
}

// One example: its picture, its text or its numbers by name, and its target.
std::string example_text(const Dataset& data, std::int64_t row) {
  std::string text = picture_of(data, row);
  if (text.empty() && has_columns(data)) {
    const Tensor example = data.inputs_of(row, 1);
    const auto numbers = example.values<float>();
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      parts.push_back(fmt::format("{} = {}",
                                  column_name(data.feature_names, static_cast<std::int64_t>(i)),
                                  short_number(static_cast<double>(numbers[i]))));
    text = fmt::format("{}\n", printable(fmt::format("{}", fmt::join(parts, ", "))));
  }
  return fmt::format("\nexample {}: {}\n{}", row, target_text(data, row), text);
}

void print_facts(const Split& split, const train::DataFacts& facts) {
  const Dataset& train = split.train;
  print(fmt::format("{}: {}; an example is {}, its target {}\n\n", printable(train.name),
                    name(train.task), to_string(train.input_type()),
                    to_string(train.target_type())));
  Table sizes{{{"set"}, {"examples", Align::kRight}}, {}};
  for (const auto& [part, data] : parts_of(split))
    sizes.rows.push_back({part, grouped(data->size())});
  print(to_text(sizes));
  if (!train.notes.empty()) print("\n" + notes_text(train));
  if (!facts.class_counts.empty() && train.task == Task::kClassification)
    print("\n" + classes_text(train, facts));
  if (has_columns(train)) print("\n" + columns_text(train, facts));
  for (const train::Duplicates& d : facts.duplicates)
    print(fmt::format("\nrows of the {} set that repeat a row of the {} set: {}\n",
                      train::set_name(d.part), train::set_name(d.other), grouped(d.rows)));
  if (facts.non_finite > 0)
    print(fmt::format("\nvalues that are not finite: {}\n", grouped(facts.non_finite)));
}

// ---- JSON

Json split_json(const Split& split, const train::DataFacts& facts) {
  const Dataset& train = split.train;
  Json sizes = Json::object();
  for (const auto& [part, data] : parts_of(split)) sizes[part] = data->size();
  Json json{
      {"data", train.name},
      {"task", name(train.task)},
      {"examples", sizes},
      {"input",
       {{"dtype", name(train.input_type().dtype)}, {"shape", json_of(train.input_type().shape)}}},
      {"target",
       {{"dtype", name(train.target_type().dtype)}, {"shape", json_of(train.target_type().shape)}}},
      {"non_finite", facts.non_finite}};
  if (train.task == Task::kClassification) {
    Json classes = Json::array();
    for (std::size_t c = 0; c < facts.class_counts.size(); ++c)
      classes.push_back({{"name", class_name(train, c)}, {"examples", facts.class_counts[c]}});
    json["classes"] = classes;
  }
  if (!train.feature_names.empty()) json["features"] = train.feature_names;
  if (!train.notes.empty()) json["notes"] = train.notes;
  return json;
}

// ---- a sheet of pictures

// What training with seed 0 sees of a picture in its first epochs.
constexpr std::int64_t kDrawnPictures = 9;

// A line of the sheet for each example: its picture, then those that are drawn from it; without an
// augmentation, the examples one after another.
void write_sheet(const DataArguments& options, const Dataset& train) {
  const Augmentation augmentation =
      with_data_option([&] { return parse_augmentation(options.augment); });
  const std::optional<PictureShape> shape = train.picture;
  if (!shape)
    throw UsageError(fmt::format("--sheet: expected pictures, the data has examples of type {}",
                                 to_string(train.input_type())));
  RowAugmenter augmenter(augmentation, train, train.classes);
  const std::int64_t drawn = augmentation.empty() ? 0 : kDrawnPictures;
  const std::int64_t columns = kDrawnPictures + 1;
  constexpr std::int64_t kLines = 8;
  const std::int64_t examples = std::min(train.size(), drawn > 0 ? kLines : kLines * columns);
  const auto size = static_cast<std::size_t>(shape->elements());
  std::vector<float> pictures, probabilities(static_cast<std::size_t>(train.classes));
  for (std::int64_t row = 0; row < examples; ++row) {
    const Tensor example = train.inputs_of(row, 1);
    const std::span<const float> picture = example.values<float>();
    pictures.insert(pictures.end(), picture.begin(), picture.end());
    for (std::int64_t epoch = 0; epoch < drawn; ++epoch) {
      pictures.resize(pictures.size() + size);
      augmenter(train::augment_key(0).fold_in(static_cast<std::uint64_t>(epoch)), row,
                std::span(pictures).last(size), probabilities);
    }
  }
  const std::vector<std::byte> bytes = picture_sheet(pictures, *shape, columns);
  const std::span<const std::byte> part(bytes);
  write_file_atomically(options.sheet, std::span(&part, 1));
}

void data(const DataArguments& options) {
  const DataSpec spec = parse_data_option(options.spec);
  const Split split = with_data_option([&] { return load_data(spec); });
  if (!options.sheet.empty()) write_sheet(options, split.train);
  if (!options.sheet.empty() && is_standard_output(options.sheet)) return;
  const train::DataFacts facts = train::data_facts(split);
  if (options.json) return print_json(split_json(split, facts));
  print_facts(split, facts);
  if (!options.show) return;
  for (std::int64_t row = 0; row < std::min(options.count, split.train.size()); ++row)
    print(example_text(split.train, row));
}

}  // namespace

void add_data(Command& app) {
  auto options = std::make_shared<DataArguments>();
  Command command =
      app.command("data", "Describe a data set: sizes, shapes, classes, columns, duplicate rows");
  command.option("SPEC", options->spec, data_spec_help()).type("SPEC").required();
  const Option show =
      command.flag("--show", options->show, "Print the first training examples, too");
  command.option("--count", options->count, "Number of examples that --show prints")
      .needs(show)
      .check(within(1, kMostExamples));
  const Option sheet =
      command
          .option("--sheet", options->sheet,
                  "Write training examples that are pictures to this file, as one PNG")
          .type("FILE");
  command
      .option("--augment", options->augment,
              "Augmentation, as of train: the sheet shows each picture as in the first epochs of "
              "seed 0")
      .needs(sheet)
      .type("LIST");
  command.flag("--json", options->json, "Print JSON").excludes(show);
  command.run([options] { data(*options); });
}

}  // namespace limpid::tool
