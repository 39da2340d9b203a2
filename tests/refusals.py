"""What the product says, kept out of the tests: the messages that a test records are compared at its end with those of
tests/messages.txt. `./dev bless` writes that file from what the tests record; its diff is reviewed."""

from __future__ import annotations

import collections.abc
import contextlib
import os
import pathlib
import re
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS))
import bless  # noqa: E402

_golden: bless.Messages = {}


def lines_of(text: str) -> list[str]:
    """Without what differs between machines and runs, and in lines without control characters."""
    source = str(TESTS.parent)
    text = re.sub(re.escape(source) + r"/build/[^/ '\":,;)\n]+", "BUILD", text).replace(source, "SOURCE")
    text = re.sub(re.escape(tempfile.gettempdir()) + r"/[^/ '\":,;)\n]+", "TMP", text)
    return [re.sub(r"[\x00-\x1f\x7f]", lambda c: f"\\x{ord(c.group()):02x}", line) for line in text.split("\n")]


def _expected(lines: list[str]) -> list[str]:
    return [line.split(", got ")[0] for line in lines]


class Refusals(unittest.TestCase):
    """A test that records what the product says. Of texts of a test that differ in what they got alone the first counts; folders of this
    machine are called TMP, BUILD and SOURCE."""

    _said: list[list[str]]

    def says(self, text: str) -> None:
        """Records a text that the product said: lines of a tool's stderr, a warning, a field of an answer."""
        lines = lines_of(text)
        if _expected(lines) not in map(_expected, self._said):
            self._said.append(lines)

    @contextlib.contextmanager
    def refusal(self, kind: str | type[BaseException]) -> collections.abc.Iterator[None]:
        """Expects an exception of this type or, of Limpid's, of this code, and records its message."""
        try:
            yield
        except (Exception, KeyboardInterrupt) as error:
            message = str(error)
            if isinstance(kind, str):
                self.assertEqual(getattr(error, "code", type(error).__name__), kind, message)
            elif not isinstance(error, kind):
                raise
            self.says(message)
            return
        self.fail(f"expected to be refused: {kind}")

    def refused(self, call: collections.abc.Callable[[], object], code: str | type[BaseException]) -> None:
        with self.refusal(code):
            call()

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        result = self.defaultTestResult() if result is None else result
        before = _not_passed(result)
        self._said = []
        # The first cleanup is the last to run.
        self.addCleanup(lambda: self._compare(_not_passed(result) == before))
        return super().run(result)

    def _compare(self, passed: bool) -> None:
        said = [line for lines in self._said for line in lines]
        heading = self._heading()
        if folder := os.environ.get("LIMPID_BLESS"):
            # What a test that did not end says is not all: its old lines stay.
            with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, delete=False) as file:
                file.write(bless.entry(heading + ("" if passed else " kept"), said))
        elif passed:
            if not _golden:
                _golden.update(bless.read())
            expected = _golden.get(heading, [])
            if expected != said:
                self.fail(_difference(heading, expected, said))

    def _heading(self) -> str:
        file = sys.modules[type(self).__module__].__file__ or ""
        program = pathlib.Path(file).resolve().relative_to(TESTS).with_suffix("")
        return f"[{str(program).removesuffix('_test')} {'.'.join(self.id().split('.')[-2:])}]"


def _not_passed(result: unittest.TestResult) -> int:
    return len(result.failures) + len(result.errors) + len(result.skipped)


def _difference(heading: str, expected: list[str], said: list[str]) -> str:
    begin = len(os.path.commonprefix([expected, said]))
    end = len(os.path.commonprefix([expected[begin:][::-1], said[begin:][::-1]]))
    marked = [f"{mark} {line}" for mark, lines in (("-", expected), ("+", said)) for line in lines[begin : len(lines) - end]]
    return "\n".join([f"messages differ from those of tests/messages.txt, {heading}", *marked, "./dev bless accepts them after a review"])
