// A data set by its name: "digits:7", "csv:pets.csv,target=kind". The same text stands in --data
// and in configurations; docs/data.md lists the kinds and their options. Leans on split.h,
// standardize.h, table.h and text_windows.h.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/data/dataset.h"
#include "limpid/data/shares.h"
#include "limpid/data/standardize.h"
#include "limpid/data/table.h"
#include "limpid/data/text_windows.h"
#include "limpid/formats/model.h"

namespace limpid {

// What a text names: a kind of data, where it comes from, and options in their order.
struct DataSpec {
  struct Option {
    std::string key, value;
    bool operator==(const Option&) const = default;
  };
  std::string kind;                  // "digits", "moons", "csv", ...
  std::string value = {};            // after the colon: a seed, a file or a folder; may be empty
  std::vector<Option> options = {};  // a key that takes several values comes several times

  bool operator==(const DataSpec&) const = default;
};

// KIND, KIND:VALUE, each followed by any number of ,KEY=VALUE. Throws kParse, naming what there is,
// for a kind, a key or a value that does not exist.
DataSpec parse_data_spec(std::string_view text);

// The text that parse_data_spec reads as this.
std::string to_text(const DataSpec& spec);

// All kinds in one line, for the help of an option.
std::string data_spec_help();

// What a model and its configuration say about the data, beside the spec.
struct LoadOptions {
  WindowOptions text = {};        // how a text becomes examples
  std::optional<Task> task = {};  // of tables and arrays whose spec says none
};

// The parts of a data set: to train on, to validate, to test. Unless the spec has "split", a data
// set with a test part keeps it and has no validation part, another is split 80/10/10. Throws
// kParse for a spec that parse_data_spec would refuse or that lacks what training needs, and what
// reading the data throws.
Split load_data(const DataSpec& spec, const LoadOptions& options = {});
Split load_data(std::string_view spec, const LoadOptions& options = {});

// What a model is run on: the test part; of a table or of arrays that come without one and that the
// spec does not split, all rows. A table or a text is read as the model's own was. `most` is an
// upper bound of the rows that the caller looks at: generated data may end after them. Throws what
// load_data throws, and kInvalidArgument for a text where the model has no tokenizer.
Dataset load_examples(const DataSpec& spec, const Model& model,
                      Targets targets = Targets::kRequired,
                      std::int64_t most = std::numeric_limits<std::int32_t>::max());

// The examples that tell how good a model is.
struct HeldOut {
  // Which rows they are of the table that the model was trained on; kGiven where it is another one
  // or the data comes with a test part.
  enum class Part : std::uint8_t { kGiven, kTest, kValidation, kTraining };

  Dataset examples;
  Part part = Part::kGiven;
  std::int64_t of = 0;  // that table's rows; 0 of kGiven
};

// Those of load_examples; but of the very table that the model was trained on, where the spec does
// not split it, those that training held out: the test part, or else the validation part; all rows
// where there was neither. Throws what load_examples throws.
HeldOut load_held_out(const DataSpec& spec, const Model& model);

// Whether the spec names a table or arrays as a whole, neither split nor with a test part.
bool names_one_table(const DataSpec& spec);
// How load_data splits a table or arrays; nothing for other data.
struct SplitRule {
  Shares shares;
  std::uint64_t seed = 0;
};
std::optional<SplitRule> split_rule_of(const DataSpec& spec);

// What the spec says under "standardize", or its kind's default: zscore for tables and arrays, none
// for images and what is generated. Throws kParse as load_data does.
Scaling scaling_of(const DataSpec& spec);

}  // namespace limpid
