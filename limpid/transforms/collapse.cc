#include "limpid/transforms/collapse.h"

#include <fmt/format.h>

#include <map>

#include "limpid/ops/ops.h"
#include "limpid/transforms/rewrite.h"
#include "limpid/transforms/simplify.h"

namespace limpid {
namespace {

std::string named(const Node& node) {
  return where({*node.op, {}, {}, node.attributes, node.scope});
}

Function without_dropout(const Function& f, std::vector<std::string>& done) {
  return rewrite(f, [&](Builder& builder, const Node& node, std::span<const Value> inputs) {
    if (node.op != &op::dropout) return builder.call(*node.op, inputs, node.attributes);
    done.push_back(fmt::format("{} removed: dropout does nothing at inference", named(node)));
    return std::vector<Value>{inputs[0]};
  });
}

// How often each value is read, outputs counted.
std::vector<int> reads_of(const Function& f) {
  std::vector<int> reads(f.types().size(), 0);
  for (const Node& node : f.nodes())
    for (ValueId id : node.inputs) ++reads[static_cast<std::size_t>(id)];
  for (const Output& o : f.outputs()) ++reads[static_cast<std::size_t>(o.value)];
  return reads;
}

// A linear of the new Function.
struct Layer {
  std::string name;
  Value x, weight, bias;  // the bias may be no Value
};

// A weight as it is computed with: bf16 is for storage.
Value computed(const Value& weight, const Value& x) {
  return weight.dtype() == x.dtype() ? weight : cast(weight, x.dtype());
}

Layer behind_linear(const Layer& first, std::span<const Value> second) {
  const Value& weight = second[1];
  Value bias = second.size() == 3 ? second[2] : Value();
  if (first.bias) bias = linear(first.bias, weight, bias);
  return {"", first.x, matmul(computed(weight, first.x), computed(first.weight, first.x)), bias};
}

Layer behind_norm(const Layer& first, std::span<const Value> norm, double eps) {
  const Value scale = norm[1] * (1.0 / sqrt(norm[4] + eps));
  const Value centered = first.bias ? first.bias - norm[3] : -norm[3];
  const Value by_row = reshape(scale, {scale.shape()[0], 1});
  return {"", first.x, computed(first.weight, first.x) * by_row, centered * scale + norm[2]};
}

class Collapse {
 public:
  Collapse(const Function& f, std::vector<std::string>& done)
      : f_(f), reads_(reads_of(f)), done_(done) {}

  Function run() {
    return rewrite(f_, [&](Builder& builder, const Node& node, std::span<const Value> inputs) {
      return write(builder, node, inputs);
    });
  }

 private:
  std::vector<Value> write(Builder& builder, const Node& node, std::span<const Value> inputs) {
    const bool is_linear = node.op == &op::linear;
    // Channels are the second dimension; that is the last one, as linear gives it, only if there
    // are two.
    const bool is_norm = node.op == &op::batch_norm_inference && inputs[0].rank() == 2;
    const auto before = is_linear || is_norm ? layers_.find(inputs[0].id()) : layers_.end();
    if (before == layers_.end() || reads_[static_cast<std::size_t>(node.inputs[0])] != 1) {
      const std::vector<Value> results = builder.call(*node.op, inputs, node.attributes);
      if (is_linear) layers_[results[0].id()] = as_layer(named(node), inputs);
      return results;
    }
    Layer one = is_linear ? behind_linear(before->second, inputs)
                          : behind_norm(before->second, inputs, node.attributes.get<double>("eps"));
    one.name = before->second.name;
    done_.push_back(is_linear ? fmt::format("{} and {} merged into one layer of weight {}",
                                            one.name, named(node), to_string(one.weight.type()))
                              : fmt::format("{} folded into {}", named(node), one.name));
    const Value result = linear(one.x, one.weight, one.bias);
    layers_[result.id()] = one;
    return {result};
  }

  static Layer as_layer(std::string name, std::span<const Value> inputs) {
    return {std::move(name), inputs[0], inputs[1], inputs.size() == 3 ? inputs[2] : Value()};
  }

  const Function& f_;
  std::vector<int> reads_;
  std::vector<std::string>& done_;
  std::map<ValueId, Layer> layers_;  // by their results in the new Function
};

}  // namespace

Collapsed collapse(const Function& f) {
  Collapsed result;
  const Function plain = without_dropout(f, result.done);
  result.function = simplify(Collapse(plain, result.done).run());
  return result;
}

}  // namespace limpid
