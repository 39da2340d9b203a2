#!/usr/bin/env python3
"""Fails where a compiler cache could not know a source from another clone: the source's macros, a source that the build wrote, or a
precompiled header contains the path of the project. (Paths of -I and the like are relative to the cache: `dev` sets CCACHE_BASEDIR.)

cache_check.py <root of the project> <build folder>
"""

import json
import pathlib
import shlex
import sys

# What must say where the project stands.
KNOWN = {"tests/source_folder.cc", "tests/distribute/build_paths.cc", "bench/foreign.cc", "apps/limpid/page_files.cc",
         "limpid/distribute/launched_ranks.cc"}


def check(root, build):
    def named(path):
        for folder in (build, root):
            if path.is_relative_to(folder):
                return str(path.relative_to(folder))
        return str(path)

    bad = set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        macros = [word for word in shlex.split(entry["command"]) if word.startswith("-D") and str(root) in word]
        bad.update((named(source), macro) for macro in macros)
        if source.is_relative_to(build) and str(root) in source.read_text():
            bad.add((named(source), "its text"))
    for header in build.rglob("cmake_pch.hxx"):
        if str(root) in header.read_text():
            bad.add((named(header), "its text"))
    return sorted((name, what) for name, what in bad if name not in KNOWN)


def main():
    bad = check(*map(pathlib.Path, sys.argv[1:]))
    for name, what in bad:
        print(f"{name}: expected no path of the project, got one in {what}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
