// From a table's columns to features and targets. Leans on table_source.h; included by sources
// alone.
#pragma once

#include "limpid/data/detail/table_source.h"

namespace limpid::detail {

// The rows that are left, as the schema has them; missing features are NaN still. Throws what
// table.h says of values.
Dataset encode_table(const TableSource& source, const TableSchema& schema);

// What missing values become: mean and mode of the training part. Throws kFormat where it has no
// value.
void fit_fills(TableSchema& schema, const Dataset& train);

// Puts what the schema says where values are missing.
void impute(Dataset& data, const TableSchema& schema);

}  // namespace limpid::detail
