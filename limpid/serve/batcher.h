// Batcher: dynamic batching: computes rows of several requests together. Independent of protocols
// and HTTP. Depends on core, ticket.h and deferred_posts.h.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "limpid/core/tensor.h"
#include "limpid/serve/ticket.h"

namespace limpid::serve {

// Worker threads take waiting jobs. Models take turns; jobs of one model are combined up to
// max_batch rows. A job with more rows is split into pieces, with other jobs in between. Rows are
// independent, so this does not change the bits of any result. A batch that takes less time than
// waking a worker is computed by the thread that calls wake().
class Batcher {
 public:
  struct Options {
    // Batches computed at the same time; of one model, one fewer if there are several, so that a
    // slow model does not hold up the others.
    int workers = 1;
    std::int64_t max_batch = 64;  // rows
    // How long a job may wait for others to fill its batch; 0: a free worker takes the waiting jobs
    // at once.
    std::chrono::microseconds max_delay{0};
    std::size_t max_queue = 1024;  // maximum number of waiting jobs, over all models
  };

  // The result of a job.
  struct Result {
    std::vector<Tensor> outputs = {};  // [rows, ...]
    std::uint64_t input_hash = 0;      // from Runner::hash
    std::exception_ptr error = {};     // the exception of the model; then there are no outputs
    double queue_seconds = 0;
    double compute_seconds = 0;
  };
  // Called on a worker, or by wake(). What it throws is ignored.
  using Done = std::function<void(Result result)>;

  // A model to run jobs on.
  struct Runner {
    // Maps inputs [n, ...] to outputs [n, ...], for any n from 0 to max_batch. Must be thread-safe.
    std::function<std::vector<Tensor>(std::span<const Tensor> inputs)> run;
    std::vector<Type> outputs;  // of one row
    std::function<void(std::int64_t rows)> on_batch = [](std::int64_t) {};
    // A hash of each job's inputs. Called once for all jobs of a batch.
    std::function<std::vector<std::uint64_t>(std::span<const std::span<const Tensor>> inputs)>
        hash = [](std::span<const std::span<const Tensor>> inputs) {
          return std::vector<std::uint64_t>(inputs.size());
        };
  };
  class Lane;

  explicit Batcher(const Options& options);
  // Waits for the running batches. Waiting jobs are dropped.
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // A queue for a model.
  std::shared_ptr<Lane> lane(Runner runner);

  // Submits a job: the model's inputs [rows, ...]. If the ticket is given up before its turn, the
  // job is dropped and `done` is never called. Returns false if the queue is full. Call wake()
  // after submitting; with several jobs, submit all of them first, so that a worker takes them
  // together.
  bool submit(const std::shared_ptr<Lane>& lane, std::vector<Tensor> inputs, std::int64_t rows,
              std::shared_ptr<const Ticket> ticket, Done done);

  // Has the submitted jobs computed: here, or on the workers.
  void wake();

  // The number of waiting jobs, and whether submit() would take no further one.
  std::size_t waiting() const;
  bool full() const { return waiting() >= options_.max_queue; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Job;
  // A range of rows of a job.
  struct Piece {
    std::shared_ptr<Job> job;
    std::int64_t first = 0, count = 0;
  };

  using LaneAt = std::list<std::shared_ptr<Lane>>::iterator;

  void end_workers();
  std::vector<Piece> room_for_pieces() const;
  void drop_given_up(std::list<std::shared_ptr<Job>>& dropped);
  void work(std::vector<Piece>& pieces);
  bool run_brief_batch(std::vector<Piece>& pieces);
  void run_batch(std::unique_lock<std::mutex>& lock, LaneAt at, std::vector<Piece>& pieces);
  LaneAt ripe(std::unique_lock<std::mutex>& lock);
  void take(Lane& lane, std::vector<Piece>& pieces);
  void run(const Lane& lane, std::span<const Piece> pieces) noexcept;
  void keep(const Lane& lane, const Piece& piece, std::span<const Tensor> outputs, std::int64_t at);
  void fail(Job& job, const std::exception_ptr& error);
  static void finish(Job& job, Result result) noexcept;
  void hash(const Lane& lane, std::span<const Piece> pieces);

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<Lane>> waiting_;  // lanes with jobs; the first one is next
  std::size_t jobs_ = 0;
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace limpid::serve
