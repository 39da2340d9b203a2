"""OpenAI's embeddings: the same bits as `limpid embed`, whatever other clients ask."""

import base64
import json
import pathlib
import random
import struct
import subprocess
import threading
import unittest

import served
import tool

FOLDERS = pathlib.Path(__file__).resolve().parent.parent / "huggingface"
PATH = "/v1/embeddings"
TEXTS = ["The cats sits.", "a", "a b c dog runs, the cat sits!", "the dog " * 12]


def single(vectors):
    """The bits of numbers in JSON, which are those of f32 that are nearest to them."""
    return [struct.pack(f"<{len(vector)}f", *vector) for vector in vectors]


class Embeddings(served.ServeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = served.Server(FOLDERS / "bert", f"classes={FOLDERS / 'roberta-classes'}")
        cls.addClassCleanup(lambda: cls.server.stop())
        printed = subprocess.run([tool.TOOL, "embed", FOLDERS / "bert", "--json", *[word for text in TEXTS for word in ("--text", text)]], check=True, capture_output=True)
        cls.expected = single(text["embedding"] for text in json.loads(printed.stdout)["texts"])
        cls.tokens = [text["tokens"] for text in json.loads(printed.stdout)["texts"]]

    def ask(self, **asked):
        answer = self.server.post(PATH, {"model": "bert", **asked})
        self.assertEqual(answer.status, 200, answer)
        return answer

    def vectors(self, **asked):
        data = self.ask(**asked).json()["data"]
        self.assertEqual([one["index"] for one in data], list(range(len(data))))
        return single(one["embedding"] for one in data)

    def test_are_those_of_embed(self):
        self.assertEqual(self.vectors(input=TEXTS), self.expected)
        for text, expected in zip(TEXTS, self.expected):
            self.assertEqual(self.vectors(input=text), [expected])

    def test_have_openais_form(self):
        answer = self.ask(input=TEXTS[:2], user="somebody").json()
        self.assertEqual((answer["object"], answer["model"], answer["data"][1]["object"]), ("list", "bert", "embedding"))
        self.assertEqual(answer["usage"], {"prompt_tokens": sum(self.tokens[:2]), "total_tokens": sum(self.tokens[:2])})

    def test_in_base64(self):
        data = self.ask(input=TEXTS, encoding_format="base64").json()["data"]
        self.assertEqual([base64.b64decode(one["embedding"]) for one in data], self.expected)

    def test_of_tokens(self):
        tokens = [2, 5, 6, 10, 8, 18, 3]  # those of the first text
        self.assertEqual(self.vectors(input=tokens), self.expected[:1])
        self.assertEqual(self.vectors(input=[tokens, TEXTS[1]]), self.expected[:2])

    def test_shortened(self):
        short = struct.unpack("<4f", self.vectors(input=TEXTS[0], dimensions=4)[0])
        whole = struct.unpack("<16f", self.expected[0])[:4]
        length = sum(x * x for x in whole) ** 0.5
        for a, b in zip(short, whole):
            self.assertAlmostEqual(a, b / length, places=6)

    def test_truncated(self):
        text = "the cat " * 100
        self.refused_by_openai(self.server.post(PATH, {"model": "bert", "input": text}), 400)
        self.assertEqual(self.vectors(input=text, truncate=True), self.vectors(input=[2, *[5, 6] * 19, 3]))

    def test_of_many_clients_at_once(self):
        wrong = []

        def ask(seed):
            draw = random.Random(seed)
            for _ in range(20):
                chosen = [draw.randrange(len(TEXTS)) for _ in range(draw.randint(1, 6))]
                answer = self.server.post(PATH, {"model": "bert", "input": [TEXTS[i] for i in chosen]}).json()
                if single(one["embedding"] for one in answer["data"]) != [self.expected[i] for i in chosen]:
                    wrong.append(chosen)

        clients = [threading.Thread(target=ask, args=(seed,)) for seed in range(16)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        self.assertEqual(wrong, [])

    def test_have_a_receipt(self):
        asked = {"model": "bert", "input": TEXTS}
        answer = self.ask(**asked)
        request, body = self.folder / "request", self.folder / "answer"
        request.write_text(json.dumps(asked))
        body.write_bytes(answer.body)
        receipt = answer.headers["limpid-receipt"]
        options = ("receipt", FOLDERS / "bert", "--request", request)
        self.assertEqual(self.output(*options, "--receipt", receipt, "--answer", body), f"yes: {receipt}\n")
        other = answer.json()
        other["data"][1]["embedding"][0] += 1e-6
        body.write_text(json.dumps(other))
        self.refuses(1, (*options, "--answer", body))

    def test_of_a_model_that_gives_none(self):
        self.refused_by_openai(self.server.post(PATH, {"model": "classes", "input": "a"}), 404)
        self.refused_by_openai(self.server.post(PATH, {"model": "nobody", "input": "a"}), 404)
        self.refused_by_openai(self.server.post("/v1/completions", {"model": "bert", "prompt": "a"}), 404)

    def test_the_model_is_listed(self):
        self.assertEqual([model["id"] for model in self.server.get("/v1/models").json()["data"]], ["bert"])
        self.assertEqual(self.server.get("/v1/models/bert").json()["id"], "bert")
        self.refused_by_openai(self.server.get("/v1/models/classes"), 404)

    def test_requests_that_are_refused(self):
        for asked in ({}, {"input": []}, {"input": ""}, {"input": ["a", ""]}, {"input": 3}, {"input": [[]]}, {"input": [29]}, {"input": [-1]},
                      {"input": [2] * 41}, {"input": [["a"]]}, {"input": "a", "dimensions": 17}, {"input": "a", "dimensions": 0},
                      {"input": "a", "encoding_format": "hex"}, {"input": "a", "truncate": 1}, {"input": "a", "colour": 1}):  # fmt: skip
            with self.subTest(asked=asked):
                self.refused_by_openai(self.server.post(PATH, {"model": "bert", **asked}), 400)
        self.refused_by_openai(self.server.post(PATH, {"model": "bert", "input": ["a"] * 2049}), 413)
        self.refused_by_openai(self.server.get(PATH), 405)

    def test_a_full_queue(self):
        """Texts of two lengths are two jobs: if one has no room, none is answered, and nothing is left behind."""
        server = self.serve(FOLDERS / "bert", "--max-queue", "1", "--max-delay", "200000")
        for _ in range(3):
            answer = server.post(PATH, {"model": "bert", "input": ["a", "the cat " * 15]})
            self.refused_by_openai(answer, 503)
            self.assertEqual(answer.headers["retry-after"], "1")
            vectors = server.post(PATH, {"model": "bert", "input": TEXTS[0]}).json()["data"]
            self.assertEqual(single([vectors[0]["embedding"]]), self.expected[:1])

    def test_the_classes_of_a_text_are_tensors(self):
        tokens = [0, 7, 9, 2] + [0] * 36
        body = {"inputs": [{"name": "tokens", "shape": [1, 40], "datatype": "INT32", "data": tokens},
                           {"name": "count", "shape": [1], "datatype": "INT32", "data": [4]}]}  # fmt: skip
        answer = self.server.post("/v2/models/classes/infer", body)
        self.assertEqual((answer.status, len(answer.json()["outputs"][0]["data"])), (200, 3), answer)


if __name__ == "__main__":
    unittest.main()
