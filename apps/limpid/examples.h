// The examples that a command works on: rows of a data set, or numbers from the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/limpid/cli.h"
#include "apps/limpid/data_spec.h"
#include "limpid/data/dataset.h"
#include "limpid/formats/model.h"

namespace limpid::tool {

// What an option may count examples to: a data set has fewer.
inline constexpr std::int64_t kMostExamples = 2'147'483'647;

struct ExampleOptions {
  std::string data;
  std::string values;
  std::optional<std::string> prompt;
  std::int64_t index = 0;
  std::optional<std::int64_t> count = 1;  // nothing: the rest of a table, 1 of other data
  bool all_data = false;                  // then the rest of other data too
};

// --data with --index, --values, or --prompt.
void add_example_options(Command& command, ExampleOptions& options);

// Throws UsageError for a --prompt without characters.
void check_prompt(const std::optional<std::string>& prompt);

// The model for the tokens of --prompt (see at_length), where that is given; else as it is.
Model with_prompt(Model model, const ExampleOptions& options);

struct Examples {
  Tensor inputs;  // [N, ...] of the model's data input
  std::int64_t first = 0;
  std::optional<Dataset> data;  // where they are from a data set: the same N rows
};

// Throws UsageError where the options do not say which examples, or numbers do not fit the model;
// kShape or kDtype where a data set does not fit it.
Examples read_examples(const ExampleOptions& options, const Model& model);

// The inputs of a data set as the model takes them: [N, ...] of its data input. Throws kShape or
// kDtype.
Tensor fit_inputs(const Dataset& data, const Model& model);

// Throws kShape where the model's output is not f32 with a logit for every class of the data, of a
// text for each of its targets, or as many numbers as its targets have.
void check_outputs(const Dataset& data, const Model& model);

// A table may come without its targets: then they are f32 [N, 0].
bool has_targets(const Dataset& data);

// What a model is scored on (see load_held_out), or `all` rows of a table, its inputs as the model
// takes them. Throws as the two above; UsageError for all rows of what is no such table.
HeldOut load_test_part(const DataSpec& spec, const Model& model, bool all = false);

// "examples  21: the test set of ...".
std::string examples_text(const HeldOut& test);
// The same as members of a JSON document: "examples", "part", "rows".
void add_examples(Json& json, const HeldOut& test);

// The image in half blocks where an example of a data set is a square one, the characters where it
// is a piece of a text, else "".
std::string picture_of(const Dataset& data, std::int64_t row);

}  // namespace limpid::tool
