// Lowering: from a Function to the steps of a Plan, before they are fused and placed. lower.cc
// handles values, the order of nodes and element-wise programs; each step_*.cc has the kinds of
// its steps. Depends on plan.h.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "limpid/compile/plan.h"
#include "limpid/function/op.h"

namespace limpid::detail {

// Rough costs on one core, to decide whether to split a step among threads.
inline constexpr double kNanosecondsPerFlop = 0.01;
inline constexpr double kNanosecondsPerWeightByte = 0.01;  // from the L3 cache
inline constexpr double kNanosecondsPerLane = 0.15;
inline constexpr double kNanosecondsPerRowElement = 0.5;
inline constexpr double kNanosecondsPerUpdatedElement = 0.6;
inline constexpr double kNanosecondsPerMovedByte = 0.04;
inline constexpr double kNanosecondsPerReferenceElement = 2;
inline constexpr double kNanosecondsPerScore = 1;
inline constexpr double kNanosecondsPerPackedElement = 1;

class Lowering;

// A kind of step: how calls of some ops are lowered. Element-wise ops with a kernel need none.
struct StepKind {
  std::span<const Op* const> ops;
  // Whether it takes a call. If not, a primitive runs its reference arithmetic, and the body of a
  // composition is lowered; of such a call there are no outputs yet.
  bool (*serves)(const Call& call);
  void (*lower)(Lowering& lowering, const Node& node, const Call& call);
  // The result is no step: its readers read the operand.
  bool is_view = false;
};
inline bool serves_all(const Call&) { return true; }
inline bool serves_f32(const Call& call) { return call.inputs[0].dtype == Dtype::kF32; }

// The kinds of each file; step_kinds.cc joins them.
using StepKinds = std::span<const StepKind>;
extern const StepKinds value_steps, matmul_steps, row_steps, window_steps, move_steps,
    numbered_row_steps, attention_steps, adam_steps, conv_steps, loop_steps;
// The kind of step of an op, or nullptr.
const StepKind* step_kind(const Op& op);

class Lowering {
 public:
  // The inputs from `first_invariant` on are the same in many runs.
  Lowering(const Function& original, kernels::Isa isa, std::size_t first_invariant);
  Plan run();

  // How a value is represented.
  enum class How : std::uint8_t {
    kMemory,    // in `slot`, written by step `step` (-1: an input)
    kConstant,  // `constant`
    kView,      // elements of another value, repeated
    kLane,      // result of instruction `instruction` in the program of step `step`
    kAlias,     // the elements of another value, with another shape
  };
  struct Known {
    How how = How::kMemory;
    SlotId slot = -1;
    std::int32_t step = -1;
    std::int32_t instruction = -1;
    ValueId source = -1;           // of an alias or a view
    std::int32_t not_before = -1;  // an alias must be read after this step
    std::size_t inner = 1;
    std::size_t period = 1;
    Tensor constant;
  };

  // ---- values

  ValueId resolve(ValueId v) const {
    while (known(v).how == How::kAlias) v = known(v).source;
    return v;
  }
  const Known& known(ValueId v) const { return known_[static_cast<std::size_t>(v)]; }
  std::size_t elements(ValueId v) const {
    return static_cast<std::size_t>(f_.type(v).shape.elements());
  }

  const kernels::Kernels& kernels() const { return *plan_.kernels; }
  kernels::Isa isa() const { return isa_; }
  // Whether it is an input that is the same in many runs: packed_operand() packs it before them.
  bool is_invariant(ValueId v) const {
    const auto id = static_cast<std::size_t>(resolve(v));
    return id >= first_invariant_ && id < f_.inputs().size();
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
    entry(v).how = How::kMemory;
    entry(v).slot = slot;
    entry(v).step = step;
  }
  void set_alias(ValueId v, ValueId source);

  // The slot of a value. Stores the value in a slot if it has none yet.
  SlotId memory(ValueId v);
  std::int32_t last_step() const { return static_cast<std::int32_t>(plan_.steps.size()) - 1; }

  // Appends a step. `program_elements` is the number of elements of its element-wise program; 0: no
  // program.
  template <class R>
  void add_step(R root, double nanoseconds, std::size_t program_elements = 0) {
    Step step;
    step.root = std::make_unique<R>(std::move(root));
    step.program.elements = program_elements;
    step.nanoseconds = nanoseconds;
    plan_.steps.push_back(std::move(step));
  }
  // Appends a step that computes the node's only result, in the slot root.out.
  template <class R>
  void add_step_of(const Node& node, R root, double nanoseconds, std::size_t program_elements = 0) {
    root.out = new_slot(node.first_output);
    const SlotId out = root.out;
    add_step(std::move(root), nanoseconds, program_elements);
    set_memory(node.first_output, out, last_step());
  }

  // Appends a row-wise step on the first input, with room for a program after it.
  template <class R>
  void add_rows(const Node& node, R root) {
    root.in = memory(node.inputs[0]);
    add_step_of(node, std::move(root),
                kNanosecondsPerRowElement * static_cast<double>(elements(node.inputs[0])),
                elements(node.first_output));
  }

  // ---- kinds of steps that share state

  void lower_barrier(const Node& node);
  void lower_broadcast(const Node& node, const Call& call);
  // Adds an element-wise call to a program; without an element, random bits.
  void add_lanes(const Node& node, const Call& call, kernels::Element element);
  // The slot of operand b of a product. A constant is packed once; bf16 or i8 weights that are not
  // constant are packed in every run.
  SlotId packed_operand(ValueId id, const Layout& layout);

 private:
  Known& entry(ValueId v) { return known_[static_cast<std::size_t>(v)]; }
  void set_constant(ValueId v, Tensor value) {
    entry(v).how = How::kConstant;
    entry(v).constant = std::move(value);
  }
  // The step that computes a value.
  std::int32_t made_by(ValueId v) const;
  // The last barrier between a value and the step that computes it, as Known::not_before; -1: none.
  std::int32_t behind(ValueId v) const;

  // ---- memory

  // An output is read at the end.
  static constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();
  // Finds when every value is read, by the position of a node in the order of lowering.
  void find_uses(const std::vector<const Node*>& order);
  // Whether a call that could join the program of an earlier step is computed now instead: its
  // result would be kept for long, and no operand less.
  bool waits(std::int32_t step, const Node& node) const;

  // ---- nodes

  // Lowers scalars computed from scalar inputs first (those of an optimiser, say), so that ops
  // using them can be fused with a product.
  void lower_nodes();
  void lower(const Node& node);

  // Computes ops without inputs now; a value without elements needs no computation. Calls of
  // constants are constants already, by simplify().
  bool make_constant(const Node& node, const Call& call);

  // Whether the dimensions that a broadcast does not repeat are adjacent.
  static bool repeats_one_block(const Shape& from, const Shape& to, LaneInput& view);

  // ---- element-wise programs

  // The step whose program a call can join: the last step that it depends on, if their elements
  // correspond and few registers are live there.
  std::int32_t joinable(const Node& node, std::size_t count) const;

  // Inputs are numbered ~0, ~1, ... until fuse() is done, since more may be added.
  std::int32_t lane_operand(std::int32_t step, ValueId id);
  // The results in the program of a step that later calls read.
  std::size_t live(std::int32_t step) const;
  // After the program has taken a call.
  void count_live(std::int32_t step, const Node& node);

  void add_reference(const Node& node, const Call& call);
  void write_output(std::size_t index);

  Function f_;
  kernels::Isa isa_;
  std::size_t first_invariant_;
  Plan plan_;
  std::vector<Known> known_;
  std::vector<std::vector<std::int32_t>>
      uses_;                         // positions, of every value that is no alias or view
  std::int32_t now_ = 0;             // the position of the node that is lowered, from 1
  std::vector<std::int32_t> began_;  // of the steps before it: the position of the first node
  std::vector<std::size_t> live_;    // of every step
  std::map<std::pair<ValueId, Layout>, SlotId> packed_;
};

}  // namespace limpid::detail
