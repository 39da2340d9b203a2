#!/usr/bin/env python3
"""Data, files, runs, inspection and language models from Python: the numbers of the tool and of the library."""

import errno
import json
import os
import pathlib
import pickle
import signal
import subprocess
import tempfile
import threading
import unittest

import numpy as np

import limpid as lp

TOOL = os.environ["LIMPID_TOOL"]


def tool(*arguments):
    return subprocess.run([TOOL, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


class Temporary(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)


class Runs(Temporary):
    CONFIG = {"data": "moons", "epochs": 3}

    def test_the_model_of_the_tool(self):
        events, steps = [], []
        run = lp.train.Run(self.CONFIG, folder=self.folder / "a", on_event=events.append, on_step=steps.append)
        end = run.train()
        self.assertEqual(end["reason"], "finished")
        self.assertEqual((events[0]["event"], events[0]["command"]), ("run", ["limpid.train"]))
        self.assertEqual(events[-1], end)
        self.assertEqual(len(run.epochs), 3)
        self.assertEqual(steps[-1]["step"], len(steps))
        tool("train", "--data", "moons", "--epochs", 3, "--out", self.folder / "b")
        model = self.folder / "a" / "model.safetensors"
        self.assertEqual(model.read_bytes(), (self.folder / "b" / "model.safetensors").read_bytes())
        self.assertEqual(run.model().hash, lp.load(self.folder / "a").hash)
        self.assertIn(run.model().hash, tool("hash", self.folder / "a", "--data", "moons"))
        self.assertEqual(lp.train.diagnose(self.folder / "a"), lp.train.diagnose(self.folder / "b"))
        self.assertIn("rule", (run.diagnose() or [{"rule": ""}])[0])
        self.assertIn("<table", run._repr_html_())

    def test_stop_and_go_on(self):
        whole = lp.train.Run(self.CONFIG)
        whole.train()
        steps = []
        run = lp.train.Run(self.CONFIG, folder=self.folder / "a", on_step=steps.append)
        end = run.train(stop=lambda: len(steps) >= 10)
        self.assertEqual((end["reason"], len(steps)), ("interrupted", 10))
        del run
        heard, further = [], []
        again = lp.train.resume(self.folder / "a", threads=2, on_event=heard.append, on_step=further.append)
        last = again.train()
        self.assertEqual((last["reason"], heard[-1]), ("finished", last))
        self.assertEqual([event["step"] for event in further], list(range(11, last["step"] + 1)))
        self.assertEqual(again.model().hash, whole.model().hash)

    def test_control_c_writes_a_checkpoint(self):
        # A shell ignores SIGINT for what it starts in the background.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        for where in ("on_step", "timer"):
            folder = self.folder / where
            seen = []

            def listener(event, where=where):
                seen.append(event)
                if where == "on_step" and len(seen) == 7:
                    signal.raise_signal(signal.SIGINT)
                if where == "timer" and len(seen) == 1:  # before, there would be nothing to write
                    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

            run = lp.train.Run({"data": "digits,count=2000", "epochs": 1000}, folder=folder, on_step=listener)
            with self.assertRaises(KeyboardInterrupt):
                run.train()
            self.assertTrue((folder / "checkpoint.safetensors").exists())
            last = json.loads((folder / "log.jsonl").read_text().splitlines()[-1])
            self.assertEqual(last["reason"], "interrupted")
            del run
            again = lp.train.resume(folder)
            again.step()
            self.assertFalse(again.done)

    def test_an_exception_of_a_listener_waits_for_the_end_of_the_step(self):
        steps = []
        whole = lp.train.Run(self.CONFIG, on_step=steps.append)
        whole.train()
        an_epoch = len(steps) // 3
        for error in (KeyboardInterrupt, ZeroDivisionError):
            def listener(event, error=error):
                if event["step"] == an_epoch:
                    raise error("here")

            folder = self.folder / error.__name__
            run = lp.train.Run(self.CONFIG, folder=folder, on_step=listener)
            with self.assertRaisesRegex(error, "here"):
                run.train()
            log = lambda: [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
            self.assertEqual((log()[-1]["reason"], log()[-1]["step"]), ("interrupted", an_epoch))
            again = lp.train.resume(folder)
            again.train()
            self.assertEqual([e["epoch"] for e in again.epochs], [1, 2, 3])
            self.assertEqual([e["epoch"] for e in log() if e["event"] == "epoch"], [1, 2, 3])
            self.assertEqual(again.model().hash, whole.model().hash)
            # The run that was interrupted goes on, too.
            run = lp.train.Run(self.CONFIG, on_step=listener)
            with self.assertRaisesRegex(error, "here"):
                run.train()
            self.assertEqual((run.train()["reason"], run.model().hash), ("finished", whole.model().hash))

    def test_an_exception_at_the_first_or_the_last_event(self):
        for first, reason in ((True, "interrupted"), (False, "finished")):
            def listener(event, first=first):
                if event["event"] == ("run" if first else "end"):
                    raise KeyboardInterrupt

            folder = self.folder / reason
            run = lp.train.Run(self.CONFIG, folder=folder, on_event=listener)
            with self.assertRaises(KeyboardInterrupt):
                run.train()
            self.assertEqual(json.loads((folder / "log.jsonl").read_text().splitlines()[-1])["reason"], reason)
            # The folder is free, though the run is still here.
            self.assertEqual(lp.train.resume(folder).train()["reason"], "finished")
        # One call of a run raises it, once.
        run = lp.train.Run(self.CONFIG, on_event=lambda event: 1 // (event["event"] != "run"))
        with self.assertRaises(ZeroDivisionError):
            run.start()
        self.assertEqual(run.train()["reason"], "finished")
        # It came before the error that ends the run.
        def listener(event):
            if event["event"] == "end":
                raise KeyboardInterrupt

        for fails, error in ((None, ValueError), (listener, KeyboardInterrupt)):
            run = lp.train.Run({"data": "moons", "optimizer": {"lr": 1e38}}, on_event=fails)
            with self.assertRaises(error):
                run.train()

    def test_errors(self):
        class Mine(Exception):
            pass

        def fails(event):
            raise Mine("here")

        with self.assertRaisesRegex(Mine, "here"):
            lp.train.Run(self.CONFIG, on_step=fails).train()
        # Of two the first is raised: the second one hears how the run ends.
        with self.assertRaisesRegex(Mine, "here"):
            lp.train.Run(self.CONFIG, on_step=fails, on_event=lambda event: 1 // (event["event"] != "end")).train()
        with self.assertRaisesRegex(ValueError, "config.optimizer.lr"):
            lp.train.Run({"optimizer": {"lr": "fast"}})
        with self.assertRaises(ValueError):
            lp.train.Run({"data": "no such"})
        with self.assertRaisesRegex(TypeError, "expected a mapping such as {'data': 'moons'}, not str"):
            lp.train.Run("moons")
        with self.assertRaisesRegex(ValueError, "config.hidden: unknown key; .*; there is config.model.hidden"):
            lp.train.Run({"data": "moons", "hidden": [4]})
        with self.assertRaisesRegex(TypeError, "lp.data.from_arrays.* got 2"):
            lp.train.Run({"epochs": 1}, data=(np.zeros((2, 2)), np.zeros(2)))
        for data, got in ((np.zeros((3, 2)), "numpy.ndarray among them"), (lp.data.load("moons")[:2] + (None,), "NoneType among them"), (3, "int")):
            with self.assertRaisesRegex(TypeError, f"expected three Datasets .* got {got}$"):
                lp.train.Run({"epochs": 1}, data=data)
        self.assertEqual(lp.train.Run({"data": "moons", "epochs": np.int64(2)}).config["epochs"], 2)
        run = lp.train.Run(self.CONFIG)
        caught = []
        def again(event):
            try:
                run.step()
            except ValueError as error:
                caught.append(str(error))
        run = lp.train.Run(self.CONFIG, on_step=again)
        run.train()
        self.assertIn("one thread at a time", caught[0])

    def test_data_in_memory(self):
        rng = np.random.default_rng(0)
        x = rng.standard_normal((200, 3)).astype(np.float32)
        y = (x[:, 0] > 0).astype(np.int32)
        split = lp.data.from_arrays({"x_train": x[:150], "y_train": y[:150], "x_test": x[150:], "y_test": y[150:]})
        self.assertEqual((len(split.train), len(split.validation), len(split.test)), (150, 0, 50))
        for parts in (split[:2], [*split, split.test], [split.train]):
            with self.assertRaisesRegex(TypeError, f"expected three Datasets .* got {len(parts)}"):
                lp.train.Run({"epochs": 20}, data=parts)
        run = lp.train.Run({"epochs": 20}, data=split)
        self.assertGreater(run.train()["test"]["accuracy"], 0.85)


class Data(unittest.TestCase):
    def test_rows_of_a_file_are_converted_once(self):
        with tempfile.TemporaryDirectory() as folder:
            x = np.arange(60, dtype=np.uint8).reshape(20, 3)
            y = np.arange(20, dtype=np.int32) % 2
            np.savez(f"{folder}/a.npz", x_train=x, y_train=y, x_test=x, y_test=y)
            data = lp.data.load(f"npz:{folder}/a.npz").train
        first, second = np.asarray(data.inputs), np.asarray(data.inputs)
        np.testing.assert_array_equal(first, x.astype(np.float32))
        self.assertTrue(np.shares_memory(first, second))

    def test_sets_and_batches(self):
        data = lp.data.digits(lp.Key(1), 100)
        self.assertEqual((data.inputs.type, data.targets.type, data.classes), ("f32[100, 784]", "i32[100]", 10))
        order = np.asarray(lp.data.permutation(lp.Key(5).fold_in(2), 100))
        batches = lp.data.batches(data, 32, key=lp.Key(5), epoch=2)
        self.assertEqual(len(batches), 4)
        rows = np.concatenate([np.asarray(y) for _, y in batches])
        np.testing.assert_array_equal(rows, np.asarray(data.targets)[order])
        with self.assertRaises(IndexError):
            batches[4]
        with self.assertRaises(KeyError):
            lp.data.synthetic("none", lp.Key(0))
        with self.assertRaises(ValueError):
            lp.data.load("nothing:here")
        self.assertEqual(len(lp.data.synthetic("spiral", lp.Key(0), count=7)), 7)

    def test_metrics(self):
        r = lp.data.metrics("classification", np.float32([[1, 0], [0, 1], [1, 0]]), np.int32([0, 1, 1]))
        self.assertAlmostEqual(r["metrics"]["accuracy"], 2 / 3)
        self.assertEqual(r["confusion"], [[1, 0], [1, 1]])
        for dtype in (np.int64, np.uint8):
            self.assertEqual(lp.data.metrics("classification", np.float32([[1, 0], [0, 1], [1, 0]]), np.array([0, 1, 1], dtype)), r)
        with self.assertRaisesRegex(ValueError, "expected targets that i32 has"):
            lp.data.metrics("classification", np.float32([[1, 0]]), np.array([2**32]))


class Files(Temporary):
    def test_models(self):
        net = lp.nn.mlp([4, 8, 3], lp.gelu)
        params = net.init(seed=3)
        model = lp.Model(net.function(), params, net.config())
        x = np.random.default_rng(0).standard_normal((300, 4)).astype(np.float32)
        want = net(params, x)
        self.assertTrue(model(x).same_bits(want))
        self.assertTrue(model(x[7]).same_bits(want[7]))
        self.assertTrue(model(x[:0]).shape == (0, 3))
        self.assertTrue(model(x=x).same_bits(want))
        two = lp.Model(lp.trace(lambda p, x: (net(p, x), x.sum()), params, "f32[4]", names=["p", "x"]), params)
        for given in (x, x[7]):
            logits, total = two(given)
            self.assertTrue(logits.same_bits(model(given)) and total.same_bits(lp.sum(given, -1)))
        path = self.folder / "m.safetensors"
        model.save(path)
        again = lp.load(path)
        self.assertEqual(again.hash, model.hash)
        self.assertTrue(again(x).same_bits(want))
        lp.save(self.folder / "m.onnx", model)
        onnx = lp.load(self.folder / "m.onnx")
        np.testing.assert_allclose(np.asarray(onnx(x)), np.asarray(want), rtol=1e-5, atol=1e-6)
        for bad, text in (
            ({"layers.0.weight": x}, r"tensor 'layers.0.weight' is f32\[300, 4\], the function expects f32\[8, 4\]"), ({"w": x}, "tensor 'w' is not an input of the function"),
            ({"layers.0.bias": np.zeros(8)}, "tensor 'layers.0.bias' is f64.*"),
        ):
            with self.assertRaisesRegex(lp.InvalidArgumentError, f"^Model: {text}$"):
                lp.Model(net.function(), bad)
        (self.folder / "folder.npz").mkdir()
        missing = (
            lambda: lp.load(self.folder / "none.safetensors"),
            lambda: lp.load(self.folder / "none.npz"),
            lambda: lp.load(self.folder / "none.onnx"),
            lambda: lp.load(self.folder / "none"),
            lambda: lp.load(self.folder),
            lambda: lp.save(self.folder / "none" / "a.npy", x),
            lambda: lp.data.load(f"csv:{self.folder}/none.csv,target=y"),
            lambda: lp.data.load(f"text:{self.folder}/none.txt"),
            lambda: lp.data.load(f"npz:{self.folder}/none.npz"),
            lambda: lp.train.diagnose(self.folder / "none"),
            lambda: lp.train.resume(self.folder / "none"),
        )
        for call in missing:
            with self.assertRaisesRegex(FileNotFoundError, "No such file or directory") as caught:
                call()
            self.assertIsInstance(caught.exception, lp.FileError)
            self.assertEqual(caught.exception.errno, errno.ENOENT)
            again = pickle.loads(pickle.dumps(caught.exception))
            self.assertEqual((type(again), str(again), again.errno), (type(caught.exception), str(caught.exception), errno.ENOENT))
        with self.assertRaisesRegex(FileNotFoundError, "no file train-images-idx3-ubyte"):
            lp.data.load(f"idx:{self.folder}")
        with self.assertRaisesRegex(IsADirectoryError, "is a directory"):
            lp.load(self.folder / "folder.npz")
        if os.geteuid():
            (self.folder / "closed.npz").touch(0)
            with self.assertRaises(PermissionError):
                lp.load(self.folder / "closed.npz")
        (self.folder / "bad.onnx").write_bytes(b"not a model")
        with self.assertRaises(ValueError):
            lp.load(self.folder / "bad.onnx")
        predict = lp.Predictor(net.function(), params, threads=2)
        self.assertTrue(predict(x).same_bits(want))
        with self.assertRaises(KeyError):
            lp.Predictor(net.function(), params, shared=["none"])

    def test_lists_of_numbers(self):
        net = lp.nn.mlp([4, 2])
        model = lp.Model(net.function(), net.init())
        want = model(np.float32([1, 2, 3, 4]))
        for got in (model([1, 2, 3, 4]), model((1.0, 2, 3, 4)), model([[1, 2, 3, 4]])[0], model(x=[1, 2, 3, 4])):
            self.assertTrue(got.same_bits(want))
        with self.assertRaisesRegex(TypeError, "i32"):
            model(np.int32([1, 2, 3, 4]))
        whole = lp.Model(lp.trace(lambda n, x: n.astype("f32") * x, "i32", "f32"), {})
        for got in (whole([2, 3], [0.5, 1]), whole((2, 3), x=[0.5, 1]), whole(n=[2, 3], x=(0.5, 1))):
            self.assertEqual(got.tolist(), [1, 3])
        for bad, text in (
            (lambda: model([1, 2, 3, 4], x=[1, 2, 3, 4]), r"expected at most|comes twice"), (lambda: whole([2], n=[2]), "the input 'n' comes twice"),
            (lambda: whole(1, 2, 3), r"expected at most 2 inputs \(n, x\), got 3"),
        ):
            with self.assertRaisesRegex(TypeError, text):
                bad()
        with self.assertRaisesRegex(lp.Error, "'y'"):
            whole(n=[2], y=[1.0])
        self.assertEqual(repr(model), "limpid.Model(x: f32[4] -> f32[2], 2 parameters)")

    def test_inputs_by_name_are_compiled_once(self):
        def f(p, x, z):
            return lp.linear(lp.relu(lp.linear(x, p["v"])), p["w"]) + z, z * 2.0

        rng = np.random.default_rng(0)
        v, w, x, z = (rng.standard_normal(s).astype(np.float32) for s in ((64, 2), (3, 64), (40, 2), (40, 3)))
        params = {"v": v, "w": w}
        model = lp.Model(lp.trace(f, params, "f32[2]", "f32[3]"), params)
        for given in ((x, z), (x, z[0]), (x[0], z[0])):
            known = model.bytes
            first = model(*given)
            made = model.bytes
            self.assertGreater(made, known)
            for again in (model(*given), model(x=given[0], z=given[1])):
                self.assertTrue(all(a.same_bits(b) for a, b in zip(again, first)))
            self.assertEqual(model.bytes, made)
        self.assertTrue(model(x, z)[0][7].same_bits(model(x[7], z[7])[0]))
        model.threads = 2
        self.assertEqual(model.bytes, 0)
        self.assertTrue(model(x, z)[0][7].same_bits(model(x[7], z[7])[0]))
        with self.assertRaisesRegex(ValueError, "missing: 'z'"):
            model(x=x)
        with self.assertRaisesRegex(ValueError, "unknown: 'y'"):
            model(x=x, z=z, y=z)

    def test_plans_of_a_predictor(self):
        net = lp.nn.mlp([4, 8, 3])
        params, x = net.init(), np.random.default_rng(0).standard_normal((7, 4)).astype(np.float32)
        predict = lp.Predictor(net.function(), params, most_rows=8)
        before = predict.bytes
        predict.prepare([3, 7])
        prepared = predict.bytes
        self.assertGreater(prepared, before)
        self.assertTrue(predict(x).same_bits(net(params, x)))
        self.assertEqual(predict.bytes, prepared)
        for rows in ([0], [9], [-1]):
            with self.assertRaisesRegex(ValueError, "a plan of 1 to 8 rows"):
                predict.prepare(rows)
        f = lp.trace(lambda x, z: (x + z, x * z), "f32[2]", "f32[2]")
        both = lp.Predictor(f, {}, shared=["z"])(x[:, :2], x[0, 2:])
        self.assertEqual([part.tolist() for part in both], [(x[:, :2] + x[0, 2:]).tolist(), (x[:, :2] * x[0, 2:]).tolist()])
        with self.assertRaisesRegex(TypeError, "Predictor: expected a Function, not int"):
            lp.Predictor(3, {})

    def test_many_combinations_of_inputs_that_are_shared(self):
        model = lp.Model(lp.trace(lambda a, b, c, d: a + 10.0 * b + 100.0 * c + 1000.0 * d, *["f32[]"] * 4), {})
        for which in range(16):  # more than are kept
            given = [np.float32(i + 1) if which >> i & 1 else np.float32([i + 1, i + 2]) for i in range(4)]
            want = 4321 if which == 15 else [sum(10**i * (i + 1 + (0 if which >> i & 1 else row)) for i in range(4)) for row in range(2)]
            self.assertEqual(model(*given).tolist(), want)

    def test_threads_of_a_model(self):
        net = lp.nn.mlp([64, 512, 512, 10], lp.relu)
        model, x = lp.Model(net.function(), net.init()), np.ones((256, 64), np.float32)
        want, started = model(x), lambda: len(os.listdir("/proc/self/task"))
        before = started()
        model.threads = 7  # no other test has a pool of so many
        self.assertTrue(model(x).same_bits(want))
        self.assertEqual(started(), before + 6)
        for bad in (0, -1, 1 << 20):
            with self.assertRaises(ValueError):
                model.threads = bad

    def test_names_of_files(self):
        a = np.float32([1, 2])
        for name in ("grün.npy", b"gr\xfcn.npy", self.folder / "x.npy"):
            path = os.path.join(os.fsencode(self.folder), os.fsencode(name))
            lp.save(path, a)
            self.assertTrue(os.path.exists(path))
            self.assertTrue(lp.load(path).same_bits(a))
            self.assertTrue(lp.load(os.fsdecode(path)).same_bits(a))
        (self.folder / "net.pt").write_bytes(b"PK\3\4 a file of PyTorch's")
        for use, text in (
            (lambda: lp.load(self.folder / "net.pt"), "load reads NAME.safetensors, .*limpid.torch.params_of"),
            (lambda: lp.save(self.folder / "net.pt", {"a": a}), "Params into NAME.safetensors or NAME.npz"),
        ):
            with self.assertRaisesRegex(lp.FormatError, text):
                use()
        # The error for a broken file of a known kind does not list the kinds.
        (self.folder / "net.onnx").write_bytes(b"\xff" * 64)
        with self.assertRaises(lp.FormatError) as caught:
            lp.load(self.folder / "net.onnx")
        self.assertNotIn("load reads", str(caught.exception))
        for content in (lp.Params({"a": a}), {"a": a}, a):
            with self.assertRaises(lp.FormatError):
                lp.save(self.folder / "a.npy.gz", content)
        for name in ("b.npz", "b.safetensors", "b"):
            with self.assertRaisesRegex(lp.FormatError, "does not go into .*; a Model goes into"):
                lp.save(self.folder / name, a)
            self.assertFalse((self.folder / name).exists())
        with self.assertRaisesRegex(TypeError, "expected an array, a number"):
            lp.save(self.folder / "c.npy", {"a": a})
        for use in (lambda: lp.load("a\0.npy"), lambda: lp.save("a\0.npy", a)):
            with self.assertRaisesRegex(ValueError, "null"):
                use()

    def test_arrays(self):
        a = {"x": np.arange(6, dtype=np.int64).reshape(2, 3), "y": np.float16([1, 2])}
        for name in ("a.npz", "a.safetensors"):
            lp.save(self.folder / name, a)
            back = lp.load(self.folder / name)
            self.assertTrue(back.same_bits(a))
        with np.load(self.folder / "a.npz") as numpys:
            np.testing.assert_array_equal(numpys["x"], a["x"])
        lp.save(self.folder / "x.npy", a["x"])
        np.testing.assert_array_equal(np.load(self.folder / "x.npy"), a["x"])
        self.assertTrue(lp.load(self.folder / "x.npy").same_bits(a["x"]))
        with self.assertRaises(ValueError):
            lp.save(self.folder / "x.txt", a)

    def test_inspection_says_what_the_tool_says(self):
        tool("train", "--data", "moons", "--epochs", 1, "--out", self.folder / "r")
        model = lp.load(self.folder / "r")
        self.assertEqual(model.summary(batch=32).text.split(), tool("summary", self.folder / "r", "--batch", 32).split())
        x = np.float32([0.5, 0.25])
        t = model.trace(x)
        self.assertTrue(t.rows[-1]["array"].same_bits(model(x)))
        n = model.neuron("layers.0", 1, x)
        self.assertAlmostEqual(sum(w * v for _, w, v in n.terms) + n.bias, n.z, places=5)
        self.assertEqual(lp.inspect.summary(lp.nn.mlp([2, 3]), lp.nn.mlp([2, 3]).init()).parameters, 9)
        for shown in (model, model.summary(), t, model.params):
            page = shown._repr_html_()
            self.assertIn("<table", page)
            self.assertNotIn("<script", page)
        with self.assertRaises(KeyError):
            model.neuron("layers.9", 0, x)
        self.assertTrue(lp.inspect.gradcheck(lp.trace(lambda x: lp.sin(x), "f32[3]"), {"x": np.float32([1, 2, 3])}))
        for factor, right in ((2.0, True), (3.0, False)):
            square = lp.with_gradient(lambda x, w: w * x * x, lambda x, w, y, c: (factor * w * x * c, x * x * c))
            for f in (lambda x, w: square(x, w), lambda x, w: lp.vmap(square)(x, w)):
                checked = lp.trace(f, "f32[3]", "f32[3]", names=["x", "w"])
                given = {"x": np.float32([1, 2, 3]), "w": np.float32([1, 1, 2])}
                if right:
                    self.assertTrue(lp.inspect.gradcheck(checked, given))
                else:
                    with self.assertRaisesRegex(ValueError, "disagrees"):
                        lp.inspect.gradcheck(checked, given)
        # Whichever argument is f32, all that are become f64.
        times = lp.with_gradient(lambda n, x: lp.cast(n, x.dtype) * x, lambda n, x, y, c: (lp.zeros(n.shape, n.dtype), lp.cast(n, x.dtype) * c))
        self.assertTrue(lp.inspect.gradcheck(lp.trace(times, "i32[3]", "f32[3]"), {"n": np.int32([1, 2, 3]), "x": np.float32([1, 2, 3])}))
        wrong = lp.with_gradient(lp.sin, lambda x, y, c: c * y)
        x = {"x": np.float64([1, 2, 3]), "y": np.float64([1, 2, 3])}
        for f in (lambda x, y: lp.sin(x) + wrong(y), lambda x, y: wrong(x) + lp.sin(y)):
            with self.assertRaisesRegex(ValueError, "the gradient disagrees"):
                lp.inspect.gradcheck(lp.trace(f, "f64[3]", "f64[3]"), x)


class Language(Temporary):
    def test_tokens(self):
        net = lp.nn.Gpt(40, context=16, layers=2, width=16, heads=2)
        params = net.init(seed=1)
        lm = lp.LanguageModel(net, params, sequences=2)
        first = lm.generate([1, 2, 3], 20, key=4)
        second = lm.generate([5], 20, key=4)
        both = [t for pair in zip(first, second) for t in pair][::2]
        alone = list(lp.LanguageModel(net, params).generate([1, 2, 3], 20, key=lp.Key(4)))
        self.assertEqual(both, alone)
        greedy = next(iter(lp.LanguageModel(net, params).generate([1, 2, 3], temperature=0.0)))
        logits = np.asarray(net(params, np.int32([1, 2, 3])))[-1]
        self.assertEqual(greedy, int(logits.argmax()))
        with self.assertRaises(ValueError):
            lm.generate([41])
        with self.assertRaises(ValueError):
            lm.generate([])

    def test_sequences_of_ones_own(self):
        net = lp.nn.llama_shaped(41, context=24, layers=2, width=16, heads=2)
        params = net.init(seed=1)
        lm = lp.LanguageModel(net, params, sequences=2)
        first, second = lm.join([1, 2, 3]), lm.join()
        self.assertEqual((lm.places, first.ready, second.tokens), (0, False, []))
        with self.assertRaisesRegex(ValueError, "a free sequence slot"):
            lm.join([1])
        with self.assertRaises(ValueError):
            first.logits
        second.append([7, 8])
        for _ in range(5):
            lm.step()
            for sequence in (first, second):
                alone = net(params, np.int32(sequence.tokens))[-1]
                self.assertTrue(sequence.logits.same_bits(alone))
                sequence.append(int(sequence.logits.argmax()))
        self.assertEqual(first.tokens[3:], list(lp.LanguageModel(net, params).generate([1, 2, 3], 5, temperature=0.0)))
        first.truncate(2)
        self.assertEqual(first.tokens, [1, 2])
        for bad, error in ((41, ValueError), (-1, ValueError), ([1] * 23, ValueError), ("a", TypeError), (1 << 40, TypeError)):
            with self.assertRaises(error):
                first.append(bad)
        with self.assertRaises(ValueError):
            first.truncate(3)
        del second, sequence
        self.assertEqual(lm.places, 1)

    def test_sequences_end_in_any_thread(self):
        net = lp.nn.Gpt(41, context=24, layers=1, width=16, heads=2)
        params = net.init(seed=1)
        lm = lp.LanguageModel(net, params, sequences=8)
        want = list(lp.LanguageModel(net, params).generate([3], 60))
        kept = [lm.join([1, 2]) for _ in range(7)]

        def end():
            while kept:
                kept.pop()

        worker = threading.Thread(target=end)
        drawn = lm.generate([3], 60)
        got = [next(drawn)]
        worker.start()
        got += list(drawn)
        worker.join()
        self.assertEqual((got, lm.places), (want, 8))

    def test_the_text_of_the_tool(self):
        text = self.folder / "t.txt"
        text.write_text("to be or not to be, that is the question.\n" * 60)
        tool("train", "--data", f"text:{text}", "--model", "gpt", "--layers", 1, "--width", 16, "--context", 16, "--steps", 20, "--out", self.folder / "r")
        model = lp.load(self.folder / "r")
        written = "to be" + "".join(model.generate("to be", tokens=40, seed=3)) + "\n"
        self.assertEqual(written, tool("generate", self.folder / "r", "--prompt", "to be", "--tokens", 40, "--seed", 3))
        for options, chosen in ((("--top-k", 3), {"top_k": 3}), (("--top-p", 0.5), {"top_p": 0.5}), (("--temperature", 0.3), {"temperature": 0.3})):
            told = tool("generate", self.folder / "r", "--prompt", "to be", "--tokens", 40, *options)
            self.assertEqual("to be" + "".join(model.generate("to be", tokens=40, **chosen)) + "\n", told)
            self.assertNotEqual("to be" + "".join(model.generate("to be", tokens=40)) + "\n", told)


if __name__ == "__main__":
    unittest.main()
