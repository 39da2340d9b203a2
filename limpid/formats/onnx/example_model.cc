#include "limpid/formats/onnx/example_model.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/formats/in_quotes.h"
#include "limpid/formats/onnx/detail/importer.h"
#include "limpid/formats/onnx/onnx.h"
#include "limpid/function/builder.h"
#include "limpid/ops/shape.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/simplify.h"

namespace limpid::onnx {
namespace {

using detail::Dimension;
using detail::ModelContents;
using detail::ValueContents;

[[noreturn]] void unsupported(const std::string& what) {
  throw Error(ErrorCode::kUnsupported, what);
}

// The one input without an initializer.
const ValueContents& data_input_of(const ModelContents& contents) {
  constexpr std::size_t kShown = 8;
  const std::vector<const ValueContents*> inputs = detail::data_inputs(contents.graph);
  std::vector<std::string> names;
  for (const ValueContents* input : inputs)
    if (names.size() < kShown) names.push_back(in_quotes(input->name));
  if (inputs.size() != 1)
    unsupported(fmt::format("a model of one input is expected, {} came: {}", inputs.size(),
                            fmt::join(names, ", ")));
  if (contents.graph.outputs.size() != 1)
    unsupported(
        fmt::format("a model of one output is expected, {} came", contents.graph.outputs.size()));
  return *inputs.front();
}

// The name under which the size of the leading dimension is given; nothing where it is not dynamic,
// or has a size already.
std::optional<std::string> batch_name(const ValueContents& input,
                                      const std::map<std::string, std::int64_t>& dimensions) {
  if (!input.dims || input.dims->empty() || input.dims->front().size) return std::nullopt;
  const Dimension& first = input.dims->front();
  std::string name = first.name.empty() ? input.name + ".0" : first.name;
  if (dimensions.contains(name)) return std::nullopt;
  return name;
}

Imported import(const ModelContents& contents, ImportOptions options,
                const std::optional<std::string>& batch, std::int64_t size) {
  if (batch) options.dimensions[*batch] = size;
  Imported imported = detail::Importer(contents, options).run();
  if (imported.random) unsupported("it draws random numbers");
  return imported;
}

// f with the leading dimension of 1 taken from its data input and its output.
Function of_one_example(const Function& f, const std::string& data) {
  std::vector<Input> inputs = f.inputs();
  Input& input = inputs[f.input_index(data)];
  input.type.shape = input.type.shape.erase(0);
  const Output& output = f.outputs().front();
  return simplify(trace(f.name(), inputs,
                        [&](std::span<const Value> in) {
                          std::vector<Value> arguments(in.begin(), in.end());
                          Value& x = arguments[f.input_index(data)];
                          x = reshape(x, x.shape().insert(0, 1));
                          const Value y = x.builder().inline_function(f, arguments).front();
                          return std::vector<Value>{reshape(y, y.shape().erase(0))};
                        },
                        {output.name}));
}

// Numbers that differ: of a floating type in (-1, 1), else 0 and 1, which are indices of almost
// anything.
Tensor probe(const Type& type) {
  std::uint32_t state = 1;
  const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
  const auto fill = [&](auto zero) {
    using T = decltype(zero);
    return Tensor::generate<T>(type.shape, [&](std::span<T> out) {
      for (T& x : out) {
        if constexpr (std::is_floating_point_v<T>)
          x = static_cast<T>(next()) / static_cast<T>(1 << 23) - 1;
        else
          x = static_cast<T>(next() >> 12 & 1);
      }
    });
  };
  switch (type.dtype) {
    case Dtype::kF32:
      return fill(float{});
    case Dtype::kF64:
      return fill(double{});
    case Dtype::kI32:
      return fill(std::int32_t{});
    case Dtype::kI64:
      return fill(std::int64_t{});
    case Dtype::kBool:
      return fill(bool{});
    default:
      return Tensor::zeros(type);
  }
}

bool nearly_equal(const Tensor& a, const Tensor& b) {
  if (a.dtype() != Dtype::kF32) return a.same_bits(b);
  constexpr float kTolerance = 1e-4f;
  for (std::size_t i = 0; i < a.values<float>().size(); ++i) {
    const float x = a.values<float>()[i];
    const float y = b.values<float>()[i];
    const bool same = x == y || (std::isnan(x) && std::isnan(y));
    if (!same && !(std::abs(x - y) <= kTolerance * (1 + std::abs(y)))) return false;
  }
  return true;
}

// Throws where a row of a batch has another result than it has alone.
void check_rows(const Model& model, const Function& of_three) {
  const Input& input = data_input(model);
  const Function alone = bound(model);
  const Function together = bind(of_three, model.params);
  const Type& result = together.type(together.outputs().front().value);
  const Type& row = alone.type(alone.outputs().front().value);
  if (!(result == Type{row.dtype, row.shape.insert(0, 3)}))
    unsupported(fmt::format("for a batch of 3 it gives {}, which is not 3 of {}", to_string(result),
                            to_string(row)));
  const Tensor examples = probe({input.type.dtype, input.type.shape.insert(0, 3)});
  const Tensor results = compile(together)(std::vector<Tensor>{examples})[0];
  const Executable one = compile(alone);
  for (std::int64_t i = 0; i < 3; ++i) {
    const Tensor example = examples.rows(i, 1).reshape(input.type.shape);
    const Tensor expected = one(std::vector<Tensor>{example})[0];
    if (!nearly_equal(results.rows(i, 1).reshape(row.shape), expected))
      unsupported(
          "examples of one batch change one another's results: it is no function of one "
          "example; give the batch a size");
  }
}

Model model_of(const ModelContents& contents,
               const std::map<std::string, std::int64_t>& dimensions) {
  detail::check_operators(contents);
  const ValueContents& input = data_input_of(contents);
  const std::optional<std::string> batch = batch_name(input, dimensions);
  const ImportOptions options{.dimensions = dimensions, .known = {}};
  Imported imported = import(contents, options, batch, 1);
  const Shape in = imported.function.inputs()[imported.function.input_index(input.name)].type.shape;
  const Shape out = imported.function.type(imported.function.outputs().front().value).shape;
  const auto has_batch = [](const Shape& shape) { return shape.rank() > 0 && shape[0] == 1; };
  if (batch && !has_batch(out))
    unsupported(
        fmt::format("its output is {} for a batch of 1, a leading 1 is expected", to_string(out)));
  const bool drop = has_batch(in) && has_batch(out);
  Model model{drop ? of_one_example(imported.function, input.name) : imported.function,
              std::move(imported.params), ""};
  check_model(model);
  if (batch) check_rows(model, import(contents, options, batch, 3).function);
  return model;
}

}  // namespace

Model load_onnx_model(const std::filesystem::path& path,
                      const std::map<std::string, std::int64_t>& dimensions) {
  try {
    return model_of(detail::load_contents(path), dimensions);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::kIo) throw;
    throw Error(e.code(), fmt::format("onnx {}: {}", in_quotes(path.string()), e.what()));
  }
}

}  // namespace limpid::onnx
