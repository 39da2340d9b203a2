#!/usr/bin/env python3
"""Which block of a source has a choice for a change of its text, that each is a choice of the program, and which of them an error of the
compiler is about."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import choices  # noqa: E402

SOURCE = """\
#include <cstdio>
#include <cstdlib>
int twos[] = {1 + 1, 2};
int pairs[][2] = {{3 - 2, 4}};
constexpr int thrice(int x) { return x + x + x; }
struct Sum {
  explicit Sum(int first) : value(first) { ++value; }
  int value;
};
int ten(int a) {
#ifdef NEVER
  return 9;
#endif
  return 10 * a;
}
int f(int a, int b) {
  int c = a + b;  // the "sum" of both
  if (a < b) {
    const int d = b - a;
    c += d;
  }
  const auto twice = [&](int x) { return x * 2; };
  for (int i = 0; i < a; ++i) c += ten(1);
  switch (c % 2) {
    case 0: {
      c += twice(twos[1]);
      break;
    }
    default: c -= 1;
  }
  const char* text = "a { b // c";
  return c + text[2];
}
int main(int, char** words) { std::printf("%d", f(std::atoi(words[1]), Sum(std::atoi(words[2])).value)); }
"""
# What stands there, what takes its place, and what is then printed for 2 and 2.
PRINTED = [
    ("", "", 153), ("++value", "--value", 145), ("a + b", "a - b", 147), ("const int d = b - a;\n    c += d;", "c += b;", 155),
    ("c += d;", "", 147), ("if (a < b) {", "{", 153), ("a < b", "a > b", 147), ("x * 2", "x + 3", 154),
    ("c += twice(twos[1]);", "for (int d : twos) c += d;", 153), ("      break;\n", "      c += 7;\n      break;\n", 160),
    ("case 0: {", "case 1: {", 148), ('"a { b // c"', '"a } b"', 155), ("c += ten(1)", "c += 11", 155),
]  # fmt: skip
# No function runs the first four as they are needed before; the others need their lines, or are no block.
NO_CHOICES = [
    ("1 + 1", "1 + 2"), ("3 - 2", "3"), ("x + x + x", "x"), ("value(first)", "value(-first)"), ("10 * a", "11 * a"),
    ("int b) {", "int b) {{"),
]  # fmt: skip


def change_of(was: str, to: str) -> choices.Change | None:
    begin = SOURCE.index(was)
    assert SOURCE.count(was) == 1
    return choices.change_of("limpid/a.cc", SOURCE, begin, begin + len(was), to)


class Choices(unittest.TestCase):
    def test_a_change_is_a_choice_of_the_smallest_block_around_it(self):
        changes = dict(enumerate((change_of(was, to) for was, to, _ in PRINTED[1:]), 1))
        self.assertEqual(changes[4].to, "const int d = b - a;")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            choices.write_support(path)
            (path / "a.cc").write_text(choices.with_choices(SOURCE, changes))
            subprocess.run(["c++", "-std=c++20", "-w", "a.cc", "limpid_choice.cc", "-o", "a"], cwd=path, check=True)

            def printed(number: int) -> int:
                environment = {"LIMPID_CHOICE": str(number)}
                run = subprocess.run([path / "a", "2", "2"], env=environment, capture_output=True, text=True, check=True)
                return int(run.stdout)

            self.assertEqual([printed(n) for n in range(len(PRINTED))], [number for *_, number in PRINTED])

    def test_what_is_no_block_of_a_function_has_none(self):
        for was, to in NO_CHOICES:
            with self.subTest(was):
                self.assertIsNone(change_of(was, to))

    def test_choices_stand_within_others(self):
        changes = {1: choices.Change("a.cc", 2, 7, "block", "b"), 2: choices.Change("a.cc", 3, 6, "expression", "c"),
                   3: choices.Change("a.cc", 5, 8, "statement", "d"), 4: choices.Change("a.cc", 8, 9, "statement", "")}  # fmt: skip
        text = choices.with_choices("0123456789", changes)
        one, two = "/*1*/ if (LIMPID_CHOSEN(1)) { b } else {", "/*2*/ LIMPID_CHOSEN(2) ? (c) : "
        lines = ['#include "limpid_choice.h"', "01", one, "2(", two, "345)6", "}", "7", "/*4*/ if (LIMPID_CHOSEN(4)) {  } else ", "89"]
        self.assertEqual(text.split("\n"), lines)

    def test_an_error_is_about_the_version_on_its_line_or_those_above_it(self):
        lines = {"limpid/a.cc": ["", "/*4*/ LIMPID", "/*7*/ LIMPID", "was", "", "/*9*/ LIMPID", "more of it", "was"]}

        def faults(line, what="error: no"):
            return choices.faults_of(f"noise\n{choices.WORK}/limpid/a.cc:{line}:3: {what}\n", lines)

        self.assertEqual(faults(2), {4})
        self.assertEqual(faults(3, "  required from here"), {7})
        self.assertEqual(faults(4), {4, 7})
        self.assertEqual(faults(7), {9})
        self.assertEqual(faults(1), {4})
        self.assertEqual(faults(3, "note: so"), set())
        self.assertEqual(choices.faults_of("/usr/include/vector:2:3: error: no", lines), set())


if __name__ == "__main__":
    unittest.main()
