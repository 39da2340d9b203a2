"""The law: whatever other clients ask at the same time, an answer has the bits of `limpid run` for its rows alone."""

import json
import os
import random
import threading
import unittest

import served
import tool

CLIENTS, BATCH = 200, 16
ANSWERS = 30 if "LIMPID_SANITIZED" in os.environ else 200  # a client


class Law(served.ServeTest):
    def setUp(self):
        super().setUp()
        self.draw = random.Random(1)
        self.wide = self.folder / "wide.safetensors"
        sizes = [7, 33, 5]
        numbers = lambda count: [tool.f32(self.draw.gauss(0, 1)) for _ in range(count)]
        self.wide.write_bytes(tool.model_bytes(sizes, {
            "layers.0.weight": ([33, 7], numbers(33 * 7)), "layers.0.bias": ([33], numbers(33)),
            "layers.1.weight": ([5, 33], numbers(5 * 33)), "layers.1.bias": ([5], numbers(5))}))

    def examples(self, model, columns, count):
        """Rows, each with the tool's output for it alone, as bytes."""
        rows = [[tool.f32(self.draw.gauss(0, 2)) for _ in range(columns)] for _ in range(count)]
        return [(row, self.run_rows([row], model)) for row in rows]

    def test_of_hundreds_of_clients(self):
        models = {"net": (2, self.examples(self.model, 2, 12)), "wide": (7, self.examples(self.wide, 7, 12))}
        server = self.serve(self.model, self.wide, "--max-batch", BATCH, "--workers", "2", "--max-queue", "100000")
        wrong, counts = [], [0] * CLIENTS

        def client(number):
            draw = random.Random(number)
            try:
                with server.connect() as connection:
                    for _ in range(ANSWERS):
                        name = draw.choice(list(models))
                        columns, examples = models[name]
                        chosen = draw.choices(examples, k=draw.choice([1, 1, 1, 2, 3, 5, 40]))
                        rows = [row for row, _ in chosen]
                        path = f"/v2/models/{name}/infer"
                        if draw.random() < 0.5:
                            body, headers = served.infer_binary(rows, columns=columns)
                        else:
                            body, headers = json.dumps(served.infer_json(rows, columns=columns)).encode(), ()
                        answer = served.exchange(connection, "POST", path, body, headers)
                        expected = b"".join(output for _, output in chosen)
                        if answer.status != 200 or served.outputs_of(answer)["logits"] != expected:
                            wrong.append((number, answer))
                            return
                        counts[number] += -(-len(rows) // BATCH)  # batches that it would take alone
            except Exception as problem:  # a thread's is lost otherwise
                wrong.append((number, problem))

        threads = [threading.Thread(target=client, args=(n,)) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong[:3], [])
        batches = [line for line in server.get("/metrics").body.decode().splitlines()
                   if line.startswith("limpid_batch_rows_count")]
        together = sum(int(line.rsplit(" ", 1)[1]) for line in batches)
        self.assertLess(together, sum(counts), "no two requests were computed together")
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
