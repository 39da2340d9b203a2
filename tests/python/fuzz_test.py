#!/usr/bin/env python3
"""Any arguments give a Python exception or a result: the interpreter never crashes.

Each round runs in its own process, with little memory; a seed that crashes one is printed.
"""

import importlib.util
import inspect
import os
import random
import resource
import subprocess
import sys
import unittest

ROUNDS, ARGUMENTS = 4, 2
OPTIONAL = [name for name in ("sklearn", "torch") if importlib.util.find_spec(name)]


def values(np, lp):
    """Things to pass."""
    class Odd:
        def __array__(self, *args, **kwargs):
            raise RuntimeError("no array")

    class Wrong:
        def __dlpack__(self, **kwargs):
            return "no capsule"

        def __dlpack_device__(self):
            return (1, 0)

    class Mutating(dict):
        def __iter__(self):
            self.clear()
            return iter(())

    class Shaped:
        __array_interface__ = {"shape": (1 << 40,), "typestr": "<f4", "data": (0, True), "version": 3}

    kept = []
    lp.compile(lambda x: kept.append(x) or x)(np.zeros(2, np.float32))
    cycle = {}
    cycle["self"] = cycle
    f = lp.trace(lambda x: lp.relu(x), "f32[3]")
    key = lp.Key(3)
    return [
        None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63, -(2**70), 0.0, 0.5, -1.5, 1e300, float("nan"), float("inf"),
        "", "f32[3]", "relu", "x", "mean", "none", "\0", "\ud800", b"bytes", (), (1,), (2, 3), (-1,), (2**62, 2), [1, 2], [[1.0], [2.0]],
        {}, {"w": 1.0}, {1: 2}, {"a": {"b": [np.ones(2, np.float32)]}}, cycle, Mutating(a=1.0), set(), object(), Odd(), Wrong(), Shaped(), len, int,
        lambda *a: a[0] if a else None, lambda x: x, lambda x: x.sum(), lambda p, x: lp.matmul(x, p), lambda *a, **k: 1 / 0,
        np.zeros(3, np.float32), np.ones((2, 3), np.float32), np.ones((3, 2), np.float32).T, np.arange(3), np.arange(3, dtype=np.int32),
        np.zeros((0, 3), np.float32), np.float64(2), np.float32(2), np.array("s"), np.array([None]), np.ones(3, bool), np.ones((1,) * 10),
        np.ones((2, 3, 4), np.float32), np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (4, 4), (0, 0)), np.ma.masked_array([1.0], [True]),
        lp.ones(3), lp.ones((2, 3)), lp.cast(lp.ones(3), "bf16"), lp.zeros(()), lp.iota(4), key, f, lp.Params({"w": lp.ones((2, 3))}), lp.Params(),
        kept[0], lp.nn.Linear(3, 2), lp.nn.mlp([3, 2]), lp.optim.Adam(), lp.nn.zeros(), lp.data.synthetic("xor", key), lp.scope("s"), lp.compile(lambda x: x),
        lp.nn.mlp([3, 2]).init(), lp.Model(lp.nn.mlp([3, 2]).function(), lp.nn.mlp([3, 2]).init()), lp,
    ]  # fmt: skip


# They change the whole process, wait, or write.
LEFT_OUT = {"set_params_type", "set_on_copy", "save", "_save", "save_npy", "save_npz", "save_safetensors", "train_perceptron", "train"}


def callables(lp):
    """What can be called: functions, classes and methods of the package and of its module in C++, each with its class, if any."""
    for optional in OPTIONAL:
        importlib.import_module(f"limpid.{optional}")
    found = {}
    modules = [m for name, m in sys.modules.items() if name.startswith("limpid")]
    for module in modules:
        for name, member in vars(module).items():
            of_limpid = (getattr(member, "__module__", None) or module.__name__).startswith("limpid")
            if name in LEFT_OUT or name.startswith("__") or not of_limpid or not callable(member):
                continue
            found[id(member)] = (member, None)
            if inspect.isclass(member):
                for n, m in vars(member).items():
                    if n not in LEFT_OUT and n != "__class__" and (callable(m) or isinstance(m, property)):
                        found[id(m)] = (m.fget if isinstance(m, property) else m, member)
    return list(found.values()), modules


def fuzz(seed):
    # A sanitizer takes all addresses for itself, and has a limit of its own.
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    import numpy as np

    import limpid as lp

    dice = random.Random(seed)
    things, (targets, _) = values(np, lp), callables(lp)
    names = ["axis", "shape", "dtype", "x", "key", "reduction", "threads", "size", "in_axes", "wrt", "nothing"]
    fine = 0
    for target, kind in dice.sample(targets, len(targets)) * ARGUMENTS:
        args = [dice.choice(things) for _ in range(dice.randrange(5))]
        # A method mostly gets an object of its class.
        owners = [t for t in things if kind and isinstance(t, kind)]
        if owners and dice.random() < 0.8:
            args.insert(0, dice.choice(owners))
        kwargs = {dice.choice(names): dice.choice(things) for _ in range(dice.choice((0, 0, 0, 1, 2)))}
        try:
            result = target(*args, **kwargs)
            fine += 1
            repr(result)
            if len(things) < 400 and dice.random() < 0.3:
                things.append(result)
        except Exception:  # noqa: S110  any of Python's is fine
            pass
    print(fine, len(targets))


class Fuzz(unittest.TestCase):
    def test_nothing_ends_the_interpreter(self):
        for seed in range(ROUNDS):
            # The operating system's noise is no part of a seed.
            done = subprocess.run([sys.executable, "-B", "-X", "faulthandler", __file__, str(seed)], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, f"fuzz_test.py {seed}: {done.stderr[-3000:]}")
            fine, targets = map(int, done.stdout.split())
            self.assertGreater(fine, targets // 50, f"fuzz_test.py {seed}: hardly any call was fine")

    def test_everything_public_is_called(self):
        import limpid

        targets, modules = callables(limpid)
        called = {id(target) for target, _ in targets}
        self.assertGreater(len(called), 900)
        self.assertLessEqual({f"limpid.{name}" for name in ("nn", "optim", "train", "_core", *OPTIONAL)}, {m.__name__ for m in modules})
        for module in modules:
            for name in getattr(module, "__all__", ()):
                member = getattr(module, name)
                self.assertTrue(id(member) in called or name in LEFT_OUT or not callable(member), f"{module.__name__}.{name}")


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].isdigit():
        fuzz(int(sys.argv[1]))
    else:
        unittest.main()
