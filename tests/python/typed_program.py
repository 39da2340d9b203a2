"""A program of a user's, for mypy in strict mode."""

from typing import Any, Tuple

import numpy as np

import limpid as lp

net = lp.nn.mlp([4, 8, 2], lp.relu)
params: lp.Params = net.init(seed=0)


def loss(p: Any, x: Any, y: Any) -> Any:
    return lp.softmax_cross_entropy(net(p, x), y).mean()


step: lp.Compiled = lp.compile(lp.value_and_grad(loss))
result: Tuple[lp.Array, lp.Params] = step(params, np.zeros((3, 4), np.float32), np.zeros(3, np.int32))
f: lp.Function = net.function()
text: str = f.hash + f.text()
adam = lp.optim.Adam(beta1=0.8)
state: lp.Params = adam.init(params)
split: lp.data.Split = lp.data.load("moons")
rows: int = len(split.train)
total: lp.Array = result[0].reshape(1).sum()
