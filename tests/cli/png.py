"""Writes PNG pictures, for tests of data and of the server."""

import struct
import zlib


def png(rows, channels=1):
    """A picture of 8 bits; each row is bytes, `channels` for each pixel: 1, 3, or 4 with alpha."""

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    width = len(rows[0]) // channels
    header = struct.pack(">IIBBBBB", width, len(rows), 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def flat(value, height=8, width=8, channels=1):
    """A picture of one value."""
    return png([bytes([value]) * (width * channels)] * height, channels)


def write_halves(folder, count=12, height=8, width=8):
    """Pictures of the classes `left` and `right`: the bright half, at several brightnesses."""
    for name in ("left", "right"):
        (folder / name).mkdir(parents=True)
        for number in range(count):
            row = bytes([130 + 10 * number]) * (width // 2) + bytes([number]) * (width // 2)
            rows = [row if name == "left" else row[::-1]] * height
            (folder / name / f"{number:02}.png").write_bytes(png(rows))
