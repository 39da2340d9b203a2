"""Files that are broken, by accident or on purpose: one line, exit code 1, nothing written."""

import gzip
import json
import struct
import unittest

import tool


class BrokenModel(tool.ToolTest):
    """Every command that reads a model meets every broken one."""

    COMMANDS = (
        ("show",),
        ("summary",),
        ("run", "--values", "1,2"),
        ("trace", "--values", "1,2"),
        ("eval", "--data", "digits"),
    )

    def expect_broken(self, content, part=""):
        path = self.folder / "broken.safetensors"
        path.write_bytes(content)
        for name, *rest in self.COMMANDS:
            self.assertIn(part, self.error(1, name, path, *rest))
        self.assertEqual([p.name for p in self.folder.iterdir()], [path.name])
        self.assertEqual(path.read_bytes(), content)

    def setUp(self):
        super().setUp()
        sizes, self.tensors = tool.REAL
        self.text = tool.mlp_text(sizes)
        self.header = tool.header_of(self.tensors, tool.metadata_of(self.text))
        self.data = tool.data_of(self.tensors)
        self.good = tool.file_of(self.header, self.data)

    def with_header(self, **changes):
        """The file with fields of layers.1.weight changed."""
        header = json.loads(json.dumps(self.header))
        header["layers.1.weight"].update(changes)
        return tool.file_of(header, self.data)

    def test_the_whole_file_is_good(self):
        path = self.folder / "good.safetensors"
        path.write_bytes(self.good)
        for name, *rest in self.COMMANDS[:-1]:
            self.output(name, path, *rest)

    def test_truncated_anywhere(self):
        path = self.folder / "broken.safetensors"
        for size in [*range(0, 24), *range(24, len(self.good), 37), len(self.good) - 1]:
            path.write_bytes(self.good[:size])
            self.error(1, "show", path)

    def test_bytes_flipped(self):
        """Any result is correct except a crash, a hang or a second line of output."""
        path = self.folder / "broken.safetensors"
        for at in range(0, len(self.good) - len(self.data), 11):
            content = bytearray(self.good)
            content[at] ^= 0x21
            path.write_bytes(content)
            run = self.run_tool("run", path, "--values", "1,2")
            self.assertIn(run.returncode, (0, 1, 2), at)
            self.assertLessEqual(run.stderr.count(b"\n"), 1, at)

    def test_something_after_the_end(self):
        self.expect_broken(self.good + b"\0", "the file holds")

    def test_wrong_magic(self):
        self.expect_broken(b"PK\x03\x04" + self.good)
        self.expect_broken(struct.pack("<Q", 8) + b"[1,2,3] ", "must begin with '{'")
        self.expect_broken(b"")

    def test_oversized_header(self):
        for length in (100_000_001, 1 << 40, (1 << 64) - 1):
            self.expect_broken(struct.pack("<Q", length) + self.good[8:], "header")

    def test_header_that_is_no_json(self):
        for text in ("{", "{}{", "{'a':1}", "{\"a\":1", "{\"\\ud800\":1}", "{" * 200_000):
            self.expect_broken(tool.file_of(text, b""))
        self.expect_broken(struct.pack("<Q", 3) + b'{"\xff')

    def test_duplicate_keys(self):
        entry = json.dumps(self.header["layers.0.bias"])
        inside = json.dumps(self.header)[1:-1]
        for extra in (f'"layers.0.bias": {entry}', f'"layers.0.bia\\u0073": {entry}'):
            self.expect_broken(tool.file_of(f"{{{inside}, {extra}}}", self.data), "duplicate")
        twice = json.dumps(self.header).replace('"dtype": "F32"', '"dtype": "F32", "dtype": "F32"', 1)
        self.expect_broken(tool.file_of(twice, self.data), "duplicate")
        twice = json.dumps(self.header).replace('"limpid.format": "1"',
                                                '"limpid.format": "1", "limpid.format": "1"')
        self.expect_broken(tool.file_of(twice, self.data), "duplicate")

    def test_offsets(self):
        begin, end = self.header["layers.1.weight"]["data_offsets"]
        self.expect_broken(self.with_header(data_offsets=[begin - 4, end - 4]), "overlapping")
        self.expect_broken(self.with_header(data_offsets=[begin + 4, end + 4]))
        self.expect_broken(self.with_header(data_offsets=[end, begin]), "end before they begin")
        self.expect_broken(self.with_header(data_offsets=[begin, end + 4]), "needs 12")
        self.expect_broken(self.with_header(data_offsets=[begin]))
        self.expect_broken(self.with_header(data_offsets=[-1, end]))
        self.expect_broken(self.with_header(data_offsets=[begin, 1 << 64]))

    def test_shapes(self):
        for shape in ([1 << 40, 1 << 40], [1 << 63], [1 << 62, 4], [1 << 64], [-1, -3], [0], ["3"],
                      [1] * 9, 3):
            self.expect_broken(self.with_header(shape=shape))

    def test_dtypes(self):
        self.expect_broken(self.with_header(dtype="F31"), "unknown dtype")
        self.expect_broken(self.with_header(dtype="F8_E4M3"), "not supported")
        self.expect_broken(self.with_header(dtype="I32"), "i32[1, 3], the function expects f32[1, 3]")
        self.expect_broken(self.with_header(dtype=7))

    def test_no_model(self):
        self.expect_broken(tool.file_of(tool.header_of(self.tensors), self.data),
                           "is a safetensors file, but not a Limpid model")

    def test_tensors_that_do_not_fit_the_function(self):
        missing = dict(self.tensors)
        del missing["layers.1.bias"]
        self.expect_broken(tool.model_bytes([2, 3, 1], missing), "'layers.1.bias', 'x'")
        other = dict(self.tensors, **{"layers.1.bias": ([2], [0, 0])})
        self.expect_broken(tool.model_bytes([2, 3, 1], other), "f32[2], the function expects f32[1]")
        surplus = dict(self.tensors, more=([1], [0]))
        self.expect_broken(tool.model_bytes([2, 3, 1], surplus), "'more'")

    def expect_broken_text(self, text, part=""):
        metadata = tool.metadata_of(text)
        self.expect_broken(tool.file_of(tool.header_of(self.tensors, metadata), self.data), part)

    def test_text_that_is_no_function(self):
        for text in ("", "function", "function f(", "\x1b[31m", self.text[:-3], self.text + "more",
                     self.text.replace("linear", "lineal"), self.text.replace("relu(%0)", "relu(%9)"),
                     self.text.replace("relu(%0) : f32[3]", "relu(%0) : f32[4]"),
                     self.text.replace("%1 =", "%0 ="), self.text.replace("f32[3, 2]", "f32[3"),
                     self.text.replace("f32[3, 2]", "f32[99999999999999999999]"),
                     self.text.replace("return logits = %2", "return %7")):
            self.expect_broken_text(text, "function text, line")

    def test_logits_of_no_token(self):
        text = "function m(%w: f32[0], %x: i32[4]) {\n  return logits = %w\n}\n"
        config = {"data": {"task": "next_token", "class_names": ["a", "b"]}}
        metadata = {**tool.metadata_of(text), "limpid.config": json.dumps(config)}
        tensors = {"w": ([0], [])}
        path = self.folder / "m.safetensors"
        path.write_bytes(tool.file_of(tool.header_of(tensors, metadata), tool.data_of(tensors)))
        for more in ((), ("--json",)):
            self.assertIn("the model gives f32[1, 0], expected logits of tokens",
                          self.error(1, "run", path, "--prompt", "ab", *more))

    def test_text_that_asks_for_too_much(self):
        self.expect_broken_text(
            self.text.replace("%x: f32[2]", "%y: f32[2]").replace("%x", "%y")
            .replace("  return", "  %3 = broadcast(%2) {shape = [1073741824, 1]} : f32[1073741824, 1]\n"
                     "  return"), "take more than")
        self.expect_broken_text(self.text.replace("f32[3, 2]", "f32[4611686018427387904, 4]"))

    def test_paths(self):
        for path in (self.folder / "missing", self.folder, "/dev/null", "/dev/zero"):
            for name, *rest in self.COMMANDS:
                self.error(1, name, path, *rest)
        for name, *rest in self.COMMANDS:
            self.error(2, name, "", *rest)


class BrokenData(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.safetensors"
        self.model.write_bytes(tool.model_bytes(*tool.template_classifier(4, 2)))
        self.data = self.folder / "data"
        tool.write_idx_folder(self.data)

    def expect_broken(self, part=""):
        for command in (("eval",), ("run", "--index", "1"), ("trace",)):
            name, *rest = command
            message = self.error(1, name, self.model, "--data", f"idx:{self.data}", *rest)
            self.assertIn(part, message)

    def write(self, name, content):
        (self.data / name).write_bytes(content)

    def test_the_folder_is_good(self):
        self.output("eval", self.model, "--data", f"idx:{self.data}")

    def test_no_folder(self):
        self.error(1, "eval", self.model, "--data", f"idx:{self.folder}/nowhere")

    def test_a_file_is_missing(self):
        (self.data / "t10k-labels-idx1-ubyte").unlink()
        self.expect_broken("t10k-labels-idx1-ubyte")

    def test_gzip_cut_short(self):
        path = self.data / "t10k-images-idx3-ubyte"
        packed = gzip.compress(path.read_bytes())
        path.unlink()
        for size in range(2, len(packed)):
            self.write("t10k-images-idx3-ubyte.gz", packed[:size])
            self.error(1, "eval", self.model, "--data", f"idx:{self.data}")
        self.write("t10k-images-idx3-ubyte.gz", packed)
        self.output("eval", self.model, "--data", f"idx:{self.data}")
        self.write("t10k-images-idx3-ubyte.gz", packed[:-8] + bytes(8))
        self.expect_broken()

    def test_labels_out_of_range(self):
        self.write("t10k-labels-idx1-ubyte", tool.idx_bytes([2], [1, 7]))
        self.expect_broken("row 1 has label 7")

    def test_labels_beyond_the_model(self):
        tool.write_idx_folder(self.data, train_labels=[0, 9], test_labels=[9, 0])
        for command in ("eval", "run"):
            message = self.error(1, command, self.model, "--data", f"idx:{self.data}")
            self.assertIn("10 classes", message)

    def test_counts_that_differ(self):
        self.write("t10k-labels-idx1-ubyte", tool.idx_bytes([3], [1, 0, 1]))
        self.expect_broken("3 labels for the 2 images")

    def test_headers_that_lie(self):
        for content in (b"", b"\0\0\x08", tool.idx_bytes([2, 2, 2], [0] * 7),
                        tool.idx_bytes([2, 2, 2], [0] * 9), tool.idx_bytes([1 << 31] * 3, []),
                        tool.idx_bytes([0, 2, 2], []), b"\0\0\x0b\x01\0\0\0\x01\0\0", b"\1" * 40):
            self.write("t10k-images-idx3-ubyte", content)
            self.expect_broken()


if __name__ == "__main__":
    unittest.main()
