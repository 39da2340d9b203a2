// Steps on rows by index: gather, scatter_add, and the rows of a cache.
#include <fmt/format.h>

#include <cstring>

#include "limpid/compile/lowering.h"
#include "limpid/compile/move.h"
#include "limpid/compile/worker.h"
#include "limpid/ops/cache.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/rows.h"

namespace limpid::detail {
namespace {

RowNumbers row_numbers(const Type& numbers, const Shape& table, std::size_t batch) {
  const Rows r = rows_of(numbers.shape, table, batch);
  return {static_cast<std::size_t>(r.batches), static_cast<std::size_t>(r.numbers),
          static_cast<std::size_t>(r.rows), numbers.dtype == Dtype::kI64};
}

// gather or take of `table`, rows of `width` bytes.
struct GatherStep final : Root {
  SlotId table = -1, numbers = -1, out = -1;
  RowNumbers rows{};
  std::size_t width = 0;
  std::uint64_t none = 0;  // the bytes of an index out of range

  Slots slots() const override { return {{table, numbers}, {out}}; }
  std::string text(const Names& s) const override {
    return fmt::format("{} = gather {}x{} {}[{}]", s(out), rows.batches, rows.numbers, s(table),
                       s(numbers));
  }
  void run(const Step&, const Worker& worker, Piece piece) const override {
    gather(rows, worker.at<const void>(numbers), width, worker.at<const std::byte>(table), none,
           worker.at<std::byte>(out),
           part(rows.batches * rows.numbers, 1, piece.index, piece.count));
  }
};

// scatter_add, rows of `width` numbers.
struct ScatterAddStep final : Root {
  SlotId numbers = -1, updates = -1, out = -1;
  RowNumbers rows{};
  std::size_t width = 0;

  Slots slots() const override { return {{numbers, updates}, {out}}; }
  std::string text(const Names& s) const override {
    return fmt::format("{}[{}] = scatter_add {}x{} {}", s(out), s(numbers), rows.batches,
                       rows.numbers, s(updates));
  }
  void run(const Step&, const Worker& worker, Piece piece) const override {
    // By batches where there are enough, as pictures have few columns; else by columns.
    const bool by_batches = rows.batches >= piece.count;
    const Range batches =
        by_batches ? part(rows.batches, 1, piece.index, piece.count) : Range{0, rows.batches};
    const Range columns = by_batches ? Range{0, width} : part(width, 16, piece.index, piece.count);
    RowNumbers some = rows;
    some.batches = batches.end - batches.begin;
    const std::size_t first = batches.begin * rows.numbers;
    const std::size_t number = rows.wide ? sizeof(std::int64_t) : sizeof(std::int32_t);
    scatter_add(some, worker.at<const std::byte>(numbers) + first * number, width,
                worker.at<const float>(updates) + first * width,
                worker.at<float>(out) + batches.begin * rows.rows * width, columns);
  }
};

// Copies the cache and writes rows over it. If input and output share memory, only the rows are
// written.
struct UpdateRowsStep final : Root {
  SlotId cache = -1, rows = -1, position = -1, out = -1;
  UpdateSizes sizes{};

  Slots slots() const override { return {{cache, rows, position}, {out}}; }
  std::string text(const Names& s) const override {
    return fmt::format("{} = update {} rows {} at {}", s(out), s(cache), s(rows), s(position));
  }
  bool is_shared() const override { return false; }
  bool writes_in_place(SlotId from, SlotId to) const override {
    return cache == from && out == to && rows != from;
  }
  void run(const Step&, const Worker& worker, Piece) const override {
    const std::size_t places = sizes.outer * sizes.places * sizes.inner;
    auto* const to = worker.at<std::uint32_t>(out);
    const auto* const from = worker.at<const std::uint32_t>(cache);
    if (to != from) std::memcpy(to, from, sizes.sequences * places * sizeof(*to));
    for (std::size_t b = 0; b < sizes.sequences; ++b)
      write_rows(sizes.outer, sizes.rows, sizes.places, sizes.inner,
                 std::int64_t{worker.at<const std::int32_t>(position)[b]},
                 worker.at<const std::uint32_t>(rows) + b * sizes.outer * sizes.rows * sizes.inner,
                 to + b * places);
  }
};

// Eight bytes of what take gives for an index out of range: NaN, or 0 where there is none.
std::uint64_t nans_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF64:
      return 0x7ff8'0000'0000'0000;
    case Dtype::kF32:
      return 0x7fc0'0000'7fc0'0000;
    case Dtype::kBf16:
      return 0x7fc0'7fc0'7fc0'7fc0;
    case Dtype::kF16:
      return 0x7e00'7e00'7e00'7e00;
    default:
      return 0;
  }
}

void add_gather(Lowering& l, const Node& node, const Call& call) {
  const std::size_t batch = batch_of(call);
  const Shape& table = call.inputs[0].shape;
  GatherStep root;
  root.table = l.memory(node.inputs[0]);
  root.numbers = l.memory(node.inputs[1]);
  root.rows = row_numbers(call.inputs[1], table, batch);
  root.width = rows_of(call.inputs[1].shape, table, batch).width * size_of(call.inputs[0].dtype);
  root.rows.either_end = node.op == &op::take;
  if (node.op == &op::take) root.none = nans_of(call.inputs[0].dtype);
  l.add_step_of(node, root,
                kNanosecondsPerMovedByte * static_cast<double>(call.outputs[0].bytes()));
}

void add_scatter_add(Lowering& l, const Node& node, const Call& call) {
  const std::size_t batch = batch_of(call);
  const Shape& table = call.outputs[0].shape;
  ScatterAddStep root;
  root.numbers = l.memory(node.inputs[0]);
  root.updates = l.memory(node.inputs[1]);
  root.rows = row_numbers(call.inputs[0], table, batch);
  root.width = rows_of(call.inputs[0].shape, table, batch).width;
  l.add_step_of(node, root,
                kNanosecondsPerMovedByte *
                    static_cast<double>(call.inputs[1].bytes() + call.outputs[0].bytes()));
}

void add_update_rows(Lowering& l, const Node& node, const Call& call) {
  UpdateRowsStep root;
  root.cache = l.memory(node.inputs[0]);
  root.rows = l.memory(node.inputs[1]);
  root.position = l.memory(node.inputs[2]);
  root.sizes = update_sizes(call);
  l.add_step_of(node, root, 0);
}

constexpr const Op* kGather[] = {&op::gather, &op::take};
constexpr const Op* kScatterAdd[] = {&op::scatter_add};
bool serves_f32_updates(const Call& call) { return call.inputs[1].dtype == Dtype::kF32; }
constexpr const Op* kUpdateRows[] = {&op::update_rows};
bool serves_four_bytes(const Call& call) { return size_of(call.inputs[0].dtype) == 4; }

constexpr StepKind kNumberedRowKinds[] = {{kGather, serves_all, add_gather},
                                          {kScatterAdd, serves_f32_updates, add_scatter_add},
                                          {kUpdateRows, serves_four_bytes, add_update_rows}};

}  // namespace

constexpr StepKinds numbered_row_steps = kNumberedRowKinds;

}  // namespace limpid::detail
