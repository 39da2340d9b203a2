// The interpreter: runs a Function op by op with the reference arithmetic. It is slow and simple.
// Its results are the specification: every other way to run a Function must give the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "limpid/function/function.h"

namespace limpid {

// Called with each result of each op: the node, the index of the result among the node's results,
// and the tensor.
using Observer = std::function<void(const Node& node, std::size_t result, const Tensor& value)>;

// Runs the Function. Throws kInvalidArgument, kShape or kDtype if the tensors do not match the
// inputs.
std::vector<Tensor> interpret(const Function& function, std::span<const Tensor> inputs,
                              const Observer& observer = {});

// The floating-point operations of a run, at most the largest i64: what the time of interpret
// depends on.
std::int64_t flops_of(const Function& function);

// Whether all results are empty. Then there is nothing to compute, however large the other
// dimensions are.
bool results_are_empty(const Call& call);

// Runs one call: a primitive by its reference arithmetic, a composition by interpreting its body.
std::vector<Tensor> interpret_call(const Call& call, std::span<const Tensor> inputs);

// Throws kInvalidArgument (number of tensors), kShape or kDtype if the tensors do not match the
// inputs. The message names the input.
void check_arguments(const Function& function, std::span<const Tensor> inputs);

}  // namespace limpid
