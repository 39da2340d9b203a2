"""Writes what is derived from the library's records: the pages of docs/reference, the table of docs/hashes.md, the layers of
limpid/limpid.h, and the parts of the Python package that python/tools/derive.py makes.

derive.py TOOL [--python PROGRAM FOLDER] [--check]

FOLDER has the built package. --check writes nothing, names the files that are old, and fails where there are any.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]
REFERENCE = {"ops": ("ops", "--markdown"), "doctor": ("doctor", "--markdown"), "train": ("train", "--markdown"),
             "onnx": ("onnx-ops", "--reference")}
HASHES = "\nWhat `limpid selftest` compares:\n\n"
LAYERS = '#include "limpid/nn/'


def output(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def with_layers(text):
    """limpid.h with the headers of limpid/nn, in their place."""
    lines = text.splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if line.startswith(LAYERS))
    others = [line for line in lines if not line.startswith(LAYERS)]
    headers = sorted(path.name for path in (ROOT / "limpid/nn").glob("*.h"))
    return "".join(others[:first] + [f'{LAYERS}{name}"\n' for name in headers] + others[first:])


def derived(tool, python):
    """The texts of all these files, by their paths."""
    texts = {}
    commands = output(tool, "--help")
    for name, command in REFERENCE.items():
        if command[0] in commands:
            texts[f"docs/reference/{name}.md"] = output(tool, *command)
    head, found, _ = (ROOT / "docs/hashes.md").read_text().partition(HASHES)
    texts["docs/hashes.md"] = head + found + output(tool, "selftest", "--print")
    texts["limpid/limpid.h"] = with_layers((ROOT / "limpid/limpid.h").read_text())
    if python:
        program, package = python
        with tempfile.TemporaryDirectory() as folder:
            names = ("_ops.pyi", "nn.py", "optim.py")
            for name in names:
                (pathlib.Path(folder) / name).write_text((ROOT / "python/limpid" / name).read_text())
            output(program, "-B", ROOT / "python/tools/derive.py", folder, env={**os.environ, "PYTHONPATH": package})
            for name in names:
                texts[f"python/limpid/{name}"] = (pathlib.Path(folder) / name).read_text()
    return texts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--python", nargs=2)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    old = {name: text for name, text in derived(given.tool, given.python).items() if (ROOT / name).read_text() != text}
    for name, text in old.items():
        print(f"{name}: old; ./dev docs writes it" if given.check else f"{name}: written")
        if not given.check:
            (ROOT / name).write_text(text)
    sys.exit(given.check and bool(old))


if __name__ == "__main__":
    main()
