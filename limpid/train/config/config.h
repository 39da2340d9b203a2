// TrainConfig: the configuration of a training run, from JSON or command-line options. One table of
// keys defines validation, defaults and docs/reference/train.md. Depends on trainer.h.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/data/dataset.h"
#include "limpid/data/text/text_windows.h"
#include "limpid/nn/char_lm.h"
#include "limpid/nn/cnn.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/lora.h"
#include "limpid/nn/mlp.h"
#include "limpid/train/loop/problem.h"
#include "limpid/train/loop/trainer.h"

namespace limpid::train {

// The values that were chosen. complete() fills in the others.
struct TrainConfig {
  template <class T>
  using Choice = std::optional<T>;
  using Integers = std::vector<std::int64_t>;

  Choice<std::string> data, task, tokenizer, augment, recipe, from, freeze;
  Choice<std::int64_t> lora_rank;
  Choice<double> lora_alpha;
  Choice<std::string> lora_targets;
  Choice<std::string> model;
  Choice<std::string> preset;
  Choice<std::int64_t> context, embedding;
  Choice<Integers> hidden, layers;
  Choice<std::int64_t> width, heads, kv_heads;
  Choice<std::string> activation, norm, feed_forward, positions, init;
  Choice<double> rotary_base, dropout;
  Choice<bool> bias, tied;
  Choice<std::string> loss, class_weights;
  Choice<double> label_smoothing, delta;
  Choice<std::string> optimizer;
  Choice<double> rate;
  // Hyper-parameters of the optimiser, by the names in its record.
  std::map<std::string, Choice<double>, std::less<>> optimizer_numbers;
  std::map<std::string, Choice<bool>, std::less<>> optimizer_switches;
  Choice<std::string> schedule;
  Choice<std::int64_t> warmup;
  Choice<double> decay_every, decay_factor;
  Choice<double> clip_value, clip_norm;
  Choice<std::int64_t> epochs, steps, batch, accumulate, shards, seed;
  Choice<std::string> metric;
  Choice<double> ema;
  Choice<std::int64_t> patience;
  Choice<double> min_delta;
  Choice<bool> check_finite, log_shards;
  Choice<std::int64_t> recompute;
  Choice<std::int64_t> log_every, probe_every, sample_every, checkpoint_every;
};

// A key of the configuration; also an option of `limpid train`.
struct ConfigKey {
  // A member with a choice of type T.
  template <class T>
  using Member = std::optional<T> TrainConfig::*;
  // A hyper-parameter of optimisers: its name is the end of the path.
  template <class T>
  using Named = std::map<std::string, std::optional<T>, std::less<>> TrainConfig::*;
  enum class Kind : std::uint8_t { kText, kInteger, kNumber, kSwitch, kIntegers };

  std::string path;  // "optimizer.lr"
  std::string flag;  // "--lr"

  // The member that holds the choice.
  std::variant<Member<std::string>, Member<std::int64_t>, Member<double>, Member<bool>,
               Member<TrainConfig::Integers>, Named<double>, Named<bool>>
      member;
  std::string help;
  std::string otherwise = {};  // the default, as text for help, where it is not `usual`
  // The default, where it depends on nothing: it has the type of the member.
  std::variant<std::monostate, std::string, std::int64_t, double, bool> usual = {};
  // The range of a number; `open_low` and `open_high` exclude the bounds.
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool open_low = false, open_high = false;
  std::vector<std::string> (*choices)() = nullptr;  // of text: the valid values
  // Sets the option of training that has the value of this key, in a complete configuration.
  void (*set)(TrainOptions& options, const TrainConfig& config) = nullptr;

  Kind kind() const;              // type of the member
  std::string_view name() const;  // the end of the path
};
// All keys, in the order of the reference.
std::span<const ConfigKey> config_keys();

// Throws kParse if the text is not a JSON object, or violates the table. The message lists all
// faults in one line, each with its path, as in `config.optimizer.lr: expected a positive number,
// got "fast"`.
TrainConfig parse_train_config(std::string_view json, std::string_view source);

// The chosen values as JSON. parse_train_config reads its text back as the same configuration.
Json to_json(const TrainConfig& config);
std::string to_text(const TrainConfig& config);  // one key per line, as in config.json

// Sets a key from the text of an option; for a switch "true" or "false". Throws kInvalidArgument,
// naming the option.
void set_from_text(TrainConfig& config, const ConfigKey& key, std::string_view text);

// Whether the configuration chooses a value for the key.
bool is_chosen(const TrainConfig& config, const ConfigKey& key);

// `config` with the values that `over` chooses in place of its own. If that is another model, task,
// loss, optimiser or kind of positions, the keys that only the old one has are dropped.
TrainConfig overridden(TrainConfig config, const TrainConfig& over);

// Throws kInvalidArgument, naming the key, if choices contradict each other whatever the data is.
// complete() does, too; but loading the data may take minutes. Throws what open_model throws for
// config.from.
void check_choices(const TrainConfig& config);

// Fills in the defaults, which depend on the data and the other choices. to_json() of the result
// reproduces the run. Throws kInvalidArgument, naming the key, if choices contradict each other or
// do not match the data; and what open_model throws for config.from, whose network it takes.
TrainConfig complete(const TrainConfig& config, const Split& data);

// How the model splits a text into windows; needed to load the data, before complete(). Throws
// kInvalidArgument for an unknown tokenizer, and what open_model throws for config.from.
WindowOptions window_options_of(const TrainConfig& config);

// The model of a complete configuration: for mlp (and the layers of charlm), for charlm, for gpt,
// and for cnn.
nn::Mlp network_of(const TrainConfig& config);
nn::CharLm char_lm_of(const TrainConfig& config);
nn::Gpt gpt_of(const TrainConfig& config, std::int64_t vocabulary);
nn::Cnn cnn_of(const TrainConfig& config, const Dataset& train);
Loss loss_of(const TrainConfig& config);
// The adapters that are trained; nullopt: there are none.
std::optional<nn::Lora> lora_of(const TrainConfig& config);
TrainOptions options_of(const TrainConfig& config, const Split& data);

// The reference page of all keys, in Markdown.
std::string train_reference();

}  // namespace limpid::train
