#include "limpid/transforms/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/core/number_text.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/matmul.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"
#include "limpid/transforms/control.h"
#include "limpid/transforms/detail/bodies.h"
#include "limpid/transforms/detail/unbatched.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/rewrite.h"
#include "limpid/transforms/simplify.h"
#include "limpid/transforms/vmap.h"

namespace limpid {
namespace {

constexpr AttributeSpec kScanAttributes[] = {
    {"body", AttributeKind::kFunction},  {"carries", AttributeKind::kInteger},
    {"length", AttributeKind::kInteger}, {"recompute", AttributeKind::kBool},
    {"reverse", AttributeKind::kBool},   {"scanned", AttributeKind::kInteger}};

// The attributes of a call, and what follows from them.
struct Loop {
  explicit Loop(const Attributes& attributes)
      : body(attributes.get<Nested>("body").function()),
        carries(static_cast<std::size_t>(attributes.integer("carries"))),
        scanned(static_cast<std::size_t>(attributes.integer("scanned"))),
        length(attributes.integer("length")),
        reverse(attributes.get<bool>("reverse")),
        recompute(attributes.get<bool>("recompute")) {}

  std::size_t inputs() const { return body.inputs().size(); }
  std::size_t outputs() const { return body.outputs().size(); }
  bool is_scanned(std::size_t input) const { return input >= carries && input < carries + scanned; }
  bool is_shared(std::size_t input) const { return input >= carries + scanned; }
  // The position in time of the step that runs as number `step`.
  std::int64_t time(std::int64_t step) const { return reverse ? length - 1 - step : step; }
  const Type& output_type(std::size_t output) const {
    return body.type(body.outputs()[output].value);
  }

  Function body;
  std::size_t carries, scanned;
  std::int64_t length;
  bool reverse, recompute;
};

Attributes attributes_of(const Function& body, std::size_t carries, std::size_t scanned,
                         std::int64_t length, bool reverse, bool recompute = false) {
  return {{"body", Nested(body)}, {"carries", static_cast<std::int64_t>(carries)},
          {"length", length},     {"recompute", recompute},
          {"reverse", reverse},   {"scanned", static_cast<std::int64_t>(scanned)}};
}

std::vector<Type> scan_types(const Call& call) {
  for (const char* const count : {"carries", "length", "scanned"})
    if (call.attributes.integer(count) < 0)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: attribute '{}' is {}, expected at least 0", where(call), count,
                              call.attributes.integer(count)));
  detail::check_depth(call);
  const Loop loop(call.attributes);
  if (loop.inputs() != call.inputs.size() || loop.carries > loop.inputs() ||
      loop.scanned > loop.inputs() - loop.carries || loop.carries > loop.outputs())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: a step with a carry of {} and parts of {} takes {} and gives {}, "
                            "but the call has {}",
                            where(call), loop.carries, loop.scanned,
                            counted(static_cast<std::int64_t>(loop.inputs()), "input"),
                            counted(static_cast<std::int64_t>(loop.outputs()), "output"),
                            counted(static_cast<std::int64_t>(call.inputs.size()), "input")));
  for (std::size_t i = 0; i < loop.inputs(); ++i) {
    const Type& part = loop.body.inputs()[i].type;
    const Type expected =
        loop.is_scanned(i) ? Type{part.dtype, part.shape.insert(0, loop.length)} : part;
    if (!(expected == call.inputs[i]))
      throw Error(detail::code_of_types(expected, call.inputs[i]),
                  fmt::format("{}: input {} is {}, but {} of a step of '{}' takes {}", where(call),
                              i, to_string(call.inputs[i]), counted(loop.length, "part"),
                              loop.body.name(), to_string(expected)));
  }
  std::vector<Type> types;
  for (std::size_t o = 0; o < loop.outputs(); ++o) {
    const Type type = loop.output_type(o);
    if (o >= loop.carries) {
      types.push_back({type.dtype, type.shape.insert(0, loop.length)});
    } else if (const Type& start = loop.body.inputs()[o].type; start == type) {
      types.push_back(type);
    } else {
      throw Error(detail::code_of_types(start, type),
                  fmt::format("{}: carry {} is {} before a step of '{}' and {} after it; its type "
                              "must not change",
                              where(call), o, to_string(start), loop.body.name(), to_string(type)));
    }
  }
  return types;
}

// ---- the body: all steps, one after the other

// An element along the first dimension.
Value element_at(const Value& x, std::int64_t index) {
  return reshape(slice(x, 0, index, index + 1), x.shape().erase(0));
}

std::vector<Value> scan_body(std::span<const Value> inputs, const Attributes& attributes) {
  const Loop loop(attributes);
  Builder& builder = innermost(inputs, "scan");
  detail::check_unrolled(loop.body, loop.length);
  std::vector<Value> values(inputs.begin(), inputs.end());
  std::vector<std::vector<Value>> ys(loop.outputs() - loop.carries,
                                     std::vector<Value>(static_cast<std::size_t>(loop.length)));
  for (std::int64_t step = 0; step < loop.length; ++step) {
    const std::int64_t t = loop.time(step);
    for (std::size_t i = loop.carries; i < loop.carries + loop.scanned; ++i)
      values[i] = element_at(inputs[i], t);
    const std::vector<Value> results = builder.inline_function(loop.body, values);
    std::copy_n(results.begin(), loop.carries, values.begin());
    for (std::size_t y = 0; y < ys.size(); ++y) {
      const Value& result = results[loop.carries + y];
      ys[y][static_cast<std::size_t>(t)] = reshape(result, result.shape().insert(0, 1));
    }
  }
  std::vector<Value> results(values.begin(),
                             values.begin() + static_cast<std::ptrdiff_t>(loop.carries));
  for (std::size_t y = 0; y < ys.size(); ++y) {
    const Type& type = loop.output_type(loop.carries + y);
    results.push_back(loop.length > 0
                          ? concatenate(ys[y], 0)
                          : detail::zeros_of(builder, {type.dtype, type.shape.insert(0, 0)}));
  }
  return results;
}

std::vector<Tensor> scan_evaluation(const Call& call, std::span<const Tensor> inputs) {
  const Loop loop(call.attributes);
  std::vector<Tensor> values(inputs.begin(), inputs.end());
  return generate_together(call.outputs, [&](std::span<void* const> out) {
    for (std::int64_t step = 0; step < loop.length; ++step) {
      const auto t = static_cast<std::size_t>(loop.time(step));
      for (std::size_t i = loop.carries; i < loop.carries + loop.scanned; ++i) {
        const Type& type = loop.body.inputs()[i].type;
        values[i] = Tensor::borrow(type, inputs[i].bytes().subspan(t * type.bytes(), type.bytes()),
                                   inputs[i].owner().lock());
      }
      const std::vector<Tensor> results = interpret(loop.body, values);
      std::copy_n(results.begin(), loop.carries, values.begin());
      for (std::size_t o = loop.carries; o < results.size(); ++o) {
        const std::span<const std::byte> bytes = results[o].bytes();
        if (!bytes.empty())
          std::memcpy(static_cast<std::byte*>(out[o]) + t * bytes.size(), bytes.data(),
                      bytes.size());
      }
    }
    for (std::size_t o = 0; o < loop.carries; ++o)
      if (const std::span<const std::byte> bytes = values[o].bytes(); !bytes.empty())
        std::memcpy(out[o], bytes.data(), bytes.size());
  });
}

// ---- vmap: of the body. A carry is batched if any step makes it so.

Value first_two_exchanged(const Value& x) {
  std::vector<std::int64_t> order(x.rank());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = static_cast<std::int64_t>(d);
  std::swap(order[0], order[1]);
  return transpose(x, order);
}

std::vector<Value> scan_batching(const BatchingCall& c) {
  const Loop loop(c.attributes);
  std::vector<bool> batched(c.batched.begin(), c.batched.end());
  std::vector<bool> depends;
  for (bool changed = true; changed;) {
    changed = false;
    depends = dependents(loop.body, batched);
    for (std::size_t i = 0; i < loop.carries; ++i) {
      const bool after = depends[static_cast<std::size_t>(loop.body.outputs()[i].value)];
      changed = changed || (after && !batched[i]);
      batched[i] = batched[i] || after;
    }
  }
  std::vector<std::optional<std::int64_t>> axes;
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < loop.inputs(); ++i) {
    axes.push_back(batched[i] ? std::optional<std::int64_t>(0) : std::nullopt);
    const Value x = batched[i] ? batched_input(c, i) : c.inputs[i];
    inputs.push_back(batched[i] && loop.is_scanned(i) ? first_two_exchanged(x) : x);
  }
  // vmap gives every output the batch; one that has none is taken from the body itself.
  depends = dependents(loop.body, batched);
  std::vector<bool> shared(loop.outputs());
  for (std::size_t o = 0; o < loop.outputs(); ++o)
    shared[o] = o < loop.carries ? !batched[o]
                                 : !depends[static_cast<std::size_t>(loop.body.outputs()[o].value)];
  const Function mapped = vmap(loop.body, axes, c.size);
  const Function body = trace(
      loop.body.name(), mapped.inputs(),
      [&](std::span<const Value> in) {
        Builder& builder = in.front().builder();
        std::vector<Value> results = builder.inline_function(mapped, in);
        for (std::size_t o = 0; o < results.size(); ++o)
          if (shared[o])
            results[o] = detail::value_of(builder, loop.body, loop.body.outputs()[o].value, in);
        return results;
      },
      output_names(mapped));
  std::vector<Value> results =
      c.builder.call(op::scan, inputs,
                     attributes_of(simplify(body), loop.carries, loop.scanned, loop.length,
                                   loop.reverse, loop.recompute));
  for (std::size_t o = 0; o < results.size(); ++o) {
    if (shared[o])
      results[o] = broadcast(results[o], results[o].shape().insert(0, c.size));
    else if (o >= loop.carries)
      results[o] = first_two_exchanged(results[o]);
  }
  return results;
}

// ---- unbatch: of the body. A carry that is shared at first has its examples where a step puts
// them.

std::optional<detail::Unbatched> unbatched_step(const ExampleCall& c, const Loop& loop,
                                                std::vector<Inner>& inner) {
  for (std::size_t pass = 0; pass <= loop.carries; ++pass) {
    auto one = detail::unbatched(loop.body, inner, std::span(inner).first(loop.carries), c.size);
    if (!one) return {};
    bool changed = false;
    for (std::size_t i = 0; i < loop.carries; ++i) {
      if (one->outputs[i] == inner[i]) continue;
      if (inner[i] || !c.repeats || !c.repeats(i, *one->outputs[i])) return {};
      inner[i] = one->outputs[i];
      changed = true;
    }
    if (!changed) return one;
  }
  return {};
}

// What repeats itself for each example is read so if the proof needs it.
std::optional<detail::Unbatched> unbatched_step(const ExampleCall& c) {
  const Loop loop(c.call.attributes);
  std::vector<Type> parts;
  for (const Input& i : loop.body.inputs()) parts.push_back(i.type);
  for (std::vector<Inner>& inner : detail::readings(c, 0, parts))
    if (auto one = unbatched_step(c, loop, inner)) {
      c.inner = inner;
      return one;
    }
  return {};
}

ExampleResults scan_example_axis(const ExampleCall& c) {
  auto one = unbatched_step(c);
  return one ? ExampleResults(std::move(one->outputs)) : std::nullopt;
}

std::optional<Attributes> scan_for_one(const ExampleCall& c, std::span<const Type>) {
  const auto one = unbatched_step(c);
  if (!one) return {};
  const Loop loop(c.call.attributes);
  return attributes_of(one->function, loop.carries, loop.scanned, loop.length, loop.reverse,
                       loop.recompute);
}

// ---- gradient: a scan in the reverse order

// The reverse of a loop. Its steps take what the forward steps computed and their gradients read:
// inputs of the step, its results, and further values, which the forward scan then gives as well.
class Reversed {
 public:
  Reversed(Loop loop, std::span<const bool> wanted) : loop_(std::move(loop)) {
    find_active(wanted);
    differentiate();
    if (active_.empty()) return;
    find_backward();
    find_kept();
  }

  // The body of the forward scan, which gives the kept values after its own results.
  Function forward_body() const {
    if (active_.empty()) return loop_.body;
    Builder builder(loop_.body.name());
    std::vector<Value> values;
    for (const Input& i : loop_.body.inputs()) values.push_back(builder.input(i.name, i.type));
    values.resize(backward_.types().size());
    for (const Node& node : backward_.nodes())
      if (!of_cotangents_[static_cast<std::size_t>(node.first_output)])
        detail::copy_node(builder, node, values);
    std::vector<Value> outputs;
    std::vector<std::string> names = output_names(loop_.body);
    for (std::size_t o = 0; o < loop_.outputs(); ++o)
      outputs.push_back(values[static_cast<std::size_t>(backward_.outputs()[o].value)]);
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      if (sources_[k] < loop_.outputs()) continue;
      outputs.push_back(values[static_cast<std::size_t>(kept_[k])]);
      names.emplace_back();
    }
    return simplify(builder.finish(outputs, std::move(names)));
  }

  std::vector<Value> cotangents(const GradientCall& c) const {
    std::vector<Value> answers(loop_.inputs());
    if (active_.empty()) return answers;
    std::vector<Value> carry, xs, shared;
    const Function body = backward_body(c, carry, xs, shared);
    const Scanned all =
        scan(body, carry, xs, shared, {.length = loop_.length, .reverse = !loop_.reverse});
    std::size_t next_carry = 0, next_y = 0;
    for (const std::size_t i : carried_) {
      const Value& last = all.carry[next_carry++];
      if (is_active(i)) answers[i] = last;
    }
    for (const std::size_t i : active_) {
      if (loop_.is_shared(i)) answers[i] = all.carry[next_carry++];
      if (loop_.is_scanned(i)) answers[i] = all.stacked[next_y++];
    }
    return answers;
  }

 private:
  bool is_active(std::size_t input) const {
    return std::find(active_.begin(), active_.end(), input) != active_.end();
  }

  // Which inputs have a cotangent that anything reads, and the carries that have one on the way.
  void find_active(std::span<const bool> wanted) {
    std::vector<bool> reached(wanted.begin(), wanted.end());
    const auto is_number = [&](std::size_t i) {
      return is_floating(loop_.body.inputs()[i].type.dtype);
    };
    for (std::size_t i = 0; i < reached.size(); ++i) reached[i] = reached[i] && is_number(i);
    std::vector<bool> depends;
    for (bool changed = true; changed;) {
      changed = false;
      depends = dependents(loop_.body, reached);
      for (std::size_t i = 0; i < loop_.carries; ++i) {
        if (reached[i] || !is_number(i) || !depends_on(depends, i)) continue;
        reached[i] = true;
        changed = true;
      }
    }
    for (std::size_t i = 0; i < reached.size(); ++i) {
      if (!reached[i]) continue;
      active_.push_back(i);
      if (i < loop_.carries) carried_.push_back(i);
    }
  }
  bool depends_on(const std::vector<bool>& depends, std::size_t output) const {
    return depends[static_cast<std::size_t>(loop_.body.outputs()[output].value)];
  }

  // An input that the results depend on only by ops without a derivative is constant to gradients.
  void differentiate() {
    try {
      if (!active_.empty()) backward_ = vjp(loop_.body, active_);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::kNoGradient) throw;
      std::erase_if(active_, [&](std::size_t i) { return !detail::has_gradient(loop_.body, i); });
      if (!active_.empty()) backward_ = vjp(loop_.body, active_);
    }
  }

  // Which values of backward_ depend on the cotangents.
  void find_backward() {
    std::vector<bool> cotangents(backward_.inputs().size(), false);
    std::fill(cotangents.begin() + static_cast<std::ptrdiff_t>(loop_.inputs()), cotangents.end(),
              true);
    of_cotangents_ = dependents(backward_, cotangents);
  }

  // What the backward part reads of the forward part, and how it comes by it.
  void find_kept() {
    const std::size_t values = backward_.types().size();
    std::vector<bool> differs(backward_.inputs().size(), true);
    for (std::size_t i = loop_.carries + loop_.scanned; i < loop_.inputs(); ++i) differs[i] = false;
    of_a_step_ = dependents(backward_, differs);
    again_.assign(values, false);
    maker_.assign(values, nullptr);
    for (const Node& node : backward_.nodes())
      for (std::size_t r = 0; r < backward_.output_count(node); ++r)
        maker_[static_cast<std::size_t>(node.first_output) + r] = &node;
    for (const Node& node : backward_.nodes())
      if (of_cotangents_[static_cast<std::size_t>(node.first_output)])
        for (const ValueId id : node.inputs) need(id);
    for (std::size_t o = loop_.outputs(); o < backward_.outputs().size(); ++o)
      need(backward_.outputs()[o].value);
    for (std::size_t k = kept_.size(); k-- > 0;) drop_if_cheap(k);
    for (const ValueId id : kept_) sources_.push_back(source_of(id));
  }

  // Whether a value can be had in the reverse step by a few element-wise ops from what it has.
  bool is_near(ValueId id, ValueId but, int depth) const {
    const auto value = static_cast<std::size_t>(id);
    if (of_cotangents_[value]) return false;
    if (id != but && (again_[value] || std::find(kept_.begin(), kept_.end(), id) != kept_.end()))
      return true;
    if (!of_a_step_[value] || (value >= loop_.carries && value < loop_.inputs())) return true;
    const Node* const node = maker_[value];
    return node && depth > 0 && is_light(*node) &&
           std::all_of(node->inputs.begin(), node->inputs.end(),
                       [&](ValueId in) { return is_near(in, but, depth - 1); });
  }
  static bool is_light(const Node& node) {
    return node.op->elementwise || node.op->role == Role::kRepeat ||
           node.op->role == Role::kRearrange;
  }
  void drop_if_cheap(std::size_t which) {
    constexpr int kFewOps = 3;
    const ValueId id = kept_[which];
    if (own_result(id)) return;
    if (!maker_[static_cast<std::size_t>(id)] || !is_near(id, id, kFewOps)) return;
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(which));
    make_again(id);
  }
  void make_again(ValueId id) {
    const auto value = static_cast<std::size_t>(id);
    if (again_[value] || std::find(kept_.begin(), kept_.end(), id) != kept_.end()) return;
    again_[value] = true;
    const Node* const node = maker_[value];
    if (!node) return;
    for (std::size_t r = 0; r < backward_.output_count(*node); ++r)
      again_[static_cast<std::size_t>(node->first_output) + r] = true;
    for (const ValueId in : node->inputs) make_again(in);
  }

  // The result of all steps that a value is, if it is one.
  std::optional<std::size_t> own_result(ValueId id) const {
    for (std::size_t o = loop_.carries; o < loop_.outputs(); ++o)
      if (backward_.outputs()[o].value == id) return o;
    return {};
  }
  // Which result of the forward scan has a kept value: one of its own, or a further one.
  std::size_t source_of(ValueId id) {
    const std::optional<std::size_t> own = own_result(id);
    return own ? *own : loop_.outputs() + further_++;
  }
  // A value of no step in particular, and one that is only moved, is computed again; so is every
  // value if the loop says so.
  void need(ValueId id) {
    std::vector<ValueId> open{id};
    while (!open.empty()) {
      const auto value = static_cast<std::size_t>(open.back());
      open.pop_back();
      if (of_cotangents_[value] || again_[value]) continue;
      if (value >= loop_.carries && value < loop_.inputs()) {
        again_[value] = true;
        continue;
      }
      const Node* const node = maker_[value];
      const bool moved =
          node && (node->op->role == Role::kRepeat || node->op->role == Role::kRearrange);
      if (!node || (of_a_step_[value] && !moved && !loop_.recompute)) {
        if (std::find(kept_.begin(), kept_.end(), static_cast<ValueId>(value)) == kept_.end())
          kept_.push_back(static_cast<ValueId>(value));
        continue;
      }
      for (std::size_t r = 0; r < backward_.output_count(*node); ++r)
        again_[static_cast<std::size_t>(node->first_output) + r] = true;
      open.insert(open.end(), node->inputs.begin(), node->inputs.end());
    }
  }

  Function backward_body(const GradientCall& c, std::vector<Value>& carry, std::vector<Value>& xs,
                         std::vector<Value>& shared) const {
    Builder builder("backward");
    std::vector<Value> values(backward_.types().size());
    const std::size_t first_cotangent = loop_.inputs();
    for (const std::size_t i : carried_) {
      carry.push_back(c.cotangents[i] ? c.cotangents[i] : number_like(c.outputs[i], 0));
      values[first_cotangent + i] =
          builder.input(fmt::format("cotangent.{}", i), carry.back().type());
    }
    std::vector<Value> sums;
    for (const std::size_t i : active_) {
      if (!loop_.is_shared(i)) continue;
      carry.push_back(number_like(c.inputs[i], 0));
      sums.push_back(builder.input(fmt::format("sum.{}", i), carry.back().type()));
    }
    for (std::size_t o = loop_.carries; o < loop_.outputs(); ++o) {
      if (!c.cotangents[o] || !is_floating(loop_.output_type(o).dtype)) continue;
      xs.push_back(c.cotangents[o]);
      values[first_cotangent + o] =
          builder.input(fmt::format("cotangent.{}", o), loop_.output_type(o));
    }
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      xs.push_back(c.outputs[sources_[k]]);
      values[static_cast<std::size_t>(kept_[k])] =
          builder.input(fmt::format("kept.{}", k), backward_.type(kept_[k]));
    }
    for (std::size_t i = loop_.carries; i < loop_.inputs(); ++i) {
      if (!again_[i]) continue;
      (loop_.is_shared(i) ? shared : xs).push_back(c.inputs[i]);
      values[i] = builder.input(fmt::format("{}.{}", loop_.is_shared(i) ? "shared" : "x", i),
                                loop_.body.inputs()[i].type);
    }
    for (std::size_t o = 0; o < loop_.outputs(); ++o)
      if (!values[first_cotangent + o])
        values[first_cotangent + o] = detail::zeros_of(builder, loop_.output_type(o));
    for (const Node& node : backward_.nodes()) {
      const auto first = static_cast<std::size_t>(node.first_output);
      if (of_cotangents_[first] || again_[first]) detail::copy_node(builder, node, values);
    }
    return simplify(builder.finish(backward_results(builder, values, sums)));
  }
  // The next cotangents of the carry, the next sums, and the cotangents of the parts.
  std::vector<Value> backward_results(Builder& builder, std::span<const Value> values,
                                      std::span<const Value> sums) const {
    std::vector<Value> gradients(loop_.inputs());
    for (std::size_t a = 0; a < active_.size(); ++a)
      gradients[active_[a]] =
          values[static_cast<std::size_t>(backward_.outputs()[loop_.outputs() + a].value)];
    std::vector<Value> results;
    for (const std::size_t i : carried_)
      results.push_back(gradients[i] ? gradients[i]
                                     : detail::zeros_of(builder, loop_.output_type(i)));
    std::size_t next_sum = 0;
    for (const std::size_t i : active_)
      if (loop_.is_shared(i)) results.push_back(sums[next_sum++] + gradients[i]);
    for (const std::size_t i : active_)
      if (loop_.is_scanned(i)) results.push_back(gradients[i]);
    return results;
  }

  Loop loop_;
  std::vector<std::size_t> active_;   // the inputs with a cotangent
  std::vector<std::size_t> carried_;  // the carries whose cotangent each step hands on
  Function backward_;                 // the vjp of the body by the active inputs
  std::vector<bool> of_cotangents_;   // of its values: whether they depend on cotangents
  std::vector<bool> of_a_step_;       // of its values: whether they differ from step to step
  std::vector<const Node*> maker_;
  std::vector<bool> again_;           // of its values: computed again, or an input that is read
  std::vector<ValueId> kept_;         // its values that the forward scan keeps
  std::vector<std::size_t> sources_;  // of each: which result of the forward scan it is
  std::size_t further_ = 0;           // results that the forward scan gives besides its own
};

PreparedGradient scan_gradient(const Call& call, std::span<const bool> wanted) {
  const Loop loop(call.attributes);
  const auto reversed = std::make_shared<const Reversed>(loop, wanted);
  return {attributes_of(reversed->forward_body(), loop.carries, loop.scanned, loop.length,
                        loop.reverse, loop.recompute),
          [reversed](const GradientCall& c) { return reversed->cotangents(c); }};
}

std::int64_t scan_flops(const Call& call) {
  const Loop loop(call.attributes);
  // A step costs something, even if its ops only move elements.
  return product_or_most(loop.length, sum_or_most(detail::flops_of(loop.body), 1));
}

// ---- examples

// h' = tanh(h + w x + m h), y = (h' x, h) and an integer that counts the steps.
Function example_step(Dtype dtype) {
  const Type row{dtype, {3}};
  return trace("step", {{"h", row}, {"n", {Dtype::kI32, {}}}, {"x", row}, {"m", {dtype, {3, 3}}}},
               [](std::span<const Value> in) {
                 const Value next = tanh(in[0] + linear(in[2], in[3]) * in[0]);
                 return std::vector<Value>{next, in[1] + 1, next * in[2], in[0]};
               });
}
// Only a sum over parts.
Function example_sum(Dtype dtype) {
  const Type row{dtype, {2}};
  return trace("sum", {{"total", row}, {"x", row}},
               [](std::span<const Value> in) { return std::vector<Value>{in[0] + in[1] * in[1]}; });
}
// A body with a loop: h is multiplied by w twice a step.
Function example_nested(Dtype dtype) {
  const Type row{dtype, {2}};
  const Function inner = trace("inner", {{"h", row}, {"w", row}}, [](std::span<const Value> in) {
    return std::vector<Value>{in[0] * in[1]};
  });
  return trace("outer", {{"h", row}, {"w", row}}, [&](std::span<const Value> in) {
    const Scanned all = scan(inner, in.first(1), {}, in.subspan(1), {.length = 2});
    return std::vector<Value>{all.carry[0], sum(all.carry[0], 0)};
  });
}

std::vector<Example> scan_examples() {
  std::vector<Example> examples;
  for (const Dtype d : {Dtype::kF32, Dtype::kF64}) {
    const Type row{d, {3}};
    for (const bool reverse : {false, true})  // and recompute
      examples.push_back({{row, {Dtype::kI32, {}}, {d, {4, 3}}, {d, {3, 3}}},
                          attributes_of(example_step(d), 2, 1, 4, reverse, reverse),
                          -1,
                          1});
    examples.push_back({{{d, {2}}, {d, {5, 2}}}, attributes_of(example_sum(d), 1, 1, 5, false)});
    examples.push_back({{{d, {2}}, {d, {0, 2}}}, attributes_of(example_sum(d), 1, 1, 0, false)});
    examples.push_back({{{d, {2}}, {d, {2}}}, attributes_of(example_nested(d), 1, 0, 3, false)});
  }
  return examples;
}

}  // namespace

namespace op {

constexpr int kMostOperands = 1 << 16;

constinit const Op scan = complete(
    {.name = "scan",
     .formula = "carry, y[t] = body(carry, x[t], shared) for each t in order",
     .shapes = "carry [...], x [length, ...], shared [...] -> carry [...], y [length, ...]",
     .min_inputs = 1,
     .max_inputs = kMostOperands,
     .attributes = kScanAttributes,
     .types = scan_types,
     .body = scan_body,
     .evaluation = scan_evaluation,
     .gradient = gradient_prepared(scan_gradient),
     .batching = batching(scan_batching),
     .example_axis = scan_example_axis,
     .example_attributes = scan_for_one,
     .flops = scan_flops,
     .onnx = {},
     .source = "JAX, jax.lax.scan",
     .examples = scan_examples});

}  // namespace op

namespace {

constexpr const Op* kLoopOps[] = {&op::scan, &op::cond, &op::while_loop};

}  // namespace

constinit const OpList loop_ops = kLoopOps;

Scanned scan(const Function& body, std::span<const Value> carry, std::span<const Value> xs,
             std::span<const Value> shared, const ScanOptions& options) {
  std::vector<Value> inputs(carry.begin(), carry.end());
  inputs.insert(inputs.end(), xs.begin(), xs.end());
  inputs.insert(inputs.end(), shared.begin(), shared.end());
  const std::int64_t length = detail::steps_of(xs, options);
  std::vector<Value> results = call(
      op::scan, inputs,
      attributes_of(body, carry.size(), xs.size(), length, options.reverse, options.recompute));
  const auto first_y = results.begin() + static_cast<std::ptrdiff_t>(carry.size());
  return {{results.begin(), first_y}, {first_y, results.end()}};
}

namespace detail {

std::int64_t steps_of(std::span<const Value> xs, const ScanOptions& options) {
  std::optional<std::int64_t> length = options.length;
  for (const Value& x : xs) {
    if (x.rank() == 0)
      throw Error(ErrorCode::kShape, fmt::format("scan: expected an array with a dimension of "
                                                 "steps, got {}",
                                                 to_string(x.type())));
    if (length && *length != x.shape()[0])
      throw Error(ErrorCode::kShape,
                  fmt::format("scan: expected {} along the first dimension, got {}",
                              counted(*length, "step"), to_string(x.type())));
    length = x.shape()[0];
  }
  if (!length)
    throw Error(ErrorCode::kInvalidArgument,
                "scan: expected a length, as there is nothing to take parts of");
  return *length;
}

std::vector<Type> step_types(std::span<const Value> carry, std::span<const Value> xs) {
  std::vector<Type> types = types_of(carry);
  for (const Value& x : xs) types.push_back({x.dtype(), x.shape().erase(0)});
  return types;
}

}  // namespace detail
}  // namespace limpid
