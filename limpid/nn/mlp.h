// Mlp: linear layers; between them a norm, an activation and dropout; the last gives logits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/function/function.h"
#include "limpid/nn/activation.h"
#include "limpid/nn/linear.h"

namespace limpid::nn {

// What normalises the values of a hidden layer.
enum class MlpNorm : std::uint8_t { kNone, kLayer, kRms, kBatch };

// "none", "layer", "rms", "batch".
std::vector<std::string> mlp_norm_names();
std::string_view name(MlpNorm norm);
// Throws kNotFound, naming those there are.
MlpNorm mlp_norm_from_name(std::string_view name);

struct Mlp {
  std::vector<std::int64_t> sizes;  // features in, hidden widths, features out
  Activation activation = activation_from_name("relu");
  double dropout = 0;  // behind every hidden activation, in training only
  std::string init_name = "he";
  MlpNorm norm = MlpNorm::kNone;  // behind every linear layer but the last

  // "layers.0.weight", "layers.0.bias", then with a norm "norms.0.weight" and, but for rms,
  // "norms.0.bias"; "layers.1.weight", ... Throws kInvalidArgument for fewer than two sizes or a
  // size below 1.
  Params init(Key key) const;
  // The running statistics of batch norm, "norms.0.running_mean", "norms.0.running_var", ...;
  // nothing for the other norms.
  Params init_state() const;

  // x (..., sizes.front()) to logits (..., sizes.back()). With a key (i64 scalar) dropout is at
  // work. Batch norm goes by the running statistics, which are among the parameters.
  Value operator()(const Args& params, Value x, std::optional<Value> key = {}) const;

  // What a step in training gives.
  struct Training {
    Value logits;
    Args state;  // the next one
  };
  // In training, x (N, sizes.front()): dropout is at work, and batch norm goes by the statistics of
  // the batch.
  Training training(const Args& params, const Args& state, Value x, Value key) const;

  // The model of one example, without dropout: the parameters, the running statistics, then "x"
  // f32[sizes.front()], to "logits".
  Function function() const;

  // The hyper-parameters as JSON, and back. from_config throws kParse or kInvalidArgument.
  std::string config() const;
  static Mlp from_config(std::string_view json);

  std::vector<Linear> layers() const;  // in their order
};

// An Mlp of these sizes with its other numbers as they are. Throws kNotFound where the activation
// is none of activation.h.
Mlp mlp(std::vector<std::int64_t> sizes, Value (*activation)(Value), double dropout = 0);

// Parameters as inputs of a Function, and as its Values by name.
std::vector<Input> inputs_of(const Params& params);
Args args_of(const Params& params, std::span<const Value> values);

}  // namespace limpid::nn
