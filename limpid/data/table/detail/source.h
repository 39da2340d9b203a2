// A CSV table, with the columns that a data set uses. Depends on table.h and formats/csv.h;
// included only by sources.
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "limpid/data/table/table.h"
#include "limpid/formats/csv.h"
#include "limpid/formats/detail/report.h"

namespace limpid::detail {

// A table, its feature and target columns, and a reporter of errors in it.
struct TableSource {
  CsvTable table;
  std::vector<const CsvColumn*> features;
  std::vector<const CsvColumn*> targets;
  const CsvColumn* ids = nullptr;  // the column that names the rows
  // Columns that the user wants to be categories.
  std::set<std::string> categorical = {};
  Reporter report;
  std::string name;
  std::vector<std::string> notes = {};  // what was assumed

  std::size_t rows() const { return table.lines.size(); }
};

// Reads a table by the user's options, or by an earlier schema. Both throw as load_table does. The
// first leaves out columns of text that are like names.
TableSource read_table(const std::filesystem::path& file, const TableOptions& options);
TableSource read_table(const std::filesystem::path& file, const TableSchema& schema,
                       Targets targets, const RowsOptions& options);

// Adds to the notes what the user may not expect of the columns that were read.
void note_columns(TableSource& source, const TableOptions& options);
// And of the task that was inferred from one target.
void note_task(TableSource& source, Task task);

bool is_missing(const CsvColumn& column, std::size_t row);

// The distinct numbers of a column, sorted.
std::set<float> numbers_of(const CsvColumn& column);

}  // namespace limpid::detail
