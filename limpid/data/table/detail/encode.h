// Encodes the columns of a table as features and targets. Depends on source.h; included only
// by sources.
#pragma once

#include "limpid/data/table/detail/source.h"

namespace limpid::detail {

// The rows that are not dropped, encoded by the schema; missing features are NaN. Throws for values
// as load_table does.
Dataset encode_table(const TableSource& source, const TableSchema& schema);

// Sets the replacements of missing values: mean or mode over the training set. Throws kFormat if a
// column has no value there.
void fit_fills(TableSchema& schema, const Dataset& train);

// Replaces missing values by those of the schema.
void impute(Dataset& data, const TableSchema& schema);

}  // namespace limpid::detail
