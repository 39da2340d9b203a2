// Shared by transformations: rebuilds a Function node by node.
#pragma once

#include <functional>

#include "limpid/function/builder.h"

namespace limpid {

// Adds the ops for one node of the old Function, given its inputs in the new one; returns its
// results.
using NodeRewrite = std::function<std::vector<Value>(Builder& builder, const Node& node,
                                                     std::span<const Value> inputs)>;

// Adds the nodes of `function` to `builder`, each by `rewrite` and in its scope. `values`, indexed
// by the old ValueIds, holds the inputs and receives every result.
void rewrite_nodes(Builder& builder, const Function& function, std::vector<Value>& values,
                   const NodeRewrite& rewrite);

// A Function with the same inputs and output names, whose nodes come from `rewrite`.
Function rewrite(const Function& function, const NodeRewrite& rewrite);

// Names for additional inputs: "tangent.x" for each x. "tangent." is repeated while an input of the
// function has such a name.
std::vector<std::string> further_names(const Function& function, const std::string& kind,
                                       std::vector<std::string> names);

// The nodes that the outputs need, operands before users, depth-first from the first output on.
// This order depends only on the graph. The order in which nodes were added does not: it varies
// with the compiler, as C++ does not specify the evaluation order of operands. Bits and printed
// text must not depend on that.
std::vector<std::size_t> order_of_graph(const Function& function);
// The Function with its nodes in that order.
Function in_order_of_graph(const Function& function);

// Which values depend on the marked inputs by any path, through any dtypes. Inputs beyond the marks
// are not marked.
std::vector<bool> dependents(const Function& function, const std::vector<bool>& inputs);

std::vector<std::string> output_names(const Function& function);
std::vector<Value> outputs_of(const Function& function, std::span<const Value> values);

}  // namespace limpid
