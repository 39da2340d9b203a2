#include "limpid/distribute/in_process.h"

#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

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
  void transfer(std::span<const Sent> sent, std::span<const Received> received,
                const Arrived& arrived) override {
    {
      const std::lock_guard lock(world_.mutex);
      for (const Sent& s : sent)
        world_.box(rank(), s.to).emplace_back(s.bytes.begin(), s.bytes.end());
    }
    world_.changed.notify_all();
    std::vector<bool> done(received.size());
    for (std::size_t left = received.size(); left > 0; --left) {
      const std::size_t i = take_one(received, done);
      done[i] = true;
      arrived(i);
    }
  }

  // Waits until one of the messages not yet received arrives, and returns its index.
  std::size_t take_one(std::span<const Received> received, const std::vector<bool>& done) {
    std::unique_lock lock(world_.mutex);
    for (;;) {
      if (world_.failed >= 0)
        throw Error(ErrorCode::kIo, fmt::format("rank {} has failed", world_.failed));
      std::vector<bool> asked(world_.size);
      for (std::size_t i = 0; i < received.size(); ++i) {
        const int from = received[i].from;
        if (done[i] || asked[static_cast<std::size_t>(from)]) continue;
        asked[static_cast<std::size_t>(from)] = true;
        auto& box = world_.box(from, rank());
        if (box.empty()) continue;
        const std::vector<std::byte> message = std::move(box.front());
        box.pop_front();
        if (message.size() != received[i].bytes.size())
          throw Error(ErrorCode::kInternal,
                      fmt::format("rank {} expected {} bytes of rank {}, got {}", rank(),
                                  received[i].bytes.size(), from, message.size()));
        std::copy(message.begin(), message.end(), received[i].bytes.begin());
        return i;
      }
      world_.changed.wait(lock);
    }
  }

  World& world_;
};

}  // namespace

void run_in_process(int count, const std::function<void(Communicator&)>& code) {
  if (count < 1)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("expected 1 or more ranks, got {}", count));
  World world(count);
  const auto run = [&](int rank) {
    try {
      ThreadRank ranks(world, rank);
      code(ranks);
    } catch (...) {
      const std::lock_guard lock(world.mutex);
      if (world.failed < 0) {
        world.failed = rank;
        world.error = std::current_exception();
      }
      world.changed.notify_all();
    }
  };
  {
    std::vector<std::jthread> threads;
    const limpid::detail::BlockedSignals blocked;
    for (int rank = 1; rank < count; ++rank) threads.emplace_back(run, rank);
    run(0);
  }
  if (world.error) std::rethrow_exception(world.error);
}

}  // namespace limpid::distribute
