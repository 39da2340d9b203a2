// Everything that a configuration describes: data, complete configuration, and the problem to
// train. Depends on config.h and data/load_data.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "limpid/compile/thread_pool.h"
#include "limpid/data/load_data.h"
#include "limpid/train/config/config.h"
#include "limpid/train/loop/custom_model.h"
#include "limpid/train/loop/problem.h"

namespace limpid::train {

// Loads the data set of a configuration (default: "digits"); a text in the windows of its model.
// `between` as in LoadOptions. Throws what parse_data_spec, window_options_of and limpid::load_data
// throw.
Split load_data(const TrainConfig& config, const std::function<void()>& between = {});

struct RunSetup {
  // `data` is the data set of `config.data`, already loaded. Throws what complete(),
  // fit_standardization and the function that makes the problem throw.
  RunSetup(const TrainConfig& config, Split data);
  // The same with a network of one's own; the configuration has model.name "custom", or none.
  RunSetup(const TrainConfig& config, Split data, const CustomModel& model);

  Split data;
  TrainConfig config;   // complete
  std::string network;  // the model's hyper-parameters as JSON
  Problem problem;

  // The config in the model file: hyper-parameters, loss and data.
  std::string model_config() const;
  // A hash of all examples of all sets, and of a network of one's own or the model to begin with.
  // The pool, if given, hashes
  // tensors in parallel.
  std::uint64_t data_hash(ThreadPool* pool = nullptr) const;

 private:
  std::uint64_t network_hash_ = 0;  // of a network of one's own, or of the model to begin with
};

// The identity of a run: its configuration and the hash of its data. Runs with the same text give
// the same bits.
std::string identity_of(const TrainConfig& config, std::uint64_t data_hash);
// Whether an identity is that of the same run, which may have become longer or shorter since: with
// other epochs, steps or patience. Throws kFormat, naming `source`, for a text that is none.
bool is_same_run(std::string_view identity, const TrainConfig& config, std::uint64_t data_hash,
                 const std::string& source);

}  // namespace limpid::train
