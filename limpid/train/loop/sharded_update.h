// ShardedUpdate: an update whose gradient is a sum over shards, distributed over ranks. Each rank
// reduces one part of the gradient, updates that part of the parameters with its part of the
// optimiser state, and receives the other parts (as in ZeRO). A small model is not divided: each
// rank makes the whole update, after one round of messages. docs/arithmetic.md, "Shards", defines
// the bits. Depends on step.h and distribute.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/distribute/communicator.h"
#include "limpid/distribute/reduction.h"
#include "limpid/train/loop/buffers.h"
#include "limpid/train/loop/step.h"

namespace limpid::train {

class ShardedUpdate {
 public:
  // `params` gives the layout of the parameters; `tail` numbers, the loss first, follow a shard's
  // gradient. `divided`: whether each rank updates its part; default: if the model is large.
  // `ranks` is nullptr for a single rank. Pool and ranks must outlive it. Throws kUnsupported for
  // parameters that are not f32.
  ShardedUpdate(const Problem& problem, const UpdateRule& rule, const Buffers& params,
                std::int64_t shards, std::size_t tail, std::optional<bool> divided,
                distribute::Communicator* ranks, ThreadPool* pool);

  distribute::Reduction& sum() { return sum_; }
  // Number of elements of a shard's gradient. Parameter i starts at params.offset(i) bytes.
  std::size_t elements() const { return elements_; }

  // This rank's part of the initial optimiser state; all of it if the update is not divided.
  Params first_state() const;
  // This rank's part of a state; and the whole state, which only the first rank gets (the others
  // get their part). Every rank must call whole().
  Params part_of(const Params& state) const;
  Params whole(const Buffers& state) const;
  // Names and types of the whole state.
  const std::vector<Input>& state_inputs() const { return whole_state_; }

  // The results of an update, the same on all ranks.
  struct Made {
    const float* tail = nullptr;  // the sums after the gradient's; valid until the next sum
    float gradient_norm = 0;
    std::uint32_t wishes = 0;           // bits set by any rank
    std::vector<std::uint64_t> hashes;  // of all ranks, concatenated
    bool finite = false;                // loss and norm are finite; else nothing was written
  };
  // Finishes the sum, to which all shards were added, and writes the next parameters and the next
  // state. `hashes` has one entry for each of this rank's shards, or none. Every rank must call it.
  Made operator()(const Buffers& params, const Buffers& state, float rate, std::uint32_t wishes,
                  std::span<const std::uint64_t> hashes);
  // Whether `here` is true on all ranks. Every rank must call it.
  bool all_agree(bool here);

 private:
  // Elements [begin, end) of a parameter.
  struct Piece {
    std::size_t parameter, begin, end;
  };
  // A tensor of the state: it belongs to a parameter, or all ranks have it.
  struct Place {
    std::optional<std::size_t> parameter;
  };

  int rank() const { return ranks_ ? ranks_->rank() : 0; }
  int size() const { return ranks_ ? ranks_->size() : 1; }
  std::vector<Piece> pieces_of(int rank) const;
  std::size_t blocks_of(int rank) const;
  std::vector<Input> inputs_of(const std::vector<Piece>& pieces) const;
  Function squares_function() const;
  Function update_function() const;
  void place_state();
  distribute::Reduction::Sum finish_sum(std::span<const std::uint64_t> hashes, Made& made);
  std::vector<std::vector<float>> gather_squares();
  void gather_parameters(const Buffers& params);

  UpdateRule rule_;
  std::vector<Input> parameters_;
  std::vector<std::size_t> offsets_;  // of the parameters, in elements
  std::size_t elements_;
  distribute::Communicator* ranks_;
  bool divided_;  // false: every rank makes the whole update
  std::vector<distribute::ElementRange> parts_;
  std::vector<Piece> pieces_;  // of this rank
  std::vector<Input> whole_state_;
  std::vector<Place> places_;
  distribute::Reduction sum_;
  std::optional<Workspace> squares_, update_;
  std::vector<float> own_squares_;  // sums of blocks, then those of what clipping leaves
};

}  // namespace limpid::train
