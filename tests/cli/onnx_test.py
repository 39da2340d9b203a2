"""ONNX models in the commands that read a model."""

import struct
import unittest

import tool


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


def value_info(name, dims):
    shape = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


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

    def test_converted_it_is_the_same_model(self):
        path = self.write(SCALED, ["batch", 2], SCALE)
        out = self.folder / "m.safetensors"
        self.output("convert", path, out)
        self.assertEqual(self.output("run", out, "--values", "5,-1"), "y = 10, 3\n")
        self.assertEqual(self.output("show", out), self.output("show", path))

    def test_dimensions_that_are_missing_are_named(self):
        nodes = [node("Add", ["x", "x"], ["y"])]
        path = self.write([node("Relu", ["x"], ["y"])], ["batch", "length", "width"])
        self.assertIn("not known: 'length' (axis 1 of input 'x'), 'width' (axis 2 of input 'x')",
                      self.error(1, "show", path))
        self.assertIn("f32[3, 2]", self.output("show", path, "--dim", "length=3", "--dim", "width=2"))
        self.assertIn("expected NAME=N", self.error(2, "show", path, "--dim", "length"))
        path = self.write(nodes, ["batch", 2])
        self.assertIn("f32[4, 2]", self.output("show", path, "--dim", "batch=4"))

    def test_examples_that_may_affect_one_another_run_alone(self):
        nodes = [node("ReduceSum", ["x"], ["s"], keepdims=1), node("Add", ["x", "s"], ["y"])]
        path = self.write(nodes, ["batch", 2])
        run = self.run_tool("run", path, "--values", "3,4")
        self.assertEqual((run.returncode, run.stdout), (0, b"y = 10, 11\n"))
        self.assertEqual(run.stderr, b"limpid: note: the model runs on a batch of 1: sum may mix the "
                                     b"examples of a batch\n")

    def test_missing_operators_are_named(self):
        path = self.write([node("Wobble", ["x"], ["y"])], ["batch", 2])
        self.assertIn("operators that Limpid does not have: Wobble ('y')", self.error(1, "run", path))

    def test_what_is_no_model(self):
        path = self.folder / "m.onnx"
        path.write_bytes(b"PK\3\4 an archive")
        self.assertIn("no message of Protocol Buffers", self.error(1, "summary", path))
        other = self.folder / "m.safetensors"
        self.assertIn("is no ONNX model", self.error(2, "summary", other, "--dim", "n=1"))
        self.assertIn("one of them is to be called NAME.onnx", self.error(2, "convert", other, other))

    def test_tests_of_the_onnx_project(self):
        case = self.folder / "cases/test_relu"
        data = case / "test_data_set_0"
        data.mkdir(parents=True)
        (case / "model.onnx").write_bytes(model([node("Relu", ["x"], ["y"])], [2]))
        (data / "input_0.pb").write_bytes(weights("x", [-1, 2]))
        (data / "output_0.pb").write_bytes(weights("y", [0, 2]))
        self.assertEqual(self.output("onnx-test", self.folder / "cases"), "1 passed, 0 failed\n")
        (data / "output_0.pb").write_bytes(weights("y", [0.5, 2]))
        run = self.run_tool("onnx-test", case)
        self.assertEqual(run.returncode, 1)
        self.assertIn(b"FAILED test_relu: output 0: 1 of 2 numbers differ, most by 0.5: 0 at 0, "
                      b"0.5 is expected\n0 passed, 1 failed\n", run.stdout)
        self.assertIn("is no folder with a model.onnx", self.error(2, "onnx-test", self.folder / "none"))


if __name__ == "__main__":
    unittest.main()
