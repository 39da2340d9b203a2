// The playground: a small network that is trained a few steps at a time by the real trainer, with
// its decision surface. Leans on session.h and train.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "limpid/train/config.h"
#include "limpid/view/numbers.h"
#include "limpid/view/session.h"

namespace limpid::view {

// What is trained on what. Everything else is as `limpid train` has it, at a constant rate.
struct PlayConfig {
  std::string data = "moons";  // a data set of synthetic_names(), or "csv"
  std::string csv = {};        // the table's text, of at most 1 MiB
  std::string target = {};     // its column
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

// A weight that was moved by hand.
struct MovedWeight {
  std::string at = {};  // "layers.0.weight"
  std::vector<std::int64_t> index = {};
  double set = 0;
};

struct PlayRequest {
  PlayConfig config = {};
  std::string state = {};                       // of the last answer; empty: the first weights
  std::int64_t steps = 0;                       // to make now
  std::int64_t grid = 0;                        // points on each side of the surface; 0: none
  std::optional<std::vector<double>> box = {};  // x0, x1, y0, y1; default: around the data
  std::vector<MovedWeight> moved = {};          // before the steps
  bool units = false;                           // a surface for each hidden unit, too
};

struct PlaySurface {
  std::int64_t grid = 0, outputs = 0;
  std::vector<double> box = {};
  Tensor values = {};  // f32 [grid, grid, outputs], y0 first: probabilities, or numbers
  struct Layer {
    std::int64_t layer = 0;
    Tensor values = {};  // f32 [units, grid, grid]
  };
  std::vector<Layer> units = {};
};

struct Played {
  std::string state = {};
  std::int64_t step = 0;
  double loss = 0, test_loss = 0;  // of all of the training and of the test set
  std::optional<double> accuracy = {}, test_accuracy = {};
  bool finite = true;  // false: the loss is no number, no step follows
  std::optional<PlaySurface> surface = {};
  Params params = {};
  std::uint64_t hash = 0;  // as `limpid hash` gives it for the model
};

// The points of a playground's data.
struct PlayPoints {
  Tensor inputs = {}, targets = {}, test_inputs = {}, test_targets = {};
  std::int64_t classes = 0;  // 0: a regression
  std::vector<std::string> features = {}, class_names = {};
};

// What was trained, to take away.
struct PlayExport {
  std::string command = {};  // of the tool; empty where weights were moved or the network changed
  std::uint64_t hash = 0;
  std::string cpp = {};
  std::vector<std::byte> model = {};  // a file of save_model
  std::string csv = {};               // the table as "data.csv", which the command reads
};

// The trainings of a session that are under way. A training that was forgotten is computed again.
class Playground {
 public:
  Playground();
  ~Playground();
  Playground(const Playground&) = delete;
  Playground& operator=(const Playground&) = delete;

  // Throws kInvalidArgument for what does not fit together or is beyond the limits: 6 hidden
  // layers of 64 units, 5,000 rows, 1,000 steps of a request, a grid of 128.
  Played play(const PlayRequest& request);
  PlayPoints points(const PlayConfig& config);
  // After `state`, or after `steps` steps where that is empty.
  PlayExport take_away(const PlayConfig& config, const std::string& state, std::int64_t steps);

 private:
  class Game;

  std::shared_ptr<Game> game(const PlayConfig& config, const std::string& state);

  std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::list<std::shared_ptr<Game>> games_;  // the last ones, newest first
};

// The configuration of `limpid train` that a playground's is, with data by `spec`.
train::TrainConfig train_config_of(const PlayConfig& config, const std::string& spec);

PlayConfig play_config_from_json(const JsonView& json);
PlayRequest play_request_from_json(const JsonView& json);
Json to_json(const Played& played);
Json to_json(const PlayPoints& points);
Json to_json(const PlayExport& take);

}  // namespace limpid::view
