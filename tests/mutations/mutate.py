"""Breaks the code on purpose, one small place at a time, and sees whether the test that is about it fails.

usage: mutate.py [--seed SEED] [--jobs N] [--some N | --part K/N | NAME...]
       mutate.py --list | --check

mutations.toml has the list. Each entry is a [[mutation]] with

  name    what breaks, in a few words joined by hyphens
  file    the source, from the root of the project
  from    text that stands exactly once in it
  to      what takes its place
  flags   instead of from and to: what the compiler is given besides
  test    a program of GoogleTest with its filter ("kernels_test Suite.Test"); or "ctest REGEX", and the name of one of the tests
          that it has, as the whole may be long ("ctest ^cli.data$ test_columns_and_classes_are_named")
  build   for a test of ctest: the programs that it runs; limpid_python is the module of the Python package, and limpid_tool has
          the page of `limpid view`
  why     optional: what a user would get

It needs the whole build of the preset release, and changes nothing in it. A mutated file is a copy in a folder that the
compiler searches first. What read the file is compiled again by the command of the build, and the program of the test linked
again with these objects before its libraries. A file or the module of the Python package is replaced in a copy of the build's
package. A file of web/src is replaced in a copy of web; the page is built there and embedded again. The test runs first without
the mutation: it must be there, and pass. Then it must fail: by a check, by a crash, or by taking ten times as long as it did. A
mutation that does not compile is a mistake of the list.

If 500 or more are tried, those that can be are compiled together first, each as a choice of the program (choices.py). One that its
test does not notice so is tried by itself as well.

A line is printed for each mutation. The exit status is 1 where one survived, or where the list is wrong. --some takes N mutations,
other ones every day, or those of a seed; those that take long to compile, or whose test is skipped here, are left to the whole
list. --part 2/5 tries the second of five parts of the list, as the whole takes more than an hour. --check looks only at the
list: every text stands where it should. SIGINT and SIGTERM end the tests that run, too.
"""

import argparse
import concurrent.futures
import contextlib
import datetime
import functools
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

import choices
from choices import ROOT, Failed

LIST = Path(__file__).resolve().parent / "mutations.toml"
BUILD = ROOT / "build/release"
WORK = ROOT / "build/mutate"
PAGE = BUILD / "apps/limpid/page_files.cc"  # the page of `limpid view`
LEAST = 100  # mutations in the list
FEW = 4  # --some compiles at most this many objects per mutation
LONGEST = 900  # maximum seconds of a test before it is broken
MANY = 500  # so many are compiled together
# As ctest sets the first; a test of the page need not go on after a failure.
ENVIRONMENT = {"LOCPATH": str(BUILD / "tests/formats/locales"), "LIMPID_FIRST_FAILURE": "1"}
# Memory that a mutated program may use, less than a machine has.
MEMORY = 16 << 30
# Programs that take the options of unittest.
UNITTEST = re.compile(r"tests/(?:cli|python|serve|view)/(?!other_cpus|openai)\w+_test\.py$")


class Skipped(Failed):
    """The test is not here, or does not run here."""


@dataclass
class Mutation:
    name: str
    file: str
    before: str
    after: str
    flags: list[str]
    programs: list[str]
    test: tuple[str, ...]  # the words of the list: a program with a filter, or "ctest", a regular expression and perhaps a name

    def change(self) -> choices.Change | None:
        """As a choice of the program; None if it can be none."""
        is_source = self.file.startswith(tuple(f"{place}/" for place in choices.PLACES)) and not self.file.startswith(choices.WITHOUT)
        if self.flags or not is_source or not self.file.endswith((".cc", "-inl.h")):
            return None
        text, before, after = (ROOT / self.file).read_text(), self.before, self.after
        same = len(os.path.commonprefix([before, after]))
        behind = len(os.path.commonprefix([before[same:][::-1], after[same:][::-1]]))
        begin = text.index(before)
        changed = after[same : len(after) - behind]
        return choices.change_of(self.file, text, begin + same, begin + len(before) - behind, changed)

    def text(self) -> str:
        """The mutated file."""
        path = ROOT / self.file
        if not path.is_file():
            raise Failed(f"{self.name}: {self.file} is not there")
        text = path.read_text()
        if self.flags:
            return text
        count = text.count(self.before)
        if count != 1:
            raise Failed(f"{self.name}: expected its text once in {self.file}, got it {count} times")
        return text.replace(self.before, self.after)


@dataclass
class Outcome:
    passed: bool
    how: str  # it failed, or which of its tests did not run
    seconds: float
    output: str = ""

    @property
    def skipped_all(self) -> bool:
        """GoogleTest: any, as the filters name what is about the mutation. unittest passes even if it skips all of its tests."""
        counts = skips_of_unittest(self.output)
        return "[  SKIPPED ]" in self.output or (counts is not None and counts[0] == counts[1])


@dataclass
class Command:
    """What a test runs."""

    arguments: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    skips: int | None = None  # the exit status that says so
    locks: tuple[str, ...] = ()  # what it shares with other tests, of which one runs at a time

    def with_programs(self, mutated: dict[str, str]) -> "Command":
        def replaced(text: str) -> str:
            for program, path in mutated.items():
                text = re.sub(re.escape(program) + r"(?![\w./-])", path, text)
            return text

        environment = {key: replaced(value) for key, value in self.environment.items()}
        return replace(self, arguments=[replaced(a) for a in self.arguments], environment=environment)


def read_list() -> list[Mutation]:
    keys = {"name", "file", "test"}
    mutations = []
    for entry in tomllib.loads(LIST.read_text())["mutation"]:
        change = {"flags"} if "flags" in entry else {"from", "to"}
        missing, strange = (keys | change) - entry.keys(), entry.keys() - keys - change - {"build", "why"}
        if missing or strange:
            raise Failed(f"{entry.get('name', 'a mutation')}: keys missing: {sorted(missing)}, unknown: {sorted(strange)}")
        test = tuple(entry["test"].split(" ", 2))
        if len(test) != 2 and (len(test) != 3 or test[0] != "ctest"):
            raise Failed(f"{entry['name']}: 'PROGRAM FILTER' or 'ctest REGEX [NAME]' is expected, got '{entry['test']}'")
        if (test[0] == "ctest") != ("build" in entry):
            raise Failed(f"{entry['name']}: 'build' is expected for a test of ctest, and for no other")
        before, after, flags = entry.get("from", ""), entry.get("to", ""), entry.get("flags", [])
        mutations.append(Mutation(entry["name"], entry["file"], before, after, flags, entry.get("build", [test[0]]), test))
    return mutations


def check(mutations: list[Mutation]) -> None:
    names = [m.name for m in mutations]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise Failed(f"names that stand twice: {twice}")
    if len(names) < LEAST:
        raise Failed(f"{len(names)} mutations, {LEAST} or more are expected")
    files = [f for room in ("cli", "python", "serve", "view", "view_page") for f in (ROOT / "tests" / room).glob("*_test.*")]
    tests = "".join(f.read_text() for f in files)
    for mutation in mutations:
        if len(mutation.test) == 3 and f"def {mutation.test[2]}(" not in tests and f"'{mutation.test[2]}'" not in tests:
            raise Failed(f"{mutation.name}: no test is named '{mutation.test[2]}'")
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", mutation.name):
            raise Failed(f"{mutation.name}: lower case words joined by hyphens are expected")
        if mutation.before == mutation.after and not mutation.flags:
            raise Failed(f"{mutation.name}: it changes nothing")
        mutation.text()


# ---- the build


def output_of(command: list[str], folder: Path | None = None) -> str:
    done = subprocess.run(command, cwd=folder or BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode != 0:
        raise Failed(f"{' '.join(command[:4])} ... failed:\n{done.stdout}")
    return done.stdout


@functools.cache
def path_of(folder: Path, name: str) -> str:
    """Of a program, in the folder of the build."""
    lines = output_of(["ninja", "-t", "query", name], folder).splitlines()
    return lines[2].strip() if len(lines) > 2 and lines[1].strip() == "input: phony" else name


class Build:
    """What ninja and CMake know of the release build. Paths of objects and programs are relative to it."""

    def __init__(self) -> None:
        commands = BUILD / "compile_commands.json"
        if not commands.is_file():
            raise Failed(f"{BUILD.relative_to(ROOT)} is not there: ./dev build makes it")
        self.compilers: dict[str, list[str]] = {}
        for entry in json.loads(commands.read_text()):
            arguments = shlex.split(entry["command"])
            if arguments[0].endswith("ccache"):
                del arguments[0]
            self.compilers[arguments[arguments.index("-o") + 1]] = arguments
        self.readers: dict[str, set[str]] = defaultdict(set)
        target = ""
        for line in output_of(["ninja", "-t", "deps"]).splitlines():
            if line.startswith(" "):
                path = os.path.normpath(BUILD / line.strip())
                if path.startswith(f"{ROOT}/"):
                    self.readers[os.path.relpath(path, ROOT)].add(target)
            else:
                target = line.split(":")[0]

    def path(self, name: str) -> str:
        return path_of(BUILD, name)

    def objects(self, program: str, file: str) -> list[str]:
        """Those of a program that read the file."""
        inputs = set(output_of(["ninja", "-t", "inputs", program]).split())
        return sorted(o for o in self.readers[file] & inputs if o in self.compilers)

    def linker(self, program: str) -> list[str]:
        last = output_of(["ninja", "-t", "commands", "-s", program]).splitlines()[-1]
        for command in last.split(" && "):
            arguments = shlex.split(command)
            if arguments[-1:] != [":"] and "-o" in arguments and arguments[arguments.index("-o") + 1] == program:
                return arguments
        raise Failed(f"{program}: no command links it")


def copied_package(folder: Path) -> dict[str, str]:
    """A copy of the built Python package in the folder, by the folder that it stands for."""
    shutil.copytree(BUILD / "python/limpid", folder / "python/limpid")
    return {str(BUILD / "python"): str(folder / "python")}


def mutated_sources(mutation: Mutation, over: Path) -> dict[str, str]:
    """The mutated file in the folder, by the path of the file that it stands for."""
    (over / mutation.file).parent.mkdir(parents=True)
    if mutation.file.startswith("python/bindings/"):
        # A source includes what is beside it, so that all of them stand beside the mutated one.
        shutil.copytree(ROOT / "python/bindings", over / "python/bindings", dirs_exist_ok=True)
    (over / mutation.file).write_text(mutation.text())
    return {str(ROOT / path.relative_to(over)): str(path) for path in over.rglob("*") if path.is_file()}


def mutated_page(mutation: Mutation, folder: Path) -> dict[str, str]:
    """The page built in a copy of web in the folder, as a source; by the path of the source that it stands for."""
    web = folder / "web"
    shutil.copytree(ROOT / "web", web, ignore=shutil.ignore_patterns("dist", "node_modules"))
    for linked in ("web/node_modules", "docs"):
        (folder / linked).symlink_to(ROOT / linked)
    (folder / mutation.file).write_text(mutation.text())
    tools = web / "node_modules/.bin"
    # The mutation may leave a variable unused.
    output_of([f"{tools}/tsc", "--project", str(web), "--noUnusedLocals", "false", "--noUnusedParameters", "false"])
    if not mutation.programs:
        return {}  # the test builds what it needs of the copy
    output_of([f"{tools}/vite", "build", str(web)])
    source = folder / PAGE.name
    output_of(["cmake", "-D", f"FOLDER={web}/dist", "-D", f"OUT={source}", "-P", str(ROOT / "cmake/embed_page.cmake")])
    return {str(PAGE): str(source)}


def mutated_programs(build: Build, mutation: Mutation, folder: Path) -> dict[str, str]:
    """Built in the folder; by the paths of those that they stand for."""
    if mutation.file.startswith("python/limpid/"):
        package = copied_package(folder)
        (folder / mutation.file).write_text(mutation.text())
        return package
    over = folder / "over"
    file, programs = mutation.file, {}
    if file.startswith("web/"):
        sources = mutated_page(mutation, folder)
        file, programs = os.path.relpath(PAGE, ROOT), {str(ROOT / "web"): str(folder / "web")}
    else:
        sources = mutated_sources(mutation, over)
    compiled: dict[str, str] = {}
    for name in mutation.programs:
        program = build.path(name)
        objects = build.objects(program, file)
        if not objects:
            raise Failed(f"{mutation.name}: no source of {name} reads {mutation.file}")
        for original in objects:
            if original in compiled:
                continue
            compiled[original] = str(folder / f"{len(compiled)}.o")
            places = {original: compiled[original], **sources}
            compiler, *arguments = [places.get(a, a) for a in build.compilers[original]]
            # The mutation may leave a variable unused.
            output_of([compiler, f"-I{over}", *arguments, *mutation.flags, "-w"])
        if program.startswith("python/limpid/"):
            programs |= copied_package(folder)
            result = folder / program
        else:
            result = folder / "programs" / Path(program).name
            if not result.parent.is_dir():
                result.parent.mkdir()
                for module in BUILD.glob("limpid-mpi-*.so"):  # the tool opens those beside it
                    (result.parent / module.name).symlink_to(module)
            programs[str(BUILD / program)] = str(result)
        linker = [compiled.get(a, a) for a in build.linker(program)]
        at = linker.index("-o")
        linker[at : at + 2] = [*(compiled[o] for o in objects if compiled[o] not in linker), "-o", str(result)]
        output_of(linker + (["-fuse-ld=lld"] if shutil.which("ld.lld") else []))
    return programs


# ---- tests


def skips_of_unittest(output: str) -> tuple[int, int] | None:
    """How many tests a program of unittest skipped, and how many it has; None if it skipped none."""
    counts = re.search(r"^Ran (\d+) tests? in .*\n\n?(?:OK|FAILED) \(.*\bskipped=(\d+)", output, re.MULTILINE)
    return (int(counts.group(2)), int(counts.group(1))) if counts else None


def limits() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Not of addresses: a browser reserves many more than it uses.
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    # Under nohup it is ignored, and tests of it would inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Running:
    """The tests that run, in any thread. Each has a group of processes of its own, so that none outlives it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.groups: set[int] = set()
        self.stopped = False

    def begin(self, command: Command, folder: str, log: IO[bytes]) -> subprocess.Popen[bytes]:
        with self.lock:
            if self.stopped:
                raise Failed("stopped")
            process = subprocess.Popen(
                command.arguments, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=limits, env=os.environ | ENVIRONMENT | command.environment,
            )  # fmt: skip
            self.groups.add(process.pid)
            return process

    def end(self, process: subprocess.Popen[bytes]) -> None:
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


running = Running()
locks: dict[str, threading.Lock] = defaultdict(threading.Lock)


def run(command: Command, timeout: float) -> Outcome:
    with contextlib.ExitStack() as held, tempfile.TemporaryDirectory(dir=WORK) as folder, tempfile.TemporaryFile() as log:
        for name in sorted(command.locks):
            held.enter_context(locks[name])
        begin = time.monotonic()
        process = running.begin(command, folder, log)
        how = ""
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code, how = 1, f"no end after {timeout:.0f} s"
        finally:
            running.end(process)
        log.seek(0)
        output = log.read().decode(errors="replace")
    if code == command.skips:
        raise Skipped(f"{' '.join(command.arguments)}: skipped here:\n{output[-3000:]}")
    if code == 0:
        counts = skips_of_unittest(output)
        how = f"{counts[0]} of its {counts[1]} tests are skipped here" if counts else ""
    elif not how:
        # Of unittest, or of the page.
        failed = re.search(r"^(?:(?:FAIL|ERROR): (\w+) \(|FAILED  (.+)$)", output, re.MULTILINE)
        check = f"a failed check: {failed[1] or failed[2]}" if failed else "a failed check"
        how = f"a crash: {signal.Signals(-code).name}" if code < 0 else check
    return Outcome(code == 0, how, time.monotonic() - begin, output)


def command_of(listed: dict) -> Command:
    """Of a test that ctest lists in JSON. A program of unittest ends at its first failure."""
    properties = {p["name"]: p["value"] for p in listed.get("properties", [])}
    environment = dict(line.split("=", 1) for line in properties.get("ENVIRONMENT", []))
    arguments, shared = listed.get("command", []), tuple(properties.get("RESOURCE_LOCK", []))
    more = ["--failfast"] if any(UNITTEST.search(a) for a in arguments) else []
    return Command([*arguments, *more], environment, properties.get("SKIP_RETURN_CODE"), shared)


def only(command: Command, name: str) -> Command:
    """One of the tests of a program of unittest or of the page."""
    if "--failfast" in command.arguments:
        return replace(command, arguments=[*command.arguments, "-k", name])
    return replace(command, environment=command.environment | {"LIMPID_ONLY": name})


@functools.cache
def commands_of(folder: Path, test: tuple[str, ...]) -> list[Command]:
    """Of a test of the build in the folder."""
    if test[0] != "ctest":
        program = str(folder / path_of(folder, test[0]))
        return [Command([program, "--gtest_brief=1", f"--gtest_filter={test[1]}"])]
    listed = json.loads(output_of(["ctest", "--show-only=json-v1", "-R", test[1]], folder))["tests"]
    commands = [command_of(one) for one in listed]
    return [only(c, test[2]) for c in commands] if len(test) == 3 else commands


@functools.cache
def seconds_unbroken(folder: Path, test: tuple[str, ...]) -> float:
    """How long the test takes. Raises Failed where it does not pass, Skipped where it is none."""
    commands = commands_of(folder, test)
    text = " ".join(test)
    if not commands or not all(c.arguments for c in commands):
        raise Skipped(f"{text}: no such test here")
    seconds = 0.0
    for command in commands:
        outcome = run(command, LONGEST)
        seconds += outcome.seconds
        if not outcome.passed:
            raise Failed(f"{text}: {outcome.how}, without a mutation:\n{outcome.output[-3000:]}")
        ran = re.search(r"\[==========\] (\d+) tests? ", outcome.output)
        if re.search(r"^Ran 0 tests", outcome.output, re.MULTILINE):
            raise Failed(f"{text}: no test has that name")
        if (ran and ran.group(1) == "0") or (test[0] != "ctest" and not ran) or outcome.skipped_all:
            raise Skipped(f"{text}: no test, or one that is skipped here:\n{outcome.output[-3000:]}")
    return seconds


def run_until_one_fails(commands: list[Command], timeout: float) -> Outcome:
    for command in commands:
        outcome = run(command, timeout)
        if not outcome.passed:
            break
    return outcome


def try_out(build: Build, mutation: Mutation) -> Outcome:
    """What its test says of the mutated code."""
    commands = commands_of(BUILD, mutation.test)
    usual = seconds_unbroken(BUILD, mutation.test)
    folder = WORK / mutation.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        programs = mutated_programs(build, mutation, folder)
        # What it compiles may have been in the compiler's cache.
        return run_until_one_fails([c.with_programs(programs) for c in commands], 30 + 10 * usual)
    finally:
        shutil.rmtree(folder)


class Together:
    """Those of the mutations that can be choices of one build. Empty if they are few, as it takes minutes to compile."""

    def __init__(self, mutations: list[Mutation]) -> None:
        found = {number: (m.name, m.change()) for number, m in enumerate(mutations, 1)} if len(mutations) >= MANY else {}
        changes = {number: change for number, (_, change) in found.items() if change}
        if changes:
            print(f"{len(changes)} of {len(mutations)} are compiled together", flush=True)
            choices.build(changes)
            print(f"{len(changes)} of them compile", flush=True)
        self.numbers = {found[number][0]: number for number in changes}
        self.seconds: dict[tuple[str, ...], float | None] = {}

    def seconds_of(self, test: tuple[str, ...]) -> float | None:
        """How long the test takes with no choice made; None if it is none here."""
        if test not in self.seconds:
            try:
                self.seconds[test] = seconds_unbroken(choices.BUILD, test)
            except Failed as failure:
                print(f"not asked  {str(failure).splitlines()[0]}", flush=True)
                self.seconds[test] = None
        return self.seconds[test]

    def kills(self, mutation: Mutation) -> Outcome | None:
        """How its test fails with its choice; None if it does not."""
        number = self.numbers.get(mutation.name)
        if number is None or (usual := self.seconds_of(mutation.test)) is None:
            return None
        choice = {"LIMPID_CHOICE": str(number)}
        commands = [replace(c, environment=c.environment | choice) for c in commands_of(choices.BUILD, mutation.test)]
        outcome = run_until_one_fails(commands, 10 + 10 * usual)
        return None if outcome.passed else replace(outcome, how=f"{outcome.how}, as a choice")


# ---- the list


def a_few(mutations: list[Mutation], build: Build, count: int, seed: str) -> list[Mutation]:
    """In the order of the seed, those that compile little and whose tests run here."""
    chosen = []
    for mutation in random.Random(seed).sample(mutations, len(mutations)):
        if len(chosen) == count:
            break
        if sum(len(build.objects(build.path(p), mutation.file)) for p in mutation.programs) > FEW:
            continue
        try:
            seconds_unbroken(BUILD, mutation.test)
        except Skipped as skipped:
            print(f"left out  {mutation.name}: {str(skipped).splitlines()[0]}", flush=True)
            continue
        chosen.append(mutation)
    return chosen


def choose(mutations: list[Mutation], build: Build, arguments: argparse.Namespace) -> list[Mutation]:
    if arguments.some is not None:
        seed = arguments.seed or datetime.date.today().isoformat()
        print(f"{arguments.some} of {len(mutations)} mutations, by --seed {seed}", flush=True)
        return a_few(mutations, build, arguments.some, seed)
    if arguments.part is not None:
        part, parts = arguments.part
        print(f"part {part} of {parts}", flush=True)
        return mutations[part - 1 :: parts]
    if not arguments.names:
        return mutations
    strange = sorted(set(arguments.names) - {m.name for m in mutations})
    if strange:
        raise Failed(f"no such mutation: {', '.join(strange)}; --list has their names")
    return [m for m in mutations if m.name in arguments.names]


def part_of(text: str) -> tuple[int, int]:
    """K/N: the part K of N."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"K/N is expected, K from 1 to N, got '{text}'")
    return int(match[1]), int(match[2])


def judge_all(build: Build, chosen: list[Mutation], jobs: int) -> int:
    """Prints what becomes of each. Returns the status to exit with."""
    killed, survived, wrong, begin = [], [], [], time.monotonic()
    together = Together(chosen)

    def judge(mutation: Mutation) -> None:
        start = time.monotonic()
        try:
            # One that lives as a choice is tried by itself, which has the last word.
            outcome = together.kills(mutation) or try_out(build, mutation)
            names, word = (survived, "SURVIVED") if outcome.passed else (killed, "killed")
            line = f"{mutation.name:45} {time.monotonic() - start:5.1f} s  {' '.join(mutation.test)}  {outcome.how}"
        except Failed as failure:
            names, word, line = wrong, "WRONG", f"{mutation.name}: {failure}"
        if running.stopped:
            return
        names.append(mutation.name)
        print(f"{word:9} {line}".rstrip(), flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as workers:
        try:
            for done in concurrent.futures.as_completed([workers.submit(judge, m) for m in chosen]):
                done.result()
        except KeyboardInterrupt:
            running.stop()
            workers.shutdown(cancel_futures=True)
    judged = len(killed) + len(survived) + len(wrong)
    print(f"{len(killed)} of {judged} killed, in {time.monotonic() - begin:.0f} s")
    for word, names in (("survived", survived), ("do not compile, or have no place", wrong)):
        if names:
            print(f"{word}: {', '.join(names)}")
    if running.stopped:
        print(f"stopped: {len(chosen) - judged} more were to be tried")
    return 1 if survived or wrong or running.stopped else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--some", type=int, metavar="N")
    parser.add_argument("--part", type=part_of, metavar="K/N")
    parser.add_argument("--seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if bool(arguments.names) + (arguments.some is not None) + (arguments.part is not None) > 1:
        parser.error("names, --some or --part are expected, not several of them")
    if arguments.some is not None and arguments.some < 1:
        parser.error(f"--some {arguments.some}: 1 or more is expected")

    # A shell ignores SIGINT for what it starts in the background, and the tests would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    mutations = read_list()
    check(mutations)
    if arguments.check:
        return 0
    if arguments.list:
        for mutation in mutations:
            print(f"{mutation.name:45} {mutation.file:40} {' '.join(mutation.test)}")
        return 0

    WORK.mkdir(parents=True, exist_ok=True)
    build = Build()
    return judge_all(build, choose(mutations, build, arguments), arguments.jobs)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        print(f"mutate: {failure}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit("mutate: stopped")
