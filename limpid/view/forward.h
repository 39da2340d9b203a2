// A forward pass, op by op, and the arithmetic of one neuron in it. Leans on subject.h and
// inspect/neuron.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limpid/inspect/neuron.h"
#include "limpid/view/numbers.h"
#include "limpid/view/subject.h"

namespace limpid::view {

struct ForwardRequest {
  Subject subject = {};
  std::int64_t values = 4096;          // elements of each value, at most; 0: statistics alone
  std::vector<std::string> only = {};  // these values; empty: all but parameters
  bool compare = false;                // count the elements that edits changed
};

// One value on the way.
struct ForwardRow {
  TraceRow trace = {};
  std::optional<Values> values = {};
  std::optional<std::int64_t> changed = {};  // elements of other bits than without edits
};

// What a model says of an example.
struct Spoken {
  struct SpokenOutput {
    std::string name = {};
    Values values = {};
  };
  std::vector<SpokenOutput> outputs = {};
  // Of a classification, or of what follows the last token: the class of the largest logit, its
  // name, and every probability, those of `limpid run`.
  std::optional<std::int64_t> chosen = {};
  std::vector<float> probabilities = {};
  std::string label = {};
};

// The example itself, where a data set has it.
struct ExampleFacts {
  std::vector<double> target = {};
  std::string label = {};
  std::int64_t size = 0;  // examples of the part
};

struct Forward {
  std::vector<ForwardRow> rows = {};
  Spoken spoken = {};
  std::optional<ExampleFacts> example = {};
  double seconds = 0;
};

// The rows are those of `limpid trace`. Throws what compute() throws, kNotFound for a value that
// there is not.
Forward forward(Session& session, const ForwardRequest& request);
Json to_json(const Forward& forward);

// The target of a row of a data set, and its name.
ExampleFacts facts_of(const Dataset& data, std::int64_t row);
// What a class is called: a name, the characters of a token, or its number.
std::string class_name_of(const DataConfig& data, std::int64_t number);
// The probabilities of the last row of logits, by the arithmetic of `limpid run`.
std::vector<float> probabilities_of_last(Task task, const Tensor& logits);

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
  Neuron neuron = {};                   // its terms by falling |product|, at most `most`
  std::int64_t terms = 0;               // all of them
  std::int64_t neurons = 0;             // of the layer
  double rest = 0;                      // the sum of the products that are left out
  std::vector<std::string> names = {};  // of the inputs; may be empty
  std::string from = {};                // the value that the inputs are of
  std::string source = {};              // the layer that made them; may be empty
  std::string text = {};                // as `limpid trace --neuron` prints it
};

// Throws what explain_neuron throws.
ExplainedNeuron neuron(Session& session, const NeuronRequest& request);
Json to_json(const ExplainedNeuron& neuron);

}  // namespace limpid::view
