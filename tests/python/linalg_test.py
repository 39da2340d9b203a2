#!/usr/bin/env python3
"""limpid.linalg against LAPACK, by NumPy: residuals at most twice as large, in f32 and f64."""

import unittest

import numpy as np

import limpid as lp
from refusals import Refusals

RNG = np.random.default_rng(1)
DTYPES = (np.float32, np.float64)
SIZES = (1, 2, 7, 40, 100)


def wide(x):
    return np.asarray(x).astype(np.float64)


class AsLapack(Refusals):
    def not_worse(self, mine, lapacks, dtype, what):
        """Largest elements of two residuals; those below a few units of the dtype are alike."""
        unit = np.finfo(dtype).eps
        self.assertLessEqual(np.abs(mine).max(), 2 * np.abs(lapacks).max() + 4 * unit, what)

    def test_cholesky(self):
        for dtype in DTYPES:
            for n in SIZES:
                a = RNG.standard_normal((n, n))
                a = (a @ a.T / n + np.eye(n)).astype(dtype)
                a = (a + a.T) / 2
                mine, other = wide(lp.linalg.cholesky(a)), wide(np.linalg.cholesky(a))
                self.not_worse(mine @ mine.T - a, other @ other.T - a, dtype, (dtype, n))
                self.assertEqual(np.abs(np.triu(mine, 1)).max(), 0)
        self.assertTrue(np.isnan(np.asarray(lp.linalg.cholesky(-np.eye(2)))).all())

    def test_systems(self):
        for dtype in DTYPES:
            for n in SIZES:
                a, b = RNG.standard_normal((n, n)).astype(dtype), RNG.standard_normal((n, 3)).astype(dtype)
                for solve, other in ((lp.linalg.solve(a, b), np.linalg.solve(a, b)), (lp.linalg.solve(a, b[:, 0]), np.linalg.solve(a, b[:, 0]))):
                    right = b if solve.ndim == 2 else b[:, 0]
                    scale = np.abs(wide(a)) @ np.abs(wide(other))
                    self.not_worse((wide(a) @ wide(solve) - right) / scale, (wide(a) @ wide(other) - right) / scale, dtype, (dtype, n))
                mine, other = wide(lp.linalg.inv(a)), wide(np.linalg.inv(a))
                size = np.abs(other).max()
                self.not_worse((wide(a) @ mine - np.eye(n)) / size, (wide(a) @ other - np.eye(n)) / size, dtype, (dtype, n))
        a, b = RNG.standard_normal((2, 1, 3, 3)), RNG.standard_normal((4, 3, 2))
        np.testing.assert_allclose(np.asarray(lp.linalg.solve(a, b)), np.linalg.solve(a, np.broadcast_to(b, (2, 4, 3, 2))), rtol=1e-9)
        self.refused(lambda: lp.linalg.solve(a, b[:, :2]), ValueError)
        self.refused(lambda: lp.linalg.inv(b), ValueError)

    def test_triangles(self):
        a, b = RNG.standard_normal((5, 5)) + 3 * np.eye(5), RNG.standard_normal((5, 5))
        for left in (False, True):
            for lower in (False, True):
                for transposed in (False, True):
                    for unit in (False, True):
                        t = np.tril(a) if lower else np.triu(a)
                        t = t - np.diag(np.diag(t)) + np.eye(5) if unit else t
                        t = t.T if transposed else t
                        want = np.linalg.solve(t, b) if left else np.linalg.solve(t.T, b.T).T
                        got = lp.linalg.triangular_solve(a, b, left, lower, transposed, unit)
                        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-8)

    def test_determinants(self):
        for dtype in DTYPES:
            for n in (1, 2, 5, 30):
                a = RNG.standard_normal((3, n, n)).astype(dtype)
                np.testing.assert_allclose(np.asarray(lp.linalg.det(a)), np.linalg.det(wide(a)), rtol=3e-3 if dtype == np.float32 else 1e-11)
                sign, log = lp.linalg.slogdet(a)
                want = np.linalg.slogdet(wide(a))
                np.testing.assert_array_equal(np.asarray(sign), want[0])
                np.testing.assert_allclose(np.asarray(log), want[1], rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-4)

    def test_qr(self):
        for dtype in DTYPES:
            for shape in ((1, 1), (7, 3), (3, 7), (40, 40), (100, 30)):
                a = RNG.standard_normal(shape).astype(dtype)
                (q, r), (other_q, other_r) = map(wide, lp.linalg.qr(a)), map(wide, np.linalg.qr(a))
                self.assertEqual((q.shape, r.shape), (other_q.shape, other_r.shape))
                self.not_worse(q @ r - a, other_q @ other_r - a, dtype, (dtype, shape))
                self.not_worse(q.T @ q - np.eye(q.shape[1]), other_q.T @ other_q - np.eye(q.shape[1]), dtype, (dtype, shape))
                np.testing.assert_allclose(r, other_r, rtol=0, atol=1e-4 if dtype == np.float32 else 1e-12)
        self.refused(lambda: lp.linalg.qr(a, "complete"), ValueError)

    def test_svd(self):
        for dtype in DTYPES:
            for shape in ((1, 1), (7, 3), (3, 7), (40, 40), (100, 30)):
                for full in (False, True):
                    a = RNG.standard_normal(shape).astype(dtype)
                    mine, other = lp.linalg.svd(a, full), np.linalg.svd(a, full)
                    k = min(shape)
                    for (u, s, v), is_mine in (([wide(x) for x in mine], True), ([wide(x) for x in other], False)):
                        rest = (u[:, :k] * s) @ v[:k] - a
                        apart = max(np.abs(u.T @ u - np.eye(u.shape[1])).max(), np.abs(v @ v.T - np.eye(v.shape[0])).max())
                        if is_mine:
                            first = (rest, apart, u.shape, v.shape, s)
                    self.assertEqual(first[2:4], (u.shape, v.shape))
                    self.not_worse(first[0], rest, dtype, (dtype, shape))
                    self.not_worse(first[1], apart, dtype, (dtype, shape))
                    np.testing.assert_allclose(first[4], s, rtol=1e-4 if dtype == np.float32 else 1e-11)
        ranks = lp.linalg.svd(np.outer(np.arange(1.0, 5), np.ones(3)))
        np.testing.assert_allclose(np.asarray(ranks.U).T @ np.asarray(ranks.U), np.eye(4), atol=1e-14)
        self.assertEqual(lp.linalg.svdvals(a).shape, (30,))

    def test_functions_are_compiled_and_batched(self):
        a = RNG.standard_normal((4, 3, 3))
        for f in (lp.linalg.inv, lp.linalg.det, lambda x: lp.linalg.svd(x).S, lambda x: lp.linalg.qr(x).R, lambda x: lp.linalg.slogdet(x).logabsdet):
            batch = lp.vmap(f)(a)
            for i in range(4):
                self.assertTrue(batch[i].same_bits(f(a[i])))
            self.assertTrue(lp.compile(f)(a[0]).same_bits(f(a[0])))
        slope = lp.grad(lambda x: lp.linalg.slogdet(x).logabsdet)(a[0])
        np.testing.assert_allclose(np.asarray(slope), np.linalg.inv(a[0]).T, rtol=1e-9)


if __name__ == "__main__":
    unittest.main()
