"""Writes the C++ program of all pages: `pages NAME` runs one of them.

usage: make_program.py OUTPUT FOLDER PAGE...
"""

import pathlib
import sys

import pages

HEAD = """\
#include <limpid/limpid.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <list>
#include <span>
#include <string>
#include <vector>

namespace lp = limpid;

namespace {

"""

MAIN = """\
}  // namespace

int main(int, char** argv) {
  const std::string page = argv[1];
"""


def main():
    output, folder, *names = sys.argv[1:]
    text, calls = HEAD, ""
    for name in names:
        page = pathlib.Path(folder, name)
        blocks = [b for b in pages.blocks_of(page.read_text()) if b.kind == "cpp"]
        if not blocks:
            continue
        text += f"void {pages.function_name(name)}() {{\n"
        for block in blocks:
            # Without the folder, so that a compiler cache knows the program from another clone.
            text += f'#line {block.line} "docs/{name}"\n{block.body}'
            text += f"  std::cout << '\\x{ord(pages.SEPARATOR):x}';\n"
        text += "}\n\n"
        calls += f'  if (page == "{name}") {pages.function_name(name)}();\n'
    pathlib.Path(output).write_text(text + MAIN + calls + "}\n")


if __name__ == "__main__":
    main()
