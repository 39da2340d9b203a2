// What numbers do on their way: one run of a Function with every value kept, and the statistics of
// each. Leans on function and table.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/core/params.h"
#include "limpid/core/statistics.h"
#include "limpid/function/function.h"

namespace limpid {

// One run, op by op, by the interpreter; values are the bits that every other run of the Function
// gives.
struct Observation {
  Function function;
  std::vector<Tensor> values;  // by ValueId: the inputs, then the results of the ops

  // The value of that number.
  const Tensor& operator[](ValueId id) const { return values[static_cast<std::size_t>(id)]; }
};

// `inputs` holds a tensor for every input of the function, by name; others in it are left aside.
// Throws kNotFound for an input without one, kShape or kDtype where one does not fit.
Observation observe(const Function& function, const Params& inputs);

// One value of the run and the op that made it; the data comes first, as op "input".
struct TraceRow {
  std::string value;  // "%x", "%3"
  std::string layer;  // "layers.0"; may be empty
  std::string op;
  Type type;
  Statistics statistics;
};

// Every value but the inputs named in `params`.
std::vector<TraceRow> trace_rows(const Observation& run, const Params& params);
std::string to_text(const std::vector<TraceRow>& rows);
// An object of its members; numbers that are not finite are null.
Json to_json(const TraceRow& row);

}  // namespace limpid
