#include "limpid/data/batch_range.h"

#include "limpid/core/error.h"

namespace limpid {

Batch BatchRange::operator[](std::int64_t i) const {
  return {gather_rows(data_.inputs, rows_[i]), gather_rows(data_.targets, rows_[i])};
}

BatchRange batches(const Dataset& data, const BatchOptions& options, Key key, std::int64_t epoch) {
  if (data.windows)
    throw Error(ErrorCode::kUnsupported,
                "batches: the windows of a text have no rows; train::Trainer takes them");
  return {data, Batches(data.size(), options, key, epoch)};
}

}  // namespace limpid
