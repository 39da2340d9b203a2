"""Builds and runs the tests that a change concerns: `./dev check`.

check.py BUILD [--jobs N] [FILE...]    without files those that are not committed, and those that differ from the branch main

The tests of limpid/FOLDER are in tests/FOLDER. A file of ops asks for the laws of the ops that it defines, and for what the
documentation has of them. What has no tests here is named.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parents[1]
# What the tests of a folder need besides the programs in it.
NEEDS = {"cli": ["limpid_tool"], "docs": ["limpid_tool"], "python": ["limpid_tool", "limpid_python"], "view_page": ["limpid_tool"]}
# Folders whose tests are elsewhere. Of the tool's the first are those that name every command.
ELSEWHERE = {"limpid/formats/onnx/": ["onnx", "onnx_export"], "apps/limpid/": ["cli"], "python/": ["python"], "docs/": ["docs"],
             "examples/": ["docs"], "web/": ["view_page"]}
# All tests of these take minutes.
SOME = {"cli": "cli.(usage|commands|docs)$", "docs": "docs.(links|derived|adding)$"}


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed_files():
    base = git("merge-base", "HEAD", "main") or ["HEAD"]
    return sorted({*git("diff", "--name-only", base[0]), *git("ls-files", "--others", "--exclude-standard")})


def ops_of(path):
    """The names of the ops that a source defines."""
    return re.findall(r"^constinit const Op (\w+)", path.read_text(), re.M) if path.exists() else []


def rooms_of(name):
    """The folders of tests/ that a file concerns."""
    for prefix, rooms in ELSEWHERE.items():
        if name.startswith(prefix):
            return rooms
    parts = pathlib.Path(name).parts
    if parts[0] in ("limpid", "tests") and len(parts) > 2 and (ROOT / "tests" / parts[1] / "CMakeLists.txt").exists():
        return [parts[1]]
    return []


def programs(build, room):
    """The targets of the programs in the folder."""
    listed = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.findall(rf"^(tests/{room}/\w+): CXX_EXECUTABLE_LINKER", listed, re.M)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("files", nargs="*")
    given = parser.parse_args()
    begin = time.monotonic()
    files = given.files or changed_files()
    rooms, ops, without = {}, [], []
    for name in files:
        found = rooms_of(name)
        for room in found:
            rooms.setdefault(room, []).append(name)
        if not found:
            without.append(name)
        if name.startswith("limpid/ops/"):
            ops += ops_of(ROOT / name)
    for name in without:
        print(f"no tests by this rule: {name}")
    if not rooms:
        sys.exit(0)
    targets = sorted({t for room in rooms for t in [*programs(given.build, room), *NEEDS.get(room, [])]} | ({"laws_test", "limpid_tool"} if ops else set()))
    print(f"building {' '.join(targets)}", flush=True)
    if subprocess.run(["ninja", "-C", given.build, f"-j{given.jobs}", "--quiet", *targets]).returncode:
        sys.exit(1)
    tests = [["ctest", "--test-dir", f"{given.build}/tests/{room}", "-j", given.jobs, "--output-on-failure", "-Q",
              *(["-R", f"^{SOME[room]}"] if room in SOME else [])] for room in sorted(rooms)]
    if ops:
        laws = ":".join(f"AllOps/*/{op}" for op in ops)
        tests.append([f"{given.build}/tests/laws/laws_test", "--gtest_brief=1", f"--gtest_filter={laws}"])
        tests.append(["ctest", "--test-dir", f"{given.build}/tests/docs", "--output-on-failure", "-Q", "-R", "^docs.derived$"])
    failed = 0
    for test in tests:
        print(" ".join(test), flush=True)
        failed += subprocess.run(test, cwd=ROOT).returncode != 0
    print(f"{'FAILED: ' + str(failed) if failed else 'all pass'}, {time.monotonic() - begin:.0f} s")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
