// Router: maps request paths to handlers. Depends on infer_v2.h, completions.h, models.h and
// http.h.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "limpid/serve/access_log.h"
#include "limpid/serve/batcher.h"
#include "limpid/serve/budget.h"
#include "limpid/serve/http.h"
#include "limpid/serve/http_error.h"
#include "limpid/serve/infer_v2.h"
#include "limpid/serve/limits.h"
#include "limpid/serve/metrics.h"
#include "limpid/serve/models.h"
#include "limpid/serve/scheduler.h"
#include "limpid/serve/worker.h"

namespace limpid::serve {

class Router {
 public:
  struct Parts {
    const Limits& limits;
    Models& models;
    Batcher& batcher;
    Scheduler& scheduler;
    Metrics& metrics;
    AccessLog& log;
    std::string version;       // of Limpid
    bool may_load = false;     // whether clients may load and unload models
    bool may_inspect = false;  // whether clients may inspect models (Options::keep_sources)
    // State of the server: connections, bodies, whether it is draining.
    std::function<Metrics::Gauges()> gauges = [] { return Metrics::Gauges{}; };
    std::function<bool()> draining = [] { return false; };
  };

  explicit Router(Parts parts) : parts_(std::move(parts)), answer_bytes_(parts_.limits.answers) {}

  // Responds at once or later. Throws HttpError, and the library's errors for a request.
  void operator()(Request request, const std::shared_ptr<Answer>& answer);

 private:
  using EncoderOf = std::shared_ptr<const EncoderService> ServedModel::*;

  void v1(Request request, const std::shared_ptr<Answer>& answer);
  std::shared_ptr<const ServedModel> encoder(const Request& request, const Json& body,
                                             EncoderOf service, std::string_view without) const;
  void embeddings(const Request& request, const std::shared_ptr<Answer>& answer);
  void rerank(const Request& request, const std::shared_ptr<Answer>& answer);
  void v2(Request request, const std::shared_ptr<Answer>& answer);
  void v2_model(Request request, const std::shared_ptr<Answer>& answer);
  void repository(const Request& request, const std::shared_ptr<Answer>& answer);
  InferRequest asked_of(const Request& request, const ServedModel& model) const;
  void infer(Request request, std::shared_ptr<const ServedModel> model,
             const std::shared_ptr<Answer>& answer);
  void trace(const Request& request, std::shared_ptr<const ServedModel> model,
             const std::shared_ptr<Answer>& answer);

  Parts parts_;
  Budget answer_bytes_;
  Worker loader_, tracer_;
};

// An error response in the form of the target's protocol.
Response error_of(const HttpError& error, std::string_view target);

// Whether the request needs no token: health probes.
bool is_public(const Request& head);

}  // namespace limpid::serve
