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
        self.shows("convert model.safetensors model.onnx; convert model.safetensors model.onnx --json")
        self.assertEqual(self.document("run", self.onnx, *values), self.document("run", self.model, *values))
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

    def test_without_a_batch_the_shapes_are_those_of_the_model(self):
        self.output("convert", self.model, self.onnx, "--batch", "0")
        shown = self.output("show", self.onnx)
        self.assertIn("%x: f32[2]", shown)

    def test_what_makes_no_sense(self):
        self.output("convert", self.model, self.onnx)
        self.refuses(2, """
            convert model.safetensors other.safetensors; convert model.safetensors model.onnx --batch -1
            convert model.onnx other.safetensors --batch 3; summary model.safetensors --dim n=1""")
        self.refuses(1, "convert model.safetensors none/m.onnx")

    def test_a_training_run_is_not_overwritten(self):
        text, run = self.folder / "text.txt", self.folder / "run"
        text.write_text("to be or not to be, " * 20)
        self.output("train", "--data", f"text:{text}", "--model", "gpt", "--layers", "1", "--width", "8", "--heads", "1",
                    "--context", "4", "--steps", "1", "--out", run)
        kept = {path.name: path.read_bytes() for path in run.iterdir()}
        self.refuses(2, "convert run run")
        self.assertEqual(kept, {path.name: path.read_bytes() for path in run.iterdir()})
        self.assertEqual(self.run_tool("convert", run, f"{self.folder}/folder/").returncode, 0)


if __name__ == "__main__":
    unittest.main()
