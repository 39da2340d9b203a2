// Program: the intermediate form between a Function and C++: buffers and steps over them. Steps are
// loops over elements, and calls of the functions in limpid/emit/parts.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/emit/detail/view.h"
#include "limpid/function/function.h"

namespace limpid::emit {

enum class Place : std::uint8_t { kInput, kOutput, kConstant, kWorkspace };

struct Buffer {
  Type type;
  Place place = Place::kWorkspace;
  std::string name;        // in the emitted code
  std::string comment;     // of a constant: name of the parameter
  Tensor constant;         // of a constant
  std::size_t offset = 0;  // bytes into the workspace
};
using BufferId = std::int32_t;

// A local variable; `expression` uses the earlier locals t0, t1, ...
struct Statement {
  Dtype dtype = Dtype::kF32;
  std::string expression;
};

// Reads the elements of a view into a local.
struct Load {
  BufferId buffer = -1;
  View view;

  bool operator==(const Load&) const = default;
};
struct Store {
  std::int32_t local = 0;
  BufferId buffer = -1;
  View view;
};

// For every element of `dims`: runs the loads and statements in order, each defining a local; then
// the stores.
struct Loop {
  std::vector<std::int64_t> dims;
  std::vector<std::variant<Load, Statement>> locals;
  std::vector<Store> stores;
};

// An argument of a call: a number, or the address of an element of a buffer.
struct Argument {
  BufferId buffer = -1;     // -1: a number
  std::int64_t number = 0;  // the number, or the element's index
  bool written = false;
};
struct CallStep {
  std::string function;
  std::vector<Argument> arguments;
};

using Step = std::variant<Loop, CallStep>;

struct Program {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::vector<BufferId> inputs;
  std::vector<BufferId> outputs;
  std::size_t workspace_bytes = 0;
};

// Lowers a Function. Throws kUnsupported for ops that cannot be emitted, naming all of them.
Program lower(const Function& function, const Params& params);

// Assigns offsets to the workspace buffers. Buffers with disjoint live ranges share memory.
void place(Program& program);

}  // namespace limpid::emit
