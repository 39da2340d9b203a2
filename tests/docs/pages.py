"""The blocks of a page of documentation that can be run and compared.

    ```cpp          a part of the page's program; a page has one, in blocks from top to bottom
    ```text         directly after a cpp block: what that block prints
    ```console      `$ command` lines, each with what it prints after it, or nothing where that may be anything
    ```csv NAME     a file, also json and others: every block with a name is written before what comes after it

Blocks of other kinds are for reading only.
"""

import dataclasses
import re


@dataclasses.dataclass
class Block:
    kind: str
    name: str
    body: str
    line: int      # line number of the body's first line, from 1
    adjacent: bool  # whether only blank lines separate it from the previous block


def blocks_of(text):
    blocks, end = [], 0
    for match in re.finditer(r"^```(\w+) ?(\S*)\n(.*?)^```$", text, re.M | re.S):
        blocks.append(Block(match[1], match[2], match[3], text.count("\n", 0, match.start(3)) + 1,
                            text[end:match.start()].strip() == ""))
        end = match.end()
    return blocks


def commands_of(block):
    """The commands of a console block, each with its expected output."""
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.body, re.M)


def function_name(page):
    return "page_" + re.sub(r"\W", "_", page)


# Printed after the output of each cpp block.
SEPARATOR = "\x1e"
