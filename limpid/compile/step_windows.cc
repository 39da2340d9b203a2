// Pooling as steps.
#include <fmt/format.h>

#include <algorithm>

#include "limpid/compile/lowering.h"
#include "limpid/compile/worker.h"
#include "limpid/ops/pool.h"

namespace limpid::detail {
namespace {

// A reduction of windows of planes, its rows.
struct WindowsStep final : UnaryRoot {
  const Op* op = nullptr;
  Windows windows{};
  bool across = false;  // lanes are planes; else windows beside each other

  std::string text(const Names& s) const override {
    const auto& [z, y, x] = windows.axes;
    return fmt::format("{} = {} {}x{}x{}x{} by {}x{}x{} {}", s(out), op->name, windows.planes,
                       z.size, y.size, x.size, z.kernel, y.kernel, x.kernel, s(in));
  }
  SlotId* result() override { return op == &op::max_pool_indices ? nullptr : &out; }
  std::size_t row_count() const override { return planes(); }
  bool joins_rows() const override { return true; }
  std::size_t scratch_bytes(const kernels::Kernels&) const override {
    std::size_t taps = 1;
    for (const WindowAxis& a : windows.axes)
      taps *= static_cast<std::size_t>(std::min(a.kernel, a.size));
    const std::size_t beside = moves() ? sizeof(float) * elements() * kMostLanes : 0;
    return sizeof(std::int64_t) * taps + beside;
  }

  void run(const Step& step, const Worker& worker, Piece piece) const override {
    run_range(step, worker, part(planes(), 1, piece.index, piece.count));
  }
  void run_rows(const Step& step, const Worker& worker, Range range,
                std::size_t all_rows) const override {
    const std::size_t each = planes() / all_rows;
    run_range(step, worker, {range.begin * each, range.end * each});
  }

 private:
  std::size_t planes() const { return static_cast<std::size_t>(windows.planes); }
  std::size_t results() const { return static_cast<std::size_t>(windows.results()); }
  std::size_t elements() const { return static_cast<std::size_t>(windows.elements()); }

  void run_range(const Step& step, const Worker& worker, Range range) const {
    if (across)
      run_across(worker, range);
    else
      for (std::size_t p = range.begin; p < range.end; ++p) run_plane(worker, p);
    if (op != &op::max_pool_indices)
      run_behind(step, worker, {0, range, {0, results()}}, planes(), results());
  }

  // The places of a window's elements, in scratch memory; returns how many there are.
  std::size_t find_taps(const Worker& worker, const std::array<std::int64_t, 3>& window) const {
    auto* const taps = reinterpret_cast<std::int64_t*>(worker.scratch);
    std::size_t count = 0;
    for_each_tap(windows, window, [&](std::int64_t place) { taps[count++] = place; });
    return count;
  }

  // Windows with the taps in scratch memory: the first is that of this plane and number.
  void reduce(const Worker& worker, std::size_t plane, std::size_t window,
              kernels::WindowRun run) const {
    const kernels::Kernels& k = *worker.plan.kernels;
    run.taps = reinterpret_cast<const std::int64_t*>(worker.scratch);
    const std::size_t first = plane * results() + window;
    if (op == &op::max_pool_indices)
      k.argmax_windows(run, across ? 0 : run.step, worker.at<std::int32_t>(out) + first);
    else
      (op == &op::max_pool ? k.max_windows : k.sum_windows)(run, worker.at<float>(out) + first);
  }

  // The same window of several planes, then the next one. The planes are transposed before: lanes
  // far apart are slow to load (2.7 instead of 1.3 ms for the means of 512 planes of 56 x 56).
  void run_across(const Worker& worker, Range range) const {
    const std::size_t together = moves() ? worker.plan.kernels->lanes : range.end - range.begin;
    for (std::size_t p = range.begin; p < range.end; p += together)
      run_planes(worker, p, std::min(together, range.end - p));
  }
  void run_planes(const Worker& worker, std::size_t first, std::size_t count) const {
    const float* x = worker.at<const float>(in) + first * elements();
    auto* const taps = reinterpret_cast<std::int64_t*>(worker.scratch);
    if (moves()) {
      float* const beside =
          reinterpret_cast<float*>(worker.scratch + scratch_bytes(*worker.plan.kernels)) -
          elements() * kMostLanes;
      worker.plan.kernels->transpose(x, count, elements(), {0, elements()}, beside);
      x = beside;
    }
    Windows one = windows;
    one.planes = 1;
    std::size_t number = 0;
    for_each_window(one, [&](std::int64_t, const std::array<std::int64_t, 3>& window) {
      const std::size_t found = find_taps(worker, window);
      if (moves())
        for (std::size_t t = 0; t < found; ++t) taps[t] *= static_cast<std::int64_t>(count);
      reduce(worker, first, number++,
             {x, nullptr, found, count, moves() ? 1 : elements(), results()});
    });
  }
  // The kernel of places reads them from the taps; large planes would leave the caches.
  bool moves() const {
    return across && op != &op::max_pool_indices && elements() <= std::size_t{1} << 16;
  }
  static constexpr std::size_t kMostLanes = 16;

  // The full windows of a row together; those at its ends, which padding cuts, one by one.
  void run_plane(const Worker& worker, std::size_t plane) const {
    const auto& [z, y, x] = windows.axes;
    const auto [first, last] = full_windows(x);
    std::size_t number = 0;
    for (std::int64_t i = 0; i < z.count; ++i)
      for (std::int64_t j = 0; j < y.count; ++j)
        for (std::int64_t k = 0; k < x.count;) {
          const std::int64_t count = k == first && first < last ? last - first : 1;
          const std::size_t taps = find_taps(worker, {i, j, k});
          reduce(worker, plane, number,
                 {worker.at<const float>(in) + plane * elements(), nullptr, taps,
                  static_cast<std::size_t>(count), static_cast<std::size_t>(x.stride), 1});
          k += count;
          number += static_cast<std::size_t>(count);
        }
  }

 public:
  // The windows [first, second) along an axis that padding does not cut.
  static std::pair<std::int64_t, std::int64_t> full_windows(const WindowAxis& a) {
    const auto is_full = [&](std::int64_t o) { return taps_of(a, o).count == a.kernel; };
    const std::int64_t first = a.low == 0 ? 0 : (a.low - 1) / a.stride + 1;
    std::int64_t last = a.count;
    // Those that reach beyond the end are the last ones.
    const std::int64_t room = a.size + a.low - 1 - (a.kernel - 1) * a.dilation;
    last = room < 0 ? 0 : std::min(last, room / a.stride + 1);
    return first < last && is_full(first) ? std::pair{first, last} : std::pair{a.count, a.count};
  }
};

void add_windows(Lowering& l, const Node& node, const Call& call) {
  WindowsStep root;
  root.op = node.op;
  root.windows = windows_of(call);
  const auto [first, last] = WindowsStep::full_windows(root.windows.axes[2]);
  root.across = last - first < static_cast<std::int64_t>(l.kernels().lanes);
  root.in = l.memory(node.inputs[0]);
  l.add_step_of(node, root, kNanosecondsPerLane * static_cast<double>(call.op.flops(call)),
                node.op == &op::max_pool_indices ? 0 : l.elements(node.first_output));
}

constexpr const Op* kWindows[] = {&op::reduce_window_sum, &op::max_pool, &op::max_pool_indices};

constexpr StepKind kWindowKinds[] = {{kWindows, serves_f32, add_windows}};

}  // namespace

constexpr StepKinds window_steps = kWindowKinds;

}  // namespace limpid::detail
