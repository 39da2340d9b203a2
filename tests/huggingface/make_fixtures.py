#!/usr/bin/env python3
"""Writes small random GPT-2s and Llamas, as Hugging Face's folders, with the logits that PyTorch computes.

  make_fixtures.py        with Debian's python3-torch

The models are written out below with PyTorch's layers, from the papers and from transformers' documentation of
its configurations. A model in f16 or bf16 is computed in f32 with the rounded weights.
"""

import json
import math
import pathlib
import struct

import torch
from torch.nn import functional as F

HERE = pathlib.Path(__file__).parent
NAMES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int32: "I32", torch.uint8: "U8"}


def save_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        raw = bytes(tensor.detach().reshape(-1).contiguous().view(torch.uint8).tolist())
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def attention(q, k, v):
    """Causal, of q (length, heads, d) and k, v (length, kv heads, d)."""
    repeat = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(repeat, 1) for x in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q, k) / math.sqrt(q.shape[2])
    seen = torch.ones(scores.shape[1:]).tril().bool()
    mixed = torch.einsum("hqk,khd->qhd", scores.masked_fill(~seen, -math.inf).softmax(-1), v)
    return mixed.flatten(1)


def gpt2_shapes(c):
    d, hidden = c["n_embd"], c.get("n_inner") or 4 * c["n_embd"]
    shapes = {"wte.weight": (c["vocab_size"], d), "wpe.weight": (c["n_positions"], d), "ln_f.weight": (d,), "ln_f.bias": (d,)}
    for i in range(c["n_layer"]):
        for name, size in (("attn.c_attn", (d, 3 * d)), ("attn.c_proj", (d, d)), ("mlp.c_fc", (d, hidden)), ("mlp.c_proj", (hidden, d))):
            shapes |= {f"h.{i}.{name}.weight": size, f"h.{i}.{name}.bias": size[1:]}
        for name in ("ln_1", "ln_2"):
            shapes |= {f"h.{i}.{name}.weight": (d,), f"h.{i}.{name}.bias": (d,)}
    return shapes | ({} if c.get("tie_word_embeddings", True) else {"lm_head.weight": (c["vocab_size"], d)})


def gpt2(c, w, tokens):
    d, heads = c["n_embd"], c["n_head"]
    norm = lambda name, x: F.layer_norm(x, (d,), w[name + ".weight"], w[name + ".bias"], c["layer_norm_epsilon"])
    conv1d = lambda name, x: x @ w[name + ".weight"] + w[name + ".bias"]
    gelu = {
        "gelu": F.gelu,
        "gelu_new": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    }[c["activation_function"]]
    x = w["wte.weight"][tokens] + w["wpe.weight"][: len(tokens)]
    for i in range(c["n_layer"]):
        q, k, v = conv1d(f"h.{i}.attn.c_attn", norm(f"h.{i}.ln_1", x)).view(len(tokens), 3, heads, -1).unbind(1)
        x = x + conv1d(f"h.{i}.attn.c_proj", attention(q, k, v))
        x = x + conv1d(f"h.{i}.mlp.c_proj", gelu(conv1d(f"h.{i}.mlp.c_fc", norm(f"h.{i}.ln_2", x))))
    return norm("ln_f", x) @ w.get("lm_head.weight", w["wte.weight"]).T


def llama_shapes(c):
    d, hidden = c["hidden_size"], c["intermediate_size"]
    kv = d // c["num_attention_heads"] * c["num_key_value_heads"]
    shapes = {"embed_tokens.weight": (c["vocab_size"], d), "norm.weight": (d,)}
    for i in range(c["num_hidden_layers"]):
        attn = {"q_proj": (d, d), "k_proj": (kv, d), "v_proj": (kv, d), "o_proj": (d, d)}
        mlp = {"gate_proj": (hidden, d), "up_proj": (hidden, d), "down_proj": (d, hidden)}
        layers = {f"layers.{i}.self_attn.{n}": s for n, s in attn.items()} | {f"layers.{i}.mlp.{n}": s for n, s in mlp.items()}
        for name, size in layers.items():
            shapes |= {f"{name}.weight": size} | ({f"{name}.bias": size[:1]} if c.get("attention_bias") else {})
        shapes |= {f"layers.{i}.input_layernorm.weight": (d,), f"layers.{i}.post_attention_layernorm.weight": (d,)}
    return shapes | ({} if c.get("tie_word_embeddings") else {"lm_head.weight": (c["vocab_size"], d)})


def rotary_frequencies(c, d):
    frequencies = c["rope_theta"] ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    s = c.get("rope_scaling")
    if s is None:
        return frequencies
    # Llama 3.1's: long waves are stretched by the factor, short ones stay, between them it is blended.
    turns = s["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    stay = ((turns - s["low_freq_factor"]) / (s["high_freq_factor"] - s["low_freq_factor"])).clamp(0, 1)
    return frequencies * (stay + (1 - stay) / s["factor"])


def llama(c, w, tokens):
    heads, kv_heads = c["num_attention_heads"], c["num_key_value_heads"]
    d = c["hidden_size"] // heads
    norm = lambda name, x: x * (x.pow(2).mean(-1, keepdim=True) + c["rms_norm_eps"]).rsqrt() * w[name + ".weight"]
    linear = lambda name, x: F.linear(x, w[name + ".weight"], w.get(name + ".bias"))
    angles = torch.arange(len(tokens), dtype=torch.float64)[:, None] * rotary_frequencies(c, d)
    cos, sin = (torch.cat([f(angles)] * 2, -1).float()[:, None] for f in (torch.cos, torch.sin))
    turn = lambda x: x * cos + torch.cat([-x[..., d // 2 :], x[..., : d // 2]], -1) * sin
    x = w["embed_tokens.weight"][tokens]
    for i in range(c["num_hidden_layers"]):
        p = f"layers.{i}."
        y = norm(p + "input_layernorm", x)
        q, k, v = (linear(f"{p}self_attn.{n}_proj", y).view(len(tokens), h, d) for n, h in (("q", heads), ("k", kv_heads), ("v", kv_heads)))
        x = x + linear(p + "self_attn.o_proj", attention(turn(q), turn(k), v))
        y = norm(p + "post_attention_layernorm", x)
        x = x + linear(p + "mlp.down_proj", F.silu(linear(p + "mlp.gate_proj", y)) * linear(p + "mlp.up_proj", y))
    return norm("norm", x) @ w.get("lm_head.weight", w["embed_tokens.weight"]).T


def draw(shapes, dtype):
    w = {}
    for name, shape in shapes.items():
        noise = torch.randn(shape) * (0.3 if len(shape) > 1 else 0.1)
        w[name] = (noise + (len(shape) == 1 and name.endswith("weight"))).to(dtype)
    return w


def write(folder, config, dtype=torch.float32, prefix="", shards=1, buffers=None):
    shapes, model = {"gpt2": (gpt2_shapes, gpt2), "llama": (llama_shapes, llama)}[config["model_type"]]
    length = 11
    w = draw(shapes(config), dtype)
    tokens = torch.randint(config["vocab_size"], (length,))
    logits = model(config, {name: x.float() for name, x in w.items()}, tokens)
    path = HERE / folder
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    named = {name if name == "lm_head.weight" else prefix + name: x for name, x in (w | (buffers or {})).items()}
    if shards == 1:
        save_safetensors(path / "model.safetensors", named)
    else:
        names = list(named)
        places = {name: f"model-{i % shards + 1:05}-of-{shards:05}.safetensors" for i, name in enumerate(names)}
        for file in sorted(set(places.values())):
            save_safetensors(path / file, {n: named[n] for n in names if places[n] == file})
        index = {"metadata": {"total_size": sum(x.numel() * x.element_size() for x in named.values())}, "weight_map": places}
        (path / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")
    save_safetensors(path / "expected.safetensors", {"tokens": tokens.int(), "logits": logits})


def main():
    torch.manual_seed(20260)
    gpt2_config = {
        "model_type": "gpt2", "vocab_size": 37, "n_positions": 16, "n_embd": 12, "n_layer": 2, "n_head": 3,
        "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "attn_pdrop": 0.1, "n_inner": None,
    }  # fmt: skip
    masks = {f"h.{i}.attn.bias": torch.ones(16, 16).tril().to(torch.uint8)[None, None] for i in range(2)}
    masks |= {f"h.{i}.attn.masked_bias": torch.tensor(-10000.0) for i in range(2)}
    write("gpt2", gpt2_config, buffers=masks)
    untied = gpt2_config | {"tie_word_embeddings": False, "activation_function": "gelu", "n_inner": 20, "layer_norm_epsilon": 1e-3}
    write("gpt2-bf16", untied, torch.bfloat16, "transformer.", shards=2)
    llama_config = {
        "model_type": "llama", "vocab_size": 37, "max_position_embeddings": 32, "hidden_size": 16, "intermediate_size": 24,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_act": "silu", "rms_norm_eps": 1e-5,
        "rope_theta": 500.0, "tie_word_embeddings": True,
    }  # fmt: skip
    write("llama", llama_config, prefix="model.")
    biased = llama_config | {"tie_word_embeddings": False, "attention_bias": True, "mlp_bias": True, "num_key_value_heads": 4, "rms_norm_eps": 1e-2}
    frequencies = {f"layers.{i}.self_attn.rotary_emb.inv_freq": torch.ones(2) for i in range(2)}
    write("llama-f16", biased, torch.float16, shards=3, buffers=frequencies)
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
    write("llama-bf16", llama_config | {"rope_scaling": scaling, "head_dim": 4}, torch.bfloat16, "model.")


if __name__ == "__main__":
    main()
