"""The pages that the tool writes, and the promise that it tests."""

import json
import pathlib
import re
import unittest

import tool

DOCS = pathlib.Path(__file__).parents[2] / "docs"


class Pages(tool.ToolTest):
    def test_the_reference_is_what_the_op_table_says(self):
        self.assertEqual(self.output("ops", "--markdown"), (DOCS / "reference/ops.md").read_text(),
                         "run ./dev docs")

    def test_the_reference_is_what_the_doctor_looks_for(self):
        self.assertEqual(self.output("doctor", "--markdown"),
                         (DOCS / "reference/doctor.md").read_text(), "run ./dev docs")

    def test_the_keys_of_configurations_are_what_the_table_says(self):
        self.assertEqual(self.output("train", "--markdown"),
                         (DOCS / "reference/train.md").read_text(), "run ./dev docs")

    def test_the_operators_of_onnx_are_what_their_tables_say(self):
        if "onnx-ops" not in self.output("--help"):
            self.skipTest("the tool was built without ONNX")
        self.assertEqual(self.output("onnx-ops", "--reference"),
                         (DOCS / "reference/onnx.md").read_text(), "run ./dev docs")

    def test_one_op(self):
        text = self.output("ops", "softmax")
        self.assertTrue(text.startswith("## softmax\n\ne^(x - max) / sum of e^(x - max)\n"), text)
        self.assertIn(text, (DOCS / "reference/ops.md").read_text())

    def test_every_op_has_a_line(self):
        lines = self.output("ops").splitlines()
        self.assertRegex(lines[0], r"^op +formula +shapes$")
        self.assertGreater(len(lines), 90)
        self.assert_same_table(lines[1:], self.document("ops")["ops"], ("name", "formula", "shapes"))

    def assert_same_table(self, lines, rows, keys):
        """The lines of a table have the texts of the document, in columns."""
        self.assertEqual([line.split() for line in lines], [" ".join(row[key] for key in keys).split() for row in rows])

    def test_every_operator_of_onnx_has_a_line(self):
        if "onnx-ops" not in self.output("--help"):
            self.skipTest("the tool was built without ONNX")
        lines = self.output("onnx-ops").splitlines()
        self.assertRegex(lines[0], r"^operator +versions +becomes$")
        self.assert_same_table(lines[1:], self.document("onnx-ops")["operators"], ("name", "versions", "meaning"))

    def test_an_op_that_is_none(self):
        self.assertEqual(self.error(2, "ops", "convolve"),
                         "there is no op 'convolve'; `limpid ops` lists them")


class Promise(tool.ToolTest):
    def test_this_machine_computes_the_published_bits(self):
        lines = self.output("selftest").splitlines()
        self.assertRegex(lines[-1], r"^\d+ results equal the \d+ published hashes, in .* s: "
                                    r"this machine computes the same bits\.$")
        self.assertIn("exact", "".join(lines))
        compared, published = map(int, re.match(r"(\d+) results equal the (\d+) ", lines[-1]).groups())
        table = re.findall(r"^\| ([^|]+) \| [0-9a-f]{16} \|$", (DOCS / "hashes.md").read_text(), re.M)
        self.assertEqual(published, len([name for name in table if not name.startswith("every float")]))
        self.assertGreater(compared, published)

    def test_the_published_table_is_what_it_prints(self):
        self.assertTrue((DOCS / "hashes.md").read_text().endswith(self.output("selftest", "--print")),
                        "`limpid selftest --print` and docs/hashes.md differ")

    def test_a_wrong_hash_and_a_missing_one_are_found_and_named(self):
        wrong = self.folder / "hashes.md"
        wrong.write_text("".join(
            "| op relu | 0123456789abcdef |\n" if line.startswith("| op relu |") else line
            for line in (DOCS / "hashes.md").read_text().splitlines(keepends=True) if not line.startswith("| op tanh |")))
        run = self.run_tool("selftest", "--against", wrong)
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stdout.decode(), r"DIFFERS +op relu +[0-9a-f]{16}, published 0123456789abcdef")
        self.assertRegex(run.stdout.decode(), r"DIFFERS +op tanh +[0-9a-f]{16}, published nothing")
        self.assertRegex(run.stderr.decode(), r"^limpid: selftest: \d+ of \d+ results differ")
        # In the document every difference is named, once for each instruction set.
        run = self.run_tool("selftest", "--against", wrong, "--json")
        self.assertEqual(run.returncode, 1)
        document = json.loads(run.stdout)
        self.assertEqual({d["name"]: d.get("published") for d in document["differences"]},
                         {"op relu": "0123456789abcdef", "op tanh": None})
        self.assertEqual(document["differing"], len(document["differences"]))
        self.assertFalse(all(check["ok"] for check in document["checks"]))
        wrong.write_text("no table\n")
        self.assertIn("--against: expected lines", self.error(1, "selftest", "--against", wrong))

    def test_a_table_that_is_none(self):
        broken = self.folder / "hashes.md"
        broken.write_text("| op relu | 01234 |\n")
        self.assertRegex(self.error(1, "selftest", "--against", broken), "line 1: expected a hash")


class Hash(tool.ToolTest):
    def hashes(self, weight, *options):
        path = self.folder / "model.safetensors"
        sizes, tensors = tool.template_classifier()
        tensors["layers.0.bias"] = ([10], [weight] * 10)
        path.write_bytes(tool.model_bytes(sizes, tensors))
        return self.document("hash", path, "--data", "digits", *options)

    def test_threads_change_nothing_and_weights_do(self):
        one = self.hashes(0.25, "--threads", "1")
        self.assertEqual(one["examples"], 10000)
        self.assertRegex(one["outputs"], "^[0-9a-f]{16}$")
        self.assertEqual(self.hashes(0.25, "--threads", "2"), one)
        other = self.hashes(0.125, "--threads", "1")
        self.assertEqual(other["data"], one["data"])
        self.assertNotEqual(other["model"], one["model"])
        self.assertNotEqual(other["outputs"], one["outputs"])


if __name__ == "__main__":
    unittest.main()
