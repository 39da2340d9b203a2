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
};

// Columns are given by name; without a header, by number from 1.
struct TableOptions {
  TableText text = {};
  std::vector<std::string> targets = {};      // target columns
  std::vector<std::string> ignored = {};      // columns to ignore
  std::vector<std::string> categorical = {};  // columns of numbers to read as categories
  std::optional<Task> task = {};
  Missing missing = Missing::kError;
  Unseen unseen = Unseen::kError;
};

// Reads a table for training. Every column except the targets and the ignored ones becomes
// features, in the order of the file: a column of numbers becomes one feature, a column of text one
// feature per category, sorted by bytes. Categories and classes come from the whole file.
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
  kIfPresent,  // if one is missing, the targets are f32 [N, 0]
};

// Reads a table by the schema of an earlier one. Columns are found by name; others are ignored.
// Throws what load_table throws for its test file.
Dataset load_table_rows(const std::filesystem::path& file, const TableSchema& schema,
                        Targets targets, const TableText& text = {});

}  // namespace limpid
