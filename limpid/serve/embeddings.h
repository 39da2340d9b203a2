// OpenAI's embeddings API: texts or tokens to vectors. Depends on batcher.h and models.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/serve/http.h"
#include "limpid/serve/limits.h"
#include "limpid/serve/models.h"

namespace limpid::serve {

struct EmbeddingRequest {
  std::vector<std::vector<std::int32_t>> texts;  // their tokens
  std::int64_t size = 0;                         // elements of each vector
  bool base64 = false;                           // vectors as little-endian f32 in base64
};

// Parses the members of a request beside "model". Throws HttpError for unknown members, values that
// do not match the model, and values beyond the limits.
EmbeddingRequest parse_embeddings(const Json& body, const EncoderService& model,
                                  const Limits& limits);

// Computes the vectors and sends the response. Texts of all requests that are padded to the same
// length are computed together. Throws HttpError 503 if the queue is full.
void embed(EmbeddingRequest request, std::shared_ptr<const ServedModel> model,
           const std::shared_ptr<Ticket>& ticket, const std::shared_ptr<Answer>& answer,
           Batcher& batcher);

}  // namespace limpid::serve
