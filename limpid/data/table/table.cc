#include "limpid/data/table/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "limpid/core/float_mode.h"
#include "limpid/core/in_quotes.h"
#include "limpid/data/table/detail/encode.h"
#include "limpid/data/table/detail/source.h"

namespace limpid {
namespace {

namespace fs = std::filesystem;
using detail::TableSource;

bool are_labels(const CsvColumn& column) {
  return std::all_of(column.numbers.begin(), column.numbers.end(),
                     [](float x) { return std::isnan(x) || x == 0 || x == 1; });
}

// All the integers from 0 to K-1, for a K of 2 to 256.
bool are_class_numbers(const CsvColumn& column) {
  const std::set<float> distinct = detail::numbers_of(column);
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

void check_targets(const TableSource& source, Task task) {
  if (task == Task::kClassification && source.targets.size() != 1)
    source.report.broken("a classification has 1 target, got {}", source.targets.size());
  for (const CsvColumn* column : source.targets) {
    if (task == Task::kClassification) continue;
    if (column->categorical)
      source.report.broken("target {} has text, {} needs numbers", in_quotes(column->name),
                           name(task));
    if (task == Task::kMultiLabel && !are_labels(*column))
      source.report.broken("target {}: expected labels 0 and 1, got other numbers",
                           in_quotes(column->name));
  }
}

void check_category_count(const TableSource& source, const std::string& column, std::size_t count) {
  if (count > kMaxCategories)
    source.report.unsupported(
        "column {} has {} distinct values, at most {} are supported as categories or classes; "
        "ignore={} leaves it out",
        in_quotes(column), count, kMaxCategories, in_quotes(column));
}

std::vector<std::string> classes_of(const TableSource& source, const CsvColumn& column) {
  std::vector<std::string> classes = column.categories;
  if (!column.categorical) {
    const std::set<float> distinct = detail::numbers_of(column);
    check_category_count(source, column.name, distinct.size());
    for (const float number : distinct) classes.push_back(fmt::format("{}", number));
  }
  if (classes.size() < 2)
    source.report.broken("target {} has the single class {}, a classification needs two",
                         in_quotes(column.name), in_quotes(classes.at(0)));
  return classes;
}

TableSchema schema_of(const TableSource& source, const TableOptions& options) {
  TableSchema schema;
  schema.task = options.task.value_or(task_of(source.targets));
  schema.missing = options.missing;
  schema.unseen = options.unseen;
  check_targets(source, schema.task);
  for (const CsvColumn* column : source.features) {
    check_category_count(source, column->name, column->categories.size());
    if (column->categorical && column->categories.empty())
      source.report.broken("column {} has no value in any row", in_quotes(column->name));
    schema.features.push_back({.name = column->name,
                               .categorical = column->categorical,
                               .date = column->date,
                               .categories = column->categories});
  }
  for (const CsvColumn* column : source.targets) {
    check_category_count(source, column->name, column->categories.size());
    TableColumn target{.name = column->name, .categorical = column->categorical};
    if (schema.task == Task::kClassification) target.categories = classes_of(source, *column);
    schema.targets.push_back(std::move(target));
  }
  return schema;
}

}  // namespace

Split load_table(const fs::path& file, const TableOptions& options, const SplitRatio& shares,
                 Key key, const std::optional<fs::path>& test_file) {
  const DefaultFloatMode mode;
  TableSource source = detail::read_table(file, options);
  TableSchema schema = schema_of(source, options);
  detail::note_columns(source, options);
  if (!options.task) detail::note_task(source, schema.task);
  const Dataset all = detail::encode_table(source, schema);
  Split split = test_file ? with_validation({all, gather_rows(all, {}), {}}, shares, key)
                          : split_rows(all, shares, key);
  detail::fit_fills(schema, split.train);
  if (schema.missing == Missing::kImpute) {
    for (Dataset* part : {&split.train, &split.validation, &split.test})
      if (part->size() > 0) detail::impute(*part, schema);
  }
  if (test_file)
    split.test = load_table_rows(*test_file, schema, Targets::kRequired, {.text = options.text});
  for (Dataset* part : {&split.train, &split.validation, &split.test}) part->table = schema;
  return split;
}

Dataset load_table_rows(const fs::path& file, const TableSchema& schema, Targets targets,
                        const RowsOptions& options) {
  const DefaultFloatMode mode;
  verify(schema);
  const TableSource source = detail::read_table(file, schema, targets, options);
  TableSchema chosen = schema;
  chosen.missing = options.missing.value_or(schema.missing);
  chosen.unseen = options.unseen.value_or(schema.unseen);
  Dataset data = detail::encode_table(source, chosen);
  if (chosen.missing == Missing::kImpute) detail::impute(data, chosen);
  data.table = schema;
  return data;
}

}  // namespace limpid
