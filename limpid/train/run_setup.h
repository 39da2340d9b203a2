// What a configuration asks for, made: data, every choice, and the problem to train. Leans on
// config.h and data/load_data.h.
#pragma once

#include <cstdint>
#include <string>

#include "limpid/compile/thread_pool.h"
#include "limpid/data/load_data.h"
#include "limpid/train/config.h"
#include "limpid/train/problem.h"

namespace limpid::train {

// The data set that a configuration names ("digits" where it names none), a text in the windows
// that its model takes. Throws what parse_data_spec, window_options_of and limpid::load_data throw.
Split load_data(const TrainConfig& config);

struct RunSetup {
  // `data` is what `config.data` names, in memory already. Throws what complete(),
  // fit_standardization and the problem's maker throw.
  RunSetup(const TrainConfig& config, Split data);

  Split data;
  TrainConfig config;   // complete
  std::string network;  // the model's hyper-parameters as JSON
  Problem problem;

  // The config of the model's file: hyper-parameters, loss and data.
  std::string model_config() const;
  // Of all examples of all parts; their tensors are shared among the threads of a pool.
  std::uint64_t data_hash(ThreadPool* pool = nullptr) const;
};

// No two runs with the same text differ: the configuration and the hash of the data.
std::string identity_of(const TrainConfig& config, std::uint64_t data_hash);

}  // namespace limpid::train
