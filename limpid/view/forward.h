// A forward pass, op by op, and the arithmetic of one neuron. Depends on subject.h and
// inspect/neuron.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "limpid/inspect/neuron.h"
#include "limpid/view/numbers.h"
#include "limpid/view/subject.h"

namespace limpid::view {

struct ForwardRequest {
  Subject subject = {};
  std::int64_t values = 4096;          // the most elements of each value; 0: only statistics
  std::vector<std::string> only = {};  // only these values; empty: all except parameters
  bool compare = false;                // count the elements that the edits change
};

// One value of the forward pass.
struct ForwardRow {
  TraceRow trace = {};
  std::optional<Values> values = {};
  std::optional<std::int64_t> changed = {};  // number of elements whose bits the edits change
};

// The prediction of a model for an example.
struct Spoken {
  struct SpokenOutput {
    std::string name = {};
    Values values = {};
  };
  std::vector<SpokenOutput> outputs = {};
  // Of a classification, or for the next token: the predicted class, its name, and all
  // probabilities, as in `limpid run`.
  std::optional<std::int64_t> chosen = {};
  std::vector<float> probabilities = {};
  std::string label = {};
  // The row of the output that predicts: the last one whose target counts.
  std::int64_t row = 0;
  // For the next token: the most probable tokens and their text.
  std::vector<std::pair<std::int64_t, std::string>> likeliest = {};
};

// The example, if it is from a data set.
struct ExampleFacts {
  std::vector<double> target = {};
  std::string label = {};
  std::int64_t size = 0;  // number of examples in the set
};

struct Forward {
  std::vector<ForwardRow> rows = {};
  Spoken spoken = {};
  std::optional<ExampleFacts> example = {};
  double seconds = 0;
};

// The rows are those of `limpid trace`. Throws what compute() throws, and kNotFound for an unknown
// value.
Forward forward(Session& session, const ForwardRequest& request);
Json to_json(const Forward& forward);

// The target of a row of a data set, and its name.
ExampleFacts facts_of(const Dataset& data, std::int64_t row);
// The name of a class: its name, the characters of a token, or its number.
std::string class_name_of(const DataConfig& data, std::int64_t number);
// The probabilities of the last row of logits, computed as in `limpid run`.
std::vector<float> probabilities_of_last(Task task, const Tensor& logits);
// The indices of the `most` largest numbers, largest first; NaN comes first.
std::vector<std::int64_t> largest_of(std::span<const float> numbers, std::size_t most);

// ---- one neuron

struct NeuronRequest {
  Subject subject = {};
  std::string layer = {};
  std::int64_t index = 0;
  std::int64_t row = -1;   // -1: the last
  std::int64_t most = 64;  // terms
};

// A neuron with its largest terms.
struct ExplainedNeuron {
  Neuron neuron = {};                   // its terms by decreasing |product|, at most `most`
  std::int64_t terms = 0;               // number of all terms
  std::int64_t neurons = 0;             // number of neurons in the layer
  double rest = 0;                      // sum of the products not listed
  std::vector<std::string> names = {};  // names of the inputs; may be empty
  std::string from = {};                // the value that holds the inputs
  std::string source = {};              // the layer whose neurons are the inputs; may be empty
  std::string text = {};                // as `limpid trace --neuron` prints it
};

// Throws what explain_neuron throws.
ExplainedNeuron neuron(Session& session, const NeuronRequest& request);
Json to_json(const ExplainedNeuron& neuron);

}  // namespace limpid::view
