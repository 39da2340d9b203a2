"""Breaks the code in small ways, and says which of them no test notices.

usage: mutate.py [--seconds S] [--jobs N] [FILE...]
       mutate.py --drawn COUNT [--seed SEED] [--floors] [--seconds S] [--jobs N] [FILE...]
       mutate.py --check

--drawn draws COUNT breakages from the sources of the library, of the tool and of the Python bindings, or from the files and folders
that are named (drawn.py). Without it, those of mutations.toml are tried, or those that are of the files named: they are what no drawing
makes, and each guards a promise. All are compiled at once, each as a choice at run time (choices.py), and the tests that reach one are
asked (asked.py), S seconds of them for each (default: 5, of the list 60).

The breakages that lived are printed, then a score for each room: how many were killed of those that compile. A drawn one that lived is
not always a gap: some change nothing, or only how long it takes, and not every test was asked. The exit status is 1 if one of the list
lived, or, with --floors, if a score is lower than floors.toml allows for so many. --check looks only at the list and the floors.
"""

import argparse
import math
import os
import random
import re
import signal
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path

import asked
import choices
from choices import MOST, PLACES, ROOT, Change, Failed
from drawn import Source

HERE = Path(__file__).resolve().parent
LONGEST_LIST = 150  # entries


def sources_of(names: list[str]) -> list[str]:
    files: list[Path] = []
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
    """One that was drawn."""
    text = (ROOT / change.file).read_text()
    line = 1 + text.count("\n", 0, change.begin)
    return f"{change.file}:{line}: {short(text[change.begin : change.end])}  ->  {short(change.to) or 'nothing'}"


def drawn_from(files: list[str], count: int, seed: str) -> list[Change]:
    changes = [c for f in files for c in Source(f, (ROOT / f).read_text()).changes]
    drawn = random.Random(seed).sample(changes, min(count, len(changes)))
    print(f"{len(drawn)} of {len(changes)} breakages, by --seed {seed}", flush=True)
    return drawn


# ---- the list


def change_of(entry: dict[str, str]) -> Change:
    """An entry of the list as a choice. Raises Failed if it is none."""
    name = f"{entry.get('file')}: '{short(entry.get('from', ''))}'"
    if entry.keys() != {"file", "from", "to", "why"}:
        raise Failed(f"{name}: expected file, from, to and why, got {', '.join(entry)}")
    file, before, after = entry["file"], entry["from"], entry["to"]
    path = ROOT / file
    if not path.is_file():
        raise Failed(f"{name}: there is no such file")
    text = path.read_text()
    if text.count(before) != 1:
        raise Failed(f"{name}: expected once in the file, got it {text.count(before)} times")
    same = len(os.path.commonprefix([before, after]))
    behind = len(os.path.commonprefix([before[same:][::-1], after[same:][::-1]]))
    begin, end = text.index(before) + same, text.index(before) + len(before) - behind
    change = choices.change_of(file, text, begin, end, after[same : len(after) - behind])
    if before == after or file not in sources_of([str(Path(file).parent)]) or change is None:
        raise Failed(f"{name}: expected a change within a function of a source, which can be a choice")
    return change


def read_list() -> dict[Change, str]:
    """The changes, each with its description."""
    files = tomllib.loads((HERE / "mutations.toml").read_text())
    entries = [{"file": file, **entry} for file, of_file in files.items() for entry in of_file]
    if len(entries) > LONGEST_LIST:
        raise Failed(f"expected {LONGEST_LIST} entries of the list at most, got {len(entries)}: a drawing finds gaps, not the list")
    return {change_of(e): f"{e['file']}: {short(e['from'])}  ->  {short(e['to']) or 'nothing'}  ({e['why']})" for e in entries}


def check_list(changes: dict[Change, str]) -> None:
    """Raises Failed if a drawing makes one of them."""
    drawn: dict[str, list[Change]] = {}
    for change, description in changes.items():
        text = (ROOT / change.file).read_text()
        if change.file not in drawn:
            drawn[change.file] = Source(change.file, text).changes
        made = [text[change.begin : c.begin] + c.to + text[c.end : change.end] for c in drawn[change.file]
                if change.begin <= c.begin and c.end <= change.end]  # fmt: skip
        if re.sub(r"[\s;]", "", change.to) in (re.sub(r"[\s;]", "", m) for m in made):
            raise Failed(f"{description}: --drawn makes it, so it needs no place in the list")


# ---- the floors


def read_floors(rooms: set[str]) -> dict[str, float]:
    """Raises Failed unless each of the rooms has one, and no other."""
    floors: dict[str, float] = tomllib.loads((HERE / "floors.toml").read_text())
    if wrong := sorted(floors.keys() ^ rooms):
        raise Failed(f"floors.toml: expected a floor for each room that has sources, and no other: {', '.join(wrong)}")
    if wrong := sorted(room for room, floor in floors.items() if not 0 < floor < 1):
        raise Failed(f"floors.toml: expected shares between 0 and 1: {', '.join(wrong)}")
    return floors


def is_below(killed: int, tried: int, floor: float) -> bool:
    """Whether so few or fewer are killed less than once in 200 times where the share is the floor."""

    def chance(k: int) -> float:
        ways = math.lgamma(tried + 1) - math.lgamma(k + 1) - math.lgamma(tried - k + 1)
        return math.exp(ways + k * math.log(floor) + (tried - k) * math.log(1 - floor))

    return sum(map(chance, range(killed + 1))) < 1 / 200


# ---- all of it


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--drawn", type=int, metavar="COUNT")
    parser.add_argument("--seed", default=time.strftime("%Y-%m-%d"))
    parser.add_argument("--floors", action="store_true")
    parser.add_argument("--seconds", type=float, metavar="S")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    is_drawn = arguments.drawn is not None
    seconds = arguments.seconds if arguments.seconds is not None else 5 if is_drawn else 60
    if is_drawn and not 1 <= arguments.drawn < MOST:
        parser.error(f"--drawn: expected 1 to {MOST - 1}, got {arguments.drawn}")
    if arguments.floors and not is_drawn:
        parser.error("--floors: expected with --drawn")
    if not 0 <= seconds < math.inf:
        parser.error(f"--seconds: expected 0 or more, got {seconds}")
    # A shell ignores SIGINT for what it starts in the background.
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)

    floors = read_floors({asked.room_of(f) for f in sources_of([])})
    files, the_list = sources_of(arguments.files), read_list()
    if arguments.check:
        check_list(the_list)
        return 0
    listed = [change for change in the_list if change.file in files]
    changes = drawn_from(files, arguments.drawn, arguments.seed) if is_drawn else listed
    if not changes:
        raise Failed("no breakage is of these files")
    chosen = dict(enumerate(changes, 1))
    choices.build(chosen)
    print(f"{len(chosen)} of {len(changes)} compile", flush=True)

    breakages = asked.judged(chosen, seconds, arguments.jobs)
    described_all = {c: described(c) for c in changes} if is_drawn else the_list
    for breakage in breakages:
        if not breakage.killed:
            print(f"{'lived' if breakage.reached else 'not reached'}  {described_all[breakage.change]}")
    if not is_drawn:
        for change in set(changes) - set(chosen.values()):
            print(f"does not compile  {the_list[change]}")
    tried, killed, reached = (Counter(b.room for b in some) for some in
                              (breakages, (b for b in breakages if b.killed), (b for b in breakages if b.reached)))  # fmt: skip
    low = {room for room in tried if arguments.floors and is_below(killed[room], tried[room], floors[room])}
    for room, count in sorted(tried.items()):
        below = f"; less than its floor {floors[room]:.2f} allows" if room in low else ""
        print(f"{room:12} {killed[room]} of {count} killed, {reached[room]} reached{below}")
    print(f"{killed.total()} of {len(breakages)} killed")
    return int(bool(low) if is_drawn else killed.total() < len(changes))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        sys.exit(f"mutate: {failure}")
    except KeyboardInterrupt:
        sys.exit("mutate: stopped")
