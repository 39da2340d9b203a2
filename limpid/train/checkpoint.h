// Checkpoints: the state of a run in one safetensors file, from which it goes on as if it had never
// stopped. Leans on trainer.h and formats.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/train/trainer.h"

namespace limpid::train {

// What a file holds.
struct Checkpoint {
  TrainState state;
  // What the state belongs to, for whoever goes on from it: no two runs with the same text differ.
  std::string run;
};

// Tensors "params.<name>", "carried.<name>", "optimizer.<name>", "best.<name>", and the numbers of
// the state as scalars, "state.step" for one; in the metadata "limpid.checkpoint" ("1") and
// "limpid.run". Atomic: at every moment the path has the old file, or the new one, or none where
// there was none. Throws what save_safetensors throws.
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

// The bytes of such a file, and back; `where` names them in errors.
std::vector<std::byte> serialize_checkpoint(const Checkpoint& checkpoint);
Checkpoint parse_checkpoint(std::span<const std::byte> bytes, std::string_view where);

// Throws kFormat for a safetensors file that is no checkpoint, kUnsupported for another
// limpid.checkpoint, and what load_safetensors throws. Whether it fits a run is Trainer::restore's
// business.
Checkpoint load_checkpoint(const std::filesystem::path& path);

}  // namespace limpid::train
