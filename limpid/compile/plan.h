// Plan: a Function compiled for one instruction set. It is a list of steps over a table of slots
// (memory locations). Element-wise ops are fused into programs that run after a step while its
// result is in the cache (epilogues).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/function/function.h"
#include "limpid/kernels/kernels.h"

namespace limpid::detail {

// ---- slots

enum class Place : std::uint8_t { kInput, kOutput, kConstant, kWorkspace, kBand };

struct Slot {
  Type type;
  Place place = Place::kWorkspace;
  // The index of the input, output or constant; or the offset in bytes into the workspace or a
  // thread's band memory.
  std::size_t offset = 0;
  std::size_t row_bytes = 0;  // of a slot in band memory, which holds only the current rows
};
using SlotId = std::int32_t;

// ---- element-wise programs

// An input of a program: for element i, the program reads element (i / inner) mod period of the
// slot.
struct LaneInput {
  SlotId slot;
  std::size_t inner;
  std::size_t period;

  // Whether the elements are read in order, each once.
  bool is_full(std::size_t elements) const { return inner == 1 && period == elements; }
  // Whether row r of the program, of `rows`, reads row r of the slot only.
  bool is_by_rows(std::size_t elements, std::size_t rows) const {
    return inner * period == elements && period % rows == 0;
  }
  bool operator==(const LaneInput&) const = default;
};

// Registers are numbered: first the inputs, then the results of the instructions. Before the
// program is complete, inputs are ~0, ~1, ... and results 0, 1, ...
struct Instruction {
  kernels::ElementFn function;  // nullptr: random bits from the key in slot `key`
  SlotId key;
  std::array<std::int32_t, 3> operands;
  std::int32_t count;  // of operands
  std::string_view name;
};

struct LaneOutput {
  std::int32_t reg;
  SlotId slot;
};

struct Program {
  std::size_t elements = 0;
  std::vector<LaneInput> inputs;
  std::vector<Instruction> instructions;
  std::vector<LaneOutput> outputs;

  // The location of each register during a chunk: a slot, or (~u) the scratch memory from unit u
  // on.
  std::vector<std::int32_t> places;
  std::size_t scratch_units = 0;
  // Inputs that are copied to buffers: scalars (filled once), and inputs that are filled for every
  // chunk.
  std::vector<std::int32_t> filled_once, filled;
  std::vector<LaneOutput> stored;  // results that are copied from buffers to their slots

  bool empty() const { return instructions.empty() && outputs.empty(); }
  // A single instruction from slots to a slot needs no chunks: it has no intermediate results.
  bool is_one_call() const {
    return instructions.size() == 1 && scratch_units == 0 && stored.empty();
  }
};

// ---- weights

enum class Weights : std::uint8_t { kF32, kBf16, kI8 };

inline std::size_t bytes_of(Weights weights) {
  return weights == Weights::kF32 ? 4 : weights == Weights::kBf16 ? 2 : 1;
}
// The kernels for bf16 or i8 weights. Requires that `weights` is one of these.
inline const kernels::NarrowKernels& narrow_kernels(const kernels::Kernels& all, Weights weights) {
  return weights == Weights::kBf16 ? all.bf16 : all.i8;
}

// The memory layout of a constant: that of its tensor, or packed as operand B of a matrix product.
struct Layout {
  const kernels::Kernels* kernels = nullptr;  // nullptr: the layout of the tensor
  Weights weights = Weights::kF32;
  std::size_t k = 0, n = 0;
  bool transposed = false;  // the tensor is n x k

  // NOLINTNEXTLINE(modernize-use-nullptr)
  auto operator<=>(const Layout&) const = default;
};
struct Constant {
  Tensor value;  // from the Function; after Packings::place() in the layout that the steps read
  Layout layout;
};
// The type of a packed constant. Requires layout.kernels.
Type packed_type(const Layout& layout);
// The type of a constant as the steps read it.
inline Type placed_type(const Constant& constant) {
  return constant.layout.kernels ? packed_type(constant.layout) : constant.value.type();
}

// ---- steps

struct Piece {
  std::size_t index, count;
};
struct Step;
struct Worker;
class NestedPlan;

// A row times packed weights, in a plan that one thread runs as a whole.
struct RowAction {
  kernels::MatmulRow row;
  SlotId a, b, c;
  SlotId bias;  // or -1
};

// The main operation of a step, before its program. Each kind of step derives from Root, in the
// file that makes it from calls (step_*.cc). The compiler knows a step only through this interface.
class Root {
 public:
  virtual ~Root() = default;

  struct Slots {
    std::vector<SlotId> read, written;  // entries below 0 mean no slot
  };
  virtual Slots slots() const = 0;
  using Names = std::function<std::string(SlotId)>;
  // The step as a line of the printed plan.
  virtual std::string text(const Names& s) const = 0;
  // Runs a piece of the step, and of its program. Must not allocate, lock or throw.
  virtual void run(const Step& step, const Worker& worker, Piece piece) const = 0;

  // Whether the step can be split into pieces.
  virtual bool is_shared() const { return true; }
  // Whether the step runs nested plans, which use the pool's threads: run_plans() instead of run().
  virtual bool runs_plans() const { return false; }
  virtual std::vector<const NestedPlan*> nested() const { return {}; }
  // `scratch` has scratch_bytes() for every thread of the pool (nullptr: only the calling thread).
  virtual void run_plans(const Worker&, std::byte* /*scratch*/, ThreadPool*, StopCheck*) const {}
  // Scratch memory that each thread needs, besides the slots.
  virtual std::size_t scratch_bytes(const kernels::Kernels&) const { return 0; }
  // Whether slots `from` and `to` may share memory: each element of `to` is written only after the
  // last read of that element of `from`.
  virtual bool writes_in_place(SlotId /*from*/, SlotId /*to*/) const { return false; }

  // The slot of the result if a program can run on each part of it as soon as it is computed; else
  // nullptr.
  virtual SlotId* result() { return nullptr; }
  // Absorbs a ReLU from the program, which then does not include it. Returns whether it did.
  virtual bool take_relu() { return false; }

  // The number of rows that the step can be split into; each row of a batch is a whole product. 0
  // if it cannot be split, or can be split into any number.
  virtual std::size_t row_count() const { return 0; }
  virtual bool is_batch() const { return false; }
  // Whether several rows of the step may form one row of a band, for kernels that take rows one by
  // one.
  virtual bool joins_rows() const { return false; }
  // The slots that every row reads as a whole.
  virtual std::vector<SlotId> whole_slots() const { return {}; }
  // Bytes of the weights that every block of rows reads.
  virtual std::size_t weight_bytes() const { return 0; }
  // Runs the part of the step, and of its program, for `rows` of the `all_rows` of its band.
  virtual void run_rows(const Step&, const Worker&, kernels::Range /*rows*/,
                        std::size_t /*all_rows*/) const {}

  // The sizes of the result if each piece of the step is a range of columns, and the unit in which
  // they are cut. Where both columns and unit are equal, so are the ranges.
  struct Columns {
    std::size_t rows, columns, unit;
  };
  virtual std::optional<Columns> cut_by_columns(const kernels::Kernels&) const { return {}; }
  // The step as an action for one thread, without its program.
  virtual std::optional<RowAction> row_action() const { return {}; }
};
// A Root with one input and one output.
struct UnaryRoot : Root {
  SlotId in = -1, out = -1;

  Slots slots() const override { return {{in}, {out}}; }
};

struct Step {
  std::unique_ptr<Root> root;  // nullptr: only the program
  Program program;             // over the elements of the root's result; may be empty
  double nanoseconds = 0;      // estimated time, to decide whether to split the step among threads
  std::int32_t not_before = -1;  // its program must stay after this step (a barrier); -1: none
  bool beside = false;  // threads need not wait for each other between it and the step before it
};

// Consecutive steps that run block by block of rows: all steps for one block, then for the next.
// Row r of their results depends only on row r of their inputs. See
// docs/decisions/0010-bands-of-rows.md.
struct Band {
  std::size_t first = 0, count = 0;
  std::size_t rows = 0;          // 0: a single step that is not split by rows
  std::size_t block = 0;         // the most rows of a block
  std::size_t weight_bytes = 0;  // bytes of the weights that every block reads
  double nanoseconds = 0;
};

// The actions of a plan that one thread runs as a whole. All decisions are made in advance, as
// small networks take no longer than these decisions.
struct LanesAction {  // one instruction of a program
  kernels::ElementFn function;
  std::size_t elements;
  std::array<std::int32_t, 4> places;  // locations of the result and three operands, as in Program
};
struct ProgramAction {
  std::size_t step;
};
struct StepAction {
  std::size_t step;
};
using Action = std::variant<RowAction, LanesAction, ProgramAction, StepAction>;

struct Plan {
  std::string name;  // of the Function
  std::vector<Input> inputs;
  std::vector<Type> outputs;
  const kernels::Kernels* kernels = nullptr;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<Band> bands;      // all steps, in order
  std::vector<Action> actions;  // the same for one thread; empty if a band has several blocks
  std::vector<Constant> constants;
  // Further inputs. Each is an input of the Function, packed as operand B of a product: the
  // surrounding plan packs it once for all steps of a loop.
  struct PackedInput {
    std::size_t input;
    Layout layout;
  };
  std::vector<PackedInput> packed_inputs;
  // Slots of inputs and of the outputs that share their memory.
  std::vector<std::pair<SlotId, SlotId>> donated;
  std::size_t workspace_bytes = 0;
  std::size_t band_bytes = 0;      // band memory of each thread, at the start of its scratch
  std::size_t scratch_bytes = 0;   // for each thread
  double worth_sharing = 0;        // least estimated nanoseconds per piece
  bool weights_in_memory = false;  // every run reads the weights from memory, not from a cache
};

// Elements per chunk of a program: a few buffers of this size fit in the L1 cache.
inline constexpr std::size_t kChunk = 1024;
// Bytes in which the scratch memory of programs is counted: no vector is longer.
inline constexpr std::size_t kBufferUnit = 64;
// Registers of a program that may be live at once, beyond which it ends.
inline constexpr std::size_t kMostLive = 16;
// Steps over which it costs little to keep a result, or an operand, that need not be kept.
inline constexpr std::int32_t kNear = 8;

// Visits the plan and those nested in its steps.
void for_each_plan(Plan& plan, const std::function<void(Plan&)>& visit);

// Visits every slot that a step reads or writes.
void for_each_slot(const Step& step, const std::function<void(SlotId, bool writes)>& visit);

// Makes a plan that is ready to run. Throws what compile() throws.
Plan make_plan(const Function& function, const CompileOptions& options);

// Like make_plan(), but constants are not placed yet. The inputs from `first_invariant` on are the
// same in many runs.
Plan lower(const Function& function, kernels::Isa isa,
           std::span<const CompileOptions::Donation> donations = {},
           std::size_t first_invariant = std::numeric_limits<std::size_t>::max());

// Fuses the programs of steps, to save memory traffic, and numbers their registers.
void fuse(Plan& plan);

// Groups the steps into bands.
void find_bands(Plan& plan);

// Gives every workspace slot its offset. A slot that is used in one band only gets a place in band
// memory. Slots with disjoint live ranges share memory.
void place_slots(Plan& plan);

// Computes the scratch memory of each thread: that of the step that needs most. A product and its
// program use it in turn.
void place_scratch(Plan& plan);

// Makes the actions. Call it when all slots have their places.
void find_actions(Plan& plan);

// Sets Step::beside. Call it when all slots have their places.
void find_beside(Plan& plan);

// Chooses the locations of a program's registers.
void place_registers(Program& program, const Plan& plan);
// Appends a step that copies a slot.
void add_copy(Plan& plan, SlotId from, SlotId to);

// Throws kInvalidArgument if there are no such input and output, or their types differ.
void check_donation(const Function& function, const CompileOptions::Donation& donation);
// An output that cannot be written in its donated memory, since that is read later, is made in the
// workspace and copied by a last step. Call it after find_bands().
void settle_donations(Plan& plan, std::span<const CompileOptions::Donation> donations);

// Runs a plan. `slots` holds the address of every slot; band memory is that of the first thread.
// `scratch` has scratch_bytes for every thread of the pool (nullptr: only the calling thread).
// With a StopCheck, long steps and blocks are cut into parts, and the run may end between them.
void run(const Plan& plan, void* const* slots, std::byte* scratch, ThreadPool* pool,
         StopCheck* check = nullptr) noexcept;

// The estimated time of a run by one thread.
double nanoseconds_of(const Plan& plan);

// Whether, with this number of threads, one thread runs the whole plan by its actions.
bool runs_whole(const Plan& plan, int threads);
// As run(), on the calling thread. Requires runs_whole().
void run_whole(const Plan& plan, void* const* slots, std::byte* scratch) noexcept;

std::string plan_text(const Plan& plan);

}  // namespace limpid::detail
