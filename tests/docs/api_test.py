"""What docs/api/make.py accepts: comments as the headers have them; and that it refuses what has none.

usage: api_test.py MAKE
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HEADER = """\
// Point: a place in the plane.
#pragma once

namespace limpid {

struct Point {
  double x = 0, y = 0;  // in metres
  const char* name = "";
  double first() const { return x; }
  bool operator==(const Point&) const = default;
};

// Sums over all points; <p> & @q stand for themselves.
double sum(const Point* points);
double sum_of_squares(const Point* points);

// A template, whose body declares nothing.
template <class T>
T twice(T value) {
  const T once = value;

  return once + value;
}
UNDOCUMENTED
}  // namespace limpid
"""


class Api(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "limpid").mkdir()

    def make(self, undocumented):
        (self.folder / "limpid/limpid.h").write_text(HEADER.replace("UNDOCUMENTED", undocumented))
        run = subprocess.run([sys.executable, "-B", MAKE, self.folder, self.folder / "out"],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return run.returncode, run.stdout

    def test_comments_as_the_headers_have_them(self):
        self.assertEqual(self.make(""), (0, ""))
        page = (self.folder / "out/html/structlimpid_1_1Point.html").read_text()
        self.assertIn("a place in the plane", page)
        self.assertEqual(page.count("in metres"), 2)

    def test_what_has_none(self):
        for declaration in ("double length(const Point& p);", "struct Line {\n  int a;\n};", "enum class Side { kLeft };",
                            "class C {\n public:\n  C(int i);\n};\n"):
            status, output = self.make("\n" + declaration + "\n")
            self.assertNotEqual(status, 0, declaration)
            self.assertIn("is not documented", output)


if __name__ == "__main__":
    MAKE = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
