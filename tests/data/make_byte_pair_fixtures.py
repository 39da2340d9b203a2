#!/usr/bin/env python3
"""Writes byte_pair/: a small byte-level BPE vocabulary, learnt here, and what texts become by it.

  make_byte_pair_fixtures.py

vocab.json and merges.txt are as GPT-2's; llama3/tokenizer.json has the same tokens with Llama 3's way
to cut words and two special tokens. cases.json has texts (of bytes, as Latin-1) with their tokens. All
of it is written in the plainest way: words by regular expressions over classes of characters, merges by
trying each of them.
"""

import collections
import json
import pathlib
import re
import unicodedata

FOLDER = pathlib.Path(__file__).parent / "byte_pair"
MERGES = 250
CORPUS = """The quick brown fox jumps over the lazy dog, and the dog doesn't mind: it's 2024, they're friends.
Wer nichts weiß, muß alles glauben. Das Gelände, die Straße, für über schön. Ça va? C'est l'été à la forêt.
Съешь же ещё этих мягких французских булок, да выпей чаю. 敏捷的棕色狐狸跳过懒狗。 いろはにほへと ちりぬるを
    def f(x):\n        return x + 100 - 2000 # it'll do\n\n\nWe've said I'd, I'm, you'll, can't, THEY'RE.\t\t12345 678
    g(x);
    return;

    THEY'RE 2024 2000 100
""" * 3
TEXTS = [
    "", "a", " ", "  ", "   the", "the  fox\n\n  jumps", "\n", "\r\n\r\n x", "trailing   ", "it's IT'S they'll 've'", "don''t",
    "123456789 1 22 333 4444", "x=100; y = 2000!!", "!!'s ?'re", "weiß Straße für die Gelände", "Ça l'été", "булок, чаю.",
    "敏捷的棕色狐狸。いろは", "a\u00a0b\u3000c\u2003 d", "naïve e\u0301 \u0301x", "½ ² Ⅷ ٣ x²", "🙂🙂 ok 👩‍👩‍👧", "'\u017fx '\u017f", "\t\tif x:\n\t\t\treturn", "THEY'RE 2024;\n\n    g(x);\n  100 2000",
    "\x00\x01\x7f", "a_b __init__ C++ <|endoftext|>", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "\x85\x1c \x1dx", "don\u2019t", "ǅ ʰ ª ゛ 々 〇", CORPUS[:400],
]  # fmt: skip
BYTES = [b"\xff\xfe abc", b"caf\xc3 \xa9", b"\xed\xa0\x80 x", b"a\xc3", b"\xf0\x9f\x99", b"  \xff 1\xff2", b"\xe2\x80"]
SPECIAL = ["<|begin_of_text|>", "<|end_of_text|>"]


def byte_alphabet():
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    alphabet = {b: chr(b) for b in seen}
    others = [b for b in range(256) if b not in alphabet]
    return alphabet | {b: chr(256 + i) for i, b in enumerate(others)}


ALPHABET = byte_alphabet()
SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def class_of(c):
    """One of L, N, _ (other), or the space itself: of spaces, blank, CR and LF, and \\t for the rest."""
    if c in SPACES:
        return c if c in " \r\n" else "\t"
    return {"L": "L", "N": "N"}.get(unicodedata.category(c)[0] if ord(c) < 0xDC80 or ord(c) > 0xDCFF else "C", "_")


S = r" \t\r\n"
PATTERNS = {
    "gpt2": (r"'(s|t|re|ve|m|ll|d)", rf" ?L+| ?N+| ?_+|[{S}]+(?![^{S}])|[{S}]+"),
    "llama3": (r"'([sS\u017f]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])", rf"[^\r\nLN]?L+|N{{1,3}}| ?_+[\r\n]*|[{S}]*[\r\n]+|[{S}]+(?![^{S}])|[{S}]+"),
}  # fmt: skip


def words(data, pattern):
    contraction, rest = map(re.compile, PATTERNS[pattern])
    text = data.decode("utf-8", "surrogateescape")
    classes = "".join(map(class_of, text))
    place = 0
    while place < len(text):
        match = contraction.match(text, place) or rest.match(classes, place)
        yield text[place : match.end()].encode("utf-8", "surrogateescape")
        place = match.end()


def merged(symbols, pair):
    out = []
    i = 0
    while i < len(symbols):
        joined = tuple(symbols[i : i + 2]) == pair
        out.append(pair[0] + pair[1] if joined else symbols[i])
        i += 2 if joined else 1
    return out


def learn(corpus):
    data = corpus.encode()
    both = [*words(data, "gpt2"), *words(data, "llama3")]
    counts = collections.Counter(tuple(ALPHABET[b] for b in w) for w in both)
    merges = []
    while len(merges) < MERGES:
        pairs = collections.Counter()
        for word, count in counts.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append(best)
        counts = collections.Counter({tuple(merged(w, best)): n for w, n in counts.items()})
    return merges


def encode(data, numbers, merges, pattern, whole_words):
    ids = []
    for word in words(data, pattern):
        symbols = [ALPHABET[b] for b in word]
        if whole_words and "".join(symbols) in numbers:
            symbols = ["".join(symbols)]
        while True:
            there = set(zip(symbols, symbols[1:]))
            first = next((m for m in merges if m in there), None)
            if first is None:
                break
            symbols = merged(symbols, first)
        ids += [numbers[s] for s in symbols]
    return ids


def write(name, content):
    path = FOLDER / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(content, encoding="utf-8")


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main():
    merges = learn(CORPUS)
    tokens = [*ALPHABET.values(), *(a + b for a, b in merges)]
    # A token that no merge makes: a word of its own where whole words go before merges.
    tokens.append("Ġwholly")
    numbers = {token: i for i, token in enumerate(tokens)}
    assert len(numbers) == len(tokens)
    lines = [f"{a} {b}" for a, b in merges]
    write("vocab.json", dump(numbers | {"<|endoftext|>": len(tokens)}))
    write("merges.txt", "#version: 0.2\n" + "\n".join(lines) + "\n")
    write("config.json", dump({"eos_token_id": len(tokens)}))
    added = [{"id": len(tokens) + i, "content": t, "special": True} for i, t in enumerate(SPECIAL)]
    regex = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    begin = {"id": SPECIAL[0], "ids": [len(tokens)], "tokens": [SPECIAL[0]]}
    tokenizer = {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False},
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
            ],
        },
        "post_processor": {
            "type": "Sequence",
            "processors": [
                {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True},
                {
                    "type": "TemplateProcessing",
                    "single": [{"SpecialToken": {"id": SPECIAL[0], "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                    "pair": [],
                    "special_tokens": {SPECIAL[0]: begin},
                },
            ],
        },
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "byte_fallback": False, "ignore_merges": True,
                  "vocab": numbers, "merges": [m.split(" ") for m in lines]},
    }  # fmt: skip
    write("llama3/tokenizer.json", dump(tokenizer))
    texts = [t.encode() for t in TEXTS + ["it is wholly so"]] + BYTES
    cases = [
        {
            "text": text.decode("latin-1"),
            "gpt2": encode(text, numbers, merges, "gpt2", False),
            "llama3": encode(text, numbers, merges, "llama3", True),
        }
        for text in texts
    ]
    write("cases.json", "[" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "]\n")


if __name__ == "__main__":
    main()
