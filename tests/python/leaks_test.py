#!/usr/bin/env python3
"""No memory leaks: ten thousand calls of each kind leave memory and reference counts unchanged."""

import gc
import os
import sys
import unittest
import weakref

import numpy as np

import limpid as lp

CALLS = 10_000
# The allocators' reserves; a leak of 100 bytes a call exceeds them.
SLACK = 1 << 20


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Leaks(unittest.TestCase):
    def flat(self, name, code, calls=CALLS):
        for _ in range(calls // 5):
            code()
        gc.collect()
        before = resident()
        for _ in range(calls):
            code()
        gc.collect()
        self.assertLess(resident() - before, SLACK, name)

    def test_calls(self):
        net = lp.nn.mlp([8, 8, 3], lp.relu)
        params, x = net.init(seed=0), np.ones((5, 8), np.float32)
        compiled, f = lp.compile(net), lp.bind(net.function(), params)
        as_dict = {name: np.array(value) for name, value in params.items()}
        self.flat("compiled", lambda: compiled(params, x))
        self.flat("compiled, a dict of NumPy's", lambda: compiled(as_dict, x))
        self.flat("Function", lambda: f(x[0]))
        self.flat("op", lambda: lp.relu(x) + 1.0)
        self.flat("index", lambda: lp.asarray(x)[1:3])
        self.flat("an error", lambda: self.assertRaises(ValueError, compiled, params, x[:, 1:]))
        step = lp.compile(lp.value_and_grad(lambda p, x: (net(p, x) ** 2.0).sum()))
        self.flat("gradient", lambda: step(params, x))

    def test_exchange(self):
        a, x = lp.ones((64,)), np.ones(64, np.float32)

        class Holder:
            def __dlpack__(self, **kwargs):
                return a.__dlpack__(max_version=(1, 0))

            def __dlpack_device__(self):
                return (1, 0)

        self.flat("asarray", lambda: lp.asarray(x))
        self.flat("numpy", lambda: np.asarray(a))
        self.flat("capsules that nobody uses", lambda: (a.__dlpack__(), a.__dlpack__(max_version=(1, 0))))
        self.flat("dlpack", lambda: (lp.asarray(Holder()), np.from_dlpack(a)))
        self.flat("memoryview", lambda: memoryview(a))
        count = sys.getrefcount(x)
        lp.asarray(x), lp.relu(x), lp.compile(lambda v: v)(x)
        self.assertEqual(sys.getrefcount(x), count)

    def test_tracing(self):
        x = np.ones(4, np.float32)
        self.flat("trace", lambda: lp.trace(lambda v: lp.tanh(v) * 2.0, x), 3000)
        self.flat("transformations", lambda: lp.vmap(lp.grad(lambda v: lp.sin(v) * v))(x), 1000)
        kept = lp.with_gradient(lp.round, lambda v, y, c: c)
        self.flat("with_gradient", lambda: lp.grad(lambda v: kept(v).sum())(x), 1000)
        made = lambda: lp.with_gradient(lambda v: v * 2.0, lambda v, y, c: c)
        self.flat("a new with_gradient", lambda: lp.trace(lp.grad(lambda v: made()(v).sum()), x), 1000)

        def of_itself():
            f = lp.with_gradient(lp.exp, lambda v, y, c: c * f(v))
            lp.trace(lp.grad(lambda v: f(v).sum()), x)

        self.flat("a with_gradient whose gradient calls it", of_itself, 1000)
        self.flat("compile", lambda: lp.compile(lambda v: v + 1.0)(x), 2000)
        self.flat("scopes", lambda: lp.trace(lambda v: lp.nn.named("a", lp.relu)({}, v), x), 2000)

        def fails(v):
            raise RuntimeError

        self.flat("a trace that fails", lambda: self.assertRaises(RuntimeError, lp.trace, fails, x), 3000)
        count = len(gc.get_objects())
        for _ in range(200):
            lp.compile(lambda v: v + 1.0)(x)
        gc.collect()
        self.assertLess(len(gc.get_objects()) - count, 100)

    def test_plans_of_other_weights(self):
        """What code captures is a constant of its plan; plans of many models do not stay."""
        net, x = lp.nn.Linear(2048, 2048), np.ones((2, 2048), np.float32)
        before = resident()
        for seed in range(24):  # of 16 MiB each, and as much packed
            params = net.init(seed=seed)
            lp.vmap(lambda v: net(params, v))(x)
        self.assertLess(resident() - before, 450 << 20)

    def test_what_holds_itself_ends(self):
        """Objects with a method that is compiled, or listens, as programs are written."""

        class Compiled:
            def __init__(self):
                self.step = lp.compile(self.work)
                self.step(np.ones(4, np.float32))

            def work(self, v):
                return v + 1.0

        class Listening:
            def __init__(self):
                self.run = lp.train.Run({"data": "moons", "epochs": 1}, on_event=self.hear, on_step=self.hear)

            def hear(self, event):
                pass

        class Keyed:
            def __init__(self):
                self.kept = lp.compile(lambda tree: tree)
                self.kept({self: 1.0})

        for kind in (Compiled, Listening, Keyed):
            ended = weakref.ref(kind())
            gc.collect()
            self.assertIsNone(ended(), kind.__name__)


if __name__ == "__main__":
    unittest.main()
