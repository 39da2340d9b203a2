"""The training step of a GPT in PyTorch, for gpt_bench.cc: pre-norm blocks, causal attention, GELU, learned
positions, no biases in the projections, tied output; AdamW (foreach) after clipping by the global
norm. Executes commands, one per line, from standard input:

    describe             answers with one line
    load FILE LAYERS HEADS WIDTH CONTEXT VOCABULARY BATCH THREADS
                         loads the initial parameters, under Llama's names; answers "loaded PARAMETERS"
    losses N             answers "floats N" and the losses of the first N steps
    time MILLISECONDS    answers "time NANOSECONDS CALLS": the median step

The step is measured in the fastest way that this PyTorch has: attention as products or fused, the network compiled or not.
"""

import platform
import sys

import numpy as np
import torch
from peer_pytorch import CAN_COMPILE, blas, fastest, median
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, width, heads, context, fused):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)
        hidden = torch.ones(context, context, dtype=torch.bool).triu(1)
        self.register_buffer("hidden", hidden)

    # x is (batch * context, width): with three dimensions, PyTorch 1.13 computes a product without
    # bias as a batch of small ones, which takes nearly twice the time.
    def forward(self, x):
        rows, width = x.shape
        length = self.hidden.shape[0]
        heads = self.qkv(self.norm1(x)).view(rows // length, length, 3, self.heads, -1)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        if self.fused:
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
            mixed = scores.masked_fill(self.hidden, float("-inf")).softmax(-1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(rows, width))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, layers, heads, width, context, vocabulary, fused=False):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.randn(context, width) * 0.02)
        self.blocks = nn.Sequential(*(Block(width, heads, context, fused) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, ids):
        x = (self.tokens(ids) + self.positions).flatten(0, 1)
        x = self.norm(self.blocks(x))
        return functional.linear(x, self.tokens.weight)


# Copies the parameters of limpid to those of Gpt.
def parameters(file, layers):
    arrays = {name: torch.from_numpy(array) for name, array in np.load(file).items()}
    found = {"tokens.weight": arrays["embed_tokens.weight"], "positions": arrays["embed_positions.weight"]}
    for i in range(layers):
        of, to = f"layers.{i}.", f"blocks.{i}."
        found[to + "qkv.weight"] = torch.cat([arrays[f"{of}self_attn.{p}_proj.weight"] for p in "qkv"])
        found[to + "out.weight"] = arrays[of + "self_attn.o_proj.weight"]
        for name in ("up", "down"):
            found[f"{to}{name}.weight"] = arrays[f"{of}mlp.{name}_proj.weight"]
        for name, norm in (("norm1", "input_layernorm"), ("norm2", "post_attention_layernorm")):
            for part in ("weight", "bias"):
                found[f"{to}{name}.{part}"] = arrays[f"{of}{norm}.{part}"]
    return found | {f"norm.{part}": arrays[f"norm.{part}"] for part in ("weight", "bias")}


class Training:
    def __init__(self, way, file, layers, heads, width, context, vocabulary, batch):
        self.way = way
        self.model = Gpt(layers, heads, width, context, vocabulary, fused=way.startswith("fused"))
        missing, strange = self.model.load_state_dict(parameters(file, layers), strict=False)
        assert not strange and all(name.endswith(".hidden") for name in missing), (missing, strange)
        self.run = torch.compile(self.model) if way.endswith("compiled") else self.model
        text = torch.arange(batch * context + 1) * 31 % vocabulary
        self.ids, self.targets = text[:-1].reshape(batch, context), text[1:].reshape(batch, context)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1, **({"fused": True} if CAN_COMPILE else {"foreach": True})
        )

    def call(self):
        self.optimizer.zero_grad(set_to_none=True)
        logits = self.run(self.ids)
        loss = functional.cross_entropy(logits, self.targets.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss


def trained(*words):
    file, *numbers, threads = words
    torch.set_num_threads(int(threads))
    ways = ["products"] + ["fused", "fused, compiled"] * CAN_COMPILE
    return fastest(words, ways, lambda way: Training(way, file, *map(int, numbers)))


def main():
    training = None
    for line in sys.stdin:
        verb, *words = line.split()
        if verb == "describe":
            way = f", attention {training.way}" if training and CAN_COMPILE else ""
            print(f"PyTorch {torch.__version__}{way}, {blas()}, Python {platform.python_version()}", flush=True)
        elif verb == "load":
            training = trained(*words)
            print("loaded", sum(p.numel() for p in training.model.parameters()), flush=True)
        elif verb == "losses":
            losses = np.array([training.call().item() for _ in range(int(words[0]))], np.float32)
            sys.stdout.buffer.write(f"floats {losses.size}\n".encode() + losses.tobytes())
            sys.stdout.flush()
        elif verb == "time":
            print("time %.0f %d" % median(training.call, float(words[0])), flush=True)


if __name__ == "__main__":
    main()
