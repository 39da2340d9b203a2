"""Optimisers, schedules and clipping: pure functions of parameters, gradients and state.

Parameters and gradients are trees of one form, which the results have, too: Params, dicts, lists of them.
The state is Params.

>>> import limpid as lp
>>> adam = lp.optim.Adam()
>>> step = lp.compile(lp.optim.step(lambda p, x: ((p["w"] * x - 1.0) ** 2).mean(), adam))
>>> params = lp.Params({"w": 0.0})
>>> params, state, loss = step(params, adam.init(params), 0.1, lp.ones(8))
>>> params["w"], loss
(limpid.Array(f32[] (0.09999999)), limpid.Array(f32[] (1.0)))
"""

from __future__ import annotations

import inspect
import math
import operator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Dict, Mapping, NamedTuple, Optional, Tuple, TypeVar

from . import _core, _elsewhere
from ._params import Params
from ._transforms import _Code, ravel_pytree, tree_map, value_and_grad
from .errors import DtypeError, NotFoundError

__all__ = [
    "Clip",
    "Schedule",
    "clip_by_global_norm",
    "clip_by_value",
    "Minimum",
    "global_norm",
    "minimize",
    "step",
]


Tree = TypeVar("Tree")


def _number(given: Any, where: str) -> float:
    if isinstance(given, str):  # float() reads some
        raise TypeError(f"{where}: expected a number, got {given!r}")
    try:
        return float(given)
    except (TypeError, ValueError):
        raise TypeError(f"{where}: expected a number, got {given!r}") from None


def _named(tree: Any) -> Mapping[str, Any]:
    """The arrays of a tree as a mapping: what has no name has its number."""
    if isinstance(tree, Mapping):
        return tree
    return {str(i): part for i, part in enumerate(tree)} if isinstance(tree, (list, tuple)) else {"0": tree}


def _like(tree: Tree, params: Params) -> Tree:
    """The arrays of these params in the form of the tree that they have their names from."""
    if isinstance(tree, Params):
        return params  # type: ignore[return-value]
    names = _core.flatten(_named(tree))[1].names()
    made: Tree = _core.flatten(tree)[1].build([params[name] for name in names])
    return made


class _Optimizer:
    _name: ClassVar[str]
    # Each of them is a dataclass.
    __dataclass_fields__: ClassVar[Dict[str, Any]]

    # dataclass's kw_only is younger than Python 3.9.
    def __new__(cls, *given: Any, **named: Any) -> Any:
        if given or "lr" in named or "learning_rate" in named:
            raise TypeError(f"{cls.__name__}: expected numbers by name, such as weight_decay=0.1; the learning rate belongs to each step")
        known = [f.name for f in fields(cls)]
        for name in named:
            if name not in known:
                raise TypeError(f"{cls.__name__}: there is no '{name}' among {', '.join(known)}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        self._optimizer  # noqa: B018  what is wrong is said where it was given

    @property
    def _optimizer(self) -> _core.Optimizer:
        where = type(self).__name__
        return _core.optimizer(self._name, {f.name: _number(getattr(self, f.name), f"{where}: {f.name}") for f in fields(self)})

    def init(self, params: Any) -> Params:
        """The first state for these parameters."""
        return self._optimizer.init(_named(params))

    def __call__(self, params: Tree, gradients: Any, state: Mapping[str, Any], rate: Any, scale: Any = None) -> Tuple[Tree, Params]:
        """One step: the next parameters and the next state. `scale` multiplies the gradients, where given."""
        if not _core.tracing():
            # The rate is an argument, so that another rate is no other Function.
            given = (params, gradients, state, rate) if scale is None else (params, gradients, state, rate, scale)
            pair: Tuple[Tree, Params] = _core.run_code(self, given, {})
            return pair
        try:
            following, next_state = self._optimizer.update(_named(params), _named(gradients), state, rate, scale)
        except NotFoundError as error:
            error.args = (f"{type(self).__name__}: the state is that of init(params), the gradients those by params: {error}",)
            raise
        return _like(params, following), next_state

    @property
    def usual_rate(self) -> float:
        """A learning rate to start from."""
        return self._optimizer.usual_rate


# ---- written by ./dev docs from limpid/optim/rules.cc


@dataclass(frozen=True)
class Sgd(_Optimizer):
    """Stochastic gradient descent with momentum, as PyTorch's SGD."""

    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0
    decay_vectors: bool = True
    _name: ClassVar[str] = "sgd"


@dataclass(frozen=True)
class RmsProp(_Optimizer):
    """RMSprop, as PyTorch's."""

    alpha: float = 0.99
    eps: float = 1e-08
    momentum: float = 0.0
    centered: bool = False
    weight_decay: float = 0.0
    decay_vectors: bool = True
    _name: ClassVar[str] = "rmsprop"


@dataclass(frozen=True)
class Adam(_Optimizer):
    """Adam (Kingma and Ba 2015), as PyTorch's."""

    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-08
    weight_decay: float = 0.0
    amsgrad: bool = False
    decay_vectors: bool = True
    _name: ClassVar[str] = "adam"


@dataclass(frozen=True)
class AdamW(_Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019), as PyTorch's."""

    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-08
    weight_decay: float = 0.01
    amsgrad: bool = False
    decay_vectors: bool = True
    _name: ClassVar[str] = "adamw"


@dataclass(frozen=True)
class Adagrad(_Optimizer):
    """Adagrad (Duchi et al. 2011), as PyTorch's."""

    eps: float = 1e-10
    initial_sum: float = 0.0
    weight_decay: float = 0.0
    decay_vectors: bool = True
    _name: ClassVar[str] = "adagrad"


__all__ += ["Adagrad", "Adam", "AdamW", "RmsProp", "Sgd"]
# ---- until here


@dataclass(frozen=True)
class Schedule:
    """A rate for every step of a run, the same on every machine.

    Parameters
    ----------
    kind : {'constant', 'linear', 'step', 'cosine'}
    rate : float
        The peak.
    steps, warmup : int
        Of the whole run; over which the rate rises from rate / warmup.
    every, factor : int, float
        Of 'step': times `factor` after every `every` steps.

    Examples
    --------
    >>> import limpid as lp
    >>> lp.optim.Schedule("linear", rate=0.1, steps=10).at(5)
    0.05
    """

    kind: str = "constant"
    rate: float = 0.1
    steps: int = 0
    warmup: int = 0
    every: int = 1
    factor: float = 0.1

    def __post_init__(self) -> None:
        for name in ("rate", "factor"):
            if not math.isfinite(_number(getattr(self, name), f"Schedule: {name}")):
                raise ValueError(f"Schedule: {name}: expected a finite number, got {getattr(self, name)!r}")
        for name in ("steps", "warmup", "every"):
            try:
                negative = operator.index(getattr(self, name)) < 0
            except TypeError:
                raise TypeError(f"Schedule: {name}: expected an int, got {getattr(self, name)!r}") from None
            if negative:
                raise ValueError(f"Schedule: {name}: expected 0 or more, got {getattr(self, name)!r}")
        self.at(0)

    def at(self, step: int) -> float:
        """The rate of step 0, 1, ... A step below 0 is a ValueError."""
        return _core.schedule_at(self.kind, self.rate, self.steps, self.warmup, self.every, self.factor, step)


@dataclass(frozen=True)
class Clip:
    """What a training step clips: each element to [-value, value] first, then all to the L2 norm."""

    value: Optional[float] = None
    norm: Optional[float] = None

    def __post_init__(self) -> None:
        for name in ("value", "norm"):
            limit = getattr(self, name)
            if limit is not None and not _number(limit, f"Clip: {name}") > 0:
                raise ValueError(f"Clip: {name}: expected a number above 0, or None, got {limit!r}")


def _clip(how: str, gradients: Any, limit: float) -> Any:
    def code(g: Any) -> Any:
        clipped = _core.clip(how, _named(g), limit)
        return _like(g, clipped) if isinstance(clipped, Params) else clipped

    return code(gradients) if _core.tracing() else _core.run_code(code, (gradients,), {})


def global_norm(gradients: Any) -> Any:
    """The L2 norm of all gradients together, a scalar."""
    return _clip("global_norm", gradients, 1.0)


def clip_by_value(gradients: Any, limit: float) -> Any:
    """Each element brought into [-limit, limit]; NaN stays NaN."""
    return _clip("value", gradients, limit)


def clip_by_global_norm(gradients: Any, limit: float) -> Any:
    """All gradients times min(1, limit / (norm + 1e-6)), as PyTorch's clip_grad_norm_."""
    return _clip("norm", gradients, limit)


def _check_arguments(loss: Callable[..., Any], params: Any, rate: Any, batch: Tuple[Any, ...]) -> None:
    """Says that the rate was forgotten: else the batch is taken for it, and the loss misses an argument."""
    called = "a step is called with (params, state, rate, *batch)"
    if getattr(rate, "ndim", 0) or isinstance(rate, (Mapping, list, tuple)):
        given = getattr(rate, "type", type(rate).__name__)
        raise TypeError(f"step: rate: expected a number, got {given}; {called}")
    try:
        signature = inspect.signature(loss)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(params, *batch)
    except TypeError as error:
        raise TypeError(f"step: the loss: {error}; {called}") from None


def step(loss: Callable[..., Any], optimizer: Any, clip: Clip = Clip()) -> Callable[..., Tuple[Any, Any, Any]]:
    """A whole step of training, for `lp.compile` to make one plan of.

    Parameters
    ----------
    loss : callable
        Of (params, *batch), a floating scalar.
    optimizer
        One of this module, or anything that is called with (params, gradients, state, rate) and gives the
        next parameters and state.
    clip : Clip

    Returns
    -------
    callable
        Of (params, state, rate, *batch); gives the next params, the next state, and the loss before the step.
    """
    if not callable(optimizer):
        raise TypeError(f"step: optimizer: expected one of lp.optim, or code, got {optimizer!r}")
    if not isinstance(clip, Clip):
        raise TypeError(f"step: clip: expected a Clip, such as lp.optim.Clip(norm=1.0), got {clip!r}")
    differentiated = value_and_grad(loss)

    def stepped(params: Any, state: Any, rate: Any, *batch: Any) -> Tuple[Any, Any, Any]:
        _check_arguments(loss, params, rate, batch)
        value, gradients = differentiated(params, *batch)
        scale = None
        if clip.value is not None:
            gradients = clip_by_value(gradients, clip.value)
        if clip.norm is not None:
            scale = _clip("scale", gradients, clip.norm)
        if isinstance(optimizer, _Optimizer):
            following = optimizer(params, gradients, state, rate, scale)
        else:
            scaled = gradients if scale is None else tree_map(lambda g: _core.multiply(g, scale), gradients)
            following = optimizer(params, scaled, state, rate)
        return following[0], following[1], value

    return stepped


if not TYPE_CHECKING:  # it would allow every name

    def __getattr__(name: str) -> Any:
        raise _elsewhere.missing("module 'limpid.optim'", name, "lp.optim.", __all__)



class Minimum(NamedTuple):
    """What `minimize` gives, with SciPy's names.

    x has the form of x0; fun is the loss there and jac its gradient, of the form of x0. nit is the number of
    steps and nfev that of evaluations, i32. success is whether it ended at a minimum, bool; status, i32, says why
    it ended: 0 after `maxiter` steps, 1 with a small gradient, 2 with a small change of the loss, 3 as the line
    search found no lower loss.
    """

    x: Any
    fun: Any
    jac: Any
    nit: Any
    nfev: Any
    success: Any
    status: Any


_OPTIONS = {"maxiter": 1000, "maxcor": 10, "maxls": 20, "gtol": 1e-5, "ftol": 2.220446049250313e-09}


class _Minimize(_Code):
    def __init__(self, fun: Callable[..., Any], options: Dict[str, Any]) -> None:
        super().__init__(fun)
        self._options = options

    def _inside(self, *args: Any, **kwargs: Any) -> Any:
        flat, unravel = ravel_pytree(args[0])
        if not flat.type.startswith(("f32", "f64")):
            raise DtypeError(f"minimize: expected x0 of f32 or f64, got {flat.type}")
        loss = _Code(lambda x, *rest: self._code(unravel(x), *rest))
        f, values, _, _ = loss._traced((flat, *args[1:]), {})
        o = self._options
        x, value, slope, steps, evaluations, status = _core.lbfgs(f, values, o["maxcor"], o["maxiter"], o["maxls"], o["gtol"], o["ftol"])
        success = _core.logical_or(_core.equal(status, 1), _core.equal(status, 2))
        return Minimum(unravel(x), value, unravel(slope), steps, evaluations, success, status)


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: Tuple[Any, ...] = (),
    *,
    method: str = "L-BFGS",
    tol: Optional[float] = None,
    options: Optional[Mapping[str, Any]] = None,
) -> Minimum:
    """The minimum of a smooth loss of all data: L-BFGS with a line search for the strong Wolfe conditions.

    A pure function, one loop that `compile` makes a part of a plan, for losses without noise: a batch that is all
    data. SciPy's ``minimize`` has the same arguments.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` gives an f32 or f64 scalar.
    x0 : array_like, or a tree
        Where to begin, f32 or f64.
    args : tuple
        What `fun` takes besides.
    method : {"L-BFGS", "L-BFGS-B"}
        One method under two names; there are no bounds.
    tol : float, optional
        Both tolerances, `gtol` and `ftol`.
    options : mapping, optional
        maxiter: the most steps, 1000; maxcor: how many steps are remembered, 10; maxls: the most evaluations of a
        line search, 20; gtol: it ends if no element of the gradient is larger, 1e-5; ftol: or if the loss falls
        by less of max(abs(loss), 1), 2.2e-9.

    Examples
    --------
    >>> import limpid as lp
    >>> best = lp.optim.minimize(lambda x: ((x - 3.0) ** 2).sum(), lp.zeros(2))
    >>> best.x, bool(best.success)
    (limpid.Array(f32[2] (3.0, 3.0)), True)
    """
    if method not in ("L-BFGS", "L-BFGS-B"):
        raise ValueError(f"minimize: method: expected L-BFGS, got {method!r}")
    chosen = dict(_OPTIONS)
    if tol is not None:
        chosen["gtol"] = chosen["ftol"] = _number(tol, "minimize: tol")
    for name, value in (options or {}).items():
        if name not in _OPTIONS:
            raise TypeError(f"minimize: options: there is no '{name}' among {', '.join(_OPTIONS)}")
        chosen[name] = operator.index(value) if isinstance(_OPTIONS[name], int) else _number(value, f"minimize: {name}")
    given = args if isinstance(args, tuple) else (args,)
    best: Minimum = _Minimize(fun, chosen)(x0, *given)
    return best
