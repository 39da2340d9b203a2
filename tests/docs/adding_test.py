"""docs/adding.md: every patch applies, touches as many files as its section says, and those followed by a program build and run.

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

import pages


def files_of(patch):
    return re.findall(r"^\+\+\+ b/(\S+)$", patch, re.M)


def run(arguments, **options):
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, arguments))}\n{done.stdout}")
    return done.stdout


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

    def compiled(self, source, output, copy):
        """Compiles with the flags of the library, without its precompiled header; headers of the copy come first."""
        flags = shlex.split(next(c["command"] for c in json.loads(COMMANDS.read_text())
                                 if "/limpid.dir/" in c["command"] and "/kernels/" not in c["file"]
                                 and "cmake_pch" not in c["file"]))
        while "-include" in flags:
            at = flags.index("-include")
            del flags[at:at + 2]
        end = flags.index("-o")
        run([*LAUNCHER, flags[0], f"-I{copy}", *flags[1:end], f"-I{SOURCE}", "-o", output, "-c", source])
        return [f for f in flags[:end] if not f.startswith("-I")]

    def program(self, copy, patch, code):
        """The output of a program that links the patched sources before the library."""
        objects = []
        (copy / "main.cc").write_text(code)
        for name in [*filter(lambda n: n.endswith(".cc"), files_of(patch)), *self.also(patch), "main.cc"]:
            if not (copy / name).exists():
                (copy / name).write_text((SOURCE / name).read_text())
            objects.append(self.folder / (name.replace("/", "_") + ".o"))
            link = self.compiled(copy / name, objects[-1], copy)
        # If the library's sources were compiled in groups, their objects contain the unpatched functions, too; the first definition wins.
        run([*link, "-Wl,--allow-multiple-definition", *objects, *LIBRARIES, "-pthread", "-o", self.folder / "program"])
        return run([self.folder / "program"])

    def also(self, patch):
        """Untouched sources that include a changed header, or into which the compiler may have inlined changed code, since they were
        compiled together with it."""
        others = {"limpid/optim/optimizer.h": "limpid/optim/optimizer.cc", "limpid/data/data_kind.cc": "limpid/data/load_data.cc"}
        return [source for touched, source in others.items() if f"+++ b/{touched}" in patch]


def add_test(title, count, blocks):
    patch = blocks[0].body

    def test(self):
        self.assertEqual(len(files_of(patch)), count, title)
        copy = self.patched(patch)
        if len(blocks) > 1 and LIBRARIES:
            self.assertEqual(self.program(copy, patch, blocks[1].body), blocks[2].body)

    setattr(Adding, "test_" + re.sub(r"\W+", "_", title), test)


def add_tests():
    page = (SOURCE / "docs/adding.md").read_text()
    sections = re.findall(r"^## ([^\n]*): (\d+) files?\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    assert len(sections) == page.count("\n## "), "every section says how many files it touches"
    for title, count, text in sections:
        blocks = [b for b in pages.blocks_of(text) if b.kind in ("diff", "cpp", "text")]
        assert [b.kind for b in blocks] in (["diff"], ["diff", "cpp", "text"]), title
        add_test(title, int(count), blocks)


if __name__ == "__main__":
    SOURCE, COMMANDS = map(pathlib.Path, sys.argv[1:3])
    LAUNCHER = shlex.split(sys.argv[3])
    LIBRARIES = sys.argv[4:]
    add_tests()
    unittest.main(argv=sys.argv[:1])
