#!/usr/bin/python3
"""Writes augmentation.safetensors: pictures resampled by maps, by PyTorch's affine_grid and grid_sample in f64.

    maps                     [K, 8]: xx, xy, x0, yx, yy, y0, gx, gy of limpid::PictureMap
    <shape>                  a picture [C, H, W]
    <shape>.<k>              the picture resampled by map k
"""

import math

import torch

from make_fixtures import save

SHAPES = {"digit": (1, 28, 28), "colours": (3, 9, 14)}


def maps():
    turn = math.radians(17)
    return torch.tensor([
        [1, 0, 1.25, 0, 1, -0.5, 0, 0],                                               # shift
        [math.cos(turn), math.sin(turn), 0, -math.sin(turn), math.cos(turn), 0, 0, 0],  # rotate
        [1.3, 0.4, 2.2, -0.3, 0.6, -1.7, 0, 0],                                       # affine
        [-0.9, 0.1, 0.3, 0.2, 1.1, 0.4, 0, 0],                                        # turned
        [1.1, 0.1, 0.3, -0.2, 0.9, 0.6, 0.011, -0.007],                               # projective
        [0.1, 0, 40, 0, 0.1, 0, 0, 0],                                                # outside
    ], dtype=torch.float32).double()


def resampled(picture, m):
    height, width = picture.shape[1:]
    xx, xy, x0, yx, yy, y0, gx, gy = m.tolist()
    if gx == gy == 0:
        theta = torch.tensor([[xx, xy * height / width, 2 * x0 / width], [yx * width / height, yy, 2 * y0 / height]]).double()
        grid = torch.nn.functional.affine_grid(theta[None], [1, *picture.shape], align_corners=False)
    else:
        x = torch.arange(width, dtype=torch.float64)[None, :] - (width - 1) / 2
        y = torch.arange(height, dtype=torch.float64)[:, None] - (height - 1) / 2
        depth = gx * x + gy * y + 1
        u, v = (xx * x + xy * y + x0) / depth, (yx * x + yy * y + y0) / depth
        grid = torch.stack([2 * u / width, 2 * v / height], dim=-1)[None]
    return torch.nn.functional.grid_sample(picture[None], grid, mode="bilinear", padding_mode="zeros", align_corners=False)[0]


def main():
    torch.manual_seed(48)
    tensors = {"maps": maps().float()}
    for name, shape in SHAPES.items():
        picture = torch.rand(shape).double()
        tensors[name] = picture.float()
        for k, m in enumerate(maps()):
            tensors[f"{name}.{k}"] = resampled(picture, m).float()
    save("augmentation.safetensors", tensors)


if __name__ == "__main__":
    main()
