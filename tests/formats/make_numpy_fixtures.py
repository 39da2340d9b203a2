#!/usr/bin/python3
"""Writes files as NumPy writes them, for the tests to read.

To make them again: apt-get install python3-numpy (1.24 on Debian 12), then

    /usr/bin/python3 tests/formats/make_numpy_fixtures.py

in the root of the project. The tests need the files in tests/formats/numpy alone, not NumPy.

<type>.npy           [2, 3] of that type: elements 0, 1, ... of 3 i - 4 (u1: 3 i; b1: i mod 2)
big_<type>.npy       the same, big-endian
fortran_<type>.npy   [2, 3, 4] of 3 i - 4 in Fortran order, i counting in C order
vector.npy, scalar.npy, empty.npy   f4 [5], [] and [0, 3] of 3 i - 4
version2.npy, version3.npy          f4.npy under a header of that version
objects.npy, records.npy, complex.npy   what is refused
stored.npz, deflated.npz            x: f4 [2, 3], y: i8 [5], as numpy.savez and savez_compressed do
streamed.npz         the same, written to a stream that cannot seek

written.npz is Limpid's (serialize_npz): f4.npy as "x" and i8.npy as "größe". It is checked here, not made.
"""

import io
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).parent / "numpy"


def array(dtype, *shape):
    i = np.arange(int(np.prod(shape, dtype=int)))
    values = {"u1": 3 * i, "b1": i % 2}.get(dtype, 3 * i - 4)
    return values.reshape(shape).astype(dtype)


def save(name, values, **options):
    with open(FOLDER / f"{name}.npy", "wb") as file:
        np.lib.format.write_array(file, values, **options)


class Stream(io.RawIOBase):
    def __init__(self):
        self.bytes = b""

    def writable(self):
        return True

    def write(self, data):
        self.bytes += bytes(data)
        return len(data)


def check_what_limpid_wrote():
    with np.load(FOLDER / "written.npz") as arrays:
        assert list(arrays) == ["x", "größe"]
        np.testing.assert_array_equal(arrays["x"], array("f4", 2, 3), strict=True)
        np.testing.assert_array_equal(arrays["größe"], array("i8", 2, 3), strict=True)


def main():
    FOLDER.mkdir(exist_ok=True)
    for dtype in ("f4", "f8", "f2", "i4", "i8", "u1", "b1"):
        save(dtype, array(dtype, 2, 3))
    for dtype in ("f4", "f8", "f2", "i4", "i8"):
        save("big_" + dtype, array(dtype, 2, 3).astype(">" + dtype))
    for dtype in ("f4", "i8", "u1", ">f8"):
        name = "fortran_" + dtype.replace(">", "big_")
        save(name, np.asfortranarray(array(dtype, 2, 3, 4)))
    save("vector", array("f4", 5))
    save("scalar", array("f4"))
    save("empty", array("f4", 0, 3))
    save("version2", array("f4", 2, 3), version=(2, 0))
    save("version3", array("f4", 2, 3), version=(3, 0))
    save("objects", np.array([{"a": 1}, None], dtype=object), allow_pickle=True)
    save("records", np.zeros(2, dtype=[("a", "f4"), ("b", "i8")]))
    save("complex", np.zeros(2, dtype="c8"))
    both = {"x": array("f4", 2, 3), "y": array("i8", 5)}
    np.savez(FOLDER / "stored.npz", **both)
    np.savez_compressed(FOLDER / "deflated.npz", **both)
    stream = Stream()
    np.savez(stream, **both)
    (FOLDER / "streamed.npz").write_bytes(stream.bytes)
    check_what_limpid_wrote()


if __name__ == "__main__":
    main()
