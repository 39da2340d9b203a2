// Labelled examples in memory, and the folder of IDX files that MNIST and its relatives come in.
// Leans on formats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "limpid/core/tensor.h"

namespace limpid {

// Examples and their classes, row by row.
struct Dataset {
  Tensor inputs;             // f32 [N, features]
  Tensor targets;            // i32 [N], each in [0, classes)
  std::int64_t classes = 0;  // how many classes there are
  std::string name;          // for people

  // The number of examples, N.
  std::int64_t size() const { return targets.elements(); }
};

struct Split {
  Dataset train;
  Dataset test;
};

// The four files of MNIST from a folder: `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, and
// the same with `t10k`, each also as `train-images.idx3-ubyte`, each also with `.gz` behind it.
// Pixels are u8 / 255 as f32, each image one row of height * width. The number of classes is the
// largest label of the training part + 1, at least 2; the name is the folder's.
// Throws kNotFound where a file is missing, kFormat where the files do not fit together or hold no
// examples (naming the row of a test label that no training label announced), and what load_idx
// throws.
Split load_idx_folder(const std::filesystem::path& folder);

}  // namespace limpid
