// Checkpoints: the state of a run in one safetensors file. A resumed run gives the same bits as an
// uninterrupted one. Depends on trainer.h and formats.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/formats/model.h"
#include "limpid/train/loop/trainer.h"

namespace limpid::train {

// The contents of a checkpoint.
struct Checkpoint {
  TrainState state;
  // The identity of the run, to check before resuming: see identity_of().
  std::string run;
  // Of the model that load_model reads from the file; see model_metadata.
  Metadata model = {};
};

// Tensors "params.<name>", "non_trainable.<name>", "optimizer.<name>", "best.<name>", and the
// numbers of the state as scalars, such as "state.step"; metadata "limpid.checkpoint" ("1") and
// "limpid.run", and those of `model`. Atomic: at any time the path has the old file or the complete
// new one. Throws what save_safetensors throws.
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

// The bytes of such a file, and a checkpoint from them; `where` names the source in errors.
std::vector<std::byte> serialize_checkpoint(const Checkpoint& checkpoint);
Checkpoint parse_checkpoint(std::span<const std::byte> bytes, std::string_view where);

// Throws kFormat for a safetensors file that is not a checkpoint, kUnsupported for another version
// in limpid.checkpoint, and what load_safetensors throws. Trainer::restore checks whether the state
// matches the run.
Checkpoint load_checkpoint(const std::filesystem::path& path);

}  // namespace limpid::train
