// Program: the intermediate form between a Function and C++: buffers and steps over them. Steps are
// loops over elements, calls of the functions in limpid/emit/parts, and the two ends of a
// repetition of the steps between them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/emit/detail/view.h"
#include "limpid/function/function.h"

namespace limpid::emit {

// kPart: an element along the first dimension of another buffer, in a repetition.
enum class Place : std::uint8_t { kInput, kOutput, kConstant, kWorkspace, kPart };

using BufferId = std::int32_t;

struct Buffer {
  Type type;
  Place place = Place::kWorkspace;
  std::string name;        // in the emitted code
  std::string comment;     // of a constant: name of the parameter
  Tensor constant;         // of a constant
  std::size_t offset = 0;  // bytes into the workspace
  // Of a part: the buffer, and the distance from one part to the next in elements.
  BufferId whole = -1;
  std::int64_t stride = 0;
};

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

// A loop: the steps from here to its Until run `count` times. `parts` are the buffers whose address
// moves from one time to the next.
struct Repeat {
  std::int64_t count = 0;
  bool reverse = false;  // from the last part to the first
  std::vector<BufferId> parts;
};
struct Until {};

using Step = std::variant<Loop, CallStep, Repeat, Until>;

struct Program {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::vector<BufferId> inputs;
  std::vector<BufferId> outputs;
  std::size_t workspace_bytes = 0;
};

// Calls use(id) for each buffer that a step reads or writes.
template <class Use>
void for_each_buffer(const Step& step, const Use& use) {
  if (const auto* loop = std::get_if<Loop>(&step)) {
    for (const auto& local : loop->locals)
      if (const auto* load = std::get_if<Load>(&local)) use(load->buffer);
    for (const Store& store : loop->stores) use(store.buffer);
  } else if (const auto* call = std::get_if<CallStep>(&step)) {
    for (const Argument& a : call->arguments)
      if (a.buffer >= 0) use(a.buffer);
  }
}

// Lowers a Function. Throws kUnsupported for ops that cannot be emitted, naming all of them.
Program lower(const Function& function, const Params& params);

// Assigns offsets to the workspace buffers. Buffers with disjoint live ranges share memory.
void place(Program& program);

}  // namespace limpid::emit
