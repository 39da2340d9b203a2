#!/usr/bin/env python3
"""Checks who includes whom in limpid/, and that every file says what it is.

  include_check.py <root of the project>

* A folder of limpid/ includes itself and the folders before it in LIMPID_FOLDERS of
  limpid/CMakeLists.txt; limpid/limpid.h includes any. Likewise the folders of limpid/train and LIMPID_TRAIN_FOLDERS.
* limpid/ includes nothing from apps/, tests/ and bench/, and names its own headers from the root.
* Only limpid/kernels includes Highway.
* Only limpid/core/json.cc includes nlohmann-json and only apps/limpid/support/cli.cc CLI11, whose headers cost
  seconds in each source.
* Only limpid/serve includes Boost and simdjson, which the library does without.
* What a user of the library includes, directly or not, includes no third-party header.
* A header, and a source without one, opens with a comment; a header goes on to `#pragma once`.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
THIRD_PARTY = ("hwy/", "fmt/", "nlohmann/", "zlib.h", "CLI/", "httplib.h", "onnx/", "google/", "boost/", "simdjson.h")


def includes(path):
    """(line number, name) of every include of the file."""
    text = path.read_text()
    return [(text.count("\n", 0, m.start(2)) + 1, m.group(2)) for m in INCLUDE.finditer(text)]


def folders(root):
    """Of limpid/, and of each folder there whose own folders have an order: by its path, in order."""
    text = (root / "limpid/CMakeLists.txt").read_text()
    found = re.findall(r"set\(LIMPID_(?:([A-Z]+)_)?FOLDERS\s+([^)]*)\)", text)
    return {f"limpid/{name.lower()}".rstrip("/"): order.split() for name, order in found}


def check(root):
    """The violations, one line each."""
    orders = folders(root)
    order = orders["limpid"]
    sources = sorted(p for p in (root / "limpid").rglob("*") if p.suffix in (".cc", ".h"))
    found = []

    def report(path, line, message):
        found.append(f"{path.relative_to(root)}:{line}: {message}")

    public = set()  # headers that users see
    for path in sources:
        parts = path.relative_to(root).parts
        folder = parts[1] if len(parts) > 2 else None  # None: limpid/limpid.h
        if folder is not None and folder not in order:
            report(path, 1, f"limpid/{folder} is not in LIMPID_FOLDERS")
            continue
        if folder is not None and parts[2] not in orders.get(f"limpid/{folder}", parts):
            report(path, 1, f"limpid/{folder}/{parts[2]} is not in LIMPID_{folder.upper()}_FOLDERS")
            continue
        if path.suffix == ".h" and folder != "kernels" and "detail" not in parts:
            public.add(path)
        if not path.read_text().startswith("//") and not (
            path.suffix == ".cc" and path.with_suffix(".h").exists()
        ):
            report(path, 1, "opens without a comment that says what the file is")
        if path.suffix == ".h" and "-inl" not in path.name:
            if not re.search(r"^#pragma once$", path.read_text(), re.MULTILINE):
                report(path, 1, "has no #pragma once")
        for line, name in includes(path):
            if name.startswith(("apps/", "tests/", "bench/", "../")) or (
                (path.parent / name).exists() and not name.startswith("limpid/")
            ):
                report(path, line, f"{name} is not named from the root as limpid/...")
            elif name.startswith("hwy/") and folder != "kernels":
                report(path, line, f"{name}: only limpid/kernels includes Highway")
            elif name.startswith(("boost/", "simdjson.h")) and folder != "serve":
                report(path, line, f"{name}: only limpid/serve includes it")
            elif name.startswith("limpid/") and folder is not None:
                for within, inner in orders.items():
                    both = ["/".join(parts), name]
                    if all(p.startswith(f"{within}/") for p in both):
                        ours, theirs = (p.removeprefix(f"{within}/").split("/")[0] for p in both)
                        if theirs not in inner or inner.index(theirs) > inner.index(ours):
                            report(path, line, f"{name}: {within}/{ours} comes before it")

    # In a header of limpid/ these are reported below.
    expensive = {"nlohmann/": "limpid/core/json.cc", "CLI/": "apps/limpid/support/cli.cc"}
    for path in sorted(p for folder in ("limpid", "apps") for p in (root / folder).rglob("*.*")):
        for line, name in includes(path) if path.suffix in (".cc", ".h") else ():
            for prefix, source in expensive.items():
                if name.startswith(prefix) and path != root / source and path not in public:
                    report(path, line, f"{name}: only {source} includes it")

    # Breadth first, for the shortest path to a violation.
    way = {path: path.relative_to(root).as_posix() for path in sorted(public)}
    queue = list(way)
    for path in queue:
        for line, name in includes(path):
            reported = name.startswith("hwy/") and path in public  # above
            if name.startswith(THIRD_PARTY) and not reported:
                report(path, line, f"{name} reaches users of the library: {way[path]}")
            target = root / name
            if name.startswith("limpid/") and target.exists() and target not in way:
                way[target] = f"{way[path]} > {name}"
                queue.append(target)
    return found


def main():
    found = check(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(found) or "Every include is in order.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
