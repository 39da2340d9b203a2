"""Packages of npm for tests, fetched into the build folder once; a test without them is skipped and says so."""

import shutil
import subprocess
import sys

SKIPPED = 77  # what CTest takes for skipped


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def fetch(package, folder):
    """The folder of node_modules that package/package-lock.json asks for."""
    done = folder / "done"
    if not done.exists() or done.stat().st_mtime < (package / "package-lock.json").stat().st_mtime:
        if not shutil.which("npm"):
            skip("no npm")
        folder.mkdir(exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(package / name, folder)
        command = ["npm", "ci", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund"]
        try:
            run = subprocess.run(command, capture_output=True, timeout=240)
        except subprocess.TimeoutExpired:
            skip(f"npm takes too long to fetch what {package.name} needs")
        if run.returncode != 0:
            skip(f"npm cannot fetch what {package.name} needs")
        done.touch()
    return folder / "node_modules"
