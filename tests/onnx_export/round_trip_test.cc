// ONNX export and import: the imported model gives the same numbers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>

#include "limpid/formats/file.h"
#include "limpid/formats/model.h"
#include "limpid/formats/onnx/example_model.h"
#include "limpid/formats/onnx/export.h"
#include "limpid/formats/onnx/onnx.h"
#include "limpid/function/text.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/inspect/op_example.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/quantize.h"
#include "limpid/transforms/vmap.h"
#include "tests/formats/helpers.h"
#include "tests/onnx_export/cases.h"
#include "tests/onnx_export/difference.h"

namespace limpid::testing {
namespace {

constexpr double kTolerance = 1e-5;

// The outputs of the model, read again.
std::vector<Tensor> read_and_run(const Case& c) {
  onnx::ImportOptions options;
  options.dimensions["N"] = kBatch;
  const onnx::Imported read =
      onnx::parse_onnx(onnx::serialize_onnx(c.function, c.params, c.options), options);
  std::vector<Tensor> inputs;
  for (const Input& in : read.function.inputs()) {
    const Tensor* param = read.params.find(in.name);
    inputs.push_back(param ? *param : c.inputs[c.model.input_index(in.name)]);
  }
  return compile(read.function)(inputs);
}

// The checks of each case, and their counts.
struct Tally {
  int same_bits = 0;
  double most = 0;
};

void try_case(const Case& c, Tally& tally) {
  SCOPED_TRACE(c.name);
  try {
    const std::vector<Tensor> got = read_and_run(c), expected = c.expected();
    ASSERT_EQ(got.size(), expected.size());
    double most = 0;
    bool same = true;
    for (std::size_t i = 0; i < got.size(); ++i) {
      most = std::max(most, difference(got[i], expected[i]));
      same = same && got[i].same_bits(expected[i]);
    }
    EXPECT_LE(most, kTolerance);
    tally.same_bits += same;
    tally.most = std::max(tally.most, most);
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
}

void try_cases(const std::vector<Case>& cases) {
  Tally tally;
  for (const Case& c : cases) try_case(c, tally);
  fmt::print("{} of {} with the same bits, the others differ by {:.2g} at most\n", tally.same_bits,
             cases.size(), tally.most);
}

// 8-bit weights stay as they are and products with them become quantized_linear again. So bits,
// size and metadata survive the round trip, with dynamic and with fixed batch size.
TEST(OnnxRoundTrip, OfAModelKeepsWeightsOf8BitsAndTheConfig) {
  const nn::Mlp net = nn::mlp({40, 30, 5}, relu);
  const Quantized small = quantize(net.function(), net.init(Key(1)), {.to = Dtype::kI8});
  const Model model{small.function, small.params, R"({"tokenizer": {"kind": "bytes"}})"};
  const TemporaryFolder folder;
  save_model(folder / "m", model);
  for (const auto& batch : {std::optional<std::int64_t>(), std::optional<std::int64_t>(1)}) {
    onnx::ExportOptions options{.metadata = {{onnx::kConfigKey, model.config}}};
    Function written = model.function;
    if (batch) {
      std::vector<std::optional<std::int64_t>> axes(written.inputs().size());
      axes[written.input_index("x")] = 0;
      written = vmap(written, axes, *batch);
    } else {
      options.batch = "N";
    }
    onnx::save_onnx(folder / "m.onnx", written, model.params, options);
    const Model back = onnx::load_onnx_model(folder / "m.onnx");
    EXPECT_EQ(back.note, "");
    EXPECT_EQ(back.config, model.config);
    for (const auto& [name, tensor] : model.params)
      EXPECT_TRUE(back.params.at(name).same_bits(tensor)) << name;
    const Tensor x = random_tensor({Dtype::kF32, {9, 40}}, Key(2));
    EXPECT_EQ(hash_of_numbers(predict(back, x)), hash_of_numbers(predict(model, x)));
    save_model(folder / "back", back);
    EXPECT_LT(std::filesystem::file_size(folder / "back"),
              std::filesystem::file_size(folder / "m") * 11 / 10);
  }
}

// What a function gives, and what it gives after it was written and read.
void expect_alike(const std::vector<Input>& inputs, const std::vector<Tensor>& values,
                  double tolerance,
                  const std::function<std::vector<Value>(std::span<const Value>)>& body) {
  const Function f = trace("f", inputs, body);
  const onnx::Imported read = onnx::parse_onnx(onnx::serialize_onnx(f));
  const std::vector<Tensor> got = compile(read.function)(values), expected = compile(f)(values);
  for (std::size_t o = 0; o < expected.size(); ++o) {
    const std::vector<double> a = numbers_of(got[o]), b = numbers_of(expected[o]);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(b[i])) {
        EXPECT_TRUE(std::isnan(a[i])) << o << " " << i;
      } else if (!std::isfinite(b[i])) {
        EXPECT_EQ(a[i], b[i]) << o << " " << i;
      } else {
        EXPECT_NEAR(a[i], b[i], tolerance * std::abs(b[i])) << o << " " << i;
      }
    }
  }
}

// Each number by its own magnitude: tiny ones keep their digits, and large ones overflow where they
// did.
TEST(OnnxRoundTrip, OfTinyAndHugeNumbers) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from<float>(
      {12}, {1e-30f, -1e-12f, 1e-6f, -1e-4f, 0.3f, -0.7f, 20, -100, 100, 1e30f, kInf, -kInf});
  expect_alike({{"x", x.type()}}, {x}, 1e-6, [](std::span<const Value> in) {
    return std::vector<Value>{log1p(in[0]), expm1(in[0])};
  });
}

// Attributes of ONNX are f32; what f32 does not hold is written out.
TEST(OnnxRoundTrip, OfF64KeepsItsDigits) {
  const Tensor x = random_tensor({Dtype::kF64, {3, 5}}, Key(1), -2, 2);
  const Tensor gamma = random_tensor({Dtype::kF64, {5}}, Key(2), -2, 2);
  expect_alike({{"x", x.type()}, {"gamma", gamma.type()}}, {x, gamma}, 1e-12,
               [](std::span<const Value> in) {
                 return std::vector<Value>{
                     leaky_relu(in[0], 0.1),
                     elu(in[0], 0.3),
                     selu(in[0]),
                     hard_sigmoid(in[0]),
                     hard_swish(in[0]),
                     clamp(in[0], -0.1, 0.7),
                     layer_norm(in[0], in[1], in[1], 1e-5),
                     batch_norm_inference(in[0], in[1], in[1], in[1], in[1] * in[1], 0.1)};
               });
}

TEST(OnnxRoundTrip, OfNumbersThatAreNotTheUsualOnes) {
  const Tensor x = random_tensor({Dtype::kF32, {4, 3}}, Key(1), -2, 2);
  const Tensor c = random_tensor({Dtype::kF32, {3}}, Key(2), 0.5, 2);
  expect_alike({{"x", x.type()}, {"c", c.type()}}, {x, c}, 1e-5, [](std::span<const Value> in) {
    const Value &v = in[0], &n = in[1];
    return std::vector<Value>{leaky_relu(v, 0.3), elu(v, 2.5), layer_norm(v, n, n, 0.5),
                              batch_norm_inference(v, n, n, n, n, 0.5), rms_norm(v, n, 0.5)};
  });
}

// An index of no row reads zeros and writes nothing; ONNX counts from the end, or fails.
TEST(OnnxRoundTrip, OfIndicesThatNameNoRow) {
  const Tensor x = random_tensor({Dtype::kF32, {3, 2}}, Key(1));
  const Tensor updates = random_tensor({Dtype::kF32, {5, 2}}, Key(2));
  const Tensor rows = Tensor::from<std::int32_t>({5}, {-1, 3, 1, -7, 2});
  expect_alike({{"x", x.type()}, {"rows", rows.type()}, {"updates", updates.type()}},
               {x, rows, updates}, 0, [](std::span<const Value> in) {
                 return std::vector<Value>{gather(in[0], in[1]), scatter_add(in[1], in[2], 3),
                                           scatter(in[0], in[1], in[2])};
               });
}

// The quotient is 0, and all of the dividend is left; ONNX does not say.
TEST(OnnxRoundTrip, OfIntegersDividedByZero) {
  const Tensor x = Tensor::from<std::int32_t>({4}, {7, -7, 0, 8});
  const Tensor by = Tensor::from<std::int32_t>({4}, {0, 0, 0, -3});
  expect_alike({{"x", x.type()}, {"by", by.type()}}, {x, by}, 0, [](std::span<const Value> in) {
    return std::vector<Value>{in[0] / in[1], fmod(in[0], in[1])};
  });
}

// Operands that are both repeated are so in the result: their sum is not one of rows.
TEST(OnnxRoundTrip, OfOperandsThatAreBothRepeated) {
  const Tensor a = random_tensor({Dtype::kF32, {2}}, Key(1));
  const Tensor b = random_tensor({Dtype::kF32, {3, 1}}, Key(2));
  const Tensor c = random_tensor({Dtype::kF32, {}}, Key(3));
  expect_alike({{"a", a.type()}, {"b", b.type()}, {"c", c.type()}}, {a, b, c}, 0,
               [](std::span<const Value> in) {
                 const Value rows = broadcast(in[0], {3, 2});
                 return std::vector<Value>{rows + rows, broadcast(in[0], {4, 3, 2}) * in[1],
                                           broadcast(in[1], {3, 2}) - broadcast(in[2], {3, 2})};
               });
}

// Rows, numbers and extremes of nothing are defined here, though not in ONNX.
TEST(OnnxRoundTrip, OfNothing) {
  const Tensor none = Tensor::zeros({Dtype::kF32, {0, 2}}),
               whole = Tensor::zeros({Dtype::kI32, {0}});
  const Tensor rows = Tensor::from<std::int32_t>({2}, {0, -1});
  expect_alike({{"none", none.type()}, {"whole", whole.type()}, {"rows", rows.type()}},
               {none, whole, rows}, 0, [](std::span<const Value> in) {
                 return std::vector<Value>{gather(in[0], in[2]), reshape(in[0], {3, 0, 2}),
                                           max(in[0], 0),        min(in[0], 0),
                                           max(in[1], 0),        min(in[1], 0),
                                           max(in[0], 1)};
               });
}

// How many examples have no elements cannot be told from the elements.
TEST(OnnxRoundTrip, OfNothingInABatch) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {0, 2}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{reshape(in[0], {2, 0})};
  });
  const onnx::Imported read = onnx::parse_onnx(onnx::serialize_onnx(f, {}, {.batch = "N"}),
                                               {.dimensions = {{"N", 3}}, .known = {}});
  EXPECT_EQ(to_string(read.function.type(read.function.outputs()[0].value)), "f32[3, 2, 0]");
}

// Between the elements of an axis of one there is nothing.
TEST(OnnxRoundTrip, OfPadsBetweenElements) {
  const Tensor x = random_tensor({Dtype::kF32, {1, 3}}, Key(1));
  expect_alike({{"x", x.type()}}, {x}, 0, [](std::span<const Value> in) {
    return std::vector<Value>{pad(in[0], {1, 0}, {0, 2}, {2, 1}, 7)};
  });
}

TEST(OnnxRoundTrip, OfCastsBeyondASmallInteger) {
  const Tensor x = Tensor::from<float>({6}, {-1000, 1000, -128, 127, 255, -0.5f});
  expect_alike({{"x", x.type()}}, {x}, 0, [](std::span<const Value> in) {
    return std::vector<Value>{cast(in[0], Dtype::kI8), cast(in[0], Dtype::kU8)};
  });
}

TEST(OnnxRoundTrip, OfAttentionToValuesOfAnotherSizeThanItsKeys) {
  const Tensor queries = random_tensor({Dtype::kF32, {2, 3, 4}}, Key(1));
  const Tensor keys = random_tensor({Dtype::kF32, {2, 6, 4}}, Key(2));
  const Tensor values = random_tensor({Dtype::kF32, {2, 6, 5}}, Key(3), 1, 2);
  expect_alike({{"q", queries.type()}, {"k", keys.type()}, {"v", values.type()}},
               {queries, keys, values}, 1e-5, [](std::span<const Value> in) {
                 return std::vector<Value>{scaled_dot_product_attention(in[0], in[1], in[2])};
               });
}

TEST(OnnxRoundTrip, EveryExampleOfEveryOp) { try_cases(op_cases()); }
// Their gates come back in PyTorch's order, and their steps as the same scan.
TEST(OnnxRoundTrip, OfRecurrentLayersKeepsTheBits) {
  int tried = 0;
  for (const Case& c : model_cases())
    for (const char* kind : {"rnn", "lstm", "gru ", "recurrent"})
      if (c.name.find(kind) == 0) {
        const std::vector<Tensor> got = read_and_run(c), expected = c.expected();
        for (std::size_t i = 0; i < got.size(); ++i)
          EXPECT_TRUE(got[i].same_bits(expected[i])) << c.name;
        ++tried;
      }
  EXPECT_EQ(tried, 7);
}

TEST(OnnxRoundTrip, Models) { try_cases(model_cases()); }

// Attributes are f32 in the file: what rounds them to it is not the program around.
TEST(OnnxRoundTrip, TheRoundingModeOfTheProgramDoesNotShow) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {3}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{leaky_relu(in[0], 0.1), leaky_relu(in[0], 0.3), elu(in[0], 0.7)};
  });
  const TemporaryFolder folder;
  const auto all = [&] {
    std::vector<std::byte> bytes = onnx::serialize_onnx(f);
    onnx::save_onnx(folder / "f.onnx", f, {}, {});
    const Tensor file = read_file(folder / "f.onnx", 1 << 20);
    bytes.insert(bytes.end(), file.bytes().begin(), file.bytes().end());
    return std::pair(bytes, to_text(onnx::parse_onnx(onnx::serialize_onnx(f)).function));
  };
  const auto expected = all();
  for (const int mode : {FE_UPWARD, FE_DOWNWARD}) {
    std::fesetround(mode);
    const auto got = all();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(got, expected) << mode;
  }
}

}  // namespace
}  // namespace limpid::testing
