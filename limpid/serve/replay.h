// Recomputes a server's texts or embeddings locally, to verify them. Depends on completions.h,
// embeddings.h and receipt.h.
#pragma once

#include <limits>

#include "limpid/compile/thread_pool.h"
#include "limpid/core/json.h"
#include "limpid/formats/model.h"
#include "limpid/serve/receipt.h"

namespace limpid::serve {

// Any size: a response as the caller has it, whose size the server's limits bound in other ways.
inline constexpr JsonLimits kWholeResponse{.bytes = std::numeric_limits<std::size_t>::max(),
                                           .values = std::numeric_limits<std::size_t>::max()};

struct Replayed {
  Json answer;  // the body of the response
  Receipt receipt;
};

// Whether a request body is for OpenAI's API (else it is for an inference).
bool is_text_request(const Json& request);

// The response of a server with default limits to a body, which must contain the seed of a text. A
// streamed response is returned as a whole. Throws kFormat for an invalid request, kInvalidArgument
// if the model writes no texts, or gives no embeddings, or, with the reason, if it fails.
Replayed replay(const Model& model, Json request, ThreadPool* pool = nullptr);

// Compares with the body of a response. Throws kInvalidArgument, naming the first difference;
// kFormat for an invalid response.
void check_text(const Replayed& again, const Json& answer);

}  // namespace limpid::serve
