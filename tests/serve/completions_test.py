"""OpenAI's completions: the same text as `limpid generate`, whatever other clients ask."""

import contextlib
import functools
import json
import math
import os
import pathlib
import random
import re
import select
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

import served
import tool

TESTS = pathlib.Path(__file__).resolve().parent.parent
TEXT = "the cat sat on the mat.\nthe dog sat on the log.\n" * 60
CLIENTS = 40
ANSWERS = 20 if "LIMPID_SANITIZED" in os.environ else 400  # a client
PATH = "/v1/completions"
CHAT = "/v1/chat/completions"


def llama_folder(folder, context=48, vocabulary=508, spread=0.5):
    """A Llama of one block of numbers at random, as Hugging Face's folders have it, with a tokenizer; its logits are of the size of `spread`."""
    folder.mkdir()
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(TESTS / "data/byte_pair" / name, folder)
    width, inner = 8, 16
    config = {"model_type": "llama", "vocab_size": vocabulary, "max_position_embeddings": context, "hidden_size": width,
              "intermediate_size": inner, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
              "hidden_act": "silu", "rms_norm_eps": 1e-05, "rope_theta": 500.0, "tie_word_embeddings": False,
              "eos_token_id": 507}
    (folder / "config.json").write_text(json.dumps(config))
    draw = random.Random(5)
    shapes = {"model.embed_tokens": [vocabulary, width], "lm_head": [vocabulary, width], "model.norm": [width]}
    for name, shape in (("self_attn.q_proj", [width, width]), ("self_attn.k_proj", [4, width]), ("self_attn.v_proj", [4, width]),
                        ("self_attn.o_proj", [width, width]), ("mlp.gate_proj", [inner, width]), ("mlp.up_proj", [inner, width]),
                        ("mlp.down_proj", [width, inner]), ("input_layernorm", [width]), ("post_attention_layernorm", [width])):
        shapes[f"model.layers.0.{name}"] = shape
    tensors = {f"{name}.weight": (shape, [draw.gauss(0, spread if name == "lm_head" else 0.5) for _ in range(math.prod(shape))])
               for name, shape in shapes.items()}
    (folder / "model.safetensors").write_bytes(tool.file_of(tool.header_of(tensors), tool.data_of(tensors)))
    return folder


CHAT_TEMPLATE = ("{% for message in messages %}{% if message.role not in ['system', 'user', 'assistant'] %}"
                 "{{ raise_exception('no role ' + message.role) }}{% endif %}"
                 "{{ '<|im_start|>' + message.role + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
                 "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
MESSAGES = [{"role": "system", "content": "the log"}, {"role": "user", "content": "the cat"}]


def chat_folder(folder, template=CHAT_TEMPLATE, **flags):
    """The Llama with tokens for a chat's messages, and a template."""
    llama_folder(folder, context=128, vocabulary=510)
    vocabulary = json.loads((folder / "vocab.json").read_text())
    merges = (folder / "merges.txt").read_text().splitlines()[1:]
    added = [{"id": 507, "content": "<|endoftext|>"}, {"id": 508, "content": "<|im_start|>"},
             {"id": 509, "content": "<|im_end|>", **flags}]
    (folder / "tokenizer.json").write_text(json.dumps(
        {"added_tokens": added, "normalizer": None, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
         "post_processor": None, "model": {"type": "BPE", "vocab": vocabulary, "merges": merges}}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": template, "eos_token": "<|endoftext|>"}))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [507, 509]}))
    return folder


def events_of(answer):
    """The data of server-sent events."""
    assert answer.headers["content-type"] == "text/event-stream", answer
    return [event.removeprefix("data: ") for event in answer.body.decode().split("\n\n") if event]


def chunks_of(answer):
    events = events_of(answer)
    assert events[-1] == "[DONE]", events
    return [json.loads(event) for event in events[:-1]]


@functools.cache
def trained_models():
    """Two trained models and a Llama, made once for all tests of a program; and the folder that they are in."""
    folder = tempfile.TemporaryDirectory(prefix="limpid-serve-")
    shared = pathlib.Path(folder.name)
    text = shared / "text.txt"
    text.write_text(TEXT)
    common = ["--data", f"text:{text}", "--threads", "1", "--steps", "30", "--batch", "8"]
    recurrent = ["--model", "lstm", "--layers", "1", "--width", "16", "--context", "12"]
    for name, more in (("lstm", recurrent), ("gpt", ["--model", "gpt", "--layers", "1", "--width", "16", "--heads", "2", "--context", "64"]),
                       ("charlm", ["--context", "6", "--embedding", "4", "--hidden", "16"])):
        subprocess.run([tool.TOOL, "train", *common, *more, "--out", shared / name], check=True, stdout=subprocess.DEVNULL)
    return {"gpt": shared / "gpt", "charlm": shared / "charlm", "lstm": shared / "lstm", "llama": llama_folder(shared / "llama")}, folder


class CompletionsTest(served.ServeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models, folder = trained_models()
        cls.shared = pathlib.Path(folder.name)

    @classmethod
    def serve_all_tests(cls, *models):
        """A server for all tests of a class: under sanitizers a server takes a second to begin."""
        cls.server = served.Server(*models)
        cls.addClassCleanup(cls.end)

    @classmethod
    def end(cls):
        assert cls.server.stop() == 0, "the server failed"

    def generated(self, model, prompt, tokens, seed=0, temperature=1, top_k=0, top_p=1):
        """The text that `limpid generate` writes after the prompt."""
        run = self.run_tool("generate", self.models[model], "--prompt", prompt, "--tokens", tokens, "--seed", seed,
                            "--temperature", temperature, "--top-k", top_k, "--top-p", top_p, "--threads", "1")
        self.assertEqual((run.returncode, run.stderr), (0, b""))
        text = run.stdout.decode()
        self.assertTrue(text.startswith(prompt) and text.endswith("\n"))
        return text[len(prompt):-1]

    def seconds(self, server, name, model="charlm"):
        return float(re.search(rf'limpid_{name}_seconds_sum\{{model="{model}"\}} (\S+)', server.get("/metrics").body.decode())[1])

    def refused(self, answer, status):
        self.refused_by_openai(answer, status)

    def text(self, server, model="gpt", **asked):
        answer = server.post(PATH, {"model": model, **asked})
        self.assertEqual(answer.status, 200, answer)
        return answer.json()["choices"][0]["text"]


class Answers(CompletionsTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        net = cls.shared / "net.safetensors"
        net.write_bytes(tool.model_bytes(*tool.REAL))
        cls.serve_all_tests(*cls.models.values(), net)

    def test_are_those_of_generate(self):
        for model in self.models:
            for asked in ({"seed": 7}, {"temperature": 0}, {"seed": 3, "temperature": 0.7, "top_k": 5},
                          {"seed": 2**40, "top_p": 0.5}):
                with self.subTest(model=model, asked=asked):
                    answer = self.server.post(PATH, {"model": model, "prompt": "the cat", "max_tokens": 24, **asked})
                    choice = answer.json()["choices"][0]
                    self.assertEqual(choice["text"], self.generated(model, "the cat", 24, **asked))
                    self.assertIn(choice["finish_reason"], ("length", "stop"))
                    self.assertIsNone(choice["logprobs"])
                    self.assertRegex(answer.headers["limpid-receipt"], r"^model=\w{16}; input=\w{16}; output=\w{16}$")

    def test_have_openais_form(self):
        answer, again = (self.server.post(PATH, {"model": "gpt", "prompt": "the cat", "max_tokens": 5, "seed": 1}).json()
                         for _ in range(2))
        self.assertEqual((answer["object"], answer["choices"]), ("text_completion", again["choices"]))
        self.assertNotEqual(answer["id"], again["id"])
        self.assertEqual((answer["model"], answer["seed"]), ("gpt", 1))
        self.assertRegex(answer["id"], r"^cmpl-\w+$")
        self.assertEqual(answer["usage"], {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12})
        models = self.server.get("/v1/models").json()
        self.assertEqual([model["id"] for model in models["data"]], ["charlm", "gpt", "llama", "lstm"])
        self.assertEqual(self.server.get("/v1/models/gpt").json(),
                         {"id": "gpt", "object": "model", "created": 0, "owned_by": "limpid"})
        self.refused(self.server.get("/v1/models/net"), 404)

    def test_have_sixteen_tokens_unless_asked_for_others(self):
        asked = {"model": "gpt", "prompt": "the cat"}
        self.assertEqual(self.server.post(PATH, asked).json()["usage"]["completion_tokens"], 16)
        self.assertEqual(self.text(self.server, prompt="t" * 62, seed=1), self.generated("gpt", "t" * 62, 2, 1))  # all that fit
        self.assertEqual(self.text(self.server, prompt="t" * 64), "")
        server = self.serve(self.models["gpt"], "--max-tokens", "5")
        self.assertEqual(server.post(PATH, asked).json()["usage"]["completion_tokens"], 5)

    def test_receipts_are_of_all_prompts_and_texts(self):
        def hashes(prompt, n):
            answer = self.server.post(PATH, {"model": "gpt", "prompt": prompt, "n": n, "seed": 4, "max_tokens": 12})
            return re.fullmatch(r"model=\w+; input=(\w+); output=(\w+)", answer.headers["limpid-receipt"]).groups()

        (one, text), (same, texts), (other, _) = hashes("the cat", 1), hashes("the cat", 2), hashes(["the cat", "the dog"], 1)
        self.assertEqual(one, same)
        self.assertNotEqual(text, texts)
        self.assertNotEqual(one, other)

    def test_without_a_seed_tell_theirs(self):
        asked = {"model": "gpt", "prompt": "the", "max_tokens": 20}
        first, second = (self.server.post(PATH, asked).json() for _ in range(2))
        self.assertNotEqual(first["seed"], second["seed"])
        self.assertLess(max(first["seed"], second["seed"]), 2**53)  # JavaScript reads no others exactly
        self.assertEqual(self.text(self.server, prompt="the", max_tokens=20, seed=first["seed"]), first["choices"][0]["text"])

    def test_a_negative_seed_counts_from_the_end(self):
        answer = self.server.post(PATH, {"model": "gpt", "prompt": "the cat", "max_tokens": 9, "seed": -1, "n": 2}).json()
        self.assertEqual(answer["seed"], 2**64 - 1)
        for choice, seed in zip(answer["choices"], (2**64 - 1, 0)):
            self.assertEqual(choice["text"], self.generated("gpt", "the cat", 9, seed))
        again = self.text(self.server, prompt="the cat", max_tokens=9, seed=answer["seed"])
        self.assertEqual(again, answer["choices"][0]["text"])

    def test_of_several_prompts_and_several_texts(self):
        answer = self.server.post(PATH, {"model": "gpt", "prompt": ["the cat", "the dog"], "n": 3, "seed": 5,
                                         "max_tokens": 12}).json()
        expected = [self.generated("gpt", prompt, 12, seed) for prompt in ("the cat", "the dog") for seed in (5, 6, 7)]
        self.assertEqual([choice["text"] for choice in answer["choices"]], expected)
        self.assertEqual([choice["index"] for choice in answer["choices"]], list(range(6)))
        self.assertEqual(answer["usage"]["prompt_tokens"], 14)

    def test_of_tokens(self):
        tokens = [ord(c) for c in "the cat"]  # a character's token is its index in the tokenizer
        alphabet = sorted(set(TEXT.encode()))
        tokens = [alphabet.index(token) for token in tokens]
        expected = self.generated("gpt", "the cat", 9, 4)
        self.assertEqual(self.text(self.server, prompt=tokens, max_tokens=9, seed=4), expected)
        self.assertEqual(self.text(self.server, prompt=[tokens], max_tokens=9, seed=4, echo=True), "the cat" + expected)
        # The first byte of two: half a character is a part of the prompt, too.
        of_bytes = json.loads((TESTS / "data/byte_pair/vocab.json").read_text())
        self.assertEqual(self.text(self.server, "llama", prompt=[of_bytes["t"], of_bytes["\u00c3"]], max_tokens=0, echo=True), "t\ufffd")
        self.refused(self.server.post(PATH, {"model": "gpt", "prompt": [1000]}), 400)

    def test_end_before_a_stop(self):
        whole = self.generated("gpt", "the cat", 40, 11)
        stop = whole[20:23]  # another one may have begun within it
        end = whole.index(stop)
        for asked in ({}, {"stream": True}):
            with self.subTest(**asked):
                answer = self.server.post(PATH, {"model": "gpt", "prompt": "the cat", "max_tokens": 40, "seed": 11,
                                                 "stop": [stop, stop[1] + "\x7f"], "logprobs": 0, **asked})
                chunks = chunks_of(answer) if asked else [answer.json()]
                choices = [chunk["choices"][0] for chunk in chunks]
                self.assertEqual("".join(choice["text"] for choice in choices), whole[:end])
                self.assertEqual(choices[-1]["finish_reason"], "stop")
                tokens = [token for choice in choices for token in choice["logprobs"]["tokens"]]
                self.assertEqual("".join(tokens), whole[:end])

    def test_end_before_the_first_of_two_stops(self):
        """One of them is the end of the other, so the same token completes both."""
        whole = self.text(self.server, prompt="the cat", max_tokens=40, seed=11)
        last = max(whole.index(c) for c in whole)  # no character before is the same
        stops = [whole[last], whole[last - 1:last + 1]]
        for stop in (stops, stops[::-1]):
            self.assertEqual(self.text(self.server, prompt="the cat", max_tokens=40, seed=11, stop=stop), whole[:last - 1])

    def test_half_a_character_at_the_end_is_a_part_of_the_text(self):
        """It is shown by a sign of its own, at which a text may stop, too."""
        asked = {"model": "llama", "prompt": "the cat", "seed": 5}
        texts = [self.text(self.server, max_tokens=n, **asked) for n in range(1, 41)]
        halves = [n for n in range(1, 40) if texts[n - 1].endswith("\ufffd") and not texts[n].startswith(texts[n - 1])]
        self.assertTrue(halves, texts[-1])
        for n in halves:
            self.assertEqual(texts[n - 1], self.generated("llama", "the cat", n, 5))
            end = texts[n - 1][-4:]
            for stop, text, reason in (([], texts[n - 1], "length"), ([end], texts[n - 1].split(end)[0], "stop")):
                for stream in (False, True):
                    with self.subTest(tokens=n, stop=stop, stream=stream):
                        answer = self.server.post(PATH, {"max_tokens": n, "stop": stop, "stream": stream, **asked})
                        chunks = chunks_of(answer) if stream else [answer.json()]
                        choices = [chunk["choices"][0] for chunk in chunks]
                        self.assertEqual("".join(choice["text"] for choice in choices), text)
                        self.assertEqual(choices[-1]["finish_reason"], reason)

    def test_half_a_character_before_an_eos_is_a_part_of_the_text(self):
        for seed in (69, 124):
            text = self.generated("llama", "the cat", 40, seed)
            self.assertTrue(text.endswith("\ufffd"))
            for stop, expected in ([], text), ([text[-3:]], text.split(text[-3:])[0]):
                for stream in (False, True):
                    with self.subTest(seed=seed, stop=stop, stream=stream):
                        answer = self.server.post(PATH, {"model": "llama", "prompt": "the cat", "seed": seed, "max_tokens": 40,
                                                         "stop": stop, "stream": stream})
                        choices = [chunk["choices"][0] for chunk in (chunks_of(answer) if stream else [answer.json()])]
                        self.assertEqual("".join(choice["text"] for choice in choices), expected)
                        self.assertEqual(choices[-1]["finish_reason"], "stop")

    def test_streamed_probabilities_are_those_of_the_text(self):
        """Two equal characters before a stop: of the second nothing is known to stay when the first is told."""
        for seed in range(100):
            whole = self.text(self.server, prompt="the cat", max_tokens=40, seed=seed)
            found = re.search(r"(.)\1(?!\1).", whole)
            if found and whole.index(found[0][1:]) == found.start() + 1:
                break
        asked = {"model": "gpt", "prompt": "the cat", "max_tokens": 40, "seed": seed, "stop": found[0][1:], "logprobs": 1}
        expected = self.server.post(PATH, asked).json()["choices"][0]
        choices = [chunk["choices"][0] for chunk in chunks_of(self.server.post(PATH, {**asked, "stream": True}))]
        self.assertEqual("".join(choice["text"] for choice in choices), expected["text"])
        for key in ("tokens", "token_logprobs", "text_offset"):
            self.assertEqual([one for choice in choices for one in choice["logprobs"][key]], expected["logprobs"][key])

    def test_a_stream_whose_first_step_is_large_is_read_to_its_end(self):
        """Three megabytes of log probabilities, of which the client can read nothing until the step has ended."""
        asked = {"model": "charlm", "prompt": "t" * 400, "n": 16, "max_tokens": 3, "seed": 1, "echo": True, "logprobs": 20}
        expected = [choice["text"] for choice in self.server.post(PATH, asked).json()["choices"]]
        texts = [""] * 16
        for chunk in chunks_of(self.server.post(PATH, {**asked, "stream": True})):
            for choice in chunk["choices"]:
                texts[choice["index"]] += choice["text"]
        self.assertEqual(texts, expected)

    def test_streamed_are_the_same(self):
        for model in self.models:
            asked = {"model": model, "prompt": ["the cat", "a dog"] if model != "gpt" else ["the cat", "the dog"], "n": 2,
                     "seed": 3, "max_tokens": 20, "echo": model == "llama"}
            whole = self.server.post(PATH, asked).json()
            chunks = chunks_of(self.server.post(PATH, {**asked, "stream": True, "stream_options": {"include_usage": True}}))
            texts, reasons = [""] * 4, [None] * 4
            for chunk in chunks[:-1]:
                self.assertIsNone(chunk["usage"])
                for choice in chunk["choices"]:
                    self.assertIsNone(reasons[choice["index"]], "more behind the end")
                    texts[choice["index"]] += choice["text"]
                    reasons[choice["index"]] = choice["finish_reason"]
            self.assertEqual(texts, [choice["text"] for choice in whole["choices"]])
            self.assertEqual(reasons, [choice["finish_reason"] for choice in whole["choices"]])
            self.assertEqual((chunks[-1]["choices"], chunks[-1]["usage"]), ([], whole["usage"]))
            self.assertGreater(len(chunks), 10)

    def test_probabilities_are_those_of_run(self):
        answer = self.server.post(PATH, {"model": "llama", "prompt": "the fox", "max_tokens": 1, "temperature": 0,
                                         "logprobs": 5}).json()
        logprobs = answer["choices"][0]["logprobs"]
        shown = self.document("run", self.models["llama"], "--prompt", "the fox")["next"]
        self.assertEqual(len(logprobs["top_logprobs"][0]), 5)
        for (_, logprob), token in zip(logprobs["top_logprobs"][0].items(), shown):
            self.assertAlmostEqual(math.exp(logprob), token["probability"], places=6)
        self.assertEqual(logprobs["token_logprobs"][0], max(logprobs["top_logprobs"][0].values()))

    def test_probabilities_of_large_logits_are_numbers(self):
        server = self.serve(llama_folder(self.folder / "large", spread=1000))
        answer = server.post(PATH, {"model": "large", "prompt": "the fox", "max_tokens": 1, "temperature": 0, "logprobs": 5}).json()
        logprobs = answer["choices"][0]["logprobs"]
        self.assertEqual(len(logprobs["top_logprobs"][0]), 5)
        for logprob in (*logprobs["top_logprobs"][0].values(), *logprobs["token_logprobs"]):
            self.assertIsInstance(logprob, float)
            self.assertLessEqual(logprob, 0)
        self.assertGreater(logprobs["token_logprobs"][0], -math.log(508))

    def test_probabilities_of_a_prompt_are_those_of_its_writing(self):
        for model in ("gpt", "charlm"):
            asked = {"model": model, "prompt": "the cat", "seed": 8, "logprobs": 2, "max_tokens": 12}
            written = self.server.post(PATH, asked).json()["choices"][0]
            read = self.server.post(PATH, {**asked, "prompt": "the cat" + written["text"], "max_tokens": 0,
                                           "echo": True}).json()["choices"][0]
            self.assertEqual(read["text"], "the cat" + written["text"])
            self.assertIsNone(read["logprobs"]["token_logprobs"][0])
            for key in ("tokens", "token_logprobs", "top_logprobs"):
                self.assertEqual(read["logprobs"][key][7:], written["logprobs"][key])
            self.assertEqual(read["logprobs"]["text_offset"], list(range(19)))

    def test_offsets_count_characters(self):
        text = "é狐 the dog"  # in several bytes each; a token may be a part of a character
        logprobs = self.server.post(PATH, {"model": "llama", "prompt": text, "max_tokens": 0, "echo": True,
                                           "logprobs": 0}).json()["choices"][0]["logprobs"]
        whole = [(o, t) for o, t in zip(logprobs["text_offset"], logprobs["tokens"]) if not t.startswith("bytes:")]
        self.assertIn(" dog", [token for _, token in whole])
        for offset, token in whole:
            self.assertEqual(text[offset:offset + len(token)], token)

    def test_refuse_what_they_cannot_do(self):
        for status, *requests in (
                (404, {"model": "none"}, {"model": "net"}), (413, {"prompt": ["a"] * 65, "n": 2}),
                (400, {"model": None}, {"max_token": 3}, {"best_of": 3}, {"suffix": "x"}, {"repetition_penalty": 0},
                 {"temperature": -1}, {"temperature": "hot"}, {"top_p": 0}, {"top_p": 1.5}, {"top_k": -1}, {"n": 0}, {"n": 1000},
                 {"max_tokens": 58}, {"max_tokens": -1}, {"prompt": "the " * 30}, {"prompt": ["the " * 10, "the"], "max_tokens": 30},
                 {"prompt": []}, {"prompt": [[]]}, {"prompt": {"a": 1}}, {"prompt": "\u20ac"}, {"prompt": [1000]}, {"stop": ""},
                 {"stop": ["a"] * 17}, {"stop": "a" * 1025}, {"model": "charlm", "max_tokens": 4097}, {"logprobs": True}, {"logprobs": 21},
                 {"seed": 0.5}, {"stream": 1}, {"stream_options": []})):
            for asked in requests:
                with self.subTest(asked=asked):
                    self.refused(self.server.post(PATH, {"model": "gpt", "prompt": "the cat", **asked}), status)
        for body in (b"", b"[]", b"{", b'{"model": "gpt", "model": "gpt"}', b"[" * 100_000, b'{"model": {}}'):
            self.refused(self.server.post(PATH, body), 400)
        self.refused(self.server.post(PATH, b"?", [("Content-Encoding", "gzip")]), 415)  # refused with the header
        self.refused(self.server.get(PATH), 405)
        self.refused(self.server.get("/v1/nothing"), 404)
        self.refused(self.server.post(CHAT, {"model": "gpt", "messages": []}), 400)
        self.assertEqual(self.server.post(PATH, {"model": "gpt", "stop": ["a" * 1024] * 16, "max_tokens": 0}).status, 200)
        self.assertEqual(self.server.post(PATH, {"model": "gpt", "user": "u", "presence_penalty": 0, "logit_bias": {},
                                                 "best_of": 1, "suffix": None, "repetition_penalty": 1.0, "min_p": 0.0,
                                                 "ignore_eos": False, "max_tokens": 1}).status, 200)

    def test_parameters_of_other_servers_are_taken_where_they_change_nothing(self):
        nothing = {"best_of": [1], "suffix": [""], "ignore_eos": [False], "tools": [[]], "tool_choice": ["none", "auto"],
                   "parallel_tool_calls": [True, False], "functions": [[]], "function_call": ["none", "auto"],
                   "response_format": [{"type": "text"}], "modalities": [["text"]], "store": [False], "service_tier": ["auto", "default"]}
        asked = {"model": "gpt", "prompt": "the", "max_tokens": 0}
        for name, values in nothing.items():
            with self.subTest(name):
                for value in values:
                    self.assertEqual(self.server.post(PATH, {**asked, name: value}).status, 200, value)
                self.refused(self.server.post(PATH, {**asked, name: "other"}), 400)

    def test_logits_are_changed_as_asked(self):
        asked = {"model": "gpt", "prompt": "the", "max_tokens": 6, "temperature": 0, "seed": 1}
        write = lambda **more: self.server.post(PATH, {**asked, **more}).json()["choices"][0]["text"]
        plain = write()
        one = self.server.post(PATH, {**asked, "logprobs": 1, "max_tokens": 1}).json()["choices"][0]["logprobs"]["tokens"][0]
        self.assertEqual(write(logit_bias={}, presence_penalty=0, frequency_penalty=0.0, repetition_penalty=1, min_p=0), plain)
        forced = [write(logit_bias={str(token): 100}) for token in (0, 1)]
        self.assertEqual([len(set(text)) for text in forced], [1, 1])
        self.assertNotEqual(*forced)
        self.assertEqual(write(temperature=1, min_p=1), plain)  # the most probable alone
        self.assertNotEqual(write(temperature=1), plain)
        self.assertTrue(plain.startswith(one))
        for name, values in {"min_p": [-0.1, 1.1, "x"], "presence_penalty": [2.1, "x"], "frequency_penalty": [-2.1], "repetition_penalty": [0, -1, 101],
                             "logit_bias": [{"x": 1}, {"-1": 1}, {"1.5": 1}, {"0": 101}, {"0": "x"}, [], {str(i): 1 for i in range(1025)}]}.items():
            for value in values:
                with self.subTest(name, value=value):
                    self.refused(self.server.post(PATH, {**asked, name: value}), 400)

    def test_errors_have_openais_kinds(self):
        def kind(answer):
            return answer.status, answer.json()["error"]["type"], answer.json()["error"]["code"]

        self.assertEqual(kind(self.server.post(PATH, {"model": "none"})), (404, "invalid_request_error", "not_found"))
        self.assertEqual(kind(self.server.post(PATH, {"model": "gpt", "n": 0})), (400, "invalid_request_error", None))
        self.assertEqual(kind(self.server.post(CHAT, {"model": "gpt", "messages": []})), (400, "invalid_request_error", None))
        token = self.folder / "token"
        token.write_text("correct-horse\n")
        self.assertEqual(kind(self.serve(self.model, "--token-file", token).get("/v1/models")),
                         (401, "invalid_request_error", "invalid_api_key"))

    def test_are_counted(self):
        server = self.serve(self.models["gpt"])
        server.post(PATH, {"model": "gpt", "prompt": "the cat", "max_tokens": 5, "n": 2, "seed": 1})
        # A text and a request are counted when they have ended, which may be after their answer came.
        self.until_metric(server, 'limpid_texts{model="gpt"} 0')
        self.until_metric(server, 'limpid_requests_total{model="gpt",code="200"} 1')
        self.refused(server.post(PATH, {"model": "gpt", "n": 0}), 400)
        self.until_metric(server, 'limpid_requests_total{model="gpt",code="400"} 1')
        text = server.get("/metrics").body.decode()
        for line in ('limpid_prompt_tokens_total{model="gpt"} 14', 'limpid_tokens_total{model="gpt"} 10',
                     'limpid_first_token_seconds_count{model="gpt"} 2',
                     'limpid_token_seconds_count{model="gpt"} 2'):
            self.assertIn(line + "\n", text)
        memory, caches = (int(re.search(rf'limpid_{name}_bytes\{{model="gpt"\}} (\d+)', text)[1]) for name in ("model", "cache"))
        self.assertGreater(caches, 0)
        self.assertGreater(memory, caches)  # which are a part of the model's memory

    def test_times_add_up(self):
        tokens = 3000
        server = self.serve(self.models["charlm"])
        server.post(PATH, {"model": "charlm", "prompt": "the", "max_tokens": tokens})
        self.until_metric(server, 'limpid_requests_total{model="charlm",code="200"} 1')
        request, compute, first, token = (self.seconds(server, name) for name in ("request", "compute", "first_token", "token"))
        further = token * (tokens - 1) * 0.999  # rounded
        self.assertGreater(further, 0)
        self.assertLess(first + further, request)
        self.assertLess(further, compute)


class Limits(CompletionsTest):
    LONG = {"model": "charlm", "prompt": "the", "max_tokens": 1_000_000_000, "stream": True}

    def begin(self, server, connection, **more):
        connection.sendall(served.request_bytes("POST", PATH, json.dumps({**self.LONG, **more}).encode()))

    def long_server(self, *more):
        return self.serve(self.models["charlm"], "--max-tokens", "1000000000", *more)

    def test_a_client_that_leaves_is_written_for_no_longer(self):
        server = self.long_server()
        for stream in (True, False):
            with server.connect() as connection:
                self.begin(server, connection, stream=stream)
                with self.reading(connection):  # a stream that nobody reads may end by itself
                    self.until_metric(server, 'limpid_texts{model="charlm"} 1')
            self.until_metric(server, 'limpid_texts{model="charlm"} 0')

    @contextlib.contextmanager
    def reading(self, connection):
        """Reads what comes meanwhile, and drops it."""
        enough = threading.Event()

        def read():
            while not enough.is_set():
                if select.select([connection], [], [], 0.01)[0] and not connection.recv(65536):
                    return

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield
        finally:
            enough.set()
            reader.join()

    def test_log_probabilities_of_an_answer_that_is_no_stream_are_bounded(self):
        server = self.serve(self.models["charlm"], "--max-answer", "100000")
        asked = {"model": "charlm", "prompt": "the", "max_tokens": 40, "logprobs": 20}
        self.refused(server.post(PATH, asked), 413)
        self.assertEqual(server.post(PATH, {**asked, "logprobs": 1}).status, 200)
        self.refused(server.post(PATH, {**asked, "logprobs": 1, "n": 3}), 413)
        self.assertEqual(server.post(PATH, {**asked, "stream": True}).status, 200)
        # The echoed prompt is known at once in a stream, too.
        self.refused(server.post(PATH, {**asked, "prompt": "t" * 20, "echo": True, "stream": True}), 413)
        prompt = {**asked, "prompt": "t" * 100, "max_tokens": 1, "logprobs": 1}
        self.assertEqual(server.post(PATH, prompt).status, 200)
        self.refused(server.post(PATH, {**prompt, "echo": True}), 413)

    def test_prompts_of_many_texts_are_bounded(self):
        server = self.serve(self.models["charlm"], "--max-answer", "100000")
        asked = {"model": "charlm", "prompt": "t" * 600, "max_tokens": 1}
        self.assertEqual(server.post(PATH, {**asked, "n": 40}).status, 200)
        self.refused(server.post(PATH, {**asked, "n": 42}), 413)
        self.assertEqual(server.post(PATH, {**asked, "n": 33, "echo": True}).status, 200)
        self.refused(server.post(PATH, {**asked, "n": 34, "echo": True}), 413)

    def test_a_full_queue_refuses_at_once(self):
        server = self.long_server("--max-texts", "1", "--max-queue", "2")
        # No streams: nobody reads them, and they would end when the client's buffer is full.
        with server.connect() as first, server.connect() as second:
            self.begin(server, first, stream=False)
            self.until_metric(server, 'limpid_texts{model="charlm"} 1')
            self.begin(server, second, stream=False, n=2)
            self.until_metric(server, "limpid_queue_length 2")
            answer = server.post(PATH, {"model": "charlm", "prompt": "a"})
            self.refused(answer, 503)
            self.assertEqual(answer.headers["retry-after"], "1")

    def test_a_text_without_a_place_waits(self):
        server = self.long_server("--max-texts", "1")
        with server.connect() as second:
            with server.connect() as first:
                self.begin(server, first, stream=False)
                self.until_metric(server, 'limpid_texts{model="charlm"} 1')
                self.begin(server, second, stream=False, max_tokens=1)
                self.until_metric(server, "limpid_queue_length 1")
                time.sleep(0.5)
            self.until_metric(server, 'limpid_requests_total{model="charlm",code="200"} 1')
        queue, compute, request = (self.seconds(server, name) for name in ("queue", "compute", "request"))
        self.assertGreaterEqual(queue, 0.5)
        self.assertGreater(compute, 0)
        self.assertLessEqual(queue + compute, request)

    def test_a_long_text_of_one_model_leaves_others_their_turn(self):
        server = self.serve(self.models["charlm"], self.models["gpt"], "--max-tokens", "1000000000")
        with server.connect() as first, server.connect(timeout=20) as second:
            self.begin(server, first, stream=False)
            self.until_metric(server, 'limpid_texts{model="charlm"} 1')
            body = json.dumps({"model": "gpt", "prompt": "the cat", "max_tokens": 5}).encode()
            self.assertEqual(served.exchange(second, "POST", PATH, body).status, 200)

    def test_those_that_left_are_in_the_queue_no_longer(self):
        server = self.long_server("--max-texts", "1")
        with server.connect() as first, server.connect() as second:
            self.begin(server, first, stream=False)
            self.until_metric(server, 'limpid_texts{model="charlm"} 1')
            self.begin(server, second, stream=False)
            self.until_metric(server, "limpid_queue_length 1")
            with server.connect() as third:
                self.begin(server, third, stream=False)
                self.until_metric(server, "limpid_queue_length 2")
            self.until_metric(server, "limpid_queue_length 1")

    def test_a_deadline(self):
        server = self.long_server("--deadline", "0.3")
        self.refused(server.post(PATH, {**self.LONG, "stream": False}), 504)
        self.until_metric(server, 'limpid_texts{model="charlm"} 0')

    def test_caches_are_bounded(self):
        with_all = self.serve(self.models["gpt"], "--max-texts", "8")
        bytes_of_all = self.cache_bytes(with_all)
        # All of it is used where it is a number of whole contexts.
        for share, places in ((1, 8), (8, 1)):
            server = self.serve(self.models["gpt"], "--max-texts", "8", "--cache-memory", bytes_of_all // share)
            self.assertEqual(self.cache_bytes(server), bytes_of_all // share)
            self.assertIn(f'limpid_text_places{{model="gpt"}} {places}\n', server.get("/metrics").body.decode())
        for share, places in ((2, 4), (4, 2), (10, 1)):
            server = self.serve(self.models["gpt"], "--max-texts", "8", "--cache-memory", bytes_of_all // share)
            self.assertLessEqual(self.cache_bytes(server), bytes_of_all // share)
            self.assertIn(f'limpid_text_places{{model="gpt"}} {places}\n', server.get("/metrics").body.decode())
            self.assertEqual(self.text(server, prompt="the", max_tokens=9, seed=1), self.generated("gpt", "the", 9, 1))
        self.refuses(1, ("serve", self.models["gpt"], "--port", "0", "--cache-memory", "10"))

    def cache_bytes(self, server):
        text = server.get("/metrics").body.decode()
        return int(next(line for line in text.splitlines() if line.startswith("limpid_cache_bytes{")).rsplit(" ", 1)[1])

    def test_a_stream_is_finished_when_the_server_ends(self):
        server = self.serve(self.models["gpt"])
        with server.connect() as connection:
            connection.sendall(served.request_bytes("POST", PATH, json.dumps(
                {"model": "gpt", "prompt": "the", "max_tokens": 60, "seed": 2, "stream": True}).encode()))
            with connection.makefile("rb") as stream:
                first = stream.readline()
                self.assertEqual(first, b"HTTP/1.1 200 OK\r\n")
                server.process.terminate()
                rest = stream.read()
        self.assertIn(b"[DONE]", rest)
        self.assertTrue(rest.endswith(b"0\r\n\r\n"))
        self.assertEqual(server.process.wait(timeout=60), 0)


class Law(CompletionsTest):
    def test_of_many_clients(self):
        draw = random.Random(1)
        prompts = ["the cat", "the dog sat on", "t", "the mat.\nthe log.\nthe cat sat", "on"]
        cases = []
        for model in self.models:
            for _ in range(8):
                asked = {"prompt": draw.choice(prompts), "max_tokens": draw.choice([1, 7, 20, 30]), "seed": draw.randrange(2**40),
                         "temperature": draw.choice([0, 0.5, 1, 1.5]), "top_k": draw.choice([0, 0, 7]), "top_p": draw.choice([1, 0.8])}
                how = {key: value for key, value in asked.items() if key not in ("prompt", "max_tokens")}
                cases.append((model, asked, self.generated(model, asked["prompt"], asked["max_tokens"], **how)))
        server = self.serve(*self.models.values(), "--max-texts", "6", "--max-queue", "100000")
        wrong = []

        def client(number):
            mine = random.Random(number)
            try:
                for _ in range(ANSWERS // 5):
                    with server.connect() as connection:
                        for _ in range(5):
                            model, asked, expected = mine.choice(cases)
                            body = json.dumps({"model": model, **asked, "stream": mine.random() < 0.5}).encode()
                            if mine.random() < 0.1:  # some leave without their answers
                                connection.sendall(served.request_bytes("POST", PATH, body))
                                break
                            answer = served.exchange(connection, "POST", PATH, body)
                            if answer.status != 200:
                                text = None
                            elif answer.headers["content-type"] == "text/event-stream":
                                text = "".join(chunk["choices"][0]["text"] for chunk in chunks_of(answer))
                            else:
                                text = answer.json()["choices"][0]["text"]
                            if text != expected:
                                wrong.append((number, asked, expected, text, answer))
                                return
            except Exception as problem:  # a thread's is lost otherwise
                wrong.append((number, repr(problem)))

        threads = [threading.Thread(target=client, args=(n,)) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong[:3], [])
        self.assertEqual(server.stop(), 0)


class Chats(CompletionsTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.chat = chat_folder(cls.shared / "chat")
        cls.serve_all_tests(cls.chat)

    def tokens_of(self, text):
        """Those of the vocabulary, of a text without marks."""
        answer = self.server.post(PATH, {"model": "chat", "prompt": text, "max_tokens": 0, "echo": True, "logprobs": 0}).json()
        vocabulary = json.loads((self.chat / "vocab.json").read_text())
        return [vocabulary[token.replace(" ", "\u0120").replace("\n", "\u010a")]
                for token in answer["choices"][0]["logprobs"]["tokens"]]

    def prompt(self, messages=MESSAGES):
        line = self.tokens_of("\n")
        tokens = []
        for message in messages:
            tokens += [508, *self.tokens_of(f"{message['role']}\n{message['content']}"), 509, *line]
        return [*tokens, 508, *self.tokens_of("assistant\n")]

    def ask(self, **asked):
        return self.server.post(CHAT, {"model": "chat", "messages": MESSAGES, "seed": 3, **asked})

    def test_are_completions_of_the_rendered_tokens(self):
        answer = self.ask(max_tokens=12, temperature=0)
        self.assertEqual(answer.status, 200, answer)
        body = answer.json()
        text = self.server.post(PATH, {"model": "chat", "prompt": self.prompt(), "seed": 3, "max_tokens": 12, "temperature": 0})
        self.assertEqual(body["choices"], [{"index": 0, "message": {"role": "assistant", "content": text.json()["choices"][0]["text"]},
                                            "logprobs": None, "finish_reason": "length"}])
        self.assertEqual((body["object"], body["usage"]), ("chat.completion", text.json()["usage"]))
        self.assertRegex(body["id"], r"^chatcmpl-\w+$")
        self.assertEqual(answer.headers["limpid-receipt"], text.headers["limpid-receipt"])

    def test_a_content_may_be_a_part(self):
        parts = [dict(one, content=[{"type": "text", "text": one["content"]}]) for one in MESSAGES]
        answer, expected = self.ask(messages=parts), self.ask()
        self.assertEqual((answer.json()["choices"], answer.headers["limpid-receipt"]),
                         (expected.json()["choices"], expected.headers["limpid-receipt"]))
        text = {"type": "text", "text": "a"}
        for content in ([], [text, text], [{"type": "image_url", "image_url": {"url": "data:"}}], [{"type": "text"}], [["text"]], 1, None):
            self.refused(self.ask(messages=[{"role": "user", "content": content}]), 400)

    def test_end_where_the_folder_says(self):
        asked = {"seed": 1, "n": 32, "max_tokens": 64}
        choices = self.ask(**asked).json()["choices"]
        texts = self.server.post(PATH, {"model": "chat", "prompt": self.prompt(), **asked}).json()["choices"]
        # A token that ends a chat's message ends a text of the same model, too, and is no part of it.
        self.assertIn("stop", [one["finish_reason"] for one in texts])
        for choice, one in zip(choices, texts, strict=True):
            self.assertEqual((choice["message"]["content"], choice["finish_reason"]), (one["text"], one["finish_reason"]))
            self.assertNotIn("<|im_end|>", one["text"])

    def test_stream(self):
        whole = self.ask(max_tokens=20).json()["choices"][0]
        chunks = chunks_of(self.ask(max_tokens=20, stream=True, stream_options={"include_usage": True}))
        self.assertEqual({chunk["object"] for chunk in chunks}, {"chat.completion.chunk"})
        self.assertEqual(chunks[-1]["choices"], [])
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks[:-1]]
        self.assertEqual([delta.get("role") for delta in deltas], ["assistant"] + [None] * (len(deltas) - 1))
        self.assertEqual("".join(delta["content"] for delta in deltas), whole["message"]["content"])
        self.assertEqual(chunks[-2]["choices"][0]["finish_reason"], whole["finish_reason"])

    def test_have_the_log_probabilities_of_completions(self):
        for asked in ({"temperature": 0}, {"seed": 4, "stop": "e"}):
            with self.subTest(**asked):
                choice = self.ask(max_tokens=20, logprobs=True, top_logprobs=3, **asked).json()["choices"][0]
                text = self.server.post(PATH, {"model": "chat", "prompt": self.prompt(), "seed": 3, "max_tokens": 20, "logprobs": 3,
                                               **asked}).json()["choices"][0]
                self.assertEqual(list(choice["logprobs"]), ["content", "refusal"])
                self.assertIsNone(choice["logprobs"]["refusal"])
                content, logprobs = choice["logprobs"]["content"], text["logprobs"]
                # A completion continues after a token that ends an answer.
                self.assertEqual([one["logprob"] for one in content], logprobs["token_logprobs"][:len(content)])
                self.assertGreater(len(content), 0)
                for one, token, top in zip(content, logprobs["tokens"], logprobs["top_logprobs"]):
                    self.assertEqual(list(one), ["token", "logprob", "bytes", "top_logprobs"])
                    self.assertEqual(self.shown(one), token)
                    likely = {self.shown(best): best["logprob"] for best in one["top_logprobs"]}
                    self.assertEqual(len(one["top_logprobs"]), 3)
                    self.assertEqual({**likely, token: one["logprob"]}, top)

    def test_streamed_probabilities_are_those_of_the_answer(self):
        """Each of the first tokens may begin a stop: it is held back while the text before it is told."""
        asked = {"max_tokens": 20, "temperature": 0, "logprobs": True, "top_logprobs": 1}
        expected = self.ask(**asked).json()["choices"][0]
        asked["stop"] = [one["token"] + "\x7f" for one in expected["logprobs"]["content"][:4]]
        choices = [chunk["choices"][0] for chunk in chunks_of(self.ask(**asked, stream=True))]
        self.assertEqual("".join(choice["delta"]["content"] for choice in choices), expected["message"]["content"])
        self.assertEqual([one for choice in choices for one in choice["logprobs"]["content"]], expected["logprobs"]["content"])

    def shown(self, entry):
        """A token of a chat as completions show it."""
        text = bytes(entry["bytes"])
        try:
            self.assertEqual(entry["token"], text.decode())
            return text.decode()
        except UnicodeDecodeError:
            self.assertEqual(entry["token"], "".join(f"\\x{byte:02x}" for byte in text))
            return "bytes:" + entry["token"]

    def test_refuse_what_they_cannot_do(self):
        for asked in (
                {"messages": None}, {"messages": [{"content": "a"}]}, {"messages": [{"role": "user", "content": ["a"]}]},
                {"messages": [{"role": "user", "content": "", "tool_calls": []}]}, {"messages": [{"role": "king", "content": "a"}]},
                {"prompt": "a"}, {"logprobs": 1}, {"tools": [{}]}, {"top_logprobs": 1}, {"logprobs": True, "top_logprobs": 21},
                {"tool_choice": "required"}, {"response_format": {"type": "json_object"}}, {"max_tokens": 128}, {"echo": True}):
            with self.subTest(asked=asked):
                self.refused(self.ask(**asked), 400)
        neutral = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True, "response_format": {"type": "text"},
                   "modalities": ["text"], "store": False, "service_tier": "default", "metadata": {"a": "b"},
                   "safety_identifier": "u", "prompt_cache_key": "k",
                   "repetition_penalty": 1, "functions": None}
        self.assertEqual(self.ask(logprobs=False, max_tokens=1, **neutral).status, 200)
        named = [{**MESSAGES[1], "name": "Ada"}]
        self.assertEqual(self.ask(messages=named, max_tokens=1).status, 200)

    def test_say_which_templates_they_do_not_know(self):
        other = chat_folder(self.folder / "other", "{% block f %}{% endblock %}")
        dated = chat_folder(self.folder / "dated", "{{ messages[0].content }}\n{% if messages | length > 1 %}{{ strftime_now('%Q') }}{% endif %}")
        flagged = chat_folder(self.folder / "flagged", lstrip=True)
        server = self.serve(other, flagged, dated)
        self.assertEqual(server.post(CHAT, {"model": "flagged", "messages": MESSAGES[:1], "max_tokens": 1}).status, 200)
        for name in ("other", "dated"):
            self.refused(server.post(CHAT, {"model": name, "messages": MESSAGES}), 501)
            self.assertEqual(server.post(PATH, {"model": name, "max_tokens": 1}).status, 200)
        # Parts of a template that are not executed do not matter.
        self.assertEqual(server.post(CHAT, {"model": "dated", "messages": MESSAGES[:1], "max_tokens": 1}).status, 200)


class Receipts(CompletionsTest):
    """What `limpid receipt` says of texts: it writes them again."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.shared / "receipts").mkdir()
        cls.chat = chat_folder(cls.shared / "receipts/chat")
        cls.serve_all_tests(cls.models["gpt"], cls.chat)

    def setUp(self):
        super().setUp()
        self.request, self.answer = self.folder / "request", self.folder / "answer"

    def ask(self, path, **asked):
        answer = self.server.post(path, asked)
        self.assertEqual(answer.status, 200, answer)
        self.request.write_text(json.dumps(asked))
        self.answer.write_bytes(answer.body)
        return answer.headers["limpid-receipt"]

    def test_yes(self):
        for model, path, asked in ((self.models["gpt"], PATH, {"model": "gpt", "prompt": ["the cat", "a"], "n": 2, "seed": 4}),
                                   (self.chat, CHAT, {"model": "chat", "messages": MESSAGES, "seed": 4, "n": 2, "logprobs": True, "top_logprobs": 2})):
            with self.subTest(path=path):
                receipt = self.ask(path, **asked)
                for more in ({}, {"stream": True}):
                    self.request.write_text(json.dumps({**asked, **more}))
                    self.assertEqual(self.output("receipt", model, "--request", self.request, "--receipt", receipt), f"yes: {receipt}\n")
                self.output("receipt", model, "--request", self.request, "--answer", self.answer)

    def test_the_seed_may_be_the_answers(self):
        for more in ({}, {"seed": None}):
            receipt = self.ask(PATH, model="gpt", prompt="the cat", logprobs=2, **more)
            options = ("receipt", self.models["gpt"], "--request", self.request)
            self.output(*options, "--answer", self.answer, "--receipt", receipt)
            self.refuses(2, (*options, "--receipt", receipt))

    def test_a_generation_that_fails_says_why(self):
        broken = self.folder / "broken"
        shutil.copytree(self.models["charlm"], broken)
        model = (broken / "model.safetensors").read_bytes()
        header = 8 + int.from_bytes(model[:8], "little")
        nans = b"\0\0\xc0\x7f" * ((len(model) - header) // 4)
        (broken / "model.safetensors").write_bytes(model[:header] + nans)
        self.request.write_text(json.dumps({"model": "broken", "prompt": "the", "seed": 4}))
        receipt = "; ".join(f"{name}={'0' * 16}" for name in ("model", "input", "output"))
        self.refuses(1, ("receipt", broken, "--request", self.request, "--receipt", receipt))

    def test_the_first_difference(self):
        receipt = self.ask(PATH, model="gpt", prompt="the cat", seed=4, max_tokens=8)
        options = ("receipt", self.models["gpt"], "--request", self.request)
        body = json.loads(self.answer.read_text())
        body["choices"][0]["text"] = "other"
        self.answer.write_text(json.dumps(body))
        self.refuses(1, (*options, "--answer", self.answer))
        self.ask(PATH, model="gpt", prompt="the cat", seed=4, max_tokens=8, n=2)
        body = json.loads(self.answer.read_text())
        body["choices"].pop()
        self.answer.write_text(json.dumps(body))
        self.refuses(1, (*options, "--answer", self.answer))
        self.ask(CHAT, model="chat", messages=MESSAGES, seed=4, max_tokens=4, logprobs=True)
        body = json.loads(self.answer.read_text())
        body["choices"][0]["logprobs"]["content"][0]["logprob"] -= 1e-6
        self.answer.write_text(json.dumps(body))
        self.refuses(1, ("receipt", self.chat, "--request", self.request, "--answer", self.answer))
        for change in ({"seed": 5}, {"prompt": "the dog"}):
            self.request.write_text(json.dumps({"model": "gpt", "prompt": "the cat", "seed": 4, "max_tokens": 8, **change}))
            self.refuses(1, (*options, "--receipt", receipt))
        self.refuses(1, ("receipt", self.chat, "--request", self.request, "--receipt", receipt))


if __name__ == "__main__":
    unittest.main()
