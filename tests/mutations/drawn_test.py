#!/usr/bin/env python3
"""Which breakages are drawn from a source, and that each is a choice of the program."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import choices  # noqa: E402
import drawn  # noqa: E402

SOURCE = """\
// if (a < b) return; is no statement here
#define LESS(a, b) ((a) < (b))
constexpr int kTwo = 1 + 1;
constexpr int twice(int x) { return x + x; }
const char* const kText = "x = 1 + 1;";

int f(int a, int b) {
  int c = less(a, b) ? 10 : 20;
  if (a == b && a > 3) c += 5;
  for (int i = 0; i < a; ++i) step(c);
  reserve(c);
  return min(a, c);
}
"""
# What stands there, and what takes its place.
EXPECTED = [
    ("less(a, b) ? 10 : 20", "10"), ("less(a, b) ? 10 : 20", "20"), ("less(a, b) ? 10 : 20", "less(a, b) ? 11 : 20"),
    ("less(a, b) ? 10 : 20", "less(a, b) ? 10 : 21"), ("less(a, b) ? 10 : 20", "less(b, a) ? 10 : 20"),
    ("a == b && a > 3", "true"), ("a == b && a > 3", "false"), ("a == b && a > 3", "a != b && a > 3"),
    ("a == b && a > 3", "a == b || a > 3"), ("a == b && a > 3", "a == b && a >= 3"), ("a == b && a > 3", "a == b && a > 4"),
    ("c += 5", ""), ("c += 5", "c -= 5"), ("c += 5", "c += 6"), ("0", "1"), ("i < a", "i <= a"), ("step(c)", ""),
]  # fmt: skip
# What f(4, 4) is with each of them.
RESULTS = [19, 29, 29, 30, 29, 29, 24, 24, 29, 29, 24, 24, 19, 30, 28, 30, 25]


class Drawn(unittest.TestCase):
    def test_statements_of_functions_are_broken_and_nothing_else(self):
        changes = drawn.Source("limpid/a.cc", SOURCE).changes
        self.assertEqual([(SOURCE[c.begin : c.end], c.to) for c in changes], EXPECTED)

    def test_each_is_a_choice(self):
        changes = dict(enumerate(drawn.Source("limpid/a.cc", SOURCE).changes, 1))
        begin = "#include <cstdio>\nbool less(int a, int b) { return a < b; }\nvoid step(int& c) { c += 1; }\nvoid reserve(int) {}\nint min(int, int c) { return c; }\n"
        end = '\nint main() { std::printf("%d", f(4, 4)); }\n'
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            choices.write_support(path)
            (path / "a.cc").write_text(begin + choices.with_choices(SOURCE, changes) + end)
            subprocess.run(["c++", "-std=c++20", "-w", "a.cc", "limpid_choice.cc", "-o", "a"], cwd=path, check=True)

            def result(number):
                run = subprocess.run([path / "a"], env={"LIMPID_CHOICE": str(number), "LIMPID_CHOICES_REACHED": str(path / "reached")},
                                     capture_output=True, text=True, check=True)  # fmt: skip
                return int(run.stdout)

            (path / "reached").mkdir()
            self.assertEqual(result(0), 29)
            (reached,) = (path / "reached").iterdir()  # of one process
            self.assertEqual([n for n, was in enumerate(reached.read_bytes()) if was], [*range(1, len(EXPECTED) + 1)])
            self.assertEqual([result(n) for n in changes], RESULTS)


if __name__ == "__main__":
    unittest.main()
