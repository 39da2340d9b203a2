"""Trains in PyTorch from Python, for peer_pytorch.cc. Executes commands, one per line, from standard input:

    describe                 answers with one line
    load SIZES PARAMETERS IMAGES LABELS THREADS BATCH OPTIMIZER RATE MOMENTUM
                             loads a network and its data from these files; answers "loaded"
    step                     makes one step on the next batch; answers "stepped"
    parameters               answers "floats N" and the parameters
    time MILLISECONDS        answers "time NANOSECONDS CALLS 0": the median step
"""

import ctypes
import platform
import statistics
import sys
import time

import torch


def blas():
    """The BLAS library in use, and the kind of CPU that it detected."""
    library = ctypes.CDLL("libblas.so.3")
    if not hasattr(library, "openblas_get_corename"):
        return "a BLAS other than OpenBLAS"
    library.openblas_get_corename.restype = ctypes.c_char_p
    return "OpenBLAS for " + library.openblas_get_corename().decode()


def floats(path):
    return torch.frombuffer(bytearray(open(path, "rb").read()), dtype=torch.float32)


class Training:
    def __init__(self, sizes, parameters, images, labels, threads, batch, optimizer, rate, momentum):
        torch.set_num_threads(int(threads))
        sizes = [int(size) for size in sizes.split("-")]
        layers = []
        for size_in, size_out in zip(sizes, sizes[1:]):
            layers += [torch.nn.Linear(size_in, size_out), torch.nn.ReLU()]
        self.model = torch.nn.Sequential(*layers[:-1])
        torch.nn.utils.vector_to_parameters(floats(parameters), self.model.parameters())
        labels = torch.frombuffer(bytearray(open(labels, "rb").read()), dtype=torch.int32).long()
        self.images = floats(images).reshape(-1, sizes[0]).split(int(batch))
        self.labels = labels.split(int(batch))
        self.loss = torch.nn.CrossEntropyLoss()
        if optimizer == "sgd":
            self.optimizer = torch.optim.SGD(
                self.model.parameters(), lr=float(rate), momentum=float(momentum), foreach=True
            )
        else:
            self.optimizer = torch.optim.AdamW(
                self.model.parameters(), lr=float(rate), weight_decay=0.01, foreach=True
            )
        self.next = 0

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(self.model(self.images[self.next]), self.labels[self.next]).backward()
        self.optimizer.step()
        self.next = (self.next + 1) % len(self.images)

    def parameters(self):
        return torch.nn.utils.parameters_to_vector(self.model.parameters()).detach()

    def time(self, milliseconds):
        end = time.perf_counter_ns() + float(milliseconds) * 1e6
        samples = []
        while len(samples) < 5 or time.perf_counter_ns() < end:
            begin = time.perf_counter_ns()
            self.step()
            samples.append(time.perf_counter_ns() - begin)
        return statistics.median(samples), len(samples)


def main():
    training = None
    out = sys.stdout.buffer
    for line in sys.stdin:
        verb, *words = line.split()
        if verb == "describe":
            out.write(f"PyTorch {torch.__version__}, {blas()}, Python {platform.python_version()}, foreach\n".encode())
        elif verb == "load":
            training = Training(*words)
            out.write(b"loaded\n")
        elif verb == "step":
            training.step()
            out.write(b"stepped\n")
        elif verb == "parameters":
            values = training.parameters().numpy()
            out.write(f"floats {values.size}\n".encode() + values.tobytes())
        elif verb == "time":
            nanoseconds, calls = training.time(words[0])
            out.write(f"time {nanoseconds:.3f} {calls} 0\n".encode())
        out.flush()


if __name__ == "__main__":
    main()
