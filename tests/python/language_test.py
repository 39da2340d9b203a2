#!/usr/bin/env python3
"""Which tokens a language model draws, and the text that they are."""

import pathlib
import tempfile
import unittest

import numpy as np

import limpid as lp


class Language(unittest.TestCase):
    def test_choices_among_tokens(self):
        net = lp.nn.Gpt(40, context=16, layers=1, width=16, heads=2)
        params = net.init(seed=1)
        write = lambda **options: list(lp.LanguageModel(net, params).generate([1, 2], 30, key=4, **options))
        free, greedy = write(), write(temperature=0.0)
        self.assertNotEqual(free, greedy)
        self.assertEqual((write(top_k=1), write(top_p=1e-6)), (greedy, greedy))
        self.assertGreater(max(free), 9)
        self.assertLess(max(write(vocabulary=10)), 10)
        end = free[4]
        self.assertEqual(write(end=end), free[: free.index(end)])
        self.assertEqual(list(lp.LanguageModel(net, params).generate([1, 2], 0)), [])
        whole, short = lp.LanguageModel(net, params), lp.LanguageModel(net, params, capacity=5)
        self.assertEqual((whole.capacity, short.capacity, whole.vocabulary, whole.places), (16, 5, 40, 1))
        with self.assertRaisesRegex(ValueError, "at most 5 tokens"):
            short.join([1] * 6)

    def test_choices_among_characters(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "t.txt"
            file.write_text("to be or not to be, that is the question.\n" * 60)
            run = lp.train.Run({"data": f"text:{file}", "steps": 1, "model": {"name": "gpt", "layers": 1, "width": 16, "heads": 2, "context": 16}})
            run.train()
        write = lambda **options: "".join(run.model().generate("to be", tokens=30, **options))
        greedy = write(temperature=0.0)
        self.assertEqual(len(greedy), 30)
        self.assertEqual((write(top_k=1), write(top_p=1e-6)), (greedy, greedy))
        self.assertEqual(len({greedy, write(), write(seed=1)}), 3)
        self.assertEqual(write(), write(seed=0))

    def test_parts_of_characters(self):
        class Bytes:
            def decode(self, tokens):
                return bytes(tokens)

        parts = lambda data: list(lp.language._characters(Bytes(), iter(data)))
        self.assertEqual(parts("grün".encode()), list("grün"))
        self.assertEqual(parts("ü€".encode()[:-1]), ["ü", "\ufffd\ufffd"])


if __name__ == "__main__":
    unittest.main()
