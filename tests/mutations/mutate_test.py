#!/usr/bin/env python3
"""What may stand in the list, and when a score is too low."""

import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import choices  # noqa: E402
import mutate  # noqa: E402

SOURCE = """\
constexpr int kTwo = 2;
int f(int a, const Of<struct stat>& b) {
  write(a);
  sync(b);
  return a + kTwo;
}
"""


class Project(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for place in mutate.PLACES:
            (self.root / place).mkdir(parents=True)
        for file in ("limpid/a.cc", "limpid/a.h"):
            (self.root / file).write_text(SOURCE)
        for name in ("ROOT", "HERE"):
            patch = mock.patch.object(mutate, name, self.root)
            patch.start()
            self.addCleanup(patch.stop)

    def change(self, before: str, after: str, file: str = "limpid/a.cc") -> choices.Change:
        return mutate.change_of({"file": file, "from": before, "to": after, "why": "so"})

    def test_an_entry_is_a_choice_of_a_function(self):
        swapped = self.change("write(a);\n  sync(b);", "sync(b);\n  write(a);")
        self.assertEqual((swapped.kind, swapped.to), ("block", "sync(b);   write(a);   return a + kTwo;"))
        mutate.check_list({swapped: ""})
        for before, after, file, fault in (
            ("sync(c)", "", "limpid/a.cc", "got it 0 times"), ("a", "b", "limpid/a.cc", "got it 4 times"),
            ("kTwo = 2", "kTwo = 3", "limpid/a.cc", "within a function"), ("sync", "sync", "limpid/a.cc", "within a function"),
            ("sync", "flush", "limpid/a.h", "within a function"), ("sync", "flush", "limpid/b.cc", "no such file"),
        ):  # fmt: skip
            with self.subTest(before=before, file=file), self.assertRaisesRegex(mutate.Failed, fault):
                self.change(before, after, file)
        with self.assertRaisesRegex(mutate.Failed, "got file, from, to"):
            mutate.change_of({"file": "limpid/a.cc", "from": "sync", "to": "flush"})

    def test_what_a_drawing_makes_has_no_place(self):
        for before, after in (("a + kTwo", "a - kTwo"), ("  sync(b);\n", "")):
            with self.subTest(before), self.assertRaisesRegex(mutate.Failed, "--drawn makes it"):
                mutate.check_list({self.change(before, after): ""})

    def test_the_list_does_not_grow(self):
        entry = '[["limpid/a.cc"]]\nfrom = "write(a);"\nto = "write(b);"\nwhy = "so"\n'
        (self.root / "mutations.toml").write_text(entry * mutate.LONGEST_LIST)
        self.assertEqual(len(mutate.read_list()), 1)
        (self.root / "mutations.toml").write_text(entry * (mutate.LONGEST_LIST + 1))
        with self.assertRaisesRegex(mutate.Failed, "150 entries of the list at most, got 151"):
            mutate.read_list()

    def test_each_room_has_a_floor(self):
        (self.root / "floors.toml").write_text("core = 0.9\nops = 1.5\n")
        with self.assertRaisesRegex(mutate.Failed, "no other: nn, ops$"):
            mutate.read_floors({"core", "nn"})
        with self.assertRaisesRegex(mutate.Failed, "between 0 and 1: ops$"):
            mutate.read_floors({"core", "ops"})

    def test_a_score_is_compared_with_its_floor_by_what_was_drawn(self):
        for killed, tried, is_below in ((0, 1, False), (4, 10, False), (3, 10, True), (780, 1000, False), (760, 1000, True)):
            self.assertEqual(mutate.is_below(killed, tried, 0.8), is_below, (killed, tried))


if __name__ == "__main__":
    unittest.main()
