"""docs/adding.md: the patches of examples/adding apply, touch as many files as the page says, and compile; what some add is run.

usage: adding_test.py SOURCE COMMANDS LAUNCHER [LIBRARY...]

Only the files that a patch touches are copied; the rest is the library as it was built, COMMANDS its compile_commands.json. LAUNCHER, if
not empty, runs the compiler: a cache.
"""

import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

# What the program tests/docs/adding/NAME.cc prints. It is linked with the patched sources and, where the library's objects may have
# unpatched functions inlined, since they were compiled in groups, with these.
PRINTED = {
    "activation": (["limpid/transforms/all_ops.cc"], "softsign 0.5 -0.75 0.875\nONNX: Softsign\nC++: its body\n"),
    "optimizer": (["limpid/optim/optimizer.cc"],
                  "beta1 0.9\nbeta2 0.99\nweight_decay 0\ndecay_vectors 1\n0.75 1.25\n"
                  "optimizer: gradient of 'w': expected the shape of f32[2], got f32[]\n"),
    "key": ([], "--divided-update true\n"),
    "kind": (["limpid/data/load_data.cc"], "00011100 odd\n01110100 even\n01100100 odd\n01010111 odd\n00001100 even\n10010100 odd\n"),
}
# The object folders of the build whose commands compile what is in a folder of sources.
TARGETS = {"limpid/": "/limpid.dir/", "apps/limpid/": "/limpid_tool.dir/", "python/": "/limpid_python.dir/"}


def files_of(patch):
    return re.findall(r"^\+\+\+ b/(\S+)$", patch, re.M)


def run(arguments, **options):
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, arguments))}\n{done.stdout}")
    return done.stdout


def flags_for(name):
    """The command that compiles sources like this one, up to its output, without a precompiled header; none if nothing does."""
    target = next(target for folder, target in TARGETS.items() if name.startswith(folder))
    commands = [c for c in json.loads(COMMANDS.read_text()) if target in c["command"] and "cmake_pch" not in c["file"]
                and ("/kernels/" in c["file"]) == ("/kernels/" in name)]
    if not commands:
        return None
    flags = shlex.split(commands[0]["command"])
    while "-include" in flags:
        at = flags.index("-include")
        del flags[at:at + 2]
    return [f for f in flags[:flags.index("-o")] if f != "-Winvalid-pch"]


class Adding(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        # Always the same, so that a compiler cache knows what is in it.
        self.folder = pathlib.Path("adding", self._testMethodName).absolute()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def patched(self, patch):
        """A folder with the files of a patch, patched."""
        copy = self.folder / "copy"
        copy.mkdir()
        for name in files_of(patch):
            if (SOURCE / name).exists():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                (copy / name).write_text((SOURCE / name).read_text())
        run(["git", "apply", "--whitespace=error", "-"], cwd=copy, input=patch)
        return copy

    def compiled(self, name, source, copy, *output):
        """Compiles as the build would; headers of the copy come first."""
        flags = flags_for(name)
        if flags:
            beside = f"-I{(SOURCE / name).parent}"  # where a header is that is named without its folder
            run([*(LAUNCHER if "-o" in output else []), flags[0], f"-I{copy}", *flags[1:], f"-I{SOURCE}", beside, *output, "-c", source])
        return flags

    def program(self, copy, name, patch, others):
        """The output of a program that links the patched sources before the library."""
        objects = []
        main = f"limpid/{name}_main.cc"
        (copy / main).write_text((SOURCE / f"tests/docs/adding/{name}.cc").read_text())
        for source in [*filter(lambda n: n.endswith(".cc"), files_of(patch)), *others, main]:
            if not (copy / source).exists():
                (copy / source).parent.mkdir(parents=True, exist_ok=True)
                (copy / source).write_text((SOURCE / source).read_text())
            objects.append(self.folder / (source.replace("/", "_") + ".o"))
            flags = self.compiled(source, copy / source, copy, "-o", objects[-1])
        # The first definition wins.
        link = [f for f in flags if not f.startswith("-I")]
        run([*link, "-Wl,--allow-multiple-definition", *objects, *LIBRARIES, "-pthread", "-o", self.folder / "program"])
        return run([self.folder / "program"])


def add_test(name, count):
    patch = (SOURCE / f"examples/adding/{name}.patch").read_text()

    def test(self):
        self.assertEqual(len(files_of(patch)), count)
        copy = self.patched(patch)
        if name in PRINTED and LIBRARIES:
            others, expected = PRINTED[name]
            self.assertEqual(self.program(copy, name, patch, others), expected)
            return
        for source in filter(lambda n: n.endswith(".cc"), files_of(patch)):
            self.compiled(source, copy / source, copy, "-fsyntax-only")

    setattr(Adding, f"test_{name}", test)


def add_tests():
    page = (SOURCE / "docs/adding.md").read_text()
    listed = {name: int(count) for name, count in re.findall(r"^\| [^|]*\[[^]]*\]\(\.\./examples/adding/(\w+)\.patch\) \| (\d+) \|", page, re.M)}
    there = {path.stem for path in (SOURCE / "examples/adding").glob("*.patch")}
    assert set(listed) == there, f"docs/adding.md lists {sorted(listed)}, examples/adding has {sorted(there)}"
    for name, count in listed.items():
        add_test(name, count)


if __name__ == "__main__":
    SOURCE, COMMANDS = map(pathlib.Path, sys.argv[1:3])
    LAUNCHER = shlex.split(sys.argv[3])
    LIBRARIES = sys.argv[4:]
    add_tests()
    unittest.main(argv=sys.argv[:1])
