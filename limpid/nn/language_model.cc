#include "limpid/nn/language_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "limpid/compile/plan_store.h"
#include "limpid/core/error.h"
#include "limpid/nn/detail/token_reader.h"
#include "limpid/transforms/quantize.h"

namespace limpid::nn {
namespace {

using detail::TokenReader;
using detail::TokenSequence;

constexpr std::int64_t kAnyLength = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, "language model: " + why);
}

LanguageModel::Options checked(LanguageModel::Options options, std::int64_t whole,
                               std::int64_t most) {
  if (options.capacity == 0) options.capacity = whole;
  if (options.sequences < 1 || options.capacity < 1 || options.chunk < 1)
    refuse(
        fmt::format("expected at least 1 sequence, a capacity and a chunk of at least 1 token, "
                    "got {}, {} and {}",
                    options.sequences, options.capacity, options.chunk));
  if (options.capacity > most)
    refuse(fmt::format("expected a capacity of at most {} tokens, the context length, got {}", most,
                       options.capacity));
  options.chunk = std::min(options.chunk, options.capacity);
  return options;
}

}  // namespace

struct LanguageModel::State {
  Options options;
  std::unique_ptr<TokenReader> reader;
  std::vector<TokenSequence> sequences;  // never grows: a place in it is a Sequence's
  std::vector<TokenSequence*> by_place;

  State(const Options& given, std::unique_ptr<TokenReader> of_model)
      : options(given), reader(std::move(of_model)) {
    sequences.resize(static_cast<std::size_t>(options.sequences));
    for (TokenSequence& s : sequences) {
      s.place = by_place.size();
      by_place.push_back(&s);
    }
  }

  void check_tokens(const TokenSequence& s, std::span<const std::int32_t> tokens) const;
  void append(TokenSequence& s, std::span<const std::int32_t> tokens) const;
  void close_gaps();
};

void LanguageModel::State::check_tokens(const TokenSequence& s,
                                        std::span<const std::int32_t> tokens) const {
  for (const std::int32_t token : tokens)
    if (token < 0 || token >= reader->vocabulary())
      refuse(fmt::format("expected a token of 0 to {}, got {}", reader->vocabulary() - 1, token));
  if (tokens.size() > static_cast<std::size_t>(options.capacity) - s.tokens.size())
    refuse(fmt::format("expected at most {} tokens in a sequence, its capacity, got {}",
                       options.capacity, s.tokens.size() + tokens.size()));
}

void LanguageModel::State::append(TokenSequence& s, std::span<const std::int32_t> tokens) const {
  check_tokens(s, tokens);
  s.tokens.insert(s.tokens.end(), tokens.begin(), tokens.end());
}

// A pass computes adjacent slots. If gaps make the pass larger than the number of sequences
// requires, the last sequence moves into the first gap.
void LanguageModel::State::close_gaps() {
  const auto joined = [](const TokenSequence* s) { return s->joined; };
  const auto count =
      static_cast<std::size_t>(std::count_if(by_place.begin(), by_place.end(), joined));
  if (count == 0) return;
  for (;;) {
    const auto last = std::find_if(by_place.rbegin(), by_place.rend(), joined);
    const auto used = static_cast<std::size_t>(by_place.rend() - last);
    if (plan_rows(used, by_place.size()) == plan_rows(count, by_place.size())) return;
    const auto gap = std::find_if_not(by_place.begin(), by_place.end(), joined);
    reader->move((*last)->place, (*gap)->place, (*last)->read);
    std::swap((*last)->place, (*gap)->place);
    std::swap(*last, *gap);
  }
}

// ---- the model

LanguageModel::LanguageModel(const Gpt& net, const Params& params, const Options& options) {
  net.check();
  const Options all = checked(options, net.context, net.context);
  state_ = std::make_shared<State>(all, detail::cached_reader(net, params, all));
  // Reserved now: a sequence that grows later allocates nothing.
  for (TokenSequence& s : state_->sequences)
    s.tokens.reserve(static_cast<std::size_t>(all.capacity));
}

LanguageModel::LanguageModel(const RecurrentLm& net, const Params& params, const Options& options) {
  net.check();
  const Options all = checked(options, kAnyLength, kAnyLength);
  state_ = std::make_shared<State>(all, detail::recurrent_reader(net, params, all));
}

LanguageModel::LanguageModel(const CharLm& net, const Params& params, const Options& options)
    : LanguageModel(with_narrow_params(net.function(), params), params, options) {}

LanguageModel::LanguageModel(const Function& window, const Params& params, const Options& options) {
  const Options all = checked(options, kAnyLength, kAnyLength);
  state_ = std::make_shared<State>(all, detail::window_reader(window, params, all));
}

std::int64_t LanguageModel::vocabulary() const { return state_->reader->vocabulary(); }
std::int64_t LanguageModel::capacity() const { return state_->options.capacity; }
LanguageModel::Bytes LanguageModel::bytes() const { return state_->reader->bytes(); }
void LanguageModel::prepare() { state_->reader->prepare(); }

std::int64_t LanguageModel::places() const {
  return std::count_if(state_->sequences.begin(), state_->sequences.end(),
                       [](const TokenSequence& s) { return !s.joined; });
}

LanguageModel::Sequence LanguageModel::join(std::span<const std::int32_t> prompt) {
  const auto free = std::find_if_not(state_->by_place.begin(), state_->by_place.end(),
                                     [](const TokenSequence* s) { return s->joined; });
  if (free == state_->by_place.end())
    refuse(
        fmt::format("expected a free sequence slot, all {} are in use", state_->by_place.size()));
  TokenSequence& s = **free;
  s.logits.resize(static_cast<std::size_t>(vocabulary()));
  state_->append(s, prompt);
  s.joined = true;  // now that nothing can fail, and the Sequence will leave
  return {state_, static_cast<std::size_t>(&s - state_->sequences.data())};
}

void LanguageModel::step() {
  for (TokenSequence& s : state_->sequences)
    // After truncate() without append(), the last token is read again for its logits.
    if (s.unread() == 0 && s.follows != s.tokens.size()) --s.read;
  state_->close_gaps();
  state_->reader->read(state_->by_place);
}

// ---- a sequence

LanguageModel::Sequence::Sequence(Sequence&& other) noexcept
    : state_(std::move(other.state_)), index_(other.index_) {}

LanguageModel::Sequence& LanguageModel::Sequence::operator=(Sequence&& other) noexcept {
  if (this != &other) {
    leave();
    state_ = std::move(other.state_);
    index_ = other.index_;
  }
  return *this;
}

LanguageModel::Sequence::~Sequence() { leave(); }

void LanguageModel::Sequence::leave() {
  if (!state_) return;
  TokenSequence& s = state_->sequences[index_];
  s.joined = false;
  s.tokens.clear();
  s.read = s.follows = 0;
  state_.reset();
}

std::span<const std::int32_t> LanguageModel::Sequence::tokens() const {
  return state_->sequences[index_].tokens;
}

void LanguageModel::Sequence::append(std::span<const std::int32_t> tokens) {
  state_->append(state_->sequences[index_], tokens);
}

void LanguageModel::Sequence::truncate(std::int64_t length) {
  TokenSequence& s = state_->sequences[index_];
  if (length < 0 || static_cast<std::uint64_t>(length) > s.tokens.size())
    refuse(fmt::format("truncate: expected a length of 0 to {}, got {}", s.tokens.size(), length));
  s.tokens.resize(static_cast<std::size_t>(length));
  s.read = std::min(s.read, s.tokens.size());
  if (s.follows > s.tokens.size()) s.follows = 0;
}

bool LanguageModel::Sequence::ready() const {
  const TokenSequence& s = state_->sequences[index_];
  return !s.tokens.empty() && s.follows == s.tokens.size();
}

std::span<const float> LanguageModel::Sequence::logits() const {
  const TokenSequence& s = state_->sequences[index_];
  if (!ready())
    refuse(s.tokens.empty()
               ? std::string("logits of a sequence without tokens; append some, and call step()")
               : fmt::format("logits of a sequence of {} tokens of which {} were read; call step()",
                             s.tokens.size(), s.read));
  return s.logits;
}

}  // namespace limpid::nn
