"""Measures `limpid serve` with serve_client, ONNX Runtime behind Node's HTTP server, and serve_floor; prints tables in Markdown.

usage: serve.py LIMPID SERVE_CLIENT [--seconds S] [--overload-seconds S] [--node-modules DIR] [--only NAME]...
                [--server-cpus LIST --client-cpus LIST]

serve_floor stands beside SERVE_CLIENT. With CPUs for each, as taskset takes them, servers and clients do not compete for time.
"""

import argparse
import array
import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import struct
import subprocess
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent


class Server:
    def __init__(self, command, **options):
        self.process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True, **options)
        self.port = self.process.stdout.readline().strip().rsplit(":", 1)[-1]
        assert self.port, command

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def cpu_microseconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")

    def requests(self):
        return count_of(self, "limpid_requests_total{")

    def resident_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


class Resident:
    """The smallest and largest memory of a server while this object lives, read every half second after the first five seconds."""

    def __init__(self, server):
        self.server, self.seen, self.ended = server, [], threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        pause = 5
        while not self.ended.wait(pause):
            self.seen.append(self.server.resident_mib())
            pause = 0.5

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        self.seen = self.seen or [self.server.resident_mib()]
        self.least, self.most = min(self.seen), max(self.seen)


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.on_server, self.on_client = (["taskset", "--cpu-list", cpus] if cpus else [] for cpus in (options.server_cpus, options.client_cpus))
        self.seconds = options.seconds

    def limpid(self, *arguments):
        subprocess.run([self.options.limpid, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)

    def serve(self, *arguments, on=()):
        return Server([*(on or self.on_server), self.options.limpid, "serve", *arguments, "--port", 0])

    def floor(self, on=()):
        """A server that waits 10 us for each request instead of computing: about the time that limpid serve takes for the first network."""
        return Server([*(on or self.on_server), pathlib.Path(self.options.client).with_name("serve_floor"), "--microseconds", 10])

    def ask(self, server, body, *more, path="/v2/models/net/infer", headers=(), on=(), seconds=None):
        command = [*(on or self.on_client), self.options.client, "--port", server.port, "--path", path, "--body", body, "--seconds", seconds or self.seconds, *more]
        for header in headers:
            command += ["--header", header]
        return json.loads(subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE).stdout)

    def prepare(self):
        """Writes 784-256-128-10, and one row for it as JSON and as bytes."""
        self.net = self.folder / "net"
        self.limpid("train", "--data", "digits", "--layers", "784,256,128,10", "--epochs", "1", "--out", self.net)
        self.limpid("convert", self.net, self.folder / "net.onnx")
        draw = random.Random(1)
        row = [round(draw.random(), 3) for _ in range(784)]
        tensor = {"name": "x", "datatype": "FP32", "shape": [1, 784]}
        self.json_body = self.folder / "row.json"
        self.json_body.write_text(json.dumps({"inputs": [{**tensor, "data": row}]}))
        head = json.dumps({"inputs": [{**tensor, "parameters": {"binary_data_size": 784 * 4}}],
                           "parameters": {"binary_data_output": True}}).encode()
        self.binary_body = self.folder / "row.bin"
        self.binary_body.write_bytes(head + struct.pack("<784f", *row))
        self.binary = [f"Inference-Header-Content-Length: {len(head)}"]

    # ---- a network

    def closed(self):
        rows = []
        with self.serve(self.net) as server:
            for name, body, headers in (("binary", self.binary_body, self.binary), ("JSON", self.json_body, [])):
                for connections in (1, 8, 64):
                    asked, spent = server.requests(), server.cpu_microseconds()
                    found = self.ask(server, body, "--connections", connections, headers=headers)
                    spent, asked = server.cpu_microseconds() - spent, server.requests() - asked
                    rows.append((name, connections, found["per_second"], *times(found["answered"]), f"{spent / asked:.1f} us"))
        table(["body", "connections", "requests/s", "median", "p99", "the server's CPU for a request"], rows)

    def node(self):
        modules = self.options.node_modules
        if not modules or not os.path.isdir(modules) or not shutil.which("node"):
            print("left out: no node_modules of onnxruntime-node\n")
            return
        rows = []
        servers = (("limpid serve", [self.options.limpid, "serve", self.net, "--port", 0], "/v2/models/net/infer"),
                   ("Node's http, ONNX Runtime", ["node", HERE / "onnxruntime/server.js", self.folder / "net.onnx", 1], "/"))
        for name, command, path in servers:
            with Server([*self.on_server, *command], env={**os.environ, "NODE_PATH": str(modules)}) as server:
                for connections in (1, 64):
                    found = self.ask(server, self.json_body, "--connections", connections, path=path)
                    rows.append((name, connections, found["per_second"], *times(found["answered"])))
        table(["server", "connections", "requests/s", "median", "p99"], rows)

    def open_loop(self):
        """Server and client on all CPUs; each on its own CPU, if the system allows it; a network whose time is mostly computation.

        Many runs of one second, so that the machine's own pauses are in few of them."""
        large = self.folder / "large"
        self.limpid("train", "--data", "digits", "--layers", "784,2048,2048,10", "--epochs", "1", "--out", large)
        alone = ["taskset", "--cpu-list"]
        rows = []
        for name, model, on_server, on_client in (("784-256-128-10", self.net, (), ()),
                                                  ("the same, a CPU each", self.net, [*alone, "0"], [*alone, "1"]),
                                                  ("784-2048-2048-10", large, (), ()),
                                                  ("the same, a CPU each", large, [*alone, "0"], [*alone, "1"]),
                                                  ("serve_floor", None, (), ()),
                                                  ("the same, a CPU each", None, [*alone, "0"], [*alone, "1"])):
            if on_server and self.on_server:
                continue
            with self.serve(f"net={model}", "--max-queue", 64, on=on_server) if model else self.floor(on_server) as server:
                options = {"headers": self.binary, "on": on_client}
                capacity = self.ask(server, self.binary_body, "--connections", 64, **options)["per_second"]
                for share in (0.3, 0.7):
                    runs = [self.ask(server, self.binary_body, "--connections", 512, "--rate", share * capacity, seconds=1, **options)
                            for _ in range(round(2 * self.seconds) + 1)]
                    late = sorted(run["answered"]["p99"] * 1e3 for run in runs)
                    rows.append((name, f"{100 * share:.0f} %", share * capacity, statistics.median(run["per_second"] for run in runs),
                                 f"{statistics.median(run['answered']['median'] for run in runs) * 1e6:.0f} us",
                                 f"{statistics.median(late):.1f} ms ({late[0]:.1f} to {late[-1]:.1f})",
                                 statistics.mean(run["refused"]["count"] for run in runs)))
        table(["network", "of the capacity", "offered/s", "answered/s", "median", "p99 (of the runs)", "refused/s"], rows)

    def overload(self):
        """Three times the capacity. A request without a free connection within a millisecond is not sent: the server never sees it."""
        seconds, within, rows = self.options.overload_seconds, 0.1, []
        for layers in ("784,256,128,10", "784,2048,2048,10", "784,4096,4096,10", None):
            model = self.folder / f"net-{layers}"
            if layers:
                self.limpid("train", "--data", "digits", "--layers", layers, "--steps", 1, "--out", model)
            with self.serve(f"net={model}", "--max-queue", 64) if layers else self.floor() as server:
                asked = {"headers": self.binary}
                capacity = self.ask(server, self.binary_body, "--connections", 64, **asked)["per_second"]
                spent = server.cpu_microseconds()
                with Resident(server) as resident:
                    found = self.ask(server, self.binary_body, "--connections", 2048, "--rate", 3 * capacity, "--patience", 0.001,
                                     "--within", within, seconds=seconds, **asked)
                spent = server.cpu_microseconds() - spent
                refused = found["refused"]
                sent = found["answered"]["count"] + refused["count"] + found["others"]
                rows.append((layers.replace(",", "-") if layers else "serve_floor", capacity, 3 * capacity, sent / seconds, found["in_time"] / seconds,
                             f"{100 * found['in_time'] / seconds / capacity:.0f} %", *times(found["answered"]),
                             refused["count"] / seconds, *times(refused), f"{spent / sent:.1f} us",
                             f"{resident.least:.1f} to {resident.most:.1f}"))
        table(["network", "capacity/s", "offered/s", "sent/s", f"answered/s in {1000 * within:.0f} ms", "of the capacity", "median", "p99",
               "refused/s", "a refusal from sending: median", "p99", "the server's CPU for a request sent", "memory, MiB"], rows)

    def idle(self):
        rows = []
        with self.serve(self.net) as server:
            for idle in (0, 5000):
                found = self.ask(server, self.binary_body, "--connections", 8, "--idle", idle, headers=self.binary)
                rows.append((idle, found["per_second"], *times(found["answered"]), f"{server.resident_mib():.1f}"))
        table(["idle connections", "requests/s of 8 others", "median", "p99", "memory, MiB"], rows)

    # ---- a language model

    def llama(self):
        """Writes the folder of a Llama of 110 million random parameters, in bf16."""
        folder = self.folder / "llama"
        folder.mkdir()
        for name in ("vocab.json", "merges.txt"):
            shutil.copy(HERE.parent / "tests/data/byte_pair" / name, folder)
        layers, width, inner, vocabulary = 12, 768, 2048, 32000
        (folder / "config.json").write_text(json.dumps({
            "model_type": "llama", "vocab_size": vocabulary, "max_position_embeddings": 512, "hidden_size": width,
            "intermediate_size": inner, "num_hidden_layers": layers, "num_attention_heads": 12, "num_key_value_heads": 12,
            "hidden_act": "silu", "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "tie_word_embeddings": True,
            "torch_dtype": "bfloat16"}))
        shapes = {"model.embed_tokens": [vocabulary, width], "model.norm": [width]}
        for i in range(layers):
            for name, shape in (("self_attn.q_proj", [width, width]), ("self_attn.k_proj", [width, width]),
                                ("self_attn.v_proj", [width, width]), ("self_attn.o_proj", [width, width]),
                                ("mlp.gate_proj", [inner, width]), ("mlp.up_proj", [inner, width]),
                                ("mlp.down_proj", [width, inner]), ("input_layernorm", [width]),
                                ("post_attention_layernorm", [width])):
                shapes[f"model.layers.{i}.{name}"] = shape
        draw = random.Random(1)
        numbers = array.array("f", [draw.gauss(0, 0.02) for _ in range(1 << 18)]).tobytes()
        block = b"".join(numbers[i + 2:i + 4] for i in range(0, len(numbers), 4))  # f32 truncated to bf16
        header, at = {}, 0
        for name, shape in shapes.items():
            size = 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
            header[name + ".weight"] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
            at += size
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(folder / "model.safetensors", "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for entry in header.values():
                size = entry["data_offsets"][1] - entry["data_offsets"][0]
                if len(entry["shape"]) == 1:
                    file.write(b"\x80\x3f" * (size // 2))  # ones
                    continue
                turn = draw.randrange(0, len(block), 2)
                turned = block[turn:] + block[:turn]
                file.write((turned * (size // len(turned) + 1))[:size])
        return folder

    def streams(self):
        folder, rows = self.llama(), []
        body = self.folder / "completion.json"
        body.write_text(json.dumps({"model": "llama", "prompt": "the quick brown",
                                    "max_tokens": 128, "seed": 1, "stream": True}))
        with self.serve(folder, *(() if self.on_server else ("--threads", os.cpu_count())), "--max-texts", 8) as server:
            for streams in (1, 2, 4, 8):
                begin, written = time.monotonic(), tokens_of(server)
                found = self.ask(server, body, "--tokens", 128, "--connections", streams, "--warm-up", 0, path="/v1/completions")
                per_second = (tokens_of(server) - written) / (time.monotonic() - begin)
                rows.append((streams, per_second, *milliseconds(found["first_token"]), *milliseconds(found["per_token"])))
        table(["streams", "tokens/s", "first token: mean, ms", "median", "p99", "a token: mean, ms", "median", "p99"], rows)


def count_of(server, name):
    text = urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics").read().decode()
    return sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name))


def tokens_of(server):
    return count_of(server, "limpid_tokens_total{")


def times(found):
    return f"{found['median'] * 1e6:.0f} us", f"{found['p99'] * 1e6:.0f} us"


def milliseconds(found):
    return tuple(f"{found[key] * 1e3:.1f}" for key in ("mean", "median", "p99"))


def table(columns, rows):
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(f"{cell:,.0f}" if isinstance(cell, float) and cell >= 100 else f"{cell:.3g}"
                                if isinstance(cell, float) else str(cell) for cell in row) + " |")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("limpid")
    parser.add_argument("client")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--overload-seconds", type=float, default=60)
    parser.add_argument("--node-modules")
    parser.add_argument("--only", action="append")
    parser.add_argument("--server-cpus")
    parser.add_argument("--client-cpus")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="limpid-bench-") as folder:
        bench = Bench(options, pathlib.Path(folder))
        bench.prepare()
        for name, title in (("closed", "784-256-128-10, a row a request"), ("node", "Beside ONNX Runtime in Node, JSON"),
                            ("open_loop", "Open-loop, binary, 512 connections, --max-queue 64"),
                            ("overload", "Three times the capacity, open-loop, binary, 2048 connections, --max-queue 64"),
                            ("idle", "Idle connections"), ("streams", "Llama of 110 million parameters in bf16, streams of 128 tokens")):
            if options.only and name not in options.only:
                continue
            print(f"### {title}\n")
            getattr(bench, name)()
            time.sleep(0.5)


if __name__ == "__main__":
    main()
