#!/usr/bin/env python3
"""Functions, tracing, transformations and compiled code: the same bits whichever way they are called."""

import collections
import collections.abc
import copy
import dataclasses
import functools
import gc
import inspect
import operator
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import types
import unittest

import numpy as np

import limpid as lp
from limpid import _core
from refusals import Refusals

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


class Transformations(Refusals):
    def test_the_example_of_the_guide(self):
        net = lp.nn.mlp([784, 256, 128, 10], lp.relu)
        params = net.init(seed=0)
        x, y = floats(32, 784), RNG.integers(0, 10, 32).astype(np.int32)
        loss = lambda p, x, y: lp.softmax_cross_entropy(net(p, x), y).mean()
        step = lp.compile(lp.value_and_grad(loss))
        value, grads = step(params, x, y)
        f = lambda x: net(params, x)
        self.assertTrue((lp.vmap(f, 0)(x)[3] == f(x[3])).all())
        self.assertEqual(list(grads), list(params))
        again, grads_again = lp.value_and_grad(loss)(params, x, y)
        self.assertTrue(value.same_bits(again))
        self.assertTrue(grads.same_bits(grads_again))

    def test_second_derivatives_jvp_and_vjp_agree(self):
        f = lambda x: lp.sin(x) * x
        x, t = floats(5), floats(5)
        second = lp.vmap(lp.grad(lp.grad(f)))(x)
        np.testing.assert_allclose(np.asarray(second), 2 * np.cos(x) - x * np.sin(x), rtol=1e-5)
        y, dy = lp.jvp(f, (x,), (t,))
        z, pull = lp.vjp(f, x)
        self.assertIsInstance(lp.vjp(lambda v: v * v, x)[0], lp.Array)
        self.assertTrue(y.same_bits(z))
        np.testing.assert_allclose(np.asarray(dy), np.asarray(pull(lp.ones(5))[0]) * t, rtol=1e-6)

    def test_what_gradients_are_by(self):
        f = lambda p, q, r: (p["a"] * q + p["b"] * r).sum()
        p = {"a": floats(3), "b": floats(3)}
        q, r = floats(3), floats(3)
        g = lp.grad(f)(p, q, r)
        self.assertEqual(list(g), ["a", "b"])
        np.testing.assert_array_equal(np.asarray(g["b"]), r)
        np.testing.assert_array_equal(np.asarray(lp.grad(f, 1)(p, q, r)), p["a"])
        first, second = lp.grad(f, (0, 2))(p, q, r)
        np.testing.assert_array_equal(np.asarray(second), p["b"])
        np.testing.assert_array_equal(np.asarray(lp.grad(f, -1)(p, q, r)), p["b"])
        np.testing.assert_array_equal(np.asarray(lp.grad(f, (-2, 0))(p, q, r)[0]), p["a"])
        self.assertEqual(list(lp.grad(f, ["b"])(p, q, r)), ["b"])
        with self.assertRaises(KeyError):
            lp.grad(f, ["c"])(p, q, r)
        for beyond in (7, 3, -4, (0, -5)):
            self.refused(lambda: lp.grad(f, beyond)(p, q, r), ValueError)
        with self.assertRaises(ValueError):
            lp.grad(lambda x: x)(q)
        self.refused(lambda: lp.grad(lambda x: lp.cast(lp.argmax(x), "f32"))(q), ValueError)

    def test_names_of_what_is_in_lists_and_beside_none(self):
        # A list before the name, and a None, which is no array.
        p = {"list": [5.0, 2.0], "none": None, "a": 3.0, "deep": {"b": 7.0}}
        f = lambda p: p["a"] * p["list"][1] * p["deep"]["b"]
        for names, want in (
            ("a", {"a": 14}), ("list", {"list.0": 0, "list.1": 21}), (["deep", "list.1"], {"list.1": 21, "deep.b": 6}), ("deep.b", {"deep.b": 6}),
        ):
            self.assertEqual({name: g.item() for name, g in lp.grad(f, names)(p).items()}, want)
        for tangent, want in (
            ({"a": 10.0}, 140), ({"list": [1.0, 10.0]}, 210), ({"list": [1.0, None], "deep": {"b": 2.0}}, 12), ({"deep": {"b": 1.0}, "a": None}, 6), ({}, 0),
        ):
            y, moved = lp.jvp(f, (p,), (tangent,))
            self.assertEqual((y.item(), moved.item()), (42, want), tangent)
        self.refused(lambda: lp.jvp(f, (p,), ({"c": 1.0},)), KeyError)

    def test_tangents_have_the_form_of_the_arguments(self):
        f = lambda parts, x: parts[0]["a"] * parts[0]["b"] * parts[1] * x
        parts = [{"a": 2.0, "b": 3.0}, 5.0]
        for tangents, want in (
            (([{"b": 10.0, "a": 1.0}, 0.0], None), 7 * (3 + 20) * 5), ((None, 1.0), 30), ((None, None), 0), (([{"a": 0.0, "b": 0.0}, 1.0], 1.0), 72),
        ):
            y, moved = lp.jvp(f, (parts, 7.0), tangents)
            self.assertEqual((y.item(), moved.item()), (210, want), tangents)
        for bad in (([{"a": 1.0}, 0.0], None), ([{"a": 1.0, "b": 1.0}], None), (1.0, None), (None, (1.0, 2.0)), (None,)):
            self.refused(lambda: lp.jvp(f, (parts, 7.0), bad), ValueError)
        for moving in ({"b": 10.0, "a": 1.0}, lp.Params({"b": 10.0, "a": 1.0})):
            y, moved = lp.jvp(lambda p: p["a"] * p["b"], [{"a": 2.0, "b": 3.0}], [moving])
            self.assertEqual((y.item(), moved.item()), (6, 23))
        self.refused(lambda: lp.jvp(lambda p: p["a"], ({"a": 1.0},), (1.0,)), TypeError)
        for dtype in ("i32", "f16", "bf16"):
            self.refused(lambda: lp.jvp(lambda x: lp.cast(x, dtype), (1.0,), (1.0,)), TypeError)

    def test_a_cotangent_is_any_mapping(self):
        _, back = lp.vjp(lambda p: {"y": p["a"] * p["b"]}, {"a": 1.0, "b": 2.0})
        for kind in (dict, types.MappingProxyType, lp.Params):
            (of_p,) = back(kind({"y": 3.0}))
            self.assertEqual({name: x.item() for name, x in of_p.items()}, {"a": 6, "b": 3})

    def test_positions_of_any_integer(self):
        f, of = lambda x, y: x * x * y, lp.trace(lambda x, y: x * x * y, "f32[]", "f32[]")
        for wrt, want in ((np.int64(1), 4), ((np.int32(0), -1), (12, 4)), ([1, 0], (4, 12)), (-2, 12)):
            for g in (lp.grad(f, wrt), lp.grad(of, wrt)):
                got = g(2.0, 3.0)
                self.assertEqual(tuple(x.item() for x in got) if isinstance(got, tuple) else got.item(), want)
        self.assertEqual([name for name, _ in lp.vjp(of, wrt=-1).outputs], [name for name, _ in lp.vjp(of, wrt="y").outputs])
        self.assertEqual(lp.jvp(of, wrt=-1), lp.jvp(of, wrt=1))
        self.refused(lambda: lp.grad(of, 2**70), ValueError)
        for wrt in (2, -3, [0, 2]):
            for transform in (lp.grad, lp.value_and_grad, lambda f, by: lp.vjp(f, wrt=by), lambda f, by: lp.jvp(f, wrt=by)):
                self.refused(lambda: transform(of, wrt), ValueError)
        product = lp.trace(lambda p: p["weight"] * p["bias"], {"weight": "f32[]", "bias": "f32[]"})
        self.assertEqual(lp.jvp(product, wrt="weight"), lp.jvp(product, wrt=["weight"]))
        for wrt in (1.0, [1.5], object()):
            self.refused(lambda: lp.grad(of, wrt), TypeError)
        for g in (f, of):
            self.refused(lambda: lp.grad(g, (0, "x")), TypeError)
        # Code has a cotangent or a tangent for every argument.
        for bad in (lambda: lp.vjp(f, 2.0, 3.0, wrt=1), lambda: lp.vjp(of, 2.0, 3.0, wrt=1), lambda: lp.jvp(f, (2.0, 3.0), (1.0, 1.0), wrt=1)):
            self.refused(bad, TypeError)

    def test_what_has_no_gradient_has_no_cotangent(self):
        y, pull = lp.vjp(lambda x, rows, part: (x[rows] * part["w"]).sum(), np.float64([1, 2, 3]), np.int32([2, 0]), {"w": 2.0 * np.ones(1), "n": np.int8(3)})
        x, rows, part = pull(np.array(10.0))
        self.assertEqual((y.item(), x.tolist(), rows, part["w"].tolist(), part["n"]), (8, [20, 0, 20], None, [40], None))
        for dtype in ("f16", "bf16", "bool"):
            y, pull = lp.vjp(lambda x, narrow: x * lp.cast(narrow, "f32"), 3.0, lp.ones((), dtype))
            self.assertEqual(([g and g.item() for g in pull(2.0)], y.type), ([2, None], "f32[]"), dtype)

    def test_sums_of_products_of_groups(self):
        a, b = {"w": np.float32([1, 2]), "b": np.float32([3])}, lp.Params({"b": np.float32([10]), "w": np.float32([5, 7])})
        self.assertEqual(lp.compile(lp.vdot)(a, b).item(), 49)
        self.assertEqual((lp.vdot(a, b).item(), lp.vdot(b, a).item(), lp.vdot(np.float32([1, 2]), np.float32([5, 7])).item()), (49, 49, 19))
        self.refused(lambda: lp.vdot({}, {}), ValueError)
        self.refused(lambda: lp.vdot(a, {"w": np.float32([1, 2])}), ValueError)
        # A group as an array alone: one that would stretch is a mistake.
        self.refused(lambda: lp.vdot({"w": lp.ones((3, 4))}, {"w": lp.ones(4)}), ValueError)
        self.assertEqual(lp.vdot({"a": lp.ones(2), "b": {"c": 3.0}}, {"a": lp.ones(2), "b": {"c": 5.0}}).item(), 17)
        self.refused(lambda: lp.vdot(a, lp.ones(2)), TypeError)

    def test_the_words_of_jax(self):
        f = lambda a, b: ((a * b).sum(), {"sum": a + b})
        a, b = floats(3), floats(3)
        (value, aux), gradient = lp.value_and_grad(f, argnums=1, has_aux=True)(a, b)
        self.assertTrue(gradient.same_bits(a) and aux["sum"].same_bits(lp.add(a, b)))
        self.assertTrue(value.same_bits(lp.sum(lp.multiply(a, b))))
        gradients, aux = lp.compile(lp.grad(f, argnums=(0, 1), has_aux=True))(a, b)
        self.assertTrue(gradients[0].same_bits(b) and gradients[1].same_bits(a) and aux["sum"].same_bits(lp.add(a, b)))
        for no_pair in (lambda a: a.sum(), lambda a: (a.sum(), a, a), lambda a: [a.sum(), a]):
            self.refused(lambda: lp.grad(no_pair, has_aux=True)(a), TypeError)
        self.refused(lambda: lp.grad(f, 0, argnums=1), TypeError)
        self.refused(lambda: lp.grad(lp.trace(lambda a: a.sum(), a), has_aux=True), TypeError)
        self.refused(lambda: lp.jvp(lambda a: a, lp.asarray(a), lp.asarray(a)), TypeError)
        for code in (lambda a: a, lp.trace(lambda a: a, a)):
            self.refused(lambda: lp.jvp(code, (a,)), TypeError)
        for made in (lp.grad(f), lp.vmap(f), lp.compile(f), lp.custom_vjp(f)):
            self.assertEqual(list(inspect.signature(made).parameters), ["a", "b"])
        self.assertEqual([name for name, _ in lp.trace(lp.grad(f, has_aux=True), a, b).inputs], ["a", "b"])
        self.refused(lambda: lp.clip, AttributeError)
        for name in ("no_such_name", "ReLU", "Where"):
            self.refused(lambda: getattr(lp, name), AttributeError)
        for instead in lp._elsewhere.ELSEWHERE.values():
            name = re.match(r"(lp|numpy|x)\.(\w+)|x ", instead)
            self.assertTrue(not name[2] or hasattr({"lp": lp, "numpy": np, "x": lp.Array}[name[1]], name[2]), instead)
        for x, name in ((lp.ones(3), "clip"), (lp.nn, "relu"), (lp.optim, "SGD"), (lp.optim, "adamw"), (lp.nn, "LINEAR")):
            self.refused(lambda: getattr(x, name), AttributeError)
        self.refused(lambda: lp.compile(lambda v: v.sort())(lp.ones(3)), AttributeError)

    def test_indices_of_traced_code(self):
        x = floats(4, 3)
        for index in ([0, 2], np.array([1, 1])):
            self.assertTrue(lp.compile(lambda a: a[index])(x).same_bits(x[index]))
        # Negative numbers count from the end, as they do outside of traced code.
        for index in ([-1, 0], np.array([[-4], [3]]), np.int64([-2]), lp.asarray([-1, 2])):
            self.assertTrue(lp.compile(lambda a: a[index])(x).same_bits(np.asarray(lp.asarray(x)[index])))
            self.assertTrue(lp.compile(lambda a, i: a[i])(x, np.asarray(index)).same_bits(x[np.asarray(index)]))
        self.assertTrue(lp.compile(lambda a, i: a[i])(x, -1).same_bits(x[-1]))
        self.assertTrue(lp.compile(lambda a: sum(row * float(i) for i, row in enumerate(a)))(x).same_bits(sum(row * float(i) for i, row in enumerate(lp.asarray(x)))))
        for index in ([4], [0, -5], np.uint8([4])):
            self.refused(lambda: lp.compile(lambda a: a[index])(x), IndexError)
        for index in ([], np.zeros(0, np.int64)):
            self.assertEqual((lp.asarray(x)[index].shape, lp.compile(lambda a: a[index])(x).shape), ((0, 3), (0, 3)))
        # By a Value, of an array that the code captures.
        self.assertEqual(lp.compile(lambda i: lp.asarray([5.0, 6.0, 7.0])[i])(np.int32([-1, 0, -3])).tolist(), [7, 5, 5])
        self.refused(lambda: lp.compile(lambda a: a[..., ...])(x), IndexError)
        self.refused(lambda: lp.compile(lambda a: a[[0]])(1.0), IndexError)
        for index in ((0, 1, 2), (0, ..., slice(None), 1)):
            self.refused(lambda: lp.compile(lambda a: a[index])(x), IndexError)
        self.refused(lambda: lp.compile(lambda a: a[a > 0])(x), TypeError)
        for mask in (np.array([True, False, True, False]), [True, False, True, False]):
            self.assertTrue(lp.compile(lambda a: a[mask])(x).same_bits(x[np.array(mask)]))

    def test_indices_count_from_either_end_everywhere(self):
        """What indices known beforehand are refused for gives NaN where they are known only when the plan runs."""
        x = floats(4, 3)
        takes = (
            lambda a, i: a[i], lambda a, i: lp.take(a, i, 0), lambda a, i: lp.take(a.reshape(1, 4, 3), i, 1)[0], lambda a, i: lp.gather(a, i),
            lambda a, i: lp.gather(lp.stack([a, a]), lp.stack([i, i]), 1)[1], lambda a, i: lp.embedding(i, a),
            lambda a, i: lp.nn.Embedding(4, 3)({"weight": a}, i), lambda a, i: lp.take_along_axis(a, lp.broadcast(i.reshape(-1, 1), (i.size, 3)), 0),
        )
        for take in takes:
            for index in (np.int32([-1, 0, 3, -4]), np.int64([-2])):
                for way in (take, lp.compile(take), lambda a, i: lp.compile(lambda b: take(b, i))(a)):
                    self.assertTrue(way(lp.asarray(x), lp.asarray(index)).same_bits(x[index]))
            for index in (np.int32([0, 4]), np.int64([1, -5])):
                self.refused(lambda: take(lp.asarray(x), lp.asarray(index)), IndexError)
                got = np.asarray(lp.compile(take)(x, index))
                self.assertTrue((got[0] == x[index[0]]).all() and np.isnan(got[1]).all())
        self.assertEqual(lp.compile(lp.take)(np.int32([1, 2]), np.int32([-1, 2])).tolist(), [2, 0])
        rows = lp.compile(lp.grad(lambda a, i: lp.take(a, i, 0).sum()))(x, np.int32([-1, 3, 0, 9]))
        self.assertEqual(rows.tolist(), [[1] * 3, [0] * 3, [0] * 3, [2] * 3])

    def test_indices_to_write_to(self):
        x, i, y = lp.asarray([1.0, 2.0, 3.0]), np.int32([-1, 0]), np.float32([7, 8])
        for write in (lp.scatter, lambda a, j, b: lp.scatter_along_axis(a, j, b, 0)):
            self.assertEqual((write(x, i, y).tolist(), lp.compile(write)(x, i, y).tolist()), ([8, 2, 7], [8, 2, 7]))
            self.refused(lambda: write(x, i - 3, y), IndexError)
            self.assertEqual(lp.compile(write)(x, i + 3, y).tolist(), [1, 2, 7])
        self.assertEqual(lp.scatter_add(i, y, 3).tolist(), [8, 0, 7])
        self.refused(lambda: lp.scatter_add(i + 3, y, 3), IndexError)

    def test_errors_name_the_function_that_was_called(self):
        for call in (lambda: lp.embedding(lp.ones(2), lp.ones((2, 2))), lambda: lp.mse_loss(lp.ones(2), lp.ones(3)), lambda: lp.take_along_axis(lp.ones(2), lp.ones(2))):
            self.refused(call, lp.Error)

    def test_ids_of_no_word(self):
        for net in (lp.nn.Gpt(5, context=4, layers=1, width=8, heads=2), lp.nn.CharLm(5, context=4, embedding=2, hidden=[3])):
            params = net.init()
            for ids in (np.int32([0, 1, 5, 2]), np.int32([0, 1, -6, 2])):
                self.refused(lambda: net(params, ids), IndexError)
                self.assertTrue(np.isnan(lp.compile(net)(params, ids)).any())
                self.assertTrue(np.isnan(lp.Model(net.function(), params)(ids)).any())
            self.assertTrue(net(params, np.int32([0, 1, -1, 2])).same_bits(net(params, np.int32([0, 1, 4, 2]))))

    def test_labels_of_no_class(self):
        x, y = floats(4, 3), np.array([0, -100, 2, 1])
        kept = [0, 2, 3]
        losses = (lp.cross_entropy, lambda x, y: lp.nll_loss(lp.log_softmax(x), y), lambda x, y: lp.cross_entropy(x, y, label_smoothing=0.1))
        for loss in losses:
            for way in (loss, lp.compile(loss)):
                self.assertAlmostEqual(way(x, y).item(), way(x[kept], y[kept]).item(), places=6)
            gradient = np.asarray(lp.grad(loss)(x, y))
            self.assertTrue((gradient[1] == 0).all() and (gradient[kept] != 0).all())
            for wrong in ([0, 1, 3, 0], [0, 1, -1, 0]):
                self.refused(lambda: loss(x, np.array(wrong)), ValueError)
                self.assertTrue(np.isnan(lp.compile(loss)(x, np.array(wrong)).item()))
                self.assertTrue(np.isnan(lp.grad(loss)(x, np.array(wrong))).any())
        self.assertEqual(lp.softmax_cross_entropy(x, y)[1].item(), 0)
        self.assertTrue(np.isnan(lp.compile(lp.softmax_cross_entropy)(x, y - 1)[1].item()))
        self.refused(lambda: lp.cross_entropy(x, y, ignore_index=None), ValueError)
        self.refused(lambda: lp.softmax_cross_entropy(x, y + 1), ValueError)
        self.assertTrue(np.isfinite(lp.cross_entropy(x, lp.softmax(x)).item()))
        self.refused(lambda: lp.cross_entropy(x, lp.softmax(x), ignore_index=0), ValueError)

    def test_slices_of_traced_code(self):
        x = floats(7, 5)
        ends = (None, -9, -3, 0, 2, 4, 6, 9)
        for step in (None, 1, 2, 3, -1, -2, -3):
            for first in ends:
                for last in ends:
                    part = slice(first, last, step)
                    got = lp.compile(lambda a: (a[part], a[:, part], a[-2, ..., part]))(x)
                    for one, want in zip(got, (x[part], x[:, part], x[-2, part])):
                        np.testing.assert_array_equal(np.asarray(one), want, err_msg=str(part))

    def test_keys_of_numbers(self):
        key = lp.Key(7)
        for data in (0, 5, 2**40):
            want = key.fold_in(data).bits
            got = lp.fold_in(key, data), lp.compile(lambda k: lp.fold_in(k, data))(key), lp.fold_in(key, np.int64(data))
            self.assertEqual([int(one.item()) % 2**64 for one in got], [want] * 3)
        numbers = lp.vmap(lambda i: lp.normal(lp.fold_in(key, i), 3))(lp.iota(4))
        for i in range(4):
            self.assertTrue(numbers[i].same_bits(lp.normal(key.fold_in(i), 3)))
        self.assertTrue(lp.fold_in(key, lp.iota(4))[2].same_bits(lp.fold_in(key, 2)))

    def test_compiled_code_inside_of_other_code(self):
        inner = lp.compile(lambda p, x: lp.tanh(x * p["w"]))
        p, x = {"w": floats(4)}, floats(4)
        f = lambda p, x: (inner(p, x) * 2.0).sum()
        want = (lp.tanh(lp.multiply(x, p["w"])) * 2.0).sum()
        for got in (f(p, x), lp.compile(f)(p, x), lp.trace(f, p, x)(p, x), lp.value_and_grad(f)(p, x)[0]):
            self.assertTrue(got.same_bits(want))
        self.assertEqual([op["op"] for op in lp.trace(lambda p, x: inner(p, x), p, x).ops], ["multiply", "tanh"])
        batch = floats(3, 4)
        self.assertTrue(lp.vmap(inner, (None, 0))(p, batch)[2].same_bits(inner(p, batch[2])))

    def test_scopes(self):
        scope = lambda f: [op["scope"] for op in lp.trace(f, "f32").ops]
        with lp.scope("outside"):  # of no Function
            self.assertEqual(lp.relu(1.0).item(), 1)
            self.assertEqual(scope(lp.relu), [""])
        again = lp.scope("a")

        def twice(x):
            with again, again, lp.scope("b"):
                x = lp.tanh(x)
            return lp.relu(x)

        self.assertEqual([scope(twice), scope(twice)], [["a.b", ""]] * 2)
        left = lp.scope("left")
        self.assertEqual(scope(lambda x: left.__enter__() or lp.relu(x)), ["left"])

        def other(x):
            left.__exit__(None, None, None)  # of the Function before
            with lp.scope("c"):
                return lp.relu(x)

        self.assertEqual(scope(other), ["c"])

        def around(x):
            left.__enter__()
            lp.trace(lambda y: left.__exit__(None, None, None) or lp.relu(y), "f32")  # of the Function around it
            return lp.tanh(x)

        self.assertEqual(scope(around), ["left"])

    def test_captured_values_and_nesting(self):
        def outer(p, x):
            inner = lambda q: (q * p["w"] * x).sum()
            return (p["w"] - 0.1 * lp.grad(inner)(x)).sum()

        p, x = {"w": floats(4)}, floats(4)
        got = lp.compile(lp.value_and_grad(outer))(p, x)
        self.assertTrue(got[0].same_bits(outer({"w": lp.asarray(p["w"])}, lp.asarray(x))))
        np.testing.assert_allclose(np.asarray(got[1]["w"]), 1 - 0.1 * x, rtol=1e-6)
        # A Value of the outer code comes before one of the inner code.
        rows = floats(3, 4)
        for op in (lambda a, b: lp.call("multiply", a, b), lambda a, b: lp.stack([a, b]), lambda a, b: lp.select(a > b, a, b)):
            of_row = lambda row, x=x: op(x, row)
            want = [of_row(lp.asarray(row), lp.asarray(x)) for row in rows]
            got = lp.compile(lambda x, rows: lp.vmap(lambda row: op(x, row))(rows))(x, rows)
            self.assertTrue(all(got[i].same_bits(want[i]) for i in range(3)))

    def test_vmap_axes(self):
        f = lambda a, b: (a * b).sum()
        a, b = floats(3, 5), floats(5, 3)
        got = lp.vmap(f, (0, 1))(a, b)
        want = [f(lp.asarray(a[i]), lp.asarray(b[:, i])) for i in range(3)]  # not NumPy's sum
        self.assertTrue(all(got[i].same_bits(want[i]) for i in range(3)))
        self.assertEqual(lp.vmap(f, (0, None))(a, floats(5)).shape, (3,))
        self.assertTrue(lp.vmap(f, (-2, -1))(a, b).same_bits(got))
        for axis in (-3, 2):
            self.refused(lambda: lp.vmap(f, axis)(a, a), ValueError)
        self.refused(lambda: lp.vmap(f, (0,))(a, b), ValueError)
        for given in ((a, b), (b, a)):
            self.refused(lambda: lp.vmap(f)(*given), ValueError)
        self.refused(lambda: lp.vmap(lambda a: a)(np.float32(1)), ValueError)
        self.refused(lambda: lp.vmap(lambda a: a, None)(a), ValueError)

    def test_vmap_axes_of_trees(self):
        w, b, x = floats(4, 3), floats(3), floats(3, 4)
        f = lambda p, q: (p["w"] * q[0] + p["b"] * q[1], {"s": (p["w"] * q[0]).sum()})
        y, s = lp.vmap(f, ({"b": None, "w": 0}, [1, None]))({"w": w, "b": b}, (x, 2.0))
        for i in range(4):
            one, sums = f({"w": lp.asarray(w[i]), "b": lp.asarray(b)}, (lp.asarray(x[:, i]), 2.0))
            self.assertTrue(y[i].same_bits(one) and s["s"][i].same_bits(sums["s"]))
        moved, same = lp.vmap(f, ({"b": None, "w": 0}, [1, None]), out_axes=(-1, {"s": 0}))({"w": w, "b": b}, (x, 2.0))
        self.assertTrue(moved.same_bits(y.T) and same["s"].same_bits(s["s"]))
        matrices = lp.vmap(lambda v: lp.stack([v, v, v]), out_axes=1)(w)
        np.testing.assert_array_equal(np.asarray(matrices), np.stack([np.stack([v] * 3) for v in w], axis=1))
        last = lp.vmap(lambda v: lp.stack([v, v, v]), out_axes=-1)(w)
        np.testing.assert_array_equal(np.asarray(last), np.stack([np.stack([v] * 3) for v in w], axis=-1))
        g = lambda p: p["w"].sum()
        for axes, error in (
            (({"v": 0},), ValueError), (({"w": "x"},), TypeError), ((True,), TypeError), (([0, 0],), ValueError),
        ):
            self.refused(lambda: lp.vmap(g, axes)({"w": w}), error)
        for axes in ([0], [0, 0, 0]):
            self.refused(lambda: lp.vmap(lambda q: q[0] * q[1], (axes,))([w, w]), ValueError)
        for axes in (None, 1, -2, [0]):
            self.refused(lambda: lp.vmap(g, out_axes=axes)({"w": w}), ValueError)
        of = lp.trace(lambda v, w: v * w, "f32[3]", "f32[3]")
        self.assertEqual([[kind for _, kind in lp.vmap(of, axes, 4).inputs] for axes in (0, 1, (None, -1))],
                         [["f32[4, 3]"] * 2, ["f32[3, 4]"] * 2, ["f32[3]", "f32[3, 4]"]])  # fmt: skip
        self.refused(lambda: lp.vmap(of, None, 4), ValueError)
        for axes in ([0.5, 0], ["x", 0]):
            self.refused(lambda: lp.vmap(of, axes, 4), TypeError)
        self.refused(lambda: lp.vmap(lp.trace(lambda v: v, "f32[3]"), 0, 4, out_axes=1), TypeError)
        self.refused(lambda: lp.vmap(lambda v: v, 0, 4), TypeError)

    def test_mappings_of_one_form_in_any_order(self):
        x = floats(3)
        y, pull = lp.vjp(lambda v: {"a": v * 2.0, "b": v * 3.0}, x)
        self.assertEqual(pull({"b": lp.ones(3), "a": lp.zeros(3)})[0].tolist(), [3.0] * 3)
        self.assertEqual(lp.tree_map(lambda a, b: a - b, {"a": 1, "b": (2, None)}, {"b": (20, None), "a": 10}), {"a": -9, "b": (-18, None)})
        params = lp.Params({"w": x})
        self.assertEqual(list(lp.tree_map(lambda a, b: a - b, params, {"w": lp.asarray(x)})["w"]), [0.0] * 3)
        for other in (
            {"a": 1}, {"a": 1, "b": (2, None), "c": 3}, {"a": 1, "b": [2, None]}, {"a": 1, "b": (2,)}, {"a": 1, "b": (2, None, 3)}, {"a": 1, "b": (2, 3)},
            {"a": None, "b": (2, None)}, 1,
        ):
            self.refused(lambda: lp.tree_map(lambda a, b: a, {"a": 1, "b": (2, None)}, other), ValueError)

    def test_trees(self):
        Pair = collections.namedtuple("Pair", "first second")

        def f(tree):
            return {"sum": tree["a"][0] + tree["a"][1].first, "pair": Pair(tree["a"][1].second, None), "list": [tree["b"]]}

        tree = {"a": (1.0, Pair(2.0, 3.0)), "b": np.float32([1, 2])}
        out = lp.compile(f)(tree)
        self.assertEqual(out["sum"].item(), 3)
        self.assertIsInstance(out["pair"], Pair)
        self.assertIsNone(out["pair"].second)
        self.assertEqual(out["list"][0].tolist(), [1, 2])
        deep = []
        deep.append(deep)
        with self.assertRaises(ValueError):
            lp.compile(lambda x: x)(deep)
        nested = lambda levels: [nested(levels - 1)] if levels else 1.0
        self.assertEqual(lp.tree_leaves(nested(64)), [1.0])
        self.refused(lambda: lp.tree_leaves(nested(65)), ValueError)
        self.refused(lambda: _core.flatten([1.0, 2.0])[1].build([1.0]), ValueError)
        # A tuple of one's own without names is a tuple.
        Own = type("Own", (tuple,), {})
        self.assertEqual(lp.tree_map(lambda a: a + 1, Own((1, 2))), (2, 3))
        self.assertEqual(lp.tree_map(lambda a, b: a + b, [1, {"x": 2}], [10, {"x": 20}]), [11, {"x": 22}])
        self.assertEqual(lp.tree_map(lambda a, b: a + b, Pair(1, 2), Pair(10, 20)), Pair(11, 22))
        Other = collections.namedtuple("Other", "second first")
        for other in (Other(1, 2), (1, 2)):
            self.refused(lambda: lp.tree_map(lambda a, b: a + b, Pair(1, 2), other), ValueError)

    def test_each_form_of_arguments_has_its_plan(self):
        f = lp.compile(lambda tree: tree["a"] * 2.0 if "a" in tree else tree["b"] * 3.0)
        self.assertEqual([f({key: 1.0}).item() for key in "abab"], [2, 3, 2, 3])
        # The same leaves: of one list, or beside it.
        g = lp.compile(lambda first, *others: first[0] * 0.0 + float(len(first)))
        self.assertEqual([g([1.0], 2.0).item(), g([1.0, 2.0]).item(), g([1.0], 2.0).item()], [1, 2, 1])
        # The same tree: a tuple and a mapping as arguments, or one argument and a keyword.
        h = lp.compile(lambda *args, **named: lp.full((), float(len(args))))
        self.assertEqual([h((1.0,), {"x": 2.0}).item(), h(1.0, x=2.0).item()], [2, 1])

    def test_plans_that_were_used_lately_are_kept(self):
        traced = []
        f = lp.compile(lambda x: traced.append(x.shape) or x + 1.0)
        for n in range(1, 100):
            f(np.zeros(n, np.float32))
            f(np.zeros(1000, np.float32))
        self.assertEqual((len(traced), traced.count((1000,))), (100, 1))
        self.assertLessEqual(f.plans, 64)

    def test_keywords_and_numbers(self):
        f = lp.compile(lambda x, *, scale: x * scale)
        self.assertEqual(f(np.float32([1, 2]), scale=3.0).tolist(), [3, 6])
        self.assertEqual(f(np.float32([1, 2]), scale=4.0).tolist(), [4, 8])
        self.assertEqual(f.plans, 1)  # a number is an argument and no constant
        self.assertEqual(lp.compile(lambda n: n + 1)(3).type, "i32[]")
        scaled = lambda x, scale=1.0: (x * scale).sum()
        self.assertEqual(lp.grad(scaled)(np.float32([1, 2]), scale=3.0).tolist(), [3, 3])
        self.assertEqual(lp.vmap(scaled)(np.float32([[1, 2], [3, 4]]), scale=3.0).tolist(), [9, 21])


class GradientsOfOnesOwn(Refusals):
    def test_trees(self):
        def body(p, parts, count, nothing):
            return {"y": p["w"] * parts[0] + parts[1].sum(), "n": count + 1}, [lp.tanh(p["b"])]

        def gradient(p, parts, count, nothing, result, cotangent):
            self.assertEqual(list(result[0]), ["y", "n"])
            self.assertEqual(cotangent[0]["n"].type, "i32[]")
            return {"w": 3.0 * cotangent[0]["y"]}, (None, 5.0 * cotangent[1][0]), None, None

        f = lp.with_gradient(body, gradient)
        p, parts = {"w": floats(4), "b": floats(4)}, (floats(4), floats(4))
        got, want = f(p, parts, 7, None), body({k: lp.asarray(v) for k, v in p.items()}, [lp.asarray(x) for x in parts], lp.asarray(7), None)
        self.assertEqual(got[0]["n"].item(), 8)
        self.assertTrue(got[0]["y"].same_bits(want[0]["y"]) and got[1][0].same_bits(want[1][0]))

        def loss(p, parts):
            first, second = f(p, parts, 7, None)
            return (first["y"] * 2.0).sum() + (second[0] * parts[0]).sum()

        of_p, of_parts = lp.grad(loss, (0, 1))(p, parts)
        self.assertEqual(of_p["w"].tolist(), [6.0] * 4)
        self.assertEqual(of_p["b"].tolist(), [0.0] * 4)
        np.testing.assert_array_equal(np.asarray(of_parts[1]), 5 * parts[0])
        self.assertTrue(of_parts[0].same_bits(lp.tanh(p["b"])))
        only_y = lp.grad(lambda p: f(p, parts, 7, None)[0]["y"].sum())(p)  # no cotangent of the others
        self.assertEqual(only_y["w"].tolist(), [3.0] * 4)
        _, moved = lp.jvp(lambda w: f({"w": w, "b": p["b"]}, parts, 7, None)[0]["y"], (p["w"],), (np.ones(4, np.float32),))
        self.assertEqual(moved.tolist(), [3.0] * 4)

    def test_sequences_may_make_their_items_when_asked(self):
        # Nobody else holds an item of an array, or of a range beyond the integers that Python keeps.
        numbers = np.arange(1000, dtype=np.float32)
        self.assertEqual(lp._core.hash_of(numbers), lp._core.hash_of([lp.asarray(n) for n in numbers]))
        halves = lp.with_gradient(lambda *x: sum(x[1:], x[0]), lambda *x: tuple(0.5 * x[-1] for _ in x[2:]))
        gradients = lp.grad(lambda p: halves(*p))([np.float32(i) for i in range(600)])
        self.assertEqual({g.item() for g in gradients}, {0.5})

    def test_a_gradient_is_stopped(self):
        x, y = floats(4), floats(4)
        stopped = lambda p: (p["a"] * lp.stop_gradient({"b": p["b"], "c": [p["a"]]})["c"][0] + p["b"]).sum()
        gradients = lp.vmap(lp.grad(stopped))({"a": x.reshape(2, 2), "b": y.reshape(2, 2)})
        self.assertTrue((gradients["a"] == x.reshape(2, 2)).all() and (gradients["b"] == 1).all())
        self.assertTrue((lp.grad(lambda v: lp.tanh(lp.stop_gradient(v)).sum())(x) == 0).all())

    def test_a_stopped_gradient_is_kept_in_files(self):
        slope = lambda f: lp.grad(f)(lp.asarray([2.0, 3.0])).tolist()
        f = lp.trace(lambda x: (lp.stop_gradient(x) * x).sum(), "f32[2]")
        for again in (f, lp.expand(f), lp.parse(f.text()), pickle.loads(pickle.dumps(f)), pickle.loads(pickle.dumps(lp.Model(f, {}))).function):
            self.assertEqual(slope(lambda x: again(x)), [2, 3])
        self.assertEqual(lp.stop_gradient({"a": [1.0, None]})["a"][0].item(), 1)
        self.assertEqual(lp.jvp(lambda x: lp.stop_gradient(x) * x, (3.0,), (1.0,))[1].item(), 3)

    def test_a_gradient_of_ones_own_is_not_saved(self):
        own = lp.trace(lambda x: lp.with_gradient(lambda v: v * 2.0, lambda v, y, c: c * 7.0)(x), "f32[]")
        model = lp.Model(own, {})
        for save in (lambda: pickle.dumps(own), lambda: pickle.dumps(model), lambda: lp.save("never.safetensors", model)):
            self.refused(save, NotImplementedError)
        for copied in (copy.copy(own), copy.deepcopy(own), copy.deepcopy([model])[0].function):
            self.assertEqual(lp.grad(copied)(1.0).item(), 7)
        self.assertEqual(lp.grad(pickle.loads(pickle.dumps(lp.expand(own))))(1.0).item(), 2)

    def test_results_and_shared_arguments_that_have_no_gradient(self):
        rows, flags = np.float32([[1, -2], [3, 4]]), np.float32([1, 0])
        times = lambda v, m: v * lp.cast(m, "f32")
        own = lp.with_gradient(times, lambda v, m, y, c: (times(c, m), None))
        alike = lp.custom_vjp(times)
        alike.defvjp(lambda v, m: (times(v, m), m), lambda m, c: (times(c, m), None))
        for dtype in ("bool", "u8", "i8", "i32", "i64"):
            stopped = lambda v: (lp.stop_gradient((v, lp.cast(v, dtype)))[0] * v).sum()
            self.assertEqual(lp.grad(stopped)(rows).tolist(), rows.tolist(), dtype)
            shared = np.asarray(lp.cast(flags, dtype))
            for f in (own, alike):
                for batch in (lambda v: lp.vmap(lambda x: f(x, shared))(v), lambda v: lp.vmap(f, (0, None))(v, shared)):
                    self.assertEqual(lp.grad(lambda v: batch(v).sum())(rows).tolist(), [[1, 0], [1, 0]], dtype)

    def test_many_inputs_in_batches_of_batches(self):
        f = lp.with_gradient(lambda *x: sum(x[1:], x[0]), lambda *x: tuple(float(i) * x[-1] for i in range(len(x) - 2)))
        x = [floats(2, 3) for _ in range(70)]
        shared = {3, 66}
        g = lambda *v: lp.vmap(lp.vmap(f, [None if i in shared else 0 for i in range(70)]), [None if i in shared else 0 for i in range(70)])(*v).sum()
        args = [x[i][0, 0] if i in shared else x[i] for i in range(70)]
        for i, gradient in enumerate(lp.grad(g, range(70))(*args)):
            self.assertEqual(gradient.tolist(), 6.0 * i if i in shared else [[float(i)] * 3] * 2, i)

    def test_gradients_that_call_each_other(self):
        sine = lp.with_gradient(lp.sin, lambda x, y, c: c * cosine(x))
        cosine = lp.with_gradient(lp.cos, lambda x, y, c: -c * sine(x))
        third = lp.grad(lp.grad(lp.grad(sine)))
        self.assertTrue(third(0.5).same_bits(-lp.cos(0.5)))

    def test_as_jax_has_it(self):
        @lp.custom_vjp
        def clipped(x, limit):
            """x, with a gradient that is clipped."""
            return x * 1.0

        self.refused(lambda: clipped(1.0, 2.0), ValueError)
        clipped.defvjp(lambda x, limit: (clipped(x, limit), (limit,)), lambda kept, c: (lp.minimum(c, kept[0]), None))
        self.assertEqual((clipped.__name__, clipped.__doc__), ("clipped", "x, with a gradient that is clipped."))
        x = floats(5)
        np.testing.assert_array_equal(np.asarray(lp.grad(lambda v: (clipped(v, 0.25) * 3.0).sum())(x)), np.full(5, 0.25, np.float32))
        self.assertTrue(lp.compile(clipped)(x, 2.0).same_bits(x))
        bad = lp.custom_vjp(lambda x: x)
        bad.defvjp(lambda x: x, lambda kept, c: (c,))
        self.refused(lambda: lp.grad(bad)(1.0), TypeError)
        bad.defvjp(lambda x: (x, None), lambda kept, c: [2.0 * c])
        self.assertEqual(lp.grad(bad)(1.0).item(), 2)
        for given in ((3, len), (len, None)):
            self.refused(lambda: bad.defvjp(*given), TypeError)
        for cotangents in (lambda kept, c: c, lambda kept, c: (c, c)):
            bad.defvjp(lambda x: (x, None), cotangents)
            self.refused(lambda: lp.grad(bad)(1.0), TypeError)
        # The cotangent of an argument that is a tree is a tree of the same form.
        product = lp.custom_vjp(lambda q: q[0] * q[1]["w"])
        product.defvjp(lambda q: (product(q), q), lambda q, c: ([c * q[1]["w"] * 10.0, {"w": c * q[0]}],))
        by_parts = lp.grad(product)([2.0, {"w": 3.0}])
        self.assertEqual((by_parts[0].item(), by_parts[1]["w"].item()), (30, 2))

    def test_what_is_traced_anew_and_what_is_kept(self):
        scale = [2.0]
        f = lp.with_gradient(lambda x: x * scale[0], lambda x, y, c: c * scale[0] * 10.0)
        self.assertEqual((f(3.0).item(), lp.grad(f)(3.0).item()), (6.0, 20.0))
        scale[0] = 4.0
        self.assertEqual((f(3.0).item(), lp.grad(f)(3.0).item()), (12.0, 40.0))
        one, other = (lp.trace(f, "f32[]") for _ in range(2))
        self.assertEqual(one, other)
        again = lp.with_gradient(lambda x: x * scale[0], lambda x, y, c: c)
        self.assertNotEqual(lp.trace(again, "f32[]", name="f"), lp.trace(f, "f32[]", name="f"))
        kept = lp.grad(lp.trace(lp.with_gradient(lambda x: x * x, lambda x, y, c: c), "f32[]"))
        self.assertEqual(kept(3.0).item(), 1.0)
        for size in range(1, 2 * f._MOST):
            f(np.ones(size, np.float32))
        self.assertLessEqual(len(f._known), f._MOST)

    def test_a_function_keeps_the_gradient_of_its_calls(self):
        def made():
            f = lp.with_gradient(lambda x: x * 1.0, lambda x, y, c: 7.0 * c + 0.0 * f(x))
            return lp.trace(f, "f32[]")

        function = made()  # nobody else holds the gradient, which holds itself
        gc.collect()
        self.assertEqual(lp.grad(function)(2.0).item(), 7)

    def test_errors(self):
        x = floats(3)
        f = lambda gradient, body=lambda x: x * 2.0: lp.grad(lambda v: lp.with_gradient(body, gradient)(v).sum())(x)

        def fails(*given):
            raise ZeroDivisionError("here")

        for gradient, error in (
            (fails, ZeroDivisionError), (lambda x, y, c: (c, c), ValueError), (lambda x, y, c: c.sum(), ValueError), (lambda x, y: x, TypeError),
            (lambda x, y, c: "text", TypeError),
        ):
            self.refused(lambda: f(gradient), error)
        self.refused(lambda: lp.with_gradient(lambda x: x, lambda x, y, c: c)(x=1.0), TypeError)
        self.refused(lambda: lp.with_gradient(lambda x: x, 3), TypeError)
        for none in (lambda: lp.with_gradient(lambda: 1.0, lambda y, c: ())(), lambda: lp.with_gradient(lambda x: None, lambda x, y, c: c)(1.0)):
            self.refused(none, ValueError)
        self.refused(lambda: _core.Composed(lp.trace(lambda x: x, "f32"), len, _core.flatten((1.0, 2.0))[1]), ValueError)
        self.refused(lambda: lp.compile(lambda a: lp.with_gradient(lambda x: x * a, lambda x, y, c: c)(2.0))(1.0), ValueError)
        for count in (1, 3):
            self.refused(lambda: lp.grad(lambda p: lp.with_gradient(lambda q: q[0] * q[1], lambda q, y, c: [c] * count)(p))([1.0, 2.0]), ValueError)
        self.refused(lambda: lp.grad(lambda p: lp.with_gradient(lambda q: q["w"] * 1.0, lambda q, y, c: {"v": c})(p))({"w": 1.0}), KeyError)
        self.refused(lambda: lp.parse(lp.trace(lp.with_gradient(lambda x: x, lambda x, y, c: c), "f32[2]").text()), ValueError)


class Functions(Refusals):
    def setUp(self):
        self.f = lp.trace(lambda p, x: lp.relu(lp.linear(x, p["w"], p["b"])), {"w": "f32[2, 3]", "b": "f32[2]"}, "f32[3]", name="layer")

    def test_text_and_parts(self):
        f = self.f
        self.assertEqual(f.inputs, [("w", "f32[2, 3]"), ("b", "f32[2]"), ("x", "f32[3]")])
        self.assertEqual([op["op"] for op in f.ops], ["linear", "relu"])
        self.assertEqual(lp.parse(f.text()), f)
        self.assertEqual(lp.parse(str(f)).hash, f.hash)
        self.assertRegex(f.hash, "^[0-9a-f]{16}$")
        self.assertIn("function layer(%w: f32[2, 3]", str(f))
        self.refused(lambda: lp.parse("nothing"), ValueError)

    def test_calls(self):
        w, b, x = floats(2, 3), floats(2), floats(3)
        want = self.f({"b": b, "w": w}, x)
        for got in (self.f(w, b, x), self.f(w, b, x=x), self.f(x=x, w=w, b=b), self.f.interpret(w, b, x), lp.compile(self.f)(w, b, x), lp.bind(self.f, {"w": w, "b": b})(x)):
            self.assertTrue(got.same_bits(want))
        for bad in (lambda: self.f(w, b), lambda: self.f(w, b, x, x), lambda: self.f(w, b, b), lambda: self.f(w, b, y=x), lambda: self.f({"w": w}, b), lambda: self.f(w, b, x, x=x), lambda: self.f(w, b, x.astype(np.float64))):
            with self.assertRaises((TypeError, ValueError, KeyError)):
                bad()
        for given in (("a", b, x), (w, b, "a"), (w, b, x, "a")):
            self.refused(lambda: self.f(*given), TypeError)
        for other in (lp.trace(lambda x: x, "f32[3]"), 3, None):
            self.assertNotEqual(self.f, other)

    def test_transformations_of_functions(self):
        w, b, x = floats(2, 3), floats(2), floats(3)
        loss = lp.trace(lambda w, b, x: lp.relu(lp.linear(x, w, b)).sum(), w, b, x)
        g = lp.grad(loss, ["w", "b"])
        self.assertEqual([name for name, _ in g.outputs], ["grad.w", "grad.b"])
        by_code = lp.grad(lambda p: loss(p[0], p[1], x))((w, b))
        for one, other in zip(g(w, b, x), by_code):
            self.assertTrue(one.same_bits(other))
        batched = lp.vmap(self.f, [None, None, 0], size=4)
        self.assertEqual(batched.outputs, [("", "f32[4, 2]")])
        # Without a size it is code like any other: the arguments have it.
        rows = floats(4, 3)
        self.assertEqual(lp.vmap(loss, (None, None, 0))(w, b, rows).tolist(), [loss(w, b, row).item() for row in rows])
        self.assertEqual(len(lp.vjp(loss).inputs), 4)
        self.assertEqual(len(lp.jvp(loss, wrt=["b"]).outputs), 2)
        self.assertTrue(all(op["op"] != "relu" for op in lp.expand(self.f).ops))
        self.assertEqual(lp.simplify(lp.trace(lambda x: x * 1.0, "f32[3]")).ops, [])
        with self.assertRaises(KeyError):
            lp.grad(loss, ["nothing"])
        with self.assertRaises(ValueError):
            lp.grad(loss, [9])
        function, params, done = lp.quantize(self.f, {"w": w, "b": b})
        self.assertEqual(params["w"].type, "i8[2, 3]")
        self.assertTrue(done)
        two = lp.trace(lambda p, x: lp.linear(lp.linear(x, p["a"]), p["b"]), {"a": "f32[4, 3]", "b": "f32[2, 4]"}, "f32[3]")
        self.assertTrue(lp.collapse(two).done)
        self.assertIn("namespace layer", self.f.emit("layer"))
        self.assertIn("namespace net ", self.f.emit())

    def test_text_without_large_constants(self):
        f = lp.trace(lambda x: x + lp.asarray([1.0, 2.0]), "f32[2]")
        self.assertIn("{value = f32[2] (1.0, 2.0)}", f.text())
        self.assertEqual(f.text(2), f.text())
        self.assertIn("{value = f32[2] ...}", f.text(max_elements=1))
        shown = lambda n: "..." in str(lp.trace(lambda x: x + lp.iota(n).astype("f32") * 0.0 + lp.asarray(floats(n)), f"f32[{n}]"))
        self.assertEqual((shown(16), shown(17)), (False, True))

    def test_a_group_has_no_more_names_than_there_are_inputs(self):
        f, x = lp.trace(lambda x: x * 2.0, "f32[]"), lp.asarray(1.0)
        for given in (({"x": x, "y": x},), ({"x": x}, {"y": x})):
            self.refused(lambda: f(*given), ValueError)

    def test_names_of_inputs(self):
        named = lambda *examples, **options: [name for name, _ in lp.trace(lambda p, q: (p["w"], q), *examples, **options).inputs]
        self.assertEqual(named({"w": "f32[2]"}, "f32[3]"), ["w", "q"])
        self.assertEqual(named({"w": "f32[2]"}, {"w": "f32[2]"}), ["w", "q.w"])
        self.assertEqual([name for name, _ in lp.trace(lambda p, *others: p, *["f32"] * 3).inputs], ["p", "1", "2"])
        # Code without a signature, and code without a name.
        self.assertEqual(lp.trace(operator.methodcaller("sum"), "f32[2]").inputs, [("0", "f32[2]")])
        self.assertEqual([lp.trace(code, "f32").name for code in (lambda x: x, lp.relu, functools.partial(lp.relu))], ["lambda", "relu", "partial"])
        self.assertEqual(named({"w": "f32[2]"}, ["f32[2]", {"w": "f32[2]"}], names=["a", "b"]), ["w", "b.0", "b.1.w"])

    def test_types_as_text(self):
        for text, kind in (("f32", "f32[]"), ("bf16[]", "bf16[]"), ("i64[4]", "i64[4]"), ("bool[4, 2]", "bool[4, 2]"), ("f32[4,2]", "f32[4, 2]")):
            self.assertEqual(lp.trace(lambda x: x, text).inputs, [("x", kind)])
        for bad in ("f32[4 2]", "f32[4;2]", "f32[4", "f32[4]x", "f32[a]", "f31[4]", "[4]", "f32[99999999999999999999]"):
            self.refused(lambda: lp.trace(lambda x: x, bad), ValueError)

    def test_ops_say_what_they_take_and_give(self):
        def f(x):
            with lp.scope("largest"):
                values, places = lp.top_k(lp.tanh(x), 2)
            return values * 2.0, places

        ops = lp.trace(f, "f32[5]").ops
        self.assertEqual((ops[0]["op"], ops[0]["scope"], ops[0]["inputs"], ops[0]["types"]), ("tanh", "largest", ["%x"], ["f32[5]"]))
        known = {"%x"}
        for op in ops:
            self.assertLessEqual(set(op["inputs"]), known, op)
            self.assertEqual(len(op["outputs"]), len(op["types"]))
            known |= set(op["outputs"])
        self.assertEqual((ops[-1]["op"], ops[-1]["scope"], ops[-1]["types"]), ("multiply", "", ["f32[2]"]))
        norm = lp.trace(lambda x, v: lp.batch_norm(x, v, v, v, v), "f32[4, 3]", "f32[3]").ops
        self.assertEqual((len(norm), norm[0]["types"]), (1, ["f32[4, 3]", "f32[3]", "f32[3]"]))

    def test_values_of_a_layer_are_computed_again(self):
        def loss(p, x):
            for i in range(3):
                with lp.scope(f"layers.{i}"):
                    x = lp.tanh(x * p)
            return x.sum()

        count = lambda f: sum(op["op"] == "tanh" for op in f.ops)
        p, x = floats(4), floats(4)
        plain = lp.trace(lp.grad(loss), p, x)
        for again in (lp.trace(lp.grad(loss, recompute=["layers.1"]), p, x), lp.grad(lp.trace(loss, p, x), recompute=["layers.1"])):
            self.assertEqual(count(again), count(plain) + 1)
            self.assertTrue(again(p, x).same_bits(plain(p, x)))
        self.assertEqual(count(lp.value_and_grad(lp.trace(loss, p, x), recompute=["layers.1"])), count(plain) + 1)
        self.assertEqual(count(lp.trace(lp.value_and_grad(loss, recompute=["layers.1"]), p, x)), count(plain) + 1)

    def test_a_layer_to_compute_again_exists(self):
        net = lp.nn.mlp([4, 3, 2])
        loss = lambda p, x: net(p, x).sum()
        p, x = net.init(), lp.ones(4)
        for names in (["nonsense"], "nonsense", ["layers.0", "layers.9"]):
            self.refused(lambda: lp.grad(loss, recompute=names)(p, x), KeyError)
            self.refused(lambda: lp.value_and_grad(lp.trace(loss, p, x), recompute=names), KeyError)
        self.refused(lambda: lp.grad(lambda x: x.sum(), recompute=["0"])(x), KeyError)
        self.refused(lambda: lp.grad(loss, recompute=[0]), TypeError)
        self.assertTrue(lp.grad(loss, recompute="layers")(p, x).same_bits(lp.grad(loss)(p, x)))

    def test_every_op_is_there(self):
        import limpid._ops as ops

        for name in lp.all_ops():
            self.assertIn(name, ops.__all__)
            op = getattr(ops, name)
            doc = op.__doc__
            self.assertIn("Parameters" if op.__text_signature__ != "()" else "Returns", doc)
            self.assertIn("Notes\n-----\n", doc, name)
        self.assertIn("\nNo gradient: ", lp.argsort.__doc__)

    def test_methods_and_names(self):
        class Net:
            scale = 2.0

            @lp.compile
            def run(self, x):
                return x * self.scale

            @lp.grad
            def slope(self, x):
                return (x * x).sum()

            def plain(self, x):
                return x * self.scale

        for call in (Net().run, Net().slope):
            self.refused(lambda: call(floats(2)), TypeError)
        f = lp.compile(Net().plain)
        self.assertEqual(f(np.float32([1, 2])).tolist(), [2, 4])
        self.assertEqual((f.__name__, repr(f)), ("plain", "limpid.Compiled(plain, 1 plan)"))
        self.assertEqual([repr(code) for code in (lp.grad(Net().plain), Net.slope)], ["<gradient of plain>", "<gradient of slope>"])
        self.assertEqual(repr(Net.run), "limpid.Compiled(run, 0 plans)")
        self.assertEqual(lp.compile(lambda self, x: x * self).__get__(2.0)(3.0).item(), 6)
        self.assertEqual([lp.compile(lp.relu, threads=n).threads for n in (1, 3)], [1, 3])
        self.assertIs(lp.compile(lp.relu).__wrapped__, lp.relu)
        self.assertEqual(lp.compile(lambda p, *, q: p * 2.0 + q).function(np.float32([1, 2]), q=3.0).inputs[0], ("0.0", "f32[2]"))
        for bad in (lambda: lp.compile(3), lambda: lp.grad(3), lambda: lp.vmap(None)):
            self.refused(bad, TypeError)
        self.refused(lambda: lp.grad(lambda x: x.sum(), ())(floats(2)), ValueError)

    def test_arrays_of_values(self):
        f = lambda x: (lp.asarray(x), lp.asarray([[x[0], 2.0], [3.0, x[1]]]), lp.array(x, dtype="f64"), lp.asarray((x.sum(), 1.0), "f64"))
        x = np.float32([1, 5])
        same, made, wide, pair = lp.compile(f)(x)
        seen = []
        lp.compile(lambda v, w: seen.extend([repr(v), v.dtype, w.dtype]) or v)(x, lp.ones(2, "bf16"))
        self.assertEqual(seen, ["limpid.Value(f32[2])", np.dtype("float32"), lp.ones(2, "bf16").dtype])
        self.assertTrue(same.same_bits(x))
        self.assertEqual((made.type, made.tolist()), ("f32[2, 2]", [[1, 2], [3, 5]]))
        self.assertEqual((wide.type, pair.type, pair.tolist()), ("f64[2]", "f64[2]", [6, 1]))
        self.assertEqual(lp.compile(lambda v: v.sum() / v.size)(np.float32([[1, 2, 3], [5, 6, 7]])).item(), 4)
        for use in (lambda v: v.item(), lambda v: v.numpy(), lambda v: v.tolist()):
            self.refused(lambda: lp.compile(use)(x), TypeError)
        for use in (lambda v: v.__setitem__(0, 1), lambda v: lp.compile(lambda w: w.__setitem__(0, 1))(v)):
            self.refused(lambda: use(lp.asarray(x)), TypeError)

    def test_values_of_the_past(self):
        kept = []

        def leak(x):
            kept.append(x)
            return x

        lp.compile(leak)(floats(3))
        f, layer = lp.trace(lambda y: y * 2.0, "f32[3]"), lp.nn.Linear(3, 2)
        for use in (
            lambda: kept[0] + 1, lambda: lp.relu(kept[0]), lambda: kept[0].shape, lambda: lp.compile(lambda y: y + kept[0])(floats(3)),
            lambda: lp.compile(lambda y: kept[0])(floats(3)), lambda: lp.compile(lambda y: f(kept[0]))(floats(3)),
            lambda: lp.compile(lambda y: layer(layer.init(lp.Key(0)), kept[0]))(floats(3)),
        ):  # fmt: skip
            self.refused(use, ValueError)
        self.assertEqual(repr(kept[0]), "limpid.Value(of the past)")
        for use in (
            lambda x: x if x else x, lambda x: float(x.sum()), lambda x: [x for _ in range(x[0])], lambda x: x.sum(dim=0), lambda x: x.std(correction=1),
            lambda x: x.argmax(dim=0), lambda x: x[True], lambda x: np.exp(x), lambda x: "text",
        ):
            self.refused(lambda: lp.compile(use)(floats(3)), TypeError)

    def test_what_people_write_by_habit(self):
        x, net = floats(5, 3), lp.nn.mlp([3, 3])
        params = net.init()
        for use, error in (
            (lambda: net(params, x.astype(float)), TypeError), (lambda: lp.ones(3) + np.ones(3), TypeError), (lambda: lp.sqrt(2), TypeError),
            (lambda: lp.cross_entropy(x, x[:, 0]), TypeError), (lambda: lp.compile(lambda x, how: x)(x, "mean"), TypeError),
            (lambda: lp.grad(lambda p: None)(params), TypeError), (lambda: lp.reshape(x, 3, 5), TypeError),
            (lambda: lp.vmap(net.init)(np.arange(3)), TypeError), (lambda: net.init("zeros"), TypeError), (lambda: lp.nn.mlp(3, 3), TypeError),
            (lambda: lp.nn.CharLm(5, hidden=8), TypeError), (lambda: lp.optim.Adam(betas=(0.9, 0.99)), TypeError),
            (lambda: lp.optim.Adam()(params, params, lp.optim.Sgd(momentum=0.9).init(params), 0.1), KeyError),
            (lambda: lp.optim.Adam()(params, params, None, 0.1), KeyError), (lambda: lp.Array([1.0]), TypeError), (lambda: lp.Function("f"), TypeError),
            (lambda: lp.Value(1.0), TypeError), (lambda: lp.Model(lp.nn.Linear(3, 3), {}), TypeError), (lambda: lp.data.Dataset(x, x), TypeError),
            (lambda: params.__setitem__("layers.0.bias", 0), TypeError), (lambda: lp.topk, AttributeError),
        ):
            self.refused(use, error)
        self.assertTrue(lp.round(x).same_bits(lp.compile(round)(x)))
        self.assertEqual(lp.nn.mlp(np.array([3, 2])), lp.nn.mlp([3, 2]))

    def test_an_error_of_the_code_passes_through(self):
        class Mine(Exception):
            pass

        def fails(x):
            raise Mine("here")

        for call in (lambda: lp.compile(fails)(floats(2)), lambda: lp.grad(fails)(floats(2)), lambda: lp.trace(fails, "f32[2]")):
            self.refused(call, Mine)
        self.assertFalse(_core.tracing())

        def cube(v):
            return v * v * v

        self.refused(lambda: lp.compile(lambda x: x * lp.grad(cube)("text"))(1.0), TypeError)


class Bits(Refusals):
    def test_params_that_stay_and_params_that_change(self):
        net = lp.nn.mlp([20, 16, 4], lp.tanh)
        f = lp.compile(net)
        x = floats(7, 20)
        params = net.init(seed=1)
        first = f(params, x)
        for _ in range(4):  # their weights are packed from the second call on
            self.assertTrue(f(params, x).same_bits(first))
        other = net.init(seed=2)
        self.assertTrue(f(other, x).same_bits(net(other, x)))
        # NumPy's memory may be written between two calls.
        w = {name: np.array(value) for name, value in params.items()}
        for _ in range(4):
            self.assertTrue(f(w, x).same_bits(first))
        w["layers.0.weight"][:] = np.asarray(other["layers.0.weight"])
        changed = f(w, x)
        self.assertFalse(changed.same_bits(first))
        borrowed = lp.Params({name: lp.asarray(value) for name, value in w.items()})
        for _ in range(4):
            self.assertTrue(f(borrowed, x).same_bits(changed))
        w["layers.0.weight"][:] = np.asarray(params["layers.0.weight"])
        self.assertTrue(f(borrowed, x).same_bits(first))
        # So may what some rows of an array are of.
        table = np.ones((6, 3), np.float32)
        g = lp.compile(lambda p, x: lp.linear(x, p["w"]))
        rows, x = lp.Params({"w": lp.asarray(table)[1:5]}), lp.ones((2, 3))
        for _ in range(4):
            self.assertEqual(g(rows, x).tolist(), [[3] * 4] * 2)
        table[:] = 5
        self.assertEqual(g(rows, x).tolist(), [[15] * 4] * 2)

    def test_constants_do_not_change_with_the_memory_that_they_came_from(self):
        w = np.ones(3, np.float32)
        product = lp.trace(lambda w, x: w * x, "f32[3]", "f32[3]")
        made = (lp.bind(product, {"w": w}), lp.trace(lambda x: x * w, "f32[3]"), lp.Model(product, {"w": w}))
        compiled = lp.compile(lambda x: x * w)
        compiled(np.ones(3, np.float32))
        w[:] = 2
        for f in (*made, compiled):
            self.assertEqual(f(np.ones(3, np.float32)).tolist(), [1] * 3)

    def test_many_threads_call_one_compiled(self):
        net = lp.nn.mlp([64, 96, 10], lp.gelu)
        f, g = lp.compile(net), lp.bind(net.function(), net.init(seed=0))
        params = net.init(seed=0)
        inputs = [floats(n, 64) for n in (1, 8, 33, 64)]
        want = [np.asarray(net(params, x)) for x in inputs]
        failed = []

        def work(seed):
            order = np.random.default_rng(seed).integers(0, 4, 60)
            for i in order:
                if not np.array_equal(np.asarray(f(params, inputs[i])), want[i]):
                    failed.append(i)
                if not np.array_equal(np.asarray(g(inputs[i][0])), want[i][0]):
                    failed.append(i)

        workers = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(failed, [])

    def test_params_of_another_thread_come_while_some_are_bound(self):
        net = lp.nn.mlp([64, 96, 10], lp.gelu)
        one, other, x = net.init(seed=0), net.init(seed=1), floats(64)
        want, failed = net(other, x), []
        for _ in range(20):
            f, go = lp.compile(net), threading.Event()
            for params, times in ((one, 2), (other, 3), (one, 4)):  # repeated params are bound again from time to time
                for _ in range(times):
                    f(params, x)

            def bind():
                go.set()
                f(one, x)  # compiles, without the interpreter's lock

            worker = threading.Thread(target=bind)
            worker.start()
            go.wait()
            during = f(other, x)
            worker.join()
            failed += [1 for y in (during, f(other, x)) if not y.same_bits(want)]
        self.assertEqual(failed, [])

    def test_threads_trace_at_the_same_time(self):
        failed = []

        def work(n):
            for _ in range(20):
                f = lp.compile(lambda x: sum((x * float(i) for i in range(n)), x))
                if f(np.float32([1])).item() != 1 + n * (n - 1) / 2:
                    failed.append(n)

        workers = [threading.Thread(target=work, args=(n,)) for n in range(2, 8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(failed, [])

    def test_a_function_goes_to_the_code_of_its_value(self):
        # The code of another thread, which began later.
        inlined = lp.trace(lambda x: lp.tanh(lp.relu(x)), "f32[2]")
        for call in (lambda x: lp.tanh(lp.relu(x)), inlined):
            given, returned, later = [], [], []
            begun, called = threading.Event(), threading.Event()

            def wait(x):
                given.append(x)
                begun.set()
                called.wait(60)
                return returned[0]

            def give(x):
                worker.start()
                begun.wait(60)
                try:
                    returned.append(call(given[0]))
                finally:
                    called.set()
                    worker.join()
                return x

            worker = threading.Thread(target=lambda: later.append(lp.trace(wait, "f32[2]")))
            first = lp.trace(give, "f32[2]")
            self.assertEqual([op["op"] for op in first.ops], [])
            self.assertEqual([op["op"] for op in later[0].ops], ["relu", "tanh"])

    def test_a_forked_child(self):
        # So large that two threads share it. The child has none of its parent's, and may not wait for one.
        net = lp.nn.mlp([512, 1024, 10], lp.relu)
        params, x = net.init(seed=0), floats(256, 512)
        f = lp.compile(net, threads=2)
        for _ in range(3):  # the last one by weights that are packed
            want = f(params, x)
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            good = f(params, x).same_bits(want) and len(os.listdir("/proc/self/task")) == 2  # one of its own
            good = good and lp.compile(net, threads=2)(params, x).same_bits(want) and len(os.listdir("/proc/self/task")) == 2
            os._exit(0 if good else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertTrue(f(params, x).same_bits(want))

    def test_little_memory_of_large_results_is_kept(self):
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        f = lp.compile(lambda x: x + 1.0)
        for millions, count in ((32, 1), (8, 6)):  # of numbers of 4 bytes
            x = np.ones(millions << 20, np.float32)  # zeros might take memory when they are read
            before = resident()
            results = [f(x) for _ in range(count)]
            self.assertGreater(resident() - before, 100 << 20)
            results.clear()
            self.assertLess(resident() - before, 80 << 20)

    def test_results_of_many_threads_keep_their_memory(self):
        f = lp.compile(lambda x, n: x + n)
        x = np.arange(50_000, dtype=np.float32)
        wrong = []

        def work(number):
            for n in range(100):
                kept = [f(x, float(number * 1000 + n + i)) for i in range(3)]
                for i, a in enumerate(kept):
                    if not np.array_equal(np.asarray(a), x + np.float32(number * 1000 + n + i)):
                        wrong.append((number, n, i))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_the_program_ends_while_daemon_threads_compute(self):
        program = (
            "import threading, numpy as np, limpid as lp\n"
            "f, x = lp.compile(lambda x: lp.matmul(x, x)), np.zeros((300, 300), np.float32)\n"
            "running = threading.Barrier(3)\n"
            "def work():\n"
            "    f(x)\n"
            "    running.wait()\n"
            "    while True:\n"
            "        f(x)\n"
            "for _ in range(2):\n"
            "    threading.Thread(target=work, daemon=True).start()\n"
            "running.wait()\n"
            "print('end')\n"
        )
        for _ in range(3):
            run = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "end\n", ""))


class Networks(Refusals):
    def test_training_goes_down_and_is_repeated(self):
        x, y = np.float32([[0, 0], [1, 0], [0, 1], [1, 1]]), np.float32([[0], [1], [1], [0]])
        net, adam = lp.nn.mlp([2, 8, 1], lp.tanh), lp.optim.Adam()

        def run():
            step = lp.compile(lp.optim.step(lambda p, x, y: lp.mse_loss(net(p, x), y), adam))
            params = net.init(seed=0)
            state = adam.init(params)
            for _ in range(201):
                params, state, value = step(params, state, 0.05, x, y)
            return params, value

        first, value = run()
        again, _ = run()
        self.assertLess(value.item(), 1e-2)
        self.assertTrue(first.same_bits(again))

    def test_a_missing_parameter_is_named_with_its_layers(self):
        net = lp.nn.sequential(lp.nn.Linear(4, 4), lp.nn.Residual(lp.nn.named("inner", lp.nn.Linear(4, 4))))
        for missing in ("0.weight", "1.inner.bias"):
            params = lp.Params({name: value for name, value in net.init().items() if name != missing})
            for call in (net, lp.compile(net), lp.grad(lambda p, x: net(p, x).sum())):
                self.refused(lambda: call(params, floats(4)), KeyError)

    def test_layers_of_ones_own(self):
        class Block:
            def __init__(self, width):
                self.norm = lp.nn.named("norm", lp.nn.LayerNorm(width))
                self.up = lp.nn.named("up", lp.nn.Linear(width, 4 * width))
                self.down = lp.nn.named("down", lp.nn.Linear(4 * width, width))

            def init(self, key):
                return lp.nn.init_all(key, self.norm, self.up, self.down)

            def __call__(self, p, x):
                return x + self.down(p, lp.relu(self.up(p, self.norm(p, x))))

        net = lp.nn.sequential(lp.nn.Linear(4, 16), Block(16), lp.nn.Dropout(0.1), lp.nn.named("head", lp.nn.Linear(16, 1)))
        params = net.init(seed=0)
        self.assertEqual(list(params)[:4], ["0.weight", "0.bias", "1.norm.weight", "1.norm.bias"])
        f = lp.nn.function_of(net, "f32[4]")
        self.assertEqual(f.ops[1]["scope"], "1.norm")
        x = floats(5, 4)
        self.assertTrue(net(params, x)[2].same_bits(f(params, x[2])))
        self.assertFalse(net(params, x, lp.Key(1)).same_bits(net(params, x)))

    def test_parameters_keep_their_form(self):
        def loss(layers, x, y):
            for layer in layers[:-1]:
                x = lp.tanh(x @ layer["w"] + layer["b"])
            return lp.mse_loss(x @ layers[-1]["w"] + layers[-1]["b"], y)

        x, y = floats(8, 2), floats(8, 1)
        layers = [{"w": lp.asarray(floats(a, b)), "b": lp.zeros(b)} for a, b in ((2, 4), (4, 1))]
        as_params = lp.Params({str(i): layer for i, layer in enumerate(layers)})
        of_params = lambda p, x, y: loss([p["0"], p["1"]], x, y)
        Pair = collections.namedtuple("Pair", "first second")
        of_pair = lambda p, x, y: loss([p.first, p.second], x, y)
        for optimizer in (lp.optim.Adam(), lp.optim.Sgd(momentum=0.9)):
            for clip in (lp.optim.Clip(), lp.optim.Clip(value=0.1, norm=0.05)):
                step, by_name = (lp.compile(lp.optim.step(f, optimizer, clip)) for f in (loss, of_params))
                p, state, q, other = layers, optimizer.init(layers), as_params, optimizer.init(as_params)
                self.assertEqual(list(state), list(other))
                for _ in range(3):
                    p, state, value = step(p, state, 0.1, x, y)
                    q, other, same = by_name(q, other, 0.1, x, y)
                    self.assertTrue(value.same_bits(same) and lp.Params({str(i): l for i, l in enumerate(p)}).same_bits(q))
                self.assertEqual(step.plans, 1)
        adam = lp.optim.Adam()
        gradients = lp.grad(loss)(layers, x, y)
        following, _ = adam(layers, gradients, adam.init(layers), 0.1)
        self.assertEqual([list(layer) for layer in following], [["w", "b"]] * 2)
        pair, _ = adam(Pair(*layers), lp.grad(of_pair)(Pair(*layers), x, y), adam.init(layers), 0.1)
        self.assertIsInstance(pair, Pair)
        self.assertTrue(pair.second["w"].same_bits(following[1]["w"]))
        self.assertIsInstance(lp.optim.clip_by_value({"w": gradients[0]["w"]}, 0.1), dict)
        self.assertIsInstance(lp.optim.clip_by_global_norm(gradients, 0.1), list)
        plain = lambda p, g, state, rate: (lp.tree_map(lambda a, b: a - rate * b, p, g), state)
        self.assertIsInstance(lp.optim.step(loss, plain, lp.optim.Clip(norm=1.0))(layers, {}, 0.1, x, y)[0], list)
        number, _ = adam(2.0, 1.0, adam.init(2.0), 0.5)
        self.assertAlmostEqual(number.item(), 1.5, places=6)

    def test_a_gradient_has_the_shape_of_its_parameter(self):
        sgd = lp.optim.Sgd(momentum=0.9)
        params = {"w": lp.ones((3, 4)), "more": [lp.ones(2)]}
        state = sgd.init(params)
        # One of a row, or of each of two examples, would stretch.
        for shape in ((4,), (1, 4), (2, 3, 4), ()):
            for gradients in ({"w": lp.ones(shape), "more": [lp.ones(2)]}, {"w": lp.ones((3, 4)), "more": [lp.ones(shape)]}):
                self.refused(lambda: sgd(params, gradients, state, 0.1), lp.ShapeError)
        moved, _ = sgd(params, {"w": lp.ones((3, 4)), "more": [lp.ones(2)]}, state, 0.5)
        self.assertEqual((moved["w"].shape, moved["more"][0].tolist()), ((3, 4), [0.5, 0.5]))
        for numbers in ((lp.ones(4),), (0.1, lp.ones(1))):
            self.refused(lambda: sgd(params, params, state, *numbers), lp.ShapeError)

    def test_a_step_clips_for_any_optimizer(self):
        loss = lambda p, x: (p["w"] * x).sum()  # whose gradient is x
        p, x = {"w": lp.zeros(2)}, lp.asarray([3.0, 40.0])
        sgd = lp.optim.Sgd()
        plain = lambda p, g, state, rate: (lp.tree_map(lambda a, b: a - rate * b, p, g), state)
        whole = np.hypot(3, 40)
        for clip, want in (
            (lp.optim.Clip(), [3, 40]), (lp.optim.Clip(value=4.0), [3, 4]), (lp.optim.Clip(norm=1.0), [3 / whole, 40 / whole]),
            (lp.optim.Clip(value=4.0, norm=2.5), [1.5, 2]), (lp.optim.Clip(norm=50.0), [3, 40]),
        ):
            for optimizer, state in ((sgd, sgd.init(p)), (plain, {})):
                moved, _, _ = lp.optim.step(loss, optimizer, clip)(p, state, 1.0, x)
                np.testing.assert_allclose(-np.asarray(moved["w"]), want, rtol=2e-6)
        for clip in (lp.optim.clip_by_value, lp.optim.clip_by_global_norm):
            self.refused(lambda: clip(p, 0.0), ValueError)

    def test_rates_of_any_kind(self):
        adam = lp.optim.Adam()
        p = {"w": lp.asarray([1.0, 2.0])}
        step = lp.compile(lp.optim.step(lambda q: (q["w"] ** 2).sum(), adam))
        step_of = lambda *given: lp.optim.Sgd()({"w": lp.asarray([1.0, 2.0])}, {"w": lp.asarray([4.0, 8.0])}, {}, *given)[0]["w"].tolist()
        for scale in (0.5, np.float64(0.5), lp.asarray(0.5, "f64")):
            self.assertEqual((step_of(0.25), step_of(0.25, scale)), ([0, 0], [0.5, 1]))
        for rate in (True, np.True_, lp.asarray(True)):
            self.refused(lambda: step_of(rate), TypeError)
        for rate in (1, 1.0, np.int64(1), np.float64(1), np.array(1.0), np.float32(1)):
            for got in (step(p, adam.init(p), rate)[0], adam(p, {"w": 2 * p["w"]}, adam.init(p), rate)[0]):
                self.assertTrue(got["w"].same_bits(step(p, adam.init(p), 1.0)[0]["w"]), rate)

    def test_numbers_are_checked_where_they_are_given(self):
        o = lp.optim
        self.refused(lambda: o.Schedule("cos"), KeyError)
        for wrong in ({"rate": "a"}, {"steps": 1.5}):
            self.refused(lambda: o.Schedule(**wrong), TypeError)
        for wrong in ({"rate": float("nan")}, {"factor": float("inf")}, {"steps": -1}, {"warmup": -1}, {"every": 0}):
            self.refused(lambda: o.Schedule(**wrong), ValueError)
        self.refused(lambda: o.Adam(beta1=3), ValueError)
        self.refused(lambda: o.Adam(beta1="a"), TypeError)
        self.refused(lambda: o.Clip(norm="1"), TypeError)
        for limit in (-1, 0, float("nan")):
            self.refused(lambda: o.Clip(norm=limit), ValueError)
            self.refused(lambda: o.Clip(value=limit), ValueError)
        self.refused(lambda: o.step(3, o.Adam()), TypeError)
        self.refused(lambda: o.step(lp.relu, "adam"), TypeError)
        self.refused(lambda: o.step(lp.relu, o.Adam(), 1.0), TypeError)

    def test_a_forgotten_rate(self):
        step = lp.optim.step(lambda p, x, y: ((p["w"] * x - y) ** 2).mean(), lp.optim.Sgd())
        p, x = {"w": 1.0}, lp.ones(3)
        for call in (step, lp.compile(step)):
            self.refused(lambda: call(p, {}, x, x), TypeError)
            self.refused(lambda: call(p, {}, 1.0, 2.0), TypeError)
            self.refused(lambda: call(p, {}, [0.1], x, x), TypeError)

    def test_numbers_of_optimizers_have_names(self):
        for kind in (getattr(lp.optim, kind) for kind, _, _ in _core.optimizers().values()):
            for given, named in (((0.001,), {}), ((), {"lr": 0.1}), ((), {"learning_rate": 0.1})):
                self.refused(lambda: kind(*given, **named), TypeError)
        adam = lp.optim.Adam(beta1=0.8)
        self.assertEqual((copy.deepcopy(adam), pickle.loads(pickle.dumps(adam)), dataclasses.replace(adam, beta1=0.9)), (adam, adam, lp.optim.Adam()))

    def test_schedules_clip_and_names(self):
        self.assertEqual(lp.optim.Schedule("cosine", rate=1.0, steps=10).at(10), 0)
        warm = lp.optim.Schedule("constant", rate=1.0, warmup=4)
        self.assertEqual([warm.at(step) for step in range(5)], [0.25, 0.5, 0.75, 1, 1])
        with self.assertRaises(KeyError):
            lp.optim.Schedule("none").at(0)
        for bad in (lambda: lp.optim.Adam()({}, {}, {}, 0.1), lambda: lp.optim.clip_by_value({}, 1.0), lambda: lp.optim.global_norm([])):
            self.refused(bad, ValueError)
        self.assertEqual([kind().usual_rate for kind in (lp.optim.Sgd, lp.optim.Adam)], [0.05, 0.001])
        g = lp.Params({"a": np.float32([3, 4])})
        self.assertEqual(lp.optim.global_norm(g).item(), 5)
        self.assertEqual(lp.optim.clip_by_value(g, 3.5)["a"].tolist(), [3, 3.5])
        for limit, want in ((2.5, [1.5, 2]), (10, [3, 4])):
            np.testing.assert_allclose(np.asarray(lp.optim.clip_by_global_norm(g, limit)["a"]), want, rtol=1e-6)
        for name, (kind, _, numbers) in _core.optimizers().items():
            usual = {key: number[0] for key, number in numbers.items()}
            self.assertEqual({key: float(getattr(getattr(lp.optim, kind)(), key)) for key in usual}, usual, name)


if __name__ == "__main__":
    unittest.main()
