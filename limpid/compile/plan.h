// Plan: what a Function becomes for one instruction set. A list of steps over a table of slots
// (places in memory), with element-wise ops gathered into programs that run behind a step while its
// result is in the cache.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "limpid/compile/move.h"
#include "limpid/function/function.h"
#include "limpid/kernels/kernels.h"
#include "limpid/ops/cache.h"

namespace limpid {
class ThreadPool;
struct CompileOptions;
}  // namespace limpid

namespace limpid::detail {

// ---- slots

enum class Place : std::uint8_t { kInput, kOutput, kConstant, kWorkspace, kBand };

struct Slot {
  Type type;
  Place place = Place::kWorkspace;
  // The number of the input, output or constant; bytes into the workspace or a thread's band
  // memory.
  std::size_t offset = 0;
  std::size_t row_bytes = 0;  // in a band's memory, which holds the rows at work alone
};
using SlotId = std::int32_t;

// ---- element-wise programs

// What a program reads for element i of its space: element (i / inner) mod period of the slot.
struct LaneInput {
  SlotId slot;
  std::size_t inner;
  std::size_t period;

  // One after the other, each once.
  bool is_full(std::size_t elements) const { return inner == 1 && period == elements; }
  bool operator==(const LaneInput&) const = default;
};

// Registers are numbered: the inputs first, then the results of the instructions. While a program
// may still grow, its inputs are ~0, ~1, ... and the results 0, 1, ...
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

  // Where each register lives while a chunk is worked on: in a slot, or (~b) in buffer b of
  // scratch.
  std::vector<std::int32_t> places;
  std::size_t buffer_count = 0;
  // Inputs that do not live in their slots: those that are one number, and those that every chunk
  // has lanes of its own of.
  std::vector<std::int32_t> filled_once, filled;
  std::vector<LaneOutput> stored;  // results that do not live in their slots

  bool empty() const { return instructions.empty() && outputs.empty(); }
  // A single instruction from slots to a slot needs no chunks: nothing passes to another.
  bool is_one_call() const {
    return instructions.size() == 1 && buffer_count == 0 && stored.empty();
  }
};

// ---- steps

// `batch` products of one shape, one after the other in memory.
struct MatmulStep {
  enum class Weights : std::uint8_t { kF32, kBf16, kI8 };

  std::size_t batch, m, n, k;
  SlotId a, b, c;
  SlotId bias = -1;
  SlotId scale = -1;  // of i8
  bool transpose_a, transpose_b;
  Weights weights = Weights::kF32;  // of b; narrower ones are always packed
  bool packed = false;              // b is what pack() wrote: a constant, or by a PackStep
  bool relu = false;
};

inline std::size_t bytes_of(MatmulStep::Weights weights) {
  using Weights = MatmulStep::Weights;
  return weights == Weights::kF32 ? 4 : weights == Weights::kBf16 ? 2 : 1;
}
// The kernels of narrow weights. Requires that they are.
inline const kernels::NarrowKernels& narrow_kernels(const kernels::Kernels& all,
                                                    MatmulStep::Weights weights) {
  return weights == MatmulStep::Weights::kBf16 ? all.bf16 : all.i8;
}

// How a constant lies in memory: as its tensor does, or as a product's kernels read B.
struct Layout {
  const kernels::Kernels* kernels = nullptr;  // nullptr: as the tensor does
  MatmulStep::Weights weights = MatmulStep::Weights::kF32;
  std::size_t k = 0, n = 0;
  bool transposed = false;  // the tensor is n x k

  auto operator<=>(const Layout&) const = default;
};
struct Constant {
  Tensor value;  // of the Function; after Packings::place() in the layout that the steps read
  Layout layout;
};
// Of what pack() writes. Requires layout.kernels.
Type packed_type(const Layout& layout);
// Of what the steps read.
inline Type placed_type(const Constant& constant) {
  return constant.layout.kernels ? packed_type(constant.layout) : constant.value.type();
}

// Narrow weights that are no constant, packed anew in every run.
struct PackStep {
  MatmulStep::Weights weights;
  SlotId in, out;
  std::size_t k, n;
  bool transposed;  // `in` is n x k
};

// A kernel on rows x columns matrices. The reductions of columns take `outer` of them and leave
// outer x columns.
struct RowsStep {
  enum class Kind : std::uint8_t {
    kSoftmax,
    kLogSoftmax,
    kLayerNorm,
    kRmsNorm,
    kLayerNormGradient,
    kRmsNormGradient,
    kSumRows,
    kMaxRows,
    kMinRows,
    kSumColumns,
    kMaxColumns,
    kMinColumns
  };
  Kind kind;
  SlotId in, out;
  std::size_t outer, rows, columns;
  // Of the norms.
  SlotId gamma = -1, beta = -1;
  float eps = 0;
  // Of their gradients: the cotangent, and the second result.
  SlotId cotangent = -1, out2 = -1;

  bool reduces_columns() const { return kind >= Kind::kSumColumns; }
  bool reduces_rows() const { return kind >= Kind::kSumRows && !reduces_columns(); }
};

// `outer` matrices of rows x columns, each transposed.
struct TransposeStep {
  SlotId in, out;
  std::size_t outer, rows, columns;
};

struct MoveStep {
  SlotId in, out;
  Walk walk;
};

// gather of `table`, rows of `width` bytes.
struct GatherStep {
  SlotId table, numbers, out;
  RowNumbers rows;
  std::size_t width;
};

// scatter_add, rows of `width` numbers.
struct ScatterAddStep {
  SlotId numbers, updates, out;
  RowNumbers rows;
  std::size_t width;
};

// adam_update. All slots but the scalars have `elements`.
struct AdamStep {
  std::size_t elements;
  SlotId parameter, gradient, mean, square;
  SlotId gradient_scale, decay, step_size, root;  // scalars
  SlotId new_parameter, new_mean, new_square;
  double beta1, beta2, eps;
};

// Attention of `sequences` of sizes `each`, or to their caches.
struct AttentionStep {
  SlotId q, k, v, out;
  SlotId mask = -1;
  SlotId position = -1;  // of a cache, one for each sequence: each.ahead
  std::size_t sequences;
  arithmetic::AttentionSizes each;
  std::size_t mask_rows = 0;  // that there are in memory
  bool f64 = false;           // no kernel: by the specification, a head at a time

  std::size_t heads() const { return sequences * each.heads; }
  std::size_t rows() const { return each.group * each.queries; }  // of a head of keys
};

// The cache and rows over it; where both are one memory, the rows alone are written.
struct UpdateRowsStep {
  SlotId cache, rows, position, out;
  UpdateSizes sizes;
};

// Reference arithmetic of a primitive without a kernel for its types.
struct ReferenceStep {
  // Of operands, and of results: a run keeps their addresses on the stack.
  static constexpr std::size_t kMost = 64;
  const Op* op;
  Attributes attributes;
  Function::CallTypes types;
  std::string scope;
  std::vector<SlotId> in, out;
};

struct CopyStep {
  SlotId in, out;
};

// Nothing but its program.
struct LanesStep {};

struct Step {
  std::variant<LanesStep, MatmulStep, PackStep, RowsStep, TransposeStep, MoveStep, GatherStep,
               ScatterAddStep, AdamStep, AttentionStep, UpdateRowsStep, ReferenceStep, CopyStep>
      root;
  Program program;               // over the elements of the root's result; may be empty
  double nanoseconds = 0;        // estimated, for the decision to share it among threads
  std::int32_t not_before = -1;  // the step that its program stays behind, if only by a barrier
  bool beside = false;           // no piece of it waits for another piece of the step before it
};

// Steps, one after the other, that may all be done for some rows before the next rows: row r of
// what they make depends on row r of what they are given. docs/decisions/0010-bands-of-rows.md.
struct Band {
  std::size_t first = 0, count = 0;
  std::size_t rows = 0;          // 0: a single step that is not cut by rows
  std::size_t block = 0;         // rows that go through the steps together, at most
  std::size_t weight_bytes = 0;  // that every block reads
  double nanoseconds = 0;
};

// What is left to do of a plan that one thread runs whole: small networks take no longer than the
// choices that are made ahead here.
struct RowAction {
  kernels::MatmulRow row;
  SlotId a, b, c;
  SlotId bias;  // or -1
};
struct LanesAction {  // one instruction of a program
  kernels::ElementFn function;
  std::size_t elements;
  std::array<std::int32_t, 4> places;  // of the result and three operands, as in Program
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
  std::vector<Band> bands;      // all steps, in their order
  std::vector<Action> actions;  // the same for one thread; empty where a band takes several blocks
  std::vector<Constant> constants;
  std::size_t workspace_bytes = 0;
  std::size_t band_bytes = 0;     // for each thread, at the beginning of its scratch
  std::size_t scratch_bytes = 0;  // for each thread
  double worth_sharing = 0;       // nanoseconds a piece
};

// Lanes of a program that are worked on at a time: a few buffers of them stay in the L1 cache.
inline constexpr std::size_t kChunk = 1024;

// Every slot that a step reads or writes.
void for_each_slot(const Step& step, const std::function<void(SlotId, bool writes)>& visit);

// A plan that is ready to run. Throws as compile() does.
Plan make_plan(const Function& function, const CompileOptions& options);

// The same but for its constants, which are not placed yet.
Plan lower(const Function& function, kernels::Isa isa);

// Joins the programs of steps, so that less is written to memory and read again, and numbers their
// registers.
void fuse(Plan& plan);

// Gathers the steps into bands.
void find_bands(Plan& plan);

// Gives every workspace slot its offset, and those that no other band sees a place in the band's
// memory; slots whose lives do not meet share memory.
void place_slots(Plan& plan);

// What the largest step needs beside the slots, for each thread. A product and the program behind
// it use it in turn.
void place_scratch(Plan& plan);

// Makes the actions, when all slots have their places.
void find_actions(Plan& plan);

// Finds the steps that stand beside the one before them, when all slots have their places.
void find_beside(Plan& plan);

// Gives the registers of a program their places.
void place_registers(Program& program, const std::vector<Slot>& slots);

// Throws kInvalidArgument where the memory of an input may not be that of an output.
void check_donation(const Plan& plan, std::size_t input, std::size_t output);

// Runs a plan. `scratch` holds scratch_bytes for every thread of the pool (nullptr: the calling
// thread alone), `slots` the address of every slot, where a band's memory is that of the first
// thread.
void run(const Plan& plan, void* const* slots, std::byte* scratch, ThreadPool* pool) noexcept;

// Whether one of so many threads does all of it, by its actions.
bool runs_whole(const Plan& plan, int threads);
// The same as run(), on the calling thread. Requires runs_whole().
void run_whole(const Plan& plan, void* const* slots, std::byte* scratch) noexcept;

std::string plan_text(const Plan& plan);

}  // namespace limpid::detail
