// What transformations share: writing a Function anew, node by node.
#pragma once

#include <functional>

#include "limpid/function/builder.h"

namespace limpid {

// Writes the results of one node of the old Function, given its inputs in the new one.
using NodeRewrite = std::function<std::vector<Value>(Builder& builder, const Node& node,
                                                     std::span<const Value> inputs)>;

// The ops of `function` written into `builder`, each by `rewrite` and under its scope. `values`
// holds the inputs and receives every result, so that it is indexed by the old ValueIds.
void rewrite_nodes(Builder& builder, const Function& function, std::vector<Value>& values,
                   const NodeRewrite& rewrite);

// A Function with the same inputs and output names, its nodes written by `rewrite`.
Function rewrite(const Function& function, const NodeRewrite& rewrite);

// Names for further inputs: "tangent.x" for each x, or all with one "tangent." more while an input
// of the function has such a name.
std::vector<std::string> further_names(const Function& function, const std::string& kind,
                                       std::vector<std::string> names);

// The nodes that the outputs need, operands before users, in an order that the graph alone decides:
// depth first from the first output on. The order in which they were written is none: C++ leaves
// open in which order the operands of an expression are evaluated, and compilers differ. What shows
// in bits or in text must not.
std::vector<std::size_t> order_of_graph(const Function& function);
// The Function with its nodes in that order.
Function in_order_of_graph(const Function& function);

std::vector<std::string> output_names(const Function& function);
std::vector<Value> outputs_of(const Function& function, std::span<const Value> values);

}  // namespace limpid
