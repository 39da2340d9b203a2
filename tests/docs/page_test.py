"""Runs what a page shows, in a folder of its own, and compares what comes with what the page says.

usage: page_test.py TOOL PROGRAM FOLDER PAGE
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import pages


class Page(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "limpid").symlink_to(TOOL)
        self.work = self.folder / "work"
        self.work.mkdir()
        self.environment = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}", LC_ALL="C.UTF-8")

    def run_it(self, command):
        return subprocess.run(command, cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)

    def test_what_it_shows(self):
        blocks = pages.blocks_of((pathlib.Path(FOLDER) / PAGE).read_text())
        printed, compared = None, 0
        for i, block in enumerate(blocks):
            at = f"{PAGE}, line {block.line}"
            if block.name:
                (self.work / block.name).write_text(block.body)
            elif block.kind == "cpp":
                if printed is None:
                    run = self.run_it([PROGRAM, PAGE])
                    self.assertEqual(run.returncode, 0, f"{at}:\n{run.stdout}")
                    printed = run.stdout.split(pages.SEPARATOR)
                shown = next((b for b in blocks[i + 1:i + 2] if b.kind == "text" and b.adjacent), None)
                self.assertEqual(printed.pop(0), shown.body if shown else "", at)
                compared += shown is not None
            elif block.kind == "console":
                for command, expected in pages.commands_of(block):
                    run = self.run_it(["bash", "-c", command])
                    if expected:
                        self.assertEqual(run.stdout, expected, f"{at}: {command}")
                        compared += 1
                    # A command must fail exactly where the page shows a failure.
                    fails = expected.rpartition("\n")[0].rpartition("\n")[2].startswith("limpid: ")
                    self.assertEqual(run.returncode != 0, fails, f"{at}: {command}\n{run.stdout}")
        self.assertGreater(compared, 0, f"{PAGE} shows nothing that can be compared")


if __name__ == "__main__":
    TOOL, PROGRAM, FOLDER, PAGE = sys.argv[1:5]
    unittest.main(argv=sys.argv[:1])
