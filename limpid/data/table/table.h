// Data sets from tables in CSV files. Depends on schema.h, split.h and formats/csv.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/data/split.h"
#include "limpid/data/table/schema.h"

namespace limpid {

// The maximum number of categories of a column, and of bytes of a table's features.
inline constexpr std::size_t kMaxCategories = 1024;
inline constexpr std::uint64_t kMaxTableBytes = std::uint64_t{4} << 30;

// How to read the CSV text; see CsvOptions.
struct TableText {
  std::optional<char> separator = {};
  std::optional<bool> header = {};
  std::vector<std::string> missing = {};  // words for a missing value; default: those of CsvOptions
};

// Columns are given by name; without a header, by number from 1.
struct TableOptions {
  TableText text = {};
  std::vector<std::string> targets = {};      // target columns
  std::vector<std::string> ignored = {};      // columns to ignore
  std::vector<std::string> categorical = {};  // columns to read as categories, whatever they hold
  std::vector<std::string> dates = {};        // columns of dates, which become days since 1970
  std::vector<std::string> ids = {};          // columns that only name the row
  std::optional<Task> task = {};
  Missing missing = Missing::kError;
  Unseen unseen = Unseen::kError;
};

// Reads a table for training. Every column except the targets and the ignored ones becomes
// features, in the order of the file: a column of numbers becomes one feature, a column of text one
// feature per category, sorted by bytes. Categories and classes come from the whole file. A column
// of text is left out if more than half of its values, and at least 20, are different, as names
// are, unless it is named as categorical. What was assumed stands in the notes of the sets.
//
// Unless the task is given, it is inferred. Several target columns: multi-label if all values are 0
// or 1, else regression. One target column: classification if it is text or contains exactly the
// integers 0 to K-1 for a K from 2 to 256, else regression. Classes are sorted by bytes; numbers by
// value.
//
// The rows are split by split_rows; with a test file, which needs the same columns, by
// with_validation. The replacements of missing values are fitted to the training set.
//
// Throws what load_csv and split_rows throw; kNotFound for an unknown column (the message lists the
// columns); kInvalidArgument if there is no target, or a column has two roles; kFormat, naming line
// and column, for a missing value, for a category that only the test file has, and for targets that
// the task does not allow; kUnsupported beyond the limits above.
Split load_table(const std::filesystem::path& file, const TableOptions& options,
                 const SplitRatio& shares, Key key,
                 const std::optional<std::filesystem::path>& test_file = {});

// Whether target columns must be present when a table is read by a schema.
enum class Targets : std::uint8_t {
  kRequired,   // they must be present
  kIfPresent,  // if a column or a value is missing, the targets are f32 [N, 0]
};

// How to read a table by the schema of an earlier one.
struct RowsOptions {
  TableText text = {};
  std::optional<Missing> missing = {};  // instead of the schema's
  std::optional<Unseen> unseen = {};    // instead of the schema's
  std::string id_column = {};           // a column that names the rows; empty: none
};

// Reads a table by the schema of an earlier one. Columns are found by name; others are ignored.
// `rows_of_table` says which rows they are, and which were dropped. Throws what load_table throws
// for its test file; kNotFound if there is no column of ids; kInvalidArgument if values are to be
// imputed, and the training set had none.
Dataset load_table_rows(const std::filesystem::path& file, const TableSchema& schema,
                        Targets targets, const RowsOptions& options = {});

}  // namespace limpid
