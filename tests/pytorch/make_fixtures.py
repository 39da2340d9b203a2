#!/usr/bin/python3
"""Writes small models as PyTorch exports them to ONNX, with inputs and the outputs that it computes, and
state_dicts, for the tests to read.

To make them again: apt-get install python3-torch (1.13 on Debian 12), then

    /usr/bin/python3 tests/pytorch/make_fixtures.py

in the root of the project. The tests need the files alone, not PyTorch.

models/<name>.onnx          opset 17, a batch dimension "N"; activation_<name>, norm_<name>, ...
models/<name>.safetensors   "x" and the output "y" of 3 examples, then "x1" and "y1" of one
state/<name>.safetensors    the state_dict of a layer, with "test.x" and "test.y"
state/written_mlp.safetensors   Limpid's parameters of a network; read here with load_state_dict, which says whether
                            names and shapes are PyTorch's, and not made here
"""

import json
import pathlib
import struct
import sys
import warnings

import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
DTYPES = {torch.float32: "F32", torch.int64: "I64", torch.int32: "I32"}


def save(path, tensors):
    """A safetensors file: the length of a header, the header, the elements."""
    header, data = {}, b""
    for name, tensor in tensors.items():
        values = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def load(path):
    file = path.read_bytes()
    (length,) = struct.unpack_from("<Q", file)
    header = json.loads(file[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        assert entry["dtype"] == "F32"
        values = struct.unpack(f"<{(end - begin) // 4}f", file[8 + length + begin:8 + length + end])
        tensors[name] = torch.tensor(values).reshape(entry["shape"])
    return tensors


def randomize(module):
    """Statistics and parameters that are not the first ones, which hide mistakes."""
    with torch.no_grad():
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
            if name.endswith("running_var"):
                tensor.uniform_(0.5, 1.5)
            elif tensor.is_floating_point() and (tensor.dim() < 2 or "bias" in name):
                tensor.uniform_(-0.5, 0.5)
    return module


def export(name, module, x):
    """`x` is of three examples. In eager arithmetic: no fused paths, which no export sees."""
    module = randomize(module).eval()
    path = HERE / "models" / f"{name}.onnx"
    torch.onnx.export(module, (x,), str(path), opset_version=17, input_names=["x"],
                      output_names=["y"], dynamic_axes={"x": {0: "N"}, "y": {0: "N"}})
    save(path.with_suffix(".safetensors"),
         {"x": x, "y": module(x), "x1": x[1:2], "y1": module(x[1:2])})


ACTIVATIONS = {
    "relu": nn.ReLU(), "leaky_relu": nn.LeakyReLU(0.1), "prelu": nn.PReLU(), "elu": nn.ELU(0.7),
    "selu": nn.SELU(), "celu": nn.CELU(1.5), "gelu": nn.GELU(),
    "gelu_tanh": nn.GELU(approximate="tanh"), "silu": nn.SiLU(), "mish": nn.Mish(),
    "softplus": nn.Softplus(), "softsign": nn.Softsign(), "sigmoid": nn.Sigmoid(),
    "log_sigmoid": nn.LogSigmoid(), "tanh": nn.Tanh(), "tanhshrink": nn.Tanhshrink(),
    "relu6": nn.ReLU6(), "hard_tanh": nn.Hardtanh(-0.5, 0.7), "hard_sigmoid": nn.Hardsigmoid(),
    "hard_swish": nn.Hardswish(), "hard_shrink": nn.Hardshrink(0.2),
    "soft_shrink": nn.Softshrink(0.2), "threshold": nn.Threshold(0, 0),
    "softmax": nn.Softmax(-1), "log_softmax": nn.LogSoftmax(-1), "softmin": nn.Softmin(-1),
}


class RmsNorm(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Residual(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.layers(x)


class SelfAttention(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(features, heads, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


class CausalAttention(nn.Module):
    """As GPT-2 has it: one projection, a mask, scores by matmul."""

    def __init__(self, features, heads, length):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(features, 3 * features)
        self.c_proj = nn.Linear(features, features)
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).bool())

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = (y.view(n, t, self.heads, c // self.heads).transpose(1, 2)
                   for y in self.c_attn(x).split(c, dim=2))
        scores = q @ k.transpose(-2, -1) * (c // self.heads) ** -0.5
        scores = scores.masked_fill(~self.mask[:t, :t], float("-inf"))
        y = torch.softmax(scores, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).reshape(n, t, c))


class Block(nn.Module):
    def __init__(self, features, heads, length):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(features), nn.LayerNorm(features)
        self.attn = CausalAttention(features, heads, length)
        self.mlp = nn.Sequential(nn.Linear(features, 4 * features), nn.GELU(approximate="tanh"),
                                 nn.Linear(4 * features, features))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self, words=17, length=8, features=16, heads=4, blocks=2):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, features), nn.Embedding(length, features)
        self.blocks = nn.Sequential(*(Block(features, heads, length) for _ in range(blocks)))
        self.ln_f = nn.LayerNorm(features)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device))
        return self.ln_f(self.blocks(x)) @ self.wte.weight.T


class EncoderLayer(nn.Module):
    """nn.TransformerEncoderLayer in the mode of training, without dropout: in that of inference it takes a fused path
    that no export sees."""

    def __init__(self, norm_first):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(12, 3, 20, dropout=0, batch_first=True,
                                                activation="gelu", norm_first=norm_first)

    def forward(self, x):
        self.layer.train()
        return self.layer(x)


def make_models():
    x = torch.randn(3, 6) * 1.5
    for name, activation in ACTIVATIONS.items():
        export(f"activation_{name}",
               nn.Sequential(nn.Linear(6, 8), activation, nn.Linear(8, 4), activation), x)
    export("activation_glu", nn.Sequential(nn.Linear(6, 8), nn.GLU(-1), nn.Linear(4, 4)), x)
    export("activation_swiglu", SwiGlu(6, 10), x)

    rows = torch.randn(3, 6, 5)
    for name, norm, example in (
            ("layer", nn.LayerNorm(6), x), ("layer_of_two", nn.LayerNorm((6, 5)), rows),
            ("rms", RmsNorm(6), x), ("batch", nn.BatchNorm1d(6), x),
            ("batch_of_rows", nn.BatchNorm1d(6), rows), ("group", nn.GroupNorm(3, 6), rows),
            ("instance", nn.InstanceNorm1d(6, affine=True), rows)):
        export(f"norm_{name}", nn.Sequential(norm, nn.ReLU()), example)
    export("dropout", nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 4)), x)

    export("mlp_norms", nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 16),
                                      nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4)), x)
    export("residual", nn.Sequential(nn.Linear(6, 12), Residual(nn.LayerNorm(12), nn.Linear(12, 12), nn.ReLU()),
                                     Residual(nn.Linear(12, 24), nn.SiLU(), nn.Linear(24, 12)),
                                     nn.Linear(12, 4)), x)
    sequence = torch.randn(3, 5, 12)
    export("attention", SelfAttention(12, 3), sequence)
    export("encoder_layer", EncoderLayer(norm_first=False), sequence)
    export("encoder_layer_norm_first", EncoderLayer(norm_first=True), sequence)
    export("gpt", Gpt(), torch.randint(0, 17, (3, 8)))


class SwiGlu(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.gate_proj = nn.Linear(features, hidden, bias=False)
        self.up_proj = nn.Linear(features, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, features, bias=False)

    def forward(self, x):
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Mlp(nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


def state(name, module, *x):
    randomize(module).eval()
    y = module(*x)
    tensors = {k: v for k, v in module.state_dict().items() if v.is_floating_point()}
    save(HERE / "state" / f"{name}.safetensors", {**tensors, "test.x": x[0], "test.y": y})


class Feed(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(6, 20), nn.Linear(20, 6)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))


class Attention(nn.MultiheadAttention):
    def forward(self, x):
        return super().forward(x, x, x, need_weights=False)[0]


def make_states():
    x, rows = torch.randn(3, 6), torch.randn(3, 5, 12)
    state("mlp", Mlp(6, 8, 7, 4), x)
    state("sequential", nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 4)), x)
    state("layer_norm", nn.LayerNorm(6), x)
    state("group_norm", nn.GroupNorm(2, 6), torch.randn(3, 6, 4))
    state("batch_norm", nn.BatchNorm1d(6), x)
    state("embedding", nn.Embedding(9, 5), torch.randint(0, 9, (3, 4)))
    state("attention", Attention(12, 3, batch_first=True).train(), rows)
    state("feed_forward", Feed(), x)
    state("gated", SwiGlu(6, 10), x)


class Recurrent(nn.Module):
    """A recurrent layer, and a linear one on each of its results, or on its last state."""

    def __init__(self, layer, last=False):
        super().__init__()
        self.rnn = layer
        self.last = last
        self.head = nn.Linear(layer.hidden_size * (2 if layer.bidirectional else 1), 3)

    def forward(self, x):
        y, _ = self.rnn(x)
        return self.head(y[:, -1] if self.last else y)


def make_recurrent():
    torch.manual_seed(2)
    x = torch.randn(3, 5, 4)
    export("rnn_relu", Recurrent(nn.RNN(4, 6, nonlinearity="relu", batch_first=True)), x)
    export("lstm", Recurrent(nn.LSTM(4, 6, batch_first=True), last=True), x)
    export("lstm_bidirectional", Recurrent(nn.LSTM(4, 5, num_layers=2, bidirectional=True, batch_first=True)), x)
    export("gru", Recurrent(nn.GRU(4, 6, num_layers=2, batch_first=True)), x)


def check_what_limpid_wrote():
    """load_state_dict is strict: it takes these names and shapes and no others."""
    tensors = load(HERE / "state/written_mlp.safetensors")
    net = Mlp(6, 8, 4)
    net.load_state_dict({k: v for k, v in tensors.items() if not k.startswith("test.")})
    torch.testing.assert_close(net(tensors["test.x"]), tensors["test.y"], rtol=1e-5, atol=1e-6)


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(1)
    for folder in ("models", "state"):
        (HERE / folder).mkdir(exist_ok=True)
    with torch.no_grad():
        make_models()
        make_states()
        make_recurrent()
    if (HERE / "state/written_mlp.safetensors").exists():
        check_what_limpid_wrote()
    else:
        sys.exit("state/written_mlp.safetensors is missing")


if __name__ == "__main__":
    main()
