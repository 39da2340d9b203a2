#include "limpid/train/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "limpid/core/error.h"
#include "limpid/data/detail/shallow_json.h"
#include "limpid/formats/in_quotes.h"
#include "limpid/optim/optimizer.h"

namespace limpid::train {
namespace {

using Json = nlohmann::ordered_json;
using Integers = TrainConfig::Integers;

// ---------------------------------------------------------------------------------------------
// One value against its key
// ---------------------------------------------------------------------------------------------

bool in_range(const ConfigKey& key, double value) {
  return (key.open_low ? value > key.low : value >= key.low) &&
         (key.open_high ? value < key.high : value <= key.high);
}

// "a number of 0 or more", "an integer from 1 to 16777216".
std::string expected_number(const ConfigKey& key, std::string_view kind) {
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  const bool integer = kind.find("integer") != std::string_view::npos;
  const auto number = [&](double value) {
    return integer ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
  };
  if (key.high == kEndless && key.low == 0 && key.open_low) return "a positive number";
  if (key.high == kEndless) return fmt::format("{} of {} or more", kind, number(key.low));
  return fmt::format("{} from {} to {}{}", kind, number(key.low), key.open_high ? "below " : "",
                     number(key.high));
}

template <class T>
std::string expected(const ConfigKey& key) {
  if constexpr (std::is_same_v<T, std::string>) {
    return key.choices ? fmt::format("one of {}", fmt::join(key.choices(), ", ")) : "text";
  } else if constexpr (std::is_same_v<T, bool>) {
    return "true or false";
  } else if constexpr (std::is_same_v<T, double>) {
    return expected_number(key, "a number");
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return expected_number(key, "an integer");
  } else {
    return "a list, each " + expected_number(key, "an integer");
  }
}

template <class T>
bool fits(const ConfigKey& key, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (!key.choices) return true;
    const std::vector<std::string> choices = key.choices();
    return std::find(choices.begin(), choices.end(), value) != choices.end();
  } else if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (std::is_same_v<T, Integers>) {
    constexpr std::size_t kMost = 1024;
    return value.size() <= kMost && std::all_of(value.begin(), value.end(), [&](std::int64_t v) {
             return in_range(key, static_cast<double>(v));
           });
  } else {
    return std::isfinite(static_cast<double>(value)) && in_range(key, static_cast<double>(value));
  }
}

// Calls code(member) with the key's pointer to member.
template <class Code>
auto with_member(const ConfigKey& key, const Code& code) {
  return std::visit(code, key.member);
}
template <class Member>
using ValueOf = typename std::decay_t<decltype(std::declval<TrainConfig>().*
                                               std::declval<Member>())>::value_type;

// ---------------------------------------------------------------------------------------------
// JSON
// ---------------------------------------------------------------------------------------------

template <class T>
std::optional<T> read(const Json& json) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (json.is_string()) return json.get<std::string>();
  } else if constexpr (std::is_same_v<T, bool>) {
    if (json.is_boolean()) return json.get<bool>();
  } else if constexpr (std::is_same_v<T, double>) {
    if (json.is_number()) return json.get<double>();
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    if (json.is_number_integer() &&
        (!json.is_number_unsigned() || json.get<std::uint64_t>() <= INT64_MAX))
      return json.get<std::int64_t>();
  } else if (json.is_array()) {
    Integers all;
    for (const Json& element : json) {
      const auto value = read<std::int64_t>(element);
      if (!value) return {};
      all.push_back(*value);
    }
    return all;
  }
  return {};
}

std::string shown(const Json& json) {
  constexpr std::size_t kMost = 60;
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

// Walks an object and collects what is wrong with it.
class ConfigReader {
 public:
  TrainConfig config;
  std::vector<std::string> faults;

  void object(const Json& json, const std::string& path) {
    for (const auto& [name, value] : json.items()) {
      const std::string inner = path.empty() ? name : path + "." + name;
      if (const ConfigKey* key = find(inner))
        take(*key, value);
      else if (is_object(inner))
        nested(inner, value);
      else
        faults.push_back(
            fmt::format("{}: there is no such key; there are {}", at(inner), siblings(path)));
    }
  }

 private:
  static std::string at(const std::string& path) {
    const std::string quoted = in_quotes(path);
    return "config." + quoted.substr(1, quoted.size() - 2);
  }
  static const ConfigKey* find(const std::string& path) {
    for (const ConfigKey& key : config_keys())
      if (key.path == path) return &key;
    return nullptr;
  }
  static bool is_object(const std::string& path) {
    return std::any_of(config_keys().begin(), config_keys().end(),
                       [&](const ConfigKey& key) { return key.path.starts_with(path + "."); });
  }
  static std::string siblings(const std::string& path) {
    std::vector<std::string> names;
    for (const ConfigKey& key : config_keys()) {
      if (!path.empty() && !key.path.starts_with(path + ".")) continue;
      const std::string rest(key.path.substr(path.empty() ? 0 : path.size() + 1));
      const std::string name = rest.substr(0, rest.find('.'));
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  void nested(const std::string& path, const Json& value) {
    if (value.is_object())
      object(value, path);
    else
      faults.push_back(fmt::format("{}: expected an object, came {}", at(path), shown(value)));
  }

  void take(const ConfigKey& key, const Json& json) {
    with_member(key, [&](auto member) {
      using T = ValueOf<decltype(member)>;
      const std::optional<T> value = read<T>(json);
      if (value && fits(key, *value))
        config.*member = *value;
      else
        faults.push_back(fmt::format("{}: expected {}, came {}", at(std::string(key.path)),
                                     expected<T>(key), shown(json)));
    });
  }
};

// ---------------------------------------------------------------------------------------------
// Flags
// ---------------------------------------------------------------------------------------------

template <class T>
std::optional<T> number_from(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

template <class T>
std::optional<T> from_text(std::string_view text) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::string(text);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (text == "true" || text == "false") return text == "true";
    return {};
  } else if constexpr (std::is_same_v<T, Integers>) {
    Integers all;
    if (text == "none") return all;
    for (;;) {
      const std::size_t comma = text.find(',');
      const auto value = number_from<std::int64_t>(text.substr(0, comma));
      if (!value) return {};
      all.push_back(*value);
      if (comma == std::string_view::npos) return all;
      text.remove_prefix(comma + 1);
    }
  } else {
    return number_from<T>(text);
  }
}

// ---------------------------------------------------------------------------------------------
// Filling in
// ---------------------------------------------------------------------------------------------

[[noreturn]] void refuse(std::string_view path, const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, fmt::format("config.{}: {}", path, why));
}

template <class T>
void fill(std::optional<T>& choice, const T& value) {
  if (!choice) choice = value;
}

// The recipe of docs/reference/train.md for everything but large classifications.
bool is_small(const Split& data) {
  constexpr std::int64_t kLarge = 10'000;
  return data.train.task != Task::kClassification || data.train.size() < kLarge;
}

std::int64_t steps_an_epoch(const TrainConfig& c, const Split& data) {
  const std::int64_t rows = *c.batch * *c.accumulate;
  return std::max<std::int64_t>(1, (data.train.size() + rows - 1) / rows);
}

void fill_model(TrainConfig& c, const Split& data) {
  const bool small = is_small(data);
  const std::int64_t in =
      data.train.inputs.elements() / std::max<std::int64_t>(1, data.train.size());
  const std::int64_t out = data.train.outputs();
  if (c.layers) {
    if (c.hidden) refuse("model.hidden", "model.layers says the same; one of them is expected");
    if (c.layers->size() < 2)
      refuse("model.layers", fmt::format("{} sizes, at least 2 are expected", c.layers->size()));
    if (c.layers->front() != in)
      refuse("model.layers", fmt::format("{} features in, the data has {}", c.layers->front(), in));
    const bool enough = data.train.task == Task::kClassification ? c.layers->back() >= out
                                                                 : c.layers->back() == out;
    if (!enough)
      refuse("model.layers", fmt::format("{} outputs, the data has {}", c.layers->back(), out));
  } else {
    const Integers usual = small ? Integers{64, 64} : Integers{256, 128};
    Integers sizes{in};
    const Integers& hidden = c.hidden ? *c.hidden : usual;
    sizes.insert(sizes.end(), hidden.begin(), hidden.end());
    sizes.push_back(out);
    c.layers = sizes;
  }
  c.hidden.reset();
  fill<std::string>(c.activation, "relu");
  fill<std::string>(c.norm, "none");
  fill<std::string>(c.init, "he");
  fill(c.dropout, small ? 0.0 : 0.2);
}

void fill_loss(TrainConfig& c, Task task) {
  fill(c.loss, std::string(name(usual_loss(task).kind)));
  const Loss::Kind kind = loss_from_name(*c.loss);
  if (!fits(kind, task))
    refuse("loss.name", fmt::format("{} does not fit {}", *c.loss, limpid::name(task)));
  if (c.label_smoothing && kind != Loss::Kind::kCrossEntropy)
    refuse("loss.label_smoothing", fmt::format("the loss {} has none", *c.loss));
  if (c.delta && kind != Loss::Kind::kHuber)
    refuse("loss.delta", fmt::format("the loss {} has none", *c.loss));
  if (kind == Loss::Kind::kCrossEntropy) fill(c.label_smoothing, 0.0);
  if (kind == Loss::Kind::kHuber) fill(c.delta, 1.0);
}

// The optimiser's numbers by the names of optim::numbers.
struct OptimizerNumber {
  const char* name;
  std::variant<std::optional<double> TrainConfig::*, std::optional<bool> TrainConfig::*> member;
};
constexpr OptimizerNumber kOptimizerNumbers[] = {
    {"momentum", &TrainConfig::momentum},
    {"nesterov", &TrainConfig::nesterov},
    {"alpha", &TrainConfig::alpha},
    {"centered", &TrainConfig::centered},
    {"beta1", &TrainConfig::beta1},
    {"beta2", &TrainConfig::beta2},
    {"amsgrad", &TrainConfig::amsgrad},
    {"eps", &TrainConfig::eps},
    {"initial_sum", &TrainConfig::initial_sum},
    {"weight_decay", &TrainConfig::weight_decay},
    {"decay_vectors", &TrainConfig::decay_vectors},
};

optim::Optimizer optimizer_of(const TrainConfig& c) {
  optim::Optimizer optimizer = optim::optimizer_from_name(*c.optimizer);
  for (const OptimizerNumber& number : kOptimizerNumbers)
    std::visit(
        [&](auto member) {
          if (!(c.*member)) return;
          try {
            optim::set_number(optimizer, number.name, static_cast<double>(*(c.*member)));
          } catch (const Error& e) {
            refuse(fmt::format("optimizer.{}", number.name), e.what());
          }
        },
        number.member);
  return optimizer;
}

void fill_optimizer(TrainConfig& c, bool small) {
  const bool chosen = c.optimizer.has_value();
  fill<std::string>(c.optimizer, small ? "adam" : "sgd");
  if (*c.optimizer == "sgd") fill(c.momentum, 0.9);
  fill(c.decay_vectors, false);
  const optim::Optimizer optimizer = optimizer_of(c);
  constexpr double kSmallRate = 0.005;
  fill(c.rate, small && !chosen ? kSmallRate : optim::usual_rate(optimizer));
  for (const auto& [name, value] : optim::numbers(optimizer))
    for (const OptimizerNumber& number : kOptimizerNumbers)
      if (number.name == name)
        std::visit(
            [&, v = value](auto member) {
              using T = ValueOf<decltype(member)>;
              c.*member = static_cast<T>(v);
            },
            number.member);
}

void fill_length(TrainConfig& c, const Split& data) {
  const bool small = is_small(data);
  fill<std::int64_t>(c.batch, small ? 32 : 128);
  fill<std::int64_t>(c.accumulate, 1);
  constexpr std::int64_t kLeastSteps = 1000;
  constexpr std::int64_t kEpochs = 10, kSmallEpochs = 100;
  const std::int64_t steps = steps_an_epoch(c, data);
  fill(c.epochs, small ? std::max(kSmallEpochs, (kLeastSteps + steps - 1) / steps) : kEpochs);
}

}  // namespace

TrainConfig parse_train_config(std::string_view text, std::string_view source) {
  const std::string where = in_quotes(source);
  Json json;
  try {
    json = detail::parse_shallow_json(text);
  } catch (const nlohmann::json::exception& e) {
    // Behind the library's own name of its exception, in brackets.
    const std::string_view what = e.what();
    throw Error(ErrorCode::kParse,
                fmt::format("configuration {}: {}", where, what.substr(what.find("] ") + 2)));
  } catch (const Error& e) {
    throw Error(ErrorCode::kParse, fmt::format("configuration {}: {}", where, e.what()));
  }
  if (!json.is_object())
    throw Error(ErrorCode::kParse,
                fmt::format("configuration {}: expected an object, came {}", where, shown(json)));
  ConfigReader reader;
  reader.object(json, "");
  if (!reader.faults.empty())
    throw Error(ErrorCode::kParse,
                fmt::format("configuration {}: {}", where, fmt::join(reader.faults, "; ")));
  return reader.config;
}

std::string to_json(const TrainConfig& config) {
  Json json = Json::object();
  for (const ConfigKey& key : config_keys())
    with_member(key, [&](auto member) {
      if (!(config.*member)) return;
      Json* place = &json;
      std::string_view rest = key.path;
      for (std::size_t dot; (dot = rest.find('.')) != std::string_view::npos;) {
        place = &(*place)[std::string(rest.substr(0, dot))];
        rest.remove_prefix(dot + 1);
      }
      (*place)[std::string(rest)] = *(config.*member);
    });
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

void set_from_text(TrainConfig& config, const ConfigKey& key, std::string_view text) {
  with_member(key, [&](auto member) {
    using T = ValueOf<decltype(member)>;
    const std::optional<T> value = from_text<T>(text);
    if (!value || !fits(key, *value))
      throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: expected {}, came {}", key.flag,
                                                           expected<T>(key), in_quotes(text)));
    config.*member = *value;
  });
}

TrainConfig overridden(TrainConfig config, const TrainConfig& over) {
  // Each of the two says all about the sizes.
  if (over.hidden) config.layers.reset();
  if (over.layers) config.hidden.reset();
  for (const ConfigKey& key : config_keys())
    with_member(key, [&](auto member) {
      if (over.*member) config.*member = over.*member;
    });
  return config;
}

TrainConfig complete(const TrainConfig& config, const Split& data) {
  TrainConfig c = config;
  const Task task = data.train.task;
  fill<std::string>(c.data, "digits");
  fill(c.task, std::string(limpid::name(task)));
  if (*c.task != limpid::name(task))
    refuse("task", fmt::format("{}, but the data is for {}", *c.task, limpid::name(task)));
  fill_model(c, data);
  fill_loss(c, task);
  fill_optimizer(c, is_small(data));
  fill<std::string>(c.schedule, "linear");
  fill<std::int64_t>(c.warmup, 0);
  fill(c.decay_every, 10.0);
  fill(c.decay_factor, 0.1);
  fill_length(c, data);
  fill<std::int64_t>(c.seed, 0);
  fill<std::int64_t>(c.patience, 0);
  fill<std::string>(c.metric, "loss");
  fill(c.min_delta, 0.0);
  fill(c.check_finite, false);
  const std::int64_t an_epoch = steps_an_epoch(c, data);
  fill(c.log_every, std::max<std::int64_t>(1, an_epoch / 100));
  fill<std::int64_t>(c.checkpoint_every, 0);
  const std::vector<std::string> metrics = metric_names(task, data.train.outputs());
  if (std::find(metrics.begin(), metrics.end(), *c.metric) == metrics.end())
    refuse("early_stopping.metric",
           fmt::format("{} has no {}; it has {}", *c.task, *c.metric, fmt::join(metrics, ", ")));
  if (*c.patience > 0 && data.validation.size() == 0)
    refuse("early_stopping.patience",
           "the data has no validation part; 0, or data with one (split=90/10) is expected");
  if (*c.norm == "batch" && (*c.batch == 1 || data.train.size() % *c.batch == 1))
    refuse("batch", fmt::format("the last batch of an epoch would have one of the {} examples, "
                                "and batch norm needs two; another size is expected",
                                data.train.size()));
  return c;
}

// ---------------------------------------------------------------------------------------------
// What it asks for
// ---------------------------------------------------------------------------------------------

nn::Mlp network_of(const TrainConfig& c) {
  return {*c.layers, nn::activation_from_name(*c.activation), *c.dropout, *c.init,
          nn::mlp_norm_from_name(*c.norm)};
}

Loss loss_of(const TrainConfig& c) {
  return {loss_from_name(*c.loss), c.label_smoothing.value_or(0), c.delta.value_or(1)};
}

TrainOptions options_of(const TrainConfig& c, const Split& data) {
  TrainOptions options;
  options.epochs = *c.epochs;
  options.batch = *c.batch;
  options.accumulate = *c.accumulate;
  options.schedule.kind = optim::schedule_from_name(*c.schedule);
  options.schedule.rate = *c.rate;
  options.schedule.warmup = *c.warmup;
  options.schedule.every = std::max<std::int64_t>(
      1, std::llround(*c.decay_every * static_cast<double>(steps_an_epoch(c, data))));
  options.schedule.factor = *c.decay_factor;
  options.rule = {optimizer_of(c), {c.clip_value, c.clip_norm}};
  options.seed = static_cast<std::uint64_t>(*c.seed);
  options.metric = *c.metric;
  if (*c.patience > 0) options.early_stopping = EarlyStopping{*c.patience, *c.min_delta};
  options.check_finite = *c.check_finite;
  return options;
}

}  // namespace limpid::train
