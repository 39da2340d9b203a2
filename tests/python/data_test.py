#!/usr/bin/env python3
"""Data sets by their options and part by part, files with what stands beside the arrays, and runs on data in memory."""

import errno
import json
import pathlib
import tempfile
import unittest

import numpy as np

import limpid as lp

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


class Temporary(unittest.TestCase):
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

    def test_tasks(self):
        x, y = floats(6, 2), np.int32([0, 1, 1, 0, 1, 0])
        for task in ("classification", "regression"):
            self.assertEqual(lp.data.from_arrays({"x": x, "y": y}, task=task).train.task, task)
        self.assertEqual(lp.data.from_arrays({"x": x, "y": np.stack([y, 1 - y], 1)}, "multilabel", "mine").train.name, "mine")
        with self.assertRaisesRegex(ValueError, "expected classification, multilabel or regression, not 'ranking'"):
            lp.data.from_arrays({"x": x, "y": y}, "ranking")
        logits, labels = np.float32([[2, 0], [0, 2], [2, 0], [2, 0]]), np.int32([0, 1, 1, 0])
        one, other = lp.data.metrics("classification", logits, labels)["per_class"]
        self.assertAlmostEqual(one["precision"], 2 / 3)
        self.assertEqual((one["recall"], other["precision"], other["recall"]), (1, 1, 0.5))
        self.assertAlmostEqual(other["f1"], 2 / 3)
        wrong = lp.data.metrics("regression", np.float32([[1], [2]]), np.float32([[1], [4]]))["metrics"]
        self.assertEqual((wrong["mae"], wrong["rmse"]), (1, np.sqrt(2)))
        some = lp.data.metrics("multilabel", np.float32([[1, -1], [1, 1]]), np.float32([[1, 0], [1, 0]]))["metrics"]
        self.assertEqual((some["accuracy"], some["exact_match"]), (0.75, 0.5))


class Files(Temporary):
    def test_metadata_of_a_file(self):
        path = self.folder / "a.safetensors"
        lp.save(path, {"x": np.float32([1])}, {"made by": "a test", "grün": "ja"})
        bytes_of_it = path.read_bytes()
        header = json.loads(bytes_of_it[8 : 8 + int.from_bytes(bytes_of_it[:8], "little")])
        self.assertEqual(header["__metadata__"], {"made by": "a test", "grün": "ja"})

    def test_dynamic_dimensions_of_a_file(self):
        path = self.folder / "a.onnx"
        lp.save(path, lp.Model(lp.trace(lambda x: lp.relu(x), "f32[5]"), {}))
        # The size 5 becomes a dimension without a size or a name.
        path.write_bytes(path.read_bytes().replace(b"\x0a\x02\x08\x05", b"\x0a\x02\x12\x00"))
        with self.assertRaisesRegex(KeyError, "got none for 'x.1'"):
            lp.load(path)
        model = lp.load(path, {"x.1": 7})
        self.assertEqual(model.inputs, [("x", "f32[7]")])

    def test_reasons_of_the_system(self):
        for reason, kind in (
            (errno.EACCES, PermissionError), (errno.EPERM, PermissionError), (errno.ENOENT, FileNotFoundError),
            (errno.EISDIR, IsADirectoryError), (errno.ENOSPC, OSError),
        ):  # fmt: skip
            error = lp.errors._of_reason(reason, "a file: why")
            self.assertIsInstance(error, kind)
            self.assertEqual((isinstance(error, lp.FileError), error.errno, str(error)), (True, reason, "a file: why"))


class Runs(Temporary):
    def test_a_folder_is_not_overwritten_unless_asked(self):
        for epochs in (1, 2):
            lp.train.Run({"data": "moons", "epochs": epochs}, folder=self.folder / "a", overwrite=epochs == 2).train()
        self.assertEqual(len((self.folder / "a" / "log.jsonl").read_text().split('"event":"epoch"')), 3)
        with self.assertRaisesRegex(ValueError, "holds a run that is finished"):
            lp.train.Run({"data": "moons", "epochs": 1}, folder=self.folder / "a").train()

    def test_parts_of_the_data(self):
        x, y = np.arange(12, dtype=np.float32).reshape(6, 2), np.int32([0, 1, 0, 1, 0, 1])
        parts = [lp.data.from_arrays({"x": x[a:b], "y": y[a:b]}).train for a, b in ((0, 3), (3, 5), (5, 6))]
        data = lp.train.Run({"epochs": 1}, data=parts).data
        for part, (a, b) in zip((data.train, data.validation, data.test), ((0, 3), (3, 5), (5, 6))):
            self.assertEqual((part.inputs.tolist(), part.targets.tolist()), (x[a:b].tolist(), y[a:b].tolist()))


if __name__ == "__main__":
    unittest.main()
