#include "limpid/inspect/summary.h"

#include <gtest/gtest.h>

#include <functional>

#include "limpid/core/error.h"
#include "limpid/core/number_text.h"
#include "limpid/data/standardize.h"
#include "limpid/function/builder.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/barrier.h"
#include "limpid/ops/ops.h"

namespace limpid {
namespace {

// Parameters of the right types; their values do not matter.
Params zeros_for(const Function& f) {
  Params params;
  for (const Input& i : f.inputs())
    if (i.name != "x" && i.name != "tokens") params.set(i.name, Tensor::zeros(i.type));
  return params;
}

Summary summary_of(std::vector<std::int64_t> sizes, std::int64_t batch) {
  const Function f = nn::Mlp{std::move(sizes)}.function();
  return summarize(f, zeros_for(f), batch);
}

TEST(Summary, OfTheDigitsNetwork) {
  const Summary s = summary_of({784, 256, 128, 10}, 32);
  EXPECT_EQ(s.parameters, 235'146);
  EXPECT_EQ(s.trainable, 235'146);
  EXPECT_EQ(s.multiply_adds, 32 * (784 * 256 + 256 * 128 + 128 * 10));
  EXPECT_EQ(s.input_bytes, 32 * 784 * 4);
  EXPECT_EQ(s.forward_bytes, 32 * 4 * (256 + 256 + 128 + 128 + 10));
  EXPECT_EQ(s.parameter_bytes, 235'146 * 4);
  EXPECT_EQ(to_text(s),
            "mlp at a batch of 32\n"
            "\n"
            "layer     op      output     parameters  multiply-adds\n"
            "x         input   (32, 784)\n"
            "layers.0  linear  (32, 256)     200,960      6,422,528\n"
            "layers.0  relu    (32, 256)\n"
            "layers.1  linear  (32, 128)      32,896      1,048,576\n"
            "layers.1  relu    (32, 128)\n"
            "layers.2  linear  (32, 10)        1,290         40,960\n"
            "total                           235,146      7,512,064\n"
            "\n"
            "parameters        235,146\n"
            "trainable         235,146\n"
            "multiply-adds      7.51 M\n"
            "input size      100.35 kB\n"
            "forward size     99.58 kB\n"
            "parameter size  940.58 kB\n");
}

TEST(Summary, DrawsARepeatedBlockOnce) {
  const nn::Gpt net{.vocabulary = 65, .layers = 3};
  const Function f = net.function();
  const Summary s = summarize(f, zeros_for(f), 2);
  const std::string text = to_text(s);
  // Each has 4 * 128 * 128 + 2 * 128 * 512 + 2 * 256 parameters.
  EXPECT_NE(text.find("\n\u250c layers.0 to layers.2 "), std::string::npos) << text;
  EXPECT_NE(text.find(" 3 times "), std::string::npos) << text;
  EXPECT_NE(text.find(" 591,360 "), std::string::npos) << text;
  EXPECT_EQ(text.find("layers.1"), std::string::npos) << text;
  std::size_t joins = 0;
  for (std::size_t at = 0; (at = text.find("\n\u251c +", at)) != std::string::npos; ++at) ++joins;
  EXPECT_EQ(joins, 2) << text;
  // All rows are there, for whoever reads them one by one.
  EXPECT_EQ(std::count_if(s.rows.begin(), s.rows.end(),
                          [](const SummaryRow& row) { return row.layer == "layers.1.mlp"; }),
            1);
}

// Of a block of each name after another, those that are drawn as one, by their first and last.
std::string drawn(const std::vector<std::string>& names,
                  const std::function<Value(Value, std::size_t)>& block) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {4}}}}, [&](std::span<const Value> in) {
    Value x = in[0];
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Builder::Scope scope(x.builder(), names[i]);
      x = block(x, i);
    }
    return std::vector<Value>{x};
  });
  const std::string text = to_text(summarize(f, {})), corner = "\n\u250c ";
  std::string all;
  for (std::size_t at = 0; (at = text.find(corner, at)) != std::string::npos;) {
    at += corner.size();
    all += (all.empty() ? "" : ", ") + text.substr(at, text.find("  ", at) - at);
  }
  return all;
}

Value relus(Value x, int count) {
  for (int i = 0; i < count; ++i) x = relu(x);
  return x;
}

TEST(Summary, DrawsEqualBlocksOfNumbersThatFollowEachOtherOnce) {
  const auto of_six = [](Value x, std::size_t) { return relus(x, 6); };
  EXPECT_EQ(drawn({"encoder.0", "encoder.1", "decoder.0", "decoder.1", "decoder.2"},
                  [](Value x, std::size_t i) { return i < 2 ? relus(x, 6) : tanh(relus(x, 5)); }),
            "encoder.0 to encoder.1, decoder.0 to decoder.2");
  EXPECT_EQ(drawn({"layers.0", "layers.1", "layers.2"},
                  [](Value x, std::size_t i) {
                    const Value y = relus(x, 5) * number_like(x, 2);
                    return i < 2 ? y : relu(y);
                  }),
            "layers.0 to layers.1");
  EXPECT_EQ(drawn({"layers.0", "layers.1", "layers.3", "layers.2"}, of_six),
            "layers.0 to layers.1");
  for (const char* last : {"decoder.1", "decoder.2"})
    EXPECT_EQ(drawn({"encoder.0", "encoder.1", last}, of_six), "encoder.0 to encoder.1");
  // Five ops are as quick to read as the block would be.
  EXPECT_EQ(drawn({"layers.0", "layers.1"}, [](Value x, std::size_t) { return relus(x, 5); }), "");
  // "1st" begins with a number and is none.
  EXPECT_EQ(drawn({"part.0th", "part.1st"}, of_six), "");
}

// Only the add of the block itself is drawn as a join.
TEST(Summary, NamesTheAddsOfLayersWithinARepeatedBlock) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {4}}}}, [&](std::span<const Value> in) {
    Value x = in[0];
    for (const char* name : {"layers.0", "layers.1"}) {
      const Builder::Scope block(x.builder(), name);
      Value y = x;
      for (int i = 0; i < 5; ++i) y = relu(y);
      {
        const Builder::Scope inner(x.builder(), "shift");
        y = y + y;
      }
      x = x + y;
    }
    return std::vector<Value>{x};
  });
  const std::string text = to_text(summarize(f, {}));
  EXPECT_NE(text.find("\n\u2502 shift "), std::string::npos) << text;
  const std::size_t joins = text.find("\n\u251c +");
  EXPECT_NE(joins, std::string::npos) << text;
  EXPECT_EQ(text.find("\n\u251c +", joins + 1), std::string::npos) << text;
}

// Each is like the first but for one op, one shape, one name or the products of one op.
TEST(Summary, DrawsBlocksOneByOneThatDifferInAnything) {
  const std::vector<Input> inputs{{"x", {Dtype::kF32, {4, 4}}}, {"w", {Dtype::kF32, {4, 8}}}};
  Value wide;
  const auto drawn = [&](const std::function<Value(Value)>& first, const char* name_of_first,
                         const std::function<Value(Value)>& second, const char* name_of_second) {
    const Function f = trace("f", inputs, [&](std::span<const Value> in) {
      Value x = in[0];
      wide = in[1];
      for (int number = 0; number < 2; ++number) {
        const Builder::Scope scope(x.builder(), "layers." + std::to_string(number));
        for (int i = 0; i < 5; ++i) x = relu(x);
        const Builder::Scope inner(x.builder(), number == 0 ? name_of_first : name_of_second);
        x = number == 0 ? first(x) : second(x);
      }
      return std::vector<Value>{x};
    });
    return to_text(summarize(f, {})).find("layers.0 to layers.1") != std::string::npos;
  };
  const auto row = [](Value x) { return slice(x, 0, 0, 2); };
  const auto half = [](Value x) { return slice(x, 0, 0, 1); };
  const auto product = [](Value x) { return matmul(x, x); };
  EXPECT_TRUE(drawn(abs, "a", abs, "a"));
  EXPECT_FALSE(drawn(abs, "a", relu, "a"));
  EXPECT_FALSE(drawn(abs, "a", abs, "b"));
  EXPECT_TRUE(drawn(product, "a", product, "a"));
  EXPECT_FALSE(drawn(row, "a", half, "a"));
  const auto of_four = [](Value x) { return matmul(x, x, false, true); };
  const auto of_eight = [&](Value) { return matmul(wide, wide, false, true); };
  EXPECT_TRUE(drawn(of_eight, "a", of_eight, "a"));
  EXPECT_FALSE(drawn(of_four, "a", of_eight, "a"));
}

TEST(Summary, LeavesOutWhatOnlyMovesElementsInABlock) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {4, 4}}}}, [&](std::span<const Value> in) {
    Value x = in[0];
    for (int number = 0; number < 2; ++number) {
      const Builder::Scope scope(x.builder(), "layers." + std::to_string(number));
      x = transpose(reshape(x, {2, 2, 4}), {1, 0, 2});
      x = concatenate({slice(reshape(x, {4, 4}), 0, 0, 2), slice(reshape(x, {4, 4}), 0, 2, 4)}, 0);
      x = matmul(relu(x), x);
    }
    return std::vector<Value>{x};
  });
  const std::string text = to_text(summarize(f, {}, 3));
  EXPECT_NE(text.find("\n\u250c layers.0 to layers.1  2 times"), std::string::npos) << text;
  EXPECT_NE(text.find(" 384\n\u2502 "), std::string::npos) << text;  // 2 * 3 * 4 * 4 * 4
  for (const char* op : {"reshape", "transpose", "slice", "concatenate"})
    EXPECT_EQ(text.find(op), std::string::npos) << text;
}

// The second block takes the weight of the first: twice the first would count it twice.
TEST(Summary, DrawsBlocksThatShareTheirWeightsOneByOne) {
  const std::vector<Input> inputs{{"w", {Dtype::kF32, {4, 4}}}, {"x", {Dtype::kF32, {4}}}};
  const Function f = trace("f", inputs, [&](std::span<const Value> in) {
    Value x = in[1];
    for (int number = 0; number < 2; ++number) {
      const Builder::Scope scope(x.builder(), "layers." + std::to_string(number));
      x = linear(x, in[0]);
      for (int i = 0; i < 5; ++i) x = relu(x);
    }
    return std::vector<Value>{x};
  });
  const std::string text = to_text(summarize(f, zeros_for(f)));
  EXPECT_EQ(text.find("layers.0 to "), std::string::npos) << text;
  EXPECT_NE(text.find("\nlayers.1"), std::string::npos) << text;
}

TEST(Summary, CountsTheParametersOfKnownNetworks) {
  EXPECT_EQ(summary_of({512, 2048}, 1).parameters, 1'050'624);
  EXPECT_EQ(summary_of({4096, 16384}, 1).parameters, 67'125'248);
  // 256 * 512 + 512 + 512 * 256 + 256 + 256 * 128 + 128 + 128 * 100 + 100
  EXPECT_EQ(summary_of({256, 512, 256, 128, 100}, 1).parameters, 308'708);
}

TEST(Summary, CountsATensorUsedTwiceOnce) {
  const Function f = trace("tied", {{"w", {Dtype::kF32, {3, 3}}}, {"x", {Dtype::kF32, {3}}}},
                           [](std::span<const Value> in) {
                             return std::vector<Value>{linear(linear(in[1], in[0]), in[0])};
                           });
  const Summary s = summarize(f, zeros_for(f), 2);
  EXPECT_EQ(s.parameters, 9);
  EXPECT_EQ(s.rows[0].parameters, 9);
  EXPECT_EQ(s.rows[1].parameters, 0);
  EXPECT_EQ(s.multiply_adds, 2 * (9 + 9));
}

TEST(Summary, AddsUpTheMemoryOfAllResultsOfAnOp) {
  const std::vector<Input> inputs{{"x", {Dtype::kF32, {3}}}, {"tokens", {Dtype::kF32, {5}}}};
  const Function f = trace("f", inputs, [](std::span<const Value> in) { return barrier(in); });
  EXPECT_EQ(summarize(f, {}, 2).forward_bytes, 2 * (3 + 5) * 4);
  EXPECT_EQ(summarize(f, {}, 2).input_bytes, 2 * (3 + 5) * 4);
}

TEST(Summary, DoesNotTrainIntegers) {
  const Function f =
      trace("f", {{"steps", {Dtype::kI64, {}}}, {"x", {Dtype::kF32, {3}}}},
            [](std::span<const Value> in) { return std::vector<Value>{relu(in[1])}; });
  const Summary s = summarize(f, zeros_for(f), 1);
  EXPECT_EQ(s.parameters, 1);
  EXPECT_EQ(s.trainable, 0);
}

TEST(Summary, HasTheBytesOfEachDtype) {
  const std::vector<Input> inputs{{"a", {Dtype::kF32, {3}}},
                                  {"b", {Dtype::kI8, {5}}},
                                  {"c", {Dtype::kF32, {1}}},
                                  {"x", {Dtype::kF32, {3}}}};
  const Function f = trace(
      "f", inputs, [](std::span<const Value> in) { return std::vector<Value>{in[0] * in[3]}; });
  const std::string text = to_text(summarize(f, zeros_for(f)));
  EXPECT_NE(text.find("\n  in f32        16 B\n  in i8          5 B\n"), std::string::npos) << text;
}

TEST(Summary, CountsWhatIsMeasuredApart) {
  nn::Mlp net{{3, 5, 2}};
  net.norm = nn::MlpNorm::kBatch;
  const Model trained{net.function(), zeros_for(net.function()), {}};
  const Affine columns{Tensor::zeros({Dtype::kF32, {3}}), Tensor::zeros({Dtype::kF32, {3}})};
  const Model model = with_standardization(trained, {columns, {}});
  const Summary s = summarize(model.function, model.params);
  EXPECT_EQ(s.trainable, 3 * 5 + 5 + 5 + 5 + 5 * 2 + 2);
  EXPECT_EQ(s.statistics, 5 + 5 + 3 + 3);
  EXPECT_EQ(s.parameters, s.trainable + s.statistics);
  EXPECT_NE(to_text(s).find("\ntrainable          42\nstatistics         16\n"), std::string::npos)
      << to_text(s);
  EXPECT_EQ(to_text(summary_of({3, 2}, 1)).find("statistics"), std::string::npos);
}

// Each of 2 tokens is multiplied with 8 keys and adds up 8 values, in 3 heads of 4 numbers.
TEST(Summary, CountsTheProductsOfCachedAttention) {
  const std::vector<Input> inputs{{"q", {Dtype::kF32, {3, 2, 4}}},
                                  {"keys", {Dtype::kF32, {3, 4, 8}}},
                                  {"values", {Dtype::kF32, {3, 8, 4}}},
                                  {"position", {Dtype::kI32, {}}}};
  const Function f = trace("f", inputs, [](std::span<const Value> in) {
    return std::vector<Value>{cached_attention(in[0], in[1], in[2], in[3])};
  });
  EXPECT_GE(summarize(f, {}, 5).multiply_adds, 5 * 3 * 2 * 8 * (4 + 4));
}

TEST(Summary, WritesCountsInTheLargestUnitThatTheyReach) {
  const auto size_of = [](std::int64_t bytes) {
    const Params params{{"w", Tensor::zeros({Dtype::kU8, {bytes}})}};
    const Function f = trace("f", {{"w", {Dtype::kU8, {bytes}}}},
                             [](std::span<const Value> in) { return std::vector<Value>{in[0]}; });
    const std::string text = to_text(summarize(f, params));
    const std::string label = "parameter size";
    std::string size = text.substr(text.find(label) + label.size());
    return size.substr(size.find_first_not_of(' '));
  };
  EXPECT_EQ(size_of(999), "999 B\n");
  EXPECT_EQ(size_of(1'000), "1.00 kB\n");
  EXPECT_EQ(size_of(1'000'000), "1.00 MB\n");
  // 2^40 products of numbers that nobody allocates.
  const Type large{Dtype::kF32, {1 << 10, 1 << 20}};
  const Function f = trace("f", {{"x", large}}, [](std::span<const Value> in) {
    return std::vector<Value>{matmul(in[0], transpose(in[0], {1, 0}))};
  });
  EXPECT_NE(to_text(summarize(f, {})).find(" 1099.51 G\n"), std::string::npos)
      << to_text(summarize(f, {}));
}

// A Function too large to run: its counts saturate at the largest number.
TEST(Summary, CountsDoNotOverflow) {
  constexpr std::int64_t kSide = std::int64_t{1} << 20;
  const Function f =
      trace("huge", {{"x", {Dtype::kF32, {kSide, kSide}}}},
            [](std::span<const Value> in) { return std::vector<Value>{matmul(in[0], in[0])}; });
  const Summary s = summarize(f, {}, 1 << 10);
  EXPECT_EQ(s.multiply_adds, INT64_MAX);
  const Function twice = trace("twice", f.inputs(), [](std::span<const Value> in) {
    return std::vector<Value>{matmul(matmul(in[0], in[0]), in[0])};
  });
  EXPECT_EQ(summarize(twice, {}, 1 << 10).multiply_adds, INT64_MAX);
  EXPECT_THROW(summarize(f, {}, INT64_MAX), Error);
  EXPECT_THROW(summarize(f, {}, 0), Error);
}

// 784-256-10 in training, at batch size 32, up to its loss.
TEST(ShapeTrace, OfATrainingFunction) {
  const std::vector<Input> inputs = {{"layers.0.weight", {Dtype::kF32, {256, 784}}},
                                     {"layers.0.bias", {Dtype::kF32, {256}}},
                                     {"layers.1.weight", {Dtype::kF32, {10, 256}}},
                                     {"layers.1.bias", {Dtype::kF32, {10}}},
                                     {"x", {Dtype::kF32, {32, 784}}},
                                     {"labels", {Dtype::kI32, {32}}},
                                     {"key", {Dtype::kI64, {}}}};
  const Function f = trace("training", inputs, [](std::span<const Value> in) {
    const Value hidden = dropout(relu(linear(in[4], in[0], in[1])), in[6], 0.2);
    const Value logits = linear(hidden, in[2], in[3]);
    return std::vector<Value>{softmax(logits), mean(softmax_cross_entropy(logits, in[5]))};
  });
  Params params;
  for (std::size_t i = 0; i < 4; ++i) params.set(inputs[i].name, Tensor::zeros(inputs[i].type));
  const std::vector<ShapeRow> rows = shape_trace(f, params);

  const auto row = [&](std::string_view op, std::size_t nth = 0) {
    for (const ShapeRow& r : rows)
      if (r.op == op && nth-- == 0) return r;
    ADD_FAILURE() << "no op " << op;
    return ShapeRow{};
  };
  EXPECT_EQ(rows.front().op, "input");
  EXPECT_EQ(rows.front().value, "%x");
  EXPECT_EQ(rows.front().output.shape, (Shape{32, 784}));
  EXPECT_EQ(row("linear").output.shape, (Shape{32, 256}));
  EXPECT_EQ(row("relu").output.shape, (Shape{32, 256}));
  EXPECT_EQ(row("dropout").output.shape, (Shape{32, 256}));
  EXPECT_EQ(row("linear", 1).output.shape, (Shape{32, 10}));
  EXPECT_EQ(row("softmax").output.shape, (Shape{32, 10}));
  EXPECT_EQ(row("softmax_cross_entropy").output.shape, (Shape{32}));
  EXPECT_EQ(rows.back().output.shape, Shape{});

  EXPECT_EQ(row("linear").parameters, 784 * 256 + 256);
  EXPECT_EQ(row("linear").flops, 32 * (2 * 784 * 256 + 256));
  EXPECT_EQ(row("linear").note, "layers.0.weight (256, 784), layers.0.bias (256)");
  EXPECT_EQ(row("dropout").note, "rate = 0.2");

  // The total of all FLOPs is in the last line.
  std::int64_t flops = 0;
  for (const ShapeRow& r : rows) flops += r.flops;
  const std::string text = to_text(rows);
  const std::string last = text.substr(text.rfind("\ntotal") + 1);
  EXPECT_NE(last.find("203,530"), std::string::npos) << last;
  EXPECT_EQ(last.substr(last.rfind(' ') + 1), grouped(flops) + "\n") << last;
}

// What an op takes and costs stands beside its first result alone.
TEST(ShapeTrace, CountsAnOpOfSeveralResultsOnce) {
  const std::vector<Input> inputs{{"w", {Dtype::kF32, {2}}}, {"x", {Dtype::kF32, {3}}}};
  const Function f = trace("f", inputs, [](std::span<const Value> in) { return barrier(in); });
  const std::vector<ShapeRow> rows = shape_trace(f, {{"w", Tensor::zeros(inputs[0].type)}});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].parameters, 2);
  EXPECT_EQ(rows[1].note, "w (2)");
  EXPECT_EQ(rows[2].parameters, 0);
  EXPECT_EQ(rows[2].note, "");
}

TEST(ShapeTrace, NotesOtherDtypesThanF32AndNoLongLists) {
  const std::vector<Input> inputs{{"w", {Dtype::kBf16, {3, 2}}}, {"x", {Dtype::kF32, {2}}}};
  const Function f = trace("f", inputs, [](std::span<const Value> in) {
    const Value five = constant(in[0].builder(), Tensor::zeros({Dtype::kF32, {5}}));
    return std::vector<Value>{linear(in[1], in[0]), five};
  });
  const std::vector<ShapeRow> rows = shape_trace(f, {{"w", Tensor::zeros(inputs[0].type)}});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].note, "value = f32[5] ...");
  EXPECT_EQ(rows[2].note, "w bf16 (3, 2)");
}

// Those of the last op that the code writes.
std::int64_t flops_of(const std::vector<Type>& types,
                      const std::function<Value(std::span<const Value>)>& code) {
  std::vector<Input> inputs;
  for (const Type& type : types) inputs.push_back({"x" + std::to_string(inputs.size()), type});
  const Function f =
      trace("f", inputs, [&](std::span<const Value> in) { return std::vector<Value>{code(in)}; });
  return shape_trace(f, {}).back().flops;
}

// A multiply-add is two operations, and a softmax five for each of its terms.
TEST(Flops, OfBatchesOfProductsAndOfAttention) {
  EXPECT_EQ(flops_of({{Dtype::kF32, {7, 3, 4}}, {Dtype::kF32, {7, 4, 5}}},
                     [](auto in) { return matmul(in[0], in[1]); }),
            7 * 2 * 3 * 4 * 5);
  // Four heads that share two of keys, in two examples.
  const auto attention = [](std::int64_t queries, std::int64_t keys, bool causal) {
    const std::int64_t flops =
        flops_of({{Dtype::kF32, {2, 4, queries, 6}},
                  {Dtype::kF32, {2, 2, keys, 6}},
                  {Dtype::kF32, {2, 2, keys, 7}}},
                 [&](auto in) {
                   return scaled_dot_product_attention(in[0], in[1], in[2], {.causal = causal});
                 });
    EXPECT_EQ(flops % (2 * 4 * (2 * (6 + 7) + 5)), 0);
    return flops / (2 * 4 * (2 * (6 + 7) + 5));  // pairs of a query and a key
  };
  EXPECT_EQ(attention(3, 5, false), 15);
  EXPECT_EQ(attention(3, 5, true), 3 + 4 + 5);
  EXPECT_EQ(attention(5, 3, true), 0 + 0 + 1 + 2 + 3);
  // As if every key of the cache were visible.
  EXPECT_EQ(flops_of({{Dtype::kF32, {2, 4, 3, 6}},
                      {Dtype::kF32, {2, 2, 6, 5}},
                      {Dtype::kF32, {2, 2, 5, 7}},
                      {Dtype::kI32, {2}}},
                     [](auto in) { return cached_attention(in[0], in[1], in[2], in[3]); }),
            15 * 2 * 4 * (2 * (6 + 7) + 5));
}

// What a table of FLOPs adds up, op by op.
TEST(Flops, OfEachKindOfOp) {
  const Type table{Dtype::kF32, {4, 3}}, places{Dtype::kI32, {2}}, rows{Dtype::kF32, {2, 3}};
  EXPECT_EQ(flops_of({table}, [](auto in) { return exp(in[0]); }), 4 * 3);
  EXPECT_EQ(flops_of({table}, [](auto in) { return transpose(in[0], {1, 0}); }), 0);
  EXPECT_EQ(flops_of({table}, [](auto in) { return sum(in[0], 1); }), 4 * 3);
  EXPECT_EQ(flops_of({table}, [](auto in) { return prod(in[0], 0); }), 4 * 3);
  EXPECT_EQ(flops_of({table, places}, [](auto in) { return gather(in[0], in[1]); }), 0);
  EXPECT_EQ(flops_of({places, rows}, [](auto in) { return scatter_add(in[0], in[1], 4); }), 2 * 3);
  EXPECT_EQ(flops_of({table, places, rows},
                     [](auto in) { return scatter(in[0], in[1], in[2], ScatterMode::kMultiply); }),
            2 * 3);
  // Three rounds for eight elements, and the first look.
  EXPECT_EQ(flops_of({{Dtype::kF32, {5, 8}}}, [](auto in) { return argsort(in[0], 1); }),
            5 * 8 * 4);
  // max, minus, exp, sum, one quotient a row, times.
  EXPECT_EQ(flops_of({table}, [](auto in) { return softmax(in[0]); }), 5 * 4 * 3 + 4);
  // More than a number holds.
  const Type large{Dtype::kF32, {std::int64_t{1} << 28, std::int64_t{1} << 28}};
  EXPECT_EQ(flops_of({large, {Dtype::kF32, {std::int64_t{1} << 28}}},
                     [](auto in) { return linear(in[0], in[0], in[1]); }),
            INT64_MAX);
}

}  // namespace
}  // namespace limpid
