#!/usr/bin/env python3
"""Data sets by their options and part by part, files with what stands beside the arrays, and runs on data in memory."""

import colorsys
import json
import pathlib
import tempfile
import unittest

import numpy as np

import limpid as lp
from refusals import Refusals

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


class Temporary(Refusals):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)


class Data(Temporary):
    def test_batches_in_their_order(self):
        data = lp.data.digits(lp.Key(1), 100)
        for keep, sizes in ((True, [32, 32, 32, 4]), (False, [32, 32, 32])):
            batches = lp.data.batches(data, 32, shuffle=False, keep_partial=keep, epoch=3)
            self.assertEqual([len(y) for _, y in batches], sizes)
            for i, (x, y) in enumerate(batches):
                self.assertTrue(x.same_bits(data.inputs[32 * i : 32 * i + 32]) and y.same_bits(data.targets[32 * i : 32 * i + 32]))
            self.assertTrue(batches[-1][0].same_bits(batches[len(sizes) - 1][0]))
            with self.assertRaises(IndexError):
                batches[-len(sizes) - 1]

    def test_augmented_pictures(self):
        x = lp.data.digits(lp.Key(1), 6).inputs.reshape(6, 1, 28, 28)
        steps = "digits,noise=0.1@0.5"
        y = lp.augment(x, steps, lp.Key(2))
        self.assertEqual(y.type, x.type)
        for i in range(6):
            alone = lp.data.augment(np.asarray(x)[i : i + 1, 0], steps, lp.Key(2))
            self.assertEqual(bool((alone[0] == y[i, 0]).all()), i == 0)
        self.assertTrue((lp.augment(x, "none", lp.Key(2)) == x).all())
        # The hue of each picture is turned by what its key draws: word 1 of the step's key.
        colours = RNG.random((40, 3, 2, 2), dtype=np.float32)
        turned = np.asarray(lp.augment(colours, "hue=0.5", lp.Key(3)))
        for i in range(40):
            drawn = float(lp.uniform(lp.Key(3).fold_in(i).fold_in(0), (2,))[1])
            for before, after in zip(colours[i].reshape(3, 4).T, turned[i].reshape(3, 4).T):
                hue, saturation, value = colorsys.rgb_to_hsv(*before.tolist())
                np.testing.assert_allclose(after, colorsys.hsv_to_rgb((hue + drawn - 0.5) % 1, saturation, value), atol=2e-6)
        self.refused(lambda: lp.augment(x, "flop", lp.Key(1)), "parse")
        self.refused(lambda: lp.augment(x, "hue", lp.Key(1)), "invalid argument")
        self.refused(lambda: lp.augment(x[0, 0], "flip", lp.Key(1)), "shape")

    def test_rows_names_and_noise(self):
        data = lp.data.digits(lp.Key(1), 20)
        part = data.rows(5, 3)
        self.assertEqual((len(part), part.classes, part.task), (3, 10, "classification"))
        self.assertTrue(part.inputs.same_bits(data.inputs[5:8]) and part.targets.same_bits(data.targets[5:8]))
        file = self.folder / "a.csv"
        file.write_text("width,height,kind\n" + "1,2,cat\n3,4,dog\n5,6,cat\n" * 8)
        table = lp.data.load(f"csv:{file},target=kind").train
        self.assertEqual((list(table.feature_names), sorted(table.class_names)), (["width", "height"], ["cat", "dog"]))
        exact, noisy = (lp.data.synthetic("sine", lp.Key(0), 50, noise) for noise in (0.0, 0.5))
        self.assertTrue(exact.inputs.same_bits(noisy.inputs))
        np.testing.assert_allclose(np.asarray(exact.targets), np.sin(np.asarray(exact.inputs)), atol=1e-6)
        self.assertAlmostEqual((np.asarray(noisy.targets) - np.asarray(exact.targets)).std(), 0.5, delta=0.15)

    def test_windows_of_a_text(self):
        file = self.folder / "t.txt"
        file.write_text("to be or not to be, that is the question.\n" * 60)
        part = lp.data.load(f"text:{file}").train
        x, y = np.asarray(part.inputs), np.asarray(part.targets)
        self.assertEqual((part.task, x.shape, y.shape), ("next_token", (len(part), 8), (len(part),)))
        # Each begins one token later than the one before; what follows it is its target.
        np.testing.assert_array_equal(x[1:], np.concatenate([x[:-1, 1:], y[:-1, None]], axis=1))

    def test_options_of_batches(self):
        data = lp.data.digits(lp.Key(1), 70)
        order = lambda **options: [t for _, y in lp.data.batches(data, **options) for t in y.tolist()]
        self.assertEqual([len(y) for _, y in lp.data.batches(data)], [64, 6])
        self.assertEqual(order(), np.asarray(data.targets)[np.asarray(lp.data.permutation(lp.Key(0).fold_in(0), 70))].tolist())
        self.assertEqual(order(size=100), order())
        self.assertEqual(len({tuple(order(key=lp.Key(k), epoch=e)) for k in (0, 1) for e in (0, 1)}), 4)
        self.assertEqual(len(lp.data.batches(data, 100, keep_partial=False)), 0)
        with self.assertRaises(IndexError):
            lp.data.batches(data, 32)[3]
        self.refused(lambda: lp.data.batches(data, 0), ValueError)
        self.refused(lambda: lp.data.batches(np.zeros((4, 2))), TypeError)
        for made in (lp.data.batches(data, 32), lp.data.batches(data, 32)):
            self.assertEqual(made[-3][1].tolist(), made[0][1].tolist())

    def test_tasks(self):
        x, y = floats(6, 2), np.int32([0, 1, 1, 0, 1, 0])
        for task in ("classification", "regression"):
            self.assertEqual(lp.data.from_arrays({"x": x, "y": y}, task=task).train.task, task)
        self.assertEqual(lp.data.from_arrays({"x": x, "y": np.stack([y, 1 - y], 1)}, "multilabel", "mine").train.name, "mine")
        self.refused(lambda: lp.data.from_arrays({"x": x, "y": y}, "ranking"), ValueError)
        logits, labels = np.float32([[2, 0], [0, 2], [2, 0], [2, 0]]), np.int32([0, 1, 1, 0])
        one, other = lp.data.metrics("classification", logits, labels)["per_class"]
        self.assertAlmostEqual(one["precision"], 2 / 3)
        self.assertEqual((one["recall"], other["precision"], other["recall"]), (1, 1, 0.5))
        self.assertAlmostEqual(other["f1"], 2 / 3)
        wrong = lp.data.metrics("regression", np.float32([[1], [2]]), np.float32([[1], [4]]))["metrics"]
        self.assertEqual((wrong["mae"], wrong["rmse"]), (1, np.sqrt(2)))
        some = lp.data.metrics("multilabel", np.float32([[1, -1], [1, 1]]), np.float32([[1, 0], [1, 0]]))["metrics"]
        self.assertEqual((some["accuracy"], some["exact_match"]), (0.75, 0.5))
        words = lp.data.metrics("next_token", np.float32([[0, 0], [0, 0]]), np.int32([1, 0]))["metrics"]
        self.assertAlmostEqual(words["perplexity"], 2)
        self.assertAlmostEqual(words["bits_per_token"], 1)
        for dtype in (np.int64, np.int8, np.uint8):
            self.assertEqual(lp.data.metrics("next_token", np.float32([[0, 0], [0, 0]]), np.array([1, 0], dtype))["metrics"], words)
        self.refused(lambda: lp.data.metrics("ranking", logits, labels), ValueError)
        self.refused(lambda: lp.data.from_arrays({"z": x}), KeyError)
        self.assertEqual(lp.data.from_arrays({"x": x, "y": y}).train.name, "arrays")


class Files(Temporary):
    def test_metadata_of_a_file(self):
        path = self.folder / "a.safetensors"
        lp.save(path, {"x": np.float32([1])}, {"made by": "a test", "grün": "ja"})
        bytes_of_it = path.read_bytes()
        header = json.loads(bytes_of_it[8 : 8 + int.from_bytes(bytes_of_it[:8], "little")])
        self.assertEqual(header["__metadata__"], {"made by": "a test", "grün": "ja"})
        self.assertTrue(lp.load(path).same_bits({"x": np.float32([1])}))

    def test_dynamic_dimensions_of_a_file(self):
        path = self.folder / "a.onnx"
        lp.save(path, lp.Model(lp.trace(lambda x: lp.relu(x), "f32[5]"), {}))
        # The size 5 becomes a dimension without a size or a name.
        path.write_bytes(path.read_bytes().replace(b"\x0a\x02\x08\x05", b"\x0a\x02\x12\x00"))
        self.refused(lambda: lp.load(path), KeyError)
        model = lp.load(path, {"x.1": 7})
        self.assertEqual(model.inputs, [("x", "f32[7]")])
        # No other file has them.
        for name, content in (("a.npy", lp.ones(2)), ("a.npz", {"a": lp.ones(2)}), ("a.safetensors", {"a": lp.ones(2)})):
            lp.save(self.folder / name, content)
            self.refused(lambda: lp.load(self.folder / name, {"x.1": 7}), ValueError)

    def test_every_code_has_its_class(self):
        self.assertEqual({code: kind.__mro__[2] for code, kind in lp.errors._by_code.items()}, {
            "invalid argument": ValueError, "shape": ValueError, "dtype": TypeError, "parse": ValueError, "format": ValueError, "io": OSError, "not found": KeyError,
            "unsupported": NotImplementedError, "no gradient": ValueError, "no memory": MemoryError, "internal": RuntimeError,
        })  # fmt: skip
        self.assertEqual([(str(kind()), kind.code) for kind in (lp.NotFoundError, lp.FileError, lp.Error)], [("", "not found"), ("", "io"), ("", "internal")])


class Runs(Temporary):
    def test_step_by_step(self):
        config = {"data": "moons", "epochs": 2}
        whole, events, seen = lp.train.Run(config), [], []
        end = whole.train()
        run = lp.train.Run(config, folder=self.folder / "a", on_event=events.append, on_step=lambda event: seen.append(event["step"]))
        run.start()
        self.refused(lambda: run.start(), ValueError)
        while not run.done:
            run.step()
            if len(seen) == 5:
                stopped = run.interrupt()
                self.assertEqual((stopped["event"], stopped["reason"], stopped["step"], run.done), ("end", "interrupted", 5, False))
                run.resume()
        last = run.finish()
        self.assertEqual((last["reason"], last["test"], events[-1]), ("finished", end["test"], last))
        self.assertEqual((run.model().hash, seen), (whole.model().hash, list(range(1, end["step"] + 1))))
        self.assertEqual([e["epoch"] for e in run.epochs], [1, 2])
        self.assertTrue(all(isinstance(e["validation"], dict) and "loss" in e["train"] for e in run.epochs))
        self.assertTrue(run.done)

    def test_a_diagnosis_is_of_the_log_as_it_is_now(self):
        run = lp.train.Run({"data": "moons", "optimizer": {"lr": 3.0}})
        run.start()
        for _ in range(10):
            run.step()
        # The doctor looks by itself at the end of an epoch.
        self.assertEqual((run.findings, [found["rule"] for found in run.diagnose()]), ([], ["update_ratio"]))

    def test_listeners_may_not_change_a_run(self):
        said = []

        def listener(event):
            for change in (
                lambda: run._run.on_step(print), lambda: run.findings, lambda: run.epochs, lambda: run.diagnose(), lambda: run.train(), lambda: run.model(), lambda: run.done,
            ):
                try:
                    change()
                except ValueError as error:
                    said.append(str(error))

        run = lp.train.Run({"data": "moons", "steps": 1}, on_step=listener)
        run.train()
        self.assertEqual(said, ["a run is used by one thread at a time, and not changed by listeners"] * 7)

    def test_a_folder_whose_name_has_a_null_character_is_refused(self):
        for folder in (f"{self.folder}/a\0b", f"{self.folder}/a\0b".encode()):
            self.refused(lambda: lp.train.Run({"data": "moons", "epochs": 1}, folder=folder).train(), ValueError)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_folder_is_not_overwritten_unless_asked(self):
        for epochs in (1, 2):
            lp.train.Run({"data": "moons", "epochs": epochs}, folder=self.folder / "a", overwrite=epochs == 2).train()
        self.assertEqual(len((self.folder / "a" / "log.jsonl").read_text().split('"event":"epoch"')), 3)
        for none in (lambda: lp.train.Run({"data": "moons"}, threads=0), lambda: lp.train.resume(self.folder / "a", threads=0)):
            self.refused(none, ValueError)
        self.refused(lambda: lp.train.Run({"data": "moons", "epochs": 1}, folder=self.folder / "a").train(), ValueError)

    def test_a_network_of_ones_own(self):
        chance = np.random.default_rng(0)
        x = chance.normal(size=(90, 2, 3)).astype(np.float32)
        y = (x.sum((1, 2)) > 0).astype(np.int32)
        data = [lp.data.from_arrays({"x": x[a:b].reshape(b - a, 6), "y": y[a:b]}).train for a, b in ((0, 60), (60, 75), (75, 90))]
        config = {"epochs": 8, "batch": 10, "optimizer": {"name": "adam", "lr": 0.05}}
        layers = lp.nn.sequential(lp.nn.Linear(6, 8), lp.tanh, lp.nn.Dropout(0.1), lp.nn.Linear(8, 2))
        end = lp.train.Run(config, data, network=layers, folder=self.folder / "a").train()
        self.assertGreater(end["test"]["accuracy"], 0.8)
        whole = lp.load(self.folder / "a" / "model.safetensors")
        run = lp.train.Run(config, data, network=layers, folder=self.folder / "b")
        steps = iter(range(20))
        run.train(stop=lambda: next(steps) == 12)
        resumed = lp.train.resume(self.folder / "b", data=data, network=layers)
        resumed.train()
        self.assertEqual(resumed.model().hash, whole.hash)

        code = lambda p, x: lp.tanh(x @ p["a"]) @ p["b"]
        params = {"a": 0.1 * chance.normal(size=(6, 8)).astype(np.float32), "b": np.zeros((8, 2), np.float32)}
        mine = lp.train.Run(config, data, network=code, params=params, frozen=["a"])
        self.assertGreater(mine.train()["test"]["accuracy"], 0.7)
        np.testing.assert_array_equal(mine.model().params["a"].numpy(), params["a"])
        own = lp.train.Run(config, data, network=code, params=params, loss=lambda out, target: lp.softmax_cross_entropy(out, target))
        usual = lp.train.Run(config, data, network=code, params=params)
        own.train(), usual.train()
        self.assertTrue((own.model().params["b"] == usual.model().params["b"]).all())
        for none in (
            lambda: lp.train.Run(config, data, network=code), lambda: lp.train.Run(config, data, network=3), lambda: lp.train.Run(config, data, params=params),
            lambda: lp.train.Run(config, data, network=code, params=params, loss="mse"), lambda: lp.train.Run(config, data, network=lp.nn.Linear),
        ):  # fmt: skip
            self.refused(none, TypeError)

    def test_parts_of_the_data(self):
        x, y = np.arange(12, dtype=np.float32).reshape(6, 2), np.int32([0, 1, 0, 1, 0, 1])
        parts = [lp.data.from_arrays({"x": x[a:b], "y": y[a:b]}).train for a, b in ((0, 3), (3, 5), (5, 6))]
        data = lp.train.Run({"epochs": 1}, data=parts).data
        for part, (a, b) in zip((data.train, data.validation, data.test), ((0, 3), (3, 5), (5, 6))):
            self.assertEqual((part.inputs.tolist(), part.targets.tolist()), (x[a:b].tolist(), y[a:b].tolist()))


if __name__ == "__main__":
    unittest.main()
