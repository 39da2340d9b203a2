// OpenAI's completions: what a request asks for, and its answer, whole or as a stream. Leans on
// completer.h, models.h and event_stream.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/nn/sampling.h"
#include "limpid/serve/http.h"
#include "limpid/serve/http_error.h"
#include "limpid/serve/limits.h"
#include "limpid/serve/metrics.h"
#include "limpid/serve/models.h"

namespace limpid::serve {

struct CompletionRequest {
  struct Prompt {
    std::vector<std::int32_t> tokens;  // one or more
    std::string text;                  // as `echo` gives it back
  };
  std::vector<Prompt> prompts;
  std::int64_t n = 1;        // texts of each
  std::int64_t tokens = 16;  // of each, at most
  nn::Sampling sampling = {};
  std::uint64_t seed = 0;  // text i of a prompt is that of seed + i alone
  std::vector<std::string> stop = {};
  bool echo = false;
  std::optional<std::int64_t> logprobs = {};  // how many tokens beside the one that was drawn
  bool stream = false;
  bool usage = false;                   // at the end of a stream
  bool chat = false;                    // answered as a message
  std::vector<std::int32_t> ends = {};  // tokens that end a text, beside the tokenizer's own
};

// The name of the model that a body asks for. Throws HttpError for what is no such request.
std::string model_of_completion(const Json& body);
// The rest. Without a seed it is one of the system's random numbers below 2^53. Throws HttpError
// for what it does not know, what does not fit the model, and what is beyond the limits.
CompletionRequest parse_completion(const Json& body, const LanguageService& model,
                                   const Limits& limits);
// The same of a chat's messages. Throws HttpError 501 where the model has no template that can be
// rendered.
CompletionRequest parse_chat(const Json& body, const LanguageService& model, const Limits& limits);

// Has a completion written and answered. Throws HttpError 503 where the queue is full.
void complete(CompletionRequest request, std::shared_ptr<const ServedModel> model,
              std::shared_ptr<Ticket> ticket, const std::shared_ptr<Answer>& answer,
              Completer& completer, Metrics& metrics);

// {"error": {"message": ..., "type": ..., "param": null, "code": ...}}.
Response openai_error(const HttpError& error);

}  // namespace limpid::serve
