#include "limpid/distribute/communicator.h"

#include <fmt/format.h>

#include <algorithm>

namespace limpid::distribute {

std::string Communicator::name(int rank) const { return fmt::format("rank {}", rank); }

void Communicator::post_pieces(std::span<const Sent> sent, std::span<const Received> received,
                               bool meanwhile) {
  std::vector<Sent> out;
  std::vector<Received> in;
  const auto cut = [&](auto bytes, const auto& add) {
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), most_bytes_)))
      add(bytes.first(std::min(bytes.size(), most_bytes_)));
  };
  for (const Sent& s : sent) cut(s.bytes, [&](auto bytes) { out.push_back({s.to, bytes}); });
  for (const Received& r : received)
    cut(r.bytes, [&](auto bytes) { in.push_back({r.from, bytes}); });
  post(out, in, meanwhile);
}

void Communicator::start(std::span<const Sent> sent, std::span<const Received> received,
                         std::span<const std::shared_ptr<std::byte>> owners) {
  owners_.insert(owners_.end(), owners.begin(), owners.end());
  post_pieces(sent, received, true);
}

void Communicator::exchange(std::span<const Sent> sent, std::span<const Received> received) {
  post_pieces(sent, received, false);
  complete();
  owners_.clear();
}

std::vector<std::vector<std::byte>> all_gather(Communicator& ranks,
                                               std::span<const std::byte> mine) {
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<std::uint64_t> sizes(size);
  sizes[static_cast<std::size_t>(ranks.rank())] = mine.size();
  std::vector<std::vector<std::byte>> all(size);
  all[static_cast<std::size_t>(ranks.rank())].assign(mine.begin(), mine.end());
  const auto swap = [&](std::span<const std::byte> out, const auto& in) {
    std::vector<Communicator::Sent> sent;
    std::vector<Communicator::Received> received;
    for (int r = 0; r < ranks.size(); ++r) {
      if (r == ranks.rank()) continue;
      sent.push_back({r, out});
      received.push_back({r, in(static_cast<std::size_t>(r))});
    }
    ranks.exchange(sent, received);
  };
  const std::uint64_t bytes = mine.size();
  swap(std::as_bytes(std::span(&bytes, 1)),
       [&](std::size_t r) { return std::as_writable_bytes(std::span(&sizes[r], 1)); });
  for (std::size_t r = 0; r < size; ++r) all[r].resize(sizes[r]);
  swap(mine, [&](std::size_t r) { return std::span(all[r]); });
  return all;
}

// A binomial tree: in round k every rank below 2^k sends to the rank 2^k above it.
std::vector<std::byte> from_first(Communicator& ranks, std::span<const std::byte> mine) {
  std::vector<std::byte> bytes;
  if (ranks.rank() == 0) bytes.assign(mine.begin(), mine.end());
  std::uint64_t size = bytes.size();
  for (int step = 1; step < ranks.size(); step *= 2) {
    if (ranks.rank() < step && ranks.rank() + step < ranks.size()) {
      const int to = ranks.rank() + step;
      const Communicator::Sent sent[] = {{to, std::as_bytes(std::span(&size, 1))}, {to, bytes}};
      ranks.exchange(sent, {});
    } else if (ranks.rank() >= step && ranks.rank() < 2 * step) {
      const int from = ranks.rank() - step;
      const Communicator::Received length[] = {{from, std::as_writable_bytes(std::span(&size, 1))}};
      ranks.exchange({}, length);
      bytes.resize(size);
      const Communicator::Received content[] = {{from, bytes}};
      ranks.exchange({}, content);
    }
  }
  return bytes;
}

void barrier(Communicator& ranks) { all_gather(ranks, {}); }

}  // namespace limpid::distribute
