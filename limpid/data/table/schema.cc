#include "limpid/data/table/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "limpid/core/enum_json.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"

namespace limpid {
namespace {

[[noreturn]] void bad_schema(std::string_view what) {
  throw Error(ErrorCode::kFormat, fmt::format("table schema: {}", what));
}

Json json_of(const TableColumn& column) {
  Json json{{"name", column.name}, {"categorical", column.categorical}};
  if (column.date) json["date"] = true;
  if (!column.categories.empty()) json["categories"] = column.categories;
  if (column.fill) json["fill"] = *column.fill;
  return json;
}

TableColumn column_of(const JsonView& json) {
  TableColumn column{json.at("name").as_string(), json.at("categorical").as_bool()};
  if (const auto date = json.find("date")) column.date = date->as_bool();
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
  if (column.categorical && column.date)
    bad_schema(fmt::format("column {} has categories and dates", in_quotes(column.name)));
  if (missing == Missing::kImpute && !column.fill)
    bad_schema(fmt::format("column {} has no fill", in_quotes(column.name)));
  if (column.categorical && column.fill &&
      !(*column.fill >= 0 && *column.fill < static_cast<float>(column.categories.size()) &&
        *column.fill == std::floor(*column.fill)))
    bad_schema(fmt::format("column {} is filled with category {} of {}", in_quotes(column.name),
                           *column.fill, column.categories.size()));
}

}  // namespace

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
  schema.task = enum_from_json<Task>(json.at("task"));
  schema.missing = enum_from_json<Missing>(json.at("missing"));
  schema.unseen = enum_from_json<Unseen>(json.at("unseen"));
  for (const JsonView& column : json.at("features").elements())
    schema.features.push_back(column_of(column));
  for (const JsonView& column : json.at("targets").elements())
    schema.targets.push_back(column_of(column));
  verify(schema);
  return schema;
}

}  // namespace limpid
