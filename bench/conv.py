"""Times convolutions of ResNet-50 and others on one thread, here and in PyTorch, in turns.

usage: PYTHONPATH=build/release/python /usr/bin/python3 bench/conv.py [--batch N] [--peak GFLOPS] [--gradients]

Prints a table in Markdown: multiply-adds, best times, the rate of Limpid and its share of the peak. Weights are constants in
Limpid, as in a model at inference. --gradients times the gradients by input and weight instead.
"""

import argparse
import time

import limpid as lp
import numpy as np
import torch

# Name, how often ResNet-50 has it, channels, outputs, size, kernel, stride, padding, groups.
LAYERS = (
    ("7x7, 3 to 64", 1, 3, 64, 224, 7, 2, 3, 1),
    ("1x1, 64 to 64", 1, 64, 64, 56, 1, 1, 0, 1),
    ("3x3, 64 to 64", 3, 64, 64, 56, 3, 1, 1, 1),
    ("1x1, 64 to 256", 4, 64, 256, 56, 1, 1, 0, 1),
    ("1x1, 256 to 64", 2, 256, 64, 56, 1, 1, 0, 1),
    ("1x1, 256 to 128", 1, 256, 128, 56, 1, 1, 0, 1),
    ("3x3, 128 to 128, stride 2", 1, 128, 128, 56, 3, 2, 1, 1),
    ("1x1, 128 to 512", 4, 128, 512, 28, 1, 1, 0, 1),
    ("1x1, 256 to 512, stride 2", 1, 256, 512, 56, 1, 2, 0, 1),
    ("1x1, 512 to 128", 3, 512, 128, 28, 1, 1, 0, 1),
    ("3x3, 128 to 128", 3, 128, 128, 28, 3, 1, 1, 1),
    ("1x1, 512 to 256", 1, 512, 256, 28, 1, 1, 0, 1),
    ("3x3, 256 to 256, stride 2", 1, 256, 256, 28, 3, 2, 1, 1),
    ("1x1, 256 to 1024", 6, 256, 1024, 14, 1, 1, 0, 1),
    ("1x1, 512 to 1024, stride 2", 1, 512, 1024, 28, 1, 2, 0, 1),
    ("1x1, 1024 to 256", 5, 1024, 256, 14, 1, 1, 0, 1),
    ("3x3, 256 to 256", 5, 256, 256, 14, 3, 1, 1, 1),
    ("1x1, 1024 to 512", 1, 1024, 512, 14, 1, 1, 0, 1),
    ("3x3, 512 to 512, stride 2", 1, 512, 512, 14, 3, 2, 1, 1),
    ("1x1, 512 to 2048", 3, 512, 2048, 7, 1, 1, 0, 1),
    ("1x1, 1024 to 2048, stride 2", 1, 1024, 2048, 14, 1, 2, 0, 1),
    ("1x1, 2048 to 512", 2, 2048, 512, 7, 1, 1, 0, 1),
    ("3x3, 512 to 512", 2, 512, 512, 7, 3, 1, 1, 1),
    ("depthwise 3x3, 96", 0, 96, 96, 56, 3, 1, 1, 96),
    ("depthwise 3x3, 384, stride 2", 0, 384, 384, 28, 3, 2, 1, 384),
)


def best(codes, seconds=0.4):
    """The best time of each, in turns."""
    times = [float("inf")] * len(codes)
    end = time.perf_counter() + seconds * len(codes)
    while time.perf_counter() < end:
        for i, code in enumerate(codes):
            begin = time.perf_counter()
            code()
            times[i] = min(times[i], time.perf_counter() - begin)
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--peak", type=float, default=0)
    parser.add_argument("--gradients", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| layer | Mmac | Limpid | PyTorch | GFLOP/s | of the peak |\n|---|---|---|---|---|---|")
    totals = [0.0, 0.0, 0.0]
    for name, count, channels, outputs, size, kernel, stride, padding, groups in LAYERS:
        rng = np.random.default_rng(0)
        x = rng.standard_normal((options.batch, channels, size, size), dtype=np.float32)
        w = rng.standard_normal((outputs, channels // groups, kernel, kernel), dtype=np.float32)
        how = dict(stride=stride, padding=padding, groups=groups)
        tx, tw = torch.from_numpy(x), torch.from_numpy(w)
        with torch.no_grad():
            y = torch.nn.functional.conv2d(tx, tw, **how)
        macs = y.numel() * w[0].size
        if options.gradients:
            macs *= 2
            g = np.ones(y.shape, np.float32)
            tg = torch.from_numpy(g)
            here = lp.compile(lp.grad(lambda x, w, g: (lp.conv(x, w, **how) * g).sum(), argnums=(0, 1)))
            ours = lambda: here(x, w, g)
            there = torch.ops.aten.convolution_backward
            two = lambda n: [n, n]
            theirs = lambda: there(tg, tx, tw, None, two(stride), two(padding), [1, 1], False, [0, 0], groups, [True, True, False])
        else:
            constant = lp.compile(lambda x: lp.conv(x, w, **how))
            ours = lambda: constant(x)
            theirs = lambda: torch.nn.functional.conv2d(tx, tw, **how)
        with torch.no_grad():
            ours(), theirs()
            mine, other = best((ours, theirs))
        totals = [t + count * v for t, v in zip(totals, (macs, mine, other))]
        rate = 2e-9 * macs / mine
        share = f"{100 * rate / options.peak:.0f} %" if options.peak else ""
        print(f"| {name} | {macs / 1e6:.1f} | {1e3 * mine:.3f} ms | {1e3 * other:.3f} ms | {rate:.1f} | {share} |", flush=True)
    macs, mine, other = totals
    rate = 2e-9 * macs / mine
    share = f"{100 * rate / options.peak:.0f} %" if options.peak else ""
    print(f"| all of ResNet-50 | {macs / 1e6:.0f} | {1e3 * mine:.1f} ms | {1e3 * other:.1f} ms | {rate:.1f} | {share} |")


if __name__ == "__main__":
    main()
