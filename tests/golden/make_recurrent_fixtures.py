#!/usr/bin/python3
"""Writes recurrent.safetensors: recurrent layers and their gradients by PyTorch, as make_fixtures.py.

f64, of f32 numbers; for each case of CASES, a layer of torch.nn with batch_first:
    <case>.x, <case>.h, <case>.c, <case>.up, and the parameters
    <case>.y               the result, the last h and the last c, flat and one after the other
    <case>.dx, ...         the gradients of sum(up * y)
With lengths, the sequences are packed.
"""

import torch

from make_fixtures import gradients_of, save

LENGTHS = [5, 3, 1]
CASES = {
    "rnn": (torch.nn.RNN(3, 4, num_layers=2, batch_first=True), None),
    "relu": (torch.nn.RNN(3, 4, nonlinearity="relu", bidirectional=True, batch_first=True), None),
    "lstm": (torch.nn.LSTM(3, 4, batch_first=True), None),
    "deep_lstm": (torch.nn.LSTM(3, 2, num_layers=2, bidirectional=True, batch_first=True), LENGTHS),
    "gru": (torch.nn.GRU(3, 4, batch_first=True, bias=False), None),
    "deep_gru": (torch.nn.GRU(3, 2, num_layers=2, bidirectional=True, batch_first=True), LENGTHS),
}


def run(layer, x, state, lengths):
    if lengths is None:
        return layer(x, state)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths), batch_first=True)
    y, last = layer(packed, state)
    return torch.nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=x.shape[1])[0], last


def main():
    torch.manual_seed(21)
    tensors = {}
    for name, (layer, lengths) in CASES.items():
        states = layer.num_layers * (2 if layer.bidirectional else 1)
        inputs = {"x": torch.randn(3, 5, 3), "h": torch.randn(states, 3, layer.hidden_size)}
        if layer.mode == "LSTM":
            inputs["c"] = torch.randn(states, 3, layer.hidden_size)
        params = {k: 0.5 * torch.randn_like(v) for k, v in layer.state_dict().items()}
        layer.load_state_dict(params)
        layer.double()
        doubles = {k: v.double().requires_grad_() for k, v in inputs.items()}
        state = (doubles["h"], doubles["c"]) if "c" in doubles else doubles["h"]
        y, last = run(layer, doubles["x"], state, lengths)
        last = last if isinstance(last, tuple) else (last,)
        flat = torch.cat([v.reshape(-1) for v in (y, *last)])
        up = torch.randn(flat.shape).double()
        tensors.update({f"{name}.{k}": v.double() for k, v in {**inputs, **params}.items()})
        tensors.update({f"{name}.up": up, f"{name}.y": flat.detach()})
        grads = gradients_of(flat, up, {**doubles, **dict(layer.named_parameters())})
        tensors.update({f"{name}.{k}": g for k, g in grads.items()})
    save("recurrent.safetensors", tensors)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
