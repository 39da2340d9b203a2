// The schema of a table: how its columns become features and targets. It is fixed in training and
// stored with the model, so that the model takes the same raw columns later. Depends on task.h and
// core/json.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/enum_names.h"
#include "limpid/core/json.h"
#include "limpid/data/task.h"

namespace limpid {

// How to handle missing values.
enum class Missing : std::uint8_t {
  kError,   // the table is refused
  kDrop,    // the row is dropped
  kImpute,  // a feature becomes the mean (categories: the mode) of the training set; targets: as
            // kError
};
// How to handle a category that did not occur in training.
enum class Unseen : std::uint8_t {
  kError,  // the table is refused
  kZeros,  // all features of the column are 0
};

// Its names (core/enum_names.h).
constexpr EnumNames<3> enum_names(Missing) { return {"missing", {"error", "drop", "impute"}}; }
// Its names (core/enum_names.h).
constexpr EnumNames<2> enum_names(Unseen) { return {"unseen", {"error", "zeros"}}; }

// How to read one column.
struct TableColumn {
  std::string name;
  bool categorical = false;  // its values are text
  bool date = false;         // its values are dates, as days since 1970-01-01
  // For a categorical feature, category k becomes feature k of the column (one-hot). For the target
  // of a classification, category k is class k; the categories of a column of numbers are numbers.
  std::vector<std::string> categories = {};
  // The replacement of a missing feature: the mean, or the index of a category. Without one,
  // missing values cannot be imputed.
  std::optional<float> fill = {};

  bool operator==(const TableColumn&) const = default;

  // The number of features of the column: 1, or the number of categories.
  std::int64_t features() const {
    return categorical ? static_cast<std::int64_t>(categories.size()) : 1;
  }
};

// How to read a whole table.
struct TableSchema {
  Task task = Task::kClassification;
  Missing missing = Missing::kError;
  Unseen unseen = Unseen::kError;
  std::vector<TableColumn> features;  // in the order of the features
  std::vector<TableColumn> targets;   // one column, or several columns of numbers

  bool operator==(const TableSchema&) const = default;

  // The names of all features: "column", or "column=category".
  std::vector<std::string> feature_names() const;
};

// Throws kFormat for an inconsistent schema: a repeated column or category, a categorical column
// without categories, a fill that is missing or not a category, or targets that the task does not
// allow.
void verify(const TableSchema& schema);

// To a JSON object, and from one. table_schema_from_json throws kFormat for invalid JSON, and what
// verify throws.
Json to_json(const TableSchema& schema);
TableSchema table_schema_from_json(const JsonView& json);

}  // namespace limpid
