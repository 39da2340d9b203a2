"""Compares constants that were chosen by measurement with smaller and larger values, in turns, on this machine.

usage: constants.py [--rounds N] [NAME...]
       constants.py --check

Requires the build of the preset release (./dev build). For each other value of a constant, it compiles the sources that read the
constant again, by the commands of that build, links the program subject_limpid with them, and runs both programs in turns. It prints a
table in Markdown: the time with the other value divided by the time with the value in the source. Above 1, the value in the source is
better. A ratio is the median over the rounds, with its quartiles. Both programs must give the same bits: no constant here may change a
result. --check only checks that each constant is in its source, and that each size in bytes in limpid/kernels and limpid/compile is in
one of two lists: CONSTANTS and NOT_MEASURED.
"""

import argparse
import json
import os
import platform
import re
import shlex
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/release"
WORK = ROOT / "build/constants"
PROGRAM = "subject_limpid"
MILLISECONDS = 60


@dataclass
class Constant:
    name: str
    file: str
    text: str  # as in the source, with {} for the value
    value: str
    others: list[str]
    tasks: list[str]  # commands of subject_main.cc


DIGITS = "relu:784-256-128-10"
SQUARE = "relu:1024-1024"
WIDE = "gelu:1024-4096-1024"
TRAINING = ["train sgd 128 1 3", "train adamw 512 1 3"]
CONSTANTS = [
    Constant("kRowBlock", "limpid/kernels/matmul.cc", "kRowBlock = {};", "288", ["192", "384"], [f"forward {SQUARE} 1024 1", *TRAINING]),
    Constant("kNearRows", "limpid/kernels/matmul.cc", "kNearRows = {},", "512", ["384", "1024"], [f"forward {SQUARE} 256 1", f"forward {WIDE} 128 1"]),
    Constant("kDeepRows", "limpid/kernels/matmul.cc", "kDeepRows = {};", "120", ["60", "240"], [f"forward {SQUARE} 1024 1"]),
    Constant("kColumnBlock", "limpid/kernels/matmul.cc", "kColumnBlock = {};", "512", ["256", "1024"], TRAINING),
    Constant("kChunkPanels", "limpid/kernels/matmul.cc", "kChunkPanels = {};", "4", ["2", "8"], TRAINING),
    Constant("kPackAColumns", "limpid/kernels/matmul.cc", "kPackAColumns = {},", "512", ["256", "1024"], [f"forward {SQUARE} 256 1", *TRAINING]),
    Constant("kBeyondCaches", "limpid/kernels/lanes-inl.h", "kBeyondCaches = std::size_t{{{}}} << 20;", "4", ["1", "16"],
             ["function relu 1024 1024 1", "function relu 2048 2048 1", "function relu 4096 4096 1"]),
    Constant("kMostRows", "limpid/compile/bands.cc", "kMostRows = {};", "96", ["48", "192"], [f"forward {DIGITS} 4096 1", f"forward {DIGITS} 4096 2"]),
    Constant("kBytesOfRows", "limpid/compile/bands.cc", "kBytesOfRows = std::size_t{{{}}} << 10;", "64", ["32", "256"],
             ["function softmax 4096 4096 1", "function layer_norm 4096 4096 1"]),
    Constant("kInOwnCache", "limpid/compile/run.cc", "kInOwnCache = std::size_t{{1}} << {};", "20", ["19", "21"],
             [f"forward {DIGITS} 8 2", f"forward {DIGITS} 32 2", "forward relu:784-512-256-10 32 2"]),
    Constant("kWorthAHugePage", "limpid/compile/pages.h", "kWorthAHugePage = std::size_t{{{}}} << 10;", "512", ["64", "2048"],
             [f"forward {DIGITS} 1 1", "forward relu:128-128-10 1 1"]),
    Constant("kLastLevel", "limpid/compile/lower.cc", "kLastLevel = std::size_t{{{}}} << 20;", "32", ["0", "256"],
             ["narrow relu:784-256-128-10 bf16 8 1", "narrow relu:4096-4096-1024 bf16 8 1"]),
    Constant("kChunk", "limpid/compile/plan.h", "kChunk = {};", "1024", ["512", "2048"], ["train sgd 128 1 3", "train adamw 128 1 3"]),
]  # fmt: skip
# Sizes in bytes that are not measured, with the reason.
NOT_MEASURED = {
    "kMostScores": "no task of subject_main.cc runs attention",
    "kHugePage": "the size of the system's huge pages",
}
SIZE_IN_BYTES = re.compile(r"constexpr std::size_t (k\w+) = std::size_t\{\d+\} << \d+;")


class Subject:
    """A running program with one task prepared."""

    def __init__(self, program: str, task: str) -> None:
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.say(task)
        kind, _, count = self.line().partition(" ")
        if kind != "floats":
            raise SystemExit(f"constants: {task}: expected 'floats N', got '{kind} {count}'")
        assert self.process.stdout is not None
        self.answer = self.process.stdout.read(4 * int(count))

    def say(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n".encode())
        self.process.stdin.flush()

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode().strip()

    def nanoseconds(self) -> float:
        self.say(f"time {MILLISECONDS}")
        return float(self.line().split()[1])

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


class Failed(Exception):
    """An error before a constant could be measured."""


def with_value(constant: Constant, other: str) -> str:
    """The text of its file with another value."""
    text, before = (ROOT / constant.file).read_text(), constant.text.format(constant.value)
    if text.count(before) != 1:
        raise Failed(f"{constant.name}: expected '{before}' once in {constant.file}, got it {text.count(before)} times")
    return text.replace(before, constant.text.format(other))


def output_of(*command: str) -> str:
    done = subprocess.run(command, cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command[:4])} ... failed:\n{done.stdout}")
    return done.stdout


class Build:
    """What ninja and CMake know of the release build's program. Paths of objects are relative to the build."""

    def __init__(self) -> None:
        commands = BUILD / "compile_commands.json"
        if not commands.is_file():
            raise Failed(f"{BUILD.relative_to(ROOT)} is not there: ./dev build makes it")
        self.compilers: dict[str, list[str]] = {}
        for entry in json.loads(commands.read_text()):
            arguments = [a for a in shlex.split(entry["command"]) if not a.endswith("ccache")]
            self.compilers[arguments[arguments.index("-o") + 1]] = arguments
        self.program = output_of("ninja", "-t", "query", PROGRAM).splitlines()[2].strip()
        inputs, target = set(output_of("ninja", "-t", "inputs", self.program).split()), ""
        self.readers: dict[str, set[str]] = {}  # objects of the program, by what they read
        for line in output_of("ninja", "-t", "deps").splitlines():
            if not line.startswith(" "):
                target = line.split(":")[0]
            elif target in inputs and target in self.compilers:
                self.readers.setdefault(os.path.normpath(BUILD / line.strip()), set()).add(target)

    def linked(self, constant: Constant, other: str) -> str:
        """The program with another value. A changed file is a copy in a folder that the compiler searches first. The linker takes what it
        finds first, so that the archive keeps its own."""
        folder = WORK / f"{constant.name}={other}"
        shutil.rmtree(folder, ignore_errors=True)
        copy = folder / "over" / constant.file
        copy.parent.mkdir(parents=True)
        copy.write_text(with_value(constant, other))
        places = {str(ROOT / constant.file): str(copy)}
        objects = sorted(self.readers[str(ROOT / constant.file)])
        for number, original in enumerate(objects):
            places[original] = str(folder / f"{number}.o")
            compiler, *arguments = [places.get(a, a) for a in self.compilers[original]]
            output_of(compiler, f"-I{folder / 'over'}", *arguments, "-w")  # another value may make a comparison always true
        last = output_of("ninja", "-t", "commands", "-s", self.program).splitlines()[-1]
        (linker,) = [c for c in map(shlex.split, last.split(" && ")) if "-o" in c]
        at, result = linker.index("-o"), str(folder / "program")
        more = [places[o] for o in objects if o not in linker]
        output_of(*(places.get(a, a) for a in linker[:at]), *more, "-o", result, *(places.get(a, a) for a in linker[at + 2 :]))
        return result


def variants(build: Build, constant: Constant) -> dict[str, str]:
    """The program for each value."""
    programs = {constant.value: str(BUILD / build.program)}
    return programs | {other: build.linked(constant, other) for other in constant.others}


def compared(programs: dict[str, str], value: str, task: str, rounds: int) -> dict[str, list[float]]:
    """For each other value, by round: its time divided by that of `value`."""
    subjects = {v: Subject(program, task) for v, program in programs.items()}
    try:
        for other, subject in subjects.items():
            if subject.answer != subjects[value].answer:
                raise SystemExit(f"constants: {task}: expected the same bits with {other} as with {value}")
        ratios: dict[str, list[float]] = {v: [] for v in programs if v != value}
        order = list(subjects)
        for _ in range(rounds):
            order.append(order.pop(0))
            times = {v: subjects[v].nanoseconds() for v in order}
            for v in ratios:
                ratios[v].append(times[v] / times[value])
        return ratios
    finally:
        for subject in subjects.values():
            subject.end()


def check() -> None:
    """Raises Failed if a listed constant does not exist, or a size in bytes is in neither list."""
    for constant in CONSTANTS:
        with_value(constant, constant.others[0])
    found = {}
    for room in ("kernels", "compile"):
        for path in sorted((ROOT / "limpid" / room).glob("*.*")):
            found.update({name: path.relative_to(ROOT) for name in SIZE_IN_BYTES.findall(path.read_text())})
    unlisted = sorted(found.keys() - {c.name for c in CONSTANTS} - NOT_MEASURED.keys())
    if unlisted:
        raise Failed(f"{unlisted[0]} of {found[unlisted[0]]} is in neither CONSTANTS nor NOT_MEASURED of bench/constants.py")
    gone = sorted(NOT_MEASURED.keys() - found.keys())
    if gone:
        raise Failed(f"NOT_MEASURED lists {gone[0]}, which is not a size in bytes in limpid/kernels or limpid/compile")


def cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def main() -> int:
    parser = argparse.ArgumentParser(prog="constants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=15, metavar="N")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.check:
        check()
        return 0
    strange = set(arguments.names) - {c.name for c in CONSTANTS}
    if strange or arguments.rounds < 3:
        parser.error(f"no such constant: {', '.join(sorted(strange))}" if strange else "--rounds: expected 3 or more")
    build = Build()
    print(f"{cpu()}, {os.cpu_count()} CPUs, {arguments.rounds} rounds of {MILLISECONDS} ms\n")
    print("| constant | value | other | task | time, other / value |\n|---|---|---|---|---|")
    chosen = [c for c in CONSTANTS if not arguments.names or c.name in arguments.names]
    # All are built first, so that no compiler runs during a measurement.
    built = [(constant, variants(build, constant)) for constant in chosen]
    for constant, programs in built:
        for task in constant.tasks:
            for other, ratios in compared(programs, constant.value, task, arguments.rounds).items():
                low, middle, high = statistics.quantiles(ratios, n=4)
                print(f"| {constant.name} | {constant.value} | {other} | {task} | {middle:.3f} ({low:.3f} to {high:.3f}) |", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        print(f"constants: {failure}", file=sys.stderr)
        sys.exit(1)
