// Statistics of the data before training: scales, classes, duplicate rows, non-finite values.
// Depends on data and events.h.
#pragma once

#include <string_view>

#include "limpid/data/dataset.h"
#include "limpid/train/log/events.h"

namespace limpid::train {

// Rows are duplicates if their inputs have the same bits (-0 and +0 differ). A row is compared with
// the rows before it in its own set and with all rows of earlier sets, in the order training,
// validation, test. Inputs are f32 [N, features]; for tokens only the rows are counted.
DataFacts data_facts(const Split& data);

// A set of DataFacts ("train", "validation", "test") as a word for sentences: "training".
std::string_view set_name(std::string_view part);

}  // namespace limpid::train
