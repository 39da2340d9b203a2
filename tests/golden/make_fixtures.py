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
                                   sigmoid, tanh, softplus, selu, mish, relu6, hard_tanh,
                                   hard_sigmoid, hard_swish
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
gates.safetensors: f64, of f32 numbers
    a f64[8, 6], b f64[8, 6], slope f64[6], up f64[8, 6], rows_up f64[8]
    <name>.y, <name>.da, <name>.db glu, swiglu, geglu with gate a and value b; prelu(a, slope) with
                                   .dslope; elu(a, 0.7); swish(a, 1.5); log_sum_exp(a) over the last
                                   axis; gradients of sum(up * y)
norms.safetensors: f64, of f32 numbers
    rows f64[6, 10], images f64[5, 6, 3], up.<input>, weight.<n>, bias.<n> (of n features)
    running_mean, running_var f64[6]
    <case>.y, <case>.dx, <case>.dweight, <case>.dbias
                                   layer_norm, rms_norm of rows; group_norm (2 groups), batch_norm
                                   (training), batch_norm_inference of images; gradients of
                                   sum(up * y)
    batch_norm.running_mean, batch_norm.running_var   the new ones, momentum 0.1
pooling.safetensors: f64, of f32 numbers
    x1 f64[2, 3, 11], x2 f64[2, 3, 8, 11], x3 f64[2, 2, 5, 6, 4]
    pooled f64[2, 3, 4, 5], places i32   max_pool2d(x2, 2), which unpool takes back
    <case>.y, <case>.dx, <case>.up see pooling() below; gradients of sum(up * y)
pictures.safetensors: f64, of f32 numbers
    x1 f64[2, 3, 5], x2 f64[2, 4, 5, 6], x3 f64[1, 2, 3, 4, 3], grid f64[2, 3, 4, 2],
    grid3 f64[1, 2, 3, 2, 3], theta f64[2, 2, 3]
    <case>.y, <case>.d<input>, <case>.up   see pictures() below; gradients of sum(up * y)
attention.safetensors: f64, of f32 numbers; MultiheadAttention of 8 features, 2 heads
    x f64[2, 5, 8], memory f64[2, 7, 8], up f64[2, 5, 8], in_proj_weight, in_proj_bias,
    out_proj.weight, out_proj.bias
    <case>.y, <case>.d<input>      self, causal (x alone), cross (keys and values of memory)
losses.safetensors: f64, of f32 numbers
    inputs                         see losses() below
    <case>.<reduction>, <case>.<reduction>.d<input>
                                   the loss reduced by mean, sum, none, and its gradients; of none
                                   those of sum(up * loss)
optimizers.safetensors: f64, two parameters "w" [3, 4] and "b" [5], made-up gradients, 20 steps
    start.{w,b}, gradient.{w,b}    the parameters at first, the gradients [20, ...] of every step
    <case>.{w,b}                   [3, ...]: the parameters after steps 1, 5 and 20
    clip_value.{w,b}, clip_norm.{w,b}, norm
                                   the gradients of the first step clipped, and their norm
schedules.safetensors: f64[24], the rates of 24 steps
    constant, linear, step, cosine; warm_<name>: the same after a warm-up of 5 steps
"""

import json
import math
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
        # A training run at the edge of divergence would be a poor reference.
        drift = (losses - losses_f64).abs().max().item()
        assert drift < 1e-4, (name, drift)
        tensors = {"losses": losses, "losses_f64": losses_f64, **params}
        tensors.update({"f64." + k: v for k, v in params_f64.items()})
        save(f"mlp_{name}.safetensors", tensors, optimiser=f"{make.__name__} {options}")
        print(f"    loss {losses[0]:.4f} to {losses[-1]:.4f}, f32 and f64 differ by {drift:.1e}")


# ---- functions

# PyTorch's own formulas cancel in the tails, even in f64; these do not. stable() compares them with PyTorch's where both are accurate.
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


def mish(x):
    return x * torch.tanh(softplus(x))


def mish_derivative(x):
    t = torch.tanh(softplus(x))
    slope = tanh_derivative(softplus(x)) * torch.sigmoid(x)
    return t + torch.where(slope == 0, slope, x * slope)


ACTIVATIONS = {  # name: (PyTorch's, f, f'); None: PyTorch's is accurate everywhere
    "relu": (F.relu, None, None),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.01), None, None),
    "elu": (F.elu, None, None),
    "gelu": (F.gelu, gelu, gelu_derivative),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), gelu_tanh, gelu_tanh_derivative),
    "silu": (F.silu, None, silu_derivative),
    "sigmoid": (torch.sigmoid, None, lambda x: torch.sigmoid(x) * torch.sigmoid(-x)),
    "tanh": (torch.tanh, None, tanh_derivative),
    "softplus": (F.softplus, softplus, torch.sigmoid),
    "selu": (F.selu, None, None),
    "mish": (F.mish, mish, mish_derivative),
    "relu6": (F.relu6, None, None),
    "hard_tanh": (F.hardtanh, None, None),
    "hard_sigmoid": (F.hardsigmoid, None, None),
    "hard_swish": (F.hardswish, None, None),
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


def gradients_of(y, up, inputs):
    """The gradients of sum(up * y) by the named inputs."""
    grads = torch.autograd.grad((up * y).sum(), list(inputs.values()))
    return {"d" + k: g for k, g in zip(inputs, grads)}


def gates():
    torch.manual_seed(5)
    a, b, up = (2 * torch.randn(8, 6) for _ in range(3))
    slope, rows_up = torch.rand(6), torch.randn(8)
    tensors = dict(a=a, b=b, slope=slope, up=up, rows_up=rows_up)
    tensors = {k: v.double() for k, v in tensors.items()}

    def record(name, f, *names, up="up"):
        inputs = {n: tensors[n].clone().requires_grad_() for n in names}
        y = f(*inputs.values())
        tensors[name + ".y"] = y.detach()
        for k, g in gradients_of(y, tensors[up], inputs).items():
            tensors[f"{name}.{k}"] = g

    record("glu", lambda a, b: F.glu(torch.cat((b, a), -1)), "a", "b")
    record("swiglu", lambda a, b: F.silu(a) * b, "a", "b")
    record("geglu", lambda a, b: F.gelu(a) * b, "a", "b")
    record("prelu", F.prelu, "a", "slope")
    record("elu", lambda a: F.elu(a, 0.7), "a")
    record("swish", lambda a: a * torch.sigmoid(1.5 * a), "a")
    record("log_sum_exp", lambda a: torch.logsumexp(a, -1), "a", up="rows_up")
    save("gates.safetensors", tensors, elu="alpha 0.7", swish="beta 1.5")


def norms():
    torch.manual_seed(7)
    tensors = {
        "rows": 2 * torch.randn(6, 10) + 1,
        "images": 3 * torch.randn(5, 6, 3) - 1,
        "weight.10": torch.rand(10) + 0.5,
        "bias.10": torch.randn(10),
        "weight.6": torch.rand(6) + 0.5,
        "bias.6": torch.randn(6),
        "running_mean": torch.randn(6),
        "running_var": torch.rand(6) + 0.5,
        "up.rows": torch.randn(6, 10),
        "up.images": torch.randn(5, 6, 3),
    }
    tensors = {k: v.double() for k, v in tensors.items()}

    def record(name, f, source, n, bias=True):
        inputs = {"x": tensors[source], "weight": tensors[f"weight.{n}"]}
        if bias:
            inputs["bias"] = tensors[f"bias.{n}"]
        inputs = {k: v.clone().requires_grad_() for k, v in inputs.items()}
        y = f(*inputs.values())
        tensors[name + ".y"] = y.detach()
        for k, g in gradients_of(y, tensors["up." + source], inputs).items():
            tensors[f"{name}.{k}"] = g

    record("layer_norm", lambda x, w, b: F.layer_norm(x, (10,), w, b), "rows", 10)
    record(
        "rms_norm",  # younger than PyTorch 1.13
        lambda x, w: x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w,
        "rows", 10, bias=False,
    )
    record("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), "images", 6)
    mean, var = tensors["running_mean"].clone(), tensors["running_var"].clone()
    record(
        "batch_norm",
        lambda x, w, b: F.batch_norm(x, mean, var, w, b, training=True, momentum=0.1),
        "images", 6,
    )
    tensors.update({"batch_norm.running_mean": mean, "batch_norm.running_var": var})
    record(
        "batch_norm_inference",
        lambda x, w, b: F.batch_norm(
            x, tensors["running_mean"], tensors["running_var"], w, b, training=False),
        "images", 6,
    )
    save("norms.safetensors", tensors, eps="1e-5")


def pooling():
    torch.manual_seed(11)
    shapes = {"x1": (2, 3, 11), "x2": (2, 3, 8, 11), "x3": (2, 2, 5, 6, 4)}
    tensors = {k: torch.randn(shape).double() for k, shape in shapes.items()}

    def record(name, f, source):
        x = tensors[source].clone().requires_grad_()
        y = f(x)
        up = torch.randn(y.shape).double()
        tensors.update({f"{name}.up": up, f"{name}.y": y.detach()})
        for k, g in gradients_of(y, up, {"x": x}).items():
            tensors[f"{name}.{k}"] = g

    record("max.1d", lambda x: F.max_pool1d(x, 3, 2, 1), "x1")
    record("max.2d", lambda x: F.max_pool2d(x, (3, 2), (2, 2), (1, 1)), "x2")
    record("max.2d.dilated", lambda x: F.max_pool2d(x, 3, 1, 1, 2), "x2")
    record("max.2d.ceil", lambda x: F.max_pool2d(x, 3, 2, 0, ceil_mode=True), "x2")
    record("max.3d", lambda x: F.max_pool3d(x, 2, 1), "x3")
    record("avg.1d", lambda x: F.avg_pool1d(x, 4, 3, 2), "x1")
    record("avg.2d", lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=True), "x2")
    record("avg.2d.real", lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), "x2")
    record("avg.2d.ceil", lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), "x2")
    record("avg.2d.grid", lambda x: F.avg_pool2d(x, 3), "x2")
    record("avg.3d", lambda x: F.avg_pool3d(x, (2, 3, 2), 1, 1), "x3")
    record("lp.2d", lambda x: F.lp_pool2d(x.abs(), 2, 3, 2), "x2")
    record("lp.1d.cubes", lambda x: F.lp_pool1d(x.abs(), 3, 4), "x1")
    record("adaptive.avg.2d", lambda x: F.adaptive_avg_pool2d(x, (3, 4)), "x2")
    record("adaptive.avg.even", lambda x: F.adaptive_avg_pool2d(x, (4, 1)), "x2")
    record("adaptive.max.2d", lambda x: F.adaptive_max_pool2d(x, (3, 4)), "x2")
    record("adaptive.max.3d", lambda x: F.adaptive_max_pool3d(x, (2, 4, 3)), "x3")
    y, places = F.max_pool2d(tensors["x2"], 2, 2, return_indices=True)
    tensors["places"] = places.int()
    tensors["pooled"] = y
    record("unpool", lambda y: F.max_unpool2d(y, places, 2, output_size=(8, 11)), "pooled")
    save("pooling.safetensors", tensors)


def pictures():
    torch.manual_seed(13)
    shapes = {"x1": (2, 3, 5), "x2": (2, 4, 5, 6), "x3": (1, 2, 3, 4, 3), "theta": (2, 2, 3)}
    tensors = {k: torch.randn(shape).double() for k, shape in shapes.items()}
    # Some positions are outside.
    tensors["grid"] = (2.6 * torch.rand(2, 3, 4, 2) - 1.3).double()
    tensors["grid3"] = (2.6 * torch.rand(1, 2, 3, 2, 3) - 1.3).double()

    def record(name, f, **sources):
        inputs = {k: tensors[v].clone().requires_grad_() for k, v in sources.items()}
        y = f(*inputs.values())
        up = torch.randn(y.shape).double()
        tensors.update({f"{name}.up": up, f"{name}.y": y.detach()})
        for k, g in gradients_of(y, up, inputs).items():
            tensors[f"{name}.{k}"] = g

    def resized(name, source, size, mode, **options):
        record("resize." + name, lambda x: F.interpolate(x, size, mode=mode, **options), x=source)

    resized("nearest", "x2", (7, 4), "nearest")
    resized("nearest_exact", "x2", (7, 4), "nearest-exact")
    resized("linear", "x1", (8,), "linear", align_corners=False)
    resized("bilinear", "x2", (7, 4), "bilinear", align_corners=False)
    resized("bilinear.corners", "x2", (7, 4), "bilinear", align_corners=True)
    resized("trilinear", "x3", (2, 6, 5), "trilinear", align_corners=False)
    resized("bicubic", "x2", (7, 4), "bicubic", align_corners=False)
    resized("bicubic.corners", "x2", (7, 4), "bicubic", align_corners=True)
    resized("bilinear.antialias", "x2", (3, 2), "bilinear", align_corners=False, antialias=True)
    resized("bicubic.antialias", "x2", (3, 2), "bicubic", align_corners=False, antialias=True)
    record("resize.scale", lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear",
                                                   align_corners=False), x="x2")
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (False, True):
                name = f"sample.{mode}.{padding}.{'corners' if corners else 'borders'}"
                record(name, lambda x, grid: F.grid_sample(x, grid, mode, padding, corners),
                       x="x2", grid="grid")
    record("sample.3d", lambda x, grid: F.grid_sample(x, grid, align_corners=False),
           x="x3", grid="grid3")
    record("affine", lambda theta: F.affine_grid(theta, (2, 1, 3, 5), align_corners=False),
           theta="theta")
    record("affine.corners", lambda theta: F.affine_grid(theta, (2, 1, 3, 5), align_corners=True),
           theta="theta")
    record("shuffle", lambda x: F.pixel_shuffle(x, 2), x="x2")
    record("lrn", lambda x: F.local_response_norm(x, 3, 0.5, 0.75, 1.5), x="x2")
    record("lrn.even", lambda x: F.local_response_norm(x, 2, 0.5), x="x2")
    record("instance_norm", lambda x: F.instance_norm(x), x="x2")
    save("pictures.safetensors", tensors)


def attention():
    torch.manual_seed(8)
    net = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    tensors = {"x": torch.randn(2, 5, 8), "memory": torch.randn(2, 7, 8), "up": torch.randn(2, 5, 8)}
    for name, value in net.named_parameters():
        value.data.copy_(0.6 * torch.randn_like(value))
        tensors[name] = value.data.clone()
    tensors = {k: v.double() for k, v in tensors.items()}
    net.double()
    above = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    for name in ("self", "causal", "cross"):
        inputs = {k: tensors[k].clone().requires_grad_() for k in ("x", "memory")}
        x, memory = inputs.values()
        if name != "cross":
            inputs, memory = {"x": x}, x
        mask = above if name == "causal" else None
        y = net(x, memory, memory, need_weights=False, attn_mask=mask)[0]
        inputs.update(net.named_parameters())
        tensors[name + ".y"] = y.detach()
        for k, g in gradients_of(y, tensors["up"], inputs).items():
            tensors[f"{name}.{k}"] = g
    save("attention.safetensors", tensors)


# ---- losses


def losses():
    torch.manual_seed(6)
    n, classes, features = 12, 5, 4
    labels = torch.randint(classes, (n,))
    ignoring = labels.clone()
    ignoring[[1, 4, 5]] = -100
    inputs = {
        "logits": 3 * torch.randn(n, classes),
        "probabilities": torch.softmax(2 * torch.randn(n, classes), -1),
        "weights": torch.rand(classes) + 0.25,
        "x": 2 * torch.randn(7, 3),
        "t": torch.rand(7, 3),
        "signs": 2.0 * torch.randint(2, (7, 3)) - 1,
        "positive_weight": torch.rand(3) + 0.5,
        "log_p": torch.log_softmax(torch.randn(7, 3), -1),
        "u": torch.randn(6, features),
        "v": torch.randn(6, features),
        "w": torch.randn(6, features),
        "same": 2.0 * torch.randint(2, (6,)) - 1,
    }
    inputs["t"][0, 0], inputs["t"][1, 1] = 0, 1
    inputs["x"][2] = inputs["t"][2]  # no error
    inputs["x"][3] *= 30
    inputs = {k: v.float().double() for k, v in inputs.items()}
    tensors = dict(inputs, labels=labels.int(), ignoring=ignoring.int())
    up = {k: torch.randn(s).float().double() for k, s in {"n": n, "x": (7, 3), "r": 7, "u": 6}.items()}
    tensors.update({"up." + k: v for k, v in up.items()})

    def record(name, f, wrt, up_name):
        """f(reduction, {name: input}) for every reduction, and its gradients by `wrt`."""
        for reduction in ("mean", "sum", "none"):
            args = {k: v.clone() for k, v in inputs.items()}
            chosen = {k: args[k].requires_grad_() for k in wrt}
            y = f(reduction, args)
            key = f"{name}.{reduction}"
            tensors[key] = y.detach()
            weights = up[up_name] if reduction == "none" else torch.tensor(1.0).double()
            for k, g in gradients_of(y, weights, chosen).items():
                tensors[f"{key}.{k}"] = g

    def reduce(y, reduction):
        return y if reduction == "none" else getattr(y, reduction)()

    def ce(target, **options):
        def f(reduction, a):
            o = {k: (a["weights"] if k == "weight" else v) for k, v in options.items()}
            y = a["probabilities"] if target is None else target
            return F.cross_entropy(a["logits"], y, reduction=reduction, **o)

        return f

    hard = {
        "plain": (labels, {}),
        "smooth": (labels, dict(label_smoothing=0.1)),
        "weights": (labels, dict(weight=True)),
        "ignore": (ignoring, dict(ignore_index=-100)),
        "ignore_class": (labels, dict(ignore_index=2)),
        "all": (ignoring, dict(label_smoothing=0.2, weight=True, ignore_index=-100)),
        "smooth_ignore": (ignoring, dict(label_smoothing=0.2, ignore_index=-100)),
    }
    for name, (target, options) in hard.items():
        record("ce_" + name, ce(target, **options), ["logits"], "n")
    record("ce_soft", ce(None), ["logits", "probabilities"], "n")
    record("ce_soft_smooth", ce(None, label_smoothing=0.1), ["logits", "probabilities"], "n")
    record("ce_soft_all", ce(None, label_smoothing=0.1, weight=True), ["logits"], "n")
    record(
        "nll",
        lambda r, a: F.nll_loss(a["logits"], labels, reduction=r),
        ["logits"], "n",
    )
    record(
        "nll_all",
        lambda r, a: F.nll_loss(
            a["logits"], ignoring, weight=a["weights"], ignore_index=-100, reduction=r),
        ["logits"], "n",
    )
    bce = F.binary_cross_entropy_with_logits
    record("bce", lambda r, a: bce(a["x"], a["t"], reduction=r), ["x", "t"], "x")
    record(
        "bce_weight",
        lambda r, a: bce(a["x"], a["t"], pos_weight=a["positive_weight"], reduction=r),
        ["x", "t"], "x",
    )
    record(
        "multi_label",
        lambda r, a: reduce(bce(a["x"], a["t"], reduction="none").sum(-1), r),
        ["x"], "r",
    )
    record("kl", lambda r, a: F.kl_div(a["log_p"], a["t"], reduction=r), ["log_p"], "x")
    record("hinge", lambda r, a: reduce(F.relu(1 - a["x"] * a["signs"]), r), ["x"], "x")
    pair = ["x", "t"]
    record("mse", lambda r, a: F.mse_loss(a["x"], a["t"], reduction=r), pair, "x")
    record("mae", lambda r, a: F.l1_loss(a["x"], a["t"], reduction=r), pair, "x")
    record("huber", lambda r, a: F.huber_loss(a["x"], a["t"], r, delta=0.7), pair, "x")
    record("smooth_l1", lambda r, a: F.smooth_l1_loss(a["x"], a["t"], reduction=r, beta=0.7), pair, "x")

    def info_nce(reduction, a):
        products = F.normalize(a["u"], dim=-1) @ F.normalize(a["v"], dim=-1).T
        return F.cross_entropy(products / 0.2, torch.arange(6), reduction=reduction)

    record("info_nce", info_nce, ["u", "v"], "u")
    record(
        "triplet",
        lambda r, a: F.triplet_margin_loss(a["u"], a["v"], a["w"], margin=0.5, reduction=r),
        ["u", "v", "w"], "u",
    )
    record(
        "cosine",
        lambda r, a: F.cosine_embedding_loss(a["u"], a["v"], a["same"], margin=0.2, reduction=r),
        ["u", "v"], "u",
    )
    save("losses.safetensors", tensors)


# ---- optimisers and schedules on their own

OPTIMISER_CASES = {
    "sgd": (torch.optim.SGD, dict(lr=0.1)),
    "momentum": (torch.optim.SGD, dict(lr=0.1, momentum=0.9)),
    "nesterov": (torch.optim.SGD, dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.02)),
    "rmsprop": (torch.optim.RMSprop, dict(lr=0.01)),
    "rmsprop_momentum": (torch.optim.RMSprop, dict(lr=0.01, momentum=0.5, weight_decay=0.1)),
    "rmsprop_centered": (torch.optim.RMSprop, dict(lr=0.01, alpha=0.9, centered=True)),
    "rmsprop_all": (
        torch.optim.RMSprop,
        dict(lr=0.01, alpha=0.8, eps=1e-3, momentum=0.9, centered=True, weight_decay=0.1),
    ),
    "adam": (torch.optim.Adam, dict(lr=0.01)),
    "adam_decay": (torch.optim.Adam, dict(lr=0.01, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.1)),
    "adam_amsgrad": (torch.optim.Adam, dict(lr=0.01, betas=(0.9, 0.5), amsgrad=True)),
    "adamw": (torch.optim.AdamW, dict(lr=0.01)),
    "adamw_amsgrad": (
        torch.optim.AdamW,
        dict(lr=0.01, betas=(0.9, 0.5), weight_decay=0.3, amsgrad=True),
    ),
    "adagrad": (torch.optim.Adagrad, dict(lr=0.05)),
    "adagrad_all": (
        torch.optim.Adagrad,
        dict(lr=0.05, weight_decay=0.1, initial_accumulator_value=0.5, eps=1e-3),
    ),
}


def optimisers():
    torch.manual_seed(4)
    steps, recorded = 20, (1, 5, 20)
    shapes = {"w": (3, 4), "b": (5,)}
    start = {k: torch.randn(s).double() for k, s in shapes.items()}
    # Some gradients are large, some tiny, some nought.
    gradients = {
        k: (torch.randn(steps, *s) * 10 ** (3 * torch.rand(steps, *s) - 2)).double()
        for k, s in shapes.items()
    }
    gradients["b"][:, 0] = 0
    tensors = {f"start.{k}": v for k, v in start.items()}
    tensors.update({f"gradient.{k}": v for k, v in gradients.items()})
    for name, (make, options) in OPTIMISER_CASES.items():
        params = {k: torch.nn.Parameter(v.clone()) for k, v in start.items()}
        optimiser = make(params.values(), **options)
        kept = {k: [] for k in shapes}
        for step in range(steps):
            for k, p in params.items():
                p.grad = gradients[k][step].clone()
            optimiser.step()
            if step + 1 in recorded:
                for k, p in params.items():
                    kept[k].append(p.detach().clone())
        tensors.update({f"{name}.{k}": torch.stack(v) for k, v in kept.items()})
    for kind in ("clip_value", "clip_norm"):
        params = [torch.nn.Parameter(v.clone()) for v in start.values()]
        for p, g in zip(params, gradients.values()):
            p.grad = g[0].clone()
        if kind == "clip_value":
            torch.nn.utils.clip_grad_value_(params, 0.1)
        else:
            tensors["norm"] = torch.nn.utils.clip_grad_norm_(params, 0.25)
        tensors.update({f"{kind}.{k}": p.grad for k, p in zip(shapes, params)})
    cases = {k: f"{make.__name__} {options}" for k, (make, options) in OPTIMISER_CASES.items()}
    save("optimizers.safetensors", tensors, clip_value="0.1", clip_norm="0.25", **cases)


def schedules():
    lr_scheduler = torch.optim.lr_scheduler
    steps, run, warm = 24, 20, 5

    def make(kind, optimiser, length):
        if kind == "linear":
            return lr_scheduler.LinearLR(optimiser, 1.0, 0.0, total_iters=length)
        if kind == "step":
            return lr_scheduler.StepLR(optimiser, 4, gamma=0.3)
        if kind == "cosine":  # the closed form; PyTorch's recursion rises again after the end
            return lr_scheduler.LambdaLR(
                optimiser,
                lambda t: (1 + math.cos(math.pi * min(t, length) / length)) / 2,
            )
        if kind == "onecycle":
            return lr_scheduler.OneCycleLR(optimiser, max_lr=0.4, total_steps=length, cycle_momentum=False)
        return lr_scheduler.LambdaLR(optimiser, lambda t: 1.0)

    tensors = {}
    for kind in ("constant", "linear", "step", "cosine", "onecycle"):
        for prefix, warmup in (("", 0), ("warm_", warm)):
            optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.4)
            rates = []
            if warmup:
                rise = lr_scheduler.LinearLR(optimiser, 1 / warmup, total_iters=warmup - 1)
                for _ in range(warmup):
                    rates.append(optimiser.param_groups[0]["lr"])
                    optimiser.step()
                    rise.step()
                optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.4)
            schedule = make(kind, optimiser, run - warmup)
            while len(rates) < steps:
                rates.append(optimiser.param_groups[0]["lr"])
                optimiser.step()
                if kind != "onecycle" or len(rates) < run:  # it refuses steps after its last
                    schedule.step()
            tensors[prefix + kind] = torch.tensor(rates, dtype=torch.float64)
    # The recursion where it is defined.
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.4)
    theirs = lr_scheduler.CosineAnnealingLR(optimiser, run)
    for step in range(run):
        assert abs(optimiser.param_groups[0]["lr"] - tensors["cosine"][step]) < 1e-12
        optimiser.step()
        theirs.step()
    save("schedules.safetensors", tensors, rate="0.4", steps="20", step="every 4 times 0.3")


if __name__ == "__main__":
    torch.set_num_threads(1)
    training()
    activations()
    cross_entropy()
    gates()
    norms()
    pooling()
    pictures()
    attention()
    losses()
    optimisers()
    schedules()
