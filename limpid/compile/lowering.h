// Lowering: from a Function to the steps of a Plan, before they are fused and placed. Values, the
// order of the nodes and element-wise programs stand in lower.cc, what becomes a step of its own in
// the file of that step. Leans on plan.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "limpid/compile/plan.h"
#include "limpid/function/op.h"

namespace limpid::detail {

// Rough costs on one core, to decide whether a step is worth sharing among threads.
inline constexpr double kNanosecondsPerFlop = 0.01;
inline constexpr double kNanosecondsPerWeightByte = 0.01;  // from the third-level cache
inline constexpr double kNanosecondsPerLane = 0.15;
inline constexpr double kNanosecondsPerRowElement = 0.5;
inline constexpr double kNanosecondsPerUpdatedElement = 0.6;
inline constexpr double kNanosecondsPerMovedByte = 0.04;
inline constexpr double kNanosecondsPerReferenceElement = 2;
inline constexpr double kNanosecondsPerScore = 1;
inline constexpr double kNanosecondsPerPackedElement = 1;

class Lowering {
 public:
  Lowering(const Function& original, kernels::Isa isa);
  Plan run();

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
  SlotId constant_slot(Tensor value, const Layout& layout = {}) {
    plan_.constants.push_back({std::move(value), layout});
    return add_slot(placed_type(plan_.constants.back()), Place::kConstant,
                    plan_.constants.size() - 1);
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
  void set_alias(ValueId v, ValueId source);

  // The step after which a value may be read.
  std::int32_t made_by(ValueId v) const;
  // The last barrier between a value and the step that made it.
  std::int32_t behind(ValueId v) const;

  // The slot that holds a value; makes it hold it, where it does not yet.
  SlotId memory(ValueId v);
  std::int32_t last_step() const { return static_cast<std::int32_t>(plan_.steps.size()) - 1; }

  // Appends a step. `program_elements`: the size of the element-wise program behind it, 0 without.
  template <class R>
  void add_step(R root, double nanoseconds, std::size_t program_elements = 0) {
    Step step;
    step.root = std::make_unique<R>(std::move(root));
    step.program.elements = program_elements;
    step.nanoseconds = nanoseconds;
    plan_.steps.push_back(std::move(step));
  }
  // One that makes the node's only result, in its slot `out`.
  template <class R>
  void add_step_of(const Node& node, R root, double nanoseconds, std::size_t program_elements = 0) {
    root.out = new_slot(node.first_output);
    const SlotId out = root.out;
    add_step(std::move(root), nanoseconds, program_elements);
    set_memory(node.first_output, out, last_step());
  }

  // ---- nodes

  // Numbers made of numbers that are given, an optimiser's for one, come first: what needs them can
  // then ride behind a product instead of waiting for them.
  void lower_nodes();
  void lower(const Node& node);

  // Values from nowhere are computed now, and there is nothing to those without elements. Calls of
  // constants are constants already: simplify() has been here.
  bool make_constant(const Node& node, const Call& call);
  void lower_barrier(const Node& node);
  void lower_broadcast(const Node& node, const Call& call);

  // Whether the dimensions that x keeps stand side by side among those it is repeated over.
  static bool repeats_one_block(const Shape& from, const Shape& to, LaneInput& view);

  // ---- element-wise programs

  // The program that a call can join: that of the last step it depends on, if their elements are
  // the same ones.
  std::int32_t joinable(const Node& node, std::size_t count) const;

  // Inputs are numbered ~0, ~1, ... until fuse() is through, since more of them may come.
  std::int32_t lane_operand(std::int32_t step, ValueId id);
  void add_lanes(const Node& node, const Call& call, kernels::Element element);

  void add_reference(const Node& node, const Call& call);
  void write_output(std::size_t index);
  void add_copy(SlotId from, SlotId to);

  // ---- products and attention

  void add_matmul(const Node& node, const Call& call);
  // The slot of b. A constant is packed once and for all, narrow weights that are none in every
  // run.
  SlotId packed_operand(ValueId id, const Layout& layout);
  void add_attention(const Node& node, const Call& call);
  // A mask of `rows` of `keys`. One that repeats whole rows is read as it is, and has fewer.
  SlotId mask_operand(ValueId mask, std::size_t keys, bool may_repeat, std::size_t& rows);

  // ---- rows

  void add_along_axis(const Node& node, const Call& call);
  void add_norm(const Node& node, const Call& call);
  void add_norm_gradient(const Node& node, const Call& call);
  // Reads the first input; a program may run behind it.
  template <class R>
  void add_rows(const Node& node, R root) {
    root.in = memory(node.inputs[0]);
    add_step_of(node, std::move(root),
                kNanosecondsPerRowElement * static_cast<double>(elements(node.inputs[0])),
                elements(node.first_output));
  }
  void add_adam(const Node& node, const Call& call);

  // ---- elements that are moved

  // Whether nothing but dimensions of 1 change their places.
  static bool keeps_order(const Call& call);
  static bool is_matrix_transpose(const Call& call);
  void add_transpose(const Node& node, const Call& call);
  void add_permutation(const Node& node, const Call& call);
  // A part of one tensor, or several joined.
  void add_moves(const Node& node, const Call& call);
  void add_gather(const Node& node, const Call& call);
  void add_scatter_add(const Node& node, const Call& call);
  void add_update_rows(const Node& node, const Call& call);

  Function f_;
  Plan plan_;
  std::vector<Known> known_;
  std::map<std::pair<ValueId, bool>, SlotId> packed_;
};

}  // namespace limpid::detail
