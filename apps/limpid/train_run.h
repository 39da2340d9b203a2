// A training run of the tool: data, model, folder, log, checkpoints, and what people see of it.
#pragma once

#include <string>

#include "limpid/train/config.h"

namespace limpid::tool {

struct RunOptions {
  std::string out;         // the run's folder; "" writes nothing
  bool overwrite = false;  // the run in that folder
  int threads = 1;         // of each rank; 0: its share of the CPUs
  int ranks = 1;           // that mpirun or srun started
  bool json = false;       // the log's lines on standard output, instead of tables
};

// "784-256-10", "a gpt of 4 blocks, 4 heads and width 128". Of a complete configuration.
std::string network_text(const train::TrainConfig& config);

// Trains from the beginning. Throws UsageError where the configuration makes no sense, Error where
// something fails, Interrupted where a signal ends it.
void train_from_start(const train::TrainConfig& config, const RunOptions& options);

// Goes on with the run of a folder: its configuration, its checkpoint, its log. `longer` may have
// other epochs, steps and patience.
void train_from_checkpoint(const train::TrainConfig& longer, const RunOptions& options);

}  // namespace limpid::tool
