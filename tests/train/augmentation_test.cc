// Augmentation in training: the pictures of an epoch depend on nothing but the seed, the epoch and
// the row.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "limpid/core/error.h"
#include "limpid/data/digits.h"
#include "limpid/data/synthetic.h"
#include "limpid/distribute/in_process.h"
#include "limpid/train/config/config.h"
#include "limpid/train/loop/trainer.h"
#include "tests/compile/count_allocations.h"
#include "tests/refusals.h"

namespace limpid::train {
namespace {

const Augmentation& augmentation_of_digits() {
  static const Augmentation augmentation = parse_augmentation("digits,erase=6,noise=0.02@0.5");
  return augmentation;
}

const Split& few_digits() {
  static const Split data{digits(Key(1), 71), digits(Key(2), 10), digits(Key(3), 10)};
  return data;
}

Problem small_network() { return mlp_problem(nn::mlp({784, 12, 10}, relu, 0.1)); }

std::uint64_t hash_of_state(const TrainState& state) {
  std::uint64_t h = 0;
  for (const Params& params : {state.params, state.optimizer})
    for (const auto& [name, value] : params) h = limpid::hash(value.bytes(), h);
  return limpid::hash(std::as_bytes(std::span(&state.loss_sum, 1)), h);
}

// Pieces of any size, ahead or not: every row is drawn by its key.
TEST(Augmentation, OfALoaderIsThatOfTheRow) {
  const Dataset& data = few_digits().train;
  const Key shuffling(4), key = augment_key(9);
  Augmenter augmenter(augmentation_of_digits(), *data.picture);
  std::vector<float> expected(784);
  for (std::int64_t size = 1; size <= 70; size += size < 9 ? 1 : 12)
    for (const bool ahead : {false, true}) {
      std::int64_t next = 0, epoch = 0;
      PrefetchingLoader loader(data,
                               {.most_rows = size,
                                .key = shuffling,
                                .ahead = ahead,
                                .augmentation = augmentation_of_digits(),
                                .augment_key = key},
                               [&]() -> std::optional<PrefetchingLoader::Piece> {
                                 if (next == data.size()) {
                                   next = 0;
                                   ++epoch;
                                 }
                                 const std::int64_t begin = next;
                                 next = std::min(next + size, data.size());
                                 return PrefetchingLoader::Piece{epoch, {begin, next}};
                               });
      for (std::uint64_t e = 0; e < 2; ++e) {
        const auto order = permutation(shuffling.fold_in(e), data.size());
        for (std::size_t at = 0; at < order.size();) {
          const PrefetchingLoader::Batch batch = loader.next();
          for (std::int64_t i = 0; i < batch.rows; ++i, ++at) {
            const auto row = static_cast<std::size_t>(order[at]);
            augmenter(key.fold_in(e).fold_in(row),
                      data.inputs.values<float>().subspan(row * 784, 784), expected);
            ASSERT_EQ(std::memcmp(expected.data(), batch.x + i * 784 * 4, 784 * 4), 0)
                << "pieces of " << size << ", epoch " << e << ", row " << row;
            EXPECT_EQ(reinterpret_cast<const std::int32_t*>(batch.y)[i],
                      data.targets.values<std::int32_t>()[row]);
          }
        }
      }
    }
}

// With threads and ranks, and resumed in the middle of the second epoch.
void expect_the_same_bits(const Augmentation& augmentation) {
  const TrainOptions options{.epochs = 3,
                             .batch = 20,
                             .shards = 4,
                             .rule = {optim::AdamW{}},
                             .seed = 5,
                             .augmentation = augmentation};
  const Split& data = few_digits();
  const auto trained = [&](int ranks, int threads, std::int64_t stop, bool ahead) {
    std::uint64_t hash = 0;
    TrainState state;
    std::mutex mutex;
    TrainOptions with = options;
    with.gather_ahead = ahead;
    ThreadPool pool({.threads = threads});
    const auto part = [&](distribute::Communicator* all, bool first) {
      Trainer trainer(small_network(), data, with, all ? nullptr : &pool, all);
      if (!first) trainer.restore(state);
      while (trainer.ending() == Ending::kNone && !(first && trainer.steps_done() == stop))
        trainer.step();
      const TrainState now = trainer.state();
      const std::lock_guard lock(mutex);
      if (all && all->rank() > 0) return;
      state = now;
      hash = hash_of_state(now);
    };
    for (const bool first : {true, false})
      if (ranks == 0)
        part(nullptr, first);
      else
        distribute::run_in_process(ranks, [&](distribute::Communicator& c) { part(&c, first); });
    return hash;
  };
  const std::uint64_t whole = trained(0, 1, 1000, false);
  EXPECT_EQ(trained(0, 3, 1000, true), whole);
  EXPECT_EQ(trained(0, 1, 6, true), whole);
  for (const int ranks : {1, 2, 3, 4}) EXPECT_EQ(trained(ranks, 1, 5, ranks > 2), whole) << ranks;
  Trainer plain(small_network(), data, [&] {
    TrainOptions without = options;
    without.augmentation = {};
    return without;
  }());
  while (plain.ending() == Ending::kNone) plain.step();
  EXPECT_NE(hash_of_state(plain.state()), whole);
}

TEST(Augmentation, OfARunHasTheSameBits) { expect_the_same_bits(augmentation_of_digits()); }

TEST(Augmentation, OfMixedExamplesHasTheSameBits) {
  expect_the_same_bits(parse_augmentation("crop=2,mixup=0.4,cutmix=1"));
}

// The loss of a first step is that of the mixed targets, by hand.
TEST(Augmentation, MixedTargetsAreProbabilities) {
  for (const double smoothing : {0.0, 0.1}) {
    Loss loss;
    loss.label_smoothing = smoothing;
    const Problem problem = mlp_problem(nn::mlp({784, 10}, relu), Task::kClassification, loss);
    const Augmentation augmentation = parse_augmentation("mixup=1");
    const Dataset& data = few_digits().train;
    Trainer trainer(problem, few_digits(),
                    {.epochs = 1, .batch = 71, .seed = 3, .augmentation = augmentation});
    const Params params = trainer.state().params;
    const auto w = params.at("layers.0.weight").values<float>();
    const auto b = params.at("layers.0.bias").values<float>();
    RowAugmenter augmenter(augmentation, data, 10);
    std::vector<float> x(784), y(10);
    double expected = 0;
    for (std::int64_t row = 0; row < 71; ++row) {
      augmenter(augment_key(3).fold_in(0), row, x, y);
      std::vector<double> logits(10);
      double sum = 0;
      for (std::size_t c = 0; c < 10; ++c) {
        logits[c] = static_cast<double>(b[c]);
        for (std::size_t i = 0; i < 784; ++i)
          logits[c] += static_cast<double>(w[c * 784 + i]) * static_cast<double>(x[i]);
        sum += std::exp(logits[c]);
      }
      for (std::size_t c = 0; c < 10; ++c)
        expected -= ((1 - smoothing) * static_cast<double>(y[c]) + smoothing / 10) *
                    (logits[c] - std::log(sum)) / 71;
    }
    EXPECT_NEAR(trainer.step().step.loss, expected, 1e-5);
  }
}

// With a rate of 0 the model stays: the validation set is as it is, the training set is black.
TEST(Augmentation, IsOfTheTrainingSetAlone) {
  TrainOptions options{.epochs = 1, .batch = 71, .schedule = {.rate = 0}, .seed = 2};
  Trainer plain(small_network(), few_digits(), options);
  options.augmentation = parse_augmentation("erase=100");
  Trainer black(small_network(), few_digits(), options);
  const StepResult a = plain.step(), b = black.step();
  EXPECT_EQ(a.epoch->validation.at("loss"), b.epoch->validation.at("loss"));
  EXPECT_NE(a.step.loss, b.step.loss);
  // The inputs come after the parameters.
  const auto* const seen =
      static_cast<const float*>(black.observed()[black.problem().parameters().size()]);
  EXPECT_TRUE(std::all_of(seen, seen + 71 * 784, [](float v) { return v == 0.0f; }));
}

TEST(Augmentation, AllocatesNothingInAStep) {
  for (const bool ahead : {false, true}) {
    Trainer trainer(small_network(), few_digits(),
                    {.epochs = 3,
                     .batch = 5,
                     .gather_ahead = ahead,
                     .augmentation = parse_augmentation(
                         "digits,perspective,rand,trivial,blur,sharpness,equalize,contrast")});
    while (trainer.steps_done() <= trainer.steps_an_epoch()) trainer.step();
    const std::size_t before = allocations();
    trainer.step();
    trainer.step();
    EXPECT_EQ(allocations(), before);
  }
}

TEST(Augmentation, IsAKeyOfTheConfiguration) {
  TrainConfig config = parse_train_config(R"({"augment": "digits,flip@0.5"})", "config");
  const TrainConfig whole = complete(config, few_digits());
  EXPECT_EQ(*whole.augment, to_text(parse_augmentation("digits,flip")));
  EXPECT_EQ(options_of(whole, few_digits()).augmentation, parse_augmentation("digits,flip"));
  EXPECT_EQ(parse_train_config(to_text(whole), "config").augment, whole.augment);
  EXPECT_TRUE(options_of(complete({}, few_digits()), few_digits()).augmentation.empty());
  config.augment = "flop";
  expect_refused(ErrorCode::kInvalidArgument, [&] { check_choices(config); });
  config.augment = "hue=0.1";
  expect_refused(ErrorCode::kInvalidArgument, [&] { complete(config, few_digits()); });
  config.augment = "flip";
  const Split moons{synthetic("moons", Key(1), {}), {}, {}};
  expect_refused(ErrorCode::kInvalidArgument, [&] { complete(config, moons); });
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    Trainer(mlp_problem(nn::mlp({2, 2}, relu)), moons,
            {.augmentation = parse_augmentation("flip")});
  });
  config.augment = "none";
  EXPECT_EQ(*complete(config, moons).augment, "none");
}

}  // namespace
}  // namespace limpid::train
