"""Asks the tests of the build with choices about its breakages.

A test runs once without a breakage, to learn which it reaches and how long it takes. A breakage is then tried with the tests that reach
it, until one fails by a check, by a crash, or by taking ten times as long: the quick ones of its own room first, then others, as many as
take the given seconds.
"""

import concurrent.futures
import contextlib
import dataclasses
import json
import os
import random
import re
import resource
import signal
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import choices
from choices import BUILD, Change, Failed

LONGEST = 20  # seconds of a test that is asked, unless more are given
MEMORY = 16 << 30  # bytes that a broken program may use, less than a machine has
# Programs of unittest that are asked.
UNITTEST = re.compile(r"tests/(?:cli|python|serve|view)/(?!other_cpus|openai)\w+_test\.py$")


@dataclasses.dataclass
class Test:
    command: tuple[str, ...]
    room: str  # the folder in tests/
    name: str = ""  # of GoogleTest, one of its program's
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    seconds: float = 0
    reached: frozenset[int] = frozenset()


def room_of(file: str) -> str:
    """The folder in tests/ of the tests that are about the source."""
    first, second = Path(file).parts[:2]
    return {"apps": "cli", "limpid": second}.get(first, first)


class Processes:
    """Those that run, in any thread. Each has a group of its own, so that nothing that it starts outlives it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.groups: set[int] = set()
        self.stopped = False

    @contextlib.contextmanager
    def started(self, command: list[str], environment: dict[str, str], folder: str) -> Iterator[subprocess.Popen[bytes]]:
        with self.lock:
            if self.stopped:
                raise Failed("stopped")
            process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True, preexec_fn=limit, env=os.environ | environment,
            )  # fmt: skip
            self.groups.add(process.pid)
        try:
            yield process
        finally:
            with self.lock:
                self.kill(process.pid)
                self.groups.discard(process.pid)
            process.wait()

    def stop(self) -> None:
        """Ends those that run, and lets no other begin."""
        with self.lock:
            self.stopped = True
            for group in self.groups:
                self.kill(group)

    @staticmethod
    def kill(group: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    # Under nohup it is ignored, and tests of it would inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


processes = Processes()


@contextlib.contextmanager
def workers_of(jobs: int) -> Iterator[concurrent.futures.Executor]:
    with concurrent.futures.ThreadPoolExecutor(jobs) as workers:
        try:
            yield workers
        except BaseException:
            processes.stop()
            workers.shutdown(cancel_futures=True)
            raise


def passes(tests: list[Test], environment: dict[str, str], timeout: float) -> bool:
    """One test, or several of one program, until one fails."""
    names = ":".join(t.name for t in tests)
    more = [f"--gtest_filter={names}", "--gtest_brief=1", "--gtest_fail_fast"] if names else []
    environment = {"LOCPATH": str(BUILD / "tests/formats/locales")} | tests[0].environment | environment
    with tempfile.TemporaryDirectory() as folder:
        with processes.started([*tests[0].command, *more], environment, folder) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(timeout) == 0
    return False


def names_of(program: str, pattern: str) -> list[str]:
    """The tests of a program of GoogleTest that match."""
    suite, names = "", []
    for line in choices.call_well(program, "--gtest_list_tests", f"--gtest_filter={pattern}").splitlines():
        word = line.split()[0]
        if line.startswith(" "):
            names.append(suite + word)
        else:
            suite = word
    return names


def tests_there() -> list[Test]:
    tests = []
    for one in json.loads(choices.call_well("ctest", "--test-dir", str(BUILD / "tests"), "--show-only=json-v1"))["tests"]:
        properties = {p["name"]: p["value"] for p in one.get("properties", [])}
        environment = dict(line.split("=", 1) for line in properties.get("ENVIRONMENT", []))
        arguments = one.get("command", [])
        filters = [a.removeprefix("--gtest_filter=") for a in arguments if a.startswith("--gtest_filter=")]
        scripts = [a for a in arguments if UNITTEST.search(a)]
        if filters:
            names = [n for f in filters for n in (names_of(arguments[0], f) if "*" in f else [f])]
            tests += [Test((arguments[0],), Path(arguments[0]).parent.name, n, environment) for n in names]
        elif scripts:
            tests.append(Test((*arguments, "--failfast"), Path(scripts[0]).parent.name, environment=environment))
    return tests


def learnt(tests: list[Test], longest: float, jobs: int) -> list[Test]:
    """Those that pass without a breakage in `longest` seconds, with their times and with what they reach."""

    def learn(test: Test) -> Test | None:
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            if not passes([test], {"LIMPID_CHOICES_REACHED": folder}, longest):
                return None
            seconds = time.monotonic() - begin
            files = [path.read_bytes() for path in Path(folder).iterdir()]
        reached = frozenset(one.start() for data in files for one in re.finditer(b"\1", data))
        return dataclasses.replace(test, seconds=seconds, reached=reached)

    with workers_of(jobs) as workers:
        return [test for test in workers.map(learn, tests) if test]


@dataclasses.dataclass
class Breakage:
    change: Change
    number: int
    seconds: float  # of tests that may still be asked
    reached: bool = False
    killed: bool = False

    @property
    def room(self) -> str:
        return room_of(self.change.file)

    def in_turn(self, tests: list[Test]) -> list[Test]:
        """Of those that reach it, as many as take the seconds that are left, and one at least in all."""
        dice, chosen = random.Random(self.number), []
        for test in sorted(tests, key=lambda t: t.seconds if t.room == self.room else t.seconds + dice.random()):
            if self.reached and test.seconds > self.seconds:
                self.seconds = 0
                break
            self.reached, self.seconds = True, self.seconds - test.seconds
            chosen.append(test)
        return chosen

    def ask(self, tests: list[Test]) -> None:
        together: dict[tuple[str, ...], list[Test]] = defaultdict(list)
        for test in self.in_turn(tests):
            together[test.command].append(test)  # those of one program at once
        for some in together.values():
            if not passes(some, {"LIMPID_CHOICE": str(self.number)}, 10 + 10 * sum(t.seconds for t in some)):
                self.killed = True
                return


def judged(chosen: dict[int, Change], seconds: float, jobs: int) -> list[Breakage]:
    """What becomes of each breakage of the build."""
    breakages = [Breakage(change, number, seconds) for number, change in chosen.items()]
    rooms, there, known = {b.room for b in breakages}, tests_there(), list[Test]()
    for own in (True, False):
        left = [b for b in breakages if not b.killed]
        more = [t for t in there if (t.room in rooms) == own] if left else []
        known += learnt(more, max(LONGEST, seconds), jobs)
        print(f"{'tests of their rooms' if own else 'and others'}: {len(known)} of {len(there)}", flush=True)
        with workers_of(jobs) as workers:
            about = [[t for t in known if (t.room == b.room) == own and b.number in t.reached] for b in left]
            list(workers.map(Breakage.ask, left, about))
    return breakages
