// Ranking: how relevant documents are to a query, by a cross-encoder. The form of the requests is
// that of Cohere's and Jina's rerank. Depends on batcher.h and models.h.
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

struct RankRequest {
  TextEmbedder::Pairs pairs = {};           // the query with each document
  std::vector<std::string> documents = {};  // their texts, if they are returned
  std::size_t top = 0;                      // the most documents of the response
};

// Parses the members of a request beside "model": "query", "documents" (texts, or objects with a
// "text"), "top_n", "return_documents", "truncate". Throws HttpError for unknown members, values
// that do not match the model, and values beyond the limits.
RankRequest parse_rank(const Json& body, const EncoderService& model, const Limits& limits);

// Computes the scores and sends the response: the documents by falling score, equal ones in their
// order. A score is the sigmoid of the model's logit. Throws HttpError 503 if the queue is full.
void rank(RankRequest request, std::shared_ptr<const ServedModel> model,
          const std::shared_ptr<Ticket>& ticket, const std::shared_ptr<Answer>& answer,
          Batcher& batcher);

}  // namespace limpid::serve
