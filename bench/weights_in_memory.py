#!/usr/bin/env python3
"""Measures how many times a language model's weights are in memory during generation: writes a model of GPT-2's architecture (124
million parameters) with random weights, quantizes it, and watches the anonymous memory of `limpid generate`. A mapped file does not count.

    bench/weights_in_memory.py build/release/limpid [FOLDER] [--width 768] [--layers 12] [--vocabulary 50257]

Exits with 1 if the memory of a model exceeds 1.15 times its weights at any time. The folder stores its matrices transposed.
"""

import argparse
import array
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).parent.parent / "tests"
MOST = 1.15


def shapes_of(layers, width, vocabulary, positions):
    shapes = {"wte.weight": [vocabulary, width], "wpe.weight": [positions, width], "ln_f.weight": [width], "ln_f.bias": [width]}
    for i in range(layers):
        for name, shape in (("attn.c_attn", [width, 3 * width]), ("attn.c_proj", [width, width]), ("mlp.c_fc", [width, 4 * width]),
                            ("mlp.c_proj", [4 * width, width]), ("ln_1", [width]), ("ln_2", [width])):
            shapes[f"h.{i}.{name}.weight"] = shape
            shapes[f"h.{i}.{name}.bias"] = shape[-1:]
    return shapes


def write_gpt2(folder, layers, width, vocabulary, positions):
    """Writes a folder in the format of Hugging Face."""
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(TESTS / "data/byte_pair" / name, folder)
    (folder / "config.json").write_text(json.dumps(
        {"model_type": "gpt2", "vocab_size": vocabulary, "n_positions": positions, "n_embd": width, "n_layer": layers,
         "n_head": width // 64, "eos_token_id": 507}))
    draw = random.Random(1)
    numbers = array.array("f", (draw.gauss(0, 0.02) for _ in range(1 << 16))).tobytes()
    header, end = {}, 0
    for name, shape in shapes_of(layers, width, vocabulary, positions).items():
        size = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # aligned data can be used without a copy
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _ in range(end // len(numbers)):
            file.write(numbers)
        file.write(numbers[: end % len(numbers)])


def most_anonymous_bytes(command):
    """The largest anonymous memory of the command while it runs, in bytes."""
    most = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                break
            for line in status.splitlines():
                if line.startswith("RssAnon:"):
                    most = max(most, 1024 * int(line.split()[1]))
            time.sleep(0.005)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}")
    return most


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("limpid")
    arguments.add_argument("folder", nargs="?")
    arguments.add_argument("--width", type=int, default=768)
    arguments.add_argument("--layers", type=int, default=12)
    arguments.add_argument("--vocabulary", type=int, default=50257)
    options = arguments.parse_args()
    folder = pathlib.Path(options.folder or tempfile.mkdtemp())
    gpt2 = folder / "gpt2"
    gpt2.mkdir(parents=True, exist_ok=True)
    write_gpt2(gpt2, options.layers, options.width, options.vocabulary, 1024)
    models = {"f32": folder / "f32.safetensors", "bf16": folder / "bf16.safetensors", "int8": folder / "int8.safetensors"}
    subprocess.run([options.limpid, "convert", gpt2, models["f32"]], check=True, stdout=subprocess.DEVNULL)
    for to in ("bf16", "int8"):
        subprocess.run([options.limpid, "quantize", models["f32"], "--to", to, "--out", models[to]], check=True, stdout=subprocess.DEVNULL)
    models["folder"] = gpt2
    print(f"{'model':8} {'weights':>12} {'anonymous':>12} {'times':>6}")
    worst = 0
    for name, model in models.items():
        weights = (model / "model.safetensors" if model.is_dir() else model).stat().st_size
        most = most_anonymous_bytes([options.limpid, "generate", model, "--prompt", "abc", "--tokens", "8"])
        print(f"{name:8} {weights / 2**20:8.0f} MiB {most / 2**20:8.0f} MiB {most / weights:6.2f}")
        worst = max(worst, most / weights)
    if not options.folder:
        shutil.rmtree(folder)
    return worst > MOST


if __name__ == "__main__":
    sys.exit(main())
