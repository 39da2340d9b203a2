#include "limpid/distribute/in_process.h"

#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "limpid/core/detail/blocked_signals.h"
#include "limpid/core/error.h"

namespace limpid::distribute {
namespace {

// The state that all ranks share.
struct World {
  explicit World(int ranks) : size(static_cast<std::size_t>(ranks)), boxes(size * size) {}

  std::deque<std::vector<std::byte>>& box(int from, int to) {
    return boxes[static_cast<std::size_t>(from) * size + static_cast<std::size_t>(to)];
  }

  std::size_t size;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::deque<std::vector<std::byte>>>
      boxes;        // undelivered messages, by sender and receiver
  int failed = -1;  // the first rank that failed; -1: none
  std::exception_ptr error;
};

class ThreadRank : public Communicator {
 public:
  ThreadRank(World& world, int rank)
      : Communicator(rank, static_cast<int>(world.size)), world_(world) {}

 private:
  void post(std::span<const Sent> sent, std::span<const Received> received, bool) override {
    {
      const std::lock_guard lock(world_.mutex);
      for (const Sent& s : sent)
        world_.box(rank(), s.to).emplace_back(s.bytes.begin(), s.bytes.end());
    }
    world_.changed.notify_all();
    pending_.insert(pending_.end(), received.begin(), received.end());
  }

  void complete() override {
    for (const Received& r : std::exchange(pending_, {})) take(r);
  }

  // Waits for the next message of a rank.
  void take(const Received& received) {
    std::unique_lock lock(world_.mutex);
    auto& box = world_.box(received.from, rank());
    world_.changed.wait(lock, [&] { return world_.failed >= 0 || !box.empty(); });
    if (world_.failed >= 0)
      throw Error(ErrorCode::kIo, fmt::format("rank {} has failed", world_.failed));
    const std::vector<std::byte> message = std::move(box.front());
    box.pop_front();
    if (message.size() != received.bytes.size())
      throw Error(ErrorCode::kInternal,
                  fmt::format("rank {} expected {} bytes of rank {}, got {}", rank(),
                              received.bytes.size(), received.from, message.size()));
    std::copy(message.begin(), message.end(), received.bytes.begin());
  }

  std::vector<Received> pending_;
  World& world_;
};

}  // namespace

void run_in_process(int count, const std::function<void(Communicator&)>& code) {
  if (count < 1)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("expected 1 or more ranks, got {}", count));
  World world(count);
  // The other ranks may wait for one that fails. Called in a catch.
  const auto fail = [&](int rank) {
    const std::lock_guard lock(world.mutex);
    if (world.failed < 0) {
      world.failed = rank;
      world.error = std::current_exception();
    }
    world.changed.notify_all();
  };
  const auto run = [&](int rank) {
    try {
      ThreadRank ranks(world, rank);
      code(ranks);
    } catch (...) {
      fail(rank);
    }
  };
  {
    std::vector<std::jthread> threads;
    int rank = 1;
    try {
      const limpid::detail::BlockedSignals blocked;
      for (; rank < count; ++rank) threads.emplace_back(run, rank);
    } catch (...) {  // the system has no more threads
      fail(rank);
    }
    if (rank == count) run(0);
  }
  if (world.error) std::rethrow_exception(world.error);
}

}  // namespace limpid::distribute
