// The playground: trains a small network a few steps at a time with the real Trainer, and computes
// its decision surface. Depends on session.h and train.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "limpid/train/config/config.h"
#include "limpid/view/numbers.h"
#include "limpid/view/session.h"

namespace limpid::view {

// The data and the network. Everything else is as in `limpid train`, with a constant learning rate.
struct PlayConfig {
  std::string data = "moons";  // one of synthetic_names(), or "csv"
  std::string csv = {};        // text of the table, at most 1 MiB
  std::string target = {};     // target column of the table
  std::uint64_t data_seed = 0;
  std::optional<std::int64_t> count = {};
  std::optional<double> noise = {};
  std::vector<std::int64_t> hidden = {8};
  std::string activation = "tanh", optimizer = "adam";
  double rate = 0.01;
  double l2 = 0, dropout = 0;
  std::int64_t batch = 32;
  std::uint64_t seed = 0;

  bool operator==(const PlayConfig&) const = default;
};

// A weight that the user changed.
struct MovedWeight {
  std::string at = {};  // "layers.0.weight"
  std::vector<std::int64_t> index = {};
  double set = 0;
};

struct PlayRequest {
  PlayConfig config = {};
  std::string state = {};                       // of the last response; empty: the initial weights
  std::int64_t steps = 0;                       // steps to make now
  std::int64_t grid = 0;                        // points on each side of the surface; 0: none
  std::optional<std::vector<double>> box = {};  // x0, x1, y0, y1; default: around the data
  std::vector<MovedWeight> moved = {};          // changes to make before the steps
  bool units = false;                           // also compute a surface for each hidden unit
};

struct PlaySurface {
  std::int64_t grid = 0, outputs = 0;
  std::vector<double> box = {};
  Tensor values = {};  // f32 [grid, grid, outputs], y0 first: probabilities, or predictions
  struct Layer {
    std::int64_t layer = 0;
    Tensor values = {};  // f32 [units, grid, grid]
  };
  std::vector<Layer> units = {};
};

struct Played {
  std::string state = {};  // names this network
  std::int64_t step = 0;
  double loss = 0, test_loss = 0;  // over the whole training set and test set
  std::optional<double> accuracy = {}, test_accuracy = {};
  bool finite = true;  // false: the loss is not finite, and training has ended
  std::optional<PlaySurface> surface = {};
  Params params = {};
  std::uint64_t hash = 0;  // of the model, as in `limpid hash`
};

// The points of a playground's data.
struct PlayPoints {
  Tensor inputs = {}, targets = {}, test_inputs = {}, test_targets = {};
  std::int64_t classes = 0;  // 0: a regression
  std::vector<std::string> features = {}, class_names = {};
};

// The trained network, to download.
struct PlayExport {
  std::string command = {};  // that trains it; empty if weights or the network were changed
  std::uint64_t hash = 0;
  std::string cpp = {};
  std::vector<std::byte> model = {};  // the file of save_model
  std::string csv = {};               // the table as "data.csv", for the command
};

// The active trainings of a session. A state names one network. A training that was dropped is
// recomputed from its configuration, unless weights were set in it.
class Playground {
 public:
  Playground();
  ~Playground();
  Playground(const Playground&) = delete;
  Playground& operator=(const Playground&) = delete;

  // Throws kInvalidArgument for inconsistent requests, for a state that is neither kept nor can be
  // recomputed, and beyond the limits: 6 hidden layers of 64 units, 5,000 rows, 1,000 steps per
  // request, a grid of 128.
  Played play(const PlayRequest& request);
  PlayPoints points(const PlayConfig& config);
  // Exports the network at `state`, or after `steps` steps if `state` is empty.
  PlayExport take_away(const PlayConfig& config, const std::string& state, std::int64_t steps);

 private:
  class Game;

  std::shared_ptr<Game> game(const PlayConfig& config, const std::string& state);

  std::mutex mutex_;
  std::list<std::shared_ptr<Game>> games_;  // the most recent ones, newest first
};

// The configuration of `limpid train` for a playground's configuration, with the data of `spec`.
train::TrainConfig train_config_of(const PlayConfig& config, const std::string& spec);

PlayConfig play_config_from_json(const JsonView& json);
PlayRequest play_request_from_json(const JsonView& json);
Json to_json(const Played& played);
Json to_json(const PlayPoints& points);
Json to_json(const PlayExport& take);

}  // namespace limpid::view
