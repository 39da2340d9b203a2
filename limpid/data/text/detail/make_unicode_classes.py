#!/usr/bin/env python3
"""Writes unicode_classes.inc from Unicode's UnicodeData.txt (Debian: unicode-data).

  make_unicode_classes.py /usr/share/unicode/UnicodeData.txt > unicode_classes.inc

An entry for every code point at which the class changes: the code point times 4 plus the class from
there on, in the order of CharacterClass. The white space is that of PropList.txt, White_Space, which no
version of Unicode has changed since 6.3.
"""

import sys

OTHER, LETTER, NUMBER, SPACE = range(4)
WHITE_SPACE = [*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]


def classes(lines):
    """Code point: class, of those that are not OTHER."""
    found = {}
    first = None
    for line in lines:
        number, name, category = line.split(";")[:3]
        code = int(number, 16)
        if name.endswith(", First>"):
            first = code
            continue
        start, first = (first if first is not None else code), None
        kind = {"L": LETTER, "N": NUMBER}.get(category[0], OTHER)
        if kind != OTHER:
            found.update(dict.fromkeys(range(start, code + 1), kind))
    found.update(dict.fromkeys(WHITE_SPACE, SPACE))
    return found


def main():
    with open(sys.argv[1], encoding="utf-8") as data:
        found = classes(data)
    entries = []
    last = OTHER
    for code in range(max(found) + 2):
        kind = found.get(code, OTHER)
        if kind != last:
            entries.append(code << 2 | kind)
            last = kind
    print("// Written by make_unicode_classes.py, Unicode 15.0.")
    for i in range(0, len(entries), 14):
        print(",".join(f"{e:#x}" for e in entries[i : i + 14]) + ",")


if __name__ == "__main__":
    main()
