#include "limpid/serve/metrics.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace limpid::serve {
namespace {

// Seconds, from 10 microseconds to 50 seconds.
std::vector<double> time_bounds() {
  std::vector<double> bounds;
  for (const double decade : {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1})
    for (const double step : {1.0, 2.5, 5.0}) bounds.push_back(decade * step);
  return bounds;
}

std::vector<double> row_bounds() { return {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}; }

// A label's value, quoted for Prometheus' text format.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result + '"';
}

void describe(std::string& text, const char* name, const char* type, const char* help) {
  text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

// Resident memory of this process in bytes; 0 if the system does not report it.
std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void Histogram::observe(double value) {
  const auto bound = std::lower_bound(bounds_.begin(), bounds_.end(), value);
  ++counts_[static_cast<std::size_t>(bound - bounds_.begin())];
  sum_ += value;
}

void Histogram::write(std::string& text, const std::string& name, const std::string& labels) const {
  const std::string more = labels.empty() ? "" : labels + ",";
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    const std::string bound = i < bounds_.size() ? fmt::format("{:.6g}", bounds_[i]) : "+Inf";
    text += fmt::format("{}_bucket{{{}le=\"{}\"}} {}\n", name, more, bound, below);
  }
  const std::string braces = labels.empty() ? "" : "{" + labels + "}";
  text += fmt::format("{0}_sum{1} {2}\n{0}_count{1} {3}\n", name, braces, sum_, below);
}

Metrics::Metrics() = default;

Metrics::OfModel& Metrics::of(const std::string& model) {
  const auto found = models_.find(model);
  if (found != models_.end()) return found->second;
  const Histogram times(time_bounds());
  return models_.emplace(model, OfModel{times, times, times, Histogram(row_bounds()), times, times})
      .first->second;
}

void Metrics::request(const Facts& facts, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[{facts.model, status}];
  if (facts.model.empty() || status != 200) return;
  OfModel& model = of(facts.model);
  model.whole.observe(seconds);
  model.queue.observe(facts.queue_seconds);
  model.compute.observe(facts.compute_seconds);
}

void Metrics::batch(const std::string& model, std::int64_t rows) {
  const std::lock_guard lock(mutex_);
  of(model).rows.observe(static_cast<double>(rows));
}

void Metrics::text(const std::string& model, const Text& text) {
  const std::lock_guard lock(mutex_);
  OfModel& of_model = of(model);
  of_model.prompt_tokens += static_cast<std::uint64_t>(text.prompt_tokens);
  of_model.tokens += static_cast<std::uint64_t>(text.tokens);
  if (text.tokens > 0) of_model.first_token.observe(text.first_token_seconds);
  if (text.tokens > 1)
    of_model.token.observe(text.further_tokens_seconds / static_cast<double>(text.tokens - 1));
}

std::string Metrics::text(const Gauges& gauges) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  describe(text, "limpid_requests_total", "counter", "Requests, by model and status.");
  for (const auto& [key, count] : requests_)
    text += fmt::format("limpid_requests_total{{model={},code=\"{}\"}} {}\n", quoted(key.first),
                        key.second, count);
  const auto histogram = [&](const char* name, const char* help, Histogram OfModel::*member) {
    describe(text, name, "histogram", help);
    for (const auto& [model, of_model] : models_)
      (of_model.*member).write(text, name, "model=" + quoted(model));
  };
  histogram("limpid_request_seconds",
            "From a whole request to the end of its answer, of status 200.", &OfModel::whole);
  histogram("limpid_queue_seconds", "How long a request waited for its turn.", &OfModel::queue);
  histogram("limpid_compute_seconds", "How long a request was computed.", &OfModel::compute);
  histogram("limpid_batch_rows", "Rows that were computed together.", &OfModel::rows);
  histogram("limpid_first_token_seconds", "From a request to the first token of its text.",
            &OfModel::first_token);
  histogram("limpid_token_seconds", "Mean time between two tokens of a text.", &OfModel::token);
  const auto counter = [&](const char* name, const char* help, std::uint64_t OfModel::*member) {
    describe(text, name, "counter", help);
    for (const auto& [model, of_model] : models_)
      text += fmt::format("{}{{model={}}} {}\n", name, quoted(model), of_model.*member);
  };
  counter("limpid_prompt_tokens_total", "Tokens of prompts.", &OfModel::prompt_tokens);
  counter("limpid_tokens_total", "Generated tokens.", &OfModel::tokens);
  using Language = Gauges::Language;
  const auto of_languages = [&](const char* name, const char* help, std::size_t Language::*member) {
    describe(text, name, "gauge", help);
    for (const auto& [model, language] : gauges.languages)
      text += fmt::format("{}{{model={}}} {}\n", name, quoted(model), language.*member);
  };
  of_languages("limpid_cache_bytes", "Bytes of the KV caches of a model.", &Language::cache_bytes);
  of_languages("limpid_texts", "Texts that are being generated.", &Language::texts);
  of_languages("limpid_text_places", "Maximum number of texts at a time.", &Language::places);
  describe(text, "limpid_model_bytes", "gauge",
           "Bytes of a model in memory: packed weights and plans.");
  for (const auto& [model, bytes] : gauges.model_bytes)
    text += fmt::format("limpid_model_bytes{{model={}}} {}\n", quoted(model), bytes);
  const auto gauge = [&](const char* name, const char* help, std::size_t value) {
    describe(text, name, "gauge", help);
    text += fmt::format("{} {}\n", name, value);
  };
  gauge("limpid_connections", "Open connections.", gauges.connections);
  gauge("limpid_queue_length", "Waiting requests and texts.", gauges.queue);
  gauge("limpid_body_bytes", "Bytes of the bodies of active requests.", gauges.body_bytes);
  gauge("limpid_answer_bytes", "Bytes of the tensors of their answers.", gauges.answer_bytes);
  gauge("limpid_resident_bytes", "Resident memory of the process in bytes.", resident_bytes());
  gauge("limpid_log_lines_lost", "Lines that could not be written to the access log.",
        gauges.log_lines_lost);
  return text;
}

}  // namespace limpid::serve
