#!/usr/bin/env python3
"""One training step of examples/poisson in PyTorch, on one thread, for comparison with poisson_bench."""

import math
import statistics
import time

import torch

torch.set_num_threads(1)
torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)
)
adam = torch.optim.Adam(net.parameters(), lr=0.001)
x = ((torch.arange(64) + 0.5) / 64).reshape(64, 1).requires_grad_()


def step():
    adam.zero_grad(set_to_none=True)
    u = x * (1 - x) * net(x)
    (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), x, create_graph=True)
    residual = bend + math.pi**2 * torch.sin(math.pi * x)
    loss = (residual * residual).mean()
    loss.backward()
    adam.step()
    return loss


times = []
for _ in range(5000):
    begin = time.perf_counter()
    loss = step()
    times.append((time.perf_counter() - begin) * 1e6)
print(f"a step in PyTorch {torch.__version__}: median {statistics.median(times):.1f} us, loss {loss.item():.2g}")
