#include "tests/laws/random_function.h"

#include "limpid/function/builder.h"
#include "limpid/ops/ops.h"
#include "tests/laws/random_values.h"

namespace limpid::laws {
namespace {

class Draw {
 public:
  Draw(Key key, Builder& builder) : key_(key), builder_(builder) {}

  std::size_t below(std::size_t bound) { return key_.below(bound, next_++); }
  std::int64_t dim() {
    constexpr std::int64_t kDims[] = {1, 2, 3, 5, 8, 16, 17, 33};
    return kDims[below(std::size(kDims))];
  }
  Shape shape() {
    std::vector<std::int64_t> dims(1 + below(3));
    for (std::int64_t& d : dims) d = dim();
    return Shape(dims);
  }

  void add(const Value& v) { values_.push_back(v); }
  // Recent values are taken more often, so that chains grow.
  Value pick() {
    const std::size_t back = below(values_.size());
    const std::size_t nearer = below(back + 1);
    return values_[values_.size() - 1 - nearer];
  }
  // A value of the shape: one that is there, or a drawn constant, or one number.
  Value of_shape(const Shape& shape) {
    std::vector<Value> fitting;
    for (const Value& v : values_)
      if (v.shape() == shape) fitting.push_back(v);
    const std::size_t choice = below(8);
    if (choice == 0)
      return number_like(values_.front(), 0.5).shape() == shape ? number_like(values_.front(), 0.5)
                                                                : drawn(shape);
    if (choice == 1) return broadcast(drawn(shape.rank() ? Shape{shape.back()} : Shape{}), shape);
    if (!fitting.empty()) return fitting[below(fitting.size())];
    return drawn(shape);
  }
  Value drawn(const Shape& shape) {
    return constant(builder_, random_tensor({Dtype::kF32, shape}, key_.fold_in(next_++), -1, 1, 2));
  }
  std::vector<Value>& values() { return values_; }

 private:
  Key key_;
  Builder& builder_;
  std::uint64_t next_ = 0;
  std::vector<Value> values_;
};

Value unary(Draw& draw, const Value& x) {
  switch (draw.below(12)) {
    case 0:
      return exp(x * 0.1);
    case 1:
      return log(abs(x) + 0.5);
    case 2:
      return tanh(x);
    case 3:
      return relu(x);
    case 4:
      return sigmoid(x);
    case 5:
      return gelu(x);
    case 6:
      return -x;
    case 7:
      return sqrt(abs(x));
    case 8:
      return silu(x);
    case 9:
      return leaky_relu(x);
    case 10:
      return x * 0.5 + 1.0;
    default:
      return erf(x);
  }
}

Value binary(Draw& draw, const Value& x) {
  const Value y = draw.of_shape(x.shape());
  switch (draw.below(7)) {
    case 0:
      return x + y;
    case 1:
      return x - y;
    case 2:
      return x * y;
    case 3:
      return x / (abs(y) + 1.0);
    case 4:
      return maximum(x, y);
    case 5:
      return select(x < y, x, y * 2.0);
    default:
      return cast(x == y, Dtype::kF32) + minimum(x, y);
  }
}

Value reduction(Draw& draw, const Value& x) {
  if (x.rank() == 0) return x;
  const auto axis = static_cast<std::int64_t>(draw.below(x.rank()));
  const Shape shape = x.shape();
  switch (draw.below(5)) {
    case 0:
      return sum(x, axis);
    case 1:
      return max(x, axis);
    case 2:
      return x - expand_axis(max(x, axis), shape, axis);
    case 3:
      return softmax(x, axis);
    default:
      return log_softmax(x, axis) * expand_axis(sum(x, axis), shape, axis);
  }
}

Value product(Draw& draw, const Value& x) {
  if (x.rank() == 0) return x;
  const std::int64_t out = draw.dim();
  if (draw.below(2) == 0)
    return linear(x, draw.drawn({out, x.shape().back()}),
                  draw.below(2) ? draw.drawn({out}) : Value());
  const std::int64_t rows = x.shape().erase(x.rank() - 1).elements();
  const Value matrix = reshape(x, {rows, x.shape().back()});
  if (draw.below(2) == 0) return matmul(matrix, draw.of_shape({rows, out}), true, false);
  return matmul(matrix, draw.of_shape({x.shape().back(), out}));
}

Value movement(Draw& draw, const Value& x) {
  switch (draw.below(4)) {
    case 0:
      return reshape(x, {x.shape().elements()});
    case 1:
      return x.rank() < 2 ? x
                          : transpose(x, x.rank() == 2 ? std::vector<std::int64_t>{1, 0}
                                                       : std::vector<std::int64_t>{0, 2, 1});
    case 2:
      return x.shape().elements() > 400 || x.rank() > 3 ? x : broadcast(x, x.shape().insert(0, 3));
    default: {
      const Value key = constant(x.builder(), Tensor::scalar<std::int64_t>(77));
      return dropout(x, key, 0.3);
    }
  }
}

}  // namespace

Function random_function(Key key, int nodes) {
  Builder builder("random");
  Draw draw(key, builder);
  const std::size_t inputs = 1 + draw.below(3);
  for (std::size_t i = 0; i < inputs; ++i)
    draw.add(builder.input("x" + std::to_string(i), {Dtype::kF32, draw.shape()}));
  for (int n = 0; n < nodes; ++n) {
    const Value x = draw.pick();
    const std::size_t kind = draw.below(10);
    const Value y = kind < 3   ? unary(draw, x)
                    : kind < 6 ? binary(draw, x)
                    : kind < 7 ? reduction(draw, x)
                    : kind < 8 ? product(draw, x)
                               : movement(draw, x);
    if (y.rank() <= 3 && y.shape().elements() <= 20000) draw.add(y);
  }
  std::vector<Value> outputs{draw.values().back()};
  for (std::size_t i = draw.below(4); i > 0; --i) outputs.push_back(draw.pick());
  return builder.finish(outputs);
}

}  // namespace limpid::laws
