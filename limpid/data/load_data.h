// Loads a data set by its name: "digits:7", "csv:pets.csv,target=kind". The option --data and
// configurations use the same text; docs/data.md lists the kinds and their options. Depends on
// split.h, standardize.h, table.h and text_windows.h.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/data/dataset.h"
#include "limpid/data/split_ratio.h"
#include "limpid/data/standardize.h"
#include "limpid/data/table/table.h"
#include "limpid/data/text/text_windows.h"
#include "limpid/formats/model.h"

namespace limpid {

// A parsed name: the kind of data, its source, and options in order.
struct DataSpec {
  struct Option {
    std::string key, value;
    bool operator==(const Option&) const = default;
  };
  std::string kind;                  // "digits", "moons", "csv", ...
  std::string value = {};            // after the colon: a seed, a file or a folder; may be empty
  std::vector<Option> options = {};  // a key with several values appears several times

  bool operator==(const DataSpec&) const = default;
};

// Parses KIND or KIND:VALUE, each followed by any number of ,KEY=VALUE. Throws kParse for an
// unknown kind, key or value; the message lists those that exist.
DataSpec parse_data_spec(std::string_view text);

// The text that parse_data_spec reads back.
std::string to_text(const DataSpec& spec);

// All kinds in one line, for the help of --data.
std::string data_spec_help();

// What a model and its configuration need, in addition to the spec.
struct LoadOptions {
  WindowOptions text = {};             // how to split a text into examples
  std::optional<Task> task = {};       // the task for tables and arrays whose spec has none
  std::function<void()> between = {};  // called between generated digits; may throw to end loading
};

// The training, validation and test set. Without "split" in the spec, data with its own test set
// keeps it and has no validation set; other data is split 80/10/10. Throws kParse for an invalid
// spec and for one without an option that training needs, and what reading the data throws.
Split load_data(const DataSpec& spec, const LoadOptions& options = {});
Split load_data(std::string_view spec, const LoadOptions& options = {});

// The examples to run a model on: the test set, or all rows of a table or arrays that have no test
// set and no "split" in the spec. A table or text is read with the schema or tokenizer of the
// model. `most` bounds the rows that the caller uses: generated data may end there. Throws what
// load_data throws, kInvalidArgument for a text if the model has no tokenizer, and kShape for
// pictures of another shape, or with another number for white, than the model's.
Dataset load_examples(const DataSpec& spec, const Model& model,
                      Targets targets = Targets::kRequired,
                      std::int64_t most = std::numeric_limits<std::int32_t>::max());

// The examples to evaluate a model on.
struct HeldOut {
  // Which rows of the training table they are; kGiven if the table is another one, or the data
  // comes with its own test set.
  enum class Part : std::uint8_t { kGiven, kTest, kValidation, kTraining };

  Dataset examples;
  Part part = Part::kGiven;
  std::int64_t of = 0;  // rows of that table; 0 for kGiven
  double known = 0;     // for kGiven, the share of the model's training set that is among them
};

// As load_examples. But if the data is the model's training table and the spec does not split it,
// only the rows that training held out: the test set, else the validation set, else all rows. Of
// another table, `known` is estimated from a few examples whose hashes the model holds.
// Throws what load_examples throws.
HeldOut load_held_out(const DataSpec& spec, const Model& model);

// Whether the spec names a whole table or whole arrays, without a split or a test set.
bool names_one_table(const DataSpec& spec);
// How load_data splits a table or arrays. split_rule_of returns nullopt for other data.
struct SplitRule {
  SplitRatio shares;
  std::uint64_t seed = 0;
};
std::optional<SplitRule> split_rule_of(const DataSpec& spec);

// The option "standardize" of the spec, or the default of its kind: zscore for tables and arrays,
// none for images and generated data. Throws kParse for an invalid value.
Scaling scaling_of(const DataSpec& spec);

}  // namespace limpid
