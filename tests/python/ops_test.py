#!/usr/bin/env python3
"""Functions of arrays with the options that their signatures have, against NumPy's arithmetic."""

import unittest

import numpy as np

import limpid as lp
from refusals import Refusals

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Options(Refusals):
    def near(self, got, want):
        np.testing.assert_allclose(np.asarray(got), want, rtol=2e-5, atol=2e-6)

    def same(self, got, want):
        np.testing.assert_array_equal(np.asarray(got), want)

    def test_gates(self):
        gate, value = floats(3, 4), floats(3, 4)
        for f, gated in ((lp.glu, sigmoid(gate)), (lp.swiglu, gate * sigmoid(gate)), (lp.geglu, np.asarray(lp.gelu(gate)))):
            self.near(f(gate, value), gated * value)
            # One array is value and gate beside each other, as PyTorch's glu has it.
            self.near(f(np.concatenate([value, gate], axis=1)), gated * value)

    def test_norms(self):
        x, gamma, beta = floats(2, 4, 3), floats(3), floats(3)
        layer = lambda x, axes, eps: (x - x.mean(axis=axes, keepdims=True)) / np.sqrt(x.var(axis=axes, keepdims=True) + eps)
        self.near(lp.layer_norm(x, gamma, beta, eps=0.5), layer(x, -1, 0.5) * gamma + beta)
        self.near(lp.layer_norm(x, eps=0.5), layer(x, -1, 0.5))
        self.near(lp.rms_norm(x, gamma, 0.5), x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 0.5) * gamma)
        gamma, beta = floats(4), floats(4)
        groups = layer(x.reshape(2, 2, 6), -1, 0.5).reshape(2, 4, 3)
        self.near(lp.group_norm(x, 2, gamma, beta, 0.5), groups * gamma[:, None] + beta[:, None])
        mean, var = floats(4), np.abs(floats(4))
        y, next_mean, next_var = lp.batch_norm(x, gamma, beta, mean, var, momentum=0.25, eps=0.5)
        self.near(y, layer(x, (0, 2), 0.5) * gamma[:, None] + beta[:, None])
        self.near(next_mean, 0.75 * mean + 0.25 * x.mean(axis=(0, 2)))
        self.near(next_var, 0.75 * var + 0.25 * x.var(axis=(0, 2), ddof=1))
        inferred = (x - mean[:, None]) / np.sqrt(var[:, None] + 0.5) * gamma[:, None] + beta[:, None]
        self.near(lp.batch_norm_inference(x, gamma, beta, mean, var, 0.5), inferred)

    def test_shapes(self):
        x = floats(2, 3)
        self.same(lp.broadcast(x, (4, 2, 3)), np.broadcast_to(x, (4, 2, 3)))
        self.same(lp.broadcast(2.5, 3), [2.5] * 3)
        for shape in ((-1,), (3, -1), -1, (1, -1, 2), (6, 1), np.array([3, 2]), [np.int64(6)]):
            self.same(lp.reshape(x, shape), x.reshape(shape))
        self.same(lp.reshape(x[:0], (-1, 3)), x[:0])
        for shape in ((-1, 4), (-1, -1), (4, -1), (-1, 0)):
            self.refused(lambda: lp.reshape(x, shape), ValueError)
        for shape in ((7,), (-2, 3), (2, 2)):
            with self.assertRaises(ValueError):
                lp.reshape(x, shape)
        self.refused(lambda: lp.reshape(x[:0], (-1, 0)), ValueError)
        self.same(lp.stack([1.0, 2.5]), [1, 2.5])
        self.refused(lambda: lp.stack([]), ValueError)
        for axis in (0, 2, -1):
            self.refused(lambda: lp.stack([lp.ones((2, 3)), lp.ones(2)], axis), lp.ShapeError)

    def test_numbers_alone(self):
        for got, kind, want in (
            (lp.add(1, 2), "i32", 3), (lp.add(1.5, 2), "f32", 3.5), (lp.subtract(7, 2), "i32", 5), (lp.power(2.0, 3.0), "f32", 8), (lp.less(2, 1), "bool", False),
            (lp.equal(2.0, 2), "bool", True), (lp.maximum(-3, -5), "i32", -3), (lp.select(False, 1.5, 2), "f32", 2), (lp.select(True, 1, 2), "i32", 1),
        ):
            self.assertEqual((got.type, got.item()), (kind + "[]", want))
        for f in (lambda x: lp.subtract(x, 1.5), lambda x: lp.subtract(4.5, x)):
            self.assertEqual(lp.compile(f)(np.float32([3])).tolist(), f(np.float32([3])).tolist())
        self.assertEqual(lp.compile(lambda x: (lp.subtract(7, 2), lp.full(2, 0.5)))(1.0)[0].type, "i32[]")
        # Here the functions of no array are a part of the Function that is being traced.
        self.assertEqual([op["op"] for op in lp.trace(lambda x: lp.iota(3), "f32").ops], ["iota"])

    def test_one_number_everywhere(self):
        for dtype in ("f32", "f64", "f16", "bf16", "i32", "i64", "i8", "u8", "bool"):
            for f, want in ((lp.zeros, 0), (lp.ones, 1)):
                for got in (f((2, 1), dtype), lp.compile(lambda x: f((2, 1), dtype))(1.0), f(lp.zeros((2, 1)).shape, lp.asarray(1.0).astype(dtype).dtype)):
                    self.assertEqual((got.type, got.tolist()), (f"{dtype}[2, 1]", [[want], [want]]))
        # The words of lp.ones_like.
        x = lp.cast(lp.ones(2), "bf16")
        self.assertEqual((lp.ones(x.shape, x.dtype).type, lp.full(x.shape, 0.25, x.dtype).tolist()), ("bf16[2]", [0.25] * 2))
        for dtype, number in (("f16", 0.1), ("bf16", 0.1), ("f16", 1e-7), ("f16", 1e6), ("bf16", -3.0e38), ("f16", 2049), ("bf16", 257.0)):
            for got in (lp.full(1, number, dtype), lp.compile(lambda x: lp.full(1, number, dtype))(1.0)):
                self.assertTrue(got.same_bits(lp.cast(lp.asarray([number], "f64"), dtype)), (dtype, number))
            mask, beside = np.array([True, False]), lp.cast(lp.ones(2), dtype)
            for got in (lp.select(mask, beside, number), lp.compile(lambda m, b: lp.select(m, b, number))(mask, beside)):
                self.assertEqual(got.tolist(), [1, lp.full((), number, dtype).item()])
        for number, dtype in ((1.5, "i32"), (300, "u8"), (-1, "u8"), (128, "i8"), (2**31, "i32"), (2**63, "i64")):
            self.refused(lambda: lp.full(2, number, dtype), ValueError)
        self.assertEqual([lp.full((), n, d).item() for n, d in ((255, "u8"), (-128, "i8"), (-(2**31), "i32"), (2**63 - 1, "i64"))], [255, -128, -(2**31), 2**63 - 1])
        # NumPy's numbers have all of their digits, too.
        for number, dtype in ((np.int64(2**60 + 1), "i64"), (np.uint64(2**60 + 1), "i64"), (np.True_, "bool"), (np.False_, "bool"), (np.float32(0.1), "f64")):
            for got in (lp.full((), number, dtype), lp.compile(lambda x: lp.full((), number, dtype))(1.0)):
                self.assertEqual((got.type, got.item()), (dtype + "[]", number.item()))

    def test_names_of_dtypes(self):
        for name, kind in (
            ("f64", "f64"), ("float64", "f64"), (np.float64, "f64"), (float, "f64"), (int, "i64"), (bool, "bool"), (np.dtype("<i4"), "i32"), ("bfloat16", "bf16"),
            (lp.bfloat16, "bf16"), (lp.float16, "f16"), (np.longlong, "i64"), (lp.float32, "f32"), (lp.float64, "f64"), (lp.int32, "i32"), (lp.int64, "i64"),
            (lp.int8, "i8"), (lp.uint8, "u8"), (lp.bool_, "bool"),
        ):
            self.assertEqual(lp.ones((), name).type, kind + "[]")
        for name in (None, 5, "int16", object, "x", np.dtype("M8[s]"), [1]):
            self.refused(lambda: lp.ones((), name), TypeError)

    def test_elements_that_functions_share(self):
        ids, table = np.int32([[2, 0], [-3, -1]]), floats(3, 4)
        self.same(lp.embedding(ids, table), table[ids])
        codes, scale = lp.quantize_rows(np.float32([[1, -2], [0.5, 0.25]]))
        self.assertEqual((codes.type, codes.tolist(), scale.type), ("i8[2, 2]", [[64, -127], [127, 64]], "f32[2, 1]"))
        self.near(scale, np.float32([[2 / 127], [0.5 / 127]]))
        self.same(lp.shift_right(np.int32([-8, 9]), np.int32([1, 2])), [2**31 - 4, 2])
        self.near(lp.normal_quantile(np.float32([0.5, 0.97724987])), [0, 2])
        self.near(lp.normalize(np.float32([3, -4])), [0.6, -0.8])
        self.same(lp.relu6(np.float32([-1, 5, 7])), [0, 5, 6])
        self.same(lp.hard_tanh(np.float32([-2, 0.5, 7])), [-1, 0.5, 1])

    def test_parts(self):
        x, y = floats(2, 6, 3), floats(2, 6, 3)
        for got, want in zip(lp.split(x, 3, axis=1), np.split(x, 3, axis=1)):
            self.same(got, want)
        for got, want in zip(lp.unstack(x, -1), np.moveaxis(x, -1, 0)):
            self.same(got, want)
        for axis in (0, 1, -1):
            self.same(lp.concatenate([x, y], axis), np.concatenate([x, y], axis))
            self.same(lp.stack([x, y], axis), np.stack([x, y], axis))
            self.same(lp.flip(x, axis), np.flip(x, axis))
            self.same(lp.take(x, np.int32([1, 0, 1]), axis), x.take([1, 0, 1], axis))
        self.same(lp.transpose(x, (-1, 0, -2)), x.transpose(2, 0, 1))
        self.same(lp.slice(x, (0, 1, 1), (2, 6, 3), (1, 2, 1)), x[:, 1:6:2, 1:])
        self.same(lp.slice(x, (0, 1, 1), (2, 6, 3)), x[:, 1:, 1:])

    def test_modes_of_scatter(self):
        x, updates, rows = floats(4, 3), floats(2, 3), np.int32([3, 1])
        given = np.zeros((2, 3), np.int32) + rows[:, None]
        modes = {"replace": lambda a, b: b, "add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
        for mode, f in modes.items():
            want = x.copy()
            want[rows] = f(x[rows], updates)
            self.same(lp.scatter(x, rows, updates, mode), want)
            self.same(lp.scatter(np.stack([x, x]), np.stack([rows, rows]), np.stack([updates, updates]), mode, batch=1), np.stack([want, want]))
            self.same(lp.scatter_along_axis(x, given, updates, axis=0, mode=mode), want)
        self.refused(lambda: lp.scatter(x, rows, updates, "mean"), ValueError)

    def test_modes_of_pad(self):
        x = floats(3, 4)
        for mode in ("reflect", "edge", "wrap"):
            self.same(lp.pad(x, (1, 2), (2, 0), mode=mode), np.pad(x, ((1, 2), (2, 0)), mode))
        self.same(lp.pad(x, (1, 2), (2, 0), value=7.0), np.pad(x, ((1, 2), (2, 0)), constant_values=7))
        apart = np.full((5, 4), 9, np.float32)
        apart[::2] = x
        self.same(lp.pad(x, (0, 0), (0, 0), (1, 0), 9.0), apart)

    def test_several_axes(self):
        x = RNG.integers(-3, 4, (2, 3, 4)).astype(np.float32)
        for axis in ((2, 0), (0, 2), (-1, 1), ()):
            for keepdims in (False, True):
                for f, g in ((lp.sum, np.sum), (lp.prod, np.prod), (lp.max, np.max), (lp.min, np.min)):
                    self.same(f(x, axis, keepdims), g(x, axis=axis, keepdims=keepdims))
        self.same(lp.asarray(x).prod(axis=1), x.prod(axis=1))
        for f in (lp.sum, lp.mean, lp.max):
            self.refused(lambda: f(x, (0, -3)), ValueError)

    def test_products(self):
        # Whole numbers, whose products are exact.
        whole = lambda *shape: RNG.integers(-4, 5, shape).astype(np.float32)
        for a, b in (((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (6, 3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)), ((3,), (3,))):
            a, b = whole(*a), whole(*b)
            self.same(lp.matmul(a, b), a @ b)
            self.same(a @ lp.asarray(b), a @ b)
        a, b = whole(5, 3, 2), whole(4, 3)
        self.same(lp.matmul(a, b, transpose_a=True, transpose_b=True), a.swapaxes(1, 2) @ b.T)
        # A vector has no other form.
        for transposed in ({"transpose_a": True}, {"transpose_b": True}):
            v, w = whole(3), whole(3)
            self.same(lp.matmul(v, w, **transposed), v @ w)
        self.same(lp.matmul(v, b, transpose_a=True, transpose_b=True), v @ b.T)
        self.same(lp.matmul(a, v, transpose_a=True, transpose_b=True), a.swapaxes(1, 2) @ v)
        self.same(lp.matmul(whole(2, 3) * 0 + 1, b, transpose_b=True), np.ones((2, 3)) @ b.T)
        for numbers in ((np.float32(2), v), (v, np.float32(2))):
            self.refused(lambda: lp.matmul(*numbers), ValueError)

    def test_every_op_refuses_arguments_that_do_not_fit_in_one_line(self):
        """Too many and unknown ones, a text, and arrays of dtypes and ranks that it may not take."""
        for name in lp.all_ops():
            f, arrays = getattr(lp, name), lp._core.op_kinds[name].count("V")
            for given, named in (([lp.ones(2)] * 40, {}), ([], {"no_such_argument": 1}), (["text"], {})):
                with self.assertRaises(TypeError) as caught:
                    f(*given, **named)
                self.assertRegex(str(caught.exception), r"\A[^\n]+\Z" if given == ["text"] else rf"\A{name}\(\)[^\n]+\Z")
            for shape in ((), (2, 2)):
                for dtype in ("bool", "i8", "f16", "bf16", "i32"):
                    try:
                        f(*[lp.ones(shape, dtype)] * arrays)
                    except (TypeError, ValueError, IndexError, NotImplementedError) as error:
                        self.assertRegex(str(error), r"\A\w+(\(\))?:? [^\n]+\Z", name)

    def test_arguments(self):
        x = floats(2, 3)
        for bad in (
            lambda: lp.softmax(x, 0, axis=1), lambda: lp.softmax(axis=1), lambda: lp.softmax(x, axes=1), lambda: lp.softmax(x, 1.0),
            lambda: lp.compile(lambda v: lp.softmax(v, v))(x), lambda: lp.softmax(x, 0, 1), lambda: lp.mse_loss(x, x, 1), lambda: lp.ones("ab"),
            lambda: lp.ones(2.0), lambda: lp.ones((2, 1.5)), lambda: lp.call("softmax", x, axis=1, axes=1), lambda: lp.concatenate(x),
            lambda: lp.call("cumulative_sum", x, axis="x", exclusive=False, reverse=False),
            lambda: lp.call("cumulative_sum", x, axis=0, exclusive="no", reverse=False), lambda: lp.call("slice", x, starts=["a"], limits=[1], strides=[1]),
        ):
            self.refused(bad, TypeError)
        for call in (lambda: lp.relu(None), lambda: lp.add(1.0, None), lambda: lp.linear(x, None)):
            self.refused(call, TypeError)
        for large in (lambda: lp.softmax(x, 2**70), lambda: lp.ones(2**70), lambda: lp.ones((1, -(2**70)))):
            with self.assertRaises(OverflowError):
                large()
        self.refused(lambda: lp.sum(x, keepdims=np.array([True, False])), ValueError)
        # A name that was put together is another object than the one of the signature.
        self.near(lp.softmax(x, **{"".join(("ax", "is")): 0}), lp.softmax(x, 0))
        self.refused(lambda: lp.call("no_op", x), KeyError)
        for bad in (lambda: lp.mse_loss(x, x, "average"), lambda: lp.pad(x, (0, 0), (0, 0), mode="zeros")):
            self.refused(bad, ValueError)


if __name__ == "__main__":
    unittest.main()
