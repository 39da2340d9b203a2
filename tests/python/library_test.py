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
from refusals import Refusals

TOOL = os.environ["LIMPID_TOOL"]


def tool(*arguments):
    return subprocess.run([TOOL, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


class Temporary(Refusals):
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

    def test_nan_is_never_the_best(self):
        part = lambda x, y: lp.data.from_arrays({"x": np.float32(x), "y": y}).train
        data = lp.data.load("moons").train
        x, y = np.asarray(data.inputs), np.asarray(data.targets)
        run = lp.train.Run({"epochs": 6, "early_stopping": {"patience": 2}}, data=(part(x, y), part(np.full((20, 2), 3e38), y[:20]), part(x[:9], y[:9])))
        end = run.train()
        self.assertEqual((end["reason"], end["best_epoch"]), ("early stopping", 0))
        self.assertEqual([(epoch["validation"]["loss"], epoch.get("best", False)) for epoch in run.epochs], [("nan", False)] * 2)

    def test_nan_is_no_class(self):
        run = lp.train.Run({"data": "moons", "epochs": 1})
        run.train()
        model = run.model()
        path = self.folder / "nan.safetensors"
        lp.save(path, lp.Model(model.function, model.params.map(lambda v: v * float("nan")), model.config))
        answer = json.loads(tool("run", path, "--data", "moons", "--json"))["answers"][0]
        self.assertEqual((answer["prediction"], answer["logits"]), (None, [None, None]))
        self.assertNotIn("class", answer)
        said = tool("run", path, "--data", "moons") + tool("eval", path, "--data", "moons")
        self.assertIn("none", said)
        self.assertNotIn("-nan", said)
        self.assertEqual(json.loads(tool("eval", path, "--data", "moons", "--json"))["accuracy"], 0)

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
            self.refused(lambda: run.train(), error)
            log = lambda: [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
            self.assertEqual((log()[-1]["reason"], log()[-1]["step"]), ("interrupted", an_epoch))
            again = lp.train.resume(folder)
            again.train()
            self.assertEqual([e["epoch"] for e in again.epochs], [1, 2, 3])
            self.assertEqual([e["epoch"] for e in log() if e["event"] == "epoch"], [1, 2, 3])
            self.assertEqual(again.model().hash, whole.model().hash)
            # The run that was interrupted goes on, too.
            run = lp.train.Run(self.CONFIG, on_step=listener)
            self.refused(lambda: run.train(), error)
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

        self.refused(lambda: lp.train.Run(self.CONFIG, on_step=fails).train(), Mine)
        # Of two the first is raised: the second one hears how the run ends.
        self.refused(lambda: lp.train.Run(self.CONFIG, on_step=fails, on_event=lambda event: 1 // (event["event"] != "end")).train(), Mine)
        self.refused(lambda: lp.train.Run({"optimizer": {"lr": "fast"}}), ValueError)
        with self.assertRaises(ValueError):
            lp.train.Run({"data": "no such"})
        self.refused(lambda: lp.train.Run("moons"), TypeError)
        for wrong in ({"on_event": 3}, {"on_step": "print"}):
            self.refused(lambda: lp.train.Run(self.CONFIG, **wrong), TypeError)
        self.refused(lambda: lp.train.Run(self.CONFIG).train(stop=3), TypeError)
        self.refused(lambda: lp.train.Run({"data": "moons", "hidden": [4]}), ValueError)
        self.refused(lambda: lp.train.Run({"epochs": 1}, data=(np.zeros((2, 2)), np.zeros(2))), TypeError)
        for data in (np.zeros((3, 2)), lp.data.load("moons")[:2] + (None,), 3):
            self.refused(lambda: lp.train.Run({"epochs": 1}, data=data), TypeError)
        self.assertEqual(lp.train.Run({"data": "moons", "epochs": np.int64(2)}).config["epochs"], 2)


class Data(Refusals):
    def test_rows_of_a_file_are_converted_once(self):
        with tempfile.TemporaryDirectory() as folder:
            x = np.arange(60, dtype=np.uint8).reshape(20, 3)
            y = np.arange(20, dtype=np.int32) % 2
            np.savez(f"{folder}/a.npz", x_train=x, y_train=y, x_test=x, y_test=y)
            data = lp.data.load(f"npz:{folder}/a.npz").train
        first, second = np.asarray(data.inputs), np.asarray(data.inputs)
        np.testing.assert_array_equal(first, x.astype(np.float32))
        self.assertTrue(np.shares_memory(first, second))


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
        for bad in (
            {"layers.0.weight": x}, {"w": x}, {"layers.0.bias": np.zeros(8)},
        ):
            self.refused(lambda: lp.Model(net.function(), bad), lp.InvalidArgumentError)
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
        self.refused(lambda: lp.data.load(f"idx:{self.folder}"), FileNotFoundError)
        self.refused(lambda: lp.load(self.folder / "folder.npz"), IsADirectoryError)
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
        self.refused(lambda: model(np.int32([1, 2, 3, 4])), TypeError)
        whole = lp.Model(lp.trace(lambda n, x: n.astype("f32") * x, "i32", "f32"), {})
        for got in (whole([2, 3], [0.5, 1]), whole((2, 3), x=[0.5, 1]), whole(n=[2, 3], x=(0.5, 1))):
            self.assertEqual(got.tolist(), [1, 3])
        for bad in (
            lambda: model([1, 2, 3, 4], x=[1, 2, 3, 4]), lambda: whole([2], n=[2]), lambda: whole(1, 2, 3),
        ):
            self.refused(bad, TypeError)
        self.refused(lambda: whole(n=[2], y=[1.0]), lp.Error)
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
        self.refused(lambda: model(x=x), ValueError)
        self.refused(lambda: model(x=x, z=z, y=z), ValueError)

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
            self.refused(lambda: predict.prepare(rows), ValueError)
        f = lp.trace(lambda x, z: (x + z, x * z), "f32[2]", "f32[2]")
        both = lp.Predictor(f, {}, shared=["z"])(x[:, :2], x[0, 2:])
        self.assertEqual([part.tolist() for part in both], [(x[:, :2] + x[0, 2:]).tolist(), (x[:, :2] * x[0, 2:]).tolist()])
        self.refused(lambda: lp.Predictor(3, {}), TypeError)

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
        (self.folder / "net.onnx").write_bytes(b"\xff" * 64)
        for use in (lambda: lp.load(self.folder / "net.pt"), lambda: lp.save(self.folder / "net.pt", {"a": a}), lambda: lp.load(self.folder / "net.onnx"),
                    lambda: lp.save(self.folder / "a.npy.gz", lp.Params({"a": a})), lambda: lp.save(self.folder / "a.npy.gz", a)):
            self.refused(use, lp.FormatError)
        for name in ("b.npz", "b.safetensors", "b"):
            self.refused(lambda: lp.save(self.folder / name, a), lp.FormatError)
            self.assertFalse((self.folder / name).exists())
        self.refused(lambda: lp.save(self.folder / "c.npy", {"a": a}), TypeError)
        for use in (lambda: lp.load("a\0.npy"), lambda: lp.save("a\0.npy", a)):
            self.refused(use, ValueError)

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
        self.refused(lambda: lm.join([1]), ValueError)
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
