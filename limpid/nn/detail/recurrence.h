// One direction of one recurrent layer: what the layers and the ONNX reader share. Depends on
// function, ops and transforms.
#pragma once

#include <array>
#include <functional>

#include "limpid/function/value.h"

namespace limpid::nn::detail {

enum class Recurrent : std::uint8_t { kRnn, kLstm, kGru };

// The rows of a weight for each unit: 1, 4 or 3 gates.
std::int64_t gates_of(Recurrent kind);

using Activate = std::function<Value(Value)>;

// Weights in PyTorch's order of gates: LSTM i f g o, GRU r z n.
struct Recurrence {
  Recurrent kind = Recurrent::kRnn;
  Value w_ih, w_hh;  // (gates H, in), (gates H, H)
  Value b_ih, b_hh;  // (gates H), or none
  bool reverse = false;

  // Of the gates; of the cell (RNN: of the state); of the LSTM's result. Default: sigmoid, tanh,
  // tanh.
  std::array<Activate, 3> activations = {};
  Value peepholes = {};       // LSTM: (3 H), of i, f and o, or none
  double clip = 0;            // bounds of what activations are given; 0: none
  bool input_forget = false;  // LSTM: f is 1 - i
  bool reset_after = true;    // GRU: the reset gate scales the product, not the state before it
};

// A state, (N, H) or (H); c is that of the LSTM.
struct RecurrentState {
  Value h, c;
};

// One step, of the input's part of the gates, w_ih x + b_ih.
RecurrentState step_of(const Recurrence& r, const Value& gates, const RecurrentState& state);

struct RecurrentRun {
  Value y;  // (T, N, H) or (T, H)
  RecurrentState last;
};

// All steps of x (T, N, in) or (T, in). The products with x come first, as one. `lengths`, i32 (N)
// or (), or none: an example's steps from its length on leave its state as it is, and give 0. In
// reverse its first step is its last one within its length.
RecurrentRun run_recurrence(const Recurrence& r, const Value& x, const RecurrentState& first,
                            const Value& lengths);

}  // namespace limpid::nn::detail
