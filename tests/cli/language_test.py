"""A language model from a text file: trained, tried, and made to go on."""

import re
import unittest

import tool

# A text that a model can learn by heart: what follows two characters is certain, nearly always.
TEXT = "the cat sat on the mat.\nthe dog sat on the log.\n" * 60


class LanguageTest(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.text = self.folder / "text.txt"
        self.text.write_text(TEXT)
        self.run_folder = self.folder / "run"
        self.model = self.run_folder / "model.safetensors"

    def train(self, *more):
        return self.output("train", "--data", f"text:{self.text}", "--context", "6", "--embedding", "4", "--hidden", "16",
                           "--batch", "32", "--threads", "1", "--out", self.run_folder, "--overwrite", *more)

    def test_it_learns_what_follows(self):
        text = self.train("--lr", "0.02")
        metrics = dict(re.findall(r"^(\w+) +([\d.]+)(?: %)?$", text, re.M))
        self.assertLess(float(metrics["perplexity"]), 1.3)
        self.assertLess(float(metrics["bits_per_token"]), 0.4)
        self.assertGreater(float(metrics["accuracy"]), 90)
        self.assertLess(float(metrics["ngram_perplexity"]), 1.3)
        document = self.document("eval", self.model, "--data", f"text:{self.text}")
        self.assertAlmostEqual(document["perplexity"], float(metrics["perplexity"]), places=4)

        generated = self.output("generate", self.model, "--prompt", "the cat sat", "--tokens", "13", "--temperature", "0")
        self.assertEqual(generated, "the cat sat on the mat.\n\n"[:24] + "\n")

        shown = self.output("run", self.model, "--data", f"text:{self.text}", "--index", "3")
        part = TEXT[len(TEXT) * 9 // 10:]
        self.assertIn(repr(part[3:9]), shown)
        self.output("summary", self.model)
        self.output("doctor", self.run_folder)

    def test_a_seed_gives_a_text(self):
        self.train("--epochs", "1")
        def generate(*more):
            return self.output("generate", self.model, "--tokens", "60", *more)
        self.assertEqual(generate("--seed", "4"), generate("--seed", "4", "--threads", "2"))
        self.assertNotEqual(generate("--seed", "4"), generate("--seed", "5"))
        self.assertEqual(generate("--seed", "4", "--top-k", "1"), generate("--temperature", "0"))
        self.assertEqual(generate("--seed", "4", "--top-p", "0.000001"), generate("--temperature", "0"))
        # Of a prompt longer than the context the end counts.
        self.assertEqual(generate("--prompt", "zzz the cat"[4:])[7:], generate("--prompt", "dog the cat")[11:])

    def test_a_text_of_one_line_can_begin(self):
        self.text.write_text("abcd" * 50)
        self.train("--epochs", "1")
        self.assertEqual(len(self.output("generate", self.model, "--tokens", "9")), 10)

    def test_what_it_refuses(self):
        self.train("--epochs", "1")
        self.assertIn("no U+007A", self.error(1, "generate", self.model, "--prompt", "zoo"))
        self.assertIn("no U+007A", self.error(1, "eval", self.model, "--data", f"text:{self.other('z' * 100)}"))
        self.error(2, "generate", self.model, "--prompt", "")
        self.error(2, "generate", self.model, "--temperature", "-1")
        self.error(1, "generate", self.model, "--top-p", "1.5")
        self.error(1, "generate", self.folder / "none")
        self.assertIn("f32", self.error(1, "eval", self.model, "--data", "digits"))
        self.error(2, "train", "--data", f"text:{self.text}", "--model", "mlp")
        self.error(2, "train", "--data", "moons", "--model", "charlm")
        self.error(2, "train", "--data", "moons", "--context", "4")
        self.error(2, "train", "--data", f"text:{self.text},split=80/20")
        self.assertIn("more than the context of 8", self.error(1, "train", "--data", f"text:{self.other('short')}"))
        self.assertIn("is not UTF-8", self.error(1, "train", "--data", f"text:{self.other(b'abc' + bytes([255]))}"))
        self.output("train", "--data", "moons", "--epochs", "1", "--out", self.folder / "moons")
        moons = self.folder / "moons" / "model.safetensors"
        self.assertIn("was not trained on a text", self.error(1, "generate", moons))
        self.assertIn("was not trained on a text", self.error(1, "eval", moons, "--data", f"text:{self.text}"))

    def other(self, content):
        path = self.folder / "other.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path


if __name__ == "__main__":
    unittest.main()
