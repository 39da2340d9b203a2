#include "limpid/data/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/formats/csv.h"
#include "limpid/formats/detail/report.h"
#include "limpid/formats/in_quotes.h"

namespace limpid {
namespace {

namespace fs = std::filesystem;
using detail::Reporter;
using Kind = CsvOptions::Kind;

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

// A table, the columns that matter in it, and how errors name them.
struct Source {
  CsvTable table;
  std::vector<const CsvColumn*> features;
  std::vector<const CsvColumn*> targets;
  Reporter report;
  std::string name;

  std::size_t rows() const { return table.lines.size(); }
};

bool is_missing(const CsvColumn& column, std::size_t row) {
  return column.categorical ? column.codes[row] < 0 : std::isnan(column.numbers[row]);
}

const CsvColumn* find_column(const CsvTable& table, std::string_view name) {
  const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                  [&](const CsvColumn& column) { return column.name == name; });
  return found == table.columns.end() ? nullptr : &*found;
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 12;
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() == kShown) {
      shown.push_back(fmt::format("and {} more", names.size() - kShown));
      break;
    }
    shown.push_back(in_quotes(name));
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

// ---- choosing columns

// Which columns a user named for what, while the columns come to be known.
class Choice {
 public:
  explicit Choice(const TableOptions& options) : options_(options) {}

  Kind kind(std::string_view name, std::size_t number) {
    names_.emplace_back(name);
    const bool ignored = named(options_.ignored, name, number);
    const bool categorical = named(options_.categorical, name, number);
    const bool target = named(options_.targets, name, number);
    if (ignored + categorical + target > 1)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("table: column {} is named for two purposes", in_quotes(name)));
    return ignored ? Kind::kIgnored : categorical ? Kind::kCategorical : Kind::kAny;
  }

  // Throws where the user named what is not there.
  void check() const {
    for (const auto* list : {&options_.targets, &options_.ignored, &options_.categorical})
      for (const std::string& wanted : *list)
        if (!found_.count(wanted))
          throw Error(ErrorCode::kNotFound,
                      fmt::format("table: there is no column {}; there are: {}", in_quotes(wanted),
                                  list_of(names_)));
    const std::vector<std::string> all = targets();
    for (const std::string& name : all)
      if (std::count(all.begin(), all.end(), name) > 1)
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("table: target {} is named twice", in_quotes(name)));
    if (options_.targets.empty())
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("table: which column is the target? There are: {}", list_of(names_)));
  }

  // The targets by the names of their columns, in the order in which they were named.
  std::vector<std::string> targets() const {
    std::vector<std::string> all;
    for (const std::string& wanted : options_.targets) all.push_back(found_.at(wanted));
    return all;
  }

 private:
  bool named(const std::vector<std::string>& list, std::string_view name, std::size_t number) {
    // Without a header column 3 is called column3: who says 3 means it.
    const bool by_number = name == fmt::format("column{}", number);
    for (const std::string& wanted : list)
      if (wanted == name || (by_number && wanted == std::to_string(number))) {
        found_[wanted] = name;
        return true;
      }
    return false;
  }

  const TableOptions& options_;
  std::vector<std::string> names_;
  std::map<std::string, std::string> found_;
};

Source read_source(const fs::path& file, const TableOptions& options) {
  Choice choice(options);
  CsvTable table = load_csv(
      file, {options.text.separator, options.text.header,
             [&](std::string_view name, std::size_t number) { return choice.kind(name, number); }});
  choice.check();
  Source source{std::move(table), {}, {}, Reporter("csv", file.string()), file.filename().string()};
  const std::vector<std::string> targets = choice.targets();
  for (const std::string& name : targets) source.targets.push_back(find_column(source.table, name));
  for (const CsvColumn& column : source.table.columns)
    if (std::find(targets.begin(), targets.end(), column.name) == targets.end())
      source.features.push_back(&column);
  if (source.features.empty()) source.report.broken("has no column but the targets");
  return source;
}

Source read_source(const fs::path& file, const TableSchema& schema, Targets targets,
                   const TableText& text) {
  std::map<std::string, Kind, std::less<>> kinds;
  const auto add = [&](const TableColumn& column) {
    kinds[column.name] = column.categorical ? Kind::kCategorical : Kind::kNumeric;
  };
  for (const TableColumn& column : schema.features) add(column);
  for (const TableColumn& column : schema.targets) add(column);
  std::vector<std::string> names;
  CsvTable table =
      load_csv(file, {text.separator, text.header, [&](std::string_view name, std::size_t) {
                        names.emplace_back(name);
                        const auto found = kinds.find(name);
                        return found == kinds.end() ? Kind::kIgnored : found->second;
                      }});
  Source source{std::move(table), {}, {}, Reporter("csv", file.string()), file.filename().string()};
  const auto find = [&](const TableColumn& column) {
    const CsvColumn* found = find_column(source.table, column.name);
    if (!found)
      source.report.broken("has no column {}; it has: {}", in_quotes(column.name), list_of(names));
    return found;
  };
  for (const TableColumn& column : schema.features) source.features.push_back(find(column));
  const bool present = std::all_of(
      schema.targets.begin(), schema.targets.end(),
      [&](const TableColumn& column) { return find_column(source.table, column.name); });
  if (targets == Targets::kRequired || present)
    for (const TableColumn& column : schema.targets) source.targets.push_back(find(column));
  return source;
}

// ---- what the columns mean

// Distinct numbers of a column, by size.
std::set<float> numbers_of(const CsvColumn& column) {
  std::set<float> distinct;
  for (const float number : column.numbers)
    if (!std::isnan(number)) distinct.insert(number);
  return distinct;
}

bool are_labels(const CsvColumn& column) {
  return std::all_of(column.numbers.begin(), column.numbers.end(),
                     [](float x) { return std::isnan(x) || x == 0 || x == 1; });
}

// All the integers from 0 to K-1, for a K of 2 to 256.
bool are_class_numbers(const CsvColumn& column) {
  const std::set<float> distinct = numbers_of(column);
  if (distinct.size() < 2 || distinct.size() > 256) return false;
  float next = 0;
  return std::all_of(distinct.begin(), distinct.end(), [&](float x) { return x == next++; });
}

Task task_of(const std::vector<const CsvColumn*>& targets) {
  const bool several = targets.size() > 1;
  if (!several && (targets[0]->categorical || are_class_numbers(*targets[0])))
    return Task::kClassification;
  const bool labels = std::all_of(targets.begin(), targets.end(), [](const CsvColumn* column) {
    return !column->categorical && are_labels(*column);
  });
  return several && labels ? Task::kMultiLabel : Task::kRegression;
}

void check_targets(const Source& source, Task task) {
  if (task == Task::kClassification && source.targets.size() != 1)
    source.report.broken("a classification has 1 target, {} are named", source.targets.size());
  for (const CsvColumn* column : source.targets) {
    if (task == Task::kClassification) continue;
    if (column->categorical)
      source.report.broken("target {} has text, a {} needs numbers", in_quotes(column->name),
                           name(task));
    if (task == Task::kMultiLabel && !are_labels(*column))
      source.report.broken("target {} has numbers other than 0 and 1, labels are 0 or 1",
                           in_quotes(column->name));
  }
}

void check_category_count(const Source& source, const std::string& column, std::size_t count) {
  if (count > kMaxCategories)
    source.report.unsupported(
        "column {} has {} different values, at most {} are supported as categories or classes",
        in_quotes(column), count, kMaxCategories);
}

std::vector<std::string> classes_of(const Source& source, const CsvColumn& column) {
  std::vector<std::string> classes = column.categories;
  if (!column.categorical) {
    const std::set<float> distinct = numbers_of(column);
    check_category_count(source, column.name, distinct.size());
    for (const float number : distinct) classes.push_back(fmt::format("{}", number));
  }
  if (classes.size() < 2)
    source.report.broken("target {} has the one class {}, a classification needs two",
                         in_quotes(column.name), in_quotes(classes.at(0)));
  return classes;
}

TableSchema schema_of(const Source& source, const TableOptions& options) {
  TableSchema schema;
  schema.task = options.task.value_or(task_of(source.targets));
  schema.missing = options.missing;
  schema.unseen = options.unseen;
  check_targets(source, schema.task);
  for (const CsvColumn* column : source.features) {
    check_category_count(source, column->name, column->categories.size());
    schema.features.push_back({column->name, column->categorical, column->categories});
  }
  for (const CsvColumn* column : source.targets) {
    check_category_count(source, column->name, column->categories.size());
    TableColumn target{column->name, column->categorical};
    if (schema.task == Task::kClassification) target.categories = classes_of(source, *column);
    schema.targets.push_back(std::move(target));
  }
  return schema;
}

// ---- encoding

void check_missing(const Source& source, Missing missing) {
  const auto check = [&](const std::vector<const CsvColumn*>& columns, std::size_t row) {
    for (const CsvColumn* column : columns)
      if (is_missing(*column, row))
        source.report.broken("line {}, column {}: a value is missing", source.table.lines[row],
                             in_quotes(column->name));
  };
  for (std::size_t row = 0; row < source.rows(); ++row) {
    if (missing == Missing::kError) check(source.features, row);
    if (missing != Missing::kDrop) check(source.targets, row);
  }
}

std::vector<std::int32_t> complete_rows(const Source& source) {
  std::vector<std::int32_t> rows;
  for (std::size_t row = 0; row < source.rows(); ++row) {
    const auto complete = [row](const CsvColumn* column) { return !is_missing(*column, row); };
    if (std::all_of(source.features.begin(), source.features.end(), complete) &&
        std::all_of(source.targets.begin(), source.targets.end(), complete))
      rows.push_back(static_cast<std::int32_t>(row));
  }
  return rows;
}

// For each category of a column its number in the schema, -1 where it is not there.
std::vector<std::int32_t> places_of(const CsvColumn& column, const TableColumn& known) {
  std::map<std::string_view, std::int32_t> place_of;
  for (const std::string& category : known.categories)
    place_of.emplace(category, static_cast<std::int32_t>(place_of.size()));
  std::vector<std::int32_t> places;
  for (const std::string& category : column.categories) {
    const auto found = place_of.find(category);
    places.push_back(found == place_of.end() ? -1 : found->second);
  }
  return places;
}

[[noreturn]] void refuse_unseen(const Source& source, const CsvColumn& column, std::size_t row,
                                const std::string& value) {
  source.report.broken("line {}, column {}: training had no {}", source.table.lines[row],
                       in_quotes(column.name), in_quotes(value));
}

// The features of one column, a place `stride` apart in each row: NaN where the value is missing.
void encode_column(const Source& source, const CsvColumn& column, const TableColumn& known,
                   Unseen unseen, std::span<float> out, std::size_t stride) {
  const std::vector<std::int32_t> places = places_of(column, known);
  const auto width = static_cast<std::size_t>(known.features());
  for (std::size_t row = 0; row < source.rows(); ++row) {
    const std::span<float> features = out.subspan(row * stride, width);
    if (!known.categorical) {
      features[0] = column.numbers[row];
      continue;
    }
    const std::int32_t code = column.codes[row];
    if (code < 0) {
      std::fill(features.begin(), features.end(), kMissing);
      continue;
    }
    const std::int32_t place = places[static_cast<std::size_t>(code)];
    if (place >= 0)
      features[static_cast<std::size_t>(place)] = 1;
    else if (unseen == Unseen::kError)
      refuse_unseen(source, column, row, column.categories[static_cast<std::size_t>(code)]);
  }
}

Tensor encode_features(const Source& source, const TableSchema& schema) {
  std::int64_t width = 0;
  for (const TableColumn& column : schema.features) width += column.features();
  const std::int64_t rows = source.table.rows();
  const std::int64_t bytes = product_or_most(product_or_most(rows, width), sizeof(float));
  if (static_cast<std::uint64_t>(bytes) > kMaxTableBytes)
    source.report.unsupported("{} rows of {} features are more than {} bytes", rows, width,
                              kMaxTableBytes);
  return Tensor::generate<float>(Shape{rows, width}, [&](std::span<float> out) {
    std::size_t offset = 0;
    for (std::size_t c = 0; c < source.features.size(); ++c) {
      encode_column(source, *source.features[c], schema.features[c], schema.unseen,
                    out.subspan(offset), static_cast<std::size_t>(width));
      offset += static_cast<std::size_t>(schema.features[c].features());
    }
  });
}

// Classes i32 [N]. A row whose target is missing gets class 0: it will be dropped.
Tensor encode_classes(const Source& source, const TableColumn& known) {
  CsvColumn column = *source.targets[0];
  if (!column.categorical) {
    std::map<float, std::int32_t> code_of;
    for (const float number : numbers_of(column)) {
      code_of.emplace(number, static_cast<std::int32_t>(code_of.size()));
      column.categories.push_back(fmt::format("{}", number));
    }
    for (const float number : column.numbers)
      column.codes.push_back(std::isnan(number) ? -1 : code_of.at(number));
  }
  const std::vector<std::int32_t> places = places_of(column, known);
  return Tensor::generate<std::int32_t>(
      Shape{source.table.rows()}, [&](std::span<std::int32_t> out) {
        for (std::size_t row = 0; row < out.size(); ++row) {
          const std::int32_t code = column.codes[row];
          if (code < 0) continue;
          out[row] = places[static_cast<std::size_t>(code)];
          if (out[row] < 0)
            refuse_unseen(source, column, row, column.categories[static_cast<std::size_t>(code)]);
        }
      });
}

// f32 [N, targets].
Tensor encode_numbers(const Source& source) {
  const std::size_t width = source.targets.size();
  return Tensor::generate<float>(Shape{source.table.rows(), static_cast<std::int64_t>(width)},
                                 [&](std::span<float> out) {
                                   for (std::size_t i = 0; i < out.size(); ++i)
                                     out[i] = source.targets[i % width]->numbers[i / width];
                                 });
}

// The rows that are left, as the schema has them; missing features are NaN still.
Dataset encode(const Source& source, const TableSchema& schema) {
  check_missing(source, schema.missing);
  Dataset data;
  data.name = source.name;
  data.task = schema.task;
  data.feature_names = schema.feature_names();
  data.inputs = encode_features(source, schema);
  if (schema.task == Task::kClassification) {
    data.class_names = schema.targets.at(0).categories;
    data.classes = static_cast<std::int64_t>(data.class_names.size());
  }
  for (const TableColumn& column : schema.targets) data.target_names.push_back(column.name);
  data.targets = !source.targets.empty() && schema.task == Task::kClassification
                     ? encode_classes(source, schema.targets[0])
                     : encode_numbers(source);
  if (schema.missing != Missing::kDrop) return data;
  data = gather_rows(data, complete_rows(source));
  if (data.size() == 0) source.report.broken("every row has a missing value");
  return data;
}

// ---- what is missing

// One column's features in all rows of a data set.
class Features {
 public:
  Features(std::span<const float> inputs, std::size_t stride, std::size_t offset, std::size_t width)
      : inputs_(inputs), stride_(stride), offset_(offset), width_(width) {}

  std::size_t rows() const { return inputs_.size() / stride_; }
  std::span<const float> row(std::size_t i) const {
    return inputs_.subspan(i * stride_ + offset_, width_);
  }

 private:
  std::span<const float> inputs_;
  std::size_t stride_, offset_, width_;
};

std::optional<float> mean_of(const Features& features) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < features.rows(); ++i) {
    const float x = features.row(i)[0];
    if (std::isnan(x)) continue;
    sum += static_cast<double>(x);
    ++count;
  }
  if (count == 0) return {};
  return static_cast<float>(sum / static_cast<double>(count));
}

// The category that most rows have; the first of several.
std::optional<float> mode_of(const Features& features, std::size_t categories) {
  std::vector<std::int64_t> counts(categories);
  for (std::size_t i = 0; i < features.rows(); ++i)
    for (std::size_t k = 0; k < categories; ++k) counts[k] += features.row(i)[k] == 1;
  const auto most = std::max_element(counts.begin(), counts.end());
  if (*most == 0) return {};
  return static_cast<float>(most - counts.begin());
}

void fit_fills(TableSchema& schema, const Dataset& train) {
  const auto stride = static_cast<std::size_t>(train.inputs.shape()[1]);
  std::size_t offset = 0;
  for (TableColumn& column : schema.features) {
    const auto width = static_cast<std::size_t>(column.features());
    const Features features(train.inputs.values<float>(), stride, offset, width);
    column.fill = column.categorical ? mode_of(features, width) : mean_of(features);
    if (!column.fill)
      throw Error(ErrorCode::kFormat,
                  fmt::format("table: column {} has no value in the training part",
                              in_quotes(column.name)));
    offset += width;
  }
}

// Puts what the schema says where values are missing.
void impute(Dataset& data, const TableSchema& schema) {
  const Tensor holes = data.inputs;
  data.inputs = Tensor::generate<float>(holes.shape(), [&](std::span<float> out) {
    const auto from = holes.values<float>();
    std::copy(from.begin(), from.end(), out.begin());
    for (std::size_t place = 0; place < out.size();)
      for (const TableColumn& column : schema.features) {
        const auto width = static_cast<std::size_t>(column.features());
        if (std::isnan(out[place])) {
          std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(place), width, 0.0f);
          const float fill = column.fill.value();
          if (column.categorical)
            out[place + static_cast<std::size_t>(fill)] = 1;
          else
            out[place] = fill;
        }
        place += width;
      }
  });
}

}  // namespace

Split load_table(const fs::path& file, const TableOptions& options, const Shares& shares, Key key,
                 const std::optional<fs::path>& test_file) {
  const Source source = read_source(file, options);
  TableSchema schema = schema_of(source, options);
  const Dataset all = encode(source, schema);
  Split split = test_file ? with_validation({all, gather_rows(all, {}), {}}, shares, key)
                          : split_rows(all, shares, key);
  if (schema.missing == Missing::kImpute) {
    fit_fills(schema, split.train);
    for (Dataset* part : {&split.train, &split.validation, &split.test})
      if (part->size() > 0) impute(*part, schema);
  }
  if (test_file) split.test = load_table_rows(*test_file, schema, Targets::kRequired, options.text);
  for (Dataset* part : {&split.train, &split.validation, &split.test})
    part->table_schema = to_json(schema);
  return split;
}

Dataset load_table_rows(const fs::path& file, const TableSchema& schema, Targets targets,
                        const TableText& text) {
  verify(schema);
  const Source source = read_source(file, schema, targets, text);
  Dataset data = encode(source, schema);
  if (schema.missing == Missing::kImpute) impute(data, schema);
  data.table_schema = to_json(schema);
  return data;
}

}  // namespace limpid
