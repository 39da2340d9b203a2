// Plan: what a Function becomes for one instruction set. A list of steps over a table of slots
// (places in memory), with element-wise ops gathered into programs that run behind a step while its
// result is in the cache.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "limpid/function/function.h"
#include "limpid/kernels/kernels.h"

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

// ---- weights

enum class Weights : std::uint8_t { kF32, kBf16, kI8 };

inline std::size_t bytes_of(Weights weights) {
  return weights == Weights::kF32 ? 4 : weights == Weights::kBf16 ? 2 : 1;
}
// The kernels of narrow weights. Requires that they are.
inline const kernels::NarrowKernels& narrow_kernels(const kernels::Kernels& all, Weights weights) {
  return weights == Weights::kBf16 ? all.bf16 : all.i8;
}

// How a constant lies in memory: as its tensor does, or as a product's kernels read B.
struct Layout {
  const kernels::Kernels* kernels = nullptr;  // nullptr: as the tensor does
  Weights weights = Weights::kF32;
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

// ---- steps

struct Piece {
  std::size_t index, count;
};
struct Step;
struct Worker;

// A row times packed weights, for one thread that runs a plan whole.
struct RowAction {
  kernels::MatmulRow row;
  SlotId a, b, c;
  SlotId bias;  // or -1
};

// What a step does before its program. A kind of step is one of these, in the file that makes it of
// calls (step_*.cc); what it answers here is all that the compiler knows of it.
class Root {
 public:
  virtual ~Root() = default;

  struct Slots {
    std::vector<SlotId> read, written;  // those below 0 are none
  };
  virtual Slots slots() const = 0;
  using Names = std::function<std::string(SlotId)>;
  // As a line of the plan.
  virtual std::string text(const Names& s) const = 0;
  // A piece of it, and of its program. Allocates, locks and throws nothing.
  virtual void run(const Step& step, const Worker& worker, Piece piece) const = 0;

  // Whether there may be several pieces.
  virtual bool is_shared() const { return true; }
  // That each thread needs beside the slots.
  virtual std::size_t scratch_bytes(const kernels::Kernels&) const { return 0; }
  // Whether an element of `to` is written only where that of `from` was read for the last time.
  virtual bool writes_in_place(SlotId /*from*/, SlotId /*to*/) const { return false; }

  // Where its result is, if a program can run behind it on each part that is made; else nullptr.
  virtual SlotId* result() { return nullptr; }
  // Whether it takes over a ReLU from its program, which then lacks it.
  virtual bool take_relu() { return false; }

  // The rows that it may be cut into, of which those of a batch are whole products; 0 where it
  // cannot be cut, or into as many as are wanted.
  virtual std::size_t row_count() const { return 0; }
  virtual bool is_batch() const { return false; }
  // Whether several of its rows may be one of a band's: rows that a kernel takes one by one.
  virtual bool joins_rows() const { return false; }
  // Those that every row reads whole.
  virtual std::vector<SlotId> whole_slots() const { return {}; }
  // That every block of rows reads.
  virtual std::size_t weight_bytes() const { return 0; }
  // The part of it, and of its program, that belongs to `rows` of the `all_rows` of its band.
  virtual void run_rows(const Step&, const Worker&, kernels::Range /*rows*/,
                        std::size_t /*all_rows*/) const {}

  // Rows and columns of the result, where every piece is some of the columns.
  struct Columns {
    std::size_t rows, columns;
  };
  virtual std::optional<Columns> cut_by_columns() const { return {}; }
  // The same work for one thread, without its program.
  virtual std::optional<RowAction> row_action() const { return {}; }
};
// One that makes one of one.
struct UnaryRoot : Root {
  SlotId in = -1, out = -1;

  Slots slots() const override { return {{in}, {out}}; }
};

struct Step {
  std::unique_ptr<Root> root;    // nullptr: nothing but the program
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
