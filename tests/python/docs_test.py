#!/usr/bin/env python3
"""docs/python.md: its programs, one after the other, print what the page says. The Python on the pages of the tour prints what
the C++ before it prints. docs/inside.ipynb shows what it shows. Names of activations are those of docs/reference/train.md."""

import ast
import contextlib
import io
import json
import os
import pathlib
import re
import tempfile
import unittest

import limpid


class Page(unittest.TestCase):
    def test_what_is_printed(self):
        text = (pathlib.Path(os.environ["LIMPID_SOURCE"]) / "docs/python.md").read_text()
        parts = re.findall(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", text, re.M | re.S)
        self.assertGreater(len(parts), 2)
        names = {}
        for code, wanted in parts:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, "docs/python.md", "exec"), names)
            self.assertEqual(printed.getvalue(), wanted)

    def test_the_notebook(self):
        """Every cell of code gives what it prints and what its last line is, as text and as HTML."""
        notebook = json.loads((pathlib.Path(os.environ["LIMPID_SOURCE"]) / "docs/inside.ipynb").read_text())
        names, compared = {}, 0
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            outputs = {output["output_type"]: output for output in cell["outputs"]}
            body, result, printed = ast.parse("".join(cell["source"])), None, io.StringIO()
            last = body.body.pop() if "execute_result" in outputs else None
            with contextlib.redirect_stdout(printed):
                exec(compile(body, "inside.ipynb", "exec"), names)
                if last is not None:
                    result = eval(compile(ast.Expression(last.value), "inside.ipynb", "eval"), names)
            self.assertEqual(printed.getvalue(), "".join(outputs.get("stream", {}).get("text", [])))
            if last is not None:
                wanted = outputs["execute_result"]["data"]
                self.assertEqual(repr(result), "".join(wanted["text/plain"]))
                self.assertEqual(result._repr_html_(), "".join(wanted["text/html"]))
            compared += 1
        self.assertGreater(compared, 4)

    def test_the_tour_in_python(self):
        pages = sorted((pathlib.Path(os.environ["LIMPID_SOURCE"]) / "docs/tour").glob("[0-9]*.md"))
        count = 0
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for page in pages:
                names = {"lp": limpid}
                for wanted, code in re.findall(r"^```text\n((?:(?!```)[^\n]*\n)*)```\n```python\n(.*?)^```$", page.read_text(), re.M | re.S):
                    printed = io.StringIO()
                    with contextlib.redirect_stdout(printed):
                        exec(compile(code, page.name, "exec"), names)
                    self.assertEqual(printed.getvalue(), wanted, page.name)
                    count += 1
                self.assertEqual(page.read_text().count("```python"), page.read_text().count("```\n```python"), page.name)
            os.chdir("/")
        self.assertGreater(count, 15)

    def test_the_activations_are_those_of_training(self):
        text = (pathlib.Path(os.environ["LIMPID_SOURCE"]) / "docs/reference/train.md").read_text()
        self.assertEqual(", ".join(limpid.activations()), re.search(r"^\| `model.activation` \| [^|]* \| text \| ([^|]*) \|", text, re.M).group(1))


if __name__ == "__main__":
    unittest.main()
