// Generated text: determined by a key and the options alone, also beyond the context length.
#include "limpid/nn/generation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "limpid/limpid.h"
#include "tests/refusals.h"

namespace limpid::nn {
namespace {

using Ids = std::vector<std::int32_t>;

Gpt net() { return {.vocabulary = 11, .context = 8, .layers = 2, .width = 24}; }

LanguageModel model(std::int64_t sequences = 1, std::int64_t capacity = 0) {
  return {net(), net().init(Key(1)), {.sequences = sequences, .capacity = capacity}};
}

Ids drawn(LanguageModel& model, Generation& generation, int count) {
  Ids ids;
  while (count-- > 0) {
    while (!generation.ready()) model.step();
    ids.push_back(generation.draw());
  }
  return ids;
}

// The full forward pass over the tokens in the context: at most the capacity; a full context drops
// its older half.
Ids expected(Ids seen, std::size_t capacity, const Generation::Options& options, int count) {
  if (seen.size() > capacity)
    seen.erase(seen.begin(), seen.end() - static_cast<std::ptrdiff_t>(capacity));
  Ids ids;
  for (int i = 0; i < count; ++i) {
    std::vector<Tensor> inputs = net().init(Key(1)).values();
    const auto length = static_cast<std::int64_t>(seen.size());
    inputs.push_back(Tensor::from<std::int32_t>({length}, seen));
    const Tensor all = compile(net().function(length))(inputs)[0];
    const auto logits = all.values<float>().last(11).first(
        static_cast<std::size_t>(options.vocabulary == 0 ? 11 : options.vocabulary));
    ids.push_back(
        sample(logits, options.sampling, options.key.fold_in(static_cast<std::uint64_t>(i))));
    seen.push_back(ids.back());
    if (seen.size() > capacity)
      seen.erase(seen.begin(),
                 seen.end() - static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, capacity / 2)));
  }
  return ids;
}

TEST(Generation, DrawsAheadWhatItDraws) {
  const Generation::Options options{.key = Key(5)};
  LanguageModel m = model(1, 8);
  Generation generation(m, Ids{3}, options);
  Ids ids;
  for (int i = 0; i < 20; ++i) {
    while (!generation.ready()) m.step();
    generation.draw_ahead();
    if (i % 2 == 0) generation.draw_ahead();
    ids.push_back(generation.draw());
  }
  EXPECT_EQ(ids, expected({3}, 8, options, 20));
  // An appended token replaces the one drawn ahead.
  while (!generation.ready()) m.step();
  generation.draw_ahead();
  generation.append(7);
  while (!generation.ready()) m.step();
  const std::int32_t token = generation.draw();
  EXPECT_EQ(token, [&] {
    LanguageModel other = model(1, 8);
    Generation again(other, Ids{3}, options);
    drawn(other, again, 20);
    while (!again.ready()) other.step();
    again.append(7);
    return drawn(other, again, 1)[0];
  }());
}

TEST(Generation, DrawsFromTheLogitsOfWhatTheModelSees) {
  const Generation::Options options{.key = Key(5)};
  for (const std::int64_t capacity : {1, 2, 5, 8})
    for (const Ids& prompt : {Ids{3}, Ids{1, 2, 3, 4}, Ids{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}}) {
      LanguageModel m = model(1, capacity);
      Generation generation(m, prompt, options);
      EXPECT_EQ(drawn(m, generation, 20),
                expected(prompt, static_cast<std::size_t>(capacity), options, 20))
          << capacity;
    }
}

TEST(Generation, GoesOnFromAppendedTokensAsFromAPrompt) {
  const Generation::Options options{.key = Key(5)};
  LanguageModel m = model(2);
  Generation whole(m, Ids{1, 2, 3}, options), appended(m, Ids{1}, options);
  for (const std::int32_t token : {2, 3}) {
    while (!appended.ready()) m.step();
    appended.append(token);
  }
  while (!appended.ready()) m.step();
  const auto logits = [](const Generation& g) {
    return std::vector<float>(g.logits().begin(), g.logits().end());
  };
  EXPECT_EQ(logits(appended), logits(whole));
  EXPECT_EQ(drawn(m, appended, 4), drawn(m, whole, 4));
}

// A full sequence, too, which drops its older half for a token that it takes.
TEST(Generation, KeepsItsTokensIfItRefusesOne) {
  const Generation::Options options{.key = Key(5)};
  for (const Ids& prompt : {Ids{1}, Ids{1, 2, 3, 4, 5, 6, 7, 8}}) {
    LanguageModel m = model(2);
    Generation tried(m, prompt, options), untried(m, prompt, options);
    m.step();
    for (const std::int32_t token : {-1, 11}) EXPECT_THROW(tried.append(token), Error);
    m.step();
    ASSERT_TRUE(tried.ready());
    EXPECT_EQ(drawn(m, tried, 4), drawn(m, untried, 4));
  }
}

TEST(Generation, DoesNotDependOnOthers) {
  const Generation::Options one{.key = Key(5)}, two{.sampling = {.temperature = 2}, .key = Key(6)};
  LanguageModel m = model(2);
  Generation first(m, Ids{1, 2}, one);
  const Ids alone = drawn(m, first, 3);
  Generation second(m, Ids{4}, two);
  Ids beside, of_second;
  for (int i = 0; i < 12; ++i) {
    m.step();
    beside.push_back(first.draw());
    of_second.push_back(second.draw());
  }
  Ids all = alone;
  all.insert(all.end(), beside.begin(), beside.end());
  EXPECT_EQ(all, expected({1, 2}, 8, one, 15));
  EXPECT_EQ(of_second, expected({4}, 8, two, 12));
}

TEST(Generation, DrawsFromATokenizersTokensAlone) {
  LanguageModel m = model();
  const Generation::Options options{.sampling = {.temperature = 3}, .vocabulary = 4};
  Generation generation(m, Ids{1}, options);
  const Ids ids = drawn(m, generation, 30);
  EXPECT_LT(*std::max_element(ids.begin(), ids.end()), 4);
  EXPECT_EQ(ids, expected({1}, 8, options, 30));
}

// The most probable token, without and with changes of the logits.
TEST(Generation, ChangesLogitsAsItIsTold) {
  LanguageModel m = model();
  const Sampling greedy{.temperature = 0};
  const auto first = [&](const Generation::Options& options, int count = 1) {
    Generation generation(m, Ids{1, 2}, options);
    return drawn(m, generation, count);
  };
  EXPECT_EQ(first({.sampling = greedy, .bias = {{7, 1e3}, {99, 1e9}, {-1, 1e9}}}, 3),
            (Ids{7, 7, 7}));
  const std::int32_t likeliest = first({.sampling = greedy})[0];
  EXPECT_NE(first({.sampling = greedy, .bias = {{likeliest, -1e3}}})[0], likeliest);
  // Each token is drawn once before one comes back.
  for (const Generation::Options& options :
       {Generation::Options{.sampling = greedy, .presence = 1e3},
        Generation::Options{.sampling = greedy, .frequency = 1e3}}) {
    Ids all = first(options, 11);
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, (Ids{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  }
  // Twice through all of them: frequency counts, presence does not.
  Ids twice = first({.sampling = greedy, .frequency = 1e3}, 22);
  for (std::int32_t token = 0; token < 11; ++token)
    EXPECT_EQ(std::count(twice.begin(), twice.end(), token), 2) << token;
}

TEST(Generation, RepetitionDividesAndMultiplies) {
  LanguageModel m = model();
  const Generation plain(m, Ids{1, 2}, {});
  m.step();
  std::vector<float> logits(plain.logits().begin(), plain.logits().end());
  for (const std::size_t token : {1, 2}) logits[token] *= logits[token] > 0 ? 0.5f : 2.0f;
  LanguageModel other = model();
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Generation::Options options{.key = Key(seed), .repetition = 2};
    Generation generation(other, Ids{1, 2}, options);
    EXPECT_EQ(drawn(other, generation, 1)[0], sample(logits, {}, options.key.fold_in(0)));
  }
}

TEST(Generation, TakesTheModelsVocabularyToo) {
  LanguageModel m = model();
  const Generation generation(m, Ids{1}, {.vocabulary = m.vocabulary()});
  m.step();
  EXPECT_EQ(generation.logits().size(), 11U);
}

TEST(Generation, DrawsByKeyZeroUnlessItIsGivenAnother) {
  LanguageModel m = model();
  Generation generation(m, Ids{1}, {});
  EXPECT_EQ(drawn(m, generation, 12), expected({1}, 8, {.key = Key(0)}, 12));
}

TEST(Generation, RefusesWhatDoesNotFit) {
  LanguageModel m = model();
  const auto refused = [&](const Ids& prompt, const Generation::Options& options) {
    expect_refused(ErrorCode::kInvalidArgument, [&] { Generation(m, prompt, options); });
  };
  refused({}, {});
  refused({11}, {});
  for (const std::int64_t vocabulary : {12, -1}) refused({1}, {.vocabulary = vocabulary});
  EXPECT_EQ(m.places(), 1);
  Generation generation(m, Ids{1}, {});
  EXPECT_THROW(generation.draw(), Error);  // nothing was read
  EXPECT_THROW(Generation(m, Ids{1}, {}), Error);
}

}  // namespace
}  // namespace limpid::nn
