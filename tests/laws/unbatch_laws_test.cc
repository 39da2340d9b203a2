// unbatch is the inverse of vmap, and proves nothing false: on every op, on random Functions, and
// on parts of networks.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/control.h"
#include "limpid/transforms/unbatch.h"
#include "limpid/transforms/vmap.h"
#include "tests/laws/laws.h"
#include "tests/laws/random_function.h"
#include "tests/laws/random_values.h"
#include "tests/refusals.h"

namespace limpid::laws {
namespace {

using Axes = std::vector<std::optional<std::int64_t>>;

// The function of one example, or why it is not proved.
struct Proof {
  std::optional<Function> function;
  std::string refused;
};

Proof prove(const Function& f, const Axes& axes, std::int64_t size) {
  try {
    return {unbatch(f, axes, size), ""};
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kUnsupported) << e.what();
    return {std::nullopt, e.what()};
  }
}

// Whether `all` equals `first`, vmap's result with examples first, with the examples at some axis.
bool holds_examples(const Tensor& all, const Tensor& first) {
  for (std::size_t axis = 0; axis < all.shape().rank(); ++axis) {
    if (all.shape()[axis] != first.shape()[0]) continue;
    if (!(all.shape().erase(axis) == first.shape().erase(0))) continue;
    bool same = true;
    for (std::int64_t i = 0; same && i < first.shape()[0]; ++i)
      same = same_numbers(slice(all, axis, i), slice(first, 0, i));
    if (same) return true;
  }
  return false;
}

// Example by example, the batch is the function that was found.
void expect_rows(const Function& batch, const Function& one, const Axes& axes, std::int64_t size,
                 const Domain& domain, const std::string& what) {
  verify(one);
  const std::vector<Tensor> inputs =
      random_inputs(batch, Key(7), domain.low, domain.high, domain.bound);
  const std::vector<Tensor> all = interpret(batch, inputs);
  const std::vector<Tensor> rows = interpret(vmap(one, axes, size), inputs);
  ASSERT_EQ(all.size(), rows.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_TRUE(holds_examples(all[i], rows[i])) << what << ", output " << i << "\n"
                                                 << short_text(batch) << short_text(one);
}

// ---- every op

class UnbatchLaws : public testing::TestWithParam<const Op*> {
 protected:
  const Op& op() const { return *GetParam(); }
};

// Every result of vmap is proved, except for values without elements, which prove nothing.
TEST_P(UnbatchLaws, UndoesVmap) {
  constexpr std::int64_t kSize = 11;
  // More than is proved.
  if (&op() == &op::info_nce || &op() == &op::barrier || &op() == &op::while_loop) return;
  for (const Example& e : op().examples()) {
    const Function f = function_of(op(), e);
    if (std::any_of(f.types().begin(), f.types().end(),
                    [](const Type& t) { return t.shape.elements() == 0; }))
      continue;  // nothing can be told from no elements
    for (unsigned mask = 1; mask < 1u << e.inputs.size(); ++mask)
      for (const std::int64_t axis : {0, -1}) {
        Batch batch = all_batched(f, axis, kSize);
        for (std::size_t i = 0; i < e.inputs.size(); ++i)
          if (!(mask >> i & 1)) batch.axes[i].reset();
        const Function g = vmap(f, batch.axes, kSize);
        const std::string what = example_text(op(), e) + ", inputs " + std::to_string(mask) +
                                 " at axis " + std::to_string(axis);
        const Proof proof = prove(g, batch.axes, kSize);
        EXPECT_EQ(proof.refused, "") << what << "\n" << short_text(g);
        if (proof.function)
          expect_rows(g, *proof.function, batch.axes, kSize, {e.low, e.high, e.bound}, what);
      }
  }
}

// Axes of a prime size, in any of the inputs, treated as a batch: if that is proved, it holds.
TEST_P(UnbatchLaws, ProvesOnlyWhatHolds) {
  for (const Example& e : op().examples()) {
    const Function f = function_of(op(), e);
    for (const std::int64_t size : {2, 3, 5, 7, 19}) {
      Axes axes(f.inputs().size());
      // Every choice of an axis of that size, or none, in each input.
      const auto choose = [&](const auto& self, std::size_t input) -> void {
        if (input == axes.size()) {
          if (std::none_of(axes.begin(), axes.end(), [](const auto& a) { return !!a; })) return;
          const Proof proof = prove(f, axes, size);
          if (proof.function)
            expect_rows(f, *proof.function, axes, size, {e.low, e.high, e.bound},
                        example_text(op(), e));
          return;
        }
        axes[input].reset();
        self(self, input + 1);
        const Shape& shape = f.inputs()[input].type.shape;
        for (std::size_t d = 0; d < shape.rank(); ++d) {
          if (shape[d] != size) continue;
          axes[input] = static_cast<std::int64_t>(d);
          self(self, input + 1);
        }
        axes[input].reset();
      };
      choose(choose, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, UnbatchLaws, testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         [](const auto& tested) { return std::string(tested.param->name); });

// ---- random Functions

TEST(Unbatch, OfRandomFunctionsUndoesVmap) {
  int proved = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Function f = random_function(Key(seed), 12);
    if (f.inputs().empty()) continue;
    Batch batch = all_batched(f, seed % 2 == 0 ? 0 : -1, 7);
    for (std::size_t i = 1; i < batch.axes.size(); ++i)
      if (Key(seed).below(2, i)) batch.axes[i].reset();
    const Function g = vmap(f, batch.axes, 7);
    const Proof proof = prove(g, batch.axes, 7);
    if (!proof.function) continue;
    ++proved;
    expect_rows(g, *proof.function, batch.axes, 7, {}, "seed " + std::to_string(seed));
  }
  EXPECT_GT(proved, 50);
}

// A value without elements does not show where the examples were.
TEST(Unbatch, OfWhatHasNoElements) {
  const Function f =
      trace("nothing", {{"x", {Dtype::kF32, {5, 4, 3}}}}, [](std::span<const Value> in) {
        const Value none = slice(in[0], {0, 0, 0}, {5, 4, 0}, {1, 1, 1});
        return std::vector<Value>{sum(none, -1) + 1.0};
      });
  EXPECT_FALSE(prove(f, {0}, 5).function);
}

// Axes of an input that happen to have a prime size, treated as a batch.
TEST(Unbatch, OfRandomFunctionsProvesOnlyWhatHolds) {
  int proved = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const Function f = random_function(Key(seed), 2);
    for (std::size_t i = 0; i < f.inputs().size(); ++i)
      for (std::size_t d = 0; d < f.inputs()[i].type.shape.rank(); ++d) {
        const std::int64_t size = f.inputs()[i].type.shape[d];
        if (size != 2 && size != 3 && size != 5 && size != 7) continue;
        Axes axes(f.inputs().size());
        axes[i] = static_cast<std::int64_t>(d);
        const Proof proof = prove(f, axes, size);
        if (!proof.function) continue;
        ++proved;
        expect_rows(f, *proof.function, axes, size, {}, "seed " + std::to_string(seed));
      }
  }
  EXPECT_GT(proved, 20);
}

// ---- what networks are made of

constexpr std::int64_t kN = 5;
using UnbatchCode = Value (*)(Value x, Value w);

// Of x f32[5, 4, 6], and w f32[6, 6] that is shared.
Function batch_of(UnbatchCode code) {
  return trace("f", {{"w", {Dtype::kF32, {6, 6}}}, {"x", {Dtype::kF32, {kN, 4, 6}}}},
               [&](std::span<const Value> in) { return std::vector<Value>{code(in[1], in[0])}; },
               {"y"});
}

Value turned(Value x) { return transpose(x, {1, 0, 2}); }

TEST(Unbatch, ProvesWhatKeepsExamplesApart) {
  const std::vector<std::pair<std::string, UnbatchCode>> cases{
      {"linear", [](Value x, Value w) { return linear(x, w); }},
      {"linear of folded rows",
       [](Value x, Value w) {
         return reshape(linear(reshape(x, {kN * 4, 6}), w), {kN, 4, 6});
       }},
      {"examples last in a folded dimension",
       [](Value x, Value w) {
         const Value rows = reshape(turned(x), {4 * kN, 6});
         return turned(reshape(relu(matmul(rows, w)), {4, kN, 6}));
       }},
      {"examples as the columns of a product",
       [](Value x, Value w) {
         const Value columns = matmul(w, reshape(x, {kN * 4, 6}), false, true);
         return reshape(transpose(columns, {1, 0}), {kN, 4, 6});
       }},
      {"a constant of other rows that is alike for each example",
       [](Value x, Value) {
         const Tensor rows = Tensor::generate<float>({4, kN, 6}, [](std::span<float> out) {
           for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(i / (kN * 6));
         });
         return turned(turned(x) + constant(x.builder(), rows));
       }},
      {"softmax over another axis", [](Value x, Value) { return softmax(x, 1); }},
      {"softmax after a transpose", [](Value x, Value) { return turned(softmax(turned(x), 0)); }},
      {"output with examples in the middle", [](Value x, Value) { return turned(x); }},
      {"attention with heads in the batch, as PyTorch writes it",
       [](Value x, Value w) {
         const Value heads = transpose(reshape(turned(linear(x, w)), {4, kN * 2, 3}), {1, 0, 2});
         const Value weights = softmax(matmul(heads, heads, false, true), -1);
         const Value y = matmul(weights, heads);
         return turned(reshape(transpose(y, {1, 0, 2}), {4, kN, 6}));
       }},
      {"layer_norm",
       [](Value x, Value w) {
         return layer_norm(x, reshape(slice(w, 0, 0, 1), {6}), reshape(slice(w, 0, 1, 2), {6}));
       }},
      {"a constant for each place",
       [](Value x, Value) {
         return x + broadcast(cast(iota(x.builder(), 6), Dtype::kF32), {kN, 4, 6});
       }},
      {"constants that are alike",
       [](Value x, Value) {
         return concatenate({x, constant(x.builder(), Tensor::zeros({Dtype::kF32, {kN, 1, 6}}))},
                            1);
       }},
      {"a value made of what repeats itself",
       [](Value x, Value w) {
         const Value table = broadcast(reshape(w, {1, 6, 6}), {kN, 6, 6});
         return matmul(x, tanh(table * table));
       }},
      {"cumulative_sum over another axis", [](Value x, Value) { return cumulative_sum(x, 1); }},
      {"each example's own row",
       [](Value x, Value) {
         const Value best = argmax(x, 2);  // [5, 4]
         return gather(x, best, 1);
       }},
      {"a barrier of an example and a weight",
       [](Value x, Value w) {
         const std::vector<Value> both = barrier(std::vector<Value>{x, w});
         return linear(both[0], both[1]);
       }},
      {"one result", [](Value x, Value) {
         return sum(reshape(x, {kN, 24}), 1);
       }}};
  for (const auto& [name, code] : cases) {
    const Function f = batch_of(code);
    const Axes axes{std::nullopt, 0};
    const Proof proof = prove(f, axes, kN);
    EXPECT_EQ(proof.refused, "") << name << "\n" << short_text(f);
    if (proof.function) expect_rows(f, *proof.function, axes, kN, {}, name);
  }
}

TEST(Unbatch, RefusesWhatMixesExamplesAndNamesIt) {
  const std::vector<UnbatchCode> all{
      [](Value x, Value) { return softmax(x, 0); },
      [](Value x, Value) { return x - expand_axis(sum(x, 0), x.shape(), 0); },
      [](Value x, Value) {
        return sum(reshape(x, {kN * 4, 6}), 0);
      },
      [](Value x, Value) { return cumulative_sum(x, 0); },
      [](Value x, Value) {
        return reshape(reshape(x, {2, 2, 6, kN}), {kN, 24}) * 2.0;
      },
      [](Value x, Value) {
        const Value rows = reshape(x, {kN, 24});
        return matmul(rows, rows, false, true);
      },
      [](Value x, Value) { return slice(x, 0, 1, 3); },
      [](Value x, Value) {
        return slice(reshape(transpose(reshape(x, {kN, 24}), {1, 0}), {kN * 24}), {0}, {kN * 24},
                     {24});
      },
      [](Value x, Value) {
        return concatenate({slice(x, 0, 1, kN), slice(x, 0, 0, 1)}, 0);
      },
      [](Value x, Value) {
        return concatenate({x, x}, 0);
      },
      [](Value x, Value) {
        return pad(x, {1, 0, 0}, {0, 0, 0}, {0, 0, 0});
      },
      [](Value x, Value) {
        return pad(x, {0, 0, 0}, {kN, 0, 0}, {0, 0, 0});
      },
      [](Value x, Value) {
        return pad(x, {0, 0, 0}, {0, 0, 0}, {kN, 0, 0});
      },
      [](Value x, Value) {
        return gather(x, iota(x.builder(), kN), 0);
      },  // Each example chooses a row of all of them.
      [](Value x, Value) {
        return gather(turned(x), argmax(reshape(x, {kN, 24}), 1), 0);
      },
      [](Value x, Value) { return x * cast(argmax(reshape(x, {kN * 24}), 0), Dtype::kF32); },
      [](Value x, Value) {
        return x * expand_axis(expand_axis(cast(iota(x.builder(), kN), Dtype::kF32), {kN, 4}, 1),
                               {kN, 4, 6}, 2);
      },
      [](Value x, Value w) {
        const Value v = reshape(slice(w, 0, 0, 1), {6});
        return batch_norm(reshape(x, {kN * 4, 6}), v, v, v, v, 0.1).y;
      },  // Head h of the 10 queries belongs to example h % 5, and reads the keys of head h / 2.
      [](Value x, Value) {
        const Value queries = reshape(turned(reshape(x, {kN, 2, 12})), {2 * kN, 3, 4});
        const Value keys = slice(reshape(x, {kN, 6, 4}), 1, 0, 3);
        const Value y = scaled_dot_product_attention(queries, keys, keys);
        return turned(reshape(y, {2, kN, 12}));
      },
      [](Value, Value w) { return w; },
      [](Value x, Value) {
        return reshape(x, {kN * 4, 6});
      }};
  for (const UnbatchCode& code : all) {
    const Function f = batch_of(code);
    const Proof proof = prove(f, {std::nullopt, 0}, kN);
    EXPECT_FALSE(proof.function) << short_text(f);
    expect_message(proof.refused);
  }
}

// Of one example's channels there are as many groups as are its own.
TEST(Unbatch, GroupsOfChannelsAreThoseOfOneExample) {
  constexpr std::int64_t kTwo = 2;
  const Type rows{Dtype::kF32, {kTwo, 6}};
  for (const std::int64_t groups : {2, 4, 6}) {
    const Function f =
        trace("f", {{"x", rows}, {"gamma", rows}, {"beta", rows}}, [&](std::span<const Value> in) {
          const Value y = group_norm(reshape(in[0], {1, 12}), groups, reshape(in[1], {12}),
                                     reshape(in[2], {12}));
          return std::vector<Value>{reshape(y, {kTwo, 6})};
        });
    const Proof proof = prove(f, {0, 0, 0}, kTwo);
    EXPECT_EQ(proof.refused, "") << groups;
    if (proof.function)
      expect_rows(f, *proof.function, {0, 0, 0}, kTwo, {}, std::to_string(groups));
  }
}

TEST(Unbatch, LeavesNothingOfTheBatch) {
  const Function f = batch_of([](Value x, Value w) { return relu(linear(x, w)); });
  const Function one = unbatch(f, {std::nullopt, 0}, kN);
  EXPECT_EQ(to_string(one.inputs()[1].type), "f32[4, 6]");
  EXPECT_EQ(to_string(one.type(one.outputs()[0].value)), "f32[4, 6]");
  EXPECT_EQ(one.outputs()[0].name, "y");
}

// vmap repeats it along the first dimension. The last has the same size by chance.
TEST(Unbatch, OfWhatIsSharedRemovesTheFirstDimension) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {kN, 6}}}}, [](std::span<const Value> in) {
    const Value zeros = constant(in[0].builder(), Tensor::zeros({Dtype::kF32, {kN, 2, kN}}));
    return std::vector<Value>{in[0] + 1.0, zeros};
  });
  const Function one = unbatch(f, {0}, kN);
  EXPECT_EQ(to_string(one.type(one.outputs()[1].value)), "f32[2, 5]");
}

TEST(Unbatch, SaysWhatDoesNotFit) {
  const Function f = batch_of([](Value x, Value) { return x; });
  const auto refused = [&](const Axes& axes, std::int64_t size) {
    expect_refused(ErrorCode::kInvalidArgument, [&] { unbatch(f, axes, size); });
  };
  refused({0}, kN);
  refused({0, 0, 0}, kN);
  for (const std::int64_t size : {-5, 0, 1, 4, 9, 25}) refused({std::nullopt, 0}, size);
  refused({std::nullopt, 0}, 3);
}

}  // namespace
}  // namespace limpid::laws
