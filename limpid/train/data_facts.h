// What can be said about data before any training: scales, classes, doubles, what is no number.
// Leans on data and events.h.
#pragma once

#include "limpid/data/dataset.h"
#include "limpid/train/events.h"

namespace limpid::train {

// Rows are doubles where their inputs have the same bits (-0 and +0 differ); a row of a later part
// is compared with those of the earlier ones, train, validation, test, and with the rows before it
// in its own. Each non-empty part has inputs f32 [N, features]; of tokens the rows are counted, no
// more.
DataFacts data_facts(const Split& data);

}  // namespace limpid::train
