"""Layers and models: values with hyper-parameters, ``init(key)`` and a call on params and arrays.

A layer is anything with these two: a class of one's own, or a function of arrays alone, such as
``lp.relu``, has its place among the others.

>>> import limpid as lp
>>> net = lp.nn.sequential(lp.nn.Linear(4, 16), lp.relu, lp.nn.named("head", lp.nn.Linear(16, 1)))
>>> list(net.init(seed=0))
['0.weight', '0.bias', 'head.weight', 'head.bias']
"""

from __future__ import annotations

import inspect
import json
import operator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _core, _elsewhere
from ._core import Array, Function, Init, Key
from ._params import Params, _make
from .errors import InvalidArgumentError, NotFoundError

__all__ = [
    "CharLm",
    "Cnn",
    "Gpt",
    "Init",
    "Mlp",
    "Named",
    "PerceptronRun",
    "PostNorm",
    "PreNorm",
    "RecurrentLm",
    "RecurrentNet",
    "Residual",
    "RotaryAngles",
    "Sequential",
    "constant",
    "depth_scaled_normal",
    "function_of",
    "gpt2_shaped",
    "init_all",
    "init_from_name",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "llama_shaped",
    "mlp",
    "named",
    "normal",
    "orthogonal",
    "rotary_angles",
    "rotary_frequencies",
    "sequential",
    "train_perceptron",
    "truncated_normal",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]

AnyKey = Union[Key, int, None]
Activation = Union[str, Callable[[Any], Any]]


def _key(key: AnyKey, seed: int) -> Key:
    if isinstance(key, _core.Value):
        raise TypeError("init: expected a Key or an int, got a traced Value; lp.stack([net.init(k) for k in keys]) has the parameters of many")
    if isinstance(key, Key):
        return key
    try:
        return Key(seed if key is None else operator.index(key))
    except TypeError:
        raise TypeError(f"init: expected a Key or an int, not {type(key).__name__}") from None


def _function_name(f: Any, where: str) -> str:
    """The name of a function of the library's; other code has no name that a configuration could hold."""
    if isinstance(f, str):
        return f
    name = str(getattr(f, "__name__", ""))
    if name and getattr(_core, name, None) is f:
        return name
    given = f"code of one's own, '{name}'" if callable(f) else repr(f)
    raise TypeError(f"{where}: expected a name or a function of Limpid's, such as lp.relu, got {given}; lp.nn.sequential takes any function")


def _init_of(scheme: int, scale: float) -> Init:
    """What pickle makes an Init of."""
    return _core.init_of(scheme, scale)


# ---- first values


def zeros() -> Init:
    """0 everywhere."""
    return _core.init_scheme("zeros", 0.0)


def constant(value: float) -> Init:
    """One number everywhere."""
    return _core.init_scheme("constant", value)


def normal(std: float) -> Init:
    """Normal of this standard deviation."""
    return _core.init_scheme("normal", std)


def truncated_normal(std: float = 0.02) -> Init:
    """Normal, drawn within two standard deviations."""
    return _core.init_scheme("truncated_normal", std)


def xavier_uniform(gain: float = 1.0) -> Init:
    """Glorot and Bengio 2010, equation 16."""
    return _core.init_scheme("xavier_uniform", gain)


def xavier_normal(gain: float = 1.0) -> Init:
    """Normal of the standard deviation of `xavier_uniform`."""
    return _core.init_scheme("xavier_normal", gain)


def kaiming_uniform(gain: float) -> Init:
    """He et al. 2015, equation 10."""
    return _core.init_scheme("kaiming_uniform", gain)


def kaiming_normal(gain: float) -> Init:
    """Normal of the standard deviation of `kaiming_uniform`."""
    return _core.init_scheme("kaiming_normal", gain)


def lecun_uniform() -> Init:
    """LeCun et al. 1998."""
    return _core.init_scheme("lecun_uniform", 1.0)


def lecun_normal() -> Init:
    """Normal of the standard deviation of `lecun_uniform`."""
    return _core.init_scheme("lecun_normal", 1.0)


def orthogonal(gain: float = 1.0) -> Init:
    """Rows or columns orthonormal, times the gain: Saxe et al. 2014."""
    return _core.init_scheme("orthogonal", gain)


def depth_scaled_normal(layers: int, std: float = 0.02) -> Init:
    """GPT-2's for projections into the residual stream: normal of std / sqrt(2 layers)."""
    return _core.depth_scaled_normal(layers, std)


def init_from_name(name: str, gain: float = 1.0) -> Init:
    """The scheme of a name as the command line has it: "he", "xavier", "orthogonal", ..."""
    return _core.init_scheme(name, gain)


# ---- layers of the library


class _Layer:
    """What layers of the library share: the C++ object that does the work, made when it is needed."""

    takes_key = False
    _name: ClassVar[str]
    # The member that is the number of ids, where the layer takes ids.
    _ids: ClassVar[str] = ""
    # Each of them is a dataclass.
    __dataclass_fields__: ClassVar[Dict[str, Any]]

    def __post_init__(self) -> None:
        # By name, so that layers compare and are pickled as values.
        for name in ("activation", "gate"):
            if name in self.__dict__:
                object.__setattr__(self, name, _function_name(self.__dict__[name], f"{type(self).__name__}: {name}"))
        for name in ("kernel_size", "stride", "padding", "dilation", "output_padding", "output_size", "size"):
            if isinstance(self.__dict__.get(name), list):
                object.__setattr__(self, name, tuple(self.__dict__[name]))
        # Made here, so that what is wrong is said where it was given.
        self._layer  # noqa: B018

    def _keep_sizes(self, name: str) -> None:
        given = self.__dict__[name]
        try:
            object.__setattr__(self, name, tuple(operator.index(n) for n in given))
        except TypeError:
            raise TypeError(f"{type(self).__name__}: {name}: expected a sequence of int, such as [784, 128, 10], got {given!r}") from None

    def _make(self) -> _core.Layer:
        return _core.layer(self._name, {f.name: getattr(self, f.name) for f in fields(self)})

    @property
    def _layer(self) -> _core.Layer:
        made: Optional[_core.Layer] = self.__dict__.get("_made")
        if made is None:
            made = self._make()
            object.__setattr__(self, "_made", made)
        return made

    def __getstate__(self) -> Dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_made"}

    def init(self, key: AnyKey = None, *, seed: int = 0) -> Params:
        """The first parameters, drawn from the key or from ``Key(seed)``: equal keys, equal bits."""
        return self._layer.init(_key(key, seed))

    def __call__(self, params: Mapping[str, Any], x: Any, key: Any = None) -> Any:
        """The layer's result. With a key, dropout is active."""
        if self._ids:
            _core.require_indices(type(self).__name__, x, getattr(self, self._ids))
        return _run(self._apply, params, (x,), key)

    def _apply(self, params: Any, inputs: Any, key: Any) -> Any:
        return self._layer.call(params, inputs, key)


def _run(code: Callable[..., Any], *args: Any) -> Any:
    """Inside of a Function under way as it is; on arrays traced and run."""
    return code(*args) if _core.tracing() else _core.run_code(code, args, {})


class _BatchNorm(_Layer):
    def init_state(self) -> Params:
        """Means of 0, variances of 1."""
        return self._layer.init_state()

    def training(self, params: Mapping[str, Any], state: Mapping[str, Any], x: Any) -> Tuple[Any, Params]:
        """Uses the statistics of the batch. Returns the result and the next state."""
        y, next_state = _run(self._layer.training, params, state, x, None)
        return y, next_state


class _Embedding(_Layer):
    _ids = "count"


class _MultiHeadAttention(_Layer):
    def attend(self, params: Mapping[str, Any], x: Any, memory: Any, mask: Any = None) -> Any:
        """Queries from x, keys and values from memory; the mask hides positions."""
        return _run(self._apply, params, (x, memory) if mask is None else (x, memory, mask), None)


class _Perceptron(_Layer):
    inputs: int

    def learn(self, params: Mapping[str, Any], x: Any, target: Any, rate: float = 1.0) -> Any:
        """The parameters after one example: weight + rate (target - answer) x, and so the bias."""
        return _run(lambda p, a, t: _core.perceptron_learn(self.inputs, p, a, t, rate), params, x, target)


def _recur(layer: _Layer, params: Any, x: Any, state: Any, lengths: Any, key: Any) -> Any:
    """The result of a recurrent layer, and its state: h, or a tuple (h, c)."""
    h, c = state if isinstance(state, (tuple, list)) else (state, None)
    code = lambda *given: layer._layer.run(given[0], given[1:5], given[5])  # noqa: E731
    y, *last = _run(code, params, x, h, c, lengths, key)
    return y, last[0] if len(last) == 1 else tuple(last)


class _RNN(_Layer):
    def run(
        self, params: Mapping[str, Any], x: Any, state: Any = None, *, lengths: Any = None, key: Any = None
    ) -> Tuple[Any, Any]:
        """The result and the state after the last step: h, (layers directions, [N,] hidden_size).

        Without a state, zeros. With lengths, i32 (N,) or a scalar, each example ends after so many steps: its
        state is the one then, its result 0 from there on, and the reverse direction begins there. With a key,
        dropout between the layers is active.
        """
        y, h = _recur(self, params, x, state, lengths, key)
        return y, h


class _GRU(_Layer):
    run = _RNN.run


class _LSTM(_Layer):
    def run(
        self, params: Mapping[str, Any], x: Any, state: Any = None, *, lengths: Any = None, key: Any = None
    ) -> Tuple[Any, Tuple[Any, Any]]:
        """As `RNN.run`; the state is a tuple (h, c)."""
        y, (h, c) = _recur(self, params, x, state, lengths, key)
        return y, (h, c)


class _RNNCell(_Layer):
    def __call__(self, params: Mapping[str, Any], x: Any, h: Any = None) -> Any:
        """The next h; without one, it is zeros."""
        return _run(lambda p, a, b: self._layer.run(p, (a, b), None), params, x, h)[0]


class _GRUCell(_Layer):
    __call__ = _RNNCell.__call__  # type: ignore[assignment]


class _LSTMCell(_Layer):
    def __call__(self, params: Mapping[str, Any], x: Any, state: Any = None) -> Tuple[Any, Any]:
        """The next (h, c); without a state, it is zeros."""
        h, c = (None, None) if state is None else state
        next_h, next_c = _run(lambda p, a, b, d: self._layer.run(p, (a, b, d), None), params, x, h, c)
        return next_h, next_c


# ---- written by ./dev docs from python/bindings/layers.cc


@dataclass(frozen=True)
class Linear(_Layer):
    """y = x weight^T + bias, on the last dimension."""

    in_features: int
    out_features: int
    bias: bool = True
    weight_init: Init = field(default_factory=lambda: kaiming_normal(1.4142135623730951))
    _name: ClassVar[str] = "Linear"


@dataclass(frozen=True)
class Conv1d(_Layer):
    """A convolution over one dimension: x (N, in_channels, size), as PyTorch's.

    Padding is zeros on both sides, or "same", "valid" or "causal".
    """

    in_channels: int
    out_channels: int
    kernel_size: Union[None, int, Sequence[int]]
    stride: Union[None, int, Sequence[int]] = 1
    padding: Union[int, Sequence[int], str] = 0
    dilation: Union[None, int, Sequence[int]] = 1
    groups: int = 1
    bias: bool = True
    weight_init: Init = field(default_factory=lambda: kaiming_normal(1.4142135623730951))
    _name: ClassVar[str] = "Conv1d"


@dataclass(frozen=True)
class Conv2d(_Layer):
    """As Conv1d, over two dimensions: x (N, in_channels, height, width)."""

    in_channels: int
    out_channels: int
    kernel_size: Union[None, int, Sequence[int]]
    stride: Union[None, int, Sequence[int]] = 1
    padding: Union[int, Sequence[int], str] = 0
    dilation: Union[None, int, Sequence[int]] = 1
    groups: int = 1
    bias: bool = True
    weight_init: Init = field(default_factory=lambda: kaiming_normal(1.4142135623730951))
    _name: ClassVar[str] = "Conv2d"


@dataclass(frozen=True)
class Conv3d(_Layer):
    """As Conv1d, over three dimensions: x (N, in_channels, depth, height, width)."""

    in_channels: int
    out_channels: int
    kernel_size: Union[None, int, Sequence[int]]
    stride: Union[None, int, Sequence[int]] = 1
    padding: Union[int, Sequence[int], str] = 0
    dilation: Union[None, int, Sequence[int]] = 1
    groups: int = 1
    bias: bool = True
    weight_init: Init = field(default_factory=lambda: kaiming_normal(1.4142135623730951))
    _name: ClassVar[str] = "Conv3d"


@dataclass(frozen=True)
class ConvTranspose1d(_Layer):
    """The adjoint of a convolution over one dimension, as PyTorch's."""

    in_channels: int
    out_channels: int
    kernel_size: Union[None, int, Sequence[int]]
    stride: Union[None, int, Sequence[int]] = 1
    padding: Union[None, int, Sequence[int]] = 0
    output_padding: Union[None, int, Sequence[int]] = 0
    groups: int = 1
    bias: bool = True
    dilation: Union[None, int, Sequence[int]] = 1
    weight_init: Init = field(default_factory=lambda: kaiming_normal(1.4142135623730951))
    _name: ClassVar[str] = "ConvTranspose1d"


@dataclass(frozen=True)
class ConvTranspose2d(_Layer):
    """The adjoint of a convolution over two dimensions, as PyTorch's."""

    in_channels: int
    out_channels: int
    kernel_size: Union[None, int, Sequence[int]]
    stride: Union[None, int, Sequence[int]] = 1
    padding: Union[None, int, Sequence[int]] = 0
    output_padding: Union[None, int, Sequence[int]] = 0
    groups: int = 1
    bias: bool = True
    dilation: Union[None, int, Sequence[int]] = 1
    weight_init: Init = field(default_factory=lambda: kaiming_normal(1.4142135623730951))
    _name: ClassVar[str] = "ConvTranspose2d"


@dataclass(frozen=True)
class ConvTranspose3d(_Layer):
    """The adjoint of a convolution over three dimensions, as PyTorch's."""

    in_channels: int
    out_channels: int
    kernel_size: Union[None, int, Sequence[int]]
    stride: Union[None, int, Sequence[int]] = 1
    padding: Union[None, int, Sequence[int]] = 0
    output_padding: Union[None, int, Sequence[int]] = 0
    groups: int = 1
    bias: bool = True
    dilation: Union[None, int, Sequence[int]] = 1
    weight_init: Init = field(default_factory=lambda: kaiming_normal(1.4142135623730951))
    _name: ClassVar[str] = "ConvTranspose3d"


@dataclass(frozen=True)
class Embedding(_Embedding):
    """A row of a table for every id; negative ids count from the end. An id outside is an IndexError, and NaN in traced code."""

    count: int
    features: int
    weight_init: Init = field(default_factory=lambda: normal(1.0))
    _name: ClassVar[str] = "Embedding"


@dataclass(frozen=True)
class Dropout(_Layer):
    """Inverted dropout by a key; without one, at inference, the identity."""

    rate: float = 0.5
    takes_key = True
    _name: ClassVar[str] = "Dropout"


@dataclass(frozen=True)
class Dropout2d(_Layer):
    """Dropout of whole channels of x (N, C, ...) (Tompson et al. 2015)."""

    rate: float = 0.5
    takes_key = True
    _name: ClassVar[str] = "Dropout2d"


@dataclass(frozen=True)
class LayerNorm(_Layer):
    """Over the last dimension (Ba et al. 2016)."""

    features: int
    eps: float = 1e-05
    bias: bool = True
    _name: ClassVar[str] = "LayerNorm"


@dataclass(frozen=True)
class RmsNorm(_Layer):
    """Over the last dimension, without subtracting the mean (Zhang and Sennrich 2019)."""

    features: int
    eps: float = 1e-05
    _name: ClassVar[str] = "RmsNorm"


@dataclass(frozen=True)
class GroupNorm(_Layer):
    """x (N, channels, ...), over groups of channels (Wu and He 2018)."""

    groups: int
    channels: int
    eps: float = 1e-05
    _name: ClassVar[str] = "GroupNorm"


@dataclass(frozen=True)
class InstanceNorm(_Layer):
    """x (N, features, ...), over each channel of each example (Ulyanov et al. 2016)."""

    features: int
    eps: float = 1e-05
    affine: bool = False
    _name: ClassVar[str] = "InstanceNorm"


@dataclass(frozen=True)
class LocalResponseNorm(_Layer):
    """x / (k + alpha / size * the sum of squares of `size` channels)^beta (Krizhevsky et al. 2012)."""

    size: int
    alpha: float = 0.0001
    beta: float = 0.75
    k: float = 1.0
    _name: ClassVar[str] = "LocalResponseNorm"


@dataclass(frozen=True)
class Flatten(_Layer):
    """The dimensions from one to another as one."""

    start_dim: int = 1
    end_dim: int = -1
    _name: ClassVar[str] = "Flatten"


@dataclass(frozen=True)
class Upsample(_Layer):
    """x (N, C, ...) with another size, by interpolation."""

    size: Union[None, int, Sequence[int]] = ()
    scale_factor: float = 0.0
    mode: str = "nearest"
    align_corners: bool = False
    _name: ClassVar[str] = "Upsample"


@dataclass(frozen=True)
class PixelShuffle(_Layer):
    """(N, C r^2, H, W) to (N, C, H r, W r)."""

    upscale_factor: int
    _name: ClassVar[str] = "PixelShuffle"


@dataclass(frozen=True)
class PixelUnshuffle(_Layer):
    """(N, C, H r, W r) to (N, C r^2, H, W)."""

    downscale_factor: int
    _name: ClassVar[str] = "PixelUnshuffle"


@dataclass(frozen=True)
class BatchNorm(_BatchNorm):
    """x (N, features, ...), over everything but the features (Ioffe and Szegedy 2015).

    The running statistics are state, which goes in and comes out: `training`. A call, at inference, finds
    them among the parameters.
    """

    features: int
    momentum: float = 0.1
    eps: float = 1e-05
    _name: ClassVar[str] = "BatchNorm"


@dataclass(frozen=True)
class MultiHeadAttention(_MultiHeadAttention):
    """Attention between heads of one sequence, or from one to another (Vaswani et al. 2017)."""

    features: int
    heads: int = 1
    kv_heads: int = 0
    causal: bool = False
    bias: bool = True
    in_init: Init = field(default_factory=lambda: xavier_uniform(1.0))
    out_init: Init = field(default_factory=lambda: xavier_uniform(1.0))
    _name: ClassVar[str] = "MultiHeadAttention"


@dataclass(frozen=True)
class FeedForward(_Layer):
    """linear2(dropout(activation(linear1(x)))), named as in PyTorch's TransformerEncoderLayer."""

    features: int
    hidden: int
    activation: Activation = "relu"
    dropout: float = 0.0
    weight_init: Init = field(default_factory=lambda: xavier_uniform(1.0))
    takes_key = True
    _name: ClassVar[str] = "FeedForward"


@dataclass(frozen=True)
class GatedFeedForward(_Layer):
    """down_proj(gate(gate_proj(x), up_proj(x))), named as in Llama."""

    features: int
    hidden: int
    gate: Activation = "swiglu"
    bias: bool = False
    weight_init: Init = field(default_factory=lambda: normal(0.02))
    _name: ClassVar[str] = "GatedFeedForward"


@dataclass(frozen=True)
class Perceptron(_Perceptron):
    """Rosenblatt's perceptron: one neuron that answers 0 or 1, and the rule by which it learns."""

    inputs: int
    _name: ClassVar[str] = "Perceptron"


@dataclass(frozen=True)
class MaxPool1d(_Layer):
    """The largest element of each window of x (N, C, ...)."""

    kernel_size: Union[None, int, Sequence[int]]
    stride: Union[None, int, Sequence[int]] = ()
    padding: Union[None, int, Sequence[int]] = 0
    dilation: Union[None, int, Sequence[int]] = 1
    ceil_mode: bool = False
    _name: ClassVar[str] = "MaxPool1d"


@dataclass(frozen=True)
class MaxPool2d(_Layer):
    """The largest element of each window of x (N, C, ...)."""

    kernel_size: Union[None, int, Sequence[int]]
    stride: Union[None, int, Sequence[int]] = ()
    padding: Union[None, int, Sequence[int]] = 0
    dilation: Union[None, int, Sequence[int]] = 1
    ceil_mode: bool = False
    _name: ClassVar[str] = "MaxPool2d"


@dataclass(frozen=True)
class MaxPool3d(_Layer):
    """The largest element of each window of x (N, C, ...)."""

    kernel_size: Union[None, int, Sequence[int]]
    stride: Union[None, int, Sequence[int]] = ()
    padding: Union[None, int, Sequence[int]] = 0
    dilation: Union[None, int, Sequence[int]] = 1
    ceil_mode: bool = False
    _name: ClassVar[str] = "MaxPool3d"


@dataclass(frozen=True)
class AvgPool1d(_Layer):
    """The mean of each window of x (N, C, ...)."""

    kernel_size: Union[None, int, Sequence[int]]
    stride: Union[None, int, Sequence[int]] = ()
    padding: Union[None, int, Sequence[int]] = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    _name: ClassVar[str] = "AvgPool1d"


@dataclass(frozen=True)
class AvgPool2d(_Layer):
    """The mean of each window of x (N, C, ...)."""

    kernel_size: Union[None, int, Sequence[int]]
    stride: Union[None, int, Sequence[int]] = ()
    padding: Union[None, int, Sequence[int]] = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    _name: ClassVar[str] = "AvgPool2d"


@dataclass(frozen=True)
class AvgPool3d(_Layer):
    """The mean of each window of x (N, C, ...)."""

    kernel_size: Union[None, int, Sequence[int]]
    stride: Union[None, int, Sequence[int]] = ()
    padding: Union[None, int, Sequence[int]] = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    _name: ClassVar[str] = "AvgPool3d"


@dataclass(frozen=True)
class LPPool1d(_Layer):
    """(sum of |x|^norm_type)^(1/norm_type) of each window of x (N, C, ...)."""

    norm_type: float
    kernel_size: Union[None, int, Sequence[int]]
    stride: Union[None, int, Sequence[int]] = ()
    ceil_mode: bool = False
    _name: ClassVar[str] = "LPPool1d"


@dataclass(frozen=True)
class LPPool2d(_Layer):
    """(sum of |x|^norm_type)^(1/norm_type) of each window of x (N, C, ...)."""

    norm_type: float
    kernel_size: Union[None, int, Sequence[int]]
    stride: Union[None, int, Sequence[int]] = ()
    ceil_mode: bool = False
    _name: ClassVar[str] = "LPPool2d"


@dataclass(frozen=True)
class LPPool3d(_Layer):
    """(sum of |x|^norm_type)^(1/norm_type) of each window of x (N, C, ...)."""

    norm_type: float
    kernel_size: Union[None, int, Sequence[int]]
    stride: Union[None, int, Sequence[int]] = ()
    ceil_mode: bool = False
    _name: ClassVar[str] = "LPPool3d"


@dataclass(frozen=True)
class AdaptiveAvgPool1d(_Layer):
    """The means of windows of x (N, C, ...) that give a result of this size."""

    output_size: Union[None, int, Sequence[int]]
    _name: ClassVar[str] = "AdaptiveAvgPool1d"


@dataclass(frozen=True)
class AdaptiveAvgPool2d(_Layer):
    """The means of windows of x (N, C, ...) that give a result of this size."""

    output_size: Union[None, int, Sequence[int]]
    _name: ClassVar[str] = "AdaptiveAvgPool2d"


@dataclass(frozen=True)
class AdaptiveAvgPool3d(_Layer):
    """The means of windows of x (N, C, ...) that give a result of this size."""

    output_size: Union[None, int, Sequence[int]]
    _name: ClassVar[str] = "AdaptiveAvgPool3d"


@dataclass(frozen=True)
class AdaptiveMaxPool1d(_Layer):
    """The largest elements of windows of x (N, C, ...) that give a result of this size."""

    output_size: Union[None, int, Sequence[int]]
    _name: ClassVar[str] = "AdaptiveMaxPool1d"


@dataclass(frozen=True)
class AdaptiveMaxPool2d(_Layer):
    """The largest elements of windows of x (N, C, ...) that give a result of this size."""

    output_size: Union[None, int, Sequence[int]]
    _name: ClassVar[str] = "AdaptiveMaxPool2d"


@dataclass(frozen=True)
class AdaptiveMaxPool3d(_Layer):
    """The largest elements of windows of x (N, C, ...) that give a result of this size."""

    output_size: Union[None, int, Sequence[int]]
    _name: ClassVar[str] = "AdaptiveMaxPool3d"


@dataclass(frozen=True)
class RNN(_RNN):
    """h' = f(w_ih x + b_ih + w_hh h + b_hh) for each step of x (T, input_size) or (N, T, input_size).

    With PyTorch's parameters; f is tanh or relu. A call starts from zeros; `run` takes and gives the state.
    """

    input_size: int
    hidden_size: int
    num_layers: int = 1
    nonlinearity: str = "tanh"
    bias: bool = True
    dropout: float = 0.0
    bidirectional: bool = False
    takes_key = True
    _name: ClassVar[str] = "RNN"


@dataclass(frozen=True)
class LSTM(_LSTM):
    """Long short-term memory (Hochreiter and Schmidhuber 1997) for each step of x (T, input_size) or (N, T, input_size).

    With PyTorch's parameters and order of gates. A call starts from zeros; `run` takes and gives the state.
    """

    input_size: int
    hidden_size: int
    num_layers: int = 1
    bias: bool = True
    dropout: float = 0.0
    bidirectional: bool = False
    takes_key = True
    _name: ClassVar[str] = "LSTM"


@dataclass(frozen=True)
class GRU(_GRU):
    """Gated recurrent units (Cho et al. 2014) for each step of x (T, input_size) or (N, T, input_size).

    With PyTorch's parameters and order of gates. A call starts from zeros; `run` takes and gives the state.
    """

    input_size: int
    hidden_size: int
    num_layers: int = 1
    bias: bool = True
    dropout: float = 0.0
    bidirectional: bool = False
    takes_key = True
    _name: ClassVar[str] = "GRU"


@dataclass(frozen=True)
class RNNCell(_RNNCell):
    """One step of an RNN: x (..., input_size) and h (..., hidden_size) to the next h."""

    input_size: int
    hidden_size: int
    bias: bool = True
    nonlinearity: str = "tanh"
    _name: ClassVar[str] = "RNNCell"


@dataclass(frozen=True)
class LSTMCell(_LSTMCell):
    """One step of an LSTM: x (..., input_size) and (h, c) to the next (h, c)."""

    input_size: int
    hidden_size: int
    bias: bool = True
    _name: ClassVar[str] = "LSTMCell"


@dataclass(frozen=True)
class GRUCell(_GRUCell):
    """One step of a GRU: x (..., input_size) and h (..., hidden_size) to the next h."""

    input_size: int
    hidden_size: int
    bias: bool = True
    _name: ClassVar[str] = "GRUCell"


__all__ += ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BatchNorm", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Dropout", "Dropout2d", "Embedding", "FeedForward", "Flatten", "GRU", "GRUCell", "GatedFeedForward", "GroupNorm", "InstanceNorm", "LPPool1d", "LPPool2d", "LPPool3d", "LSTM", "LSTMCell", "LayerNorm", "Linear", "LocalResponseNorm", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MultiHeadAttention", "Perceptron", "PixelShuffle", "PixelUnshuffle", "RNN", "RNNCell", "RmsNorm", "Upsample"]
# ---- until here


class _Network(_Layer):
    """What whole models share: their hyper-parameters are a configuration, which is written as JSON."""

    takes_key = True

    def _numbers(self) -> Dict[str, Any]:
        raise NotImplementedError

    def _text(self) -> str:
        return json.dumps(self._numbers(), default=_plain)

    def function(self) -> Function:
        """The model of one example: the parameters, running statistics if any, then "x" or "tokens", to "logits"."""
        return self._layer.function()

    def config(self) -> str:
        """The hyper-parameters as JSON."""
        return self._layer.config()


def _plain(number: Any) -> Any:
    """A number of NumPy's as one of Python's."""
    if not hasattr(number, "item"):
        raise TypeError(f"a hyper-parameter is a number or a name, not {type(number).__name__}")
    return number.item()


@dataclass(frozen=True)
class Mlp(_Network):
    """Linear layers; between them a norm, an activation and dropout; the last gives logits.

    Parameters
    ----------
    sizes : sequence of int
        Features in, hidden widths, features out.
    activation : str or callable
        Of `lp.activations()`, or the function of that name; a function of one's own is refused, since a model's
        configuration could not hold it.
    dropout : float
        Dropout rate after every hidden activation; active with a key.
    norm : {'none', 'layer', 'rms', 'batch'}
    init_name : str
        "he", "xavier", ...

    Examples
    --------
    >>> import limpid as lp
    >>> net = lp.nn.Mlp([4, 8, 2], activation="tanh")
    >>> net(net.init(seed=0), lp.ones((5, 4))).shape
    (5, 2)
    """

    sizes: Sequence[int]
    activation: Activation = "relu"
    dropout: float = 0.0
    norm: str = "none"
    init_name: str = "he"

    def __post_init__(self) -> None:
        self._keep_sizes("sizes")
        super().__post_init__()

    def _make(self) -> _core.Layer:
        return _core.mlp_layer(self._text())

    def _numbers(self) -> Dict[str, Any]:
        names = {"activation": self.activation, "init": self.init_name, "norm": self.norm}
        return {"model": "mlp", "sizes": list(self.sizes), "dropout": self.dropout, **names}

    def init_state(self) -> Params:
        """The running statistics of batch norm; nothing for the other norms."""
        return self._layer.init_state()

    def training(
        self, params: Mapping[str, Any], state: Mapping[str, Any], x: Any, key: Any
    ) -> Tuple[Any, Params]:
        """Training: dropout is active, batch norm uses the batch's statistics. Returns the logits and the next state."""
        y, next_state = _run(self._layer.training, params, state, x, key)
        return y, next_state


@dataclass(frozen=True)
class Cnn(_Network):
    """A convolutional network for pictures, as `limpid train --model cnn` trains it.

    x f32 (N, channels, height, width) to logits (N, outputs).

    Parameters
    ----------
    picture : sequence of int
        Channels, height and width.
    outputs : int
        Classes, or numbers to predict.
    preset : {'lenet', 'small', 'resnet9', 'resnet18', 'mobilenet'}
    filters : int
        Channels of the first convolution; the others have multiples of it. 0: 6, 32, 64, 64 or 32, by the preset.
    norm : {'batch', 'none'}
        After each convolution.
    dropout : float
        Dropout rate before the last linear layer; active with a key.

    Examples
    --------
    >>> import limpid as lp
    >>> net = lp.nn.Cnn((1, 28, 28), 10, filters=4)
    >>> net({**net.init(seed=0), **net.init_state()}, lp.ones((5, 1, 28, 28))).shape
    (5, 10)
    """

    picture: Sequence[int]
    outputs: int
    preset: str = "small"
    filters: int = 0
    norm: str = "batch"
    activation: Activation = "relu"
    dropout: float = 0.0
    init_name: str = "he"

    def __post_init__(self) -> None:
        self._keep_sizes("picture")
        super().__post_init__()

    def _make(self) -> _core.Layer:
        return _core.cnn_layer(self._text())

    def _numbers(self) -> Dict[str, Any]:
        names = {"preset": self.preset, "norm": self.norm, "activation": self.activation, "init": self.init_name}
        sizes = {"picture": list(self.picture), "outputs": self.outputs, "filters": self.filters}
        return {"model": "cnn", **sizes, **names, "dropout": self.dropout}

    def init_state(self) -> Params:
        """The running statistics of batch norm; nothing without."""
        return self._layer.init_state()

    def training(
        self, params: Mapping[str, Any], state: Mapping[str, Any], x: Any, key: Any
    ) -> Tuple[Any, Params]:
        """Training: dropout is active, batch norm uses the batch's statistics. Returns the logits and the next state."""
        y, next_state = _run(self._layer.training, params, state, x, key)
        return y, next_state


def mlp(sizes: Sequence[int], activation: Activation = "relu", dropout: float = 0.0) -> Mlp:
    """An `Mlp` of these sizes."""
    return Mlp(sizes, activation, dropout)


@dataclass(frozen=True)
class CharLm(_Network):
    """The next token from those before it, by an embedding and an Mlp (Bengio et al. 2003).

    Parameters
    ----------
    vocabulary, context, embedding : int
        Vocabulary size; context length; embedding dimension.
    hidden : sequence of int
        Widths of the hidden layers.
    """

    _ids = "vocabulary"

    vocabulary: int
    context: int = 8
    embedding: int = 32
    hidden: Sequence[int] = (128,)
    activation: Activation = "relu"
    dropout: float = 0.0
    norm: str = "none"
    init_name: str = "he"

    def __post_init__(self) -> None:
        self._keep_sizes("hidden")
        super().__post_init__()

    def _make(self) -> _core.Layer:
        return _core.char_lm_layer(self._text())

    def _numbers(self) -> Dict[str, Any]:
        sizes = [self.context * self.embedding, *self.hidden, self.vocabulary]
        net = Mlp(sizes, self.activation, self.dropout, self.norm, self.init_name)
        own = {name: getattr(self, name) for name in ("vocabulary", "context", "embedding")}
        return {"model": "charlm", **own, "mlp": net._numbers()}


@dataclass(frozen=True)
class RecurrentLm(_Network):
    """A language model of LSTM or GRU layers, as `limpid train --model lstm` trains it.

    ids i32 or i64 (..., length), of any length, to logits (..., length, vocabulary). `LanguageModel` reads each token
    once: the state of the layers is its cache.

    Parameters
    ----------
    vocabulary : int
        Vocabulary size.
    kind : {'lstm', 'gru'}
    context : int
        Tokens of an example in training.
    layers, width : int
        Layers; hidden units of each, and size of a token's vector.
    tied : bool
        Whether the weight of the head is the embedding table.
    dropout : float
        Dropout rate of the embeddings and of each layer's result; active with a key.

    Examples
    --------
    >>> import limpid as lp
    >>> net = lp.nn.RecurrentLm(50, layers=1, width=8)
    >>> net(net.init(seed=0), lp.zeros((2, 5), dtype="i32")).shape
    (2, 5, 50)
    """

    _ids = "vocabulary"

    vocabulary: int
    kind: str = "lstm"
    context: int = 64
    layers: int = 2
    width: int = 128
    tied: bool = False
    dropout: float = 0.0

    def _make(self) -> _core.Layer:
        return _core.recurrent_lm_layer(self._text())

    def _numbers(self) -> Dict[str, Any]:
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "kind"}
        return {"model": self.kind, **own}

    def function(self, length: int = 0) -> Function:
        """The model of one example: the parameters, then "tokens" i32[length] (0: the context), to "logits"."""
        return _core.recurrent_lm_function(self._text(), length)


@dataclass(frozen=True)
class RecurrentNet(_Network):
    """LSTM or GRU layers and a linear layer on the last step, for sequences of numbers.

    x f32 (N, steps, features) to logits (N, outputs).

    Parameters
    ----------
    steps, features, outputs : int
        Steps of an example; numbers of a step; classes, or numbers to predict.
    kind : {'lstm', 'gru'}
    layers, width : int
        Layers; hidden units of each.
    dropout : float
        Dropout rate of each layer's result; active with a key.

    Examples
    --------
    >>> import limpid as lp
    >>> net = lp.nn.RecurrentNet(20, 3, 2, kind="gru", width=8)
    >>> net(net.init(seed=0), lp.ones((5, 20, 3))).shape
    (5, 2)
    """

    steps: int
    features: int
    outputs: int
    kind: str = "lstm"
    layers: int = 1
    width: int = 64
    dropout: float = 0.0

    def _make(self) -> _core.Layer:
        return _core.recurrent_net_layer(self._text())

    def _numbers(self) -> Dict[str, Any]:
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "kind"}
        return {"model": self.kind, **own}


@dataclass(frozen=True)
class Gpt(_Network):
    """A transformer that predicts the next token; docs/language.md lists its options.

    ids i32 or i64 (..., length), length <= context, to logits (..., length, vocabulary).
    """

    _ids = "vocabulary"

    vocabulary: int
    context: int = 64
    layers: int = 4
    width: int = 128
    heads: int = 4
    kv_heads: int = 0
    hidden: int = 0
    norm: str = "layer"
    norm_eps: float = 1e-5
    feed_forward: str = "gelu"
    positions: str = "learned"
    rotary_base: float = 10000.0
    bias: bool = False
    tied: bool = True
    dropout: float = 0.0

    def _make(self) -> _core.Layer:
        return _core.gpt_layer(self._text())

    def _numbers(self) -> Dict[str, Any]:
        return {"model": "gpt", **{f.name: getattr(self, f.name) for f in fields(self)}}

    def function(self, length: int = 0) -> Function:
        """The model of one example: the parameters, then "tokens" i32[length] (0: the context), to "logits"."""
        return _core.gpt_function(self._text(), length)


def gpt2_shaped(vocabulary: int, **choices: Any) -> Gpt:
    """A `Gpt` with GPT-2's choices: layer norm, GELU (tanh), learned positions, biases, tied."""
    return Gpt(vocabulary, **{**_core.gpt_usual("gpt2"), **choices})


def llama_shaped(vocabulary: int, **choices: Any) -> Gpt:
    """A `Gpt` with Llama's choices: RMS norm, SwiGLU, rotary positions, no biases, not tied."""
    return Gpt(vocabulary, **{**_core.gpt_usual("llama"), **choices})


class PerceptronRun(NamedTuple):
    """The parameters after every epoch, and the wrong answers of each."""

    params: List[Params]
    mistakes: List[int]


def train_perceptron(perceptron: Perceptron, x: Any, targets: Any, epochs: int, rate: float = 1.0) -> PerceptronRun:
    """Learns the examples in order until an epoch has no mistake, for at most `epochs` epochs."""
    return PerceptronRun(*_core.train_perceptron(perceptron.inputs, x, targets, epochs, rate))


def rotary_frequencies(head: int, base: float = 10000.0) -> Array:
    """base^(-2 i / head) for i below head / 2 (Su et al. 2021, section 3.2.2)."""
    return _core.rotary_frequencies(head, base)


class RotaryAngles(NamedTuple):
    """What pairs are turned by, as `lp.rotary_embedding` takes it: f32 (positions, pairs)."""

    cos: Any
    sin: Any


def rotary_angles(positions: Any, frequencies: Any) -> RotaryAngles:
    """The cosines and sines of position times frequency, for positions i32 (positions)."""
    angles = _core.multiply(
        _core.reshape(_core.cast(positions, "f32"), (-1, 1)), _core.reshape(frequencies, (1, -1))
    )
    return RotaryAngles(_core.cos(angles), _core.sin(angles))


# ---- layers together


def _takes_key(layer: Any) -> bool:
    """Whether the layer's call has a third argument, a key."""
    known = getattr(layer, "takes_key", None)
    if known is not None:
        return bool(known)
    if not hasattr(layer, "init"):
        return False
    try:
        return "key" in inspect.signature(layer.__call__).parameters
    except (TypeError, ValueError):
        return False


def _init_layer(layer: Any, key: Key) -> Params:
    return Params(layer.init(key)) if hasattr(layer, "init") else Params()


def _apply_layer(layer: Any, params: Any, x: Any, key: Any) -> Any:
    if not hasattr(layer, "init"):
        return layer(x)
    if key is not None and _takes_key(layer):
        return layer(params, x, key)
    return layer(params, x)


def _apply_part(layer: Any, name: str, params: Any, x: Any, key: Any) -> Any:
    with _core.scope(name):
        try:
            return _apply_layer(layer, Params(params).within(name), x, key)
        except NotFoundError as error:
            error.args = (f"layer '{name}': {error}",)
            raise


class _Python:
    """What layers that are made of others share."""

    takes_key = True

    def __post_init__(self) -> None:
        for name in ("layer", "norm"):
            part = self.__dict__.get(name)
            if name in self.__dict__ and (isinstance(part, type) or not callable(part)):
                given = f"the class {part.__name__}; {part.__name__}(...) is one" if isinstance(part, type) else repr(part)
                raise TypeError(f"{type(self).__name__}: {name}: expected a layer or a function, got {given}")

    def __call__(self, params: Mapping[str, Any], x: Any, key: Any = None) -> Any:
        """The result; a key reaches the parts that take one."""
        return _run(self._apply, params, x, key)

    def _apply(self, params: Any, x: Any, key: Any) -> Any:
        raise NotImplementedError

    def init(self, key: AnyKey = None, *, seed: int = 0) -> Params:
        """The first parameters of all parts."""
        return self._init(_key(key, seed))

    def _init(self, key: Key) -> Params:
        raise NotImplementedError


@dataclass(frozen=True)
class Named(_Python):
    """A layer under a name, a part of another: its parameters are ``name.weight``, ..."""

    name: str
    layer: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.name, str):
            raise TypeError(f"Named: name: expected a str, got {self.name!r}")

    def _init(self, key: Key) -> Params:
        return Params({self.name: _init_layer(self.layer, key)})

    def _apply(self, params: Any, x: Any, key: Any) -> Any:
        return _apply_part(self.layer, self.name, params, x, key)


def named(name: str, layer: Any) -> Named:
    """A layer under a name."""
    return Named(name, layer)


def init_all(key: AnyKey, *layers: Named) -> Params:
    """The parameters of all these; those of layer i are drawn from ``key.fold_in(i)``."""
    entries: Dict[str, Any] = {}
    for i, layer in enumerate(layers):
        for name, value in layer.init(_key(key, 0).fold_in(i)).items():
            if name in entries:
                raise InvalidArgumentError(f"init_all: expected layers of different names, got two with a parameter '{name}'")
            entries[name] = value
    return _make(entries)


@dataclass(frozen=True)
class Sequential(_Python):
    """Layers one after the other, named as PyTorch's Sequential names them, or by the names given."""

    layers: Tuple[Named, ...]

    def _init(self, key: Key) -> Params:
        return init_all(key, *self.layers)

    def _apply(self, params: Any, x: Any, key: Any) -> Any:
        for i, part in enumerate(self.layers):
            own = _core.fold_in(key, i) if key is not None and _takes_key(part.layer) else None
            x = _apply_part(part.layer, part.name, params, x, own)
        return x


def sequential(*layers: Any) -> Sequential:
    """``sequential(Linear(2, 8), lp.relu, named("head", Linear(8, 1)))``."""
    return Sequential(tuple(l if isinstance(l, Named) else Named(str(i), l) for i, l in enumerate(layers)))


@dataclass(frozen=True)
class Residual(_Python):
    """x + f(x). Adds nothing to the names."""

    layer: Any

    def _init(self, key: Key) -> Params:
        return _init_layer(self.layer, key)

    def _apply(self, params: Any, x: Any, key: Any) -> Any:
        return x + _apply_layer(self.layer, params, x, key)


@dataclass(frozen=True)
class PreNorm(_Python):
    """x + f(norm(x)), the norm's parameters below "norm", those of f below "layer"."""

    norm: Any
    layer: Any

    def _init(self, key: Key) -> Params:
        return Params(
            {"norm": _init_layer(self.norm, key.fold_in(0)), "layer": _init_layer(self.layer, key.fold_in(1))}
        )

    def _apply(self, params: Any, x: Any, key: Any) -> Any:
        y = _apply_part(self.norm, "norm", params, x, None)
        return x + _apply_part(self.layer, "layer", params, y, key)


@dataclass(frozen=True)
class PostNorm(_Python):
    """norm(x + f(x)), named as PreNorm."""

    norm: Any
    layer: Any

    def _init(self, key: Key) -> Params:
        return PreNorm(self.norm, self.layer).init(key)

    def _apply(self, params: Any, x: Any, key: Any) -> Any:
        return _apply_part(
            self.norm, "norm", params, x + _apply_part(self.layer, "layer", params, x, key), None
        )


def function_of(layer: Any, x: str, name: str = "model") -> Function:
    """The layer at inference as a Function: its parameters, then "x" of the type, to "y"."""
    params = _init_layer(layer, Key(0))
    function: Function = _core.trace(
        lambda p, value: _apply_layer(layer, p, value, None), (params, x), name, ["params", "x"], ["y"]
    )[0]
    return function


if not TYPE_CHECKING:  # it would allow every name

    def __getattr__(name: str) -> Any:
        raise _elsewhere.missing("module 'limpid.nn'", name, "lp.nn.", __all__)
