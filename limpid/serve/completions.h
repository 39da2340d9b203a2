// OpenAI's completions API: parses requests and sends responses, whole or as a stream. Depends on
// scheduler.h, models.h and event_stream.h.
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
    std::string text;                  // returned by `echo`
  };
  std::vector<Prompt> prompts;
  std::int64_t n = 1;        // texts per prompt
  std::int64_t tokens = 16;  // the most tokens of each text
  nn::Sampling sampling = {};
  std::vector<std::pair<std::int32_t, double>> bias = {};  // see nn::Generation::Options
  double presence = 0, frequency = 0, repetition = 1;
  std::uint64_t seed = 0;  // text i of a prompt is the one that seed + i generates alone
  std::vector<std::string> stop = {};
  bool echo = false;
  std::optional<std::int64_t> logprobs = {};  // number of alternative tokens to report
  bool stream = false;
  bool usage = false;                   // report usage at the end of a stream
  bool chat = false;                    // respond with a chat message
  std::vector<std::int32_t> ends = {};  // tokens that end a text, in addition to EOS
};

// The model name in the body of a request. Throws HttpError for an invalid request.
std::string model_of_completion(const Json& body);
// Parses the other members. Without a seed, it is a random number below 2^53 from the system.
// Throws HttpError for unknown members, values that do not match the model, and values beyond the
// limits.
CompletionRequest parse_completion(const Json& body, const LanguageService& model,
                                   const Limits& limits);
// The same for chat messages. Throws HttpError 501 too, for a chat template that is not supported.
CompletionRequest parse_chat(const Json& body, const LanguageService& model, const Limits& limits);

// Generates a completion and sends the response. Throws HttpError 503 if the queue is full.
void complete(CompletionRequest request, std::shared_ptr<const ServedModel> model,
              std::shared_ptr<Ticket> ticket, const std::shared_ptr<Answer>& answer,
              Scheduler& scheduler, Metrics& metrics);

// {"error": {"message": ..., "type": ..., "param": null, "code": ...}}.
Response openai_error(const HttpError& error);

}  // namespace limpid::serve
