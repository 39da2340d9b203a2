"""PyTorch from Python, for peer_pytorch.cc. Executes commands, one per line, from standard input:

    describe                 answers with one line
    forward SIZES ACTIVATION PARAMETERS X ROWS THREADS
    gated WIDTH HIDDEN PARAMETERS X ROWS THREADS
    function NAME X ROWS COLUMNS THREADS
                             prepares a call on the numbers of these files and runs it once; answers "floats N" and the first results
    train SIZES PARAMETERS IMAGES LABELS THREADS BATCH OPTIMIZER RATE MOMENTUM
                             prepares training; answers "loaded"
    step                     makes one step on the next batch; answers "stepped"
    parameters               answers "floats N" and the parameters
    time MILLISECONDS        answers "time NANOSECONDS CALLS 0": the median call or step

PyTorch has several ways to do the same. Each is tried, and the fastest is the one that is measured.
"""

import ctypes
import platform
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional

MOST_ANSWERED = 1 << 18  # as in subject_main.cc
TRIED = 200  # milliseconds for each way
CAN_COMPILE = hasattr(torch, "compile")


def blas():
    """The BLAS library in use, and the kind of CPU that it detected."""
    if torch.backends.mkl.is_available():
        return next(line.strip(" -") for line in torch.__config__.show().splitlines() if "Math Kernel Library" in line)
    library = ctypes.CDLL("libblas.so.3")
    if not hasattr(library, "openblas_get_corename"):
        return "a BLAS other than OpenBLAS"
    library.openblas_get_corename.restype = ctypes.c_char_p
    return "OpenBLAS for " + library.openblas_get_corename().decode()


def median(call, milliseconds):
    """The nanoseconds of the median call, and the number of calls. A sample is the mean of as many calls as take 100 microseconds."""
    begin = time.perf_counter_ns()
    warm = 0
    while warm < 2 or time.perf_counter_ns() < begin + 0.15e6 * milliseconds:
        call()
        warm += 1
    together = max(1, int(1e5 * warm / (time.perf_counter_ns() - begin)))
    samples = []
    while len(samples) < 5 or time.perf_counter_ns() < begin + 1e6 * milliseconds:
        first = time.perf_counter_ns()
        for _ in range(together):
            call()
        samples.append((time.perf_counter_ns() - first) / together)
    return statistics.median(samples), len(samples) * together


CHOSEN = {}  # the fastest way, by task


def fastest(task, ways, make):
    """make(way) for the way whose call() takes the least time. What PyTorch cannot do here is left out: without a C++ compiler, to
    compile."""
    if task in CHOSEN:
        return make(CHOSEN[task])
    times = {}
    for way in ways:
        try:
            call = make(way).call
            call()
            times[way] = median(call, TRIED)[0]
        except Exception as e:
            if way == ways[0]:
                raise
            print(f"{sys.argv[0]}: left out: {way}: {e}".splitlines()[0], file=sys.stderr)
    CHOSEN[task] = min(times, key=times.get)
    return make(CHOSEN[task])


def floats(path):
    return torch.frombuffer(bytearray(open(path, "rb").read()), dtype=torch.float32)


def perceptron(sizes, activation, parameters):
    layers = []
    for size_in, size_out in zip(sizes, sizes[1:]):
        layers += [nn.Linear(size_in, size_out), activation()]
    model = nn.Sequential(*layers[:-1])
    nn.utils.vector_to_parameters(floats(parameters), model.parameters())
    return model


class Gated(nn.Module):
    def __init__(self, width, hidden, parameters):
        super().__init__()
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)
        nn.utils.vector_to_parameters(floats(parameters), self.parameters())

    def forward(self, x):
        return self.down(functional.silu(self.gate(x)) * self.up(x))


def rms_norm(x):
    if hasattr(functional, "rms_norm"):
        return functional.rms_norm(x, x.shape[-1:], eps=1e-5)
    return x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()


ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU, "none": nn.Identity}
FUNCTIONS = {
    "relu": torch.relu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softmax": lambda x: x.softmax(-1),
    "layer_norm": lambda x: functional.layer_norm(x, x.shape[-1:], eps=1e-5),
    "rms_norm": rms_norm,
}


class Call:
    """A function of one matrix. A network compiled for inference has its weights packed in advance."""

    def __init__(self, way, model, x):
        self.x = x
        self.model = torch.compile(model) if way == "compiled" else model

    @torch.inference_mode()
    def call(self):
        return self.model(self.x)


class Training:
    def __init__(self, way, sizes, parameters, images, labels, batch, optimizer, rate, momentum):
        self.model = perceptron(sizes, nn.ReLU, parameters)
        labels = torch.frombuffer(bytearray(open(labels, "rb").read()), dtype=torch.int32).long()
        self.images = floats(images).reshape(-1, sizes[0]).split(batch)
        self.labels = labels.split(batch)
        self.loss = nn.CrossEntropyLoss()
        if optimizer == "sgd":
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=rate, momentum=momentum, **{way: True})
        else:
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=rate, weight_decay=0.01, **{way: True})
        self.next = 0

    def call(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(self.model(self.images[self.next]), self.labels[self.next]).backward()
        self.optimizer.step()
        self.next = (self.next + 1) % len(self.images)

    def parameters(self):
        return nn.utils.parameters_to_vector(self.model.parameters()).detach()


def sizes_of(text):
    return [int(size) for size in text.split("-")]


def prepared(verb, *words):
    """The call of `forward`, `gated` or `function`."""
    *words, threads = words
    torch.set_num_threads(int(threads))
    if verb == "function":
        name, x, rows, columns = words
        model, x = FUNCTIONS[name], floats(x).reshape(int(rows), int(columns))
    else:
        first, second, parameters, x, rows = words
        model = Gated(int(first), int(second), parameters) if verb == "gated" else perceptron(sizes_of(first), ACTIVATIONS[second], parameters)
        model, x = model.eval().requires_grad_(False), floats(x).reshape(int(rows), -1)
    return fastest((verb, *words, threads), ["eager"] + ["compiled"] * CAN_COMPILE, lambda way: Call(way, model, x))


def trained(sizes, parameters, images, labels, threads, batch, optimizer, rate, momentum):
    torch.set_num_threads(int(threads))
    return fastest((optimizer, batch, threads), ["foreach"] + ["fused"] * CAN_COMPILE,
                   lambda way: Training(way, sizes_of(sizes), parameters, images, labels, int(batch), optimizer, float(rate), float(momentum)))


def answer_floats(values):
    values = values.flatten()[:MOST_ANSWERED].contiguous().numpy()
    sys.stdout.buffer.write(f"floats {values.size}\n".encode() + values.tobytes())


def main():
    if CAN_COMPILE:
        from torch._inductor import config

        config.freezing = True
    subject, last = None, ""
    out = sys.stdout.buffer
    for line in sys.stdin:
        verb, *words = line.split()
        if verb == "describe":
            out.write(f"PyTorch {torch.__version__}, {blas()}, Python {platform.python_version()}\n".encode())
        elif verb in ("forward", "gated", "function"):
            # Compiling takes seconds, so the same call is not prepared again.
            if line != last:
                subject, last = prepared(verb, *words), line
            answer_floats(subject.call())
        elif verb == "train":
            subject, last = trained(*words), line
            out.write(b"loaded\n")
        elif verb == "step":
            subject.call()
            out.write(b"stepped\n")
        elif verb == "parameters":
            answer_floats(subject.parameters())
        elif verb == "time":
            nanoseconds, calls = median(subject.call, float(words[0]))
            out.write(f"time {nanoseconds:.3f} {calls} 0\n".encode())
        out.flush()


if __name__ == "__main__":
    main()
