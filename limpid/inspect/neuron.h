// The arithmetic of one neuron, written out with its numbers. Leans on trace.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/inspect/trace.h"

namespace limpid {

// z = sum of weight * input over the terms, + bias, as one run had it. Numbers are held as f64,
// which every f32 fits exactly.
struct Neuron {
  struct Term {
    std::int64_t index = 0;  // of the input, and of the weight's column
    double weight = 0;
    double input = 0;
    double product() const { return weight * input; }
  };
  std::string layer;
  std::int64_t index = 0;
  std::int64_t row = 0;  // of the rows that the layer works on: the tokens of a text, say
  std::int64_t rows = 1;
  Dtype dtype = Dtype::kF32;
  std::vector<Term> terms;     // one for each input, in their order
  std::optional<double> bias;  // none where the layer has none
  double z = 0;                // what the network computed, not a sum made here
  // The op of one input that z goes into, and what it makes of it; empty where there is none.
  std::string activation;
  double activated = 0;
};

// The neuron `index` of the linear op written in scope `layer` ("layers.1"), or making the value of
// that name ("%3"), in a run on one example; where the layer works on several rows, what it does to
// `row`, -1 being the last. Throws kNotFound naming the layers there are, kInvalidArgument for an
// index or a row outside of the layer.
Neuron explain_neuron(const Observation& run, std::string_view layer, std::int64_t index,
                      std::int64_t row = -1);

// "layers.1:5"; the layer's name may have colons of its own. Throws kParse for other text.
struct NeuronPlace {
  std::string layer;
  std::int64_t index = 0;
};
NeuronPlace parse_neuron_place(std::string_view text);

// Up to 16 terms stand in one line, "z = 0.4 * 1.5 + (-0.5) * (-2.0) + 0.1 = 1.6; relu 1.6"; of
// more, the 8 largest products have a line each, and the others are summed up. Six significant
// digits.
std::string to_text(const Neuron& neuron);
// An object of its members, the numbers of f32 as the shortest that read back as the same bits;
// null where they are not finite.
Json to_json(const Neuron& neuron);

}  // namespace limpid
