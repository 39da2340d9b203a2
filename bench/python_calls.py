#!/usr/bin/env python3
"""Measures calls from Python and from C++, and an epoch from a Python loop.

usage: python_calls.py [PROGRAM [NODE_MODULES]]

PROGRAM is the program of python_calls.cc, NODE_MODULES a node_modules folder with onnxruntime-node. PYTHONPATH must name the package in a
build folder. Prints Markdown. PyTorch is compared if python3-torch is installed, ONNX Runtime in Node if NODE_MODULES is given. Each time is
the smallest mean over several rounds.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import limpid as lp

try:
    import torch

    torch.set_num_threads(1)
except ImportError:
    torch = None


def microseconds(call, calls, rounds=20):
    best = 1e9
    call()
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - begin) / calls)
    return best * 1e6


def import_time():
    """Milliseconds to import limpid after NumPy, the smallest of ten."""
    program = "import numpy, time; begin = time.perf_counter(); import limpid; print(time.perf_counter() - begin)"
    return min(float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout) for _ in range(10)) * 1e3


def onnxruntime(net, params, sizes, count):
    """Microseconds of a call of the same network in Node, by bench/onnxruntime/calls.js."""
    if len(sys.argv) < 3:
        return ""
    f = lp.trace(lambda p, x: net(p, x), params, f"f32[{sizes[0]}]", names=["p", "x"], outputs=["y"])
    script = pathlib.Path(__file__).parent / "onnxruntime/calls.js"
    with tempfile.TemporaryDirectory() as folder:
        lp.save(f"{folder}/net.onnx", lp.Model(f, params))
        command = ["node", str(script), f"{folder}/net.onnx", str(sizes[0]), str(sizes[-1]), str(count)]
        return subprocess.run(command, env={**os.environ, "NODE_PATH": sys.argv[2]}, capture_output=True, text=True, check=True).stdout.split()[0]


def calls():
    there = {}
    if len(sys.argv) > 1:
        for line in subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout.splitlines():
            name, how, took = line.split()
            there[name, how] = float(took)
    print("| network, batch 1 | how | Python, us | C++, us | PyTorch eager, us | torch.jit, us | ONNX Runtime in Node, us |\n|---|---|---|---|---|---|---|")
    for sizes, count in (([3, 4, 2], 10_000), ([784, 256, 128, 10], 1_000)):
        name = "-".join(map(str, sizes))
        net = lp.nn.mlp(sizes, lp.relu)
        params, x = net.init(), np.zeros(sizes[0], np.float32)
        compiled, f = lp.compile(net), lp.bind(net.function(), params)
        eager = jit = ""
        if torch:
            layers = []
            for a, b in zip(sizes, sizes[1:]):
                layers += [torch.nn.Linear(a, b), torch.nn.ReLU()]
            module, t = torch.nn.Sequential(*layers[:-1]), torch.zeros(sizes[0])
            with torch.no_grad():
                eager = f"{microseconds(lambda: module(t), count // 10):.2f}"
                traced = torch.jit.freeze(torch.jit.trace(module.eval(), t))
                jit = f"{microseconds(lambda: traced(t), count // 10):.2f}"
        node = onnxruntime(net, params, sizes, count // 10)
        for how, call in (("compiled", lambda: compiled(params, x)), ("Function", lambda: f(x))):
            reference = there.get((name, how))
            print(f"| {name} | {how} | {microseconds(call, count):.2f} | {f'{reference:.2f}' if reference else ''} | {eager} | {jit} | {node} |")


def epochs(x, y):
    """Functions by name, each of which runs an epoch of 784-256-128-10, batch 128, SGD with momentum."""
    net, sgd = lp.nn.mlp([784, 256, 128, 10], lp.relu), lp.optim.Sgd(momentum=0.9)
    step = lp.compile(lp.optim.step(lambda p, x, y: lp.cross_entropy(net(p, x), y), sgd))
    params = net.init()
    state = sgd.init(params)

    def limpid():
        nonlocal params, state
        for i in range(0, 59_904, 128):
            params, state, value = step(params, state, 0.05, x[i : i + 128], y[i : i + 128])
        value.item()

    def pytorch(foreach):
        module = torch.nn.Sequential(
            torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)
        )
        optimizer = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9, foreach=foreach)
        tx, ty = torch.from_numpy(x), torch.from_numpy(y.astype(np.int64))

        def run():
            for i in range(0, 59_904, 128):
                optimizer.zero_grad(set_to_none=True)
                torch.nn.functional.cross_entropy(module(tx[i : i + 128]), ty[i : i + 128]).backward()
                optimizer.step()

        return run

    runs = {"Limpid": limpid}
    if torch:
        runs |= {f"PyTorch {torch.__version__}": pytorch(False), "PyTorch, foreach": pytorch(True)}
    return runs


def epoch(rounds=7):
    """Seconds for 60,000 examples, measured in turns; the ratio is to the faster PyTorch of the same turn."""
    x = np.random.default_rng(0).random((60_000, 784), np.float32)
    y = np.random.default_rng(1).integers(0, 10, 60_000).astype(np.int32)
    runs = epochs(x, y)
    took = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(rounds):
        for name, run in runs.items():
            begin = time.perf_counter()
            run()
            took[name].append(time.perf_counter() - begin)
    for name, times in took.items():
        print(f"| {name} | {min(times):.2f} | {statistics.median(times):.2f} |")
    if torch:
        ours, *theirs = took.values()
        ratios = sorted(min(each) / our for our, each in zip(ours, zip(*theirs)))
        print(f"\nthe faster PyTorch of a turn / Limpid: {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")


def main():
    calls()
    print("\n| an epoch of 60,000 examples from a Python loop, one thread | least, s | median, s |\n|---|---|---|")
    epoch()
    print(f"\nimport beyond NumPy's: {import_time():.1f} ms")


if __name__ == "__main__":
    main()
