// Reads the tokens of a transformer by caches of keys and values.
#include <cstring>
#include <utility>

#include "limpid/compile/executable.h"
#include "limpid/compile/packings.h"
#include "limpid/compile/plan_store.h"
#include "limpid/nn/detail/token_reader.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/quantize.h"

namespace limpid::nn::detail {
namespace {

// The stride of columns of keys and rows of values is an odd number of cache lines: rows that are a
// power of two apart would evict each other.
std::int64_t columns_of(std::int64_t capacity) {
  constexpr std::int64_t kLine = 16;
  return ((capacity + kLine - 1) / kLine | 1) * kLine;
}

// The keys or the values of one block for all slots: per slot, `rows` rows of `columns` times
// `width` numbers.
struct Cache {
  float* data = nullptr;
  std::size_t rows = 0, columns = 0, width = 0;

  float* at(std::size_t place) const { return data + place * rows * columns * width; }

  void move(std::size_t from, std::size_t to, std::size_t length) const {
    for (std::size_t row = 0; row < rows; ++row)
      std::memcpy(at(to) + row * columns * width, at(from) + row * columns * width,
                  length * width * sizeof(float));
  }
};

// The next tokens of a sequence; may be empty.
struct Part {
  TokenSequence* sequence = nullptr;
  std::size_t count = 0;
};

// `length` tokens of the sequences in `rows` adjacent slots.
class Pass {
 public:
  Pass(const Executable& code, ThreadPool* pool, std::size_t rows, std::size_t length,
       std::size_t vocabulary)
      : length_(length),
        vocabulary_(vocabulary),
        workspace_(code, pool),
        tokens_(rows * length),
        positions_(rows),
        counts_(rows),
        logits_(rows * vocabulary),
        in_{tokens_.data(), positions_.data(), counts_.data()},
        out_{logits_.data()} {
    in_.resize(code.inputs().size());
    out_.resize(code.output_types().size());
  }

  void run(std::span<const Part> parts, std::span<const Cache> caches, std::size_t first) {
    for (std::size_t r = 0; r < parts.size(); ++r) take(r, parts[r]);
    for (std::size_t i = 0; i < caches.size(); ++i) in_[3 + i] = out_[1 + i] = caches[i].at(first);
    workspace_.run(in_, out_);
    for (std::size_t r = 0; r < parts.size(); ++r)
      if (parts[r].count > 0) give(r, parts[r]);
  }

  std::size_t bytes() const { return workspace_.bytes(); }

 private:
  static std::ptrdiff_t at(std::size_t row, std::size_t width) {
    return static_cast<std::ptrdiff_t>(row * width);
  }

  void take(std::size_t row, const Part& part) {
    counts_[row] = static_cast<std::int32_t>(part.count);
    // At position -1 an idle row writes no keys and values, and sees none.
    positions_[row] = part.count == 0 ? -1 : static_cast<std::int32_t>(part.sequence->read);
    auto to = tokens_.begin() + at(row, length_);
    if (part.count > 0)
      to = std::copy_n(part.sequence->tokens.begin() + at(1, part.sequence->read), part.count, to);
    // Padding is written after the sequence, where later tokens overwrite it.
    std::fill(to, tokens_.begin() + at(row + 1, length_), 0);
  }

  void give(std::size_t row, const Part& part) const {
    part.sequence->read += part.count;
    part.sequence->follows = part.sequence->read;
    std::copy_n(logits_.begin() + at(row, vocabulary_), vocabulary_, part.sequence->logits.begin());
  }

  std::size_t length_, vocabulary_;
  Workspace workspace_;
  std::vector<std::int32_t> tokens_, positions_, counts_;
  std::vector<float> logits_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
};

class CachedReader final : public TokenReader {
 public:
  CachedReader(const Gpt& net, const Params& params, const LanguageModel::Options& options)
      : net_(net),
        params_(params),
        options_(options),
        places_(static_cast<std::size_t>(options.sequences)),
        chunk_(static_cast<std::size_t>(options.chunk)) {
    // Checked first: parameters of another net are refused before caches of any size are allocated.
    (void)function(1, 1);
    for (const auto& [name, value] : params_) weight_bytes_ += value.type().bytes();
    allocate_caches();
    parts_.reserve(places_);
  }

  std::int64_t vocabulary() const override { return net_.vocabulary; }

  void read(std::span<TokenSequence* const> sequences) override {
    read_one_token(sequences);
    for (TokenSequence* s : sequences) {
      const std::size_t count = next_count(*s);
      if (count < 2) continue;
      const Part part{s, count};
      pass(1, pass_length(count)).run({&part, 1}, caches_, s->place);
    }
  }

  void move(std::size_t from, std::size_t to, std::size_t length) override {
    for (const Cache& cache : caches_) cache.move(from, to, length);
  }

  void prepare() override {
    for_each_plan_rows(places_, [&](std::size_t rows) { pass(rows, 1); });
    for (std::size_t length = 1; length < chunk_; length = pass_length(length + 1)) pass(1, length);
    pass(1, chunk_);
    params_ = {};  // the passes keep the parameters that they read
    // The system provides memory when it is first written, which would take longer than reading the
    // tokens.
    constexpr std::size_t kPage = 4096;
    volatile std::byte* const bytes = memory_.get();
    for (std::size_t i = 0; i < cache_bytes_; i += kPage) bytes[i] = bytes[i];
  }

  LanguageModel::Bytes bytes() const override {
    LanguageModel::Bytes all{.weights = weight_bytes_, .caches = cache_bytes_};
    for (const auto& [size, pass] : passes_) all.workspaces += pass.bytes();
    return all;
  }

 private:
  // Powers of two: few passes, and a short prompt does not pay for a whole chunk.
  std::size_t pass_length(std::size_t count) const {
    std::size_t length = 1;
    while (length < count) length *= 2;
    return std::min(length, chunk_);
  }

  std::size_t next_count(const TokenSequence& s) const { return std::min(s.unread(), chunk_); }

  // All sequences that have one token to read, together.
  void read_one_token(std::span<TokenSequence* const> sequences) {
    std::size_t first = places_, last = 0;
    for (const TokenSequence* s : sequences) {
      if (next_count(*s) != 1) continue;
      first = std::min(first, s->place);
      last = s->place;
    }
    if (first == places_) return;
    const std::size_t rows = plan_rows(last + 1 - first, places_);
    first = std::min(first, places_ - rows);
    parts_.clear();
    for (TokenSequence* s : sequences.subspan(first, rows))
      parts_.push_back({s, next_count(*s) == 1 ? std::size_t{1} : 0});
    pass(rows, 1).run(parts_, caches_, first);
  }

  // The next `length` tokens of `rows` sequences.
  Function function(std::size_t rows, std::size_t length) const {
    const Function of_f32 = net_.cached_function({.sequences = static_cast<std::int64_t>(rows),
                                                  .length = static_cast<std::int64_t>(length),
                                                  .capacity = columns_of(options_.capacity),
                                                  .last = true});
    Function f = bind(with_narrow_params(of_f32, params_), params_);
    // Inputs are the tokens, positions, lengths and caches; outputs logits and caches.
    if (f.inputs().size() > 2 + f.outputs().size())
      (void)params_.at(f.inputs().front().name);  // it is missing
    return f;
  }

  Pass& pass(std::size_t rows, std::size_t length) {
    return passes_.get(std::pair{rows, length}, [&] {
      const Function f = function(rows, length);
      CompileOptions compile_options{.packings = packings_};
      for (std::size_t i = 1; i < f.outputs().size(); ++i)
        compile_options.donations.push_back({2 + i, i});
      return Pass(compile(f, compile_options), options_.pool, rows, length,
                  static_cast<std::size_t>(net_.vocabulary));
    });
  }

  // Allocated together, so that they are on huge pages: a token reads a little of each, far apart.
  void allocate_caches() {
    const std::vector<Input> inputs =
        net_.caches({.sequences = options_.sequences, .capacity = columns_of(options_.capacity)});
    for (const Input& cache : inputs) cache_bytes_ += cache.type.bytes();
    memory_ = allocate_aligned(cache_bytes_);
    auto* begin = reinterpret_cast<float*>(memory_.get());
    const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Shape& shape = inputs[i].type.shape;  // columns are last in keys, then in values
      const bool keys = i % 2 == 0;
      caches_.push_back({begin, size(keys ? shape[1] * shape[2] : shape[1]),
                         size(keys ? shape[3] : shape[2]), size(keys ? 1 : shape[3])});
      begin += shape.elements();
    }
  }

  Gpt net_;
  Params params_;  // until every pass is compiled
  LanguageModel::Options options_;
  std::size_t places_, chunk_;
  std::size_t weight_bytes_ = 0, cache_bytes_ = 0;
  std::shared_ptr<Packings> packings_ = std::make_shared<Packings>();  // of all passes
  std::shared_ptr<std::byte> memory_;
  std::vector<Cache> caches_;
  PlanStore<std::pair<std::size_t, std::size_t>, Pass> passes_;  // by rows and length
  std::vector<Part> parts_;                                      // of the pass under way
};

}  // namespace

std::unique_ptr<TokenReader> cached_reader(const Gpt& net, const Params& params,
                                           const LanguageModel::Options& options) {
  return std::make_unique<CachedReader>(net, params, options);
}

}  // namespace limpid::nn::detail
