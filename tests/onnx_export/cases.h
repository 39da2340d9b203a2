// What is exported and tried: every op by its examples, and small models of every kind of layer,
// with inputs and the outputs that this library gives.
#pragma once

#include <string>
#include <vector>

#include "limpid/formats/onnx/export.h"

namespace limpid::testing {

inline constexpr std::int64_t kBatch = 3;

struct Case {
  std::string name;
  Function function;
  Params params;
  onnx::ExportOptions options;
  // Batched by kBatch where options.batch is not empty: the function that the model is.
  Function model;
  std::vector<Tensor> inputs;  // of `model`, parameters included

  std::vector<Tensor> expected() const;
  bool is_data(std::size_t input) const { return !params.find(model.inputs()[input].name); }
};

// Every example of the ops that can be written, as it is and in a batch of any size.
std::vector<Case> op_cases();
std::vector<Case> model_cases();

// Whether the op has no counterpart in ONNX.
bool is_refused(const Op& op);

}  // namespace limpid::testing
