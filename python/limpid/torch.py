"""PyTorch: its modules as Functions here, and Functions as parts of its graphs.

``from_torch`` goes by ONNX, or for the layers that both have by their state_dict; ``torch_function`` makes a
function on PyTorch's tensors with a gradient.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any, Callable, List, Optional, Tuple

import numpy as np
import torch

from . import _core, _files
from ._core import Model
from ._params import Params
from ._transforms import compile, vjp

__all__ = ["from_torch", "params_of", "torch_function"]


def params_of(module: Any) -> Params:
    """The parameters and buffers of a module under their state_dict names, copied."""
    return Params({name: _core.array(value.detach().cpu().contiguous().numpy()) for name, value in module.state_dict().items()})


def from_torch(module: Any, *examples: Any, opset: int = 13) -> Model:
    """A module as a Model, by PyTorch's ONNX exporter.

    Parameters
    ----------
    module : torch.nn.Module
        As it is at inference.
    *examples : torch.Tensor
        Inputs with a batch in front, of any size.
    opset : int
        The version of ONNX's operators that is asked for.
    """
    if not examples:
        raise TypeError("from_torch: an example of the input is missing")
    names = [f"x{i}" if len(examples) > 1 else "x" for i in range(len(examples))]
    was_training = module.training
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "module.onnx")
        try:
            torch.onnx.export(
                module.eval(),
                examples,
                path,
                input_names=names,
                output_names=["y"],
                dynamic_axes={name: {0: "N"} for name in [*names, "y"]},
                opset_version=opset,
            )
        finally:
            module.train(was_training)
        model: Model = _files.load(path)
        return model


def _out(array: Any) -> Any:
    return torch.from_numpy(np.array(array))


def torch_function(f: Callable[..., Any], *, threads: int = 1) -> Callable[..., Any]:
    """A function of arrays as one of PyTorch's tensors, with a gradient by `vjp`.

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
    forward = compile(f, threads=threads)

    def pulled(primals: Tuple[Any, ...], cotangents: Any) -> Any:
        return vjp(f, *primals)[1](cotangents)

    backward = compile(pulled, threads=threads)

    class Called(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *tensors: Any) -> Any:
            ctx.save_for_backward(*tensors)
            results = forward(*(t.detach().contiguous() for t in tensors))
            if isinstance(results, tuple):
                return tuple(_out(r) for r in results)
            return _out(results)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            primals = tuple(t.detach().contiguous() for t in ctx.saved_tensors)
            given = tuple(c.contiguous() for c in cotangents)
            gradients: List[Optional[Any]] = list(backward(primals, given if len(given) > 1 else given[0]))
            return tuple(None if g is None else _out(g) for g in gradients)

    def called(*tensors: Any) -> Any:
        return Called.apply(*tensors)

    called.__doc__ = getattr(f, "__doc__", None)
    return called
