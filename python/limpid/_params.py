"""Params: arrays (or Values, while code is traced) under the names of a PyTorch state_dict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Sequence, Union

from . import _core
from .errors import InvalidArgumentError, NotFoundError

__all__ = ["Params"]


def _flat(entries: Mapping[str, Any], prefix: str, into: Dict[str, Any]) -> None:
    for name, value in entries.items():
        full = f"{prefix}.{name}" if prefix else str(name)
        if isinstance(value, Mapping):
            _flat(value, full, into)
        elif full in into:
            raise InvalidArgumentError(f"the name '{full}' comes twice: of a mapping in another, and with a dot of its own")
        else:
            into[full] = value


class Params(Mapping[str, Any]):
    """Arrays by name, an immutable mapping.

    Arithmetic works name by name: ``params - 0.1 * gradients``. Inside of traced code the entries are
    Values.

    Parameters
    ----------
    entries : mapping
        Names and arrays; mappings below them are flattened, their names joined by dots.

    Examples
    --------
    >>> import limpid as lp
    >>> p = lp.Params({"layers": {"0": {"weight": lp.ones((2, 2)), "bias": lp.zeros(2)}}})
    >>> list(p)
    ['layers.0.weight', 'layers.0.bias']
    >>> (p - 0.5 * p)["layers.0.weight"]
    limpid.Array(f32[2, 2]
    [[0.5, 0.5],
     [0.5, 0.5]])
    """

    __slots__ = ("_entries",)
    _entries: Dict[str, Any]

    def __init__(self, entries: Mapping[str, Any] = {}) -> None:
        if not isinstance(entries, Mapping):
            raise TypeError(f"Params: expected a mapping of names to arrays, got {type(entries).__name__}")
        flat: Dict[str, Any] = {}
        _flat(entries, "", flat)
        object.__setattr__(self, "_entries", flat)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("Params are immutable; with_({...}) gives changed ones")

    if not TYPE_CHECKING:  # a checker of types says that there is none

        def __setitem__(self, name: str, value: Any) -> None:
            raise TypeError("Params are immutable; with_({...}) gives changed ones")

    def __getitem__(self, name: str) -> Any:
        try:
            return self._entries[name]
        except KeyError:
            part = self.within(name) if isinstance(name, str) else None
            if part:
                return part
            have = ", ".join(list(self._entries)[:8])
            raise NotFoundError(f"there is no '{name}' among {have or 'no names at all'}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __reduce__(self) -> Any:
        return Params, (dict(self._entries),)

    def __eq__(self, other: object) -> bool:
        raise TypeError("Params: == of groups is ambiguous; compare their arrays, or use same_bits")

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        lines = [f"  {name}: {getattr(value, 'type', type(value).__name__)}" for name, value in self._entries.items()]
        return "limpid.Params(\n" + "\n".join(lines) + "\n)" if lines else "limpid.Params()"

    def _repr_html_(self) -> str:
        from . import _html

        return _html.params(self)

    def within(self, prefix: str) -> Params:
        """The entries below ``prefix.``, without it; none where there are none."""
        start = prefix + "."
        return _make({n[len(start) :]: v for n, v in self._entries.items() if n.startswith(start)})

    def only(self, names: Union[str, Sequence[str]]) -> Params:
        """The entries of these names; a name stands for all below it, too.

        Raises KeyError for a name of which there is nothing.
        """
        wanted = [names] if isinstance(names, str) else list(names)
        for name in wanted:
            if not any(_at_or_below(n, name) for n in self._entries):
                raise NotFoundError(f"there is no '{name}' among {', '.join(list(self._entries)[:8])}")
        return _make({n: v for n, v in self._entries.items() if any(_at_or_below(n, w) for w in wanted)})

    def with_(self, changes: Mapping[str, Any]) -> Params:
        """A copy with these entries, each in the place of one of its name, or at the end."""
        flat: Dict[str, Any] = {}
        _flat(changes, "", flat)
        return _make({**self._entries, **flat})

    def map(self, f: Callable[..., Any], *others: Mapping[str, Any]) -> Params:
        """f of the values of one name, for every name; the groups have the same names."""
        groups = [self._same(other) for other in others]
        return _make({n: f(v, *(g[n] for g in groups)) for n, v in self._entries.items()})

    def same_bits(self, other: Mapping[str, Any]) -> bool:
        """Whether the arrays have the same names, types and bytes."""
        theirs = Params(other)
        return set(self) == set(theirs) and all(
            _core.asarray(v).same_bits(theirs[n]) for n, v in self._entries.items()
        )

    def _same(self, other: Mapping[str, Any]) -> Dict[str, Any]:
        flat = Params(other)._entries
        if set(flat) != set(self._entries):
            raise InvalidArgumentError(
                "the groups have other names: "
                + ", ".join(list(self._entries)[:8])
                + " and "
                + ", ".join(list(flat)[:8])
            )
        return flat

    def _with(self, f: Callable[[Any, Any], Any], other: Any) -> Params:
        if isinstance(other, Mapping):
            return self.map(f, other)
        return self.map(lambda v: f(v, other))

    def __add__(self, other: Any) -> Params:
        return self._with(_core.add, other)

    def __radd__(self, other: Any) -> Params:
        return self._with(lambda a, b: _core.add(b, a), other)

    def __sub__(self, other: Any) -> Params:
        return self._with(_core.subtract, other)

    def __rsub__(self, other: Any) -> Params:
        return self._with(lambda a, b: _core.subtract(b, a), other)

    def __mul__(self, other: Any) -> Params:
        return self._with(_core.multiply, other)

    def __rmul__(self, other: Any) -> Params:
        return self._with(lambda a, b: _core.multiply(b, a), other)

    def __truediv__(self, other: Any) -> Params:
        return self._with(_core.divide, other)

    def __rtruediv__(self, other: Any) -> Params:
        return self._with(lambda a, b: _core.divide(b, a), other)

    def __neg__(self) -> Params:
        return self.map(_core.negate)


def _at_or_below(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def _make(entries: Dict[str, Any]) -> Params:
    made = Params.__new__(Params)
    object.__setattr__(made, "_entries", entries)
    return made


_core.set_params_type(Params)
