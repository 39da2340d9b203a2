"""What the tests of the tool share: running it, and writing the files that it reads."""

import ctypes
import fcntl
import json
import os
import pathlib
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import refusals  # noqa: E402

TOOL = sys.argv.pop(1) if len(sys.argv) > 1 else "limpid"

# A sanitizer keeps memory of its own beside the program's.
not_sanitized = unittest.skipIf("LIMPID_SANITIZED" in os.environ, "the tool is sanitized, which takes memory")


def on_terminal(columns, *arguments):
    """What the tool prints on a terminal of this width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    run = subprocess.Popen([TOOL, *map(str, arguments)], stdout=theirs, stderr=subprocess.DEVNULL,
                           env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    text = b""
    with open(ours, "rb", buffering=0) as terminal:
        try:
            while part := terminal.read(65536):
                text += part
        except OSError:
            pass  # EIO: the tool closed its end
    if run.wait(timeout=120) != 0:
        raise AssertionError(f"{arguments}: exit code {run.returncode}")
    return text.decode()


def words_of(commands):
    """The words of each command. A tuple is one; a text has many, with semicolons or ends of lines between them."""
    for command in commands:
        yield from map(shlex.split, re.split(r"; |\n", command.strip())) if isinstance(command, str) else [command]


class ToolTest(refusals.Refusals):
    """Each test has a folder of its own, self.folder."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="limpid-cli-")
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)

    def run_tool(self, *arguments, **options):
        options.setdefault("stdout", subprocess.PIPE)
        # Under sanitizers selftest takes minutes on a busy machine.
        return subprocess.run(
            [TOOL, *map(str, arguments)], stderr=subprocess.PIPE, timeout=600, **options
        )

    def output(self, *arguments, **options):
        """Standard output of a run that must go well."""
        run = self.run_tool(*arguments, **options)
        self.assertEqual((run.returncode, run.stderr), (0, b""), arguments)
        text = run.stdout.decode()
        self.assertFalse([c for c in text if c < " " and c != "\n"], "control characters")
        return text

    def document(self, *arguments):
        return json.loads(self.output(*arguments, "--json"))

    def error(self, code, *arguments, **options):
        """The message of a run that must end with this exit code and say why in one line."""
        run = self.run_tool(*arguments, **options)
        text = run.stderr.decode()
        self.assertEqual(run.returncode, code, f"{arguments}: {text}")
        self.assertEqual(run.stdout, b"", arguments)
        self.assertRegex(text, r"\Alimpid: [^\n]+\n\Z", arguments)
        self.assertTrue(text[:-1].isprintable(), repr(text))
        return text[len("limpid: ") : -1]

    def refuses(self, code, *commands):
        """Runs commands, each of which must end with this exit code, and records what they say."""
        for words in words_of(commands):
            self.says(self.error(code, *words, cwd=self.folder))

    def shows(self, *commands):
        """Records the standard output of commands, which is the same on every machine; a document of JSON as one line."""
        for words in words_of(commands):
            text = self.output(*words, cwd=self.folder)
            self.says(json.dumps(json.loads(text), ensure_ascii=False) if "--json" in words else text.removesuffix("\n"))


class Opens:
    """Counts how often a file is opened while this is entered. Its being closed is watched, too: the system would tell of
    several openings in a row once."""

    OPEN, CLOSE = 0x20, 0x18

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        self.queue = libc.inotify_init1(os.O_NONBLOCK)
        if self.queue < 0 or libc.inotify_add_watch(self.queue, bytes(self.path), self.OPEN | self.CLOSE) < 0:
            raise unittest.SkipTest("no inotify")
        return self

    def __exit__(self, *_):
        try:
            self.count = sum(mask == self.OPEN for _, mask, _, _ in struct.iter_unpack("iIII", os.read(self.queue, 1 << 16)))
        except BlockingIOError:
            self.count = 0
        os.close(self.queue)


def f32(number):
    """The nearest number that f32 has."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


def header_of(tensors, metadata=None):
    """The header of a safetensors file as a dict; tensors are name -> (shape, numbers)."""
    header = {"__metadata__": metadata} if metadata else {}
    at = 0
    for name, (shape, numbers) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * len(numbers)]}
        at += 4 * len(numbers)
    return header


def data_of(tensors):
    return b"".join(struct.pack(f"<{len(n)}f", *n) for _, n in tensors.values())


def file_of(header, data):
    """The bytes of a safetensors file; the header is a dict, or text that may be anything."""
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    return struct.pack("<Q", len(text)) + text + data


def parts_of(content):
    """The header of a safetensors file as a dict, and the bytes after it."""
    length, = struct.unpack("<Q", content[:8])
    return json.loads(content[8:8 + length]), content[8 + length:]


def mlp_text(sizes):
    """The text of a network of these sizes, with ReLU between its layers."""
    inputs, ops, value = [], [], "%x"
    for i, (fan_in, out) in enumerate(zip(sizes, sizes[1:])):
        layer = f"layers.{i}"
        inputs += [f"%{layer}.weight: f32[{out}, {fan_in}]", f"%{layer}.bias: f32[{out}]"]
        ops.append(f"linear({value}, %{layer}.weight, %{layer}.bias) : f32[{out}]  @{layer}")
        value = f"%{len(ops) - 1}"
        if i + 2 < len(sizes):
            ops.append(f"relu({value}) : f32[{out}]  @{layer}")
            value = f"%{len(ops) - 1}"
    inputs.append(f"%x: f32[{sizes[0]}]")
    lines = "".join(f"  %{i} = {op}\n" for i, op in enumerate(ops))
    return f"function mlp({', '.join(inputs)}) {{\n{lines}  return logits = {value}\n}}\n"


def metadata_of(text):
    return {"limpid.format": "1", "limpid.function": text}


def model_bytes(sizes, tensors, text=None):
    metadata = metadata_of(text or mlp_text(sizes))
    return file_of(header_of(tensors, metadata), data_of(tensors))


# The networks that were worked out by hand.
NEURON = ([3, 1], {"layers.0.weight": ([1, 3], [0.4, -0.5, 0.3]), "layers.0.bias": ([1], [0.1])})
WHOLE = (
    [2, 3, 1],
    {
        "layers.0.weight": ([3, 2], [1, -1, 0, 1, 1, 1]),
        "layers.0.bias": ([3], [0, 0, 0]),
        "layers.1.weight": ([1, 3], [1, 1, 1]),
        "layers.1.bias": ([1], [0]),
    },
)
REAL = (
    [2, 3, 1],
    {
        "layers.0.weight": ([3, 2], [0.8, -0.3, -0.4, 0.6, 0.5, 0.9]),
        "layers.0.bias": ([3], [0.2, 0.1, -0.5]),
        "layers.1.weight": ([1, 3], [0.6, -0.2, 0.4]),
        "layers.1.bias": ([1], [0.1]),
    },
)


def template_classifier(pixels=784, classes=10):
    """One linear layer on images: class c weighs pixel i by a fixed pattern."""
    weight = [((7 * i + 13 * c) % 17 - 8) / 64 for c in range(classes) for i in range(pixels)]
    bias = [c / 8 for c in range(classes)]
    return (
        [pixels, classes],
        {"layers.0.weight": ([classes, pixels], weight), "layers.0.bias": ([classes], bias)},
    )


def npy(path, shape, numbers, kind="f"):
    """NumPy's file of f32 ("f") or i64 ("q")."""
    dims = "(" + "".join(f"{d}, " for d in shape) + ")"
    header = f"{{'descr': '<{'f4' if kind == 'f' else 'i8'}', 'fortran_order': False, 'shape': {dims}}}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode()
                     + struct.pack(f"<{len(numbers)}{kind}", *numbers))
    return path


def idx_bytes(dims, values):
    return struct.pack(f">HBB{len(dims)}I", 0, 8, len(dims), *dims) + bytes(values)


def write_idx_folder(folder, train_labels=(0, 1), test_labels=(1, 0)):
    """MNIST's four files with images of 2 x 2: pixel p of image i is (40 i + 10 p) mod 256."""
    folder.mkdir(exist_ok=True)
    for part, labels in (("train", train_labels), ("t10k", test_labels)):
        pixels = [(40 * i + 10 * p) % 256 for i in range(len(labels)) for p in range(4)]
        images = idx_bytes([len(labels), 2, 2], pixels)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(images)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(idx_bytes([len(labels)], labels))
