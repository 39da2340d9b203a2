#include "limpid/data/table_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"

namespace limpid {
namespace {

constexpr std::pair<Missing, std::string_view> kMissing[] = {
    {Missing::kError, "error"}, {Missing::kDrop, "drop"}, {Missing::kImpute, "impute"}};
constexpr std::pair<Unseen, std::string_view> kUnseen[] = {{Unseen::kError, "error"},
                                                           {Unseen::kZeros, "zeros"}};

template <class T, std::size_t N>
std::string_view name_in(const std::pair<T, std::string_view> (&table)[N], T value) {
  return std::find_if(std::begin(table), std::end(table),
                      [&](const auto& entry) { return entry.first == value; })
      ->second;
}

template <class T, std::size_t N>
std::optional<T> value_in(const std::pair<T, std::string_view> (&table)[N], std::string_view name) {
  for (const auto& [value, value_name] : table)
    if (value_name == name) return value;
  return {};
}

[[noreturn]] void bad_schema(std::string_view what) {
  throw Error(ErrorCode::kFormat, fmt::format("table schema: {}", what));
}

Json json_of(const TableColumn& column) {
  Json json{{"name", column.name}, {"categorical", column.categorical}};
  if (!column.categories.empty()) json["categories"] = column.categories;
  if (column.fill) json["fill"] = *column.fill;
  return json;
}

TableColumn column_of(const JsonView& json) {
  TableColumn column{json.at("name").as_string(), json.at("categorical").as_bool()};
  if (const auto categories = json.find("categories")) column.categories = categories->as_strings();
  if (const auto found = json.find("fill")) {
    const double fill = found->as_number();
    if (!(std::abs(fill) <= std::numeric_limits<float>::max()))
      bad_schema(fmt::format("column {} is filled with {}", in_quotes(column.name), fill));
    column.fill = static_cast<float>(fill);
  }
  return column;
}

void verify_categories(const TableColumn& column) {
  const std::set<std::string_view> distinct(column.categories.begin(), column.categories.end());
  if (distinct.size() < column.categories.size())
    bad_schema(fmt::format("column {} has a duplicate category", in_quotes(column.name)));
}

void verify_feature(const TableColumn& column, Missing missing) {
  if (column.categorical && column.categories.empty())
    bad_schema(fmt::format("column {} has no categories", in_quotes(column.name)));
  if (missing == Missing::kImpute && !column.fill)
    bad_schema(fmt::format("column {} has no fill", in_quotes(column.name)));
  if (column.categorical && column.fill &&
      !(*column.fill >= 0 && *column.fill < static_cast<float>(column.categories.size()) &&
        *column.fill == std::floor(*column.fill)))
    bad_schema(fmt::format("column {} is filled with category {} of {}", in_quotes(column.name),
                           *column.fill, column.categories.size()));
}

template <class T>
T known(std::optional<T> (*from_name)(std::string_view), const JsonView& name) {
  const std::optional<T> value = from_name(name.as_string());
  if (!value) bad_schema(fmt::format("unknown value {}", in_quotes(name.as_string())));
  return *value;
}

}  // namespace

std::string_view name(Missing missing) { return name_in(kMissing, missing); }
std::optional<Missing> missing_from_name(std::string_view name) { return value_in(kMissing, name); }
std::string_view name(Unseen unseen) { return name_in(kUnseen, unseen); }
std::optional<Unseen> unseen_from_name(std::string_view name) { return value_in(kUnseen, name); }

std::vector<std::string> TableSchema::feature_names() const {
  std::vector<std::string> names;
  for (const TableColumn& column : features) {
    if (!column.categorical) names.push_back(column.name);
    if (column.categorical)
      for (const std::string& category : column.categories)
        names.push_back(fmt::format("{}={}", column.name, category));
  }
  return names;
}

void verify(const TableSchema& schema) {
  for (const TableColumn& column : schema.features) verify_feature(column, schema.missing);
  const bool classes = schema.task == Task::kClassification;
  if (schema.targets.empty() || (classes && schema.targets.size() != 1))
    bad_schema(fmt::format("{} targets do not fit {}", schema.targets.size(), name(schema.task)));
  for (const TableColumn& column : schema.targets)
    if (classes ? column.categories.size() < 2 : column.categorical)
      bad_schema(
          fmt::format("target {} does not fit {}", in_quotes(column.name), name(schema.task)));
  std::set<std::string_view> names;
  for (const auto* columns : {&schema.features, &schema.targets})
    for (const TableColumn& column : *columns) {
      if (!names.insert(column.name).second)
        bad_schema(fmt::format("duplicate column {}", in_quotes(column.name)));
      verify_categories(column);
    }
}

Json to_json(const TableSchema& schema) {
  Json json{{"task", name(schema.task)},
            {"missing", name(schema.missing)},
            {"unseen", name(schema.unseen)},
            {"features", Json::array()},
            {"targets", Json::array()}};
  for (const TableColumn& column : schema.features) json["features"].push_back(json_of(column));
  for (const TableColumn& column : schema.targets) json["targets"].push_back(json_of(column));
  return json;
}

TableSchema table_schema_from_json(const JsonView& json) {
  TableSchema schema;
  schema.task = known(task_from_name, json.at("task"));
  schema.missing = known(missing_from_name, json.at("missing"));
  schema.unseen = known(unseen_from_name, json.at("unseen"));
  for (const JsonView& column : json.at("features").elements())
    schema.features.push_back(column_of(column));
  for (const JsonView& column : json.at("targets").elements())
    schema.targets.push_back(column_of(column));
  verify(schema);
  return schema;
}

}  // namespace limpid
