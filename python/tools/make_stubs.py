#!/usr/bin/env python3
"""Writes limpid/_ops.pyi, the types of the functions that the table of ops makes.

make_stubs.py <file>    (PYTHONPATH: the package in the build folder)
"""

import pathlib
import sys

from limpid import _core

KINDS = {
    "V": "ArrayLike",
    "v": "Optional[ArrayLike]",
    "N": "ArrayLike",
    "L": "Sequence[ArrayLike]",
    "I": "int",
    "i": "Optional[int]",
    "D": "float",
    "B": "bool",
    "S": "Union[int, Sequence[int]]",
    "A": "Union[None, int, Sequence[int]]",
    "T": "Any",
    "R": "str",
    "W": "str",
    "C": "ArrayLike",
}

HEAD = '''# The functions of the table of ops. Written by python/tools/make_stubs.py, which a test compares.
from typing import Any, Optional, Sequence, Union

# Arrays of any kind, numbers, keys, and Values while code is traced. What comes back is an Array, or a Value
# while code is traced; some give a tuple.
ArrayLike = Any

'''


def stub(name):
    text = getattr(_core, name).__text_signature__[1:-1]
    kinds = _core.op_kinds[name]
    parameters = []
    for parameter, kind in zip(text.split(", ") if text else [], kinds):
        parameter, equals, default = parameter.partition("=")
        known = KINDS[kind] if default != "None" or kind in "viA" else f"Optional[{KINDS[kind]}]"
        parameters.append(f"{parameter}: {known}" + (f" = {default}" if equals else ""))
    return f"def {name}({', '.join(parameters)}) -> Any: ...\n"


def main():
    names = sorted(_core.op_names)
    listed = "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n\n"
    pathlib.Path(sys.argv[1]).write_text(HEAD + listed + "".join(map(stub, names)))


if __name__ == "__main__":
    main()
