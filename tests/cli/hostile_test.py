"""Files that are broken, by accident or on purpose: one line, exit code 1, nothing written."""

import gzip
import json
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

    def expect_broken(self, content):
        path = self.folder / "broken.safetensors"
        path.write_bytes(content)
        self.refuses(1, *((name, path, *rest) for name, *rest in self.COMMANDS))
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

    def test_bytes_that_are_no_file(self):
        for content in (self.good + b"\0", tool.file_of(tool.header_of(self.tensors), self.data)):
            self.expect_broken(content)

    def test_tensors_that_lie(self):
        begin, end = self.header["layers.1.weight"]["data_offsets"]
        for changes in ({"data_offsets": [begin - 4, end - 4]}, {"dtype": "I32"}):
            self.expect_broken(self.with_header(**changes))
        for tensors in ({name: value for name, value in self.tensors.items() if name != "layers.1.bias"},
                        {**self.tensors, "layers.1.bias": ([2], [0, 0])}, {**self.tensors, "more": ([1], [0])}):
            self.expect_broken(tool.model_bytes([2, 3, 1], tensors))

    def expect_broken_text(self, text):
        self.expect_broken(tool.file_of(tool.header_of(self.tensors, tool.metadata_of(text)), self.data))

    def test_text_that_is_no_function(self):
        for text in ("\x1b[31m", self.text.replace("f32[3, 2]", "f32[3"), self.text.replace("relu(%0) : f32[3]", "relu(%0) : f32[4]")):
            self.expect_broken_text(text)

    def test_logits_of_no_token(self):
        text = "function m(%w: f32[0], %x: i32[4]) {\n  return logits = %w\n}\n"
        config = {"data": {"task": "next_token", "class_names": ["a", "b"]}}
        metadata = {**tool.metadata_of(text), "limpid.config": json.dumps(config)}
        tensors = {"w": ([0], [])}
        path = self.folder / "m.safetensors"
        path.write_bytes(tool.file_of(tool.header_of(tensors, metadata), tool.data_of(tensors)))
        self.refuses(1, "run m.safetensors --prompt ab; run m.safetensors --prompt ab --json")

    def test_text_that_asks_for_too_much(self):
        broadcast = "  %3 = broadcast(%2) {shape = [1073741824, 1]} : f32[1073741824, 1]\n  return"
        self.expect_broken_text(self.text.replace("%x", "%y").replace("  return", broadcast))
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

    def expect_broken(self):
        self.refuses(1, *((name, self.model, "--data", "idx:data", *rest) for name, *rest in (("eval",), ("run", "--index", "1"), ("trace",))))

    def write(self, name, content):
        (self.data / name).write_bytes(content)

    def test_the_folder_is_good(self):
        self.output("eval", self.model, "--data", f"idx:{self.data}")

    def test_files_that_are_missing(self):
        self.refuses(1, "eval model.safetensors --data idx:nowhere")
        (self.data / "t10k-labels-idx1-ubyte").unlink()
        self.expect_broken()

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

    def test_labels_that_do_not_fit(self):
        for labels in ([1, 7], [1, 0, 1]):
            self.write("t10k-labels-idx1-ubyte", tool.idx_bytes([len(labels)], labels))
            self.expect_broken()
        tool.write_idx_folder(self.data, train_labels=[0, 9], test_labels=[9, 0])
        self.refuses(1, "eval model.safetensors --data idx:data; run model.safetensors --data idx:data")

    def test_a_header_that_lies(self):
        self.write("t10k-images-idx3-ubyte", tool.idx_bytes([2, 2, 2], [0] * 7))
        self.expect_broken()


if __name__ == "__main__":
    unittest.main()
