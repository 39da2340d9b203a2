"""Pictures from files: from a folder to predictions, and what is refused."""

import json
import struct
import unittest
import zlib

import tool
from png import flat, png, write_halves

SMALL = ("--hidden", "8", "--epochs", "20", "--batch", "4", "--threads", "1", "--overwrite")


class Pictures(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.halves = self.folder / "halves"
        write_halves(self.halves)
        self.run_folder = self.folder / "run"

    def put(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def train(self, spec):
        self.output("train", "--data", spec, "--out", self.run_folder, *SMALL)
        with open(self.run_folder / "log.jsonl") as log:
            return json.loads(log.readline())["data"]

    def test_from_a_folder_to_predictions(self):
        data = self.train(f"images:{self.halves},size=4x6")
        self.assertEqual((data["train"], data["validation"], data["test"]), (20, 2, 2))
        self.assertEqual((data["features"], data["class_names"]), (24, ["left", "right"]))
        report = self.output("eval", self.run_folder, "--data", f"images:{self.halves}")
        self.assertRegex(report, r"\Aexamples  2 of 24: the test set")
        self.assertRegex(report, r"accuracy +100.00 %")
        # A picture of another size and in colour.
        right = self.put("one.png", png([b"\x05\x05\x05" * 15 + b"\xc0\xc8\xd0" * 15] * 20, 3))
        text = self.output("run", self.run_folder, "--picture", right)
        self.assertRegex(text, r"example 0: prediction right\n")
        self.assertEqual(len([line for line in text.splitlines() if "\u2588" in line]), 2)
        answer, = self.document("run", self.run_folder, "--picture", right)["answers"]
        self.assertEqual(answer["class"], "right")
        # The same picture in a folder, with others.
        self.put("new/b.png", right.read_bytes())
        self.put("new/a.png", png([bytes([200] * 4 + [3] * 4)] * 8))
        answers = self.document("run", self.run_folder, "--data", f"images:{self.folder / 'new'}")["answers"]
        self.assertEqual([(a["id"], a["class"]) for a in answers], [("a.png", "left"), ("b.png", "right")])
        self.assertEqual(answers[1]["logits"], answer["logits"])
        out = self.folder / "predictions.csv"
        self.output("run", self.run_folder, "--data", f"images:{self.folder / 'new'}", "--out", out)
        self.assertEqual([line.split(",")[:3] for line in out.read_text().splitlines()],
                         [["row", "file", "prediction"], ["0", "a.png", "left"], ["1", "b.png", "right"]])
        # Every command that takes an example takes a picture.
        self.assertIn("x", self.output("trace", self.run_folder, "--picture", right))

    def test_a_broken_picture_is_named_or_left_out(self):
        broken = self.put("halves/left/99.png", flat(3)[:-20])
        self.says(self.error(1, "data", f"images:{self.halves}"))
        text = self.output("data", f"images:{self.halves},broken=skip")
        self.says(next(line for line in text.splitlines() if line.startswith("note: ")))
        self.train(f"images:{self.halves},broken=skip")
        self.put("new/1.png", flat(9))
        self.put("new/2.png", broken.read_bytes())
        out = self.folder / "predictions.csv"
        self.run_tool("run", self.run_folder, "--data", f"images:{self.folder / 'new'},broken=skip", "--out", out)
        lines = [line.split(",") for line in out.read_text().splitlines()]
        self.assertEqual([line[:2] for line in lines], [["row", "file"], ["0", "1.png"], ["1", "2.png"]])
        self.assertIn("ends early", lines[2][-1])
        self.assertEqual(lines[2][2], "")

    def test_what_is_shown(self):
        text = self.output("data", f"images:{self.halves}", "--show", "--count", "1")
        self.assertRegex(text, r"class +training examples\nleft +\d+\nright +\d+\n")
        self.assertRegex(text, "(\u2588{4} {4}\n){4}|( {4}\u2588{4}\n){4}")

    def test_arrays_and_cifar_keep_their_pictures(self):
        pixels = bytes(range(256)) * 12
        self.put("cifar/data_batch_1.bin", b"".join(bytes([label]) + pixels for label in range(10)))
        self.put("cifar/test_batch.bin", bytes([3]) + pixels)
        data = self.train(f"cifar:{self.folder / 'cifar'}")
        self.assertEqual((data["train"], data["test"], data["features"]), (10, 1, 3072))
        one = self.put("one.png", flat(9, channels=3))
        self.assertRegex(self.output("run", self.run_folder, "--picture", one), "prediction [0-9]\n")

    def test_what_is_refused(self):
        self.put("sizes/a/1.png", flat(1))
        self.put("sizes/b/1.png", flat(1, 9, 8))
        self.put("empty/readme.txt", b"")
        self.put("bomb/a/1.png", flat(1))
        # A header of 65,535 x 65,535 pixels.
        file = flat(1)
        header = b"IHDR" + struct.pack(">II", 65535, 65535) + file[24:29]
        self.put("bomb/b/1.png", file[:12] + header + struct.pack(">I", zlib.crc32(header)) + file[33:])
        self.put("text.png", b"no picture")
        self.train(f"images:{self.halves}")
        self.refuses(1, """
            data images:sizes
            data images:empty
            data images:none
            data images:bomb,size=8
            run run --picture text.png
            run run --picture none.png
            run run --data images:sizes,size=9""")
        self.refuses(2, """
            data images:sizes,size=0
            run run --picture text.png --values 1
            data images:sizes,layout=nhwc""")
        self.output("train", "--data", "moons", "--out", self.folder / "moons", "--epochs", "1", "--layers", "2,2")
        self.refuses(1, "run moons --picture sizes/a/1.png")


if __name__ == "__main__":
    unittest.main()
