// Communicator: point-to-point messages of bytes between ranks. It does no arithmetic. Depends only
// on core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace limpid::distribute {

// One of several ranks that run the same program. All ranks must make the same calls in the same
// order, each from one thread.
class Communicator {
 public:
  // Bytes to send to another rank; empty messages are not sent.
  struct Sent {
    int to = 0;
    std::span<const std::byte> bytes;
  };
  // Memory for a message of another rank; it must have exactly the size of the message.
  struct Received {
    int from = 0;
    std::span<std::byte> bytes;
  };
  using Arrived = std::function<void(std::size_t received)>;

  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }  // in [0, size())
  int size() const { return size_; }
  // A name for display: "rank 3", with the host if there are several hosts.
  virtual std::string name(int rank) const;

  // Sends and receives all messages, and returns when all are complete. Messages between two ranks
  // are matched in the order in which both list them. `arrived` is called with the index of each
  // Received as soon as it is complete, in any order. Memory must not overlap. Throws kIo if a rank
  // is lost.
  void exchange(std::span<const Sent> sent, std::span<const Received> received,
                const Arrived& arrived = {});

  // The maximum size of a message; larger ones are split, because MPI counts bytes in an int.
  void set_most_bytes(std::size_t bytes) { most_bytes_ = bytes; }

 protected:
  // `rank` is the index of this rank among `size`.
  Communicator(int rank, int size) : rank_(rank), size_(size) {}

  // As exchange(), for messages of 1 to most_bytes bytes.
  virtual void transfer(std::span<const Sent> sent, std::span<const Received> received,
                        const Arrived& arrived) = 0;

 private:
  int rank_, size_;
  std::size_t most_bytes_ = std::size_t{1} << 30;
};

// ---- collectives, built on exchange()

// The bytes of every rank, by rank. Sizes may differ.
std::vector<std::vector<std::byte>> all_gather(Communicator& ranks,
                                               std::span<const std::byte> mine);
// Broadcast: the bytes of rank 0, on every rank.
std::vector<std::byte> from_first(Communicator& ranks, std::span<const std::byte> mine);
// Returns when every rank has called it.
void barrier(Communicator& ranks);

}  // namespace limpid::distribute
