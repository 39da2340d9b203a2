// The examples of a command: rows of a data set, or numbers from the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/limpid/support/cli.h"
#include "apps/limpid/support/data_spec.h"
#include "limpid/core/json.h"
#include "limpid/data/dataset.h"
#include "limpid/formats/model.h"

namespace limpid::tool {

// Upper bound of options that count examples: a data set has fewer.
inline constexpr std::int64_t kMostExamples = 2'147'483'647;

struct ExampleOptions {
  std::string data;
  std::string values;
  std::string picture;  // a file
  std::optional<std::string> prompt;
  std::int64_t index = 0;
  std::optional<std::int64_t> count = 1;  // nullopt: the rest of a table, else one example
  bool all_data = false;                  // with count nullopt, the rest of other data, too
};

// Adds --data with --index, --values, --picture, and --prompt.
void add_example_options(Command& command, ExampleOptions& options);

// Throws UsageError for a --prompt without characters.
void check_prompt(const std::optional<std::string>& prompt);

// The model at the length of --prompt (see at_length) if that is given; else unchanged.
Model with_prompt(Model model, const ExampleOptions& options);

struct Examples {
  Tensor inputs;  // [N, ...] of the model's data input
  std::int64_t first = 0;
  std::optional<Dataset> data;  // if they are from a data set: the same N rows
};

// An example, or a row of a table that is none.
struct ExampleLine {
  std::int64_t number = 0;              // as shown
  std::optional<std::int64_t> example;  // its place among the N examples
  std::string problem = {};             // why the row is no example
};

// All examples of a data set in the order of their numbers, with the rows that were left out.
std::vector<ExampleLine> lines_of(const Examples& examples);

// Throws UsageError if the options do not select examples, or numbers do not match the model;
// kShape or kDtype if a data set does not match it.
Examples read_examples(const ExampleOptions& options, const Model& model);

// The inputs of a data set in the shape of the model's data input: [N, ...]. Throws kShape or
// kDtype.
Tensor fit_inputs(const Dataset& data, const Model& model);

// Throws kShape unless the model's output is f32 with a logit for every class of the data (for a
// text, for each of its targets), or has as many elements as the targets.
void check_outputs(const Dataset& data, const Model& model);

// Whether the data has targets. A table may lack them: then they are f32 [N, 0].
bool has_targets(const Dataset& data);

// The examples to evaluate a model on (see load_held_out), or `all` rows of a table, with inputs in
// the shape of the model. Throws what load_held_out, fit_inputs and check_outputs throw; UsageError
// for `all` if the data is not such a table.
HeldOut load_test_part(const DataSpec& spec, const Model& model, bool all = false);

// "examples  21: the test set of ...".
std::string examples_text(const HeldOut& test);
// Adds the same to a JSON document: "examples", "part", "rows".
void add_examples(Json& json, const HeldOut& test);

// "note: ...", a line for each note of a data set.
std::string notes_text(const Dataset& data);
// Prints them on standard error.
void print_notes(const Dataset& data);

// An example as text: a picture in half blocks, or the characters of a text; else "".
std::string picture_of(const Dataset& data, std::int64_t row);

}  // namespace limpid::tool
