// How the columns of a table become features and targets: fixed when a model is trained, kept with
// it, so that it takes the same raw columns later. Depends on task.h and core/json.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/data/task.h"

namespace limpid {

// What happens where a value is missing.
enum class Missing : std::uint8_t {
  kError,   // the table is refused
  kDrop,    // its row is left out
  kImpute,  // a feature gets the mean (categories: the mode) of the training part; targets: as
            // kError
};
// What happens to a category that training did not have.
enum class Unseen : std::uint8_t {
  kError,  // the table is refused
  kZeros,  // all features of the column are 0
};

// "error", "drop", "impute"; "error", "zeros".
std::string_view name(Missing missing);
std::optional<Missing> missing_from_name(std::string_view name);
std::string_view name(Unseen unseen);
std::optional<Unseen> unseen_from_name(std::string_view name);

// How one column is read.
struct TableColumn {
  std::string name;
  bool categorical = false;  // its values are text
  // Of a categorical feature: category k is feature k of the column's, 1 where the row has it, else
  // 0. Of the target of a classification: category k is class k, in numbers where the column has
  // them.
  std::vector<std::string> categories = {};
  // What a missing value of a feature becomes: the mean, or the number of a category; only with
  // Missing::kImpute.
  std::optional<float> fill = {};

  bool operator==(const TableColumn&) const = default;

  // How many features the column becomes: 1, or its categories.
  std::int64_t features() const {
    return categorical ? static_cast<std::int64_t>(categories.size()) : 1;
  }
};

// How a whole table is read.
struct TableSchema {
  Task task = Task::kClassification;
  Missing missing = Missing::kError;
  Unseen unseen = Unseen::kError;
  std::vector<TableColumn> features;  // in the order of the features
  std::vector<TableColumn> targets;   // one, or several columns of numbers

  bool operator==(const TableSchema&) const = default;

  // The names of all features: a column's, or "column=category".
  std::vector<std::string> feature_names() const;
};

// Throws kFormat where the schema contradicts itself: a column or a category that comes twice, a
// column of categories without any, a fill that is none of them or is missing where there must be
// one, targets that the task does not take.
void verify(const TableSchema& schema);

// As a JSON object, and back. from_json throws kFormat for JSON that no schema has, and what verify
// throws.
Json to_json(const TableSchema& schema);
TableSchema table_schema_from_json(const JsonView& json);

}  // namespace limpid
