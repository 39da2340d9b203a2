"""Builds the project with many small breakages at once: each is a choice of the programs, made by an environment variable.

A breakage is a Change of a source. with_choices puts a condition before what it changes, so that the program has both versions. build
does so in a copy of the project in build/choices, and leaves out what the compiler refuses. LIMPID_CHOICE is the number of the breakage
that a program runs with; without it there is none. LIMPID_CHOICES_REACHED is a folder where each process, at its end, writes a file that
has a byte for each number: 1 where it came to the choice.

After R. H. Untch, A. J. Offutt and M. J. Harrold, Mutation analysis using mutant schemata, 1993.
"""

import dataclasses
import os
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORK = ROOT / "build/choices"
BUILD = WORK / "build/release"
MOST = 65536  # breakages in a build, as limpid_choice.h has them
PLACES = ("limpid", "apps/limpid", "python/bindings")  # of sources
# Programs that `limpid emit` writes are made of these, and have no choice.
WITHOUT = "limpid/emit/parts/"


class Failed(Exception):
    """An error before a breakage could be judged."""


@dataclasses.dataclass(frozen=True)
class Change:
    """In a file, `to` in the place of text[begin:end]."""

    file: str
    begin: int
    end: int
    kind: str  # "expression"; "statement", empty if `to` is; or "block": what is between its braces
    to: str


# ---- the text


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


def is_balanced(text: str) -> bool:
    open_ones: list[str] = []
    for c in text:
        if c in "([{":
            open_ones.append(c)
        elif c in ")]}" and (not open_ones or "([{".index(open_ones.pop()) != ")]}".index(c)):
            return False
    return not open_ones


def is_constant(head: str) -> bool:
    """Whether a block with this head runs while it is compiled, where there is no choice."""
    return re.search(r"\bconst(?:expr|eval|init)\b", head.replace("if constexpr", "")) is not None


@dataclasses.dataclass
class Block:
    """What is between two braces, and what stands before them."""

    begin: int
    end: int
    head: str
    has_statements: bool  # as a function, a loop or a condition; not as a class, a list of values or cases


def has_statements(head: str, within: bool) -> bool:
    """`within`: whether the block around it has."""
    head = head.strip()
    if not head:
        return within
    # A parameter may have the type optional<struct stat>.
    if re.search(r"\b(?:namespace|class|struct|enum|union|switch)\b", re.sub(r"<[^<>]*>", "", head)):
        return False
    return re.search(r"(?:\)|\b(?:else|do|try|const|noexcept|override|final|mutable)|->\s*[\w:<>,&*\s]+)$", head) is not None


def blocks_of(mask: str) -> list[Block]:
    """Those of a text, by its mask."""
    blocks: list[Block] = []
    open_ones: list[Block] = []
    for at, c in enumerate(mask):
        if c == "{":
            head = mask[max(mask.rfind(d, 0, at) for d in ";{}") + 1 : at]
            within = bool(open_ones) and open_ones[-1].has_statements
            open_ones.append(Block(at + 1, len(mask), head, has_statements(head, within)))
        elif c == "}" and open_ones:
            blocks.append(open_ones.pop())
            blocks[-1].end = at
    return blocks


def change_of(file: str, text: str, begin: int, end: int, to: str) -> Change | None:
    """`to` in the place of text[begin:end], as a change of the smallest block that can have a choice; None if there is none."""
    around = [b for b in blocks_of(masked(text)) if b.begin <= begin and end <= b.end]
    if any(is_constant(b.head) for b in around):
        return None
    for block in sorted(around, key=lambda b: b.end - b.begin):
        version = text[block.begin : begin] + to + text[end : block.end]
        mask = masked(version)
        if "\0" in mask or 'R"' in version:
            return None  # it needs its lines
        if block.has_statements and is_balanced(mask):
            # In one line, so that an error of the compiler says which version it is about.
            line = "".join(" " if m.isspace() else c for c, m in zip(version, mask, strict=True))
            return Change(file, block.begin, block.end, "block", line.strip())
    return None


def with_choices(text: str, changes: dict[int, Change]) -> str:
    """The text of a file where each of its changes can be chosen by its number."""
    numbers: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, change in changes.items():
        numbers[change.begin, change.end].append(number)
    places = sorted(numbers, key=lambda place: (-place[0], place[1]))  # the first of the text is the last

    def choice(begin: int, end: int) -> str:
        # A version begins a line, so that an error says which it is.
        result, kind = "", changes[numbers[begin, end][0]].kind
        for number in numbers[begin, end]:
            to, chosen = changes[number].to, f"LIMPID_CHOSEN({number})"
            if kind == "expression":
                result += f"\n/*{number}*/ {chosen} ? ({to}) : "
            else:
                result += f"\n/*{number}*/ if ({chosen}) {{ {to + ';' if to and kind == 'statement' else to} }} else "
        was = within(begin, end)
        return {"expression": f"({result}\n{was})", "statement": f"{result}\n{was}", "block": f"{result}{{\n{was}\n}}\n"}[kind]

    def within(begin: int, end: int) -> str:
        result, at = "", begin
        while places and places[-1][0] < end:
            place = places.pop()
            if place[1] > end:
                continue  # it crosses another, which has its choices already
            result += text[at : place[0]] + choice(*place)
            at = place[1]
        return result + text[at:end]

    return '#include "limpid_choice.h"\n' + within(0, len(text))


# ---- the build

def write(path: Path, text: str | bytes) -> None:
    """Leaves a file that has this text as it is, so that nothing is compiled again."""
    data = text.encode() if isinstance(text, str) else text
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def write_support(folder: Path) -> None:
    """What sources with choices need."""
    for file in ("limpid_choice.h", "limpid_choice.cc", "choices.cmake"):
        write(folder / file, (HERE / file).read_text())


def copy_project() -> None:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for file in filter(None, tracked.split("\0")):
        if (ROOT / file).is_file():
            write(WORK / file, (ROOT / file).read_bytes())
            shutil.copymode(ROOT / file, WORK / file)
    write_support(WORK)


def call(*command: str) -> subprocess.CompletedProcess[str]:
    # As ./dev sets them.
    cache = {"CCACHE_DEPEND": "1", "CCACHE_BASEDIR": str(WORK), "CCACHE_NOHASHDIR": "1", "CCACHE_SLOPPINESS": "pch_defines,time_macros"}
    return subprocess.run(command, cwd=WORK, env=os.environ | cache, capture_output=True, text=True, errors="replace")


def call_well(*command: str) -> str:
    done = call(*command)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def faults_of(output: str, files: dict[str, list[str]], kind: str = "(?:fatal )?error:|required from") -> set[int]:
    """The choices that errors of the compiler are about; `files` has the lines of the files with choices."""
    found: set[int] = set()
    for error in re.finditer(rf"^(\S+?):(\d+):\d+:\s+(?:{kind})", output, re.MULTILINE):
        path = os.path.relpath(os.path.normpath(BUILD / error[1]), WORK)
        lines, at = files.get(path, []), int(error[2]) - 1
        if at >= len(lines):
            continue
        numbers = [int(n[1]) if (n := re.match(r"/\*(\d+)\*/", line)) else 0 for line in lines]
        if numbers[at]:
            found.add(numbers[at])
            continue
        # What is unbroken, or a later line of a version: all choices right above. Before any choice: the first of the file.
        while at > 0 and not numbers[at]:
            at -= 1
        found.add(numbers[at] or next(filter(None, numbers)))
        while numbers[at]:
            found.add(numbers[at])
            at -= 1
    return found


def build(chosen: dict[int, Change]) -> None:
    """Builds the project with the choices that compile; removes the others."""
    copy_project()
    call_well("cmake", "--preset", "release", f"-DCMAKE_PROJECT_TOP_LEVEL_INCLUDES={WORK}/choices.cmake")
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
