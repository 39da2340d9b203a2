#!/usr/bin/env python3
"""Fails where clang-format would change one of our sources.

format_check.py <clang-format> <root of the project>
"""

import pathlib
import subprocess
import sys

FOLDERS = ("limpid", "apps", "tests", "bench", "examples", "python", "wasm")


def main():
    clang_format, root = sys.argv[1], pathlib.Path(sys.argv[2])
    sources = sorted(
        str(path)
        for folder in FOLDERS
        for path in (root / folder).rglob("*")
        if path.suffix in (".cc", ".h")
    )
    result = subprocess.run([clang_format, "--dry-run", "--Werror", *sources])
    if result.returncode:
        print("`./dev format` puts this right.")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
