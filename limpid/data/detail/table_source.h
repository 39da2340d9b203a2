// A CSV table with the columns that a data set takes from it. Leans on table.h and formats/csv.h;
// included by sources alone.
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "limpid/data/table.h"
#include "limpid/formats/csv.h"
#include "limpid/formats/detail/report.h"

namespace limpid::detail {

// A table, the columns that matter in it, and how errors name them.
struct TableSource {
  CsvTable table;
  std::vector<const CsvColumn*> features;
  std::vector<const CsvColumn*> targets;
  Reporter report;
  std::string name;

  std::size_t rows() const { return table.lines.size(); }
};

// By what the user names, and as an earlier table was read. Both throw what table.h says.
TableSource read_table(const std::filesystem::path& file, const TableOptions& options);
TableSource read_table(const std::filesystem::path& file, const TableSchema& schema,
                       Targets targets, const TableText& text);

// Distinct numbers of a column, by size.
std::set<float> numbers_of(const CsvColumn& column);

}  // namespace limpid::detail
