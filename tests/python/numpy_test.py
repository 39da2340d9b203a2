#!/usr/bin/env python3
"""Functions with the names of NumPy, JAX and PyTorch, against NumPy's: eager and in compiled code, with gradients."""

import math
import unittest

import numpy as np

import limpid as lp
from refusals import Refusals

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def whole(*shape):
    """Whole numbers, whose sums and products are exact."""
    return RNG.integers(-4, 5, shape).astype(np.float32)


class AsNumPy(Refusals):
    def same(self, f, want, *arrays):
        """f of arrays gives these elements, alone and compiled."""
        for got in (f(*arrays), lp.compile(f)(*arrays)):
            np.testing.assert_array_equal(np.asarray(got), want)
            self.assertEqual(got.shape, np.shape(want))

    def near(self, got, want, rtol=2e-6):
        np.testing.assert_allclose(np.asarray(got), want, rtol=rtol, atol=1e-6)

    def test_einsum(self):
        a, b, c = whole(3, 4), whole(4, 5), whole(2, 3, 3)
        for equation, arrays in (
            ("ij,jk->ik", (a, b)), ("ij,jk", (a, b)), ("ij->ji", (a,)), ("ij->", (a,)), ("ij,ij->i", (a, a)), ("i,j->ij", (a[:, 0], b[0])),
            ("bii->b", (c,)), ("bij,bjk->bik", (c, c)), ("...ij,...j->...i", (c, c[:, 0])), ("bij,jk,kl->bil", (c, a, b)), ("ij,kl->ijkl", (a, b)),
        ):
            self.same(lambda *given: lp.einsum(equation, *given), np.einsum(equation, *arrays), *arrays)
        slope = lp.grad(lambda x, y: lp.einsum("ij,jk->", x, y))(a, b)
        self.near(slope, np.broadcast_to(b.sum(1), (3, 4)))
        for call in (lambda: lp.einsum("ij->k", a), lambda: lp.einsum("ij,jk->ik", a), lambda: lp.einsum("ij,jk->ik", a, a)):
            self.refused(call, ValueError)
        self.refused(lambda: lp.einsum(a, "ij"), TypeError)

    def test_places(self):
        x, line, cube = whole(3, 5), whole(7), whole(2, 3, 4)
        for f, g in (
            (lambda v: lp.tril(v), np.tril), (lambda v: lp.triu(v, 1), lambda v: np.triu(v, 1)), (lambda v: lp.tril(v, -2), lambda v: np.tril(v, -2)),
            (lambda v: lp.roll(v, 2), lambda v: np.roll(v, 2)), (lambda v: lp.roll(v, -1, 1), lambda v: np.roll(v, -1, 1)),
            (lambda v: lp.roll(v, (1, 2), (0, 1)), lambda v: np.roll(v, (1, 2), (0, 1))), (lambda v: lp.repeat(v, 2), lambda v: np.repeat(v, 2)),
            (lambda v: lp.repeat(v, 3, 1), lambda v: np.repeat(v, 3, 1)), (lambda v: lp.repeat(v, (1, 0, 2), 0), lambda v: np.repeat(v, (1, 0, 2), 0)),
            (lambda v: lp.tile(v, 2), lambda v: np.tile(v, 2)), (lambda v: lp.tile(v, (2, 1, 3)), lambda v: np.tile(v, (2, 1, 3))),
            (lambda v: lp.flip(v), np.flip), (lambda v: lp.flip(v, 0), lambda v: np.flip(v, 0)), (lambda v: lp.flip(v, (0, 1)), lambda v: np.flip(v, (0, 1))),
            (lambda v: lp.diff(v), np.diff), (lambda v: lp.diff(v, 2, 0), lambda v: np.diff(v, 2, 0)), (lambda v: lp.cumprod(v), np.cumprod),
            (lambda v: lp.cumprod(v, 1), lambda v: np.cumprod(v, 1)), (lambda v: lp.cumsum(v), np.cumsum), (lambda v: lp.cumsum(v, 0), lambda v: np.cumsum(v, 0)),
            (lambda v: lp.diagonal(v), np.diagonal), (lambda v: lp.diagonal(v, -1), lambda v: np.diagonal(v, -1)),
            (lambda v: lp.linalg.trace(v), np.trace), (lambda v: lp.linalg.trace(v, 2), lambda v: np.trace(v, 2)), (lambda v: lp.take(v, np.int32([7, 0])), lambda v: np.take(v, [7, 0])),
            (lambda v: lp.outer(v, v), lambda v: np.outer(v, v)), (lambda v: lp.kron(v, v), lambda v: np.kron(v, v)), (lambda v: lp.ravel(v), np.ravel),
        ):
            self.same(f, g(x), x)
        for f, g in ((lp.tril, np.tril), (lambda v: lp.diagonal(v, 0, 1, 2), lambda v: np.diagonal(v, 0, 1, 2)), (lambda v: lp.kron(v, x), lambda v: np.kron(v, x))):
            self.same(f, g(cube), cube)
        for parts in (3, [2, 5], [0, 3, 9], [-2]):
            for got, want in zip(lp.array_split(line, parts), np.array_split(line, parts)):
                np.testing.assert_array_equal(np.asarray(got), want)
        self.assertEqual([len(p) for p in lp.split(line, [2, 3])], [2, 1, 4])
        self.refused(lambda: lp.split(line, 2), ValueError)
        for indexing in ("xy", "ij"):
            for got, want in zip(lp.meshgrid(line, x[0], np.float32(3), indexing=indexing), np.meshgrid(line, x[0], 3, indexing=indexing)):
                np.testing.assert_array_equal(np.asarray(got), want)
        self.near(lp.linspace(-1, 2.5, 9), np.linspace(-1, 2.5, 9))
        self.near(lp.linspace(0, 1, 4, endpoint=False, dtype="f64"), np.linspace(0, 1, 4, endpoint=False))
        self.assertEqual((lp.linspace(0, 0.3, 7)[-1].item(), lp.linspace(1, 2, 0).shape, lp.linspace(1, 2, 1).tolist()), (np.float32(0.3), (0,), [1]))
        for given in ((3,), (2, 4), (4, 2, 1), (3, 3, -9)):
            np.testing.assert_array_equal(np.asarray(lp.eye(*given)), np.eye(*given))
        for dtype in ("i32", "f64", "bool", "bf16", "u8"):
            self.assertEqual((lp.eye(2, dtype=dtype).type, lp.tril(lp.ones((2, 2), dtype)).tolist()), (f"{dtype}[2, 2]", [[1, 0], [1, 1]]))
        for call in (lambda: lp.roll(x, (1, 2, 3), (0, 1)), lambda: lp.repeat(x, (1, 2), 0), lambda: lp.tril(line), lambda: lp.array_split(line, 0),
                     lambda: lp.meshgrid(x), lambda: lp.meshgrid(line, indexing="yx"), lambda: lp.diagonal(x, 0, 1, -1), lambda: lp.tile(x, -1), lambda: lp.linspace(0, 1, -1)):
            self.refused(call, ValueError)

    def test_elements(self):
        x = np.float32([0, -1.5, np.nan, np.inf, -np.inf])
        for f, g in ((lp.isnan, np.isnan), (lp.isinf, np.isinf), (lp.isfinite, np.isfinite)):
            self.same(f, g(x), x)
            self.same(f, g(np.int32([1, 2])), np.int32([1, 2]))
            self.assertEqual(f(lp.cast(x, "bf16")).tolist(), g(x).tolist())
        self.same(lambda v: lp.where(v > 0, v, 0.0), np.where(x > 0, x, 0), x)
        self.same(lambda v: lp.masked_fill(v, lp.isnan(v), 7.0), np.where(np.isnan(x), 7, x), x)
        a, b = np.float32([5, -5, 5, -5, 5.5]), np.float32([3, 3, -3, -3, 2])
        self.same(lp.remainder, np.remainder(a, b), a, b)
        self.same(lp.fmod, np.fmod(a, b), a, b)
        self.same(lp.remainder, np.remainder(np.int32([5, -5, 7]), np.int32([-3, 3, 7])), np.int32([5, -5, 7]), np.int32([-3, 3, 7]))
        y, x = floats(50), floats(50)
        self.near(lp.atan2(y, x), np.arctan2(y, x))
        angle = np.float64(0.7)
        by = lp.grad(lambda v: lp.atan2(v[0], v[1]))(np.array([math.sin(angle), math.cos(angle)]))
        self.near(by, [math.cos(angle), -math.sin(angle)])
        self.assertEqual(lp.grad(lambda v: lp.atan2(v[0], v[1]))(np.zeros(2)).tolist(), [0, 0])
        self.near(lp.grad(lambda v: lp.atan2(v[0], v[1]))(np.array([2.0, 0.0])), [0, -0.5])

    def test_norms(self):
        x = floats(3, 4)
        for got, want in (
            (lp.norm(x), np.linalg.norm(x)), (lp.norm(x, axis=1), np.linalg.norm(x, axis=1)), (lp.norm(x, 1, 0), np.linalg.norm(x, 1, 0)),
            (lp.norm(x, np.inf, -1, True), np.linalg.norm(x, np.inf, -1, True)), (lp.norm(x, -np.inf, -1), np.linalg.norm(x, -np.inf, -1)), (lp.norm(x, 3, 1), np.linalg.norm(x, 3, 1)),
            (lp.norm(x, axis=(0, 1), keepdims=True), np.linalg.norm(x, axis=(0, 1), keepdims=True)), (lp.norm(x * np.float32(1e30)), np.linalg.norm(np.float64(x) * 1e30)),
            (lp.norm(x * np.float32(1e-30)) * 1e30, np.linalg.norm(x)),
        ):
            self.near(got, want)
        self.assertEqual(lp.grad(lambda v: lp.norm(v))(np.zeros(3)).tolist(), [0, 0, 0])
        for call in (lambda: lp.norm(x, 1), lambda: lp.norm(x, 2, (0, 1)), lambda: lp.norm(x[0], -1.5)):
            self.refused(call, ValueError)
        self.refused(lambda: lp.norm(np.int32([1])), lp.DtypeError)

    def test_losses_of_probabilities(self):
        p, t = np.float32([0.1, 0.5, 0.9]), np.float32([0, 1, 0.25])
        want = -(t * np.log(p) + (1 - t) * np.log(1 - p))
        self.near(lp.binary_cross_entropy(p, t, "none"), want)
        self.near(lp.binary_cross_entropy(p, t), want.mean())
        self.near(lp.binary_cross_entropy_with_logits(np.log(p / (1 - p)), t, "none"), want, 1e-5)
        self.near(lp.grad(lambda v: lp.binary_cross_entropy(v, t, "sum"))(p), (p - t) / (p * (1 - p)), 1e-5)
        self.assertEqual(lp.binary_cross_entropy(np.float32([0, 1, 1]), np.float32([0, 1, 0]), "none").tolist(), [0, 0, 100])

    def test_random_draws(self):
        key = lp.Key(3)
        n = lp.randint(key, (5000,), -3, 4)
        self.assertEqual((n.type, np.unique(np.asarray(n)).tolist()), ("i32[5000]", [*range(-3, 4)]))
        self.assertTrue(lp.compile(lambda k: lp.randint(k, 5000, -3, 4))(key).same_bits(n))
        self.assertEqual(lp.randint(key, 2, 0, 2**62, "i64").type, "i64[2]")
        self.assertAlmostEqual(float(lp.bernoulli(key, 0.3, (9000,)).mean()), 0.3, delta=0.02)
        self.assertEqual(lp.bernoulli(key, np.float32([0, 1])).tolist(), [False, True])
        logits = np.log(np.float32([0.2, 0.3, 0.5]))
        shares = np.bincount(np.asarray(lp.categorical(key, logits, shape=9000)), minlength=3) / 9000
        np.testing.assert_allclose(shares, [0.2, 0.3, 0.5], atol=0.02)
        self.assertEqual(lp.categorical(key, np.zeros((4, 3), np.float32), axis=0).shape, (3,))
        self.assertEqual(sorted(lp.permutation(key, 30).tolist()), [*range(30)])
        x = floats(6, 2)
        self.assertEqual(sorted(lp.permutation(key, x).tolist()), sorted(x.tolist()))
        self.assertEqual(sorted(lp.permutation(key, x, 1)[0].tolist()), sorted(x[0].tolist()))
        p = np.float32([0, 0.25, 0.75])
        shares = np.bincount(np.asarray(lp.choice(key, 3, 9000, p=p)), minlength=3) / 9000
        np.testing.assert_allclose(shares, p, atol=0.02)
        self.assertEqual(sorted(lp.choice(key, 4, (4,), replace=False).tolist()), [0, 1, 2, 3])
        self.assertEqual(set(lp.choice(key, 3, 2, False, p).tolist()), {1, 2})
        self.assertEqual(lp.choice(key, x, (2, 2)).shape, (2, 2, 2))
        t = np.asarray(lp.truncated_normal(key, -1, 2, 20000))
        self.assertTrue((t >= -1).all() and (t <= 2).all())
        self.assertAlmostEqual(t.mean(), 0.2296, delta=0.02)
        keys = lp.vmap(lambda i: lp.fold_in(key, i))(np.arange(3))
        self.assertEqual(lp.vmap(lambda k: lp.permutation(k, 8))(keys)[1].tolist(), lp.permutation(keys[1], 8).tolist())

    def test_refusals_of_draws(self):
        key = lp.Key(3)
        for call in (lambda: lp.randint(key, 3, 5, 5), lambda: lp.choice(key, 2, 3, False), lambda: lp.truncated_normal(key, 3, 2), lambda: lp.choice(key, 3, 2, p=np.ones(2, np.float32)),
                     lambda: lp.categorical(key, np.zeros((2, 3), np.float32), shape=(3,)), lambda: lp.choice(key, np.float32(1), 2)):
            self.refused(call, ValueError)
        self.refused(lambda: lp.randint(0, 3, 0, 5), lp.DtypeError)


class Places(Refusals):
    def test_indices_with_arrays_in_traced_code(self):
        x = floats(4, 3, 5)
        i, j = np.int32([0, -1, 2]), np.int64([[1], [-3]])
        mask = x[:, :, 0] > 0
        for index in (
            (i, j), (i, slice(None), np.int32([4, 0, 1])), (slice(1, 3), i), (..., i), (None, i), (i, 1), (1, slice(None), i), (i, None, j), (slice(None, None, -1), i, slice(0, 5, 2)),
            ([0, 2], [1, 1]), (mask,), (slice(None), x[0, :, 0] > 0), (np.int8([1, 2]), 0), (i, ..., 2), (2, i), (np.uint8([1]),),
        ):
            got = lp.compile(lambda v: v[index])(x)
            self.assertTrue(got.same_bits(np.ascontiguousarray(x[index])), index)
            self.assertTrue(lp.asarray(x)[index].same_bits(got), index)
        traced = lp.compile(lambda v, a, b: v[a, 1:, b])(x, i, np.int32([4, 0, -1]))
        self.assertTrue(traced.same_bits(np.ascontiguousarray(x[i, 1:, np.int32([4, 0, -1])])))
        self.assertTrue(lp.compile(lambda a: lp.asarray(x)[1, a])(i).same_bits(x[1, i]))
        rows = np.asarray(lp.compile(lambda v, a: v[0, a])(x, np.int32([0, 3])))
        self.assertTrue((rows[0] == x[0, 0]).all() and np.isnan(rows[1]).all())
        for bad in ((i, np.int32([0, 3, 0])), (np.int32([4]), 0), (0, 3)):
            self.refused(lambda: lp.compile(lambda v: v[bad])(x), IndexError)
        for bad in ((0, 0, 0, i), (mask.T,), (..., i, ...)):
            self.refused(lambda: lp.compile(lambda v: v[bad])(x), IndexError)
        self.refused(lambda: lp.compile(lambda v: v[0, np.float32([0])])(x), TypeError)

    def test_updates_at_places(self):
        x = floats(4, 3)
        i = np.int32([0, -1, 0])
        combine = {"set": None, "add": np.add, "multiply": np.multiply, "max": np.maximum, "min": np.minimum}
        for index in (1, -1, slice(1, 3), (slice(None), 2), (i, 1), (i,), ([0, 3], [1, 2]), (..., 0), (x > 0,), (slice(None, None, -2), np.int32([2, 0])), ...):
            y = floats(*x[index].shape)
            for mode, f in combine.items():
                want = x.copy()
                if f is None:
                    want[index] = y
                else:
                    f.at(want, index, y)
                update = lambda v, u: getattr(v.at[index], mode)(u)
                alone, compiled = update(lp.asarray(x), y), lp.compile(update)(x, y)
                self.assertTrue(alone.same_bits(compiled), (index, mode))
                # What is added to one place is added up first.
                np.testing.assert_allclose(np.asarray(alone), want, rtol=1e-6 if mode == "add" else 0, err_msg=str((index, mode)))
        self.assertEqual(lp.compile(lambda v, a: v.at[a, 0].add(1.0))(np.zeros((2, 2), np.float32), np.int32([0, 2, 0])).tolist(), [[2, 0], [0, 0]])
        self.assertEqual(lp.asarray(np.float64([1, 2])).at[0].set(5).tolist(), [5, 2])
        self.assertEqual(lp.zeros(3, "i32").at[1:].add(2).tolist(), [0, 2, 2])
        self.assertEqual(lp.compile(lambda v: v.at[v < 0].set(0.0))(np.float32([-1, 2])).tolist(), [0, 2])
        self.assertEqual(lp.compile(lambda v: v.at[v < 0].multiply(3.0))(np.float32([-1, 2])).tolist(), [-3, 2])
        slope = lp.grad(lambda v: (v.at[0].set(v[1] * 3.0) ** 2).sum())(np.float64([1, 2]))
        self.assertEqual(slope.tolist(), [0, 40])
        batch = lp.vmap(lambda v, a: v.at[a].add(1.0))(np.zeros((2, 3), np.float32), np.int32([0, 2]))
        self.assertEqual(batch.tolist(), [[1, 0, 0], [0, 0, 1]])
        self.assertEqual(lp.asarray(x).at[1].get().tolist(), x[1].tolist())
        self.refused(lambda: lp.asarray(x).at[4].set(0.0), IndexError)
        self.refused(lambda: lp.asarray(x).at[np.int32([4])].set(0.0), IndexError)
        self.refused(lambda: lp.asarray(x).at[0].set(floats(2)), ValueError)
        self.refused(lambda: lp.asarray(x).at["a"].set(0.0), TypeError)
        self.refused(lambda: lp.compile(lambda v: v.at[v > 0].set(v))(x), TypeError)
        self.refused(lambda: setattr(lp.asarray(x), "at", 1), AttributeError)


class Derivatives(Refusals):
    def test_jacobians(self):
        a = RNG.standard_normal((3, 2))
        f = lambda x: {"y": lp.tanh(lp.matmul(a, x)), "s": (x * x).sum()}
        x = np.array([0.3, -0.7])
        slope = (1 - np.tanh(a @ x) ** 2)[:, None] * a
        for transform in (lp.jacrev, lp.jacfwd, lp.jacobian):
            for j in (transform(f)(x), lp.compile(transform(f))(x)):
                np.testing.assert_allclose(np.asarray(j["y"]), slope, rtol=1e-12)
                np.testing.assert_allclose(np.asarray(j["s"]), 2 * x)
            both = transform(lambda p, q: p["w"] * q, argnums=(0, 1))({"w": np.float64(2)}, np.float64(3))
            self.assertEqual((both[0]["w"].item(), both[1].item()), (3, 2))
        self.assertEqual(lp.jacrev(lambda x, y: x * y, argnums=1)(2.0, 3.0).item(), 2)
        batch = lp.vmap(lp.jacfwd(lambda v: v * v))(np.float64([[1, 2], [3, 4]]))
        self.assertEqual(batch.tolist(), [[[2, 0], [0, 4]], [[6, 0], [0, 8]]])
        for call in (lambda: lp.jacrev(lambda x: x, argnums=1)(1.0), lambda: lp.jacrev(lambda x: x, argnums=())):
            self.refused(call, ValueError)
        self.refused(lambda: lp.jacfwd(lambda x: x > 0)(1.0), lp.DtypeError)

    def test_hessians(self):
        f = lambda x, c: (x[0] * x[0] * x[1] + lp.sin(x[1])) * c
        x = np.array([0.5, 2.0])
        want = 3 * np.array([[2 * x[1], 2 * x[0]], [2 * x[0], -np.sin(x[1])]])
        for h in (lp.hessian(f)(x, np.array(3.0)), lp.compile(lp.hessian(f))(x, np.array(3.0))):
            np.testing.assert_allclose(np.asarray(h), want, rtol=1e-12)
        v = np.array([1.0, -2.0])
        got = lp.hvp(lambda x: f(x, np.array(3.0)), (x,), (v,))
        np.testing.assert_allclose(np.asarray(got), want @ v, rtol=1e-12)
        tree = lp.hessian(lambda p: p["a"] * p["b"] * p["b"])({"a": np.array(2.0), "b": np.array(3.0)})
        self.assertEqual([[tree[r][c].item() for c in "ab"] for r in "ab"], [[0, 6], [6, 4]])
        by_a, by_b = lp.hvp(lambda a, b: a * b * b, (np.array(2.0), np.array(3.0)), (np.array(1.0), np.array(1.0)))
        self.assertEqual((by_a.item(), by_b.item()), (6, 10))
        self.refused(lambda: lp.hvp(lambda x: x, 1.0, 1.0), TypeError)
        self.refused(lambda: lp.hvp(lambda x: x, (1.0,), (1.0, 2.0)), ValueError)

    def test_trees_as_vectors(self):
        tree = {"w": floats(2, 3), "b": [floats(4), np.float32(2)]}
        flat, unravel = lp.ravel_pytree(tree)
        self.assertEqual(flat.type, "f32[11]")
        back = unravel(flat)
        self.assertEqual((back["w"].tolist(), back["b"][0].tolist(), back["b"][1].item()), (tree["w"].tolist(), tree["b"][0].tolist(), 2))
        norm = lp.compile(lambda t: lp.norm(lp.ravel_pytree(t)[0]))(tree)
        np.testing.assert_allclose(norm.item(), np.linalg.norm(np.asarray(flat)), rtol=1e-6)
        self.assertEqual(lp.ravel_pytree({})[0].type, "f32[0]")
        self.refused(lambda: unravel(flat[:3]), ValueError)
        self.refused(lambda: lp.ravel_pytree({"a": 1.0, "b": 1}), lp.DtypeError)
        self.refused(lambda: lp.ravel(tree), TypeError)


class Minimising(Refusals):
    def test_minima(self):
        valley = lambda x: (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()
        x0 = np.array([-1.2, 1.0, -1.2, 1.0])
        best = lp.optim.minimize(valley, x0, options={"ftol": 0})
        np.testing.assert_allclose(np.asarray(best.x), 1, atol=1e-5)
        self.assertEqual((bool(best.success), best.status.item(), best.nit.item() < 60, best.nfev.item() >= best.nit.item()), (True, 1, True, True))
        again = lp.compile(lambda x: lp.optim.minimize(valley, x, options={"ftol": 0}))(x0)
        self.assertTrue(again.x.same_bits(best.x))
        # Logistic regression: the minimum has a gradient of 0, in the form of the parameters.
        rows, labels = floats(50, 3), RNG.integers(0, 2, 50).astype(np.float32)
        loss = lambda p, x, y: lp.binary_cross_entropy_with_logits(lp.matmul(x, p["w"]) + p["b"], y) + 0.01 * (p["w"] ** 2).sum()
        fit = lp.optim.minimize(loss, {"w": np.zeros(3, np.float32), "b": 0.0}, (rows, labels))
        self.assertEqual((fit.x["w"].shape, fit.jac["b"].shape), ((3,), ()))
        slopes = lp.grad(loss)(fit.x, rows, labels)
        self.assertLess(max(float(lp.norm(s)) for s in slopes.values()), 1e-3)
        for call in (lambda: lp.optim.minimize(valley, x0, method="BFGS"), lambda: lp.optim.minimize(valley, x0, options={"maxcor": 0})):
            self.refused(call, ValueError)
        self.refused(lambda: lp.optim.minimize(valley, x0, options={"maxfun": 3}), TypeError)
        self.refused(lambda: lp.optim.minimize(lambda x: x.sum(), np.int32([1])), lp.DtypeError)


class Shown(unittest.TestCase):
    def test_arrays_are_shown_with_their_dimensions(self):
        self.assertEqual(repr(lp.asarray([[1, 2], [-30, 4]])), "limpid.Array(i32[2, 2]\n[[  1,   2],\n [-30,   4]])")
        self.assertEqual(str(lp.asarray([1.5, 2])), "f32[2] (1.5, 2.0)")
        self.assertEqual(str(lp.asarray([[1, 2], [-30, 4]])), "i32[2, 2] (1, 2, -30, 4)")
        self.assertEqual(repr(lp.zeros((2, 0))), f"limpid.Array({lp.zeros((2, 0))})")
        self.assertEqual(repr(lp.ones((2, 1, 2), "bf16")), "limpid.Array(bf16[2, 1, 2]\n[[[1.0, 1.0]],\n\n [[1.0, 1.0]]])")
        large = repr(lp.iota(2000).reshape(20, 100))
        self.assertEqual(large.split("\n")[1], "[[   0,    1,    2, ...,   97,   98,   99],")
        self.assertEqual((large.count("\n"), large.split("\n")[4]), (7, " ...,"))
        self.assertEqual(str(lp.zeros(100)), "f32[100] ...")

    def test_arrays_in_notebooks(self):
        page = lp.asarray([[1.5, 2], [3, 4]])._repr_html_()
        self.assertIn("f32[2, 2]", page)
        self.assertEqual((page.count("<tr>"), page.count("<td")), (2, 4))
        self.assertIn("background:", lp.ones((3, 40, 40))._repr_html_())
        self.assertIn("2.5", lp.asarray(2.5)._repr_html_())


if __name__ == "__main__":
    unittest.main()
