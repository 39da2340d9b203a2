#include "limpid/distribute/reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/tensor.h"
#include "limpid/kernels/kernels.h"

namespace limpid::distribute {
namespace {

// The roots of all ranks' subtrees, from left to right.
std::vector<ShardRange> nodes_of_all(std::int64_t shards, int ranks) {
  std::vector<ShardRange> all;
  for (int r = 0; r < ranks; ++r)
    for (const ShardRange& root : roots_in(shards, shards_of(shards, ranks, r)))
      all.push_back(root);
  return all;
}

std::vector<ShardRange> each_alone(ShardRange run) {
  std::vector<ShardRange> all;
  for (std::int64_t s = run.begin; s < run.end; ++s) all.push_back({s, s + 1});
  return all;
}

// By measurement (bench/SCALE.md). Up to kDirect, every rank sends its roots to every other one.
constexpr std::size_t kDirect = std::size_t{8} << 10;        // bytes of a vector
constexpr std::size_t kWhole = std::size_t{64} << 10;        // bytes of a vector
constexpr std::size_t kWholeOfAll = std::size_t{512} << 10;  // bytes of the vectors of all ranks

// Whether every rank has one node of the same depth.
bool is_perfect(std::int64_t shards, int ranks) {
  return shards >= ranks && std::has_single_bit(static_cast<std::uint64_t>(shards)) &&
         std::has_single_bit(static_cast<unsigned>(ranks));
}

constexpr std::size_t kChunk = std::size_t{1} << 15;  // elements that a thread adds at once

// Adds the messages by which every rank gets the notes of all others.
void add_notes(std::span<const std::byte> note, std::span<const std::span<std::byte>> notes,
               int self, std::vector<Communicator::Sent>& sent,
               std::vector<Communicator::Received>& received) {
  for (int r = 0; r < static_cast<int>(notes.size()); ++r) {
    if (r == self) continue;
    sent.push_back({r, note});
    received.push_back({r, notes[static_cast<std::size_t>(r)]});
  }
}

Reduction::Shape checked(Reduction::Shape shape, int ranks) {
  if (shape.shards < ranks || shape.parts.size() != static_cast<std::size_t>(ranks))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("reduction: expected a shard or more and a part for each of {} ranks, "
                            "got {} shards and {} parts",
                            ranks, shape.shards, shape.parts.size()));
  return shape;
}

}  // namespace

bool sum_whole(std::size_t elements, int ranks) {
  const std::size_t bytes = elements * sizeof(float);
  return bytes <= kWhole && bytes * static_cast<std::size_t>(ranks) <= kWholeOfAll;
}

Reduction::Reduction(Communicator* ranks, Shape shape, ThreadPool* pool)
    : ranks_(ranks),
      shape_(checked(std::move(shape), size())),
      pool_(pool),
      own_(shards_of(shape_.shards, size(), rank())),
      values_(static_cast<std::size_t>(own_.size())),
      parts_({0, shape_.shards}, nodes_of_all(shape_.shards, size())),
      tails_(parts_),
      doubling_(shape_.elements * sizeof(float) > kDirect && is_perfect(shape_.shards, size()) &&
                std::all_of(shape_.parts.begin(), shape_.parts.end(),
                            [&](const ElementRange& p) { return p.size() == shape_.elements; })) {
  const bool is_small = shape_.elements * sizeof(float) <= kWhole;
  std::size_t others = 0;
  for (int r = 0; r < size(); ++r) {
    if (r == rank()) first_root_ = roots_.size();
    bool is_last = true;  // of its rank's, as a rank computes its last shards first
    for (const ShardRange& root : roots_in(shape_.shards, shards_of(shape_.shards, size(), r))) {
      roots_.push_back({r, root, !is_last && !is_small, r == rank() ? 0 : others++});
      if (r == rank()) subtrees_.emplace_back(root, each_alone(root));
      is_last = false;
    }
  }
  complete_.resize(subtrees_.size());
  received_ = allocate_aligned(others * (part(rank()).size() + shape_.tail) * sizeof(float));
}

void Reduction::begin() {
  free_.clear();
  for (const auto& memory : memory_) free_.push_back(reinterpret_cast<float*>(memory.get()));
  for (TreeSum& subtree : subtrees_) subtree.reset();
  complete_.assign(subtrees_.size(), false);
  unsent_ = subtrees_.size();
  parts_.reset();
  tails_.reset();
  std::vector<Communicator::Received> received;
  for (std::size_t i = roots_.size(); i-- > 0;)
    if (roots_[i].early) receive(roots_[i], received);
  if (!received.empty()) ranks_->start({}, received, {&received_, 1});
}

float* Reduction::take() {
  if (free_.empty()) {
    memory_.push_back(allocate_aligned((shape_.elements + shape_.tail) * sizeof(float)));
    return reinterpret_cast<float*>(memory_.back().get());
  }
  float* const values = free_.back();
  free_.pop_back();
  return values;
}

void Reduction::give_back(float* values) { free_.push_back(values); }

// into[i] = into[i] + from[i].
void Reduction::accumulate(float* into, const float* from, std::size_t count) const {
  struct Addition {
    float* into;
    const float* from;
    std::size_t count;
    kernels::ElementFn add;
  };
  using kernels::Element;
  Addition addition{
      into, from, count,
      kernels::kernels(kernels::default_isa()).element[static_cast<std::size_t>(Element::kAdd)]};
  const auto add_chunk = [](void* context, std::size_t chunk, int) {
    const DefaultFloatMode mode;
    const Addition& a = *static_cast<const Addition*>(context);
    const std::size_t first = chunk * kChunk;
    a.add(a.into + first, a.into + first, a.from + first, nullptr,
          std::min(kChunk, a.count - first));
  };
  const std::size_t chunks = (count + kChunk - 1) / kChunk;
  if (pool_ && chunks > 1)
    pool_->run(chunks, add_chunk, &addition);
  else
    for (std::size_t i = 0; i < chunks; ++i) add_chunk(&addition, i, 0);
}

void Reduction::add(std::int64_t shard, float* values) {
  std::size_t own = 0;
  while (roots_[first_root_ + own].shards.end <= shard) ++own;
  const std::int64_t begin = roots_[first_root_ + own].shards.begin;
  float** const of_root = values_.data() + (begin - own_.begin);
  const auto at = static_cast<std::size_t>(shard - begin);
  of_root[at] = values;
  complete_[own] = subtrees_[own].arrived(at, [&](std::size_t into, std::size_t from) {
    accumulate(of_root[into], of_root[from], shape_.elements + shape_.tail);
    give_back(of_root[from]);
  });
  send_complete();
}

// Sends the roots that are complete, the last ones first, as the others expect them.
void Reduction::send_complete() {
  std::vector<Communicator::Sent> sent;
  for (; unsent_ > 0 && complete_[unsent_ - 1] && roots_[first_root_ + unsent_ - 1].early;
       --unsent_)
    send(roots_[first_root_ + unsent_ - 1], sent);
  if (!sent.empty()) ranks_->start(sent, {}, memory_);
}

Reduction::Values Reduction::values_of(const Root& root) const {
  const ElementRange& mine = part(rank());
  if (root.rank == rank()) {
    float* const values = values_[static_cast<std::size_t>(root.shards.begin - own_.begin)];
    return {values + mine.begin, values + shape_.elements};
  }
  float* const values =
      reinterpret_cast<float*>(received_.get()) + root.room * (mine.size() + shape_.tail);
  return {values, values + mine.size()};
}

// A part and the tail are one message if the part is the end of the vector.
void Reduction::send(const Root& root, std::vector<Communicator::Sent>& sent) const {
  const float* const values = values_[static_cast<std::size_t>(root.shards.begin - own_.begin)];
  for (int r = 0; r < size(); ++r) {
    if (r == rank()) continue;
    const std::size_t with = part(r).end == shape_.elements ? shape_.tail : 0;
    sent.push_back({r, std::as_bytes(std::span(values + part(r).begin, part(r).size() + with))});
    if (with == 0)
      sent.push_back({r, std::as_bytes(std::span(values + shape_.elements, shape_.tail))});
  }
}

void Reduction::receive(const Root& root, std::vector<Communicator::Received>& received) const {
  if (root.rank == rank()) return;
  const auto [values, tail] = values_of(root);
  const std::size_t size = part(rank()).size();
  const std::size_t with = part(rank()).end == shape_.elements ? shape_.tail : 0;
  received.push_back({root.rank, std::as_writable_bytes(std::span(values, size + with))});
  if (with == 0)
    received.push_back({root.rank, std::as_writable_bytes(std::span(tail, shape_.tail))});
}

Reduction::Sum Reduction::finish(std::span<const std::byte> note,
                                 std::span<const std::span<std::byte>> notes) {
  if (doubling_) return finish_by_doubling(note, notes);
  std::vector<Communicator::Sent> sent;
  std::vector<Communicator::Received> received;
  while (unsent_ > 0) send(roots_[first_root_ + --unsent_], sent);
  for (std::size_t i = roots_.size(); i-- > 0;)
    if (!roots_[i].early) receive(roots_[i], received);
  add_notes(note, notes, rank(), sent, received);
  // Sums overwrite own values, so nothing is added before these are sent.
  if (ranks_) ranks_->exchange(sent, received);
  std::vector<Values> values;
  for (const Root& root : roots_) values.push_back(values_of(root));
  for (std::size_t i = 0; i < roots_.size(); ++i) {
    parts_.arrived(i, [&](std::size_t into, std::size_t from) {
      accumulate(values[into].part, values[from].part, part(rank()).size());
    });
    tails_.arrived(i, [&](std::size_t into, std::size_t from) {
      accumulate(values[into].tail, values[from].tail, shape_.tail);
    });
  }
  return {values[0].part, values[0].tail};
}

// The whole sum on every rank in log2(ranks) rounds. In each, two ranks whose sums are the children
// of one node swap them, and both add them.
Reduction::Sum Reduction::finish_by_doubling(std::span<const std::byte> note,
                                             std::span<const std::span<std::byte>> notes) {
  const std::size_t count = shape_.elements + shape_.tail;
  float* mine = values_[0];
  float* theirs = reinterpret_cast<float*>(received_.get());
  for (int step = 1; step < size(); step *= 2) {
    const int other = rank() ^ step;
    std::vector<Communicator::Sent> sent{{other, std::as_bytes(std::span(mine, count))}};
    std::vector<Communicator::Received> received{
        {other, std::as_writable_bytes(std::span(theirs, count))}};
    if (step == 1) add_notes(note, notes, rank(), sent, received);
    ranks_->exchange(sent, received);
    if (other < rank()) std::swap(mine, theirs);  // the lower rank's is the left child
    accumulate(mine, theirs, count);
  }
  return {mine, mine + shape_.elements};
}

}  // namespace limpid::distribute
