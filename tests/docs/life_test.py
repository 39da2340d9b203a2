"""docs/life-of-a-batch.md: every name that the page gives a file for is in that file.

usage: life_test.py SOURCE
"""

import pathlib
import re
import sys
import unittest

HOP = re.compile(r"^\| .* \| `([^`]+)` \| (\S+) \|$", re.M)


class Life(unittest.TestCase):
    def test_names_are_in_their_files(self):
        hops = HOP.findall((SOURCE / "docs/life-of-a-batch.md").read_text())
        self.assertGreater(len(hops), 20)
        for name, file in hops:
            text = (SOURCE / file).read_text()
            for part in name.split("::"):
                self.assertRegex(text, rf"\b{re.escape(part)}\b", f"{name} in {file}")


if __name__ == "__main__":
    SOURCE = pathlib.Path(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
