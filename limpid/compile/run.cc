// Runs a plan band after band. The rows of a band are split into pieces for the threads of the
// pool; if there are too few rows, each step is split by itself. Nothing here, in run_program.cc or
// in the steps allocates, locks or throws.
#include <algorithm>
#include <span>

#include "limpid/compile/thread_pool.h"
#include "limpid/compile/worker.h"
#include "limpid/core/stop_check.h"

namespace limpid::detail {
namespace {

// With a StopCheck, a part of the work takes about this long by the plan's estimate.
constexpr double kBetweenChecks = 2e7;

// The number of parts of this much work.
std::size_t parts_between_checks(double nanoseconds) {
  constexpr double kMost = 1 << 20;
  return static_cast<std::size_t>(std::clamp(nanoseconds / kBetweenChecks, 1.0, kMost));
}

// Asks only in the thread that called run(); the others see the answer.
bool stops(StopCheck* check, bool is_caller) {
  return check && (is_caller ? check->stops() : check->stopped());
}

void run_band_rows(const Band& band, Worker& worker, Range rows, StopCheck* check = nullptr,
                   bool is_caller = true) {
  const Step* const steps = worker.plan.steps.data() + band.first;
  const auto run_block = [&](Range block) {
    worker.band_row = block.begin;
    for (std::size_t i = 0; i < band.count; ++i) run_rows(steps[i], worker, block, band.rows);
    worker.band_row = 0;
  };
  const std::size_t count = rows.end - rows.begin;
  std::size_t most = band.block;
  if (check)
    most = std::clamp<std::size_t>(band.rows / parts_between_checks(band.nanoseconds), 1, most);
  else if (count <= most)
    return run_block(rows);
  const std::size_t blocks = (count + most - 1) / most;
  for (std::size_t b = 0; b < blocks && !stops(check, is_caller); ++b)
    run_block({rows.begin + count * b / blocks, rows.begin + count * (b + 1) / blocks});
}

// ---- threads

Worker worker_of(const Plan& plan, void* const* slots, std::byte* scratch, int thread) {
  const std::size_t mine = static_cast<std::size_t>(thread) * plan.scratch_bytes;
  return {plan, slots, scratch + mine + plan.band_bytes, static_cast<std::ptrdiff_t>(mine)};
}

struct Shared {
  const Plan& plan;
  const Band& band;
  std::span<const Step> steps;  // beside each other
  void* const* slots;
  std::byte* scratch;
  std::size_t pieces;
  StopCheck* check;
};

void run_shared_rows(void* context, std::size_t index, int thread) {
  const auto& s = *static_cast<const Shared*>(context);
  Worker worker = worker_of(s.plan, s.slots, s.scratch, thread);
  run_band_rows(s.band, worker, part(s.band.rows, 1, index, s.pieces), s.check, thread == 0);
}

void run_shared_step(void* context, std::size_t index, int thread) {
  const auto& s = *static_cast<const Shared*>(context);
  if (stops(s.check, thread == 0)) return;
  Worker worker = worker_of(s.plan, s.slots, s.scratch, thread);
  // All rows are in work at once, visible to all threads.
  worker.beyond = 0;
  for (const Step& step : s.steps) run_piece(step, worker, {index, s.pieces});
}

// The number of pieces that this much work is worth splitting into.
std::size_t pieces_of(double nanoseconds, double worth_sharing, int threads) {
  if (threads <= 1) return 1;
  if (worth_sharing <= 0) return static_cast<std::size_t>(threads);
  const double worth = nanoseconds / worth_sharing;
  if (worth < 2) return 1;
  return static_cast<std::size_t>(std::min<double>(threads, worth));
}

// Whether each thread takes some rows through all steps of the band, rather than a part of every
// step's columns. Every thread then reads all weights, which pays if they fit its own cache or if
// each thread has many rows.
bool shares_rows(const Band& band, std::size_t pieces) {
  constexpr std::size_t kInOwnCache = std::size_t{1} << 20;
  constexpr std::size_t kFewRows = 2, kManyRows = 48;
  const std::size_t rows = band.rows / pieces;
  if (band.rows > band.block) return true;
  return rows >= (band.weight_bytes <= kInOwnCache ? kFewRows : kManyRows);
}

}  // namespace

bool runs_whole(const Plan& plan, int threads) {
  return !plan.actions.empty() &&
         std::all_of(plan.bands.begin(), plan.bands.end(), [&](const Band& band) {
           return pieces_of(band.nanoseconds, plan.worth_sharing, threads) == 1;
         });
}

double nanoseconds_of(const Plan& plan) {
  double all = 0;
  for (const Band& band : plan.bands) all += band.nanoseconds;
  return all;
}

void run(const Plan& plan, void* const* slots, std::byte* scratch, ThreadPool* pool,
         StopCheck* check) noexcept {
  const int threads = pool ? pool->threads() : 1;
  Worker alone = worker_of(plan, slots, scratch, 0);
  for (const Band& band : plan.bands) {
    if (stops(check, true)) return;
    const std::size_t pieces = pieces_of(band.nanoseconds, plan.worth_sharing, threads);
    if (band.rows > 0 && pieces == 1) {
      run_band_rows(band, alone, {0, band.rows}, check);
      continue;
    }
    if (band.rows > 0 && shares_rows(band, pieces)) {
      Shared shared{plan, band, {}, slots, scratch, std::min(pieces, band.rows), check};
      pool->run(shared.pieces, run_shared_rows, &shared);
      continue;
    }
    const std::span<const Step> steps = std::span(plan.steps).subspan(band.first, band.count);
    for (std::size_t i = 0; i < steps.size();) {
      std::size_t end = i + 1;
      double nanoseconds = steps[i].nanoseconds;
      for (; end < steps.size() && steps[end].beside; ++end) nanoseconds += steps[end].nanoseconds;
      Shared shared{plan, band, steps.subspan(i, end - i), slots, scratch, 1, check};
      if (!steps[i].root || steps[i].root->is_shared()) {
        shared.pieces = pieces_of(nanoseconds, plan.worth_sharing, threads);
        if (check) shared.pieces = std::max(shared.pieces, parts_between_checks(nanoseconds));
      }
      if (shared.pieces == 1)
        for (const Step& step : shared.steps)
          if (step.root && step.root->runs_plans())
            step.root->run_plans(alone, scratch, pool, check);
          else
            run_piece(step, alone, {0, 1});
      else if (pool)
        pool->run(shared.pieces, run_shared_step, &shared);
      else
        for (std::size_t p = 0; p < shared.pieces; ++p) run_shared_step(&shared, p, 0);
      if (stops(check, true)) return;
      i = end;
    }
  }
}

}  // namespace limpid::detail
