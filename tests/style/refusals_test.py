#!/usr/bin/env python3
"""Tests of the golden file of messages: what Refusals notices, and what bless.py makes of what was recorded."""

import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import bless  # noqa: E402
import refusals  # noqa: E402

SOURCE = refusals.TESTS.parent


def recorded(body, golden, folder=None):
    """The result of a test that does this with itself."""

    class Probe(refusals.Refusals):
        def test(self):
            body(self)

    result = unittest.TestResult()
    environment = {"LIMPID_BLESS": folder} if folder else {}
    with unittest.mock.patch.object(refusals, "_golden", golden), unittest.mock.patch.dict(os.environ, environment):
        if not folder:
            os.environ.pop("LIMPID_BLESS", None)
        Probe("test").run(result)
    return result


def speak(test):
    for _ in range(2):
        test.says(f"{tempfile.gettempdir()}/a-b/c.txt, {SOURCE}/README.md, {SOURCE}/build/debug/x\na\tb\n")
    test.refused(lambda: int("x"), ValueError)


HEADING = "[style/refusals Probe.test]"
SPOKEN = ["TMP/c.txt, SOURCE/README.md, BUILD/x", "a\\x09b", "", "invalid literal for int() with base 10: 'x'"]


class Recording(unittest.TestCase):
    def test_the_golden_lines_pass_and_others_are_shown(self):
        self.assertTrue(recorded(speak, {HEADING: SPOKEN}).wasSuccessful())
        for golden, body in (({"": [""]}, speak), ({HEADING: SPOKEN[1:]}, speak), ({HEADING: ["a"]}, lambda test: None)):
            self.assertEqual(len(recorded(body, golden).failures), 1)
        shown = recorded(speak, {HEADING: [SPOKEN[0], "other", *SPOKEN[2:]]}).failures[0][1]
        self.assertIn("\n- other\n+ a\\x09b\n./dev bless", shown)

    def test_of_texts_that_differ_in_what_they_got_the_first_counts(self):
        def body(test):
            for text in ("at least 3, got 2", "at least 3, got 1", "at most 3, got 4"):
                test.says(text)

        self.assertTrue(recorded(body, {HEADING: ["at least 3, got 2", "at most 3, got 4"]}).wasSuccessful())

    def test_what_is_accepted_or_refused_otherwise_fails(self):
        for kind, call in (("shape", lambda: None), ("shape", lambda: int("x")), (ValueError, lambda: {}[0])):
            self.assertFalse(recorded(lambda test: test.refused(call, kind), {"": [""]}).wasSuccessful())

    def test_a_test_that_does_not_end_says_nothing_of_its_lines(self):
        result = recorded(lambda test: test.skipTest("no more"), {HEADING: SPOKEN})
        self.assertEqual((len(result.skipped), result.failures, result.errors), (1, [], []))

    def test_blessing_writes_what_was_recorded(self):
        with tempfile.TemporaryDirectory() as folder:
            for body in (speak, lambda test: test.skipTest("no more")):
                self.assertFalse(recorded(body, {HEADING: ["old"]}, folder).failures)
            found = sorted(one for path in pathlib.Path(folder).iterdir() for one in bless.parse(path.read_text()))
        self.assertEqual(found, [(HEADING, SPOKEN), (HEADING + " kept", [])])


class Merging(unittest.TestCase):
    OLD = {"[a S.gone]": ["1"], "[a S.kept]": ["2"], "[a S.new]": ["3"], "[a S.each/*]": ["p", "q"], "[b S.other]": ["4"]}
    RECORDED = [("[a S.kept] kept", []), ("[a S.new]", ["5", "3"]), ("[a S.silent]", []), ("[a S.each/*]", ["r"]), ("[a S.each/*]", ["o", "r"])]

    def test_tests_that_ran_get_their_new_lines(self):
        some, _ = bless.merge(self.OLD, self.RECORDED, False)
        self.assertEqual(some, {**self.OLD, "[a S.new]": ["5", "3"], "[a S.each/*]": ["o", "p", "q", "r"]})
        every, against = bless.merge(self.OLD, self.RECORDED, True)
        self.assertEqual(every, {"[a S.kept]": ["2"], "[a S.new]": ["5", "3"], "[a S.each/*]": ["o", "r"], "[b S.other]": ["4"]})
        self.assertEqual(against, [])

    def test_the_file_is_read_as_it_was_written(self):
        messages = {"[a S.one]": ["[x] 1"], "[a S.two]": ["1", "", "2"], "[b S.each/*]": ["1"], "[b S.none]": [""]}
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(bless, "GOLDEN", pathlib.Path(folder) / "golden"):
            bless.write(messages)
            self.assertEqual(bless.read(), messages)

    def test_two_runs_that_say_different_things_are_told(self):
        _, against = bless.merge({}, [("[a S.t]", ["1"]), ("[a S.t]", ["1"]), ("[a S.t]", ["2"])], True)
        self.assertEqual(len(against), 1)


if __name__ == "__main__":
    unittest.main()
