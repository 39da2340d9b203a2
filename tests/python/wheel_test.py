#!/usr/bin/env python3
"""`pip install .`: the wheel of the build folder installs without an index, and what was installed works by itself."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["LIMPID_SOURCE"])
BUILT = pathlib.Path(os.environ["PYTHONPATH"]).parent

if importlib.util.find_spec("pip") is None:
    print("skipped: pip (python3-pip) is missing")
    sys.exit(0)


class Wheel(unittest.TestCase):
    def test_it_installs_and_runs(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir"]
            subprocess.run(
                [*pip, "wheel", "--no-index", "--no-deps", "-w", folder, SOURCE],
                env={**clean, "LIMPID_BUILD_FOLDER": str(BUILT)},
                check=True,
                capture_output=True,
                text=True,
            )
            (wheel,) = folder.glob("limpid-*.whl")
            self.assertLessEqual(wheel.stat().st_size, 8 << 20)
            subprocess.run([*pip, "install", "--no-index", "--no-deps", "--target", folder / "site", wheel], env=clean, check=True, capture_output=True)
            program = "import limpid as lp, importlib.metadata as m; print(lp.__file__, m.version('limpid'), lp.ones(3).sum().item())"
            out = subprocess.run([sys.executable, "-B", "-c", program], env={**clean, "PYTHONPATH": str(folder / "site")}, cwd=folder, check=True, capture_output=True, text=True).stdout.split()
            self.assertTrue(out[0].startswith(str(folder / "site")), out)
            self.assertEqual(out[2], "3.0")
            self.assertTrue((folder / "site/limpid/py.typed").exists())


if __name__ == "__main__":
    unittest.main()
