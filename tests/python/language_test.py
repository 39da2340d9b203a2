#!/usr/bin/env python3
"""Which tokens a language model draws, and the text that they are."""

import json
import os
import pathlib
import shutil
import tempfile
import threading
import unittest

import numpy as np

import limpid as lp
from refusals import Refusals


class Language(Refusals):
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
        self.refused(lambda: short.join([1] * 6), ValueError)

    def test_a_text_encoder(self):
        folder = pathlib.Path(__file__).resolve().parent.parent / "huggingface"
        embed = lp.TextEmbedder(folder / "bert")
        self.assertEqual((embed.size, embed.context, embed.labels), (16, 40, []))
        texts = ["The cats sits.", "a", "a b c dog runs, the cat sits!"]
        vectors = np.asarray(embed(texts))
        np.testing.assert_allclose((vectors**2).sum(1), 1, rtol=1e-6)
        for text, vector in zip(texts, vectors):
            np.testing.assert_array_equal(np.asarray(embed([text]))[0], vector)
            np.testing.assert_array_equal(np.asarray(embed([embed.tokens(text)]))[0], vector)
        self.assertEqual(embed.tokens("the " * 60, truncate=True), [2, *[5] * 38, 3])
        self.assertEqual(embed([]).shape, (0, 16))
        self.refused(lambda: embed(["the " * 60]), ValueError)
        self.refused(lambda: embed("the"), TypeError)
        self.refused(lambda: lp.TextEmbedder(folder / "llama"), ValueError)
        ranks = lp.TextEmbedder(folder / "bert-pairs")
        both = ranks.pairs("the cat sits.", ["a dog runs!", "a"])
        self.assertEqual(both.shape, (2, 1))
        self.assertEqual(ranks.pairs("the cat sits.", ["a"])[0, 0].item(), both[1, 0].item())
        self.refused(lambda: ranks.pairs("a", "the cat"), TypeError)
        self.refused(lambda: ranks.pairs("a " * 50, ["a"]), ValueError)
        self.assertEqual(ranks.pairs("a " * 50, ["a"], truncate=True).shape, (1, 1))
        classes = lp.TextEmbedder(lp.load(folder / "roberta-classes"))
        self.assertEqual((classes.size, classes.labels), (3, ["bad", "fair", "good"]))
        expected = lp.load(folder / "roberta-classes" / "expected.safetensors")
        rows = classes([np.asarray(expected[f"tokens.{i}"]).tolist() for i in range(4)])
        np.testing.assert_allclose(np.asarray(rows), np.asarray(expected["rows"]), rtol=1e-4, atol=1e-5)

    def test_a_recurrent_network(self):
        for kind in ("lstm", "gru"):
            net = lp.nn.RecurrentLm(7, kind, layers=2, width=8)
            params = net.init(seed=3)
            lm = lp.LanguageModel(net, params, sequences=2)
            first, second = lm.join([1, 2, 3, 4, 5]), lm.join([6])
            for tokens in ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6, 0]):
                first.append(tokens[-1])
                lm.step()
                self.assertTrue(first.logits.same_bits(net(params, np.int32(tokens))[-1]))
            self.assertTrue(second.logits.same_bits(net(params, np.int32([6]))[0]))
            self.assertEqual(net.function(3).outputs, [("logits", "f32[3, 7]")])
            of_model = lp.LanguageModel(lp.Model(net.function(), params, net.config()))
            self.assertEqual(list(of_model.generate([1, 2], 99)), list(lp.LanguageModel(net, params).generate([1, 2], 99)))

    def test_a_network_of_characters(self):
        net = lp.nn.CharLm(7, 4, 8, [16])
        params = net.init(seed=3)
        lm = lp.LanguageModel(net, params, sequences=3)
        self.assertEqual((lm.vocabulary, lm.places), (7, 3))
        first, second = lm.join([1, 2, 3, 4, 5]), lm.join([6])
        lm.prepare()
        lm.step()
        self.assertTrue(first.ready and second.ready and lm.places == 1)
        self.assertTrue(first.logits.same_bits(net(params, np.int32([2, 3, 4, 5]))))
        text = [1, 2, 3, 4]
        for token in lp.LanguageModel(net, params).generate(text, 6, temperature=0.0):
            self.assertEqual(token, int(net(params, np.int32(text[-4:])).argmax()))
            text.append(token)
        first.append(tokens=5)
        first.append(tokens=[5, 6])
        self.assertEqual((first.tokens, first.ready), ([1, 2, 3, 4, 5, 5, 5, 6], False))
        for bad, error in (
            (lambda: lp.LanguageModel(net), TypeError), (lambda: first.append("x"), TypeError), (lambda: lp.LanguageModel(lp.nn.Linear(2, 3), {}), TypeError),
            (lambda: lp.LanguageModel(lp.nn.Gpt(7, context=8, layers=1, width=8), lp.nn.Gpt(7, context=8, layers=1, width=8).init(), capacity=9), ValueError),
        ):
            self.refused(bad, error)
        of_model = lp.LanguageModel(lp.Model(net.function(), params, net.config()), sequences=2)
        self.assertEqual((of_model.vocabulary, of_model.places, list(of_model.generate([1, 2], 5))), (7, 2, list(lp.LanguageModel(net, params).generate([1, 2], 5))))

    def test_token_i_is_drawn_by_the_keys_child(self):
        net = lp.nn.Gpt(40, context=8, layers=1, width=8, heads=2)
        params = net.init(seed=1)
        draw = lambda **given: list(lp.LanguageModel(net, params).generate([1, 2], 12, **given))
        self.assertEqual(draw(), draw(key=0, temperature=1.0, top_k=0, top_p=1.0, vocabulary=0, end=None))
        self.assertEqual(draw(key=5), draw(key=lp.Key(5)))
        self.assertEqual(len({tuple(draw(key=k)) for k in range(3)}), 3)
        drawn = lp.LanguageModel(net, params).generate([1, 2])
        self.assertEqual([next(drawn) for _ in range(12)], draw())

    def test_a_model_that_another_thread_uses(self):
        net = lp.nn.Gpt(64, context=1024, layers=2, width=512, heads=8)
        lm = lp.LanguageModel(net, net.init(), sequences=4)
        sequence, text, ended, said = lm.join([1, 2]), lm.generate([5]), threading.Event(), []
        lm.step()
        lm.prepare()

        def work():
            while not ended.is_set():  # until the other thread is at it
                try:
                    sequence.ready
                except ValueError:
                    break
            for use in (
                lm.step, lm.prepare, lm.join, lambda: lm.generate([1]), lambda: sequence.ready, lambda: sequence.tokens, lambda: sequence.logits,
                lambda: sequence.append(1), lambda: sequence.truncate(1), lambda: next(text),
            ):  # fmt: skip
                try:
                    use()
                except ValueError as error:
                    said.append(str(error))

        worker = threading.Thread(target=work)
        worker.start()
        next(lm.generate([1] * 1000))
        ended.set()
        worker.join()
        self.assertEqual(said, ["a language model is used by one thread at a time; another one is at it"] * 10)
        self.assertEqual(sequence.tokens, [1, 2])

    def test_text_without_a_prompt(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "t.txt"
            file.write_text("to be or not to be, that is the question.\n" * 60)
            run = lp.train.Run({"data": f"text:{file}", "steps": 1})
            run.train()
        model = run.model()
        written = lambda *prompt, **options: "".join(model.generate(*prompt, tokens=20, **options))
        self.assertEqual(written(seed=2), written(None, seed=2))
        self.assertEqual(written(temperature=0.0), written("\n", temperature=0.0))
        self.assertEqual(len("".join(model.generate())), 500)
        tokenizer = model._tokenizer()
        self.assertEqual(tokenizer.decode(tokenizer.encode("to be").tolist()), b"to be")
        self.assertEqual((tokenizer.kind, tokenizer.end, tokenizer.encode("to").type), ("characters", None, "i32[2]"))

    def test_a_text_has_tokens_of_its_tokenizer_until_it_ends(self):
        vocabulary, width, known, end = 600, 4, 508, 507  # more tokens than the tokenizer has, as where tables are padded
        rng = np.random.default_rng(5)
        normal = lambda *shape: rng.standard_normal(shape).astype(np.float32)
        tensors = {"wte.weight": normal(vocabulary, width), "wpe.weight": normal(24, width)}
        for name, shape in (("attn.c_attn", (width, 3 * width)), ("attn.c_proj", (width, width)), ("mlp.c_fc", (width, 4 * width)), ("mlp.c_proj", (4 * width, width))):
            tensors |= {f"h.0.{name}.weight": normal(*shape), f"h.0.{name}.bias": normal(shape[1])}
        for name in ("h.0.ln_1", "h.0.ln_2", "ln_f"):
            tensors |= {f"{name}.weight": np.ones(width, np.float32), f"{name}.bias": np.zeros(width, np.float32)}
        # The logits do not depend on the tokens before, and every eleventh token is about to be an end.
        tensors["ln_f.weight"] *= 0
        tensors["ln_f.bias"][0] = 1
        tensors["wte.weight"][:, 0] = 0
        tensors["wte.weight"][end, 0] = np.log(known / 10)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            lp.save(folder / "model.safetensors", {f"transformer.{name}": value for name, value in tensors.items()})
            for name in ("vocab.json", "merges.txt"):
                shutil.copy(pathlib.Path(os.environ["LIMPID_SOURCE"]) / "tests/data/byte_pair" / name, folder)
            config = {"model_type": "gpt2", "vocab_size": vocabulary, "n_positions": 24, "n_embd": width, "n_layer": 1, "n_head": 2, "eos_token_id": end}
            (folder / "config.json").write_text(json.dumps(config))
            model = lp.load(folder)
        tokenizer = model._tokenizer()
        self.assertEqual((len(tokenizer), tokenizer.end), (known, end))
        start, lengths = tokenizer.encode("to be").tolist(), set()
        for seed in range(6):
            tokens = list(lp.LanguageModel(model).generate(start, 15, key=seed, vocabulary=known))
            tokens = tokens[: tokens.index(end)] if end in tokens else tokens
            self.assertEqual("".join(model.generate("to be", tokens=15, seed=seed)), "".join(lp.language._characters(tokenizer, iter(tokens))))
            lengths.add(len(tokens))
        self.assertGreater(len(lengths), 2)
        self.assertLess(min(lengths), 15)

    def test_tokenizers_of_folders(self):
        vocabulary = {"a": 0, "b": 1, "ab": 2, "\u2581": 3, "<0xC3>": 4, "<0xBC>": 5, "é": 6}
        file = {
            "added_tokens": [{"id": 7, "content": "<s>", "special": True}],
            "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
            "model": {"type": "BPE", "byte_fallback": True, "vocab": vocabulary, "merges": ["a b"]},
            "post_processor": {"type": "BertProcessing", "cls": ["<s>", 7], "sep": ["<s>", 7]},
            "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}]},
        }
        with tempfile.TemporaryDirectory() as name:
            (pathlib.Path(name) / "tokenizer.json").write_text(json.dumps(file))
            (pathlib.Path(name) / "config.json").write_text('{"eos_token_id": [7, 3]}')
            tokenizer = lp.Tokenizer.load(name)
        self.assertEqual((tokenizer.kind, len(tokenizer), tokenizer.end, tokenizer.ends), ("tokenizer_json", 8, 7, [7, 3]))
        self.assertEqual(tokenizer.encode("abü").tolist(), [2, 4, 5])
        ids, places = tokenizer.tokens("éab ü<s>")
        self.assertEqual(ids, [7, 6, 2, 3, 4, 5, 7, 7])
        self.assertEqual(places, [(0, 0), (0, 1), (1, 3), (3, 4), (4, 5), (4, 5), (5, 8), (8, 8)])
        self.assertEqual(tokenizer.encode_batch(["ab", "<s>"], whole=False), [[2], [7]])
        self.assertEqual((tokenizer.text(ids), tokenizer.text(ids, skip_special=True)), ("<s>éab ü<s><s>", "éab ü"))
        with self.assertRaises(lp.Error):
            lp.Tokenizer.load(tempfile.gettempdir() + "/none")

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
        # A text that is shorter than its prompt.
        self.assertEqual("".join(run.model().generate("to be or", tokens=2)), "".join(run.model().generate("to be or", tokens=8))[:2])

    def test_parts_of_characters(self):
        class Bytes:
            def decode(self, tokens):
                return bytes(tokens)

        parts = lambda data: list(lp.language._characters(Bytes(), iter(data)))
        self.assertEqual(parts("grün".encode()), list("grün"))
        self.assertEqual(parts("ü€".encode()[:-1]), ["ü", "\ufffd\ufffd"])


if __name__ == "__main__":
    unittest.main()
