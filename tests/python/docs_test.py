#!/usr/bin/env python3
"""docs/python.md: its programs, one after the other, print what the page says."""

import contextlib
import io
import os
import pathlib
import re
import unittest


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


if __name__ == "__main__":
    unittest.main()
