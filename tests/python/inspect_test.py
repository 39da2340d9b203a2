#!/usr/bin/env python3
"""The numbers of a summary, a trace and a neuron."""

import re
import unittest
from unittest import mock

import numpy as np

import limpid as lp
from limpid import _html
from refusals import Refusals


class Inspection(Refusals):
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
        self.assertEqual(lp.inspect.neuron(f, "a", 1, x, params=params).z, n.z)

    def test_a_neuron_of_a_list(self):
        net = lp.nn.mlp([2, 1])
        params = net.init().with_({"layers.0.weight": np.float32([[1, 2]]), "layers.0.bias": np.float32([0.5])})
        for n in (lp.inspect.neuron(net, "layers.0", 0, [3, 4], params=params), lp.inspect.neuron(net, "layers.0", 0, x=[3, 4.0], params=params)):
            self.assertEqual(n.z, 11.5)

    def test_what_an_activation_makes_of_a_neuron(self):
        net = lp.nn.mlp([2, 1, 1], lp.relu)
        params = net.init().with_({"layers.0.weight": np.float32([[1, 1]]), "layers.0.bias": np.float32([-5])})
        n = lp.inspect.neuron(net, "layers.0", 0, np.float32([1, 2]), params=params)
        self.assertEqual((n.z, n.activation, n.activated), (-2, "relu", 0))


    def test_values_by_name(self):
        f = lp.trace(lambda w, x: w * x + 1.0, "f32[2]", "f32[2]")
        w, x = np.float32([2, 3]), np.float32([5, 7])
        for t in (
            lp.inspect.trace(f, x, params={"w": w}), lp.Model(f, {"w": w}).trace(x), lp.inspect.trace(f, x=x, w=w), lp.inspect.trace(f, w, x=x), lp.inspect.trace(f, w, x),
        ):
            self.assertEqual([t[name].tolist() for name in ("x", "%x", "0", "%0")], [[5, 7], [5, 7], [10, 21], [10, 21]])
        self.assertEqual(t["w"].tolist(), [2, 3])
        for t in (lp.inspect.trace(f, [2, 3], (5.0, 7)), lp.inspect.trace(f, x=[5, 7.0], w=[2, 3]), lp.inspect.trace(f, [lp.asarray(5.0), 7], params={"w": w})):
            self.assertEqual([t[name].tolist() for name in ("x", "0")], [[5, 7], [10, 21]])
        self.refused(lambda: t["y"], KeyError)
        # Names of parameters in mappings of mappings are those of the Function.
        net = lp.nn.mlp([2, 1])
        flat = net.init().with_({"layers.0.bias": np.float32([0.5])})
        nested = {"layers": {"0": {"weight": flat["layers.0.weight"], "bias": flat["layers.0.bias"]}}}
        self.assertEqual(lp.inspect.trace(net, x, params=nested).text, lp.inspect.trace(net, x, params=flat).text)
        self.assertEqual(lp.inspect.neuron(net, "layers.0", 0, x, params=nested).bias, 0.5)
        for bad, error in (
            (lambda: lp.inspect.trace(f, w, x, x), TypeError), (lambda: lp.inspect.trace(f, x, x, params={"w": w}), TypeError),
            (lambda: lp.inspect.trace(f, w, w=w), TypeError), (lambda: lp.inspect.trace(f, w), KeyError),
            (lambda: lp.inspect.trace(f, w, [1, 2, 3]), ValueError), (lambda: lp.inspect.trace(lp.trace(lambda i: i + 1, "i32[2]"), [1.5, 2]), TypeError),
            (lambda: lp.inspect.summary(3), TypeError), (lambda: t.nothing, AttributeError),
        ):
            self.refused(bad, error)

    def test_a_gradient_that_disagrees(self):
        wrong = lp.with_gradient(lambda x: x * x, lambda x, y, c: x * c)
        self.refused(lambda: lp.inspect.gradcheck(lp.trace(wrong, "f32[3]", names=["x"]), {"x": np.float32([1, 2, 3])}), ValueError)
        f = lp.trace(lambda x, y: (x * x * y).sum(), "f32[3]", "f32[3]")
        self.assertIs(lp.inspect.gradcheck(f, {"x": np.float32([1, 2, 3]), "y": np.float32([3, 1, 2])}, lp.Key(5)), True)
        self.assertIs(lp.inspect.gradcheck(f, {"x": [1, 2, 3], "y": np.float32([3, 1, 2])}), True)
        with mock.patch.object(lp.inspect._core, "gradcheck", wraps=lp.inspect._core.gradcheck) as checked:
            lp.inspect.gradcheck(f, {"x": np.float32([1, 2, 3]), "y": np.float32([3, 1, 2])}, lp.Key(5))
        self.assertEqual(checked.call_args.args[2], lp.Key(5))
        # A call whose first argument is no floating one is widened, too.
        right = lp.with_gradient(lambda n, x: lp.sin(x), lambda n, x, y, c: (None, c * lp.cos(x)))
        f = lp.trace(right, "i32[3]", "f32[3]", names=["n", "x"])
        self.assertTrue(lp.inspect.gradcheck(f, {"n": np.int32([1, 2, 3]), "x": np.float32([1, 2, 3])}))


class Pages(Refusals):
    """What notebooks show: cells with their colours."""

    def cells(self, x):
        rows = re.findall(r"<tr>(.*?)</tr>", _html.heat_map(x))
        return [re.findall(r"background:(#\w+)", row) for row in rows]

    def test_heat_maps(self):
        white, black = "#ffffff", "#000"
        self.assertEqual(self.cells(np.float32([[1, -2, 0], [2, 0.5, -0.5]])), [["#ff8080", "#0000ff", white], ["#ff0000", "#ffbfbf", "#bfbfff"]])
        self.assertEqual(self.cells(np.float32([[np.nan, 4], [0, -np.inf]])), [[black, "#ff0000"], [white, black]])
        for x in (np.zeros((2, 2)), lp.zeros((2, 2), "i8"), lp.asarray([[False] * 2] * 2), np.full((2, 2), np.nan)):
            self.assertEqual(self.cells(x), [[black if np.isnan(np.asarray(x)).all() else white] * 2] * 2)
        self.assertEqual((_html.heat_map(np.zeros(0)), _html.heat_map(np.zeros((2, 0))), self.cells(np.float32(-3))), ("", "", [["#0000ff"]]))
        sizes = lambda *shape: [len(row) for row in self.cells(np.ones(shape))]
        # A long vector is a square where it can be; of large arrays every n-th element is shown.
        for shape, want in (((28,), [28]), ((29,), [15]), ((36,), [6] * 6), ((37,), [19]), ((25,), [25]), ((2, 3, 4), [4] * 6), ((57, 3), [3] * 19), ((56, 84), [28] * 28)):
            self.assertEqual(sizes(*shape), want, shape)
        x = np.zeros((30, 2))
        x[::2, 1] = range(15)
        self.assertEqual([row[1] for row in self.cells(x)][1:3], ["#ffeded", "#ffdbdb"])

    def test_tables(self):
        net = lp.nn.Mlp([30, 50, 2])
        for shown in (lp.Params({"a<b": lp.asarray([1.0, 3.0]), "n": 7, "x": lp.ones((2, 1), "bf16")}), lp.inspect.summary(net, net.init()),
                      lp.inspect.trace(lp.trace(lambda x: -x, "f32[4]"), np.float32([-1, 0, 0, 5]))):
            self.says(" ".join(re.sub(r"<[^>]+>", " ", shown._repr_html_()).split()))


if __name__ == "__main__":
    unittest.main()
