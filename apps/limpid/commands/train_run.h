// A training run of the tool: data, model, folder, log, checkpoints and output.
#pragma once

#include <cstdint>
#include <string>

#include "limpid/train/config/config.h"

namespace limpid::tool {

struct RunOptions {
  std::string out;         // the run folder; "": write nothing
  bool overwrite = false;  // an existing run in that folder
  int threads = 1;         // per rank; 0: its share of the CPUs
  int ranks = 1;           // number of ranks, started by mpirun or srun
  bool json = false;       // print the log's lines instead of tables
};

// The network of a complete configuration: "784-256-10", "a gpt of 4 blocks, 4 heads and width
// 128".
std::string network_text(const train::TrainConfig& config);

// Starts a training run. Throws UsageError for an invalid configuration, Error on failure,
// Interrupted if a signal ends it.
void train_from_start(const train::TrainConfig& config, const RunOptions& options);

// A cross-validation: a run for each fold, in the folders fold-1, fold-2, ... of options.out, and a
// table of the test metrics. Throws what train_from_start throws.
void train_folds(const train::TrainConfig& config, const RunOptions& options, std::int64_t folds);

// Resumes the run of a folder from its configuration, checkpoint and log. `longer` may have other
// epochs, steps and patience.
void train_from_checkpoint(const train::TrainConfig& longer, const RunOptions& options);

}  // namespace limpid::tool
