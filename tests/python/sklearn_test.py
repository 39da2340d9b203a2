#!/usr/bin/env python3
"""limpid.sklearn: scikit-learn's own checks of an estimator, and that equal seeds give equal bits."""

import os
import sys
import unittest

# scikit-learn's checks start as many threads as there are CPUs for every small product.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

try:
    import sklearn  # noqa: F401
except ImportError:
    print("skipped: python3-sklearn is missing")
    sys.exit(0)

import doctest

import numpy as np
from sklearn.utils.estimator_checks import check_estimator

import limpid.sklearn as estimators
from refusals import Refusals


class Frame:
    """What scikit-learn takes for a table with names."""

    def __init__(self, numbers, names):
        self.numbers, self.columns, self.shape = numbers, names, numbers.shape

    def __len__(self):
        return len(self.numbers)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numbers, dtype)


class Estimators(Refusals):
    def test_classifier(self):
        check_estimator(estimators.MLPClassifier([32], max_iter=30))

    def test_regressor(self):
        check_estimator(estimators.MLPRegressor([32], max_iter=30))

    def test_bits(self):
        x = np.random.default_rng(0).standard_normal((90, 3))
        y = x @ [1, 2, 3]
        one = estimators.MLPRegressor([8], dropout=0.1, max_iter=4, random_state=1).fit(x, y)
        other = estimators.MLPRegressor([8], dropout=0.1, max_iter=4, random_state=1, threads=2).fit(x, y)
        self.assertTrue(one.params_.same_bits(other.params_))
        self.assertEqual(one.predict(x[5:6])[0], one.predict(x)[5])
        number = estimators.MLPRegressor(8, dropout=0.1, max_iter=4, random_state=1).fit(x, y)
        self.assertTrue(one.params_.same_bits(number.params_))

    def test_units_of_the_features_do_not_show(self):
        rng = np.random.default_rng(0)
        # Means and deviations of these are exact, in both units.
        x, y = rng.integers(-8, 9, (32, 3)), rng.integers(-8, 9, 32)
        near, far = (estimators.MLPRegressor([8], max_iter=3, random_state=1).fit(z, y) for z in (x, 4 * x + 1024))
        self.assertTrue(near.params_.same_bits(far.params_))
        self.assertEqual(near.predict(x).tolist(), far.predict(4 * x + 1024).tolist())

    def test_bits_are_those_of_every_machine(self):
        # Means and deviations of these are exact, so that the order of NumPy's sums does not show.
        x = np.arange(96).reshape(32, 3) * 37 % 17
        net = estimators.MLPRegressor([8], dropout=0.1, batch_size=8, max_iter=3, random_state=1).fit(x, x @ [1, 2, 3])
        self.assertEqual(hex(net.params_["layers.0.weight"].hash), "0x31049e62dac03922")

    def test_every_option_reaches_the_training(self):
        x = np.random.default_rng(0).standard_normal((30, 3))
        fit = lambda **options: estimators.MLPRegressor(**{"hidden_layer_sizes": [8], "max_iter": 3, "random_state": 1, **options}).fit(x, x @ [1, 2, 3]).params_
        usual = fit()
        self.assertTrue(fit().same_bits(usual))
        for option in ({"dropout": 0.5}, {"weight_decay": 0.5}, {"learning_rate": 0.1}, {"batch_size": 7}, {"max_iter": 4}, {"activation": "tanh"}, {"random_state": 2}):
            self.assertFalse(fit(**option).same_bits(usual), option)

    def test_a_constant_column_may_have_a_rounded_mean(self):
        for n in (10, 10_000):
            x = np.full((n, 2), 0.1)
            self.assertTrue((x.std(axis=0) > 0).all())
            net = estimators.MLPRegressor([2], batch_size=n, max_iter=1, random_state=1).fit(x, x)
            self.assertEqual((net.scale_.tolist(), net.target_scale_.tolist()), ([1, 1], [1, 1]))
        # Small differences are differences.
        x = 1 + 1e-9 * np.random.default_rng(0).standard_normal((10, 2))
        self.assertTrue((estimators.MLPRegressor([2], max_iter=1, random_state=1).fit(x, x).scale_ < 1e-8).all())

    def test_the_loss_curve_is_the_mean_of_the_examples(self):
        x = np.random.default_rng(0).standard_normal((9, 2))
        whole, parts = (
            estimators.MLPRegressor([4], batch_size=size, learning_rate=1e-30, max_iter=1, random_state=1).fit(x, x[:, 0])
            for size in (9, 5)
        )
        self.assertAlmostEqual(whole.loss_curve_[0], parts.loss_curve_[0], places=5)

    def test_the_rate_falls_over_the_whole_training(self):
        x = np.random.default_rng(0).standard_normal((9, 2))
        # The first step is at the peak; the losses are those before a step.
        three, six = (estimators.MLPRegressor([4], max_iter=steps, random_state=1).fit(x, x[:, 0]).loss_curve_ for steps in (3, 6))
        self.assertEqual(three[:2], six[:2])
        self.assertGreater(three[2], six[2])

    def test_first_weights_are_those_of_the_seed(self):
        x = np.eye(4)
        first = lambda seed: estimators.MLPRegressor([4], learning_rate=1e-30, max_iter=1, random_state=seed).fit(x, x[:, 0]).params_
        self.assertTrue(first(1).same_bits(first(1)))
        self.assertFalse(first(1).same_bits(first(2)))

    def test_parameters_of_scikit_learns_own(self):
        nan, infinity = float("nan"), float("inf")
        for given in (
            {"learning_rate": "adaptive"}, {"batch_size": "auto"}, {"max_iter": 0}, {"dropout": None}, {"learning_rate": nan}, {"learning_rate": 0},
            {"learning_rate": infinity}, {"weight_decay": nan}, {"weight_decay": -1}, {"dropout": 1.0}, {"dropout": -0.1},
        ):
            self.refused(lambda: estimators.MLPClassifier(**given).fit(np.eye(2), [0, 1]), ValueError)
        for activation in ("rule", lambda x: x):
            self.refused(lambda: estimators.MLPClassifier(activation=activation).fit(np.eye(2), [0, 1]), (KeyError, TypeError))

    def test_a_network_that_diverges_is_refused(self):
        x = np.random.default_rng(0).standard_normal((30, 2))
        for rate, steps in ((1e38, 3), (1e38, 1)):
            self.refused(lambda: estimators.MLPRegressor([4], learning_rate=rate, max_iter=steps, random_state=1).fit(x, x[:, 0]), ValueError)
        net = estimators.MLPClassifier([4], max_iter=2, random_state=1).fit(x, x[:, 0] > 0)
        self.refused(lambda: net.predict(np.array([[0, 0], [1e300, -1e300]])), ValueError)

    def test_names_of_features(self):
        x = np.random.default_rng(0).standard_normal((30, 2))
        frame, turned, other = Frame(x, ["a", "b"]), Frame(x[:, ::-1], ["b", "a"]), Frame(x, ["a", "c"])
        for net in (estimators.MLPClassifier([4], max_iter=2, random_state=1), estimators.MLPRegressor([4], max_iter=2, random_state=1)):
            net.fit(frame, x[:, 0] > 0)
            self.assertEqual(net.feature_names_in_.tolist(), ["a", "b"])
            for wrong in (turned, other):
                with self.assertRaisesRegex(ValueError, "feature names should match"):
                    net.predict(wrong)
            with self.assertWarnsRegex(UserWarning, "feature names"):
                plain = net.predict(x)
            self.assertEqual(net.predict(frame).tolist(), plain.tolist())
            self.assertFalse(hasattr(net.fit(x, x[:, 0] > 0), "feature_names_in_"))

    def test_probabilities_of_classes(self):
        x = np.random.default_rng(0).standard_normal((30, 2))
        for y in (np.where(x[:, 0] > 0, "b", "a"), np.digitize(x[:, 0], [-0.5, 0.5]) * 10 - 5, np.full(30, "only")):
            net = estimators.MLPClassifier([4], max_iter=3, random_state=1).fit(x, y)
            p = net.predict_proba(x)
            self.assertEqual((p.shape, p.dtype, net.classes_.tolist()), ((30, len(np.unique(y))), np.float64, np.unique(y).tolist()))
            np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)
            np.testing.assert_array_equal(net.predict(x), net.classes_[p.argmax(axis=1)])
            self.assertEqual((net.n_iter_, len(net.loss_curve_), net.n_features_in_), (3, 3, 2))
        for bad in (x[:, :1], np.full((2, 2), np.nan)):
            with self.assertRaises(ValueError):
                net.predict(bad)

    def test_units_and_forms_of_targets(self):
        x = np.random.default_rng(0).standard_normal((40, 2))
        y = np.stack([1000 + 5 * x[:, 0], -0.01 * x[:, 1]], axis=1)
        both = estimators.MLPRegressor([8], max_iter=100, learning_rate=0.03, random_state=1).fit(x * [1, 1e4] + [0, 7], y)
        z = both.predict(x * [1, 1e4] + [0, 7])
        self.assertEqual((z.shape, z.dtype), ((40, 2), np.float64))
        # Better than the mean of each, in whichever units features and targets are.
        self.assertTrue((np.abs(z - y).mean(axis=0) < 0.3 * np.abs(y - y.mean(axis=0)).mean(axis=0)).all())
        self.assertEqual(estimators.MLPRegressor([4], max_iter=1, random_state=1).fit(x, y[:, 0]).predict(x).shape, (40,))
        curve = both.loss_curve_
        self.assertLess(curve[-1], 0.1 * curve[0])

    def test_docstrings(self):
        self.assertEqual(doctest.testmod(estimators).failed, 0)


if __name__ == "__main__":
    unittest.main()
