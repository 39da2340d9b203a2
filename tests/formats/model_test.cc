#include "limpid/formats/model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "limpid/compile/thread_pool.h"
#include "limpid/core/key.h"
#include "limpid/formats/file.h"
#include "limpid/formats/safetensors.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/inspect/op_example.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/quantize.h"
#include "tests/formats/helpers.h"
#include "tests/memory_limit.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using testing::TemporaryFolder;

Model small_model() {
  const nn::Mlp net{{5, 7, 3}};
  return {net.function(), net.init(Key(1)), net.config()};
}

Safetensors file_of(const Model& model) {
  return {model.params, {{"limpid.format", "1"}, {"limpid.function", to_text(model.function)}}};
}

// Of a file with this content.
void expect_load_error(ErrorCode code, const Safetensors& content) {
  const TemporaryFolder folder;
  const auto path = folder / "broken.safetensors";
  save_safetensors(path, content);
  expect_refused(code, [&] { load_model(path); });
}

TEST(Model, ComesBackAsItWas) {
  const TemporaryFolder folder;
  const Model model = small_model();
  save_model(folder / "m", model);
  const Model back = load_model(folder / "m");
  EXPECT_EQ(back.function, model.function);
  EXPECT_EQ(back.config, model.config);
  EXPECT_EQ(back.params.names(), model.params.names());
  for (const auto& [name, tensor] : model.params)
    EXPECT_TRUE(back.params.at(name).same_bits(tensor)) << name;
  EXPECT_EQ(data_input(back).name, "x");
}

TEST(Model, GivesTheSameFileForTheSameModel) {
  const TemporaryFolder folder;
  save_model(folder / "a", small_model());
  save_model(folder / "b", load_model(folder / "a"));
  EXPECT_EQ(testing::read(folder / "a"), testing::read(folder / "b"));
}

// A program without files reads and writes the bytes of one.
TEST(Model, ItsBytesAreThoseOfTheFile) {
  const TemporaryFolder folder;
  const Model model = small_model();
  save_model(folder / "m", model);
  const std::vector<std::byte> bytes = serialize_model(model);
  const std::string file = testing::read(folder / "m");
  ASSERT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), file);
  const Model back = parse_model(bytes, "memory");
  EXPECT_EQ(back.function, model.function);
  for (const auto& [name, tensor] : model.params)
    EXPECT_TRUE(back.params.at(name).same_bits(tensor)) << name;
  expect_refused(ErrorCode::kFormat,
                 [&] { parse_model(std::span(bytes).first(bytes.size() - 1), "memory"); });
  const std::vector<std::byte> other =
      serialize_safetensors({{{"a", Tensor::zeros(f32({2}))}}, {{"limpid.format", "1"}}});
  expect_refused(ErrorCode::kFormat, [&] { parse_model(other, "memory"); });
}

TEST(Model, OtherReadersSeeTheWeightsUnderTheirNames) {
  const TemporaryFolder folder;
  save_model(folder / "m", small_model());
  const Safetensors file = load_safetensors(folder / "m");
  EXPECT_EQ(file.tensors.names(), (std::vector<std::string>{"layers.0.weight", "layers.0.bias",
                                                            "layers.1.weight", "layers.1.bias"}));
  ASSERT_EQ(file.metadata.size(), 3u);
  EXPECT_EQ(file.metadata[0].first, "limpid.format");
  EXPECT_EQ(file.metadata[0].second, "1");
}

TEST(Model, WithoutConfigHasNoneInTheFile) {
  const TemporaryFolder folder;
  Model model = small_model();
  model.config.clear();
  save_model(folder / "m", model);
  EXPECT_EQ(load_safetensors(folder / "m").metadata.size(), 2u);
  EXPECT_EQ(load_model(folder / "m").config, "");
}

TEST(Model, ThatDoesNotFitIsNotSaved) {
  const TemporaryFolder folder;
  Model model = small_model();
  const auto expect_unsaved = [&](ErrorCode code) {
    expect_refused(code, [&] { save_model(folder / "m", model); });
  };
  model.params.set("layers.0.bias", Tensor::zeros({Dtype::kF32, {8}}));
  expect_unsaved(ErrorCode::kShape);
  model.params.set("layers.0.bias", Tensor::zeros({Dtype::kF64, {7}}));
  expect_unsaved(ErrorCode::kDtype);
  model = small_model();
  model.params.set("more", Tensor::scalar(1.0f));
  expect_unsaved(ErrorCode::kInvalidArgument);
  model = small_model();
  model.params.set("x", Tensor::zeros({Dtype::kF32, {5}}));
  expect_unsaved(ErrorCode::kInvalidArgument);
  model.function = trace("none", {{"x", {Dtype::kF32, {5}}}},
                         [](std::span<const Value>) { return std::vector<Value>(); });
  model.params = {};
  expect_unsaved(ErrorCode::kInvalidArgument);
  EXPECT_TRUE(folder.names().empty());
}

// It would be written, and could not be loaded.
TEST(Model, OfMoreOpsThanATextMayHaveIsNotSaved) {
  const Function f = trace("long", {{"x", {Dtype::kF32, {}}}}, [](std::span<const Value> in) {
    Value y = in[0];
    for (int i = 0; i < 100'001; ++i) y = -y;
    return std::vector<Value>{y};
  });
  const TemporaryFolder folder;
  expect_refused(ErrorCode::kUnsupported, [&] { save_model(folder / "m", {f, {}, ""}); });
  EXPECT_TRUE(folder.names().empty());
}

// It would be loaded as another op.
TEST(Model, OfAnOpThatHasTheNameOfOneOfTheLibraryIsNotSaved) {
  static const Op own = op::relu;
  Builder builder("f");
  const Value x = builder.input("x", {Dtype::kF32, {2}});
  const Model model{builder.finish(builder.call(own, std::array{x})), {}, ""};
  const TemporaryFolder folder;
  expect_refused(ErrorCode::kUnsupported, [&] { save_model(folder / "m", model); });
}

TEST(LoadModel, RefusesSafetensorsOfOthers) {
  expect_load_error(ErrorCode::kFormat, {small_model().params, {}});
}

TEST(LoadModel, RefusesAnotherFormat) {
  Safetensors file = file_of(small_model());
  file.metadata[0].second = "2";
  expect_load_error(ErrorCode::kUnsupported, file);
  file.metadata.erase(file.metadata.begin());
  expect_load_error(ErrorCode::kUnsupported, file);
}

TEST(LoadModel, RefusesTextThatIsNoFunction) {
  Safetensors file = file_of(small_model());
  for (const char* text : {"", "function", "function f() {", "nonsense \x01\n"}) {
    file.metadata[1].second = text;
    expect_load_error(ErrorCode::kParse, file);
  }
}

TEST(LoadModel, RefusesTensorsThatDoNotFit) {
  const Model model = small_model();
  Safetensors file = file_of(model);
  file.tensors.set("layers.1.bias", Tensor::zeros({Dtype::kF32, {4}}));
  expect_load_error(ErrorCode::kFormat, file);

  file = file_of(model);
  file.tensors.set("layers.1.bias", Tensor::zeros({Dtype::kF64, {3}}));
  expect_load_error(ErrorCode::kFormat, file);

  file = file_of(model);
  file.tensors.set("extra", Tensor::zeros({Dtype::kF32, {1}}));
  expect_load_error(ErrorCode::kFormat, file);
}

Model quantized_model(Dtype to) {
  const Model model = small_model();
  const Quantized q = quantize(model.function, model.params, {.to = to});
  return {q.function, q.params, model.config};
}

TEST(Model, OfNarrowWeightsComesBackAndRuns) {
  const TemporaryFolder folder;
  for (const Dtype to : {Dtype::kBf16, Dtype::kI8}) {
    const Model model = quantized_model(to);
    save_model(folder / "m", model);
    EXPECT_EQ(load_safetensors(folder / "m").tensors.at("layers.1.weight").dtype(), to);
    const Model back = load_model(folder / "m");
    EXPECT_EQ(back.function, model.function);
    for (const auto& [name, tensor] : model.params)
      EXPECT_TRUE(back.params.at(name).same_bits(tensor)) << name;
    const Tensor x = random_tensor({Dtype::kF32, {9, 5}}, Key(2));
    EXPECT_TRUE(predict(back, x).same_bits(predict(model, x, nullptr, 4)));
  }
}

TEST(LoadModel, RefusesNarrowWeightsThatDoNotFit) {
  const Model model = quantized_model(Dtype::kI8);
  const auto expect_tensor = [&](const char* name, const Type& type) {
    Safetensors file = file_of(model);
    file.tensors.set(name, Tensor::zeros(type));
    expect_load_error(ErrorCode::kFormat, file);
  };
  expect_tensor("layers.1.weight", {Dtype::kU8, {3, 7}});
  expect_tensor("layers.1.weight_scale", {Dtype::kF32, {1}});
  // The function's type matches this tensor, but then its ops are inconsistent.
  Safetensors file = file_of(model);
  std::string& text = file.metadata[1].second;
  const std::string scale = "%layers.1.weight_scale: f32[3]";
  ASSERT_NE(text.find(scale), std::string::npos) << text;
  text.replace(text.find(scale), scale.size(), "%layers.1.weight_scale: f32[1]");
  file.tensors.set("layers.1.weight_scale", Tensor::zeros({Dtype::kF32, {1}}));
  expect_load_error(ErrorCode::kShape, file);
}

// Scales that no quantization produces are valid numbers, too.
TEST(Model, OfScalesThatAreNanGivesNan) {
  Model model = quantized_model(Dtype::kI8);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  model.params.set("layers.1.weight_scale", Tensor::from<float>({3}, {nan, 0, -1}));
  const Tensor y = predict(model, random_tensor({Dtype::kF32, {1, 5}}, Key(2)));
  EXPECT_TRUE(std::isnan(y.values<float>()[0]));
  EXPECT_FALSE(std::isnan(y.values<float>()[1]));
  EXPECT_FALSE(std::isnan(y.values<float>()[2]));
}

TEST(LoadModel, RefusesMoreOrFewerDataInputsThanWereSaved) {
  const Model model = small_model();
  Safetensors file = file_of(model);
  file.tensors = {};
  for (const char* kept : {"layers.0.weight", "layers.0.bias", "layers.1.weight"})
    file.tensors.set(kept, model.params.at(kept));
  expect_load_error(ErrorCode::kFormat, file);
  file = file_of(model);
  file.tensors.set("x", Tensor::zeros({Dtype::kF32, {5}}));
  expect_load_error(ErrorCode::kFormat, file);
}

TEST(LoadModel, RefusesFewerDataInputsThanTheFileSays) {
  Safetensors file = file_of(small_model());
  file.metadata.emplace_back("limpid.inputs", "2");
  expect_load_error(ErrorCode::kFormat, file);
}

TEST(LoadModel, RefusesAFunctionWithoutOutputs) {
  Safetensors file;
  file.metadata = {{"limpid.format", "1"},
                   {"limpid.function", "function f(%x: f32[2]) {\n  return\n}\n"}};
  expect_load_error(ErrorCode::kFormat, file);
}

// So that a process holds of a large model what its plans pack: what is written into the file later
// shows in the tensors.
TEST(LoadModel, MapsTheFile) {
  const TemporaryFolder folder;
  const nn::Mlp net{{2000, 10}};
  save_model(folder / "m", {net.function(), net.init(Key(1)), net.config()});
  const Model model = load_model(folder / "m");
  const Tensor& weight = model.params.at("layers.0.weight");
  const std::size_t behind = model.params.at("layers.0.bias").bytes().size();
  const std::size_t end = std::filesystem::file_size(folder / "m");
  testing::overwrite(folder / "m", end - behind - 4, testing::bytes_of({"\0\0\x80\x3f", 4}));
  EXPECT_EQ(weight.values<float>().back(), 1.0f);
}

// y = a x + shift and z = x in f64, of two data inputs.
Model two_inputs() {
  const Function f = trace(
      "two", {{"a", {Dtype::kF32, {3}}}, {"x", {Dtype::kF32, {3}}}, {"shift", {Dtype::kF32, {}}}},
      [](std::span<const Value> in) {
        return std::vector<Value>{in[0] * in[1] + in[2], cast(in[1], Dtype::kF64)};
      },
      {"y", "z"});
  return {f, {{"a", Tensor::from<float>({3}, {1, 2, 3})}}, ""};
}

TEST(Model, OfSeveralInputsAndOutputsComesBack) {
  const TemporaryFolder folder;
  save_model(folder / "m", two_inputs());
  const Model back = load_model(folder / "m");
  EXPECT_EQ(back.function, two_inputs().function);
  const std::vector<Input> inputs = data_inputs(back);
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[1].name, "shift");
  expect_refused(ErrorCode::kInvalidArgument, [&] { data_input(back); });
}

// Parameters are not of an example: its inputs are, and what is computed of them. The largest value
// counts twice, as a body might make another one of its size.
TEST(Model, HasAnExampleOfSoManyBytes) {
  const Function f = trace(
      "f", {{"w", {Dtype::kF32, {1000}}}, {"x", {Dtype::kF32, {2}}}, {"n", {Dtype::kI32, {3}}}},
      [](std::span<const Value> in) {
        return std::vector<Value>{cast(in[1], Dtype::kF64), in[2]};
      });
  const Model model{f, {{"w", Tensor::zeros({Dtype::kF32, {1000}})}}, ""};
  EXPECT_EQ(example_bytes(model), 8u + 12u + 16u + 16u);
  // Two values of a chain are alive at once.
  const Function chain = trace("chain", {{"x", {Dtype::kF32, {2}}}}, [](std::span<const Value> in) {
    Value x = in[0];
    for (int i = 0; i < 9; ++i) x = tanh(x);
    return std::vector<Value>{x};
  });
  EXPECT_EQ(example_bytes({chain, {}, ""}), 8u + 2 * 8u + 8u);
}

// A few bytes of text must not request more memory than exists.
TEST(LoadModel, RefusesHugeValues) {
  Safetensors file;
  file.metadata = {{"limpid.format", "1"}, {"limpid.function", ""}};
  file.metadata[1].second =
      "function f(%x: f32[2]) {\n"
      "  %0 = iota() {size = 268435456} : i32[268435456]\n"
      "  return %x\n}\n";
  expect_load_error(ErrorCode::kUnsupported, file);
  file.metadata[1].second =
      "function f(%x: f64[576460752303423487]) {\n"
      "  return %x\n}\n";
  expect_load_error(ErrorCode::kUnsupported, file);
  // The sum of these is 2^64, which an integer of 64 bits takes for 0.
  const std::string most = "f64[576460752303423487]";
  file.metadata[1].second =
      fmt::format("function f(%a: {0}, %b: {0}, %c: {0}, %d: {0}, %e: f32[8]) {{\n", most) +
      "  return %e\n}\n";
  file.metadata.emplace_back("limpid.inputs", "5");
  expect_load_error(ErrorCode::kUnsupported, file);
}

// The products of all pairs appear in no type of the function.
TEST(LoadModel, RefusesHugeValuesInsideOfACall) {
  Safetensors file;
  file.metadata = {{"limpid.format", "1"},
                   {"limpid.function",
                    "function f(%x: f32[65536, 1]) {\n"
                    "  %0 = info_nce(%x, %x) {temperature = 1.0} : f32[65536]\n"
                    "  return %0\n}\n"}};
  expect_load_error(ErrorCode::kUnsupported, file);
}

Tensor random_rows(std::int64_t count, std::int64_t features) {
  return Tensor::generate<float>(Shape{count, features}, [](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = 2 * Key(7).uniform(i) - 1;
  });
}

// Interpreted row by row.
Tensor interpreted(const Model& model, const Tensor& rows) {
  const Function f = bound(model);
  return Tensor::generate<float>(Shape{rows.shape()[0], 3}, [&](std::span<float> out) {
    for (std::int64_t i = 0; i < rows.shape()[0]; ++i) {
      const Tensor x = rows.rows(i, 1).reshape({5});
      const auto y = interpret(f, {&x, 1}).front();
      std::copy_n(y.values<float>().begin(), 3, out.begin() + 3 * i);
    }
  });
}

TEST(Predict, IsTheInterpreterWhateverTheBatch) {
  const Model model = small_model();
  ThreadPool pool({.threads = 3});
  for (std::int64_t count : {0, 1, 2, 7, 33}) {
    const Tensor rows = random_rows(count, 5);
    const Tensor expected = interpreted(model, rows);
    for (std::int64_t batch : {1, 2, 7, 32, 256}) {
      EXPECT_TRUE(predict(model, rows, nullptr, batch).same_bits(expected))
          << count << " " << batch;
      EXPECT_TRUE(predict(model, rows, &pool, batch).same_bits(expected)) << count << " " << batch;
    }
  }
}

#if defined(__linux__) && !LIMPID_SANITIZED
// Of examples this large, one is computed at a time. The seven of the file have no bytes on the
// disk, and the model looks at the first four of each.
TEST(Predict, TakesTheMemoryOfOneLargeExample) {
  constexpr std::int64_t kCount = 7, kBytes = std::int64_t{350} << 20;
  const TemporaryFolder folder;
  testing::write(folder / "a", {});
  std::filesystem::resize_file(folder / "a", kCount * kBytes);  // sparse
  testing::overwrite(folder / "a", 6 * kBytes, testing::bytes_of("last"));
  const Tensor examples = map_file(folder / "a", kCount * kBytes).reshape({kCount, kBytes});
  const Model model{
      trace("first", {{"x", {Dtype::kU8, {kBytes}}}},
            [](std::span<const Value> in) { return std::vector<Value>{slice(in[0], 0, 0, 4)}; }),
      {},
      ""};
  const MemoryLimit limit(2 * kBytes);
  const Tensor first = predict(model, examples, nullptr, 4);
  EXPECT_EQ(testing::text_of(first.bytes()), std::string(24, '\0') + "last");
}
#endif

TEST(Predict, TakesExamplesOfAnyRankAndADataInputAnywhere) {
  const Function f =
      trace("f", {{"image", {Dtype::kF32, {2, 2}}}, {"scale", {Dtype::kF32, {}}}},
            [](std::span<const Value> in) { return std::vector<Value>{in[0] * in[1]}; });
  const Model model{f, {{"scale", Tensor::scalar(3.0f)}}, ""};
  const Tensor images = Tensor::from<float>(Shape{1, 2, 2}, {1, 2, 3, 4});
  EXPECT_TRUE(predict(model, images).same_bits(Tensor::from<float>(Shape{1, 2, 2}, {3, 6, 9, 12})));
}

Tensor row(std::vector<float> numbers) { return Tensor::from<float>({3}, numbers); }

TEST(PredictByName, RunsOneExampleOrMany) {
  const Model model = two_inputs();
  const auto one = predict(model, {{"x", row({1, 1, 2})}, {"shift", Tensor::scalar(0.5f)}});
  ASSERT_EQ(one.size(), 2u);
  EXPECT_TRUE(one[0].same_bits(row({1.5f, 2.5f, 6.5f})));
  EXPECT_TRUE(one[1].same_bits(Tensor::from<double>({3}, {1, 1, 2})));
  const Tensor rows = random_rows(7, 3);
  const Tensor shifts = Tensor::from<float>({7}, {1, 2, 3, 4, 5, 6, 7});
  for (const std::int64_t batch : {1, 3, 256}) {
    const auto all = predict(model, {{"shift", shifts}, {"x", rows}}, nullptr, batch);
    ASSERT_EQ(to_string(all[0].type()), "f32[7, 3]");
    for (std::int64_t i = 0; i < 7; ++i) {
      const auto alone = predict(
          model, {{"x", rows.rows(i, 1).reshape({3})}, {"shift", shifts.rows(i, 1).reshape({})}});
      EXPECT_TRUE(all[0].rows(i, 1).reshape({3}).same_bits(alone[0])) << i;
      EXPECT_TRUE(all[1].rows(i, 1).reshape({3}).same_bits(alone[1])) << i;
    }
  }
  // One shift for all rows.
  const auto shared = predict(model, {{"x", rows}, {"shift", Tensor::scalar(2.0f)}});
  const auto second =
      predict(model, {{"x", rows.rows(1, 1).reshape({3})}, {"shift", Tensor::scalar(2.0f)}});
  EXPECT_TRUE(shared[0].rows(1, 1).reshape({3}).same_bits(second[0]));
}

TEST(PredictByName, NamesWhatDoesNotFit) {
  const Model model = two_inputs();
  const Tensor shift = Tensor::scalar(1.0f);
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    predict(model, {{"X", row({1, 2, 3})}, {"shift", shift}});
  });
  expect_refused(ErrorCode::kShape, [&] {
    predict(model, {{"x", Tensor::zeros({Dtype::kF32, {4}})}, {"shift", shift}});
  });
  expect_refused(ErrorCode::kDtype, [&] {
    predict(model, {{"x", Tensor::zeros({Dtype::kF64, {3}})}, {"shift", shift}});
  });
  for (const std::int64_t other : {5, 9}) {
    const Tensor shifts = Tensor::zeros({Dtype::kF32, {other}});
    const std::string why =
        fmt::format("input 'shift' is f32[] for one example, got f32[{}] for all", other);
    expect_refused(ErrorCode::kShape, [&] {
      predict(model, {{"x", random_rows(7, 3)}, {"shift", shifts}});
    });
  }
}

// Of many inputs, the first eight are shown.
TEST(PredictByName, NamesTheFirstOfManyInputs) {
  std::vector<Input> inputs;
  for (int i = 0; i < 10; ++i) inputs.push_back({fmt::format("x{}", i), {Dtype::kF32, {}}});
  const Model model{
      trace("many", inputs,
            [](std::span<const Value> in) { return std::vector<Value>{in[0] + in[9]}; }),
      {},
      ""};
  expect_refused(ErrorCode::kInvalidArgument, [&] { predict(model, Params{}); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { data_input(model); });
}

TEST(Model, OfOneInputAndTwoOutputsIsNoneOfOne) {
  const Model model{trace("two", {{"x", {Dtype::kF32, {}}}},
                          [](std::span<const Value> in) {
                            return std::vector<Value>{in[0], in[0] + in[0]};
                          }),
                    {},
                    ""};
  expect_refused(ErrorCode::kInvalidArgument, [&] { data_input(model); });
}

TEST(Predict, RefusesWhatDoesNotFit) {
  const Model model = small_model();
  expect_refused(ErrorCode::kShape, [&] { predict(model, random_rows(2, 4)); });
  expect_refused(ErrorCode::kDtype, [&] { predict(model, Tensor::zeros({Dtype::kF64, {2, 5}})); });
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { predict(model, random_rows(2, 5), nullptr, 0); });
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    predict(model, {{"x", random_rows(2, 5)}}, nullptr, 0);
  });
  EXPECT_THROW(predict(model, Tensor::scalar(1.0f)), Error);
}

}  // namespace
}  // namespace limpid
