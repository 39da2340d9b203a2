// Walks forward through the graph. Each value is rewritten for one example, together with the axis
// that held the examples.
#include "limpid/transforms/unbatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/example_axis.h"
#include "limpid/ops/shape.h"
#include "limpid/transforms/detail/unbatched.h"
#include "limpid/transforms/rewrite.h"
#include "limpid/transforms/simplify.h"

namespace limpid {
namespace {

// A value of the batch rewritten for one example. A shared value is unchanged.
struct Version {
  Inner inner;
  Value value;
};

// The first axis counts. A shared value that repeats itself for each example may have several: an
// op whose other operand holds examples takes the part of one example.
using Versions = std::vector<Version>;

const Version* find(const Versions& versions, const Inner& inner) {
  for (const Version& v : versions)
    if (v.inner == inner) return &v;
  return nullptr;
}

// The part of one example, if the parts of all examples are equal.
std::optional<Tensor> repeated_part(const Tensor& tensor, std::int64_t inner, std::int64_t size) {
  const std::size_t block = static_cast<std::size_t>(inner) * size_of(tensor.dtype());
  const auto count = static_cast<std::size_t>(size);
  const std::span<const std::byte> all = tensor.bytes();
  for (std::size_t i = block; i < all.size(); i += block)
    if (std::memcmp(&all[i], &all[i - i % (count * block)], block) != 0) return {};
  const Type type{tensor.dtype(), of_one(tensor.shape(), inner, size)};
  return Tensor::generate_bytes(type, [&](std::span<std::byte> out) {
    for (std::size_t i = 0; i < out.size(); i += block)
      std::memcpy(&out[i], &all[i * count], block);
  });
}

class Unbatch {
 public:
  Unbatch(Builder& builder, const Function& f, std::int64_t size)
      : builder_(builder), f_(f), size_(size) {}

  void input(Version version) { values_.push_back({version}); }

  // False if a call may mix examples; failed() is then its node.
  bool nodes() {
    for (const Node& node : f_.nodes()) {
      const Builder::Scope scope(builder_, node.scope);
      if (!write(node)) {
        failed_ = &node;
        return false;
      }
    }
    return true;
  }
  const Node& failed() const { return *failed_; }

  const Version& value(ValueId id) const { return at(id).front(); }
  // With its examples in that place, if it can be read so.
  const Version& value(ValueId id, const Inner& wanted) const {
    const Version* const found = find(at(id), wanted);
    return found ? *found : value(id);
  }
  // The value with all examples in one dimension, preferably a leading one; nullptr if there is no
  // such dimension.
  const Version* by_example(ValueId id) const {
    const Shape& shape = f_.type(id).shape;
    const Version* best = nullptr;
    for (const Version& v : at(id)) {
      const auto place = v.inner ? example_axis(shape, *v.inner, size_) : std::nullopt;
      const bool whole = place && place->before == 1 && place->after == 1;
      if (whole && (!best || *v.inner > *best->inner)) best = &v;
    }
    return best;
  }

 private:
  const Versions& at(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }

  bool write(const Node& node) {
    const Function::CallTypes types = f_.call_types(node);
    const Call call{*node.op, types.inputs, types.outputs, node.attributes, node.scope};
    std::vector<Inner> inner;
    for (const ValueId id : node.inputs) inner.push_back(at(id).front().inner);
    const bool shared = std::none_of(inner.begin(), inner.end(), [](auto& i) { return !!i; });
    const auto results =
        shared ? std::vector<Inner>(types.outputs.size()) : results_of(call, node, inner);
    const std::vector<Version> versions = written(call, node, inner, results);
    if (versions.empty()) return false;
    for (const Version& v : versions) values_.push_back({v});
    if (shared) add_repetitions(call, node);
    return true;
  }

  // Empty if examples may mix.
  std::vector<Inner> results_of(const Call& call, const Node& node,
                                std::vector<Inner>& inner) const {
    const auto repeats = [&](std::size_t operand, std::int64_t at_inner) {
      return find(at(node.inputs[operand]), at_inner) != nullptr;
    };
    const ExampleCall c{call, size_, inner, repeats};
    return results_of(c).value_or(std::vector<Inner>());
  }

  ExampleResults results_of(const ExampleCall& c) const {
    const Op& op = c.call.op;
    if (op.elementwise) return in_dimensions_of<0>(c);
    if (op.example_axis) return op.example_axis(c);
    return op.body ? results_of_body(c) : ExampleResults();
  }

  // A shared operand that repeats itself is taken per example if it has the dimensions that hold
  // the examples in another operand.
  void take_by_example(const ExampleCall& c) const {
    const auto with = std::find_if(c.inner.begin(), c.inner.end(), [](auto& i) { return !!i; });
    const Shape& shape = c.call.inputs[static_cast<std::size_t>(with - c.inner.begin())].shape;
    const auto place = example_axis(shape, **with, size_);
    if (!place) return;
    const auto leading = shape.dims().first(place->axis + 1);
    for (std::size_t i = 0; i < c.inner.size(); ++i) {
      const Shape& other = c.call.inputs[i].shape;
      if (c.inner[i] || other.rank() < leading.size() ||
          !std::equal(leading.begin(), leading.end(), other.begin()))
        continue;
      const std::int64_t inner = inner_of(other, place->axis, place->after);
      if (c.repeats(i, inner)) c.inner[i] = inner;
    }
  }

  ExampleResults results_of_body(const ExampleCall& c) const {
    take_by_example(c);
    const Function body = body_of(c.call);
    Builder scratch(body.name());
    Unbatch inside(scratch, body, size_);
    for (std::size_t i = 0; i < c.inner.size(); ++i) {
      const std::optional<Type> type = type_of_one(c.call.inputs[i], c.inner[i]);
      if (!type) return {};
      inside.input({c.inner[i], scratch.input(body.inputs()[i].name, *type)});
    }
    if (!inside.nodes()) return {};
    std::vector<Inner> results;
    for (const Output& o : body.outputs()) results.push_back(inside.value(o.value).inner);
    return results;
  }

  // Nothing if no dimension holds the examples.
  std::optional<Type> type_of_one(const Type& type, const Inner& inner) const {
    if (!inner) return type;
    if (!example_axis(type.shape, *inner, size_)) return {};
    return Type{type.dtype, of_one(type.shape, *inner, size_)};
  }

  // The results of a call for one example; none if no call of this op computes them.
  std::vector<Version> written(const Call& call, const Node& node, std::vector<Inner>& inner,
                               const std::vector<Inner>& results) {
    std::vector<Type> types;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::optional<Type> type = type_of_one(call.outputs[i], results[i]);
      if (!type) return {};
      types.push_back(*type);
    }
    if (types.size() != call.outputs.size()) return {};
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < inner.size(); ++i)
      inputs.push_back(find(at(node.inputs[i]), inner[i])->value);
    std::vector<Value> values;
    try {
      const ExampleCall c{call, size_, inner, {}};
      const std::optional<Attributes> attributes =
          call.op.example_attributes ? call.op.example_attributes(c, types) : call.attributes;
      if (!attributes) return {};
      values = builder_.call(call.op, inputs, *attributes);
    } catch (const Error&) {
      return {};  // one example alone is refused: groups of channels, taken for examples
    }
    std::vector<Version> versions;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!(values[i].type() == types[i])) return {};
      versions.push_back({results[i], values[i]});
    }
    return versions;
  }

  // ---- shared values that are the same for each example

  void add_repetitions(const Call& call, const Node& node) {
    if (&call.op == &op::constant) return repeat_constant(node);
    if (call.op.role == Role::kRepeat) repeat_broadcast(call, node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      for (std::size_t v = 1; v < at(node.inputs[i]).size(); ++v) {
        std::vector<Inner> inner(node.inputs.size());
        inner[i] = at(node.inputs[i])[v].inner;
        const std::vector<Inner> results = results_of(call, node, inner);
        const std::vector<Version> versions = written(call, node, inner, results);
        for (std::size_t r = 0; r < versions.size(); ++r)
          add(node.first_output + static_cast<ValueId>(r), versions[r]);
      }
  }

  void add(ValueId id, const Version& version) {
    Versions& versions = values_[static_cast<std::size_t>(id)];
    if (!find(versions, version.inner)) versions.push_back(version);
  }

  // Calls f with each position in a shape that may hold examples: the first or the last factor of a
  // dimension.
  template <class F>
  void for_each_place(const Shape& shape, const F& f) const {
    if (shape.elements() == 0) return;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] % size_ != 0) continue;
      f(axis, inner_of(shape, axis, 1));
      if (shape[axis] != size_) f(axis, inner_of(shape, axis, shape[axis] / size_));
    }
  }

  void repeat_constant(const Node& node) {
    const Tensor& tensor = node.attributes.get<Tensor>("value");
    for_each_place(tensor.shape(), [&](std::size_t, std::int64_t inner) {
      if (const auto part = repeated_part(tensor, inner, size_))
        add(node.first_output, {inner, constant(builder_, *part)});
    });
  }

  void repeat_broadcast(const Call& call, const Node& node) {
    const Shape& from = call.inputs[0].shape;
    const Shape& to = call.outputs[0].shape;
    const std::size_t added = to.rank() - from.rank();
    const Value x = at(node.inputs[0]).front().value;
    for_each_place(to, [&](std::size_t axis, std::int64_t inner) {
      if (axis < added || from[axis - added] == 1)
        add(node.first_output, {inner, broadcast(x, of_one(to, inner, size_))});
    });
  }

  Builder& builder_;
  const Function& f_;
  std::int64_t size_;
  std::vector<Versions> values_;
  const Node* failed_ = nullptr;
};

bool is_prime(std::int64_t n) {
  if (n < 2) return false;
  for (std::int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return true;
}

// The axis of the examples in an input.
std::size_t axis_of_input(const Function& f, std::size_t input, std::int64_t axis,
                          std::int64_t size) {
  const Input& in = f.inputs()[input];
  const std::string what = fmt::format("unbatch of '{}', input '{}'", f.name(), in.name);
  const std::size_t a = normalize_axis(axis, in.type.shape.rank(), what);
  if (in.type.shape[a] != size)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: expected {} examples in dimension {}, got {}", what, size, a,
                            to_string(in.type)));
  return a;
}

// The inputs of one example, with a dimension of 1 in place of the examples.
std::vector<Version> inputs_of_one(Builder& builder, const Function& f,
                                   const std::vector<std::optional<std::int64_t>>& in_axes,
                                   std::int64_t size) {
  std::vector<Version> inputs;
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < in_axes.size(); ++i) {
    Type type = f.inputs()[i].type;
    Inner inner;
    shapes.push_back(type.shape);
    if (in_axes[i]) {
      const std::size_t axis = axis_of_input(f, i, *in_axes[i], size);
      inner = inner_of(type.shape, axis, 1);
      shapes.back() = type.shape.replace(axis, 1);
      type.shape = type.shape.erase(axis);
    }
    inputs.push_back({inner, builder.input(f.inputs()[i].name, type)});
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs[i].value = reshape(inputs[i].value, shapes[i]);
  return inputs;
}

[[noreturn]] void not_proved(const std::string& what) {
  throw Error(ErrorCode::kUnsupported, what);
}

// An output without that dimension of 1.
Value without_axis(const Function& f, const Output& output, const Version* version,
                   std::int64_t size) {
  const Shape& shape = f.type(output.value).shape;
  if (!version)
    not_proved(fmt::format("output '{}' {} has no batch dimension", output.name,
                           to_string(f.type(output.value))));
  return reshape(version->value, shape.erase(example_axis(shape, *version->inner, size)->axis));
}

}  // namespace

std::optional<detail::Unbatched> detail::unbatched(const Function& batch,
                                                   std::span<const Inner> inputs,
                                                   std::span<const Inner> wanted,
                                                   std::int64_t size) {
  Builder builder(batch.name());
  Unbatch work(builder, batch, size);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Type type = batch.inputs()[i].type;
    if (inputs[i]) {
      if (!example_axis(type.shape, *inputs[i], size)) return {};
      type.shape = of_one(type.shape, *inputs[i], size);
    }
    work.input({inputs[i], builder.input(batch.inputs()[i].name, type)});
  }
  if (!work.nodes()) return {};
  std::vector<Value> outputs;
  std::vector<Inner> inner;
  for (std::size_t o = 0; o < batch.outputs().size(); ++o) {
    const Version& version =
        work.value(batch.outputs()[o].value, o < wanted.size() ? wanted[o] : Inner());
    outputs.push_back(version.value);
    inner.push_back(version.inner);
  }
  return Unbatched{simplify(builder.finish(outputs, output_names(batch))), std::move(inner)};
}

std::vector<std::vector<Inner>> detail::readings(const ExampleCall& c, std::size_t first,
                                                 std::span<const Type> types) {
  std::vector<std::vector<Inner>> all{c.inner};
  std::vector<Inner> repeated = c.inner;
  for (std::size_t i = first; c.repeats && i < repeated.size(); ++i) {
    const Shape& shape = types[i - first].shape;
    for (std::size_t axis = 0; axis < shape.rank() && !repeated[i]; ++axis)
      if (shape[axis] == c.size && c.repeats(i, inner_of(shape, axis, 1)))
        repeated[i] = inner_of(shape, axis, 1);
  }
  if (repeated != c.inner) all.push_back(std::move(repeated));
  return all;
}

Function unbatch(const Function& batch, const std::vector<std::optional<std::int64_t>>& in_axes,
                 std::int64_t size) {
  if (in_axes.size() != batch.inputs().size())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("unbatch of '{}': {} axes for {} inputs", batch.name(), in_axes.size(),
                            batch.inputs().size()));
  if (!is_prime(size))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("unbatch of '{}': expected a prime number of examples, got {}",
                            batch.name(), size));
  Builder builder(batch.name());
  Unbatch work(builder, batch, size);
  for (const Version& input : inputs_of_one(builder, batch, in_axes, size)) work.input(input);
  if (!work.nodes()) {
    const Node& node = work.failed();
    const Function::CallTypes types = batch.call_types(node);
    not_proved(fmt::format("{} may mix the examples of a batch",
                           where({*node.op, types.inputs, {}, node.attributes, node.scope})));
  }
  std::vector<Value> outputs;
  for (const Output& o : batch.outputs())
    outputs.push_back(without_axis(batch, o, work.by_example(o.value), size));
  return simplify(builder.finish(outputs, output_names(batch)));
}

}  // namespace limpid
