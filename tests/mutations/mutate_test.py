#!/usr/bin/env python3
"""What mutate makes of a test that skips: it passes, and proves nothing. And where it puts what it breaks of the Python package."""

import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import mutate  # noqa: E402

PROGRAM = """
import unittest
class Tests(unittest.TestCase):
    def test_a(self): self.skipTest("not here")
    def test_b(self): {}
unittest.main()
"""


def command(body: str) -> mutate.Command:
    """A program of unittest with two tests, the first of which skips."""
    return mutate.Command([sys.executable, "-c", PROGRAM.format(body)])


class Skips(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patch = mock.patch.object(mutate, "WORK", pathlib.Path(folder.name))
        patch.start()
        self.addCleanup(patch.stop)

    def unbroken(self, body: str) -> float:
        with mock.patch.object(mutate, "commands_of", lambda build, test: [command(body)]):
            return mutate.seconds_unbroken.__wrapped__(None, ("ctest", body))

    def test_a_program_that_skips_all_of_its_tests_is_skipped(self):
        with self.assertRaises(mutate.Skipped):
            self.unbroken("self.skipTest('nor here')")

    def test_a_program_that_skips_some_says_how_many(self):
        self.assertGreater(self.unbroken("pass"), 0)
        outcome = mutate.run(command("pass"), 60)
        self.assertTrue(outcome.passed)
        self.assertEqual(outcome.how, "1 of its 2 tests are skipped here")

    def test_one_that_fails_as_well_has_failed(self):
        outcome = mutate.run(command("self.fail()"), 60)
        self.assertFalse(outcome.passed)
        self.assertEqual(outcome.how, "a failed check")

    def test_nothing_is_said_of_one_that_skips_none(self):
        self.assertIsNone(mutate.skips_of_unittest("...\n---\nRan 3 tests in 0.1s\n\nOK\n"))

    def test_a_skip_of_googletest_counts_alone(self):
        self.assertTrue(mutate.Outcome(True, "", 1, "[  SKIPPED ] 1 test.\n").skipped_all)
        self.assertFalse(mutate.Outcome(True, "", 1, "[  PASSED  ] 1 test.\n").skipped_all)


class Package(unittest.TestCase):
    """A project of one source of the bindings with its header, one file of Python's, and the module."""

    MODULE = "python/limpid/_core.so"

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name)
        self.commands = []
        for path, text in (
            ("python/bindings/array.cc", '#include "array.h"\nint zero = 0;\n'), ("python/bindings/array.h", "// of array.cc\n"),
            ("python/limpid/nn.py", "ZERO = 0\n"), ("build/python/limpid/nn.py", "ZERO = 0\n"), (f"build/{self.MODULE}", "the module\n"),
        ):
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        for name, value in (("ROOT", self.root), ("BUILD", self.root / "build"), ("output_of", self.commands.append)):
            patch = mock.patch.object(mutate, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        self.build = mock.Mock()
        self.build.path.return_value = self.MODULE
        self.build.objects.return_value = ["array.o"]
        self.build.compilers = {"array.o": ["c++", "-o", "array.o", "-c", str(self.root / "python/bindings/array.cc")]}
        self.build.linker.return_value = ["c++", "-shared", "-o", self.MODULE, "array.o"]
        self.folder = self.root / "mutated"

    def mutated(self, file: str) -> dict[str, str]:
        mutation = mutate.Mutation("one", file, " 0", " 1", [], ["limpid_python"], ("ctest", "^python"))
        return mutate.mutated_programs(self.build, mutation, self.folder)

    def test_a_file_of_the_package_is_replaced_in_a_copy_of_it(self):
        places = self.mutated("python/limpid/nn.py")
        self.assertEqual(places, {str(self.root / "build/python"): str(self.folder / "python")})
        self.assertEqual((self.folder / "python/limpid/nn.py").read_text(), "ZERO = 1\n")
        self.assertEqual((self.folder / self.MODULE).read_text(), "the module\n")
        self.assertEqual(self.commands, [])

    def test_a_source_of_the_module_is_compiled_beside_its_headers_and_linked_into_a_copy_of_the_package(self):
        places = self.mutated("python/bindings/array.cc")
        self.assertEqual(places, {str(self.root / "build/python"): str(self.folder / "python")})
        over = self.folder / "over/python/bindings"
        self.assertEqual((over / "array.cc").read_text(), '#include "array.h"\nint zero = 1;\n')
        self.assertEqual((over / "array.h").read_text(), "// of array.cc\n")
        compiled = str(self.folder / "0.o")
        self.assertEqual([c for c in self.commands[0] if c.endswith((".cc", ".o"))], [compiled, str(over / "array.cc")])
        self.assertEqual(self.commands[1][:5], ["c++", "-shared", "-o", str(self.folder / self.MODULE), compiled])
        self.assertEqual((self.folder / "python/limpid/nn.py").read_text(), "ZERO = 0\n")


if __name__ == "__main__":
    unittest.main()
