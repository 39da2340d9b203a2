// An answer of a server computed again, away from it. Leans on infer_v2.h and receipt.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "limpid/compile/thread_pool.h"
#include "limpid/formats/model.h"
#include "limpid/serve/models.h"
#include "limpid/serve/receipt.h"

namespace limpid::serve {

struct Recomputed {
  Signature signature;
  std::vector<Tensor> outputs;
  Receipt receipt;
};

// What a model answers to the body of a request to .../infer, as parse_infer() takes it. Throws
// kFormat for what is no such request, and what predict() throws.
Recomputed recompute(const Model& model, std::string_view body,
                     std::optional<std::size_t> json_bytes, ThreadPool* pool = nullptr);

// Compares with the body of an answer of which the first `json_bytes`, or all, are JSON. Throws
// kInvalidArgument, naming the first difference, where a bit differs; NaN is as good as NaN.
// kFormat for what is no such answer.
void check_answer(const Recomputed& again, std::string_view body,
                  std::optional<std::size_t> json_bytes);

}  // namespace limpid::serve
