"""A server under everything at once: rows, completions and streams whose answers are known, clients that leave, slow ones (as
slowhttptest's: headers, bodies and readers that drip), thousands that ask nothing, bytes that are no requests, and models that are
replaced. Every answer must be the right one, nobody may be kept waiting by the slow, and over a minute or more memory must stay within 5 %.

usage: soak.py LIMPID [SECONDS]
"""

import json
import os
import random
import resource
import sys
import threading
import time
import unittest

SECONDS = float(sys.argv.pop()) if len(sys.argv) > 2 else 600
import completions_test  # noqa: E402
import served  # noqa: E402
import tool  # noqa: E402

IDLE = 5000 if SECONDS >= 60 else 200
ROW = [[1.0, -2.0]]
PATH = completions_test.PATH


class Soak(completions_test.CompletionsTest):
    def setUp(self):
        super().setUp()
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self.wrong, self.counts = [], {}

    def often(self, kind):
        """A thread's work, repeated; results are counted, exceptions are failures."""
        def work(number):
            draw = random.Random(f"{kind.__name__} {number}")
            try:
                while time.monotonic() < self.end and not self.wrong:
                    kind(draw)
                    self.counts[kind.__name__] = self.counts.get(kind.__name__, 0) + 1
            except Exception as problem:
                self.wrong.append((kind.__name__, repr(problem)))
        return work

    # ---- clients that expect answers

    def rows(self, draw):
        chosen = draw.choices(self.examples, k=draw.choice([1, 1, 3, 40]))
        rows = [row for row, _ in chosen]
        body, headers = served.infer_binary(rows) if draw.random() < 0.5 else (served.infer_json(rows), ())
        answer = self.server.post("/v2/models/net/infer", body, headers)
        assert answer.status == 200, answer
        assert served.outputs_of(answer)["logits"] == b"".join(output for _, output in chosen)

    def many_rows(self, draw):
        """A body that is large enough to be read on a thread of its own."""
        chosen = draw.choices(self.examples, k=9000)
        body, headers = served.infer_binary([row for row, _ in chosen])
        answer = self.server.post("/v2/models/net/infer", body, headers)
        assert answer.status == 200, answer
        assert served.outputs_of(answer)["logits"] == b"".join(output for _, output in chosen)
        time.sleep(0.1)

    def replaced(self, draw):
        answer = self.server.post("/v2/models/changing/infer", served.infer_json(ROW))
        assert answer.status == 200, answer
        assert answer.json()["outputs"][0]["data"][0] in (1.0, 2.0), answer

    def completion(self, draw):
        model, asked, expected = draw.choice(self.texts)
        answer = self.server.post(PATH, {"model": model, **asked})
        assert answer.status == 200 and answer.json()["choices"][0]["text"] == expected, (asked, expected, answer)

    def stream(self, draw):
        model, asked, expected = draw.choice(self.texts)
        answer = self.server.post(PATH, {"model": model, **asked, "stream": True})
        assert answer.status == 200, answer
        assert "".join(c["choices"][0]["text"] for c in completions_test.chunks_of(answer)) == expected

    def metrics(self, draw):
        assert self.server.get("/metrics").status == 200
        time.sleep(0.1)

    # ---- clients that disturb

    def leaver(self, draw):
        model, asked, _ = draw.choice(self.texts)
        body = json.dumps({"model": model, **asked, "stream": draw.random() < 0.5}).encode()
        with self.server.connect() as connection:
            connection.sendall(served.request_bytes("POST", PATH, body))
            time.sleep(draw.random() * 0.02)

    def drip(self, draw, request):
        """Sends a byte now and then until the server has enough of it."""
        with self.server.connect() as connection:
            try:
                for byte in request:
                    connection.sendall(bytes([byte]))
                    time.sleep(0.05)
                    if time.monotonic() > self.end:
                        return
            except (BrokenPipeError, ConnectionResetError):
                return

    def slow_header(self, draw):
        self.drip(draw, b"GET /health HTTP/1.1\r\n" + b"X-A: b\r\n" * 1000)

    def slow_body(self, draw):
        request = served.request_bytes("POST", "/v2/models/net/infer", b" " * 100_000)
        self.drip(draw, request)

    def slow_reader(self, draw):
        with self.server.connect() as connection:
            body, headers = served.infer_binary(ROW * 20_000)
            connection.sendall(served.request_bytes("POST", "/v2/models/net/infer", body, headers))
            answered = False
            try:
                while time.monotonic() < self.end and connection.recv(16):
                    answered = True
                    time.sleep(0.05)
            except ConnectionResetError:
                pass
            except TimeoutError:  # the server closed it, and the system forgot the rest of the answer
                assert answered

    def noise(self, draw):
        with self.server.connect() as connection:
            try:
                connection.sendall(draw.choice([
                    draw.randbytes(200), b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"POST /v1/completions HTTP/1.1\r\n\r\n",
                    served.request_bytes("POST", PATH, b"[" * draw.randrange(5000)),
                    served.request_bytes("POST", "/v2/models/net/infer", draw.randbytes(300))]))
                connection.shutdown(1)
                connection.recv(1000)
            except OSError:
                pass

    def replacer(self, draw):
        new = self.models_folder / ".new"
        if draw.random() < 0.2:
            new.write_bytes(draw.randbytes(100))
        else:
            new.write_bytes(tool.model_bytes([2, 1], {"layers.0.weight": ([1, 2], [draw.choice([1.0, 2.0]), 0.0]),
                                                      "layers.0.bias": ([1], [0.0])}))
        os.replace(new, self.models_folder / "changing.safetensors")
        time.sleep(1)

    def test_everything_at_once(self):
        draw = random.Random(1)
        self.models_folder = self.folder / "models"
        self.models_folder.mkdir()
        (self.models_folder / "changing.safetensors").write_bytes(
            tool.model_bytes([2, 1], {"layers.0.weight": ([1, 2], [1.0, 0.0]), "layers.0.bias": ([1], [0.0])}))
        rows = [[tool.f32(draw.gauss(0, 2)) for _ in range(2)] for _ in range(10)]
        self.examples = [(row, self.run_rows([row])) for row in rows]
        self.texts = []
        for model in self.models:
            for seed in range(4):
                asked = {"prompt": "the cat", "max_tokens": 5 + 7 * seed, "seed": seed}
                self.texts.append((model, asked, self.generated(model, asked["prompt"], asked["max_tokens"], seed)))
        self.server = self.serve(self.model, *self.models.values(), "--models", self.models_folder, "--header-time", "2",
                                 "--slack", "2", "--max-texts", "4", "--max-queue", "100000", "--idle-time", "100000")
        idle = [self.server.connect() for _ in range(IDLE)]
        begin = time.monotonic()
        self.end = begin + SECONDS
        kinds = [self.rows] * 4 + [self.completion, self.stream] * 3 + [self.many_rows, self.replaced, self.metrics, self.leaver, self.replacer]
        kinds += [self.slow_header, self.slow_body, self.slow_reader] * 10 + [self.noise]
        threads = [threading.Thread(target=self.often(kind), args=(number,)) for number, kind in enumerate(kinds)]
        for thread in threads:
            thread.start()
        measured, minutes = [], 0
        while any(thread.is_alive() for thread in threads):
            now, resident = time.monotonic() - begin, self.server.resident_kib()
            if now >= 60 * minutes:
                print(f"minute {minutes}: {resident} KiB, {sum(self.counts.values())} requests", flush=True)
                minutes += 1
            if now > 0.2 * SECONDS:  # before, it warms up
                measured.append(resident)
            time.sleep(0.5)
        self.assertEqual(self.wrong[:3], [])
        for kind in {kind.__name__ for kind in kinds} - {"slow_header", "slow_body", "slow_reader"}:
            self.assertTrue(self.counts.get(kind), f"{kind} was never through")
        for connection in idle:
            self.assertEqual(served.exchange(connection, "GET", "/health").status, 200)
            connection.close()
        self.assertEqual(self.server.stop(), 0)
        print(self.counts, f"memory {measured[0]} to {measured[-1]} KiB, at most {max(measured)}")
        if SECONDS >= 60:
            self.assertLessEqual(measured[-1], 1.05 * measured[0])


if __name__ == "__main__":
    unittest.main(defaultTest="Soak")
