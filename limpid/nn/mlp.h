// Mlp: a multilayer perceptron. Each linear layer but the last is followed by norm, activation and
// dropout; the last gives the logits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/enum_names.h"
#include "limpid/function/function.h"
#include "limpid/nn/activation.h"
#include "limpid/nn/linear.h"

namespace limpid::nn {

// Normalisation of a hidden layer.
enum class MlpNorm : std::uint8_t { kNone, kLayer, kRms, kBatch };

// Its names (core/enum_names.h).
constexpr EnumNames<4> enum_names(MlpNorm) { return {"norm", {"none", "layer", "rms", "batch"}}; }
using limpid::name;

struct Mlp {
  std::vector<std::int64_t> sizes;  // input features, hidden sizes, output features
  Activation activation = activation_from_name("relu");
  double dropout = 0;  // rate after every hidden activation, in training only
  std::string init_name = "he";
  MlpNorm norm = MlpNorm::kNone;  // after every linear layer but the last

  // "layers.0.weight", "layers.0.bias", then with a norm "norms.0.weight" and, but for rms,
  // "norms.0.bias"; "layers.1.weight", ... Throws kInvalidArgument for fewer than two sizes, a
  // size below 1, or a dropout outside of [0, 1).
  Params init(Key key) const;
  // The running statistics of batch norm, "norms.0.running_mean", "norms.0.running_var", ...; empty
  // for the other norms.
  Params init_state() const;

  // x (..., sizes.front()) to logits (..., sizes.back()). Dropout is active if a key (i64 scalar)
  // is given. Batch norm uses the running statistics, which `params` must include. Throws kShape.
  Value operator()(const Args& params, Value x, std::optional<Value> key = {}) const;

  // The results of training().
  struct Training {
    Value logits;
    Args state;  // the new running statistics
  };
  // The forward pass in training, for x (N, sizes.front()): dropout is active, and batch norm uses
  // the statistics of the batch.
  Training training(const Args& params, const Args& state, Value x, Value key) const;

  // The model of one example, without dropout. Inputs: the parameters, the running statistics, then
  // "x" f32[sizes.front()]. Output: "logits" f32[sizes.back()].
  Function function() const;

  // The hyper-parameters as JSON, and from JSON. from_config throws kParse,
  // kInvalidArgument, or kNotFound for an unknown name.
  std::string config() const;
  static Mlp from_config(std::string_view json);

  std::vector<Linear> layers() const;  // in their order
};

// An Mlp with these sizes; its other hyper-parameters are the defaults. Throws kNotFound if the
// activation is not in the table of limpid/ops/activation.h.
Mlp mlp(std::vector<std::int64_t> sizes, Value (*activation)(Value), double dropout = 0);

// Parameters as inputs of a Function, and the Values of these inputs by name.
std::vector<Input> inputs_of(const Params& params);
Args args_of(const Params& params, std::span<const Value> values);

}  // namespace limpid::nn
