"""Draws small breakages from the sources by itself, and says which of them no test notices.

usage: drawn.py [--seed SEED] [--seconds S] [--jobs N] COUNT [FILE...]

The list in mutations.toml has breakages that somebody thought of; these are nobody's choice. COUNT of them are drawn from the
sources of the library, of the tool and of the Python bindings, or from the files and folders that are named: a condition that always
holds, another operator or number, arguments that change places, a statement that is left out.

All are compiled at once, in a copy of the project in build/drawn. Each is a choice between what stands there and a wrong version of
it, made by the environment variable LIMPID_DRAWN; one that does not compile is left out. Every test of GoogleTest, and those in Python
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
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import mutate
from mutate import ROOT, Failed

WORK = ROOT / "build/drawn"
BUILD = WORK / "build/release"
MOST = 65536  # breakages in a build
# The longest test that is asked, in seconds, unless --seconds is more.
LONGEST = 20
PLACES = ("limpid", "apps/limpid", "python/bindings")  # of sources

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


@dataclasses.dataclass(frozen=True)
class Change:
    """In a file, `to` in the place of text[begin:end]; an empty statement if `to` is empty."""

    file: str
    begin: int
    end: int
    is_statement: bool
    to: str


def masked(text: str) -> str:
    """The text with blanks for comments, and "_" for what strings hold. Lines of the preprocessor are of the character "\\0"."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        if found.startswith("/"):
            return re.sub(r"[^\n]", " ", found)
        if found.startswith("#"):
            return re.sub(r"[^\n]", "\0", found)
        return found[0] + re.sub(r"[^\n]", "_", found[1:-1]) + found[-1]

    return re.sub(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|^#(?:\\\n|[^\n])*',
        blank, text, flags=re.DOTALL | re.MULTILINE,
    )  # fmt: skip


def end_of(text: str, begin: int) -> int:
    """Where the bracket at `begin` is closed; the end of the text if it is not."""
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
    return len(text)


def is_balanced(text: str) -> bool:
    open_ones = []
    for c in text:
        if c in "([{":
            open_ones.append(c)
        elif c in ")]}" and (not open_ones or "([{".index(open_ones.pop()) != ")]}".index(c)):
            return False
    return not open_ones


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
                before = self.mask[begin:at].replace("if constexpr", "")
                if self.mask[at] == "{" and re.search(r"\bconst(?:expr|eval|init)\b", before):
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
            self.changes += [Change(self.file, begin, end, False, v) for v in versions if v != text]

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
            self.changes += [Change(self.file, begin, end, True, v) for v in versions]


def with_choices(text: str, changes: dict[int, Change]) -> str:
    """The text of a file where each of its changes can be chosen by its number."""
    places: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, change in changes.items():
        places[change.begin, change.end].append(number)
    result, at = "", 0
    for (begin, end), numbers in sorted(places.items()):
        if begin < at:
            continue  # within one that has choices already
        was = text[begin:end]
        result += text[at:begin] + ("" if changes[numbers[0]].is_statement else "(")
        # A version stands on lines of its own, so that an error says which it is.
        for number in numbers:
            to = changes[number].to
            if changes[number].is_statement:
                result += f"\n/*{number}*/ if (LIMPID_IS_DRAWN({number})) {{ {to + ';' if to else ''} }} else "
            else:
                result += f"\n/*{number}*/ LIMPID_IS_DRAWN({number}) ? ({to}) : "
        result += f"\n{was}" if changes[numbers[0]].is_statement else f"\n({was}))"
        at = end
    return '#include "drawn_choice.h"\n' + result + text[at:]


# ---- the build with choices

CHOICE_HEADER = f"""\
#ifndef LIMPID_DRAWN_CHOICE_H
#define LIMPID_DRAWN_CHOICE_H
extern "C" {{
extern int limpid_drawn;
extern unsigned char limpid_drawn_reached[{MOST}];
}}
#define LIMPID_IS_DRAWN(n) (limpid_drawn_reached[n] = 1, limpid_drawn == (n))
#endif
"""
CHOICE_SOURCE = """\
#include "drawn_choice.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" {
int limpid_drawn;
unsigned char limpid_drawn_reached[sizeof limpid_drawn_reached];
}

namespace {
// A test may start many processes. Each writes its own file.
void write_reached() {
  const char* const folder = std::getenv("LIMPID_DRAWN_REACHED");
  if (!folder) return;
  const std::string path = std::string(folder) + "/" + std::to_string(getpid());
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (!file) return;
  std::fwrite(limpid_drawn_reached, 1, sizeof limpid_drawn_reached, file);
  std::fclose(file);
}
// Before all other objects with a constructor.
[[gnu::constructor(101)]] void begin() {
  const char* const number = std::getenv("LIMPID_DRAWN");
  limpid_drawn = number ? std::atoi(number) : 0;
  std::atexit(write_reached);
}
}  // namespace
"""
# Called at the end of the project's CMakeLists.txt.
CHOICE_CMAKE = """\
function(limpid_drawn)
  foreach(target limpid limpid_lab limpid_onnx limpid_python limpid_serve limpid_tool limpid_view)
    if(TARGET ${target})
      target_compile_options(${target} PRIVATE -w -Wno-error)
    endif()
  endforeach()
  target_sources(limpid PRIVATE ${CMAKE_SOURCE_DIR}/drawn_choice.cc)
endfunction()
cmake_language(DEFER CALL limpid_drawn)
"""


def write(path: Path, text: str | bytes) -> None:
    """Leaves a file that has this text as it is, so that nothing is compiled again."""
    data = text.encode() if isinstance(text, str) else text
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def call(*command: str) -> subprocess.CompletedProcess[str]:
    # As ./dev sets them.
    cache = {"CCACHE_DEPEND": "1", "CCACHE_BASEDIR": str(WORK), "CCACHE_NOHASHDIR": "1", "CCACHE_SLOPPINESS": "pch_defines,time_macros"}
    return subprocess.run(command, cwd=WORK, env=os.environ | cache, capture_output=True, text=True, errors="replace")


def call_well(*command: str) -> str:
    done = call(*command)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def copy_project() -> None:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for file in filter(None, tracked.split("\0")):
        if (ROOT / file).is_file():
            write(WORK / file, (ROOT / file).read_bytes())
            shutil.copymode(ROOT / file, WORK / file)
    write(WORK / "drawn_choice.h", CHOICE_HEADER)
    write(WORK / "drawn_choice.cc", CHOICE_SOURCE)
    write(WORK / "drawn.cmake", CHOICE_CMAKE)


def faults_of(output: str, files: dict[str, list[str]], kind: str = "(?:fatal )?error:|required from") -> set[int]:
    """The choices that errors of the compiler are about; `files` has the lines of the files with choices."""
    found = set()
    for error in re.finditer(rf"^(\S+?):(\d+):\d+:\s+(?:{kind})", output, re.MULTILINE):
        path = os.path.relpath(os.path.normpath(BUILD / error[1]), WORK)
        lines, at = files.get(path, []), int(error[2]) - 1
        if at >= len(lines):
            continue
        if not re.match(r"/\*\d+\*/", lines[at]):
            # The statement itself, or a later line of a version: all choices above it.
            while at > 0 and not re.match(r"/\*\d+\*/", lines[at - 1]):
                at -= 1
            at -= 1
            while at >= 0 and (number := re.match(r"/\*(\d+)\*/", lines[at])):
                found.add(int(number[1]))
                at -= 1
        elif number := re.match(r"/\*(\d+)\*/", lines[at]):
            found.add(int(number[1]))
    return found


def build(chosen: dict[int, Change]) -> None:
    """Builds the tests with the choices that compile; removes the others."""
    while True:
        by_file: dict[str, dict[int, Change]] = defaultdict(dict)
        for number, change in chosen.items():
            by_file[change.file][number] = change
        texts = {f: with_choices((ROOT / f).read_text(), changes) for f, changes in by_file.items()}
        for file, text in texts.items():
            write(WORK / file, text)
        done = call("ninja", "-C", str(BUILD), "-k", "0")
        if done.returncode == 0:
            return
        lines = {f: t.split("\n") for f, t in texts.items()}
        # What the compiler names besides the errors, if these are all elsewhere.
        wrong = (faults_of(done.stdout, lines) or faults_of(done.stdout, lines, "")) & chosen.keys()
        if not wrong:
            raise Failed(f"errors that are about no breakage:\n{done.stdout[-6000:]}")
        for number in wrong:
            file = chosen.pop(number).file
            if all(c.file != file for c in chosen.values()):
                write(WORK / file, (ROOT / file).read_text())


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
    more = [f"--gtest_filter={names}", "--gtest_brief=1", "--gtest_fail_fast"] if names else ["--failfast"]
    arguments, environment = [*command.arguments, *more], command.environment | environment
    return mutate.run(mutate.Command(arguments, environment, command.skips), timeout)


@contextlib.contextmanager
def workers_of(jobs: int) -> Iterator[concurrent.futures.Executor]:
    with concurrent.futures.ThreadPoolExecutor(jobs) as workers:
        try:
            yield workers
        except BaseException:
            mutate.running.stop()
            workers.shutdown(cancel_futures=True)
            raise


def tests_there() -> list[Test]:
    tests = []
    for one in json.loads(call_well("ctest", "--test-dir", str(BUILD / "tests"), "--show-only=json-v1"))["tests"]:
        arguments = one.get("command", [""])
        names = [a.removeprefix("--gtest_filter=") for a in arguments if a.startswith("--gtest_filter=")]
        scripts = [a for a in arguments if re.search(r"tests/(cli|python|serve|view)/\w+_test\.py$", a)]
        if not names and not scripts:
            continue
        properties = {p["name"]: p["value"] for p in one["properties"]}
        environment = dict(line.split("=", 1) for line in properties.get("ENVIRONMENT", []))
        command = mutate.Command(arguments[:1] if names else arguments, environment, properties.get("SKIP_RETURN_CODE"))
        room = Path((scripts or arguments)[0]).parent.name
        tests.append(Test(command, room, names[0] if names else ""))
    return tests


def learn(tests: list[Test], longest: float, jobs: int) -> list[Test]:
    """Those that pass without a breakage in `longest` seconds, with their times and with what they reach."""

    def learnt(test: Test) -> Test | None:
        with tempfile.TemporaryDirectory(dir=WORK) as folder, contextlib.suppress(mutate.Skipped):
            outcome = run([test], {"LIMPID_DRAWN_REACHED": folder}, longest)
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
            if not run(some, {"LIMPID_DRAWN": str(number)}, 10 + 10 * sum(t.seconds for t in some)).passed:
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
    # Programs that `limpid emit` writes are made of these, and have no choice.
    return sorted(f for f in relative if not f.startswith("limpid/emit/parts/"))


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
    copy_project()
    call_well("cmake", "--preset", "release", f"-DCMAKE_PROJECT_TOP_LEVEL_INCLUDES={WORK}/drawn.cmake")
    build(chosen)
    print(f"{len(chosen)} of them compile", flush=True)
    there = tests_there()
    longest = max(LONGEST, arguments.seconds)
    tests = learn(there, longest, arguments.jobs)
    if len(tests) < len(there):
        print(f"{len(there) - len(tests)} tests are not asked: without a breakage they fail, are skipped, or take over {longest} s", flush=True)
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
