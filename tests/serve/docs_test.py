"""docs/serving.md: its clients, run against a server of its model."""

import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import served
import tool

PAGE_FILE = pathlib.Path(__file__).resolve().parents[2] / "docs/serving.md"
PAGE = PAGE_FILE.read_text()


class Page(served.ServeTest):
    def setUp(self):
        super().setUp()
        self.output("train", "--data", "moons", "--layers", "2,8,2", "--epochs", "2", "--out", self.folder / "moons")
        self.server = self.serve(self.folder / "moons")

    def blocks(self, kind):
        """The blocks of a kind that speak to the server, for the port of this one."""
        found = [block for block in re.findall(rf"(?ms)^```{kind}\n(.*?)^```$", PAGE) if "127.0.0.1:8000" in block]
        return [block.replace("127.0.0.1:8000", f"127.0.0.1:{self.server.port}") for block in found]

    def printed(self, command, text):
        run = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_python(self):
        block, = [b for b in self.blocks("python") if "numpy" not in b]
        self.assertRegex(self.printed([sys.executable, "-"], block), r"^\[1, 2\] \(-?[\d.e-]+, -?[\d.e-]+\)\n$")

    def test_numpy(self):
        if importlib.util.find_spec("numpy") is None:
            self.skipTest("no NumPy")
        block, = [b for b in self.blocks("python") if "numpy" in b]
        self.assertEqual(self.printed([sys.executable, "-"], block), "(1000, 2)\n")

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze")
    def test_the_unit(self):
        unit = self.folder / "limpid.service"
        text = (PAGE_FILE.parents[1] / "apps/limpid/limpid.service").read_text()
        unit.write_text(text.replace("/usr/bin/limpid", str(pathlib.Path(tool.TOOL).resolve())))
        run = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        command = ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", unit]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stdout[-200:] + run.stderr)
        # Its options are those of the command.
        options = set(re.findall(r"--[a-z-]+", re.search(r"(?m)^ExecStart=(.*)$", text)[1]))
        self.assertEqual(options - set(re.findall(r"--[a-z-]+", self.output("serve", "--help"))), set())

    @unittest.skipUnless(shutil.which("curl"), "no curl")
    def test_curl(self):
        block, = [b for b in self.blocks("sh") if b.startswith("curl") and "/v2" in b]
        self.assertRegex(self.printed(["bash", "-e"], block.replace("curl ", "curl -sf ")),
                         r'^\{"name":"moons",.*\}\{"model_name":"moons",.*"data":\[[^,]+,[^,]+\]\}\]\}$')

    @unittest.skipUnless(shutil.which("node"), "no Node.js")
    def test_javascript(self):
        if int(self.printed(["node", "-p", "process.versions.node"], "").split(".")[0]) < 18:
            self.skipTest("no fetch before Node.js 18")
        block, = [b for b in self.blocks("js") if "import" not in b]
        self.assertEqual(self.printed(["node", "--input-type=module", "-"], block), "2\n")

    def test_options_are_those_of_the_command(self):
        known = set(re.findall(r"--[a-z-]+", self.output("serve", "--help") + self.output("receipt", "--help")))
        shown = set(re.findall(r"`(--[a-z-]+)", PAGE))
        self.assertEqual(shown - known, set())
        limits = set(re.findall(r"--(?:max|min)-[a-z]+|--[a-z]+-time|--slack|--deadline|--drain", self.output("serve", "--help")))
        self.assertEqual(limits - set(re.findall(r"--[a-z-]+", PAGE)), set())


if __name__ == "__main__":
    unittest.main()
