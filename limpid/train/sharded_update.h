// ShardedUpdate: an update whose gradient is the sum of shards, divided among ranks: each has a
// part of every sum, makes that part of the update with its part of the optimiser's state, and
// gets the others' parameters. docs/arithmetic.md, "Shards", defines the bits. Leans on step.h and
// distribute.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/distribute/communicator.h"
#include "limpid/distribute/reduction.h"
#include "limpid/train/buffers.h"
#include "limpid/train/step.h"

namespace limpid::train {

// Consecutive elements of a parameter whose squares are added together for the gradient's norm.
inline constexpr std::size_t kNormBlock = 4096;

class ShardedUpdate {
 public:
  // `params` says where parameters lie; `tail` numbers follow a shard's gradient. `ranks` is
  // nullptr where there is one alone. Pool and ranks must outlive it. Throws kUnsupported for
  // parameters that are not f32.
  ShardedUpdate(const Problem& problem, const UpdateRule& rule, const Buffers& params,
                std::int64_t shards, std::size_t tail, distribute::Communicator* ranks,
                ThreadPool* pool);

  distribute::Reduction& sum() { return sum_; }
  // Elements of a shard's gradient: parameter i begins at params.offset(i) bytes.
  std::size_t elements() const { return elements_; }

  // The optimiser's first state, as far as this rank has it.
  Params first_state() const;
  // This rank's part of a state, and the whole of it, which the first rank gets; others get what
  // they have. Every rank calls it.
  Params part_of(const Params& state) const;
  Params whole(const Buffers& state) const;
  // The whole state's names and types.
  const std::vector<Input>& state_inputs() const { return whole_state_; }

  // What all ranks know after an update.
  struct Made {
    float gradient_norm = 0;
    std::uint32_t wishes = 0;           // of any rank
    std::vector<std::uint64_t> hashes;  // of all ranks, one after the other
    bool finite = false;                // loss and norm; else nothing was written
  };
  // Writes the next parameters and the next state by the gradient, whose part `gradient` is.
  // `hashes`: one for each of this rank's shards, or none. Every rank calls it.
  Made operator()(const float* gradient, float loss, const Buffers& params, const Buffers& state,
                  float rate, std::uint32_t wishes, std::span<const std::uint64_t> hashes);
  // Whether all ranks say so. Every rank calls it.
  bool all_agree(bool here);

 private:
  // Elements [begin, end) of a parameter.
  struct Piece {
    std::size_t parameter, begin, end;
  };
  // A tensor of the state: that of a parameter, or one that all ranks have.
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
  void gather_parameters(const Buffers& params);

  UpdateRule rule_;
  std::vector<Input> parameters_;
  std::vector<std::size_t> offsets_;  // of parameters, in elements
  std::size_t elements_;
  distribute::Communicator* ranks_;
  std::vector<distribute::ElementRange> parts_;
  std::vector<Piece> pieces_;  // of this rank
  std::vector<Input> whole_state_;
  std::vector<Place> places_;
  distribute::Reduction sum_;
  std::optional<Workspace> squares_, update_;
  std::vector<float> own_norms_;
};

}  // namespace limpid::train
