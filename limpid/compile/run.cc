// Runs a plan: step after step, each cut into pieces for the threads of the pool. Nothing here
// allocates, locks or throws.
#include <algorithm>
#include <array>
#include <cstring>

#include "limpid/compile/plan.h"
#include "limpid/compile/thread_pool.h"

namespace limpid::detail {
namespace {

using kernels::Range;

template <class T>
T* at(void* const* slots, SlotId id) {
  return static_cast<T*>(slots[static_cast<std::size_t>(id)]);
}

// One thread's view of a plan at work.
struct Worker {
  const Plan& plan;
  void* const* slots;
  std::byte* scratch;

  float* floats() const { return reinterpret_cast<float*>(scratch); }
  std::byte* buffer(std::int32_t b) const {
    return scratch + static_cast<std::size_t>(b) * kChunk * 4;
  }
};

// ---- element-wise programs

// Four-byte lanes read as they are; booleans become masks.
struct Source {
  const std::byte* data;
  bool is_bool;

  std::uint32_t lane(std::size_t i) const {
    if (is_bool) return reinterpret_cast<const std::uint8_t*>(data)[i] ? ~0u : 0u;
    std::uint32_t bits;
    std::memcpy(&bits, data + i * 4, 4);
    return bits;
  }
};

// Lanes [begin, begin + n) of a repeated operand.
void fill_repeated(const Source& source, const LaneInput& input, std::size_t begin, std::size_t n,
                   std::uint32_t* out) {
  std::size_t i = begin;
  while (i < begin + n) {
    const std::size_t element = i / input.inner % input.period;
    if (input.inner == 1) {
      const std::size_t run = std::min(input.period - element, begin + n - i);
      if (source.is_bool)
        for (std::size_t k = 0; k < run; ++k) out[i - begin + k] = source.lane(element + k);
      else
        std::memcpy(out + (i - begin), source.data + element * 4, run * 4);
      i += run;
    } else {
      const std::size_t run = std::min(input.inner - i % input.inner, begin + n - i);
      std::fill_n(out + (i - begin), run, source.lane(element));
      i += run;
    }
  }
}

class ProgramRun {
 public:
  ProgramRun(const Program& program, const Worker& worker) : program_(program), worker_(worker) {}

  void run(std::size_t begin, std::size_t end) const {
    for (std::size_t r = 0; r < program_.inputs.size(); ++r)
      if (program_.inputs[r].period == 1 && program_.direct[r] < 0)
        fill(r, begin, std::min(kChunk, end - begin));
    for (std::size_t i = begin; i < end; i += kChunk) chunk(i, std::min(kChunk, end - i));
  }

 private:
  Source source(std::size_t r) const {
    const SlotId slot = program_.inputs[r].slot;
    const Dtype dtype = worker_.plan.slots[static_cast<std::size_t>(slot)].type.dtype;
    return {at<const std::byte>(worker_.slots, slot), dtype == Dtype::kBool};
  }

  void fill(std::size_t r, std::size_t begin, std::size_t n) const {
    auto* out = reinterpret_cast<std::uint32_t*>(worker_.buffer(program_.buffers[r]));
    const Source from = source(r);
    if (program_.inputs[r].is_full(program_.elements))
      worker_.plan.kernels->bool_to_mask(reinterpret_cast<const std::uint8_t*>(from.data) + begin,
                                         n, out);
    else
      fill_repeated(from, program_.inputs[r], begin, n, out);
  }

  // The lanes of a register for the chunk that begins at element `begin`.
  std::byte* lanes(std::size_t r, std::size_t begin) const {
    const SlotId direct = program_.direct[r];
    return direct >= 0 ? at<std::byte>(worker_.slots, direct) + begin * 4
                       : worker_.buffer(program_.buffers[r]);
  }

  void chunk(std::size_t begin, std::size_t n) const {
    for (std::size_t r = 0; r < program_.inputs.size(); ++r)
      if (program_.direct[r] < 0 && program_.inputs[r].period != 1) fill(r, begin, n);
    for (std::size_t i = 0; i < program_.instructions.size(); ++i)
      execute(program_.instructions[i], program_.inputs.size() + i, begin, n);
    for (const LaneOutput& o : program_.outputs) store(o, begin, n);
  }

  void execute(const Instruction& in, std::size_t result, std::size_t begin, std::size_t n) const {
    std::byte* out = lanes(result, begin);
    if (!in.function) {
      std::uint64_t key;
      std::memcpy(&key, at<const std::byte>(worker_.slots, in.key), sizeof key);
      worker_.plan.kernels->random_bits(key, begin, n, reinterpret_cast<std::int32_t*>(out));
      return;
    }
    const void* operands[3] = {nullptr, nullptr, nullptr};
    for (std::int32_t o = 0; o < in.count; ++o)
      operands[o] =
          lanes(static_cast<std::size_t>(in.operands[static_cast<std::size_t>(o)]), begin);
    in.function(out, operands[0], operands[1], operands[2], n);
  }

  void store(const LaneOutput& o, std::size_t begin, std::size_t n) const {
    const auto r = static_cast<std::size_t>(o.reg);
    if (program_.direct[r] == o.slot) return;
    const std::byte* from = lanes(r, begin);
    auto* to = at<std::byte>(worker_.slots, o.slot);
    if (worker_.plan.slots[static_cast<std::size_t>(o.slot)].type.dtype == Dtype::kBool)
      worker_.plan.kernels->mask_to_bool(reinterpret_cast<const std::uint32_t*>(from), n,
                                         reinterpret_cast<std::uint8_t*>(to) + begin);
    else
      std::memcpy(to + begin * 4, from, n * 4);
  }

  const Program& program_;
  const Worker& worker_;
};

// ---- pieces

// Part `piece` of [0, size), cut at multiples of `unit`.
Range part(std::size_t size, std::size_t unit, std::size_t piece, std::size_t pieces) {
  const std::size_t units = (size + unit - 1) / unit;
  return {std::min(size, units * piece / pieces * unit),
          std::min(size, units * (piece + 1) / pieces * unit)};
}

struct Piece {
  std::size_t index, count;
};

void run_lanes(const Step& step, const Worker& worker, Piece piece) {
  const Range range = part(step.program.elements, 64, piece.index, piece.count);
  ProgramRun(step.program, worker).run(range.begin, range.end);
}

// The program behind rows x columns of a result of `width` columns.
void run_behind(const Step& step, const Worker& worker, std::size_t first, Range rows,
                Range columns, std::size_t width) {
  if (step.program.empty()) return;
  const ProgramRun program(step.program, worker);
  if (columns.begin == 0 && columns.end == width) {
    program.run(first + rows.begin * width, first + rows.end * width);
    return;
  }
  for (std::size_t r = rows.begin; r < rows.end; ++r)
    program.run(first + r * width + columns.begin, first + r * width + columns.end);
}

kernels::Matmul matmul_arguments(const MatmulStep& m, const Worker& worker, std::size_t item) {
  const float* a = at<const float>(worker.slots, m.a) + item * m.m * m.k;
  const float* b = at<const float>(worker.slots, m.b) + (m.packed ? 0 : item * m.k * m.n);
  kernels::Matmul arguments{};
  arguments.m = m.m;
  arguments.n = m.n;
  arguments.k = m.k;
  arguments.a = m.transpose_a ? kernels::Matrix{a, 1, m.m} : kernels::Matrix{a, m.k, 1};
  arguments.b = m.transpose_b ? kernels::Matrix{b, 1, m.k} : kernels::Matrix{b, m.n, 1};
  arguments.packed_b = m.packed ? b : nullptr;
  arguments.c = at<float>(worker.slots, m.c) + item * m.m * m.n;
  arguments.c_row_stride = m.n;
  arguments.bias = m.bias >= 0 ? at<const float>(worker.slots, m.bias) : nullptr;
  arguments.relu = m.relu;
  return arguments;
}

// Rows of a product that are finished, program and all, before the next ones: their results are
// then still in the second cache.
constexpr std::size_t kRowsAtATime = 96;

void run_product(const Step& step, const MatmulStep& m, const Worker& worker, std::size_t item,
                 Range rows, Range columns) {
  const kernels::Matmul arguments = matmul_arguments(m, worker, item);
  // An operand that is not packed would be packed anew for every block of rows.
  const std::size_t block =
      m.packed ? kRowsAtATime : std::max<std::size_t>(1, rows.end - rows.begin);
  for (std::size_t r = rows.begin; r < rows.end; r += block) {
    const Range some{r, std::min(rows.end, r + block)};
    worker.plan.kernels->matmul(arguments, some, columns, worker.floats());
    run_behind(step, worker, item * m.m * m.n, some, columns, m.n);
  }
}

void run_matmul(const Step& step, const MatmulStep& m, const Worker& worker, Piece piece) {
  constexpr std::size_t kRowUnit = 24;  // whole register tiles on every instruction set
  if (m.batch > 1) {
    const Range items = part(m.batch, 1, piece.index, piece.count);
    for (std::size_t i = items.begin; i < items.end; ++i)
      run_product(step, m, worker, i, {0, m.m}, {0, m.n});
    return;
  }
  // The longer side is cut: each piece then repeats less of the packing of the other operand.
  const bool by_columns = m.n >= m.m;
  const Range rows = by_columns ? Range{0, m.m} : part(m.m, kRowUnit, piece.index, piece.count);
  const Range columns = by_columns
                            ? part(m.n, worker.plan.kernels->panel_width, piece.index, piece.count)
                            : Range{0, m.n};
  if (rows.begin < rows.end && columns.begin < columns.end)
    run_product(step, m, worker, 0, rows, columns);
}

void run_row_kernel(const RowsStep& r, const Worker& worker, const float* in, std::size_t rows,
                    float* out) {
  const kernels::Kernels& k = *worker.plan.kernels;
  const auto parameter = [&](SlotId slot) {
    return slot >= 0 ? at<const float>(worker.slots, slot) : nullptr;
  };
  switch (r.kind) {
    case RowsStep::Kind::kSoftmax:
      return k.softmax(in, rows, r.columns, out);
    case RowsStep::Kind::kLogSoftmax:
      return k.log_softmax(in, rows, r.columns, out);
    case RowsStep::Kind::kLayerNorm:
      return k.layer_norm(in, rows, r.columns, r.eps, parameter(r.gamma), parameter(r.beta), out);
    case RowsStep::Kind::kRmsNorm:
      return k.rms_norm(in, rows, r.columns, r.eps, parameter(r.gamma), out);
    case RowsStep::Kind::kSumRows:
      return k.sum_rows(in, rows, r.columns, out);
    case RowsStep::Kind::kMaxRows:
      return k.max_rows(in, rows, r.columns, out);
    default:
      return k.min_rows(in, rows, r.columns, out);
  }
}

void run_rows(const Step& step, const RowsStep& r, const Worker& worker, Piece piece) {
  using Kind = RowsStep::Kind;
  const kernels::Kernels& k = *worker.plan.kernels;
  const float* in = at<const float>(worker.slots, r.in);
  float* out = at<float>(worker.slots, r.out);
  if (r.reduces_columns()) {
    const Range columns = part(r.columns, 16, piece.index, piece.count);
    const auto kernel = r.kind == Kind::kSumColumns   ? k.sum_columns
                        : r.kind == Kind::kMaxColumns ? k.max_columns
                                                      : k.min_columns;
    for (std::size_t o = 0; o < r.outer; ++o) {
      kernel(in + o * r.rows * r.columns, r.rows, r.columns, columns, out + o * r.columns);
      run_behind(step, worker, 0, {o, o + 1}, columns, r.columns);
    }
    return;
  }
  const Range rows = part(r.rows, 1, piece.index, piece.count);
  const std::size_t width = r.reduces_rows() ? 1 : r.columns;
  run_row_kernel(r, worker, in + rows.begin * r.columns, rows.end - rows.begin,
                 out + rows.begin * width);
  run_behind(step, worker, 0, rows, {0, width}, width);
}

void run_transpose(const TransposeStep& t, const Worker& worker, Piece piece) {
  const Range items = part(t.outer, 1, piece.index, piece.count);
  for (std::size_t i = items.begin; i < items.end; ++i) {
    const std::size_t first = i * t.rows * t.columns;
    worker.plan.kernels->transpose(at<const float>(worker.slots, t.in) + first, t.rows, t.columns,
                                   at<float>(worker.slots, t.out) + first);
  }
}

void run_reference(const ReferenceStep& r, const Worker& worker) {
  std::array<const void*, ReferenceStep::kMost> in{};
  std::array<void*, ReferenceStep::kMost> out{};
  for (std::size_t i = 0; i < r.in.size(); ++i) in[i] = at<const void>(worker.slots, r.in[i]);
  for (std::size_t i = 0; i < r.out.size(); ++i) out[i] = at<void>(worker.slots, r.out[i]);
  const Call call{*r.op, r.types.inputs, r.types.outputs, r.attributes, r.scope};
  r.op->reference(call, {in.data(), r.in.size()}, {out.data(), r.out.size()});
}

void run_copy(const CopyStep& c, const Worker& worker) {
  const std::size_t bytes = worker.plan.slots[static_cast<std::size_t>(c.in)].type.bytes();
  if (bytes > 0)
    std::memcpy(at<void>(worker.slots, c.out), at<const void>(worker.slots, c.in), bytes);
}

void run_piece(const Step& step, const Worker& worker, Piece piece) {
  if (const auto* m = std::get_if<MatmulStep>(&step.root))
    return run_matmul(step, *m, worker, piece);
  if (std::holds_alternative<LanesStep>(step.root)) return run_lanes(step, worker, piece);
  if (const auto* r = std::get_if<RowsStep>(&step.root)) return run_rows(step, *r, worker, piece);
  if (const auto* t = std::get_if<TransposeStep>(&step.root))
    return run_transpose(*t, worker, piece);
  // The last two are not shared.
  if (piece.index > 0) return;
  if (const auto* r = std::get_if<ReferenceStep>(&step.root)) run_reference(*r, worker);
  if (const auto* c = std::get_if<CopyStep>(&step.root)) run_copy(*c, worker);
}

struct Shared {
  const Plan& plan;
  const Step& step;
  void* const* slots;
  std::byte* scratch;
  std::size_t pieces;
};

void run_shared(void* context, std::size_t index, int worker) {
  const auto& s = *static_cast<const Shared*>(context);
  const Worker me{s.plan, s.slots,
                  s.scratch + static_cast<std::size_t>(worker) * s.plan.scratch_bytes};
  run_piece(s.step, me, {index, s.pieces});
}

// Pieces that a step is worth cutting into.
std::size_t pieces_of(const Step& step, double worth_sharing, int threads) {
  const bool shared = !std::holds_alternative<ReferenceStep>(step.root) &&
                      !std::holds_alternative<CopyStep>(step.root);
  if (threads <= 1 || !shared) return 1;
  if (worth_sharing <= 0) return static_cast<std::size_t>(threads);
  const double worth = step.nanoseconds / worth_sharing;
  if (worth < 2) return 1;
  return static_cast<std::size_t>(std::min<double>(threads, worth));
}

}  // namespace

void run(const Plan& plan, void* const* slots, std::byte* scratch, ThreadPool* pool) noexcept {
  const Worker alone{plan, slots, scratch};
  for (const Step& step : plan.steps) {
    const std::size_t pieces = pieces_of(step, plan.worth_sharing, pool ? pool->threads() : 1);
    if (pieces == 1) {
      run_piece(step, alone, {0, 1});
      continue;
    }
    Shared shared{plan, step, slots, scratch, pieces};
    pool->run(pieces, run_shared, &shared);
  }
}

}  // namespace limpid::detail
