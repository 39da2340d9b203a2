"""Indices with arrays in traced code, and ``x.at[index].set(y)``: limpid/ops/at.h with NumPy's notation."""

from __future__ import annotations

from typing import Any, List, Tuple

import numpy as np

from . import _core
from ._core import Value

# Kinds of parts in the layout that _core._index takes.
_NUMBERS, _NUMBER, _RANGE, _NEW = range(4)


def _is_number(part: Any) -> bool:
    return isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_))


def is_simple(index: Any) -> bool:
    """Whether an index has numbers, slices, None and Ellipsis alone."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(part is None or part is Ellipsis or isinstance(part, slice) or _is_number(part) for part in parts)


def _numbers_of(part: Any) -> Any:
    """An array of integers among the parts of an index."""
    if isinstance(part, Value):
        return part
    numbers = np.asarray(part, None if not isinstance(part, list) or part else np.int64)
    if numbers.dtype == np.bool_ and numbers.ndim:
        return numbers
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"an index is an integer, a slice, None, ... or an array of integers or bool, not {type(part).__name__} of {numbers.dtype}")
    return numbers.astype(np.int64) if numbers.dtype.itemsize < 4 or numbers.dtype.kind == "u" else numbers


def layout_of(x: Any, index: Any) -> Tuple[List[Any], List[int]]:
    """The arrays of an index, and its layout: a kind and three numbers for each part."""
    parts: List[Any] = list(index) if isinstance(index, tuple) else [index]
    for i, part in enumerate(parts):
        if not (part is None or part is Ellipsis or isinstance(part, slice) or _is_number(part)):
            parts[i] = _numbers_of(part)
    if any(isinstance(part, Value) and part.type.startswith("bool") for part in parts):
        raise TypeError("a mask chooses a number of elements that is not known while code is traced; lp.where(mask, x, y) keeps the shape")
    # A known mask is the places where it is true, an array for each of its dimensions.
    expanded: List[Any] = []
    masks: List[Tuple[int, Tuple[int, ...]]] = []  # where each begins, and its shape
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype == np.bool_:
            masks.append((len(expanded), part.shape))
            expanded += list(part.nonzero())
        else:
            expanded.append(part)
    parts = expanded
    used = sum(1 for p in parts if p is not None and p is not Ellipsis)
    if used > x.ndim:
        raise IndexError(f"too many indices: {x.type} has {x.ndim} dimensions, {used} were given")
    dots = [i for i, p in enumerate(parts) if p is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index has at most one Ellipsis")
    if dots:
        added = x.ndim - used - 1
        parts[dots[0] : dots[0] + 1] = [slice(None)] * (added + 1)
        masks = [(at + added if at > dots[0] else at, shape) for at, shape in masks]
    for at, shape in masks:
        axis = sum(1 for p in parts[:at] if p is not None)
        if tuple(x.shape[axis : axis + len(shape)]) != shape:
            raise IndexError(f"a mask of {list(shape)} for dimensions {list(x.shape[axis : axis + len(shape)])} of {x.type}")
    arrays: List[Any] = []
    layout: List[int] = []
    axis = 0
    for part in parts:
        if part is None:
            layout += [_NEW, 0, 0, 0]
            continue
        size = x.shape[axis]
        if isinstance(part, slice):
            first, last, step = part.indices(size)
            count = len(range(first, last, step))
            layout += [_RANGE, first if count else 0, count, step]
        elif _is_number(part):
            if not -size <= part < size:
                raise IndexError(f"index {int(part)} is outside of axis {axis}, which has {size}")
            layout += [_NUMBER, int(part), 0, 0]
        else:
            if not isinstance(part, Value):
                _core.require_indices("index", part, size)
            arrays.append(part)
            layout += [_NUMBERS, 0, 0, 0]
        axis += 1
    return arrays, layout


def indexed(x: Any, index: Any) -> Any:
    """x[index]."""
    return _core._index(x, *layout_of(x, index))


class At:
    """``x.at``, which takes an index: JAX's notation for an array with other elements."""

    __slots__ = ("_x",)

    def __init__(self, x: Any) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> "AtIndex":
        return AtIndex(self._x, index)

    def __repr__(self) -> str:
        return f"<at of {self._x.type}>"


class AtIndex:
    """``x.at[index]``. Each method gives an array of x's type; x stays as it is.

    The index is NumPy's: numbers, slices, None, Ellipsis, arrays of integers and masks. Negative numbers count
    from the end. One out of range is an IndexError; where it is known only when traced code runs, its update is
    left out. Elements that are named twice are updated one after the other, in the order of the index. The
    updates are broadcast to ``x[index]``.

    Examples
    --------
    >>> import limpid as lp
    >>> x = lp.zeros(4)
    >>> x.at[1].set(5.0), x.at[lp.asarray([0, 0, -1])].add(1.0)
    (limpid.Array(f32[4] (0.0, 5.0, 0.0, 0.0)), limpid.Array(f32[4] (2.0, 0.0, 0.0, 1.0)))
    """

    __slots__ = ("_x", "_index")

    def __init__(self, x: Any, index: Any) -> None:
        self._x = x
        self._index = index

    def _mask(self) -> Any:
        """The index, if it is a mask that is not known before the code runs."""
        return self._index if isinstance(self._index, Value) and self._index.type.startswith("bool") else None

    def _updated(self, mode: str, y: Any) -> Any:
        mask = self._mask()
        if mask is not None:
            if mask.ndim < self._x.ndim:
                mask = _core.reshape(mask, (*mask.shape, *[1] * (self._x.ndim - mask.ndim)))
            if getattr(y, "ndim", 0):
                raise TypeError("a mask that is not known while code is traced takes one number for all elements; lp.where takes arrays")
            combine = {"add": _core.add, "multiply": _core.multiply, "max": _core.maximum, "min": _core.minimum}
            return _core.where(mask, combine[mode](self._x, y) if mode in combine else y, self._x)
        if isinstance(y, (bool, int, float, np.generic)):  # a number has the dtype of the elements
            y = _core.full((), y if isinstance(y, (bool, int, float)) else y.item(), self._x.type.split("[")[0])
        return _core._index_update(self._x, y, *layout_of(self._x, self._index), mode)

    def get(self) -> Any:
        """``x[index]``."""
        return self._x[self._index]

    def set(self, y: Any) -> Any:
        """With y at these places."""
        return self._updated("set", y)

    def add(self, y: Any) -> Any:
        """With y added."""
        return self._updated("add", y)

    def multiply(self, y: Any) -> Any:
        """With each element times y."""
        return self._updated("multiply", y)

    def max(self, y: Any) -> Any:
        """With the larger one of each element and y."""
        return self._updated("max", y)

    def min(self, y: Any) -> Any:
        """With the smaller one of each element and y."""
        return self._updated("min", y)

    def __repr__(self) -> str:
        return f"<at of {self._x.type}; its methods are get, set, add, multiply, max and min>"

