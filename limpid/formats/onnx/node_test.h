// Folders of tests in the form of the ONNX project: a model, and sets of inputs with the outputs
// that they lead to. Leans on onnx.h and compile.
#pragma once

#include <filesystem>
#include <string>

namespace limpid::onnx {

// Values may differ by this share of the expected one, and by this.
inline constexpr double kRelativeTolerance = 1e-3;
inline constexpr double kAbsoluteTolerance = 1e-7;

struct NodeTest {
  bool passed = false;
  std::string reason;    // why it failed: the largest difference, or an error
  bool random = false;   // its numbers are drawn at random: only their count and types are compared
  std::size_t sets = 0;  // of inputs and outputs
};

// Imports `folder`/model.onnx for the inputs of each `folder`/test_data_set_K (input_0.pb, ...),
// runs it compiled, and compares with output_0.pb, ...: their count, shapes and dtypes must be the
// same, and their values within the tolerances. Nothing is thrown: what goes wrong is the reason.
NodeTest run_node_test(const std::filesystem::path& folder);

}  // namespace limpid::onnx
