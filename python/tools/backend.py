"""How pip builds the package from a checkout (PEP 517): CMake builds it, and a wheel is a ZIP archive of it.

LIMPID_BUILD_FOLDER names a CMake build that is there already; otherwise build/wheel is made. The library is a part
of the module, so that a wheel needs NumPy, libfmt and zlib alone. Run as a program, it writes the metadata into a folder.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _version():
    return re.search(r"project\(limpid VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def _metadata():
    return (
        "Metadata-Version: 2.1\n"
        "Name: limpid\n"
        f"Version: {_version()}\n"
        "Summary: Neural networks as pure functions, with the same bits everywhere\n"
        "Requires-Python: >=3.9\n"
        "Requires-Dist: numpy>=1.22\n"
        "Description-Content-Type: text/markdown\n"
        "\n" + (ROOT / "docs/python.md").read_text()
    )


def _configure(folder):
    subprocess.run(
        ["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-D", "CMAKE_BUILD_TYPE=Release"]
        + ["-D", f"LIMPID_PYTHON={sys.executable}", "-D", "LIMPID_BUILD_PYTHON=ON"]
        + [f"-DLIMPID_BUILD_{part}=OFF" for part in ("TOOL", "TESTS", "SERVE", "BENCH", "SCALE")],
        check=True,
    )


def _build():
    """The folder of the package, built."""
    there = os.environ.get("LIMPID_BUILD_FOLDER")
    folder = pathlib.Path(there) if there else ROOT / "build/wheel"
    if not there:
        _configure(folder)
        if subprocess.run(["cmake", "--build", folder, "--target", "limpid_python"]).returncode:
            raise SystemExit("limpid: the Python package was not built; the lines above say what is missing")
    package = folder / "python/limpid"
    if not list(package.glob("_core*.so")):
        raise SystemExit(f"limpid: there is no module _core in {package}")
    return package


def _tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"{python}-{python}-{platform}"


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = pathlib.Path(metadata_directory) / f"limpid-{_version()}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "METADATA").write_text(_metadata())
    return folder.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = _build()
    info = f"limpid-{_version()}.dist-info"
    name = f"limpid-{_version()}-{_tag()}.whl"
    files = {
        f"limpid/{path.name}": path.read_bytes()
        for path in sorted(package.iterdir())
        if path.suffix in (".py", ".pyi", ".so") or path.name == "py.typed"
    }
    files[f"{info}/METADATA"] = _metadata().encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: limpid\nRoot-Is-Purelib: false\nTag: {_tag()}\n".encode()
    record = []
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path)  # of the first day that the format has: the same files, the same bytes
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if path.endswith(".so") else 0o644) << 16
            wheel.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(content)}\n")
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD"), "".join(record) + f"{info}/RECORD,,\n")
    return name


if __name__ == "__main__":
    prepare_metadata_for_build_wheel(sys.argv[1])
