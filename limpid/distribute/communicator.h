// Communicator: point-to-point messages of bytes between ranks. It does no arithmetic. Depends only
// on core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }  // in [0, size())
  int size() const { return size_; }
  // A name for display: "rank 3", with the host if there are several hosts.
  virtual std::string name(int rank) const;

  // Starts messages, which travel while the caller computes. The next exchange() completes them;
  // until then their memory must stay valid, also if an exception is thrown in between, so the
  // Communicator keeps its `owners`. Throws kIo if a rank is lost.
  void start(std::span<const Sent> sent, std::span<const Received> received,
             std::span<const std::shared_ptr<std::byte>> owners);
  // Sends and receives all messages, and returns when these and all started ones are complete.
  // Messages between two ranks are matched in the order in which both list them. Memory must not
  // overlap. Throws kIo if a rank is lost.
  void exchange(std::span<const Sent> sent, std::span<const Received> received);

  // The maximum size of a message; larger ones are split, because MPI counts bytes in an int.
  void set_most_bytes(std::size_t bytes) { most_bytes_ = bytes; }

 protected:
  // `rank` is the index of this rank among `size`.
  Communicator(int rank, int size) : rank_(rank), size_(size) {}

  // As start(), for messages of 1 to most_bytes bytes. `meanwhile`: the caller computes before it
  // calls complete().
  virtual void post(std::span<const Sent> sent, std::span<const Received> received,
                    bool meanwhile) = 0;
  // Returns when all posted messages are complete.
  virtual void complete() = 0;

 private:
  void post_pieces(std::span<const Sent> sent, std::span<const Received> received, bool meanwhile);

  int rank_, size_;
  std::vector<std::shared_ptr<std::byte>> owners_;  // of started messages
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
