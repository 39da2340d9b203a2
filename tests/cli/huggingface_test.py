"""GPT-2s and Llamas in Hugging Face's folders: run, traced, and made into other formats."""

import itertools
import json
import pathlib
import random
import shutil
import unittest

import tool

TESTS = pathlib.Path(__file__).parent.parent
LLAMA = TESTS / "huggingface/llama"
TOKENS = ",".join(str(7 * i % 37) for i in range(32))


def gpt2_tensors(vocabulary, positions, width):
    """A GPT-2 of one block, of numbers at random."""
    draw = random.Random(5)
    shapes = {"wte": [vocabulary, width], "wpe": [positions, width]}
    for name, shape in (("attn.c_attn", [width, 3 * width]), ("attn.c_proj", [width, width]), ("mlp.c_fc", [width, 4 * width]),
                        ("mlp.c_proj", [4 * width, width]), ("ln_1", [width]), ("ln_2", [width])):
        shapes["h.0." + name] = shape
    shapes["ln_f"] = [width]
    tensors = {}
    for name, shape in shapes.items():
        size = shape[0] * (shape[1] if len(shape) > 1 else 1)
        tensors[f"transformer.{name}.weight"] = (shape, [draw.gauss(0, 0.5) for _ in range(size)])
        if name[0] != "w":
            tensors[f"transformer.{name}.bias"] = (shape[-1:], [draw.gauss(0, 0.5) for _ in range(shape[-1])])
    return tensors


def write_gpt2(folder, positions=24, vocabulary=508):
    """A model with a tokenizer."""
    folder.mkdir()
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(TESTS / "data/byte_pair" / name, folder)
    config = {"model_type": "gpt2", "vocab_size": vocabulary, "n_positions": positions, "n_embd": 4, "n_layer": 1, "n_head": 2,
              "eos_token_id": 507}
    (folder / "config.json").write_text(json.dumps(config))
    tensors = gpt2_tensors(vocabulary, positions, 4)
    (folder / "model.safetensors").write_bytes(tool.file_of(tool.header_of(tensors), tool.data_of(tensors)))
    return folder


class HuggingFace(tool.ToolTest):
    def gpt2(self):
        return write_gpt2(self.folder / "gpt2")

    def test_the_tokens_of_a_text_are_shown(self):
        folder = self.gpt2()
        shown = self.document("tokenize", folder, "--text", "the fox, the fox")
        self.assertEqual((shown["kind"], shown["size"]), ("byte_pair", 508))
        text = "the fox, the fox"
        self.assertEqual("".join(token["text"] for token in shown["tokens"]), text)
        for token in shown["tokens"]:
            self.assertEqual(text[token["begin"] : token["end"]], token["text"])
        self.assertIn("0..", self.output("tokenize", folder, "--text", text))
        (self.folder / "t").write_text(text)
        self.assertEqual(self.document("tokenize", folder, "--file", self.folder / "t"), shown)
        end = folder / "tokenizer.json"
        vocabulary = json.loads((folder / "vocab.json").read_text())
        merges = (folder / "merges.txt").read_text().splitlines()[1:]
        end.write_text(json.dumps({"added_tokens": [{"id": 507, "content": "<|end|>", "special": True}], "normalizer": {"type": "Lowercase"},
                                   "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
                                   "model": {"type": "BPE", "vocab": vocabulary, "merges": merges}}))
        shown = self.document("tokenize", folder, "--text", "THE fox<|end|>")
        self.assertEqual((shown["kind"], shown["tokens"][-1]["token"]), ("tokenizer_json", 507))
        self.assertNotIn(507, [token["token"] for token in self.document("tokenize", folder, "--text", "THE fox<|end|>", "--plain")["tokens"]])
        self.refuses(2, "tokenize gpt2; tokenize gpt2 --text a --file t; tokenize")
        self.refuses(1, "tokenize none --text a")

    def test_a_prompt_has_likely_next_tokens(self):
        folder = self.gpt2()
        shown = self.document("run", folder, "--prompt", "the fox")["next"]
        self.assertEqual(len(shown), 10)
        self.assertEqual(shown, sorted(shown, key=lambda t: -t["logit"]))
        text = self.output("run", folder, "--prompt", "the fox")
        self.assertIn(f"{shown[0]['token']}  {shown[0]['text']}", text)
        # Text after the prompt's tokens is not compared.
        self.assertNotEqual(shown, self.document("run", folder, "--prompt", "the dog")["next"])
        self.refuses(2, f"run gpt2 --prompt {'?' * 26}; run gpt2 --prompt ''; run gpt2 --prompt a --values 1")
        self.refuses(1, f"run {LLAMA} --prompt a")

    def test_outputs_without_a_token_are_not_likely(self):
        """A vocabulary may be larger than that of the tokenizer."""
        shown = self.document("run", write_gpt2(self.folder / "padded", vocabulary=1200), "--prompt", "the fox")["next"]
        self.assertEqual(len(shown), 10)
        self.assertLess(max(token["token"] for token in shown), 508)

    def test_it_goes_on_until_a_text_ends(self):
        folder = self.gpt2()
        likeliest = ("generate", folder, "--prompt", "the fox", "--temperature", "0")
        # Such a model may generate anything, including control characters.
        drawn = self.run_tool(*likeliest, "--tokens", "4")
        self.assertEqual((drawn.returncode, drawn.stdout[:7]), (0, b"the fox"))
        self.assertGreater(len(drawn.stdout), len("the fox\n"))
        beyond_the_context = self.run_tool("generate", folder, "--tokens", "40", "--sequences", "2")
        self.assertEqual(beyond_the_context.returncode, 0)
        first = self.document("run", folder, "--prompt", "the fox")["next"][0]["token"]
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"eos_token_id": [first, 3]}))
        self.assertEqual(self.output(*likeliest, "--tokens", "4"), "the fox\n")

    def test_a_neuron_of_every_projection_is_found_by_name(self):
        for layer in ("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj", "self_attn.q_proj", "self_attn.o_proj"):
            neuron = self.document("trace", LLAMA, "--values", TOKENS, "--neuron", f"layers.1.{layer}:3")["neuron"]
            self.assertEqual((neuron["layer"], neuron["row"]), (f"layers.1.{layer}", 31))
            total = sum(t["weight"] * t["input"] for t in neuron["terms"])
            self.assertAlmostEqual(neuron["z"], total, places=5)
        folder = self.gpt2()
        text = self.output("trace", folder, "--prompt", "the fox", "--neuron", "layers.0.mlp.up_proj:15")
        self.assertRegex(text, r"layers.0.mlp.up_proj:15, row \d+ of \d+\nz = .* gelu")

    def test_it_becomes_a_file_and_comes_back(self):
        numbers = self.document("run", LLAMA, "--values", TOKENS)
        model = self.folder / "llama.safetensors"
        self.assertRegex(self.output("convert", LLAMA, model), r"tensors, input i32\[32\]")
        self.assertEqual(self.document("run", model, "--values", TOKENS), numbers)
        self.output("convert", model, f"{self.folder}/llama/")
        self.assertEqual(self.document("run", self.folder / "llama", "--values", TOKENS), numbers)
        self.assertIn("embed_tokens", self.output("summary", LLAMA))

    def test_a_tokenizer_stays_with_its_model(self):
        folder, model = self.gpt2(), self.folder / "m.safetensors"
        self.output("convert", folder, model)
        prompt = ("--prompt", "it's 2024")
        self.assertEqual(self.document("run", model, *prompt), self.document("run", folder, *prompt))
        back = self.folder / "back"
        self.output("convert", model, f"{back}/")
        self.assertEqual(self.document("run", back, *prompt), self.document("run", folder, *prompt))

    def test_what_a_folder_has_no_place_for_is_said(self):
        model, folder = self.folder / "m.safetensors", self.gpt2()
        folders = (f"{self.folder}/to{i}/" for i in itertools.count())
        for source, config in ((LLAMA, {}), (folder, {}), (folder, {"chat": {}}),
                               (folder, {"data": {"task": "classification", "class_names": ["Hund", "猫"]}}),
                               (folder, {"data": {"task": "regression", "target_names": ["y"]}}),
                               (folder, {"data": {"task": "next_token", "tokenizer": {"kind": "bytes"}}})):
            to = next(folders)
            self.output("convert", source, model)
            header, data = tool.parts_of(model.read_bytes())
            header["__metadata__"]["limpid.config"] = json.dumps(json.loads(header["__metadata__"]["limpid.config"]) | config)
            model.write_bytes(tool.file_of(header, data))
            run = self.run_tool("convert", model, to)
            self.assertEqual((run.returncode, len(run.stderr.splitlines())), (0, 1 if config else 0))
            self.says(run.stderr.decode())
            if config:
                self.says(json.dumps(self.document("convert", model, to)["lost"]))
        # Nor beside the tokenizer of another model.
        self.refuses(1, ("convert", model, f"{folder}/"))

    def test_a_tokenizer_that_is_not_supported_is_missed_by_prompts_alone(self):
        folder = self.gpt2()
        for name in ("vocab.json", "merges.txt"):
            (folder / name).unlink()
        (folder / "tokenizer.json").write_text(json.dumps({"model": {"type": "Other", "vocab": []}}))
        self.output("summary", folder)
        self.refuses(1, "run gpt2 --prompt a")

    def test_what_is_broken_is_named(self):
        folder = self.gpt2()
        config = json.loads((folder / "config.json").read_text())
        for change in ({"n_layer": 2}, {"model_type": "mamba"}):
            (folder / "config.json").write_text(json.dumps(config | change))
            self.refuses(1, "summary gpt2")
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "merges.txt").write_text("x")
        self.refuses(1, "summary gpt2")


if __name__ == "__main__":
    unittest.main()
