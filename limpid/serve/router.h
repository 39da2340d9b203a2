// Router: which function answers which path. Leans on infer_v2.h, completions.h, models.h and
// http.h.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "limpid/serve/access_log.h"
#include "limpid/serve/batcher.h"
#include "limpid/serve/completer.h"
#include "limpid/serve/http.h"
#include "limpid/serve/http_error.h"
#include "limpid/serve/limits.h"
#include "limpid/serve/metrics.h"
#include "limpid/serve/models.h"
#include "limpid/serve/worker.h"

namespace limpid::serve {

class Router {
 public:
  struct Parts {
    const Limits& limits;
    Models& models;
    Batcher& batcher;
    Completer& completer;
    Metrics& metrics;
    AccessLog& log;
    std::string version;       // of Limpid
    bool may_load = false;     // whether clients may load and unload models
    bool may_inspect = false;  // whether they may look into them; then Models keep their sources
    // What the server knows of itself: connections, bodies, whether it ends.
    std::function<Metrics::Gauges()> gauges = [] { return Metrics::Gauges{}; };
    std::function<bool()> draining = [] { return false; };
  };

  explicit Router(Parts parts) : parts_(std::move(parts)) {}

  // Answers at once or later. Throws HttpError, and what the library throws for what a request
  // asks of it.
  void operator()(Request request, const std::shared_ptr<Answer>& answer);

 private:
  void v1(Request request, const std::shared_ptr<Answer>& answer);
  void v2(Request request, const std::shared_ptr<Answer>& answer);
  void v2_model(Request request, const std::shared_ptr<Answer>& answer);
  void repository(const Request& request, const std::shared_ptr<Answer>& answer);
  void infer(Request request, std::shared_ptr<const ServedModel> model,
             const std::shared_ptr<Answer>& answer);
  void trace(const Request& request, std::shared_ptr<const ServedModel> model,
             const std::shared_ptr<Answer>& answer);

  Parts parts_;
  Worker loader_, tracer_;
};

// An error in the form of the protocol of a request's target.
Response error_of(const HttpError& error, std::string_view target);

// Whether anybody may ask for it, with or without a token: the probes of health.
bool is_public(const Request& head);

}  // namespace limpid::serve
