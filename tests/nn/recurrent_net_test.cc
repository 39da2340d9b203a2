// Recurrent networks: the state is the cache, with the bits of a pass over the whole text, whoever
// else is read and in whatever passes.
#include "limpid/nn/recurrent_net.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "limpid/limpid.h"
#include "tests/refusals.h"

namespace limpid::nn {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::int64_t kTokens = 11, kLongest = 40;

std::vector<RecurrentLm> recurrent_nets() {
  std::vector<RecurrentLm> nets;
  for (const RecurrentKind kind : {RecurrentKind::kLstm, RecurrentKind::kGru})
    for (const std::int64_t layers : {1, 3})
      for (const std::int64_t width : {5, 16})
        nets.push_back({.kind = kind,
                        .vocabulary = kTokens,
                        .context = 7,
                        .layers = layers,
                        .width = width,
                        .tied = layers == 1});
  return nets;
}

// A network with its parameters, and its logits without a state.
class WholeText {
 public:
  explicit WholeText(const RecurrentLm& net)
      : net_(net),
        params_(net.init(Key(3))),
        whole_(compile(bind(net.function(kLongest), params_))) {}

  const RecurrentLm& net() const { return net_; }
  const Params& params() const { return params_; }

  // The logits after the last token. Later tokens of the pass do not affect it.
  std::vector<float> logits(std::span<const std::int32_t> tokens) const {
    Ids ids(tokens.begin(), tokens.end());
    ids.resize(static_cast<std::size_t>(kLongest));
    const Tensor all = whole_(std::vector<Tensor>{Tensor::from<std::int32_t>({kLongest}, ids)})[0];
    const auto row = all.values<float>().subspan((tokens.size() - 1) * kTokens, kTokens);
    return {row.begin(), row.end()};
  }

 private:
  RecurrentLm net_;
  Params params_;
  Executable whole_;
};

bool equal_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

TEST(RecurrentLm, GivesATextItsOwnLogitsWhoeverElseIsThere) {
  ThreadPool two({.threads = 2});
  std::uint64_t seed = 0;
  for (const RecurrentLm& net : recurrent_nets()) {
    const WholeText whole(net);
    const Key key(++seed);
    std::uint64_t drawn = 0;
    const auto dice = [&](std::size_t below) {
      return static_cast<std::size_t>(key.below(static_cast<std::uint32_t>(below), drawn++));
    };
    const auto some = [&](std::size_t count) {
      Ids ids;
      while (ids.size() < count) ids.push_back(static_cast<std::int32_t>(dice(kTokens)));
      return ids;
    };
    const auto places = static_cast<std::int64_t>(1 + dice(5));
    LanguageModel model(net, whole.params(),
                        {.sequences = places,
                         .chunk = static_cast<std::int64_t>(1 + dice(7)),
                         .pool = dice(2) == 0 ? nullptr : &two});
    std::vector<LanguageModel::Sequence> texts;
    std::size_t compared = 0, truncated = 0;
    for (int step = 0; step < 60; ++step) {
      while (model.places() > 0 && dice(3) > 0) texts.push_back(model.join(some(dice(9))));
      model.step();
      for (const auto& s : texts)
        if (s.ready()) {
          ++compared;
          ASSERT_TRUE(equal_bits(s.logits(), whole.logits(s.tokens())))
              << net.config() << ", step " << step << ", " << s.length() << " tokens";
        }
      for (std::size_t i = 0; i < texts.size();) {
        auto& s = texts[i];
        const std::size_t choice = dice(16);
        const auto room = static_cast<std::size_t>(kLongest - s.length());
        if (choice < 2 || room == 0) {
          texts.erase(texts.begin() + static_cast<std::ptrdiff_t>(i));
          continue;
        }
        if (choice == 2) {
          s.truncate(static_cast<std::int64_t>(dice(static_cast<std::size_t>(s.length()) + 1)));
          ++truncated;
        }
        if (choice > 4) s.append(some(choice == 5 ? std::min<std::size_t>(room, 9) : 1));
        ++i;
      }
    }
    EXPECT_GT(compared, 20u);
    EXPECT_GT(truncated, 0u);
  }
}

TEST(RecurrentLm, TheStateHasTheSizeOfOneTokenHoweverLongTheText) {
  const RecurrentLm net{.vocabulary = kTokens, .layers = 2, .width = 5};
  LanguageModel model(net, net.init(Key(1)), {.sequences = 3, .chunk = 8});
  EXPECT_EQ(model.bytes().caches, 3u * 2 * 2 * 5 * sizeof(float));
  model.prepare();
  const std::size_t prepared = model.bytes().workspaces;
  EXPECT_GT(prepared, 0u);
  auto text = model.join(Ids(100, 3));
  for (int i = 0; i < 13; ++i) model.step();
  EXPECT_TRUE(text.ready());
  for (int i = 0; i < 200; ++i) {
    text.append(i % kTokens);
    model.step();
  }
  auto other = model.join(text.tokens());
  while (!other.ready()) model.step();
  EXPECT_TRUE(equal_bits(text.logits(), other.logits()));
  EXPECT_EQ(model.bytes().workspaces, prepared);
  EXPECT_EQ(model.bytes().caches, 3u * 2 * 2 * 5 * sizeof(float));
}

TEST(RecurrentLm, WritesAndReadsItsConfiguration) {
  for (RecurrentLm net : recurrent_nets()) {
    net.dropout = 0.25;
    EXPECT_EQ(RecurrentLm::from_config(net.config()).config(), net.config());
    const Params params = net.init(Key(0));
    std::vector<Input> given;
    for (const auto& [name, value] : params) given.push_back({name, value.type()});
    ASSERT_EQ(given.size(), net.parameters().size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      EXPECT_EQ(given[i].name, net.parameters()[i].name);
      EXPECT_EQ(given[i].type, net.parameters()[i].type) << given[i].name;
    }
    EXPECT_EQ(net.function().inputs().back().type, (Type{Dtype::kI32, {7}}));
  }
  const RecurrentNet numbers{.kind = RecurrentKind::kGru,
                             .steps = 4,
                             .features = 3,
                             .outputs = 2,
                             .layers = 2,
                             .width = 5};
  EXPECT_EQ(RecurrentNet::from_config(numbers.config()).config(), numbers.config());
  const Params params = numbers.init(Key(0));
  ASSERT_EQ(params.size(), numbers.parameters().size());
  for (const Input& p : numbers.parameters()) EXPECT_EQ(params.at(p.name).type(), p.type) << p.name;
  EXPECT_EQ(numbers.function().inputs().back().type, (Type{Dtype::kF32, {4, 3}}));
}

TEST(RecurrentLm, DropoutIsActiveWithAKey) {
  RecurrentLm net{.vocabulary = kTokens, .layers = 2, .width = 8, .dropout = 0.5};
  const Params params = net.init(Key(0));
  const Function f = trace("f", {{"ids", {Dtype::kI32, {2, 3, 4}}}, {"key", {Dtype::kI64, {}}}},
                           [&](std::span<const Value> in) {
                             Args args;
                             for (const auto& [name, value] : params)
                               args.set(name, constant(in[0].builder(), value));
                             return std::vector<Value>{net(args, in[0]), net(args, in[0], in[1])};
                           });
  const auto run = [&](std::int64_t key) {
    return compile(f)(
        std::vector<Tensor>{Tensor::zeros({Dtype::kI32, {2, 3, 4}}), Tensor::scalar(key)});
  };
  const auto one = run(1), two = run(2);
  EXPECT_EQ(one[0].shape(), (Shape{2, 3, 4, kTokens}));
  EXPECT_TRUE(one[0].same_bits(two[0]));
  EXPECT_FALSE(one[1].same_bits(two[1]));
  EXPECT_FALSE(one[1].same_bits(one[0]));
}

TEST(RecurrentLm, RefusesWhatDoesNotFit) {
  const RecurrentLm net = recurrent_nets().front();
  const Params params = net.init(Key(0));
  Params fewer, other = params;
  for (const auto& [name, value] : params)
    if (name != "rnn.bias_hh_l0") fewer.set(name, value);
  other.set("rnn.bias_hh_l0", Tensor::zeros({Dtype::kF32, {2}}));
  expect_refused(ErrorCode::kNotFound, [&] { LanguageModel(net, fewer, {}); });
  expect_refused(ErrorCode::kShape, [&] { LanguageModel(net, other, {}); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { net.stateful_function(0, 1); });
  const auto refused = [&](const std::function<void(RecurrentLm&)>& change) {
    RecurrentLm changed = net;
    change(changed);
    expect_refused(ErrorCode::kInvalidArgument, [&] { changed.check(); });
  };
  refused([](RecurrentLm& n) { n.vocabulary = 0; });
  refused([](RecurrentLm& n) { n.layers = kMostRecurrentLayers + 1; });
  refused([](RecurrentLm& n) { n.width = kMostRecurrentSize + 1; });
  refused([](RecurrentLm& n) { n.dropout = 1; });
  expect_refused(ErrorCode::kInvalidArgument,
                 [] { RecurrentNet{.steps = 0, .features = 1, .outputs = 1}.check(); });
  expect_refused(ErrorCode::kShape, [&] {
    trace("f", {{"ids", {Dtype::kI32, {2, 0}}}},
          [&](std::span<const Value> in) { return std::vector<Value>{net(Args(), in[0])}; });
  });
  expect_refused(ErrorCode::kParse, [] { RecurrentLm::from_config(R"({"model": "gru"})"); });
  expect_refused(ErrorCode::kInvalidArgument,
                 [] { RecurrentLm::from_config(R"({"model": "rnn"})"); });
}

}  // namespace
}  // namespace limpid::nn
