// Text generation by a transformer with a KV cache. Compares tokens per second with the bound set
// by reading the weights once per token, and the time of a prompt with the peak of multiply-adds;
// also profiles one token. Weights are random: their values do not change the time.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "bench/arguments.h"
#include "bench/profiled.h"
#include "bench/speeds.h"
#include "limpid/limpid.h"

namespace bench {
namespace {

namespace lp = limpid;

struct Settings {
  int threads = 2, rounds = 5;
  std::int64_t layers = 12, width = 768, heads = 12, vocabulary = 10'000;
  std::int64_t prompt = 512, tokens = 48;
  std::string profile;  // "f32", "bf16" or "i8": profile a token instead
};

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Llama's architecture: RMS norms, SwiGLU, rotary positions, no biases, untied output projection.
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

// The bytes that one token reads: all parameters except the embedding table, and the keys and
// values of half of the tokens, the average.
double bytes_read(const lp::Params& params, const lp::nn::Gpt& net, const Settings& s) {
  double bytes = 0;
  for (const auto& [name, value] : params)
    if (name != "embed_tokens.weight") bytes += static_cast<double>(value.type().bytes());
  for (const lp::Input& cache : net.caches({.capacity = std::max<std::int64_t>(1, s.tokens / 2)}))
    bytes += static_cast<double>(cache.type.bytes());
  return bytes;
}

// GB/s that all threads read together. Each reads its part of a buffer that is far larger than the
// caches and has pages like those of weights. Other programs may use memory bandwidth at any
// moment, so this is measured right next to the times it is compared with.
class Bandwidth {
 public:
  explicit Bandwidth(lp::ThreadPool& pool)
      : pool_(pool), memory_(lp::allocate_aligned(kBytes)), sums_(lp::ThreadPool::kMaxThreads) {
    std::fill_n(reinterpret_cast<std::uint64_t*>(memory_.get()), kBytes / 8, 1);
  }

  double measure() {
    double best = 0;
    for (int attempt = 0; attempt < 3; ++attempt) {
      const Clock::time_point start = Clock::now();
      pool_.run(static_cast<std::size_t>(pool_.threads()), read_part, this);
      best = std::max(best, static_cast<double>(kBytes) * 1e-9 / seconds_since(start));
    }
    return best;
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{256} << 20;

  static void read_part(void* context, std::size_t index, int) {
    auto& self = *static_cast<Bandwidth*>(context);
    const auto parts = static_cast<std::size_t>(self.pool_.threads());
    const std::size_t words = kBytes / 8 / 64 / parts * 64;
    const auto* p = reinterpret_cast<const std::uint64_t*>(self.memory_.get()) + index * words;
    std::uint64_t sums[8] = {};
    for (std::size_t i = 0; i < words; i += 8, p += 8) {
      __builtin_prefetch(p + 256);
      for (std::size_t j = 0; j < 8; ++j) sums[j] += p[j];
    }
    for (const std::uint64_t sum : sums) self.sums_[index] += sum;
  }

  lp::ThreadPool& pool_;
  std::shared_ptr<std::byte> memory_;
  std::vector<std::uint64_t> sums_;  // used, so that the compiler keeps the reads
};

struct Measured {
  double compile_ms = 0, prefill_seconds = 1e9;
  double tokens_a_second = 0, bandwidth = 0;  // of the attempt with the median ratio
};

Measured measure(const lp::nn::Gpt& net, const lp::Params& params, const Settings& s,
                 Bandwidth& bandwidth, lp::ThreadPool& pool) {
  const Clock::time_point start = Clock::now();
  lp::nn::LanguageModel model(net, params, {.chunk = s.prompt, .pool = &pool});
  model.prepare();
  Measured m;
  m.compile_ms = 1e3 * seconds_since(start);
  std::vector<std::int32_t> prompt;
  for (std::int64_t i = 0; i < s.prompt; ++i)
    prompt.push_back(static_cast<std::int32_t>(i * 37 % s.vocabulary));
  lp::nn::LanguageModel::Sequence sequence = model.join({});
  for (int attempt = 0; attempt < 3; ++attempt) {
    sequence.truncate(0);
    const Clock::time_point begin = Clock::now();
    sequence.append(prompt);
    model.step();
    m.prefill_seconds = std::min(m.prefill_seconds, seconds_since(begin));
  }
  struct Attempt {
    double tokens_a_second, bandwidth;
    bool operator<(const Attempt& other) const {
      return tokens_a_second / bandwidth < other.tokens_a_second / other.bandwidth;
    }
  };
  std::vector<Attempt> attempts;
  for (int attempt = 0; attempt < s.rounds; ++attempt) {
    const double before = bandwidth.measure();
    sequence.truncate(1);  // a short context: nearly all reads are of weights
    const Clock::time_point begin = Clock::now();
    for (std::int64_t i = 0; i < s.tokens; ++i) {
      sequence.append(static_cast<std::int32_t>(i));
      model.step();
    }
    const double tokens_a_second = static_cast<double>(s.tokens) / seconds_since(begin);
    attempts.push_back({tokens_a_second, std::max(before, bandwidth.measure())});
  }
  std::sort(attempts.begin(), attempts.end());
  m.tokens_a_second = attempts[attempts.size() / 2].tokens_a_second;
  m.bandwidth = attempts[attempts.size() / 2].bandwidth;
  return m;
}

lp::Params narrowed(const lp::Function& f, const lp::Params& params, std::string_view dtype) {
  if (dtype == "f32") return params;
  return lp::quantize(f, params, {.to = dtype == "i8" ? lp::Dtype::kI8 : lp::Dtype::kBf16}).params;
}

// The forward pass that a LanguageModel compiles for one token, with half of the context before it.
void show_profile(const Settings& s) {
  const lp::nn::Gpt net = net_of(s);
  const lp::Params params = narrowed(net.function(1), net.init(lp::Key(0)), s.profile);
  const lp::Function f =
      lp::bind(lp::with_narrow_params(net.cached_function({.last = true}), params), params);
  const lp::Tensor behind =
      lp::Tensor::from({1}, std::vector{static_cast<std::int32_t>(s.tokens / 2)});
  std::vector<lp::Tensor> inputs{lp::Tensor::zeros({lp::Dtype::kI32, {1, 1}}), behind,
                                 lp::Tensor::from({1}, std::vector<std::int32_t>{1})};
  // Caches are laid out as in a LanguageModel; they are the results after the logits.
  lp::CompileOptions options;
  const std::vector<lp::Input> caches = net.caches({});
  const std::size_t bytes = caches[0].type.bytes();
  const std::shared_ptr<std::byte> memory = lp::allocate_aligned(caches.size() * bytes);
  for (std::size_t i = 0; i < caches.size(); ++i) {
    options.donations.push_back({inputs.size(), inputs.size() - 2});
    inputs.push_back(lp::Tensor::borrow(caches[i].type, {memory.get() + i * bytes, bytes}, memory));
  }
  print_profile(f, inputs, 50, s.threads, options);
}

void run(const Settings& s) {
  const double peak = measure_gflops(s.threads);
  const lp::nn::Gpt net = net_of(s);
  const lp::Params params = net.init(lp::Key(0));
  const lp::Function f = net.function(1);
  std::int64_t count = 0;
  for (const auto& [name, value] : params) count += value.elements();
  fmt::print("{:.1f} million parameters, {} threads, {:.0f} GFLOP/s at most\n\n",
             static_cast<double>(count) * 1e-6, s.threads, peak);
  // Products and attention of all prompt tokens, and the logits of the last token.
  const double flops = 2 * static_cast<double>(count - 2 * net.vocabulary * net.width) *
                           static_cast<double>(s.prompt) +
                       2 * static_cast<double>(net.vocabulary * net.width) +
                       2 * static_cast<double>(net.layers * net.width) *
                           static_cast<double>(s.prompt * (s.prompt + 1));
  fmt::print(
      "| weights | MB a token | GB/s from memory | tokens/s | limit | part of it | prompt of {} | "
      "GFLOP/s | part "
      "of the peak | compile, ms |\n|---|---|---|---|---|---|---|---|---|---|\n",
      s.prompt);
  lp::ThreadPool pool({.threads = s.threads, .pin_caller = true});
  Bandwidth bandwidth(pool);
  for (const char* dtype : {"f32", "bf16", "i8"}) {
    const lp::Params weights = narrowed(f, params, dtype);
    const double bytes = bytes_read(weights, net, s);
    const Measured m = measure(net, weights, s, bandwidth, pool);
    const double limit = m.bandwidth * 1e9 / bytes;
    const double gflops = flops / m.prefill_seconds * 1e-9;
    fmt::print(
        "| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.0f} % | {:.1f} ms | {:.0f} | {:.0f} % | "
        "{:.1f} |\n",
        dtype, bytes * 1e-6, m.bandwidth, m.tokens_a_second, limit, 100 * m.tokens_a_second / limit,
        1e3 * m.prefill_seconds, gflops, 100 * gflops / peak, m.compile_ms);
  }
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Arguments arguments("Tokens per second of a transformer with a KV cache.");
  bench::Settings s;
  arguments.option("threads", s.threads, 1, 64);
  arguments.option("layers", s.layers, 1, 1000);
  arguments.option("width", s.width, 1, 100000);
  arguments.option("heads", s.heads, 1, 1000);
  arguments.option("vocabulary", s.vocabulary, 1, 10000000);
  arguments.option("prompt", s.prompt, 1, 100000, "Tokens");
  arguments.option("tokens", s.tokens, 1, 100000, "Number of tokens to generate");
  arguments.option("rounds", s.rounds, 1, 1000);
  arguments.choice("profile", s.profile, {"f32", "bf16", "i8"},
                   "Profile the bands of one token instead");
  return arguments.run(argc, argv,
                       [&] { s.profile.empty() ? bench::run(s) : bench::show_profile(s); });
}
