#!/usr/bin/env python3
"""Functions and layers on pictures: how Python's arguments become windows, and that layers are those functions."""

import unittest

import numpy as np

import limpid as lp

N = lp.nn


def equal(a, b):
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


class Pictures(unittest.TestCase):
    x = lp.asarray(np.random.default_rng(5).standard_normal((2, 4, 9, 7)).astype(np.float32))

    def test_one_number_stands_for_all_dimensions(self):
        x = self.x
        equal(lp.max_pool(x, 3), lp.max_pool(x, (3, 3), (3, 3), (0, 0), (1, 1)))
        equal(lp.max_pool(x, 3, 2, 1), lp.max_pool(x, (3, 3), 2, (1, 1, 1, 1)))
        equal(lp.max_pool(x, (3,)), lp.max_pool(x, (1, 3)))
        self.assertEqual(lp.max_pool(x, 2, padding=(0, 1, 1, 0), ceil_mode=True).shape, (2, 4, 5, 4))
        self.assertEqual(lp.reduce_window_sum(x[0, 0, 0], (2,)).shape, (3,))

    def test_pooling_is_what_numpy_gives(self):
        x = np.asarray(self.x)
        tiles = x[:, :, :8, :6].reshape(2, 4, 4, 2, 3, 2)
        equal(lp.max_pool(self.x, 2), tiles.max((3, 5)))
        np.testing.assert_allclose(np.asarray(lp.avg_pool(self.x, 2)), tiles.mean((3, 5)), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(np.asarray(lp.lp_pool(self.x, 2, 2)), np.sqrt((tiles**2).sum((3, 5))), rtol=1e-5)
        y, places = lp.max_pool(self.x, 2), lp.max_pool_indices(self.x, 2)
        equal(y, np.take_along_axis(x.reshape(2, 4, 63), np.asarray(places).reshape(2, 4, 12), 2).reshape(2, 4, 4, 3))
        equal(lp.max_pool(lp.max_unpool(y, places, (9, 7)), 2), np.maximum(np.asarray(y), 0))

    def test_layers_are_the_functions(self):
        x, params = self.x, lp.Params({})
        for layer, y in (
            (N.MaxPool2d(3, padding=1), lp.max_pool(x, 3, padding=1)),
            (N.MaxPool2d([3, 2], 1, dilation=2), lp.max_pool(x, (3, 2), 1, dilation=2)),
            (N.AvgPool2d(2, None, 1, True, False), lp.avg_pool(x, 2, padding=1, ceil_mode=True, count_include_pad=False)),
            (N.LPPool2d(2.0, 3), lp.lp_pool(x, 2, 3)),
            (N.AdaptiveAvgPool2d(1), lp.adaptive_avg_pool(x, (1, 1))),
            (N.AdaptiveMaxPool2d((5, 3)), lp.adaptive_max_pool(x, (5, 3))),
            (N.Flatten(), lp.reshape(x, (2, 252))),
            (N.Upsample((4, 5), mode="bilinear"), lp.resize(x, (4, 5))),
            (N.Upsample(scale_factor=2.0), lp.resize(x, (18, 14), "nearest", "asymmetric", "floor")),
            (N.PixelShuffle(2), lp.pixel_shuffle(x, 2)),
            (N.LocalResponseNorm(3), lp.local_response_norm(x, 3)),
            (N.InstanceNorm(4), lp.instance_norm(x)),
            (N.Dropout2d(), x),
        ):
            equal(layer(params, x), y)
            self.assertEqual(layer, eval(repr(layer), vars(N)))
            self.assertEqual(hash(layer), hash(eval(repr(layer), vars(N))))
        equal(lp.pixel_unshuffle(lp.pixel_shuffle(x, 2), 2), x)

    def test_sampling_at_the_pixels_gives_the_pixels(self):
        theta = lp.asarray(np.tile(np.eye(2, 3, dtype=np.float32), (2, 1, 1)))
        grid = lp.affine_grid(theta, (9, 7), align_corners=True)
        self.assertEqual(grid.shape, (2, 9, 7, 2))
        np.testing.assert_allclose(np.asarray(lp.grid_sample(self.x, grid, align_corners=True)), np.asarray(self.x), atol=1e-5)

    def test_channels_are_dropped_whole(self):
        y = np.asarray(lp.channel_dropout(lp.ones((5, 40, 2, 2)), lp.Key(3), 0.5))
        self.assertTrue((y == y[:, :, :1, :1]).all())
        self.assertEqual(set(y.ravel()), {0.0, 2.0})

    def test_what_is_refused(self):
        for code in (
            lambda: lp.resize(self.x, (3, 3), "cubical"),
            lambda: lp.grid_sample(self.x, self.x, padding="none"),
            lambda: N.Upsample(3, mode="bilinear", scale_factor=2.0)(lp.Params({}), self.x),
        ):
            with self.assertRaises(ValueError):
                code()
        for code in (lambda: lp.max_pool(self.x, 10), lambda: lp.max_pool(self.x, (2, 2), (1, 1, 1)), lambda: lp.pixel_shuffle(self.x, 3)):
            with self.assertRaises(lp.ShapeError):
                code()
        with self.assertRaises(TypeError):
            N.MaxPool2d("3")(lp.Params({}), self.x)


if __name__ == "__main__":
    unittest.main()
