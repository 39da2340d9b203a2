"""Networks in scikit-learn's manner: estimators with fit, predict and score.

>>> import numpy as np, limpid.sklearn
>>> X = np.float32([[0, 0], [1, 0], [0, 1], [1, 1]] * 20)
>>> y = np.array(["no", "yes", "yes", "no"] * 20)
>>> net = limpid.sklearn.MLPClassifier([16], learning_rate=0.05, max_iter=60, random_state=0).fit(X, y)
>>> net.score(X, y), net.predict([[0, 1]]).tolist()
(1.0, ['yes'])
"""

from __future__ import annotations

import math
import numbers
from typing import Any, Sequence

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_random_state

from . import _core, nn, optim
from ._core import Key
from ._params import Params
from ._transforms import compile

__all__ = ["MLPClassifier", "MLPRegressor"]


def _validated(estimator: Any, X: Any, *y: Any, **checks: Any) -> Any:
    """Arrays, of which number and names of the features are kept when there is a y, else compared."""
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:  # before scikit-learn 1.6
        return estimator._validate_data(X, *y, reset=bool(y), dtype=np.float64, **checks)
    return validate_data(estimator, X, *y, reset=bool(y), dtype=np.float64, **checks)


def _mean_and_scale(x: Any) -> tuple[Any, Any]:
    """The mean and the standard deviation of each column; 1 instead of the deviation of a constant column."""
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    # The mean of n equal numbers may differ from them by the rounding of n sums.
    rounding = len(x) * np.finfo(np.float64).eps * np.abs(mean)
    return mean, np.where(deviation > rounding, deviation, 1.0)


class _Mlp(BaseEstimator):  # type: ignore[misc]
    """What both have: standardised features, an Mlp, Adam, and a cosine schedule."""

    def __init__(
        self,
        hidden_layer_sizes: Sequence[int] = (100,),
        activation: str = "relu",
        *,
        dropout: float = 0.0,
        weight_decay: float = 0.0,
        learning_rate: float = 0.01,
        batch_size: int = 64,
        max_iter: int = 100,
        threads: int = 1,
        random_state: Any = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.threads = threads
        self.random_state = random_state

    def _net(self) -> nn.Mlp:
        sizes = [self.n_features_in_, *(int(n) for n in np.ravel(self.hidden_layer_sizes)), self.n_outputs_]
        return nn.Mlp(sizes, self.activation, self.dropout)

    def _losses(self, outputs: Any, targets: Any) -> Any:
        raise NotImplementedError

    def _train(self, X: Any, targets: Any) -> None:
        """Fits the scale of the features and the parameters of the network."""
        for name, kind, what in (
            ("max_iter", numbers.Integral, "an integer of at least 1"),
            ("batch_size", numbers.Integral, "an integer of at least 1"),
            ("learning_rate", numbers.Real, "a number above 0, the peak of a cosine schedule"),
            ("weight_decay", numbers.Real, "a number of 0 or more"),
            ("dropout", numbers.Real, "a number of 0 or more and below 1"),
        ):
            value = getattr(self, name)
            least = 1 if kind is numbers.Integral else 0
            if not isinstance(value, kind) or not math.isfinite(value) or value < least or (name == "learning_rate" and value == 0):
                raise ValueError(f"{name}: expected {what}, got {value!r}")
        self.mean_, self.scale_ = _mean_and_scale(X)
        x = self._scaled(X)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        net, key = self._net(), Key(seed)
        adam = optim.AdamW(weight_decay=self.weight_decay)

        def loss(p: Any, x: Any, y: Any, key: Any) -> Any:
            return self._losses(net(p, x, key if self.dropout else None), y)

        step = compile(optim.step(loss, adam, optim.Clip(norm=1.0)), threads=self.threads)
        params = net.init(key.fold_in(0))
        state = adam.init(params)
        size = min(self.batch_size, len(x))
        # A last batch of few examples is a part of the epoch as the others are; it costs one plan more.
        starts = range(0, len(x), size)
        rates = optim.Schedule("cosine", rate=self.learning_rate, steps=self.max_iter * len(starts))
        count, curve = 0, []
        for epoch in range(self.max_iter):
            order = np.asarray(_core.permutation(key.fold_in(1).fold_in(epoch), len(x)))
            total = 0.0
            for start in starts:
                rows = order[start : start + size]
                params, state, value = step(
                    params, state, rates.at(count), x[rows], targets[rows], key.fold_in(2).fold_in(count)
                )
                total += value.item() * len(rows)
                count += 1
            if not math.isfinite(total):
                raise ValueError(f"{type(self).__name__}: the loss of epoch {epoch + 1} is {total}; a learning_rate below {self.learning_rate} may help")
            curve.append(total / len(x))
        for name, values in params.items():
            if not np.isfinite(np.asarray(values)).all():
                raise ValueError(f"{type(self).__name__}: '{name}' is not finite after the last step; a learning_rate below {self.learning_rate} may help")
        self.params_: Params = params
        self.n_iter_ = self.max_iter
        self.loss_curve_ = curve

    def _scaled(self, X: Any) -> Any:
        return np.ascontiguousarray((X - self.mean_) / self.scale_, dtype=np.float32)

    def _outputs(self, X: Any) -> Any:
        check_is_fitted(self)
        X = _validated(self, X)
        # One example at a time or many: the same bits.
        outputs = np.asarray(self._net()(self.params_, self._scaled(X)))
        wrong = np.flatnonzero(~np.isfinite(outputs).all(axis=1))
        if wrong.size:
            raise ValueError(f"{type(self).__name__}: the outputs for row {wrong[0]} of X are not finite: its features are too large")
        return outputs


class MLPClassifier(ClassifierMixin, _Mlp):  # type: ignore[misc]
    """A multilayer perceptron that chooses a class.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, or int
    activation : str
        Of `lp.activations()`.
    dropout, weight_decay, learning_rate : float
    batch_size, max_iter : int
        Examples of a step; passes over the data.
    threads : int
        That share the work of a step. No bit depends on it.
    random_state : int, RandomState or None
        Of the first weights, the order of the examples and dropout: equal numbers, equal bits.

    Attributes
    ----------
    params_ : Params
    classes_ : ndarray
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X has names of its columns, as a DataFrame; `predict` refuses others, or another order.
    loss_curve_ : list of float
    """

    def fit(self, X: Any, y: Any) -> "MLPClassifier":
        """Trains on examples X (n, features) with their classes y (n)."""
        X, y = _validated(self, X, y)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        self.n_outputs_ = len(self.classes_)
        self._train(X, labels.astype(np.int32))
        return self

    def _losses(self, outputs: Any, targets: Any) -> Any:
        return _core.cross_entropy(outputs, targets)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, in the order of `classes_`."""
        return np.asarray(_core.softmax(self._outputs(X))).astype(np.float64)

    def predict(self, X: Any) -> Any:
        """The class of each example."""
        best = self._outputs(X).argmax(axis=1)
        return self.classes_[best]


class MLPRegressor(RegressorMixin, _Mlp):  # type: ignore[misc]
    """A multilayer perceptron that predicts numbers: the parameters are those of `MLPClassifier`."""

    def fit(self, X: Any, y: Any) -> "MLPRegressor":
        """Trains on examples X (n, features) with targets y (n) or (n, outputs)."""
        X, y = _validated(self, X, y, multi_output=True, y_numeric=True)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        self.n_outputs_ = targets.shape[1]
        self._flat = np.ndim(y) == 1
        self.target_mean_, self.target_scale_ = _mean_and_scale(targets)
        self._train(X, ((targets - self.target_mean_) / self.target_scale_).astype(np.float32))
        return self

    def _losses(self, outputs: Any, targets: Any) -> Any:
        return _core.mse_loss(outputs, targets)

    def predict(self, X: Any) -> Any:
        """The numbers of each example."""
        outputs = self._outputs(X).astype(np.float64) * self.target_scale_ + self.target_mean_
        return outputs[:, 0] if self._flat else outputs
