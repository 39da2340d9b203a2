"""Files: models, arrays and parameters by the names of their files."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Union

from . import _core, inspect, language
from ._core import Model
from ._params import Params
from .errors import FormatError

__all__ = ["Model", "load", "save"]

Path = Union[str, "os.PathLike[str]"]

_READ = "NAME.safetensors, NAME.onnx, NAME.npz, NAME.npy and folders; of PyTorch's files limpid.torch.params_of reads the module"
_WRITTEN = "a Model goes into NAME.safetensors, NAME.onnx or a folder, Params into NAME.safetensors or NAME.npz, an array into NAME.npy"


def load(path: Path, dimensions: Optional[Mapping[str, int]] = None) -> Any:
    """What a file or folder holds.

    Parameters
    ----------
    path : path
        NAME.onnx, a safetensors file of Limpid's, a run's folder, or a language model's folder of Hugging
        Face's: a Model. Any other safetensors file, and NAME.npz: Params. NAME.npy: an Array.
    dimensions : mapping, optional
        Sizes of an ONNX model's dynamic dimensions, the batch excepted.

    Returns
    -------
    Model, Params or Array
    """
    name = os.fsdecode(path)
    if not dimensions:  # open_model refuses those of other files
        if name.endswith(".npy"):
            return _core.load_npy(name)
        if name.endswith(".npz"):
            return _core.load_npz(name)
        if name.endswith(".safetensors"):
            tensors, metadata = _core.load_safetensors(name)
            if "limpid.function" not in metadata:
                return tensors
    try:
        return _core.open_model(name, dict(dimensions or {}))
    except FormatError as error:
        if os.path.splitext(name)[1] in (".onnx", ".safetensors") or os.path.isdir(name):
            raise
        raise FormatError(f"{error}; load reads {_READ}") from None


def save(path: Path, content: Any, metadata: Optional[Mapping[str, str]] = None) -> None:
    """Writes a Model (NAME.onnx, NAME.safetensors, or a folder as Hugging Face's transformers read it), Params or
    another mapping of arrays (.safetensors, .npz), or an array (.npy); whole, or not at all.
    """
    name = os.fsdecode(path)
    if isinstance(content, Model):
        content._save(name)
    elif isinstance(content, Mapping) and name.endswith(".npz"):
        _core.save_npz(name, content)
    elif isinstance(content, Mapping) and name.endswith(".safetensors"):
        _core.save_safetensors(name, content, dict(metadata or {}))
    elif name.endswith(".npy"):
        _core.save_npy(name, content)
    else:
        raise FormatError(f"save: a {type(content).__name__} does not go into '{name}'; {_WRITTEN}")


def _call(self: Model, *examples: Any, **named: Any) -> Any:
    """The outputs for examples [N, ...], or for one example; several inputs by their names."""
    types = dict(self.inputs)
    if len(examples) == 1 and not named and len(types) == 1:
        return self._call(_list(examples[0], *types.values()))
    if len(examples) > len(types):
        raise TypeError(f"the model: expected at most {len(types)} inputs ({', '.join(types)}), got {len(examples)}")
    given = dict(zip(types, examples))
    for name in named:
        if name in given:
            raise TypeError(f"the model: the input '{name}' comes twice")
    given.update(named)
    return self._call_named({name: _list(value, types.get(name)) for name, value in given.items()})


def _list(x: Any, kind: Optional[str]) -> Any:
    """Lists of numbers as the input's dtype has them; arrays stay."""
    from ._transforms import asarray

    return asarray(x, kind and kind.split("[")[0]) if isinstance(x, (list, tuple)) else x


def _repr(self: Model) -> str:
    inputs = ", ".join(f"{name}: {kind}" for name, kind in self.inputs)
    outputs = ", ".join(kind for _, kind in self.function.outputs)
    return f"limpid.Model({inputs} -> {outputs}, {len(self.params)} parameters)"


def _save(self: Model, path: Path) -> None:
    """Writes it into NAME.safetensors, NAME.onnx or a folder, as `lp.save` does."""
    save(path, self)


def _html(self: Model) -> str:
    return inspect.summary(self)._repr_html_()


for _name, _member in {
    "__call__": _call,
    "__repr__": _repr,
    "_repr_html_": _html,
    "save": _save,
    "summary": inspect.summary,
    "trace": inspect.trace,
    "neuron": inspect.neuron,
    "generate": language.generate,
}.items():
    setattr(Model, _name, _member)
