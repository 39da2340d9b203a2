#!/usr/bin/env python3
"""The golden file of messages, tests/messages.txt: read, written, and made anew from what the tests recorded.

usage: bless.py FOLDER [--all]

FOLDER has a file of each process of tests that ran with LIMPID_BLESS=FOLDER. Tests that ran get their new messages. With --all every
test of the programs in FOLDER ran, so that others of these programs are no more.

The file has a heading for each test, sorted, "[program Suite.Test]", and below it the lines of its messages in order, indented by two; a
single line stands behind its heading.
The instances of a test with parameters share a heading, "[program Suite.Test/*]", and their lines are sorted.
"""

from __future__ import annotations

import pathlib
import re
import sys

GOLDEN = pathlib.Path(__file__).resolve().parent / "messages.txt"

Messages = dict[str, list[str]]


def parse(text: str) -> list[tuple[str, list[str]]]:
    """Each heading with its lines; a heading may come again in what processes recorded."""
    found: list[tuple[str, list[str]]] = []
    for line in text.split("\n")[:-1]:
        if line.startswith("["):
            found.append((line, []))
        else:
            found[-1][1].append(line[2:])
    return found


def entry(heading: str, lines: list[str]) -> str:
    return "\n".join([heading, *(f"  {line}" if line else "" for line in lines)]) + "\n"


def read() -> Messages:
    text = GOLDEN.read_text(encoding="utf-8") if GOLDEN.exists() else ""
    return dict(parse(re.sub(r"(?m)^(\[[^]]*\]) ", r"\1\n  ", text)))


def write(messages: Messages) -> None:
    text = "".join(entry(heading, messages[heading]) for heading in sorted(messages))
    GOLDEN.write_text(re.sub(r"(?m)^(\[[^]]*\])\n  (.+)\n(?=\[|\Z)", r"\1 \2\n", text), encoding="utf-8")


def program(heading: str) -> str:
    return heading[1 : heading.index(" ")]


def merge(old: Messages, recorded: list[tuple[str, list[str]]], ran_all: bool) -> tuple[Messages, list[str]]:
    """The new messages, and what stands against them, one line each."""
    said: Messages = {}
    kept: set[str] = set()
    against = []
    for heading, lines in recorded:
        bare = heading.removesuffix(" kept")
        if bare != heading:
            kept.add(bare)
        elif bare not in said:
            said[bare] = list(lines)
        elif bare.endswith("/*]"):
            said[bare] += lines
        elif said[bare] != lines:
            against.append(f"{bare}: a run of it says {said[bare]}, another {lines}")
    programs = {program(heading) for heading in [*said, *kept]}
    new = {heading: lines for heading, lines in old.items() if heading in kept or not (ran_all and program(heading) in programs)}
    for heading, lines in said.items():
        if heading.endswith("/*]"):
            others = old.get(heading, []) if heading in kept or not ran_all else []
            lines = sorted({*lines, *others})
        elif heading in kept:
            continue
        new[heading] = lines
    return {heading: lines for heading, lines in new.items() if lines}, against


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    recorded = [one for path in sorted(folder.iterdir()) for one in parse(path.read_text(encoding="utf-8"))]
    old = read()
    new, against = merge(old, recorded, "--all" in sys.argv[2:])
    write(new)
    for line in against:
        print(line)
    changed = [heading for heading in sorted({*old, *new}) if old.get(heading) != new.get(heading)]
    print(f"{len(recorded)} tests ran; the messages of {len(changed)} changed: git diff tests/messages.txt")
    return 1 if against else 0


if __name__ == "__main__":
    sys.exit(main())
