// TrainConfig: every choice of a training run, from JSON or from flags. One table of keys checks
// what comes, says what happens where nothing comes, and makes docs/reference/train.md. Leans on
// trainer.h.
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
#include "limpid/data/text_windows.h"
#include "limpid/nn/char_lm.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/mlp.h"
#include "limpid/train/problem.h"
#include "limpid/train/trainer.h"

namespace limpid::train {

// What was chosen; what was not is filled in by complete().
struct TrainConfig {
  template <class T>
  using Choice = std::optional<T>;
  using Integers = std::vector<std::int64_t>;

  Choice<std::string> data, task, tokenizer;
  Choice<std::string> model;
  Choice<std::string> preset;
  Choice<std::int64_t> context, embedding;
  Choice<Integers> hidden, layers;
  Choice<std::int64_t> width, heads, kv_heads;
  Choice<std::string> activation, norm, feed_forward, positions, init;
  Choice<double> rotary_base, dropout;
  Choice<bool> bias, tied;
  Choice<std::string> loss;
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
  Choice<std::int64_t> patience;
  Choice<double> min_delta;
  Choice<bool> check_finite, log_shards;
  Choice<std::int64_t> log_every, probe_every, sample_every, checkpoint_every;
};

// A key of the configuration, which is a flag of `limpid train`, too.
struct ConfigKey {
  // A choice of one kind.
  template <class T>
  using Member = std::optional<T> TrainConfig::*;
  // A hyper-parameter of optimisers: its name is the end of the path.
  template <class T>
  using Named = std::map<std::string, std::optional<T>, std::less<>> TrainConfig::*;
  enum class Kind : std::uint8_t { kText, kInteger, kNumber, kSwitch, kIntegers };

  std::string path;  // "optimizer.lr"
  std::string flag;  // "--lr"

  // Where the choice is kept.
  std::variant<Member<std::string>, Member<std::int64_t>, Member<double>, Member<bool>,
               Member<TrainConfig::Integers>, Named<double>, Named<bool>>
      member;
  std::string help;
  std::string otherwise;  // the default, in words
  // Numbers: least and most; `open_low` and `open_high` leave the ends out.
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool open_low = false, open_high = false;
  std::vector<std::string> (*choices)() = nullptr;  // text: what there is

  Kind kind() const;              // of the member
  std::string_view name() const;  // the end of the path
};
// All keys, in the order of the reference.
std::span<const ConfigKey> config_keys();

// Throws kParse where the text is no JSON object, or breaks the table: all faults in one line, each
// with its path, as in `config.optimizer.lr: expected a positive number, came "fast"`.
TrainConfig parse_train_config(std::string_view json, std::string_view source);

// What was chosen, as JSON whose text parse_train_config reads as the same.
Json to_json(const TrainConfig& config);
std::string to_text(const TrainConfig& config);  // with one key per line, as config.json has it

// Sets what a flag says; of a switch, "true" or "false". Throws kInvalidArgument, naming the flag.
void set_from_text(TrainConfig& config, const ConfigKey& key, std::string_view text);

// Whether the configuration chooses a value for the key.
bool is_chosen(const TrainConfig& config, const ConfigKey& key);

// Everything of `config`, but what `over` chooses.
TrainConfig overridden(TrainConfig config, const TrainConfig& over);

// Fills in what the data and the other choices suggest, so that to_json of the result repeats the
// run. Throws kInvalidArgument where choices contradict each other or do not fit the data, naming
// the key.
TrainConfig complete(const TrainConfig& config, const Split& data);

// How the model wants a text: the data needs to know before complete() does. Throws
// kInvalidArgument for a tokenizer that there is not.
WindowOptions window_options_of(const TrainConfig& config);

// What a complete configuration asks for, by its model: mlp; charlm, whose layers are network_of;
// gpt.
nn::Mlp network_of(const TrainConfig& config);
nn::CharLm char_lm_of(const TrainConfig& config);
nn::Gpt gpt_of(const TrainConfig& config, std::int64_t vocabulary);
Loss loss_of(const TrainConfig& config);
TrainOptions options_of(const TrainConfig& config, const Split& data);

// The reference page of all keys, in Markdown.
std::string train_reference();

}  // namespace limpid::train
