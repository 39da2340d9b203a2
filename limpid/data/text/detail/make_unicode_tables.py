#!/usr/bin/env python3
"""Writes the tables of unicode_tables.inc from Unicode's data files (Debian: unicode-data).

  make_unicode_tables.py /usr/share/unicode > unicode_tables.inc

Each table is an array of u32. Those of changes have an entry for every code point at which a property changes: the
code point times 32 plus the property from there on.
"""

import sys
from pathlib import Path

# In the order of enum class Category of unicode.h.
CATEGORIES = "Cn Cc Cf Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs".split()
# In the order of enum class GraphemeBreak.
BREAKS = "Other CR LF Control Extend ZWJ Regional_Indicator Prepend SpacingMark L V T LV LVT Extended_Pictographic".split()
LAST = 0x110000


def rows_of(path):
    """The fields of each line, comments aside."""
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = [field.strip() for field in line.split("#")[0].split(";")]
        if fields != [""]:
            yield fields


def range_of(text):
    first, _, last = text.partition("..")
    return range(int(first, 16), int(last or first, 16) + 1)


def characters(path):
    """(code points, fields) of UnicodeData.txt."""
    first = None
    for fields in rows_of(path):
        code = int(fields[0], 16)
        if fields[1].endswith(", First>"):
            first = code
            continue
        yield range(first if first is not None else code, code + 1), fields
        first = None


def changes(values):
    entries, last = [], 0
    for code in range(LAST):
        if values[code] != last:
            last = values[code]
            entries.append(code << 5 | last)
    return entries


def array(name, entries):
    print(f"inline constexpr std::uint32_t {name}[] = {{")
    for i in range(0, len(entries), 14):
        print(",".join(f"{e:#x}" for e in entries[i : i + 14]) + ",")
    print("};")


def main():
    folder = Path(sys.argv[1])
    rows = list(characters(folder / "UnicodeData.txt"))
    categories = bytearray(LAST)
    combining, lower, decompositions = {}, {}, {}
    for codes, fields in rows:
        for code in codes:
            categories[code] = CATEGORIES.index(fields[2])
        code = codes[0]
        if fields[3] != "0":
            combining[code] = int(fields[3])
        if fields[13]:
            lower[code] = int(fields[13], 16)
        if fields[5]:
            compatible, _, rest = fields[5].rpartition(">")
            decompositions[code] = (bool(compatible), [int(c, 16) for c in rest.split()])
    excluded = {int(fields[0], 16) for fields in rows_of(folder / "CompositionExclusions.txt")}
    breaks = bytearray(LAST)
    for path, column in ((folder / "emoji/emoji-data.txt", {"Extended_Pictographic"}),
                         (folder / "auxiliary/GraphemeBreakProperty.txt", set(BREAKS))):
        for fields in rows_of(path):
            if fields[1] in column:
                for code in range_of(fields[0]):
                    breaks[code] = BREAKS.index(fields[1])
    for code in range(0xAC00, 0xD7A4):  # the syllables of Hangul are known by arithmetic
        breaks[code] = 0

    print("// Written by make_unicode_tables.py, Unicode 15.0.")
    array("kCategoryChanges", changes(categories))
    array("kBreakChanges", changes(breaks))
    array("kCombining", [code << 8 | number for code, number in sorted(combining.items())])
    array("kLower", [e for pair in sorted(lower.items()) for e in pair])
    # code << 8 | length << 1 | whether it is a compatible one; then that many code points in kDecomposed.
    array("kDecompositions", [code << 8 | len(to) << 1 | compatible for code, (compatible, to) in sorted(decompositions.items())])
    array("kDecomposed", [c for _, (_, to) in sorted(decompositions.items()) for c in to])
    pairs = sorted((to[0], to[1], code) for code, (compatible, to) in decompositions.items()
                   if not compatible and len(to) == 2 and code not in excluded and code not in combining and to[0] not in combining)
    array("kCompositions", [e for triple in pairs for e in triple])


if __name__ == "__main__":
    main()
