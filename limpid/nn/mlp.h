// Mlp: linear layers with an activation, and dropout, between them; the last gives logits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/function/function.h"
#include "limpid/nn/activation.h"
#include "limpid/nn/linear.h"

namespace limpid::nn {

struct Mlp {
  std::vector<std::int64_t> sizes;  // features in, hidden widths, features out
  Activation activation = activation_from_name("relu");
  double dropout = 0;  // behind every hidden activation, in training only
  std::string init_name = "he";

  // "layers.0.weight", "layers.0.bias", "layers.1.weight", ... Throws kInvalidArgument for fewer
  // than two sizes or a size below 1.
  Params init(Key key) const;

  // x (..., sizes.front()) to logits (..., sizes.back()). With a key (i64 scalar) dropout is at
  // work.
  Value operator()(const Args& params, Value x, std::optional<Value> key = {}) const;

  // The model of one example, without dropout: the parameters, then "x" f32[sizes.front()], to
  // "logits".
  Function function() const;

  // The hyper-parameters as JSON, and back. from_config throws kParse or kInvalidArgument.
  std::string config() const;
  static Mlp from_config(std::string_view json);

  std::vector<Linear> layers() const;
};

Mlp mlp(std::vector<std::int64_t> sizes, Value (*activation)(Value), double dropout = 0);

// Parameters as inputs of a Function, and as its Values by name.
std::vector<Input> inputs_of(const Params& params);
Args args_of(const Params& params, std::span<const Value> values);

}  // namespace limpid::nn
