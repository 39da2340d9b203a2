// Explains one neuron: its arithmetic, written out with numbers. Depends on trace.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/inspect/trace.h"

namespace limpid {

// A neuron in one run: z = sum of weight * input over the terms, + bias. Numbers are f64, which
// represents every f32 exactly.
struct Neuron {
  struct Term {
    std::int64_t index = 0;  // index of the input, and of the weight's column
    double weight = 0;
    double input = 0;
    double product() const { return weight * input; }
  };
  std::string layer;
  std::int64_t index = 0;
  std::int64_t row = 0;  // row of the layer's input: the token of a text, say
  std::int64_t rows = 1;
  Dtype dtype = Dtype::kF32;
  std::vector<Term> terms;     // one for each input, in order
  std::optional<double> bias;  // nullopt if the layer has no bias
  double z = 0;                // as the network computed it, not recomputed
  // The op with one operand that z goes into, and its result; empty if there is none.
  std::string activation;
  double activated = 0;
};

// Explains neuron `index` of the linear op in scope `layer` ("layers.1"), or of the one that
// computes the value `layer` ("%3"), in a run on one example. If the layer has several rows, for
// `row`; -1 is the last. Throws kNotFound for an unknown layer (the message lists the layers),
// kInvalidArgument for an index or row out of range.
Neuron explain_neuron(const Observation& run, std::string_view layer, std::int64_t index,
                      std::int64_t row = -1);

// Parses "layers.1:5". The name of the layer may contain colons. Throws kParse for other text.
struct NeuronPlace {
  std::string layer;
  std::int64_t index = 0;
};
NeuronPlace parse_neuron_place(std::string_view text);

// Up to 16 terms are one line, "z = 0.4 * 1.5 + (-0.5) * (-2.0) + 0.1 = 1.6; relu 1.6". Of more,
// the 8 largest products get a line each, and the rest is summed up. Numbers have six significant
// digits.
std::string to_text(const Neuron& neuron);
// An object with the members of Neuron. f32 numbers have the fewest digits that read back as the
// same bits; non-finite numbers are null.
Json to_json(const Neuron& neuron);

}  // namespace limpid
