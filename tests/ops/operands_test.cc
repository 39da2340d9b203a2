// What ops refuse while they are traced: a run of such a call would read past an operand's end, or
// take its elements for others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/expand.h"

namespace limpid {
namespace {

constexpr Dtype kF32 = Dtype::kF32, kF64 = Dtype::kF64, kI32 = Dtype::kI32, kI64 = Dtype::kI64,
                kBool = Dtype::kBool;

// The call with `fitting` operands is traced; with any one of `wrong` in its place it is not.
void expect_refused(const Op& op, const Attributes& attributes, const std::vector<Type>& fitting,
                    const std::vector<std::pair<std::size_t, Type>>& wrong) {
  const auto make = [&](const std::vector<Type>& types) {
    std::vector<Input> inputs;
    for (std::size_t i = 0; i < types.size(); ++i)
      inputs.push_back({"x" + std::to_string(i), types[i]});
    trace("f", inputs, [&](auto in) { return call(op, in, attributes); });
  };
  make(fitting);
  for (const auto& [place, type] : wrong) {
    std::vector<Type> types = fitting;
    types[place] = type;
    EXPECT_THROW(make(types), Error) << op.name << ", input " << place << ": " << to_string(type);
  }
}

// Every other rule reads the type of the first operand.
TEST(Operands, AreNoneOfConstantsAlone) {
  std::vector<std::string_view> without;
  for (const Op* op : all_ops())
    if (op->min_inputs == 0) without.push_back(op->name);
  EXPECT_EQ(without, (std::vector<std::string_view>{"constant", "iota"}));
}

// The dtypes with which a call of an op is traced, where all operands of one dtype take another.
std::string dtypes_of(const Op& op, const Example& example,
                      const std::vector<std::size_t>& changed) {
  constexpr Dtype kAll[] = {kF32, kF64,       Dtype::kBf16, Dtype::kF16, kI32,
                            kI64, Dtype::kI8, Dtype::kU8,   kBool};
  std::string taken;
  for (const Dtype dtype : kAll) {
    Builder b("f");
    std::vector<Value> in;
    for (std::size_t i = 0; i < example.inputs.size(); ++i) {
      const bool other = std::find(changed.begin(), changed.end(), i) != changed.end();
      const Type& type = example.inputs[i];
      in.push_back(b.input("x" + std::to_string(i), {other ? dtype : type.dtype, type.shape}));
    }
    try {
      b.call(op, in, example.attributes);
      taken += (taken.empty() ? "" : " ") + std::string(name(dtype));
    } catch (const Error&) {
    }
  }
  return taken;
}

// Arithmetic reads the elements of an operand as of the dtype that it expects. Those of a group of
// operands change together; then each alone, where that may be anything else.
TEST(Operands, HaveTheDtypesThatTheirOpsCompute) {
  constexpr std::pair<std::string_view, std::string_view> kExpected[] = {
      {"bool", "logical_and logical_or logical_not"},
      {"bool; f32 f64 bf16 f16 i32 i64 i8 u8 bool", "select"},
      {"f32 f64",
       "exp log tanh erf sigmoid ndtr sqrt log1p expm1 sin cos rsqrt power floor ceil round "
       "truncate sign tan asin acos atan sinh cosh asinh acosh atanh relu leaky_relu prelu elu "
       "selu gelu gelu_gradient gelu_tanh silu swish mish softplus clamp hard_sigmoid hard_swish "
       "step glu swiglu geglu layer_norm layer_norm_gradient rms_norm rms_norm_gradient group_norm "
       "batch_norm batch_norm_inference softmax log_softmax log_sum_exp "
       "scaled_dot_product_attention rotary_embedding soft_cross_entropy binary_cross_entropy "
       "kl_divergence squared_error absolute_error huber smooth_l1 hinge info_nce triplet_margin "
       "adam_update pad"},
      {"f32 f64 bf16 f16 i32 i64 i8 u8 bool",
       "cast reshape broadcast transpose slice concatenate barrier"},
      {"f32 f64 bf16 f16 i32 i64 i8 u8 bool; i32", "update_rows"},
      {"f32 f64 bf16 f16 i32 i64 i8 u8 bool; i32 i64", "gather scatter"},
      {"f32 f64 i32 i64", "sum prod max min argmax argsort cumulative_sum"},
      {"f32 f64 i32 i64 i8 u8",
       "add subtract multiply divide remainder maximum minimum negate abs equal not_equal less "
       "less_equal"},
      {"f32 f64 i32 i64; i32 i64", "scatter_multiply scatter_maximum scatter_minimum"},
      {"f32 f64 i8, 1: f32 bf16", "matmul"},
      {"f32 f64, 1: f32 bf16", "linear"},
      {"f32 f64; bool", "cosine_embedding"},
      {"f32 f64; i32", "softmax_cross_entropy cached_attention negative_log_likelihood"},
      {"f32; i64", "dropout"},
      {"f32; i8", "quantized_linear"},
      {"i32", "shift_right"},
      {"i32 i64; f32 f64 i32 i64", "scatter_add"},
      {"i64", "random_bits fold_in uniform normal"}};
  std::set<std::string_view> asked = {"constant", "iota"};  // without operands
  for (const auto& [expected, ops] : kExpected)
    for (std::size_t at = 0; at < ops.size();) {
      const std::size_t end = std::min(ops.find(' ', at), ops.size());
      const Op* const op = find_op(ops.substr(at, end - at));
      at = end + 1;
      ASSERT_TRUE(op) << ops.substr(0, end);
      asked.insert(op->name);
      const Example example = op->examples().front();
      std::string taken;
      std::set<Dtype> seen;
      for (const Type& first : example.inputs) {
        if (!seen.insert(first.dtype).second) continue;
        std::vector<std::size_t> group;
        for (std::size_t i = 0; i < example.inputs.size(); ++i)
          if (example.inputs[i].dtype == first.dtype) group.push_back(i);
        taken += (taken.empty() ? "" : "; ") + dtypes_of(*op, example, group);
        if (group.size() == 1) continue;
        for (const std::size_t i : group)
          if (const std::string alone = dtypes_of(*op, example, {i}); alone != name(first.dtype))
            taken += ", " + std::to_string(i) + ": " + alone;
      }
      EXPECT_EQ(taken, expected) << op->name;
    }
  for (const Op* const op : all_ops()) EXPECT_TRUE(asked.contains(op->name)) << op->name;
}

TEST(Operands, OfReductionsAreNumbers) {
  for (const Op* op : {&op::sum, &op::max, &op::min, &op::argmax})
    expect_refused(*op, {{"axis", std::int64_t{0}}}, {{kF32, {2, 3}}}, {{0, {kBool, {2, 3}}}});
}

// Whoever calls with another dtype casts; with another shape, reshapes.
TEST(Operands, OfTwoDtypesAreNoMatterOfShape) {
  const auto code_of = [](const Op& op, const Attributes& attributes, const Type& second) {
    try {
      trace("f", {{"a", {kF32, {2, 3}}}, {"b", second}},
            [&](auto in) { return call(op, in, attributes); });
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::kInternal;
  };
  const std::pair<const Op*, Attributes> all[] = {{&op::add, {}},
                                                  {&op::concatenate, {{"axis", std::int64_t{0}}}}};
  for (const auto& [op, attributes] : all) {
    EXPECT_EQ(code_of(*op, attributes, {kF64, {2, 3}}), ErrorCode::kDtype) << op->name;
    EXPECT_EQ(code_of(*op, attributes, {kF32, {2, 4}}), ErrorCode::kShape) << op->name;
  }
}

TEST(Operands, OfADotAreGroupsOfSome) {
  try {
    dot(Args{}, Args{});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_STREQ(error.what(), "dot: expected groups, got no Values");
  }
}

TEST(Operands, OfElementwiseOps) {
  expect_refused(
      op::add, {}, {{kF32, {2, 3}}, {kF32, {2, 3}}},
      {{1, {kF32, {2, 2}}}, {1, {kF32, {3}}}, {1, {kF64, {2, 3}}}, {0, {kBool, {2, 3}}}});
  expect_refused(op::select, {}, {{kBool, {2, 3}}, {kF32, {2, 3}}, {kF32, {2, 3}}},
                 {{0, {kBool, {2, 2}}},
                  {0, {kBool, {3}}},
                  {0, {kI32, {2, 3}}},
                  {1, {kF32, {2, 2}}},
                  {2, {kF32, {2, 2}}},
                  {2, {kF64, {2, 3}}}});
  // Four scalars.
  const Type of{kF32, {2, 3}}, one{kF32, {}};
  expect_refused(op::adam_update, {{"beta1", 0.9}, {"beta2", 0.99}, {"eps", 1e-8}},
                 {of, of, of, of, one, one, one, one},
                 {{1, {kF32, {2, 2}}},
                  {2, {kF32, {2, 2}}},
                  {3, {kF32, {2, 2}}},
                  {3, {kF64, {2, 3}}},
                  {4, {kF32, {2, 3}}},
                  {7, {kF32, {1}}},
                  {7, {kF64, {}}}});
}

// A bias of one row, or of one number, beside no examples.
TEST(Operands, OfNoRowsTakeOne) {
  for (const Shape& one : {Shape{1, 3}, Shape{1}, Shape{}})
    trace("f", {{"x", {kF32, {0, 3}}}, {"b", {kF32, one}}}, [](std::span<const Value> in) {
      EXPECT_EQ((in[0] + in[1]).shape(), (Shape{0, 3}));
      EXPECT_EQ((in[1] + in[0]).shape(), (Shape{0, 3}));
      return std::vector<Value>{};
    });
}

TEST(Operands, OfProducts) {
  expect_refused(op::matmul, {{"transpose_a", false}, {"transpose_b", false}},
                 {{kF32, {2, 3, 4}}, {kF32, {2, 4, 5}}},
                 {{0, {kF32, {3, 4}}},
                  {1, {kF32, {4, 5}}},
                  {1, {kF32, {1, 4, 5}}},
                  {1, {kF32, {2, 5, 4}}},
                  {1, {kF64, {2, 4, 5}}}});
  expect_refused(op::matmul, {{"transpose_a", false}, {"transpose_b", false}},
                 {{kF64, {3, 3}}, {kF64, {3, 3}}},
                 {{0, {kI32, {3, 3}}}, {1, {kI32, {3, 3}}}, {1, {kF32, {3, 3}}}});
  EXPECT_THROW(trace("f", {{"x", {kI32, {3, 3}}}},
                     [](auto in) { return std::vector<Value>{matmul(in[0], in[0])}; }),
               Error);
  expect_refused(op::linear, {}, {{kF32, {3, 4}}, {kF32, {5, 4}}, {kF32, {5}}},
                 {{0, {kF32, {3, 5}}},
                  {0, {kF32, {}}},
                  {1, {kF32, {4}}},
                  {1, {kF32, {5, 4, 1}}},
                  {1, {kF64, {5, 4}}},
                  {2, {kF32, {4}}},
                  {2, {kF32, {1, 5}}},
                  {2, {kF32, {}}},
                  {2, {kF64, {5}}}});
}

TEST(Operands, OfRows) {
  expect_refused(op::layer_norm, {{"dims", std::int64_t{1}}, {"eps", 1e-5}},
                 {{kF32, {3, 4}}, {kF32, {4}}, {kF32, {4}}},
                 {{1, {kF32, {3}}},
                  {1, {kF32, {}}},
                  {1, {kF64, {4}}},
                  {2, {kF32, {5}}},
                  {2, {kF32, {3, 4}}},
                  {2, {kF64, {4}}}});
  expect_refused(op::softmax_cross_entropy, {}, {{kF32, {2, 3, 4}}, {kI32, {2, 3}}},
                 {{0, {kF32, {}}},
                  {1, {kI32, {2, 2}}},
                  {1, {kI32, {2}}},
                  {1, {kI32, {2, 3, 4}}},
                  {1, {kI64, {2, 3}}},
                  {1, {kF32, {2, 3}}}});
  expect_refused(op::rotary_embedding, {{"interleaved", false}},
                 {{kF32, {2, 3, 8}}, {kF32, {3, 4}}, {kF32, {3, 4}}},
                 {{0, {kF32, {2, 3, 7}}},
                  {0, {kF32, {2, 4, 8}}},
                  {0, {kF64, {2, 3, 8}}},
                  {1, {kF32, {3, 3}}},
                  {2, {kF32, {1, 4}}},
                  {2, {kF64, {3, 4}}}});
  EXPECT_THROW(
      trace("f", {{"x", {kF32, {2, 8}}}, {"angle", {kF32, {}}}},
            [](auto in) { return std::vector<Value>{rotary_embedding(in[0], in[1], in[1])}; }),
      Error);
  for (const std::int64_t dims : {0, 3})
    EXPECT_THROW(
        expect_refused(op::layer_norm, {{"dims", dims}, {"eps", 1e-5}}, {{kF32, {3, 4}}}, {}),
        Error)
        << dims;
  expect_refused(op::layer_norm_gradient, {{"dims", std::int64_t{1}}, {"eps", 1e-5}},
                 {{kF32, {3, 4}}, {kF32, {3, 4}}, {kF32, {4}}},
                 {{1, {kF32, {2, 4}}}, {1, {kF64, {3, 4}}}, {2, {kF32, {3}}}});
  const auto normed = [](bool gamma, bool beta) {
    trace("f", {{"x", {kF32, {3, 4}}}, {"p", {kF32, {4}}}}, [&](auto in) {
      return std::vector<Value>{layer_norm(in[0], gamma ? in[1] : Value(), beta ? in[1] : Value())};
    });
  };
  normed(false, false);
  normed(true, true);
  EXPECT_THROW(normed(false, true), Error);
  expect_refused(op::concatenate, {{"axis", std::int64_t{0}}}, {{kF32, {1, 3}}, {kF32, {2, 3}}},
                 {{1, {kF32, {2, 2}}}, {1, {kF32, {2}}}, {1, {kF64, {2, 3}}}, {1, {kI32, {2, 3}}}});
}

TEST(Operands, OfRowsByNumber) {
  const Attributes each{{"batch", std::int64_t{1}}};
  expect_refused(op::gather, each, {{kF32, {2, 5, 3}}, {kI32, {2, 4}}},
                 {{0, {kF32, {3, 5, 3}}},
                  {0, {kF32, {2}}},
                  {1, {kI32, {3, 4}}},
                  {1, {kI32, {}}},
                  {1, {kF32, {2, 4}}}});
  expect_refused(op::gather, each, {{kF32, {0, 5, 3}}, {kI32, {0, 4}}}, {{0, {kF32, {}}}});
  expect_refused(op::scatter_add, {{"batch", std::int64_t{1}}, {"size", std::int64_t{5}}},
                 {{kI64, {2, 4}}, {kF32, {2, 4, 3}}},
                 {{0, {kI64, {2, 5}}},
                  {0, {kI64, {2, 4, 3, 1}}},
                  {0, {kF64, {2, 4}}},
                  {1, {kF32, {3, 4, 3}}},
                  {1, {kF32, {2, 3, 3}}},
                  {1, {kF32, {2}}},
                  {1, {kBool, {2, 4, 3}}}});
  for (const Op* op : {&op::scatter, &op::scatter_maximum})
    expect_refused(*op, each, {{kF32, {2, 5, 3}}, {kI32, {2, 4}}, {kF32, {2, 4, 3}}},
                   {{0, {kF32, {2}}},
                    {0, {kF32, {2, 5, 2}}},
                    {1, {kI32, {2, 3}}},
                    {1, {kF32, {2, 4}}},
                    {2, {kF32, {2, 3, 3}}},
                    {2, {kF32, {2, 4}}},
                    {2, {kI32, {2, 4, 3}}},
                    {2, {kF64, {2, 4, 3}}}});
}

TEST(Operands, OfAttention) {
  // 4 heads of 3 queries, 2 of 5 keys.
  expect_refused(
      op::scaled_dot_product_attention, {{"causal", false}, {"scale", 0.5}},
      {{kF32, {2, 4, 3, 6}}, {kF32, {2, 2, 5, 6}}, {kF32, {2, 2, 5, 7}}, {kF32, {2, 4, 3, 5}}},
      {{0, {kF32, {2, 3, 3, 6}}},
       {0, {kF32, {1, 4, 3, 6}}},
       {0, {kF32, {2, 4, 3, 5}}},
       {0, {kF32, {4, 3, 6}}},
       {1, {kF32, {2, 2, 4, 6}}},
       {1, {kF64, {2, 2, 5, 6}}},
       {2, {kF32, {2, 2, 4, 7}}},
       {2, {kF32, {2, 1, 5, 7}}},
       {2, {kF64, {2, 2, 5, 7}}},
       {3, {kF32, {2, 4, 3, 4}}},
       {3, {kF32, {2, 4, 1, 5}}},
       {3, {kF32, {3, 5}}},
       {3, {kF64, {2, 4, 3, 5}}},
       {3, {kI32, {2, 4, 3, 5}}}});
  // Without a mask, whose shape has to fit, too.
  expect_refused(op::scaled_dot_product_attention, {{"causal", true}, {"scale", 0.5}},
                 {{kF32, {2, 4, 3, 6}}, {kF32, {2, 2, 5, 6}}, {kF32, {2, 2, 5, 7}}},
                 {{0, {kF32, {2, 3, 3, 6}}},
                  {0, {kF32, {2, 1, 3, 6}}},
                  {0, {kF32, {1, 4, 3, 6}}},
                  {0, {kF32, {4, 3, 6}}}});
  expect_refused(op::scaled_dot_product_attention, {{"causal", true}, {"scale", 0.5}},
                 {{kF32, {2, 3}}, {kF32, {2, 3}}, {kF32, {2, 3}}}, {{2, {kF32, {1, 2, 3}}}});
  // Their sizes are those of no query.
  const auto attended = [](const Type& q, const Type& k) {
    trace("f", {{"q", q}, {"k", k}, {"mask", {kBool, {1, 1}}}, {"at", {kI32, {}}}}, [](auto in) {
      return std::vector<Value>{scaled_dot_product_attention(in[0], in[1], in[1], {.mask = in[2]})};
    });
  };
  attended({kF32, {1, 3}}, {kF32, {1, 3}});
  EXPECT_THROW(attended({kF32, {}}, {kF32, {}}), Error);
  EXPECT_THROW(attended({kF32, {3}}, {kF32, {1, 3}}), Error);
  EXPECT_THROW(attended({kF32, {1, 3}}, {kF32, {3}}), Error);
  EXPECT_THROW(attended({kF32, {1, 1, 3}}, {kF32, {0, 1, 3}}), Error);  // no heads of keys
}

TEST(Operands, OfAttentionToACache) {
  // Two sequences of 3 queries with 4 heads, 2 of keys, of which there are 5.
  expect_refused(op::cached_attention, {{"scale", 0.5}},
                 {{kF32, {2, 4, 3, 6}}, {kF32, {2, 2, 6, 5}}, {kF32, {2, 2, 5, 7}}, {kI32, {2}}},
                 {{0, {kF32, {1, 4, 3, 6}}},
                  {0, {kF32, {2, 4, 3, 5}}},
                  {0, {kF32, {4, 3, 6}}},
                  {1, {kF32, {1, 2, 6, 5}}},
                  {1, {kF32, {2, 2, 6, 4}}},
                  {1, {kF32, {2, 2, 5, 5}}},
                  {1, {kF32, {2, 2, 6, 5, 1}}},
                  {1, {kF64, {2, 2, 6, 5}}},
                  {2, {kF32, {1, 2, 5, 7}}},
                  {2, {kF32, {2, 1, 5, 7}}},
                  {2, {kF32, {2, 2, 4, 7}}},
                  {2, {kF32, {2, 2, 5, 7, 1}}},
                  {2, {kF64, {2, 2, 5, 7}}},
                  {3, {kI32, {1}}},
                  {3, {kI32, {}}},
                  {3, {Dtype::kI64, {2}}}});
  expect_refused(op::cached_attention, {{"scale", 0.5}},
                 {{kF32, {4, 3, 6}}, {kF32, {2, 6, 5}}, {kF32, {2, 5, 7}}, {kI32, {}}},
                 {{0, {kF32, {}}},
                  {1, {kF32, {1, 2, 6, 5}}},
                  {1, {kF32, {0, 6, 5}}},
                  {2, {kF32, {1, 2, 5, 7}}}});
  EXPECT_THROW(trace("f", {{"q", {kF32, {}}}, {"at", {kI32, {}}}},
                     [](auto in) {
                       return std::vector<Value>{cached_attention(in[0], in[0], in[0], in[1])};
                     }),
               Error);
}

TEST(Operands, OfUpdatesOfACache) {
  expect_refused(op::update_rows, {{"axis", std::int64_t{1}}},
                 {{kF32, {2, 5, 3}}, {kF32, {2, 1, 3}}, {kI32, {2}}},
                 {{1, {kF32, {2, 1, 2}}},
                  {1, {kF32, {1, 1, 3}}},
                  {1, {kF32, {2, 1}}},
                  {1, {kI32, {2, 1, 3}}},
                  {1, {kF64, {2, 1, 3}}},
                  {2, {kI32, {1}}},
                  {2, {kI32, {2, 5}}},
                  {2, {Dtype::kI64, {2}}}});
}

// Elements outside of an operand would be read or written.
TEST(Operands, OfPartsAndPlaces) {
  using List = std::vector<std::int64_t>;
  const auto of_x = [](const std::function<Value(Value)>& code) {
    trace("f", {{"x", {kF32, {4, 2}}}},
          [&](std::span<const Value> in) { return std::vector<Value>{code(in[0])}; });
  };
  const auto sliced = [&](std::int64_t start, std::int64_t limit, std::int64_t stride) {
    of_x([&](Value x) { return slice(x, List{start, 0}, List{limit, 2}, List{stride, 1}); });
  };
  sliced(3, 3, 1);
  sliced(1, 4, 1);
  EXPECT_THROW(sliced(3, 2, 1), Error);
  EXPECT_THROW(sliced(-1, 2, 1), Error);
  EXPECT_THROW(sliced(0, 5, 1), Error);
  EXPECT_THROW(sliced(0, 4, 0), Error);
  const auto padded = [&](std::int64_t low, std::int64_t high, std::int64_t interior) {
    of_x([&](Value x) { return pad(x, List{0, low}, List{0, high}, List{0, interior}); });
  };
  padded(1, 2, 3);
  EXPECT_THROW(padded(-1, 2, 0), Error);
  EXPECT_THROW(padded(1, -1, 0), Error);
  EXPECT_THROW(padded(1, 1, -1), Error);
  const auto along = [&](const Op& op, std::int64_t axis) {
    of_x([&](Value x) { return call(op, std::vector{x}, {{"axis", axis}})[0]; });
  };
  for (const Op* op :
       {&op::sum, &op::argmax, &op::softmax, &op::log_sum_exp, &op::prod, &op::concatenate}) {
    along(*op, 0);
    along(*op, 1);
    EXPECT_THROW(along(*op, -1), Error) << op->name;
    EXPECT_THROW(along(*op, 2), Error) << op->name;
  }
  EXPECT_THROW(of_x([](Value x) { return argmax(slice(x, 0, 1, 1), 0); }), Error);
  of_x([](Value x) { return argmax(slice(x, 0, 1, 1), 1); });
  EXPECT_THROW(of_x([](Value) { return concatenate(std::vector<Value>{}, 0); }), Error);
  // A result has at most eight dimensions.
  const auto rows = [](const Shape& numbers) {
    trace("f", {{"x", {kF32, {4, 2, 1}}}, {"i", {kI32, numbers}}},
          [](std::span<const Value> in) { return std::vector<Value>{gather(in[0], in[1])}; });
  };
  rows({1, 1, 1, 1, 1, 1});
  EXPECT_THROW(rows({1, 1, 1, 1, 1, 1, 1}), Error);
}

// Integers have no halves.
TEST(Operands, OfPaddings) {
  using List = std::vector<std::int64_t>;
  const auto padded = [](Dtype dtype, double with) {
    trace("f", {{"x", {dtype, {3}}}}, [&](std::span<const Value> in) {
      return std::vector<Value>{pad(in[0], List{1}, List{0}, List{0}, with)};
    });
  };
  padded(kF32, 0.5);
  padded(kI32, -7);
  for (const Dtype dtype : {kI32, kI64})
    for (const double with : {-0x1p31, 0x1p31 - 1}) padded(dtype, with);
  for (const Dtype dtype : {kI32, kI64})
    for (const double with : {0.5, 0x1p31, -0x1p31 - 1}) EXPECT_THROW(padded(dtype, with), Error);
}

TEST(Operands, OfNormsByChannel) {
  const Type channel{kF32, {4}};
  expect_refused(op::batch_norm, {{"eps", 1e-5}, {"momentum", 0.1}},
                 {{kF32, {2, 4, 1}}, channel, channel, channel, channel},
                 {{0, {kF32, {1, 4, 1}}},  // the variance of one element
                  {0, {kF32, {4}}},
                  {0, {kF32, {2, 3, 1}}},
                  {1, {kF32, {3}}},
                  {4, {kF64, {4}}}});
  expect_refused(op::group_norm, {{"eps", 1e-5}, {"groups", std::int64_t{2}}},
                 {{kF32, {2, 4, 3}}, channel, channel},
                 {{0, {kF32, {2, 3, 4}}}, {0, {kF32, {4}}}, {2, {kF32, {2}}}});
  EXPECT_THROW(
      trace("f", {{"x", {kF32, {2, 4, 3}}}, {"p", channel}},
            [](auto in) { return std::vector<Value>{group_norm(in[0], 0, in[1], in[1])}; }),
      Error);
  // A group of each channel, and an eps of 0.
  trace("f", {{"x", {kF32, {2, 4, 3}}}, {"p", channel}}, [](auto in) {
    return std::vector<Value>{group_norm(in[0], 4, in[1], in[1], 0), layer_norm(in[0], {}, {}, 0),
                              batch_norm(in[0], in[1], in[1], in[1], in[1], 0.1, 0).y};
  });
  for (const double eps : {-1e-5, std::nan("")}) {
    EXPECT_THROW(expect_refused(op::batch_norm, {{"eps", eps}, {"momentum", 0.1}},
                                {{kF32, {2, 4, 1}}, channel, channel, channel, channel}, {}),
                 Error);
    EXPECT_THROW(expect_refused(op::group_norm, {{"eps", eps}, {"groups", std::int64_t{2}}},
                                {{kF32, {2, 4, 3}}, channel, channel}, {}),
                 Error);
  }
  // Of nothing.
  const Type none{kF32, {0}};
  EXPECT_THROW(expect_refused(op::group_norm, {{"eps", 1e-5}, {"groups", std::int64_t{1} << 62}},
                              {{kF32, {8, 0, 3}}, none, none}, {}),
               Error);
  expect_refused(op::batch_norm, {{"eps", 1e-5}, {"momentum", 0.1}},
                 {{kF32, {2, 0, 1}}, none, none, none, none}, {});
  const Function empty = expand(trace("f", {{"x", {kF32, {0, 4, 3}}}, {"p", channel}}, [](auto in) {
    return std::vector<Value>{group_norm(in[0], 2, in[1], in[1])};
  }));
  EXPECT_EQ(empty.type(empty.outputs().front().value).shape, (Shape{0, 4, 3}));
}

TEST(Operands, OfFoldIn) {
  const Type keys{kI64, {4}};
  expect_refused(op::fold_in, {}, {keys, keys},
                 {{0, {kI32, {4}}}, {1, {kI64, {}}}, {1, {kI64, {3}}}, {1, {kI32, {4}}}});
}

// Everything would be dropped, and the rest scaled by infinity.
TEST(Operands, OfDropout) {
  const auto dropped = [](double rate) {
    trace("f", {{"x", {kF32, {3}}}, {"key", {kI64, {}}}}, [&](std::span<const Value> in) {
      return std::vector<Value>{dropout(in[0], in[1], rate)};
    });
  };
  dropped(0);
  dropped(0.999);
  for (const double rate : {1.0, 1.5, -0.1, std::nan("")}) EXPECT_THROW(dropped(rate), Error);
  expect_refused(op::dropout, {{"rate", 0.5}}, {{kF32, {3}}, {kI64, {}}},
                 {{0, {kF64, {3}}}, {1, {kI32, {}}}, {1, {kI64, {3}}}});
}

TEST(Operands, OfConstants) {
  Builder b("f");
  const auto refused = [&](double number, Dtype dtype) {
    EXPECT_THROW(constant(b, number, dtype), Error) << number << " as " << name(dtype);
  };
  for (const auto& [dtype, lowest, above] : {std::tuple{kI32, -0x1p31, 0x1p31},
                                             {kI64, -0x1p63, 0x1p63},
                                             {Dtype::kI8, -128.0, 128.0},
                                             {Dtype::kU8, 0.0, 256.0}}) {
    EXPECT_NO_THROW(constant(b, lowest, dtype));
    EXPECT_NO_THROW(constant(b, std::min(above - 1, std::nextafter(above, 0.0)), dtype));
    refused(above, dtype);
    refused(std::min(lowest - 1, std::nextafter(lowest, -0x1p100)), dtype);
    refused(0.5, dtype);
    refused(std::nan(""), dtype);
  }
  refused(1, kBool);
  refused(1, Dtype::kBf16);
  // They are i32.
  EXPECT_EQ(iota(b, std::int64_t{1} << 31).shape(), (Shape{std::int64_t{1} << 31}));
  for (const std::int64_t size : {std::int64_t{-1}, (std::int64_t{1} << 31) + 1})
    EXPECT_THROW(iota(b, size), Error) << size;
}

// ---- defaults

// The numbers of the papers and of PyTorch.
TEST(Defaults, AreWhatTheyWere) {
  const auto function = [](const std::function<std::vector<Value>(std::span<const Value>)>& code) {
    return trace("f",
                 {{"x", {kF32, {4, 2}}},
                  {"y", {kF32, {4, 2}}},
                  {"z", {kF32, {4, 2}}},
                  {"same", {kBool, {4}}},
                  {"each", {kF32, {2}}}},
                 code);
  };
  const auto batch_norms = [](const auto& x, const auto&... numbers) {
    const BatchNormResult r = batch_norm(x[0], x[4], x[4], x[4], x[4], numbers...);
    return std::vector<Value>{r.y, r.running_mean, r.running_var};
  };
  using X = std::span<const Value>;
  const Reduction mean = Reduction::kMean;
  const Function shorter = function([&](X x) {
    std::vector<Value> all{leaky_relu(x[0]),
                           elu(x[0]),
                           huber_loss(x[0], x[1]),
                           smooth_l1_loss(x[0], x[1]),
                           info_nce_loss(x[0], x[1]),
                           triplet_margin_loss(x[0], x[1], x[2]),
                           cosine_embedding_loss(x[0], x[1], x[3]),
                           binary_cross_entropy(x[0], x[1]),
                           multi_label_loss(x[0], x[1]),
                           kl_divergence(x[0], x[1]),
                           hinge_loss(x[0], x[1]),
                           mse_loss(x[0], x[1]),
                           mae_loss(x[0], x[1]),
                           layer_norm(x[0], x[4], x[4]),
                           rms_norm(x[0], x[4]),
                           group_norm(x[0], 2, x[4], x[4]),
                           batch_norm_inference(x[0], x[4], x[4], x[4], x[4]),
                           rotary_embedding(x[0], slice(x[0], 1, 0, 1), slice(x[0], 1, 1, 2)),
                           scaled_dot_product_attention(x[0], x[1], x[2]),
                           cumulative_sum(x[0], 0),
                           softmax(x[0]),
                           log_softmax(x[0]),
                           log_sum_exp(x[0]),
                           argsort(x[0]),
                           top_k(x[0], 1).values,
                           matmul(x[0], reshape(x[1], {2, 4}))};
    for (const Value& v : batch_norms(x)) all.push_back(v);
    return all;
  });
  const Function longer = function([&](X x) {
    std::vector<Value> all{
        leaky_relu(x[0], 0.01),
        elu(x[0], 1),
        huber_loss(x[0], x[1], 1, mean),
        smooth_l1_loss(x[0], x[1], 1, mean),
        info_nce_loss(x[0], x[1], {.temperature = 0.1, .normalize = true, .reduction = mean}),
        triplet_margin_loss(x[0], x[1], x[2], 1, mean),
        cosine_embedding_loss(x[0], x[1], x[3], 0, mean),
        binary_cross_entropy(x[0], x[1], mean),
        multi_label_loss(x[0], x[1], mean),
        kl_divergence(x[0], x[1], mean),
        hinge_loss(x[0], x[1], mean),
        mse_loss(x[0], x[1], mean),
        mae_loss(x[0], x[1], mean),
        layer_norm(x[0], x[4], x[4], 1e-5),
        rms_norm(x[0], x[4], 1e-5),
        group_norm(x[0], 2, x[4], x[4], 1e-5),
        batch_norm_inference(x[0], x[4], x[4], x[4], x[4], 1e-5),
        rotary_embedding(x[0], slice(x[0], 1, 0, 1), slice(x[0], 1, 1, 2), false),
        scaled_dot_product_attention(x[0], x[1], x[2],
                                     {.causal = false, .scale = 1 / std::sqrt(2.0)}),
        cumulative_sum(x[0], 0, {.exclusive = false, .reverse = false}),
        softmax(x[0], 1),
        log_softmax(x[0], 1),
        log_sum_exp(x[0], 1),
        argsort(x[0], 1, false),
        top_k(x[0], 1, 1, true).values,
        matmul(x[0], reshape(x[1], {2, 4}), false, false)};
    for (const Value& v : batch_norms(x, 0.1, 1e-5)) all.push_back(v);
    return all;
  });
  EXPECT_EQ(shorter, longer);
  const AdamNumbers adam;
  EXPECT_EQ(adam.beta1, 0.9);
  EXPECT_EQ(adam.beta2, 0.999);
  EXPECT_EQ(adam.eps, 1e-8);
}

// ---- what they say

struct Refusal {
  ErrorCode code;
  std::string_view message;
  std::vector<Type> operands;
  std::function<void(std::span<const Value>)> call;
};

void expect_messages(const std::vector<Refusal>& refusals) {
  for (const Refusal& r : refusals) {
    Builder b("f");
    std::vector<Value> in;
    for (const Type& type : r.operands)
      in.push_back(b.input("x" + std::to_string(in.size()), type));
    try {
      r.call(in);
      ADD_FAILURE() << "nothing thrown: " << r.message;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), r.code) << e.what();
      EXPECT_EQ(std::string_view(e.what()), r.message);
    }
  }
}

using In = std::span<const Value>;
using List = std::vector<std::int64_t>;

// Whoever is refused learns from one line what came and what was expected.
TEST(Messages, OfDtypes) {
  const ErrorCode dtype = ErrorCode::kDtype;
  const Type three{kF32, {3}}, wide{kF64, {3}}, whole{kI32, {3}}, truths{kBool, {3}};
  expect_messages(
      {{dtype, "exp: input 0 is i32[3], expected f32 or f64", {whole}, [](In x) { exp(x[0]); }},
       {dtype,
        "sum: input 0 is bool[3], expected f32, f64, i32 or i64",
        {truths},
        [](In x) { sum(x[0], 0); }},
       {dtype,
        "add: input 0 is bool[3], expected f32, f64, i32, i64, i8 or u8",
        {truths, truths},
        [](In x) { (void)(x[0] + x[1]); }},
       {dtype,
        "logical_and: input 0 is f32[3], expected bool",
        {three, truths},
        [](In x) { logical_and(x[0], x[1]); }},
       {dtype,
        "divide: inputs must have one type, got f32[3] and f64[3]",
        {three, wide},
        [](In x) { (void)(x[0] / x[1]); }},
       {dtype,
        "gather: input 1 is f32[3], expected i32 or i64",
        {three, three},
        [](In x) { gather(x[0], x[1]); }},
       {dtype,
        "matmul: input 0 is i32[2, 2], expected f32, f64 or i8",
        {{kI32, {2, 2}}},
        [](In x) { matmul(x[0], x[0]); }},
       {dtype,
        "linear: input 1 is f32[2, 3], expected f64, the dtype of input 0",
        {wide, {kF32, {2, 3}}},
        [](In x) { linear(x[0], x[1]); }},
       {dtype,
        "linear: input 1 is f64[2, 3], expected f32 or bf16",
        {three, {kF64, {2, 3}}},
        [](In x) { linear(x[0], x[1]); }},
       {dtype,
        "concatenate: input 1 is f64[3], input 0 is f32[3]; they may differ in dimension 0 only",
        {three, wide},
        [](In x) {
          concatenate({x[0], x[1]}, 0);
        }},
       {dtype,
        "scatter: x is f32[3], indices i32[3], updates f64[3]; expected a row of updates for every "
        "index",
        {three, whole, wide},
        [](In x) { scatter(x[0], x[1], x[2], ScatterMode::kAdd); }},
       {dtype,
        "cross_entropy: labels are f32[3]; expected integers, or probabilities of the type of the "
        "logits, f32[3, 2]",
        {{kF32, {3, 2}}, three},
        [](In x) { cross_entropy(x[0], x[1]); }},
       {dtype, "constant: a number cannot be converted to bool", {three}, [](In x) {
          constant(x[0].builder(), 1, kBool);
        }}});
}

TEST(Messages, OfShapes) {
  const ErrorCode shape = ErrorCode::kShape;
  const Type table{kF32, {2, 3}}, three{kF32, {3}}, four{kF32, {4}};
  expect_messages(
      {{shape,
        "multiply: shapes [2, 3] and [4] do not broadcast together",
        {table, four},
        [](In x) { (void)(x[0] * x[1]); }},
       {shape,
        "maximum: inputs must have one type, got f32[2, 3] and f32[4]",
        {table, four},
        [](In x) { call(op::maximum, x); }},
       {shape,
        "reshape: f32[2, 3] has 6 elements, shape [4] has 4",
        {table},
        [](In x) { reshape(x[0], {4}); }},
       {shape,
        "broadcast: f32[2, 3] does not broadcast to [4, 3]",
        {table},
        [](In x) {
          broadcast(x[0], {4, 3});
        }},
       {shape,
        "transpose: [0, 0] is not a permutation of the axes of f32[2, 3]",
        {table},
        [](In x) {
          transpose(x[0], {0, 0});
        }},
       {shape,
        "matmul: expected two operands of one rank, 2 or more, got f32[3] by f32[2, 3]",
        {three, table},
        [](In x) { matmul(x[0], x[1]); }},
       {shape,
        "matmul: expected equal dimensions to sum over, got f32[2, 3] transposed by f32[3, 4]",
        {table, {kF32, {3, 4}}},
        [](In x) { matmul(x[0], x[1], true); }},
       {shape,
        "matmul: expected equal dimensions to sum over, got f32[2, 3] by f32[3, 4] transposed",
        {table, {kF32, {3, 4}}},
        [](In x) { matmul(x[0], x[1], false, true); }},
       {shape,
        "matmul: expected equal leading dimensions, got f32[5, 2, 3] by f32[6, 3, 4]",
        {{kF32, {5, 2, 3}}, {kF32, {6, 3, 4}}},
        [](In x) { matmul(x[0], x[1]); }},
       {shape,
        "linear: weight is f32[3], expected (out, in)",
        {table, three},
        [](In x) { linear(x[0], x[1]); }},
       {shape,
        "linear: input is a scalar, weight expects 3 features",
        {{kF32, {}}, table},
        [](In x) { linear(x[0], x[1]); }},
       {shape,
        "linear: input has 4 features, weight expects 3",
        {four, table},
        [](In x) { linear(x[0], x[1]); }},
       {shape,
        "linear: bias has shape [3], expected [2]",
        {three, table, three},
        [](In x) { linear(x[0], x[1], x[2]); }},
       {shape,
        "softmax_cross_entropy: logits are f32[2, 3], labels i32[3]; expected logits of the "
        "labels' "
        "shape and one dimension of classes",
        {table, {kI32, {3}}},
        [](In x) { softmax_cross_entropy(x[0], x[1]); }},
       {shape,
        "info_nce: input 0 is f32[3], expected [..., n, features]",
        {three},
        [](In x) { info_nce_loss(x[0], x[0]); }},
       {shape,
        "triplet_margin: input 0 is f32[], expected [..., features]",
        {{kF32, {}}},
        [](In x) { triplet_margin_loss(x[0], x[0], x[0]); }},
       {shape,
        "cosine_embedding: input 2 is bool[3], expected bool[2]",
        {table, {kBool, {3}}},
        [](In x) { cosine_embedding_loss(x[0], x[0], x[1]); }},
       {shape,
        "rms_norm: cannot normalise the last 2 dimensions of f32[3], expected 1 to 1",
        {three, table},
        [](In x) { rms_norm(x[0], x[1]); }},
       {shape,
        "layer_norm: input 1 is f32[4], expected f32 of shape [3]",
        {table, four},
        [](In x) { layer_norm(x[0], x[1]); }},
       {shape,
        "batch_norm_inference: input is f32[3], expected (examples, channels, ...)",
        {three},
        [](In x) { batch_norm_inference(x[0], x[0], x[0], x[0], x[0]); }},
       {shape,
        "group_norm: 3 channels do not split into 2 equal groups",
        {table, three},
        [](In x) { group_norm(x[0], 2, x[1], x[1]); }},
       {shape,
        "batch_norm: input is f32[1, 3], expected 2 or more elements per channel in training",
        {{kF32, {1, 3}}, three},
        [](In x) { batch_norm(x[0], x[1], x[1], x[1], x[1]); }},
       {shape,
        "rotary_embedding: x is f32[2, 3], cosines and sines f32[2, 2]; expected angles for at "
        "most half of a row, broadcastable to its other dimensions",
        {table, {kF32, {2, 2}}},
        [](In x) { rotary_embedding(x[0], x[1], x[1]); }},
       {shape,
        "dropout: the key is i64[2], expected a scalar",
        {three, {kI64, {2}}},
        [](In x) { dropout(x[0], x[1], 0.5); }},
       {shape,
        "adam_update: input 4 is f32[3], expected a scalar",
        {three},
        [](In x) {
          adam_update(x[0], x[0], x[0], x[0], {x[0], x[0], x[0], x[0]}, {0.9, 0.99, 1e-8});
        }},
       {shape, "argsort: f32[] has no axis to sort", {{kF32, {}}}, [](In x) {
          call(op::argsort, x, {{"descending", false}});
        }}});
}

TEST(Messages, OfPartsAndPlaces) {
  const ErrorCode shape = ErrorCode::kShape;
  const Type table{kF32, {2, 3}}, three{kF32, {3}}, places{kI32, {3}};
  constexpr std::int64_t kHalf = std::int64_t{1} << 62;
  expect_messages(
      {{shape,
        "slice: starts has 1 numbers, f32[2, 3] has rank 2",
        {table},
        [](In x) {
          slice(x[0], List{0}, List{2, 3}, List{1, 1});
        }},
       {shape,
        "slice: dimension 1: start 2, limit 4, stride 1 of f32[2, 3]; expected 0 <= start <= limit "
        "<= 3 and a stride of 1 or more",
        {table},
        [](In x) {
          slice(x[0], List{0, 2}, List{2, 4}, List{1, 1});
        }},
       {shape,
        "pad: dimension 1: expected no negative padding, got 1 before, -2 after, 3 between",
        {table},
        [](In x) {
          pad(x[0], List{0, 1}, List{0, -2}, List{0, 3});
        }},
       {shape,
        "pad: dimension 1 grows beyond 2^63",
        {table},
        [](In x) {
          pad(x[0], List{0, kHalf}, List{0, kHalf}, List{0, 0});
        }},
       {shape,
        "pad: 1 and 2 numbers for f32[2, 3]",
        {table},
        [](In x) {
          pad(x[0], List{1}, List{1, 1}, PadMode::kEdge);
        }},
       {shape,
        "pad: 1 before and -2 after dimension 1 of f32[2, 3]",
        {table},
        [](In x) {
          pad(x[0], List{0, 1}, List{0, -2}, PadMode::kEdge);
        }},
       {shape,
        "concatenate: input 1 is f32[3], input 0 is f32[2, 3]; they may differ in dimension 0 only",
        {table, three},
        [](In x) {
          concatenate({x[0], x[1]}, 0);
        }},
       {shape,
        "split: dimension 1 of f32[2, 3] does not divide into 2 equal parts",
        {table},
        [](In x) { split(x[0], 2, 1); }},
       {shape,
        "top_k: 4 elements along axis 1 of f32[2, 3]",
        {table},
        [](In x) { top_k(x[0], 4, 1); }},
       {shape,
        "argmax: axis 0 of f32[0, 3] is empty",
        {{kF32, {0, 3}}},
        [](In x) { argmax(x[0], 0); }},
       {shape, "mean: axis 2 is outside of rank 2", {table}, [](In x) { mean(x[0], 2); }},
       {shape,
        "sum: axis 2 is outside of f32[2, 3]",
        {table},
        [](In x) {
          call(op::sum, x, {{"axis", std::int64_t{2}}});
        }},
       {shape,
        "softmax: axis -1 is outside of f32[2, 3]",
        {table},
        [](In x) {
          call(op::softmax, x, {{"axis", std::int64_t{-1}}});
        }},
       {shape,
        "concatenate: axis 2 is outside of f32[2, 3]",
        {table},
        [](In x) {
          call(op::concatenate, x, {{"axis", std::int64_t{2}}});
        }},
       {shape,
        "cumulative_sum: axis 2 is outside of f32[2, 3]",
        {table},
        [](In x) {
          call(op::cumulative_sum, x,
               {{"axis", std::int64_t{2}}, {"exclusive", false}, {"reverse", false}});
        }},
       {shape,
        "gather: inputs f32[2, 3] and i32[3] do not share 1 leading dimensions",
        {table, places},
        [](In x) { gather(x[0], x[1], 1); }},
       {shape, "gather: f32[3] has no rows", {three, places}, [](In x) { gather(x[0], x[1], 1); }},
       {shape,
        "gather: a result of rank 9, at most 8 is supported",
        {table, {kI32, {1, 1, 1, 1, 1, 1, 1, 1}}},
        [](In x) { gather(x[0], x[1]); }},
       {shape,
        "scatter_add: indices are i32[3], updates f32[2, 3], size 4; expected a row of updates for "
        "every index and a size of 0 or more",
        {places, table},
        [](In x) { scatter_add(x[0], x[1], 4); }},
       {shape,
        "scatter_maximum: x is f32[2, 3], indices i32[3], updates f32[3]; expected a row of "
        "updates "
        "for every index",
        {table, places, three},
        [](In x) { scatter(x[0], x[1], x[2], ScatterMode::kMaximum); }},
       {shape,
        "scatter: x is f32[3], indices i32[3], updates f32[3, 3]; expected a row of updates for "
        "every index",
        {three, places, {kF32, {3, 3}}},
        [](In x) { scatter(x[0], x[1], x[2], ScatterMode::kAdd); }},
       {shape,
        "scatter: f32[3] has no rows after 1 dimensions",
        {three, places},
        [](In x) { scatter(x[0], x[1], x[0], ScatterMode::kAdd, 1); }},
       {shape,
        "scatter: f32[3] has no rows after -1 dimensions",
        {three, places},
        [](In x) { scatter(x[0], x[1], x[0], ScatterMode::kAdd, -1); }},
       {shape,
        "indices i32[3] along axis 1 of [2, 3]: expected the same rank and no larger dimensions "
        "except along the axis",
        {table, places},
        [](In x) { take_along_axis(x[0], x[1], 1); }},
       {shape,
        "flat_index: i32[3] of [2, 3]: expected a last dimension of 2",
        {places},
        [](In x) {
          flat_index(x[0], {2, 3});
        }},
       {shape,
        "update_rows: expected a cache, rows of its shape except along axis 0, and a position for "
        "each of its leading dimensions, got f32[2, 3], f32[3], i32[3]",
        {table, three, places},
        [](In x) { update_rows(x[0], x[1], x[2], -2); }}});
}

TEST(Messages, OfAttention) {
  const Type q{kF32, {3, 4}}, k{kF32, {5, 4}}, v{kF32, {5, 6}};
  const auto attend = [](In x) { scaled_dot_product_attention(x[0], x[1], x[2]); };
  expect_messages(
      {{ErrorCode::kShape,
        "scaled_dot_product_attention: expected three operands of one rank, 2 or more, got q "
        "f32[3, 4], k f32[5, 4], v f32[6]",
        {q, k, {kF32, {6}}},
        attend},
       {ErrorCode::kShape,
        "scaled_dot_product_attention: expected queries and keys of one size, got q f32[3, 4], k "
        "f32[5, 6], v f32[5, 4]",
        {q, v, k},
        attend},
       {ErrorCode::kShape,
        "scaled_dot_product_attention: expected a value for every key, got q f32[3, 4], k f32[5, "
        "4], v f32[3, 4]",
        {q, k, q},
        attend},
       {ErrorCode::kShape,
        "scaled_dot_product_attention: expected equal leading dimensions and heads of k that "
        "divide those of q, got q f32[3, 1, 4], k f32[2, 1, 4], v f32[2, 1, 4]",
        {{kF32, {3, 1, 4}}, {kF32, {2, 1, 4}}, {kF32, {2, 1, 4}}},
        attend},
       {ErrorCode::kShape,
        "scaled_dot_product_attention: mask bool[5, 3] is not of the scores' shape [3, 5]",
        {q, k, v, {kBool, {5, 3}}},
        [](In x) {
          call(op::scaled_dot_product_attention, x, {{"causal", false}, {"scale", 1.0}});
        }},
       {ErrorCode::kShape,
        "cached_attention: expected q (B..., H, L, D), keys (B..., G, D, C), values (B..., G, C, "
        "E) and positions (B...), where G divides H, got f32[3, 4], f32[5, 4], f32[5, 6], i32[]",
        {q, k, v, {kI32, {}}},
        [](In x) { cached_attention(x[0], x[1], x[2], x[3]); }}});
}

TEST(Messages, OfNumbers) {
  const ErrorCode number = ErrorCode::kInvalidArgument;
  const Type three{kF32, {3}}, table{kF32, {2, 3}};
  expect_messages(
      {{number, "elu: expected a positive alpha, got 0", {three}, [](In x) { elu(x[0], 0); }},
       {number,
        "clamp: expected low <= high, got 2 and 1",
        {three},
        [](In x) { clamp(x[0], 2, 1); }},
       {number,
        "huber: delta is 0, expected a positive number",
        {three},
        [](In x) { huber_loss(x[0], x[0], 0); }},
       {number,
        "smooth_l1: beta is -1, expected a positive number",
        {three},
        [](In x) { smooth_l1_loss(x[0], x[0], -1); }},
       {number,
        "cross_entropy: label smoothing 2 is outside of [0, 1]",
        {table, {kI32, {2}}},
        [](In x) { cross_entropy(x[0], x[1], {.label_smoothing = 2}); }},
       {number,
        "cross_entropy: ignoring a label needs labels, got probabilities",
        {table},
        [](In x) { cross_entropy(x[0], x[0], {.ignore_index = 1}); }},
       {number,
        "rms_norm: eps is -1, expected 0 or more",
        {three},
        [](In x) { rms_norm(x[0], {}, -1); }},
       {number,
        "layer_norm: got beta without gamma",
        {three},
        [](In x) { layer_norm(x[0], {}, x[0]); }},
       {number,
        "dropout: rate 1 is outside of [0, 1)",
        {three, {kI64, {}}},
        [](In x) { dropout(x[0], x[1], 1); }},
       {number,
        "pad: i32[3] is padded with 0.5, expected a 32-bit integer",
        {{kI32, {3}}},
        [](In x) { pad(x[0], List{1}, List{0}, List{0}, 0.5); }},
       {number,
        "iota: size -1 is outside of [0, 2^31]",
        {three},
        [](In x) { iota(x[0].builder(), -1); }},
       {number,
        "constant: 300 is not a value of u8",
        {three},
        [](In x) { constant(x[0].builder(), 300, Dtype::kU8); }},
       {number, "concatenate: expected at least one part, got none", {}, [](In) {
          concatenate(std::vector<Value>{}, 0);
        }}});
}

// Of several layers, the one that is meant.
TEST(Messages, NameTheLayer) {
  expect_messages({{ErrorCode::kShape,
                    "linear 'encoder.0': input has 4 features, weight expects 3",
                    {{kF32, {4}}, {kF32, {2, 3}}},
                    [](In x) {
                      const Builder::Scope outer(x[0].builder(), "encoder");
                      const Builder::Scope inner(x[0].builder(), "0");
                      linear(x[0], x[1]);
                    }}});
}

}  // namespace
}  // namespace limpid
