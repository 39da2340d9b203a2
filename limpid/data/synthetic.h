// Small synthetic data sets: truth tables, shapes in the plane, curves. Depends on dataset.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/data/dataset.h"

namespace limpid {

// "xor", "and", "or", "spiral", "moons", "circles", "arms", "sine", "abs".
std::vector<std::string_view> synthetic_names();

// Options of synthetic().
struct SyntheticOptions {
  std::optional<std::int64_t> count = {};  // of each set; default: truth tables 4, else 1,000
  std::optional<double> noise = {};        // default: as in the table below
};

// `count` rows of the data set with this name. With t_i = key.fold_in(0).uniform(i), class c_i = i
// mod 2, and the functions of docs/arithmetic.md, row i is
//
//   name            inputs                                            target         noise
//   xor, and, or    (floor(i / 2) mod 2, i mod 2)                     a xor b, ...   0
//   spiral          t (cos(3 pi t + pi c), sin(3 pi t + pi c))        c              0.02
//   moons           c = 0: (cos(pi t), sin(pi t))                     c              0.1
//                   c = 1: (1 - cos(pi t), 0.5 - sin(pi t))
//   circles         (1 - c / 2) (cos(2 pi t), sin(2 pi t))            c              0.05
//   arms            t (cos(2 pi t + 2 pi d / 3), sin(...)), d = i mod 3    d              0.02
//   sine            2 pi t - pi                                       sin(x)         0
//   abs             2 t - 1                                           |x|            0
//
// plus noise * n, where n are standard normal numbers from key.fold_in(1): added to the inputs of
// classifications, and to the targets of regressions (sine, abs). So a row depends only on (key, i)
// and has the same bits on every machine. Throws kNotFound for another name (the message lists the
// names), kInvalidArgument if count is negative or at least 2^31, or if noise is negative or not
// finite.
Dataset synthetic(std::string_view name, Key key, const SyntheticOptions& options = {});

// A training set from Key(seed).fold_in(0) and a test set from Key(seed).fold_in(1); the validation
// set is empty. Without noise, both sets of a truth table have the same rows.
Split synthetic_split(std::string_view name, std::uint64_t seed,
                      const SyntheticOptions& options = {});

}  // namespace limpid
