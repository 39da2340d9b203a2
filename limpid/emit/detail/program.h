// Program: what a Function becomes before it is written down as C++. Buffers, and steps over them:
// loops over elements, and calls of the functions in limpid/emit/detail/parts.
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
  std::string name;        // in C++
  std::string comment;     // of a constant: the parameter's name
  Tensor constant;         // of a constant
  std::size_t offset = 0;  // bytes into the workspace
};
using BufferId = std::int32_t;

// `expression` reads the locals before it: t0, t1, ...
struct Statement {
  Dtype dtype = Dtype::kF32;
  std::string expression;
};

// Reads element after element of a view into a local.
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

// For every element of `dims`: the loads and statements in their order, each a local; the stores.
struct Loop {
  std::vector<std::int64_t> dims;
  std::vector<std::variant<Load, Statement>> locals;
  std::vector<Store> stores;
};

// function(arguments): numbers, and addresses of an element of a buffer.
struct Argument {
  BufferId buffer = -1;     // none: a number
  std::int64_t number = 0;  // or the element
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

// Throws kUnsupported for an op that has no form in C++, naming all of them.
Program lower(const Function& function, const Params& params);

// Gives the workspace buffers their offsets; those whose lives do not meet share memory.
void place(Program& program);

}  // namespace limpid::emit
