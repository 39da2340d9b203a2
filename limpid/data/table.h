// Data sets from tables in CSV files. Leans on table_schema.h, split.h and formats/csv.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/data/split.h"
#include "limpid/data/table_schema.h"

namespace limpid {

// The most categories that a column may have, and the most bytes of a table's features.
inline constexpr std::size_t kMaxCategories = 1024;
inline constexpr std::uint64_t kMaxTableBytes = std::uint64_t{4} << 30;

// How the text of a table is read; see CsvOptions.
struct TableText {
  std::optional<char> separator = {};
  std::optional<bool> header = {};
};

// Columns are given by name; those of a table without a header by number, counted from 1.
struct TableOptions {
  TableText text = {};
  std::vector<std::string> targets = {};      // what is to be learnt
  std::vector<std::string> ignored = {};      // what is left out
  std::vector<std::string> categorical = {};  // categories, though they look like numbers
  std::optional<Task> task = {};
  Missing missing = Missing::kError;
  Unseen unseen = Unseen::kError;
};

// Reads a table for training. Every column but the targets and those left out becomes features, in
// the order of the file: one of a column of numbers, one for each category, in the order of their
// bytes, of a column of text. Categories and classes are those of the whole file.
//
// The task, unless it is given: several targets of which all values are 0 or 1 are labels, several
// others a regression; a single target of text, or of all the integers from 0 to K-1 for a K of 2
// to 256, is a classification, any other a regression. Classes are in the order of their bytes,
// numbers by size.
//
// The parts are those of split_rows for the rows that are left; with a file for the test (the same
// columns), those of with_validation. What missing values become is fitted to the training part.
//
// Throws what load_csv and split_rows throw; kNotFound, naming what there is, for a column that
// does not exist; kInvalidArgument where there is no target, or a column is named for two purposes;
// kFormat, naming line and column, for a missing value, a category of the test file that the other
// file does not have, or targets that the task does not take; kUnsupported beyond the limits above.
Split load_table(const std::filesystem::path& file, const TableOptions& options,
                 const Shares& shares, Key key,
                 const std::optional<std::filesystem::path>& test_file = {});

// Whether the columns of the targets are read where an earlier table's schema says how.
enum class Targets : std::uint8_t {
  kRequired,   // they must be there
  kIfPresent,  // where one is not there, the targets are f32 [N, 0]
};

// Reads a table as an earlier one was read: columns are found by name, others are passed over.
// Throws what load_table throws for its test file.
Dataset load_table_rows(const std::filesystem::path& file, const TableSchema& schema,
                        Targets targets, const TableText& text = {});

}  // namespace limpid
