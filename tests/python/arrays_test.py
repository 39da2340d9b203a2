#!/usr/bin/env python3
"""Arrays in and out, without a copy where that is promised."""

import array
import copy
import ctypes
import gc
import operator
import pickle
import sys
import threading
import unittest
import warnings

import numpy as np

import limpid as lp
from limpid import _core
from refusals import Refusals

RNG = np.random.default_rng(0)

DTYPES = ["float32", "float64", "float16", "int32", "int64", "int8", "uint8", "bool"]


def address(x):
    return np.asarray(x).__array_interface__["data"][0]


class In(Refusals):
    def test_every_dtype_without_a_copy(self):
        for dtype in DTYPES:
            x = np.arange(6).reshape(2, 3).astype(dtype)
            with lp.no_copy():
                a = lp.asarray(x)
            self.assertEqual([address(one) for one in (a, lp.asarray(x, dtype), lp.asarray(a, x.dtype))], [x.ctypes.data] * 3, dtype)
            self.assertEqual(a.shape, (2, 3))
            self.assertEqual(a.dtype, x.dtype)
            np.testing.assert_array_equal(np.asarray(a), x)

    def test_buffers_and_scalars(self):
        self.assertEqual(lp.asarray(array.array("f", [1, 2])).tolist(), [1, 2])
        self.assertEqual(lp.asarray(memoryview(b"\x01\x02")).type, "u8[2]")
        self.assertEqual(lp.asarray(1.5).type, "f32[]")
        self.assertEqual(lp.asarray(7).type, "i32[]")
        self.assertEqual(lp.asarray(True).type, "bool[]")
        self.assertEqual(lp.asarray(lp.Key(3)).type, "i64[]")
        self.assertEqual(lp.asarray([[1, 2]]).type, "i32[1, 2]")
        self.assertEqual(lp.asarray([1.5, 2], dtype="f64").type, "f64[2]")
        self.assertEqual(lp.asarray(np.float32(2)).type, "f32[]")
        self.refused(lambda: lp.asarray(2**40), ValueError)
        # A number of a dtype has all of that dtype's digits.
        self.assertEqual((lp.asarray(0.1, "f64").item(), lp.asarray(2**60 + 1, "i64").item()), (0.1, 2**60 + 1))
        self.assertEqual((lp.asarray(2.7, "i32").type, lp.asarray(1, "f32").type, lp.asarray(np.float64(0.1), "f64").item()), ("i32[]", "f32[]", 0.1))
        self.refused(lambda: lp.asarray(np.datetime64("2020")), TypeError)

    def test_integers_of_pythons(self):
        for fits in (-(2**31), 2**31 - 1):
            self.assertEqual((lp.asarray(fits).type, lp.asarray(fits).item()), ("i32[]", fits))
        for large in (-(2**31) - 1, 2**31, -(2**70), 2**70):
            self.refused(lambda: lp.asarray(large), ValueError)
        # NumPy's long long is another type than its int64, with the same elements.
        self.assertEqual(lp.asarray(np.arange(2, dtype=np.longlong)).type, "i64[2]")

    def test_lists_of_numbers(self):
        for given, kind in (
            ([True, False], "bool[2]"), ([[True]], "bool[1, 1]"), (range(3), "i32[3]"), ([], "f32[0]"), ([1, 2.5], "f32[2]"),
            ([-(2**31), 2**31 - 1], "i32[2]"), ((1, 2), "i32[2]"),
        ):
            a = lp.asarray(given)
            self.assertEqual((a.type, a.tolist()), (kind, [list(g) if isinstance(g, list) else g for g in given]))
        for given, dtype, kind in (([2**40], "i64", "i64[1]"), ([], "i32", "i32[0]"), ([1, 0], "bool", "bool[2]"), ([True], "f64", "f64[1]"), (True, "f32", "f32[]")):
            a = lp.asarray(given, dtype)
            self.assertEqual((a.type, a.tolist()), (kind, given))
        # Rounded once, and not by way of f32.
        for number, dtype, want in (
            (1 + 2**-11 + 2**-40, "f16", 1 + 2**-10), (1 + 2**-8 + 2**-40, "bf16", 1 + 2**-7), (2.0**24 + 1, "i32", 2**24 + 1), (2.0**53 - 1, "i64", 2**53 - 1),
            (0.1, "f32", np.float32(0.1)), (2.7, "i8", 2),
        ):
            for got in (lp.asarray(number, dtype), lp.asarray([[number]], dtype), lp.array((number,), dtype)):
                self.assertEqual((got.type.split("[")[0], got.item()), (dtype, want))
            if dtype[0] != "i":
                self.assertEqual(lp.full((), number, dtype).item(), want)
        for large in ([2**31], [0, -(2**31) - 1]):
            self.refused(lambda: lp.asarray(large), ValueError)
        self.assertEqual((lp.asarray([0.1], "f64").item(), lp.asarray([np.zeros(0, int)]).type), (0.1, "i32[1, 0]"))

    def test_an_array_that_cannot_give_a_capsule(self):
        class Half:
            def __dlpack__(self, **kwargs):
                raise RuntimeError("no bool")

        class Whole(Half):
            def __array__(self, dtype=None, copy=None):
                return np.float32([1, 2])

        self.assertEqual(lp.asarray(Whole()).tolist(), [1, 2])
        self.refused(lambda: lp.asarray(Half()), RuntimeError)

    def test_lists_with_arrays(self):
        a, b = lp.asarray([1.0, 2.0]), lp.asarray([0.1], dtype="f64")
        for parts, kind, values in (
            ([a, a], "f32[2, 2]", [[1, 2], [1, 2]]), ([a, [3, 4.5]], "f32[2, 2]", [[1, 2], [3, 4.5]]), ([a[0], 2.0, 3], "f32[3]", [1, 2, 3]),
            ([[a[0], 1], [2, a[1]]], "f32[2, 2]", [[1, 1], [2, 2]]), ([b, [0.2]], "f64[2, 1]", [[0.1], [0.2]]), ([[b[0]]], "f64[1, 1]", [[0.1]]),
            ((lp.asarray([1]), [2]), "i32[2, 1]", [[1], [2]]), ([lp.asarray(1.5, "bf16"), 2.0], "bf16[2]", [1.5, 2]),
        ):
            self.assertEqual((lp.asarray(parts).type, lp.asarray(parts).tolist()), (kind, values))
            self.assertEqual(lp.asarray(parts, "f32").type, "f32" + kind[kind.index("["):])
        for parts in ([a, b], [lp.asarray([1]), [0.5]]):
            with self.assertRaises((TypeError, ValueError)):
                lp.asarray(parts)

    def test_what_must_be_copied_is_copied_and_said(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        for other, why in [(x.T, "row-major"), (x[:, ::2], "row-major"), (x.astype(">f4"), "order")]:
            np.testing.assert_array_equal(np.asarray(lp.asarray(other)), other)
            with lp.no_copy(), self.assertRaisesRegex(ValueError, why):
                lp.asarray(other)
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                with lp.no_copy(warn=True):
                    first = sys._getframe().f_lineno + 1
                    lp.asarray(other)
                    lp.relu(other)
                    lp.compile(lp.relu)(other)
                    lp.vmap(lp.relu)(other)
            where = [(one.category, one.filename, one.lineno) for one in seen]
            self.assertEqual(where, [(lp.CopyWarning, __file__, first + i) for i in range(4)])
        for dtype in (">f8", ">f4", ">f2", ">i8", ">i4"):
            for other in (np.array([[1, -2, 3]], dtype), np.array(-5, dtype)):
                got = lp.asarray(other)
                self.assertEqual((got.shape, got.dtype, got.tolist()), (other.shape, np.dtype(dtype[1:]), other.tolist()))
        twice = lp.no_copy()
        with twice, twice:
            pass
        lp.asarray(x.T)
        # The inner one ends, and the outer one is in force again.
        with lp.no_copy(), self.assertRaisesRegex(ValueError, "row-major"):
            with lp.no_copy(warn=True):
                pass
            lp.asarray(x.T)
        unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32)
        with lp.no_copy(), self.assertRaisesRegex(ValueError, "aligned"):
            lp.asarray(unaligned)
        np.testing.assert_array_equal(np.asarray(lp.asarray(unaligned)), x.ravel())

    def test_refused(self):
        for bad in (np.zeros(2, np.int16), np.zeros(2, complex), np.array(["a"]), np.array([None])):
            self.refused(lambda: lp.asarray(bad), TypeError)
        with self.assertRaises(TypeError):
            lp.asarray(object())
        with self.assertRaises(TypeError):
            lp.asarray("text")
        self.refused(lambda: lp.asarray(np.zeros((1,) * 9, np.float32)), ValueError)
        for bytes_of_bools in ([2], [1, 0, 2]):
            self.refused(lambda: lp.asarray(np.array(bytes_of_bools, np.uint8).view(bool)), ValueError)

    def test_keys_are_values(self):
        large = lp.Key(2**64 - 1)
        self.assertEqual((large.bits, repr(large), lp.asarray(large).item(), lp.Key()), (2**64 - 1, "limpid.Key(18446744073709551615)", -1, lp.Key(0)))
        self.assertEqual(pickle.loads(pickle.dumps(large)), large)
        self.assertEqual(len({lp.Key(3), lp.Key(3), lp.Key(4)}), 2)
        for other in (lp.Key(4), 3, None):
            self.assertNotEqual(lp.Key(3), other)

    def test_what_was_never_made(self):
        for kind in (lp.Array, lp.Key, lp.Value):
            for use in (lp.relu, lambda x: lp.add(x, 1.0), lambda x: lp.trace(lambda y: x, "f32")):
                self.refused(lambda: use(kind.__new__(kind)), TypeError)
        self.refused(lambda: memoryview(lp.Array.__new__(lp.Array)), BufferError)
        empty, other = lp.Params.__new__(lp.Params), lp.Params.__new__(lp.Params)
        object.__setattr__(other, "_entries", [1.0])
        for params in (empty, other):
            self.refused(lambda: lp.tree_leaves(params), TypeError)

    def test_whatever_holds_numbers_is_one_leaf(self):
        x = np.float32([1, 2])

        class Gives:
            def __array__(self, dtype=None, copy=None):
                return x

        class Shows:
            __array_interface__ = property(lambda self: x.__array_interface__)

        for holder in (Gives(), Shows(), array.array("f", x), memoryview(x)):
            self.assertEqual(((lp.ones(2) + holder).tolist(), lp.relu(holder).tolist()), ([2, 3], [1, 2]), holder)
            self.assertEqual(lp.compile(lambda p: p["x"] * 2.0)({"x": holder}).tolist(), [2, 4], holder)
            self.assertEqual(lp.compile(lambda x: (x, holder))(1.0)[1].tolist(), [1, 2], holder)

    def test_what_is_borrowed_is_kept_alive(self):
        a = lp.asarray(np.arange(1000, dtype=np.float32) + 1)
        gc.collect()
        junk = [np.full(1000, 7, np.float32) for _ in range(100)]
        self.assertEqual(a.sum().item(), 500500)
        del junk

    def test_no_copy_is_of_one_thread(self):
        x, got = np.zeros((2, 3), np.float32), []
        with lp.no_copy():
            worker = threading.Thread(target=lambda: got.append(lp.asarray(x.T)))
            worker.start()
            worker.join()
        self.assertEqual([a.shape for a in got], [(3, 2)])


class Out(Refusals):
    def test_read_only_and_shared(self):
        a = lp.ones((2, 3))
        x = np.asarray(a)
        self.assertFalse(x.flags.writeable)
        with self.assertRaises(ValueError):
            x[0, 0] = 2
        with self.assertRaises(ValueError):
            x.setflags(write=True)
        self.assertEqual(memoryview(a).format, "f")
        self.assertTrue(memoryview(a).readonly)
        self.assertEqual(a.__array_interface__["data"][1], True)
        self.assertEqual(address(a), x.ctypes.data)

    def test_array_interface(self):
        class Holder:
            def __init__(self, a):
                self.__array_interface__ = a.__array_interface__
                self.kept = a

        for dtype in DTYPES:
            a = lp.cast(lp.iota(6).reshape(2, 3), dtype)
            x = np.asarray(Holder(a))
            self.assertEqual((x.dtype, x.flags.writeable, address(x)), (np.dtype(dtype), False, address(a)))
            np.testing.assert_array_equal(x, np.asarray(a))
        self.assertFalse(hasattr(lp.cast(lp.ones(2), "bf16"), "__array_interface__"))

    def test_numbers_of_every_dtype(self):
        for dtype, number in (
            ("f32", -1.5), ("f64", 0.1), ("f16", -2.5), ("bf16", -1.5), ("i32", -7), ("i64", -(2**40)), ("i8", -3), ("u8", 200), ("bool", True),
        ):
            item = lp.asarray(number, dtype).item()
            self.assertEqual((type(item), item), (type(number), number), dtype)

    def test_elements_outlive_the_array(self):
        x = np.asarray(lp.iota(1000))
        gc.collect()
        junk = [lp.zeros((1000,)) for _ in range(50)]
        np.testing.assert_array_equal(x, np.arange(1000))
        del junk

    def test_numpy_functions(self):
        a = lp.asarray([[1.0, 2.0], [3.0, 4.0]])
        np.testing.assert_array_equal(np.exp(a), np.exp(np.asarray(a)))
        self.assertEqual(np.sum(a), 10)
        self.assertEqual(np.mean(a), 2.5)
        self.assertEqual(np.mean(a, dtype=np.float64).type, "f64[]")
        self.assertEqual((np.argmax(a), a.argmax().item(), np.argmin(a, axis=1).tolist()), (3, 3, [0, 0]))
        self.assertTrue(np.all(a > 0) and not np.any(a > 9))
        # NumPy's own take no list.
        for axes in ([0, 1], (0, 1)):
            self.assertEqual(((a > 1).all(axis=axes), (a > 1).any(axis=axes), a.sum(axis=axes).item()), (False, True, 10))
        self.assertIsInstance(np.ones((2, 2), np.float32) + a, lp.Array)
        self.assertEqual((np.ones((2, 2), np.float32) + a).tolist(), [[2, 3], [4, 5]])

    def test_dlpack_there_and_back(self):
        for dtype in DTYPES + ["bf16"]:
            a = lp.cast(lp.iota(6).reshape(2, 3), dtype)
            # Versioned: shared where that is asked for, and marked as read-only.
            capsule = a.__dlpack__(max_version=(1, 0), copy=False)
            self.assertIn("dltensor_versioned", repr(capsule))

            class Holder:
                def __dlpack__(self, **kwargs):
                    return capsule

                def __dlpack_device__(self):
                    return (1, 0)

            b = _core.asarray(Holder())
            self.assertEqual(b.type, a.type)
            self.assertTrue(a.same_bits(b))
            # A capsule is used once.
            with self.assertRaises((TypeError, ValueError)):
                _core.asarray(Holder())
            # Versions before 1.0 cannot express read-only: a copy.
            old = a.__dlpack__()
            self.assertIn('"dltensor"', repr(old))
            self.assertIn('"dltensor"', repr(a.__dlpack__(max_version=(0, 8))))
            for version in (None, (1, 0)):
                with lp.no_copy(), self.assertRaisesRegex(ValueError, "read-only"):
                    a.__dlpack__(max_version=version)

    def test_no_copy_on_the_way_out(self):
        a = lp.asarray([1.0, 2.0])
        for refused in (lambda: a.__dlpack__(copy=False), lambda: a.__dlpack__(max_version=(1, 0), dl_device=(2, 0))):
            with self.assertRaises(BufferError):
                refused()
        a.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=False)
        self.assertEqual(address(a.__array__(copy=False)), address(a))
        self.assertEqual(a.__array__("float64", copy=True).dtype, np.float64)
        own = a.__array__(copy=True)
        own[0] = 7
        self.assertEqual((own.tolist(), a.tolist()), ([7, 2], [1, 2]))
        self.refused(lambda: a.__array__("float64", copy=False), ValueError)

    def test_dlpack_of_numpy(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)

        class Holder:
            def __init__(self, x):
                self.x = x

            def __dlpack__(self, stream=None):
                return self.x.__dlpack__()

        with lp.no_copy():
            a = lp.asarray(Holder(x))
        self.assertEqual(address(a), x.ctypes.data)
        np.testing.assert_array_equal(np.asarray(lp.asarray(Holder(x.T))), x.T)
        self.assertEqual(lp.asarray(Holder(x.reshape((1,) * 6 + (2, 3)))).ndim, 8)
        self.refused(lambda: lp.asarray(Holder(x.reshape((1,) * 7 + (2, 3)))), ValueError)
        back = np.from_dlpack(a)
        np.testing.assert_array_equal(back, x)
        self.assertNotEqual(back.ctypes.data, address(a))
        before = sys.getrefcount(x)
        for _ in range(100):
            lp.asarray(Holder(x))
        self.assertLessEqual(sys.getrefcount(x), before)

    def test_bf16(self):
        a = lp.cast(lp.asarray([1.0, 2.5, -3.0]), "bf16")
        self.assertEqual(a.type, "bf16[3]")
        self.assertEqual((a.tolist(), type(a.tolist()[0])), ([1.0, 2.5, -3.0], float))
        # Every digit of some numbers of each exponent that is finite.
        x = np.append(np.arange(0, 0x7F80, 37), np.arange(0x8000, 0xFF80, 37)).astype(np.uint32) << 16
        wide = lp.cast(lp.asarray(x.view(np.float32)), "bf16")
        for got in (np.asarray(wide).astype(np.float32), np.float32(wide.tolist()), np.float32([wide[i].item() for i in range(0, len(x), 50)])):
            np.testing.assert_array_equal(got.view(np.uint32), x if len(got) == len(x) else x[::50])
        try:
            import ml_dtypes
        except ImportError:
            np.testing.assert_array_equal(np.asarray(a), np.float32([1, 2.5, -3]))
            self.assertRaises(ValueError, a.__array__, copy=False)
            self.assertEqual(a.dtype, "bfloat16")
        else:
            self.assertEqual(np.asarray(a).dtype, ml_dtypes.bfloat16)
            with lp.no_copy():
                self.assertTrue(lp.asarray(np.asarray(a)).same_bits(a))
            self.assertEqual(lp.asarray([1.0], dtype=ml_dtypes.bfloat16).type, "bf16[1]")
        with self.assertRaises(BufferError):
            memoryview(a)


class DlTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned of version 1."""

    _fields_ = [
        ("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64),
        ("tensor", DlTensor),
    ]  # fmt: skip


def opened(capsule, kind=Versioned, name=b"dltensor_versioned"):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return kind.from_address(pointer(capsule, name))


class Held:
    """Gives a capsule, once."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **kwargs):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


class Capsules(Refusals):
    """What the structures of DLPack hold, byte by byte."""

    def test_given(self):
        codes = {"float32": 2, "float64": 2, "float16": 2, "bf16": 4, "int32": 0, "int64": 0, "int8": 0, "uint8": 1, "bool": 6}
        for dtype in DTYPES + ["bf16"]:
            a = lp.cast(lp.iota(6).reshape(2, 3), dtype)
            capsule = a.__dlpack__(max_version=(1, 0), copy=False)
            m = opened(capsule)
            t = m.tensor
            self.assertEqual((list(m.version), m.flags, list(t.device), t.byte_offset), ([1, 0], 1, [1, 0], 0), dtype)
            self.assertEqual((t.code, t.bits, t.lanes), (codes[dtype], 8 * a.nbytes // 6, 1), dtype)
            self.assertEqual((t.rank, t.shape[:2], t.strides[:2]), (2, [2, 3], [3, 1]))
            if dtype != "bf16":
                self.assertEqual(t.data, address(a))

    def test_copies(self):
        a = lp.asarray([1.0, 2.0])
        copies = [a.__dlpack__(max_version=(1, 0), copy=True), a.__dlpack__(max_version=(1, 0)), a.__dlpack__(), a.__dlpack__(copy=True)]
        for capsule in copies[:2]:
            self.assertEqual(opened(capsule).flags, 2)
            self.assertNotEqual(opened(capsule).tensor.data, address(a))
        for capsule in copies[2:]:
            self.assertNotEqual(opened(capsule, DlTensor, b"dltensor").data, address(a))
        for capsule in copies:
            self.assertTrue(lp.asarray(Held(capsule)).same_bits(a))

    def given(self, change, x):
        capsule = lp.array(x).__dlpack__(max_version=(1, 0), copy=False)
        change(opened(capsule))
        return Held(capsule)

    def test_taken(self):
        def part(m):
            m.tensor.byte_offset, m.tensor.shape[0] = 4, 2

        def every_second(m):
            m.tensor.strides[0], m.tensor.shape[0] = 2, 2

        def without_strides(m):
            m.tensor.strides = None

        def one_row(m):  # of one row it does not matter where the next one would be
            m.tensor.strides[0] = 100

        def between_elements(m):
            m.tensor.byte_offset, m.tensor.shape[0] = 1, 3

        def between_elements_without_strides(m):
            m.tensor.byte_offset, m.tensor.shape[0], m.tensor.strides = 1, 2, None

        def kept_by_nobody(m):  # its memory is that of the program
            m.deleter = None

        row = np.float32([1, 2, 3, 4])
        odd = np.frombuffer(row.tobytes()[1:13], np.uint8).copy().view(np.float32)
        rows = np.float32([[1, 2], [3, 4], [5, 6]])
        odd_rows = np.frombuffer(rows.tobytes()[1:17], np.uint8).copy().view(np.float32).reshape(2, 2)
        for change, x, want, why in (
            (part, row, row[1:3], None), (every_second, row, row[::2], "row-major"), (without_strides, row.reshape(2, 2), row.reshape(2, 2), None),
            (one_row, row.reshape(1, 4), row.reshape(1, 4), None), (between_elements, row, odd, "aligned"),
            (between_elements_without_strides, rows, odd_rows, "aligned"), (kept_by_nobody, row, row, None),
        ):
            np.testing.assert_array_equal(np.asarray(lp.asarray(self.given(change, x))), want)
            self.assertEqual(lp.asarray(self.given(lambda m: None, np.zeros((0, 3), np.int8))).type, "i8[0, 3]")
            with lp.no_copy():
                if why:
                    self.refused(lambda: lp.asarray(self.given(change, x)), ValueError)
                else:
                    lp.asarray(self.given(change, x))

    def test_refused(self):
        def set_tensor(**members):
            return lambda m: [setattr(m.tensor, name, value) for name, value in members.items()]

        def of_version(m):
            m.version[0] = 2

        def on_a_gpu(m):
            m.tensor.device[0] = 2

        for change, error in (
            (on_a_gpu, ValueError), (of_version, ValueError), (set_tensor(lanes=2), TypeError), (set_tensor(code=5, bits=64), TypeError),
            (set_tensor(bits=16, code=0), TypeError), (set_tensor(rank=9), ValueError), (set_tensor(rank=-1), ValueError),
        ):
            self.refused(lambda: lp.asarray(self.given(change, np.float32([1, 2]))), error)

        def bools(m):
            m.tensor.code = 6

        def columns(m):
            m.tensor.code, m.tensor.strides[0], m.tensor.strides[1] = 6, 1, 2

        whole = np.uint8([[1, 0], [1, 2]])
        for change in (bools, columns):
            self.refused(lambda: lp.asarray(self.given(change, whole)), ValueError)
            self.assertEqual(lp.asarray(self.given(change, whole % 2)).type, "bool[2, 2]")

    def test_memory_that_its_owner_writes_to(self):
        """Weights of the same arrays are packed from the second call on, unless their elements may change."""

        def versioned(w, flags):
            capsule = lp.asarray(w).__dlpack__(max_version=(1, 0), copy=False)
            opened(capsule).flags = flags
            return Held(capsule)

        def view(w):
            part = w.view()
            part.flags.writeable = False
            return part

        x = RNG.standard_normal((7, 20)).astype(np.float32)
        for shared in (
            lambda w: w, lambda w: Held(w.__dlpack__()), lambda w: versioned(w, 0), lambda w: versioned(w, 1), view,
            lambda w: lp.asarray(w).numpy(), lambda w: np.asarray(lp.asarray(w)), lambda w: lp.asarray(w[None])[0],
        ):
            w = RNG.standard_normal((16, 20)).astype(np.float32)
            with lp.no_copy():
                p = {"w": lp.asarray(shared(w))}
            f = lp.compile(lambda p, x: lp.linear(x, p["w"]))
            for _ in range(4):
                self.assertTrue(f(p, x).same_bits(lp.linear(x, w)))
            w *= -3
            self.assertTrue(f(p, x).same_bits(lp.linear(x, w)))


class Use(Refusals):
    def test_index(self):
        x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        a = lp.asarray(x)
        f = lambda index: lp.compile(lambda v: v[index])(x)
        for index in (
            0, -1, slice(1), (0, 1), (slice(None), 1), (..., 2), (None, 1), (slice(None, None, -1), ..., slice(0, 4, 2)), (1, slice(2, 0, -1)), slice(2, 1), np.int64(-1),
            (np.int64(1), np.uint8(2)), (slice(None), np.int32(-2)),
        ):  # fmt: skip
            np.testing.assert_array_equal(np.asarray(a[index]), x[index], str(index))
            np.testing.assert_array_equal(np.asarray(f(index)), x[index], str(index))
        np.testing.assert_array_equal(np.asarray(a[np.array([1, 0, 1])]), x[[1, 0, 1]])
        for whether in (True, False, np.True_, np.False_):  # all or nothing, and no row
            np.testing.assert_array_equal(np.asarray(a[whether]), x[whether])
        with self.assertRaises(IndexError):
            lp.asarray(1.0)[0]
        for bad in (2, -3, (0, 3)):
            with self.assertRaises(IndexError):
                a[bad]
            with self.assertRaises(IndexError):
                f(bad)
        with self.assertRaises(IndexError):
            f((0, 0, 0, 0))
        self.assertEqual(sum(1 for _ in a), 2)
        self.assertEqual(len(a), 2)

    def test_index_of_bf16(self):
        x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        a = lp.cast(lp.asarray(x), "bf16")
        mask = x % 5 == 0
        for index in (
            0, (1, 2, 3), slice(None, None, -1), (slice(None), [2, 0]), ([1, 0], [2, 1]), np.array([[0], [1]]), mask, (..., None, 1), (slice(2, 1), 0), [],
            np.array([True, False]), (),
        ):
            part = a[index]
            self.assertEqual((part.type, part.tolist()), (f"bf16{list(x[index].shape)}", x[index].tolist()), str(index))
        self.assertEqual(a[lp.asarray(mask)].tolist(), x[mask].tolist())
        for bad in (2, (0, 3), [5], (0, 0, 0, 0)):
            with self.assertRaises(IndexError):
                a[bad]
        nan = lp.asarray(np.uint32([0x7FC10000, 0xFFC00000]).view(np.float32))
        self.assertTrue(lp.cast(nan, "bf16")[[1, 0]].same_bits(lp.cast(nan[[1, 0]], "bf16")))

    def test_operators_are_numpys_in_exact_arithmetic(self):
        x, y = np.float32([[1, 2], [3, 4]]), np.float32([4, 0.5])
        a = lp.asarray(x)
        for f in (
            lambda p, q: p + q, lambda p, q: p - q, lambda p, q: p * q, lambda p, q: p / q, lambda p, q: p @ q, lambda p, q: q @ p, lambda p, q: p == q,
            lambda p, q: p < q, lambda p, q: p >= q, lambda p, q: -p, lambda p, q: abs(p), lambda p, q: p + 1, lambda p, q: 1 - p, lambda p, q: 2 * p,
            lambda p, q: 1 / p, lambda p, q: p.sum(), lambda p, q: p.sum(axis=0), lambda p, q: p.mean(axis=-1, keepdims=True),
            lambda p, q: p.max(axis=(0, 1)), lambda p, q: p.T, lambda p, q: p.reshape(4), lambda p, q: p.reshape(-1, 1), lambda p, q: p.astype("float64"),
            lambda p, q: p**2, lambda p, q: p != q, lambda p, q: p.argmax(-1), lambda p, q: 2**p, lambda p, q: p <= q, lambda p, q: p > q,
            lambda p, q: p.transpose(1, 0), lambda p, q: p.flatten(), lambda p, q: +p,
        ):
            got, want = f(a, lp.asarray(y)), f(x, y)
            np.testing.assert_array_equal(np.asarray(got), want)
            np.testing.assert_array_equal(np.asarray(lp.compile(f)(x, y)), want)

    def test_operators_with_a_number_on_either_side(self):
        x = np.array([-3.5, -2.0, 0.25, 2.0, 5.5], np.float32)
        for name in "add sub mul truediv floordiv mod pow lt le gt ge eq ne".split():
            f = getattr(operator, name)
            for of, a in ((lambda v: f(v, 2.0), x), (lambda v: f(2.0, v), x), (lambda v: f(v, np.float32(2)), x), (lambda v: f(v, v[3]), lp.asarray(x))):
                want = np.asarray(of(np.asarray(a)), np.float64)
                for got in (of(lp.asarray(a)), lp.compile(of)(a)):
                    np.testing.assert_allclose(np.asarray(got, np.float64), want, 1e-6, err_msg=name)
        flags = np.array([True, False])
        for name in "and_ or_ xor".split():
            f = getattr(operator, name)
            for of in (lambda v: f(v, True), lambda v: f(False, v)):
                for got in (of(lp.asarray(flags)), lp.compile(of)(flags)):
                    self.assertEqual(got.tolist(), of(flags).tolist(), name)

    def test_quotients_of_integers(self):
        a, b = np.int32([7, -7, 7, -7, 6, 0]), np.int32([2, 2, -2, -2, -3, 5])
        f = lambda p, q: p // q
        for dtype in ("int8", "int32", "int64"):
            x, y = a.astype(dtype), b.astype(dtype)
            for got in (lp.asarray(x) // y, lp.compile(f)(x, y), x // lp.asarray(y)):
                np.testing.assert_array_equal(np.asarray(got), x // y)
            np.testing.assert_array_equal(np.asarray(lp.asarray(x) // 3), x // 3)
            np.testing.assert_array_equal(np.asarray(-20 // lp.asarray(y)), -20 // y)
            with np.errstate(divide="ignore"):
                np.testing.assert_array_equal(np.asarray(lp.asarray(x) // 0), x // 0)
        np.testing.assert_array_equal(np.asarray(lp.asarray(np.uint8([200, 7])) // 3), [66, 2])
        for bad in (lambda: lp.asarray(a) / b, lambda: lp.asarray(a) / 2, lambda: 1 / lp.asarray(a), lambda: lp.compile(lambda v: v / 2)(a)):
            self.refused(bad, TypeError)
        self.assertEqual(lp.divide(a, b).tolist(), [3, -3, -3, 3, -2, 0])

    def test_modulo_has_the_sign_of_the_divisor(self):
        for kind in (np.float32, np.float64, np.int32, np.int64):
            a = np.array([-7, -6, -1, 0, 1, 5, 6, 7], kind)
            for b in (np.array([3] * 8, kind), np.array([-4] * 8, kind)):
                np.testing.assert_array_equal(np.asarray(lp.asarray(a) % b), a % b)
                np.testing.assert_array_equal(np.asarray(a % lp.asarray(b)), a % b)
                np.testing.assert_array_equal(np.asarray(lp.compile(lambda a, b: a % b)(a, b)), a % b)
                for mine, theirs in zip(divmod(lp.asarray(a), b), divmod(a, b)):
                    np.testing.assert_array_equal(np.asarray(mine), theirs)
        x = np.float32([-5.5, 5.5, 1e30, -0.1, np.inf, np.nan])
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(np.asarray(lp.asarray(x) % 2), x % np.float32(2))
        self.assertEqual((7 % lp.asarray(4)).item(), 3)
        self.assertEqual([part.tolist() for part in divmod(-7, lp.asarray([2, -3]))], [[-4, 2], [1, -1]])
        self.assertEqual([part.tolist() for part in divmod(lp.asarray([7.0, -7.0]), 2)], [[3, -4], [1, 1]])

    def test_quotients_belong_to_their_remainders(self):
        # In f32 1 / 0.1 rounds up to 10, and 9 times 0.1 fit into 1.
        a = np.float32([1, -1, 1, 6, 0.3, -0.3, 1e30, 5, 5, -5, 0, np.inf, 1, -1, np.nan])
        b = np.float32([0.1, 0.1, -0.1, 0.2, 0.1, 0.1, 3, 2, 0, 0, 0, 1, np.inf, np.inf, 1])
        rng = np.random.default_rng(0)
        a, b = (np.append(x, (rng.standard_normal(500) * 10).round(1).astype(np.float32)) for x in (a, b))
        for kind in (np.float32, np.float64):
            x, y = a.astype(kind), b.astype(kind)
            with np.errstate(all="ignore"):
                wanted = divmod(x, y)
            for got in (divmod(lp.asarray(x), y), divmod(x, lp.asarray(y)), lp.compile(divmod)(x, y), (lp.asarray(x) // y, lp.asarray(x) % y)):
                for mine, theirs in zip(got, wanted):
                    np.testing.assert_array_equal(np.asarray(mine), theirs)
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(np.asarray(lp.asarray(x) // 0.1), x // kind(0.1))
            np.testing.assert_array_equal(np.asarray(1.0 // lp.asarray(x[:3])), kind(1) // x[:3])
            # Numbers that f32 or i32 does not have.
            if kind is np.float64:
                for number in (1e-60, -1e-60, 2.0**40, 2**40):
                    np.testing.assert_array_equal(np.asarray(lp.asarray(kind([1e-70, 1, -3, 2.0**41 + 1])) // number), kind([1e-70, 1, -3, 2.0**41 + 1]) // number)
            with self.assertRaises(lp.NoGradientError):
                lp.grad(lambda v: (v // 2.0).sum())(x)

    def test_whole_numbers_keep_their_digits(self):
        large = 2**53 + 1
        a = lp.asarray(np.int64([1, 2, large]))
        for f in (lambda v: v + large, lambda v: large - v, lambda v: v == large, lambda v: v * 2, lambda v: v // 3):
            for got in (f(a), lp.compile(f)(a)):
                np.testing.assert_array_equal(np.asarray(got), f(np.asarray(a)))
        self.assertEqual(lp.full(2, large, "i64").tolist(), [large] * 2)
        self.assertEqual(lp.maximum(a, -large).tolist(), [1, 2, large])
        self.assertEqual((lp.asarray(np.int64([0])) + (2**63 - 1)).tolist(), [2**63 - 1])
        for bad in (lambda: lp.asarray(np.uint8([1])) + 256, lambda: lp.asarray([1]) + 2**31, lambda: a + 2**63, lambda: lp.asarray([1]) + 0.5):
            self.refused(bad, ValueError)

    def test_masks(self):
        self.assertEqual([lp.ones(2, bool).tolist(), lp.zeros((1, 2), "bool").tolist(), lp.full(2, True, bool).tolist()], [[True] * 2, [[False] * 2], [True] * 2])
        mask = lp.asarray([True, False])
        p, q = np.array([[True, True], [False, False]]), np.array([True, False])
        for f in (
            lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a ^ b, lambda a, b: a == True, lambda a, b: a ^ True, lambda a, b: True ^ a, lambda a, b: True & a,
            lambda a, b: a & b, lambda a, b: a | b, lambda a, b: False | a, lambda a, b: ~a,
        ):
            for got in (f(lp.asarray(p), lp.asarray(q)), lp.compile(f)(p, q)):
                np.testing.assert_array_equal(np.asarray(got), f(p, q))
        self.refused(lambda: lp.asarray([1]) ^ 1, TypeError)
        for f, want in ((lambda m: lp.select(m, m, True), [True, True]), (lambda m: lp.select(m, False, m), [False, False])):
            self.assertEqual([f(mask).tolist(), lp.compile(f)(mask).tolist()], [want, want])

    def test_reductions_of_truth_of_integers_and_of_nothing(self):
        x = np.float32([[1, 2, 3], [3, 0, 1]])
        for f in (lambda v: (v > 1).sum(), lambda v: (v > 1).sum(axis=0), lambda v: (v > 1).mean(axis=1), lambda v: (v == v).mean()):
            for got in (f(lp.asarray(x)), lp.compile(f)(x)):
                np.testing.assert_array_equal(np.asarray(got), f(x).astype(got.dtype))
        self.assertEqual(((lp.asarray(x) > 1).sum().type, lp.mean(x > 1).type), ("i64[]", "f32[]"))
        for whole in (np.int32([2**31 - 1, 5]), np.int8([127, 127]), np.uint8([255, 255]), np.array([True, True])):
            wide = whole.astype(np.int64)
            for f, want in ((lp.sum, wide.sum()), (lp.prod, wide.prod()), (lp.cumulative_sum, wide.cumsum())):
                for got in (f(lp.asarray(whole)), lp.compile(f)(whole)):
                    np.testing.assert_array_equal(np.asarray(got), want)
                    self.assertEqual(got.dtype, np.int64)
        for dtype, small in (("bf16", 2.0**-9), ("f16", 2.0**-12)):
            narrow = lp.cast(lp.asarray([1.0, small, -1.0]), dtype)
            for f in (lambda v: v.sum(), lambda v: lp.cumulative_sum(v)[-1], lambda v: v.reshape(3, 1).sum(axis=(0, 1))):
                self.assertEqual((f(narrow).type, lp.cast(f(narrow), "f32").item()), (f"{dtype}[]", small))  # rounded once
            slope = lp.grad(lambda v: lp.cast(lp.cast(v, dtype).sum(), "f32"))(np.ones(3, np.float32))
            self.assertEqual(slope.tolist(), [1, 1, 1])
        for bad in (lp.mean, lp.variance, lambda v: v.mean(), lambda v: lp.compile(lambda w: w.mean())(v)):
            self.refused(lambda: bad(lp.asarray([1, 2, 2])), TypeError)
        empty = np.zeros((0, 3), np.float32)
        for f in (lambda v: v.max(), lambda v: v.min(axis=0), lp.max):
            for call in (lambda: f(lp.asarray(empty)), lambda: lp.compile(f)(empty)):
                self.refused(call, ValueError)
        self.assertEqual((lp.asarray(empty).max(axis=1).shape, lp.asarray(empty).sum(axis=0).tolist()), ((0,), [0, 0, 0]))
        for f in (lambda v: (v > 0).all(), lambda v: (v > 0).any(), lambda v: v.all(axis=0), lambda v: v.any(axis=0)):
            for v in (x, empty):
                np.testing.assert_array_equal(np.asarray(f(lp.asarray(v))), f(v))
                np.testing.assert_array_equal(np.asarray(lp.compile(f)(v)), f(v))

    def test_spread_and_dimensions_of_one(self):
        x = RNG.standard_normal((3, 1, 4, 5)).astype(np.float32)
        a = lp.asarray(x)
        for axis in (None, 0, -1, (0, 2), (-1, 0, 2), ()):
            for keepdims in (False, True):
                want = np.var(x.astype(np.float64), axis=axis, keepdims=keepdims)
                for got in (lp.variance(a, axis, keepdims), a.var(axis, keepdims), lp.compile(lambda v: v.var(axis, keepdims))(x)):
                    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5, atol=1e-7)
                for got in (lp.std(a, axis, keepdims), a.std(axis, keepdims), lp.compile(lambda v: lp.std(v, axis, keepdims))(x)):
                    np.testing.assert_allclose(np.asarray(got), np.sqrt(want), rtol=1e-5, atol=1e-7)
        self.assertTrue(lp.variance(a, (2, 3))[1, 0].same_bits(lp.variance(a[1, 0])))
        self.assertEqual((lp.std(np.full(10, 0.1)).item(), lp.grad(lp.std)(np.full(10, 0.1)).tolist()), (0, [0] * 10))
        self.assertTrue(np.std(a).same_bits(a.std()) and np.var(a, axis=0).same_bits(lp.variance(a, 0)))
        for bad in (lambda: a.std(ddof=1), lambda: lp.std(lp.asarray([1, 2]))):
            with self.assertRaises(TypeError):
                bad()
        self.refused(lambda: lp.variance(a, (0, -4)), ValueError)
        for f in (lambda v: v.squeeze(), lambda v: v.squeeze(1), lambda v: v.squeeze((-3,)), lambda v: np.squeeze(v)):
            self.assertEqual((f(a).shape, np.asarray(f(a)).tobytes()), ((3, 4, 5), x.tobytes()))
        self.assertEqual(lp.compile(lambda v: lp.squeeze(v, 1))(x).shape, (3, 4, 5))
        self.refused(lambda: lp.squeeze(a, 0), ValueError)
        for axis in (0, -1, 2, (0, 2), (-1, 0)):
            self.assertEqual(lp.expand_dims(x, axis).shape, np.expand_dims(x, axis).shape)
        for bad in (5, (0, 0), -6):
            with self.assertRaises(ValueError):
                lp.expand_dims(x, bad)
        y = RNG.standard_normal((4, 5)).astype(np.float32)
        for f, g in ((lp.argmax, np.argmax), (lp.argmin, np.argmin)):
            for axis in (None, 0, -1):
                np.testing.assert_array_equal(np.asarray(f(y, axis=axis)), g(y, axis=axis))

    def test_messages_about_dtypes(self):
        for f in (lambda: -lp.asarray([True]), lambda: lp.cast(lp.ones(1), "bf16") + 1.0, lambda: lp.cast(lp.ones(1), "f16").argmax()):
            self.refused(f, TypeError)
        self.refused(lambda: lp.ones(1) + lp.ones(1, "f64"), TypeError)
        self.refused(lambda: len(lp.asarray(1.0)), TypeError)
        for f in (lambda: list(lp.asarray(1.0)), lambda: lp.compile(lambda v: [x for x in v])(1.0)):
            self.refused(f, TypeError)
        self.refused(lambda: lp.compile(len)(1.0), TypeError)
        for name in ("sum", "mean", "max", "min", "prod", "std", "var", "all", "any", "argmax", "argmin"):
            self.refused(lambda: getattr(lp.ones(2), name)(out=lp.ones(())), TypeError)
        self.refused(lambda: lp.ones(0).item(), ValueError)

    def test_options_of_methods(self):
        x = np.float32([[1, 0, 3], [2, 5, 4]])
        for f in (
            lambda v: v.all(0, keepdims=True), lambda v: v.any(1, keepdims=True), lambda v: v.all(axis=1), lambda v: v.mean(0, keepdims=True),
            lambda v: v.sum(1, dtype="float64"), lambda v: v.var(0, dtype="float64"), lambda v: v.transpose(None),
            lambda v: v.min(axis=1), lambda v: v.max(1, keepdims=True), lambda v: v.prod(0),
            lambda v: v.transpose([1, 0]), lambda v: v.transpose(), lambda v: v.transpose(-1, 0), lambda v: v.transpose(np.array([1, 0])),
            lambda v: v.reshape((3, 2)), lambda v: v.reshape(3, -1), lambda v: v.ravel(), lambda v: v.argmin(0), lambda v: v[None].squeeze(0), lambda v: v.var(0),
        ):
            for got in (f(lp.asarray(x)), lp.compile(f)(x)):
                np.testing.assert_allclose(np.asarray(got), f(x), rtol=1e-6)
                self.assertEqual(got.dtype, f(x).dtype if f(x).dtype != np.int64 else np.int32)
        cube = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        for f in (lambda v: v.transpose(0, 2, 1), lambda v: v.transpose((2, 0, 1)), lambda v: v.transpose(1, -1, 0), lambda v: v.transpose(), lambda v: v.T):
            for got in (f(lp.asarray(cube)), lp.compile(f)(cube)):
                np.testing.assert_array_equal(np.asarray(got), f(cube))
        # Converted before the sum, which f32 would round.
        self.assertEqual(lp.asarray([2.0**24, 1.0, 1.0]).sum(dtype="f64").item(), 2**24 + 2)
        a = lp.ones((2, 3), "f64")
        self.assertEqual((a.nbytes, a.ndim, a.size, a.shape, lp.ones((), "i8").nbytes, complex(lp.asarray(2.0))), (48, 2, 6, (2, 3), 1, 2 + 0j))

    def test_labels_of_other_integers(self):
        logits = RNG.standard_normal((6, 3)).astype(np.float32)
        labels = np.array([0, 2, 1, 1, 7, 0])  # i64, as NumPy and PyTorch have them
        losses = (
            lambda x, y: lp.softmax_cross_entropy(x[:4], y[:4]),
            lambda x, y: lp.cross_entropy(x, y, label_smoothing=0.1, ignore_index=7),
            lambda x, y: lp.nll_loss(lp.log_softmax(x), y, ignore_index=7),
            lambda x, y: lp.one_hot(y, 3),
        )
        for loss in losses:
            want = loss(logits, labels.astype(np.int32))
            for dtype in (np.int64, np.uint8, np.int8):
                for got in (loss(logits, labels.astype(dtype)), lp.compile(loss)(logits, labels.astype(dtype))):
                    self.assertTrue(got.same_bits(want))
        self.assertTrue(np.isnan(lp.compile(lp.softmax_cross_entropy)(logits, labels + 2**32)).all())
        by = lambda y: lp.compile(lp.value_and_grad(lambda x, y: lp.softmax_cross_entropy(x, y).mean()))(logits, y)
        for got, want in zip(by(labels), by(labels.astype(np.int32))):
            self.assertTrue(got.same_bits(want))
        for f in (lambda x, y: (x.argmax(axis=1) == y).mean(), lambda x, y: (y >= x.argmax(axis=1)).mean()):
            for got in (f(lp.asarray(logits), labels), lp.compile(f)(logits, labels)):
                self.assertEqual(float(got), float(np.float32(f(logits, labels))))

    def test_lists_are_no_arrays(self):
        a = lp.asarray([1.0, 2.0])
        for bad in (lambda: a == [1.0, 2.0], lambda: a != (1.0, 2.0), lambda: lp.exp([1.0]), lambda: lp.cross_entropy(lp.ones((2, 2)), [0, 1])):
            self.refused(bad, TypeError)
        self.assertFalse(None in a or "x" in a or [1.0] in a)
        self.assertIs(a == None, False)
        self.refused(lambda: lp.vdot(lp.ones((3, 4)), lp.ones(4)), ValueError)
        for random in (lp.normal, lp.uniform, lp.random_bits):
            self.refused(lambda: random(0, (2,)), TypeError)

    def test_contains_and_round(self):
        x = lp.asarray([[1.0, 2.0], [3.0, 4.0]])
        self.assertTrue(3.0 in x and 4 in x)
        self.assertFalse(5.0 in x)
        whole = lp.asarray([1, 2, 3])
        self.assertTrue(2 in whole)
        self.assertFalse(2.5 in whole or 2**40 in whole)
        self.assertEqual((round(lp.asarray(2.5678), 2), round(lp.asarray(3.6))), (2.57, 4))
        self.assertEqual(repr((round(lp.asarray(2.6), 0), round(lp.asarray(2.6), None))), "(3.0, 3)")
        self.assertEqual(round(lp.asarray([0.4, 2.6])).tolist(), [0.0, 3.0])
        # While code is traced one number is no number of Python's.
        self.assertEqual(lp.compile(lambda a: round(a))(lp.asarray(2.6)).item(), 3.0)
        for call in (lambda: lp.compile(lambda a: round(a, 2))(lp.asarray(2.6)), lambda: round(x, 2), lambda: lp.compile(lambda a: 1.0 in a)(x)):
            self.refused(call, TypeError)

    def test_truth_and_numbers(self):
        self.assertEqual([bool(lp.asarray(x)) for x in (1.0, 0.0, -0.0, [2], [[0]], True, False)], [True, False, False, True, False, True, False])
        with self.assertRaises(ValueError):
            bool(lp.ones(2))
        self.assertEqual(float(lp.asarray(2.5)), 2.5)
        self.assertEqual(int(lp.asarray([3])), 3)
        with self.assertRaises(ValueError):
            lp.ones(2).item()
        self.assertIs((lp.ones(2) == lp.ones(2)).all(), True)
        for use in (hash, lambda x: lp.compile(lambda v: hash(v) or v)(x)):
            self.refused(lambda: use(lp.ones(2)), TypeError)

    def test_format_and_index(self):
        self.assertEqual(f"{lp.asarray(2.5):.3f} {lp.asarray(7):4d} {lp.asarray(2.5)}", "2.500    7 f32[] (2.5)")
        self.refused(lambda: f"{lp.ones(2):.3f}", TypeError)
        self.refused(lambda: lp.compile(lambda v: f"{v:.3f}")(1.0), TypeError)
        self.assertEqual("abcd"[lp.asarray(2)], "c")
        self.assertEqual(list(range(lp.asarray(np.int64(3)))), [0, 1, 2])
        self.assertEqual(np.arange(5)[lp.asarray(3)], 3)
        for bad in (lp.asarray(2.0), lp.asarray([1]), lp.asarray(True)):
            with self.assertRaises(TypeError):
                "abcd"[bad]

    def test_pickled(self):
        for op in (lp.relu, lp.softmax):
            self.assertIs(pickle.loads(pickle.dumps(op)), op)
        net = lp.nn.sequential(lp.nn.Linear(2, 3), lp.relu)
        self.assertEqual(list(pickle.loads(pickle.dumps(net)).init()), list(net.init()))
        model = lp.Model(lp.nn.mlp([2, 3]).function(), lp.nn.mlp([2, 3]).init(), "{}", "a note")
        for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            self.assertEqual((again.hash, again.config, again.note), (model.hash, "{}", "a note"))
        for dtype in DTYPES + ["bf16"]:
            a = lp.cast(lp.asarray([1.0, 0.0, 2.5]), dtype)
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                self.assertTrue(pickle.loads(pickle.dumps(a, protocol)).same_bits(a))
        for value in (lp.scope("a"), lp.compile(lambda x: x)):
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                with self.assertRaises(TypeError):
                    pickle.dumps(value, protocol)

    def test_params(self):
        self.refused(lambda: lp.Params([1.0]), TypeError)
        p = lp.Params({"a": {"w": lp.ones(2)}, "b": lp.zeros(3)})
        self.assertEqual(list(p), ["a.w", "b"])
        self.assertEqual(list(p.within("a")), ["w"])
        self.assertEqual(list(p["a"]), ["w"])
        self.assertEqual(list(p.only(["a"])), ["a.w"])
        with self.assertRaises(KeyError) as caught:
            p["c"]
        self.assertEqual(str(caught.exception), "there is no 'c' among a.w, b")
        with self.assertRaises(KeyError):
            p.only("ab")
        many = lp.Params({"layers": {"1": {"w": lp.ones(2)}, "10": {"w": lp.ones(2)}}})
        self.assertEqual((list(many.only("layers.1")), list(many.within("layers.1"))), (["layers.1.w"], ["w"]))
        with self.assertRaisesRegex(AttributeError, "Params are immutable"):
            p.x = 1
        self.assertEqual((p - 0.5 * p)["a.w"].tolist(), [0.5, 0.5])
        twos = 2 * many
        for got, want in ((8 / twos, 4), (twos / 8, 0.25), (8 - twos, 6), (twos - 8, -6), (-twos, -2), (twos / many, 2)):
            self.assertTrue(got.same_bits({name: lp.full(2, float(want)) for name in many}))
        for other in ({"a.w": lp.ones(2)}, {"a.w": lp.ones(2), "b": lp.ones(3), "c": lp.ones(3)}):
            self.refused(lambda: p + other, ValueError)
        again = pickle.loads(pickle.dumps(lp.Params({"k": 1.0})))
        self.assertEqual(list(again), ["k"])
        self.refused(lambda: lp.Params({"a.w": lp.ones(2), "a": {"w": lp.ones(2)}}), ValueError)
        self.refused(lambda: p == p, TypeError)
        changed = p.with_({"c": {"d": 1.0}, "a": {"w": 2.0}})
        self.assertEqual(({name: lp.asarray(value).tolist() for name, value in changed.items()}, list(p)), ({"a.w": 2, "b": [0] * 3, "c.d": 1}, ["a.w", "b"]))
        self.assertEqual((list(p.map(lambda v, w: v - w, p)["b"]), p.get("nothing", 7), len(p), "a.w" in p, "a" in p), ([0.0] * 3, 7, 2, True, False))
        for i, (got, want) in enumerate(((lp.ones(2) - twos, -1), (lp.ones(2) / twos, 0.5), (twos + lp.ones(2), 3), (many * twos, 2))):
            self.assertTrue(got.same_bits({name: lp.full(2, float(want)) for name in many}), i)
        self.assertEqual((repr(lp.Params()), repr(lp.Params({"x": lp.ones(2), 1: 3}))), ("limpid.Params()", "limpid.Params(\n  x: f32[2]\n  1: int\n)"))
        for call in (lambda: lp.Params()["x"], lambda: p.only(["b", "z"]), lambda: p[3]):
            self.refused(call, KeyError)
        self.assertTrue(sum((twos, many)).same_bits({name: lp.full(2, 3.0) for name in many}))
        self.assertTrue(p.map(lambda a, b, c: a + b - c, 2 * p, p).same_bits(2 * p))
        self.assertEqual(list(lp.Params({"x": lp.Params({"w": 1.0, "b": 2.0}), "y": {}})), ["x.w", "x.b"])
        self.assertTrue(lp.Params({"k": 1.0}).same_bits({"k": 1.0}))
        self.assertTrue(p.same_bits({"b": lp.zeros(3), "a": {"w": lp.ones(2)}}))
        self.assertFalse(p.same_bits({"b": lp.zeros(3), "a": {"w": lp.zeros(2)}}))
        self.assertFalse(lp.Params({"b": lp.zeros(3)}).same_bits(p) or p.same_bits({"b": lp.zeros(3)}))


if __name__ == "__main__":
    unittest.main()
