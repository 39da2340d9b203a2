// Malicious models: each gives a one-line Error or a Function; never anything else.
#include <random>

#include "limpid/formats/onnx/example_model.h"
#include "tests/guarded_memory.h"
#include "tests/onnx/models.h"
#include "tests/refusals.h"

namespace limpid::testing {
namespace {

// One of everything: types, attributes, an inner graph, a function.
::onnx::ModelProto rich_model() {
  ::onnx::ModelProto model = model_of(
      "(float[2, 3] x) => (y) <int64[2] shape = {3, 2}, bool yes = {1}> { a = Mul(x, w) b = "
      "own.F(a) c = Reshape(b, shape) d = If (yes) <then_branch = t () => (z) { z = Neg(c) }, "
      "else_branch = e () => (z) { z = Neg(c) }> y, z = Split <axis = 1, num_outputs = 2> (d) }" +
      own_function("F (a) => (b) { b = Tanh(a) }"));
  add_initializer(*model.mutable_graph(), "w", kFloat, {3}).set_raw_data(std::string(12, '\1'));
  return model;
}

TEST(Hostile, FieldsHaveNumbersOfTheFormat) {
  const auto refused = [](std::initializer_list<int> values) {
    // The next byte is on a protected page.
    std::vector<std::byte, AtGuardPage<std::byte>> bytes(values.size());
    std::transform(values.begin(), values.end(), bytes.begin(),
                   [](int value) { return static_cast<std::byte>(value); });
    expect_refused(ErrorCode::kFormat, [&] { onnx::parse_onnx(bytes); });
  };
  refused({0, 0});
  refused({0x88, 0x80, 0x80, 0x80, 0x10, 0});
  refused({0x0b});
  refused({0x0a, 2, 0});
  refused({0x08, 0x80});
  refused({0x0d, 0, 0, 0});
  refused({0x09, 0, 0, 0, 0, 0, 0, 0});
  refused({0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0});
  // A number where a message is expected, bytes for a number, an integer for a real.
  refused({0x38, 0});
  refused({0x42, 5, 0x15, 0, 0, 0, 0});
  refused({0x3a, 9, 0x0a, 7, 0x2a, 5, 0xa0, 1, 1, 0x10, 0});
}

TEST(Hostile, EveryTruncationIsAnErrorOrAModel) {
  const Bytes bytes = bytes_of_model(rich_model());
  EXPECT_NO_THROW(onnx::parse_onnx(bytes));
  std::size_t refused = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    try {
      // The next byte is on a protected page.
      const std::vector<std::byte, AtGuardPage<std::byte>> part(
          bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      onnx::parse_onnx(part);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, bytes.size() - 10);
}

TEST(Hostile, ChangedBytesAreErrorsOrModels) {
  const Bytes bytes = bytes_of_model(rich_model());
  std::mt19937 random(1);
  std::size_t refused = 0;
  for (int i = 0; i < 3000; ++i) {
    Bytes changed = bytes;
    for (int k = 0; k < 1 + i % 4; ++k)
      changed[random() % changed.size()] = static_cast<std::byte>(random());
    try {
      onnx::parse_onnx(changed);
    } catch (const Error& e) {
      ++refused;
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(refused, 300u);
}

TEST(Hostile, ATensorIsExactlyAsLongAsItsShape) {
  const auto refused = [](const std::vector<std::int64_t>& dims, const std::string& raw,
                          ErrorCode code, int type = kFloat) {
    ::onnx::ModelProto model = empty_model();
    add_initializer(*model.mutable_graph(), "w", type, dims).set_raw_data(raw);
    expect_refused(code, [&] { import(model); });
  };
  const std::string four(4, '\0');
  refused({2}, four, ErrorCode::kFormat);
  refused({1}, four + four, ErrorCode::kFormat);
  refused({}, "", ErrorCode::kFormat);
  refused({-1}, four, ErrorCode::kShape);
  refused({std::int64_t{1} << 62, 4}, four, ErrorCode::kShape);
  refused({std::int64_t{1} << 40}, four, ErrorCode::kFormat);
  refused({1, 1, 1, 1, 1, 1, 1, 1, 1}, four, ErrorCode::kUnsupported);
  refused({4}, "\1\2\1\1", ErrorCode::kFormat, kBool);
  refused({1}, four, ErrorCode::kUnsupported, ::onnx::TensorProto::UINT32);
  refused({1}, four, ErrorCode::kUnsupported, 77);
  refused({1}, four, ErrorCode::kUnsupported, ::onnx::TensorProto::STRING);
}

TEST(Hostile, NarrowElementsAreInRange) {
  ::onnx::ModelProto model = empty_model();
  auto& tensor = add_initializer(*model.mutable_graph(), "w", ::onnx::TensorProto::UINT8, {1});
  tensor.add_int32_data(256);
  expect_refused(ErrorCode::kFormat, [&] { import(model); });
  tensor.set_data_type(::onnx::TensorProto::FLOAT16);
  tensor.set_int32_data(0, 65'536);
  expect_refused(ErrorCode::kFormat, [&] { import(model); });
  tensor.set_int32_data(0, -1);
  expect_refused(ErrorCode::kFormat, [&] { import(model); });
  tensor.set_data_type(::onnx::TensorProto::INT8);
  tensor.set_int32_data(0, -129);
  expect_refused(ErrorCode::kFormat, [&] { import(model); });
}

TEST(Hostile, APartOfATensorIsRefused) {
  ::onnx::ModelProto model = empty_model();
  auto& tensor = add_initializer(*model.mutable_graph(), "w", kFloat, {1});
  tensor.add_float_data(1);
  tensor.mutable_segment()->set_begin(1);
  expect_refused(ErrorCode::kUnsupported, [&] { import(model); });
}

TEST(Hostile, ATensorHasAsManyNumbersAsItsShape) {
  for (const int count : {1, 3}) {
    ::onnx::ModelProto model = empty_model();
    auto& tensor = add_initializer(*model.mutable_graph(), "w", kFloat, {2});
    for (int i = 0; i < count; ++i) tensor.add_float_data(1);
    expect_refused(ErrorCode::kFormat, [&] { import(model); });
  }
  constexpr int kFloatData = 4;
  ::onnx::ModelProto model = empty_model();
  add_initializer(*model.mutable_graph(), "w", kFloat, {1})
      .mutable_unknown_fields()
      ->AddLengthDelimited(kFloatData, "12345");
  expect_refused(ErrorCode::kFormat, [&] { import(model); });
}

TEST(Hostile, GraphsInGraphsEndSomewhere) {
  ::onnx::ModelProto model = empty_model();
  ::onnx::GraphProto* graph = model.mutable_graph();
  for (int i = 0; i < 60; ++i)
    graph = &set_graph(add_node(*graph, "If", {"c"}, {"y"}), "then_branch");
  expect_refused(ErrorCode::kUnsupported, [&] { import(model); });
}

// Each call of a function copies them.
TEST(Hostile, DomainsAndDefaultAttributesAreFew) {
  ::onnx::ModelProto model = rich_model();
  while (model.opset_import_size() < 65) {
    auto& own = *model.add_opset_import();
    own.set_domain("d" + std::to_string(model.opset_import_size()));
    own.set_version(1);
    if (model.opset_import_size() == 64) import(model);
  }
  expect_refused(ErrorCode::kUnsupported, [&] { import(model); });

  model = rich_model();
  ::onnx::AttributeProto attribute;
  attribute.set_type(::onnx::AttributeProto::FLOAT);
  for (int i = 0; i < 257; ++i) {
    if (i == 256) import(model);
    attribute.set_name("a" + std::to_string(i));
    constexpr int kDefaults = 11;  // a field of later versions than this library's messages have
    model.mutable_functions(0)->mutable_unknown_fields()->AddLengthDelimited(
        kDefaults, attribute.SerializeAsString());
  }
  expect_refused(ErrorCode::kUnsupported, [&] { import(model); });
}

// A field of bytes, as Protocol Buffers write it.
std::string field_of(std::size_t number, const std::string& bytes) {
  std::string text;
  for (std::size_t value : {number << 3 | 2, bytes.size()}) {
    for (; value > 0x7f; value >>= 7) text += static_cast<char>(value | 0x80);
    text += static_cast<char>(value);
  }
  return text + bytes;
}

// An empty node takes two bytes in a file and hundreds in memory. Other messages, and numbers in
// lists, grow in the same way.
TEST(Hostile, MemoryIsCountedBeforeItIsTaken) {
  constexpr std::size_t kGraph = 7, kNode = 1, kAttribute = 5;
  const auto many = [](const std::string& one, int count = 1'500'000) {
    std::string all;
    for (int i = 0; i < count; ++i) all += one;
    return all;
  };
  // One of kind INTS or FLOATS, with numbers that are packed.
  const auto list = [&](char kind, std::size_t field, const std::string& number) {
    return field_of(
        kGraph,
        field_of(kNode, field_of(kAttribute, std::string("\xa0\x01", 2) + kind +
                                                 field_of(field, many(number, 3'000'000)))));
  };
  const std::string dims = field_of(2, field_of(1, field_of(2, many(field_of(1, "")))));
  const std::pair<const char*, std::string> files[] = {
      {"nodes", field_of(kGraph, many(field_of(kNode, "")))},
      {"names of inputs", field_of(kGraph, field_of(kNode, many(field_of(1, ""))))},
      {"attributes", field_of(kGraph, field_of(kNode, many(field_of(kAttribute, ""))))},
      {"integers", list('\7', 8, std::string(1, '\0'))},
      {"real numbers", list('\6', 7, std::string(4, '\0'))},
      {"inputs", field_of(kGraph, many(field_of(11, "")))},
      {"outputs", field_of(kGraph, many(field_of(12, "")))},
      {"dimensions", field_of(kGraph, field_of(11, dims))},
      {"functions", many(field_of(25, ""))},
      {"metadata", many(field_of(14, ""))},
  };
  for (const auto& [what, file] : files) {
    SCOPED_TRACE(what);
    const std::string& bytes = file;
    expect_refused(ErrorCode::kUnsupported, [&] { onnx::parse_onnx(bytes_of(bytes)); });
  }
}

// Many ones, and a product of zeros, each of whose numbers takes long.
TEST(Hostile, KnownValuesAreSmallAndQuicklyComputed) {
  for (const char* const nodes :
       {"<int64[1] huge = {1099511627776}> { shape = ConstantOfShape <value = int64[1] {1}> (huge) "
        "y = Reshape(x, shape) }",
        "<int64[2] square = {512, 512}, int64[1] one = {1}> { zeros = ConstantOfShape(square) "
        "product = MatMul(zeros, zeros) sum = ReduceSum(product) dim = Reshape(sum, one) shape = "
        "Cast <to = 7> (dim) y = Reshape(x, shape) }"})
    expect_refused(ErrorCode::kUnsupported,
                   [&] { import(model_of(std::string("(float[2] x) => (y) ") + nodes)); });
}

TEST(Hostile, NamesAreMadeOnceAndBeforeTheyAreUsed) {
  for (const char* const text : {"(float[2] x) => (y) { y = Relu(later) later = Relu(x) }",
                                 "(float[2] x) => () { y = Relu(x) y = Relu(x) }", "() => (y) {}"})
    expect_refused(ErrorCode::kFormat, [&] { import(model_of(text)); });
}

TEST(Hostile, VersionsBeyondThoseThatAreKnownAreRefused) {
  const ::onnx::ModelProto model = model_of("(float[2] x) => (y) { y = Relu(x) }", 99);
  expect_refused(ErrorCode::kUnsupported, [&] { import(model); });
}

TEST(Hostile, AModelHasOneGraphAndItsFunctionsOnce) {
  const std::string model = empty_model().SerializeAsString();
  expect_refused(ErrorCode::kFormat, [&] { onnx::parse_onnx(bytes_of(model + model)); });
  ::onnx::ModelProto twice = empty_model();
  for (int i = 0; i < 2; ++i) {
    twice.add_functions()->set_name("F");
    twice.mutable_functions(i)->set_domain("own");
  }
  expect_refused(ErrorCode::kFormat, [&] { import(twice); });
}

TEST(Hostile, WhatIsNoModelIsSaidSo) {
  expect_refused(ErrorCode::kFormat, [] { onnx::parse_onnx({}); });
  expect_refused(ErrorCode::kFormat,
                 [] { onnx::parse_onnx(bytes_of("PK\3\4 this is an archive")); });
}

TEST(Hostile, FilesBeyondTheLimitAreNamedOnce) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "m.onnx";
  write(path, {});
  std::filesystem::resize_file(path, (std::uintmax_t{2} << 30) + 1);  // sparse
  expect_refused(ErrorCode::kUnsupported, [&] { onnx::load_onnx(path); });
  expect_refused(ErrorCode::kUnsupported, [&] { onnx::load_onnx_model(path); });
}

}  // namespace
}  // namespace limpid::testing
