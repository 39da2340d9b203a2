#!/usr/bin/python3
"""Writes lora.safetensors: a linear layer with a low-rank adapter, as PyTorch computes it.

f64, rounded to f32: x f32[5, 6], weight f32[4, 6], lora_A f32[2, 6], lora_B f32[4, 2], up f32[5, 4]
    y               x weight^T + alpha / rank (x lora_A^T) lora_B^T, alpha 3, rank 2
    dx, da, db      the gradients of sum(up * y)
"""

import torch

from make_fixtures import save

ALPHA, RANK = 3, 2


def main():
    torch.manual_seed(4)
    x, weight = torch.randn(5, 6).double(), torch.randn(4, 6).double()
    a, b = torch.randn(RANK, 6).double(), torch.randn(4, RANK).double()
    up = torch.randn(5, 4).double()
    for leaf in (x, a, b):
        leaf.requires_grad_()
    y = x @ weight.T + ALPHA / RANK * ((x @ a.T) @ b.T)
    (up * y).sum().backward()
    tensors = {"x": x, "weight": weight, "lora_A": a, "lora_B": b, "up": up, "y": y}
    tensors.update({"dx": x.grad, "da": a.grad, "db": b.grad})
    save("lora.safetensors", {name: value.detach().float() for name, value in tensors.items()}, alpha=str(ALPHA), rank=str(RANK))


if __name__ == "__main__":
    main()
