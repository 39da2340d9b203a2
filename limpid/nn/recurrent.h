// Recurrent layers (Elman 1990; Hochreiter and Schmidhuber 1997; Cho et al. 2014) and their cells:
// the arguments, parameters and formulas of PyTorch's RNN, LSTM, GRU and RNNCell, LSTMCell,
// GRUCell. A layer is one scan for each direction; the products with all of x come before it, as
// one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "limpid/core/key.h"
#include "limpid/core/params.h"
#include "limpid/function/value.h"

namespace limpid::nn {

// The state of a recurrent layer or cell; c is that of an LSTM, else no value.
struct HiddenState {
  Value h, c;
};

// What a recurrent layer gives: y (..., T, directions H), and the state after the last step.
struct Recurred {
  Value y;
  HiddenState state;
};

// What a recurrent layer may be given besides x.
struct RecurrentInputs {
  // (layers directions, H), or (layers directions, N, H) for x with a batch; default: zeros.
  HiddenState state = {};
  // The number of steps of each example, i32 (N), or () for x without a batch. The state is that
  // after so many steps, y is 0 from there on, and the reverse direction begins there.
  Value lengths = {};
  // In training: for the dropout between layers.
  std::optional<Value> key = {};
};

// h' = f(w_ih x + b_ih + w_hh h + b_hh), with f tanh or relu.
struct RNN {
  std::int64_t input = 0;
  std::int64_t hidden = 0;
  std::int64_t layers = 1;
  std::string nonlinearity = "tanh";  // or "relu"
  bool bias = true;
  double dropout = 0;  // of the result of each layer but the last
  bool bidirectional = false;

  // "weight_ih_l0" (H, input), "weight_hh_l0" (H, H), "bias_ih_l0" and "bias_hh_l0" (H), the same
  // with "_reverse", and those of l1, ...: uniform in +-1 / sqrt(H). The inputs of later layers are
  // the directions side by side. Throws kInvalidArgument for sizes below 1.
  Params init(Key key) const;
  // x (T, input) or (N, T, input) to y, from a state of zeros. Throws kShape, kDtype.
  Value operator()(const Args& params, Value x, std::optional<Value> key = {}) const;
  // With state in and out. Throws as above.
  Recurred run(const Args& params, Value x, const RecurrentInputs& inputs) const;
};

// c' = f c + i g, h' = o tanh(c'), with i, f, o = sigmoid and g = tanh of w_ih x + b_ih + w_hh h +
// b_hh in four parts of H rows: i f g o.
struct LSTM {
  std::int64_t input = 0;
  std::int64_t hidden = 0;
  std::int64_t layers = 1;
  bool bias = true;
  double dropout = 0;
  bool bidirectional = false;

  // As those of RNN, with 4 H rows.
  Params init(Key key) const;
  Value operator()(const Args& params, Value x, std::optional<Value> key = {}) const;
  Recurred run(const Args& params, Value x, const RecurrentInputs& inputs) const;
};

// h' = (1 - z) n + z h, with r, z = sigmoid of w_ih x + b_ih + w_hh h + b_hh and n = tanh(w_ih x +
// b_ih + r (w_hh h + b_hh)), in three parts of H rows: r z n.
struct GRU {
  std::int64_t input = 0;
  std::int64_t hidden = 0;
  std::int64_t layers = 1;
  bool bias = true;
  double dropout = 0;
  bool bidirectional = false;

  // As those of RNN, with 3 H rows.
  Params init(Key key) const;
  Value operator()(const Args& params, Value x, std::optional<Value> key = {}) const;
  Recurred run(const Args& params, Value x, const RecurrentInputs& inputs) const;
};

// One step of an RNN. "weight_ih", "weight_hh", "bias_ih", "bias_hh".
struct RNNCell {
  std::int64_t input = 0;
  std::int64_t hidden = 0;
  std::string nonlinearity = "tanh";
  bool bias = true;

  // The parameters, each uniform in +-1 / sqrt(hidden), as PyTorch has them.
  Params init(Key key) const;
  // x (..., input), h (..., H) to the next h; without a value, h is zeros.
  Value operator()(const Args& params, Value x, Value h = {}) const;
};

// One step of an LSTM.
struct LSTMCell {
  std::int64_t input = 0;
  std::int64_t hidden = 0;
  bool bias = true;

  // The parameters, each uniform in +-1 / sqrt(hidden), as PyTorch has them.
  Params init(Key key) const;
  // x (..., input) and a state (..., H) to the next state.
  HiddenState operator()(const Args& params, Value x, HiddenState state = {}) const;
};

// One step of a GRU.
struct GRUCell {
  std::int64_t input = 0;
  std::int64_t hidden = 0;
  bool bias = true;

  // The parameters, each uniform in +-1 / sqrt(hidden), as PyTorch has them.
  Params init(Key key) const;
  // x (..., input), h (..., H) to the next h.
  Value operator()(const Args& params, Value x, Value h = {}) const;
};

}  // namespace limpid::nn
