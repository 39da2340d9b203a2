#!/usr/bin/python3
"""Writes the numbers that PyTorch gives, for the tests to compare with.

To make them again: apt-get install python3-torch (1.13 on Debian 12), then

    /usr/bin/python3 tests/golden/make_fixtures.py

in the root of the project. The tests need the files alone, not PyTorch. Every file is a safetensors
file; what was asked of PyTorch stands in its metadata.

mlp_task.safetensors: the network 20-16-12-5 with ReLU, and what it is trained on
    layers.{0,1,2}.{weight,bias}   f32, the initial parameters, named as in state_dict
    x f32[512, 20], y i32[512]     the samples and their classes
    batches i32[100, 32]           the samples of each step
mlp_<optimiser>.safetensors: 100 steps of mean softmax cross-entropy from there; the optimisers are
sgd, momentum, nesterov, weight_decay, rmsprop, adam, adamw
    losses f32[100]                the loss of each batch before its step, computed in f32
    losses_f64 f64[100]            the same training computed in f64
    layers.{0,1,2}.{weight,bias}   f32, the parameters after the last step, computed in f32
    f64.layers.{0,1,2}.{weight,bias}  f64, the same computed in f64
activations.safetensors: computed in f64, rounded to f32
    x f32[n]                       [-8, 8] in steps of 1/16, random values, zeros and tiny values
    large.x f32[m]                 values far beyond
    <name>.y, <name>.dy, large.<name>.y, large.<name>.dy
                                   f(x) and f'(x) of relu, leaky_relu, elu, gelu, gelu_tanh, silu,
                                   sigmoid, tanh, softplus
    rows.x, rows.up f32[16, 10]; wide.x, wide.up f32[4, 300]
    rows.<name>.y, rows.<name>.dx, wide.<name>.y, wide.<name>.dx
                                   softmax and log_softmax over the last axis, and the gradient of
                                   sum(up * y) with respect to x
cross_entropy.safetensors: computed in f64, rounded to f32
    logits f32[64, 10], labels i32[64]
    loss f32[64], mean f32[]       of each row, and their mean
    grad f32[64, 10]               of the mean with respect to the logits
    smooth.loss, smooth.mean, smooth.grad
                                   the same with label smoothing 0.1
"""

import json
import pathlib
import struct

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
DTYPES = {torch.float32: "F32", torch.float64: "F64", torch.int32: "I32"}


def save(name, tensors, **metadata):
    """Writes a safetensors file: header length, JSON header, data (little-endian, no gaps)."""
    header = {"__metadata__": {"made_by": "PyTorch " + torch.__version__, **metadata}}
    data = b""
    for key, tensor in tensors.items():
        raw = tensor.detach().contiguous().numpy().tobytes()
        header[key] = {
            "dtype": DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path = HERE / name
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    print(f"{path.name:32} {path.stat().st_size:7} bytes")


# ---- training

STEPS, BATCH, SAMPLES, SIZES = 100, 32, 512, (20, 16, 12, 5)

OPTIMISERS = {
    "sgd": (torch.optim.SGD, dict(lr=0.1)),
    "momentum": (torch.optim.SGD, dict(lr=0.1, momentum=0.9)),
    "nesterov": (torch.optim.SGD, dict(lr=0.1, momentum=0.9, nesterov=True)),
    "weight_decay": (torch.optim.SGD, dict(lr=0.1, momentum=0.9, weight_decay=0.01)),
    "rmsprop": (torch.optim.RMSprop, dict(lr=0.003, alpha=0.99, eps=1e-8)),
    "adam": (torch.optim.Adam, dict(lr=0.01, betas=(0.9, 0.999), eps=1e-8)),
    "adamw": (torch.optim.AdamW, dict(lr=0.01, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.05)),
}


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(map(torch.nn.Linear, SIZES, SIZES[1:]))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


def train(task, dtype, make, options):
    """The loss of each step, and the final parameters."""
    net = Mlp()
    net.load_state_dict({k: v for k, v in task.items() if k.startswith("layers.")})
    net.to(dtype)
    x, y = task["x"].to(dtype), task["y"].long()
    optimiser = make(net.parameters(), **options)
    losses = []
    for batch in task["batches"].long():
        loss = F.cross_entropy(net(x[batch]), y[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
    return torch.stack(losses), dict(net.state_dict())


def training():
    torch.manual_seed(1)
    # Five overlapping clouds, so that the loss neither stays nor vanishes.
    centres = torch.randn(SIZES[-1], SIZES[0])
    y = torch.randint(SIZES[-1], (SAMPLES,))
    x = centres[y] + 1.5 * torch.randn(SAMPLES, SIZES[0])
    order = [torch.randperm(SAMPLES) for _ in range(-(-STEPS * BATCH // SAMPLES))]
    batches = torch.cat(order)[: STEPS * BATCH].reshape(STEPS, BATCH)
    task = dict(Mlp().state_dict())
    task.update(x=x, y=y.int(), batches=batches.int())
    save("mlp_task.safetensors", task, network="20-16-12-5 ReLU")

    for name, (make, options) in OPTIMISERS.items():
        losses, params = train(task, torch.float32, make, options)
        losses_f64, params_f64 = train(task, torch.float64, make, options)
        # A training on the brink would make a poor witness.
        drift = (losses - losses_f64).abs().max().item()
        assert drift < 1e-4, (name, drift)
        tensors = {"losses": losses, "losses_f64": losses_f64, **params}
        tensors.update({"f64." + k: v for k, v in params_f64.items()})
        save(f"mlp_{name}.safetensors", tensors, optimiser=f"{make.__name__} {options}")
        print(f"    loss {losses[0]:.4f} to {losses[-1]:.4f}, f32 and f64 differ by {drift:.1e}")


# ---- functions

# PyTorch's own formulas subtract nearly equal numbers in the tails, which even f64 does not forgive;
# these do not. stable() holds them against PyTorch's where both are good.
SQRT_HALF = 0.5**0.5
GELU_TANH = (2 / torch.pi) ** 0.5


def gelu(x):
    return 0.5 * x * torch.special.erfc(-x * SQRT_HALF)


def gelu_derivative(x):
    density = torch.exp(-0.5 * x * x) / (2 * torch.pi) ** 0.5
    return 0.5 * torch.special.erfc(-x * SQRT_HALF) + x * density


def gelu_tanh(x):
    return x * torch.sigmoid(2 * GELU_TANH * (x + 0.044715 * x**3))


def gelu_tanh_derivative(x):
    u = 2 * GELU_TANH * (x + 0.044715 * x**3)
    du = 2 * GELU_TANH * (1 + 3 * 0.044715 * x**2)
    slope = torch.sigmoid(u) * torch.sigmoid(-u)
    # At the ends du is vast and the slope 0.
    return torch.sigmoid(u) + torch.where(slope == 0, slope, x * slope * du)


def silu_derivative(x):
    return torch.sigmoid(x) + x * torch.sigmoid(x) * torch.sigmoid(-x)


def softplus(x):
    return torch.clamp(x, min=0) + torch.log1p(torch.exp(-x.abs()))


def tanh_derivative(x):
    e = torch.exp(-2 * x.abs())
    return 4 * e / (1 + e) ** 2


ACTIVATIONS = {  # name: (PyTorch's, f, f'); None: PyTorch's is good everywhere
    "relu": (F.relu, None, None),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.01), None, None),
    "elu": (F.elu, None, None),
    "gelu": (F.gelu, gelu, gelu_derivative),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), gelu_tanh, gelu_tanh_derivative),
    "silu": (F.silu, None, silu_derivative),
    "sigmoid": (torch.sigmoid, None, lambda x: torch.sigmoid(x) * torch.sigmoid(-x)),
    "tanh": (torch.tanh, None, tanh_derivative),
    "softplus": (F.softplus, softplus, torch.sigmoid),
}


def stable(name, x):
    """f(x) and f'(x) in f64."""
    theirs, f, derivative = ACTIVATIONS[name]
    x = x.double().requires_grad_()
    y = theirs(x)
    dy = torch.autograd.grad(y.sum(), x)[0]
    x, y = x.detach(), y.detach()
    inside = x.abs() <= 30
    for ours, reference in ((f, y), (derivative, dy)):
        if ours is not None:
            assert torch.allclose(ours(x)[inside], reference[inside], rtol=0, atol=1e-8), name
    return (f(x) if f else y), (derivative(x) if derivative else dy)


def activations():
    torch.manual_seed(2)
    tiny = torch.tensor([0.0, -0.0, 1e-45, -1e-45, 1.1754944e-38, -1.1754944e-38, 1e-6, -1e-6])
    x = torch.cat([torch.arange(-128, 129) / 16, torch.rand(247) * 16 - 8, tiny]).float()
    far = [8.5, 10, 13.7, 16.6, 20, 30, 50, 80, 87.3, 88, 88.8, 90, 100, 103, 104, 1e3, 1e10, 3e38]
    large = torch.tensor(far + [-v for v in far])
    tensors = {"x": x, "large.x": large}
    for name in ACTIVATIONS:
        for prefix, inputs in (("", x), ("large.", large)):
            y, dy = stable(name, inputs)
            assert torch.isfinite(y).all() and torch.isfinite(dy).all(), name
            tensors[f"{prefix}{name}.y"] = y.float()
            tensors[f"{prefix}{name}.dy"] = dy.float()

    rows = 3 * torch.randn(16, 10)
    rows[0] = 0.0
    rows[1] = torch.arange(10) + 1000.0
    rows[2] = torch.arange(10) - 1000.0
    rows[3] = 0.0
    rows[3, 4], rows[3, 7] = 1e9, -1e9
    rows[4] *= 30
    for prefix, inputs in (("rows.", rows), ("wide.", 2 * torch.randn(4, 300))):
        up = torch.randn_like(inputs)
        tensors.update({prefix + "x": inputs, prefix + "up": up})
        for name in ("softmax", "log_softmax"):
            v = inputs.double().requires_grad_()
            y = getattr(torch, name)(v, -1)
            dx = torch.autograd.grad((up.double() * y).sum(), v)[0]
            tensors[f"{prefix}{name}.y"] = y.float()
            tensors[f"{prefix}{name}.dx"] = dx.float()
    save("activations.safetensors", tensors, leaky_relu="slope 0.01", elu="alpha 1")


def cross_entropy():
    torch.manual_seed(3)
    logits = 3 * torch.randn(64, 10)
    labels = torch.randint(10, (64,))
    logits[0] = 0.0
    logits[1] += 1000
    logits[2] -= 1000
    logits[3] *= 30
    logits[4, labels[4]] += 40  # right, and sure of it
    logits[5, labels[5]] -= 40  # wrong, and sure of it
    tensors = {"logits": logits, "labels": labels.int()}
    for prefix, smoothing in (("", 0.0), ("smooth.", 0.1)):
        v = logits.double().requires_grad_()
        loss = F.cross_entropy(v, labels, reduction="none", label_smoothing=smoothing)
        grad = torch.autograd.grad(loss.mean(), v)[0]
        tensors[prefix + "loss"] = loss.detach().float()
        tensors[prefix + "mean"] = loss.detach().mean().float()
        tensors[prefix + "grad"] = grad.float()
    save("cross_entropy.safetensors", tensors, smooth="label smoothing 0.1")


if __name__ == "__main__":
    torch.set_num_threads(1)
    training()
    activations()
    cross_entropy()
