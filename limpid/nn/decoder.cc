#include "limpid/nn/decoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/quantize.h"

namespace limpid::nn {

// A chunk of so many tokens of every sequence, compiled, with the memory that a run needs.
class Decoder::Pass {
 public:
  Pass(const Decoder& decoder, std::int64_t length, Executable code)
      : length_(static_cast<std::size_t>(length)),
        vocabulary_(static_cast<std::size_t>(decoder.net_.vocabulary)),
        workspace_(std::move(code), decoder.options_.pool),
        tokens_(decoder.lengths_.size() * length_),
        positions_(decoder.lengths_.size()),
        counts_(decoder.lengths_.size()),
        logits_(decoder.logits_.size()) {
    for (const void* p :
         {static_cast<const void*>(tokens_.data()), static_cast<const void*>(positions_.data()),
          static_cast<const void*>(counts_.data())})
      in_.push_back(p);
    out_.push_back(logits_.data());
    for (const auto& cache : decoder.caches_) {
      in_.push_back(cache.get());
      out_.push_back(cache.get());
    }
  }

  // The next tokens of each sequence, at most as many as a chunk has: take(s) is a span of them.
  template <class Take>
  void run(const Take& take, std::vector<std::int32_t>& lengths, std::vector<float>& logits) {
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      const std::span<const std::int32_t> tokens = take(s);
      counts_[s] = static_cast<std::int32_t>(tokens.size());
      positions_[s] = lengths[s];
      // What fills a chunk up is written behind the sequence, where nobody looks.
      const auto end = std::copy(tokens.begin(), tokens.end(), tokens_.begin() + at(s, length_));
      std::fill(end, tokens_.begin() + at(s + 1, length_), 0);
    }
    workspace_.run(in_, out_);
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      if (counts_[s] == 0) continue;
      lengths[s] += counts_[s];
      std::copy_n(logits_.begin() + at(s, vocabulary_), vocabulary_,
                  logits.begin() + at(s, vocabulary_));
    }
  }

  std::size_t length() const { return length_; }

 private:
  static std::ptrdiff_t at(std::size_t row, std::size_t width) {
    return static_cast<std::ptrdiff_t>(row * width);
  }

  std::size_t length_, vocabulary_;
  Workspace workspace_;
  std::vector<std::int32_t> tokens_, positions_, counts_;
  std::vector<float> logits_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
};

Decoder::Decoder(const Gpt& net, const Params& params, const Options& options)
    : net_(net), params_(params), options_(options) {
  net_.check();
  if (options_.capacity == 0) options_.capacity = net_.context;
  if (options_.sequences < 1 || options_.capacity < 1 || options_.chunk < 1)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("decoder: {} sequences of {} tokens in chunks of {}; sizes of 1 and "
                            "more are expected",
                            options_.sequences, options_.capacity, options_.chunk));
  if (options_.capacity > net_.context)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("decoder: room for {} tokens, the net sees {}", options_.capacity,
                            net_.context));
  // First, for it finds parameters of another net, which might have caches of any size.
  Executable code_of_step = compiled(1);
  allocate_caches();
  lengths_.resize(static_cast<std::size_t>(options_.sequences));
  logits_.resize(lengths_.size() * static_cast<std::size_t>(net_.vocabulary));
  step_ = std::make_unique<Pass>(*this, 1, std::move(code_of_step));
}

Decoder::~Decoder() = default;

// The next `length` tokens of every sequence.
Executable Decoder::compiled(std::int64_t length) const {
  const Function of_f32 = net_.cached_function(
      {.sequences = options_.sequences, .length = length, .capacity = places(), .last = true});
  const Function f = bind(with_narrow_params(of_f32, params_), params_);
  // Inputs are the tokens, positions, lengths and caches; outputs logits and caches.
  const std::size_t caches = f.outputs().size() - 1;
  if (f.inputs().size() > 3 + caches) (void)params_.at(f.inputs().front().name);  // it is missing
  CompileOptions compile_options;
  for (std::size_t i = 0; i < caches; ++i) compile_options.donations.push_back({3 + i, 1 + i});
  return compile(f, compile_options);
}

// Side by side, so that they stand on huge pages: a token reads a little of each from far apart.
void Decoder::allocate_caches() {
  const auto bytes = [](const Input& cache) {
    return (cache.type.bytes() + Tensor::kAlignment - 1) / Tensor::kAlignment * Tensor::kAlignment;
  };
  const std::vector<Input> caches =
      net_.caches({.sequences = options_.sequences, .capacity = places()});
  std::size_t all = 0;
  for (const Input& cache : caches) all += bytes(cache);
  const std::shared_ptr<std::byte> memory = allocate_aligned(all);
  std::byte* begin = memory.get();
  for (const Input& cache : caches) {
    caches_.emplace_back(memory, begin);
    begin += bytes(cache);
  }
}

// An odd number of cache lines: rows that are a power of two apart would drive each other out.
std::int64_t Decoder::places() const {
  constexpr std::int64_t kLine = 16;
  return ((options_.capacity + kLine - 1) / kLine | 1) * kLine;
}

std::size_t Decoder::row(std::int64_t sequence) const {
  if (sequence < 0 || sequence >= options_.sequences)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("decoder: sequence {} of {}", sequence, options_.sequences));
  return static_cast<std::size_t>(sequence);
}

std::int64_t Decoder::length(std::int64_t sequence) const { return lengths_[row(sequence)]; }

std::span<const float> Decoder::logits(std::int64_t sequence) const {
  const auto width = static_cast<std::size_t>(net_.vocabulary);
  return std::span(logits_).subspan(row(sequence) * width, width);
}

void Decoder::truncate(std::int64_t sequence, std::int64_t length) {
  const std::size_t s = row(sequence);
  if (length < 0 || length > lengths_[s])
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("decoder: {} tokens of sequence {} are to stay, it has {}", length,
                            sequence, lengths_[s]));
  lengths_[s] = static_cast<std::int32_t>(length);
}

void Decoder::check_room(std::int64_t sequence, std::size_t tokens) const {
  const std::int64_t length = lengths_[row(sequence)];
  if (tokens > static_cast<std::size_t>(options_.capacity - length))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("decoder: {} tokens more for sequence {}, which has {} of {}", tokens,
                            sequence, length, options_.capacity));
}

void Decoder::check_tokens(std::span<const std::int32_t> tokens) const {
  for (const std::int32_t token : tokens)
    if (token < 0 || token >= net_.vocabulary)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("decoder: token {}, there are {}", token, net_.vocabulary));
}

void Decoder::append(std::span<const std::vector<std::int32_t>> tokens) {
  if (tokens.size() != lengths_.size())
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("decoder: tokens for {} sequences, it has {}", tokens.size(), lengths_.size()));
  std::size_t most = 0;
  for (std::size_t s = 0; s < tokens.size(); ++s) {
    check_tokens(tokens[s]);
    check_room(static_cast<std::int64_t>(s), tokens[s].size());
    most = std::max(most, tokens[s].size());
  }
  if (most > 1 && options_.chunk > 1 && !chunk_)
    chunk_ = std::make_unique<Pass>(*this, options_.chunk, compiled(options_.chunk));
  for (std::size_t begin = 0; begin < most;) {
    Pass& pass = most - begin > 1 && chunk_ ? *chunk_ : *step_;
    pass.run(
        [&](std::size_t s) {
          const std::span<const std::int32_t> all(tokens[s]);
          const std::size_t first = std::min(begin, all.size());
          return all.subspan(first, std::min(pass.length(), all.size() - first));
        },
        lengths_, logits_);
    begin += pass.length();
  }
}

void Decoder::step(std::span<const std::int32_t> tokens) {
  if (tokens.size() != lengths_.size())
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("decoder: tokens for {} sequences, it has {}", tokens.size(), lengths_.size()));
  check_tokens(tokens);
  for (std::int64_t s = 0; s < options_.sequences; ++s) check_room(s, 1);
  step_->run([&](std::size_t s) { return tokens.subspan(s, 1); }, lengths_, logits_);
}

}  // namespace limpid::nn
