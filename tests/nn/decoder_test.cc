#include "limpid/nn/decoder.h"

#include <gtest/gtest.h>

#include "limpid/limpid.h"

namespace limpid::nn {
namespace {

// Small nets of every choice.
std::vector<Gpt> small_nets() {
  std::vector<Gpt> nets;
  for (const GptNorm norm : {GptNorm::kLayer, GptNorm::kRms})
    for (const GptPositions positions : {GptPositions::kLearned, GptPositions::kRotary})
      for (const std::int64_t kv_heads : {4, 2, 1})
        nets.push_back({.vocabulary = 11,
                        .context = 21,
                        .layers = 2,
                        .width = 24,
                        .heads = 4,
                        .kv_heads = kv_heads,
                        .norm = norm,
                        .feed_forward = norm == GptNorm::kLayer ? GptFeedForward::kGelu
                                                                : GptFeedForward::kSwiglu,
                        .positions = positions,
                        .bias = kv_heads == 2,
                        .tied = kv_heads == 1});
  return nets;
}

using Ids = std::vector<std::int32_t>;

Ids random_ids(std::uint64_t seed, std::size_t count, std::int64_t vocabulary) {
  Ids ids;
  for (std::size_t i = 0; i < count; ++i)
    ids.push_back(
        static_cast<std::int32_t>(Key(seed).below(static_cast<std::uint32_t>(vocabulary), i)));
  return ids;
}

// Logits at every position, without a cache.
Tensor all_logits(const Gpt& net, const Params& params, const Ids& ids) {
  std::vector<Tensor> inputs = params.values();
  inputs.push_back(Tensor::from<std::int32_t>({static_cast<std::int64_t>(ids.size())}, ids));
  return compile(net.function(static_cast<std::int64_t>(ids.size())))(inputs)[0];
}

void expect_row(std::span<const float> got, const Tensor& logits, std::size_t position,
                const std::string& what) {
  const auto all = logits.values<float>();
  const auto want = all.subspan(position * got.size(), got.size());
  EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size_bytes()), 0) << what;
}

TEST(Decoder, GivesTheLogitsOfTheWholeSequenceAtEveryPosition) {
  ThreadPool two({.threads = 2});
  for (const Gpt& net : small_nets()) {
    const Params params = net.init(Key(3));
    const Ids ids = random_ids(1, 21, net.vocabulary);
    const Tensor want = all_logits(net, params, ids);
    for (const std::size_t prompt : {0u, 1u, 4u, 5u, 13u})
      for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &two}) {
        Decoder decoder(net, params, {.chunk = 4, .pool = pool});
        if (prompt > 0) {
          decoder.append({{Ids(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(prompt))}});
          expect_row(decoder.logits(0), want, prompt - 1, net.config() + " prompt");
        }
        for (std::size_t i = prompt; i < ids.size(); ++i) {
          decoder.step({&ids[i], 1});
          expect_row(decoder.logits(0), want, i, net.config() + " at " + std::to_string(i));
        }
        EXPECT_EQ(decoder.length(0), 21);
      }
  }
}

// Chunks of the cached function, all logits of each.
TEST(Decoder, ChunksHaveTheLogitsOfEveryToken) {
  for (const Gpt& net : small_nets()) {
    const Params params = net.init(Key(4));
    const Ids ids = random_ids(2, 21, net.vocabulary);
    const Tensor want = all_logits(net, params, ids);
    const Gpt::Chunk chunk{.length = 7};
    const Executable run = compile(net.cached_function(chunk));
    std::vector<Tensor> caches;
    for (const Input& cache : net.caches(chunk)) caches.push_back(Tensor::zeros(cache.type));
    for (std::int32_t at = 0; at < 21; at += 7) {
      std::vector<Tensor> inputs = params.values();
      inputs.push_back(
          Tensor::from<std::int32_t>({1, 7}, Ids(ids.begin() + at, ids.begin() + at + 7)));
      inputs.push_back(Tensor::from<std::int32_t>({1}, {at}));
      inputs.insert(inputs.end(), caches.begin(), caches.end());
      const std::vector<Tensor> out = run(inputs);
      EXPECT_TRUE(out[0].reshape({7, net.vocabulary}).same_bits(want.rows(at, 7))) << net.config();
      EXPECT_TRUE(out[0].same_bits(interpret(net.cached_function(chunk), inputs)[0]));
      caches.assign(out.begin() + 1, out.end());
    }
  }
}

TEST(Decoder, GoesOnWithSeveralSequencesAsWithEachAlone) {
  ThreadPool two({.threads = 2});
  const std::size_t lengths[] = {3, 21, 1, 9};
  for (const Gpt& net : small_nets()) {
    const Params params = net.init(Key(5));
    Decoder decoder(net, params, {.sequences = 4, .chunk = 5, .pool = &two});
    std::vector<Ids> prompts;
    std::vector<Tensor> want;
    for (std::size_t s = 0; s < 4; ++s) {
      prompts.push_back(random_ids(10 + s, lengths[s], net.vocabulary));
      want.push_back(all_logits(net, params, prompts[s]));
    }
    decoder.append(prompts);
    for (std::int64_t s = 0; s < 4; ++s) {
      EXPECT_EQ(decoder.length(s), static_cast<std::int64_t>(lengths[s]));
      expect_row(decoder.logits(s), want[static_cast<std::size_t>(s)],
                 lengths[static_cast<std::size_t>(s)] - 1, net.config());
    }
    // Some end earlier than others, and one begins anew.
    decoder.truncate(1, 0);
    const Ids next{4, 5, 6, 7};
    decoder.step(next);
    for (std::size_t s = 0; s < 4; ++s) {
      Ids all = s == 1 ? Ids{} : prompts[s];
      all.push_back(next[s]);
      expect_row(decoder.logits(static_cast<std::int64_t>(s)), all_logits(net, params, all),
                 all.size() - 1, net.config());
    }
    decoder.append({{Ids{}, Ids{1, 2, 3}, Ids{}, Ids{}}});
    EXPECT_EQ(decoder.length(0), 4);
    EXPECT_EQ(decoder.length(1), 4);
    expect_row(decoder.logits(1), all_logits(net, params, {5, 1, 2, 3}), 3, net.config());
  }
}

TEST(Decoder, TakesNarrowWeights) {
  for (const Gpt& net : small_nets())
    for (const Dtype to : {Dtype::kBf16, Dtype::kI8}) {
      const Ids ids = random_ids(7, 12, net.vocabulary);
      const Function f = net.function(12);
      const Quantized q = quantize(f, net.init(Key(8)), {.to = to});
      const Tensor want = compile(bind(q.function, q.params))(
          std::vector<Tensor>{Tensor::from<std::int32_t>({12}, ids)})[0];
      Decoder decoder(net, q.params, {.chunk = 3});
      decoder.append({{Ids(ids.begin(), ids.begin() + 7)}});
      expect_row(decoder.logits(0), want, 6, net.config());
      for (std::size_t i = 7; i < 12; ++i) {
        decoder.step({&ids[i], 1});
        expect_row(decoder.logits(0), want, i, net.config());
      }
    }
}

ErrorCode refusal(const Gpt& net, const Params& params) {
  try {
    Decoder(net, params, {});
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::kInternal;
}

TEST(Decoder, RefusesParametersOfAnotherNet) {
  const Gpt net = small_nets().front();
  const Params params = net.init(Key(0));
  Params fewer, other = params, more = params;
  for (const auto& [name, value] : params)
    if (name != "layers.1.mlp.up_proj.weight") fewer.set(name, value);
  other.set("norm.weight", Tensor::from<float>({2}, {1, 1}));
  more.set("norm.more", Tensor::from<float>({2}, {1, 1}));
  EXPECT_EQ(refusal(net, fewer), ErrorCode::kNotFound);
  EXPECT_EQ(refusal(net, other), ErrorCode::kShape);
  EXPECT_EQ(refusal(net, more), ErrorCode::kNotFound);
  // Before there is memory for its caches, 1 << 48 bytes each.
  const Gpt huge{.vocabulary = 5, .context = 1 << 24, .width = 1 << 22, .hidden = 8};
  EXPECT_EQ(refusal(huge, params), ErrorCode::kShape);
  EXPECT_EQ(refusal(huge, {}), ErrorCode::kNotFound);
}

TEST(Decoder, RefusesWhatDoesNotFit) {
  const Gpt net = small_nets().front();
  const Params params = net.init(Key(0));
  EXPECT_THROW(Decoder(net, params, {.sequences = 0}), Error);
  EXPECT_THROW(Decoder(net, params, {.capacity = 22}), Error);
  EXPECT_THROW(Decoder(net, {}, {}), Error);
  Decoder decoder(net, params, {.capacity = 3});
  EXPECT_THROW(decoder.append({{Ids{1}, Ids{2}}}), Error);
  EXPECT_THROW(decoder.append({{Ids{1, 2, 3, 4}}}), Error);
  EXPECT_THROW(decoder.append({{Ids{11}}}), Error);
  EXPECT_THROW(decoder.step(Ids{-1}), Error);
  EXPECT_THROW(decoder.truncate(0, 1), Error);
  EXPECT_THROW(decoder.logits(1), Error);
  decoder.append({{Ids{1, 2, 3}}});
  EXPECT_THROW(decoder.step(Ids{1}), Error);
  EXPECT_EQ(decoder.length(0), 3);
}

}  // namespace
}  // namespace limpid::nn
