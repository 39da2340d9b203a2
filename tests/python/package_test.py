#!/usr/bin/env python3
"""The package as a package: types in mypy's strict mode, docstrings whose examples hold, stubs, and the import."""

import ast
import doctest
import importlib
import inspect
import os
import pathlib
import pkgutil
import re
import shutil
import subprocess
import sys
import unittest

import limpid as lp

SOURCE = pathlib.Path(os.environ["LIMPID_SOURCE"])
BUILT = pathlib.Path(lp.__file__).parent


class Package(unittest.TestCase):
    def test_docstrings(self):
        for module in pkgutil.iter_modules(lp.__path__):
            if module.name in ("_core", "sklearn", "torch"):  # these two have tests of their own
                continue
            one = importlib.import_module(f"limpid.{module.name}")
            result = doctest.testmod(one)
            self.assertEqual(result.failed, 0, module.name)
        self.assertEqual(doctest.testmod(lp).failed, 0)

    def test_everything_public_says_what_it_is(self):
        for module in (lp, lp.nn, lp.optim, lp.data, lp.train, lp.inspect):
            for name in dir(module):
                member = getattr(module, name)
                if name.startswith("_") or not callable(member) or not str(getattr(member, "__module__", "")).startswith("limpid"):
                    continue
                self.assertTrue((member.__doc__ or "").strip(), f"{module.__name__}.{name}")
                if name in lp._core.op_names:
                    inspect.signature(member)

    def test_what_a_star_imports(self):
        for module in (lp._transforms, lp._params, lp._files, lp.data, lp.errors, lp.inspect, lp.language, lp.nn, lp.optim, lp.train):
            own = {name for name, x in vars(module).items() if name[0] != "_" and (inspect.isclass(x) or inspect.isfunction(x)) and x.__module__ == module.__name__}
            self.assertEqual(own - set(module.__all__), set(), module.__name__)
            self.assertEqual([name for name in module.__all__ if not hasattr(module, name)], [], module.__name__)

    def test_the_stub_of_the_core_names_what_there_is(self):
        text = (BUILT / "_core.pyi").read_text()
        for name in dir(lp._core):
            if not name.startswith("_") and name not in lp._core.op_names:
                self.assertRegex(text, rf"(?m)^(def|class) {name}\b|^{name}:", name)

    def test_the_stub_of_the_core_has_the_members_of_its_classes(self):
        classes = {c.name: c for c in ast.parse((BUILT / "_core.pyi").read_text()).body if isinstance(c, ast.ClassDef)}

        def members(c):
            own = {m.name for m in c.body if isinstance(m, ast.FunctionDef)} | {m.target.id for m in c.body if isinstance(m, ast.AnnAssign)}
            return own.union(*(members(classes[b.id]) for b in c.bases))

        # How objects are made, compared, kept and shown, and what only says that they are immutable.
        plumbing = "module doc new init eq hash copy deepcopy reduce repr str format getattr setitem buffer release_buffer".split()
        for name, c in classes.items():
            if not name.startswith("_"):
                real, told = getattr(lp._core, name), members(c)
                own = set(vars(real)) - {"_pybind11_conduit_v1_"}
                self.assertEqual(own - told - {f"__{word}__" for word in plumbing}, set(), name)
                self.assertEqual({member for member in told if not hasattr(real, member)}, set(), name)

    def test_the_stub_of_the_core_has_the_arguments_of_its_methods(self):
        """Their names and defaults, of what pybind11 says in the first line of a docstring, or in one of each overload."""
        classes = [c for c in ast.parse((BUILT / "_core.pyi").read_text()).body if isinstance(c, ast.ClassDef)]
        compared = 0
        for c in classes:
            for told in (m for m in c.body if isinstance(m, ast.FunctionDef)):
                real = vars(getattr(lp._core, c.name, object)).get(told.name)
                if told.name.startswith("_") and told.name not in ("__init__", "__call__", "__get__"):
                    continue
                names = [a.arg for a in told.args.args][1:]
                wanted = dict(zip(names, [None] * (len(names) - len(told.args.defaults)) + [ast.literal_eval(d) for d in told.args.defaults]))
                if inspect.isfunction(real):
                    given = [p for p in list(inspect.signature(real).parameters.values())[1:] if p.kind == p.POSITIONAL_OR_KEYWORD]
                    self.assertEqual({p.name: None if p.default is p.empty else p.default for p in given}, wanted, (c.name, told.name))
                    compared += 1
                    continue
                wanted = wanted | {a.arg: d and ast.literal_eval(d) for a, d in zip(told.args.kwonlyargs, told.args.kw_defaults)}
                for line in re.findall(rf"^(?:\d+\. )?{told.name}\(self: [\w.]+(?:, (.*))?\) -> ", getattr(real, "__doc__", None) or "", re.M):
                    given = {name: ast.literal_eval(default or "None") for name, default in re.findall(r"(\w+): [\w.\[\]]+(?: \| [\w.\[\]]+)*(?: = ([^,]+))?", line)}
                    if not any(name.startswith("arg") for name in given):
                        given = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
                        self.assertEqual(given, wanted, (c.name, told.name))
                        compared += 1
        self.assertGreater(compared, 40)

    def test_the_stub_of_the_core_has_the_types_of_its_properties(self):
        classes = {c.name: c for c in ast.parse((BUILT / "_core.pyi").read_text()).body if isinstance(c, ast.ClassDef)}
        net, gpt = lp.nn.mlp([2, 3]), lp.nn.Gpt(5, context=4, layers=1, width=4, heads=1)
        f, lm = net.function(), lp.LanguageModel(gpt, gpt.init())
        sequence = lm.join([1])
        lm.step()
        kinds = {"Tuple": tuple, "List": list, "Dict": dict, "Callable": object, "int": int, "str": str, "float": float, "bool": bool, "Array": lp.Array, "Function": lp.Function, "Params": lp.Params, "_Same": lp.Array, "At": object}
        compared = 0
        for x in (
            lp.ones(2), lp.Key(1), f, lp.compile(lambda x: x), lp.Predictor(f, net.init()), lp.Model(f, net.init()), lp.data.synthetic("xor", lp.Key(0), 8),
            lp.optim.Adam()._optimizer, lm._writer, sequence, lp._core.Composed(f, len, lp._core.flatten((0.0,) * 5)[1]),
        ):  # fmt: skip
            of = classes[type(x).__name__]
            for m in (m for c in (of, *(classes[b.id] for b in of.bases)) for m in c.body if isinstance(m, ast.FunctionDef) and m.decorator_list):
                told = ast.unparse(m.returns).split("[")[0]
                if told != "Any":
                    self.assertIsInstance(getattr(x, m.name), kinds[told], (of.name, m.name))
                    compared += 1
        self.assertGreater(compared, 40)

    def test_types(self):
        mypy = shutil.which("mypy", path="/usr/bin:" + os.environ.get("PATH", ""))
        if not mypy:
            self.skipTest("mypy is missing")
        program = SOURCE / "tests/python/typed_program.py"
        found = subprocess.run(
            [mypy, "--strict", "--config-file", str(SOURCE / "pyproject.toml"), "--cache-dir", str(BUILT.parent / "mypy"), str(BUILT), str(program)],
            env={**os.environ, "MYPYPATH": str(BUILT.parent), "PYTHONPATH": ""},
            capture_output=True,
            text=True,
        )
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)

    def test_errors_have_one_line(self):
        net = lp.nn.mlp([2, 2])
        data = lp.data.synthetic("moons", lp.Key(0), 8)
        for call, text in (
            (lambda: lp.Key("a"), r"^Key\(\): expected \(bits: int = 0\), got 'a'$"),
            (lambda: lp.Key(-1), "got -1"),
            (lambda: lp.Key(bits=None), "got bits=None"),
            (lambda: lp.Key(0).fold_in("x"), r"fold_in\(\): expected \(self: Key, data: int\), got Key, 'x'"),
            (lambda: lp.nn.Linear(2.5, 3).init(), "Linear: in_features: expected int, got 2.5"),
            (lambda: lp.nn.Linear("x" * 100, 3).init(), "Linear: in_features: expected int, got str"),
            (lambda: lp.compile(net, threads="two"), "'two'"),
            (lambda: lp.data.batches(data, "a"), "got Dataset, 'a'"),
            (lambda: setattr(lp.Model(net.function(), net.init()), "threads", "a"), "got Model, 'a'"),
            (lambda: lp.Key.bits.fget(3), "got 3"),
        ):
            with self.assertRaisesRegex(TypeError, text) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))

    def test_import_starts_no_thread_and_loads_little(self):
        program = (
            "import os, sys, numpy; before = set(sys.modules); n = len(os.listdir('/proc/self/task'))\n"
            "import limpid\n"
            "print(len(os.listdir('/proc/self/task')) - n, *sorted(m for m in set(sys.modules) - before if not m.startswith('limpid')))"
        )
        out = subprocess.run([sys.executable, "-B", "-c", program], check=True, capture_output=True, text=True).stdout.split()
        self.assertEqual(out[0], "0")
        for heavy in ("torch", "sklearn", "unittest", "multiprocessing", "asyncio"):
            self.assertNotIn(heavy, out[1:])

    def test_values_are_pickled(self):
        import pickle

        self.assertEqual(hash(lp.nn.Linear(2, 3)), hash(lp.nn.Linear(2, 3)))
        for value in (lp.Key(7), lp.nn.Linear(2, 3), lp.nn.mlp([2, 3]), lp.optim.Adam(), lp.trace(lambda x: x + 1.0, "f32[2]")):
            self.assertEqual(pickle.loads(pickle.dumps(value)), value)


if __name__ == "__main__":
    unittest.main()
