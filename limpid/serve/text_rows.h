// The rows that a text encoder gives for the texts of a request. Depends on batcher.h and models.h.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "limpid/models/text_embedder.h"
#include "limpid/serve/batcher.h"
#include "limpid/serve/http.h"
#include "limpid/serve/models.h"

namespace limpid::serve {

struct TextRows {
  std::vector<float> values;  // [texts, size]
  std::exception_ptr error;   // instead of them
  double queue_seconds = 0, compute_seconds = 0;
};

// Computes the rows; texts of all requests that are padded to the same length are computed
// together. `done` is called once, by any thread. Throws HttpError 503 if the queue is full.
void compute_rows(const TextEmbedder::Pairs& texts, const EncoderService& service,
                  const std::shared_ptr<Ticket>& ticket, Batcher& batcher,
                  std::function<void(TextRows&)> done);

// Sends the response that `response` makes of the rows, or their error.
void send_rows(Answer& answer, TextRows& rows, const std::function<Response()>& response) noexcept;

}  // namespace limpid::serve
