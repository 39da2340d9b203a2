#include "tests/laws/random_function.h"

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/signature.h"
#include "limpid/ops/ops.h"
#include "tests/laws/random_values.h"

namespace limpid::laws {
namespace {

bool is_real(Dtype d) { return d == Dtype::kF32 || d == Dtype::kF64; }

// One draw per statement: compilers evaluate the operands of a call in different orders, but a seed
// must give the same Function everywhere.
class Draw {
 public:
  // One Function in eight has dimensions beyond every size that kernels and plans work on at a
  // time.
  Draw(Key key, Builder& builder, Dtype dtype)
      : key_(key), builder_(builder), dtype_(dtype), large_(below(8) == 0) {}

  std::size_t below(std::size_t bound) { return key_.below(bound, next_++); }
  std::int64_t most_elements() const { return large_ ? 200000 : 20000; }
  std::int64_t dim() {
    constexpr std::int64_t kDims[] = {1, 2, 3, 5, 8, 16, 17, 33};
    constexpr std::int64_t kLargeDims[] = {97, 130, 257, 300, 530, 1029, 2051, 4100};
    return large_ && below(3) == 0 ? kLargeDims[below(std::size(kLargeDims))]
                                   : kDims[below(std::size(kDims))];
  }
  Shape shape() {
    std::vector<std::int64_t> dims(1 + below(3));
    std::int64_t left = most_elements();
    for (std::int64_t& d : dims) {
      d = dim();
      if (d > left) d = 1;
      left /= d;
    }
    return Shape(dims);
  }

  // A value that is too large or of another dtype becomes dead code.
  void add(const Value& v) {
    if (v.dtype() == dtype_ && v.rank() <= 4 && v.shape().elements() <= most_elements())
      values_.push_back(v);
  }
  // Recent values are chosen more often, so that chains grow.
  Value pick() {
    const std::size_t back = below(values_.size());
    const std::size_t nearer = below(back + 1);
    return values_[values_.size() - 1 - nearer];
  }
  Value last() const { return values_.back(); }

  // A call of the op: of existing values if it accepts them, otherwise of values converted to the
  // types of one of its examples.
  void call(const Op& op) {
    const std::vector<Example> examples = op.examples();
    Example e = examples[below(examples.size())];
    bool real = true;
    for (Type& t : e.inputs) {
      if (is_real(t.dtype)) t.dtype = dtype_;
      real = real && is_real(t.dtype);
    }
    if (real && !e.inputs.empty() && below(2) == 0 && call_as_they_are(op, e)) return;
    try {
      std::vector<Value> inputs;
      for (const Type& t : e.inputs) inputs.push_back(value_of(t, e));
      add_call(op, inputs, e.attributes);
    } catch (const Error&) {
      // The op does not take the dtype.
    }
  }

  // Products of existing shapes.
  void product() {
    const Value x = pick();
    if (x.rank() == 0) return;
    const std::int64_t out = dim();
    const std::int64_t in = x.shape().back();
    const std::int64_t others = x.shape().erase(x.rank() - 1).elements();
    if (others * out > kMostDead || in * out > kMostDead) return;
    if (below(2) == 0) {
      const Value weight = drawn({out, in});
      return add(linear(x, weight, below(2) == 0 ? Value() : drawn({out})));
    }
    const Value matrix = reshape(x, {others, in});
    add(below(2) == 0 ? matmul(matrix, of_shape({others, out}), true, false)
                      : matmul(matrix, of_shape({in, out})));
  }

 private:
  // The maximum of elements of a result: larger ones take too long, even if nobody reads them.
  static constexpr std::int64_t kMostDead = 1'000'000;

  void add_call(const Op& op, std::span<const Value> inputs, const Attributes& attributes) {
    std::vector<Type> types;
    for (const Value& v : inputs) types.push_back(v.type());
    const limpid::Call call{op, types, {}, attributes, {}};
    check_signature(call);
    for (const Type& t : op.types(call))
      if (t.shape.elements() > kMostDead) return;
    for (const Value& v : builder_.call(op, inputs, attributes)) add(v);
  }

  bool call_as_they_are(const Op& op, const Example& e) {
    const Value x = pick();
    const Example same{{}, {}, e.low, e.high, e.bound};
    std::vector<Value> inputs{in_range(x, same)};
    while (inputs.size() < e.inputs.size()) inputs.push_back(value_of({dtype_, x.shape()}, same));
    try {
      add_call(op, inputs, e.attributes);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  // A value of the type, derived from existing values or drawn.
  Value value_of(const Type& type, const Example& e) {
    if (below(4) == 0)
      return constant(builder_, random_tensor(type, key_.fold_in(next_++), e.low, e.high, e.bound));
    if (is_real(type.dtype)) return in_range(of_shape(type.shape), e);
    const Value x = of_shape(type.shape);
    if (type.dtype == Dtype::kBool) return x < of_shape(type.shape);
    if (type.dtype == Dtype::kI32 || type.dtype == Dtype::kI64) {
      const auto most = static_cast<double>(std::max<std::int64_t>(e.bound, 1) - 1);
      const Value whole = cast(sigmoid(x) * (most + 1), type.dtype);
      return minimum(whole, number_like(whole, most));
    }
    return constant(builder_, random_tensor(type, key_.fold_in(next_++), e.low, e.high, e.bound));
  }

  // Into the range of an example, unless that contains [-2, 2].
  static Value in_range(const Value& x, const Example& e) {
    if (e.low <= -2 && e.high >= 2) return x;
    return sigmoid(x) * (e.high - e.low) + e.low;
  }

  // A value of the shape: an existing one, one reshaped or broadcast to it, or one summed to it.
  Value of_shape(const Shape& shape) {
    std::vector<Value> fitting;
    for (const Value& v : values_)
      if (v.shape() == shape) fitting.push_back(v);
    if (!fitting.empty() && below(4) != 0) return fitting[below(fitting.size())];
    const Value x = pick();
    if (x.shape().elements() == shape.elements()) return reshape(x, shape);
    if (shape.rank() > 0 && x.shape() == Shape{shape.back()}) return broadcast(x, shape);
    const Value factor = drawn(shape);
    return factor * tanh(sum(x));
  }
  Value drawn(const Shape& shape) {
    return constant(builder_, random_tensor({dtype_, shape}, key_.fold_in(next_++), -1, 1, 2));
  }

  Key key_;
  Builder& builder_;
  Dtype dtype_;
  std::uint64_t next_ = 0;
  bool large_;
  std::vector<Value> values_;
};

}  // namespace

Function random_function(Key key, int nodes, Dtype dtype) {
  Builder builder("random");
  Draw draw(key, builder, dtype);
  const std::size_t inputs = 1 + draw.below(3);
  for (std::size_t i = 0; i < inputs; ++i)
    draw.add(builder.input("x" + std::to_string(i), {dtype, draw.shape()}));
  for (int n = 0; n < nodes; ++n) {
    if (draw.below(8) == 0)
      draw.product();
    else
      draw.call(*all_ops()[draw.below(all_ops().size())]);
  }
  std::vector<Value> outputs{draw.last()};
  for (std::size_t i = draw.below(4); i > 0; --i) outputs.push_back(draw.pick());
  return builder.finish(outputs);
}

}  // namespace limpid::laws
