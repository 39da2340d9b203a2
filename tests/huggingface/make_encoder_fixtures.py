#!/usr/bin/env python3
"""Writes small random encoders as Hugging Face's folders, with the embeddings and logits that PyTorch computes.

  make_encoder_fixtures.py        with Debian's python3-torch

The blocks are torch's own TransformerEncoderLayer, or are written out below where a family has a bias of distances, on
weights under the published names.
"""

import json
import math

import torch
from make_fixtures import HERE, save_safetensors
from torch.nn import functional as F

WIDTH, HEADS, HIDDEN, LAYERS, TOKENS = 16, 4, 24, 2, 29


class Weights:
    """Weights that are drawn when they are first named."""

    def __init__(self, dtype=torch.float32):
        self.all, self.dtype = {}, dtype

    def __call__(self, name, *shape, around=0.0):
        if name not in self.all:
            self.all[name] = (torch.randn(shape) * (0.3 if len(shape) > 1 else 0.1) + around).to(self.dtype)
        return self.all[name].float()

    def linear(self, name, out, width):
        return self(name + ".weight", out, width), self(name + ".bias", out)

    def norm(self, name, ends=("weight", "bias")):
        return self(f"{name}.{ends[0]}", WIDTH, around=1.0), self(f"{name}.{ends[1]}", WIDTH)


def block(x, w, p, n, eps, act, bias=None):
    """A block of post-norm with the names `n` of its layers; `bias` (heads, length, length) is added to the scores."""
    q, k, v = (F.linear(x, *w.linear(p + n[i], WIDTH, WIDTH)).view(len(x), HEADS, -1).transpose(0, 1) for i in range(3))
    scores = q @ k.transpose(1, 2) / math.sqrt(WIDTH // HEADS)
    mixed = ((scores if bias is None else scores + bias).softmax(-1) @ v).transpose(0, 1).flatten(1)
    x = F.layer_norm(x + F.linear(mixed, *w.linear(p + n[3], WIDTH, WIDTH)), (WIDTH,), *n[4](p), eps)
    up = act(F.linear(x, *w.linear(p + n[5], HIDDEN, WIDTH)))
    return F.layer_norm(x + F.linear(up, *w.linear(p + n[6], WIDTH, HIDDEN)), (WIDTH,), *n[7](p), eps)


def torchs_block(x, w, p, n, eps, act):
    """The same by torch's layer."""
    layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, dropout=0, activation=act, layer_norm_eps=eps).eval()
    q, k, v = (w.linear(p + n[i], WIDTH, WIDTH) for i in range(3))
    out, up, down = w.linear(p + n[3], WIDTH, WIDTH), w.linear(p + n[5], HIDDEN, WIDTH), w.linear(p + n[6], WIDTH, HIDDEN)
    state = {
        "self_attn.in_proj_weight": torch.cat([q[0], k[0], v[0]]),
        "self_attn.in_proj_bias": torch.cat([q[1], k[1], v[1]]),
    }
    names = ("self_attn.out_proj", "linear1", "linear2", "norm1", "norm2")
    for name, (weight, bias) in zip(names, (out, up, down, n[4](p), n[7](p))):
        state |= {name + ".weight": weight, name + ".bias": bias}
    layer.load_state_dict(state)
    with torch.no_grad():
        return layer(x[:, None])[:, 0]


def embedded(w, p, tokens, context, eps, first=0, types=2, norm=None, second=None):
    x = w(p + "embeddings.word_embeddings.weight", TOKENS, WIDTH)[tokens]
    x = x + w(p + "embeddings.position_embeddings.weight", context, WIDTH)[first : first + len(tokens)]
    if types:
        of_second = torch.arange(len(tokens)) >= (len(tokens) if second is None else second)
        x = x + w(p + "embeddings.token_type_embeddings.weight", types, WIDTH)[of_second.long()]
    return F.layer_norm(x, (WIDTH,), *(norm or w.norm(p + "embeddings.LayerNorm")), eps)


def bert_names(w, ends=("weight", "bias")):
    a = "attention.self."
    return (a + "query", a + "key", a + "value", "attention.output.dense", lambda p: w.norm(p + "attention.output.LayerNorm", ends),
            "intermediate.dense", "output.dense", lambda p: w.norm(p + "output.LayerNorm", ends))  # fmt: skip


def bert(w, tokens):
    """BERT without a prefix, with the first files' names of norms; sentence-transformers' mean and norm of 1."""
    old = ("gamma", "beta")
    x = embedded(w, "", tokens, 40, 1e-12, norm=w.norm("embeddings.LayerNorm", old))
    for i in range(LAYERS):
        x = torchs_block(x, w, f"encoder.layer.{i}.", bert_names(w, old), 1e-12, F.gelu)
    w.linear("pooler.dense", WIDTH, WIDTH)
    return F.normalize(x.mean(0), dim=0)


def bert_classes(w, tokens):
    x = embedded(w, "bert.", tokens, 40, 1e-6)
    for i in range(LAYERS):
        x = torchs_block(x, w, f"bert.encoder.layer.{i}.", bert_names(w), 1e-6, F.relu)
    pooled = torch.tanh(F.linear(x[0], *w.linear("bert.pooler.dense", WIDTH, WIDTH)))
    return F.linear(pooled, *w.linear("classifier", 3, WIDTH))


def bert_pair(w, tokens, second):
    """A cross-encoder: two texts as one, whose second has the second type; one class."""
    x = embedded(w, "bert.", tokens, 40, 1e-12, second=second)
    for i in range(LAYERS):
        x = torchs_block(x, w, f"bert.encoder.layer.{i}.", bert_names(w), 1e-12, F.gelu)
    pooled = torch.tanh(F.linear(x[0], *w.linear("bert.pooler.dense", WIDTH, WIDTH)))
    return F.linear(pooled, *w.linear("classifier", 1, WIDTH))


def roberta(w, tokens):
    """XLM-RoBERTa, whose positions begin at 2, with the largest of each element."""
    x = embedded(w, "", tokens, 42, 1e-5, first=2, types=1)
    for i in range(LAYERS):
        x = torchs_block(x, w, f"encoder.layer.{i}.", bert_names(w), 1e-5, F.gelu)
    return x.max(0).values


def roberta_classes(w, tokens):
    x = embedded(w, "roberta.", tokens, 42, 1e-5, first=2, types=1)
    for i in range(LAYERS):
        x = torchs_block(x, w, f"roberta.encoder.layer.{i}.", bert_names(w), 1e-5, F.gelu)
    hidden = torch.tanh(F.linear(x[0], *w.linear("classifier.dense", WIDTH, WIDTH)))
    return F.linear(hidden, *w.linear("classifier.out_proj", 3, WIDTH))


def distilbert(w, tokens):
    x = embedded(w, "distilbert.", tokens, 40, 1e-12, types=0)
    names = ("attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin", lambda p: w.norm(p + "sa_layer_norm"),
             "ffn.lin1", "ffn.lin2", lambda p: w.norm(p + "output_layer_norm"))  # fmt: skip
    for i in range(LAYERS):
        x = torchs_block(x, w, f"distilbert.transformer.layer.{i}.", names, 1e-12, F.gelu)
    hidden = F.relu(F.linear(x[0], *w.linear("pre_classifier", WIDTH, WIDTH)))
    return F.linear(hidden, *w.linear("classifier", 2, WIDTH))


def mpnet(w, tokens):
    """A bias of distances, in rows as T5 has them; the first token's vector."""
    x = embedded(w, "", tokens, 202, 1e-5, first=2, types=0)
    places = torch.arange(len(tokens))
    n = places[:, None] - places[None, :]  # query less key
    rows = (n < 0).long() * 16
    n = n.abs()
    far = 8 + (torch.log(n.float() / 8) / math.log(128 / 8) * 8).long()
    rows = rows + torch.where(n < 8, n, far.clamp(max=15))
    bias = w("encoder.relative_attention_bias.weight", 32, HEADS)[rows].permute(2, 0, 1)
    a = "attention.attn."
    names = (a + "q", a + "k", a + "v", a + "o", lambda p: w.norm(p + "attention.LayerNorm"), "intermediate.dense", "output.dense",
             lambda p: w.norm(p + "output.LayerNorm"))  # fmt: skip
    for i in range(LAYERS):
        x = block(x, w, f"encoder.layer.{i}.", names, 1e-5, F.gelu, bias)
    return x[0]


BERT = {"vocab_size": TOKENS, "max_position_embeddings": 40, "num_hidden_layers": LAYERS, "hidden_size": WIDTH, "num_attention_heads": HEADS,
        "intermediate_size": HIDDEN, "hidden_act": "gelu", "type_vocab_size": 2, "layer_norm_eps": 1e-12}  # fmt: skip
ROBERTA = BERT | {"max_position_embeddings": 42, "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1}
LABELS = {"id2label": {"0": "bad", "1": "fair", "2": "good"}}
DISTIL = {"vocab_size": TOKENS, "max_position_embeddings": 40, "n_layers": LAYERS, "dim": WIDTH, "n_heads": HEADS, "hidden_dim": HIDDEN, "activation": "gelu"}
# By folder: code, configuration, dtype, sentence-transformers' pooling and whether it normalises.
MODELS = {
    "bert": (bert, {"model_type": "bert", "architectures": ["BertModel"]} | BERT, torch.float32, ("mean_tokens", True)),
    "bert-classes": (bert_classes, {"model_type": "bert", "architectures": ["BertForSequenceClassification"]} | BERT | LABELS | {"hidden_act": "relu", "layer_norm_eps": 1e-6}, torch.bfloat16, None),
    "xlm-roberta": (roberta, {"model_type": "xlm-roberta", "architectures": ["XLMRobertaModel"]} | ROBERTA, torch.float16, ("max_tokens", False)),
    "roberta-classes": (roberta_classes, {"model_type": "roberta", "architectures": ["RobertaForSequenceClassification"]} | ROBERTA | LABELS, torch.float32, None),
    "distilbert-classes": (distilbert, {"model_type": "distilbert", "architectures": ["DistilBertForSequenceClassification"]} | DISTIL, torch.float32, None),
    "mpnet": (mpnet, {"model_type": "mpnet", "architectures": ["MPNetForMaskedLM"]} | ROBERTA | {"max_position_embeddings": 202, "relative_attention_num_buckets": 32}, torch.float32, ("cls_token", False)),
}  # fmt: skip

# A WordPiece tokenizer, as BERT's folders have it.
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "dog", "sits", "runs", "##s", "##ning", "a", "b", "c", "##a", "##b", "##c", ".", ",", "!"]
TOKENIZER = {
    "added_tokens": [{"id": i, "content": PIECES[i], "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False} for i in range(5)],
    "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {p: i for i, p in enumerate(PIECES)}},
}  # fmt: skip

# "the cat sits." with "a dog runs!", "the cat sits." and "a": [CLS] query [SEP] document [SEP].
QUERY = [2, 5, 6, 8, 18, 3]
PAIRS = [(QUERY + [12, 7, 9, 20, 3], 6), (QUERY + [5, 6, 8, 18, 3], 6), (QUERY + [12, 3], 6)]


def write(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")


def main():
    torch.manual_seed(20262)
    for name, (model, config, dtype, sentences) in MODELS.items():
        w = Weights(dtype)
        lengths = (5, 1, 12, 199) if name == "mpnet" else (5, 1, 12, 30)
        texts = {f"tokens.{i}": torch.randint(TOKENS, (length,)).int() for i, length in enumerate(lengths)}
        rows = torch.stack([model(w, tokens.long()) for tokens in texts.values()])
        path = HERE / name
        write(path / "config.json", config)
        save_safetensors(path / "model.safetensors", w.all)
        save_safetensors(path / "expected.safetensors", texts | {"rows": rows})
        if sentences:
            kinds = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")
            write(path / "1_Pooling" / "config.json", {"word_embedding_dimension": WIDTH} | {f"pooling_mode_{k}": k == sentences[0] for k in kinds})
            modules = ["Transformer", "Pooling"] + ["Normalize"] * sentences[1]
            write(path / "modules.json", [{"idx": i, "name": str(i), "path": f"{i}_{m}" if i else "", "type": f"sentence_transformers.models.{m}"} for i, m in enumerate(modules)])
    write(HERE / "bert" / "tokenizer.json", TOKENIZER)
    w = Weights(torch.float32)
    pairs = {f"tokens.{i}": torch.tensor(ids).int() for i, (ids, _) in enumerate(PAIRS)}
    rows = torch.stack([bert_pair(w, torch.tensor(ids), second) for ids, second in PAIRS])
    path = HERE / "bert-pairs"
    write(path / "config.json", {"model_type": "bert", "architectures": ["BertForSequenceClassification"]} | BERT | {"id2label": {"0": "LABEL_0"}})
    write(path / "tokenizer.json", TOKENIZER)
    save_safetensors(path / "model.safetensors", w.all)
    seconds = torch.tensor([second for _, second in PAIRS]).int()
    save_safetensors(path / "expected.safetensors", pairs | {"seconds": seconds, "rows": rows})


if __name__ == "__main__":
    main()
