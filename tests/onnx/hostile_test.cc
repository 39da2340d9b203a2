// Malicious models: each gives a one-line Error or a Function; never anything else.
#include <random>

#include "limpid/formats/onnx/example_model.h"
#include "tests/guarded_memory.h"
#include "tests/onnx/models.h"

namespace limpid::testing {
namespace {

// One of everything: types, attributes, an inner graph, a function.
::onnx::ModelProto rich_model() {
  ::onnx::ModelProto model = empty_model();
  auto& own = *model.add_opset_import();
  own.set_domain("own");
  own.set_version(1);
  ::onnx::FunctionProto& f = *model.add_functions();
  f.set_name("F");
  f.set_domain("own");
  f.add_input("a");
  f.add_output("b");
  f.add_opset_import()->set_version(18);
  add_node(f, "Tanh", {"a"}, {"b"});
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"2", "3"});
  auto& w = add_initializer(graph, "w", kFloat, {3});
  w.set_raw_data(std::string(12, '\1'));
  add_integers(graph, "shape", {3, 2});
  add_initializer(graph, "yes", kBool, {}).add_int32_data(1);
  add_node(graph, "Mul", {"x", "w"}, {"a"});
  add_node(graph, "F", {"a"}, {"b"}).set_domain("own");
  add_node(graph, "Reshape", {"b", "shape"}, {"c"});
  auto& node = add_node(graph, "If", {"yes"}, {"d"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto& inner = set_graph(node, branch);
    add_node(inner, "Neg", {"c"}, {"z"});
    add_output(inner, "z");
  }
  auto& split = add_node(graph, "Split", {"d"}, {"y", "z"});
  set_integer(split, "axis", 1);
  set_integer(split, "num_outputs", 2);
  add_output(graph, "y");
  return model;
}

TEST(Hostile, FieldsHaveNumbersOfTheFormat) {
  const auto refused = [](std::initializer_list<int> values, std::string_view message) {
    // The next byte is on a protected page.
    std::vector<std::byte, AtGuardPage<std::byte>> bytes(values.size());
    std::transform(values.begin(), values.end(), bytes.begin(),
                   [](int value) { return static_cast<std::byte>(value); });
    expect_error(ErrorCode::kFormat, std::string(message), [&] { onnx::parse_onnx(bytes); });
  };
  refused({0, 0}, "invalid field 0");
  refused({0x88, 0x80, 0x80, 0x80, 0x10, 0}, "invalid field 536870913");
  refused({0x0b}, "field 1 has the unknown wire type 3");
  refused({0x0a, 2, 0}, "field 1 has 2 bytes, 1 are left");
  refused({0x08, 0x80}, "it ends inside a number");
  refused({0x0d, 0, 0, 0}, "it ends inside a number");
  refused({0x09, 0, 0, 0, 0, 0, 0, 0}, "it ends inside a number");
  refused({0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0},
          "a number has more than 10 bytes");
  // A number where a message is expected, bytes for a number, an integer for a real.
  refused({0x38, 0}, "field 7 has wire type 0, expected 2");
  refused({0x42, 5, 0x15, 0, 0, 0, 0}, "field 2 has wire type 5, expected 0");
  refused({0x3a, 9, 0x0a, 7, 0x2a, 5, 0xa0, 1, 1, 0x10, 0}, "field 2 has wire type 0, expected 5");
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
                          ErrorCode code, std::string_view message, int type = kFloat) {
    ::onnx::ModelProto model = empty_model();
    add_initializer(*model.mutable_graph(), "w", type, dims).set_raw_data(raw);
    expect_error(code, message, [&] { import(model); });
  };
  const std::string four(4, '\0');
  refused({2}, four, ErrorCode::kFormat, "f32[2] has 4 bytes, expected 8");
  refused({1}, four + four, ErrorCode::kFormat, "f32[1] has 8 bytes, expected 4");
  refused({}, "", ErrorCode::kFormat, "has 0 bytes");
  refused({-1}, four, ErrorCode::kShape, "dimension -1 is negative");
  refused({std::int64_t{1} << 62, 4}, four, ErrorCode::kShape, "overflows");
  refused({std::int64_t{1} << 40}, four, ErrorCode::kFormat, "f32[1099511627776] does not fit ");
  refused({1, 1, 1, 1, 1, 1, 1, 1, 1}, four, ErrorCode::kUnsupported, "more than 8 dimensions");
  refused({4}, "\1\2\1\1", ErrorCode::kFormat, "the element 2 is not a bool", kBool);
  refused({1}, four, ErrorCode::kUnsupported, "elements of type uint32",
          ::onnx::TensorProto::UINT32);
  refused({1}, four, ErrorCode::kUnsupported, "elements of type 77", 77);
  refused({1}, four, ErrorCode::kUnsupported, "elements of type string",
          ::onnx::TensorProto::STRING);
}

TEST(Hostile, NarrowElementsAreInRange) {
  ::onnx::ModelProto model = empty_model();
  auto& tensor = add_initializer(*model.mutable_graph(), "w", ::onnx::TensorProto::UINT8, {1});
  tensor.add_int32_data(256);
  expect_error(ErrorCode::kFormat, "the element 256 does not fit u8", [&] { import(model); });
  tensor.set_data_type(::onnx::TensorProto::FLOAT16);
  tensor.set_int32_data(0, 65'536);
  expect_error(ErrorCode::kFormat, "65536 does not fit 16 bits", [&] { import(model); });
  tensor.set_int32_data(0, -1);
  expect_error(ErrorCode::kFormat, "-1 does not fit 16 bits", [&] { import(model); });
  tensor.set_data_type(::onnx::TensorProto::INT8);
  tensor.set_int32_data(0, -129);
  expect_error(ErrorCode::kFormat, "the element -129 does not fit i8", [&] { import(model); });
}

TEST(Hostile, APartOfATensorIsRefused) {
  ::onnx::ModelProto model = empty_model();
  auto& tensor = add_initializer(*model.mutable_graph(), "w", kFloat, {1});
  tensor.add_float_data(1);
  tensor.mutable_segment()->set_begin(1);
  expect_error(ErrorCode::kUnsupported, "tensor 'w': a part of a tensor", [&] { import(model); });
}

TEST(Hostile, ATensorHasAsManyNumbersAsItsShape) {
  for (const int count : {1, 3}) {
    ::onnx::ModelProto model = empty_model();
    auto& tensor = add_initializer(*model.mutable_graph(), "w", kFloat, {2});
    for (int i = 0; i < count; ++i) tensor.add_float_data(1);
    expect_error(ErrorCode::kFormat, "elements for f32[2]", [&] { import(model); });
  }
  constexpr int kFloatData = 4;
  ::onnx::ModelProto model = empty_model();
  add_initializer(*model.mutable_graph(), "w", kFloat, {1})
      .mutable_unknown_fields()
      ->AddLengthDelimited(kFloatData, "12345");
  expect_error(ErrorCode::kFormat, "5 bytes are not a multiple of 4", [&] { import(model); });
}

TEST(Hostile, GraphsInGraphsEndSomewhere) {
  ::onnx::ModelProto model = empty_model();
  ::onnx::GraphProto* graph = model.mutable_graph();
  for (int i = 0; i < 60; ++i)
    graph = &set_graph(add_node(*graph, "If", {"c"}, {"y"}), "then_branch");
  expect_error(ErrorCode::kUnsupported, "graphs are nested more than 16 levels deep",
               [&] { import(model); });
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
  expect_error(ErrorCode::kUnsupported, "operators of more than 64 domains are imported",
               [&] { import(model); });

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
  expect_error(ErrorCode::kUnsupported, "a function with more than 256 default attributes",
               [&] { import(model); });
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
    expect_error(ErrorCode::kUnsupported, "far more memory than the file has bytes",
                 [&] { onnx::parse_onnx(bytes_of(bytes)); });
  }
}

TEST(Hostile, KnownValuesAreSmall) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"2"});
  add_integers(graph, "huge", {std::int64_t{1} << 40});
  auto& fill = add_node(graph, "ConstantOfShape", {"huge"}, {"shape"});
  auto& value = *add_attribute(fill, "value", ::onnx::AttributeProto::TENSOR).mutable_t();
  value.set_data_type(kInt64);
  value.add_dims(1);
  value.add_int64_data(1);
  add_node(graph, "Reshape", {"x", "shape"}, {"y"});
  add_output(graph, "y");
  expect_error(ErrorCode::kUnsupported, "takes too much arithmetic", [&] { import(model); });
}

// The product of two matrices of zeros gives few numbers, each of which takes long.
TEST(Hostile, KnownValuesAreQuicklyComputed) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"2"});
  add_integers(graph, "square", {512, 512});
  add_node(graph, "ConstantOfShape", {"square"}, {"zeros"});
  add_node(graph, "MatMul", {"zeros", "zeros"}, {"product"});
  add_node(graph, "ReduceSum", {"product"}, {"sum"});
  add_integers(graph, "one", {1});
  add_node(graph, "Reshape", {"sum", "one"}, {"dim"});
  set_integer(add_node(graph, "Cast", {"dim"}, {"shape"}), "to", kInt64);
  add_node(graph, "Reshape", {"x", "shape"}, {"y"});
  add_output(graph, "y");
  expect_error(ErrorCode::kUnsupported, "takes too much arithmetic", [&] { import(model); });
}

TEST(Hostile, NamesAreMadeOnceAndBeforeTheyAreUsed) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"2"});
  add_node(graph, "Relu", {"later"}, {"y"}, "early");
  add_node(graph, "Relu", {"x"}, {"later"});
  add_output(graph, "y");
  expect_error(ErrorCode::kFormat, "Relu 'early': no earlier node computes 'later'",
               [&] { import(model); });

  ::onnx::ModelProto twice = empty_model();
  add_input(*twice.mutable_graph(), "x", kFloat, {"2"});
  for (int i = 0; i < 2; ++i) add_node(*twice.mutable_graph(), "Relu", {"x"}, {"y"});
  expect_error(ErrorCode::kFormat, "duplicate value 'y'", [&] { import(twice); });

  ::onnx::ModelProto none = empty_model();
  add_output(*none.mutable_graph(), "y");
  expect_error(ErrorCode::kFormat, "no node computes the output 'y'", [&] { import(none); });
}

TEST(Hostile, VersionsBeyondThoseThatAreKnownAreRefused) {
  ::onnx::ModelProto model = empty_model(99);
  add_input(*model.mutable_graph(), "x", kFloat, {"2"});
  add_node(*model.mutable_graph(), "Relu", {"x"}, {"y"});
  add_output(*model.mutable_graph(), "y");
  expect_error(ErrorCode::kUnsupported,
               "opset version 99 of the default domain, supported are 1 to ",
               [&] { import(model); });
}

TEST(Hostile, AModelHasOneGraphAndItsFunctionsOnce) {
  const std::string model = empty_model().SerializeAsString();
  expect_error(ErrorCode::kFormat, "it has two graphs",
               [&] { onnx::parse_onnx(bytes_of(model + model)); });
  ::onnx::ModelProto twice = empty_model();
  for (int i = 0; i < 2; ++i) {
    twice.add_functions()->set_name("F");
    twice.mutable_functions(i)->set_domain("own");
  }
  expect_error(ErrorCode::kFormat, "duplicate function 'F'", [&] { import(twice); });
}

TEST(Hostile, WhatIsNoModelIsSaidSo) {
  expect_error(ErrorCode::kFormat, "it has no graph", [] { onnx::parse_onnx({}); });
  expect_error(ErrorCode::kFormat, "not a Protocol Buffers message",
               [] { onnx::parse_onnx(bytes_of("PK\3\4 this is an archive")); });
}

TEST(Hostile, FilesBeyondTheLimitAreNamedOnce) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "m.onnx";
  write(path, {});
  std::filesystem::resize_file(path, (std::uintmax_t{2} << 30) + 1);  // sparse
  const std::string expected =
      "read '" + path.string() + "': has 2147483649 bytes, the limit is 2147483648";
  EXPECT_EQ(error_of(ErrorCode::kUnsupported, [&] { onnx::load_onnx(path); }), expected);
  EXPECT_EQ(error_of(ErrorCode::kUnsupported, [&] { onnx::load_onnx_model(path); }), expected);
}

}  // namespace
}  // namespace limpid::testing
