// Sequences of a language model: whichever sequences join, leave or are read at the same time, and
// in whatever chunks, the logits of each are bit-identical to a full forward pass.
#include "limpid/nn/language_model.h"

#include <gtest/gtest.h>

#include <optional>

#include "limpid/limpid.h"
#include "tests/refusals.h"

namespace limpid::nn {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::int64_t kVocabulary = 11, kContext = 21;

// Small networks: the cross product of all options, each with every dtype of weights.
std::vector<Gpt> language_nets() {
  std::vector<Gpt> nets;
  for (const GptNorm norm : {GptNorm::kLayer, GptNorm::kRms})
    for (const GptPositions positions : {GptPositions::kLearned, GptPositions::kRotary})
      for (const std::int64_t kv_heads : {4, 2, 1})
        for (const GptFeedForward feed_forward :
             {GptFeedForward::kGelu, GptFeedForward::kGeluTanh, GptFeedForward::kSwiglu})
          nets.push_back({.vocabulary = kVocabulary,
                          .context = kContext,
                          .layers = 2,
                          .width = 24,
                          .heads = 4,
                          .kv_heads = kv_heads,
                          .norm = norm,
                          .feed_forward = feed_forward,
                          .positions = positions,
                          .bias = nets.size() % 2 == 0,
                          .tied = nets.size() % 5 < 2});
  return nets;
}

// A network with its parameters, f32 or low-precision, and its logits without a cache.
class Net {
 public:
  Net(const Gpt& gpt, Dtype weights) : gpt_(gpt) {
    const Function f = gpt.function();
    params_ = gpt.init(Key(3));
    if (weights == Dtype::kF32) {
      whole_.emplace(compile(bind(f, params_)));
      return;
    }
    const Quantized narrow = quantize(f, params_, {.to = weights});
    params_ = narrow.params;
    whole_.emplace(compile(bind(narrow.function, narrow.params)));
  }

  const Gpt& gpt() const { return gpt_; }
  const Params& params() const { return params_; }

  // The logits after the last token. Later tokens of the pass do not affect it.
  std::vector<float> logits(std::span<const std::int32_t> tokens) const {
    Ids ids(tokens.begin(), tokens.end());
    ids.resize(static_cast<std::size_t>(kContext));
    const Tensor all =
        (*whole_)(std::vector<Tensor>{Tensor::from<std::int32_t>({kContext}, ids)})[0];
    const auto row = all.values<float>().subspan((tokens.size() - 1) * kVocabulary, kVocabulary);
    return {row.begin(), row.end()};
  }

 private:
  Gpt gpt_;
  Params params_;
  std::optional<Executable> whole_;
};

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// Numbers in [0, below), one after the other.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : key_(seed) {}
  std::size_t operator()(std::size_t below) {
    return key_.below(static_cast<std::uint32_t>(below), i_++);
  }
  Ids tokens(std::size_t count) {
    Ids ids;
    while (ids.size() < count) ids.push_back(static_cast<std::int32_t>((*this)(kVocabulary)));
    return ids;
  }

 private:
  Key key_;
  std::uint64_t i_ = 0;
};

// Sequences that join, grow, shrink and leave at random; the logits of all that are ready are
// checked after each step.
template <class Logits>
void expect_a_random_life(LanguageModel model, const Logits& logits, Dice dice, int steps,
                          const std::string& what) {
  std::vector<LanguageModel::Sequence> sequences;
  for (int step = 0; step < steps; ++step) {
    while (model.places() > 0 && dice(3) > 0) sequences.push_back(model.join(dice.tokens(dice(9))));
    model.step();
    for (const auto& s : sequences)
      if (s.ready()) {
        ASSERT_TRUE(same_bits(s.logits(), logits(s.tokens())))
            << what << ", step " << step << ", " << s.length() << " tokens";
      }
    for (std::size_t i = 0; i < sequences.size();) {
      auto& s = sequences[i];
      const std::size_t choice = dice(16);
      const auto room = static_cast<std::size_t>(kContext - s.length());
      if (choice < 2 || room == 0) {
        sequences.erase(sequences.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      if (choice == 2)
        s.truncate(static_cast<std::int64_t>(dice(static_cast<std::size_t>(s.length()) + 1)));
      if (choice > 4) s.append(dice.tokens(choice == 5 ? std::min<std::size_t>(room, 6) : 1));
      ++i;
    }
  }
}

class EveryNet : public testing::TestWithParam<Dtype> {};
INSTANTIATE_TEST_SUITE_P(All, EveryNet, testing::Values(Dtype::kF32, Dtype::kBf16, Dtype::kI8),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

TEST_P(EveryNet, GivesASequenceItsOwnLogitsWhoeverElseIsThere) {
  ThreadPool two({.threads = 2});
  std::uint64_t seed = 0;
  for (const Gpt& gpt : language_nets()) {
    const Net net(gpt, GetParam());
    Dice dice(++seed);
    const auto sequences = static_cast<std::int64_t>(1 + dice(6));
    const auto chunk = static_cast<std::int64_t>(1 + dice(7));
    const std::string what = gpt.config() + ", " + std::to_string(sequences) +
                             " sequences, chunk " + std::to_string(chunk);
    expect_a_random_life(
        LanguageModel(
            gpt, net.params(),
            {.sequences = sequences, .chunk = chunk, .pool = dice(2) == 0 ? nullptr : &two}),
        [&](auto tokens) { return net.logits(tokens); }, dice, 24, what);
  }
}

TEST(LanguageModel, GivesTheLogitsOfAWholePassOfTheSameLength) {
  const Net net(language_nets()[3], Dtype::kF32);
  LanguageModel model(net.gpt(), net.params(), {.chunk = 4});
  const Ids ids = Dice(1).tokens(kContext);
  auto sequence = model.join(std::span(ids).first(6));
  for (std::size_t length = 6; length <= ids.size(); ++length) {
    while (!sequence.ready()) model.step();
    std::vector<Tensor> inputs = net.params().values();
    inputs.push_back(Tensor::from<std::int32_t>({static_cast<std::int64_t>(length)},
                                                std::span(ids).first(length)));
    const Tensor all = compile(net.gpt().function(static_cast<std::int64_t>(length)))(inputs)[0];
    EXPECT_TRUE(same_bits(sequence.logits(), all.values<float>().last(kVocabulary))) << length;
    if (length < ids.size()) sequence.append(ids[length]);
  }
}

// Many sequences, so that gaps are closed and passes have many sizes.
TEST(LanguageModel, ClosesTheGapsOfThoseThatLeave) {
  const Net net(language_nets()[7], Dtype::kF32);
  LanguageModel model(net.gpt(), net.params(), {.sequences = 9});
  std::vector<std::optional<LanguageModel::Sequence>> sequences;
  Dice dice(2);
  for (std::size_t s = 0; s < 9; ++s) sequences.push_back(model.join(dice.tokens(1 + s)));
  EXPECT_EQ(model.places(), 0);
  for (const std::size_t leaves : {0u, 3u, 2u, 6u, 5u, 1u, 4u, 7u}) {
    model.step();
    for (auto& s : sequences)
      if (s) {
        EXPECT_TRUE(same_bits(s->logits(), net.logits(s->tokens()))) << leaves;
        s->append(4);
      }
    sequences[leaves].reset();
  }
  EXPECT_EQ(model.places(), 8);
}

TEST(LanguageModel, ReadsPromptsInChunks) {
  const Net net(language_nets()[0], Dtype::kF32);
  LanguageModel model(net.gpt(), net.params(), {.sequences = 2, .chunk = 5});
  Dice dice(3);
  auto running = model.join(dice.tokens(2));
  model.step();
  auto joining = model.join(dice.tokens(16));
  for (int step = 1; step <= 4; ++step) {
    running.append(static_cast<std::int32_t>(step));
    EXPECT_FALSE(running.ready());
    model.step();
    EXPECT_TRUE(same_bits(running.logits(), net.logits(running.tokens())));
    EXPECT_EQ(joining.ready(), step == 4);
  }
  EXPECT_TRUE(same_bits(joining.logits(), net.logits(joining.tokens())));
}

TEST(LanguageModel, HasTheLogitsOfWhatIsLeftAfterTruncate) {
  const Net net(language_nets()[1], Dtype::kF32);
  LanguageModel model(net.gpt(), net.params(), {.chunk = 8});
  auto s = model.join(Ids{1, 2, 3, 4, 5, 6});
  model.step();
  s.truncate(6);
  EXPECT_TRUE(s.ready());
  s.truncate(3);
  EXPECT_FALSE(s.ready());
  model.step();
  EXPECT_TRUE(same_bits(s.logits(), net.logits(Ids{1, 2, 3})));
  s.truncate(2);
  s.append(9);
  EXPECT_FALSE(s.ready());
  model.step();
  EXPECT_TRUE(same_bits(s.logits(), net.logits(Ids{1, 2, 9})));
  s.truncate(1);
  EXPECT_EQ(s.length(), 1);
  model.step();
  EXPECT_TRUE(same_bits(s.logits(), net.logits(Ids{1})));
  s.truncate(0);
  EXPECT_EQ(s.length(), 0);
  model.step();
  EXPECT_FALSE(s.ready());
  s.append(Ids{7, 8});
  model.step();
  EXPECT_TRUE(same_bits(s.logits(), net.logits(Ids{7, 8})));
}

TEST(LanguageModel, KeepsAPlaceWhileTheSequenceLives) {
  const Net net(language_nets()[2], Dtype::kF32);
  std::optional<LanguageModel> model(std::in_place, net.gpt(), net.params(),
                                     LanguageModel::Options{.sequences = 2});
  EXPECT_EQ(model->places(), 2);
  auto a = model->join(Ids{1});
  {
    const auto b = model->join(Ids{2});
    EXPECT_EQ(model->places(), 0);
    EXPECT_THROW(model->join(Ids{3}), Error);
  }
  EXPECT_EQ(model->places(), 1);
  auto moved = std::move(a);
  EXPECT_EQ(model->places(), 1);
  moved = model->join(Ids{4});
  EXPECT_EQ(model->places(), 1);
  model->step();
  auto& itself = moved;
  moved = std::move(itself);
  EXPECT_EQ(model->places(), 1);
  model.reset();  // its last sequence keeps the memory alive
  EXPECT_TRUE(same_bits(moved.logits(), net.logits(Ids{4})));
}

TEST(LanguageModel, SaysWhatItHolds) {
  const Gpt gpt = language_nets()[0];
  LanguageModel model(gpt, gpt.init(Key(0)), {.sequences = 3, .capacity = 5});
  EXPECT_EQ(model.vocabulary(), kVocabulary);
  EXPECT_EQ(model.capacity(), 5);
  std::size_t weights = 0;
  for (const Input& p : gpt.parameters()) weights += p.type.bytes();
  EXPECT_EQ(model.bytes().weights, weights);
  EXPECT_EQ(model.bytes().caches, 3u * 2 * 2 * 24 * 16 * sizeof(float));  // 16: 5 of a whole line
  EXPECT_EQ(model.bytes().workspaces, 0u);
  model.prepare();
  const std::size_t prepared = model.bytes().workspaces;
  EXPECT_GT(prepared, 0u);
  const auto a = model.join(Ids{1, 2, 3}), b = model.join(Ids{1});
  model.step();
  EXPECT_EQ(model.bytes().workspaces, prepared);
}

// After prepare() no sequence waits for a plan, whatever is read together.
TEST(LanguageModel, IsPreparedForPromptsOfAnyLength) {
  const Net net(language_nets()[4], Dtype::kF32);
  LanguageModel model(net.gpt(), net.params(), {.sequences = 3, .chunk = 6});
  model.prepare();
  const std::size_t prepared = model.bytes().workspaces;
  for (std::size_t length = 1; length <= kContext; ++length) {
    const auto s = model.join(Dice(length).tokens(length));
    while (!s.ready()) model.step();
    EXPECT_TRUE(same_bits(s.logits(), net.logits(s.tokens()))) << length;
  }
  std::vector<LanguageModel::Sequence> together;
  while (model.places() > 0) {
    together.push_back(model.join(Ids{1}));
    for (auto& s : together)
      if (s.ready()) s.append(2);
    model.step();
  }
  EXPECT_EQ(model.bytes().workspaces, prepared);
}

ErrorCode refusal(const Gpt& net, const Params& params) {
  try {
    LanguageModel(net, params, {});
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::kInternal;
}

TEST(LanguageModel, RefusesParametersOfAnotherNet) {
  const Gpt net = language_nets().front();
  const Params params = net.init(Key(0));
  Params fewer, other = params, more = params;
  for (const auto& [name, value] : params)
    if (name != "layers.1.mlp.up_proj.weight") fewer.set(name, value);
  other.set("norm.weight", Tensor::from<float>({2}, {1, 1}));
  more.set("norm.more", Tensor::from<float>({2}, {1, 1}));
  EXPECT_EQ(refusal(net, fewer), ErrorCode::kNotFound);
  EXPECT_EQ(refusal(net, other), ErrorCode::kShape);
  EXPECT_EQ(refusal(net, more), ErrorCode::kNotFound);
  // Refused before its caches, 1 << 48 bytes each, are allocated.
  const Gpt huge{.vocabulary = 5, .context = 1 << 24, .width = 1 << 22, .hidden = 8};
  EXPECT_EQ(refusal(huge, params), ErrorCode::kShape);
  EXPECT_EQ(refusal(huge, {}), ErrorCode::kNotFound);
}

TEST(LanguageModel, RefusesWhatDoesNotFit) {
  const Gpt net = language_nets().front();
  const Params params = net.init(Key(0));
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { LanguageModel(net, params, {.sequences = 0, .capacity = 5, .chunk = 4}); });
  EXPECT_THROW(LanguageModel(net, params, {.capacity = -1}), Error);
  EXPECT_THROW(LanguageModel(net, params, {.chunk = 0}), Error);
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { LanguageModel(net, params, {.capacity = 22}); });
  LanguageModel model(net, params, {.capacity = 3});
  expect_refused(ErrorCode::kInvalidArgument, [&] { model.join(Ids{1, 2, 3, 4}); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { model.join(Ids{11}); });
  EXPECT_EQ(model.places(), 1);
  auto s = model.join({});
  expect_refused(ErrorCode::kInvalidArgument, [&] { model.join(Ids{1}); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { s.logits(); });
  model.step();
  EXPECT_FALSE(s.ready());
  s.append(Ids{1, 2});
  expect_refused(ErrorCode::kInvalidArgument, [&] { s.logits(); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { s.append(-1); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { s.append(Ids{0, 0}); });
  EXPECT_EQ(s.length(), 2);
  expect_refused(ErrorCode::kInvalidArgument, [&] { s.truncate(3); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { s.truncate(-1); });
  s.append(0);
  model.step();
  EXPECT_TRUE(s.ready());
}

// ---- models of a window

CharLm char_lm() { return {kVocabulary, 4, 3, mlp({12, 16, kVocabulary}, relu)}; }

// The last four tokens, the first one repeated before fewer.
Ids window_of(std::span<const std::int32_t> tokens) {
  Ids window(4, tokens.front());
  const std::size_t count = std::min<std::size_t>(4, tokens.size());
  std::copy_n(tokens.end() - static_cast<std::ptrdiff_t>(count), count,
              window.end() - static_cast<std::ptrdiff_t>(count));
  return window;
}

TEST(LanguageModel, ReadsAWindow) {
  const CharLm net = char_lm();
  ThreadPool two({.threads = 2});
  for (const Dtype weights : {Dtype::kF32, Dtype::kBf16, Dtype::kI8}) {
    Params params = net.init(Key(1));
    Function one = net.function();
    if (weights != Dtype::kF32) {
      const Quantized narrow = quantize(one, params, {.to = weights});
      params = narrow.params, one = narrow.function;
    }
    const Executable alone = compile(bind(one, params));
    const auto logits = [&](std::span<const std::int32_t> tokens) {
      const Tensor out =
          alone(std::vector<Tensor>{Tensor::from<std::int32_t>({4}, window_of(tokens))})[0];
      return std::vector<float>(out.values<float>().begin(), out.values<float>().end());
    };
    for (std::int64_t sequences : {1, 2, 5}) {
      const LanguageModel::Options options{.sequences = sequences, .pool = &two};
      const auto seed = static_cast<std::uint64_t>(sequences);
      expect_a_random_life(LanguageModel(net, params, options), logits, Dice(seed), 30, "CharLm");
      expect_a_random_life(LanguageModel(one, params, options), logits, Dice(seed), 10, "Function");
    }
  }
}

// Bytes of the workspaces after passes over these numbers of sequences, in order.
template <class Net>
std::size_t workspaces_after(const Net& net, std::initializer_list<std::size_t> together) {
  LanguageModel model(net, net.init(Key(0)), {.sequences = 4});
  for (const std::size_t count : together) {
    std::vector<LanguageModel::Sequence> sequences;
    for (std::size_t s = 0; s < count; ++s) sequences.push_back(model.join(Ids{1}));
    model.step();
  }
  return model.bytes().workspaces;
}

// Passes over one, two and four sequences each have their own workspace.
TEST(LanguageModel, HoldsTheWorkspacesOfAllItsPasses) {
  const auto expect_sum = [](const auto& net) {
    const std::size_t one = workspaces_after(net, {1}), two = workspaces_after(net, {2});
    EXPECT_GT(one, 0u);
    EXPECT_EQ(workspaces_after(net, {1, 2}), one + two);
    EXPECT_EQ(workspaces_after(net, {4, 1, 2, 1}), one + two + workspaces_after(net, {4}));
  };
  expect_sum(language_nets().front());
  expect_sum(char_lm());
}

// A matrix in the order in which it is read takes the place of the one that was given.
TEST(LanguageModel, KeepsNoMatrixTwice) {
  const Gpt net = language_nets().front();
  std::weak_ptr<const void> given;
  std::optional<LanguageModel> model;
  {
    const Params params = net.init(Key(0));
    given = params.at("layers.0.mlp.up_proj.weight").owner();
    model.emplace(net, params, LanguageModel::Options{});
  }
  EXPECT_FALSE(given.expired());
  model->prepare();
  EXPECT_TRUE(given.expired());
}

TEST(LanguageModel, IsPreparedForNoLongerPassThanItsCapacity) {
  const Gpt net = language_nets().front();
  const auto prepared = [&](std::int64_t chunk) {
    LanguageModel model(net, net.init(Key(0)), {.capacity = 8, .chunk = chunk});
    model.prepare();
    return model.bytes().workspaces;
  };
  EXPECT_EQ(prepared(4096), prepared(8));
}

// Plans for more sequences than asked for would take memory for nothing.
TEST(LanguageModel, OfOneSequenceIsPreparedForThatAlone) {
  const CharLm net = char_lm();
  LanguageModel model(net, net.init(Key(0)), {.sequences = 1});
  model.prepare();
  EXPECT_EQ(model.bytes().workspaces, workspaces_after(net, {1}));
}

TEST(LanguageModel, OfAWindowIsPreparedToo) {
  const CharLm net = char_lm();
  const Params params = net.init(Key(0));
  LanguageModel model(net, params, {.sequences = 5});
  std::size_t weights = 0;
  for (const auto& [name, value] : params) weights += value.type().bytes();
  EXPECT_EQ(model.bytes().weights, weights);
  model.prepare();
  const std::size_t prepared = model.bytes().workspaces;
  EXPECT_GT(prepared, 0u);
  for (const int together : {1, 2, 4, 5}) {  // other numbers are filled up to these
    std::vector<LanguageModel::Sequence> sequences;
    while (static_cast<int>(sequences.size()) < together) sequences.push_back(model.join(Ids{1}));
    model.step();
    EXPECT_EQ(model.bytes().workspaces, prepared) << together;
  }
}

TEST(LanguageModel, RefusesAFunctionThatReadsNoWindow) {
  const CharLm net = char_lm();
  const Mlp other = mlp({4, 3}, relu);
  EXPECT_THROW(LanguageModel(net, {}, {}), Error);
  EXPECT_THROW(LanguageModel(other.function(), other.init(Key(0)), {}), Error);
  Builder nothing("nothing");
  expect_refused(ErrorCode::kShape, [&] { LanguageModel(nothing.finish({}), {}, {}); });
  const auto refuses = [](const Type& tokens, Dtype logits) {
    const Function f = trace("f", {{"tokens", tokens}}, [&](std::span<const Value> in) {
      return std::vector<Value>{cast(reshape(in[0], {4}), logits)};
    });
    expect_refused(ErrorCode::kShape, [&] { LanguageModel(f, {}, {}); });
  };
  LanguageModel(
      trace("f", {{"tokens", {Dtype::kI32, {4}}}},
            [](std::span<const Value> in) { return std::vector<Value>{cast(in[0], Dtype::kF32)}; }),
      {}, {});
  refuses({Dtype::kI32, {4}}, Dtype::kF64);
  refuses({Dtype::kI32, {2, 2}}, Dtype::kF32);
  refuses({Dtype::kI64, {4}}, Dtype::kF32);
  const Gpt gpt = language_nets().front();
  EXPECT_THROW(LanguageModel(gpt.function(), gpt.init(Key(0)), {}), Error);
  LanguageModel model(net, net.init(Key(0)), {.capacity = 2});
  auto s = model.join(Ids{1, 2});
  EXPECT_THROW(s.append(3), Error);
  LanguageModel endless(net, net.init(Key(0)), {});
  auto long_one = endless.join(Ids(1000, 3));
  endless.step();
  EXPECT_TRUE(long_one.ready());
}

}  // namespace
}  // namespace limpid::nn
