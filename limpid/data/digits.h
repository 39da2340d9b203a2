// Synthetic handwritten digits, drawn by a simulated pen from a key. Depends on dataset.h.
#pragma once

#include <cstdint>
#include <functional>

#include "limpid/core/key.h"
#include "limpid/data/dataset.h"

namespace limpid {

// Height and width of an image. As in MNIST, a digit is white on black, of about 20 x 20 pixels, in
// the centre.
inline constexpr std::int64_t kDigitSide = 28;

// `count` images f32 [count, 784] in [0, 1], each value a multiple of 1/255, and their labels.
// Image and label i depend only on (key, i) and have the same bits on every machine. Labels are
// uniform over ten classes. `between`, if any, is called between images, and may throw to
// end the call. Throws kInvalidArgument for a negative count.
Dataset digits(Key key, std::int64_t count, const std::function<void()>& between = {});

// A training set from Key(seed).fold_in(0) and a test set from Key(seed).fold_in(1); the validation
// set is empty.
Split digits_split(std::uint64_t seed, std::int64_t train_count = 60'000,
                   std::int64_t test_count = 10'000, const std::function<void()>& between = {});

}  // namespace limpid
