// Metrics: counters and histograms of a server, for Prometheus. Depends on http.h.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "limpid/serve/http.h"

namespace limpid::serve {

// A histogram: counts of observations up to each bound, their number and sum.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds)
      : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

  void observe(double value);
  // Appends the lines in Prometheus' text format; `labels` is `model="m"` or empty.
  void write(std::string& text, const std::string& name, const std::string& labels) const;

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;  // the last one is for values above all bounds
  double sum_ = 0;
};

// Thread-safe.
class Metrics {
 public:
  Metrics();

  // Records a request that was answered, or whose client disconnected (status 499).
  void request(const Facts& facts, int status, double seconds);
  void batch(const std::string& model, std::int64_t rows);
  // A finished text of a language model.
  struct Text {
    std::int64_t prompt_tokens = 0;
    std::int64_t tokens = 0;            // generated
    double first_token_seconds = 0;     // from the request on; ignored if no token was generated
    double further_tokens_seconds = 0;  // from the first token to the last
  };
  void text(const std::string& model, const Text& text);
  // Current values.
  struct Gauges {
    std::size_t connections = 0;
    std::size_t body_bytes = 0;
    std::size_t answer_bytes = 0;
    std::size_t queue = 0;
    std::size_t log_lines_lost = 0;
    std::map<std::string, std::size_t> model_bytes = {};
    struct Language {
      std::size_t cache_bytes = 0;
      std::size_t texts = 0;   // active texts
      std::size_t places = 0;  // maximum number of active texts
    };
    std::map<std::string, Language> languages = {};
  };
  // All metrics in Prometheus' text format.
  std::string text(const Gauges& gauges) const;

 private:
  struct OfModel {
    Histogram whole, queue, compute, rows;
    Histogram first_token, token;  // of language models
    std::uint64_t prompt_tokens = 0, tokens = 0;
  };
  OfModel& of(const std::string& model);

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;
  std::map<std::string, OfModel> models_;
};

}  // namespace limpid::serve
