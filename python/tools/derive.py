#!/usr/bin/env python3
"""Writes what the package's Python files have from the library's records: _ops.pyi, the types of the functions that the table of ops
makes, and the classes of layers in nn.py and of optimisers in optim.py.

derive.py <folder of the files>    (PYTHONPATH: the package in the build folder)
"""

import importlib
import pathlib
import re
import sys
import types

# The module without the package around it, which is what this writes.
_package = types.ModuleType("limpid")
_package.__path__ = [str(pathlib.Path(folder, "limpid")) for folder in sys.path]
sys.modules["limpid"] = _package
_core = importlib.import_module("limpid._core")

KINDS = {
    "V": "ArrayLike",
    "v": "Optional[ArrayLike]",
    "N": "ArrayLike",
    "L": "Sequence[ArrayLike]",
    "I": "int",
    "i": "Optional[int]",
    "D": "float",
    "d": "Optional[float]",
    "B": "bool",
    "S": "Union[int, Sequence[int]]",
    "A": "Union[None, int, Sequence[int]]",
    "T": "Any",
    "R": "str",
    "W": "str",
    "C": "ArrayLike",
    "F": "Any",
}

HEAD = '''# The functions of the table of ops. Written by ./dev docs.
from typing import Any, Optional, Sequence, Tuple, Union

from ._core import Array

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
        known = KINDS[kind] if default != "None" or kind in "viAd" else f"Optional[{KINDS[kind]}]"
        parameters.append(f"{parameter}: {known}" + (f" = {default}" if equals else ""))
    return f"def {name}({', '.join(parameters)}) -> {_core.op_results[name]}: ...\n"


# The ops that hold Functions: _transforms.py has functions of these names, which take code.
OF_CODE = {"cond", "scan", "while_loop"}


def stubs():
    names = sorted(set(_core.op_names) - OF_CODE)
    listed = "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n\n"
    return HEAD + listed + "".join(map(stub, names))


# The functions of nn.py, by the number of the scheme.
SCHEMES = ("constant", "normal", "truncated_normal", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal",
           "lecun_uniform", "lecun_normal", "orthogonal")


def member(name, kind, default):
    """A line of a dataclass."""
    if name in ("activation", "gate"):
        kind = "Activation"
    if default is None:
        return f"    {name}: {kind}\n"
    if kind == "Init":
        scheme, scale = default.__reduce__()[1]
        return f"    {name}: {kind} = field(default_factory=lambda: {SCHEMES[scheme]}({scale!r}))\n"
    text = f'"{default}"' if isinstance(default, str) else repr(default)
    return f"    {name}: {kind} = {text}\n"


def class_of(name, base, about, members):
    lines = about.split("\n")
    doc = "\n".join(f"    {line}" if line else "" for line in lines).strip() + ("\n    " if len(lines) > 1 else "")
    return f'@dataclass(frozen=True)\nclass {name}({base}):\n    """{doc}"""\n\n{"".join(members)}\n\n'


def section(text, name, classes, names):
    """The file's text with these classes between the lines that say so."""
    listed = "__all__ += [" + ", ".join(f'"{n}"' for n in sorted(names)) + "]\n"
    parts = re.fullmatch(r"(.*\n# ---- written by [^\n]*\n).*?(# ---- until here\n.*)", text, re.S)
    assert parts, f"{name} has no lines between which its classes belong"
    return parts[1] + "\n\n" + "".join(classes) + listed + parts[2]


def layers(text):
    classes, names = [], []
    for name, about, takes_key, arguments in _core.layers():
        # What a layer has besides is written by hand, in a class of its name.
        base = f"_{name}" if f"\nclass _{name}(_Layer):" in text else "_Layer"
        members = [member(*a) for a in arguments]
        if takes_key:
            members.append("    takes_key = True\n")
        classes.append(class_of(name, base, about, [*members, f'    _name: ClassVar[str] = "{name}"\n']))
        names.append(name)
    return section(text, "nn.py", classes, names)


def optimizers(text):
    classes, names = [], []
    for name, (kind, about, numbers) in _core.optimizers().items():
        members = [member(n, "bool" if switch else "float", bool(usual) if switch else usual) for n, (usual, switch, _) in numbers.items()]
        classes.append(class_of(kind, "_Optimizer", about, [*members, f'    _name: ClassVar[str] = "{name}"\n']))
        names.append(kind)
    return section(text, "optim.py", classes, names)


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "_ops.pyi").write_text(stubs())
    for name, derived in (("nn.py", layers), ("optim.py", optimizers)):
        (folder / name).write_text(derived((folder / name).read_text()))


if __name__ == "__main__":
    main()
