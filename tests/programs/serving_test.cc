// Programs that answer many callers: one Predictor for many threads, and a language model whose
// sequences join and leave. Each answer has the bits that it has alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <thread>
#include <vector>

#include "limpid/limpid.h"

namespace {

namespace lp = limpid;
using lp::Key, lp::Tensor, lp::Params;

TEST(Programs, OnePredictorForManyThreadsAndBatchesOfAnySize) {
  const auto net = lp::nn::mlp({2, 16, 2}, lp::tanh);
  lp::Predictor predict(net.function(), net.init(Key{0}), {.most_rows = 256});
  predict.prepare({1, 16});  // compiled here, not by the first request
  const lp::Dataset data = lp::synthetic("moons", Key{1});
  const Tensor all = predict({data.inputs})[0];
  ASSERT_EQ(all.shape(), (lp::Shape{1000, 2}));
  std::atomic<int> asked = 0, others = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t i = 0, n = 1; i + n <= 1000; i += n, n = n % 13 + t + 1) {
        ++asked;
        if (!predict({data.inputs.rows(i, n)})[0].same_bits(all.rows(i, n))) ++others;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(asked, 300);
  EXPECT_EQ(others, 0);
  std::vector<std::int64_t> rows;
  for (const auto& plan : predict.plans()) rows.push_back(plan.rows);
  EXPECT_EQ(rows.front(), 1);
  EXPECT_EQ(rows.back(), 256);
  EXPECT_NE(std::find(rows.begin(), rows.end(), 16), rows.end());
}

using Tokens = std::vector<std::int32_t>;

// The six tokens generated after each prompt, with `sequences` of them at a time.
std::vector<Tokens> talk(const lp::nn::Gpt& net, const Params& params, std::int64_t sequences,
                         const std::vector<Tokens>& prompts) {
  lp::nn::LanguageModel model(net, params, {.sequences = sequences});
  struct Talk {
    std::size_t prompt;
    lp::nn::LanguageModel::Sequence sequence;
    Key key;
  };
  std::vector<Tokens> said(prompts.size());
  std::list<Talk> talks;
  for (std::size_t joined = 0; joined < prompts.size() || !talks.empty();) {
    for (; joined < prompts.size() && model.places() > 0; ++joined)  // when a sequence is free
      talks.push_back({joined, model.join(prompts[joined]), Key(joined)});
    model.step();  // prompts and new tokens in one pass
    for (Talk& t : talks) {
      Tokens& own = said[t.prompt];
      own.push_back(lp::nn::sample(t.sequence.logits(), {.temperature = 0.8, .top_k = 4},
                                   t.key.fold_in(own.size())));
      t.sequence.append(own.back());  // the next step reads it
    }
    talks.remove_if([&](const Talk& t) { return said[t.prompt].size() == 6; });  // and so it leaves
  }
  return said;
}

TEST(Programs, SequencesThatJoinAndLeave) {
  const lp::nn::Gpt net{.vocabulary = 11, .context = 16, .layers = 2, .width = 24};
  const Params params = net.init(Key{3});
  const std::vector<Tokens> prompts = {{3, 4, 5}, {8}, {1, 2}, {0, 1, 2, 3}};
  const std::vector<Tokens> alone = talk(net, params, 1, prompts);
  EXPECT_EQ(alone[0].size(), 6U);
  EXPECT_NE(alone[0], alone[1]);
  EXPECT_EQ(talk(net, params, 2, prompts), alone);
  EXPECT_EQ(talk(net, params, 3, prompts), alone);
}

}  // namespace
