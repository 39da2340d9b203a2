// verify_shard: recomputes one shard of one step of a run from an earlier checkpoint. Depends on
// run_setup.h, run_folder.h and trainer.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "limpid/compile/thread_pool.h"
#include "limpid/train/run/run_folder.h"

namespace limpid::train {

// The result of verify_shard().
struct VerifiedShard {
  std::int64_t from = 0;              // steps done in the starting state
  std::string hash;                   // hash of the shard's gradient and loss, as recomputed
  std::optional<std::string> logged;  // hash in the run's log; nullopt if it has none
};

// Starts from `checkpoint`; if the path is empty, from the folder's checkpoint if it is before the
// step, else from the initial weights. Makes the steps before `step` (counted from 1), then
// computes the gradient of only this shard. Throws kInvalidArgument if the run has no such step or
// shard or is not sharded, if the checkpoint is after the step or of another run, or if the run was
// extended and the step needs a checkpoint from after that, or was made between two extensions;
// what load_data, load_checkpoint and parse_run_log throw.
VerifiedShard verify_shard(const RunFolder& folder, std::int64_t step, std::int64_t shard,
                           const std::filesystem::path& checkpoint = {},
                           ThreadPool* pool = nullptr);

}  // namespace limpid::train
