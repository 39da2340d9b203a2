#!/usr/bin/python3
"""Writes cnn.safetensors: the networks of limpid/nn/cnn.h as PyTorch modules, from their papers.

For each preset, with 2 filters, 3 outputs and pictures x f32[4, 2, 16, 16]:
    <preset>.<parameter>, the running statistics among them
    <preset>.eval          logits with the running statistics
    <preset>.train         logits with the statistics of the batch
"""

import torch
from torch import nn

from make_fixtures import save

F = 2


class Unit(nn.Module):
    def __init__(self, inputs, outputs, kernel=3, stride=1, groups=1, active=True, norm=True, padding=None):
        super().__init__()
        padding = kernel // 2 if padding is None else padding
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=not norm)
        if norm:
            self.norm = nn.BatchNorm2d(outputs)
        self.has_norm, self.active = norm, active

    def forward(self, x):
        x = self.conv(x)
        x = self.norm(x) if self.has_norm else x
        return torch.relu(x) if self.active else x


class Plain(nn.Sequential):
    pass


class Pooled(nn.Sequential):
    def forward(self, x):
        return nn.functional.max_pool2d(super().forward(x), 2)


class Residual(nn.Sequential):
    """x + f(x), of ResNet-9 and MobileNetV2."""

    def forward(self, x):
        return x + super().forward(x)


class Basic(nn.Sequential):
    """ResNet's basic block (He et al. 2016, figure 2)."""

    def __init__(self, inputs, outputs, stride):
        super().__init__(Unit(inputs, outputs, stride=stride), Unit(outputs, outputs, active=False))
        self.projects = stride > 1 or inputs != outputs
        if self.projects:
            self.shortcut = Unit(inputs, outputs, 1, stride, active=False)

    def forward(self, x):
        y = self[1](self[0](x))
        return torch.relu(y + (self.shortcut(x) if self.projects else x))


class Network(nn.Module):
    def __init__(self, blocks, end, sizes):
        super().__init__()
        self.blocks, self.end = nn.Sequential(*blocks), end
        self.head = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        x = self.end(self.blocks(x))
        for layer in self.head[:-1]:
            x = torch.relu(layer(x))
        return self.head[-1](x)


def mean(x):
    return x.mean((2, 3))


def largest(x):
    return x.amax((2, 3))


def resnet18():
    blocks = [Plain(Unit(2, F))]
    channels = F
    for stage in range(4):
        for i in range(2):
            blocks.append(Basic(channels, F << stage, 2 if stage > 0 and i == 0 else 1))
            channels = F << stage
    return Network(blocks, mean, [channels, 3])


def mobilenet():
    blocks, channels = [Plain(Unit(2, F))], F
    rows = [(1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for expand, of_32, repeats, first in rows:
        for i in range(repeats):
            outputs, stride, middle = of_32 * F // 32, first if i == 0 else 1, expand * channels
            units = [Unit(channels, middle, 1)] if expand > 1 else []
            units.append(Unit(middle, middle, stride=stride, groups=middle))
            units.append(Unit(middle, outputs, 1, active=False))
            blocks.append((Residual if stride == 1 and channels == outputs else Plain)(*units))
            channels = outputs
    blocks.append(Plain(Unit(channels, 1280 * F // 32, 1)))
    return Network(blocks, mean, [1280 * F // 32, 3])


def networks():
    second = (8 * F + 2) // 3
    yield "lenet", Network(
        [Pooled(Unit(2, F, 5, norm=False)), Pooled(Unit(F, second, 5, norm=False, padding=0))],
        lambda x: x.flatten(1),
        [second * 4, 20 * F, 14 * F, 3],
    )
    yield "small", Network(
        [
            Pooled(Unit(2, F)),
            Pooled(Unit(F, 2 * F), Unit(2 * F, 2 * F)),
            Plain(Unit(2 * F, 4 * F), Unit(4 * F, 4 * F)),
        ],
        largest,
        [4 * F, 3],
    )
    yield "resnet9", Network(
        [
            Plain(Unit(2, F)),
            Pooled(Unit(F, 2 * F)),
            Residual(Unit(2 * F, 2 * F), Unit(2 * F, 2 * F)),
            Pooled(Unit(2 * F, 4 * F)),
            Pooled(Unit(4 * F, 8 * F)),
            Residual(Unit(8 * F, 8 * F), Unit(8 * F, 8 * F)),
        ],
        largest,
        [8 * F, 3],
    )
    yield "resnet18", resnet18()
    yield "mobilenet", mobilenet()


def main():
    torch.manual_seed(31)
    x = torch.randn(4, 2, 16, 16)
    tensors = {"x": x}
    for name, net in networks():
        for key, value in net.state_dict().items():
            if key.endswith("norm.weight") or key.endswith("running_var"):
                value.uniform_(0.5, 1.5)
            elif key.endswith("bias") or key.endswith("running_mean"):
                value.normal_(0, 0.2)
        state = {k: v.clone() for k, v in net.state_dict().items() if not k.endswith("num_batches_tracked")}
        tensors.update({f"{name}.{k}": v for k, v in state.items()})
        with torch.no_grad():
            net.double()
            tensors[f"{name}.eval"] = net.eval()(x.double()).float()
            tensors[f"{name}.train"] = net.train()(x.double()).float()
    save("cnn.safetensors", tensors)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
