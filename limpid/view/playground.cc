#include "limpid/view/playground.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <random>

#include "limpid/core/base64.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/stop_check.h"
#include "limpid/core/tensor.h"
#include "limpid/data/synthetic.h"
#include "limpid/emit/emit.h"
#include "limpid/formats/file.h"
#include "limpid/function/builder.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/ops/softmax.h"
#include "limpid/train/loop/evaluator.h"
#include "limpid/train/run/run_setup.h"
#include "limpid/transforms/vmap.h"
#include "limpid/view/shell_quote.h"
#include "limpid/view/stoppable_lock.h"
#include "limpid/view/temporary.h"

namespace limpid::view {
namespace {

constexpr std::int64_t kMostPlayRows = 5000, kMostPlaySteps = 1000, kMostGrid = 128;
// More steps than anyone runs. The length has no effect, as the learning rate is constant.
constexpr std::int64_t kRunLength = 100'000'000;

[[noreturn]] void refuse_play(const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, "playground: " + why);
}

void check_play(const PlayConfig& c) {
  constexpr std::size_t kMostLayers = 6;
  constexpr std::int64_t kMostUnits = 64;
  constexpr std::size_t kMostCsv = std::size_t{1} << 20;
  if (c.hidden.size() > kMostLayers)
    refuse_play(
        fmt::format("expected at most {1} hidden layers, got {0}", c.hidden.size(), kMostLayers));
  for (const std::int64_t units : c.hidden)
    if (units < 1 || units > kMostUnits)
      refuse_play(fmt::format("expected a layer of 1 to {1} units, got {0}", units, kMostUnits));
  if (c.count && (*c.count < 1 || *c.count > kMostPlayRows))
    refuse_play(fmt::format("expected 1 to {1} rows, got {0}", *c.count, kMostPlayRows));
  if (c.data == "csv") {
    if (c.csv.empty() || c.csv.size() > kMostCsv)
      refuse_play(
          fmt::format("expected a table of 1 to {1} bytes, got {0}", c.csv.size(), kMostCsv));
    return;
  }
  const auto names = synthetic_names();
  if (std::find(names.begin(), names.end(), c.data) == names.end())
    throw Error(ErrorCode::kNotFound, fmt::format("there is no data {}: there are {} and csv",
                                                  in_quotes(c.data), fmt::join(names, ", ")));
}

// The data as a spec of --data; a table is in a file called `file`.
std::string spec_of(const PlayConfig& c, const std::string& file) {
  std::string spec;
  if (c.data == "csv") {
    spec = "csv:" + file;
    if (!c.target.empty()) spec += ",target=" + c.target;
    return spec;
  }
  spec = fmt::format("{}:{}", c.data, c.data_seed);
  if (c.count) spec += fmt::format(",count={}", *c.count);
  if (c.noise) spec += fmt::format(",noise={}", *c.noise);
  return spec;
}

// Two kinds of trainings have names: one that its configuration tells, in every process, and one
// whose weights were set, which no other has.
std::string name_of(const PlayConfig& c) {
  const std::string text =
      train::to_text(train_config_of(c, spec_of(c, "data.csv"))) + "\n" + c.csv;
  return fmt::format("p{:016x}", hash(std::as_bytes(std::span(text))));
}
std::string new_name() {
  std::random_device device;
  return fmt::format("w{:08x}{:08x}", device(), device());
}

// A state is the name of a training and the steps done; nullopt for any other text.
struct State {
  std::string_view name;
  std::int64_t step = 0;
};
std::optional<State> read_state(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) return {};
  State state{.name = text.substr(0, at)};
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + at + 1, end, state.step);
  if (read.ec != std::errc{} || read.ptr != end || state.step < 0) return {};
  return state;
}

// The range of a column, and a margin.
std::pair<double, double> range_of(const Tensor& inputs, std::int64_t column) {
  const std::int64_t width = inputs.shape()[1];
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (std::int64_t i = column; i < inputs.elements(); i += width) {
    const auto x = static_cast<double>(inputs.values<float>()[static_cast<std::size_t>(i)]);
    low = std::min(low, x);
    high = std::max(high, x);
  }
  const double margin = std::max(0.15 * (high - low), 0.1);
  return {low - margin, high + margin};
}

}  // namespace

train::TrainConfig train_config_of(const PlayConfig& c, const std::string& spec) {
  train::TrainConfig config;
  config.data = spec;
  config.hidden = c.hidden;
  config.activation = c.activation;
  config.optimizer = c.optimizer;
  config.rate = c.rate;
  config.schedule = "constant";
  config.warmup = 0;
  config.dropout = c.dropout;
  if (c.l2 != 0) config.optimizer_numbers["weight_decay"] = c.l2;
  config.batch = c.batch;
  if (c.seed > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    refuse_play("the seed is too large");
  config.seed = static_cast<std::int64_t>(c.seed);
  return config;
}

// ---- one training

class Playground::Game {
 public:
  explicit Game(const PlayConfig& config)
      : name_(name_of(config)),
        config_(config),
        setup_(make_setup(config)),
        trainer_(make_trainer()) {
    if (setup_.data.train.size() > 2 * kMostPlayRows)
      refuse_play(fmt::format("expected at most {1} rows, got {0}", setup_.data.train.size(),
                              2 * kMostPlayRows));
    if (setup_.problem.example().type.shape.rank() != 1) refuse_play("expected numeric examples");
    constexpr std::int64_t kMostFeatures = 2;
    const std::int64_t features = setup_.data.train.inputs.shape()[1];
    if (features > kMostFeatures)
      refuse_play(fmt::format("expected data with one or two features, got {}", features));
  }

  const PlayConfig& config() const { return config_; }
  std::int64_t step() const { return trainer_->steps_done(); }
  // Whether a command can repeat it.
  bool is_pure() const { return name_ == name_of(config_); }
  std::string state() const { return fmt::format("{}@{}", name_, step()); }

  // Where it is stopped, no step was taken: its state keeps its name.
  void go(std::int64_t steps) {
    const train::TrainState before = trainer_->state();
    try {
      for (std::int64_t i = 0; i < steps && trainer_->ending() == train::Ending::kNone; ++i) {
        throw_if_stopped();
        const StopScope whole(nullptr);
        trainer_->step();
      }
    } catch (const Stopped&) {
      trainer_->restore(before);
      throw;
    }
  }

  // Sets weights: edited ones, or those of another training of the same network.
  void set(const Params& params) {
    train::TrainState state = trainer_->state();
    for (const auto& [name, tensor] : params)
      if (const Tensor* own = state.params.find(name); own && own->type() == tensor.type())
        state.params.set(name, tensor);
    trainer_->restore(state);
    name_ = new_name();
  }
  // Sets weights by hand: all of these, or none if one does not exist.
  void move(const std::vector<MovedWeight>& all) {
    const Params params = this->params();
    Params changed;
    for (const MovedWeight& moved : all) {
      const Tensor* const before = changed.find(moved.at);
      const Tensor tensor = before ? *before : params.at(moved.at);
      if (tensor.dtype() != Dtype::kF32 || moved.index.size() != tensor.shape().rank())
        refuse_play(fmt::format("{} has no such weight", moved.at));
      std::int64_t at = 0;
      for (std::size_t d = 0; d < moved.index.size(); ++d) {
        if (moved.index[d] < 0 || moved.index[d] >= tensor.shape()[d])
          refuse_play(fmt::format("{} has no such weight", moved.at));
        at = at * tensor.shape()[d] + moved.index[d];
      }
      std::vector<float> values(tensor.values<float>().begin(), tensor.values<float>().end());
      values[static_cast<std::size_t>(at)] = static_cast<float>(moved.set);
      changed.set(moved.at, Tensor::from<float>(tensor.shape(), values));
    }
    if (changed.size() > 0) set(changed);
  }

  Params params() const { return trainer_->model(); }
  Model model() const { return setup_.problem.model(trainer_->model(), setup_.model_config()); }
  const train::RunSetup& setup() const { return setup_; }

  void tell(Played& played) {
    const Params params = this->params();
    const train::TestResult train = evaluate(train_, setup_.data.train, params);
    played.loss = train.metrics.at("loss");
    if (const double* a = train.metrics.find("accuracy")) played.accuracy = *a;
    const train::TestResult test = evaluate(test_, setup_.data.test, params);
    played.test_loss = test.metrics.at("loss");
    if (const double* a = test.metrics.find("accuracy")) played.test_accuracy = *a;
    played.step = step();
    played.state = state();
    played.finite = trainer_->ending() != train::Ending::kNonFinite;
    played.params = params;
    played.hash = hash_of_model(model());
  }

  PlaySurface surface(std::int64_t grid, const std::optional<std::vector<double>>& box,
                      bool units) {
    const Dataset& data = setup_.data.train;
    const std::int64_t features = data.inputs.shape()[1];
    PlaySurface surface{.grid = grid};
    if (box) {
      surface.box = *box;
    } else {
      const auto x = range_of(data.inputs, 0);
      const auto y = features == 2 ? range_of(data.inputs, 1) : std::pair{0.0, 1.0};
      surface.box = {x.first, x.second, y.first, y.second};
    }
    const std::int64_t rows = features == 2 ? grid : 1;
    Tensor points = Tensor::generate<float>({rows * grid, features}, [&](std::span<float> out) {
      const auto n = static_cast<double>(std::max<std::int64_t>(1, grid - 1));
      std::size_t at = 0;
      for (std::int64_t j = 0; j < rows; ++j)
        for (std::int64_t i = 0; i < grid; ++i) {
          const auto& b = surface.box;
          out[at++] = static_cast<float>(b[0] + (b[1] - b[0]) * static_cast<double>(i) / n);
          if (features == 2)
            out[at++] = static_cast<float>(b[2] + (b[3] - b[2]) * static_cast<double>(j) / n);
        }
    });
    const Plan& plan = plan_of(rows * grid);
    std::vector<Tensor> inputs;
    const Params params = this->params();
    for (const Input& input : setup_.problem.inference.inputs())
      inputs.push_back(params.find(input.name) ? params.at(input.name) : points);
    const std::vector<Tensor> results = plan.executable(inputs);
    surface.outputs = results[0].shape().back();
    surface.values = results[0];
    for (std::size_t i = 0; units && i < plan.layers.size(); ++i)
      surface.units.push_back({plan.layers[i], transposed(results[1 + i])});
    return surface;
  }

 private:
  struct Plan {
    std::int64_t points;
    std::vector<std::int64_t> layers;
    Executable executable;
  };

  train::RunSetup make_setup(const PlayConfig& config) const {
    if (config.data != "csv") {
      const train::TrainConfig chosen = configured(spec_of(config, ""));
      return {chosen, train::load_data(chosen)};
    }
    const std::string_view text = config.csv;
    const TemporaryFile file(std::as_bytes(std::span(text)), ".csv");
    return named_as("data.csv", file.path(), [&] {
      const train::TrainConfig chosen = configured(spec_of(config, file.path().string()));
      return train::RunSetup(chosen, train::load_data(chosen));
    });
  }
  train::TrainConfig configured(const std::string& spec) const {
    train::TrainConfig chosen = train_config_of(config_, spec);
    chosen.steps = kRunLength;
    // Checked like a configuration from a file.
    return train::parse_train_config(train::to_text(chosen), "playground");
  }
  // No evaluation at the end of each epoch: answers evaluate for themselves.
  std::unique_ptr<train::Trainer> make_trainer() {
    unwatched_.train = setup_.data.train;
    unwatched_.validation = setup_.data.train.rows(0, 0);
    unwatched_.test = unwatched_.validation;
    return std::make_unique<train::Trainer>(setup_.problem, unwatched_,
                                            train::options_of(setup_.config, setup_.data));
  }

  train::TestResult evaluate(std::unique_ptr<train::Evaluator>& evaluator, const Dataset& data,
                             const Params& params) {
    if (!evaluator) evaluator = std::make_unique<train::Evaluator>(setup_.problem, data);
    return (*evaluator)(params);
  }

  // [points, units] to [units, points]: an image for each unit.
  static Tensor transposed(const Tensor& x) {
    const auto rows = static_cast<std::size_t>(x.shape()[0]);
    const auto columns = static_cast<std::size_t>(x.shape()[1]);
    return Tensor::generate<float>({x.shape()[1], x.shape()[0]}, [&](std::span<float> out) {
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c)
          out[c * rows + r] = x.values<float>()[r * columns + c];
    });
  }

  // The outputs (of a classification, probabilities) and the last value of each hidden layer.
  const Plan& plan_of(std::int64_t points) {
    for (const Plan& plan : plans_)
      if (plan.points == points) return plan;
    const Function& one = setup_.problem.inference;
    std::map<std::string, ValueId> last;
    std::vector<std::string> order;
    for (const Node& node : one.nodes()) {
      if (node.op->role == Role::kLinear) order.push_back(node.scope);
      last[node.scope] = node.first_output;
    }
    if (!order.empty()) order.pop_back();  // the output itself
    Function::Parts parts{one.name(), one.inputs(), one.nodes(), one.outputs(), one.types()};
    Plan plan{.points = points, .layers = {}, .executable = compile(one)};
    for (const std::string& scope : order) {
      plan.layers.push_back(static_cast<std::int64_t>(plan.layers.size()));
      parts.outputs.push_back({"", last[scope]});
    }
    std::vector<std::optional<std::int64_t>> axes(one.inputs().size());
    axes.back() = 0;
    const Function batch = vmap(Function(std::move(parts)), axes, points);
    const bool classes = setup_.data.train.has_classes();
    const Function whole = trace("surface", batch.inputs(), [&](std::span<const Value> in) {
      std::vector<Value> values = in[0].builder().inline_function(batch, in);
      if (classes) values[0] = softmax(values[0]);
      return values;
    });
    plan.executable = compile(whole);
    if (plans_.size() > 3) plans_.pop_front();
    plans_.push_back(std::move(plan));
    return plans_.back();
  }

  std::string name_;
  PlayConfig config_;
  train::RunSetup setup_;
  Split unwatched_;
  std::unique_ptr<train::Trainer> trainer_;
  std::unique_ptr<train::Evaluator> train_, test_;
  std::list<Plan> plans_;
};

Playground::Playground() = default;
Playground::~Playground() = default;

// The training at a state: kept, or computed again. Needs the lock.
std::shared_ptr<Playground::Game> Playground::game(const PlayConfig& config,
                                                   const std::string& state) {
  constexpr std::size_t kMostGames = 8;
  constexpr std::int64_t kMostAgain = 200'000;
  check_play(config);
  const auto asked = read_state(state);
  if (!state.empty() && !asked) refuse_play(fmt::format("{} is not a state", in_quotes(state)));
  const auto before = std::find_if(games_.begin(), games_.end(),
                                   [&](const auto& kept) { return kept->state() == state; });
  if (before != games_.end()) {
    games_.splice(games_.begin(), games_, before);
    if ((*before)->config() == config) return *before;
  } else if (asked && (asked->name != name_of(config) || asked->step > kMostAgain)) {
    refuse_play("the training is no longer stored: start again");
  }
  auto fresh = std::make_shared<Game>(config);
  if (before != games_.end()) {
    // Another rate or network: it continues with the weights that fit.
    fresh->set((*before)->params());
  } else if (asked) {
    fresh->go(asked->step);
  }
  games_.push_front(fresh);
  if (games_.size() > kMostGames) games_.pop_back();
  return fresh;
}

Played Playground::play(const PlayRequest& request) {
  if (request.steps < 0 || request.steps > kMostPlaySteps)
    refuse_play(fmt::format("expected 0 to {1} steps, got {0}", request.steps, kMostPlaySteps));
  if (request.grid < 0 || request.grid > kMostGrid)
    refuse_play(fmt::format("expected a grid of 0 to {1}, got {0}", request.grid, kMostGrid));
  if (request.box && request.box->size() != 4) refuse_play("expected a box of four numbers");
  const auto lock = stoppable_lock(mutex_);
  const std::shared_ptr<Game> now = game(request.config, request.state);
  now->move(request.moved);
  now->go(request.steps);
  Played played;
  now->tell(played);
  if (request.grid > 0) played.surface = now->surface(request.grid, request.box, request.units);
  return played;
}

PlayPoints Playground::points(const PlayConfig& config) {
  check_play(config);
  const Game game(config);
  const Split& data = game.setup().data;
  return {data.train.inputs,
          data.train.targets,
          data.test.inputs,
          data.test.targets,
          data.train.has_classes() ? data.train.classes : 0,
          data.train.feature_names,
          data.train.class_names};
}

PlayExport Playground::take_away(const PlayConfig& config, const std::string& state,
                                 std::int64_t steps) {
  if (steps < 0 || steps > 1'000'000) refuse_play("expected 0 to 1,000,000 steps");
  const auto lock = stoppable_lock(mutex_);
  const std::shared_ptr<Game> now = game(config, state);
  if (state.empty()) now->go(steps);
  const Model model = now->model();
  PlayExport take{.hash = hash_of_model(model)};
  if (now->is_pure() && now->step() > 0) {
    const std::vector<std::int64_t>& hidden = config.hidden;
    take.command = fmt::format(
        "limpid train --data {}{} --activation {} --optimizer {} --lr {} --schedule constant "
        "--warmup 0 --dropout {}{} --batch {} --seed {} --steps {} --out play",
        shell_quote_if_needed(spec_of(config, "data.csv")),
        hidden.empty() ? std::string(" --hidden none")
                       : fmt::format(" --hidden {}", fmt::join(hidden, ",")),
        config.activation, config.optimizer, config.rate, config.dropout,
        config.l2 != 0 ? fmt::format(" --weight-decay {}", config.l2) : "", config.batch,
        config.seed, now->step());
  }
  take.cpp = emit_cpp(model.function, model.params);
  const std::string_view none;
  const TemporaryFile file(std::as_bytes(std::span(none)), ".safetensors");
  save_model(file.path(), model);
  const Tensor bytes = read_file(file.path(), std::uint64_t{1} << 26);
  take.model.assign(bytes.bytes().begin(), bytes.bytes().end());
  if (config.data == "csv") take.csv = config.csv;
  return take;
}

// ---- JSON

PlayConfig play_config_from_json(const JsonView& json) {
  PlayConfig c;
  const auto integer = [](const JsonView& v) { return v.as_integer(0, std::int64_t{1} << 53); };
  if (const auto data = json.find("data")) {
    c.data = data->at("name").as_string();
    if (const auto v = data->find("csv")) c.csv = v->as_string();
    if (const auto v = data->find("target")) c.target = v->as_string();
    if (const auto v = data->find("seed")) c.data_seed = static_cast<std::uint64_t>(integer(*v));
    if (const auto v = data->find("count")) c.count = integer(*v);
    if (const auto v = data->find("noise")) c.noise = v->as_number();
    // A value in a data spec must not contain its separators.
    if (c.target.find_first_of(",\n") != std::string::npos)
      refuse_play("expected a column without commas");
  }
  if (const auto v = json.find("hidden")) {
    c.hidden.clear();
    for (const JsonView& units : v->elements()) c.hidden.push_back(units.as_integer());
  }
  if (const auto v = json.find("activation")) c.activation = v->as_string();
  if (const auto v = json.find("optimizer")) c.optimizer = v->as_string();
  if (const auto v = json.find("rate")) c.rate = v->as_number();
  if (const auto v = json.find("l2")) c.l2 = v->as_number();
  if (const auto v = json.find("dropout")) c.dropout = v->as_number();
  if (const auto v = json.find("batch")) c.batch = v->as_integer(1, kMostPlayRows);
  if (const auto v = json.find("seed")) c.seed = static_cast<std::uint64_t>(integer(*v));
  return c;
}

PlayRequest play_request_from_json(const JsonView& json) {
  PlayRequest r{.config = play_config_from_json(json.at("config"))};
  if (const auto v = json.find("state")) r.state = v->as_string();
  if (const auto v = json.find("steps")) r.steps = v->as_integer();
  if (const auto v = json.find("grid")) r.grid = v->as_integer();
  if (const auto v = json.find("box")) {
    r.box.emplace();
    for (const JsonView& x : v->elements()) r.box->push_back(x.as_number());
  }
  if (const auto v = json.find("weights"))
    for (const JsonView& w : v->elements()) {
      MovedWeight moved{.at = w.at("at").as_string(), .set = w.at("set").as_number()};
      for (const JsonView& i : w.at("index").elements()) moved.index.push_back(i.as_integer());
      r.moved.push_back(std::move(moved));
    }
  if (const auto v = json.find("units")) r.units = v->as_bool();
  return r;
}

namespace {

Json numbers_of(const Tensor& tensor) {
  Json list = Json::array();
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const Exact x = exact_at(tensor, i);
    list.push_back(number_json(x.value, x.dtype));
  }
  return list;
}

Json rows_of(const Tensor& tensor) {
  Json list = Json::array();
  for (std::int64_t i = 0; i < tensor.shape()[0]; ++i)
    list.push_back(numbers_of(tensor.rows(i, 1)));
  return list;
}

}  // namespace

Json to_json(const Played& p) {
  const auto maybe = [](const std::optional<double>& x) { return x ? number_json(*x) : Json(); };
  Json params = Json::array(), units = Json::array(), surface;
  for (const auto& [name, tensor] : p.params)
    params.push_back(
        {{"name", name}, {"shape", to_json(tensor.shape())}, {"values", numbers_of(tensor)}});
  if (p.surface) {
    surface = Json{{"grid", p.surface->grid},
                   {"box", Json(p.surface->box)},
                   {"outputs", p.surface->outputs},
                   {"base64", base64(p.surface->values.bytes())}};
    for (const auto& layer : p.surface->units)
      units.push_back({{"layer", layer.layer}, {"base64", base64(layer.values.bytes())}});
  }
  return {{"state", p.state},
          {"step", p.step},
          {"loss", number_json(p.loss)},
          {"test_loss", number_json(p.test_loss)},
          {"accuracy", maybe(p.accuracy)},
          {"test_accuracy", maybe(p.test_accuracy)},
          {"finite", p.finite},
          {"surface", surface},
          {"units", units},
          {"params", params},
          {"hash", fmt::format("{:016x}", p.hash)}};
}

Json to_json(const PlayPoints& p) {
  return {{"inputs", rows_of(p.inputs)},
          {"targets", numbers_of(p.targets)},
          {"test_inputs", rows_of(p.test_inputs)},
          {"test_targets", numbers_of(p.test_targets)},
          {"classes", p.classes},
          {"features", Json(p.features)},
          {"class_names", Json(p.class_names)}};
}

Json to_json(const PlayExport& e) {
  return {{"command", e.command.empty() ? Json() : Json(e.command)},
          {"hash", fmt::format("{:016x}", e.hash)},
          {"cpp", e.cpp},
          {"model", base64(e.model)},
          {"csv", e.csv.empty() ? Json() : Json(e.csv)}};
}

}  // namespace limpid::view
