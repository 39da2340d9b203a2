// The laws as functions. Each checks one Function and returns what is wrong, "" if the law holds.
// The tests on the op table, the random search and the shrinking of its findings share them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/function/function.h"

namespace limpid::laws {

// For messages: large tensors are not printed.
std::string short_text(const Function& f);

// Equal up to the bits of NaNs, tensor by tensor; else which differs.
std::string difference(std::span<const Tensor> got, std::span<const Tensor> expected);

// Compiled equals interpreted: on every instruction set, with one thread, and with every step split
// among 2, 3 and 5.
std::string compiled_is_interpreted(const Function& f, std::span<const Tensor> inputs);

// With all inputs but the last bound to values and compiled, the results are those of f.
std::string bound_is_called(const Function& f, Key key);

// Compiled with the memory of an input donated to an output, for all such pairs that compile()
// accepts: equals interpreted.
std::string donated_is_interpreted(const Function& f, std::span<const Tensor> inputs);

// Row i of vmap(f) is f of row i. `axes` are those of vmap; the values are drawn as for an Example.
struct Batch {
  std::vector<std::optional<std::int64_t>> axes;
  std::int64_t size = 3;
};
struct Domain {
  double low = -2;
  double high = 2;
  std::int64_t bound = 2;
};
std::string vmap_is_single_calls(const Function& f, const Batch& batch, const Domain& domain,
                                 Key key);
// The same law for vjp(vmap(f)) and vjp(f), by the floating inputs of one dtype, all inputs
// batched.
std::string gradient_of_vmap_is_single_gradients(const Function& f, std::int64_t size,
                                                 const Domain& domain, Key key);
// Every input batched at `axis`, or at its last axis if it has fewer.
Batch all_batched(const Function& f, std::int64_t axis, std::int64_t size);

// <ct, J t> = <J^T ct, t> for the tangents of jvp and the gradients of vjp, up to rounding. Values
// that are not finite are a failure, unless `not_finite` allows them.
enum class NotFinite { kWrong, kMayBe };
std::string jvp_is_vjp_transposed(const Function& f, std::span<const Tensor> inputs,
                                  const std::vector<std::size_t>& wrt, Key key,
                                  NotFinite not_finite = NotFinite::kWrong);

// The derivative of a scalar Function of f64 or f32 along a random direction: by grad, by jvp, and
// by central differences with this step. They may differ by the tolerance times the magnitude of
// the terms of the first; values that are not finite are wrong.
struct Differences {
  double step = 1e-5, tolerance = 1e-8;
};
std::string gradient_is_difference(const Function& loss, std::span<const Tensor> inputs,
                                   const std::vector<std::size_t>& wrt,
                                   const Differences& differences, Key key);

// Print, parse, print.
std::string text_is_kept(const Function& f);
// Save, load, save: a model of f with all inputs but the last as parameters.
std::string file_is_kept(const Function& f, Key key);

// expand and simplify keep the numbers, and a second simplify changes nothing.
std::string simplify_keeps_numbers(const Function& f, std::span<const Tensor> inputs);

// The inputs, and outputs, of a floating dtype.
std::vector<std::size_t> inputs_of(const Function& f, Dtype dtype);
bool has_output_of(const Function& f, Dtype dtype);

// Element i of a tensor along its axis.
Tensor slice(const Tensor& batch, std::size_t axis, std::int64_t i);

}  // namespace limpid::laws
