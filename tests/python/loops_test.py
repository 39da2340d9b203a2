"""scan, map, cond and while_loop, and the recurrent layers."""

import unittest

import numpy as np

import limpid as lp


def floats(*shape):
    return (np.arange(1, 1 + np.prod(shape)) % 7 * 0.25 - 0.5).astype(np.float32).reshape(shape)


class Scan(unittest.TestCase):
    def test_is_the_loop(self):
        w, x, h = floats(3, 3), floats(5, 3), np.zeros(3, np.float32)

        def step(h, x):
            h = lp.tanh(lp.linear(h, w) + x)
            return h, (h * 2.0, None)

        last, (ys, nothing) = lp.scan(step, h, x)
        self.assertIsNone(nothing)
        expected = []
        carry = lp.asarray(h)
        for row in x:
            carry, (y, _) = step(carry, row)
            expected.append(np.asarray(y))
        self.assertEqual(np.asarray(ys).tolist(), np.stack(expected).tolist())
        self.assertEqual(last.tolist(), carry.tolist())

    def test_reverse_trees_and_lengths(self):
        step = lambda c, x: ({"sum": c["sum"] + x[0], "n": c["n"] + 1}, c["sum"])
        init = {"sum": np.float32(0), "n": np.int32(0)}
        last, before = lp.scan(step, init, (np.float32([1, 2, 3]),), reverse=True)
        self.assertEqual((last["sum"].item(), last["n"].item(), before.tolist()), (6, 3, [5, 3, 0]))
        count, numbers = lp.scan(lambda n, _: (n + 1, n), np.int32(0), length=4)
        self.assertEqual((count.item(), numbers.tolist()), (4, [0, 1, 2, 3]))

    def test_gradient_of_what_is_captured(self):
        x = floats(6, 2)

        def loss(p):
            h, ys = lp.scan(lambda h, x: (h * p["w"] + x,) * 2, p["h"], x)
            return (h * ys.sum(0)).sum()

        p = {"w": floats(2), "h": floats(2)}
        unrolled = lambda p: self.unrolled(p, x)
        for got, want in zip(lp.grad(loss)(p).values(), lp.grad(unrolled)(p).values()):
            np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-5)
        f = lp.trace(loss, p)
        self.assertEqual([op["op"] for op in f.ops].count("scan"), 1)
        self.assertEqual(str(lp.parse(f.text())), str(f))

    @staticmethod
    def unrolled(p, x):
        h, total = p["h"], 0.0
        for row in x:
            h = h * p["w"] + row
            total = total + h
        return (h * total).sum()

    def test_vmap_and_map(self):
        x = floats(4, 3, 2)
        total = lambda x: lp.scan(lambda c, x: (c + x, c), x[0], x)[1]
        self.assertEqual(lp.vmap(total)(x).tolist(), [total(row).tolist() for row in x])
        self.assertEqual(lp.map(lambda x: {"y": x.sum()}, x)["y"].tolist(), [lp.asarray(row).sum().item() for row in x])

    def test_refusals(self):
        x = floats(3, 2)
        for wrong, error in (
            (lambda: lp.scan(lambda c, x: (c, x), 0.0), ValueError),
            (lambda: lp.scan(lambda c, x: (c, x), 0.0, x, length=4), lp.errors.ShapeError),
            (lambda: lp.scan(lambda c, x: (c, x), 0.0, np.float32(1)), lp.errors.ShapeError),
            (lambda: lp.scan(lambda c, x: (x, c), np.float32(0), x), lp.errors.ShapeError),
            (lambda: lp.scan(lambda c, x: c, np.float32(0), x), TypeError),
            (lambda: lp.scan(lambda c, x: ((c, c), c), np.float32(0), x), TypeError),
        ):
            with self.assertRaises(error) as caught:
                wrong()
            self.assertRegex(str(caught.exception), r"\A[^\n]+\Z")


class Control(unittest.TestCase):
    def test_cond(self):
        f = lp.compile(lambda x, y: lp.cond(x.sum() > 0, lambda a: (a * y, a.sum()), lambda a: (-a, y.sum()), x))
        for x in (floats(3), -floats(3)):
            y = np.float32([1, 2, 3])
            positive = x.sum() > 0
            got, total = f(x, y)
            self.assertEqual(got.tolist(), (x * y if positive else -x).tolist())
            self.assertEqual(total.item(), (x if positive else y).sum())
        grad = lp.grad(lambda x: lp.cond(x > 0, lambda: x * x, lambda: -x))
        self.assertEqual((grad(np.float32(3)).item(), grad(np.float32(-3)).item()), (6, -1))
        signs = lp.vmap(lambda x: lp.cond(x > 0, lambda: x, lambda: -x))
        self.assertEqual(signs(np.float32([1, -2])).tolist(), [1, 2])

    def test_while_loop(self):
        def root(x):
            return lp.while_loop(lambda r: abs(r * r - x) > 1e-4, lambda r: 0.5 * (r + x / r), x, limit=40)

        self.assertAlmostEqual(root(np.float32(2)).item(), 2**0.5, places=4)
        np.testing.assert_allclose(np.asarray(lp.vmap(root)(np.float32([2, 9, 100]))), [2**0.5, 3, 10], rtol=1e-3)
        self.assertAlmostEqual(lp.grad(root)(np.float32(4)).item(), 0.25, places=3)
        n, x = lp.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2.0), (np.int32(0), np.float32(1)))
        self.assertEqual((n.item(), x.item()), (5, 32))
        with self.assertRaises(NotImplementedError):
            lp.grad(lambda x: lp.while_loop(lambda x: x < 9.0, lambda x: x * 2.0, x))(np.float32(1))


class Recurrent(unittest.TestCase):
    def test_layers_are_their_cells(self):
        x = floats(2, 5, 3)
        for layer, cell in (
            (lp.nn.RNN(3, 4, nonlinearity="relu"), lp.nn.RNNCell(3, 4, nonlinearity="relu")),
            (lp.nn.GRU(3, 4), lp.nn.GRUCell(3, 4)),
            (lp.nn.LSTM(3, 4), lp.nn.LSTMCell(3, 4)),
        ):
            params = layer.init(seed=1)
            one = {name.replace("_l0", ""): value for name, value in params.items()}
            state, ys = None, []
            for t in range(5):
                state = cell(one, x[:, t], state)
                ys.append(np.asarray(state[0] if isinstance(state, tuple) else state))
            y, last = layer.run(params, x)
            self.assertEqual(np.asarray(y).tolist(), np.stack(ys, 1).tolist())
            self.assertEqual(layer(params, x).tolist(), y.tolist())
            lasts = last if isinstance(last, tuple) else (last,)
            states = state if isinstance(state, tuple) else (state,)
            self.assertEqual([np.asarray(a)[0].tolist() for a in lasts], [np.asarray(a).tolist() for a in states])

    def test_a_stream_block_by_block_is_the_whole(self):
        x = floats(7, 3)
        layer = lp.nn.LSTM(3, 4, num_layers=2)
        params = layer.init(seed=3)
        whole, last = layer.run(params, x)
        state, parts = None, []
        for block in (x[:2], x[2:3], x[3:]):
            y, state = layer.run(params, block, state)
            parts.append(np.asarray(y))
        self.assertEqual(np.concatenate(parts).tolist(), whole.tolist())
        self.assertEqual([s.tolist() for s in state], [s.tolist() for s in last])

    def test_lengths_directions_and_dropout(self):
        x = floats(2, 5, 3)
        layer = lp.nn.GRU(3, 4, num_layers=2, bidirectional=True, dropout=0.5)
        params = layer.init(seed=2)
        self.assertEqual(params["weight_ih_l1_reverse"].shape, (12, 8))
        y, h = layer.run(params, x, lengths=np.int32([5, 2]))
        self.assertEqual(y.shape, (2, 5, 8))
        self.assertEqual(h.shape, (4, 2, 4))
        self.assertTrue((np.asarray(y)[1, 2:] == 0).all())
        short, last = layer.run(params, x[1:, :2])
        self.assertEqual(np.asarray(y)[1:, :2].tolist(), short.tolist())
        self.assertEqual(np.asarray(h)[:, 1:].tolist(), last.tolist())
        self.assertNotEqual(layer(params, x, lp.Key(1)).tolist(), layer(params, x).tolist())


if __name__ == "__main__":
    unittest.main()
