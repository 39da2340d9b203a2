#!/usr/bin/env python3
"""Writes small random models of the families since Llama, as Hugging Face's folders, with the logits that PyTorch computes.

  make_family_fixtures.py        with Debian's python3-torch

Each family is written out below from its paper and from transformers' documentation of its configuration, on weights
under the published names.
"""

import json
import math

import torch
from make_fixtures import HERE, save_safetensors
from torch.nn import functional as F

LENGTH = 11
SIZES = {"vocab_size": 29, "max_position_embeddings": 32, "hidden_size": 16, "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 4}
GROUPED = SIZES | {"num_key_value_heads": 2, "rms_norm_eps": 1e-5, "rope_theta": 500.0}


class Model:
    """Weights that are drawn when they are first named, and what families do with them."""

    def __init__(self, config, dtype):
        self.c, self.dtype, self.w, self.layer = config, dtype, {}, 0
        self.heads = config["num_attention_heads"]
        self.kv = config.get("num_key_value_heads", self.heads)
        self.d = config.get("head_dim") or config["hidden_size"] // self.heads

    def weight(self, name, *shape, around=0.0):
        if name not in self.w:
            scale = 0.3 if len(shape) > 1 else 0.1
            self.w[name] = (torch.randn(shape) * scale + around).to(self.dtype)
        return self.w[name].float()

    def linear(self, name, x, out, bias=False):
        weight = self.weight(name + ".weight", out, x.shape[-1])
        return F.linear(x, weight, self.weight(name + ".bias", out) if bias else None)

    def rms(self, name, x, eps=None, plus_one=False):
        around = 0.0 if plus_one else 1.0
        weight = self.weight(name + ".weight", x.shape[-1], around=around) + (1 if plus_one else 0)
        return x * (x.pow(2).mean(-1, keepdim=True) + (eps or self.c["rms_norm_eps"])).rsqrt() * weight

    def layer_norm(self, name, x, eps):
        return F.layer_norm(x, x.shape[-1:], self.weight(name + ".weight", x.shape[-1], around=1.0), self.weight(name + ".bias", x.shape[-1]), eps)

    def rotate(self, x, frequencies, gain=1.0):
        """x (length, heads, d), whose first 2 * len(frequencies) elements are rotated."""
        angles = torch.arange(len(x), dtype=torch.float64)[:, None] * frequencies
        cos, sin = (gain * torch.cat([f(angles)] * 2, -1).float()[:, None] for f in (torch.cos, torch.sin))
        r = 2 * len(frequencies)
        y = x[..., :r]
        half = torch.cat([-y[..., r // 2 :], y[..., : r // 2]], -1)
        return torch.cat([y * cos + half * sin, x[..., r:]], -1)

    def frequencies(self, base=None, size=None):
        size = size or self.d
        return (base or self.c["rope_theta"]) ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)

    def attend(self, q, k, v, scale=None):
        """Causal, of q (length, heads, d) and k, v (length, kv heads, d)."""
        repeat = q.shape[1] // k.shape[1]
        k, v = (x.repeat_interleave(repeat, 1) for x in (k, v))
        scores = torch.einsum("qhd,khd->hqk", q, k) * (scale or 1 / math.sqrt(q.shape[2]))
        seen = torch.ones(scores.shape[1:]).tril().bool()
        return torch.einsum("hqk,khd->qhd", scores.masked_fill(~seen, -math.inf).softmax(-1), v).flatten(1)

    def split(self, x, heads):
        return x.view(len(x), heads, self.d)

    def qkv(self, name, x, bias=False):
        return [self.split(self.linear(f"{name}.{n}_proj", x, h * self.d, bias), h) for n, h in (("q", self.heads), ("k", self.kv), ("v", self.kv))]

    def gated(self, name, x, act=F.silu, bias=False):
        hidden = self.c["intermediate_size"]
        gate, up = (self.linear(f"{name}.{n}_proj", x, hidden, bias) for n in ("gate", "up"))
        return self.linear(name + ".down_proj", act(gate) * up, self.c["hidden_size"], bias)

    def embed(self, name, tokens):
        return self.weight(name + ".weight", self.c["vocab_size"], self.c["hidden_size"])[tokens]

    def head(self, x, embedding, name="lm_head", bias=False):
        if self.c.get("tie_word_embeddings"):
            return x @ self.weight(embedding + ".weight").T
        return self.linear(name, x, self.c["vocab_size"], bias)


def tanh_gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def llama_like(m, tokens, frequencies, gain=1.0, bias=False, head_norm=False, skips=(), embedding=1.0, residual=1.0, scale=None, logits=1.0):
    x = m.embed("model.embed_tokens", tokens) * embedding
    for i in range(m.c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        q, k, v = m.qkv(p + "self_attn", m.rms(p + "input_layernorm", x), bias)
        if head_norm:
            q, k = m.rms(p + "self_attn.q_norm", q), m.rms(p + "self_attn.k_norm", k)
        if i not in skips:
            q, k = m.rotate(q, frequencies, gain), m.rotate(k, frequencies, gain)
        x = x + residual * m.linear(p + "self_attn.o_proj", m.attend(q, k, v, scale), m.c["hidden_size"])
        x = x + residual * m.gated(p + "mlp", m.rms(p + "post_attention_layernorm", x))
    return m.head(m.rms("model.norm", x), "model.embed_tokens") * logits


def mistral(m, tokens):
    s = m.c["rope_scaling"]  # linear
    return llama_like(m, tokens, m.frequencies() / s["factor"])


def qwen2(m, tokens):
    s = m.c["rope_scaling"]  # YaRN, section 3.2 and 3.4
    old, factor, d = s["original_max_position_embeddings"], s["factor"], m.d
    turns = lambda n: d * math.log(old / (n * 2 * math.pi)) / (2 * math.log(m.c["rope_theta"]))
    low, high = max(math.floor(turns(s["beta_fast"])), 0), min(math.ceil(turns(s["beta_slow"])), d - 1)
    ramp = ((torch.arange(d // 2, dtype=torch.float64) - low) / (high - low)).clamp(0, 1)
    frequencies = m.frequencies() * (ramp / factor + 1 - ramp)
    return llama_like(m, tokens, frequencies, gain=0.1 * math.log(factor) + 1, bias=True)


def qwen3(m, tokens):
    return llama_like(m, tokens, m.frequencies(), head_norm=True)


def granite(m, tokens):
    c = m.c
    return llama_like(m, tokens, m.frequencies(), embedding=c["embedding_multiplier"], residual=c["residual_multiplier"], scale=c["attention_multiplier"], logits=1 / c["logits_scaling"])


def smollm3(m, tokens):
    return llama_like(m, tokens, m.frequencies(), skips=[i for i, rotates in enumerate(m.c["no_rope_layers"]) if not rotates])


def gemma(m, tokens):
    x = m.embed("model.embed_tokens", tokens) * math.sqrt(m.c["hidden_size"])
    norm = lambda name, y: m.rms(name, y, plus_one=True)
    for i in range(m.c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        q, k, v = m.qkv(p + "self_attn", norm(p + "input_layernorm", x))
        q, k = (m.rotate(y, m.frequencies()) for y in (q, k))
        x = x + m.linear(p + "self_attn.o_proj", m.attend(q, k, v), m.c["hidden_size"])
        x = x + m.gated(p + "mlp", norm(p + "post_attention_layernorm", x), tanh_gelu)
    return m.head(norm("model.norm", x), "model.embed_tokens")


def gemma2(m, tokens, head_norm=False):
    c = m.c
    x = m.embed("model.embed_tokens", tokens) * math.sqrt(c["hidden_size"])
    norm = lambda name, y: m.rms(name, y, plus_one=True)
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        frequencies = m.frequencies()
        if head_norm:  # Gemma 3: every pattern-th layer is global, with scaled positions
            is_global = (i + 1) % c["sliding_window_pattern"] == 0
            frequencies = frequencies / c["rope_scaling"]["factor"] if is_global else m.frequencies(c["rope_local_base_freq"])
        q, k, v = m.qkv(p + "self_attn", norm(p + "input_layernorm", x))
        if head_norm:
            q, k = norm(p + "self_attn.q_norm", q), norm(p + "self_attn.k_norm", k)
        q, k = (m.rotate(y, frequencies) for y in (q, k))
        mixed = m.linear(p + "self_attn.o_proj", m.attend(q, k, v, c["query_pre_attn_scalar"] ** -0.5), c["hidden_size"])
        x = x + norm(p + "post_attention_layernorm", mixed)
        fed = m.gated(p + "mlp", norm(p + "pre_feedforward_layernorm", x), tanh_gelu)
        x = x + norm(p + "post_feedforward_layernorm", fed)
    logits = m.head(norm("model.norm", x), "model.embed_tokens")
    cap = c.get("final_logit_softcapping")
    return cap * torch.tanh(logits / cap) if cap else logits


def gemma3(m, tokens):
    return gemma2(m, tokens, head_norm=True)


def phi3(m, tokens):
    c, s = m.c, m.c["rope_scaling"]  # LongRoPE up to the original context
    size = int(m.d * c["partial_rotary_factor"])
    frequencies = m.frequencies(size=size) / torch.tensor(s["short_factor"], dtype=torch.float64)
    old = c["original_max_position_embeddings"]
    gain = math.sqrt(1 + math.log(c["max_position_embeddings"] / old) / math.log(old))
    x = m.embed("model.embed_tokens", tokens)
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        sizes = [m.heads * m.d, m.kv * m.d, m.kv * m.d]
        q, k, v = m.linear(p + "self_attn.qkv_proj", m.rms(p + "input_layernorm", x), sum(sizes)).split(sizes, -1)
        q, k = (m.rotate(m.split(y, h), frequencies, gain) for y, h in ((q, m.heads), (k, m.kv)))
        x = x + m.linear(p + "self_attn.o_proj", m.attend(q, k, m.split(v, m.kv)), c["hidden_size"])
        gate, up = m.linear(p + "mlp.gate_up_proj", m.rms(p + "post_attention_layernorm", x), 2 * c["intermediate_size"]).chunk(2, -1)
        x = x + m.linear(p + "mlp.down_proj", up * F.silu(gate), c["hidden_size"])
    return m.head(m.rms("model.norm", x), "model.embed_tokens")


def phi(m, tokens):
    c = m.c
    frequencies = m.frequencies(size=int(m.d * c["partial_rotary_factor"]))
    x = m.embed("model.embed_tokens", tokens)
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        y = m.layer_norm(p + "input_layernorm", x, c["layer_norm_eps"])
        q, k, v = m.qkv(p + "self_attn", y, bias=True)
        q, k = (m.rotate(z, frequencies) for z in (q, k))
        mixed = m.linear(p + "self_attn.dense", m.attend(q, k, v), c["hidden_size"], bias=True)
        fed = m.linear(p + "mlp.fc2", tanh_gelu(m.linear(p + "mlp.fc1", y, c["intermediate_size"], bias=True)), c["hidden_size"], bias=True)
        x = mixed + fed + x
    return m.head(m.layer_norm("model.final_layernorm", x, c["layer_norm_eps"]), "", bias=True)


def gpt_neox(m, tokens):
    c = m.c
    frequencies = m.frequencies(c["rotary_emb_base"], int(m.d * c["rotary_pct"]))
    x = m.embed("gpt_neox.embed_in", tokens)
    for i in range(c["num_hidden_layers"]):
        p = f"gpt_neox.layers.{i}."
        y = m.layer_norm(p + "input_layernorm", x, c["layer_norm_eps"])
        q, k, v = m.linear(p + "attention.query_key_value", y, 3 * c["hidden_size"], bias=True).view(len(x), m.heads, 3 * m.d).chunk(3, -1)
        q, k = (m.rotate(z, frequencies) for z in (q, k))
        mixed = m.linear(p + "attention.dense", m.attend(q, k, v), c["hidden_size"], bias=True)
        seen = x if c["use_parallel_residual"] else x + mixed
        y = m.layer_norm(p + "post_attention_layernorm", seen, c["layer_norm_eps"])
        x = x + mixed + m.linear(p + "mlp.dense_4h_to_h", F.gelu(m.linear(p + "mlp.dense_h_to_4h", y, c["intermediate_size"], bias=True)), c["hidden_size"], bias=True)
    return m.head(m.layer_norm("gpt_neox.final_layer_norm", x, c["layer_norm_eps"]), "", "embed_out")


def stablelm(m, tokens):
    c = m.c
    frequencies = m.frequencies(size=int(m.d * c["partial_rotary_factor"]))
    x = m.embed("model.embed_tokens", tokens)
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        q, k, v = m.qkv(p + "self_attn", m.layer_norm(p + "input_layernorm", x, c["layer_norm_eps"]), bias=True)
        q, k = (m.rotate(z, frequencies) for z in (q, k))
        x = x + m.linear(p + "self_attn.o_proj", m.attend(q, k, v), c["hidden_size"])
        x = x + m.gated(p + "mlp", m.layer_norm(p + "post_attention_layernorm", x, c["layer_norm_eps"]))
    return m.head(m.layer_norm("model.norm", x, c["layer_norm_eps"]), "model.embed_tokens")


def olmo2(m, tokens):
    c = m.c
    x = m.embed("model.embed_tokens", tokens)
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        q = m.rms(p + "self_attn.q_norm", m.linear(p + "self_attn.q_proj", x, m.heads * m.d))
        k = m.rms(p + "self_attn.k_norm", m.linear(p + "self_attn.k_proj", x, m.kv * m.d))
        v = m.split(m.linear(p + "self_attn.v_proj", x, m.kv * m.d), m.kv)
        q, k = (m.rotate(m.split(y, h), m.frequencies()) for y, h in ((q, m.heads), (k, m.kv)))
        x = x + m.rms(p + "post_attention_layernorm", m.linear(p + "self_attn.o_proj", m.attend(q, k, v), c["hidden_size"]))
        x = x + m.rms(p + "post_feedforward_layernorm", m.gated(p + "mlp", x))
    return m.head(m.rms("model.norm", x), "model.embed_tokens")


def starcoder2(m, tokens):
    c = m.c
    x = m.embed("model.embed_tokens", tokens)
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        q, k, v = m.qkv(p + "self_attn", m.layer_norm(p + "input_layernorm", x, c["norm_epsilon"]), bias=True)
        q, k = (m.rotate(z, m.frequencies()) for z in (q, k))
        x = x + m.linear(p + "self_attn.o_proj", m.attend(q, k, v), c["hidden_size"], bias=True)
        y = m.linear(p + "mlp.c_fc", m.layer_norm(p + "post_attention_layernorm", x, c["norm_epsilon"]), c["intermediate_size"], bias=True)
        x = x + m.linear(p + "mlp.c_proj", tanh_gelu(y), c["hidden_size"], bias=True)
    return m.head(m.layer_norm("model.norm", x, c["norm_epsilon"]), "model.embed_tokens")


def opt(m, tokens):
    c, eps = m.c, 1e-5
    p = "model.decoder."
    positions = m.weight(p + "embed_positions.weight", c["max_position_embeddings"] + 2, c["hidden_size"])
    x = m.embed(p + "embed_tokens", tokens) + positions[torch.arange(len(tokens)) + 2]
    for i in range(c["num_hidden_layers"]):
        p = f"model.decoder.layers.{i}."
        q, k, v = m.qkv(p + "self_attn", m.layer_norm(p + "self_attn_layer_norm", x, eps), bias=True)
        x = x + m.linear(p + "self_attn.out_proj", m.attend(q, k, v), c["hidden_size"], bias=True)
        y = m.linear(p + "fc1", m.layer_norm(p + "final_layer_norm", x, eps), c["ffn_dim"], bias=True)
        x = x + m.linear(p + "fc2", F.relu(y), c["hidden_size"], bias=True)
    return m.head(m.layer_norm("model.decoder.final_layer_norm", x, eps), "model.decoder.embed_tokens")


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "beta_fast": 2.0, "beta_slow": 0.3}
LONG = {"type": "longrope", "short_factor": [1.0], "long_factor": [4.0]}
GEMMA = GROUPED | {"head_dim": 6, "tie_word_embeddings": True}
CAPPED = GEMMA | {"query_pre_attn_scalar": 9, "sliding_window": 16}
MODELS = {
    "mistral": (mistral, GROUPED | {"sliding_window": None, "head_dim": 6, "rope_scaling": {"type": "linear", "factor": 2.0}}, torch.bfloat16),
    "qwen2": (qwen2, GROUPED | {"hidden_size": 32, "use_sliding_window": False, "sliding_window": 4, "rope_scaling": YARN}, torch.float32),
    "qwen3": (qwen3, GROUPED | {"head_dim": 6, "tie_word_embeddings": True, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, torch.bfloat16),
    "gemma": (gemma, GEMMA | {"hidden_act": "gelu", "hidden_activation": None}, torch.float32),
    "gemma2": (gemma2, CAPPED | {"hidden_activation": "gelu_pytorch_tanh", "attn_logit_softcapping": None, "final_logit_softcapping": 3.0}, torch.bfloat16),
    "gemma3_text": (gemma3, CAPPED | {"sliding_window_pattern": 2, "rope_local_base_freq": 50.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0}}, torch.float16),
    "phi": (phi, SIZES | {"rope_theta": 300.0, "layer_norm_eps": 1e-4, "partial_rotary_factor": 0.5, "hidden_act": "gelu_new"}, torch.float16),
    "phi3": (phi3, GROUPED | {"sliding_window": 100, "partial_rotary_factor": 0.5, "original_max_position_embeddings": 16, "rope_scaling": LONG}, torch.float32),
    "gpt_neox": (gpt_neox, SIZES | {"rotary_pct": 0.5, "rotary_emb_base": 90, "layer_norm_eps": 1e-5, "hidden_act": "gelu", "use_parallel_residual": True}, torch.float16),
    "stablelm": (stablelm, GROUPED | {"partial_rotary_factor": 0.5, "layer_norm_eps": 1e-5, "use_qkv_bias": True}, torch.float32),
    "olmo2": (olmo2, GROUPED, torch.float32),
    "granite": (granite, GROUPED | {"embedding_multiplier": 3.0, "residual_multiplier": 0.4, "attention_multiplier": 0.3, "logits_scaling": 2.5, "tie_word_embeddings": True}, torch.float32),
    "smollm3": (smollm3, GROUPED | {"no_rope_layers": [1, 0], "use_sliding_window": False}, torch.float32),
    "starcoder2": (starcoder2, GROUPED | {"norm_epsilon": 1e-4, "sliding_window": 64, "tie_word_embeddings": True}, torch.bfloat16),
    "opt": (opt, SIZES | {"ffn_dim": 24, "activation_function": "relu", "do_layer_norm_before": True, "word_embed_proj_dim": 16, "tie_word_embeddings": True}, torch.float32),
}  # fmt: skip


def main():
    torch.manual_seed(20261)
    for name, (model, config, dtype) in MODELS.items():
        config = {"model_type": name} | config
        tokens = torch.randint(config["vocab_size"], (LENGTH,))
        m = Model(config, dtype)
        logits = model(m, tokens)
        path = HERE / name
        path.mkdir(exist_ok=True)
        (path / "config.json").write_text(json.dumps(config, indent=1) + "\n")
        save_safetensors(path / "model.safetensors", m.w)
        save_safetensors(path / "expected.safetensors", {"tokens": tokens.int(), "logits": logits})


if __name__ == "__main__":
    main()
