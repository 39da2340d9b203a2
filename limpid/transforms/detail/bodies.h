// Shared by the ops that hold Functions: scan, cond and while_loop.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"

namespace limpid::detail {

// Throws kUnsupported if the Functions of a call's attributes are too many inside each other.
void check_depth(const Call& call);

// The code of an error about a type: kShape if only the shapes differ.
ErrorCode code_of_types(const Type& expected, const Type& given);

// Of any type, bools too.
Value zeros_of(Builder& builder, const Type& type);

// The needed results of a call of scan or cond by one that computes and takes no more than they
// need; the others are no Values. Empty if the call itself does, and for other ops.
std::vector<Value> pruned(Builder& builder, const Node& node, std::span<const Value> inputs,
                          const std::vector<bool>& needed);

// From the inputs of f, and a cotangent of each of its outputs, the cotangents of the inputs in
// `wrt`: zeros where the outputs depend on one only by ops without a derivative.
Function gradients(const Function& f, const std::vector<std::size_t>& wrt);

// Throws kUnsupported if so many copies of the body have too many ops to be written one by one.
void check_unrolled(const Function& body, std::int64_t copies);

// The sum of the FLOPs of a Function's ops.
std::int64_t flops_of(const Function& f);

// Adds a node of a Function whose values so far are in `values`, and writes its results there.
void copy_node(Builder& builder, const Node& node, std::vector<Value>& values);

// Marks the values of f that the marked ones need, themselves included.
void mark_needed(const Function& f, std::vector<bool>& needed);

// A value of f, computed by those of its ops that it needs, from the Values of its inputs. Those
// that it does not need may be of any type.
Value value_of(Builder& builder, const Function& f, ValueId id, std::span<const Value> inputs);

// Whether an output of f has a derivative by the input, be it zero.
bool has_gradient(const Function& f, std::size_t input);

}  // namespace limpid::detail
