"""Draws small breakages from the sources by itself, and says which of them no test notices.

usage: drawn.py [--seed SEED] [--seconds S] [--jobs N] COUNT [FILE...]

The list in mutations.toml has breakages that somebody thought of; these are nobody's choice. COUNT of them are drawn from the
sources of the library, of the tool and of the Python bindings, or from the files and folders that are named: a condition that always
holds, another operator or number, arguments that change places, a statement that is left out.

All are compiled at once, as choices.py describes; one that does not compile is left out. Every test of GoogleTest, and those in Python
of the tool, of its servers and of the package, runs once without a breakage, to learn which it reaches. Then each breakage is tried with
the tests that reach it, until one fails by a check, by a crash or by taking ten times as long: those of its own room first, then others,
S seconds of them (default: 5; few tests in Python are as quick).

Those that lived are printed with their places. Not each is a gap: some change nothing, or only how long it takes, and not every test
was asked. The exit status says only whether it could be tried.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import json
import math
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import choices
import mutate
from choices import MOST, PLACES, ROOT, Change, Failed, is_balanced, is_constant, masked

# The longest test that is asked, in seconds, unless --seconds is more.
LONGEST = 20

# ---- what can be broken

# The words and signs between spaces, as clang-format sets them, and what takes their place.
SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "+", "/": "*", "%": "/",
    "and": "or", "or": "and", "&&": "||", "||": "&&", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "+=": "-=", "-=": "+=", "*=": "+=",
}  # fmt: skip
NAMES = {"std::min": "std::max", "std::max": "std::min", "front()": "back()", "back()": "front()", "true": "false", "false": "true"}
# A statement begins with one of these where it is no expression that can be left out.
OTHERS = re.compile(
    r"(using|typedef|template|static_assert|throw|case|default|goto|friend|class|struct|enum|namespace|break|continue|delete"
    r"|public|private)\b"
)
DECLARATION = re.compile(
    r"(?P<how>(?:(?:static|const|constexpr|inline|mutable|thread_local) )*)[\w:]+(?:<[^;=]*>)?(?:::\w+)?(?:[&*]+ const)?[&*]* "
    r"[&*]*(?:const )?\w+(?:\[[^\]]*\])? = "
)
ASSIGNMENT = re.compile(r"[\w:.\->*&()]+(?:\[[^\]=]*\])*[\w:.\->*&()]* (?:=|\+=|-=|\*=|/=|\|=|&=|<<=|>>=|\^=) ")
STEP = re.compile(r"\+\+|--|[\w:.>\-\[\]*()]+(?:\+\+|--)$")
CALL = re.compile(r"(?![^(]*\breserve\()\*?[\w:.\->\[\]]+(?:<[^()]*>)?\(")


def end_of(text: str, begin: int) -> int:
    """Where the bracket at `begin` is closed; the end of the text if it is not."""
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
    return len(text)


def parts_of(text: str, separator: str) -> list[tuple[int, int]]:
    """The ranges between separators outside of brackets."""
    parts, depth, begin = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if depth == 0 and text.startswith(separator, at):
            parts.append((begin, at))
            begin = at + len(separator)
    return [*parts, (begin, len(text))]


def wrong_versions(text: str, mask: str) -> list[str]:
    """Of an expression."""

    def replaced(begin: int, end: int, to: str) -> str:
        return text[:begin] + to + text[end:]

    versions = []
    question = parts_of(mask, " ? ")
    if len(question) == 2:
        answers = parts_of(mask[question[1][0] :], " : ")
        if len(answers) == 2:
            versions += [text[question[1][0] :][begin:end] for begin, end in answers]
    for word in re.finditer(r"(?<= )(?:<=|>=|==|!=|<<|>>|&&|\|\||\+=|-=|\*=|[-<>+*/%&|]|and|or)(?= )", mask):
        versions.append(replaced(*word.span(), SWAPS[word[0]]))
    for number in re.finditer(r"(?<![\w.])\d+(?![\w.'])", mask):
        versions.append(replaced(*number.span(), str(int(number[0]) + 1)))
    for negation in re.finditer(r"\bnot |!(?=[\w(])", mask):
        versions.append(replaced(*negation.span(), ""))
    for name in re.finditer(r"(?<![\w:])(?:std::(?:min|max)\b|(?:front|back)\(\)|(?:true|false)\b)", mask):
        versions.append(replaced(*name.span(), NAMES[name[0]]))
    for call in re.finditer(r"\w\(", mask):
        if re.search(r"(?i:min|max|equal)\($", mask[: call.end()]):
            continue  # in any order
        begin, end = call.end(), end_of(mask, call.end() - 1)
        arguments = [text[begin + a : begin + b].strip() for a, b in parts_of(mask[begin:end], ",")]
        if 2 <= len(arguments) <= 4 and "<" not in mask[begin:end]:
            for i in range(len(arguments) - 1):
                swapped = [*arguments[:i], arguments[i + 1], arguments[i], *arguments[i + 2 :]]
                versions.append(replaced(begin, end, ", ".join(swapped)))
    return [v for v in dict.fromkeys(versions) if v != text]


class Source:
    """What can be broken in a file."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text, self.mask = file, text, masked(text)
        self.changes: list[Change] = []
        begin = at = 0
        while at < len(self.mask):
            if self.mask[at] in ";{}":
                if self.mask[at] == "{" and is_constant(self.mask[begin:at]):
                    at = end_of(self.mask, at)  # no choice at run time in there
                else:
                    self.statement(begin, at)
                begin = at + 1
            elif self.mask.startswith("for (", at) and not re.match(r"\w", self.mask[at - 1]):
                begin = end_of(self.mask, at + 4)
                self.loop(at + 5, begin)
                at, begin = begin, begin + 1
            at += 1

    def expression(self, begin: int, end: int, more: Iterable[str] = ()) -> None:
        while begin < end and self.mask[begin].isspace():
            begin += 1
        text, mask = self.text[begin:end], self.mask[begin:end]
        if mask.strip() and "\0" not in mask and not mask.startswith("{") and is_balanced(mask) and ";" not in mask:
            versions = dict.fromkeys([*more, *wrong_versions(text, mask)])
            self.changes += [Change(self.file, begin, end, "expression", v) for v in versions if v != text]

    def loop(self, begin: int, end: int) -> None:
        """What stands in the brackets of a for."""
        parts = [(begin + a, begin + b) for a, b in parts_of(self.mask[begin:end], ";")]
        if len(parts) == 3:
            first = self.mask.find(" = ", *parts[0])
            if first >= 0:
                self.expression(first + 3, parts[0][1])
            self.expression(*parts[1])

    def statement(self, begin: int, end: int) -> None:
        while begin < end and self.mask[begin].isspace():
            begin += 1
        mask = self.mask[begin:end]
        if not mask or "\0" in mask:
            return
        if head := re.match(r"(?:else )?(if|while) \(", mask):
            inside, close = begin + head.end(), end_of(self.mask, begin + head.end() - 1)
            if close < end:
                if " = " not in self.mask[inside:close]:
                    self.expression(inside, close, ["true", "false"] if head[1] == "if" else [])
                self.statement(close + 1, end)
        elif head := re.match(r"else\s+", mask):
            self.statement(begin + head.end(), end)
        elif self.mask[end] != ";" or OTHERS.match(mask):
            return
        elif head := re.match(r"return\b", mask):
            self.expression(begin + head.end(), end)
        elif head := DECLARATION.match(mask):
            if "constexpr" not in head["how"]:
                self.expression(begin + head.end(), end)
        elif is_balanced(mask) and any(kind.match(mask) for kind in (ASSIGNMENT, STEP, CALL)):
            versions = ["", *wrong_versions(self.text[begin:end], mask)]
            self.changes += [Change(self.file, begin, end, "statement", v) for v in versions]


# ---- the tests


@dataclasses.dataclass
class Test:
    command: mutate.Command
    room: str  # the folder in tests/
    name: str = ""  # of GoogleTest, one of its program's
    seconds: float = 0
    reached: frozenset[int] = frozenset()


def run(tests: list[Test], environment: dict[str, str], timeout: float) -> mutate.Outcome:
    """One test, or several of one program, until one fails."""
    command = tests[0].command
    names = ":".join(t.name for t in tests)
    more = [f"--gtest_filter={names}", "--gtest_brief=1", "--gtest_fail_fast"] if names else []
    arguments, environment = [*command.arguments, *more], command.environment | environment
    return mutate.run(dataclasses.replace(command, arguments=arguments, environment=environment), timeout)


@contextlib.contextmanager
def workers_of(jobs: int) -> Iterator[concurrent.futures.Executor]:
    with concurrent.futures.ThreadPoolExecutor(jobs) as workers:
        try:
            yield workers
        except BaseException:
            mutate.running.stop()
            workers.shutdown(cancel_futures=True)
            raise


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
    for one in json.loads(choices.call_well("ctest", "--test-dir", str(choices.BUILD / "tests"), "--show-only=json-v1"))["tests"]:
        command = mutate.command_of(one)
        arguments = command.arguments
        filters = [a.removeprefix("--gtest_filter=") for a in arguments if a.startswith("--gtest_filter=")]
        scripts = [a for a in arguments if mutate.UNITTEST.search(a)]
        if filters:
            command, room = dataclasses.replace(command, arguments=arguments[:1]), Path(arguments[0]).parent.name
            tests += [Test(command, room, n) for f in filters for n in (names_of(arguments[0], f) if "*" in f else [f])]
        elif scripts:
            tests.append(Test(command, Path(scripts[0]).parent.name))
    return tests


def learn(tests: list[Test], longest: float, jobs: int) -> list[Test]:
    """Those that pass without a breakage in `longest` seconds, with their times and with what they reach."""

    def learnt(test: Test) -> Test | None:
        with tempfile.TemporaryDirectory(dir=mutate.WORK) as folder, contextlib.suppress(mutate.Skipped):
            outcome = run([test], {"LIMPID_CHOICES_REACHED": folder}, longest)
            files = [path.read_bytes() for path in Path(folder).iterdir()]
            reached = frozenset(one.start() for data in files for one in re.finditer(b"\1", data))
            if outcome.passed:
                return dataclasses.replace(test, seconds=outcome.seconds, reached=reached)
        return None

    with workers_of(jobs) as workers:
        return [test for test in workers.map(learnt, tests) if test]


def in_turn(change: Change, number: int, tests: list[Test], seconds: float) -> list[Test]:
    """Tests of `seconds` altogether, and at least one: quick ones of the room of the file first, then any."""
    room, dice = room_of(change.file), random.Random(number)
    order = sorted(tests, key=lambda t: (0, t.seconds) if t.room == room else (1, t.seconds + dice.random()))
    chosen: list[Test] = []
    for test in order:
        seconds -= test.seconds
        if chosen and seconds < 0:
            break
        chosen.append(test)
    return chosen


def lives(change: Change, number: int, tests: list[Test], seconds: float) -> bool:
    together: dict[str, list[Test]] = defaultdict(list)
    for test in in_turn(change, number, tests, seconds):
        together[str(test.command)].append(test)  # those of one program at once
    for some in together.values():
        with contextlib.suppress(mutate.Skipped):
            if not run(some, {"LIMPID_CHOICE": str(number)}, 10 + 10 * sum(t.seconds for t in some)).passed:
                return False
    return True


# ---- all of it


def room_of(file: str) -> str:
    """The folder in tests/ of the tests that are about the file."""
    first, second = Path(file).parts[:2]
    return {"apps": "cli", "limpid": second}.get(first, first)


def sources_of(names: list[str]) -> list[str]:
    files = []
    for name in names or PLACES:
        path = (ROOT / name).resolve()
        if not path.exists() or not any(path.is_relative_to(ROOT / place) for place in PLACES):
            raise Failed(f"expected a file or a folder in {', '.join(PLACES)}, got '{name}'")
        files += [path] if path.is_file() else [*path.rglob("*.cc"), *path.rglob("*-inl.h")]
    relative = {str(f.relative_to(ROOT)) for f in files}
    return sorted(f for f in relative if not f.startswith(choices.WITHOUT))


def short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def described(change: Change) -> str:
    text = (ROOT / change.file).read_text()
    was, line = text[change.begin : change.end], 1 + text.count("\n", 0, change.begin)
    same = len(os.path.commonprefix([was, change.to])) if change.to else 0
    behind = min(len(os.path.commonprefix([was[same:][::-1], change.to[same:][::-1]])), 60)
    cut = max(0, same - 20)
    to = short(change.to[cut : len(change.to) - max(0, behind - 20)]) if change.to else "nothing"
    return f"{change.file}:{line}: {short(was[cut : len(was) - max(0, behind - 20)])}  ->  {to}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="drawn", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, metavar="COUNT")
    parser.add_argument("files", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--seed", default=time.strftime("%Y-%m-%d"))
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    if not 1 <= arguments.count < MOST:
        parser.error(f"COUNT {arguments.count}: 1 to {MOST - 1} are expected")
    if not 0 <= arguments.seconds < math.inf:
        parser.error(f"--seconds {arguments.seconds}: a number of 0 or more is expected")
    # A shell ignores SIGINT for what it starts in the background.
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    mutate.WORK.mkdir(parents=True, exist_ok=True)  # of mutate.run

    changes = [c for f in sources_of(arguments.files) for c in Source(f, (ROOT / f).read_text()).changes]
    drawn = random.Random(arguments.seed).sample(changes, min(arguments.count, len(changes)))
    chosen = dict(enumerate(drawn, 1))
    print(f"{len(chosen)} of {len(changes)} breakages, by --seed {arguments.seed}", flush=True)
    choices.build(chosen)
    print(f"{len(chosen)} of them compile", flush=True)
    there = tests_there()
    longest = max(LONGEST, arguments.seconds)
    tests = learn(there, longest, arguments.jobs)
    if len(tests) < len(there):
        left = len(there) - len(tests)
        print(f"{left} tests are not asked: without a breakage they fail, are skipped, or take over {longest} s", flush=True)
    reaching: dict[int, list[Test]] = defaultdict(list)
    for test in tests:
        for number in test.reached & chosen.keys():
            reaching[number].append(test)
    print(f"{len(reaching)} of them are reached by {len(tests)} tests", flush=True)

    begin, lived = time.monotonic(), Counter[str]()
    with workers_of(arguments.jobs) as workers:
        trials = {n: workers.submit(lives, chosen[n], n, reaching[n], arguments.seconds) for n in sorted(reaching)}
        for number, trial in trials.items():
            if trial.result():
                lived[room_of(chosen[number].file)] += 1
                print(f"lived  {described(chosen[number])}", flush=True)
    tried = Counter(room_of(chosen[n].file) for n in reaching)
    for room in sorted(tried):
        print(f"{room:12} {tried[room] - lived[room]} of {tried[room]} killed")
    print(f"{len(reaching) - lived.total()} of {len(reaching)} killed, in {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        print(f"drawn: {failure}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit("drawn: stopped")
