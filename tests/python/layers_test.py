#!/usr/bin/env python3
"""Layers with the options that their classes have: first values, norms, attention, dropout by a key, and training."""

import copy
import json
import pickle
import unittest

import numpy as np

import limpid as lp
from refusals import Refusals

RNG = np.random.default_rng(0)
N = lp.nn


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


class FirstValues(Refusals):
    def test_schemes(self):
        """By the standard deviation, and by how far from 0 the largest is: sqrt(3) deviations of a uniform distribution."""
        uniform, normal = (1.6, 1.7321), (3.5, 8)
        for name, scheme, std, (least, most) in (
            ("normal", N.normal(0.3), 0.3, normal), ("xavier_uniform", N.xavier_uniform(2.0), 2 * np.sqrt(2 / 500), uniform),
            ("xavier_normal", N.xavier_normal(2.0), 2 * np.sqrt(2 / 500), normal), ("kaiming_uniform", N.kaiming_uniform(2.0), 0.2, uniform),
            ("kaiming_normal", N.kaiming_normal(2.0), 0.2, normal), ("lecun_uniform", N.lecun_uniform(), 0.1, uniform),
            ("lecun_normal", N.lecun_normal(), 0.1, normal), ("depth_scaled_normal", N.depth_scaled_normal(8, 0.4), 0.1, normal),
            ("he", N.init_from_name("he", 2.0), 0.2, normal),
        ):
            w = np.asarray(scheme(lp.Key(1), (400, 100)))
            self.assertAlmostEqual(w.std() / std, 1, delta=0.02, msg=name)
            self.assertLess(abs(w.mean()), 0.02 * std, name)
            self.assertTrue(least < np.abs(w).max() / std < most, name)
        w = np.asarray(N.truncated_normal(0.3)(lp.Key(1), (400, 100)))
        self.assertTrue(0.59 < np.abs(w).max() <= 0.6 and 0.25 < w.std() < 0.28)
        self.assertEqual(N.zeros()(lp.Key(1), (2, 1)).tolist(), [[0], [0]])
        self.assertEqual(N.constant(0.5)(lp.Key(1), 3).tolist(), [0.5] * 3)
        w = np.asarray(N.orthogonal(3.0)(lp.Key(1), (40, 10)), np.float64)
        np.testing.assert_allclose(w.T @ w, 9 * np.eye(10), atol=1e-5)

    def test_shapes_of_first_values(self):
        for shape in (6, (2, 3), [2, 3], np.array([2, 3])):
            self.assertEqual(N.normal(1.0)(lp.Key(1), shape).shape, (6,) if isinstance(shape, int) else (2, 3))
        for shape in (2.0, "ab", True, (2.5,)):
            with self.assertRaises(TypeError):
                N.normal(1.0)(lp.Key(1), shape)
        for shape in (2**70, (2, 2**70)):
            with self.assertRaises(OverflowError):
                N.normal(1.0)(lp.Key(1), shape)
        self.refused(lambda: N._init_of(10, 1.0), ValueError)
        self.refused(lambda: N._init_of(-1, 1.0), ValueError)
        self.refused(lambda: N.init_from_name("none"), KeyError)
        self.assertEqual(repr(N.orthogonal(2.0)), "limpid.nn.Init(scheme 9, scale 2.000000)")

    def test_parts_have_keys_of_their_own(self):
        key, part = lp.Key(3), N.Linear(2, 2)
        for net, names in ((N.PreNorm(part, part), ("norm", "layer")), (N.PostNorm(part, part), ("norm", "layer")), (N.sequential(part, part), ("0", "1"))):
            params = net.init(key)
            for i, name in enumerate(names):
                self.assertTrue(params.within(name).same_bits(part.init(key.fold_in(i))), name)
        self.assertTrue(N.Residual(part).init(key).same_bits(part.init(key)))
        self.assertTrue(N.named("a", part).init(key)["a"].same_bits(part.init(key)))
        self.assertTrue(N.init_all(3, N.named("a", part), N.named("b", part))["b"].same_bits(part.init(key.fold_in(1))))
        for nothing in (N.init_all(None, N.named("a", part)), N.sequential(N.named("a", part)).init()):
            self.assertTrue(nothing["a"].same_bits(part.init(lp.Key(0).fold_in(0))))

    def test_parameters_of_one_name(self):
        part = N.Linear(2, 2)
        for bad in (lambda: N.sequential(N.named("1", part), part).init(), lambda: N.init_all(3, N.named("a", part), N.named("a", part))):
            self.refused(bad, lp.errors.InvalidArgumentError)
        # Layers without parameters may have any.
        self.assertEqual(list(N.sequential(N.named("1", lp.relu), part).init()), ["1.weight", "1.bias"])

    def test_schemes_are_compared_as_values(self):
        self.assertEqual(N.normal(0.1), N.normal(0.1))
        self.assertEqual(hash(N.normal(0.1)), hash(N.normal(0.1)))
        for other in (N.normal(0.2), N.truncated_normal(0.1), "normal", None):
            self.assertNotEqual(N.normal(0.1), other)
        self.assertNotEqual(N.Linear(2, 3, weight_init=N.normal(0.1)), N.Linear(2, 3, weight_init=N.normal(0.2)))
        for again in (copy.deepcopy(N.orthogonal(2.0)), pickle.loads(pickle.dumps(N.orthogonal(2.0)))):
            self.assertEqual(again, N.orthogonal(2.0))

    def test_layers_are_drawn_by_their_schemes(self):
        """A scheme that gives one number everywhere: it is in every weight, and no bias."""
        half = N.constant(0.5)
        for layer in (
            N.Linear(3, 2, weight_init=half), N.Embedding(3, 2, half), N.MultiHeadAttention(4, 2, in_init=half, out_init=half),
            N.Conv1d(2, 3, 2, weight_init=half), N.ConvTranspose2d(2, 3, 2, weight_init=half), N.FeedForward(4, 8, weight_init=half), N.GatedFeedForward(4, 8, bias=True, weight_init=half),
        ):
            for name, value in layer.init().items():
                self.assertEqual(set(np.asarray(value).ravel()), {0.0 if name.endswith("bias") else 0.5}, name)
        attention = N.MultiHeadAttention(4, 2, bias=False, in_init=half, out_init=N.constant(0.25)).init()
        self.assertEqual({name: np.unique(value).tolist() for name, value in attention.items()}["out_proj.weight"], [0.25])
        drawn = {name: np.asarray(N.Mlp([100, 400, 2], init_name=name).init()["layers.0.weight"]).std() for name in ("xavier", "he")}
        self.assertGreater(drawn["he"], 1.5 * drawn["xavier"])

    def test_keys_and_seeds(self):
        net = N.mlp([3, 4, 2])
        for made in (net, N.sequential(N.Linear(3, 4), N.Linear(4, 2))):
            want = made.init(lp.Key(5))
            self.assertTrue(made.init(5).same_bits(want) and made.init(seed=5).same_bits(want) and made.init(np.int64(5)).same_bits(want))
            self.assertFalse(made.init().same_bits(want))


class Norms(Refusals):
    def test_eps(self):
        x = floats(5, 6)
        p = {"weight": floats(6), "bias": floats(6)}
        w, b = p["weight"], p["bias"]
        for layer, want in (
            (N.LayerNorm(6, eps=0.5), lp.layer_norm(x, w, b, eps=0.5)), (N.LayerNorm(6, 0.5, bias=False), lp.layer_norm(x, w, eps=0.5)),
            (N.RmsNorm(6, 0.5), lp.rms_norm(x, w, eps=0.5)), (N.GroupNorm(2, 6, 0.5), lp.group_norm(x, 2, w, b, eps=0.5)),
        ):
            self.assertTrue(layer(p, x).same_bits(want), layer)

    def test_batch_norm(self):
        norm, x = N.BatchNorm(3, momentum=0.25, eps=0.5), floats(8, 3)
        params, state = norm.init(), norm.init_state()
        self.assertEqual([(name, value.tolist()) for name, value in state.items()], [("running_mean", [0] * 3), ("running_var", [1] * 3)])
        y, following = norm.training(params, state, x)
        want = lp.batch_norm(x, params["weight"], params["bias"], state["running_mean"], state["running_var"], momentum=0.25, eps=0.5)
        for got, part in zip((y, following["running_mean"], following["running_var"]), want):
            self.assertTrue(got.same_bits(part))
        inferred = lp.batch_norm_inference(x, params["weight"], params["bias"], following["running_mean"], following["running_var"], eps=0.5)
        self.assertTrue(norm(params.with_(following), x).same_bits(inferred))

    def test_batch_norm_of_a_network(self):
        net, x = N.Mlp([3, 4, 2], norm="batch"), floats(8, 3)
        params, state = net.init(), net.init_state()
        _, following = net.training(params, state, x, lp.Key(0))
        self.assertEqual(list(following), list(state))
        hidden = np.asarray(lp.linear(x, params["layers.0.weight"], params["layers.0.bias"]))
        mean, = (value for name, value in following.items() if name.endswith("running_mean"))
        np.testing.assert_allclose(np.asarray(mean), 0.1 * hidden.mean(axis=0), rtol=1e-5, atol=1e-7)
        self.assertFalse(net(params.with_(following), x).same_bits(net(params.with_(state), x)))
        self.refused(lambda: net.training(params, state, x, None), TypeError)


class Attention(Refusals):
    def attended(self, p, x, memory, **options):
        """By the parts: the rows of in_proj are those of the queries, the keys, the values, of two heads each."""
        w, b = np.asarray(p["in_proj_weight"]), np.asarray(p["in_proj_bias"])
        heads = lambda rows, part: lp.linear(rows, w[part], b[part]).reshape(-1, 2, 4).transpose(1, 0, 2)
        q, k, v = (heads(rows, slice(8 * i, 8 * i + 8)) for i, rows in enumerate((x, memory, memory)))
        y = lp.scaled_dot_product_attention(q, k, v, **options).transpose(1, 0, 2).reshape(-1, 8)
        return lp.linear(y, p["out_proj.weight"], p["out_proj.bias"])

    def test_from_one_sequence_to_another(self):
        x, memory, mask = floats(3, 8), floats(5, 8), np.float32(RNG.random((3, 5)))
        near = lambda got, want: np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-5, atol=1e-6)
        for causal in (False, True):
            net = N.MultiHeadAttention(8, heads=2, causal=causal)
            p = net.init(seed=1)
            p = p.with_({"in_proj_bias": floats(24), "out_proj.bias": floats(8)})
            near(net(p, x), self.attended(p, x, x, causal=causal))
            near(net.attend(p, x, memory), self.attended(p, x, memory, causal=causal))
            near(net.attend(p, x, memory, mask), self.attended(p, x, memory, mask=mask, causal=causal))
            near(lp.compile(net.attend)(p, x, memory, mask), self.attended(p, x, memory, mask=mask, causal=causal))


class Dropout(Refusals):
    def test_a_key_reaches_every_part(self):
        class Own:
            """A layer of one's own that takes a key."""

            def init(self, key):
                return {}

            def __call__(self, p, x, key=None):
                return x if key is None else lp.dropout(x, key, 0.5)

        half, x = N.Dropout(0.5), floats(3, 64)
        for layer in (
            half, N.Residual(half), N.named("a", half), N.PreNorm(N.RmsNorm(64), half), N.PostNorm(N.RmsNorm(64), half),
            N.sequential(lp.tanh, half), N.sequential(N.sequential(N.Residual(half))), N.sequential(Own()), N.Residual(Own()),
            N.FeedForward(64, 64, dropout=0.5), N.mlp([64, 64, 2], dropout=0.5), N.Mlp([64, 64, 2], dropout=0.5, norm="layer"),
        ):
            params = layer.init()
            by = lambda *key: layer(params, x, *key)
            self.assertTrue(by(lp.Key(1)).same_bits(by(lp.Key(1))), layer)
            self.assertFalse(by(lp.Key(1)).same_bits(by(lp.Key(2))), layer)
            self.assertFalse(by(lp.Key(1)).same_bits(by()), layer)
            self.assertTrue(by().same_bits(by(None)), layer)
        ids = np.int32([1, 2, 3, 4])
        for net in (
            N.CharLm(7, 4, 16, [64], dropout=0.5), N.Gpt(7, context=4, layers=1, width=16, heads=2, dropout=0.5),
            N.RecurrentLm(7, "gru", layers=1, width=16, dropout=0.5),
        ):
            params = net.init()
            self.assertFalse(net(params, ids, lp.Key(1)).same_bits(net(params, ids)), net)

    def test_a_key_passes_by_what_takes_none(self):
        class Plain:
            def init(self, key):
                return {"w": lp.ones(4)}

            def __call__(self, p, x):
                return x * p["w"]

        x, key = floats(4), lp.Key(1)
        for layer in (N.Residual(Plain()), N.named("a", Plain()), N.PreNorm(Plain(), Plain()), N.PostNorm(Plain(), Plain()), N.sequential(Plain(), lp.tanh)):
            params = layer.init(seed=0)
            self.assertIsInstance(params, lp.Params)
            self.assertTrue(layer(params, x, key).same_bits(layer(params, x)), layer)
        self.assertFalse(any(N._takes_key(layer) for layer in (Plain(), lp.tanh, N.Linear(2, 3), N.RmsNorm(2))))

    def test_dropout_between_parts(self):
        x, key = np.ones(64, np.float32), lp.Key(3)
        net = N.sequential(N.Dropout(0.5), lp.negate, N.Dropout(0.25))
        want = lp.dropout(-lp.dropout(x, lp.fold_in(key, 0), 0.5), lp.fold_in(key, 2), 0.25)
        self.assertTrue(net({}, x, key).same_bits(want))

    def test_training_of_a_network_drops(self):
        net, x = N.mlp([64, 64, 2], dropout=0.5), floats(3, 64)
        params = net.init()
        for key in (lp.Key(1), lp.Key(2)):
            self.assertTrue(net.training(params, {}, x, key)[0].same_bits(net(params, x, key)))


class Choices(Refusals):
    """What is wrong is said where it is given, not when the layer is first called."""

    def test_code_of_ones_own_is_no_name(self):
        def relu(x):
            return x * 0 + 7

        for layer, choice in ((N.Mlp, {"sizes": [4, 3, 2]}), (N.CharLm, {"vocabulary": 5}), (N.FeedForward, {"features": 4, "hidden": 4})):
            self.refused(lambda: layer(**choice, activation=relu), TypeError)
            self.refused(lambda: layer(**choice, activation=lambda x: x), TypeError)
            self.refused(lambda: layer(**choice, activation=lp.compile(lp.relu)), TypeError)
            self.refused(lambda: layer(**choice, activation=None), TypeError)
            self.refused(lambda: layer(**choice, activation=lp.exp), KeyError)
            self.assertEqual(layer(**choice, activation=lp.tanh), layer(**choice, activation="tanh"))
        self.refused(lambda: N.mlp([4, 3, 2], relu), TypeError)
        self.refused(lambda: N.GatedFeedForward(4, 4, gate=lp.relu), KeyError)
        net = N.sequential(N.Linear(2, 3), relu)
        self.assertEqual(net(net.init(), lp.ones(2)).tolist(), [7] * 3)

    def test_names_and_numbers(self):
        for wrong in ({"norm": "bach"}, {"init_name": "she"}, {"activation": "rule"}, {"dropout": 1.5}, {"dropout": "much"}, {"sizes": [4]}, {"sizes": [4, -3, 2]}):
            self.refused(lambda: N.Mlp(**{"sizes": [4, 3, 2], **wrong}), lp.Error)
        for wrong in ({"norm": "batch"}, {"positions": "x"}, {"feed_forward": "x"}):
            self.refused(lambda: N.Gpt(10, **wrong), KeyError)
        self.refused(lambda: N.Gpt(10, heads=3), ValueError)
        self.refused(lambda: N.Linear(-4, 3), ValueError)
        self.refused(lambda: N.Linear(4, "three"), TypeError)
        self.refused(lambda: N.BatchNorm(3, momentum=float("nan")), ValueError)

    def test_sizes_are_those_of_the_parameters(self):
        net, other = N.mlp([4, 8, 2], lp.relu), N.mlp([4, 16, 2], lp.relu)
        self.refused(lambda: net(other.init(), lp.ones(4)), ValueError)

    def test_parts(self):
        for make in (lambda part: N.sequential(part), N.Residual, lambda part: N.PreNorm(part, lp.relu), lambda part: N.PostNorm(lp.relu, part)):
            self.refused(lambda: make("relu"), TypeError)
            self.refused(lambda: make(N.Linear), TypeError)
        self.refused(lambda: N.named(3, lp.relu), TypeError)


class Others(Refusals):
    def test_the_perceptrons_rule(self):
        net, x, targets, rate = N.Perceptron(2), np.float32([[1, 2], [-1, 1], [2, -1]]), np.float32([1, 0, 1]), 0.5
        weight, bias, counts, kept = np.zeros(2), 0.0, [], []
        for _ in range(6):
            counts.append(0)
            for row, target in zip(x, targets):
                answer = net({"weight": np.float32([weight]), "bias": np.float32([bias])}, row).item()
                counts[-1] += answer != target
                learned = net.learn({"weight": np.float32([weight]), "bias": np.float32([bias])}, row, target, rate)
                weight, bias = weight + rate * (target - answer) * row, bias + rate * (target - answer)
                self.assertEqual((learned["weight"].tolist(), learned["bias"].tolist()), ([weight.tolist()], [bias]))
            kept.append((weight.tolist(), bias))
            if not counts[-1]:
                break
        self.assertGreater(len(counts), 1)
        for epochs in (1, 6):
            run = N.train_perceptron(net, x, targets, epochs, rate)
            self.assertEqual(run.mistakes, counts[:epochs])
            self.assertEqual([(p["weight"].tolist()[0], p["bias"].item()) for p in run.params], kept[:epochs])

    def test_rotary_angles(self):
        frequencies = N.rotary_frequencies(8, base=100.0)
        np.testing.assert_allclose(np.asarray(frequencies), 100.0 ** (-2 * np.arange(4) / 8), rtol=1e-6)
        angles = N.rotary_angles(np.int32([0, 3, 5]), frequencies)
        want = np.outer([0, 3, 5], np.asarray(frequencies))
        np.testing.assert_allclose(np.asarray(angles.cos), np.cos(want), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(np.asarray(angles.sin), np.sin(want), rtol=1e-5, atol=1e-6)

    def test_layers_are_values(self):
        for layer, field in (
            (N.Linear(2, 3), "bias"), (N.Embedding(2, 3), "count"), (N.Dropout(0.5), "rate"), (N.LayerNorm(2), "eps"), (N.RmsNorm(2), "eps"), (N.GroupNorm(1, 2), "groups"),
            (N.Conv2d(2, 3, (1, 2)), "stride"), (N.ConvTranspose1d(2, 3, 4), "dilation"),
            (N.BatchNorm(2), "momentum"), (N.MultiHeadAttention(2), "causal"), (N.FeedForward(2, 3), "dropout"), (N.GatedFeedForward(2, 3), "gate"), (N.Mlp([2, 3]), "norm"),
            (N.CharLm(5), "context"), (N.Gpt(5), "width"), (N.RecurrentLm(5), "kind"), (N.RecurrentNet(5, 3, 2), "steps"), (N.Perceptron(2), "inputs"), (N.named("a", lp.relu), "name"), (N.sequential(lp.relu), "layers"),
            (N.Residual(lp.relu), "layer"), (N.PreNorm(N.RmsNorm(2), lp.relu), "norm"), (N.PostNorm(N.RmsNorm(2), lp.relu), "norm"), (lp.optim.Schedule(), "kind"),
            (lp.optim.Clip(), "norm"), (lp.optim.Sgd(), "momentum"), (lp.optim.RmsProp(), "alpha"), (lp.optim.Adam(), "beta1"),
            (lp.optim.AdamW(), "eps"), (lp.optim.Adagrad(), "eps"),
        ):
            with self.assertRaises(AttributeError):
                setattr(layer, field, 0)
            again = pickle.loads(pickle.dumps(layer))
            self.assertEqual((again, hash(again)), (layer, hash(layer)))
        for used in (N.Linear(2, 3), N.mlp([2, 3]), N.sequential(N.Linear(2, 3), lp.relu)):
            params = used.init()
            for again in (pickle.loads(pickle.dumps(used)), copy.deepcopy(used)):
                self.assertTrue(again == used and again.init().same_bits(params))

    def test_configurations(self):
        shown = lambda net: json.loads(net.config())
        mlp = {"model": "mlp", "sizes": [2, 4, 3], "activation": "tanh", "dropout": 0.5, "init": "xavier", "norm": "layer"}
        self.assertEqual(shown(N.Mlp((2, 4, 3), lp.tanh, np.float64(0.5), "layer", "xavier")), mlp)
        char = N.CharLm(np.int64(3), 2, 1, (4,), "tanh", 0.5, "layer", "xavier")
        self.assertEqual(shown(char), {"model": "charlm", "vocabulary": 3, "context": 2, "embedding": 1, "mlp": mlp})
        given = {
            "vocabulary": 5, "context": 6, "layers": 1, "width": 8, "heads": 4, "kv_heads": 2, "hidden": 7, "norm": "rms", "norm_eps": 0.5, "feed_forward": "swiglu",
            "positions": "rotary", "rotary_base": 5.0, "bias": True, "tied": False, "dropout": 0.25,
        }  # fmt: skip
        self.assertEqual(shown(N.Gpt(**given)), {"model": "gpt", **given})
        self.assertEqual(shown(N.Gpt(np.int32(5), layers=np.int64(1)))["vocabulary"], 5)
        self.refused(lambda: N.Gpt(object()).config(), TypeError)
        given = {"vocabulary": 5, "context": 6, "layers": 1, "width": 8, "tied": True, "dropout": 0.25}
        self.assertEqual(shown(N.RecurrentLm(kind="gru", **given)), {"model": "gru", **given})
        given = {"steps": 5, "features": 6, "outputs": 2, "layers": 1, "width": 8, "dropout": 0.25}
        self.assertEqual(shown(N.RecurrentNet(**given)), {"model": "lstm", **given})
        self.refused(lambda: N.RecurrentLm(5, kind="rnn").config(), ValueError)


if __name__ == "__main__":
    unittest.main()
