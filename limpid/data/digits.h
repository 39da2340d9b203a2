// Handwritten-looking digits without a file: drawn by a pen whose every movement comes from a key.
// Leans on dataset.h.
#pragma once

#include <cstdint>

#include "limpid/core/key.h"
#include "limpid/data/dataset.h"

namespace limpid {

// Height and width of an image; white ink on black, a digit of about 20 x 20 pixels in its middle,
// as MNIST's are.
inline constexpr std::int64_t kDigitSide = 28;

// `count` images f32 [count, 784] in [0, 1], each value a multiple of 1/255, and their labels.
// Image and label i depend on (key, i) alone and have the same bits on every machine. Labels are
// uniform over ten classes. Throws kInvalidArgument where count is negative.
Dataset digits(Key key, std::int64_t count);

// The parts of a data set of this kind: keys Key(seed).fold_in(0) for training, fold_in(1) for the
// test; the validation part is empty.
Split digits_split(std::uint64_t seed, std::int64_t train_count = 60'000,
                   std::int64_t test_count = 10'000);

}  // namespace limpid
