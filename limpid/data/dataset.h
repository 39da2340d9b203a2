// Data sets in memory, and folders of IDX files, the format of MNIST. Depends on data_config.h,
// token_windows.h and formats.
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
#include "limpid/data/text/token_windows.h"

namespace limpid {

// A row of a table that is no example, and why: "a value of column 'age' is missing".
struct LeftOut {
  std::int64_t row = 0;
  std::string why;

  bool operator==(const LeftOut&) const = default;
};

// Where the examples of a table come from. Rows are counted from 0, without the header.
struct TableRows {
  std::vector<std::int64_t> of_example;  // the row of each example, ascending
  std::vector<std::string> ids;          // of each row, if the options name a column of them
  std::string id_column;                 // its name
  std::vector<LeftOut> left_out;         // the rows that are no examples, ascending

  // The number of rows if each is an example or left out; 0 for a part of a table.
  std::int64_t whole() const {
    const std::size_t rows = of_example.size() + left_out.size();
    const bool ends =
        (!of_example.empty() && of_example.back() + 1 == static_cast<std::int64_t>(rows)) ||
        (!left_out.empty() && left_out.back().row + 1 == static_cast<std::int64_t>(rows));
    return ends ? static_cast<std::int64_t>(rows) : 0;
  }
};

// The shape of sequences. An example is a row of steps * features numbers, step after step.
struct SequenceShape {
  std::int64_t steps = 0;
  std::int64_t features = 0;

  bool operator==(const SequenceShape&) const = default;
};

// A data set: one row per example, with inputs and targets as arrays, or as windows of a text.
struct Dataset : DataConfig {
  Tensor inputs;   // f32 [N, features]; next token: i32 [N, context]
  Tensor targets;  // classification: i32 [N], in [0, classes); next token: i32 [N] or [N, context];
                   // else f32 [N, outputs]
  std::int64_t classes = 0;                  // number of classes or tokens; 0 for the other tasks
  std::string name;                          // for display
  std::optional<TokenWindows> windows = {};  // of a text: replace inputs and targets
  std::optional<TableRows> rows_of_table = {};  // of a table that was read by a schema
  std::vector<std::string> notes = {};          // what was assumed while it was read: sentences
  std::optional<SequenceShape> sequence = {};   // of arrays [N, steps, features]

  // Deleted, as the operator of the base would ignore the examples.
  bool operator==(const Dataset&) const = delete;

  // The number of examples, N.
  std::int64_t size() const { return windows ? windows->size() : inputs.shape()[0]; }
  // The types of one example.
  Type input_type() const;
  Type target_type() const;
  // Whether a model of such examples takes them: they are of this type, or pictures or sequences of
  // this shape.
  bool fits(const Type& example) const;
  // The examples as sequences; the rows of pictures of one channel are their steps. nullopt: they
  // are none.
  std::optional<SequenceShape> as_sequence() const;
  // Examples [first, first + count): [count, ...]. Arrays are not copied. These throw kShape
  // outside of [0, size()).
  Tensor inputs_of(std::int64_t first, std::int64_t count) const;
  Tensor targets_of(std::int64_t first, std::int64_t count) const;
  // A data set of these examples only; everything else is the same. Throws kShape outside of [0,
  // size()).
  Dataset rows(std::int64_t first, std::int64_t count) const;
  // The number of targets of an example that count, from the first. It is smaller only for the last
  // window of a text.
  std::int64_t counted(std::int64_t row) const;
  // Whether the targets are class indices; tokens are classes, too.
  bool has_classes() const { return task == Task::kClassification || task == Task::kNextToken; }
  // The number of outputs for one example: the number of classes, or of target columns.
  std::int64_t outputs() const;
};

// A data set of the examples `rows`, in this order; everything else is the same. Throws what
// gather_rows of batches.h throws, and kUnsupported for the windows of a text.
Dataset gather_rows(const Dataset& data, std::span<const std::int32_t> rows);

// Training, validation and test set, without common examples. A set that was not requested is
// empty: size() == 0.
struct Split {
  Dataset train = {};
  Dataset validation = {};
  Dataset test = {};
};

// The four files of MNIST from a folder: `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, and
// the same with `t10k`, each also as `train-images.idx3-ubyte`, each also with the suffix `.gz`.
// Pixels become f32, u8 / 255; each image is one row of height * width. The number of classes is
// the largest training label + 1, at least 2. The data set has the name of the folder; its
// validation set is empty. Throws kIo if a file is missing; kFormat if the files do not match
// or have no examples, or if a test label does not occur in training (naming the row); and what
// load_idx throws.
Split load_idx_folder(const std::filesystem::path& folder);

}  // namespace limpid
