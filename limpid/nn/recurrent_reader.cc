// Reads the tokens of a recurrent network. Its state is the cache: as large after a thousand tokens
// as after one.
#include <algorithm>
#include <bit>
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

// The state of one place: `parts` vectors of `width` numbers, layer after layer, of h, then of c.
struct PlaceState {
  std::vector<float> numbers;
  std::size_t read = 0;  // tokens; zeros after none

  void clear() {
    std::fill(numbers.begin(), numbers.end(), 0.0f);
    read = 0;
  }
};

// The next `length` tokens of up to `rows` sequences.
class RecurrentPass {
 public:
  RecurrentPass(const Executable& code, ThreadPool* pool, const RecurrentLm& net, std::size_t rows,
                std::size_t length)
      : rows_(rows),
        length_(length),
        width_(static_cast<std::size_t>(net.width)),
        layers_(static_cast<std::size_t>(net.layers)),
        vocabulary_(static_cast<std::size_t>(net.vocabulary)),
        workspace_(code, pool),
        tokens_(rows * length),
        logits_(rows * vocabulary_),
        before_(code.inputs().size() - 1, std::vector<float>(layers_ * rows * width_)),
        after_(before_),
        in_{tokens_.data()},
        out_{logits_.data()} {
    for (std::size_t s = 0; s < before_.size(); ++s) {
      in_.push_back(before_[s].data());
      out_.push_back(after_[s].data());
    }
  }

  void run(std::span<TokenSequence* const> sequences, std::span<PlaceState> places) {
    for (std::size_t r = 0; r < rows_; ++r) {
      const TokenSequence* const s = r < sequences.size() ? sequences[r] : nullptr;
      const auto to = tokens_.begin() + static_cast<std::ptrdiff_t>(r * length_);
      if (s)
        std::copy_n(s->tokens.begin() + static_cast<std::ptrdiff_t>(s->read), length_, to);
      else
        std::fill_n(to, length_, 0);
      if (s)
        for_each_part(r, [&](std::size_t state, std::size_t in_pass, std::size_t in_place) {
          copy(&places[s->place].numbers[in_place], &before_[state][in_pass]);
        });
    }
    workspace_.run(in_, out_);
    for (std::size_t r = 0; r < sequences.size(); ++r) {
      TokenSequence& s = *sequences[r];
      PlaceState& place = places[s.place];
      for_each_part(r, [&](std::size_t state, std::size_t in_pass, std::size_t in_place) {
        copy(&after_[state][in_pass], &place.numbers[in_place]);
      });
      s.read += length_;
      s.follows = place.read = s.read;
      std::copy_n(logits_.begin() + static_cast<std::ptrdiff_t>(r * vocabulary_), vocabulary_,
                  s.logits.begin());
    }
  }

  std::size_t bytes() const { return workspace_.bytes(); }

 private:
  void copy(const float* from, float* to) const { std::memcpy(to, from, width_ * sizeof(float)); }

  // Calls use(state, place in the pass, place in a PlaceState) for each layer of each state.
  template <class Use>
  void for_each_part(std::size_t row, const Use& use) const {
    for (std::size_t s = 0; s < before_.size(); ++s)
      for (std::size_t l = 0; l < layers_; ++l)
        use(s, (l * rows_ + row) * width_, (s * layers_ + l) * width_);
  }

  std::size_t rows_, length_, width_, layers_, vocabulary_;
  Workspace workspace_;
  std::vector<std::int32_t> tokens_;
  std::vector<float> logits_;
  std::vector<std::vector<float>> before_, after_;  // h, and c of an LSTM
  std::vector<const void*> in_;
  std::vector<void*> out_;
};

class RecurrentReader final : public TokenReader {
 public:
  RecurrentReader(const RecurrentLm& net, const Params& params,
                  const LanguageModel::Options& options)
      : net_(net),
        params_(params),
        options_(options),
        places_(static_cast<std::size_t>(options.sequences)) {
    // Checked first: parameters of another net are refused before any memory is allocated.
    (void)function(1, 1);
    for (const auto& [name, value] : params_) weight_bytes_ += value.type().bytes();
    std::size_t numbers = 0;
    for (const Input& state : net.states(1))
      numbers += static_cast<std::size_t>(state.type.shape.elements());
    for (PlaceState& place : places_) place.numbers.resize(numbers);
    one_token_.reserve(places_.size());
  }

  std::int64_t vocabulary() const override { return net_.vocabulary; }

  void read(std::span<TokenSequence* const> sequences) override {
    one_token_.clear();
    for (TokenSequence* s : sequences) {
      if (s->unread() == 0) continue;
      resume(*s);
      std::size_t count = std::min(s->unread(), static_cast<std::size_t>(options_.chunk));
      if (count == 1) {
        one_token_.push_back(s);
        continue;
      }
      // Powers of two: few passes, and none has padding that would change the state.
      for (; count > 0; count -= std::bit_floor(count))
        pass(1, std::bit_floor(count)).run({&s, 1}, places_);
    }
    if (!one_token_.empty())
      pass(plan_rows(one_token_.size(), places_.size()), 1).run(one_token_, places_);
  }

  void move(std::size_t from, std::size_t to, std::size_t) override { places_[to] = places_[from]; }

  void prepare() override {
    for_each_plan_rows(places_.size(), [&](std::size_t rows) { pass(rows, 1); });
    for (std::size_t length = 2; length <= static_cast<std::size_t>(options_.chunk); length *= 2)
      pass(1, length);
    params_ = {};  // the passes keep the parameters that they read
  }

  LanguageModel::Bytes bytes() const override {
    LanguageModel::Bytes all{.weights = weight_bytes_};
    for (const PlaceState& place : places_) all.caches += place.numbers.size() * sizeof(float);
    for (const auto& [size, pass] : passes_) all.workspaces += pass.bytes();
    return all;
  }

 private:
  // The state of a place is that after its last token only: a sequence that is new, or went back,
  // is read from its beginning.
  void resume(TokenSequence& s) {
    PlaceState& place = places_[s.place];
    if (place.read == s.read) return;
    s.read = 0;
    place.clear();
  }

  Function function(std::size_t rows, std::size_t length) const {
    const Function of_f32 =
        net_.stateful_function(static_cast<std::int64_t>(rows), static_cast<std::int64_t>(length));
    Function f = bind(with_narrow_params(of_f32, params_), params_);
    // Inputs are the tokens and the state; outputs logits and the state.
    if (f.inputs().size() > f.outputs().size())
      (void)params_.at(f.inputs().front().name);  // it is missing
    return f;
  }

  RecurrentPass& pass(std::size_t rows, std::size_t length) {
    return passes_.get(std::pair{rows, length}, [&] {
      return RecurrentPass(compile(function(rows, length), {.packings = packings_}), options_.pool,
                           net_, rows, length);
    });
  }

  RecurrentLm net_;
  Params params_;  // until every pass is compiled
  LanguageModel::Options options_;
  std::vector<PlaceState> places_;
  std::size_t weight_bytes_ = 0;
  std::shared_ptr<Packings> packings_ = std::make_shared<Packings>();     // of all passes
  PlanStore<std::pair<std::size_t, std::size_t>, RecurrentPass> passes_;  // by rows and length
  std::vector<TokenSequence*> one_token_;  // the sequences that have one token to read
};

}  // namespace

std::unique_ptr<TokenReader> recurrent_reader(const RecurrentLm& net, const Params& params,
                                              const LanguageModel::Options& options) {
  return std::make_unique<RecurrentReader>(net, params, options);
}

}  // namespace limpid::nn::detail
