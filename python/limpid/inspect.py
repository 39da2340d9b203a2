"""Looking inside: layers and work, the statistics of every value, one neuron's arithmetic.

>>> import limpid as lp
>>> net = lp.nn.mlp([2, 3, 1], lp.relu)
>>> params = net.init(seed=0)
>>> s = lp.inspect.summary(net.function(), params)
>>> s.parameters, s.multiply_adds
(13, 9)
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

from . import _core
from ._core import Array, Function, Key, Model
from ._transforms import asarray
from .errors import NotFoundError

__all__ = ["Neuron", "Summary", "Trace", "gradcheck", "neuron", "summary", "trace"]


def _parts(model: Any, params: Any) -> Tuple[Function, Any]:
    if isinstance(model, Model):
        return model.function, model.params
    if not isinstance(model, Function) and callable(getattr(model, "function", None)):
        model = model.function()
    return model, {} if params is None else params


class _Shown:
    """A dict of the library's as attributes, with its text."""

    _data: Dict[str, Any]

    def __init__(self, data: Dict[str, Any]) -> None:
        self.__dict__["_data"] = data

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_data"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self) -> List[str]:
        return list(self._data)

    def __repr__(self) -> str:
        return str(self._data["text"]).rstrip("\n")


class Summary(_Shown):
    """Layers, shapes, parameters and multiply-adds; printed, the table that people know from torchinfo.

    Attributes are `rows` (a dict for every op: layer, op, output, parameters, multiply_adds), `parameters`,
    `trainable`, `statistics`, `multiply_adds`, `parameter_bytes`, `forward_bytes`, `batch`, `name`.
    """

    def _repr_html_(self) -> str:
        from . import _html

        return _html.summary(self._data)


class Trace(_Shown):
    """One run op by op: `rows`, a dict for every value with value, layer, op, type, min, mean, std, max,
    zero_share, nans, infs and array."""

    def __getitem__(self, value: str) -> Array:
        for row in self._data["rows"]:
            if row["value"] in (value, "%" + value):
                array: Array = row["array"]
                return array
        raise NotFoundError(f"there is no value '{value}'")

    def _repr_html_(self) -> str:
        from . import _html

        return _html.trace(self._data)


class Neuron(_Shown):
    """The arithmetic of one neuron: `terms` (index, weight, input), `bias`, `z`, `activation`, `activated`."""


def summary(model: Any, params: Optional[Mapping[str, Any]] = None, batch: int = 1) -> Summary:
    """What a model is made of, before any number runs through it.

    Parameters
    ----------
    model : Model, Function or a layer with a Function, such as `lp.nn.Mlp`
        A Function is of one example.
    params : mapping, optional
        Of a Function or a layer.
    batch : int
    """
    function, values = _parts(model, params)
    return Summary(_core.summarize(function, values, batch))


def _inputs(function: Function, params: Mapping[str, Any], data: Tuple[Any, ...], named: Dict[str, Any]) -> Mapping[str, Any]:
    free = [name for name, _ in function.inputs if name not in params]
    if len(data) > len(free):
        raise TypeError(f"expected at most {len(free)} inputs ({', '.join(free)}), got {len(data)}")
    for name in free[: len(data)]:
        if name in named:
            raise TypeError(f"the input '{name}' comes twice")
    return _arrays(function, {**dict(zip(free, data)), **named})


def _arrays(function: Function, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Values of inputs by name; of a list, the array."""
    lists = [(name, kind.split("[")[0]) for name, kind in function.inputs if isinstance(values.get(name), (list, tuple))]
    # Any number may be a floating one.
    return {**values, **{name: asarray(values[name], dtype if "f" in dtype else None) for name, dtype in lists}}


def _flat_names(params: Any) -> Mapping[str, Any]:
    from ._params import Params

    return Params(params)


def trace(model: Any, *data: Any, params: Optional[Mapping[str, Any]] = None, **named: Any) -> Trace:
    """One run on one example with every value kept, and the statistics of each.

    Examples
    --------
    >>> import limpid as lp
    >>> t = lp.inspect.trace(lp.trace(lambda x: lp.relu(x), "f32[2]"), lp.asarray([-1.0, 3.0]))
    >>> t["%0"]
    limpid.Array(f32[2] (0.0, 3.0))
    """
    function, values = _parts(model, params)
    flat = _flat_names(values)
    return Trace(_core.trace_rows(function, flat, _inputs(function, flat, data, named)))


def neuron(
    model: Any, layer: str, index: int, *data: Any, row: int = -1, params: Optional[Mapping[str, Any]] = None, **named: Any
) -> Neuron:
    """The arithmetic of neuron `index` of a layer ("layers.1") on one example, with its numbers."""
    function, values = _parts(model, params)
    flat = _flat_names(values)
    return Neuron(_core.neuron(function, flat, _inputs(function, flat, data, named), layer, index, row))


def gradcheck(f: Function, inputs: Mapping[str, Any], key: Key = Key(0)) -> bool:
    """Whether f's gradients agree with finite differences in f64; raises ValueError with the table if not."""
    rows, text = _core.gradcheck(f, _arrays(f, inputs) if isinstance(f, Function) else inputs, key)
    if not all(agrees for _, _, agrees in rows):
        raise ValueError("gradcheck: the gradient disagrees with finite differences\n" + text)
    return True
