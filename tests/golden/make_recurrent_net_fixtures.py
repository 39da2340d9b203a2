#!/usr/bin/python3
"""Writes recurrent_net.safetensors: the networks of limpid/nn/recurrent_net.h as PyTorch modules, and their gradients.

f64, of f32 numbers; for each case of CASES:
    <case>.<parameter>, <case>.ids i32[2, 5] of a language model, or <case>.x f64[2, 5, 3]
    <case>.y               the logits
    <case>.up, <case>.d<parameter>   gradients of sum(up * y)
"""

import torch
from torch import nn

from make_fixtures import gradients_of, save

VOCABULARY, WIDTH = 7, 4


class Lm(nn.Module):
    def __init__(self, kind, layers, tied):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.rnn = kind(WIDTH, WIDTH, num_layers=layers, batch_first=True)
        self.head = nn.Linear(WIDTH, VOCABULARY)
        if tied:
            self.head.weight = self.embedding.weight

    def forward(self, ids):
        return self.head(self.rnn(self.embedding(ids))[0])


class Net(nn.Module):
    def __init__(self, kind, layers):
        super().__init__()
        self.rnn = kind(3, WIDTH, num_layers=layers, batch_first=True)
        self.head = nn.Linear(WIDTH, 2)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


CASES = {
    "lstm": Lm(nn.LSTM, 2, False),
    "gru": Lm(nn.GRU, 1, True),
    "lstm_numbers": Net(nn.LSTM, 1),
    "gru_numbers": Net(nn.GRU, 2),
}


def main():
    torch.manual_seed(41)
    tensors = {}
    for name, net in CASES.items():
        params = {k: 0.5 * torch.randn_like(v) for k, v in net.named_parameters()}
        net.load_state_dict(params, strict=False)
        net.double()
        text = isinstance(net, Lm)
        data = torch.randint(VOCABULARY, (2, 5)) if text else torch.randn(2, 5, 3).double()
        y = net(data)
        up = torch.randn(y.shape).double()
        tensors.update({f"{name}.{k}": v.double() for k, v in params.items()})
        tensors[f"{name}.{'ids' if text else 'x'}"] = data.int() if text else data
        tensors.update({f"{name}.up": up, f"{name}.y": y.detach()})
        tensors.update({f"{name}.{k}": g for k, g in gradients_of(y, up, dict(net.named_parameters())).items()})
    save("recurrent_net.safetensors", tensors)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
