"""Names that users of JAX, NumPy and PyTorch may look for, and what does the same here: for messages."""

from __future__ import annotations

from typing import Sequence

from . import _core

ELSEWHERE = {
    "Tensor": "lp.Array",
    "absolute": "lp.abs",
    "all": "x.all()",
    "amax": "lp.max",
    "amin": "lp.min",
    "any": "x.any()",
    "arange": "lp.iota",
    "arctan2": "lp.atan2",
    "backward": "lp.grad",
    "bmm": "lp.matmul",
    "broadcast_to": "lp.broadcast",
    "cat": "lp.concatenate",
    "checkpoint": "lp.grad(f, recompute=[...])",
    "clip": "lp.clamp",
    "concat": "lp.concatenate",
    "copy": "lp.array(x)",
    "detach": "lp.stop_gradient",
    "dot": "lp.matmul, or lp.vdot for all elements",
    "from_numpy": "lp.asarray",
    "full_like": "lp.full(x.shape, value, x.dtype)",
    "grad": "lp.grad",
    "jit": "lp.compile",
    "logsumexp": "lp.log_sum_exp",
    "make_jaxpr": "lp.trace",
    "manual_seed": "lp.Key(0)",
    "mm": "lp.matmul",
    "moveaxis": "lp.transpose",
    "ones_like": "lp.ones(x.shape, x.dtype)",
    "permute": "lp.transpose",
    "permute_dims": "lp.transpose",
    "pow": "lp.power",
    "random": "lp.normal(lp.Key(0), shape)",
    "remat": "lp.grad(f, recompute=[...])",
    "sort": "lp.take_along_axis(x, lp.argsort(x))",
    "square": "x * x",
    "summary": "lp.inspect.summary",
    "swapaxes": "lp.transpose",
    "tensor": "lp.array",
    "topk": "lp.top_k",
    "tree": "lp.tree_map",
    "tree_util": "lp.tree_map",
    "unsqueeze": "lp.expand_dims",
    "var": "lp.variance",
    "view": "x.reshape(shape)",
    "zeros_like": "lp.zeros(x.shape, x.dtype)",
}


def missing(owner: str, name: str, prefix: str = "", names: Sequence[str] = ()) -> AttributeError:
    """The error for a name that `owner` lacks; `names` are those that it has, below `prefix`."""
    near = [prefix + known for known in names if known.lower() == name.lower()]
    if not near and name in ELSEWHERE:
        near = [ELSEWHERE[name]]
    if not near and name.lower() in _core.op_kinds:
        near = ["lp." + name.lower()]
    return AttributeError(f"{owner} has no attribute '{name}'" + (f"; see {near[0]}" if near else ""))
