"""Data sets: by name, from arrays, and batch by batch.

>>> import limpid as lp
>>> train = lp.data.digits(lp.Key(1), 512)
>>> [x.shape for x, y in lp.data.batches(train, size=200, key=lp.Key(2))]
[(200, 784), (200, 784), (112, 784)]
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping, NamedTuple, Optional, Tuple

from . import _core
from ._core import Array, Dataset, Key

__all__ = ["Batches", "Dataset", "Split", "augment", "batches", "digits", "from_arrays", "load", "metrics", "permutation", "synthetic", "synthetic_names"]


class Split(NamedTuple):
    """Parts without a common example; one that nobody asked for is empty."""

    train: Dataset
    validation: Dataset
    test: Dataset


def load(spec: str) -> Split:
    """A data set by its name, as ``limpid train --data`` takes it: docs/data.md lists the kinds.

    Examples
    --------
    >>> import limpid as lp
    >>> len(lp.data.load("moons").train)
    1000
    """
    return Split(*_core.load_data(spec))


def from_arrays(arrays: Mapping[str, Any], task: Optional[str] = None, name: str = "arrays") -> Split:
    """A data set of the arrays "x" and "y", or of "x_train", "y_train", "x_test" and "y_test".

    Parameters
    ----------
    arrays : mapping
    task : {'classification', 'multilabel', 'regression'}, optional
        By the dtype of the targets, unless told: integers are classes.
    name : str
        For people.
    """
    return Split(*_core.from_arrays(arrays, name, task))


def digits(key: Key, count: int) -> Dataset:
    """Handwritten-looking digits, f32 [count, 784] in [0, 1], with the same bits on every machine."""
    return _core.digits(key, count)


def synthetic(name: str, key: Key, count: Optional[int] = None, noise: Optional[float] = None) -> Dataset:
    """A small data set of `synthetic_names()`."""
    return _core.synthetic(name, key, count, noise)


def synthetic_names() -> list[str]:
    """"xor", "moons", "spiral", ..."""
    return _core.synthetic_names()


class Batches:
    """The batches of one epoch, pairs of inputs and targets; `batches` makes it."""

    def __init__(self, data: Dataset, rows: _core.Batches) -> None:
        self._data, self._rows = data, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, i: int) -> Tuple[Array, Array]:
        if not -len(self) <= i < len(self):
            raise IndexError(f"there is no batch {i}; {len(self)} are")
        return self._data._batch(self._rows, i % len(self))

    def __iter__(self) -> Iterator[Tuple[Array, Array]]:
        return (self[i] for i in range(len(self)))


def batches(
    data: Dataset, size: int = 64, *, key: Key = Key(0), epoch: int = 0, shuffle: bool = True, keep_partial: bool = True
) -> Batches:
    """The batches of one epoch, in an order that depends on the key and the epoch alone.

    Parameters
    ----------
    data : Dataset
    size : int
        Rows of a batch.
    key : Key
    epoch : int
    shuffle : bool
        False: the rows in their order, in every epoch.
    keep_partial : bool
        Keep the last batch where it has fewer rows.
    """
    if not isinstance(data, Dataset):
        raise TypeError(f"batches: expected a Dataset, such as lp.data.from_arrays({{'x': x, 'y': y}}).train, not {type(data).__name__}")
    return Batches(data, data._batch_rows(size, shuffle, keep_partial, key, epoch))


def augment(images: Any, steps: str, key: Key) -> Array:
    """Pictures drawn anew: picture i by ``key.fold_in(i)``, whatever is beside it.

    Parameters
    ----------
    images : array, f32 [N, C, H, W] or [N, H, W]
        Pixels from 0 to 1.
    steps : str
        As of ``limpid train --augment``: docs/reference/train.md lists the steps.
    key : Key

    Returns
    -------
    Array
        Of the shape of `images`.

    Examples
    --------
    >>> import limpid as lp
    >>> x = lp.data.digits(lp.Key(1), 3).inputs.reshape(3, 28, 28)
    >>> y = lp.augment(x, "shift=2,rotate=10", lp.Key(2))
    >>> bool((lp.augment(x[:1], "shift=2,rotate=10", lp.Key(2)) == y[:1]).all())
    True
    """
    return _core.augment(images, steps, key)


def permutation(key: Key, n: int) -> Array:
    """0 to n - 1 in an order that the key decides, i32 [n]."""
    return _core.permutation(key, n)


def metrics(task: str, outputs: Any, targets: Any) -> dict[str, Any]:
    """The metrics of a task: "metrics" by name, "confusion", "per_class", "per_target"; scikit-learn's definitions."""
    return _core.metrics_of(task, outputs, _as_i32(targets))


def _as_i32(labels: Any) -> Any:
    """Labels of another integer dtype, such as NumPy's i64, as i32."""
    known = _core.asarray(labels)
    if not known.type.startswith(("i64", "i8", "u8")):
        return labels
    narrow = _core.cast(known, "i32")
    if not (narrow == known).all():
        raise ValueError(f"metrics: expected targets that i32 has, got {known.type} with others")
    return narrow
