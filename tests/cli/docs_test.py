"""The pages that the tool writes, and the promise that it tests."""

import json
import pathlib
import re
import unittest

import tool

DOCS = pathlib.Path(__file__).parents[2] / "docs"


class Pages(tool.ToolTest):
    def test_one_op(self):
        text = self.output("ops", "softmax")
        self.assertTrue(text.startswith("## softmax\n\ne^(x - max) / sum of e^(x - max)\n"), text)
        self.assertIn(text, (DOCS / "reference/ops.md").read_text())

    def test_tables(self):
        self.assert_same_table("ops", self.document("ops")["ops"], ("name", "formula", "shapes"))
        if "onnx-ops" in self.output("--help"):
            self.assert_same_table("onnx-ops", self.document("onnx-ops")["operators"], ("name", "versions", "meaning"))

    def assert_same_table(self, command, rows, keys):
        """The lines of a table have the texts of the document, in columns."""
        self.assertEqual([line.split() for line in self.output(command).splitlines()[1:]],
                         [" ".join(row[key] for key in keys).split() for row in rows])


class Promise(tool.ToolTest):
    def test_this_machine_computes_the_published_bits(self):
        lines = self.output("selftest").splitlines()
        compared, published = map(int, re.match(r"(\d+) results equal the (\d+) ", lines[-1]).groups())
        table = re.findall(r"^\| ([^|]+) \| [0-9a-f]{16} \|$", (DOCS / "hashes.md").read_text(), re.M)
        self.assertEqual(published, len([name for name in table if not name.startswith("every float")]))
        self.assertGreater(compared, published)

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
        for text in ("no table\n", "| op relu | 01234 |\n"):
            wrong.write_text(text)
            self.refuses(1, "selftest --against hashes.md")


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
