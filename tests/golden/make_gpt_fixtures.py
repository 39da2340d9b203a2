#!/usr/bin/python3
"""Writes what PyTorch makes of two small transformers, for the tests to compare with.

To make them again: apt-get install python3-torch (1.13 on Debian 12), then

    /usr/bin/python3 tests/golden/make_gpt_fixtures.py

in the root of the project. The tests need the files alone, not PyTorch.

gpt_<shape>.safetensors, shape being plain (layer norm, GELU, learned positions, no biases, tied),
gpt2 (the same with the tanh form of GELU and biases) and llama (RMS norm, SwiGLU, rotary positions,
one head of keys and values for two of queries, not tied); 13 tokens, context 8, 2 layers, width 8,
2 heads. f64 of f32 numbers but where it says otherwise.
    <parameter> f32                its first values, named as those of limpid::nn::Gpt
    tokens i32[20, 3, 9]           of each step three windows and what follows their tokens
    logits, loss                   of the first step's windows
    grad.<parameter>               of that loss
    losses f64[20], losses_f32 f32[20]
                                   before each of 20 steps of AdamW (rate 0.01, betas 0.9 and 0.99, decay
                                   0.1 of matrices alone, the gradient clipped to a norm of 1)
"""

import torch
import torch.nn.functional as F

import make_fixtures

VOCABULARY, CONTEXT, LAYERS, WIDTH, HEADS = 13, 8, 2, 8, 2
HEAD, STEPS, ROWS, EPS = WIDTH // HEADS, 20, 3, 1e-5
SHAPES = {"plain": dict(), "gpt2": dict(bias=True, tanh=True), "llama": dict(llama=True)}


def parameters(bias=False, tanh=False, llama=False):
    """The first values: larger than a model's usually are, so that everything shows."""
    hidden = 8 * WIDTH // 3 if llama else 4 * WIDTH
    key_width = HEAD if llama else WIDTH
    params = {"embed_tokens.weight": torch.randn(VOCABULARY, WIDTH)}
    if not llama:
        params["embed_positions.weight"] = 0.3 * torch.randn(CONTEXT, WIDTH)

    def linear(name, n_in, n_out):
        params[f"{name}.weight"] = 0.35 * torch.randn(n_out, n_in)
        if bias:
            params[f"{name}.bias"] = 0.1 * torch.randn(n_out)

    def norm(name):
        params[f"{name}.weight"] = torch.rand(WIDTH) + 0.5
        if not llama:
            params[f"{name}.bias"] = 0.1 * torch.randn(WIDTH)

    for i in range(LAYERS):
        block = f"layers.{i}"
        norm(f"{block}.input_layernorm")
        linear(f"{block}.self_attn.q_proj", WIDTH, WIDTH)
        linear(f"{block}.self_attn.k_proj", WIDTH, key_width)
        linear(f"{block}.self_attn.v_proj", WIDTH, key_width)
        linear(f"{block}.self_attn.o_proj", WIDTH, WIDTH)
        norm(f"{block}.post_attention_layernorm")
        if llama:
            linear(f"{block}.mlp.gate_proj", WIDTH, hidden)
        linear(f"{block}.mlp.up_proj", WIDTH, hidden)
        linear(f"{block}.mlp.down_proj", hidden, WIDTH)
    norm("norm")
    if llama:
        params["lm_head.weight"] = 0.5 * torch.randn(VOCABULARY, WIDTH)
    return params


def forward(p, ids, bias=False, tanh=False, llama=False):
    """Logits (rows, length, VOCABULARY) of ids (rows, length)."""
    rows, length = ids.shape

    def linear(name, x):
        return F.linear(x, p[f"{name}.weight"], p.get(f"{name}.bias"))

    def norm(name, x):
        if not llama:
            return F.layer_norm(x, (WIDTH,), p[f"{name}.weight"], p[f"{name}.bias"], EPS)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * p[f"{name}.weight"]

    def heads(x):
        x = x.view(rows, length, -1, HEAD).transpose(1, 2)
        return x.expand(rows, HEADS, length, HEAD)

    def turn(x):
        frequencies = 10000.0 ** (-torch.arange(0, HEAD, 2, dtype=torch.float64) / HEAD)
        angles = torch.arange(length, dtype=torch.float64)[:, None] * frequencies
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)

    def attention(name, x):
        q, k, v = (heads(linear(f"{name}.{part}_proj", x)) for part in "qkv")
        if llama:
            q, k = turn(q), turn(k)
        scores = q @ k.transpose(-1, -2) / HEAD**0.5
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        mixed = scores.masked_fill(future, float("-inf")).softmax(-1) @ v
        return linear(f"{name}.o_proj", mixed.transpose(1, 2).reshape(rows, length, WIDTH))

    def feed_forward(name, x):
        h = linear(f"{name}.up_proj", x)
        if llama:
            h = F.silu(linear(f"{name}.gate_proj", x)) * h
        else:
            h = F.gelu(h, approximate="tanh" if tanh else "none")
        return linear(f"{name}.down_proj", h)

    x = p["embed_tokens.weight"][ids]
    if not llama:
        x = x + p["embed_positions.weight"][:length]
    for i in range(LAYERS):
        block = f"layers.{i}"
        x = x + attention(f"{block}.self_attn", norm(f"{block}.input_layernorm", x))
        x = x + feed_forward(f"{block}.mlp", norm(f"{block}.post_attention_layernorm", x))
    return F.linear(norm("norm", x), p["lm_head.weight" if llama else "embed_tokens.weight"])


def loss_of(p, windows, **shape):
    logits = forward(p, windows[:, :-1], **shape)
    return logits, F.cross_entropy(logits.reshape(-1, VOCABULARY), windows[:, 1:].reshape(-1))


def train(start, tokens, dtype, **shape):
    """The loss before each step."""
    p = {k: v.to(dtype).clone().requires_grad_() for k, v in start.items()}
    matrices = [v for v in p.values() if v.dim() > 1]
    vectors = [v for v in p.values() if v.dim() == 1]
    optimiser = torch.optim.AdamW(
        [dict(params=matrices, weight_decay=0.1), dict(params=vectors, weight_decay=0.0)],
        lr=0.01, betas=(0.9, 0.99))
    losses = []
    for windows in tokens:
        loss = loss_of(p, windows, **shape)[1]
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(p.values(), 1.0)
        optimiser.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def fixture(name, shape):
    torch.manual_seed(11)
    start = parameters(**shape)
    # What follows a token is nearly certain, so that there is something to learn.
    tokens = torch.randint(VOCABULARY, (STEPS, ROWS, CONTEXT + 1))
    for t in range(1, CONTEXT + 1):
        chance = torch.rand(STEPS, ROWS) < 0.1
        tokens[..., t] = torch.where(chance, tokens[..., t], (3 * tokens[..., t - 1] + 1) % VOCABULARY)
    wide = {k: v.double().requires_grad_() for k, v in start.items()}
    logits, loss = loss_of(wide, tokens[0], **shape)
    loss.backward()
    losses = train(start, tokens, torch.float64, **shape)
    losses_f32 = train(start, tokens, torch.float32, **shape)
    # A training run at the edge of divergence would be a poor reference.
    drift = (losses - losses_f32).abs().max().item()
    assert drift < 1e-5, drift
    make_fixtures.save(
        f"gpt_{name}.safetensors",
        {**start, "tokens": tokens.int(), "logits": logits, "loss": loss,
         **{"grad." + k: v.grad for k, v in wide.items()}, "losses": losses,
         "losses_f32": losses_f32}, shape=name)
    print(f"    loss {losses[0]:.4f} to {losses[-1]:.4f}, f32 and f64 differ by {drift:.1e}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name, shape in SHAPES.items():
        fixture(name, shape)
