// Recomputes the response of a server locally, to verify it. Depends on infer_v2.h and receipt.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "limpid/compile/thread_pool.h"
#include "limpid/formats/model.h"
#include "limpid/serve/infer_v2.h"
#include "limpid/serve/models.h"
#include "limpid/serve/receipt.h"

namespace limpid::serve {

struct Recomputed {
  Signature signature;
  std::vector<Tensor> outputs;
  std::vector<InferRequest::Wanted> wanted;  // the outputs that the request asks for
  Receipt receipt;
};

// Computes the response of a model to the body of a request to .../infer, as parse_infer() reads
// it. Throws kFormat for an invalid request, and what predict() throws.
Recomputed recompute(const Model& model, std::string_view body,
                     std::optional<std::size_t> json_bytes, ThreadPool* pool = nullptr);

// Compares with the body of a response, of which the first `json_bytes` bytes, or all, are JSON.
// Throws kInvalidArgument, naming the first difference, if any bit differs (all NaNs are equal) or
// an output that was asked for is missing; kFormat for an invalid response.
void check_answer(const Recomputed& again, std::string_view body,
                  std::optional<std::size_t> json_bytes);

}  // namespace limpid::serve
