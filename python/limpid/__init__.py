"""Limpid: neural networks as pure functions, with the same bits everywhere.

>>> import limpid as lp
>>> f = lambda x: lp.tanh(x) * 2.0
>>> X = lp.asarray([[0.5, 1.0], [2.0, 3.0]])
>>> bool((lp.vmap(f)(X)[1] == f(X[1])).all())
True
"""

from typing import TYPE_CHECKING, Any

from . import data as data
from . import errors as errors
from . import inspect as inspect
from . import linalg as linalg
from . import nn as nn
from . import optim as optim
from . import train as train
from ._ops import *  # noqa: F403
from ._core import Array as Array
from ._core import Compiled as Compiled
from ._core import Function as Function
from ._core import Key as Key
from ._core import Predictor as Predictor
from ._core import Tokenizer as Tokenizer
from ._core import Value as Value
from ._core import __version__ as __version__
from ._core import activations as activations
from ._core import all_ops as all_ops
from ._core import scope as scope
from . import _elsewhere as _elsewhere
from . import _methods as _methods
from ._files import Model as Model
from ._files import load as load
from ._files import save as save
from ._params import Params as Params
from ._transforms import *  # noqa: F403
from .data import augment as augment
from .errors import *  # noqa: F403
from .language import LanguageModel as LanguageModel
from .language import TextEmbedder as TextEmbedder

float32, float64, float16, bfloat16 = "f32", "f64", "f16", "bf16"
int32, int64, int8, uint8, bool_ = "i32", "i64", "i8", "u8", "bool"

if not TYPE_CHECKING:  # it would allow every name

    def __getattr__(name: str) -> Any:
        raise _elsewhere.missing("module 'limpid'", name)
