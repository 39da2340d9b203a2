#include "limpid/train/config/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/in_quotes.h"
#include "limpid/optim/optimizer.h"
#include "limpid/train/config/detail/complete.h"

namespace limpid::train {
namespace {

using Integers = TrainConfig::Integers;

// ---------------------------------------------------------------------------------------------
// One value against its key
// ---------------------------------------------------------------------------------------------

constexpr std::size_t kMostInList = 1024;

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
  if (key.high == kEndless)
    return key.open_low ? fmt::format("{} above {}", kind, number(key.low))
                        : fmt::format("{} of {} or more", kind, number(key.low));
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
    return fmt::format("a list of at most {}, each {}", kMostInList,
                       expected_number(key, "an integer"));
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
    return value.size() <= kMostInList &&
           std::all_of(value.begin(), value.end(),
                       [&](std::int64_t v) { return in_range(key, static_cast<double>(v)); });
  } else {
    return std::isfinite(static_cast<double>(value)) && in_range(key, static_cast<double>(value));
  }
}

// What a configuration says of the key.
template <class Config, class T>
auto& choice_in(Config& config, const ConfigKey&, ConfigKey::Member<T> member) {
  return config.*member;
}
template <class T>
std::optional<T>& choice_in(TrainConfig& config, const ConfigKey& key, ConfigKey::Named<T> all) {
  return (config.*all)[std::string(key.name())];
}
template <class T>
const std::optional<T>& choice_in(const TrainConfig& config, const ConfigKey& key,
                                  ConfigKey::Named<T> all) {
  static const std::optional<T> nothing;
  const auto found = (config.*all).find(key.name());
  return found == (config.*all).end() ? nothing : found->second;
}

// Calls code(choice...) with what each configuration says of the key, each a std::optional.
template <class Code, class... Configs>
void with_choice(const ConfigKey& key, const Code& code, Configs&... configs) {
  std::visit([&](auto member) { code(choice_in(configs, key, member)...); }, key.member);
}
template <class Choice>
using ValueOf = typename std::decay_t<Choice>::value_type;

// ---------------------------------------------------------------------------------------------
// JSON
// ---------------------------------------------------------------------------------------------

template <class T>
std::optional<T> read(const Json& json) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (json.is_string()) return json.as_string();
  } else if constexpr (std::is_same_v<T, bool>) {
    if (json.is_bool()) return json.as_bool();
  } else if constexpr (std::is_same_v<T, double>) {
    if (json.is_number()) return json.as_number();
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    if (json.is_small_integer()) return json.as_integer();
  } else {
    if (const auto one = read<std::int64_t>(json)) return Integers{*one};
    if (!json.is_array()) return {};
    Integers all;
    for (const Json& element : json.elements()) {
      const auto value = read<std::int64_t>(element);
      if (!value) return {};
      all.push_back(*value);
    }
    return all;
  }
  return {};
}

// Walks an object and collects what is wrong with it.
class ConfigReader {
 public:
  TrainConfig config;
  std::vector<std::string> faults;

  void object(const Json& json, const std::string& path) {
    for (const auto& [name, value] : json.members()) {
      const std::string inner = path.empty() ? name : path + "." + name;
      if (const ConfigKey* key = find(inner))
        take(*key, value);
      else if (is_object(inner))
        nested(inner, value);
      else
        faults.push_back(fmt::format("{}: unknown key; expected one of {}{}", at(inner),
                                     siblings(path), elsewhere(name)));
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

  // Where keys of this name are: "hidden" is one of the model's.
  static std::string elsewhere(const std::string& name) {
    std::vector<std::string> paths;
    for (const ConfigKey& key : config_keys())
      if (key.path.ends_with("." + name)) paths.push_back(at(std::string(key.path)));
    return paths.empty() ? "" : fmt::format("; there is {}", fmt::join(paths, ", "));
  }

  void nested(const std::string& path, const Json& value) {
    if (value.is_object())
      object(value, path);
    else
      faults.push_back(fmt::format("{}: expected an object, got {}", at(path), brief(value)));
  }

  void take(const ConfigKey& key, const Json& json) {
    const auto take = [&](auto& choice) {
      using T = ValueOf<decltype(choice)>;
      const std::optional<T> value = read<T>(json);
      if (value && fits(key, *value))
        choice = *value;
      else
        faults.push_back(
            fmt::format("{}: expected {}, got {}", at(key.path), expected<T>(key), brief(json)));
    };
    with_choice(key, take, config);
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
// One configuration over another
// ---------------------------------------------------------------------------------------------

using Text = std::optional<std::string>;
bool is_another(const Text& chosen, const Text& over) { return chosen && over && chosen != over; }

template <class T>
void keep_numbers_of(std::string_view optimizer,
                     std::map<std::string, std::optional<T>, std::less<>>& values) {
  const std::span<const optim::Number> all = optim::numbers_of(optimizer);
  std::erase_if(values, [&](const auto& value) {
    return std::none_of(all.begin(), all.end(),
                        [&](const optim::Number& n) { return n.name == value.first; });
  });
}

// Layers, hidden sizes and norms mean something else in another model.
bool keeps_meaning(const detail::ModelFamily& family, std::string_view key) {
  return key != "layers" && key != "hidden" && key != "norm" &&
         std::find(family.keys.begin(), family.keys.end(), key) != family.keys.end();
}

void drop_keys_of_others(TrainConfig& config, const TrainConfig& over) {
  if (is_another(config.model, over.model))
    for (const ConfigKey& key : config_keys())
      if (key.path.starts_with("model.") && !keeps_meaning(detail::family_of(over), key.name()))
        with_choice(
            key, [](auto& choice) { choice.reset(); }, config);
  if (over.positions && *over.positions != nn::name(nn::GptPositions::kRotary))
    config.rotary_base.reset();
  if (is_another(config.task, over.task)) config.loss.reset();
  if (is_another(config.task, over.task) || is_another(config.loss, over.loss)) {
    config.label_smoothing.reset();
    config.class_weights.reset();
    config.delta.reset();
  }
  if (is_another(config.optimizer, over.optimizer)) {
    keep_numbers_of(*over.optimizer, config.optimizer_numbers);
    keep_numbers_of(*over.optimizer, config.optimizer_switches);
  }
}

}  // namespace

TrainConfig parse_train_config(std::string_view text, std::string_view source) {
  const std::string where = in_quotes(source);
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Error& e) {
    throw Error(ErrorCode::kParse, fmt::format("configuration {}: {}", where, e.what()));
  }
  if (!json.is_object())
    throw Error(ErrorCode::kParse,
                fmt::format("configuration {}: expected an object, got {}", where, brief(json)));
  ConfigReader reader;
  reader.object(json, "");
  if (!reader.faults.empty())
    throw Error(ErrorCode::kParse,
                fmt::format("configuration {}: {}", where, fmt::join(reader.faults, "; ")));
  return reader.config;
}

Json to_json(const TrainConfig& config) {
  Json json = Json::object();
  for (const ConfigKey& key : config_keys()) {
    const auto write = [&](const auto& choice) {
      if (!choice) return;
      Json* place = &json;
      std::string_view rest = key.path;
      for (std::size_t dot; (dot = rest.find('.')) != std::string_view::npos;) {
        place = &(*place)[rest.substr(0, dot)];
        rest.remove_prefix(dot + 1);
      }
      (*place)[rest] = *choice;
    };
    with_choice(key, write, config);
  }
  return json;
}

std::string to_text(const TrainConfig& config) {
  return to_json(config).dump({.indent = 2, .replace_invalid = true});
}

void set_from_text(TrainConfig& config, const ConfigKey& key, std::string_view text) {
  const DefaultFloatMode mode;
  const auto set = [&](auto& choice) {
    using T = ValueOf<decltype(choice)>;
    const std::optional<T> value = from_text<T>(text);
    if (!value || !fits(key, *value))
      throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: expected {}, got {}", key.flag,
                                                           expected<T>(key), in_quotes(text)));
    choice = *value;
  };
  with_choice(key, set, config);
}

bool is_chosen(const TrainConfig& config, const ConfigKey& key) {
  bool chosen = false;
  with_choice(
      key, [&](const auto& choice) { chosen = choice.has_value(); }, config);
  return chosen;
}

void detail::fill_usual(TrainConfig& config) {
  for (const ConfigKey& key : config_keys()) {
    if (std::holds_alternative<std::monostate>(key.usual)) continue;
    with_choice(
        key,
        [&](auto& choice) {
          using T = ValueOf<decltype(choice)>;
          if constexpr (!std::is_same_v<T, Integers>) fill(choice, std::get<T>(key.usual));
        },
        config);
  }
}

TrainConfig overridden(TrainConfig config, const TrainConfig& over) {
  drop_keys_of_others(config, over);
  // Each of the two determines all sizes, except for a gpt, where they mean different things.
  const bool gpt = (over.model ? over.model : config.model) == "gpt";
  if (over.hidden && !gpt) config.layers.reset();
  if (over.layers && !gpt) config.hidden.reset();
  // Each of these determines the length of training.
  if (over.epochs) config.steps.reset();
  if (over.steps) config.epochs.reset();
  if (over.preset) {
    config.norm.reset();
    config.feed_forward.reset();
    config.positions.reset();
    config.rotary_base.reset();
    config.bias.reset();
    config.tied.reset();
  }
  for (const ConfigKey& key : config_keys())
    with_choice(
        key,
        [](auto& choice, const auto& chosen) {
          if (chosen) choice = chosen;
        },
        config, over);
  return config;
}

}  // namespace limpid::train
