// Test folders in the format of the ONNX project: a model, and sets of inputs with expected
// outputs. Depends on onnx.h and compile.
#pragma once

#include <filesystem>
#include <string>

namespace limpid::onnx {

// The relative and absolute tolerance of values.
inline constexpr double kRelativeTolerance = 1e-3;
inline constexpr double kAbsoluteTolerance = 1e-7;

struct NodeTest {
  bool passed = false;
  std::string reason;    // the reason of a failure: the largest difference, or an error
  bool random = false;   // results are random: only their number and types are compared
  std::size_t sets = 0;  // number of test data sets
};

// Imports `folder`/model.onnx for the inputs of each `folder`/test_data_set_K (input_0.pb, ...),
// runs it compiled, and compares with output_0.pb, ...: number, shapes and dtypes must be equal,
// and values within the tolerances. Does not throw: errors become the reason.
NodeTest run_node_test(const std::filesystem::path& folder);

}  // namespace limpid::onnx
