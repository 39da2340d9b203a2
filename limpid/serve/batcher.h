// Batcher: rows of several requests computed together. It knows no protocol and no HTTP. Leans on
// core and ticket.h.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
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

// Threads that take what waits: the models take turns, and of one model's jobs as many as make
// max_batch rows go together. A job of more rows is cut into pieces, between which others have
// their turn. None of this changes a bit of an answer, since no row depends on another.
class Batcher {
 public:
  struct Options {
    int workers = 1;              // batches that are computed at the same time
    std::int64_t max_batch = 64;  // rows
    // How long a job may wait for others to fill its batch; 0: a free worker takes what is there.
    std::chrono::microseconds max_delay{0};
    std::size_t max_queue = 1024;  // jobs that wait, of all models
  };

  // What became of a job.
  struct Result {
    std::vector<Tensor> outputs = {};  // [rows, ...]
    std::uint64_t input_hash = 0;      // what Runner::hash said
    std::exception_ptr error = {};     // what the model threw; then there are no outputs
    double queue_seconds = 0;
    double compute_seconds = 0;
  };
  using Done = std::function<void(Result result)>;  // on a worker; must not throw

  // The model of some jobs.
  struct Runner {
    // The outputs [n, ...] of inputs [n, ...], for any n from 0 to max_batch; any thread's.
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
  // Waits for the batches under way. Jobs that wait are dropped.
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // A queue for a model.
  std::shared_ptr<Lane> lane(Runner runner);

  // A job of the rows [rows, ...] of the model's inputs. One whose ticket is given up before its
  // turn is dropped, and `done` never called. False where the queue is full. Who has several jobs
  // at hand submits them all, and then calls wake(): the first worker takes them together.
  bool submit(const std::shared_ptr<Lane>& lane, std::vector<Tensor> inputs, std::int64_t rows,
              std::shared_ptr<const Ticket> ticket, Done done);

  // Workers learn of what was submitted.
  void wake();

  // Jobs that wait.
  std::size_t waiting() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Job;
  // Some rows of a job.
  struct Piece {
    std::shared_ptr<Job> job;
    std::int64_t first = 0, count = 0;
  };

  void work();
  std::list<std::shared_ptr<Lane>>::iterator ripe(std::unique_lock<std::mutex>& lock);
  std::vector<Piece> take(Lane& lane);
  void run(const Lane& lane, std::span<const Piece> pieces);
  void keep(const Lane& lane, const Piece& piece, std::span<const Tensor> outputs, std::int64_t at);
  void fail(const Piece& piece, const std::exception_ptr& error);
  void finish(Job& job, Result result);
  void hash(const Lane& lane, std::span<const Piece> pieces);

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<Lane>> waiting_;  // those that have jobs; the next turn is the first's
  std::size_t jobs_ = 0;
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace limpid::serve
