#!/usr/bin/python3
"""Writes resize.safetensors: pictures, and what PyTorch makes of them, for fit_test.cc.

To make it again: apt-get install python3-torch (1.13 on Debian 12), then

    /usr/bin/python3 tests/pictures/make_resize.py

"<case>.x" is f32 [channels, height, width] of integers from 0 to 255; "<case>.y" is what interpolate(mode="bilinear",
antialias=True) gives for the size that covers the wanted one, and of that the centre.
"""

import json
import pathlib
import struct

import torch

# channels, height, width -> height, width
CASES = [(1, 8, 6, 4, 3), (3, 5, 7, 10, 14), (1, 9, 16, 8, 8), (3, 31, 17, 10, 10), (1, 6, 6, 6, 6), (3, 40, 3, 7, 5),
         (1, 2, 2, 5, 9), (3, 12, 50, 12, 13), (1, 1, 1, 3, 2), (3, 33, 24, 14, 14)]


def covering(height, width, to_height, to_width):
    """The size of the whole picture when it just covers the wanted size."""
    if to_width * height >= to_height * width:
        return max(to_height, (2 * height * to_width + width) // (2 * width)), to_width
    return to_height, max(to_width, (2 * width * to_height + height) // (2 * height))


def main():
    torch.manual_seed(1)
    tensors = {}
    for number, (channels, height, width, to_height, to_width) in enumerate(CASES):
        x = torch.randint(0, 256, (channels, height, width)).float()
        size = covering(height, width, to_height, to_width)
        y = torch.nn.functional.interpolate(x[None], size=size, mode="bilinear", antialias=True)[0]
        top, left = (size[0] - to_height) // 2, (size[1] - to_width) // 2
        tensors[f"{number}.x"] = x
        tensors[f"{number}.y"] = y[:, top:top + to_height, left:left + to_width]
    header, data = {}, b""
    for name, tensor in tensors.items():
        values = tensor.contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path = pathlib.Path(__file__).with_name("resize.safetensors")
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


main()
