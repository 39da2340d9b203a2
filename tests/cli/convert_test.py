"""Models from one format into another."""

import unittest

import tool


class Convert(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.safetensors"
        self.model.write_bytes(tool.model_bytes(*tool.REAL))
        self.onnx = self.folder / "model.onnx"

    def test_there_and_back_the_numbers_are_the_same(self):
        values = ("--values", "1.5,-0.7")
        self.assertRegex(self.output("convert", self.model, self.onnx), r"model.onnx: 4 tensors, input f32\[2\]\n")
        self.assertEqual(self.document("run", self.onnx, *values), self.document("run", self.model, *values))
        self.assertEqual(self.document("convert", self.model, self.onnx),
                         {"out": str(self.onnx), "tensors": 4, "inputs": [{"name": "x", "dtype": "f32", "shape": [2]}], "lost": []})
        back = self.folder / "back.safetensors"
        self.output("convert", self.onnx, back)
        self.assertEqual(self.document("run", back, *values), self.document("run", self.model, *values))

    def test_a_batch_of_a_size(self):
        self.output("convert", self.model, self.onnx, "--batch", "1")
        self.assertEqual(self.document("run", self.onnx, "--values", "2,-1"),
                         self.document("run", self.model, "--values", "2,-1"))

        # Whole batches by the name of the input: of that size, or of any.
        for size, sizes in ((("--batch", "3"), [3]), ((), [1, 2, 3])):
            self.output("convert", self.model, self.onnx, *size)
            taken = [rows for rows in (1, 2, 3) if self.run_tool(
                "run", self.onnx, "--input", f"x={tool.npy(self.folder / 'x.npy', [rows, 2], range(2 * rows))}").returncode == 0]
            self.assertEqual(taken, sizes)

    def test_what_makes_no_sense(self):
        other = self.folder / "other.safetensors"
        self.assertIn("expected two formats", self.error(2, "convert", self.model, other))
        self.assertIn("OUT", self.error(2, "convert", self.model))
        self.error(2, "convert", self.model, self.onnx, "--batch", "0")
        self.output("convert", self.model, self.onnx)
        self.assertIn("is not an ONNX model", self.error(2, "convert", self.onnx, other, "--batch", "3"))
        self.assertIn("No such file", self.error(1, "convert", self.model, self.folder / "none/m.onnx"))

    def test_a_training_run_is_not_overwritten(self):
        text, run = self.folder / "text.txt", self.folder / "run"
        text.write_text("to be or not to be, " * 20)
        self.output("train", "--data", f"text:{text}", "--model", "gpt", "--layers", "1", "--width", "8", "--heads", "1",
                    "--context", "4", "--steps", "1", "--out", run)
        kept = {path.name: path.read_bytes() for path in run.iterdir()}
        self.assertIn("is the folder of a training run", self.error(2, "convert", run, run))
        self.assertEqual(kept, {path.name: path.read_bytes() for path in run.iterdir()})
        self.assertEqual(self.run_tool("convert", run, f"{self.folder}/folder/").returncode, 0)


if __name__ == "__main__":
    unittest.main()
