"""Transformations of code and of Functions: grad, value_and_grad, vjp, jvp, vmap, compile and others.

Code is what takes and gives arrays (Values, while it is traced) and trees of them: dicts, Params, lists,
tuples. What a transformation of code gives is called like the code, on arrays or inside of other code.
Of a Function the transformation is a Function.
"""

from __future__ import annotations

import functools
import inspect
import operator
import types
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, SupportsIndex, Tuple, Union

from . import _core
from ._core import Array, Compiled, Function, Value
from ._params import Params
from .errors import DtypeError, InvalidArgumentError, NotFoundError, ShapeError

__all__ = [
    "Collapsed",
    "Quantized",
    "asarray",
    "array",
    "bind",
    "call",
    "collapse",
    "compile",
    "cond",
    "custom_vjp",
    "einsum",
    "expand",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "map",
    "meshgrid",
    "no_copy",
    "parse",
    "permutation",
    "quantize",
    "ravel",
    "ravel_pytree",
    "scan",
    "simplify",
    "stack",
    "stop_gradient",
    "trace",
    "tree_leaves",
    "tree_map",
    "value_and_grad",
    "vdot",
    "vjp",
    "vmap",
    "while_loop",
    "with_gradient",
]

Wrt = Union[None, SupportsIndex, str, Sequence[SupportsIndex], Sequence[str]]


def _name_of(code: Any) -> str:
    return str(getattr(code, "__name__", type(code).__name__))


class _Code:
    """Code that is called on arrays, when it is traced and run, or inside of other code."""

    def __init__(self, code: Callable[..., Any]) -> None:
        if not callable(code):
            raise TypeError(f"{type(self).__name__.strip('_')}: expected code or a Function, not {type(code).__name__}")
        self._code = code
        self.__wrapped__ = code  # inspect.signature() looks there
        self.__name__ = _name_of(code)
        self.__doc__ = getattr(code, "__doc__", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not _core.tracing():
            return _core.run_code(self._inside, args, kwargs)
        return self._inside(*args, **kwargs)

    def __get__(self, instance: Any, kind: Any = None) -> Any:
        """As a function in a class: a method, whose first argument is the object."""
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{type(self).__name__.strip('_').lower()} of {self.__name__}>"

    def _inside(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def _traced(self, args: Tuple[Any, ...], kwargs: Dict[str, Any], types: Optional[List[str]] = None) -> Any:
        """The Values of the arguments' leaves and of what the code captures, its Function, its results' form."""
        leaves, tree = _core.flatten(args)
        values = _core.as_values(leaves, _name_of(self._code))
        code = functools.partial(self._code, **kwargs) if kwargs else self._code
        f, captured, result = _core.trace_inside(code, tree, types or [v.type for v in values])
        return f, values + captured, tree, result


def _places(args: Sequence[Any]) -> List[List[int]]:
    """The numbers of every argument's leaves."""
    places, first = [], 0
    for argument in args:
        count = len(_core.flatten(argument)[0])
        places.append(list(range(first, first + count)))
        first += count
    return places


def _build(argument: Any, leaves: Sequence[Any]) -> Any:
    return _core.flatten(argument)[1].build(list(leaves))


class _Gradient(_Code):
    def __init__(self, code: Callable[..., Any], wrt: Wrt, recompute: Sequence[str], with_value: bool, has_aux: bool) -> None:
        super().__init__(code)
        self._has_aux = has_aux
        self._names: List[str] = []
        self._positions: Union[int, Tuple[int, ...]] = 0
        self._recompute = _names_in(recompute)
        self._with_value = with_value
        if isinstance(wrt, str):
            self._names = [wrt]
        elif isinstance(wrt, SupportsIndex):
            self._positions = operator.index(wrt)
        elif wrt is not None:
            chosen: List[Any] = list(wrt)
            if not chosen:
                raise ValueError("wrt: expected at least one position or name, got none")
            if all(isinstance(w, str) for w in chosen):
                self._names = [str(w) for w in chosen]
            elif all(isinstance(w, SupportsIndex) for w in chosen):
                self._positions = tuple(operator.index(w) for w in chosen)
            else:
                raise TypeError("wrt: positions of arguments, or names in the first one, not both")

    def _inside(self, *args: Any, **kwargs: Any) -> Any:
        positions = (self._positions,) if isinstance(self._positions, int) else self._positions
        for p in positions:
            if not -len(args) <= p < len(args):
                raise ValueError(f"grad of code: expected an argument {p}, got {len(args)} by position")
        f, values, _, result = self._traced(args, kwargs)
        if not len(result):
            raise TypeError(f"grad of code: expected a scalar, the loss, from {self.__name__}, got nothing; is its return missing?")
        places = _places(args)
        forms: List[Any] = []
        by: List[int] = []
        for p in positions:
            form = args[p]
            leaves = places[p]
            if self._names:
                if not isinstance(form, Mapping):
                    raise InvalidArgumentError(
                        f"grad of code: names choose a part of a mapping: expected one, got {type(form).__name__}"
                    )
                chosen = Params(dict(zip(_names_of_leaves(form), leaves))).only(self._names)
                form, leaves = chosen, list(chosen.values())
            forms.append(form)
            by += leaves
        out = _core.inline(_core.value_and_grad(f, by, self._recompute), values)
        value = result.build(out[: len(result)])
        gradients, at = [], len(result)
        for form in forms:
            count = len(_core.flatten(form)[0])
            gradients.append(_build(form, out[at : at + count]))
            at += count
        gradient = gradients[0] if isinstance(self._positions, int) else tuple(gradients)
        if self._has_aux and not (isinstance(value, tuple) and len(value) == 2):
            raise TypeError(f"grad of code: has_aux: expected a pair (loss, aux) from {self.__name__}, got {type(value).__name__}")
        if self._with_value:
            return value, gradient
        return (gradient, value[1]) if self._has_aux else gradient


def _names_of_leaves(mapping: Mapping[str, Any]) -> List[str]:
    """A name for every leaf: of a list below a name each part has its number, and None has no leaf."""
    return _core.flatten(mapping)[1].names()


def _names_in(recompute: Any) -> List[str]:
    names = [recompute] if isinstance(recompute, str) else list(recompute)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"recompute: expected names of layers, got {name!r}")
    return names


def _wrt_of(f: Any, wrt: Wrt, argnums: Wrt, has_aux: bool) -> Wrt:
    if wrt is not None and argnums is not None:
        raise TypeError("grad: expected wrt or argnums, got both")
    if has_aux and isinstance(f, Function):
        raise TypeError("grad: has_aux is for code; the gradient of a Function is by its first output")
    return argnums if wrt is None else wrt


def grad(f: Any, wrt: Wrt = None, *, argnums: Wrt = None, has_aux: bool = False, recompute: Sequence[str] = ()) -> Any:
    """The gradient of a loss.

    Parameters
    ----------
    f : callable or Function
        Gives a floating scalar, the loss, or a tuple that begins with one.
    wrt : int, sequence of int, str or sequence of str, optional
        By which arguments: their positions, or names in the first one, where ``"layers.2"`` stands for
        all below it and the parts of a list are numbers. Default: the first argument. Of a Function
        positions or names of inputs.
    argnums
        JAX's name for `wrt`.
    has_aux : bool
        As in JAX: f returns a pair (loss, aux), and the result is a pair (gradient, aux).
    recompute : sequence of str
        Layers whose values are recomputed in the backward pass instead of being kept; a name that no layer has
        is a KeyError.

    Returns
    -------
    callable or Function
        Called like `f`; returns the gradient in the form of the arguments that it is with respect to.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.grad(lambda x: (x * x).sum())(lp.asarray([1.0, 2.0]))
    limpid.Array(f32[2] (2.0, 4.0))
    """
    by = _wrt_of(f, wrt, argnums, has_aux)
    if isinstance(f, Function):
        return _core.grad(f, by, _names_in(recompute))
    return _Gradient(f, by, recompute, with_value=False, has_aux=has_aux)


def value_and_grad(f: Any, wrt: Wrt = None, *, argnums: Wrt = None, has_aux: bool = False, recompute: Sequence[str] = ()) -> Any:
    """A pair: what f returns, and the gradient of its first result. Parameters are those of `grad`.

    With aux, f returns (loss, aux) and the pair is ((loss, aux), gradient), as in JAX.

    Examples
    --------
    >>> import limpid as lp
    >>> value, gradient = lp.value_and_grad(lambda p, x: (p["w"] * x).sum())({"w": 2.0}, 3.0)
    >>> value, gradient
    (limpid.Array(f32[] (6.0)), {'w': limpid.Array(f32[] (3.0))})
    """
    by = _wrt_of(f, wrt, argnums, has_aux)
    if isinstance(f, Function):
        return _core.value_and_grad(f, by, _names_in(recompute))
    return _Gradient(f, by, recompute, with_value=True, has_aux=has_aux)


class _Pullback(_Code):
    def _inside(self, primals: Any, cotangents: Any) -> Any:
        f, values, tree, result = self._traced(tuple(primals), {})
        leaves = result.leaves_of(cotangents, "vjp: the cotangents must have the form of the results")
        floating = [i for i, (_, kind) in enumerate(f.inputs[: len(tree)]) if kind.startswith(("f32", "f64"))]
        out = _core.inline(_core.vjp(f, floating, []), values + _core.as_values(leaves, "vjp"))[len(result) :]
        gradients: List[Any] = [None] * len(tree)
        for place, gradient in zip(floating, out):
            gradients[place] = gradient
        return tree.build(gradients)


def vjp(f: Any, *primals: Any, wrt: Wrt = None) -> Any:
    """Reverse mode: what f gives, and the function from cotangents of that to cotangents of the arguments.

    Of a Function, with `wrt`: the Function that takes the inputs and a cotangent for every output.

    Examples
    --------
    >>> import limpid as lp
    >>> y, pull = lp.vjp(lambda x: x * x, lp.asarray([1.0, 2.0]))
    >>> pull(lp.asarray([1.0, 10.0]))
    (limpid.Array(f32[2] (2.0, 40.0)),)
    """
    if isinstance(f, Function) and not primals:
        return _core.vjp(f, wrt, [])
    if wrt is not None:
        raise TypeError("vjp: wrt is for a Function without primals; of code every argument has a cotangent")
    back = _Pullback(f)
    value = f(*primals) if _core.tracing() else _core.run_code(f, primals, {})
    return value, lambda cotangents: back(primals, cotangents)


_FORM_OF_TANGENTS = "jvp: the tangents must have the form of the arguments"


class _Jvp(_Code):
    def _inside(self, primals: Any, tangents: Any) -> Any:
        f, values, _, result = self._traced(tuple(primals), {})
        for _, kind in f.outputs:
            if not kind.startswith(("f32", "f64")):
                raise DtypeError(f"jvp of code: expected results of f32 or f64, got {kind}")
        by: List[int] = []
        moving: List[Any] = []
        for places, primal, tangent in zip(_places(primals), primals, tangents):
            if tangent is None:
                continue
            if isinstance(primal, Mapping):
                if not isinstance(tangent, Mapping):
                    raise TypeError("jvp: the tangent of a mapping is a mapping")
                numbers = dict(zip(_names_of_leaves(primal), places))
                for name, part in zip(_names_of_leaves(tangent), _core.flatten(tangent)[0]):
                    if name not in numbers:
                        raise NotFoundError(f"there is no '{name}' among {', '.join(list(numbers)[:8])}")
                    by.append(numbers[name])
                    moving.append(part)
                continue
            by += places
            moving += _core.flatten(primal)[1].leaves_of(tangent, _FORM_OF_TANGENTS)
        out = _core.inline(_core.jvp(f, by), values + _core.as_values(moving, "jvp"))
        return result.build(out[: len(result)]), result.build(out[len(result) :])


def jvp(f: Any, primals: Optional[Sequence[Any]] = None, tangents: Optional[Sequence[Any]] = None, *, wrt: Wrt = None) -> Any:
    """Forward mode: what f gives, and how that moves when the arguments do.

    Parameters
    ----------
    f : callable or Function
    primals, tangents : sequence
        The arguments, and how each moves; None, or a name that a mapping leaves out, stands still. Of a
        Function without primals: the Function that takes the inputs and the tangents of `wrt`.

    Of code, every result is f32 or f64. Of a Function, only such outputs have tangents.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.jvp(lambda x: x * x, (lp.asarray([1.0, 2.0]),), (lp.asarray([1.0, 1.0]),))
    (limpid.Array(f32[2] (1.0, 4.0)), limpid.Array(f32[2] (2.0, 4.0)))
    """
    if primals is None or tangents is None:
        if isinstance(f, Function) and primals is None and tangents is None:
            return _core.jvp(f, wrt)
        raise TypeError("jvp: expected primals and tangents")
    if wrt is not None:
        raise TypeError("jvp: wrt is for a Function without primals; None is the tangent of what stands still")
    if not all(isinstance(given, (tuple, list)) for given in (primals, tangents)):
        raise TypeError(f"jvp: expected tuples of primals and tangents, got {type(primals).__name__} and {type(tangents).__name__}")
    if len(primals) != len(tangents):
        raise ValueError(_FORM_OF_TANGENTS)
    return _Jvp(f)(tuple(primals), tuple(tangents))


def _argnums_of(argnums: Any, what: str) -> Union[int, Tuple[int, ...]]:
    if isinstance(argnums, SupportsIndex):
        return operator.index(argnums)
    chosen = tuple(operator.index(a) for a in argnums)
    if not chosen:
        raise ValueError(f"{what}: argnums: expected at least one position, got none")
    return chosen


class _Derivatives(_Code):
    """Code whose results are derivatives by some arguments: what they have in common."""

    def __init__(self, code: Callable[..., Any], argnums: Any, what: str) -> None:
        super().__init__(code)
        self._positions = _argnums_of(argnums, what)
        self._what = what

    def _moving(self, args: Tuple[Any, ...]) -> Tuple[List[int], Callable[[List[Any]], Any]]:
        """The numbers of the leaves of the chosen arguments, and what gives a list of as many their form."""
        positions = (self._positions,) if isinstance(self._positions, int) else self._positions
        for p in positions:
            if not -len(args) <= p < len(args):
                raise ValueError(f"{self._what}: expected an argument {p}, got {len(args)} by position")
        places = _places(args)
        by = [leaf for p in positions for leaf in places[p]]

        def formed(leaves: List[Any]) -> Any:
            parts, at = [], 0
            for p in positions:
                count = len(places[p])
                parts.append(_build(args[p], leaves[at : at + count]))
                at += count
            return parts[0] if isinstance(self._positions, int) else tuple(parts)

        return by, formed


class _Jacobian(_Derivatives):
    def __init__(self, code: Callable[..., Any], argnums: Any, forward: bool) -> None:
        super().__init__(code, argnums, "jacfwd" if forward else "jacrev")
        self._forward = forward

    def _inside(self, *args: Any, **kwargs: Any) -> Any:
        f, values, _, result = self._traced(args, kwargs)
        by, formed = self._moving(args)
        for _, kind in f.outputs:
            if not kind.startswith(("f32", "f64")):
                raise DtypeError(f"{self._what}: expected results of f32 or f64, got {kind}")
        out = _core.inline(_core.jacobian(f, by, self._forward), values)
        return result.build([formed(out[o : o + len(by)]) for o in range(0, len(out), len(by))])


def jacrev(f: Callable[..., Any], argnums: Union[int, Sequence[int]] = 0) -> Callable[..., Any]:
    """The Jacobian in reverse mode, for more arguments than results.

    Parameters
    ----------
    f : callable
        Of arrays and trees of them; results are f32 or f64.
    argnums : int or sequence of int
        The positions of the arguments.

    Returns
    -------
    callable
        Called like `f`. For each array among the results, arrays (result dimensions..., argument
        dimensions...) in the form of the argument, or of a tuple of them if argnums is a sequence.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.jacrev(lambda x: x * x)(lp.asarray([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    return _Jacobian(f, argnums, forward=False)


def jacfwd(f: Callable[..., Any], argnums: Union[int, Sequence[int]] = 0) -> Callable[..., Any]:
    """The Jacobian in forward mode, for more results than arguments. As `jacrev` in all else.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.jacfwd(lambda x: x * x)(lp.asarray([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    return _Jacobian(f, argnums, forward=True)


def jacobian(f: Callable[..., Any], argnums: Union[int, Sequence[int]] = 0) -> Callable[..., Any]:
    """`jacrev`, under the name that JAX gives it, too.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.jacobian(lambda x: x * x)(lp.asarray([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    return jacrev(f, argnums)


class _Hessian(_Derivatives):
    def __init__(self, code: Callable[..., Any], argnums: Any) -> None:
        super().__init__(code, argnums, "hessian")

    def _inside(self, *args: Any, **kwargs: Any) -> Any:
        f, values, _, _ = self._traced(args, kwargs)
        by, formed = self._moving(args)
        out = _core.inline(_core.hessian(f, by), values)
        return formed([formed(out[row : row + len(by)]) for row in range(0, len(out), len(by))])


def hessian(f: Callable[..., Any], argnums: Union[int, Sequence[int]] = 0) -> Callable[..., Any]:
    """The second derivatives of a loss: forward mode over reverse mode.

    Parameters
    ----------
    f : callable
        Gives an f32 or f64 scalar.
    argnums : int or sequence of int
        The positions of the arguments.

    Returns
    -------
    callable
        Called like `f`. For arrays (dimensions..., dimensions...); for trees the form of the argument, and in
        it for each array once more that form.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.hessian(lambda x: (x * x * x).sum())(lp.asarray([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return _Hessian(f, argnums)


class _Hvp(_Code):
    def _inside(self, primals: Any, tangents: Any) -> Any:
        f, values, tree, _ = self._traced(tuple(primals), {})
        moving = tree.leaves_of(tuple(tangents), "hvp: the tangents must have the form of the arguments")
        out = _core.inline(_core.hvp(f, list(range(len(tree)))), values + _core.as_values(moving, "hvp"))
        product = tree.build(out)
        return product[0] if len(primals) == 1 else product


def hvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The product of the Hessian of a loss with a vector, without the Hessian: forward mode over reverse mode.

    Parameters
    ----------
    f : callable
        Gives an f32 or f64 scalar.
    primals, tangents : sequence
        The arguments of `f`, f32 or f64, and a vector of their form.

    Returns
    -------
    array or tree
        Of the form of the argument; of several arguments a tuple.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.hvp(lambda x: (x * x * x).sum(), (lp.asarray([1.0, 2.0]),), (lp.asarray([1.0, 10.0]),))
    limpid.Array(f32[2] (6.0, 120.0))
    """
    if not all(isinstance(given, (tuple, list)) for given in (primals, tangents)):
        raise TypeError(f"hvp: expected tuples of primals and tangents, got {type(primals).__name__} and {type(tangents).__name__}")
    return _Hvp(f)(tuple(primals), tuple(tangents))


def _axes_of(tree: Any, axes: Any, what: str) -> List[Optional[int]]:
    """The axis of every leaf of a tree: one for all of it, or a tree of axes of its form down to some depth."""
    if axes is None:
        return [None] * len(_core.flatten(tree)[0])
    if isinstance(axes, int) and not isinstance(axes, bool):
        return [axes] * len(_core.flatten(tree)[0])
    parts: List[Tuple[Any, Any]] = []
    if isinstance(axes, Mapping):
        if not isinstance(tree, Mapping) or set(axes) != set(tree):
            have = ", ".join(str(t) for t in list(tree)[:8]) if isinstance(tree, Mapping) else type(tree).__name__
            raise InvalidArgumentError(f"vmap: {what}: expected axes for {have}, got {', '.join(str(a) for a in list(axes)[:8])}")
        parts = [(tree[name], axes[name]) for name in tree]
    elif isinstance(axes, (list, tuple)):
        if not isinstance(tree, (list, tuple)) or len(axes) != len(tree):
            wanted = f"{len(tree)} axes" if isinstance(tree, (list, tuple)) else f"axes for {type(tree).__name__}"
            raise InvalidArgumentError(f"vmap: {what}: expected {wanted}, got a {type(axes).__name__} of {len(axes)}")
        parts = list(zip(tree, axes))
    else:
        raise TypeError(f"vmap: {what}: expected an axis, None, or a tree of them, not {type(axes).__name__}")
    return [axis for part, of_part in parts for axis in _axes_of(part, of_part, what)]


def _moved(value: Value, axis: Optional[int]) -> Value:
    """A result whose first axis is the batch, with the batch at `axis`."""
    if axis is None:
        raise InvalidArgumentError("vmap: out_axes: every result has the batch; expected an axis, not None")
    rank = value.ndim
    if not -rank <= axis < rank:
        raise ShapeError(f"vmap: out_axes: {value.type} has no axis {axis}")
    order = list(range(1, rank))
    order.insert(axis % rank, 0)
    moved: Value = _core.transpose(value, order) if axis % rank else value
    return moved


class _Vmap(_Code):
    def __init__(self, code: Callable[..., Any], in_axes: Any, out_axes: Any) -> None:
        super().__init__(code)
        self._axes = in_axes
        self._out_axes = out_axes

    def _inside(self, *args: Any, **kwargs: Any) -> Any:
        axes = self._axes
        if isinstance(axes, (list, tuple)) and len(axes) != len(args):
            raise InvalidArgumentError(f"vmap of code: {len(axes)} axes for {len(args)} arguments")
        of_leaves = _axes_of(args, axes, "in_axes")
        leaves, _ = _core.flatten(args)
        size, first, types = None, "", []
        for value, axis in zip(_core.as_values(leaves, "vmap"), of_leaves):
            kind, shape = value.type.split("[")[0], list(value.shape)
            if axis is not None:
                if not -len(shape) <= axis < len(shape):
                    raise ShapeError(f"vmap of code: {value.type} has no axis {axis}")
                here = shape.pop(axis)
                if size is None:
                    size, first = here, value.type
                elif here != size:
                    raise ShapeError(f"vmap of code: {first} has a batch of {size}, and {value.type} one of {here}")
            types.append(f"{kind}{shape}")
        if size is None:
            raise InvalidArgumentError("vmap of code: no argument has an axis")
        f, values, _, result = self._traced(args, kwargs, types)
        shared: List[Optional[int]] = [None] * (len(values) - len(of_leaves))
        out = _core.inline(_core.vmap(f, of_leaves + shared, size), values)
        if self._out_axes != 0:
            to = _axes_of(result.build(out), self._out_axes, "out_axes")
            out = [_moved(value, axis) for value, axis in zip(out, to)]
        return result.build(out)


def vmap(f: Any, in_axes: Any = 0, size: Optional[int] = None, *, out_axes: Any = 0) -> Any:
    """Code of one example becomes code of a batch; ``vmap(f)(X)[i]`` has the bits of ``f(X[i])``.

    Parameters
    ----------
    f : callable or Function
    in_axes : int, or a sequence with one of int, None or a tree of them for every argument
        The axis that the arrays of an argument have and the code does not see; None where the whole batch
        shares it. A tree has the form of its argument: ``({"w": None, "x": 0}, 0)``. What the code captures
        is shared, and so are keyword arguments.
    size : int, optional
        Of a Function: the size of the batch; the result is a Function then.
    out_axes : int, or a tree of int of the form of the results
        Of code: where the results have the batch.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.vmap(lambda x: (x * x).sum())(lp.asarray([[1.0, 2.0], [3.0, 4.0]]))
    limpid.Array(f32[2] (5.0, 25.0))
    """
    if isinstance(f, Function) and size is not None:
        if out_axes != 0:
            raise TypeError("vmap: out_axes belong to code; the results of a Function have the batch in front")
        axes = [in_axes] * len(f.inputs) if in_axes is None or isinstance(in_axes, int) else list(in_axes)
        return _core.vmap(f, axes, size)
    if size is not None:
        raise TypeError("vmap: a size belongs to a Function; code has that of its arguments")
    return _Vmap(f, in_axes, out_axes)


def _cotangent(argument: Any, given: Any) -> Any:
    """A cotangent for every leaf of an argument; None stands for zeros."""
    if isinstance(argument, Mapping):
        parts = {} if given is None else given
        if not isinstance(parts, Mapping):
            raise TypeError("with_gradient: the cotangent of a mapping is a mapping")
        for name in parts:
            if name not in argument:
                raise NotFoundError(f"there is no '{name}' among {', '.join(str(a) for a in list(argument)[:8])}")
        return {name: _cotangent(part, parts.get(name)) for name, part in argument.items()}
    if isinstance(argument, (list, tuple)):
        if given is not None and (not isinstance(given, (list, tuple)) or len(given) != len(argument)):
            raise ValueError("with_gradient: the cotangents must have the form of the arguments")
        return [_cotangent(part, None if given is None else given[i]) for i, part in enumerate(argument)]
    if argument is not None and given is None:
        return _core.zeros(argument.shape, argument.type.split("[")[0])
    return given


def _gradient_of_arguments(gradient: Callable[..., Any], count: int, *given: Any) -> Any:
    """The code of with_gradient's gradient with a cotangent for each leaf of the arguments, in their order."""
    cotangents = gradient(*given)
    return _cotangent(given[:count], (cotangents,) if count == 1 else cotangents)


class _WithGradient(_Code):
    # So many Functions are kept: more than the shapes of any program that calls it again and again.
    _MOST = 64

    def __init__(self, code: Callable[..., Any], gradient: Callable[..., Any]) -> None:
        super().__init__(code)
        if not callable(gradient):
            raise TypeError(f"with_gradient: expected code of a gradient, not {type(gradient).__name__}")
        self._gradient = gradient
        self._known: List[Tuple[Any, _core.Composed]] = []

    def _inside(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise TypeError(f"{self.__name__}: code with a gradient of its own takes arguments by position")
        leaves, tree = _core.flatten(args)
        values = _core.as_values(leaves, self.__name__)
        f, result = _core.trace(self._code, tree.build(values), self.__name__.strip("<>"), [], [])
        return result.build(self._composed(f, tree, result)(values))

    def _composed(self, f: Function, tree: Any, result: Any) -> "_core.Composed":
        """The same one where the same Function comes again, so that plans with it are found again."""
        given = (*tree.build(range(len(tree))), *(result.build(range(len(result))) for _ in range(2)))
        form = _core.flatten(given)[1]
        for known, composed in self._known:
            if known == form and composed.body == f:
                return composed
        count = len(given) - 2
        made = _core.Composed(f, functools.partial(_gradient_of_arguments, self._gradient, count), form)
        self._known = [(form, made), *self._known[: self._MOST - 1]]
        return made


def with_gradient(f: Callable[..., Any], gradient: Callable[..., Any]) -> Callable[..., Any]:
    """Code with a gradient of its own; grad, vmap and compile know it.

    Parameters
    ----------
    f : callable
        What it gives, which defines the bits. It takes arrays and trees of them, by position.
    gradient : callable
        ``gradient(*arguments, result, cotangent)`` gives the cotangent of the argument, a tuple where there are
        several. None, for an argument or a part of one, stands for zeros; of integers it is ignored.

    Returns
    -------
    callable
        Called like `f`. A Function that holds such a call has no text that `parse` reads, and is neither saved
        nor pickled; `expand` leaves what `f` does, with the gradient of that.

    Notes
    -----
    Both are Python code that is traced whenever there is a call, or a gradient of one. They use none of the
    Values of code around them: what they need is an argument.

    Examples
    --------
    >>> import limpid as lp
    >>> straight_through = lp.with_gradient(lp.round, lambda x, y, cotangent: cotangent)
    >>> lp.value_and_grad(lambda x: (straight_through(x) * 3.0).sum())(lp.asarray([0.4, 1.7]))
    (limpid.Array(f32[] (6.0)), limpid.Array(f32[2] (3.0, 3.0)))
    """
    return _WithGradient(f, gradient)


class _Scan(_Code):
    def __init__(self, code: Callable[..., Any], length: Optional[int], reverse: bool, recompute: bool) -> None:
        super().__init__(code)
        self._length = length
        self._reverse = reverse
        self._recompute = recompute

    def _inside(self, *args: Any, **kwargs: Any) -> Any:
        init, xs = args
        carry, form = _core.flatten(init)
        scanned, _ = _core.flatten(xs)
        values = _core.as_values([*carry, *scanned], self.__name__)
        length = self._length
        types = [v.type for v in values[: len(carry)]]
        for v in values[len(carry) :]:
            if not v.ndim:
                raise ShapeError(f"scan: expected an array with a dimension of steps, got {v.type}")
            if length is not None and v.shape[0] != length:
                raise ShapeError(f"scan: expected {length} steps along the first dimension, got {v.type}")
            length = v.shape[0]
            types.append(f"{v.type.split('[')[0]}{list(v.shape[1:])}")
        if length is None:
            raise InvalidArgumentError("scan: expected a length, as there is nothing to take parts of")
        f, captured, result = _core.trace_inside(self._code, _core.flatten((init, xs))[1], types)
        places = result.build(list(range(len(result))))
        if not isinstance(places, tuple) or len(places) != 2:
            raise TypeError(f"scan: expected the next carry and a result, a tuple of two, from {self.__name__}")
        if _core.flatten(places[0])[1] != form:
            raise TypeError(f"scan: expected a next carry of the form of the first one from {self.__name__}")
        made = _core.call_op(
            "scan",
            *values,
            *captured,
            body=f,
            carries=len(carry),
            length=length,
            recompute=self._recompute,
            reverse=self._reverse,
            scanned=len(scanned),
        )
        return result.build(made if isinstance(made, (list, tuple)) else [made])


def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: Optional[int] = None,
    reverse: bool = False,
    *,
    recompute: bool = False,
) -> Tuple[Any, Any]:
    """A loop over time, one op whatever its number of steps (JAX: ``jax.lax.scan``).

    Parameters
    ----------
    f : callable
        ``f(carry, x)`` gives the next carry, of the same form and types, and a result, which may be None. What
        it captures is shared by all steps.
    init : array_like, or a tree
        The carry before the first step.
    xs : array_like, or a tree, optional
        Step t gets element t of each array along its first dimension; without arrays, None.
    length : int, optional
        The number of steps; needed only where `xs` has no arrays.
    reverse : bool
        From the last step to the first. The results of step t are at t all the same.
    recompute : bool
        The gradient computes each step again from its carry instead of keeping what it reads of the step
        (``jax.checkpoint`` of `f`). The bits stay the same.

    Returns
    -------
    tuple
        The carry after the last step, and the results of all steps, each ``[length, ...]``.

    Notes
    -----
    The order of the steps defines the bits. A plan has the steps of `f` once, and memory for one step besides
    the results. The gradient is a scan in the reverse order; the forward scan keeps for it what the gradient
    of `f` reads of each step. The gradient of what all steps share is added up in that order.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.scan(lambda total, x: (total + x, total), lp.asarray(0.0), lp.asarray([1.0, 2.0, 3.0]))
    (limpid.Array(f32[] (6.0)), limpid.Array(f32[3] (0.0, 1.0, 3.0)))
    """
    last, ys = _Scan(f, None if length is None else operator.index(length), bool(reverse), bool(recompute))(init, xs)
    return last, ys


def map(f: Callable[[Any], Any], xs: Any) -> Any:  # noqa: A001
    """`f` of each element of `xs` along the first dimension, one after the other; the results stacked.

    A `scan` without a carry (JAX: ``jax.lax.map``). It needs the memory of one call, where `vmap` has all at
    once.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.map(lambda x: x * x, lp.asarray([1.0, 2.0, 3.0]))
    limpid.Array(f32[3] (1.0, 4.0, 9.0))
    """
    return scan(lambda carry, x: (carry, f(x)), (), xs)[1]


def _placed(f: Function, values: Sequence[Any], places: Sequence[int]) -> Function:
    """`f` as a Function of all values, of which it takes those at these places."""
    code = lambda *given: tuple(_core.inline(f, [given[i] for i in places]))  # noqa: E731
    return _core.trace_inside(code, _core.flatten(tuple(values))[1], [v.type for v in values])[0]


class _Cond(_Code):
    def __init__(self, yes: Callable[..., Any], no: Callable[..., Any]) -> None:
        super().__init__(yes)
        self._no = _Code(no)

    def _inside(self, *args: Any, **kwargs: Any) -> Any:
        predicate = _core.as_values([args[0]], "cond")[0]
        yes, of_yes, _, result = self._traced(args[1:], {})
        no, of_no, _, other = self._no._traced(args[1:], {})
        if result != other:
            raise TypeError(f"cond: {self.__name__} and {self._no.__name__} give results of different forms")
        count = len(_core.flatten(args[1:])[0])
        captured = of_yes[count:], of_no[count:]
        values = [*of_yes[:count], *captured[0], *captured[1]]
        own = [*range(count + len(captured[0]))]
        others = [*range(count), *range(len(own), len(values))]
        made = _core.call_op("cond", predicate, *values, no=_placed(no, values, others), yes=_placed(yes, values, own))
        return result.build(made if isinstance(made, (list, tuple)) else [made])


def cond(predicate: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """One of two pieces of code, by a bool that is known when it runs (JAX: ``jax.lax.cond``).

    Parameters
    ----------
    predicate : array_like
        A scalar of bool. Under `vmap`, if it differs between examples, both are computed.
    true_fun, false_fun : callable
        Only one of them runs. Both take the operands and give results of the same form and types.
    *operands : array_like, or trees

    Examples
    --------
    >>> import limpid as lp
    >>> f = lp.compile(lambda x: lp.cond(x.sum() > 0, lambda: x * 2.0, lambda: -x))
    >>> f(lp.asarray([1.0, 2.0])), f(lp.asarray([-1.0, -2.0]))
    (limpid.Array(f32[2] (2.0, 4.0)), limpid.Array(f32[2] (1.0, 2.0)))
    """
    for code in (true_fun, false_fun):
        if not callable(code):
            raise TypeError(f"cond() expected code for both branches, not {type(code).__name__}")
    return _Cond(true_fun, false_fun)(predicate, *operands)


class _While(_Code):
    def __init__(self, test: Callable[..., Any], body: Callable[..., Any], limit: int) -> None:
        super().__init__(body)
        self._test = _Code(test)
        self._limit = limit

    def _inside(self, *args: Any, **kwargs: Any) -> Any:
        test, of_test, _, _ = self._test._traced(args, {})
        body, of_body, _, result = self._traced(args, {})
        leaves, form = _core.flatten(args[0])
        if result != form:
            raise TypeError(f"while_loop: expected a carry of the form of the first one from {self.__name__}")
        count = len(leaves)
        values = [*of_body[:count], *of_test[count:], *of_body[count:]]
        own = [*range(count), *range(len(of_test), len(values))]
        made = _core.call_op(
            "while_loop",
            *values,
            body=_placed(body, values, own),
            carries=count,
            condition=_placed(test, values, [*range(len(of_test))]),
            limit=self._limit,
        )
        return result.build(made if isinstance(made, (list, tuple)) else [made])


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any, limit: Optional[int] = None
) -> Any:
    """Steps of `body_fun` while `cond_fun` is true (JAX: ``jax.lax.while_loop``).

    Parameters
    ----------
    cond_fun, body_fun : callable
        Of the carry: a scalar of bool, and the next carry, of the same form and types.
    init : array_like, or a tree
        The carry before the first step.
    limit : int, optional
        The most steps. A gradient needs one: it takes as many steps, and memory for each.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.while_loop(lambda x: x < 100.0, lambda x: x * 2.0, lp.asarray(3.0))
    limpid.Array(f32[] (192.0))
    """
    most = 2**63 - 1 if limit is None else operator.index(limit)
    return _While(cond_fun, body_fun, most)(init)


def stop_gradient(x: Any) -> Any:
    """`x`, an array or a tree of arrays, which grad takes as a constant (PyTorch: ``detach``).

    Examples
    --------
    >>> import limpid as lp
    >>> lp.grad(lambda x: (x * lp.stop_gradient(x)).sum())(lp.asarray([2.0, 3.0]))
    limpid.Array(f32[2] (2.0, 3.0))
    """
    return tree_map(_core.stop_gradient, x)


class custom_vjp(_Code):
    """`with_gradient` in the form of ``jax.custom_vjp``, a decorator.

    Parameters
    ----------
    f : callable
        What it gives, also where it is differentiated: of `fwd` only the second result is used.

    Examples
    --------
    >>> import limpid as lp
    >>> @lp.custom_vjp
    ... def log1pexp(x):
    ...     return lp.log(1.0 + lp.exp(x))
    >>> log1pexp.defvjp(lambda x: (log1pexp(x), x), lambda x, cotangent: (cotangent * lp.sigmoid(x),))
    >>> lp.grad(log1pexp)(100.0)
    limpid.Array(f32[] (1.0))
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        super().__init__(f)
        self._composed: Optional[_WithGradient] = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Sets the gradient.

        Parameters
        ----------
        fwd : callable
            Called like `f`; gives a pair of what `f` gives, and a tree of what `bwd` needs.
        bwd : callable
            ``bwd(needed, cotangent)`` gives a tuple with the cotangent of every argument.
        """
        if not callable(fwd) or not callable(bwd):
            raise TypeError("custom_vjp: fwd and bwd are code")

        def gradient(*given: Any) -> Any:
            made = fwd(*given[:-2])
            if not isinstance(made, tuple) or len(made) != 2:
                raise TypeError("custom_vjp: fwd gives a pair of the result and what bwd needs")
            cotangents = bwd(made[1], given[-1])
            if not isinstance(cotangents, (tuple, list)) or len(cotangents) != len(given) - 2:
                raise TypeError(f"custom_vjp: bwd gives a tuple of {len(given) - 2}, a cotangent for every argument")
            return cotangents[0] if len(given) == 3 else cotangents

        self._composed = _WithGradient(self._code, gradient)

    def _inside(self, *args: Any, **kwargs: Any) -> Any:
        if self._composed is None:
            raise ValueError(f"custom_vjp: {self.__name__} has no gradient yet; call its defvjp(fwd, bwd)")
        return self._composed._inside(*args, **kwargs)


def compile(f: Any, *, threads: int = 1) -> Compiled:
    """Code or a Function as one compiled plan, traced when it first meets arguments of new types.

    Parameters
    ----------
    f : callable or Function
    threads : int
        That share the work of a call. No bit depends on it.

    Returns
    -------
    Compiled
        Called like `f`, on arrays and trees of them, from any number of threads at once.

    Examples
    --------
    >>> import limpid as lp
    >>> step = lp.compile(lp.value_and_grad(lambda p, x: ((p["w"] * x - 1.0) ** 2).sum()))
    >>> step({"w": 2.0}, 3.0)
    (limpid.Array(f32[] (25.0)), {'w': limpid.Array(f32[] (30.0))})
    """
    return Compiled(f, threads)


def trace(
    code: Callable[..., Any],
    *examples: Any,
    name: Optional[str] = None,
    names: Sequence[str] = (),
    outputs: Sequence[str] = (),
) -> Function:
    """The Function that code writes for arguments like these.

    Parameters
    ----------
    code : callable
    *examples
        Arrays, types as text, or trees of them: ``lp.trace(f, "f32[4]", params)``.
    name : str, optional
        Of the Function; that of the code, unless told.
    names : sequence of str
        Of the arguments; those of the code's parameters, unless told. What is in a mapping has its own.
    outputs : sequence of str
        Names of the results, if they are to have some.

    Examples
    --------
    >>> import limpid as lp
    >>> print(lp.trace(lambda x: lp.relu(x) * 2.0, "f32[3]", name="twice"))
    function twice(%x: f32[3]) {
      %0 = relu(%x) : f32[3]
      %1 = constant() {value = f32[] (2.0)} : f32[]
      %2 = broadcast(%1) {shape = [3]} : f32[3]
      %3 = multiply(%0, %2) : f32[3]
      return %3
    }
    <BLANKLINE>
    """
    given = list(names)
    if not given:
        try:
            parameters = inspect.signature(code).parameters.values()
            for p in parameters:
                if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
                    break
                given.append(p.name)
        except (TypeError, ValueError):
            pass
    called = name if name is not None else _name_of(code).strip("<>").replace("<", "").replace(">", "")
    function: Function = _core.trace(code, examples, called, given, list(outputs))[0]
    return function


def parse(text: str) -> Function:
    """A Function from its text, as ``print`` shows it with all numbers (`Function.text`)."""
    return _core.parse(text)


def bind(f: Function, values: Mapping[str, Any]) -> Function:
    """f with the inputs of these names replaced by arrays; the others stay, in their order."""
    return _core.bind(f, values)


def simplify(f: Function) -> Function:
    """The same Function with less work in it, and the same bits."""
    return _core.simplify(f)


def expand(f: Function) -> Function:
    """f with all compositions replaced by their bodies, down to primitives; the same bits."""
    return _core.expand(f)


class Collapsed(NamedTuple):
    """What `collapse` gives: a Function, and what was done, a line each."""

    function: Function
    done: List[str]


def collapse(f: Function) -> Collapsed:
    """For inference: layers that are one layer in exact arithmetic become one. The bits change."""
    return Collapsed(*_core.collapse(f))


class Quantized(NamedTuple):
    """What `quantize` gives: a Function, its params, and what was done, a line each."""

    function: Function
    params: Params
    done: List[str]


def quantize(f: Function, params: Mapping[str, Any], to: Any = "i8", exclude: Sequence[str] = ()) -> Quantized:
    """Weights in fewer bytes, ``"i8"`` or ``"bf16"``. The bits change."""
    return Quantized(*_core.quantize(f, params, to, list(exclude)))


def call(op: str, *inputs: Any, **attributes: Any) -> Any:
    """One op by its name, with its attributes; all of them are required."""
    return _core.call_op(op, *inputs, **attributes)


def _first_array(x: Any) -> Any:
    """The first Array or Value in nested lists, or None."""
    if isinstance(x, (list, tuple)):
        return next((found for found in (_first_array(part) for part in x) if found is not None), None)
    return x if isinstance(x, (Array, Value)) else None


def _stacked(parts: Sequence[Any], like: Any) -> Any:
    """Nested lists with arrays among them: numbers beside floating arrays have their dtype."""
    kind = like.type.split("[")[0]
    wanted = kind if "f" in kind else None
    return _core.stack([part if isinstance(part, (Array, Value)) else asarray(part, wanted if _first_array(part) is None else None) for part in parts], 0)


def asarray(x: Any, dtype: Any = None) -> Any:
    """An Array of what x holds: without a copy where its layout and dtype allow.

    An Array of somebody's memory sees what is written there later; `array` copies. Of Values, while code is
    traced, a Value.

    Parameters
    ----------
    x : array_like
        Anything with the buffer protocol, DLPack, ``__array_interface__`` or ``__array__``; a number, or
        nested lists of numbers, which become f32 or i32.
    dtype : dtype, optional
        Elements are converted to it as `cast` does.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.asarray([[1, 2], [3, 4]])
    limpid.Array(i32[2, 2]
    [[1, 2],
     [3, 4]])
    """
    like = _first_array(x)
    if like is not None and like is not x:
        x = _stacked(x, like)
    if isinstance(x, Value):
        return x if dtype is None else _core.cast(x, dtype)
    made = _core.asarray(_from_lists(x, dtype))
    if dtype is None or _core.dtype_name(dtype) == made.type.split("[")[0]:
        return made
    return _core.cast(made, dtype)


def array(x: Any, dtype: Any = None) -> Any:
    """As `asarray`, with elements of its own."""
    made = asarray(x, dtype)
    return made if isinstance(made, Value) else _core.array(made)


def _from_lists(x: Any, dtype: Any) -> Any:
    number = dtype is not None and isinstance(x, (int, float)) and not isinstance(x, bool)
    if not number and not isinstance(x, (list, tuple, range)):
        return x
    import numpy as np

    made = np.asarray(x)
    if made.dtype.kind == "f" and dtype is None:
        return made.astype(np.float32)
    if made.dtype.kind in "iu" and dtype is None:
        if made.size and (made.max() > 2147483647 or made.min() < -2147483648):
            raise ValueError("asarray: integers become i32, and one is too large; give dtype='i64'")
        return made.astype(np.int32)
    return made


class no_copy:
    """Inside of ``with lp.no_copy():`` an array that would be copied on its way in is an error.

    Parameters
    ----------
    warn : bool
        A `CopyWarning` instead of the error.
    """

    def __init__(self, warn: bool = False) -> None:
        self._mode = 1 if warn else 2
        self._before: List[int] = []

    def __enter__(self) -> "no_copy":
        self._before.append(_core.set_on_copy(self._mode))
        return self

    def __exit__(self, *exception: Any) -> None:
        _core.set_on_copy(self._before.pop())


def stack(parts: Sequence[Any], axis: int = 0) -> Any:
    """Arrays one beside the other along a new axis; of mappings the arrays of each name."""
    if parts and all(isinstance(p, Mapping) for p in parts):
        first = Params(parts[0])
        return first.map(lambda *each: _core.stack(list(each), axis), *parts[1:])
    return _core.stack(list(parts), axis)


def vdot(a: Any, b: Any) -> Array:
    """The sum of the products of all elements of two groups with the same names, or of two arrays.

    Parameters
    ----------
    a, b : array_like, or mappings
        Arrays of one shape, which NumPy's vdot flattens, or mappings with the same names.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.vdot(lp.asarray([1.0, 2.0]), lp.asarray([3.0, 4.0]))
    limpid.Array(f32[] (11.0))
    """
    if not isinstance(a, Mapping):
        product = _core.multiply(a, b)
        for x in (a, b):
            if getattr(x, "shape", ()) != product.shape:
                raise ShapeError(f"vdot: expected arrays of one shape, got {list(getattr(x, 'shape', ()))} for {product.type}; lp.matmul multiplies matrices")
        summed: Array = _core.sum(product)
        return summed
    total: Any = None
    for part in Params(a).map(vdot, b).values():
        total = part if total is None else _core.add(total, part)
    if total is None:
        raise InvalidArgumentError("vdot: the groups are empty")
    result: Array = total
    return result


def einsum(equation: str, *operands: Any) -> Array:
    """Sums of products by the names of dimensions, as NumPy's einsum.

    Parameters
    ----------
    equation : str
        A letter for every dimension of every operand, separated by commas; "..." for dimensions without a
        name, which are broadcast; after "->" the dimensions of the result. Without it, they are the letters
        that occur once, in alphabetical order.
    *operands : array_like
        Of one dtype; taken from left to right, two at a time.

    Examples
    --------
    >>> import limpid as lp
    >>> x = lp.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> lp.einsum("ij,jk->ik", x, x).tolist(), lp.einsum("ii", x)
    ([[7.0, 10.0], [15.0, 22.0]], limpid.Array(f32[] (5.0)))
    """
    if not isinstance(equation, str):
        raise TypeError(f"einsum: expected an equation such as 'ij,jk->ik' first, not {type(equation).__name__}")
    result: Array = _core._einsum(equation, list(operands))
    return result


def meshgrid(*arrays: Any, indexing: str = "xy") -> Tuple[Array, ...]:
    """Vectors repeated along the dimensions of each other: N vectors give N arrays of rank N, as NumPy's meshgrid.

    Parameters
    ----------
    *arrays : array_like
        Vectors or scalars.
    indexing : {"xy", "ij"}
        "ij": array i varies along dimension i; "xy" exchanges the first two.

    Examples
    --------
    >>> import limpid as lp
    >>> x, y = lp.meshgrid(lp.asarray([1, 2, 3]), lp.asarray([10, 20]))
    >>> x.tolist(), y.tolist()
    ([[1, 2, 3], [1, 2, 3]], [[10, 10, 10], [20, 20, 20]])
    """
    grids: Tuple[Array, ...] = _core._meshgrid(list(arrays), indexing)
    return grids


def permutation(key: Any, x: Any, axis: int = 0) -> Array:
    """The numbers 0, 1, ..., x - 1 in random order, or the slices of an array along an axis, as JAX's.

    Parameters
    ----------
    key : Key
    x : int or array_like
    axis : int
        Of an array; its slices stay as they are.

    Examples
    --------
    >>> import limpid as lp
    >>> sorted(lp.permutation(lp.Key(0), 4).tolist())
    [0, 1, 2, 3]
    """
    result: Array = _core._permutation(key, x, axis)
    return result


def ravel(x: Any) -> Array:
    """The elements of an array in their order, one dimension.

    Parameters
    ----------
    x : array_like
        Trees of arrays: `ravel_pytree`.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.ravel(lp.asarray([[1, 2], [3, 4]]))
    limpid.Array(i32[4] (1, 2, 3, 4))
    """
    if isinstance(x, Mapping):
        raise TypeError("ravel: expected an array, got a mapping; lp.ravel_pytree takes trees")
    result: Array = _core.reshape(x, (-1,))
    return result


def ravel_pytree(tree: Any) -> Tuple[Array, Callable[[Any], Any]]:
    """All elements of a tree of arrays as one vector, and the function that makes a tree of its form from one.

    Parameters
    ----------
    tree : array_like, or a tree
        All arrays of one dtype.

    Returns
    -------
    tuple
        The vector, and ``unravel(vector)``, for vectors of this size and any dtype.

    Examples
    --------
    >>> import limpid as lp
    >>> flat, unravel = lp.ravel_pytree({"w": lp.ones((2, 1)), "b": lp.zeros(1)})
    >>> flat, unravel(flat * 2.0)["w"].tolist()
    (limpid.Array(f32[3] (1.0, 1.0, 0.0)), [[2.0], [2.0]])
    """
    leaves, form = _core.flatten(tree)
    arrays = [leaf if isinstance(leaf, (Array, Value)) else asarray(leaf) for leaf in leaves]
    kinds = {leaf.type.split("[")[0] for leaf in arrays}
    if len(kinds) > 1:
        raise DtypeError(f"ravel_pytree: expected arrays of one dtype, got {', '.join(sorted(kinds))}")
    shapes = [tuple(leaf.shape) for leaf in arrays]
    places = [0]
    for leaf in arrays:
        places.append(places[-1] + leaf.size)

    def unravel(flat: Any) -> Any:
        vector = flat if isinstance(flat, (Array, Value)) else asarray(flat)
        if tuple(vector.shape) != (places[-1],):
            raise ShapeError(f"unravel: expected a vector of {places[-1]}, got {vector.type}")
        if not shapes:
            return form.build([])
        parts = _core.split(vector, places[1:-1])
        return form.build([_core.reshape(part, shape) for part, shape in zip(parts, shapes)])

    flat: Array = _core.concatenate([_core.reshape(leaf, (-1,)) for leaf in arrays]) if arrays else _core.zeros(0)
    return flat, unravel


def tree_map(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A tree of the same form, with f of every leaf, and of those in the same places of other trees."""
    leaves, form = _core.flatten(tree)
    rest = [form.leaves_of(other, "tree_map: the trees must have one form") for other in others]
    return form.build([f(*each) for each in zip(leaves, *rest)])


def tree_leaves(tree: Any) -> List[Any]:
    """The leaves of a tree, from left to right."""
    return list(_core.flatten(tree)[0])
