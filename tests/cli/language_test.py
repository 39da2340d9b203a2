"""A language model from a text file: trained, tried, and made to go on."""

import contextlib
import html
import json
import os
import pty
import random
import re
import subprocess
import time
import tty
import unittest

import tool

# A text that a model can memorise: the two previous characters nearly always determine the next.
TEXT = "the cat sat on the mat.\nthe dog sat on the log.\n" * 60


# Two sentences of different lengths in random order, so that they occur at every position of a window.
SENTENCES = ("the cat sat on the mat.\n", "the black dog lay on the log.\n")
MIXED = "".join(random.Random(1).choices(SENTENCES, k=110))


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

    def test_of_many_tokens_the_most_probable_are_shown(self):
        self.train("--tokenizer", "bytes", "--epochs", "1")
        shown = self.output("run", self.model, "--data", f"text:{self.text}", "--index", "3")
        probabilities = [float(p) for p in re.findall(r"(?m)^ *'.*' +-?[\d.e-]+ +([\d.]+)$", shown)]
        self.assertEqual(len(probabilities), 20)
        self.assertEqual(probabilities, sorted(probabilities, reverse=True))

    def gpt_arguments(self, *more):
        return ("train", "--data", f"text:{self.text}", "--model", "gpt", "--layers", "2", "--width", "16", "--heads", "2",
                "--context", "12", "--batch", "8", "--threads", "1", "--out", self.run_folder, "--overwrite", *more)

    def train_gpt(self, *more):
        return self.output(*self.gpt_arguments(*more))

    def events(self, kind):
        lines = (self.run_folder / "log.jsonl").read_text().split("\n")[:-1]  # the last may be cut
        return [event for event in map(json.loads, lines) if event["event"] == kind]

    def test_a_transformer_learns_what_follows(self):
        self.text.write_text(MIXED)
        text = self.train_gpt("--steps", "500", "--lr", "0.01")
        self.assertIn("a gpt of 2 blocks, 2 heads and width 16", text)
        metrics = dict(re.findall(r"^(\w+) +([\d.]+)(?: %)?$", text, re.M))
        self.assertLess(float(metrics["bits_per_token"]), 0.4)
        self.assertIn("ngram_bits_per_token", metrics)
        train = len(MIXED) * 9 // 10
        windows = train // 12 - 1
        steps = -(-windows // 8)  # of an epoch
        epochs = self.events("epoch")
        self.assertEqual([e["step"] for e in epochs], [*range(steps, 500, steps), 500])
        self.assertEqual([e["step"] for e in self.events("step")][-1], 500)

        document = self.document("eval", self.model, "--data", f"text:{self.text}")
        tested = -(-(len(MIXED) - train - 1) // 12)
        self.assertEqual(document["examples"], tested)
        self.assertAlmostEqual(document["perplexity"], float(metrics["perplexity"]), places=4)

        samples = self.events("sample")
        self.assertEqual([s["step"] for s in samples], [*range(50, 501, 50)])
        self.assertTrue(all(len(s["text"]) == 100 for s in samples))
        words = set(MIXED.split())
        right = [sum(word in words for word in s["text"].split()) / len(s["text"].split()) for s in samples]
        self.assertLess(right[0], 0.6)
        self.assertGreater(right[-1], 0.8)

        part = MIXED[train:]
        shown = self.output("run", self.model, "--data", f"text:{self.text}", "--index", "3")
        self.assertIn(repr(part[36:48]), shown)
        self.assertIn(f"label {part[48]!r}", shown)
        # The last window of the text has no target after its last token.
        answer, = self.document("run", self.model, "--data", f"text:{self.text}", "--index", tested - 1)["answers"]
        self.assertEqual(answer["label"], sorted(set(MIXED)).index(part[-1]))
        self.assertEqual(len(answer["logits"]), len(set(MIXED)))
        self.output("trace", self.model, "--data", f"text:{self.text}")
        self.output("summary", self.model)
        self.output("doctor", self.run_folder)
        self.output("report", self.run_folder)
        page = html.unescape((self.run_folder / "report.html").read_text())
        shown = re.findall(r"<h3>After step ([\d,]+)</h3>\n<pre>(.*?)</pre>", page, re.S)
        self.assertEqual(shown, [(str(s["step"]), s["text"]) for s in samples])
        for heading in ["Residual stream after each block", "Attention entropy; 1: equal attention to all keys"]:
            self.assertIn(heading, page)

    def test_a_transformer_goes_on(self):
        self.text.write_text(MIXED)
        self.train_gpt("--steps", "300", "--lr", "0.01", "--sample-every", "0")

        def generate(*more, model=self.model):
            return self.output("generate", model, "--tokens", "60", *more)  # five times its context
        one = generate("--seed", "4")
        self.assertEqual(generate("--seed", "4", "--threads", "2"), one)
        self.assertEqual(generate("--seed", "4", "--sequences", "3").split("\n---\n"),
                         [one, generate("--seed", "5"), generate("--seed", "6")])
        self.assertEqual(generate("--temperature", "0"), generate("--top-k", "1", "--seed", "7"))
        words = set(MIXED.split())
        drawn = generate("--temperature", "0.5").split()[1:-1]
        self.assertGreater(sum(word in words for word in drawn) / len(drawn), 0.6)
        # A prompt longer than the context keeps its last tokens.
        long = MIXED[:30]
        self.assertEqual(generate("--prompt", long)[30:], generate("--prompt", long[-12:])[12:])

        for to in ("bf16", "int8"):
            narrow = self.folder / f"{to}.safetensors"
            figures = self.document("quantize", self.model, "--to", to, "--data", f"text:{self.text}", "--out", narrow)
            before, after = figures["before"], figures["after"]
            self.assertIn("embed_tokens.weight", " ".join(figures["done"]))
            self.assertLess(after["parameter_bytes"], before["parameter_bytes"])
            self.assertLess(after["perplexity"], 1.1 * before["perplexity"])
            self.assertGreater(after["tokens_a_second"], 0)
            again = self.document("eval", narrow, "--data", f"text:{self.text}")
            self.assertAlmostEqual(again["perplexity"], after["perplexity"], places=6)
            self.assertEqual(generate("--seed", "4", model=narrow), generate("--seed", "4", "--threads", "2", model=narrow))

    def recurrent_arguments(self, *more):
        return ("train", "--data", f"text:{self.text}", "--layers", "2", "--width", "24", "--context", "12", "--batch", "8",
                "--threads", "1", "--out", self.run_folder, "--overwrite", *more)

    def test_recurrent_networks_learn_and_go_on(self):
        self.text.write_text(MIXED)
        for kind in ("lstm", "gru"):
            text = self.output(*self.recurrent_arguments("--model", kind, "--steps", "200", "--lr", "0.01"))
            self.assertIn(f"2 {kind} layers of width 24", text)
            metrics = dict(re.findall(r"^(\w+) +([\d.]+)(?: %)?$", text, re.M))
            self.assertLess(float(metrics["bits_per_token"]), 0.5)
            document = self.document("eval", self.model, "--data", f"text:{self.text}")
            self.assertAlmostEqual(document["perplexity"], float(metrics["perplexity"]), places=4)
            samples = self.events("sample")
            self.assertEqual([s["step"] for s in samples], [*range(20, 201, 20)])

            def generate(*more, model=self.model):
                return self.output("generate", model, "--tokens", "60", *more)  # five times its context
            one = generate("--seed", "4")
            self.assertEqual(generate("--seed", "4", "--threads", "2"), one)
            self.assertEqual(generate("--seed", "4", "--sequences", "3").split("\n---\n"),
                             [one, generate("--seed", "5"), generate("--seed", "6")])
            # The state after a prompt of any length: the likeliest token is that of a pass over the whole of it.
            for length in (1, 5, 12, 40):
                prompt = MIXED[:length]
                likeliest = self.document("run", self.model, "--prompt", prompt)["next"][0]["token"]
                following = self.output("generate", self.model, "--prompt", prompt, "--tokens", "1", "--temperature", "0")
                self.assertEqual(following, prompt + sorted(set(MIXED))[likeliest] + "\n")
            words = set(MIXED.split())
            drawn = generate("--temperature", "0.5").split()[1:-1]
            self.assertGreater(sum(word in words for word in drawn) / len(drawn), 0.6)
            narrow = self.folder / f"{kind}.safetensors"
            figures = self.document("quantize", self.model, "--to", "bf16", "--data", f"text:{self.text}", "--out", narrow)
            self.assertGreater(figures["after"]["tokens_a_second"], 0)
            self.assertEqual(generate("--seed", "4", model=narrow), generate("--seed", "4", "--threads", "2", model=narrow))
            for command in ("summary", "doctor"):
                self.output(command, self.run_folder)
            self.output("trace", self.model, "--data", f"text:{self.text}")
            self.assertIn(f"2 {kind} layers", self.output("runs", self.folder))
            more = self.folder / "more"
            self.output("train", "--from", self.run_folder, "--data", f"text:{self.text}", "--steps", "3", "--threads", "1",
                        "--out", more, "--overwrite")
            self.output("generate", more)

    def expect_the_same_after_a_kill(self, arguments):
        """`arguments()` train into run_folder, which another run has after a while."""
        self.output(*arguments())
        whole, steps, samples = self.model.read_bytes(), self.events("step"), self.events("sample")
        self.run_folder = self.folder / "killed"
        checkpoint = self.run_folder / "checkpoint.safetensors"
        process = subprocess.Popen([tool.TOOL, *map(str, arguments())], stdout=subprocess.DEVNULL)
        while process.poll() is None and not (checkpoint.exists() and len(self.events("step")) > 10):
            time.sleep(0.01)
        process.kill()
        process.wait()
        self.output("train", "--resume", self.run_folder, "--threads", "1")
        self.assertEqual((self.run_folder / "model.safetensors").read_bytes(), whole)
        self.assertEqual((self.events("step"), self.events("sample")), (steps, samples))

    def test_a_killed_recurrent_network_goes_on_as_if_nothing_had_been(self):
        self.expect_the_same_after_a_kill(
            lambda: self.recurrent_arguments("--model", "lstm", "--steps", "40", "--checkpoint-every", "7", "--dropout", "0.1"))

    def test_a_configuration_that_lies(self):
        self.train_gpt("--positions", "rotary", "--steps", "1", "--sample-every", "0")
        header, data = tool.parts_of(self.model.read_bytes())
        config = json.loads(header["__metadata__"]["limpid.config"])
        liar = self.folder / "liar.safetensors"
        commands = (("generate", liar), ("run", liar, "--prompt", "the"), ("convert", liar, f"{self.folder}/to/"),
                    ("quantize", liar, "--to", "int8", "--out", self.folder / "to.safetensors"))
        # Sizes that no model has, and some that do not match this file.
        for lie in ({"layers": 10**9}, {"width": 10**18}, {"context": 2**63}, {"layers": 1.5e300}, {"layers": 1024, "width": 2**24, "hidden": 2**24}):
            header["__metadata__"]["limpid.config"] = json.dumps(config | lie)
            liar.write_bytes(tool.file_of(header, data))
            with self.subTest(lie=lie):
                self.refuses(1, *commands)
        self.assertFalse((self.folder / "to.safetensors").exists())

    def test_bytes_are_shown_as_characters(self):
        self.text.write_text("grüße 😀 €uro\n" * 40, encoding="utf-8")
        self.train_gpt("--tokenizer", "bytes", "--steps", "400", "--lr", "0.01", "--sample-every", "0")
        text = self.output("generate", self.model, "--prompt", "grüße", "--tokens", "60", "--temperature", "0")
        self.assertIn("😀 €uro\ngrüße", text)
        self.assertNotIn("\N{REPLACEMENT CHARACTER}", text[:-4])

    def on_a_terminal(self, *arguments):
        """The output of a run on a terminal, which is set to raw mode."""
        ours, theirs = pty.openpty()
        tty.setraw(theirs)
        process = subprocess.Popen([tool.TOOL, *map(str, arguments)], stdout=theirs)
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # how a terminal reports that nobody writes any more
            while part := os.read(ours, 4096):
                shown += part
        os.close(ours)
        self.assertEqual(process.wait(), 0)
        return shown

    def test_a_terminal_is_given_no_orders(self):
        self.text.write_bytes(b"\x1b[31m\tred\x9b\r\n\xc2\x9b\xc3\xa9\x7f" * 50)
        self.train_gpt("--tokenizer", "bytes", "--steps", "300", "--lr", "0.01", "--sample-every", "0")
        arguments = ("generate", self.model, "--prompt", "\x1b[31m", "--tokens", "60", "--temperature", "0", "--sequences", "2")
        drawn = self.run_tool(*arguments).stdout
        for orders in (b"\x1b[31m\tred", b"\r\n", b"\xc2\x9b", b"\x7f"):
            self.assertIn(orders, drawn)
        harmless = re.sub("[^\n\t\x20-\x7e\xa0-\U0010ffff]", lambda c: "".join(f"\\x{b:02x}" for b in c[0].encode()), drawn.decode())
        self.assertEqual(self.on_a_terminal(*arguments).decode(), harmless)

    def test_presets_and_bytes(self):
        self.text.write_bytes(bytes(range(256)) * 8)
        self.train_gpt("--preset", "llama", "--tied", "--kv-heads", "1", "--tokenizer", "bytes", "--steps", "3", "--sample-every", "0")
        run, = self.events("run")
        model = run["model"]
        self.assertEqual([model[k] for k in ("norm", "feed_forward", "positions", "bias", "tied", "kv_heads", "vocabulary")],
                         ["rms", "swiglu", "rotary", False, True, 1, 256])
        self.assertEqual(self.events("sample"), [])
        self.output("eval", self.model, "--data", f"text:{self.text}")
        self.output("run", self.model, "--data", f"text:{self.text}")
        self.train("--tokenizer", "bytes", "--epochs", "1")
        self.output("eval", self.model, "--data", f"text:{self.text}")

    def test_a_killed_transformer_goes_on_as_if_nothing_had_been(self):
        self.expect_the_same_after_a_kill(lambda: self.gpt_arguments("--steps", "60", "--checkpoint-every", "7", "--dropout", "0.1"))

    def test_a_seed_gives_a_text(self):
        self.train("--epochs", "1")
        def generate(*more):
            return self.output("generate", self.model, "--tokens", "60", *more)
        self.assertEqual(generate("--seed", "4"), generate("--seed", "4", "--threads", "2"))
        self.assertNotEqual(generate("--seed", "4"), generate("--seed", "5"))
        self.assertEqual(generate("--seed", "4", "--top-k", "1"), generate("--temperature", "0"))
        self.assertEqual(generate("--seed", "4", "--top-p", "0.000001"), generate("--temperature", "0"))
        document = self.document("generate", self.model, "--tokens", "60", "--seed", "4", "--prompt", "the", "--sequences", "2")
        self.assertEqual(document["prompt"], "the")
        self.assertEqual([("the" + text["text"] + "\n", text["seed"]) for text in document["texts"]],
                         [(generate("--seed", seed, "--prompt", "the"), seed) for seed in (4, 5)])
        self.assertEqual(self.output("generate", self.model, "--tokens", "0", "--prompt", "the"), "the\n")
        # A prompt longer than the context keeps its last tokens.
        self.assertEqual(generate("--prompt", "zzz the cat"[4:])[7:], generate("--prompt", "dog the cat")[11:])

    def test_run_and_generate_take_the_same_prompts(self):
        characters = sorted(set(TEXT))
        for train in (self.train, self.train_gpt):
            train("--epochs", "1")
            for prompt in ("t", "the", "the cat sat"):  # the contexts are 6 and 12
                likeliest = self.document("run", self.model, "--prompt", prompt)["next"][0]["token"]
                generated = self.output("generate", self.model, "--prompt", prompt, "--tokens", "1", "--temperature", "0")
                self.assertEqual(generated, prompt + characters[likeliest] + "\n")
            self.output("trace", self.model, "--prompt", "the")
        self.refuses(2, ("run", self.model, "--prompt", TEXT[:13]))

    def test_a_window_is_answered_for_its_last_token(self):
        """The last one of a text is filled up, and its answer is that of its text alone."""
        self.text.write_text(MIXED)
        self.train_gpt("--steps", "40", "--sample-every", "0")
        data = ("--data", f"text:{self.text}")
        part = MIXED[len(MIXED) * 9 // 10:]
        windows = -(-(len(part) - 1) // 12)
        self.assertGreater((len(part) - 1) % 12, 0)
        answers = self.document("run", self.model, *data, "--count", windows)["answers"]
        for i, answer in ((0, answers[0]), (windows - 1, answers[-1])):
            alone, = self.document("run", self.model, *data, "--index", i)["answers"]
            self.assertEqual(alone, answer)
            for following in self.document("run", self.model, "--prompt", part[:-1][12 * i:12 * i + 12])["next"]:
                self.assertAlmostEqual(following["logit"], answer["logits"][following["token"]], places=4)
        self.assertIn(repr(part[12 * (windows - 1):-1]) + "\n", self.output("run", self.model, *data, "--index", windows - 1))
        table = self.output("run", self.model, *data).splitlines()
        shares = [float(line.split()[-1]) for line in table if re.search(r" \d\.\d{6}$", line)]
        self.assertGreater(len(shares), 10)
        self.assertEqual(shares, sorted(shares, reverse=True))

    def test_values_of_a_text_model_are_tokens(self):
        self.train("--epochs", "1")
        self.output("run", self.model, "--values", "0,1,2,3,2,1")
        self.output("run", self.model, "--values", "0,1,2,3,2,16777215")
        for number in ("1.5", "nan", "1e9", "16777217"):  # the last is no number of f32
            self.refuses(2, ("run", self.model, "--values", f"0,1,2,3,2,{number}"))

    def test_a_transformer_becomes_a_hugging_face_folder(self):
        self.train_gpt("--steps", "3", "--sample-every", "0")
        to = f"{self.folder}/to/"
        run = self.run_tool("convert", self.model, to)
        self.assertEqual(run.returncode, 0)
        self.says(run.stderr.decode())
        self.assertEqual(self.document("convert", self.model, to)["lost"], ["the tokenizer"])
        self.output("summary", f"{self.folder}/to/")
        self.train("--epochs", "1")
        self.refuses(1, "convert run/model.safetensors charlm/")
        self.assertFalse((self.folder / "charlm").exists())

    def test_a_text_of_one_line_can_begin(self):
        self.text.write_text("abcd" * 50)
        self.train("--epochs", "1")
        self.assertEqual(len(self.output("generate", self.model, "--tokens", "9")), 10)

    def test_what_it_refuses(self):
        self.train("--epochs", "1")
        self.output("train", "--data", "moons", "--epochs", "1", "--out", self.folder / "moons")
        (self.folder / "z").write_bytes(b"z" * 100)
        self.refuses(1, "generate run --prompt zoo; eval run --data text:z; eval run --data digits; generate moons; eval moons --data text:text.txt")
        self.refuses(2, "generate run --prompt ''; generate run --temperature -1; train --data moons --context 4")


if __name__ == "__main__":
    unittest.main()
