#include "limpid/serve/batcher.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "limpid/serve/deferred_posts.h"

namespace limpid::serve {
namespace {

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

// A batch that takes less is computed at once, by the thread that submitted it: waking a worker and
// being woken by it takes about as long, and on a busy machine a time slice.
constexpr double kBrief = 100e-6;  // seconds

}  // namespace

struct Batcher::Job {
  std::vector<Tensor> inputs;
  std::int64_t rows = 0;
  std::shared_ptr<const Ticket> ticket;
  Done done;
  Clock::time_point asked{}, begun{};
  std::int64_t taken = 0;  // rows
  std::uint64_t input_hash = 0;
  // If the job is split into pieces; guarded by the mutex.
  std::vector<std::shared_ptr<std::byte>> outputs = {};
  std::int64_t kept = 0;  // rows
  bool finished = false;
};

class Batcher::Lane {
 public:
  explicit Lane(Runner its_runner) : runner(std::move(its_runner)) {}

  Runner runner;
  std::list<std::shared_ptr<Job>> jobs;
  std::int64_t rows = 0;  // of the jobs, not yet taken
  int running = 0;        // batches; guarded by the mutex
  // Time and rows of the last batch; guarded by the mutex.
  double last_seconds = std::numeric_limits<double>::infinity();
  std::int64_t last_rows = 1;

  // Estimates the time of a batch of all waiting rows: that of the last batch, times the ratio of
  // the rows if there are more.
  double expected_seconds() const {
    return last_seconds * std::max(1.0, static_cast<double>(rows) / static_cast<double>(last_rows));
  }
};

Batcher::Batcher(const Options& options) : options_(options) {
  try {
    for (int i = 0; i < options_.workers; ++i)
      workers_.emplace_back([this, pieces = room_for_pieces()]() mutable { work(pieces); });
  } catch (...) {
    end_workers();
    throw;
  }
}

void Batcher::end_workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

Batcher::~Batcher() {
  end_workers();
  // A job left in its lane owns the model, and the model owns the lane: a cycle.
  for (const std::shared_ptr<Lane>& lane : waiting_) lane->jobs.clear();
}

std::shared_ptr<Batcher::Lane> Batcher::lane(Runner runner) {
  return std::make_shared<Lane>(std::move(runner));
}

bool Batcher::submit(const std::shared_ptr<Lane>& lane, std::vector<Tensor> inputs,
                     std::int64_t rows, std::shared_ptr<const Ticket> ticket, Done done) {
  auto job = std::make_shared<Job>();
  job->inputs = std::move(inputs);
  job->rows = rows;
  job->ticket = std::move(ticket);
  job->done = std::move(done);
  job->asked = Clock::now();
  std::list<std::shared_ptr<Job>> one;
  one.push_back(std::move(job));
  std::list<std::shared_ptr<Job>> given_up;  // destroyed unlocked, as they may own a model
  const std::lock_guard lock(mutex_);
  if (jobs_ >= options_.max_queue) drop_given_up(given_up);
  if (jobs_ >= options_.max_queue) return false;
  if (lane->jobs.empty()) waiting_.push_back(lane);
  lane->jobs.splice(lane->jobs.end(), one);
  ++jobs_;
  // A full batch need not wait until all requests of this round are read.
  const bool was_full = lane->rows >= options_.max_batch;
  lane->rows += rows;
  if (!was_full && lane->rows >= options_.max_batch && lane->expected_seconds() >= kBrief)
    changed_.notify_one();
  return true;
}

// Jobs whose clients have left make room for others.
void Batcher::drop_given_up(std::list<std::shared_ptr<Job>>& dropped) {
  for (const std::shared_ptr<Lane>& lane : waiting_)
    for (auto at = lane->jobs.begin(); at != lane->jobs.end();) {
      const auto job = at++;
      if ((*job)->taken > 0 || !(*job)->ticket->given_up()) continue;
      lane->rows -= (*job)->rows;
      --jobs_;
      dropped.splice(dropped.end(), lane->jobs, job);
    }
  for (auto at = waiting_.begin(); at != waiting_.end();)
    at = (*at)->jobs.empty() ? waiting_.erase(at) : std::next(at);
}

void Batcher::wake() {
  try {
    std::vector<Piece> pieces = room_for_pieces();
    while (run_brief_batch(pieces)) {
    }
  } catch (const std::bad_alloc&) {
    // The workers have reserved their memory.
  }
  bool any = false, several = false;
  {
    const std::lock_guard lock(mutex_);
    any = !waiting_.empty();
    several = waiting_.size() > 1;
  }
  if (several)
    changed_.notify_all();
  else if (any)
    changed_.notify_one();
}

// Returns false if no waiting batch may be computed here.
bool Batcher::run_brief_batch(std::vector<Piece>& pieces) {
  if (options_.max_delay > std::chrono::microseconds(0)) return false;
  std::unique_lock lock(mutex_);
  const auto at = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& lane) {
    return lane->rows <= options_.max_batch && lane->expected_seconds() < kBrief;
  });
  if (at == waiting_.end()) return false;
  run_batch(lock, at, pieces);
  return true;
}

// Computes a lane's next batch, unlocked, and locks again. Moves the lane to the end of the line.
void Batcher::run_batch(std::unique_lock<std::mutex>& lock, LaneAt at, std::vector<Piece>& pieces) {
  const std::shared_ptr<Lane> lane = *at;
  take(*lane, pieces);
  if (lane->jobs.empty()) {
    waiting_.erase(at);
  } else {
    waiting_.splice(waiting_.end(), waiting_, at);
    changed_.notify_one();
  }
  if (pieces.empty()) return;
  ++lane->running;
  lock.unlock();
  std::int64_t rows = 0;
  for (const Piece& piece : pieces) rows += piece.count;
  const Clock::time_point begin = Clock::now();
  {
    const DeferredPosts deferred;
    run(*lane, pieces);
  }
  const double taken = seconds(Clock::now() - begin);
  // Unlocked, as destroying the last job may destroy its model.
  pieces.clear();
  lock.lock();
  lane->last_seconds = taken;
  lane->last_rows = std::max<std::int64_t>(rows, 1);
  --lane->running;
  if (!lane->jobs.empty()) changed_.notify_one();
}

std::size_t Batcher::waiting() const {
  const std::lock_guard lock(mutex_);
  return jobs_;
}

// Memory for the pieces of a batch.
std::vector<Batcher::Piece> Batcher::room_for_pieces() const {
  constexpr std::int64_t kMost = 1024;
  std::vector<Piece> pieces;
  pieces.reserve(static_cast<std::size_t>(std::min(options_.max_batch, kMost)));
  return pieces;
}

void Batcher::work(std::vector<Piece>& pieces) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto at = ripe(lock);
    if (at == waiting_.end()) return;
    run_batch(lock, at, pieces);
  }
}

// Waits for a lane whose batch is full or has waited long enough; the end if the Batcher stops.
Batcher::LaneAt Batcher::ripe(std::unique_lock<std::mutex>& lock) {
  for (;;) {
    if (stop_) return waiting_.end();
    const Clock::time_point now = Clock::now();
    Clock::time_point next = Clock::time_point::max();
    for (auto lane = waiting_.begin(); lane != waiting_.end(); ++lane) {
      // The last free worker is for another model.
      if (options_.workers > 1 && (*lane)->running >= options_.workers - 1) continue;
      const Clock::time_point end = (*lane)->jobs.front()->asked + options_.max_delay;
      if ((*lane)->rows >= options_.max_batch || end <= now) return lane;
      next = std::min(next, end);
    }
    if (next == Clock::time_point::max())
      changed_.wait(lock);
    else
      changed_.wait_until(lock, next);
  }
}

// Takes up to max_batch rows, whole jobs if possible. Allocates nothing, as the pieces have room:
// if there is no memory to compute the batch, its jobs can still be told.
void Batcher::take(Lane& lane, std::vector<Piece>& pieces) {
  pieces.clear();
  std::int64_t room = options_.max_batch;
  while (!lane.jobs.empty() && pieces.size() < pieces.capacity()) {
    const std::shared_ptr<Job>& job = lane.jobs.front();
    const std::int64_t left = job->rows - job->taken;
    if (job->ticket->given_up() || job->finished) {
      lane.rows -= left;
      if (job->taken == 0) --jobs_;
      lane.jobs.pop_front();
      continue;
    }
    if (!pieces.empty() && left > room && (left <= options_.max_batch || room == 0)) break;
    const std::int64_t count = std::min(left, room);
    if (job->taken == 0) {
      job->begun = Clock::now();
      --jobs_;
    }
    pieces.push_back({job, job->taken, count});
    job->taken += count;
    lane.rows -= count;
    room -= count;
    if (job->taken < job->rows) {
      // The other jobs come before its next piece.
      lane.jobs.splice(lane.jobs.end(), lane.jobs, lane.jobs.begin());
      break;
    }
    lane.jobs.pop_front();
  }
}

void Batcher::run(const Lane& lane, std::span<const Piece> pieces) noexcept {
  std::int64_t rows = 0;
  for (const Piece& piece : pieces) rows += piece.count;
  std::vector<Tensor> outputs;
  try {
    if (pieces.size() == 1) {
      const Piece& piece = pieces.front();
      std::vector<Tensor> inputs;
      for (const Tensor& all : piece.job->inputs)
        inputs.push_back(piece.count == piece.job->rows ? all : all.rows(piece.first, piece.count));
      outputs = lane.runner.run(inputs);
    } else {
      std::vector<Tensor> inputs;
      for (std::size_t i = 0; i < pieces.front().job->inputs.size(); ++i) {
        const Type& one = pieces.front().job->inputs[i].type();
        inputs.push_back(Tensor::generate_bytes(
            {one.dtype, one.shape.replace(0, rows)}, [&](std::span<std::byte> to) {
              std::size_t at = 0;
              for (const Piece& piece : pieces) {
                const Tensor part = piece.job->inputs[i].rows(piece.first, piece.count);
                if (!part.bytes().empty())
                  std::memcpy(to.data() + at, part.bytes().data(), part.bytes().size());
                at += part.bytes().size();
              }
            }));
      }
      outputs = lane.runner.run(inputs);
    }
    hash(lane, pieces);
    lane.runner.on_batch(rows);
  } catch (...) {
    if (pieces.size() == 1) return fail(*pieces.front().job, std::current_exception());
    // Only the job that causes the error may get it: run each one alone.
    for (const Piece& piece : pieces) run(lane, {&piece, 1});
    return;
  }
  std::int64_t at = 0;
  for (const Piece& piece : pieces) {
    keep(lane, piece, outputs, at);
    at += piece.count;
  }
}

// Hashes the inputs of each job, when its first piece is computed.
void Batcher::hash(const Lane& lane, std::span<const Piece> pieces) {
  std::vector<std::span<const Tensor>> inputs;
  for (const Piece& piece : pieces)
    if (piece.first == 0) inputs.emplace_back(piece.job->inputs);
  if (inputs.empty()) return;
  const std::vector<std::uint64_t> hashes = lane.runner.hash(inputs);
  auto next = hashes.begin();
  for (const Piece& piece : pieces)
    if (piece.first == 0) piece.job->input_hash = *next++;
}

// Rows [at, at + piece.count) of the outputs are those of the piece.
void Batcher::keep(const Lane& lane, const Piece& piece, std::span<const Tensor> outputs,
                   std::int64_t at) {
  Job& job = *piece.job;
  Result result;
  try {
    if (piece.count == job.rows) {
      for (const Tensor& output : outputs) result.outputs.push_back(output.rows(at, piece.count));
      return finish(job, std::move(result));
    }
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::size_t row = lane.runner.outputs[i].bytes();
      if (job.outputs.size() == i)
        job.outputs.push_back(allocate_aligned(row * static_cast<std::size_t>(job.rows)));
      const Tensor part = outputs[i].rows(at, piece.count);
      if (!part.bytes().empty())
        std::memcpy(job.outputs[i].get() + row * static_cast<std::size_t>(piece.first),
                    part.bytes().data(), part.bytes().size());
    }
    job.kept += piece.count;
    if (job.kept < job.rows) return;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Type& one = lane.runner.outputs[i];
      const Type all{one.dtype, one.shape.insert(0, job.rows)};
      result.outputs.push_back(
          Tensor::borrow(all, {job.outputs[i].get(), all.bytes()}, job.outputs[i]));
    }
  } catch (...) {
    return fail(job, std::current_exception());
  }
  finish(job, std::move(result));
}

void Batcher::fail(Job& job, const std::exception_ptr& error) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(job.finished, true)) return;
  }
  finish(job, {.error = error});
}

void Batcher::finish(Job& job, Result result) noexcept {
  result.input_hash = job.input_hash;
  result.queue_seconds = seconds(job.begun - job.asked);
  result.compute_seconds = seconds(Clock::now() - job.begun);
  try {
    job.done(std::move(result));
  } catch (...) {
    // There is nobody else to report to.
  }
}

}  // namespace limpid::serve
