// The choice of a table's columns.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/data/table/detail/source.h"

namespace limpid::detail {
namespace {

namespace fs = std::filesystem;
using ColumnKind = CsvOptions::Kind;

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

// The columns that a user named for each purpose, as the columns become known.
class Choice {
 public:
  Choice(const TableOptions& options, const fs::path& file)
      : options_(options), where_(fmt::format("csv {}", in_quotes(file.string()))) {}

  ColumnKind kind(std::string_view name, std::size_t number) {
    names_.emplace_back(name);
    const bool ignored = named(options_.ignored, name, number);
    const bool categorical = named(options_.categorical, name, number);
    const bool target = named(options_.targets, name, number);
    const bool date = named(options_.dates, name, number);
    const bool id = named(options_.ids, name, number);
    if (ignored + categorical + target + date + id > 1)
      throw Error(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: column {} is named in more than one option", where_, in_quotes(name)));
    return ignored || id ? ColumnKind::kIgnored
           : categorical ? ColumnKind::kCategorical
           : date        ? ColumnKind::kDate
                         : ColumnKind::kAny;
  }

  // Throws if the user named a column that does not exist.
  void check(bool header) const {
    const std::string_view where_names_are =
        header || options_.text.header ? "" : " (header=yes if the first line has the names)";
    for (const auto* list : {&options_.targets, &options_.ignored, &options_.categorical,
                             &options_.dates, &options_.ids})
      for (const std::string& wanted : *list)
        if (!found_.count(wanted))
          throw Error(ErrorCode::kNotFound,
                      fmt::format("{}: there is no column {}; there are: {}{}", where_,
                                  in_quotes(wanted), list_of(names_), where_names_are));
    const std::vector<std::string> all = targets();
    for (const std::string& name : all)
      if (std::count(all.begin(), all.end(), name) > 1)
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("{}: target {} is named twice", where_, in_quotes(name)));
    if (options_.targets.empty())
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: expected a target column (target=COLUMN); there are: {}{}",
                              where_, list_of(names_), where_names_are));
  }

  // The column that the user meant.
  const std::string& column(const std::string& wanted) const { return found_.at(wanted); }

  // The targets by the names of their columns, in the order in which they were named.
  std::vector<std::string> targets() const {
    std::vector<std::string> all;
    for (const std::string& wanted : options_.targets) all.push_back(found_.at(wanted));
    return all;
  }

 private:
  bool named(const std::vector<std::string>& list, std::string_view name, std::size_t number) {
    // Without a header, column 3 is named column3, and "3" means it too.
    const bool by_number = name == fmt::format("column{}", number);
    for (const std::string& wanted : list)
      if (wanted == name || (by_number && wanted == std::to_string(number))) {
        found_[wanted] = name;
        return true;
      }
    return false;
  }

  const TableOptions& options_;
  std::string where_;
  std::vector<std::string> names_;
  std::map<std::string, std::string> found_;
};

CsvOptions csv_options(const TableText& text,
                       std::function<ColumnKind(std::string_view name, std::size_t number)> kind) {
  CsvOptions options{.separator = text.separator, .header = text.header, .kind = std::move(kind)};
  if (!text.missing.empty()) options.missing = text.missing;
  return options;
}

TableSource source_of(CsvTable table, const fs::path& file) {
  return {.table = std::move(table),
          .features = {},
          .targets = {},
          .report = Reporter("csv", file.string()),
          .name = file.filename().string()};
}

// Leaves out columns of text whose values hardly repeat: each value would be a feature of its own,
// and no later table would have the same ones.
void leave_out_names(TableSource& source) {
  constexpr std::size_t kFew = 20;
  const auto like_names = [&](const CsvColumn* column) {
    if (!column->categorical || source.categorical.count(column->name) > 0) return false;
    const auto rows = source.rows() - static_cast<std::size_t>(std::count(column->codes.begin(),
                                                                          column->codes.end(), -1));
    const std::size_t distinct = column->categories.size();
    if (distinct < kFew || 2 * distinct <= rows) return false;
    source.notes.push_back(
        fmt::format("column {} is left out: {} different values in {} rows; categorical={} makes "
                    "each a feature",
                    in_quotes(column->name), distinct, rows, column->name));
    return true;
  };
  auto& features = source.features;
  features.erase(std::remove_if(features.begin(), features.end(), like_names), features.end());
  if (features.empty())
    source.report.broken(
        "has no feature: the values of each column of text hardly repeat; "
        "categorical=COLUMN makes each a feature");
}

// What is only to be predicted needs no targets. With some of them missing, none are used.
void forget_partial_targets(TableSource& source) {
  std::size_t missing = 0;
  for (std::size_t row = 0; row < source.rows(); ++row)
    missing += std::any_of(source.targets.begin(), source.targets.end(),
                           [&](const CsvColumn* column) { return is_missing(*column, row); });
  if (missing == 0) return;
  if (missing < source.rows())
    source.notes.push_back(
        fmt::format("no targets are used, since {} of {} rows have none", missing, source.rows()));
  source.targets.clear();
}

}  // namespace

bool is_missing(const CsvColumn& column, std::size_t row) {
  return column.categorical ? column.codes[row] < 0 : std::isnan(column.numbers[row]);
}

TableSource read_table(const fs::path& file, const TableOptions& options) {
  Choice choice(options, file);
  CsvTable table =
      load_csv(file, csv_options(options.text, [&](std::string_view name, std::size_t number) {
                 return choice.kind(name, number);
               }));
  choice.check(table.header);
  TableSource source = source_of(std::move(table), file);
  const std::vector<std::string> targets = choice.targets();
  for (const std::string& name : targets) source.targets.push_back(find_column(source.table, name));
  for (const CsvColumn& column : source.table.columns)
    if (std::find(targets.begin(), targets.end(), column.name) == targets.end())
      source.features.push_back(&column);
  if (source.features.empty()) source.report.broken("has no columns other than the targets");
  for (const std::string& wanted : options.categorical)
    source.categorical.insert(choice.column(wanted));
  leave_out_names(source);
  return source;
}

TableSource read_table(const fs::path& file, const TableSchema& schema, Targets targets,
                       const RowsOptions& options) {
  std::map<std::string, ColumnKind, std::less<>> kinds;
  if (!options.id_column.empty()) kinds[options.id_column] = ColumnKind::kCategorical;
  const auto add = [&](const TableColumn& column) {
    if (column.name == options.id_column)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("csv {}: column {} is a feature or target of the model, expected "
                              "another one that names the rows",
                              in_quotes(file.string()), in_quotes(column.name)));
    kinds[column.name] = column.categorical ? ColumnKind::kCategorical
                         : column.date      ? ColumnKind::kDate
                                            : ColumnKind::kNumeric;
  };
  for (const TableColumn& column : schema.features) add(column);
  for (const TableColumn& column : schema.targets) add(column);
  std::vector<std::string> names;
  TableSource source =
      source_of(load_csv(file, csv_options(options.text,
                                           [&](std::string_view name, std::size_t) {
                                             names.emplace_back(name);
                                             const auto found = kinds.find(name);
                                             return found == kinds.end() ? ColumnKind::kIgnored
                                                                         : found->second;
                                           })),
                file);
  std::map<std::string_view, const CsvColumn*> columns;  // there may be very many
  for (const CsvColumn& column : source.table.columns) columns[column.name] = &column;
  const auto find = [&](const std::string& name) {
    const auto found = columns.find(name);
    if (found == columns.end())
      source.report.broken("has no column {}; it has: {}", in_quotes(name), list_of(names));
    return found->second;
  };
  if (!options.id_column.empty()) source.ids = find(options.id_column);
  for (const TableColumn& column : schema.features) source.features.push_back(find(column.name));
  const bool present =
      std::all_of(schema.targets.begin(), schema.targets.end(),
                  [&](const TableColumn& column) { return columns.count(column.name) > 0; });
  if (targets == Targets::kRequired || present)
    for (const TableColumn& column : schema.targets) source.targets.push_back(find(column.name));
  if (targets == Targets::kIfPresent) forget_partial_targets(source);
  return source;
}

std::set<float> numbers_of(const CsvColumn& column) {
  std::set<float> distinct;
  for (const float number : column.numbers)
    if (!std::isnan(number)) distinct.insert(number + 0.0F);  // -0 is 0
  return distinct;
}

}  // namespace limpid::detail
