#!/usr/bin/env python3
"""Every op, layer, loss and optimiser, and with_gradient: Python writes the Function that C++ writes, and gives its bits.

The table is that of parity.cc: what is there and not here, or here and not there, fails.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import limpid as lp

N = lp.nn


def attribute(text):
    """An attribute from the text form: a number, a list, a dtype or an array."""
    if text.endswith(")"):
        return next(iter([lp.parse(f"function c() {{\n  %0 = constant() {{value = {text}}} : {text.split(' (')[0]}\n  return %0\n}}\n")()]))
    try:
        return json.loads(text)
    except ValueError:
        return {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}.get(text, text)


def attributes_of(text):
    """Those of a Function's only op, from the text form. A Function among them stands in it as a whole: its braces are balanced."""
    found = {}
    for name, value in lp.parse(text).ops[0]["attributes"].items():
        if not value.startswith("function "):
            found[name] = attribute(value)
            continue
        begin = text.index(f"{name} = function ") + len(f"{name} = ")
        end = text.index("{", begin) + 1
        while text.count("{", begin, end) > text.count("}", begin, end):
            end += 1
        found[name] = lp.parse(text[begin:end])
    return found


# Ops whose functions in Python take other arguments, which ops_test.py and the table of losses try.
IN_OTHER_WORDS = (
    "layer_norm", "rms_norm", "group_norm", "binary_cross_entropy", "remainder", "cholesky", "triangular_solve", "qr", "svd", "kl_divergence", "prod", "cumulative_sum",
    "gather", "take", "scatter", "scatter_add", "softmax_cross_entropy",  # refuse what is out of range
    "conv", "conv_transpose", "conv_weight_gradient", "patches", "col2im", "reduce_window_sum", "max_pool", "max_pool_indices", "avg_pool", "lp_pool",
    "scan", "cond", "while_loop",
)

ROWS = "f32[3, 8]"
LAYERS = {
    "linear": (N.Linear(8, 5), ROWS),
    "linear_without_bias": (N.Linear(8, 5, False, N.orthogonal()), ROWS),
    "embedding": (N.Embedding(5, 4), "i32[7]"),
    "dropout": (N.Dropout(0.5), ROWS),
    "layer_norm": (N.LayerNorm(8), ROWS),
    "rms_norm": (N.RmsNorm(8), ROWS),
    "group_norm": (N.GroupNorm(2, 8), ROWS),
    "attention": (N.MultiHeadAttention(8, 2), ROWS),
    "grouped_attention": (N.MultiHeadAttention(8, heads=4, kv_heads=2, causal=True), ROWS),
    "feed_forward": (N.FeedForward(8, 16, lp.gelu), ROWS),
    "gated_feed_forward": (N.GatedFeedForward(8, 16, lp.geglu, True), ROWS),
    "sequential": (
        N.sequential(
            N.Linear(8, 8),
            lp.relu,
            N.Residual(N.Linear(8, 8)),
            N.PreNorm(N.LayerNorm(8), N.FeedForward(8, 8)),
            N.PostNorm(N.RmsNorm(8), N.Linear(8, 8)),
            N.named("head", N.Linear(8, 2)),
        ),
        ROWS,
    ),
    "perceptron": (N.Perceptron(8), ROWS),
}
MODELS = {
    **{f"mlp_{norm}": N.Mlp([8, 6, 3], lp.gelu, 0.1, norm) for norm in ("none", "layer", "rms", "batch")},
    "char_lm": N.CharLm(11, 4, 6, [16], lp.tanh),
    "recurrent_lm": N.RecurrentLm(11, "gru", 4, 2, 6, True),
    "recurrent_net": N.RecurrentNet(5, 3, 2, "lstm", 2, 4),
    "gpt": N.Gpt(13, 6, 2, 8, 2),
    "gpt2": N.gpt2_shaped(13, context=6, layers=2, width=8, heads=2),
    "llama": N.llama_shaped(13, context=6, layers=2, width=8, heads=2),
}
LOSSES = {
    "softmax_cross_entropy": lambda a, b: lp.softmax_cross_entropy(a, b),
    "cross_entropy": lambda a, b: lp.cross_entropy(a, b),
    "cross_entropy_smoothed": lambda a, b, c: lp.cross_entropy(a, b, reduction="sum", label_smoothing=0.1, ignore_index=2, class_weights=c),
    "cross_entropy_soft": lambda a, b: lp.cross_entropy(a, b),
    "nll_loss": lambda a, b, c: lp.nll_loss(a, b, ignore_index=1, class_weights=c),
    "binary_cross_entropy": lambda a, b, c: lp.binary_cross_entropy_with_logits(a, b, "none", c),
    "multi_label_loss": lambda a, b: lp.multi_label_loss(a, b),
    "kl_divergence": lambda a, b: lp.kl_divergence(a, b),
    "hinge_loss": lambda a, b: lp.hinge_loss(a, b, "sum"),
    "mse_loss": lambda a, b: lp.mse_loss(a, b),
    "mae_loss": lambda a, b: lp.mae_loss(a, b, "none"),
    "huber_loss": lambda a, b: lp.huber_loss(a, b, 0.3),
    "smooth_l1_loss": lambda a, b: lp.smooth_l1_loss(a, b, 0.4),
    "info_nce_loss": lambda a, b: lp.info_nce_loss(a, b, temperature=0.2, normalize=False),
    "triplet_margin_loss": lambda a, b, c: lp.triplet_margin_loss(a, b, c, 0.5),
    "cosine_embedding_loss": lambda a, b, c: lp.cosine_embedding_loss(a, b, c, 0.1),
}
OPTIMIZERS = {
    **{name: getattr(lp.optim, kind)() for name, (kind, _, _) in lp._core.optimizers().items()},
    "sgd_nesterov": lp.optim.Sgd(momentum=0.9, weight_decay=0.1, nesterov=True),
    "rmsprop_centered": lp.optim.RmsProp(momentum=0.5, centered=True),
    "adam_amsgrad": lp.optim.Adam(weight_decay=0.1, amsgrad=True, decay_vectors=False),
}

doubled = lp.with_gradient(lambda x, w: (x * w).sum(), lambda x, w, y, c: (2.0 * c * w, 2.0 * c * x + 0.5 * y))
rounded = lp.with_gradient(lp.round, lambda x, y, c: c)
GRADIENTS = {
    "straight_through": lambda a, b: lp.grad(lambda x: rounded(x * b).sum())(a) + rounded(a),
    "batch": lambda a, b: lp.grad(lambda w: lp.vmap(lambda x: doubled(x, w))(a).sum())(b),
    "batches": lambda a, b: lp.grad(lambda w: lp.vmap(lp.vmap(lambda x: doubled(x, w)))(a).sum())(b),
    "twice": lambda a, b: lp.vmap(lambda x: lp.grad(lambda w: (x * lp.grad(lambda u: doubled(u, w))(x)).sum())(b))(a),
}


def hash_of(results):
    return lp._core.hash_of([lp.asarray(r) for r in (results if isinstance(results, tuple) else (results,))])


class Parity(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            subprocess.run([os.environ["LIMPID_PARITY"], folder], check=True)
            rows = json.loads((folder / "table.json").read_text())
            cls.inputs = {}
            for key, value in lp.load(folder / "inputs.safetensors").items():
                what, _, number = key.rpartition("/")
                cls.inputs.setdefault(what, {})[int(number)] = value
        cls.rows = {kind: {} for kind in ("op", "layer", "loss", "optimizer", "gradient")}
        for row in rows:
            kind, _, name = row["name"].partition(" ")
            given = cls.inputs.get(row["name"], {})
            cls.rows[kind][name] = (row["text"], row["hash"], [given[i] for i in sorted(given)])

    def test_ops(self):
        self.assertEqual({name.split()[0] for name in self.rows["op"]}, set(lp.all_ops()))
        for name, (text, hash_there, inputs) in self.rows["op"].items():
            op = name.split()[0]
            attributes = attributes_of(text)
            names = [f"x{i}" for i in range(len(inputs))]
            code = lambda *x: lp.call(op, *x, **attributes)
            written = lp.trace(code, *[x.type for x in inputs], name=op, names=names)
            self.assertEqual(written.text(), text, name)
            self.assertEqual(hash_of(code(*inputs)), hash_there, name)
            self.assertEqual(hash_of(written(*inputs)), hash_there, name)
            if op not in IN_OTHER_WORDS:
                given = [inputs] if "L" in lp._core.op_kinds[op] else inputs
                self.assertEqual(hash_of(getattr(lp, op)(*given, **attributes)), hash_there, name)

    def test_layers(self):
        self.assertEqual(set(self.rows["layer"]), set(LAYERS) | set(MODELS))
        for name, (text, hash_there, inputs) in self.rows["layer"].items():
            if name in LAYERS:
                layer, x = LAYERS[name]
                f = N.function_of(layer, x, name)
            else:
                layer = MODELS[name]
                f = layer.function()
            self.assertEqual(f.text(), text, name)
            params = layer.init(lp.Key(3))
            if hasattr(layer, "init_state"):
                params = params.with_(layer.init_state())
            for result in (f(params, *inputs), layer(params, *inputs), lp.compile(layer)(params, *inputs)):
                self.assertEqual(hash_of(result), hash_there, name)

    def test_losses(self):
        self.assertEqual(set(self.rows["loss"]), set(LOSSES))
        for name, (text, hash_there, inputs) in self.rows["loss"].items():
            self.assertEqual(lp.trace(LOSSES[name], *inputs, name=name).text(), text, name)
            self.assertEqual(hash_of(LOSSES[name](*inputs)), hash_there, name)

    def test_with_gradient(self):
        self.assertEqual(set(self.rows["gradient"]), set(GRADIENTS))
        for name, (text, hash_there, inputs) in self.rows["gradient"].items():
            written = lp.trace(GRADIENTS[name], *inputs, name=name)
            self.assertEqual(lp.simplify(lp.expand(written)).text(), text, name)
            for f in (GRADIENTS[name], written, written.interpret, lp.compile(GRADIENTS[name])):
                self.assertEqual(hash_of(f(*inputs)), hash_there, name)

    def test_optimizers(self):
        self.assertEqual(set(self.rows["optimizer"]), set(OPTIMIZERS))
        for name, (text, hash_there, inputs) in self.rows["optimizer"].items():
            optimizer = OPTIMIZERS[name]
            params = lp.Params({"w": inputs[0], "b": inputs[1]})
            gradients = lp.Params({"w": inputs[2], "b": inputs[3]})
            self.assertEqual(optimizer._optimizer.update_function(params).text(), text, name)
            state = optimizer.init(params)
            for step in (optimizer, lp.compile(optimizer)):
                following, next_state = step(params, gradients, state, 0.1)
                self.assertEqual(hash_of((*following.values(), *next_state.values())), hash_there, name)


if __name__ == "__main__":
    unittest.main()
