// Tracing: one run of a Function that keeps every value, and the statistics of each. Depends on
// function and table.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/core/params.h"
#include "limpid/core/statistics.h"
#include "limpid/function/interpret.h"

namespace limpid {

// One run, op by op, by the interpreter. The values have the bits of every other way to run the
// Function.
struct Observation {
  Function function;
  std::vector<Tensor> values;  // by ValueId: the inputs, then the results of the ops

  // The value with this ValueId.
  const Tensor& operator[](ValueId id) const { return values[static_cast<std::size_t>(id)]; }
};

// `inputs` has a tensor for every input of the function, by name; other tensors in it are ignored.
// Throws kNotFound for an input without a tensor, kShape or kDtype if one does not match, and what
// `observer` throws, which is called with every result, too.
Observation observe(const Function& function, const Params& inputs, const Observer& observer = {});

// A value of the run and the op that computed it. The data comes first, with op "input".
struct TraceRow {
  std::string value;  // "%x", "%3"
  std::string layer;  // "layers.0"; may be empty
  std::string op;
  Type type;
  Statistics statistics;
};

// A row for every value, except the inputs named in `params`.
std::vector<TraceRow> trace_rows(const Observation& run, const Params& params);
std::string to_text(const std::vector<TraceRow>& rows);
// An object with the members of TraceRow. Non-finite numbers are null.
Json to_json(const TraceRow& row);

}  // namespace limpid
