#!/usr/bin/env python3
"""The numbers of a summary, a trace and a neuron."""

import unittest

import numpy as np

import limpid as lp


class Inspection(unittest.TestCase):
    def test_statistics_of_a_trace(self):
        f = lp.trace(lambda w, x: lp.relu(lp.log(x) * w), "f32[5]", "f32[5]")
        t = lp.inspect.trace(f, np.float32([-1, 0, 0, 1, 1]), params={"w": np.float32([1, 1, 1, 2, 3])})
        logs, = (row for row in t.rows if row["op"] == "log")
        self.assertEqual((logs["nans"], logs["infs"], logs["zero_share"], logs["type"]), (1, 2, 0.4, "f32[5]"))
        given, = (row for row in t.rows if row["value"] == "%x")
        self.assertEqual((given["min"], given["max"], given["mean"]), (-1, 1, 0.2))
        self.assertAlmostEqual(given["std"], np.float64([-1, 0, 0, 1, 1]).std(), places=6)

    def test_parameters_of_a_summary(self):
        net = lp.nn.Mlp([3, 4, 2], norm="batch")
        s = lp.inspect.summary(net.function(), net.init().with_(net.init_state()))
        self.assertEqual((s.trainable, s.statistics), (3 * 4 + 4 + 2 * 4 + 4 * 2 + 2, 2 * 4))
        self.assertEqual(s.parameter_bytes, 4 * (s.trainable + s.statistics))

    def test_a_neuron_of_any_row(self):
        layer = lp.nn.named("a", lp.nn.Linear(2, 2))
        f = lp.trace(lambda p, x: layer(p, x) * 1.0, {"a.weight": "f32[2, 2]", "a.bias": "f32[2]"}, "f32[3, 2]")
        params, x = {"a.weight": np.float32([[1, 2], [3, 4]]), "a.bias": np.float32([0.5, -0.5])}, np.float32([[1, 1], [2, 2], [-3, 1]])
        for row in (0, 1, 2, -1):
            n = lp.inspect.neuron(f, "a", 1, x, params=params, row=row)
            self.assertEqual((n.index, n.terms, n.bias), (1, [(0, 3, x[row][0]), (1, 4, x[row][1])], -0.5))
            self.assertEqual(n.z, 3 * x[row][0] + 4 * x[row][1] - 0.5)

    def test_what_an_activation_makes_of_a_neuron(self):
        net = lp.nn.mlp([2, 1, 1], lp.relu)
        params = net.init().with_({"layers.0.weight": np.float32([[1, 1]]), "layers.0.bias": np.float32([-5])})
        n = lp.inspect.neuron(net, "layers.0", 0, np.float32([1, 2]), params=params)
        self.assertEqual((n.z, n.activation, n.activated), (-2, "relu", 0))


if __name__ == "__main__":
    unittest.main()
