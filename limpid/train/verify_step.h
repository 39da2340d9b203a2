// verify_shard: one shard of one step of a run, computed again from the checkpoint before it. Leans
// on run_setup.h, run_folder.h and trainer.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "limpid/compile/thread_pool.h"
#include "limpid/train/run_folder.h"

namespace limpid::train {

// What came of it.
struct VerifiedShard {
  std::int64_t from = 0;              // steps done in the state that it began with
  std::string hash;                   // of the shard's gradient and loss, as computed here
  std::optional<std::string> logged;  // as the run's log has it; nothing where it has none
};

// Begins with the checkpoint of a file, or, where the path is empty, with the folder's if that is
// before the step, else with the first weights; makes the steps up to `step` (counted from 1), and
// computes the gradient of that one's shard alone. Throws kInvalidArgument where the run has no
// such step or shard, is not trained in shards, or the checkpoint is behind the step or of another
// run; what load_data, load_checkpoint and parse_run_log throw.
VerifiedShard verify_shard(const RunFolder& folder, std::int64_t step, std::int64_t shard,
                           const std::filesystem::path& checkpoint = {},
                           ThreadPool* pool = nullptr);

}  // namespace limpid::train
