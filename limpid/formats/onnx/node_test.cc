#include "limpid/formats/onnx/node_test.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/core/half.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/number_text.h"
#include "limpid/core/statistics.h"
#include "limpid/formats/file.h"
#include "limpid/formats/onnx/import/detail/importer.h"
#include "limpid/formats/onnx/onnx.h"
#include "limpid/transforms/bind.h"

namespace limpid::onnx {
namespace {

namespace fs = std::filesystem;

// All files NAME_0.pb, NAME_1.pb, ... of a folder.
std::vector<Tensor> load_tensors(const fs::path& folder, std::string_view name) {
  std::vector<Tensor> tensors;
  for (;;) {
    const fs::path path = folder / fmt::format("{}_{}.pb", name, tensors.size());
    if (!fs::exists(path)) return tensors;
    const Tensor file = read_file(path, kMaxOnnxBytes);
    detail::Budget budget(file.bytes().size());
    detail::ExternalData external_data(std::nullopt, budget);
    tensors.push_back(detail::read_tensor(file.bytes(), budget, external_data).second);
  }
}

// Throws if a result differs from the expected one, and says by how much.
void compare(std::size_t output, const Tensor& result, const Tensor& expected, bool types_only) {
  if (!(result.type() == expected.type()))
    throw Error(ErrorCode::kShape,
                fmt::format("output {} is {}, expected {}", output, to_string(result.type()),
                            to_string(expected.type())));
  if (types_only) return;
  const std::vector<double> all = to_doubles(result), wanted_all = to_doubles(expected);
  std::size_t wrong = 0;
  std::size_t worst = 0;
  double largest = -1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(expected.elements()); ++i) {
    const double came = all[i], wanted = wanted_all[i];
    if (came == wanted || (std::isnan(came) && std::isnan(wanted))) continue;
    const double difference = std::abs(came - wanted);
    if (difference <= kAbsoluteTolerance + kRelativeTolerance * std::abs(wanted) &&
        std::isfinite(wanted))
      continue;
    ++wrong;
    if (!(difference <= largest)) {
      largest = difference;
      worst = i;
    }
  }
  if (wrong > 0)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("output {}: {} of {} numbers differ, by up to {:.3g}: got {:.9g} at "
                            "{}, expected {:.9g}",
                            output, wrong, expected.elements(), unsigned_nan(largest),
                            unsigned_nan(all[worst]), worst, unsigned_nan(wanted_all[worst])));
}

void run_set(const fs::path& model, const fs::path& set, NodeTest& test) {
  const detail::ModelContents contents = detail::load_contents(model);
  const std::vector<const detail::ValueContents*> declared = detail::data_inputs(contents.graph);
  for (const std::vector<detail::ValueContents>* values :
       {&contents.graph.inputs, &contents.graph.outputs})
    for (const detail::ValueContents& value : *values)
      if (value.is_other)
        throw Error(ErrorCode::kUnsupported,
                    fmt::format("{} is not a tensor", in_quotes(value.name)));
  const std::vector<Tensor> inputs = load_tensors(set, "input");
  const std::vector<Tensor> expected = load_tensors(set, "output");
  if (inputs.size() != declared.size())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("expected {1} inputs, got {0}", inputs.size(), declared.size()));
  ImportOptions options;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    options.known.emplace(declared[i]->name, inputs[i]);
  const Imported imported = load_onnx(model, options);
  test.random = test.random || imported.random;
  const std::vector<Tensor> results = compile(bind(imported.function, imported.params))(inputs);
  if (results.size() != expected.size())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("expected {1} outputs, got {0}", results.size(), expected.size()));
  for (std::size_t i = 0; i < results.size(); ++i)
    compare(i, results[i], expected[i], imported.random);
}

}  // namespace

NodeTest run_node_test(const fs::path& folder) {
  NodeTest test;
  try {
    for (;; ++test.sets) {
      const fs::path set = folder / fmt::format("test_data_set_{}", test.sets);
      if (!fs::is_directory(set)) break;
      run_set(folder / "model.onnx", set, test);
    }
    test.passed = test.sets > 0;
    if (!test.passed) test.reason = "the folder has no test_data_set_0";
  } catch (const std::exception& e) {
    test.reason = e.what();
  }
  return test;
}

}  // namespace limpid::onnx
