#!/usr/bin/python3
"""Writes convolutions.safetensors: convolutions and their gradients by PyTorch, as make_fixtures.py.

f64, of f32 numbers; for each case of CASES, a layer of torch.nn:
    <case>.x, <case>.up, <case>.weight, <case>.bias
    <case>.y, <case>.dx, <case>.dweight, <case>.dbias
                                   the result, and the gradients of sum(up * y)
"""

import torch

from make_fixtures import gradients_of, save

CASES = {
    "conv1d": (torch.nn.Conv1d(3, 4, 3, padding=2, dilation=2), (2, 3, 9)),
    "conv2d": (torch.nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), groups=2), (2, 4, 8, 5)),
    "same": (torch.nn.Conv2d(2, 3, (2, 3), padding="same", dilation=(1, 2)), (1, 2, 5, 6)),
    "depthwise": (torch.nn.Conv2d(3, 6, 3, stride=2, padding=1, groups=3), (2, 3, 7, 6)),
    "conv3d": (torch.nn.Conv3d(2, 3, (2, 1, 3), stride=(1, 2, 1), padding=(0, 0, 1)), (1, 2, 3, 4, 4)),
    "transpose1d": (torch.nn.ConvTranspose1d(3, 2, 4, stride=3, padding=1, output_padding=2), (2, 3, 4)),
    "transpose2d": (torch.nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=(1, 0), groups=2), (2, 4, 3, 4)),
    "transpose3d": (torch.nn.ConvTranspose3d(2, 3, (1, 2, 3), stride=(2, 1, 1), dilation=(1, 2, 1)), (1, 2, 2, 3, 2)),
}


def main():
    torch.manual_seed(9)
    tensors = {}
    for name, (layer, shape) in CASES.items():
        inputs = {"x": torch.randn(shape)}
        inputs.update({k: 0.5 * torch.randn_like(v) for k, v in layer.state_dict().items()})
        layer.load_state_dict({k: inputs[k] for k in ("weight", "bias")})
        layer.double()
        x = inputs["x"].double().requires_grad_()
        y = layer(x)
        up = torch.randn(y.shape).double()
        tensors.update({f"{name}.{k}": v.double() for k, v in inputs.items()})
        tensors.update({f"{name}.up": up, f"{name}.y": y.detach()})
        grads = gradients_of(y, up, {"x": x, "weight": layer.weight, "bias": layer.bias})
        tensors.update({f"{name}.{k}": g for k, g in grads.items()})
    save("convolutions.safetensors", tensors)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
