#!/usr/bin/env python3
"""Which tests are asked about a breakage, and what ends them."""

import os
import pathlib
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import asked  # noqa: E402

CHANGE = asked.Change("limpid/core/a.cc", 0, 1, "expression", "b")


def script(text: str, room: str = "core") -> asked.Test:
    return asked.Test((sys.executable, "-c", f"import os, pathlib, sys, time; {text}"), room)


class Asked(unittest.TestCase):
    def test_rooms_are_the_folders_of_the_tests(self):
        files = ("limpid/core/a.cc", "limpid/formats/onnx/a.cc", "apps/limpid/a.cc", "apps/limpid/lab/a.cc", "python/bindings/a.cc")
        self.assertEqual([asked.room_of(f) for f in files], ["core", "formats", "cli", "cli", "python"])

    def test_tests_are_asked_for_as_many_seconds_as_are_given_and_one_at_least(self):
        tests = [asked.Test(("a",), "core", seconds=s) for s in (3.0, 1.0, 2.0)]
        for seconds, expected in ((3.5, [1.0, 2.0]), (0, [1.0]), (100, [1.0, 2.0, 3.0])):
            self.assertEqual([t.seconds for t in asked.Breakage(CHANGE, 1, seconds).in_turn(tests)], expected)
        breakage = asked.Breakage(CHANGE, 1, 3.5)
        self.assertFalse(breakage.in_turn([]) or breakage.reached)
        breakage.in_turn(tests)
        others = [asked.Test(("b",), "laws", seconds=0.1)]
        self.assertEqual((breakage.in_turn(others), breakage.reached), ([], True), "the first ones took all of the time")

    def test_a_test_of_another_room_is_asked_about_what_lived_alone(self):
        reached = "pathlib.Path(os.environ['LIMPID_CHOICES_REACHED'], 'a').write_bytes(bytes([0, 1, 1, 0])) if 'LIMPID_CHOICES_REACHED' in os.environ"
        tests = [script(f"{reached} else sys.exit(os.environ['LIMPID_CHOICE'] == number)".replace("number", repr(n)), room)
                 for n, room in (("1", "core"), ("2", "laws"))]  # fmt: skip
        with mock.patch.object(asked, "tests_there", lambda: tests), mock.patch("builtins.print"):
            with mock.patch.object(asked, "learnt", wraps=asked.learnt) as learnt:
                ended = asked.judged({1: CHANGE}, 60, 2)
                self.assertEqual([c.args[0] for c in learnt.mock_calls], [tests[:1], []])
                self.assertEqual([(b.killed, b.reached) for b in ended], [(True, True)])
            ended = asked.judged(dict.fromkeys((1, 2, 3), CHANGE), 60, 2)
        self.assertEqual([(b.killed, b.reached) for b in ended], [(True, True), (True, True), (False, False)])

    def test_a_test_that_fails_or_takes_long_does_not_pass(self):
        self.assertTrue(asked.passes([script("")], {}, 60))
        self.assertFalse(asked.passes([script("sys.exit(1)")], {}, 60))
        self.assertFalse(asked.passes([script("os.abort()")], {}, 60))
        self.assertFalse(asked.passes([script("time.sleep(60)")], {}, 0.1))

    def test_nothing_outlives_a_stop(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(asked, "processes", asked.Processes()):
            pid = pathlib.Path(folder) / "pid"
            test = script(f"pathlib.Path({str(pid)!r}).write_text(str(os.getpid())); time.sleep(600)")
            thread = threading.Thread(target=asked.passes, args=([test], {}, 600))
            thread.start()
            while not (pid.exists() and pid.read_text()):
                time.sleep(0.01)
            asked.processes.stop()
            thread.join()
            with self.assertRaises(ProcessLookupError):
                os.kill(int(pid.read_text()), 0)
            with self.assertRaisesRegex(asked.Failed, "stopped"):
                asked.passes([test], {}, 600)


if __name__ == "__main__":
    unittest.main()
