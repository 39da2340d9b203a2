"""Runs what is exported in ONNX Runtime: fetches it by npm into the build folder, in the version that the
benchmarks measure, writes the cases, and hands them to onnxruntime_test.js.

usage: onnxruntime_test.py CASES_PROGRAM BUILD_FOLDER
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
PACKAGE = HERE.parents[1] / "bench/onnxruntime"
SKIPPED = 77


def skip(reason):
    print(f"skipped: no onnxruntime-node: {reason}")
    sys.exit(SKIPPED)


def fetch(folder):
    """The folder of node_modules, as ./dev makes it for the benchmarks."""
    done = folder / "done"
    lock = PACKAGE / "package-lock.json"
    if not done.exists() or done.stat().st_mtime < lock.stat().st_mtime:
        if not shutil.which("npm"):
            skip("no npm")
        folder.mkdir(exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PACKAGE / name, folder)
        command = ["npm", "ci", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund"]
        try:
            run = subprocess.run(command, capture_output=True, timeout=240)
        except subprocess.TimeoutExpired:
            skip("npm takes too long")
        if run.returncode != 0:
            skip("npm cannot fetch it")
        done.touch()
    return folder / "node_modules"


def main():
    program, build = sys.argv[1:]
    modules = fetch(pathlib.Path(build) / "onnxruntime")
    with tempfile.TemporaryDirectory(prefix="limpid-onnx-") as folder:
        subprocess.run([program, folder], check=True)
        node = ["node", HERE / "onnxruntime_test.js", folder]
        sys.exit(subprocess.run(node, env={**os.environ, "NODE_PATH": str(modules)}).returncode)


main()
