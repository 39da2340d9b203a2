"""Breaks the code on purpose, one small place at a time, and sees whether the test that is about it fails.

usage: mutate.py [--seed SEED] [--jobs N] [--some N | NAME...]
       mutate.py --list | --check

mutations.toml has the list. Each entry is a [[mutation]] with

  name    what breaks, in a few words joined by hyphens
  file    the source, from the root of the project
  from    text that stands exactly once in it
  to      what takes its place
  build   ninja's targets, besides the program that the test runs
  test    a program of GoogleTest with its filter ("kernels_test Suite.Test"), or "ctest REGEX"
  why     optional: what a user would get

The sources of the working tree are copied to build/mutate/limpid and built in build/mutate/build, with the options of the preset
release but -O1, and each source of the list compiled by itself: one mutation compiles one source. All tests of the chosen mutations
run first without them: each must be there, and pass. Then each mutation is applied by itself, its targets are built, and its test
must fail: by a check, by a crash, or by taking ten times as long as it did. A mutation that does not compile is a mistake of the
list.

A line is printed for each mutation. The exit status is 1 where one survived, or where the list is wrong. --some takes N mutations,
other ones every day, or those of a seed. --check looks only at the list: every text stands where it should.
"""

import argparse
import datetime
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).resolve().parent / "mutations.toml"
WORK = ROOT / "build/mutate"
COPY = WORK / "limpid"
BUILD = WORK / "build"
LOCALES = BUILD / "tests/formats/locales"  # ctest says so too
LEAST = 100  # mutations in the list
LONGEST = 900  # seconds that a test may take before it is broken
# What a mutation may make a program ask for, less than a machine has.
MEMORY = 16 << 30


class Failed(Exception):
    """What goes wrong before a mutation could be judged."""


@dataclass
class Mutation:
    name: str
    file: str
    before: str
    after: str
    build: list[str]
    test: list[str]

    def place(self, root: Path) -> tuple[str, int]:
        """The text of its file, and where in it the mutation goes."""
        path = root / self.file
        if not path.is_file():
            raise Failed(f"{self.name}: {self.file} is not there")
        text = path.read_text()
        count = text.count(self.before)
        if count != 1:
            raise Failed(f"{self.name}: its text stands {count} times in {self.file}, once is expected")
        return text, text.index(self.before)


@dataclass
class Outcome:
    passed: bool
    how: str
    seconds: float
    output: str = ""


def read_list() -> list[Mutation]:
    keys = {"name", "file", "from", "to", "test"}
    mutations = []
    for entry in tomllib.loads(LIST.read_text())["mutation"]:
        missing, strange = keys - entry.keys(), entry.keys() - keys - {"build", "why"}
        if missing or strange:
            raise Failed(f"{entry.get('name', 'a mutation')}: keys missing: {sorted(missing)}, unknown: {sorted(strange)}")
        test = entry["test"].split(" ", 1)
        if len(test) != 2:
            raise Failed(f"{entry['name']}: 'PROGRAM FILTER' or 'ctest REGEX' is expected, got '{entry['test']}'")
        build = list(entry.get("build", []))
        if test[0] != "ctest":
            build.append(test[0])
        elif not build:
            raise Failed(f"{entry['name']}: a test of ctest needs 'build'")
        mutations.append(Mutation(entry["name"], entry["file"], entry["from"], entry["to"], build, test))
    return mutations


def check(mutations: list[Mutation]) -> None:
    names = [m.name for m in mutations]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise Failed(f"names that stand twice: {twice}")
    if len(names) < LEAST:
        raise Failed(f"{len(names)} mutations, {LEAST} or more are expected")
    for mutation in mutations:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", mutation.name):
            raise Failed(f"{mutation.name}: lower case words joined by hyphens are expected")
        if mutation.before == mutation.after:
            raise Failed(f"{mutation.name}: it changes nothing")
        mutation.place(ROOT)


def choose(mutations: list[Mutation], arguments: argparse.Namespace) -> list[Mutation]:
    if arguments.some is not None:
        seed = arguments.seed or datetime.date.today().isoformat()
        print(f"{arguments.some} of {len(mutations)} mutations, by --seed {seed}", flush=True)
        return random.Random(seed).sample(mutations, min(arguments.some, len(mutations)))
    if not arguments.names:
        return mutations
    strange = sorted(set(arguments.names) - {m.name for m in mutations})
    if strange:
        raise Failed(f"no such mutation: {', '.join(strange)}; --list has their names")
    return [m for m in mutations if m.name in arguments.names]


# ---- the copy


def output_of(command: list, **options) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command[:4]))} ... failed:\n{done.stdout}")
    return done.stdout


def write_if_changed(path: Path, content: bytes, mode: int) -> None:
    """ninja builds what is newer: a file that is the same keeps its time."""
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    path.chmod(mode)


def copy_sources(alone: list[str]) -> None:
    """The files of the working tree that git does not ignore; the sources `alone` are not compiled with others."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True
    )
    files = {name for name in names.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
    for path in COPY.rglob("*"):
        if path.is_file() and str(path.relative_to(COPY)) not in files:
            path.unlink()
    for name in files:
        content = (ROOT / name).read_bytes()
        if name == "cmake/options.cmake":
            begin = b"set(LIMPID_ALONE\n"
            if content.count(begin) != 1:
                raise Failed("cmake/options.cmake: the list LIMPID_ALONE is not where it was")
            content = content.replace(begin, begin + "".join(f"  {a}\n" for a in alone).encode())
        write_if_changed(COPY / name, content, (ROOT / name).stat().st_mode & 0o777)


def environment() -> dict[str, str]:
    return os.environ | {
        "CCACHE_DEPEND": "1",
        "CCACHE_BASEDIR": str(WORK),
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_SLOPPINESS": "pch_defines,time_macros",
    }


def configure() -> None:
    values = {
        "CMAKE_BUILD_TYPE": "RelWithDebInfo",
        "CMAKE_CXX_FLAGS_RELWITHDEBINFO": "-O1 -DNDEBUG",
        "LIMPID_UNITY_BATCH": "100",
        "LIMPID_WERROR": "OFF",  # a mutation may leave a variable unused
        "CMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE": "PRE_TEST",
        "CMAKE_EXE_LINKER_FLAGS": "-fuse-ld=lld" if shutil.which("ld.lld") else "",
    }
    defines = [part for key, value in values.items() for part in ("-D", f"{key}={value}")]
    output_of(["cmake", "--preset", "release", "-B", str(BUILD), *defines], cwd=COPY, env=environment())


def build(targets: set[str], jobs: int) -> None:
    output_of(["ninja", "-C", str(BUILD), "-j", str(jobs), *sorted(targets)], env=environment())


# ---- tests


def program(name: str) -> Path:
    found = [p for p in BUILD.glob(f"tests/*/{name}") if p.is_file()]
    if len(found) != 1:
        raise Failed(f"{len(found)} programs are called {name}, one is expected")
    return found[0]


def limits() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(command: list[str], timeout: float) -> Outcome:
    """In a group of processes of its own, so that none outlives it."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(dir=WORK) as folder, tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, preexec_fn=limits,
            env=os.environ | {"LOCPATH": str(LOCALES)},
        )  # fmt: skip
        how = ""
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code, how = 1, f"no end after {timeout:.0f} s"
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        log.seek(0)
        output = log.read().decode(errors="replace")
    if not how and code < 0:
        how = f"a crash: {signal.Signals(-code).name}"
    return Outcome(code == 0, how or "a failed check", time.monotonic() - begin, output)


def command_of(test: list[str]) -> list[str]:
    if test[0] == "ctest":
        return ["ctest", "--test-dir", str(BUILD), "--no-tests=error", "--output-on-failure", "-R", test[1]]
    return [str(program(test[0])), "--gtest_brief=1", f"--gtest_filter={test[1]}"]


def run_unbroken(test: list[str]) -> Outcome:
    """Raises Failed where the test does not pass, or is none."""
    command = command_of(test)
    outcome = run(command, LONGEST)
    text = " ".join(test)
    if not outcome.passed:
        raise Failed(f"{text}: {outcome.how}, without a mutation:\n{outcome.output[-3000:]}")
    ran = re.search(r"\[==========\] (\d+) tests? ", outcome.output)
    count = int(ran.group(1)) if ran else 0
    if test[0] == "ctest":
        passed = re.search(r"100% tests passed, 0 tests failed out of (\d+)", outcome.output)
        count = int(passed.group(1)) if passed else 0
    if count == 0 or "[  SKIPPED ]" in outcome.output or "did not run:" in outcome.output:
        raise Failed(f"{text}: no test, or one that is skipped here:\n{outcome.output[-3000:]}")
    return outcome


def try_out(mutation: Mutation, usual: float, jobs: int) -> Outcome:
    """What its test says of the mutated code."""
    text, at = mutation.place(COPY)
    path = COPY / mutation.file
    try:
        path.write_text(text[:at] + mutation.after + text[at + len(mutation.before) :])
        build(set(mutation.build), jobs)
        return run(command_of(mutation.test), 30 + 10 * usual)
    finally:
        path.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--some", type=int, metavar="N")
    parser.add_argument("--seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.names and arguments.some is not None:
        parser.error("--some or names are expected, not both")
    if arguments.some is not None and arguments.some < 1:
        parser.error(f"--some {arguments.some}: 1 or more is expected")

    mutations = read_list()
    check(mutations)
    if arguments.check:
        return 0
    if arguments.list:
        for mutation in mutations:
            print(f"{mutation.name:45} {mutation.file:40} {' '.join(mutation.test)}")
        return 0

    chosen = choose(mutations, arguments)
    begin = time.monotonic()
    copy_sources(sorted({m.file for m in mutations if m.file.endswith(".cc")}))
    configure()
    build({target for m in chosen for target in m.build}, arguments.jobs)
    usual = {}
    for test in {tuple(m.test) for m in chosen}:
        usual[test] = run_unbroken(list(test)).seconds
    print(f"built, and {len(usual)} tests pass without mutations: {time.monotonic() - begin:.0f} s", flush=True)

    survived, wrong, begin = [], [], time.monotonic()
    for mutation in chosen:
        start = time.monotonic()
        try:
            outcome = try_out(mutation, usual[tuple(mutation.test)], arguments.jobs)
        except Failed as failure:
            wrong.append(mutation.name)
            print(f"WRONG     {mutation.name}: {failure}", flush=True)
            continue
        if outcome.passed:
            survived.append(mutation.name)
        word, how = ("SURVIVED", "") if outcome.passed else ("killed", f"  {outcome.how}")
        print(f"{word:9} {mutation.name:45} {time.monotonic() - start:5.1f} s  {' '.join(mutation.test)}{how}", flush=True)
    killed = len(chosen) - len(survived) - len(wrong)
    print(f"{killed} of {len(chosen)} killed, in {time.monotonic() - begin:.0f} s")
    for word, names in (("survived", survived), ("do not compile, or have no place", wrong)):
        if names:
            print(f"{word}: {', '.join(names)}")
    return 1 if survived or wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        print(f"mutate: {failure}", file=sys.stderr)
        sys.exit(1)
