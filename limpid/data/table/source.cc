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
    if (ignored + categorical + target > 1)
      throw Error(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: column {} is named in more than one option", where_, in_quotes(name)));
    return ignored       ? ColumnKind::kIgnored
           : categorical ? ColumnKind::kCategorical
                         : ColumnKind::kAny;
  }

  // Throws if the user named a column that does not exist.
  void check() const {
    for (const auto* list : {&options_.targets, &options_.ignored, &options_.categorical})
      for (const std::string& wanted : *list)
        if (!found_.count(wanted))
          throw Error(ErrorCode::kNotFound,
                      fmt::format("{}: there is no column {}; there are: {}", where_,
                                  in_quotes(wanted), list_of(names_)));
    const std::vector<std::string> all = targets();
    for (const std::string& name : all)
      if (std::count(all.begin(), all.end(), name) > 1)
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("{}: target {} is named twice", where_, in_quotes(name)));
    if (options_.targets.empty())
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: expected a target column (target=COLUMN); there are: {}", where_,
                              list_of(names_)));
  }

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

}  // namespace

TableSource read_table(const fs::path& file, const TableOptions& options) {
  Choice choice(options, file);
  CsvTable table = load_csv(
      file, {options.text.separator, options.text.header,
             [&](std::string_view name, std::size_t number) { return choice.kind(name, number); }});
  choice.check();
  TableSource source{
      std::move(table), {}, {}, Reporter("csv", file.string()), file.filename().string()};
  const std::vector<std::string> targets = choice.targets();
  for (const std::string& name : targets) source.targets.push_back(find_column(source.table, name));
  for (const CsvColumn& column : source.table.columns)
    if (std::find(targets.begin(), targets.end(), column.name) == targets.end())
      source.features.push_back(&column);
  if (source.features.empty()) source.report.broken("has no columns other than the targets");
  return source;
}

TableSource read_table(const fs::path& file, const TableSchema& schema, Targets targets,
                       const TableText& text) {
  std::map<std::string, ColumnKind, std::less<>> kinds;
  const auto add = [&](const TableColumn& column) {
    kinds[column.name] = column.categorical ? ColumnKind::kCategorical : ColumnKind::kNumeric;
  };
  for (const TableColumn& column : schema.features) add(column);
  for (const TableColumn& column : schema.targets) add(column);
  std::vector<std::string> names;
  CsvTable table =
      load_csv(file, {text.separator, text.header, [&](std::string_view name, std::size_t) {
                        names.emplace_back(name);
                        const auto found = kinds.find(name);
                        return found == kinds.end() ? ColumnKind::kIgnored : found->second;
                      }});
  TableSource source{
      std::move(table), {}, {}, Reporter("csv", file.string()), file.filename().string()};
  std::map<std::string_view, const CsvColumn*> columns;  // there may be very many
  for (const CsvColumn& column : source.table.columns) columns[column.name] = &column;
  const auto find = [&](const TableColumn& column) {
    const auto found = columns.find(column.name);
    if (found == columns.end())
      source.report.broken("has no column {}; it has: {}", in_quotes(column.name), list_of(names));
    return found->second;
  };
  for (const TableColumn& column : schema.features) source.features.push_back(find(column));
  const bool present =
      std::all_of(schema.targets.begin(), schema.targets.end(),
                  [&](const TableColumn& column) { return columns.count(column.name) > 0; });
  if (targets == Targets::kRequired || present)
    for (const TableColumn& column : schema.targets) source.targets.push_back(find(column));
  return source;
}

std::set<float> numbers_of(const CsvColumn& column) {
  std::set<float> distinct;
  for (const float number : column.numbers)
    if (!std::isnan(number)) distinct.insert(number + 0.0F);  // -0 is 0
  return distinct;
}

}  // namespace limpid::detail
