"""Operators and methods of Array and Value: those of NumPy that the library has, by the same functions."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core, _indexing
from ._core import Array, Value
from ._elsewhere import missing
from .errors import InvalidArgumentError

Axes = Optional[Union[int, Sequence[int]]]


def _other(f: Any) -> Any:
    """A binary operator: f, or NotImplemented where the other is no array."""

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, (Array, Value)) or _core.is_leaf(other):
            return f(self, other)
        return NotImplemented

    return operator


def _compared(f: Any) -> Any:
    """== or !=. Of a list, which is no array, they would be a bool without this."""
    operator = _other(f)

    def compared(self: Any, other: Any) -> Any:
        if isinstance(other, (list, tuple)):
            raise TypeError(f"{f.__name__}: expected an array or a number, not {type(other).__name__}; lp.asarray makes an array of it")
        return operator(self, other)

    return compared


def _xor(self: Any, other: Any) -> Any:
    if not self.type.startswith("bool"):
        raise TypeError(f"^: expected bool, got {self.type}")
    return _core.not_equal(self, other)


def _turned(f: Any) -> Any:
    return _other(lambda self, other: f(other, self))


def _shape(args: Tuple[Any, ...]) -> Any:
    return args[0] if len(args) == 1 and not isinstance(args[0], int) else args


def _rows(x: Any, rows: Any) -> Any:
    """x[rows] while code is traced."""
    if getattr(rows, "dtype", None) == np.bool_:
        raise TypeError("a mask chooses a number of elements that is not known while code is traced; lp.select(mask, x, y) keeps the shape")
    if not x.ndim:
        raise IndexError(f"too many indices: {x.type} has 0 dimensions, 1 was given")
    if not isinstance(rows, Value):
        numbers = np.asarray(rows)
        if numbers.dtype.kind in "iu" and numbers.dtype.itemsize < 4:  # NumPy's indices are of any integer dtype
            rows = numbers.astype(np.int64)
    return _core.take(x, rows, 0)


def _index(x: Any, index: Any) -> Any:
    """x[index] of a Value: integers, slices, None and Ellipsis, and arrays of numbers."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if len(parts) == 1 and not isinstance(parts[0], (int, slice, type(None), type(Ellipsis), np.integer)):
        # Of no numbers, NumPy's array is one of f64.
        rows = np.asarray(parts[0], None if parts[0] else np.int64) if isinstance(parts[0], list) else parts[0]
        if not isinstance(rows, Value) and getattr(rows, "dtype", None) == np.bool_ and np.ndim(rows):
            return _indexing.indexed(x, np.asarray(rows))
        return _rows(x, rows)
    if not _indexing.is_simple(index):
        return _indexing.indexed(x, index)
    used = sum(1 for p in parts if p is not None and p is not Ellipsis)
    if used > x.ndim:
        raise IndexError(f"too many indices: {x.type} has {x.ndim} dimensions, {used} were given")
    if parts.count(Ellipsis) > 1:
        raise IndexError("an index has at most one Ellipsis")
    if Ellipsis in parts:
        at = parts.index(Ellipsis)
        parts[at : at + 1] = [slice(None)] * (x.ndim - used)
    else:
        parts += [slice(None)] * (x.ndim - used)
    starts, limits, strides, shape, flips = [], [], [], [], []
    axis = 0
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        size = x.shape[axis]
        if isinstance(part, slice):
            first, last, step = part.indices(size)
            count = len(range(first, last, step))
            if step < 0:
                flips.append(axis)
                first, step = first + (count - 1) * step, -step
            first = first if count else 0
            starts.append(first)
            limits.append(first + (count - 1) * step + 1 if count else first)
            strides.append(step)
            shape.append(count)
        else:
            i = int(part) + size if part < 0 else int(part)
            if not 0 <= i < size:
                raise IndexError(f"index {int(part)} is outside of axis {axis}, which has {size}")
            starts.append(i)
            limits.append(i + 1)
            strides.append(1)
        axis += 1
    y = x
    if any(s != 0 or l != n or t != 1 for s, l, n, t in zip(starts, limits, x.shape, strides)):
        y = _core.slice(x, starts, limits, strides)
    for axis in flips:
        y = _core.flip(y, axis)
    return y if tuple(shape) == tuple(y.shape) else _core.reshape(y, shape)


def _array_index(x: Array, index: Any) -> Any:
    if isinstance(index, Value):
        return _rows(x, index)
    if isinstance(index, tuple) and any(isinstance(part, Value) for part in index):
        return _indexing.indexed(x, index)
    if isinstance(index, (int, np.integer)) and not isinstance(index, (bool, np.bool_)) and x.ndim:
        size = len(x)
        i = int(index) + size if index < 0 else int(index)
        if not 0 <= i < size:
            raise IndexError(f"index {int(index)} is outside of axis 0, which has {size}")
        return x._row(i)
    if isinstance(index, slice) and x.ndim:
        first, last, step = index.indices(len(x))
        if step == 1:
            return x._rows(first, max(0, last - first))
    place = index.numpy() if isinstance(index, Array) else index
    if x.dtype == "bfloat16":
        # NumPy may have no such elements: it chooses among their numbers.
        return _core.gather(_core.reshape(x, x.size), np.arange(x.size).reshape(x.shape)[place])
    return _core.array(np.asarray(x)[place])


def _iterate(x: Any) -> Any:
    if x.ndim == 0:
        raise TypeError(f"{type(x).__name__} without dimensions cannot be iterated over")
    return (x[i] for i in range(len(x)))


def _number(kind: Any) -> Any:
    def convert(self: Array) -> Any:
        return kind(self.item())

    return convert


def _array_bool(self: Array) -> bool:
    if self.size != 1:
        raise ValueError(f"{self.type} is neither true nor false; write a.all() or a.any()")
    return bool(self.item())


def _whole(x: Any) -> bool:
    return isinstance(x, (Array, Value)) and x.type.startswith(("i", "u"))


def _contains(self: Array, item: Any) -> bool:
    """Whether an element is equal to this one. No element is equal to a number that its dtype does not have."""
    if not _core.is_leaf(item):
        return False
    try:
        return bool(np.any(np.asarray(_core.equal(self, item))))
    except InvalidArgumentError:
        return False


def _value_contains(self: Value, item: Any) -> bool:
    raise TypeError("`in` has no answer while code is traced; (x == y).any() is a Value that holds it")


def _round(self: Any, digits: Optional[int] = None) -> Any:
    """The number rounded as Python does it; of more elements, or while code is traced, to whole numbers."""
    if self.ndim == 0 and isinstance(self, Array):
        return round(self.item(), digits)
    if digits:
        raise TypeError(f"round: digits are for one number, not {self.type}")
    return _core.round(self)


def _true_divide(a: Any, b: Any) -> Any:
    for x in (a, b):
        if _whole(x):
            raise TypeError(
                f"/ of {x.type}: a quotient of integers is none; write x.astype('f32') / y, x // y, or lp.divide, "
                "which rounds toward 0"
            )
    return _core.divide(a, b)


def _floor_divide(a: Any, b: Any) -> Any:
    if not _whole(a) and not _whole(b):
        return _float_divmod(a, b)[0]
    # divide() rounds toward 0: one less where there is a rest of another sign than b's.
    q = _core.divide(a, b)
    b = _core.add(_core.multiply(q, 0), b)
    rest = _core.subtract(a, _core.multiply(q, b))
    # A quotient by 0 is 0, with all of a as its rest.
    one_less = _core.logical_and(_signs_differ(rest, b), _core.not_equal(b, 0))
    return _core.subtract(q, _core.cast(one_less, q.type.split("[")[0]))


def _float_divmod(a: Any, b: Any) -> Tuple[Any, Any]:
    """As NumPy: the quotient that belongs to the remainder. floor(a / b) is 1 too large where a / b rounds up to a whole number."""
    rest = _core.fmod(a, b)
    of_zero = _core.floor(_core.divide(a, b))
    b = _core.add(_core.zeros(rest.shape, rest.type.split("[")[0]), b)
    quotient = _core.divide(_core.subtract(a, rest), b)
    other_sign = _signs_differ(rest, b)
    quotient = _core.select(other_sign, _core.subtract(quotient, 1), quotient)
    whole = _core.floor(quotient)
    whole = _core.select(_core.less(0.5, _core.subtract(quotient, whole)), _core.add(whole, 1), whole)
    return _core.select(_core.equal(b, 0), of_zero, whole), _core.select(other_sign, _core.add(rest, b), rest)


def _signs_differ(rest: Any, b: Any) -> Any:
    """Whether a remainder other than 0 has another sign than the divisor."""
    negative = [_core.cast(_core.less(x, 0), "i32") for x in (rest, b)]
    return _core.logical_and(_core.not_equal(rest, 0), _core.not_equal(*negative))


def _modulo(a: Any, b: Any) -> Any:
    return _core.remainder(a, b)


def _divmod(a: Any, b: Any) -> Tuple[Any, Any]:
    if not _whole(a) and not _whole(b):
        return _float_divmod(a, b)
    return _floor_divide(a, b), _modulo(a, b)


def _astype(self: Any, dtype: Any) -> Any:
    return _core.cast(self, dtype)


def _reshape(self: Any, *shape: Any) -> Any:
    return _core.reshape(self, _shape(shape))


def _transpose(self: Any, *axes: Any) -> Any:
    return _core.transpose(self, _shape(axes) if axes else None)


def _flatten(self: Any) -> Any:
    return _core.reshape(self, (-1,))


def _no_out(out: Any) -> None:
    if out is not None:
        raise TypeError("arrays are immutable: there is no out")


def _like(f: Any, method: Any) -> Any:
    """The method under the function's name, which Python's messages about its arguments show."""
    method.__name__ = method.__qualname__ = f.__name__
    method.__doc__ = f.__doc__
    return method


def _no_others(f: Any, others: Any) -> None:
    for name in others:
        raise TypeError(f"{f.__name__}() has no argument '{name}'" + ("; it is axis" if name == "dim" else ""))


def _place(f: Any) -> Any:
    def method(self: Any, axis: Optional[int] = None, out: None = None, **others: Any) -> Any:
        _no_out(out)
        _no_others(f, others)
        return f(self, axis)

    return _like(f, method)


def _no_changes(self: Any, index: Any, value: Any) -> None:
    raise TypeError("arrays are immutable; x.at[index].set(y) gives one with other elements")


def _reduction(f: Any) -> Any:
    def method(self: Any, axis: Axes = None, keepdims: bool = False, dtype: Any = None, out: None = None, **others: Any) -> Any:
        # numpy.sum(a) and its like call this, with an `out` of None.
        _no_out(out)
        _no_others(f, others)
        return f(self if dtype is None else _core.cast(self, dtype), axis, keepdims)

    return _like(f, method)


def _spread(f: Any) -> Any:
    def method(self: Any, axis: Axes = None, keepdims: bool = False, dtype: Any = None, out: None = None, ddof: int = 0, **others: Any) -> Any:
        _no_out(out)
        _no_others(f, others)
        if ddof:
            raise TypeError(f"{f.__name__}: divides by the number of elements; ddof is 0, not {ddof}")
        return f(self if dtype is None else _core.cast(self, dtype), axis, keepdims)

    return _like(f, method)


def _squeeze(self: Any, axis: Axes = None) -> Any:
    return _core.squeeze(self, axis)


def _of_numpy(axis: Axes) -> Any:
    """NumPy takes no list of axes."""
    return tuple(axis) if isinstance(axis, Sequence) else axis


def _all(self: Any, axis: Axes = None, keepdims: bool = False, out: None = None) -> Any:
    """Whether all elements hold; of an Array without an axis a bool."""
    _no_out(out)
    if isinstance(self, Array):
        result = np.asarray(self).all(axis=_of_numpy(axis), keepdims=keepdims)
        return bool(result) if np.ndim(result) == 0 else _core.array(result)
    return _core.equal(_core.sum(_core.logical_not(_truth(self)), axis, keepdims), 0)


def _any(self: Any, axis: Axes = None, keepdims: bool = False, out: None = None) -> Any:
    """Whether any element holds; of an Array without an axis a bool."""
    _no_out(out)
    if isinstance(self, Array):
        result = np.asarray(self).any(axis=_of_numpy(axis), keepdims=keepdims)
        return bool(result) if np.ndim(result) == 0 else _core.array(result)
    return _core.not_equal(_core.sum(_truth(self), axis, keepdims), 0)


def _truth(x: Any) -> Any:
    return x if x.type.startswith("bool") else _core.not_equal(x, 0)


def _tolist(self: Array) -> Any:
    # ml_dtypes would give numbers of its own.
    return np.asarray(_core.cast(self, "f32") if self.type.startswith("bf16") else self).tolist()


# Of more elements a text shows the type and, in two dimensions and more, the ends of every dimension.
_MOST_SHOWN, _EDGE = 64, 3
_flat_repr = Array.__repr__


def _element_texts(x: Array) -> List[str]:
    """The elements in their order, as the text form has them."""
    return _flat_repr(_core.reshape(x, (x.size,))).split("(", 2)[2][:-2].split(", ")


def _nested(texts: Any, indent: int) -> str:
    """Nested brackets, a line for each row; an empty line between matrices."""
    if isinstance(texts, str):
        return texts
    if all(isinstance(part, str) for part in texts):
        return f"[{', '.join(texts)}]"
    deep = sum(1 for _ in _levels(texts))
    parts = [_nested(part, indent + 1) for part in texts]
    return "[" + f",{chr(10) * (deep - 1)}{' ' * (indent + 1)}".join(parts) + "]"


def _levels(texts: Any) -> Iterator[Any]:
    while isinstance(texts, list):
        yield texts
        texts = next((part for part in texts if isinstance(part, list)), None)


def _shown(size: int, shorten: bool) -> List[Optional[int]]:
    """The places of a dimension that are shown, None for those that are left out."""
    if not shorten or size <= 2 * _EDGE:
        return list(range(size))
    return [*range(_EDGE), None, *range(size - _EDGE, size)]


def _array_text(self: Array) -> str:
    """The text form, as C++ prints it: f32[2] (1.0, 2.0)."""
    return _flat_repr(self)[len("limpid.Array(") : -1]


def _array_repr(self: Array) -> str:
    """The type and the elements; those of matrices and more in nested brackets, a line for each row."""
    if self.ndim < 2 or not self.size:
        return _flat_repr(self)
    places = [_shown(size, self.size > _MOST_SHOWN) for size in self.shape]
    kept = [[p for p in dim if p is not None] for dim in places]
    numbers = np.arange(self.size).reshape(self.shape)[np.ix_(*kept)]
    flat = _core.reshape(self, (self.size,))
    texts: List[str] = []
    for begin in range(0, numbers.size, _MOST_SHOWN):
        texts += _element_texts(_core.take(flat, numbers.reshape(-1)[begin : begin + _MOST_SHOWN], 0))
    # Columns of one width, as NumPy's.
    width = max(map(len, texts))
    nested: Any = np.array([text.rjust(width) for text in texts], dtype=object).reshape(numbers.shape).tolist()

    def with_gaps(part: Any, level: int) -> Any:
        if level == self.ndim:
            return part
        inner = iter(with_gaps(p, level + 1) for p in part)
        return ["..." if p is None else next(inner) for p in places[level]]

    return f"limpid.Array({self.type}\n{_nested(with_gaps(nested, 0), 0)})"


def _array_html(self: Array) -> str:
    """The type, and the elements as a table with a heat map; of more than two dimensions the heat map alone."""
    from . import _html

    return _html.array(self)


def _format(self: Array, how: str) -> str:
    """As its number where there is one: f"{loss:.3f}"."""
    if not how:
        return str(self)
    if self.ndim:
        raise TypeError(f"format: '{how}' is for one number, not {self.type}")
    return format(self.item(), how)


def _value_format(self: Value, how: str) -> str:
    if how:
        float(self)  # it says why there is no number
    return repr(self)


def _as_index(self: Array) -> int:
    if self.ndim or not self.type.startswith(("i", "u")):
        raise TypeError(f"only an integer without dimensions is an index, not {self.type}")
    return int(self.item())


def _no_attribute(self: Any, name: str) -> Any:
    raise missing(f"'{type(self).__name__}' object", name)


def _restored(elements: Any, dtype: str) -> Any:
    return _core.cast(_core.array(elements), dtype)


def _reduce(self: Array) -> Any:
    kind = self.type.split("[")[0]
    return _restored, (np.array(_core.cast(self, "f32") if kind == "bf16" else self), kind)


def _install() -> None:
    both = {
        "__add__": _other(_core.add),
        "__radd__": _turned(_core.add),
        "__sub__": _other(_core.subtract),
        "__rsub__": _turned(_core.subtract),
        "__mul__": _other(_core.multiply),
        "__rmul__": _turned(_core.multiply),
        "__truediv__": _other(_true_divide),
        "__rtruediv__": _turned(_true_divide),
        "__floordiv__": _other(_floor_divide),
        "__rfloordiv__": _turned(_floor_divide),
        "__mod__": _other(_modulo),
        "__rmod__": _turned(_modulo),
        "__divmod__": _other(_divmod),
        "__rdivmod__": _turned(_divmod),
        "__pow__": _other(_core.power),
        "__rpow__": _turned(_core.power),
        "__matmul__": _other(_core.matmul),
        "__rmatmul__": _turned(_core.matmul),
        "__eq__": _compared(_core.equal),
        "__ne__": _compared(_core.not_equal),
        "__lt__": _other(_core.less),
        "__le__": _other(_core.less_equal),
        "__gt__": _turned(_core.less),
        "__ge__": _turned(_core.less_equal),
        "__and__": _other(_core.logical_and),
        "__rand__": _turned(_core.logical_and),
        "__or__": _other(_core.logical_or),
        "__ror__": _turned(_core.logical_or),
        "__xor__": _other(_xor),
        "__rxor__": _other(_xor),
        "__invert__": lambda self: _core.logical_not(self),
        "__neg__": lambda self: _core.negate(self),
        "__pos__": lambda self: self,
        "__abs__": lambda self: _core.abs(self),
        "__round__": _round,
        "__iter__": _iterate,
        # NumPy's operators leave it to these when an Array or a Value stands on their right.
        "__array_priority__": 1000.0,
        "astype": _astype,
        "reshape": _reshape,
        "transpose": _transpose,
        "flatten": _flatten,
        "ravel": _flatten,
        "T": property(lambda self: _core.transpose(self)),
        "all": _all,
        "any": _any,
        "sum": _reduction(_core.sum),
        "mean": _reduction(_core.mean),
        "max": _reduction(_core.max),
        "min": _reduction(_core.min),
        "prod": _reduction(_core.prod),
        "std": _spread(_core.std),
        "var": _spread(_core.variance),
        "squeeze": _squeeze,
        "argmax": _place(_core.argmax),
        "argmin": _place(_core.argmin),
        "at": property(_indexing.At, doc="``x.at[index].set(y)`` and its like: x with other elements."),
        "__setitem__": _no_changes,
        "__getattr__": _no_attribute,
    }
    for name, member in both.items():
        for kind in (Array, Value):
            setattr(kind, name, member)
    setattr(Value, "__getitem__", _index)
    setattr(Value, "__contains__", _value_contains)
    setattr(Value, "__format__", _value_format)
    for name, member in {
        "__getitem__": _array_index,
        "__bool__": _array_bool,
        "__float__": _number(float),
        "__int__": _number(int),
        "__index__": _as_index,
        "__format__": _format,
        "__contains__": _contains,
        "tolist": _tolist,
        "__reduce__": _reduce,
        "__str__": _array_text,
        "__repr__": _array_repr,
        "_repr_html_": _array_html,
    }.items():
        setattr(Array, name, member)
    for kind in (Array, Value):
        setattr(kind, "__hash__", None)


_install()
