// What ops refuse while they are traced: a run of such a call would read past an operand's end, or
// take its elements for others. For every op the wrong operands and attributes are made from its
// examples; what came of them is recorded.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <regex>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/text.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/expand.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

constexpr Dtype kF32 = Dtype::kF32, kF64 = Dtype::kF64, kI32 = Dtype::kI32, kI64 = Dtype::kI64,
                kBool = Dtype::kBool;
constexpr Dtype kAllDtypes[] = {kF32, kF64,       Dtype::kBf16, Dtype::kF16, kI32,
                                kI64, Dtype::kI8, Dtype::kU8,   kBool};
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

// Lines, each with the ops to which it applies.
class Table {
 public:
  void add(const std::string& line, const Op& op) {
    std::string& ops = ops_[line];
    if (seen_.insert({line, op.name}).second)
      ops += (ops.empty() ? "" : " ") + std::string(op.name);
  }
  void record() const {
    for (const auto& [line, ops] : ops_) expect_message(line + " <- " + ops);
  }

 private:
  std::map<std::string, std::string> ops_;
  std::set<std::pair<std::string, std::string_view>> seen_;
};

// Calls of one op. Of its messages that differ in types and numbers alone the first is kept.
class Calls {
 public:
  Calls(const Op& op, Table& messages) : op_(op), messages_(messages) {}

  // "." for a call that is accepted, otherwise the first letter of the code.
  char outcome(const std::vector<Type>& types, const Attributes& attributes) {
    Builder b("f");
    std::vector<Value> in;
    for (const Type& type : types) in.push_back(b.input("x" + std::to_string(in.size()), type));
    try {
      b.call(op_, in, attributes);
      return '.';
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      const std::string message = error.what(), said = message.substr(message.find(':') + 2);
      static const std::regex types_and_numbers(
          R"((bool|[a-z]+\d+)?\[[^\]]*\]|-?\d[\d.e+-]*|nan|inf)");
      if (said_.insert(std::regex_replace(said, types_and_numbers, "0")).second)
        messages_.add(std::string(name(error.code())) + ": " + said, op_);
      return name(error.code())[0];
    }
  }
  bool accepts(const std::vector<Type>& types, const Attributes& attributes) {
    return outcome(types, attributes) == '.';
  }

 private:
  const Op& op_;
  Table& messages_;
  std::set<std::string> said_;
};

// The dtypes that an op takes at these places together.
std::string dtypes_at(const std::vector<std::size_t>& places, const Example& e, Calls& calls) {
  std::string taken;
  for (const Dtype dtype : kAllDtypes) {
    std::vector<Type> types = e.inputs;
    for (const std::size_t i : places) types[i].dtype = dtype;
    if (calls.accepts(types, e.attributes)) taken += " " + std::string(name(dtype));
  }
  return taken;
}

// Arithmetic reads the elements of an operand as of the dtype that it expects. The operands of one
// dtype change together; then each alone, where that may be anything else.
std::string dtypes_of(const Example& e, Calls& calls) {
  std::map<Dtype, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < e.inputs.size(); ++i) groups[e.inputs[i].dtype].push_back(i);
  std::string all;
  for (const auto& [dtype, group] : groups) {
    all += (all.empty() ? "" : ";") + dtypes_at(group, e, calls);
    if (group.size() > 1)
      for (const std::size_t i : group)
        if (const std::string alone = dtypes_at({i}, e, calls);
            alone != " " + std::string(name(dtype)))
          all += ", " + std::to_string(i) + " alone:" + alone;
  }
  return all;
}

// Every operand as a scalar, with a dimension more before it, without its last one; then every
// dimension one larger, 1 and 0.
std::string shapes_of(const Example& e, Calls& calls) {
  std::string all;
  for (std::size_t i = 0; i < e.inputs.size(); ++i) {
    const auto with = [&](const Shape& shape) {
      std::vector<Type> types = e.inputs;
      types[i].shape = shape;
      return calls.outcome(types, e.attributes);
    };
    const Shape& shape = e.inputs[i].shape;
    all += (i == 0 ? "" : " ");
    all += with({});
    if (shape.rank() < Shape::kMaxRank) all += with(shape.insert(0, 2));
    if (shape.rank() > 1) all += with(shape.erase(shape.rank() - 1));
    for (std::size_t axis = 0; axis < shape.rank(); ++axis)
      for (const std::int64_t dim : {shape[axis] + 1, std::int64_t{1}, std::int64_t{0}})
        all += with(shape.replace(axis, dim));
  }
  return all;
}

// An attribute at and beyond its bounds.
std::vector<Attribute> values_around(const Attribute& given) {
  std::vector<Attribute> all;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&given)) {
    all.emplace_back(std::vector<std::int64_t>());
    std::vector<std::int64_t> longer = *list;
    longer.push_back(1);
    all.emplace_back(longer);
    for (std::size_t i = 0; i < list->size(); ++i)
      for (const std::int64_t number : {std::int64_t{-1}, (*list)[i] + 1, kLargest}) {
        all.emplace_back(*list);
        std::get<std::vector<std::int64_t>>(all.back())[i] = number;
      }
  } else if (std::holds_alternative<std::int64_t>(given)) {
    for (const std::int64_t number :
         {-kLargest - 1, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{2},
          std::int64_t{3}, std::int64_t{9}, std::int64_t{1} << 31, kLargest})
      all.emplace_back(number);
  } else if (std::holds_alternative<double>(given)) {
    for (const double number : {-1.0, 0.0, 0.5, 1.0, 1.5, double(INFINITY), std::nan("")})
      all.emplace_back(number);
  } else if (std::holds_alternative<Dtype>(given)) {
    for (const Dtype dtype : kAllDtypes) all.emplace_back(dtype);
  }
  return all;
}

TEST(Refusals, OfEveryOp) {
  Table messages, dtypes, shapes, attributes;
  for (const Op* const op : all_ops()) {
    Calls calls(*op, messages);
    const std::vector<Example> examples = op->examples();
    dtypes.add("dtypes" + dtypes_of(examples.front(), calls), *op);
    std::set<std::string> seen;
    for (const Example& e : examples) {
      SCOPED_TRACE(op->name);
      EXPECT_TRUE(calls.accepts(e.inputs, e.attributes));
      shapes.add("shapes " + shapes_of(e, calls), *op);
      for (const auto& [name, given] : e.attributes) {
        std::string line = "attribute " + name + " ";
        for (const Attribute& value : values_around(given)) {
          Attributes other = e.attributes;
          other.set(name, value);
          line += calls.outcome(e.inputs, other);
        }
        attributes.add(line, *op);
        // As none, as another kind, and beside one that is not known.
        Attributes without;
        for (const auto& [key, value] : e.attributes)
          if (key != name) without.set(key, value);
        EXPECT_EQ(calls.outcome(e.inputs, without), 'i');
        Attributes mistyped = e.attributes;
        mistyped.set(name, std::holds_alternative<bool>(given) ? Attribute(1.0) : Attribute(true));
        EXPECT_EQ(calls.outcome(e.inputs, mistyped), 'i');
      }
      Attributes more = e.attributes;
      more.set("another", true);
      EXPECT_EQ(calls.outcome(e.inputs, more), 'i');
      std::vector<Type> types(static_cast<std::size_t>(op->max_inputs) + 1, Type{kF32, {}});
      EXPECT_EQ(calls.outcome(types, e.attributes), 'i');
      types.resize(static_cast<std::size_t>(std::max(op->min_inputs, 1)) - 1);
      EXPECT_EQ(calls.outcome(types, e.attributes), op->min_inputs == 0 ? '.' : 'i');
    }
  }
  for (const Table* table : {&dtypes, &shapes, &attributes, &messages}) table->record();
}

using In = std::span<const Value>;
using List = std::vector<std::int64_t>;

struct Refused {
  ErrorCode code;
  std::vector<Type> operands;
  std::function<void(In)> call;
};

// What functions check before they call an op, and operands that are wrong together.
TEST(Refusals, OfFunctions) {
  constexpr ErrorCode kDtype = ErrorCode::kDtype, kShape = ErrorCode::kShape,
                      kNumber = ErrorCode::kInvalidArgument;
  constexpr std::int64_t kHalf = std::int64_t{1} << 62;
  const Type scalar{kF32, {}}, three{kF32, {3}}, table{kF32, {2, 3}}, places{kI32, {3}},
      labels{kI32, {2}};
  const Refused all[] = {
      {kDtype, {{kF32, {3, 2}}, three}, [](In x) { cross_entropy(x[0], x[1]); }},
      {kNumber, {table, labels}, [](In x) { cross_entropy(x[0], x[1], {.label_smoothing = 2}); }},
      {kNumber, {table}, [](In x) { cross_entropy(x[0], x[0], {.ignore_index = 1}); }},
      {kNumber, {three}, [](In x) { layer_norm(x[0], {}, x[0]); }},
      {kNumber, {}, [](In) { dot(Args{}, Args{}); }},
      {kNumber, {}, [](In) { concatenate(std::vector<Value>{}, 0); }},
      {kShape, {table, {kF32, {4}}}, [](In x) { (void)(x[0] * x[1]); }},
      {kDtype, {table, {kF64, {2, 3}}}, [](In x) { (void)(x[0] / x[1]); }},
      {kShape, {table}, [](In x) { split(x[0], 2, 1); }},
      {kShape, {table}, [](In x) { top_k(x[0], 4, 1); }},
      {kShape, {table}, [](In x) { mean(x[0], 2); }},
      {kShape, {{kF32, {0, 3}}}, [](In x) { argmax(x[0], 0); }},
      {kShape,
       {table},
       [](In x) {
         slice(x[0], List{3, 0}, List{2, 3}, List{1, 1});
       }},
      {kShape,
       {table},
       [](In x) {
         slice(x[0], List{0, 0}, List{2, 3}, List{1, 0});
       }},
      {kShape,
       {table},
       [](In x) {
         pad(x[0], List{0, kHalf}, List{0, kHalf}, List{0, 0});
       }},
      {kShape,
       {table},
       [](In x) {
         pad(x[0], List{1}, List{1, 1}, PadMode::kEdge);
       }},
      {kShape,
       {table},
       [](In x) {
         pad(x[0], List{0, 1}, List{0, -2}, PadMode::kEdge);
       }},
      {kShape, {table, {kI32, {1, 1, 1, 1, 1, 1, 1, 1}}}, [](In x) { gather(x[0], x[1]); }},
      {kShape, {three, places}, [](In x) { gather(x[0], x[1], 1); }},
      {kShape, {three, places}, [](In x) { scatter(x[0], x[1], x[0], ScatterMode::kAdd, 1); }},
      {kShape, {three, places}, [](In x) { scatter(x[0], x[1], x[0], ScatterMode::kAdd, -1); }},
      {kShape, {table, places}, [](In x) { take_along_axis(x[0], x[1], 1); }},
      {kShape,
       {places},
       [](In x) {
         flat_index(x[0], {2, 3});
       }},
      {kShape, {table, three, places}, [](In x) { update_rows(x[0], x[1], x[2], -2); }},
      {kShape, {{kF32, {2, 8}}, scalar}, [](In x) { rotary_embedding(x[0], x[1], x[1]); }},
      {kShape, {scalar}, [](In x) { scaled_dot_product_attention(x[0], x[0], x[0]); }},
      {kShape,
       {{kF32, {1, 1, 3}}, {kF32, {0, 1, 3}}},  // no heads of keys
       [](In x) { scaled_dot_product_attention(x[0], x[1], x[1]); }},
      {kShape, {scalar, labels}, [](In x) { cached_attention(x[0], x[0], x[0], x[1]); }},
      {kShape, {three}, [](In x) { info_nce_loss(x[0], x[0]); }},
      {kShape, {scalar}, [](In x) { triplet_margin_loss(x[0], x[0], x[0]); }},
      {kNumber, {three}, [](In x) { clamp(x[0], 2, 1); }},
      // Of nothing, groups without end.
      {kShape, {{kF32, {8, 0, 3}}, {kF32, {0}}}, [](In x) { group_norm(x[0], kHalf, x[1], x[1]); }},
      // Of several layers, the one that is meant.
      {kShape, {{kF32, {4}}, table}, [](In x) {
         const Builder::Scope outer(x[0].builder(), "encoder");
         const Builder::Scope inner(x[0].builder(), "0");
         linear(x[0], x[1]);
       }}};
  for (const Refused& r : all) {
    Builder b("f");
    std::vector<Value> in;
    for (const Type& type : r.operands)
      in.push_back(b.input("x" + std::to_string(in.size()), type));
    SCOPED_TRACE(&r - all);
    expect_refused(r.code, [&] { r.call(in); });
  }
}

TEST(Refusals, OfConstants) {
  Builder b("f");
  const auto refused = [&](double number, Dtype dtype, ErrorCode code) {
    SCOPED_TRACE(number);
    expect_refused(code, [&] { constant(b, number, dtype); });
  };
  const auto padded = [&](double with, Dtype dtype) {
    pad(constant(b, 0, dtype), List{}, List{}, List{}, with);
  };
  struct Range {
    Dtype dtype;
    double lowest, above;
  };
  for (const auto& [dtype, lowest, above] : {Range{kI32, -0x1p31, 0x1p31},
                                             {kI64, -0x1p63, 0x1p63},
                                             {Dtype::kI8, -128, 128},
                                             {Dtype::kU8, 0, 256}}) {
    EXPECT_NO_THROW(constant(b, lowest, dtype));
    EXPECT_NO_THROW(constant(b, std::min(above - 1, std::nextafter(above, 0.0)), dtype));
    for (const double wrong :
         {above, std::min(lowest - 1, std::nextafter(lowest, -0x1p100)), 0.5, std::nan("")})
      refused(wrong, dtype, ErrorCode::kInvalidArgument);
  }
  refused(1, kBool, ErrorCode::kDtype);
  refused(1, Dtype::kBf16, ErrorCode::kDtype);
  for (const Dtype dtype : {kI32, kI64}) {
    for (const double with : {-0x1p31, -7.0, 0x1p31 - 1}) EXPECT_NO_THROW(padded(with, dtype));
    for (const double with : {0.5, 0x1p31, -0x1p31 - 1})
      expect_refused(ErrorCode::kInvalidArgument, [&] { padded(with, dtype); });
  }
  // They are i32.
  EXPECT_EQ(iota(b, std::int64_t{1} << 31).shape(), (Shape{std::int64_t{1} << 31}));
  for (const std::int64_t size : {std::int64_t{-1}, (std::int64_t{1} << 31) + 1})
    expect_refused(ErrorCode::kInvalidArgument, [&] { iota(b, size); });
}

// Bounds that are still accepted: no examples beside a bias of one row, no noise, an eps of 0,
// nothing to normalise.
TEST(Refusals, AreNotOfTheirBounds) {
  const Type x{kF32, {2, 4, 3}}, channels{kF32, {4}}, none{kF32, {0, 4, 3}};
  const Function f =
      trace("f", {{"x", x}, {"p", channels}, {"none", none}, {"key", {kI64, {}}}}, [](In in) {
        for (const Shape& one : {Shape{1, 4, 3}, Shape{1}, Shape{}}) {
          const Value bias = broadcast(constant(in[0].builder(), 1, kF32), one);
          EXPECT_EQ((in[2] + bias).shape(), (Shape{0, 4, 3}));
          EXPECT_EQ((bias + in[2]).shape(), (Shape{0, 4, 3}));
        }
        return std::vector<Value>{group_norm(in[0], 4, in[1], in[1], 0),
                                  layer_norm(in[0], {}, {}, 0),
                                  batch_norm(in[0], in[1], in[1], in[1], in[1], 0.1, 0).y,
                                  group_norm(in[2], 2, in[1], in[1]),
                                  dropout(in[0], in[3], 0),
                                  dropout(in[0], in[3], 0.999)};
      });
  EXPECT_NO_THROW(verify(expand(f)));
}

// The numbers of the papers and of PyTorch, where none is given.
TEST(Defaults, AreThoseOfTheText) {
  const Type table{kF32, {4, 2}};
  const std::string text = to_text(trace(
      "defaults",
      {{"x", table}, {"y", table}, {"z", table}, {"same", {kBool, {4}}}, {"each", {kF32, {2}}}},
      [](In x) {
        std::vector<Value> all{leaky_relu(x[0]),
                               elu(x[0]),
                               huber_loss(x[0], x[1]),
                               smooth_l1_loss(x[0], x[1]),
                               info_nce_loss(x[0], x[1]),
                               triplet_margin_loss(x[0], x[1], x[2]),
                               cosine_embedding_loss(x[0], x[1], x[3]),
                               binary_cross_entropy_with_logits(x[0], x[1]),
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
        const BatchNormResult norm = batch_norm(x[0], x[4], x[4], x[4], x[4]);
        all.insert(all.end(), {norm.y, norm.running_mean, norm.running_var});
        return all;
      }));
  // Attributes of each op, and in one line numbers and sums; moves have neither.
  std::istringstream lines(text);
  std::string line, numbers;
  while (std::getline(lines, line)) {
    const std::size_t op = line.find("= ") + 2, attributes = line.find(" {");
    if (attributes == std::string::npos || line.starts_with("function")) continue;
    const std::string name = line.substr(op, line.find('(') - op);
    if (name == "constant" || name == "sum")
      numbers += name + line.substr(attributes) + "; ";
    else if (name != "reshape" && name != "broadcast" && name != "slice")
      expect_message(name + line.substr(attributes));
  }
  expect_message(numbers);
}

}  // namespace
}  // namespace limpid
