"""Runs the commands of a page's `sh` blocks, line by line, as somebody would who follows it: each must end with 0. Those of its
`console` blocks must print what the page shows.

usage: shell_test.py TOOL PAGE

The page's files are there under the names that it gives them, only smaller: `mnist` of 300 images, a `shakespeare.txt`, a model of
digits in `runs`, a GPT-2 of one block in `gpt2`, a BERT of two in `all-MiniLM-L6-v2`. What prepares a machine (./dev, cmake) is for other tests.
"""

import gzip
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import pages

TESTS = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(TESTS / "cli"))
sys.argv, (TOOL, PAGE) = sys.argv[:1], sys.argv[1:]
import huggingface_test  # noqa: E402  (reads sys.argv)

# Commands that need something that only a reader has: why they are not run here.
NOT_RUN = {
    "./dev": "other tests build and install",
    "cmake": "other tests build and install",
    "alias": "the tool is in the path",
    "mpirun": "tests/cli/scale_test.py trains on several processes",
    "bert.onnx": "a published model; tests/onnx runs some of several inputs",
    "detector.onnx": "a published model; tests/onnx runs some of several inputs",
    "onnx-test DIR": "tests/onnx runs the ONNX project's",
}


def write_idx(path, shape, values):
    path.write_bytes(gzip.compress(struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape) + bytes(values)))


def write_mnist(folder):
    draw = random.Random(1)
    folder.mkdir()
    for part, count in (("train", 200), ("t10k", 100)):
        labels = [draw.randrange(10) for _ in range(count)]
        pixels = [draw.randrange(256) if i % 28 < 10 + labels[n] else 0 for n in range(count) for i in range(784)]
        write_idx(folder / f"{part}-images-idx3-ubyte.gz", [count, 28, 28], pixels)
        write_idx(folder / f"{part}-labels-idx1-ubyte.gz", [count], labels)


def write_text(path):
    draw = random.Random(2)
    words = "ROMEO: thou art the light of my night and the day of all that is O no".split()
    path.write_text("\n".join(" ".join(draw.choice(words) for _ in range(7)) for _ in range(40)))


class Shell(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.work = pathlib.Path(temporary.name)
        (self.work / "bin").mkdir()
        (self.work / "bin/limpid").symlink_to(TOOL)
        self.environment = dict(os.environ, PATH=f"{self.work}/bin:{os.environ['PATH']}", LC_ALL="C.UTF-8")
        write_mnist(self.work / "mnist")
        write_text(self.work / "shakespeare.txt")
        huggingface_test.write_gpt2(self.work / "gpt2", positions=64)
        shutil.copytree(TESTS / "huggingface/bert", self.work / "all-MiniLM-L6-v2")
        for name, options in (("digits", "idx:mnist"), ("mnist", "idx:mnist"), ("moons", "moons")):
            self.run_line(f"limpid train --data {options} --epochs 1 --out runs/{name}")
        self.run_line("limpid train --data text:shakespeare.txt --model gpt --layers 1 --width 16 --steps 2 --out runs/gpt")
        self.run_line("limpid convert runs/digits model.onnx")
        self.before = set(self.work.rglob("*"))

    def run_line(self, line):
        run = subprocess.run(["bash", "-c", line], cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        self.assertEqual(run.returncode, 0, f"{line}\n{run.stdout}")
        return run.stdout

    def serve(self, line):
        """The server is stopped as soon as it prints its address."""
        server = subprocess.Popen(["bash", "-c", f"exec {line}"], cwd=self.work, env=self.environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertIn("http://127.0.0.1:", server.stdout.readline(), line)
        server.terminate()
        rest = server.communicate(timeout=60)[0]
        self.assertEqual(server.returncode, 0, f"{line}\n{rest}")

    def test_its_commands(self):
        run = 0
        written = set()
        for block in pages.blocks_of(pathlib.Path(PAGE).read_text()):
            for command, expected in pages.commands_of(block) if block.kind == "console" else ():
                with self.subTest(command):
                    printed = self.run_line(command)
                    if expected:
                        self.assertEqual(printed, expected)
            if block.kind != "sh":
                continue
            for number, line in enumerate(block.body.splitlines()):
                if not line or any(name in line for name in NOT_RUN):
                    continue
                # If the page continues no earlier run, it makes its own.
                words = line.split()
                if "--out" in words and "train" in words and words[words.index("--out") + 1] not in written:
                    written.add(words[words.index("--out") + 1])
                    shutil.rmtree(self.work / words[words.index("--out") + 1], ignore_errors=True)
                with self.subTest(f"line {block.line + number}"):
                    if line.startswith("limpid serve"):
                        self.serve(line.replace("8000", "0"))
                    elif line.startswith("limpid view"):
                        self.serve(line.replace("limpid view", "limpid view --no-open --port 0"))
                    else:
                        # A language model's default number of steps takes minutes.
                        self.run_line(line.replace("train --data text:", "train --steps 2 --data text:"))
                run += 1
        self.assertGreater(run, 0, f"{PAGE} has no command")


if __name__ == "__main__":
    unittest.main()
