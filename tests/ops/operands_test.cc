// What ops refuse while they are traced: a run of such a call would read past an operand's end, or
// take its elements for others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
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

}  // namespace
}  // namespace limpid
