#!/usr/bin/env python3
"""What mutate makes of a test that skips: it passes, and proves nothing."""

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


if __name__ == "__main__":
    unittest.main()
