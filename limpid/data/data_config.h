// What a model remembers of the data that it was trained on: the task, what features and outputs
// are called, and how a table's columns became features. JSON under the key "data" of a model's
// config. Leans on shares.h, table_schema.h and tokenizer.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/data/shares.h"
#include "limpid/data/table_schema.h"
#include "limpid/data/task.h"
#include "limpid/data/tokenizer.h"

namespace limpid {

struct Dataset;
struct Model;

// The task, and the names and columns behind features and outputs. A Dataset has them, too.
struct DataConfig {
  Task task = Task::kClassification;
  std::vector<std::string> feature_names = {};  // one for each feature, or none
  std::vector<std::string> class_names = {};    // one for each class, or none
  std::vector<std::string> target_names = {};   // one for each column of targets, or none
  std::optional<TableSchema> table = {};        // by which a table was read
  std::optional<Tokenizer> tokenizer = {};      // of a text: what its tokens say
  std::optional<SplitRecord> split = {};        // of a model: which rows its training saw

  bool operator==(const DataConfig&) const = default;
};

// What a model keeps of the data that it was trained on: no tokenizer that the class names say.
DataConfig data_config(const Dataset& data);

// As a JSON object, and back. from_json throws kFormat for JSON that no configuration has.
Json to_json(const DataConfig& config);
DataConfig data_config_from_json(const JsonView& json);

// What the config of a model says under "data"; nothing where it says nothing. Throws kFormat where
// that is no DataConfig.
std::optional<DataConfig> data_config_of(const Model& model);

// What turns text into the tokens of a model that goes on with it (Task::kNextToken): its
// tokenizer, or that of the characters which its class names are; nothing for another task. Throws
// kFormat where class names are no vocabulary.
std::optional<Tokenizer> tokenizer_of(const DataConfig& config);

}  // namespace limpid
