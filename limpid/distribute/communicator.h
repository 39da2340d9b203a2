// Communicator: ranks that send bytes to each other, point to point. Nothing is ever added up on
// the way. Depends on core alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace limpid::distribute {

// One of several ranks that run the same program. All of them make the same calls in the same
// order; one thread of each makes them.
class Communicator {
 public:
  // Bytes on their way to another rank; empty ones are not sent.
  struct Sent {
    int to = 0;
    std::span<const std::byte> bytes;
  };
  // Memory for what another rank sends; exactly as many bytes.
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
  // For people: "rank 3", and the host where there are several.
  virtual std::string name(int rank) const;

  // Sends and receives all of these, and returns when everything is through. What one rank sends
  // another one is received in the order in which both name it. `arrived` is called with the index
  // of each Received as soon as it is complete, in any order. No memory may be named twice. Throws
  // kIo where a rank is lost.
  void exchange(std::span<const Sent> sent, std::span<const Received> received,
                const Arrived& arrived = {});

  // Larger messages are cut into pieces of this many bytes, because MPI counts bytes in an int.
  void set_most_bytes(std::size_t bytes) { most_bytes_ = bytes; }

 protected:
  // Of this rank among so many.
  Communicator(int rank, int size) : rank_(rank), size_(size) {}

  // As exchange(), of messages of 1 to most_bytes bytes.
  virtual void transfer(std::span<const Sent> sent, std::span<const Received> received,
                        const Arrived& arrived) = 0;

 private:
  int rank_, size_;
  std::size_t most_bytes_ = std::size_t{1} << 30;
};

// ---- made of exchanges

// Every rank's bytes, by rank. Any number of bytes each.
std::vector<std::vector<std::byte>> all_gather(Communicator& ranks,
                                               std::span<const std::byte> mine);
// The bytes of rank 0, on every rank.
std::vector<std::byte> from_first(Communicator& ranks, std::span<const std::byte> mine);
// Returns when every rank has called it.
void barrier(Communicator& ranks);

}  // namespace limpid::distribute
