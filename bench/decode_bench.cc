// A transformer with a cache, going on token by token: tokens a second against what reading the
// weights once a token allows, and a prompt against the peak of multiply-adds. Weights are random:
// their values do not show in the time.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <optional>

#include "bench/speeds.h"
#include "limpid/limpid.h"

namespace bench {
namespace {

namespace lp = limpid;

struct Settings {
  int threads = 2;
  std::int64_t layers = 12, width = 768, heads = 12, vocabulary = 10'000;
  std::int64_t prompt = 512, tokens = 48;
};

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// In the shape of Llama: RMS norms, SwiGLU, rotary positions, no biases, an output of its own.
lp::nn::Gpt net_of(const Settings& s) {
  lp::nn::Gpt net = lp::nn::llama_shaped();
  net.vocabulary = s.vocabulary;
  net.context = s.prompt + 2 * s.tokens;
  net.layers = s.layers;
  net.width = s.width;
  net.heads = s.heads;
  net.hidden = (8 * s.width / 3 + 63) / 64 * 64;
  return net;
}

// The parameters that every token reads: all but the table of embeddings.
double bytes_read(const lp::Params& params) {
  double bytes = 0;
  for (const auto& [name, value] : params)
    if (name != "embed_tokens.weight") bytes += static_cast<double>(value.type().bytes());
  return bytes;
}

struct Measured {
  double compile_ms, prefill_seconds, tokens_a_second;
};

Measured measure(const lp::nn::Gpt& net, const lp::Params& params, const Settings& s,
                 lp::ThreadPool& pool) {
  const Clock::time_point start = Clock::now();
  lp::nn::Decoder decoder(net, params, {.chunk = s.prompt, .pool = &pool});
  Measured m{
      .compile_ms = 1e3 * seconds_since(start), .prefill_seconds = 1e9, .tokens_a_second = 0};
  std::vector<std::vector<std::int32_t>> prompt(1);
  for (std::int64_t i = 0; i < s.prompt; ++i)
    prompt[0].push_back(static_cast<std::int32_t>(i * 37 % s.vocabulary));
  for (int attempt = 0; attempt < 3; ++attempt) {
    decoder.truncate(0, 0);
    const Clock::time_point begin = Clock::now();
    decoder.append(prompt);
    m.prefill_seconds = std::min(m.prefill_seconds, seconds_since(begin));
  }
  for (int attempt = 0; attempt < 3; ++attempt) {
    decoder.truncate(0, 1);  // a short context: the weights are what is read
    const Clock::time_point begin = Clock::now();
    for (std::int64_t i = 0; i < s.tokens; ++i) {
      const auto token = static_cast<std::int32_t>(i);
      decoder.step({&token, 1});
    }
    m.tokens_a_second =
        std::max(m.tokens_a_second, static_cast<double>(s.tokens) / seconds_since(begin));
  }
  return m;
}

void run(const Settings& s) {
  const Speeds speeds = measure_speeds(s.threads);
  const double bandwidth = speeds.read[kLevels - 1];
  const lp::nn::Gpt net = net_of(s);
  const lp::Params params = net.init(lp::Key(0));
  const lp::Function f = net.function(1);
  std::int64_t count = 0;
  for (const auto& [name, value] : params) count += value.elements();
  fmt::print("{:.1f} million parameters, {} threads; {:.1f} GB/s from memory, {:.0f} GFLOP/s\n\n",
             static_cast<double>(count) * 1e-6, s.threads, bandwidth, speeds.gflops);
  // Products and attention of all tokens of the prompt, and the logits of the last.
  const double flops = 2 * static_cast<double>(count - 2 * net.vocabulary * net.width) *
                           static_cast<double>(s.prompt) +
                       2 * static_cast<double>(net.vocabulary * net.width) +
                       2 * static_cast<double>(net.layers * net.width) *
                           static_cast<double>(s.prompt * (s.prompt + 1));
  fmt::print(
      "| weights | MB a token | tokens/s | limit | part of it | prompt of {} | GFLOP/s | part "
      "of the peak | compile, ms |\n|---|---|---|---|---|---|---|---|---|\n",
      s.prompt);
  lp::ThreadPool pool({.threads = s.threads, .pin_caller = true});
  for (const std::optional<lp::Dtype> to :
       {std::optional<lp::Dtype>(), std::optional(lp::Dtype::kBf16),
        std::optional(lp::Dtype::kI8)}) {
    const lp::Params narrowed = to ? lp::quantize(f, params, {.to = *to}).params : params;
    const double bytes = bytes_read(narrowed);
    const Measured m = measure(net, narrowed, s, pool);
    const double limit = bandwidth * 1e9 / bytes;
    const double gflops = flops / m.prefill_seconds * 1e-9;
    fmt::print(
        "| {} | {:.1f} | {:.1f} | {:.1f} | {:.0f} % | {:.1f} ms | {:.0f} | {:.0f} % | {:.1f} |\n",
        to ? lp::name(*to) : "f32", bytes * 1e-6, m.tokens_a_second, limit,
        100 * m.tokens_a_second / limit, 1e3 * m.prefill_seconds, gflops,
        100 * gflops / speeds.gflops, m.compile_ms);
  }
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Settings settings;
  CLI::App app("Tokens a second of a transformer with a cache");
  app.add_option("--threads", settings.threads)->capture_default_str();
  app.add_option("--layers", settings.layers)->capture_default_str();
  app.add_option("--width", settings.width)->capture_default_str();
  app.add_option("--heads", settings.heads)->capture_default_str();
  app.add_option("--vocabulary", settings.vocabulary)->capture_default_str();
  app.add_option("--prompt", settings.prompt, "Tokens")->capture_default_str();
  app.add_option("--tokens", settings.tokens, "To go on with")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  bench::run(settings);
}
