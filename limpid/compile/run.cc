// Runs a plan band after band. The rows of a band are split into pieces for the threads of the
// pool; if there are too few rows, each step is split by itself. Nothing here, in run_program.cc or
// in the steps allocates, locks or throws.
#include <algorithm>
#include <span>

#include "limpid/compile/thread_pool.h"
#include "limpid/compile/worker.h"

namespace limpid::detail {
namespace {

void run_band_rows(const Band& band, Worker& worker, Range rows) {
  const Step* const steps = worker.plan.steps.data() + band.first;
  const auto run_block = [&](Range block) {
    worker.band_row = block.begin;
    for (std::size_t i = 0; i < band.count; ++i) run_rows(steps[i], worker, block, band.rows);
    worker.band_row = 0;
  };
  const std::size_t count = rows.end - rows.begin;
  if (count <= band.block) return run_block(rows);
  const std::size_t blocks = (count + band.block - 1) / band.block;
  for (std::size_t b = 0; b < blocks; ++b)
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
};

void run_shared_rows(void* context, std::size_t index, int thread) {
  const auto& s = *static_cast<const Shared*>(context);
  Worker worker = worker_of(s.plan, s.slots, s.scratch, thread);
  run_band_rows(s.band, worker, part(s.band.rows, 1, index, s.pieces));
}

void run_shared_step(void* context, std::size_t index, int thread) {
  const auto& s = *static_cast<const Shared*>(context);
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

void run(const Plan& plan, void* const* slots, std::byte* scratch, ThreadPool* pool) noexcept {
  const int threads = pool ? pool->threads() : 1;
  Worker alone = worker_of(plan, slots, scratch, 0);
  for (const Band& band : plan.bands) {
    const std::size_t pieces = pieces_of(band.nanoseconds, plan.worth_sharing, threads);
    if (band.rows > 0 && pieces == 1) {
      run_band_rows(band, alone, {0, band.rows});
      continue;
    }
    if (band.rows > 0 && shares_rows(band, pieces)) {
      Shared shared{plan, band, {}, slots, scratch, std::min(pieces, band.rows)};
      pool->run(shared.pieces, run_shared_rows, &shared);
      continue;
    }
    const std::span<const Step> steps = std::span(plan.steps).subspan(band.first, band.count);
    for (std::size_t i = 0; i < steps.size();) {
      std::size_t end = i + 1;
      double nanoseconds = steps[i].nanoseconds;
      for (; end < steps.size() && steps[end].beside; ++end) nanoseconds += steps[end].nanoseconds;
      Shared shared{plan, band, steps.subspan(i, end - i), slots, scratch, 1};
      if (!steps[i].root || steps[i].root->is_shared())
        shared.pieces = pieces_of(nanoseconds, plan.worth_sharing, threads);
      if (shared.pieces == 1)
        for (const Step& step : shared.steps) run_piece(step, alone, {0, 1});
      else
        pool->run(shared.pieces, run_shared_step, &shared);
      i = end;
    }
  }
}

}  // namespace limpid::detail
