// Examples with their targets in memory, and the folder of IDX files that MNIST and its relatives
// come in. Leans on data_config.h, token_windows.h and formats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/tensor.h"
#include "limpid/data/data_config.h"
#include "limpid/data/token_windows.h"

namespace limpid {

// Examples and their targets, row by row: arrays, or the windows of a text.
struct Dataset : DataConfig {
  Tensor inputs;             // f32 [N, features]; next token: i32 [N, context]
  Tensor targets;            // classification: i32 [N], each in [0, classes); next token: the same
                             // or i32 [N, context]; else f32 [N, outputs]
  std::int64_t classes = 0;  // how many classes or tokens there are; 0 for the other tasks
  std::string name;          // for people
  std::optional<TokenWindows> windows = {};  // of a text: stand for inputs and targets

  // Not to be mistaken for that of the base.
  bool operator==(const Dataset&) const = delete;

  // The number of examples, N.
  std::int64_t size() const { return windows ? windows->size() : inputs.shape()[0]; }
  // Of one example.
  Type input_type() const;
  Type target_type() const;
  // Of examples [first, first + count): [count, ...]. Arrays are not copied. Throw kShape outside
  // of [0, size()).
  Tensor inputs_of(std::int64_t first, std::int64_t count) const;
  Tensor targets_of(std::int64_t first, std::int64_t count) const;
  // These examples, and everything else of the data. Throws as they do.
  Dataset rows(std::int64_t first, std::int64_t count) const;
  // How many of an example's targets count: the first ones of the last window of a text, else all.
  std::int64_t counted(std::int64_t row) const;
  // Whether the targets are numbers of classes, tokens among them.
  bool has_classes() const { return task == Task::kClassification || task == Task::kNextToken; }
  // How many numbers a network gives for one example: the classes, or the columns of targets.
  std::int64_t outputs() const;
};

// Examples `rows` of the data, in this order, and everything else of it. Throws what gather_rows of
// batches.h throws, kUnsupported for the windows of a text.
Dataset gather_rows(const Dataset& data, std::span<const std::int32_t> rows);

// Parts without a common example. A part that nobody asked for has none at all: size() == 0.
struct Split {
  Dataset train = {};
  Dataset validation = {};
  Dataset test = {};
};

// The four files of MNIST from a folder: `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, and
// the same with `t10k`, each also as `train-images.idx3-ubyte`, each also with `.gz` behind it.
// Pixels are u8 / 255 as f32, each image one row of height * width. The number of classes is the
// largest label of the training part + 1, at least 2; the name is the folder's. The validation part
// is empty.
// Throws kNotFound where a file is missing, kFormat where the files do not fit together or hold no
// examples (naming the row of a test label that no training label announced), and what load_idx
// throws.
Split load_idx_folder(const std::filesystem::path& folder);

}  // namespace limpid
