#!/usr/bin/env python3
"""Plants one violation after the other in a small tree; include_check must see each, and no other."""

import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
import include_check  # noqa: E402

CLEAN = {
    "limpid/CMakeLists.txt": "set(LIMPID_FOLDERS core kernels function train)\nset(LIMPID_TRAIN_FOLDERS loop run)\n",
    "limpid/limpid.h": '// All.\n#pragma once\n#include "limpid/function/f.h"\n',
    "limpid/core/c.h": "// C.\n#pragma once\n#include <vector>\n",
    "limpid/core/c.cc": '// C.\n#include "limpid/core/c.h"\n#include <fmt/format.h>\n',
    "limpid/kernels/k.h": "// K.\n#pragma once\n",
    "limpid/kernels/lanes-inl.h": '// Lanes, once a target.\n#include "hwy/highway.h"\n',
    "limpid/kernels/k.cc": '// K.\n#include "hwy/highway.h"\n#include "limpid/core/c.h"\n',
    "limpid/function/f.h": '// F.\n#pragma once\n#include "limpid/kernels/k.h"\n',
    "limpid/function/detail/d.h": "// D.\n#pragma once\n#include <fmt/format.h>\n",
    "limpid/function/f.cc": '// F.\n#include "limpid/function/detail/d.h"\n',
    "limpid/train/loop/l.h": '// L.\n#pragma once\n#include "limpid/core/c.h"\n',
    "limpid/train/run/r.h": '// R.\n#pragma once\n#include "limpid/train/loop/l.h"\n',
    "limpid/core/json.cc": "// J.\n#include <nlohmann/json.hpp>\n",
    "apps/limpid/support/cli.cc": "#include <CLI/CLI.hpp>\n",
}

# File, the text that is added to it a part of the one report.
PLANTED = [
    ("limpid/core/c.h", '#include "limpid/kernels/k.h"\n', "limpid/core comes before it"),
    ("limpid/core/c.cc", "#include <limpid/function/f.h>\n", "limpid/core comes before it"),
    ("limpid/core/c.cc", '  #  include "limpid/limpid.h"\n', "limpid/core comes before it"),
    ("limpid/core/c.cc", '#include "c.h"\n', "not named from the root"),
    ("limpid/core/c.cc", '#include "../function/f.h"\n', "not named from the root"),
    ("limpid/core/c.cc", '#include "tests/core/helpers.h"\n', "not named from the root"),
    ("limpid/function/f.cc", "#include <hwy/highway.h>\n", "only limpid/kernels"),
    ("limpid/function/f.h", "#include <hwy/highway.h>\n", "only limpid/kernels"),
    ("limpid/core/c.cc", "#include <nlohmann/json.hpp>\n", "only limpid/core/json.cc includes it"),
    ("apps/limpid/commands/run.cc", "#include <nlohmann/json.hpp>\n", "only limpid/core/json.cc includes it"),
    ("apps/limpid/commands/run.cc", "#include <CLI/CLI.hpp>\n", "only apps/limpid/support/cli.cc includes it"),
    ("limpid/core/c.cc", "#include <boost/asio.hpp>\n", "only limpid/serve"),
    ("limpid/core/c.cc", "#include <simdjson.h>\n", "only limpid/serve"),
    ("limpid/core/c.h", "#include <fmt/format.h>\n", "reaches users of the library"),
    ("limpid/limpid.h", "#include <CLI/CLI.hpp>\n", "reaches users of the library"),
    ("limpid/kernels/k.h", "#include <hwy/base.h>\n", "limpid/function/f.h > limpid/kernels/k.h"),
    (
        "limpid/function/f.h",
        '#include "limpid/function/detail/d.h"\n',
        "limpid/function/f.h > limpid/function/detail/d.h",
    ),
    ("limpid/train/loop/l.h", '#include "limpid/train/run/r.h"\n', "limpid/train/loop comes before it"),
    ("limpid/train/stray/s.h", "// S.\n#pragma once\n", "not in LIMPID_TRAIN_FOLDERS"),
    ("limpid/stray/s.h", "// S.\n#pragma once\n", "not in LIMPID_FOLDERS"),
    ("limpid/core/silent.cc", "int x;\n", "opens without a comment"),
    ("limpid/core/twice.h", "// T.\n", "no #pragma once"),
]


def reports(files):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return include_check.check(root)


def main():
    failures = 0
    if found := reports(CLEAN):
        failures += 1
        print("the clean tree:", found)
    for path, text, expected in PLANTED:
        found = reports(CLEAN | {path: CLEAN.get(path, "") + text})
        if len(found) != 1 or expected not in found[0]:
            failures += 1
            print(f"{text.strip()} in {path}: wanted one report of '{expected}', not {found}")
    print(f"{len(PLANTED) + 1} trees, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
