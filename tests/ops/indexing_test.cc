// gather, the scatters and argsort, and functions made of them, with repeated and invalid indices
// and equal elements.
#include "limpid/ops/indexing.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/expand.h"
#include "limpid/transforms/grad.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

std::vector<Tensor> run(const std::vector<Tensor>& in,
                        const std::function<Values(std::span<const Value>)>& code) {
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < in.size(); ++i)
    inputs.push_back({"x" + std::to_string(i), in[i].type()});
  return interpret(trace("f", inputs, code), in);
}

Tensor reals(const Shape& shape, std::initializer_list<double> values) {
  return Tensor::from<double>(shape, values);
}
Tensor whole(const Shape& shape, std::initializer_list<std::int32_t> values) {
  return Tensor::from<std::int32_t>(shape, values);
}

struct Slopes {
  Tensor x, updates;
};
// Of the sum of the results, each times 1, 10, 100, ... by its place.
Slopes slopes(ScatterMode mode, const Tensor& x, const Tensor& indices, const Tensor& updates) {
  const Function f = trace("f", {{"x", x.type()}, {"i", indices.type()}, {"u", updates.type()}},
                           [&](std::span<const Value> in) {
                             const Value y = scatter(in[0], in[1], in[2], mode);
                             const Value place = cast(iota(y.builder(), y.shape()[0]), y.dtype());
                             return Values{sum(y * power(number_like(place, 10), place))};
                           });
  const std::vector<Tensor> by =
      interpret(grad(f, {0, 2}), std::vector<Tensor>{x, indices, updates});
  return {by[0], by[1]};
}

TEST(Scatter, CombinesTheUpdatesOfARowInTheirOrder) {
  const Tensor x = reals({3}, {5, 6, 7});
  const Tensor indices = whole({5}, {0, 2, 0, -1, 3});
  const Tensor updates = reals({5}, {2, 9, 3, 100, 100});
  const auto with = [&](ScatterMode mode) {
    return run({x, indices, updates}, [&](std::span<const Value> in) {
      return Values{scatter(in[0], in[1], in[2], mode)};
    })[0];
  };
  EXPECT_TRUE(with(ScatterMode::kReplace).same_bits(reals({3}, {3, 6, 9})));
  EXPECT_TRUE(with(ScatterMode::kAdd).same_bits(reals({3}, {10, 6, 16})));
  EXPECT_TRUE(with(ScatterMode::kMultiply).same_bits(reals({3}, {30, 6, 63})));
  EXPECT_TRUE(with(ScatterMode::kMaximum).same_bits(reals({3}, {5, 6, 9})));
  EXPECT_TRUE(with(ScatterMode::kMinimum).same_bits(reals({3}, {2, 6, 7})));
}

TEST(Scatter, OfIntegersWrapsAround) {
  constexpr std::int32_t kHighest = std::numeric_limits<std::int32_t>::max();
  const auto with = [&](ScatterMode mode) {
    return run({whole({3}, {5, kHighest, -7}), whole({3}, {0, 1, 2}), whole({3}, {-2, 2, 3})},
               [&](auto in) { return Values{scatter(in[0], in[1], in[2], mode)}; })[0];
  };
  EXPECT_TRUE(with(ScatterMode::kAdd).same_bits(whole({3}, {3, -kHighest, -4})));
  EXPECT_TRUE(with(ScatterMode::kMultiply).same_bits(whole({3}, {-10, -2, -21})));
  EXPECT_TRUE(with(ScatterMode::kMaximum).same_bits(whole({3}, {5, kHighest, 3})));
  EXPECT_TRUE(with(ScatterMode::kMinimum).same_bits(whole({3}, {-2, 2, -7})));
}

TEST(Scatter, AddsToRowsThatThereAre) {
  const auto added = [](std::int64_t batch) {
    return run({reals({2}, {1, 2}), whole({2}, {1, 0}), reals({2}, {10, 20})}, [&](auto in) {
      return Values{scatter(in[0], in[1], in[2], ScatterMode::kAdd, batch)};
    })[0];
  };
  EXPECT_TRUE(added(0).same_bits(reals({2}, {21, 12})));
  EXPECT_THROW(added(-1), Error);
  EXPECT_THROW(added(1), Error);
}

TEST(Scatter, AddsNoUpdatesOfAnotherShape) {
  const auto refused = [](ErrorCode code, const Type& x, const Type& updates) {
    expect_refused(code, [&] {
      trace("f", {{"x", x}, {"u", updates}}, [](std::span<const Value> in) {
        const Value rows = iota(in[0].builder(), in[1].shape()[0]);
        return std::vector<Value>{scatter(in[0], rows, in[1], ScatterMode::kAdd)};
      });
    });
  };
  refused(ErrorCode::kShape, {Dtype::kF32, {4, 3}}, {Dtype::kF32, {2, 1}});
  refused(ErrorCode::kShape, {Dtype::kF32, {4}}, {Dtype::kF32, {2, 4}});
  refused(ErrorCode::kDtype, {Dtype::kF32, {4}}, {Dtype::kF64, {2}});
}

TEST(Scatter, TheRowThatWasReplacedHasNoSlope) {
  const Slopes by = slopes(ScatterMode::kReplace, reals({3}, {5, 6, 7}), whole({3}, {0, 2, 0}),
                           reals({3}, {2, 9, 3}));
  EXPECT_TRUE(by.x.same_bits(reals({3}, {0, 10, 0})));
  EXPECT_TRUE(by.updates.same_bits(reals({3}, {0, 100, 1})));
}

TEST(Scatter, ProductsWithZerosHaveSlopes) {
  const Slopes by = slopes(ScatterMode::kMultiply, reals({3}, {5, 6, 0}), whole({4}, {0, 0, 1, 2}),
                           reals({4}, {0, 3, 4, 0}));
  EXPECT_TRUE(by.x.same_bits(reals({3}, {0, 40, 0})));
  EXPECT_TRUE(by.updates.same_bits(reals({4}, {15, 0, 60, 0})));
}

TEST(Scatter, EqualExtremesShare) {
  const Slopes by = slopes(ScatterMode::kMaximum, reals({2}, {5, 6}), whole({3}, {0, 0, 1}),
                           reals({3}, {5, 3, 9}));
  EXPECT_TRUE(by.x.same_bits(reals({2}, {0.5, 0})));
  EXPECT_TRUE(by.updates.same_bits(reals({3}, {0.5, 0, 10})));
}

TEST(Argsort, EqualOnesKeepTheirOrderAndNanIsTheLargest) {
  const Tensor x = reals({6}, {2, kNotANumber, -0.0, 2, 0.0, -1});
  const auto order = [&](bool descending) {
    return run({x},
               [&](std::span<const Value> in) { return Values{argsort(in[0], 0, descending)}; })[0];
  };
  EXPECT_TRUE(order(false).same_bits(whole({6}, {5, 2, 4, 0, 3, 1})));
  EXPECT_TRUE(order(true).same_bits(whole({6}, {1, 0, 3, 2, 4, 5})));
}

TEST(TopK, AlongAnyAxis) {
  const Tensor x = whole({3, 2}, {1, 5, 3, 4, 2, 5});
  const auto y = run({x}, [](std::span<const Value> in) {
    const TopK most = top_k(in[0], 2, 0), least = top_k(in[0], 1, 1, false);
    return Values{most.values, most.indices, least.values, least.indices};
  });
  EXPECT_TRUE(y[0].same_bits(whole({2, 2}, {3, 5, 2, 5})));
  EXPECT_TRUE(y[1].same_bits(whole({2, 2}, {1, 0, 2, 2})));
  EXPECT_TRUE(y[2].same_bits(whole({3, 1}, {1, 3, 2})));
  EXPECT_TRUE(y[3].same_bits(whole({3, 1}, {0, 0, 0})));
  // In the middle of three.
  const auto deep = run({whole({2, 3, 2}, {1, 5, 3, 4, 2, 6, 9, 7, 8, 8, 7, 9})},
                        [](auto in) { return Values{top_k(in[0], 2, 1).values}; });
  EXPECT_TRUE(deep[0].same_bits(whole({2, 2, 2}, {3, 6, 2, 5, 9, 9, 8, 8})));
  const auto none = run({x}, [](auto in) { return Values{top_k(in[0], 0, 1).values}; });
  EXPECT_EQ(none[0].shape(), (Shape{3, 0}));
  EXPECT_THROW(run({x}, [](auto in) { return Values{top_k(in[0], 3, 1).values}; }), Error);
  EXPECT_THROW(run({x}, [](auto in) { return Values{top_k(in[0], -1, 1).values}; }), Error);
}

TEST(AlongAxis, TakesAndWritesSingleElements) {
  const Tensor x = reals({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto y = run(
      {x, whole({1, 3}, {1, 0, 7}), reals({1, 3}, {-1, -2, -3})}, [](std::span<const Value> in) {
        return Values{take_along_axis(in[0], in[1], 0), scatter_along_axis(in[0], in[1], in[2], 0)};
      });
  EXPECT_TRUE(y[0].same_bits(reals({1, 3}, {4, 2, NAN})));
  EXPECT_TRUE(y[1].same_bits(reals({2, 3}, {1, -2, 3, -1, 5, 6})));
  EXPECT_TRUE(run({x, Tensor::from<std::int64_t>({1, 3}, {1, 0, 7})},
                  [](auto in) { return Values{take_along_axis(in[0], in[1], 0)}; })[0]
                  .same_bits(y[0]));
  EXPECT_THROW(run({x, whole({3, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0})},
                   [](auto in) { return Values{take_along_axis(in[0], in[1], 1)}; }),
               Error);
}

TEST(AlongAxis, CountsFromEitherEnd) {
  const Tensor x = whole({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto y = run({x, whole({2, 3}, {-1, 0, 2, -3, 3, -4})},
                     [](auto in) { return Values{take_along_axis(in[0], in[1], 1)}; });
  EXPECT_TRUE(y[0].same_bits(whole({2, 3}, {3, 1, 3, 4, 0, 0})));
}

TEST(AlongAxis, FlatIndexIsMinusOneOutside) {
  const auto y = run({whole({3, 2}, {1, 2, 0, 3, -1, 0})}, [](std::span<const Value> in) {
    return Values{flat_index(in[0], {2, 3})};
  });
  EXPECT_TRUE(y[0].same_bits(whole({3}, {5, -1, -1})));
  // Beyond i32 in i64.
  const auto far = run({whole({2, 2}, {65'535, 65'535, 65'536, 0})}, [](auto in) {
    return Values{flat_index(in[0], {65'536, 65'536})};
  });
  EXPECT_TRUE(far[0].same_bits(Tensor::from<std::int64_t>({2}, {4'294'967'295, -1})));
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 1}, Shape{2, 3}})
    EXPECT_THROW(run({Tensor::zeros({Dtype::kI32, shape})},
                     [](auto in) {
                       return Values{flat_index(in[0], {2, 3})};
                     }),
                 Error)
        << to_string(shape);
}

TEST(AlongAxis, CombinesUpdatesAsItIsTold) {
  const auto y =
      run({reals({2, 2}, {1, 2, 3, 4}), whole({2, 1}, {1, 0}), reals({2, 1}, {10, 20})},
          [](std::span<const Value> in) {
            return Values{scatter_along_axis(in[0], in[1], in[2], -1, ScatterMode::kAdd)};
          });
  EXPECT_TRUE(y[0].same_bits(reals({2, 2}, {1, 12, 23, 4})));
  for (const Shape& indices : {Shape{2}, Shape{2, 1, 1}})
    EXPECT_THROW(run({reals({2, 2}, {1, 2, 3, 4}), Tensor::zeros({Dtype::kI32, indices})},
                     [](auto in) { return Values{take_along_axis(in[0], in[1], 1)}; }),
                 Error)
        << to_string(indices);
}

TEST(AlongAxis, FlipsTheAxisThatIsAsked) {
  const auto y = run({reals({2, 3}, {1, 2, 3, 4, 5, 6})}, [](std::span<const Value> in) {
    return Values{flip(in[0], 0), flip(in[0], 1), flip(in[0], -1)};
  });
  EXPECT_TRUE(y[0].same_bits(reals({2, 3}, {4, 5, 6, 1, 2, 3})));
  EXPECT_TRUE(y[1].same_bits(reals({2, 3}, {3, 2, 1, 6, 5, 4})));
  EXPECT_TRUE(y[2].same_bits(y[1]));
}

TEST(AlongAxis, FlipAndPaddingRepeatElements) {
  const auto y = run({reals({3}, {1, 2, 3})}, [](std::span<const Value> in) {
    return Values{flip(in[0], 0),
                  pad(in[0], {4}, {3}, PadMode::kReflect),
                  pad(in[0], {2}, {1}, PadMode::kEdge),
                  pad(in[0], {4}, {1}, PadMode::kWrap),
                  pad(in[0], {0}, {2}, PadMode::kEdge),
                  pad(in[0], {2}, {0}, PadMode::kEdge)};
  });
  EXPECT_TRUE(y[0].same_bits(reals({3}, {3, 2, 1})));
  EXPECT_TRUE(y[1].same_bits(reals({10}, {1, 2, 3, 2, 1, 2, 3, 2, 1, 2})));
  EXPECT_TRUE(y[2].same_bits(reals({6}, {1, 1, 1, 2, 3, 3})));
  EXPECT_TRUE(y[3].same_bits(reals({8}, {3, 1, 2, 3, 1, 2, 3, 1})));
  EXPECT_TRUE(y[4].same_bits(reals({5}, {1, 2, 3, 3, 3})));
  EXPECT_TRUE(y[5].same_bits(reals({5}, {1, 1, 1, 2, 3})));
}

TEST(AlongAxis, PaddingHasTwoNumbersForEachDimension) {
  using List = std::vector<std::int64_t>;
  const auto padded = [](const Shape& shape, const List& low, const List& high) {
    return run({Tensor::zeros({Dtype::kF64, shape})},
               [&](auto in) { return Values{pad(in[0], low, high, PadMode::kWrap)}; })[0]
        .shape();
  };
  EXPECT_EQ(padded({2, 3}, {0, 1}, {0, 4}), (Shape{2, 8}));
  EXPECT_EQ(padded({0, 3}, {0, 1}, {0, 0}), (Shape{0, 4}));  // nothing is added to what is empty
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(padded({2, 3}, {1}, {1, 1}), Error);
  EXPECT_THROW(padded({2, 3}, {1, 1}, {1}), Error);
  EXPECT_THROW(padded({2, 3}, {-1, 0}, {1, 0}), Error);
  EXPECT_THROW(padded({2, 3}, {1, 0}, {-1, 0}), Error);
  EXPECT_THROW(padded({0, 3}, {1, 0}, {0, 0}), Error);
  EXPECT_THROW(padded({3}, {kMost}, {1}), Error);
  EXPECT_THROW(padded({3}, {kMost - 1}, {1}), Error);
}

// A single element has no neighbour to be reflected.
TEST(AlongAxis, PaddingRepeatsASingleElement) {
  for (const PadMode mode : {PadMode::kReflect, PadMode::kEdge, PadMode::kWrap}) {
    const auto y =
        run({reals({1}, {7})}, [&](auto in) { return Values{pad(in[0], {2}, {1}, mode)}; });
    EXPECT_TRUE(y[0].same_bits(reals({4}, {7, 7, 7, 7})));
  }
}

TEST(CumulativeSum, InAllFourWays) {
  const auto y = run({whole({5}, {1, 2, 3, 4, 5})}, [](std::span<const Value> in) {
    return Values{cumulative_sum(in[0], 0), cumulative_sum(in[0], 0, {.exclusive = true}),
                  cumulative_sum(in[0], 0, {.reverse = true}),
                  cumulative_sum(in[0], -1, {.exclusive = true, .reverse = true})};
  });
  EXPECT_TRUE(y[0].same_bits(Tensor::from<std::int64_t>({5}, {1, 3, 6, 10, 15})));
  EXPECT_TRUE(y[1].same_bits(Tensor::from<std::int64_t>({5}, {0, 1, 3, 6, 10})));
  EXPECT_TRUE(y[2].same_bits(Tensor::from<std::int64_t>({5}, {15, 14, 12, 9, 5})));
  EXPECT_TRUE(y[3].same_bits(Tensor::from<std::int64_t>({5}, {14, 12, 9, 5, 0})));
  const auto of_one = run({whole({1}, {7})}, [](std::span<const Value> in) {
    return Values{cumulative_sum(in[0], 0, {.exclusive = true}),
                  cumulative_sum(in[0], 0, {.exclusive = true, .reverse = true})};
  });
  EXPECT_TRUE(of_one[0].same_bits(Tensor::from<std::int64_t>({1}, {0})));
  EXPECT_TRUE(of_one[1].same_bits(Tensor::from<std::int64_t>({1}, {0})));
  const Type none{Dtype::kF64, {2, 0}};
  const auto of_none = run({Tensor::zeros(none)}, [](std::span<const Value> in) {
    return Values{cumulative_sum(in[0], 1, {.exclusive = true})};
  });
  EXPECT_EQ(of_none[0].type(), none);
}

TEST(RotaryEmbedding, TurnsHalvesOrNeighboursAndLeavesTheRest) {
  const Tensor x = reals({1, 5}, {1, 2, 3, 4, 5});
  const auto y = run({x, reals({2}, {0, 1}), reals({2}, {1, 0})}, [](std::span<const Value> in) {
    return Values{rotary_embedding(in[0], in[1], in[2]),
                  rotary_embedding(in[0], in[1], in[2], true)};
  });
  EXPECT_TRUE(y[0].same_bits(reals({1, 5}, {-3, 2, 1, 4, 5})));
  EXPECT_TRUE(y[1].same_bits(reals({1, 5}, {-2, 1, 3, 4, 5})));
}

TEST(Take, PutsTheAxesOfTheIndicesInPlaceOfTheAxis) {
  // Element (i, j, k) is 100 i + 10 j + k.
  const Tensor x = Tensor::generate<std::int32_t>({2, 3, 2}, [](std::span<std::int32_t> out) {
    for (std::size_t n = 0; n < out.size(); ++n)
      out[n] = static_cast<std::int32_t>(100 * (n / 6) + 10 * (n / 2 % 3) + n % 2);
  });
  const Tensor numbers = whole({1, 4}, {2, 0, 7, 1});
  const auto y = run({x, numbers}, [](std::span<const Value> in) {
    return Values{take(in[0], in[1], 1), take(in[0], in[1], -1)};
  });
  EXPECT_TRUE(y[0].same_bits(
      whole({2, 1, 4, 2}, {20, 21, 0, 1, 0, 0, 10, 11, 120, 121, 100, 101, 0, 0, 110, 111})));
  EXPECT_TRUE(
      y[1].same_bits(whole({2, 3, 1, 4}, {0, 0,   0, 1,   0, 10,  0, 11,  0, 20,  0, 21,
                                          0, 100, 0, 101, 0, 110, 0, 111, 0, 120, 0, 121})));
}

TEST(Take, GivesNanOutsideAndCountsFromTheEnd) {
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64, Dtype::kBf16, Dtype::kF16}) {
    const auto y = run({reals({3}, {1, 2, 4}), whole({7}, {0, 2, 3, -1, -3, -4, INT32_MIN})},
                       [&](std::span<const Value> in) {
                         return Values{cast(take(cast(in[0], dtype), in[1], 0), Dtype::kF64)};
                       });
    EXPECT_TRUE(y[0].same_bits(reals({7}, {1, 4, NAN, 4, 1, NAN, NAN}))) << name(dtype);
  }
}

// One call takes 64 parts.
TEST(Concatenate, TakesAnyNumberOfParts) {
  for (const std::int64_t parts : {1, 64, 65, 128, 150, 4097}) {
    const Tensor x = Tensor::generate<std::int32_t>({parts, 1}, [](std::span<std::int32_t> out) {
      for (std::size_t n = 0; n < out.size(); ++n) out[n] = static_cast<std::int32_t>(n);
    });
    const auto y = run({x}, [&](std::span<const Value> in) {
      return Values{concatenate(split(in[0], parts, 0), 0)};
    });
    EXPECT_TRUE(y[0].same_bits(x)) << parts;
  }
}

// {axis}, {start} and {limit} of a vector would be other numbers.
TEST(Slice, InBracesHasStartsLimitsAndStrides) {
  const Tensor x = reals({9}, {0, 1, 2, 3, 4, 5, 6, 7, 8});
  const std::vector<Tensor> y = run({x}, [](std::span<const Value> in) {
    return Values{slice(in[0], {0}, {1}, {3}), slice(in[0], {2}, {9}, {3}), slice(in[0], 0, 1, 3)};
  });
  EXPECT_TRUE(y[0].same_bits(reals({1}, {0})));
  EXPECT_TRUE(y[1].same_bits(reals({3}, {2, 5, 8})));
  EXPECT_TRUE(y[2].same_bits(reals({2}, {1, 2})));
}

// As argmax, which it is made of.
TEST(Argmin, RefusesWhatArgmaxRefuses) {
  for (const auto& f : {argmin, argmax})
    for (const Dtype dtype : {Dtype::kU8, Dtype::kBf16})
      expect_refused(ErrorCode::kDtype, [&] {
        run({Tensor::zeros({dtype, {3}})},
            [&](std::span<const Value> in) { return Values{f(in[0], 0)}; });
      });
}

// The axis may be of any size where another one is 0.
TEST(CumulativeSum, OfNothingIsNothing) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {std::int64_t{1} << 50, 0}}}}, [](auto in) {
    return Values{cumulative_sum(in[0], 0), prod(in[0], 0)};
  });
  EXPECT_LT(expand(f).nodes().size(), 5u);
}

TEST(Split, IsIntoEqualParts) {
  const Tensor x = whole({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto in_parts = [&](std::int64_t parts, std::int64_t axis) {
    return run({x}, [&](auto in) { return split(in[0], parts, axis); });
  };
  const std::vector<Tensor> y = in_parts(3, -1);
  ASSERT_EQ(y.size(), 3u);
  EXPECT_TRUE(y[1].same_bits(whole({2, 1}, {2, 5})));
  EXPECT_THROW(in_parts(2, 1), Error);
  EXPECT_THROW(in_parts(4, 1), Error);
  EXPECT_THROW(in_parts(0, 1), Error);
}

// It gives zeros, whatever the operands are.
TEST(Attention, AQueryThatSeesNoKeyHasNoSlope) {
  const Tensor q = reals({2, 2}, {0.5, -1, 2, 0.25}), k = reals({2, 2}, {1, -2, 0.5, 3});
  const Tensor v = reals({2, 2}, {3, 1, -2, 0.5});
  const Function f = trace("f", {{"q", q.type()}, {"k", k.type()}, {"v", v.type()}}, [&](auto x) {
    AttentionOptions options;
    options.mask = constant(x[0].builder(), Tensor::from<bool>({2, 2}, {true, true, false, false}));
    const Value y = scaled_dot_product_attention(x[0], x[1], x[2], options);
    return Values{sum(slice(y, 0, 1, 2) * 3.0)};
  });
  for (const Tensor& slope : interpret(grad(f, {0, 1, 2}), std::vector<Tensor>{q, k, v}))
    EXPECT_TRUE(slope.same_bits(Tensor::zeros(slope.type())));
}

// The slopes are those of attention to the other keys.
TEST(Attention, AMaskedKeyHasNoSlope) {
  const Tensor q = reals({2, 2}, {0.5, -1, 2, 0.25}), k = reals({3, 2}, {1, -2, 0.5, 3, -1, 1});
  const Tensor v = reals({3, 2}, {3, 1, -2, 0.5, 7, 4});
  const auto slopes_of = [&](std::span<const std::size_t> keys, bool masked) {
    const auto some = [&](const Tensor& t) {
      std::vector<double> rows;
      for (const std::size_t key : keys)
        for (std::size_t i = 0; i < 2; ++i) rows.push_back(t.values<double>()[2 * key + i]);
      return Tensor::from<double>({static_cast<std::int64_t>(keys.size()), 2}, rows);
    };
    const std::vector<Tensor> in{q, some(k), some(v)};
    const Function f =
        trace("f", {{"q", in[0].type()}, {"k", in[1].type()}, {"v", in[2].type()}}, [&](auto x) {
          AttentionOptions options;
          if (masked)
            options.mask = constant(x[0].builder(), Tensor::from<bool>({3}, {true, false, true}));
          const Value y = scaled_dot_product_attention(x[0], x[1], x[2], options);
          return Values{sum(y * y)};
        });
    return interpret(grad(f, {0, 1, 2}), in);
  };
  const std::vector<Tensor> masked = slopes_of(std::array<std::size_t, 3>{0, 1, 2}, true);
  const std::vector<Tensor> others = slopes_of(std::array<std::size_t, 2>{0, 2}, false);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(masked[0].values<double>()[i], others[0].values<double>()[i], 1e-12);
  for (const std::size_t of : {1, 2})
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(masked[of].values<double>()[i], others[of].values<double>()[i], 1e-12);
      EXPECT_EQ(masked[of].values<double>()[2 + i], 0);
      EXPECT_NEAR(masked[of].values<double>()[4 + i], others[of].values<double>()[2 + i], 1e-12);
    }
}

}  // namespace
}  // namespace limpid
