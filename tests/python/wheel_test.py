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
BUILT = pathlib.Path(os.environ["PYTHONPATH"].split(os.pathsep)[0]).parent

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

    def test_it_is_built_where_numpy_is_not(self):
        # pip builds in an environment that hides Debian's packages, NumPy among them.
        hide = "import sys; sys.path = [path for path in sys.path if not path.endswith('-packages')]\n"
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "sitecustomize.py").write_text(hide)
            path = os.pathsep.join((name, str(SOURCE / "python/tools")))
            program = "import importlib.util, pathlib, sys, backend; print(importlib.util.find_spec('numpy')); backend._configure(pathlib.Path(sys.argv[1]))"
            out = subprocess.run(
                [sys.executable, "-B", "-c", program, folder / "build"],
                env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}, check=True, capture_output=True, text=True,
            ).stdout
            self.assertTrue(out.startswith("None\n"), out)
            targets = subprocess.run(["cmake", "--build", folder / "build", "--target", "help"], check=True, capture_output=True, text=True).stdout
            self.assertIn("limpid_python:", targets, out)


if __name__ == "__main__":
    unittest.main()
