// What a model is made of, before any number runs through it: layers, shapes, parameters, work.
// Leans on function and table.h.
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
  std::string layer;  // the scope it was written in, "layers.0"; may be empty
  std::string op;
  Shape output;                    // with the batch in front
  std::int64_t parameters = 0;     // of the tensors that this op is the first to use
  std::int64_t multiply_adds = 0;  // in products, for the whole batch
};

// The ops of a model in their order, with totals.
struct Summary {
  std::string name;
  std::int64_t batch = 1;
  std::vector<Input> inputs;  // the data, with the batch in front
  std::vector<SummaryRow> rows;
  std::int64_t parameters = 0;  // all of them, used or not
  std::int64_t trainable = 0;   // those of a floating dtype that are learnt
  std::int64_t statistics = 0;  // those that are measured: of the data, and running ones
  std::int64_t multiply_adds = 0;
  std::int64_t input_bytes = 0;
  std::int64_t forward_bytes = 0;  // the results of all ops
  std::int64_t parameter_bytes = 0;
  std::vector<std::pair<Dtype, std::int64_t>> bytes_by_dtype;  // of the parameters
};

// `function` is of one example; its inputs are the parameters, by name, and the data. Counts beyond
// 2^63 - 1 stay there. Throws kInvalidArgument for a batch below 1, kShape where a shape overflows.
Summary summarize(const Function& function, const Params& params, std::int64_t batch = 1);

// The table that people know from torchinfo; blocks that are repeated stand in it once.
std::string to_text(const Summary& summary);

// One value of a Function and the op that makes it; the data comes first, as op "input".
struct ShapeRow {
  std::string value;  // "%x", "%3"
  std::string layer;
  std::string op;
  Type output;
  std::string note;             // attributes and parameters: "rate = 0.2"
  std::int64_t parameters = 0;  // of the tensors that this op is the first to use
  std::int64_t flops = 0;       // a multiply-add counts as two
};

// Every op of any Function, with or without a batch, for inference or training.
std::vector<ShapeRow> shape_trace(const Function& function, const Params& params);
std::string to_text(const std::vector<ShapeRow>& rows);

}  // namespace limpid
