"""Writes the reference of the public headers and of those that they include, as HTML to OUTPUT/html. Fails where Doxygen
has anything to say, an entity without a comment for one.

usage: make.py SOURCE OUTPUT
"""

import os
import pathlib
import shutil
import subprocess
import sys

import headers

PUBLIC = ["limpid/limpid.h", "limpid/formats/onnx/onnx.h", "limpid/formats/onnx/export.h",
          "limpid/emit/emit.h"]


def main():
    source, output = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    copies = output / "headers"
    shutil.rmtree(copies, ignore_errors=True)
    for header in headers.with_included(source, [h for h in PUBLIC if (source / h).exists()]):
        copy = copies / header
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(headers.converted((source / header).read_text(), header))
    return subprocess.run(["doxygen", pathlib.Path(__file__).parent / "Doxyfile"], cwd=output,
                          env=dict(os.environ, HEADERS=str(copies))).returncode


if __name__ == "__main__":
    sys.exit(main())
