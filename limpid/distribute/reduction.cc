#include "limpid/distribute/reduction.h"

#include <algorithm>
#include <utility>

#include "limpid/core/float_mode.h"
#include "limpid/core/tensor.h"
#include "limpid/kernels/kernels.h"

namespace limpid::distribute {
namespace {

// The nodes of all ranks, from left to right.
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

constexpr std::size_t kChunk = std::size_t{1} << 15;  // elements that a thread adds at once

}  // namespace

Reduction::Reduction(Communicator* ranks, Shape shape, ThreadPool* pool)
    : ranks_(ranks),
      shape_(std::move(shape)),
      pool_(pool),
      own_(shards_of(shape_.shards, size(), rank())),
      values_(static_cast<std::size_t>(own_.size())),
      own_roots_(roots_in(shape_.shards, own_)),
      parts_({0, shape_.shards}, nodes_of_all(shape_.shards, size())),
      tails_(parts_) {
  for (int r = 0; r < size(); ++r)
    for (const ShardRange& root : roots_in(shape_.shards, shards_of(shape_.shards, size(), r)))
      roots_.push_back({r, root});
  for (const ShardRange& root : own_roots_) subtrees_.emplace_back(root, each_alone(root));
  const std::size_t others = roots_.size() - own_roots_.size();
  received_ = allocate_aligned(others * (part(rank()).size() + shape_.tail) * sizeof(float));
}

void Reduction::begin() {
  free_.clear();
  for (const auto& memory : memory_) free_.push_back(reinterpret_cast<float*>(memory.get()));
  for (TreeSum& subtree : subtrees_) subtree.reset();
  parts_.reset();
  tails_.reset();
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
  std::size_t root = 0;
  while (own_roots_[root].end <= shard) ++root;
  float** const of_root = values_.data() + (own_roots_[root].begin - own_.begin);
  const auto at = static_cast<std::size_t>(shard - own_roots_[root].begin);
  of_root[at] = values;
  subtrees_[root].arrived(at, [&](std::size_t into, std::size_t from) {
    accumulate(of_root[into], of_root[from], shape_.elements + shape_.tail);
    give_back(of_root[from]);
  });
}

Reduction::Sum Reduction::finish() {
  const ElementRange& mine = part(rank());
  std::vector<float*> parts(roots_.size()), tails(roots_.size());
  std::vector<Communicator::Sent> sent;
  std::vector<Communicator::Received> received;
  std::vector<std::pair<bool, std::size_t>> of_received;  // of a tail; which root
  auto* room = reinterpret_cast<float*>(received_.get());
  for (std::size_t i = 0; i < roots_.size(); ++i) {
    const Root& root = roots_[i];
    if (root.rank == rank()) {
      float* const values = values_[static_cast<std::size_t>(root.shards.begin - own_.begin)];
      parts[i] = values + mine.begin;
      tails[i] = values + shape_.elements;
      for (int r = 0; r < size(); ++r) {
        if (r == rank()) continue;
        sent.push_back({r, std::as_bytes(std::span(values + part(r).begin, part(r).size()))});
        sent.push_back({r, std::as_bytes(std::span(tails[i], shape_.tail))});
      }
    } else {
      parts[i] = std::exchange(room, room + mine.size());
      tails[i] = std::exchange(room, room + shape_.tail);
      received.push_back({root.rank, std::as_writable_bytes(std::span(parts[i], mine.size()))});
      of_received.emplace_back(false, i);
      received.push_back({root.rank, std::as_writable_bytes(std::span(tails[i], shape_.tail))});
      of_received.emplace_back(true, i);
    }
  }
  // What is sent is not to be added to before it is gone.
  std::vector<std::pair<bool, std::size_t>> there;
  for (std::size_t i = 0; i < roots_.size(); ++i)
    if (roots_[i].rank == rank()) there.insert(there.end(), {{false, i}, {true, i}});
  if (ranks_)
    ranks_->exchange(sent, received, [&](std::size_t i) { there.push_back(of_received[i]); });
  for (const auto& [is_tail, i] : there) {
    const auto& values = is_tail ? tails : parts;
    const std::size_t count = is_tail ? shape_.tail : mine.size();
    (is_tail ? tails_ : parts_).arrived(i, [&](std::size_t into, std::size_t from) {
      accumulate(values[into], values[from], count);
    });
  }
  return {parts[0], tails[0]};
}

}  // namespace limpid::distribute
