"""Runs what is exported in ONNX Runtime: fetches it by npm into the build folder, in the version that the
benchmarks measure, writes the cases, and hands them to onnxruntime_test.js.

usage: onnxruntime_test.py CASES_PROGRAM BUILD_FOLDER
"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import npm  # noqa: E402


def main():
    program, build = sys.argv[1:]
    modules = npm.fetch(HERE.parents[1] / "bench/onnxruntime", pathlib.Path(build) / "onnxruntime")
    with tempfile.TemporaryDirectory(prefix="limpid-onnx-") as folder:
        subprocess.run([program, folder], check=True)
        node = ["node", HERE / "onnxruntime_test.js", folder]
        sys.exit(subprocess.run(node, env={**os.environ, "NODE_PATH": str(modules)}).returncode)


main()
