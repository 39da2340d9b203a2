// What a model stores about its training data: the task, the names of features and outputs, and the
// schema and split of a table. It is JSON under the key "data" of the model's config. Depends on
// split_ratio.h, table/schema.h and tokenizer.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/data/split_ratio.h"
#include "limpid/data/table/schema.h"
#include "limpid/data/task.h"
#include "limpid/data/text/tokenizer.h"

namespace limpid {

struct Dataset;
struct Model;

// The shape of pictures. An example is a row of channels * height * width numbers, in this order.
struct PictureShape {
  std::int64_t channels = 1;
  std::int64_t height = 0;
  std::int64_t width = 0;
  // The number of a white pixel, black being 0: 1, or 255 of bytes that are not scaled; 0: unknown.
  std::int64_t white = 1;

  std::int64_t elements() const { return channels * height * width; }
  // Whether channels, height and width are equal.
  bool same_shape(const PictureShape& other) const {
    return channels == other.channels && height == other.height && width == other.width;
  }
  bool operator==(const PictureShape&) const = default;
};

// The task, and the names and columns of features and outputs. Dataset derives from it.
struct DataConfig {
  Task task = Task::kClassification;
  std::vector<std::string> feature_names = {};  // one for each feature, or empty
  std::vector<std::string> class_names = {};    // one for each class, or empty
  std::vector<std::string> target_names = {};   // one for each target column, or empty
  std::optional<TableSchema> table = {};        // the schema of a table
  std::optional<Tokenizer> tokenizer = {};      // the tokenizer of a text
  std::optional<SplitRecord> split = {};        // of a model: the split of its training data
  // Of a model of a table: hashes of some examples of its training set (see drawn_examples).
  std::vector<std::uint64_t> drawn = {};
  std::optional<PictureShape> picture = {};  // of pictures: the shape of each

  bool operator==(const DataConfig&) const = default;
};

// The part of a data set that a model stores. A tokenizer that follows from the class names is left
// out.
DataConfig data_config(const Dataset& data);

// To a JSON object, and from one. data_config_from_json throws kFormat for invalid JSON.
Json to_json(const DataConfig& config);
DataConfig data_config_from_json(const JsonView& json);

// The DataConfig of a model, from the key "data" of its config; nullopt if there is none. Throws
// kFormat if it is invalid.
std::optional<DataConfig> data_config_of(const Model& model);

// The tokenizer of a language model (Task::kNextToken): the stored one, or that of the characters
// in class_names; nullopt for another task. Throws kFormat if class_names is not a vocabulary.
std::optional<Tokenizer> tokenizer_of(const DataConfig& config);

}  // namespace limpid
