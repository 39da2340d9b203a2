// From a Function to a Plan: which op becomes which step, and which element-wise ops ride behind
// which step.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "limpid/compile/plan.h"
#include "limpid/core/error.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/attention.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/rows.h"
#include "limpid/ops/update.h"
#include "limpid/transforms/expand.h"
#include "limpid/transforms/simplify.h"

namespace limpid::detail {
namespace {

using kernels::Element;

bool is_lane(Dtype dtype) {
  return dtype == Dtype::kF32 || dtype == Dtype::kI32 || dtype == Dtype::kBool;
}

bool all_lanes(std::span<const Type> types) {
  return std::all_of(types.begin(), types.end(), [](const Type& t) { return is_lane(t.dtype); });
}

// The element kernel of a call, or kCount where it has none for its types.
Element element_of(const Call& call) {
  const Kernel& kernel = call.op.kernel;
  if (!all_lanes(call.inputs)) return kNoElement;
  if (kernel.kind == KernelKind::kCast) {
    const Dtype from = call.inputs[0].dtype;
    if (call.attributes.get<Dtype>("dtype") != Dtype::kF32) return kNoElement;
    return from == Dtype::kI32    ? Element::kI32ToF32
           : from == Dtype::kBool ? Element::kMaskToF32
                                  : kNoElement;
  }
  if (kernel.kind != KernelKind::kElement) return kNoElement;
  const Dtype dtype = call.inputs.back().dtype;
  if (kernel.element == Element::kSelect)
    return dtype == Dtype::kBool ? kNoElement : Element::kSelect;
  return dtype == Dtype::kF32   ? kernel.element
         : dtype == Dtype::kI32 ? kernel.element_i32
                                : kNoElement;
}

bool is_adam_update(const Call& call) {
  return &call.op == &op::adam_update && call.inputs[0].dtype == Dtype::kF32;
}

// Whether a composition runs as one step; its body stands in for it otherwise.
bool is_served(const Call& call) {
  const Type& x = call.inputs[0];
  switch (call.op.kernel.kind) {
    case KernelKind::kElement:
      return element_of(call) != kNoElement;
    case KernelKind::kLinear:
    case KernelKind::kQuantizedLinear:
      return x.dtype == Dtype::kF32;
    case KernelKind::kSoftmax:
    case KernelKind::kLogSoftmax:
      return x.dtype == Dtype::kF32 &&
             call.attributes.integer("axis") + 1 == static_cast<std::int64_t>(x.shape.rank());
    case KernelKind::kLayerNorm:
    case KernelKind::kRmsNorm:
    case KernelKind::kLayerNormGradient:
    case KernelKind::kRmsNormGradient:
      return x.dtype == Dtype::kF32;
    default:
      return is_adam_update(call);
  }
}

// Rough costs on one core, to decide whether a step is worth sharing among threads.
constexpr double kNanosecondsPerFlop = 0.01;
constexpr double kNanosecondsPerWeightByte = 0.01;  // from the third-level cache
constexpr double kNanosecondsPerLane = 0.15;
constexpr double kNanosecondsPerRowElement = 0.5;
constexpr double kNanosecondsPerUpdatedElement = 0.6;
constexpr double kNanosecondsPerMovedByte = 0.04;
constexpr double kNanosecondsPerReferenceElement = 2;
constexpr double kNanosecondsPerScore = 1;
constexpr double kNanosecondsPerPackedElement = 1;

using Weights = MatmulStep::Weights;

Weights weights_of(Dtype dtype) {
  return dtype == Dtype::kBf16 ? Weights::kBf16
         : dtype == Dtype::kI8 ? Weights::kI8
                               : Weights::kF32;
}

// Whether a product has a kernel.
bool is_served_product(const Call& call) {
  if (call.inputs[0].dtype != Dtype::kF32) return false;
  if (call.op.kernel.kind != KernelKind::kMatmul || call.inputs[1].dtype == Dtype::kF32)
    return true;
  return !call.attributes.get<bool>("transpose_a") && call.inputs[1].shape.rank() == 2;
}

class Lowering {
 public:
  Lowering(const Function& original, kernels::Isa isa)
      : f_(simplify(expand(original, [](const Call& c) { return !is_served(c); }))) {
    plan_.function = original;
    plan_.kernels = &kernels::kernels(isa);
    known_.resize(f_.types().size());
  }

  Plan run() {
    for (std::size_t i = 0; i < f_.inputs().size(); ++i)
      set_memory(static_cast<ValueId>(i), add_slot(f_.inputs()[i].type, Place::kInput, i), -1);
    lower_nodes();
    for (std::size_t i = 0; i < f_.outputs().size(); ++i) write_output(i);
    return std::move(plan_);
  }

 private:
  // How a value can be had.
  enum class How : std::uint8_t {
    kMemory,    // in `slot`, since step `step` (-1: an input)
    kConstant,  // `constant`
    kView,      // elements of another value, repeated
    kLane,      // result of instruction `instruction` in the program of step `step`
    kAlias,     // the elements of another value under another shape
  };
  struct Known {
    How how = How::kMemory;
    SlotId slot = -1;
    std::int32_t step = -1;
    std::int32_t instruction = -1;
    ValueId source = -1;           // of an alias or a view
    std::int32_t not_before = -1;  // the step that an alias stands behind
    std::size_t inner = 1;
    std::size_t period = 1;
    Tensor constant;
  };

  // ---- values

  ValueId resolve(ValueId v) const {
    while (known(v).how == How::kAlias) v = known(v).source;
    return v;
  }
  Known& known(ValueId v) { return known_[static_cast<std::size_t>(v)]; }
  const Known& known(ValueId v) const { return known_[static_cast<std::size_t>(v)]; }
  std::size_t elements(ValueId v) const {
    return static_cast<std::size_t>(f_.type(v).shape.elements());
  }

  SlotId add_slot(const Type& type, Place place, std::size_t offset) {
    plan_.slots.push_back({type, place, offset});
    return static_cast<SlotId>(plan_.slots.size()) - 1;
  }
  SlotId new_slot(ValueId v) { return add_slot(f_.type(v), Place::kWorkspace, 0); }
  SlotId constant_slot(Tensor value) {
    plan_.constants.push_back(std::move(value));
    return add_slot(plan_.constants.back().type(), Place::kConstant, plan_.constants.size() - 1);
  }

  void set_memory(ValueId v, SlotId slot, std::int32_t step) {
    known(v).how = How::kMemory;
    known(v).slot = slot;
    known(v).step = step;
  }
  void set_constant(ValueId v, Tensor value) {
    known(v).how = How::kConstant;
    known(v).constant = std::move(value);
  }
  void set_alias(ValueId v, ValueId source) {
    // Of what the source is an alias of: chains may be as long as a stranger's text.
    const bool chained = known(source).how == How::kAlias;
    known(v).how = How::kAlias;
    known(v).not_before = known(source).not_before;
    known(v).source = chained ? known(source).source : source;
  }

  // The step after which a value may be read.
  std::int32_t made_by(ValueId v) const {
    const Known& k = known(v);
    return k.how == How::kView || k.how == How::kAlias ? std::max(k.not_before, made_by(k.source))
                                                       : k.step;
  }
  // The last barrier between a value and the step that made it.
  std::int32_t behind(ValueId v) const {
    const Known& k = known(v);
    return k.how == How::kView || k.how == How::kAlias ? std::max(k.not_before, behind(k.source))
                                                       : -1;
  }

  // The slot that holds a value; makes it hold it, where it does not yet.
  SlotId memory(ValueId v) {
    const ValueId r = resolve(v);
    Known& k = known(r);
    if (k.slot >= 0) return k.slot;
    if (k.how == How::kConstant) {
      k.slot = constant_slot(k.constant);
    } else if (k.how == How::kLane) {
      k.slot = new_slot(r);
      plan_.steps[static_cast<std::size_t>(k.step)].program.outputs.push_back(
          {k.instruction, k.slot});
    } else {  // a view: a program that copies
      Step step;
      step.program.elements = elements(r);
      const LaneInput input{memory(k.source), k.inner, k.period};
      step.program.inputs.push_back(input);
      step.nanoseconds = kNanosecondsPerLane * static_cast<double>(elements(r));
      step.not_before = behind(r);
      const SlotId slot = new_slot(r);
      step.program.outputs.push_back({~0, slot});
      plan_.steps.push_back(std::move(step));
      known(r).slot = slot;
      known(r).how = How::kMemory;
      known(r).step = last_step();
    }
    return known(r).slot;
  }

  std::int32_t last_step() const { return static_cast<std::int32_t>(plan_.steps.size()) - 1; }

  // ---- nodes

  // Numbers made of numbers that are given, an optimiser's for one, come first: what needs them can
  // then ride behind a product instead of waiting for them.
  void lower_nodes() {
    std::vector<bool> early(f_.types().size(), false);
    for (std::size_t i = 0; i < f_.inputs().size(); ++i)
      early[i] = f_.inputs()[i].type.shape.elements() == 1;
    const auto is_early = [&](ValueId v) { return early[static_cast<std::size_t>(v)]; };
    std::vector<const Node*> rest;
    for (const Node& node : f_.nodes()) {
      const bool first = node.op->kernel.kind != KernelKind::kBarrier &&
                         f_.call_types(node).outputs.size() == 1 &&
                         elements(node.first_output) == 1 &&
                         std::all_of(node.inputs.begin(), node.inputs.end(), is_early);
      early[static_cast<std::size_t>(node.first_output)] = first;
      if (first)
        lower(node);
      else
        rest.push_back(&node);
    }
    for (const Node* node : rest) lower(*node);
  }

  void lower(const Node& node) {
    const Function::CallTypes types = f_.call_types(node);
    const Call call{*node.op, types.inputs, types.outputs, node.attributes, node.scope};
    if (make_constant(node, call)) return;
    if (is_adam_update(call)) return add_adam(node, call);
    switch (node.op->kernel.kind) {
      case KernelKind::kReshape:
        return set_alias(node.first_output, node.inputs[0]);
      case KernelKind::kBarrier:
        return lower_barrier(node);
      case KernelKind::kBroadcast:
        return lower_broadcast(node, call);
      case KernelKind::kRandomBits:
        if (types.inputs[0].shape.rank() == 0) return add_lanes(node, call, kNoElement);
        break;
      case KernelKind::kElement:
      case KernelKind::kCast:
        if (const Element e = element_of(call); e != kNoElement) return add_lanes(node, call, e);
        break;
      case KernelKind::kMatmul:
      case KernelKind::kLinear:
      case KernelKind::kQuantizedLinear:
        if (is_served_product(call)) return add_matmul(node, call);
        break;
      case KernelKind::kSoftmax:
      case KernelKind::kLogSoftmax:
      case KernelKind::kSum:
      case KernelKind::kMax:
      case KernelKind::kMin:
        if (types.inputs[0].dtype == Dtype::kF32) return add_rows(node, along_axis(node, call));
        break;
      case KernelKind::kLayerNorm:
      case KernelKind::kRmsNorm:
        return add_norm(node, call);
      case KernelKind::kLayerNormGradient:
      case KernelKind::kRmsNormGradient:
        return add_norm_gradient(node, call);
      case KernelKind::kTranspose:
        if (keeps_order(call)) return set_alias(node.first_output, node.inputs[0]);
        if (is_matrix_transpose(call)) return add_transpose(node, call);
        return add_permutation(node, call);
      case KernelKind::kMove:
        return add_moves(node, call);
      case KernelKind::kGather:
        return add_gather(node, call);
      case KernelKind::kScatterAdd:
        if (call.outputs[0].dtype == Dtype::kF32) return add_scatter_add(node, call);
        break;
      case KernelKind::kAttention:
      case KernelKind::kCachedAttention:
        if (types.inputs[0].dtype == Dtype::kF32) return add_attention(node, call);
        break;
      case KernelKind::kUpdateRows:
        if (size_of(types.inputs[0].dtype) == 4) return add_update_rows(node, call);
        break;
      case KernelKind::kConstant:
      case KernelKind::kSoftmaxGradient:
      case KernelKind::kRotary:
      case KernelKind::kAttentionGradient:
      case KernelKind::kNone:
        break;
    }
    add_reference(node, call);
  }

  // Values from nowhere are computed now, and there is nothing to those without elements. Calls of
  // constants are constants already: simplify() has been here.
  bool make_constant(const Node& node, const Call& call) {
    if (results_are_empty(call)) {
      for (std::size_t i = 0; i < call.outputs.size(); ++i)
        set_constant(node.first_output + static_cast<ValueId>(i), Tensor::zeros(call.outputs[i]));
      return true;
    }
    constexpr std::int64_t kMostElements = 1 << 20;
    if (!node.inputs.empty()) return false;
    if (node.op == &op::constant) {
      set_constant(node.first_output, node.attributes.get<Tensor>("value"));
      return true;
    }
    if (call.outputs[0].shape.elements() > kMostElements) return false;
    set_constant(node.first_output, interpret_call(call, {})[0]);
    return true;
  }

  void lower_barrier(const Node& node) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId result = node.first_output + static_cast<ValueId>(i);
      set_alias(result, node.inputs[i]);
      known(result).not_before = last_step();
    }
  }

  void lower_broadcast(const Node& node, const Call& call) {
    const ValueId source = resolve(node.inputs[0]);
    const ValueId result = node.first_output;
    if (elements(source) == elements(result)) return set_alias(result, node.inputs[0]);
    LaneInput view{};
    if (!is_lane(call.inputs[0].dtype) || elements(result) == 0 ||
        !repeats_one_block(call.inputs[0].shape, call.outputs[0].shape, view))
      return add_reference(node, call);
    Known k;
    k.how = How::kView;
    k.source = source;
    k.not_before = behind(node.inputs[0]);
    k.inner = view.inner;
    k.period = view.period;
    if (known(source).how == How::kView) {
      if (known(source).period == 1) {
        k.source = known(source).source;
        k.not_before = std::max(k.not_before, known(source).not_before);
        k.inner = 1;
        k.period = 1;
      } else {
        memory(source);
      }
    }
    known(result) = k;
  }

  // Whether the dimensions that x keeps stand side by side among those it is repeated over.
  static bool repeats_one_block(const Shape& from, const Shape& to, LaneInput& view) {
    view.inner = 1;
    view.period = 1;
    int part = 0;  // from the right: repeated, kept, repeated
    for (std::size_t i = 1; i <= to.rank(); ++i) {
      const auto dim = static_cast<std::size_t>(to[to.rank() - i]);
      if (dim == 1) continue;
      const bool kept = i <= from.rank() && from[from.rank() - i] != 1;
      if (kept && part == 2) return false;
      if (kept) {
        part = 1;
        view.period *= dim;
      } else if (part == 0) {
        view.inner *= dim;
      } else {
        part = 2;
      }
    }
    return true;
  }

  // ---- element-wise programs

  // The program that a call can join: that of the last step it depends on, if their elements are
  // the same ones.
  std::int32_t joinable(const Node& node, std::size_t count) const {
    std::int32_t last = -1;
    for (ValueId id : node.inputs) last = std::max(last, made_by(id));
    if (last < 0) return -1;
    const Step& step = plan_.steps[static_cast<std::size_t>(last)];
    if (step.program.elements != count) return -1;
    for (ValueId id : node.inputs)
      if (made_by(id) == last && known(resolve(id)).how == How::kView) return -1;
    return last;
  }

  // Inputs are numbered ~0, ~1, ... until fuse() is through, since more of them may come.
  std::int32_t lane_operand(std::int32_t step, ValueId id) {
    const ValueId v = resolve(id);
    if (known(v).how == How::kLane && known(v).step == step) return known(v).instruction;
    LaneInput input{};
    if (known(v).how == How::kView)
      input = {memory(known(v).source), known(v).inner, known(v).period};
    else
      input = {memory(v), 1, elements(v)};
    Program& program = plan_.steps[static_cast<std::size_t>(step)].program;
    for (const LaneOutput& output : program.outputs)
      if (output.slot == input.slot) return output.reg;
    auto& inputs = program.inputs;
    auto at = std::find(inputs.begin(), inputs.end(), input);
    if (at == inputs.end()) at = inputs.insert(at, input);
    return ~static_cast<std::int32_t>(at - inputs.begin());
  }

  void add_lanes(const Node& node, const Call& call, Element element) {
    const ValueId result = node.first_output;
    const bool random = element == kNoElement;
    std::int32_t at = joinable(node, elements(result));
    if (at < 0) {
      plan_.steps.emplace_back();
      plan_.steps.back().program.elements = elements(result);
      at = last_step();
    }
    Instruction instruction{
        random ? nullptr : plan_.kernels->element[static_cast<std::size_t>(element)],
        random ? memory(node.inputs[0]) : -1,
        {},
        0,
        call.op.name};
    if (!random)
      for (ValueId id : node.inputs)
        instruction.operands[static_cast<std::size_t>(instruction.count++)] = lane_operand(at, id);
    Step& step = plan_.steps[static_cast<std::size_t>(at)];
    step.program.instructions.push_back(instruction);
    step.nanoseconds += kNanosecondsPerLane * static_cast<double>(elements(result));
    for (ValueId id : node.inputs) step.not_before = std::max(step.not_before, behind(id));
    Known& k = known(result);
    k.how = How::kLane;
    k.step = at;
    k.instruction = static_cast<std::int32_t>(step.program.instructions.size()) - 1;
  }

  // ---- steps with a kernel of their own

  void add_matmul(const Node& node, const Call& call) {
    const bool linear = node.op->kernel.kind != KernelKind::kMatmul;
    const Shape& b = call.inputs[1].shape;
    const Shape& c = call.outputs[0].shape;
    MatmulStep root{};
    root.transpose_a = !linear && call.attributes.get<bool>("transpose_a");
    root.transpose_b = linear || call.attributes.get<bool>("transpose_b");
    root.n = static_cast<std::size_t>(b[b.rank() - (root.transpose_b ? 2 : 1)]);
    root.k = static_cast<std::size_t>(b[b.rank() - (root.transpose_b ? 1 : 2)]);
    root.batch = 1;
    for (std::size_t d = 0; !linear && d + 2 < b.rank(); ++d)
      root.batch *= static_cast<std::size_t>(b[d]);
    root.m = linear ? static_cast<std::size_t>(c.erase(c.rank() - 1).elements())
                    : static_cast<std::size_t>(c[c.rank() - 2]);
    root.weights = weights_of(call.inputs[1].dtype);
    root.a = memory(node.inputs[0]);
    root.b = root.weights == Weights::kF32 ? matrix_operand(node.inputs[1], root)
                                           : narrow_operand(node.inputs[1], root);
    std::size_t operand = 2;
    if (root.weights == Weights::kI8) root.scale = memory(node.inputs[operand++]);
    if (operand < node.inputs.size()) root.bias = memory(node.inputs[operand]);
    Step step;
    const double flops =
        2.0 * static_cast<double>(root.batch * root.m * root.n) * static_cast<double>(root.k);
    const double weight_bytes = static_cast<double>(root.batch * root.k * root.n) *
                                static_cast<double>(bytes_of(root.weights));
    step.nanoseconds =
        std::max(kNanosecondsPerFlop * flops, kNanosecondsPerWeightByte * weight_bytes);
    step.program.elements = elements(node.first_output);
    root.c = add_slot(f_.type(node.first_output), Place::kWorkspace, 0);
    step.root = root;
    plan_.steps.push_back(std::move(step));
    set_memory(node.first_output, root.c, last_step());
  }

  // A constant is packed, once and for all.
  SlotId matrix_operand(ValueId id, MatmulStep& root) {
    const Known& k = known(resolve(id));
    if (k.how != How::kConstant || root.batch != 1) return memory(id);
    root.packed = true;
    const auto [found, fresh] = packed_.try_emplace({resolve(id), root.transpose_b}, -1);
    if (fresh) {
      const kernels::Matrix matrix{k.constant.values<float>().data(), root.transpose_b ? 1 : root.n,
                                   root.transpose_b ? root.k : 1};
      const auto size = static_cast<std::int64_t>(plan_.kernels->packed_floats(root.k, root.n));
      found->second = constant_slot(Tensor::generate<float>({size}, [&](std::span<float> out) {
        plan_.kernels->pack(matrix, root.k, root.n, {0, root.n}, out.data());
      }));
    }
    return found->second;
  }

  SlotId narrow_operand(ValueId id, MatmulStep& root) {
    root.packed = true;
    const auto [found, fresh] = packed_.try_emplace({resolve(id), root.transpose_b}, -1);
    if (!fresh) return found->second;
    const kernels::NarrowKernels& narrow = narrow_kernels(*plan_.kernels, root.weights);
    const Type type{Dtype::kU8, {static_cast<std::int64_t>(narrow.packed_bytes(root.k, root.n))}};
    const Known& k = known(resolve(id));
    if (k.how == How::kConstant) {
      found->second = constant_slot(Tensor::generate_bytes(type, [&](std::span<std::byte> out) {
        narrow.pack(k.constant.bytes().data(), root.transpose_b ? 1 : root.n,
                    root.transpose_b ? root.k : 1, root.k, root.n, out.data());
      }));
      return found->second;
    }
    const PackStep pack{root.weights, memory(id), add_slot(type, Place::kWorkspace, 0),
                        root.k,       root.n,     root.transpose_b};
    Step step;
    step.root = pack;
    step.nanoseconds = kNanosecondsPerPackedElement * static_cast<double>(root.k * root.n);
    plan_.steps.push_back(std::move(step));
    found->second = pack.out;
    return pack.out;
  }

  static RowsStep::Kind rows_kind(KernelKind kernel, bool last) {
    using Kind = RowsStep::Kind;
    switch (kernel) {
      case KernelKind::kSoftmax:
        return Kind::kSoftmax;
      case KernelKind::kLogSoftmax:
        return Kind::kLogSoftmax;
      case KernelKind::kSum:
        return last ? Kind::kSumRows : Kind::kSumColumns;
      case KernelKind::kMax:
        return last ? Kind::kMaxRows : Kind::kMaxColumns;
      default:
        return last ? Kind::kMinRows : Kind::kMinColumns;
    }
  }

  RowsStep along_axis(const Node& node, const Call& call) {
    const Shape& shape = call.inputs[0].shape;
    const auto axis = static_cast<std::size_t>(call.attributes.integer("axis"));
    std::size_t outer = 1;
    std::size_t inner = 1;
    for (std::size_t d = 0; d < axis; ++d) outer *= static_cast<std::size_t>(shape[d]);
    for (std::size_t d = axis + 1; d < shape.rank(); ++d)
      inner *= static_cast<std::size_t>(shape[d]);
    const auto length = static_cast<std::size_t>(shape[axis]);
    const bool last = axis + 1 == shape.rank();
    RowsStep root{};
    root.kind = rows_kind(node.op->kernel.kind, last);
    root.outer = last ? 1 : outer;
    root.rows = last ? outer : length;
    root.columns = last ? length : inner;
    return root;
  }

  // But for its operands behind x.
  RowsStep norm_of_rows(const Call& call, RowsStep::Kind kind) {
    const Shape& shape = call.inputs[0].shape;
    const auto kept = shape.rank() - static_cast<std::size_t>(call.attributes.integer("dims"));
    RowsStep root{};
    root.kind = kind;
    root.outer = 1;
    root.rows = static_cast<std::size_t>(Shape(shape.dims().first(kept)).elements());
    root.columns = static_cast<std::size_t>(Shape(shape.dims().subspan(kept)).elements());
    root.eps = static_cast<float>(call.attributes.get<double>("eps"));
    return root;
  }

  void add_norm(const Node& node, const Call& call) {
    using Kind = RowsStep::Kind;
    const bool layer = node.op->kernel.kind == KernelKind::kLayerNorm;
    RowsStep root = norm_of_rows(call, layer ? Kind::kLayerNorm : Kind::kRmsNorm);
    if (node.inputs.size() > 1) root.gamma = memory(node.inputs[1]);
    if (node.inputs.size() > 2) root.beta = memory(node.inputs[2]);
    add_rows(node, root);
  }

  void add_norm_gradient(const Node& node, const Call& call) {
    using Kind = RowsStep::Kind;
    const bool layer = node.op->kernel.kind == KernelKind::kLayerNormGradient;
    RowsStep root = norm_of_rows(call, layer ? Kind::kLayerNormGradient : Kind::kRmsNormGradient);
    root.cotangent = memory(node.inputs[1]);
    if (node.inputs.size() > 2) {
      root.gamma = memory(node.inputs[2]);
      root.out2 = new_slot(node.first_output + 1);
    }
    add_rows(node, root);
    if (root.out2 >= 0) set_memory(node.first_output + 1, root.out2, last_step());
  }

  void add_adam(const Node& node, const Call& call) {
    std::array<SlotId, 8> in{};
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = memory(node.inputs[i]);
    const auto number = [&](const char* name) { return call.attributes.get<double>(name); };
    const AdamStep root{elements(node.first_output),
                        in[0],
                        in[1],
                        in[2],
                        in[3],
                        in[4],
                        in[5],
                        in[6],
                        in[7],
                        new_slot(node.first_output),
                        new_slot(node.first_output + 1),
                        new_slot(node.first_output + 2),
                        number("beta1"),
                        number("beta2"),
                        number("eps")};
    Step step;
    step.root = root;
    step.nanoseconds = kNanosecondsPerUpdatedElement * static_cast<double>(root.elements);
    plan_.steps.push_back(std::move(step));
    set_memory(node.first_output, root.new_parameter, last_step());
    set_memory(node.first_output + 1, root.new_mean, last_step());
    set_memory(node.first_output + 2, root.new_square, last_step());
  }

  void add_rows(const Node& node, RowsStep root) {
    root.in = memory(node.inputs[0]);
    Step step;
    step.program.elements = elements(node.first_output);
    step.nanoseconds = kNanosecondsPerRowElement * static_cast<double>(elements(node.inputs[0]));
    root.out = add_slot(f_.type(node.first_output), Place::kWorkspace, 0);
    step.root = root;
    plan_.steps.push_back(std::move(step));
    set_memory(node.first_output, root.out, last_step());
  }

  // Whether nothing but dimensions of 1 change their places.
  static bool keeps_order(const Call& call) {
    std::int64_t last = -1;
    for (const std::int64_t d : call.attributes.get<std::vector<std::int64_t>>("permutation")) {
      if (call.inputs[0].shape[static_cast<std::size_t>(d)] == 1) continue;
      if (d < last) return false;
      last = d;
    }
    return true;
  }

  static bool is_matrix_transpose(const Call& call) {
    const auto& p = call.attributes.get<std::vector<std::int64_t>>("permutation");
    const std::size_t rank = p.size();
    if (call.inputs[0].dtype != Dtype::kF32 || rank < 2) return false;
    for (std::size_t d = 0; d + 2 < rank; ++d)
      if (p[d] != static_cast<std::int64_t>(d)) return false;
    return p[rank - 1] == static_cast<std::int64_t>(rank) - 2;
  }

  void add_transpose(const Node& node, const Call& call) {
    const Shape& shape = call.inputs[0].shape;
    const std::size_t rank = shape.rank();
    TransposeStep root{};
    root.in = memory(node.inputs[0]);
    root.rows = static_cast<std::size_t>(shape[rank - 2]);
    root.columns = static_cast<std::size_t>(shape[rank - 1]);
    root.outer = static_cast<std::size_t>(Shape(shape.dims().first(rank - 2)).elements());
    root.out = new_slot(node.first_output);
    Step step;
    step.root = root;
    step.nanoseconds =
        kNanosecondsPerMovedByte * static_cast<double>(f_.type(node.first_output).bytes());
    plan_.steps.push_back(std::move(step));
    set_memory(node.first_output, root.out, last_step());
  }

  // ---- elements that are moved

  void add_move(SlotId in, SlotId out, const Walk& walk) {
    Step step;
    step.root = MoveStep{in, out, walk};
    step.nanoseconds = kNanosecondsPerMovedByte * static_cast<double>(walk.bytes());
    plan_.steps.push_back(std::move(step));
  }

  void add_permutation(const Node& node, const Call& call) {
    const SlotId in = memory(node.inputs[0]), out = new_slot(node.first_output);
    add_move(in, out, walk_of_permutation(call));
    set_memory(node.first_output, out, last_step());
  }

  // A part of one tensor, or several joined.
  void add_moves(const Node& node, const Call& call) {
    const SlotId out = new_slot(node.first_output);
    if (node.op == &op::slice)
      add_move(memory(node.inputs[0]), out, walk_of_slice(call));
    else
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (call.inputs[i].shape.elements() > 0)
          add_move(memory(node.inputs[i]), out, walk_of_part(call, i));
    set_memory(node.first_output, out, last_step());
  }

  static RowNumbers row_numbers(const Type& numbers, const Shape& table, std::size_t batch) {
    const Rows r = rows_of(numbers.shape, table, batch);
    return {static_cast<std::size_t>(r.batches), static_cast<std::size_t>(r.numbers),
            static_cast<std::size_t>(r.rows), numbers.dtype == Dtype::kI64};
  }

  void add_gather(const Node& node, const Call& call) {
    const std::size_t batch = batch_of(call);
    const Shape& table = call.inputs[0].shape;
    const std::size_t width =
        rows_of(call.inputs[1].shape, table, batch).width * size_of(call.inputs[0].dtype);
    Step step;
    const GatherStep root{memory(node.inputs[0]), memory(node.inputs[1]),
                          new_slot(node.first_output), row_numbers(call.inputs[1], table, batch),
                          width};
    step.root = root;
    step.nanoseconds = kNanosecondsPerMovedByte * static_cast<double>(call.outputs[0].bytes());
    plan_.steps.push_back(std::move(step));
    set_memory(node.first_output, root.out, last_step());
  }

  void add_scatter_add(const Node& node, const Call& call) {
    const std::size_t batch = batch_of(call);
    const Shape& table = call.outputs[0].shape;
    Step step;
    const ScatterAddStep root{memory(node.inputs[0]), memory(node.inputs[1]),
                              new_slot(node.first_output),
                              row_numbers(call.inputs[0], table, batch),
                              rows_of(call.inputs[0].shape, table, batch).width};
    step.root = root;
    step.nanoseconds = kNanosecondsPerMovedByte *
                       static_cast<double>(call.inputs[1].bytes() + call.outputs[0].bytes());
    plan_.steps.push_back(std::move(step));
    set_memory(node.first_output, root.out, last_step());
  }

  void add_attention(const Node& node, const Call& call) {
    AttentionStep root{};
    root.q = memory(node.inputs[0]);
    root.k = memory(node.inputs[1]);
    root.v = memory(node.inputs[2]);
    root.sequences = 1;
    if (node.op->kernel.kind == KernelKind::kCachedAttention) {
      const CachedAttentionSizes sizes = cached_attention_sizes(call);
      root.sequences = sizes.sequences;
      root.each = sizes.each;
      root.position = memory(node.inputs[3]);
    } else {
      root.each = attention_sizes(call);
      if (node.inputs.size() == 4) set_mask(root, node.inputs[3]);
    }
    const arithmetic::AttentionSizes& s = root.each;
    const double pairs = static_cast<double>(root.heads() * root.rows()) *
                         static_cast<double>(s.keys) *
                         (s.ahead < static_cast<std::int64_t>(s.keys) ? 0.5 : 1);
    Step step;
    step.nanoseconds =
        pairs * (kNanosecondsPerScore +
                 2 * kNanosecondsPerFlop * static_cast<double>(s.size + s.value_size));
    root.out = new_slot(node.first_output);
    step.root = root;
    plan_.steps.push_back(std::move(step));
    set_memory(node.first_output, root.out, last_step());
  }

  // A mask that repeats whole rows is read as it is.
  void set_mask(AttentionStep& root, ValueId mask) {
    const Known& k = known(resolve(mask));
    const bool repeats = k.how == How::kView && k.inner == 1 && k.period % root.each.keys == 0;
    root.mask = memory(repeats ? k.source : mask);
    root.mask_rows = repeats ? k.period / root.each.keys : root.heads() * root.rows();
  }

  void add_update_rows(const Node& node, const Call& call) {
    const UpdateRowsStep root{memory(node.inputs[0]), memory(node.inputs[1]),
                              memory(node.inputs[2]), new_slot(node.first_output),
                              update_sizes(call)};
    Step step;
    step.root = root;
    plan_.steps.push_back(std::move(step));
    set_memory(node.first_output, root.out, last_step());
  }

  void add_reference(const Node& node, const Call& call) {
    if (std::max(call.inputs.size(), call.outputs.size()) > ReferenceStep::kMost)
      throw Error(ErrorCode::kInternal,
                  fmt::format("{}: {} operands, reference arithmetic in a plan takes {} at most",
                              where(call), call.inputs.size(), ReferenceStep::kMost));
    ReferenceStep root{node.op, node.attributes, f_.call_types(node), node.scope, {}, {}};
    for (ValueId id : node.inputs) root.in.push_back(memory(id));
    for (std::size_t r = 0; r < call.outputs.size(); ++r)
      root.out.push_back(new_slot(node.first_output + static_cast<ValueId>(r)));
    Step step;
    const std::vector<SlotId> out = root.out;
    step.nanoseconds =
        kNanosecondsPerReferenceElement * static_cast<double>(call.outputs[0].shape.elements());
    step.root = std::move(root);
    plan_.steps.push_back(std::move(step));
    for (std::size_t r = 0; r < out.size(); ++r)
      set_memory(node.first_output + static_cast<ValueId>(r), out[r], last_step());
  }

  // ---- outputs

  void write_output(std::size_t index) {
    const ValueId v = f_.outputs()[index].value;
    const SlotId slot = memory(v);
    Slot& s = plan_.slots[static_cast<std::size_t>(slot)];
    if (s.place == Place::kWorkspace) {
      s.place = Place::kOutput;
      s.offset = index;
      return;
    }
    Step step;
    step.root = CopyStep{slot, add_slot(f_.type(v), Place::kOutput, index)};
    plan_.steps.push_back(std::move(step));
  }

  Function f_;
  Plan plan_;
  std::vector<Known> known_;
  std::map<std::pair<ValueId, bool>, SlotId> packed_;
};

}  // namespace

Plan lower(const Function& function, kernels::Isa isa) {
  Plan plan = Lowering(function, isa).run();
  fuse(plan);
  find_bands(plan);
  for (Step& step : plan.steps) place_registers(step.program, plan.slots);
  place_slots(plan);
  place_scratch(plan);
  find_beside(plan);
  return plan;
}

}  // namespace limpid::detail
