"""Linear algebra of f32 and f64 matrices, with gradients and the same bits everywhere; NumPy's names.

All functions take leading batch dimensions. docs/arithmetic.md defines the bits.

>>> import limpid as lp
>>> a, b = lp.asarray([[2.0, 0.0], [0.0, 4.0]]), lp.asarray([2.0, 2.0])
>>> lp.linalg.solve(a, b)
limpid.Array(f32[2] (1.0, 0.5))
"""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _core
from ._core import Array

__all__ = [
    "QR",
    "SVD",
    "SignAndLog",
    "cholesky",
    "det",
    "diagonal",
    "inv",
    "lu",
    "norm",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "trace",
    "triangular_solve",
]

cholesky = _core.cholesky
lu = _core.lu
norm = _core.norm
triangular_solve = _core.triangular_solve


class QR(NamedTuple):
    """What `qr` gives."""

    Q: Any
    R: Any


class SVD(NamedTuple):
    """What `svd` gives."""

    U: Any
    S: Any
    Vh: Any


class SignAndLog(NamedTuple):
    """What `slogdet` gives."""

    sign: Any
    logabsdet: Any


def solve(a: Any, b: Any) -> Array:
    """x with a x = b, by LU factorisation.

    Parameters
    ----------
    a : array_like
        (..., n, n). Where it is singular the result is infinite or NaN.
    b : array_like
        (n), a vector, or matrices (..., n, m).

    Examples
    --------
    >>> import limpid as lp
    >>> lp.linalg.solve(lp.asarray([[0.0, 2.0], [1.0, 0.0]]), lp.asarray([4.0, 3.0]))
    limpid.Array(f32[2] (3.0, 2.0))
    """
    x: Array = _core._solve(a, b)
    return x


def inv(a: Any) -> Array:
    """The inverse of matrices.

    Parameters
    ----------
    a : array_like
        (..., n, n). To multiply by an inverse, `solve` is faster and more accurate.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.linalg.inv(lp.asarray([[0.0, 2.0], [4.0, 0.0]])).tolist()
    [[0.0, 0.25], [0.5, 0.0]]
    """
    x: Array = _core._inv(a)
    return x


def det(a: Any) -> Array:
    """The determinant of matrices, by LU factorisation; its gradient is NaN where it is 0.

    Parameters
    ----------
    a : array_like
        (..., n, n).

    Examples
    --------
    >>> import limpid as lp
    >>> lp.linalg.det(lp.asarray([[1.0, 2.0], [3.0, 4.0]]))
    limpid.Array(f32[] (-2.0))
    """
    x: Array = _core._det(a)
    return x


def slogdet(a: Any) -> SignAndLog:
    """The sign of the determinant, -1, 0 or 1, and the logarithm of its magnitude, which does not overflow.

    Parameters
    ----------
    a : array_like
        (..., n, n).

    Examples
    --------
    >>> import limpid as lp
    >>> lp.linalg.slogdet(lp.asarray([[0.0, 1.0], [1.0, 0.0]]))
    SignAndLog(sign=limpid.Array(f32[] (-1.0)), logabsdet=limpid.Array(f32[] (0.0)))
    """
    return SignAndLog(*_core._slogdet(a))


def qr(a: Any, mode: str = "reduced") -> QR:
    """Q (..., m, k) with orthonormal columns and upper triangular R (..., k, n), k = min(m, n), with Q R = a.

    Parameters
    ----------
    a : array_like
        (..., m, n). There is a gradient if m >= n, and a has full rank.
    mode : {"reduced"}
        The one of NumPy's modes that there is.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.linalg.qr(lp.asarray([[3.0], [4.0]])).R.tolist()
    [[-5.0]]
    """
    if mode != "reduced":
        raise ValueError(f"qr: mode: expected reduced, got {mode!r}")
    return QR(*_core.qr(a))


def svd(a: Any, full_matrices: bool = True) -> SVD:
    """U, the singular values S, falling, and Vh, with U diag(S) Vh = a, as NumPy's.

    Parameters
    ----------
    a : array_like
        (..., m, n). The gradients by U and Vh are for matrices whose singular values differ.
    full_matrices : bool
        U (..., m, m) and Vh (..., n, n), or, if False, (..., m, k) and (..., k, n), k = min(m, n).

    Examples
    --------
    >>> import limpid as lp
    >>> lp.linalg.svd(lp.asarray([[3.0, 0.0], [0.0, 4.0]])).S
    limpid.Array(f32[2] (4.0, 3.0))
    """
    return SVD(*_core.svd(a, full_matrices))


def svdvals(a: Any) -> Array:
    """The singular values of matrices, falling.

    Parameters
    ----------
    a : array_like
        (..., m, n).

    Examples
    --------
    >>> import limpid as lp
    >>> lp.linalg.svdvals(lp.asarray([[3.0, 0.0], [0.0, 4.0]]))
    limpid.Array(f32[2] (4.0, 3.0))
    """
    values: Array = _core.svd(a, False)[1]
    return values


def trace(x: Any, offset: int = 0) -> Array:
    """The sum of diagonal `offset` of the last two dimensions. (``lp.trace`` makes a Function of code.)

    Parameters
    ----------
    x : array_like
        (..., m, n); the trace of integers is i64.
    offset : int
        0 is the main diagonal, 1 the one above.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.linalg.trace(lp.asarray([[1.0, 2.0], [3.0, 4.0]]))
    limpid.Array(f32[] (5.0))
    """
    total: Array = _core._matrix_trace(x, offset)
    return total


def diagonal(x: Any, offset: int = 0) -> Array:
    """Diagonal `offset` of the last two dimensions, as the last dimension of the result.

    Parameters
    ----------
    x : array_like
        (..., m, n).
    offset : int
        0 is the main diagonal, 1 the one above.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.linalg.diagonal(lp.asarray([[1, 2], [3, 4]]))
    limpid.Array(i32[2] (1, 4))
    """
    return _core.diagonal(x, offset, -2, -1)
