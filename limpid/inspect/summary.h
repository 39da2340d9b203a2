// Model summary: layers, shapes, parameter counts and work, without running the model. Depends on
// function and table.h.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid {

// One op of the function.
struct SummaryRow {
  std::string layer;  // the scope of the op, "layers.0"; may be empty
  std::string op;
  Shape output;                    // with a leading batch dimension
  std::int64_t parameters = 0;     // of the parameters that this op is the first to use
  std::int64_t multiply_adds = 0;  // of matrix products, for the whole batch
};

// The ops of a model in order, with totals.
struct Summary {
  std::string name;
  std::int64_t batch = 1;
  std::vector<Input> inputs;  // the data, with a leading batch dimension
  std::vector<SummaryRow> rows;
  std::int64_t parameters = 0;  // all parameters, used or not
  std::int64_t trainable = 0;   // trainable ones, of a floating-point dtype
  std::int64_t statistics = 0;  // measured ones: of standardisation, and running statistics
  std::int64_t multiply_adds = 0;
  std::int64_t input_bytes = 0;
  std::int64_t forward_bytes = 0;  // results of all ops
  std::int64_t parameter_bytes = 0;
  std::vector<std::pair<Dtype, std::int64_t>> bytes_by_dtype;  // of the parameters
};

// `function` is of one example; its inputs are the parameters, by name, and the data. Counts
// saturate at 2^63 - 1. Throws kInvalidArgument for a batch below 1, kShape if a shape overflows.
Summary summarize(const Function& function, const Params& params, std::int64_t batch = 1);

// A table like torchinfo's. Repeated blocks are shown once.
std::string to_text(const Summary& summary);

// A value of a Function and the op that computes it. The data comes first, with op "input".
struct ShapeRow {
  std::string value;  // "%x", "%3"
  std::string layer;
  std::string op;
  Type output;
  std::string note;             // attributes and parameters: "rate = 0.2"
  std::int64_t parameters = 0;  // of the parameters that this op is the first to use
  std::int64_t flops = 0;       // a multiply-add counts as two
};

// A row for every op of any Function, with or without a batch, for inference or training.
std::vector<ShapeRow> shape_trace(const Function& function, const Params& params);
std::string to_text(const std::vector<ShapeRow>& rows);

}  // namespace limpid
