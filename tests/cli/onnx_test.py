"""ONNX models in the commands that read a model."""

import shutil
import struct
import unittest
import zipfile

import tool
from tool import npy


def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number > 0x7f:
        out += bytes([number & 0x7f | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """A field of a message of Protocol Buffers: a number, or text or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(op, inputs, outputs, **attributes):
    message = b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs)
    message += field(4, op)
    for name, value in attributes.items():
        message += field(5, field(1, name) + field(3, value) + field(20, 2))
    return message


def value_info(name, dims, element_type=1):
    shape = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, element_type) + field(2, shape)))


def weights(name, numbers):
    return (field(1, len(numbers)) + field(2, 1) + field(8, name)
            + field(9, struct.pack(f"<{len(numbers)}f", *numbers)))


def model(nodes, dims, initializers=(), out="y"):
    graph = b"".join(field(1, n) for n in nodes) + field(2, "net")
    graph += b"".join(field(5, i) for i in initializers)
    graph += field(11, value_info("x", dims)) + field(12, field(1, out))
    return field(1, 8) + field(7, graph) + field(8, field(2, 18))


SCALED = [node("Mul", ["x", "scale"], ["h"]), node("Relu", ["h"], ["y"])]
SCALE = [weights("scale", [2, -3])]


class Models(tool.ToolTest):
    def write(self, *arguments, **options):
        path = self.folder / "m.onnx"
        path.write_bytes(model(*arguments, **options))
        return path

    def test_a_leading_dynamic_dimension_is_the_batch(self):
        path = self.write(SCALED, ["batch", 2], SCALE)
        self.assertEqual(self.output("run", path, "--values", "5,-1"), "y = 10, 3\n")
        self.assertEqual(self.output("run", path, "--values", "5,1"), "y = 10, 0\n")
        self.assertIn("%x: f32[2]", self.output("show", path))
        self.assertEqual(self.document("summary", path)["parameters"], 2)
        self.assertIn("relu", self.output("trace", path, "--values", "5,-1"))

    def test_a_leading_one_is_dropped_too(self):
        path = self.write(SCALED, [1, 2], SCALE)
        self.assertEqual(self.output("run", path, "--values", "5,-1"), "y = 10, 3\n")

    def test_a_file_is_read_once(self):
        for nodes in (SCALED, [node("ReduceSum", ["x"], ["s"], keepdims=1), node("Add", ["x", "s"], ["y"])]):
            path = self.write(nodes, ["batch", 2], SCALE)
            with tool.Opens(path) as opens:
                self.assertEqual(self.run_tool("run", path, "--values", "5,-1").returncode, 0)
            self.assertEqual(opens.count, 1)

    def test_converted_it_is_the_same_model(self):
        path = self.write(SCALED, ["batch", 2], SCALE)
        out = self.folder / "m.safetensors"
        self.output("convert", path, out)
        self.assertEqual(self.output("run", out, "--values", "5,-1"), "y = 10, 3\n")
        self.assertEqual(self.output("show", out), self.output("show", path))

    def test_dimensions_that_are_missing_are_named(self):
        nodes = [node("Add", ["x", "x"], ["y"])]
        path = self.write([node("Relu", ["x"], ["y"])], ["batch", "length", "width"])
        self.refuses(1, "show m.onnx; show m.onnx --dim size=3")
        self.assertIn("f32[3, 2]", self.output("show", path, "--dim", "length=3", "--dim", "width=2"))
        self.refuses(2, *(("show", path, "--dim", dim) for dim in (
            "length", "length=", "=3", "length=x", "length=3x", "length=-1", "length=9223372036854775808")))
        path = self.write(nodes, ["batch", 2])
        self.assertIn("f32[4, 2]", self.output("show", path, "--dim", "batch=4"))

    def test_examples_that_may_affect_one_another_run_alone(self):
        nodes = [node("ReduceSum", ["x"], ["s"], keepdims=1), node("Add", ["x", "s"], ["y"])]
        path = self.write(nodes, ["batch", 2])
        run = self.run_tool("run", path, "--values", "3,4")
        self.assertEqual((run.returncode, run.stdout), (0, b"y = 10, 11\n"))
        self.says(run.stderr.decode())

    def several(self):
        """A model of x f32[batch, 2], state f32[1, batch, 2] and n i64[], which gives y and next."""
        nodes = [node("Cast", ["n"], ["f"], to=1), node("Squeeze", ["state"], ["s"]),
                 node("Add", ["x", "s"], ["a"]), node("Mul", ["a", "f"], ["y"]),
                 node("Neg", ["state"], ["next"])]
        graph = b"".join(field(1, n) for n in nodes) + field(2, "net")
        graph += field(11, value_info("x", ["batch", 2])) + field(11, value_info("state", [1, "batch", 2]))
        graph += field(11, value_info("n", [], 7)) + field(12, field(1, "y")) + field(12, field(1, "next"))
        path = self.folder / "several.onnx"
        path.write_bytes(field(1, 8) + field(7, graph) + field(8, field(2, 12)))
        x = npy(self.folder / "x.npy", [3, 2], [1, 2, 3, 4, 5, 6])
        state = npy(self.folder / "state.npy", [1, 3, 2], [10, 20, 30, 40, 50, 60])
        n = npy(self.folder / "n.npy", [], [2], "q")
        return path, ("--input", f"x={x}", "--input", f"state={state}", "--input", f"n={n}")

    def test_inputs_by_name(self):
        path, inputs = self.several()
        self.shows(("run", path, *inputs), ("run", path, *inputs, "--json"))
        out = self.folder / "out.npz"
        self.output("run", path, *inputs, "--out", out)
        self.assertEqual(zipfile.ZipFile(out).namelist(), ["y.npy", "next.npy"])
        self.assertIn("multiply", self.output("trace", path, *inputs))
        hashes = self.document("hash", path, *inputs)
        self.assertEqual(hashes["outputs"], self.document("hash", path, *inputs, "--threads", "2")["outputs"])
        with tool.Opens(path) as opens:
            self.output("run", path, *inputs)
        self.assertEqual(opens.count, 1)

    def test_outputs_of_one_name_are_numbered(self):
        """A model of Limpid's own; its outputs may have equal names, or none."""
        text = ("function f(%x: f32[2]) {\n  %0 = negate(%x) : f32[2]\n  %1 = abs(%x) : f32[2]\n"
                "  return y = %0, y = %1, %0\n}\n")
        path = self.folder / "f.safetensors"
        path.write_bytes(tool.model_bytes([], {}, text))
        x = npy(self.folder / "x.npy", [2], [1, -2])
        self.shows(("run", path, "--input", f"x={x}", "--json"))

    def test_inputs_that_do_not_fit_are_named(self):
        path, inputs = self.several()
        self.refuses(2, ("run", path, "--input", "x"), ("run", path, *inputs, *inputs[:2]), ("run", path, *inputs, "--out", "out.npy"))
        self.refuses(1, ("run", path, *inputs[:2]), ("run", path, *inputs, "--dim", "batch=4"), ("run", path, *inputs, "--input", "z=x.npy"),
                     ("run", path, "--input", "x=none.npy"))
        npy(self.folder / "n.npy", [], [2.0])
        self.refuses(1, ("run", path, *inputs))
        npy(self.folder / "n.npy", [], [2], "q")
        npy(self.folder / "state.npy", [1, 2, 2], [0] * 4)
        self.refuses(1, ("run", path, *inputs))

    def test_several_inputs_of_a_model_of_our_own(self):
        path, inputs = self.several()
        own = self.folder / "own.safetensors"
        self.assertIn("inputs f32[2], f32[1, 2], i64[]",
                      self.output("convert", path, own))
        self.assertIn("%state: f32[1, 2]", self.output("show", own))
        npy(self.folder / "state.npy", [3, 1, 2], [10, 20, 30, 40, 50, 60])
        self.assertEqual(self.output("run", own, *inputs).splitlines()[0],
                         "y f32[3, 2] = 22, 44, 66, 88, 110, 132")
        self.refuses(1, ("run", own, "--values", "1,2"))

    def test_what_is_no_model(self):
        self.write([node("Wobble", ["x"], ["y"])], ["batch", 2])
        (self.folder / "archive.onnx").write_bytes(b"PK\3\4 an archive")
        self.refuses(1, "run m.onnx; summary archive.onnx")

    def test_tests_of_the_onnx_project(self):
        case = self.folder / "cases/test_relu"
        data = case / "test_data_set_0"
        data.mkdir(parents=True)
        (case / "model.onnx").write_bytes(model([node("Relu", ["x"], ["y"])], [2]))
        (data / "input_0.pb").write_bytes(weights("x", [-1, 2]))
        (data / "output_0.pb").write_bytes(weights("y", [0, 2]))
        (self.folder / "cases/no_test").mkdir()
        self.shows("onnx-test cases; onnx-test cases/test_relu --json")
        for name in ("test_a", "test_z"):
            shutil.copytree(case, self.folder / "cases" / name)
        self.assertEqual([test["test"] for test in self.document("onnx-test", self.folder / "cases")["tests"]],
                         ["test_a", "test_relu", "test_z"])
        (data / "output_0.pb").write_bytes(weights("y", [0.5, 2]))
        for more in ((), ("--json",)):
            run = self.run_tool("onnx-test", case, *more)
            self.assertEqual(run.returncode, 1)
            self.says(" ".join((run.stdout + run.stderr).decode().split()))
        self.refuses(2, "onnx-test none")
        # Random results are compared by shape only.
        (case / "model.onnx").write_bytes(model([node("RandomNormalLike", ["x"], ["y"])], [2]))
        self.shows("onnx-test cases/test_relu")
        (data / "output_0.pb").write_bytes(weights("y", [0, 2, 4]))
        self.assertNotIn("random", self.run_tool("onnx-test", case).stdout.decode())


if __name__ == "__main__":
    unittest.main()
