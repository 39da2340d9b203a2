"""The functions of the table of ops, and every op that it leaves out. ``_ops.pyi`` has their types."""

from . import _core

__all__ = list(_core.op_names)
globals().update({name: getattr(_core, name) for name in __all__})
