// Runs a step: all of it, a piece of it for a thread, or the rows of it that are at work.
#include <algorithm>
#include <array>
#include <cstring>

#include "limpid/compile/worker.h"
#include "limpid/ops/rows.h"

namespace limpid::detail {
namespace {

// What is worked on: rows x columns of matrix `item` of a result. Passed by reference, since two
// ranges on the stack would be written in halves and read whole, which a CPU does not forward: that
// wait would be a tenth of the time of a small network.
struct Area {
  std::size_t item;
  Range rows, columns;
};

// The program behind an area of a result of matrices of `rows` x `width`.
void run_behind(const Step& step, const Worker& worker, const Area& area, std::size_t rows,
                std::size_t width) {
  if (step.program.empty()) return;
  const std::size_t first = area.item * rows * width;
  const auto run = [&](std::size_t begin, std::size_t end) {
    run_program(step.program, worker, first + begin, first + end);
  };
  if (area.columns.begin == 0 && area.columns.end == width)
    return run(area.rows.begin * width, area.rows.end * width);
  for (std::size_t r = area.rows.begin; r < area.rows.end; ++r)
    run(r * width + area.columns.begin, r * width + area.columns.end);
}

kernels::Matmul matmul_arguments(const MatmulStep& m, const Worker& worker, std::size_t item) {
  const float* a = worker.at<const float>(m.a) + item * m.m * m.k;
  const float* b = worker.at<const float>(m.b) + (m.packed ? 0 : item * m.k * m.n);
  kernels::Matmul arguments{};
  arguments.m = m.m;
  arguments.n = m.n;
  arguments.k = m.k;
  arguments.a = m.transpose_a ? kernels::Matrix{a, 1, m.m} : kernels::Matrix{a, m.k, 1};
  arguments.b = m.transpose_b ? kernels::Matrix{b, 1, m.k} : kernels::Matrix{b, m.n, 1};
  arguments.packed_b = m.packed ? b : nullptr;
  arguments.c = worker.at<float>(m.c) + item * m.m * m.n;
  arguments.c_row_stride = m.n;
  arguments.bias = m.bias >= 0 ? worker.at<const float>(m.bias) : nullptr;
  arguments.relu = m.relu;
  return arguments;
}

kernels::NarrowMatmul narrow_arguments(const MatmulStep& m, const Worker& worker) {
  kernels::NarrowMatmul arguments{};
  arguments.m = m.m;
  arguments.n = m.n;
  arguments.k = m.k;
  arguments.a = worker.at<const float>(m.a);
  arguments.a_row_stride = m.k;
  arguments.packed_b = worker.at<const void>(m.b);
  arguments.scale = m.scale >= 0 ? worker.at<const float>(m.scale) : nullptr;
  arguments.c = worker.at<float>(m.c);
  arguments.c_row_stride = m.n;
  arguments.bias = m.bias >= 0 ? worker.at<const float>(m.bias) : nullptr;
  arguments.relu = m.relu;
  return arguments;
}

void multiply(const MatmulStep& m, const Worker& worker, const Area& area) {
  const kernels::Kernels& k = *worker.plan.kernels;
  if (m.weights == MatmulStep::Weights::kF32)
    return k.matmul(matmul_arguments(m, worker, area.item), area.rows, area.columns,
                    worker.floats());
  narrow_kernels(k, m.weights)
      .matmul(narrow_arguments(m, worker), area.rows, area.columns, worker.scratch);
}

std::size_t panel_width(const MatmulStep& m, const kernels::Kernels& kernels) {
  return m.weights == MatmulStep::Weights::kF32 ? kernels.panel_width
                                                : narrow_kernels(kernels, m.weights).panel_width;
}

void run_product(const Step& step, const MatmulStep& m, const Worker& worker, const Area& area) {
  if (area.rows.begin >= area.rows.end || area.columns.begin >= area.columns.end) return;
  multiply(m, worker, area);
  run_behind(step, worker, area, m.m, m.n);
}

void run_row_kernel(const RowsStep& r, const Worker& worker, const float* in, std::size_t rows,
                    float* out) {
  const kernels::Kernels& k = *worker.plan.kernels;
  const auto parameter = [&](SlotId slot) {
    return slot >= 0 ? worker.at<const float>(slot) : nullptr;
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

void run_norm_gradient(const RowsStep& r, const Worker& worker, Range rows) {
  const kernels::Kernels& k = *worker.plan.kernels;
  const auto kernel =
      r.kind == RowsStep::Kind::kLayerNormGradient ? k.layer_norm_gradient : k.rms_norm_gradient;
  const std::size_t at = rows.begin * r.columns;
  const bool scaled = r.gamma >= 0;
  kernel(worker.at<const float>(r.in) + at, worker.at<const float>(r.cotangent) + at,
         rows.end - rows.begin, r.columns, r.eps,
         scaled ? worker.at<const float>(r.gamma) : nullptr, worker.at<float>(r.out) + at,
         scaled ? worker.at<float>(r.out2) + at : nullptr);
}

void run_row_step(const Step& step, const RowsStep& r, const Worker& worker, Range rows) {
  const std::size_t width = r.reduces_rows() ? 1 : r.columns;
  if (r.cotangent >= 0)
    run_norm_gradient(r, worker, rows);
  else
    run_row_kernel(r, worker, worker.at<const float>(r.in) + rows.begin * r.columns,
                   rows.end - rows.begin, worker.at<float>(r.out) + rows.begin * width);
  run_behind(step, worker, {0, rows, {0, width}}, r.rows, width);
}

void reduce_columns(const Step& step, const RowsStep& r, const Worker& worker, Range columns) {
  using Kind = RowsStep::Kind;
  const kernels::Kernels& k = *worker.plan.kernels;
  const auto kernel = r.kind == Kind::kSumColumns   ? k.sum_columns
                      : r.kind == Kind::kMaxColumns ? k.max_columns
                                                    : k.min_columns;
  const float* in = worker.at<const float>(r.in);
  float* out = worker.at<float>(r.out);
  for (std::size_t o = 0; o < r.outer; ++o) {
    kernel(in + o * r.rows * r.columns, r.rows, r.columns, columns, out + o * r.columns);
    run_behind(step, worker, {0, {o, o + 1}, columns}, r.outer, r.columns);
  }
}

void run_transpose(const TransposeStep& t, const Worker& worker, Piece piece) {
  const Range items = part(t.outer, 1, piece.index, piece.count);
  for (std::size_t i = items.begin; i < items.end; ++i) {
    const std::size_t first = i * t.rows * t.columns;
    worker.plan.kernels->transpose(worker.at<const float>(t.in) + first, t.rows, t.columns,
                                   worker.at<float>(t.out) + first);
  }
}

void run_adam(const AdamStep& u, const Worker& worker, Range elements) {
  const auto number = [&](SlotId s) { return *worker.at<const float>(s); };
  const kernels::AdamUpdate update{worker.at<const float>(u.parameter),
                                   worker.at<const float>(u.gradient),
                                   worker.at<const float>(u.mean),
                                   worker.at<const float>(u.square),
                                   worker.at<float>(u.new_parameter),
                                   worker.at<float>(u.new_mean),
                                   worker.at<float>(u.new_square),
                                   number(u.gradient_scale),
                                   number(u.decay),
                                   number(u.step_size),
                                   number(u.root),
                                   static_cast<float>(u.eps),
                                   static_cast<float>(u.beta1),
                                   static_cast<float>(1 - u.beta1),
                                   static_cast<float>(u.beta2),
                                   static_cast<float>(1 - u.beta2)};
  worker.plan.kernels->adam_update(update, elements);
}

void run_pack(const PackStep& p, const Worker& worker) {
  narrow_kernels(*worker.plan.kernels, p.weights)
      .pack(worker.at<const void>(p.in), p.transposed ? 1 : p.n, p.transposed ? p.k : 1, p.k, p.n,
            worker.at<void>(p.out));
}

kernels::Attention attention_arguments(const AttentionStep& a, const Worker& worker,
                                       std::size_t head) {
  const arithmetic::AttentionSizes& s = a.each;
  const bool cached = a.position >= 0;
  const Type* mask =
      a.mask >= 0 ? &worker.plan.slots[static_cast<std::size_t>(a.mask)].type : nullptr;
  const bool seen = mask && mask->dtype == Dtype::kBool;
  const float* const k = worker.at<const float>(a.k) + head * s.keys * s.size;
  return {.queries = s.queries,
          .keys = s.keys,
          .size = s.size,
          .value_size = s.value_size,
          .scale = static_cast<float>(s.scale),
          .ahead = cached ? worker.at<const std::int32_t>(a.position)[head / s.heads] : s.ahead,
          .q = worker.at<const float>(a.q) + head * a.rows() * s.size,
          .k = {k, s.key_step, s.element_step},
          .v = worker.at<const float>(a.v) + head * s.keys * s.value_size,
          .out = worker.at<float>(a.out) + head * a.rows() * s.value_size,
          .seen = seen ? worker.at<const std::uint8_t>(a.mask) : nullptr,
          .added = mask && !seen ? worker.at<const float>(a.mask) : nullptr,
          .mask_row = mask ? head * a.rows() % a.mask_rows : 0,
          .mask_rows = a.mask_rows};
}

void run_f64_attention(const AttentionStep& a, const Worker& worker, Piece piece) {
  arithmetic::AttentionSizes one = a.each;  // head
  one.heads = 1;
  const auto* const mask = a.mask >= 0 ? worker.at<const std::byte>(a.mask) : nullptr;
  const std::size_t scores = a.rows() * one.keys;
  const Range heads = part(a.heads(), 1, piece.index, piece.count);
  for (std::size_t h = heads.begin; h < heads.end; ++h) {
    if (a.position >= 0) one.ahead = worker.at<const std::int32_t>(a.position)[h / a.each.heads];
    const auto attend = [&](const auto& seen) {
      arithmetic::attend(one, worker.at<const double>(a.q) + h * a.rows() * one.size,
                         worker.at<const double>(a.k) + h * one.keys * one.size,
                         worker.at<const double>(a.v) + h * one.keys * one.value_size, seen,
                         reinterpret_cast<double*>(worker.scratch),
                         worker.at<double>(a.out) + h * a.rows() * one.value_size);
    };
    if (!mask)
      attend(arithmetic::EveryKey{});
    else if (worker.plan.slots[static_cast<std::size_t>(a.mask)].type.dtype == Dtype::kBool)
      attend(arithmetic::SeenKeys{reinterpret_cast<const bool*>(mask) + h * scores});
    else
      attend(arithmetic::AddedNumbers<double>{reinterpret_cast<const double*>(mask) + h * scores});
  }
}

// Heads are shared out whole where that is even, else in as many parts as there are pieces.
void run_attention(const AttentionStep& a, const Worker& worker, Piece piece) {
  if (a.f64) return run_f64_attention(a, worker, piece);
  const std::size_t parts = a.heads() % piece.count == 0 ? 1 : piece.count;
  const Range all = part(a.heads() * parts, 1, piece.index, piece.count);
  for (std::size_t i = all.begin; i < all.end;) {
    const std::size_t head = i / parts;
    const std::size_t end = std::min(all.end, (head + 1) * parts);
    const Range rows{part(a.rows(), 1, i % parts, parts).begin,
                     part(a.rows(), 1, (end - 1) % parts, parts).end};
    worker.plan.kernels->attention(attention_arguments(a, worker, head), rows, worker.floats());
    i = end;
  }
}

void run_update_rows(const UpdateRowsStep& u, const Worker& worker) {
  const UpdateSizes& s = u.sizes;
  const std::size_t places = s.outer * s.places * s.inner;
  auto* const out = worker.at<std::uint32_t>(u.out);
  const auto* const cache = worker.at<const std::uint32_t>(u.cache);
  if (out != cache) std::memcpy(out, cache, s.sequences * places * sizeof(*out));
  for (std::size_t b = 0; b < s.sequences; ++b)
    write_rows(s.outer, s.rows, s.places, s.inner,
               std::int64_t{worker.at<const std::int32_t>(u.position)[b]},
               worker.at<const std::uint32_t>(u.rows) + b * s.outer * s.rows * s.inner,
               out + b * places);
}

void run_reference(const ReferenceStep& r, const Worker& worker) {
  std::array<const void*, ReferenceStep::kMost> in{};
  std::array<void*, ReferenceStep::kMost> out{};
  for (std::size_t i = 0; i < r.in.size(); ++i) in[i] = worker.at<const void>(r.in[i]);
  for (std::size_t i = 0; i < r.out.size(); ++i) out[i] = worker.at<void>(r.out[i]);
  const Call call{*r.op, r.types.inputs, r.types.outputs, r.attributes, r.scope};
  r.op->reference(call, {in.data(), r.in.size()}, {out.data(), r.out.size()});
}

void run_copy(const CopyStep& c, const Worker& worker) {
  const std::size_t bytes = worker.plan.slots[static_cast<std::size_t>(c.in)].type.bytes();
  if (bytes > 0) std::memcpy(worker.at<void>(c.out), worker.at<const void>(c.in), bytes);
}

void run_products(const Step& step, const MatmulStep& m, const Worker& worker, Range items) {
  for (std::size_t i = items.begin; i < items.end; ++i)
    run_product(step, m, worker, {i, {0, m.m}, {0, m.n}});
}

void run_matmul(const Step& step, const MatmulStep& m, const Worker& worker, Piece piece) {
  if (m.batch > 1) return run_products(step, m, worker, part(m.batch, 1, piece.index, piece.count));
  // The longer side is cut: each piece then repeats less of the packing of the other operand. The
  // gradient of a weight, A^T B, is cut by rows, as the weight itself is where the next step reads
  // it: a thread finds there what it has written. Where the sum is long, packing B for every thread
  // would cost more than that.
  constexpr std::size_t kRowUnit = 24;  // whole register tiles on every instruction set
  const bool by_columns =
      m.packed || (m.transpose_a ? m.m < kRowUnit * piece.count || m.k > 2 * m.m : m.n >= m.m);
  if (by_columns)
    run_product(
        step, m, worker,
        {0, {0, m.m}, part(m.n, panel_width(m, *worker.plan.kernels), piece.index, piece.count)});
  else
    run_product(step, m, worker, {0, part(m.m, kRowUnit, piece.index, piece.count), {0, m.n}});
}

}  // namespace

void run_piece(const Step& step, const Worker& worker, Piece piece) {
  if (const auto* m = std::get_if<MatmulStep>(&step.root))
    return run_matmul(step, *m, worker, piece);
  if (const auto* r = std::get_if<RowsStep>(&step.root))
    return r->reduces_columns()
               ? reduce_columns(step, *r, worker, part(r->columns, 16, piece.index, piece.count))
               : run_row_step(step, *r, worker, part(r->rows, 1, piece.index, piece.count));
  if (const auto* t = std::get_if<TransposeStep>(&step.root))
    return run_transpose(*t, worker, piece);
  if (const auto* v = std::get_if<MoveStep>(&step.root))
    return move(v->walk, worker.at<const std::byte>(v->in), worker.at<std::byte>(v->out),
                part(v->walk.lines(), 1, piece.index, piece.count));
  if (const auto* g = std::get_if<GatherStep>(&step.root))
    return gather(g->rows, worker.at<const void>(g->numbers), g->width,
                  worker.at<const std::byte>(g->table), worker.at<std::byte>(g->out),
                  part(g->rows.batches * g->rows.numbers, 1, piece.index, piece.count));
  if (const auto* a = std::get_if<ScatterAddStep>(&step.root))
    return scatter_add(a->rows, worker.at<const void>(a->numbers), a->width,
                       worker.at<const float>(a->updates), worker.at<float>(a->out),
                       part(a->width, 16, piece.index, piece.count));
  if (const auto* u = std::get_if<AdamStep>(&step.root))
    return run_adam(*u, worker, part(u->elements, 64, piece.index, piece.count));
  if (const auto* a = std::get_if<AttentionStep>(&step.root))
    return run_attention(*a, worker, piece);
  if (std::holds_alternative<LanesStep>(step.root)) {
    const Range lanes = part(step.program.elements, 64, piece.index, piece.count);
    return run_program(step.program, worker, lanes.begin, lanes.end);
  }
  // The others are not shared.
  if (piece.index > 0) return;
  if (const auto* p = std::get_if<PackStep>(&step.root)) run_pack(*p, worker);
  if (const auto* u = std::get_if<UpdateRowsStep>(&step.root)) run_update_rows(*u, worker);
  if (const auto* r = std::get_if<ReferenceStep>(&step.root)) run_reference(*r, worker);
  if (const auto* c = std::get_if<CopyStep>(&step.root)) run_copy(*c, worker);
}

void run_rows(const Step& step, const Worker& worker, Range rows, std::size_t all_rows) {
  if (const auto* m = std::get_if<MatmulStep>(&step.root))
    return m->batch > 1 ? run_products(step, *m, worker, rows)
                        : run_product(step, *m, worker, {0, rows, {0, m->n}});
  if (const auto* r = std::get_if<RowsStep>(&step.root)) {
    const std::size_t each = r->rows / all_rows;
    return run_row_step(step, *r, worker, {rows.begin * each, rows.end * each});
  }
  const std::size_t width = step.program.elements / all_rows;
  run_program(step.program, worker, rows.begin * width, rows.end * width);
}

}  // namespace limpid::detail
