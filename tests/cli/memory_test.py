"""Memory of `limpid generate`: weights are in anonymous memory once, packed. A file that is mapped does not count.
bench/weights_in_memory.py measures a larger model."""

import array
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import unittest

import tool

TOKENIZER = pathlib.Path(__file__).parent.parent / "data/byte_pair"


def gpt2_shapes(vocabulary, positions, width, layers):
    shapes = {"wte.weight": [vocabulary, width], "wpe.weight": [positions, width]}
    for i in range(layers):
        for name, shape in (("attn.c_attn", [width, 3 * width]), ("attn.c_proj", [width, width]),
                            ("mlp.c_fc", [width, 4 * width]), ("mlp.c_proj", [4 * width, width]),
                            ("ln_1", [width]), ("ln_2", [width])):
            shapes[f"h.{i}.{name}.weight"] = shape
            shapes[f"h.{i}.{name}.bias"] = shape[-1:]
    shapes["ln_f.weight"] = shapes["ln_f.bias"] = [width]
    return shapes


def write_gpt2(folder, vocabulary, positions, width, layers):
    """A GPT-2 in f32, of numbers at random, which repeat. Gives the bytes of its weights."""
    folder.mkdir()
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(TOKENIZER / name, folder)
    config = {"model_type": "gpt2", "vocab_size": vocabulary, "n_positions": positions, "n_embd": width, "n_layer": layers,
              "n_head": width // 64}
    (folder / "config.json").write_text(json.dumps(config))
    header, at = {}, 0
    for name, shape in gpt2_shapes(vocabulary, positions, width, layers).items():
        size = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    draw = random.Random(1)
    numbers = array.array("f", [draw.gauss(0, 0.02) for _ in range(1 << 16)]).tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the data is aligned, and need not be copied to be used
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for begin in range(0, at, len(numbers)):
            file.write(numbers[:at - begin])
    return at


@tool.not_sanitized
class Memory(tool.ToolTest):
    def anonymous_bytes(self, model):
        """Of a process that generates: read after its first token, with many to come."""
        process = subprocess.Popen([tool.TOOL, "generate", model, "--prompt", "the", "--tokens", "100000"],
                                   stdout=subprocess.PIPE)
        try:
            self.assertEqual(len(process.stdout.read(4)), 4)  # the prompt, and more
            os.kill(process.pid, signal.SIGSTOP)
            lines = pathlib.Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:]}
        return 1024 * (sizes["Anonymous"] + sizes["Swap"])

    def weights(self, folder, *shape):
        """Models of the same shape: f32, bf16 and i8."""
        model = folder / "gpt2"
        write_gpt2(model, *shape)
        yield "f32", model, model / "model.safetensors"
        for to in ("bf16", "int8"):
            narrow = folder / f"{to}.safetensors"
            self.output("quantize", model, "--to", to, "--out", narrow)
            yield to, narrow, narrow

    def test_weights_are_there_once(self):
        # Other memory of the process: tokenizer, plans, caches, and a thread's stack.
        besides = 8 << 20
        for name, model, file in self.weights(self.folder, 16_000, 64, 384, 8):  # 20.4 million parameters
            with self.subTest(weights=name):
                used, weights = self.anonymous_bytes(model), file.stat().st_size
                self.assertGreater(used, 0.9 * weights)  # it was measured
                self.assertLess(used, 1.15 * weights + besides)

    def test_a_folder_is_never_there_twice(self):
        """Its matrices are stored transposed: they are packed one after the other from where the file is mapped."""
        folder = self.folder / "gpt2"
        weights = write_gpt2(folder, 16_000, 64, 384, 8)
        room = int(1.15 * weights) + (16 << 20)  # of address space for anonymous memory

        def limit():
            resource.setrlimit(resource.RLIMIT_DATA, (room, room))

        command = [tool.TOOL, "generate", folder, "--prompt", "the", "--tokens", "4", "--threads", "1"]
        ended = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True)
        self.assertEqual(ended.returncode, 0, ended.stderr)


if __name__ == "__main__":
    unittest.main()
