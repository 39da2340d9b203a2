// Losses at their edges. PyTorch's numbers are compared with in tests/golden.
#include "limpid/ops/loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using Code = std::function<Value(std::span<const Value>)>;

Function traced(const std::vector<Tensor>& inputs, const Code& code) {
  std::vector<Input> types;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    types.push_back({"x" + std::to_string(i), inputs[i].type()});
  return trace("loss", types,
               [&](std::span<const Value> in) { return std::vector<Value>{code(in)}; });
}
Tensor value_of(const std::vector<Tensor>& inputs, const Code& code) {
  return interpret(traced(inputs, code), inputs)[0];
}
Tensor gradient_of(const std::vector<Tensor>& inputs, const Code& code) {
  return interpret(grad(traced(inputs, code), {0}), inputs)[0];
}

// No reference into a destroyed Tensor.
std::vector<float> numbers(const Tensor& t) {
  return {t.values<float>().begin(), t.values<float>().end()};
}

Tensor row(const std::vector<float>& values) {
  return Tensor::from({static_cast<std::int64_t>(values.size())}, values);
}

TEST(BinaryCrossEntropy, FarOutIsFiniteAndKeepsItsTail) {
  const std::vector<Tensor> in{row({1e4f, -1e4f, 1e4f, 50}), row({1, 0, 0, 1})};
  const Code code = [](std::span<const Value> v) {
    return binary_cross_entropy_with_logits(v[0], v[1], Reduction::kNone);
  };
  const Tensor loss = value_of(in, code);
  EXPECT_EQ(loss.values<float>()[0], 0);
  EXPECT_EQ(loss.values<float>()[1], 0);
  EXPECT_EQ(loss.values<float>()[2], 1e4f);
  EXPECT_NEAR(loss.values<float>()[3] / std::exp(-50.0), 1, 1e-6);
}

TEST(BinaryCrossEntropy, OfInfiniteLogits) {
  const std::vector<Tensor> in{row({-INFINITY, INFINITY, INFINITY, -INFINITY, INFINITY}),
                               row({0, 0, 1, 1, 0.5f}), row({3, 3, 3, 3, 3})};
  const std::vector<float> losses{0, INFINITY, 0, INFINITY, INFINITY};
  const Code plain = [](std::span<const Value> v) {
    return binary_cross_entropy_with_logits(v[0], v[1], Reduction::kNone);
  };
  const Code weighted = [](std::span<const Value> v) {
    return binary_cross_entropy_with_logits(v[0], v[1], Reduction::kNone, v[2]);
  };
  EXPECT_EQ(numbers(value_of(in, plain)), losses);
  EXPECT_EQ(numbers(value_of(in, weighted)), losses);
  const auto total = [](const Code& code) {
    return [&code](std::span<const Value> v) { return sum(code(v)); };
  };
  EXPECT_EQ(numbers(gradient_of(in, total(plain))), (std::vector<float>{0, 1, 0, -1, 0.5f}));
  EXPECT_EQ(numbers(gradient_of(in, total(weighted))), (std::vector<float>{0, 1, 0, -3, 0.5f}));
  const Tensor by_weight = interpret(grad(traced(in, total(weighted)), {2}), in)[0];
  EXPECT_EQ(numbers(by_weight), (std::vector<float>{0, 0, 0, INFINITY, 0}));
}

// What is left out may hold anything: the gradients of the others are theirs alone.
TEST(Losses, ARowThatIsLeftOutHasNoEffect) {
  const Tensor logits = Tensor::from<float>({3, 2}, {1, 2, NAN, INFINITY, 2, 1});
  const Tensor labels = Tensor::from<std::int32_t>({3}, {0, 1, 0});
  const Tensor ignored = Tensor::from<std::int32_t>({3}, {0, -100, 0});
  const Tensor usual = Tensor::from<float>({2, 2}, {1, 2, 2, 1});
  const Tensor usual_labels = Tensor::from<std::int32_t>({2}, {0, 0});
  const Tensor weights = row({1, 0});
  const auto expect = [&](const std::vector<Tensor>& in, const Code& code,
                          const std::vector<Tensor>& others, const Code& of_others) {
    EXPECT_TRUE(value_of(in, code).same_bits(value_of(others, of_others)));
    std::vector<float> want = numbers(gradient_of(others, of_others));
    want.insert(want.begin() + 2, 2, 0);
    EXPECT_EQ(numbers(gradient_of(in, code)), want);
  };
  for (const double smoothing : {0.0, 0.25}) {
    const Code of_others = [&](std::span<const Value> v) {
      return cross_entropy(v[0], v[1], {.label_smoothing = smoothing});
    };
    expect(
        {logits, ignored},
        [&](std::span<const Value> v) {
          return cross_entropy(v[0], v[1], {.label_smoothing = smoothing, .ignore_index = -100});
        },
        {usual, usual_labels}, of_others);
  }
  expect(
      {logits, labels, weights},
      [](std::span<const Value> v) { return cross_entropy(v[0], v[1], {.class_weights = v[2]}); },
      {usual, usual_labels}, [](std::span<const Value> v) { return cross_entropy(v[0], v[1]); });
  expect(
      {logits, labels, weights},
      [](std::span<const Value> v) { return nll_loss(v[0], v[1], {.class_weights = v[2]}); },
      {usual, usual_labels}, [](std::span<const Value> v) { return nll_loss(v[0], v[1]); });
}

TEST(KlDivergence, ATargetOfZeroHasAFiniteSlope) {
  const std::vector<Tensor> in{row({-INFINITY, -1}), row({0, 1})};
  const Code total = [](std::span<const Value> v) {
    return kl_divergence(v[0], v[1], Reduction::kSum);
  };
  EXPECT_EQ(value_of(in, total).item<float>(), 1);
  for (const Tensor& g : interpret(grad(traced(in, total), {0, 1}), in))
    for (const float slope : numbers(g)) EXPECT_TRUE(std::isfinite(slope));
}

// Each label of an example counts by its own weight where it is positive.
TEST(MultiLabel, SumsWeightedLabels) {
  const std::vector<Tensor> in{Tensor::from<float>({2, 2}, {0, 0, 0, 0}),
                               Tensor::from<float>({2, 2}, {1, 0, 1, 1}), row({3, 5})};
  const Tensor loss = value_of(in, [](std::span<const Value> v) {
    return multi_label_loss(v[0], v[1], Reduction::kNone, v[2]);
  });
  ASSERT_EQ(loss.shape(), Shape{2});
  EXPECT_NEAR(loss.values<float>()[0], (3 + 1) * std::log(2.0), 1e-6);
  EXPECT_NEAR(loss.values<float>()[1], (3 + 5) * std::log(2.0), 1e-6);
}

// prediction - target, over the number of examples.
TEST(CrossEntropy, GradientIsPredictionMinusTarget) {
  const std::vector<Tensor> in{Tensor::from<float>({2, 2}, {0, 0, 3, 3}),
                               Tensor::from<std::int32_t>({2}, {0, 1})};
  const Tensor g =
      gradient_of(in, [](std::span<const Value> v) { return cross_entropy(v[0], v[1]); });
  const std::vector<float> expected{-0.25f, 0.25f, 0.25f, -0.25f};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(g.values<float>()[i], expected[i]);
}

// A class ruled out by -inf adds nothing where its target is 0.
TEST(CrossEntropy, OfClassesRuledOut) {
  const std::vector<Tensor> in{row({0, 0, -INFINITY}), row({0.5f, 0.5f, 0})};
  const Code code = [](std::span<const Value> v) { return cross_entropy(v[0], v[1]); };
  EXPECT_NEAR(value_of(in, code).item<float>(), std::log(2.0), 1e-6);
  for (float g : numbers(gradient_of(in, code))) EXPECT_TRUE(std::isfinite(g));
}

// Nothing is left of the label, as in PyTorch.
TEST(CrossEntropy, SmoothedToTheFullIsThatOfAllClassesAlike) {
  const std::vector<Tensor> in{row({1, 3}), Tensor::scalar<std::int32_t>(0)};
  const Tensor loss = value_of(in, [](std::span<const Value> v) {
    return cross_entropy(v[0], v[1], {.label_smoothing = 1});
  });
  EXPECT_NEAR(loss.item<float>(), 1 + std::log(1 + std::exp(-2.0)), 1e-6);
}

TEST(CrossEntropy, RefusesClassWeightsOfAnotherShape) {
  const Code losses[] = {
      [](std::span<const Value> in) {
        return cross_entropy(in[0], in[1], {.class_weights = in[2]});
      },
      [](std::span<const Value> in) {
        return cross_entropy(in[0], in[0], {.class_weights = in[2]});  // of probabilities
      },
      [](std::span<const Value> in) { return nll_loss(in[0], in[1], {.class_weights = in[2]}); }};
  for (const Code& loss : losses) {
    const auto weighted = [&](const Type& type) {
      trace("f", {{"x", {Dtype::kF32, {2, 3}}}, {"y", {Dtype::kI32, {2}}}, {"w", type}},
            [&](std::span<const Value> in) { return std::vector<Value>{loss(in)}; });
    };
    EXPECT_NO_THROW(weighted({Dtype::kF32, {3}}));
    expect_refused(ErrorCode::kShape, [&] { weighted({Dtype::kF32, {1}}); });
    expect_refused(ErrorCode::kShape, [&] { weighted({Dtype::kF32, {}}); });
    expect_refused(ErrorCode::kDtype, [&] { weighted({Dtype::kF64, {3}}); });
  }
}

TEST(CrossEntropy, IgnoredExamplesLeaveNoTrace) {
  const std::vector<Tensor> in{Tensor::from<float>({2, 2}, {1, 2, NAN, 4}),
                               Tensor::from<std::int32_t>({2}, {0, 7})};
  const Code code = [](std::span<const Value> v) {
    return cross_entropy(v[0], v[1], {.ignore_index = 7});
  };
  EXPECT_NEAR(value_of(in, code).item<float>(), 1 + std::log(1 + std::exp(-1.0)), 1e-6);
  // Not even if its class was ruled out.
  const std::vector<Tensor> logs{Tensor::from<float>({2, 2}, {-1, -2, -INFINITY, -3}),
                                 Tensor::from<std::int32_t>({2}, {1, 0})};
  EXPECT_EQ(
      value_of(logs,
               [](std::span<const Value> v) { return nll_loss(v[0], v[1], {.ignore_index = 0}); })
          .item<float>(),
      2);
}

TEST(CrossEntropy, OfLabelsThatAreNoClass) {
  const Tensor logits = Tensor::from<float>({3, 2}, {1, 2, 3, 1, 5, 4});
  const auto labels = [](std::int32_t last) {
    return Tensor::from<std::int32_t>({3}, {0, 1, last});
  };
  const Tensor weights = row({1, 1});
  const std::vector<Code> losses{
      [](std::span<const Value> v) { return cross_entropy(v[0], v[1]); },
      [](std::span<const Value> v) { return cross_entropy(v[0], v[1], {.label_smoothing = 0.1}); },
      [](std::span<const Value> v) { return cross_entropy(v[0], v[1], {.class_weights = v[2]}); },
      [](std::span<const Value> v) { return nll_loss(log_softmax(v[0]), v[1]); }};
  const Tensor two = Tensor::from<float>({2, 2}, {1, 2, 3, 1});
  const Tensor two_labels = Tensor::from<std::int32_t>({2}, {0, 1});
  for (const Code& loss : losses) {
    // -100 is ignored: the mean is over the others.
    const float known = value_of({two, two_labels, weights}, loss).item<float>();
    EXPECT_EQ(value_of({logits, labels(-100), weights}, loss).item<float>(), known);
    for (const std::int32_t none : {2, -1, -99}) {
      EXPECT_TRUE(std::isnan(value_of({logits, labels(none), weights}, loss).item<float>()));
      for (const float g : numbers(gradient_of({logits, labels(none), weights}, loss)))
        EXPECT_TRUE(std::isnan(g) || g == 0) << g;
    }
  }
  const Tensor each = value_of({logits, labels(7)}, [](std::span<const Value> v) {
    return cross_entropy(v[0], v[1], {.reduction = Reduction::kNone});
  });
  EXPECT_TRUE(std::isfinite(numbers(each)[0]) && std::isnan(numbers(each)[2]));
  const Tensor strict = value_of({logits, labels(-100)}, [](std::span<const Value> v) {
    return cross_entropy(v[0], v[1], {.ignore_index = std::nullopt});
  });
  EXPECT_TRUE(std::isnan(strict.item<float>()));
}

TEST(KlDivergence, OfATargetOfZero) {
  const std::vector<Tensor> in{row({-1, -INFINITY}), row({1, 0})};
  EXPECT_EQ(
      value_of(in,
               [](std::span<const Value> v) { return kl_divergence(v[0], v[1], Reduction::kSum); })
          .item<float>(),
      1);
}

TEST(KlDivergence, OfATargetThatIsNoProbability) {
  const std::vector<Tensor> in{row({-1, -1}), row({NAN, -0.5f})};
  for (float x : numbers(value_of(in, [](std::span<const Value> v) {
         return kl_divergence(v[0], v[1], Reduction::kNone);
       })))
    EXPECT_TRUE(std::isnan(x)) << x;
}

TEST(Normalize, OfZeroIsZeroWithAFiniteSlope) {
  const std::vector<Tensor> in{row({0, 0})};
  const Code code = [](std::span<const Value> v) { return normalize(v[0]); };
  for (float x : numbers(value_of(in, code))) EXPECT_EQ(x, 0);
  const Code total = [](std::span<const Value> v) { return sum(normalize(v[0])); };
  for (float g : numbers(gradient_of(in, total))) EXPECT_TRUE(std::isfinite(g));
}

TEST(TripletMargin, OfEqualRowsHasASlope) {
  const std::vector<Tensor> in{row({1, 2}), row({1, 2}), row({1, 2})};
  const Code code = [](std::span<const Value> v) { return triplet_margin_loss(v[0], v[1], v[2]); };
  EXPECT_EQ(value_of(in, code).item<float>(), 1);
  for (float g : numbers(gradient_of(in, code))) EXPECT_TRUE(std::isfinite(g));
}

TEST(Losses, TakeLabelsOfAnyIntegerDtype) {
  const Tensor logits = Tensor::from<float>({4, 3}, {1, 2, -3, 0, 5, 1, -1, 2, 4, 0, 1, 0});
  const Tensor labels = Tensor::from<std::int32_t>({4}, {2, 0, 1, 7});
  const std::vector<Code> losses{
      [](std::span<const Value> v) { return softmax_cross_entropy(v[0], v[1]); },
      [](std::span<const Value> v) {
        return cross_entropy(v[0], v[1], {.label_smoothing = 0.1, .ignore_index = 7});
      },
      [](std::span<const Value> v) { return nll_loss(log_softmax(v[0]), v[1]); },
      [](std::span<const Value> v) { return cast(one_hot(v[1], 3), Dtype::kF32); }};
  for (const Code& loss : losses)
    for (const Dtype dtype : {Dtype::kI64, Dtype::kI8, Dtype::kU8}) {
      const Tensor wide =
          value_of({labels}, [&](std::span<const Value> in) { return cast(in[0], dtype); });
      EXPECT_TRUE(value_of({logits, wide}, loss).same_bits(value_of({logits, labels}, loss)))
          << name(dtype);
    }
  // Their low 32 bits are classes, and they are none.
  const std::int64_t beyond = std::int64_t{1} << 32;
  const Tensor far = Tensor::from<std::int64_t>({4}, {beyond, beyond + 1, -beyond, -beyond + 2});
  EXPECT_EQ(numbers(value_of({logits, far}, losses[0])), std::vector<float>(4, 0));
  EXPECT_EQ(numbers(value_of({logits, far}, losses[3])), std::vector<float>(12, 0));
}

// Not even that of rows whose squares are near f32's smallest numbers.
TEST(InfoNce, TheLengthOfARowDoesNotCount) {
  const Tensor a = Tensor::from<float>({2, 2}, {1, 2, -3, 4});
  const Tensor b = Tensor::from<float>({2, 2}, {2, 1, 1, 5});
  const auto scaled = [&](double by) {
    return value_of({a, b},
                    [&](std::span<const Value> v) { return info_nce_loss(v[0] * by, v[1] * by); });
  };
  EXPECT_TRUE(scaled(1).same_bits(scaled(0x1p-30)));
}

TEST(Losses, RefuseWhatMakesNoSense) {
  const std::vector<Tensor> pair{row({1, 2}), row({3, 4})};
  const auto refuses = [&](const Code& code) { EXPECT_THROW(value_of(pair, code), Error); };
  refuses([](std::span<const Value> v) { return huber_loss(v[0], v[1], 0); });
  refuses([](std::span<const Value> v) { return smooth_l1_loss(v[0], v[1], -1); });
  refuses(
      [](std::span<const Value> v) { return cross_entropy(v[0], v[1], {.label_smoothing = 2}); });
  refuses([](std::span<const Value> v) { return cross_entropy(v[0], v[1], {.ignore_index = 0}); });
  refuses([](std::span<const Value> v) { return cross_entropy(sum(v[0]), sum(v[1])); });
  refuses([](std::span<const Value> v) {
    const Value labels = cast(v[1], Dtype::kI32);
    return cross_entropy(v[0], labels, {.ignore_index = std::int64_t{1} << 40});
  });
  refuses([](std::span<const Value> v) { return info_nce_loss(v[0], v[1]); });  // one row, not many
  const Tensor square = Tensor::from<float>({2, 2}, {1, 2, 3, 4});
  for (const double temperature : {0.0, -1.0, std::nan("")})
    EXPECT_THROW(value_of({square, square},
                          [&](std::span<const Value> v) {
                            return info_nce_loss(v[0], v[1], {.temperature = temperature});
                          }),
                 Error);
  refuses([](std::span<const Value> v) { return mse_loss(v[0], slice(v[1], 0, 0, 1)); });
  refuses([](std::span<const Value> v) { return nll_loss(v[0], v[1]); });  // labels are integers
  refuses([](std::span<const Value> v) { return cosine_embedding_loss(v[0], v[1], v[1]); });
  refuses([](std::span<const Value> v) {
    return cosine_embedding_loss(v[0], v[1], v[0] < v[1]);  // of one pair there is one label
  });
  refuses([](std::span<const Value> v) {
    return cross_entropy(v[0], v[1], {.label_smoothing = -0.1});
  });
  refuses([](std::span<const Value> v) {
    return cross_entropy(sum(v[0]), cast(sum(v[1]), Dtype::kI32), {.label_smoothing = 0.1});
  });
}

}  // namespace
}  // namespace limpid
