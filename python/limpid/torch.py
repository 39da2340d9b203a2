"""PyTorch: its modules as Functions here, and Functions as parts of its graphs.

``from_torch`` goes by ONNX, or for the layers that both have by their state_dict; ``torch_function`` makes a
function on PyTorch's tensors with a gradient.
"""

from __future__ import annotations

import inspect
import os
import tempfile
from typing import Any, Callable, Dict, Tuple

import numpy as np
import torch

from . import _core, _files
from ._core import Array, Model
from ._params import Params
from ._transforms import compile, vjp
from .errors import Error

__all__ = ["from_torch", "params_of", "torch_function"]


def params_of(module: Any) -> Params:
    """The parameters and buffers of a module under their state_dict names, copied."""
    return Params({name: _core.array(value.detach().cpu()) for name, value in module.state_dict().items()})


class _Exported(torch.nn.Module):  # type: ignore[misc]
    """A module as the exporter sees it.

    It says that it trains, though its parts do not: of a module at inference the exporter makes one parameter of
    all that have equal values, such as the first weights of two norms.
    """

    def __init__(self, module: Any) -> None:
        super().__init__()
        # Those of the module under their names, which the module as a part of this would not have.
        self._modules, self._parameters, self._buffers = module._modules, module._parameters, module._buffers
        self.__dict__["_whole"] = [module]

    def forward(self, *inputs: Any) -> Any:
        return self._whole[0](*inputs)


def from_torch(module: Any, *examples: Any, opset: int = 14) -> Model:
    """A module as a Model, by PyTorch's ONNX exporter. Its params have the names and values of the state_dict.

    Parameters
    ----------
    module : torch.nn.Module
        As it is at inference.
    *examples : torch.Tensor
        Inputs with a batch in front, of any size.
    opset : int
        The version of ONNX's operators that is asked for. 14 is the first with the masks of torch.tril.
    """
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"from_torch: expected a torch.nn.Module, got {type(module).__name__}")
    if not examples:
        raise TypeError("from_torch: an example of the input is missing")
    for example in examples:
        if not isinstance(example, torch.Tensor):
            raise TypeError(f"from_torch: expected tensors as examples, got {type(example).__name__}")
    names = [f"x{i}" if len(examples) > 1 else "x" for i in range(len(examples))]
    # The exporter that is the default since PyTorch 2.9 writes later versions, and cannot convert them all to `opset`.
    options = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    modes = [(part, part.training) for part in module.modules()]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "module.onnx")
        try:
            torch.onnx.export(
                _Exported(module.eval()),
                examples,
                path,
                input_names=names,
                output_names=["y"],
                dynamic_axes={name: {0: "N"} for name in [*names, "y"]},
                opset_version=opset,
                training=torch.onnx.TrainingMode.PRESERVE,
                # It would replace the weights of products of more than two dimensions by transposed ones without names.
                do_constant_folding=False,
                **options,
            )
        finally:
            for part, training in modes:
                part.training = training
        try:
            model: Model = _files.load(path)
        except Error as error:
            # The file is gone when somebody reads this.
            error.args = (str(error).replace(path, type(module).__name__),)
            raise
        return model


def _out(array: Any) -> Any:
    # By DLPack NumPy's words for dtypes are not needed, which has none for bf16.
    return torch.utils.dlpack.from_dlpack(array.__dlpack__()) if array.type.startswith("bf16") else torch.from_numpy(np.array(array))


def torch_function(f: Callable[..., Any], *, threads: int = 1) -> Callable[..., Any]:
    """A function of arrays as one of PyTorch's tensors, with gradients of any order by `vjp`.

    Parameters
    ----------
    f : callable
        Takes arrays and gives one array or a tuple of arrays.
    threads : int

    Returns
    -------
    callable
        Takes tensors of a CPU; what is floating gets a gradient.
    """
    run = compile(f, threads=threads)
    pulled: Dict[Tuple[int, bool], Callable[..., Any]] = {}

    def pullback(count: int, several: bool) -> Callable[..., Any]:
        """The gradients by the floating ones of `count` arguments, which come before the cotangents."""

        def gradients(*given: Any) -> Tuple[Any, ...]:
            cotangents = given[count:] if several else given[count]
            return tuple(g for g in vjp(f, *given[:count])[1](cotangents) if g is not None)

        if (count, several) not in pulled:
            pulled[count, several] = torch_function(gradients, threads=threads)
        return pulled[count, several]

    class Called(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *tensors: Any) -> Any:
            ctx.save_for_backward(*tensors)
            results = run(*(t.detach().contiguous() for t in tensors))
            ctx.several = isinstance(results, tuple)
            for result in results if ctx.several else (results,):
                if not isinstance(result, Array):
                    raise TypeError(f"torch_function: expected an array or a tuple of arrays, not {type(result).__name__}")
            return tuple(_out(r) for r in results) if ctx.several else _out(results)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            tensors = ctx.saved_tensors
            gradients = iter(pullback(len(tensors), ctx.several)(*tensors, *cotangents))
            # As `vjp` has it, integers and narrow numbers have no gradient.
            return tuple(next(gradients) if t.dtype in (torch.float32, torch.float64) else None for t in tensors)

    def called(*tensors: Any) -> Any:
        for t in tensors:
            if not isinstance(t, torch.Tensor):
                raise TypeError(f"torch_function: expected tensors, not {type(t).__name__}")
        return Called.apply(*tensors)

    called.__doc__ = getattr(f, "__doc__", None)
    return called
