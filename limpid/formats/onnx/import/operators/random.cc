// Random operators. The key comes from the seed or, without one, from the output's name, so that a
// model gives the same numbers in every run.
#include <fmt/format.h>

#include <bit>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/formats/onnx/wire/detail/contents.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/random.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

// FNV-1a.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

Value key_of(const Node& node, std::uint64_t seed) {
  node.is_random();
  const std::vector<std::string>& names = node.contents().outputs;
  const std::uint64_t bits = node.has("seed") || names.empty() ? seed : hash_of(names[0]);
  return constant(node.builder(), key_tensor(Key(bits)));
}
// The seed of all of them but Dropout is an f32.
Value key_of_real_seed(const Node& node) {
  return key_of(node, std::bit_cast<std::uint64_t>(node.real("seed", 0)));
}

// ---- dropout

bool drops_elements(const Node& node) {
  if (node.version() >= 12) return node.has_input(2) && node.known_bool(2);
  return node.version() < 7 && !node.flag("is_test", false);
}
double ratio_of(const Node& node) {
  const double ratio = node.version() < 12 ? node.real("ratio", 0.5)
                       : node.has_input(1) ? node.known_real(1)
                                           : 0.5;
  if (!(ratio >= 0 && ratio < 1))
    node.fail(ErrorCode::kUnsupported, fmt::format("a dropout ratio of {}", ratio));
  return ratio;
}

// Masks were numbers before version 10.
Values import_dropout(Node& node) {
  const Value x = node.input(0);
  const double rate = drops_elements(node) ? ratio_of(node) : 0;
  const auto outputs = [&](Value y, Value mask) {
    return Values{y, node.version() < 10 ? cast(mask, x.dtype()) : mask};
  };
  if (rate == 0) return outputs(x, logical_not(cast(number_like(x, 0), Dtype::kBool)));
  const Value key =
      key_of(node, static_cast<std::uint64_t>(node.has("seed") ? node.integer("seed") : 0));
  if (!node.wants_output(1) && x.dtype() == Dtype::kF32) return {dropout(x, key, rate)};
  const Value drawn = uniform(key, x.shape());
  const Value mask = drawn >= number_like(drawn, rate);
  return outputs(select(mask, x / (1 - rate), number_like(x, 0)), mask);
}

// ---- draws

Shape shape_attribute_of(const Node& node) {
  const std::vector<std::int64_t> dims = node.integers("shape");
  return Shape(dims);
}

Value normal_numbers(const Node& node, const Shape& shape, Dtype dtype) {
  const Value drawn = normal(key_of_real_seed(node), shape);
  return cast(drawn * node.real("scale", 1) + node.real("mean", 0), dtype);
}

Value uniform_numbers(const Node& node, const Shape& shape, Dtype dtype) {
  const double low = node.real("low", 0);
  const Value drawn = uniform(key_of_real_seed(node), shape);
  return cast(drawn * (node.real("high", 1) - low) + low, dtype);
}

template <Value (*draw)(const Node&, const Shape&, Dtype)>
Values import_random(Node& node) {
  return {draw(node, shape_attribute_of(node), node.dtype("dtype", Dtype::kF32))};
}

template <Value (*draw)(const Node&, const Shape&, Dtype)>
Values import_random_like(Node& node) {
  const Type like = node.input(0).type();
  return {draw(node, like.shape, node.dtype("dtype", like.dtype))};
}

// 1 with probability x.
Values import_bernoulli(Node& node) {
  const Value x = node.input(0);
  const Value drawn = uniform(key_of_real_seed(node), x.shape());
  return {cast(cast(drawn, x.dtype()) < x, node.dtype("dtype", x.dtype()))};
}

constexpr NodeOp kRandomOperators[] = {
    {.name = "Bernoulli",
     .since = 15,
     .meaning = "whether uniform numbers are below x",
     .import = import_bernoulli},
    {.name = "Dropout",
     .meaning = "x; dropout in training; ratio and mode known at import",
     .import = import_dropout},
    {.name = "RandomNormal",
     .meaning = "normal numbers from a key made of the seed",
     .import = import_random<normal_numbers>},
    {.name = "RandomNormalLike",
     .meaning = "normal numbers from a key made of the seed",
     .import = import_random_like<normal_numbers>},
    {.name = "RandomUniform",
     .meaning = "uniform numbers from a key made of the seed",
     .import = import_random<uniform_numbers>},
    {.name = "RandomUniformLike",
     .meaning = "uniform numbers from a key made of the seed",
     .import = import_random_like<uniform_numbers>},
};

}  // namespace

constexpr std::span<const NodeOp> random_operators = kRandomOperators;

}  // namespace limpid::onnx::detail
