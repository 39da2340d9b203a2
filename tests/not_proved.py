"""Lists the skipped tests with their messages, from CTest's log.

usage: not_proved.py BUILD_FOLDER

A program of Python's unittest passes where it skips some of its tests; they are listed, too.

LIMPID_REQUIRE names tests that may not be skipped: regular expressions for the beginnings of names, with spaces between them, or
"all". The exit status is 1 where one of them was skipped.
"""

import os
import re
import sys
from pathlib import Path


def skipped(log: str) -> list[tuple[str, str]]:
    """The name of each test that was skipped, and why."""
    tests = re.split(r"^\d+/\d+ Test: ", log, flags=re.MULTILINE)[1:]
    found = []
    for test in tests:
        name, _, rest = test.partition("\n")
        if "\nTest Skipped.\n" not in test and not re.search(r"^Test (Skipped|Not Run)", test, re.MULTILINE):
            found += skipped_of_unittest(name.strip(), rest)
            continue
        said = re.search(r"^(?:.*: )?skipped: (.*)$", rest, re.MULTILINE)
        googletest = re.search(r"^\S+:\d+: Skipped\n(.*)$", rest, re.MULTILINE)
        reason = googletest or said
        found.append((name.strip(), reason.group(1).removeprefix("skipped: ") if reason else "it says no reason"))
    return sorted(found)


def skipped_of_unittest(program: str, output: str) -> list[tuple[str, str]]:
    """What a program that ran skipped: unittest tells the reasons with -v."""
    count = re.search(r"^(?:OK|FAILED) \(.*\bskipped=(\d+)", output, re.MULTILINE)
    if not count:
        return []
    found, test = [], ""
    for line in output.splitlines():
        if begins := re.match(r"(\w+) \(\w+\.[\w.]+\)", line):
            test = begins.group(1)
        if reason := re.search(r"\.\.\. skipped (['\"])(.*)\1$", line):
            found.append((f"{program} {test}", reason.group(2)))
    return found or [(program, f"{count.group(1)} of its tests; it says no reason")]


def main() -> int:
    log = (Path(sys.argv[1]) / "Testing/Temporary/LastTest.log").read_text(errors="replace")
    required = os.environ.get("LIMPID_REQUIRE", "").split()
    tests = skipped(log)
    if tests:
        print("not proved here:")
    missed = 0
    for name, reason in tests:
        wanted = "all" in required or any(re.match(r, name) for r in required)
        missed += wanted
        print(f"  {name}: {reason}" + (" (required by LIMPID_REQUIRE)" if wanted else ""))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
