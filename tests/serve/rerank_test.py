"""Documents ranked by a cross-encoder: the scores of `limpid embed --query`, whatever other clients ask."""

import json
import pathlib
import subprocess
import unittest

import served
import tool

FOLDERS = pathlib.Path(__file__).resolve().parent.parent / "huggingface"
QUERY = "the cat sits."
DOCUMENTS = ["a dog runs!", "The cat sits.", "a", "a dog runs!", "the dog " * 10]


class Rerank(served.ServeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = served.Server(FOLDERS / "bert-pairs", FOLDERS / "bert", f"classes={FOLDERS / 'roberta-classes'}")
        cls.addClassCleanup(lambda: cls.server.stop())
        command = [tool.TOOL, "embed", FOLDERS / "bert-pairs", "--json", "--query", QUERY]
        printed = subprocess.run([*command, *[word for text in DOCUMENTS for word in ("--text", text)]], check=True, capture_output=True)
        texts = json.loads(printed.stdout)["texts"]
        cls.scores = [one["classes"]["LABEL_0"] for one in texts]
        cls.tokens = sum(one["tokens"] for one in texts)

    def ask(self, path="/v1/rerank", **asked):
        return self.server.post(path, {"model": "bert-pairs", "query": QUERY, "documents": DOCUMENTS} | asked)

    def results(self, **asked):
        answer = self.ask(**asked)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()["results"]

    def test_are_in_the_order_of_the_scores(self):
        expected = sorted(range(len(DOCUMENTS)), key=lambda i: -self.scores[i])
        for path in ("/v1/rerank", "/rerank"):
            results = self.results(path=path)
            self.assertEqual([one["index"] for one in results], expected)
            self.assertEqual([one["relevance_score"] for one in results], [self.scores[i] for i in expected])
        self.assertEqual([one["index"] for one in self.results(top_n=2)], expected[:2])
        self.assertEqual(len(self.results(top_n=100)), len(DOCUMENTS))

    def test_have_the_form_of_others(self):
        answer = self.ask(documents=[{"text": text} for text in DOCUMENTS], return_documents=True, user="somebody").json()
        self.assertEqual(answer["model"], "bert-pairs")
        self.assertEqual(answer["usage"]["total_tokens"], self.tokens)
        for one in answer["results"]:
            self.assertEqual(one["document"], {"text": DOCUMENTS[one["index"]]})

    def test_a_document_has_the_same_score_alone(self):
        for i, text in enumerate(DOCUMENTS):
            self.assertEqual(self.results(documents=[text])[0]["relevance_score"], self.scores[i])

    def test_truncated(self):
        documents = ["the cat " * 100]
        self.refused_by_openai(self.ask(documents=documents), 400)
        self.assertEqual(len(self.results(documents=documents, truncate=True)), 1)

    def test_refused(self):
        for status, asked in (
            (400, {"query": ""}),
            (400, {"query": None}),
            (400, {"documents": []}),
            (400, {"documents": ["a", ""]}),
            (400, {"documents": [3]}),
            (400, {"documents": "a"}),
            (400, {"top_n": 0}),
            (400, {"speed": 3}),
            (404, {"model": "bert"}),
            (404, {"model": "classes"}),
            (404, {"model": "none"}),
        ):
            self.refused_by_openai(self.ask(**asked), status)
        self.refused_by_openai(self.server.get("/v1/rerank"), 405)

    def test_have_a_receipt(self):
        asked = {"model": "bert-pairs", "query": QUERY, "documents": DOCUMENTS}
        answer = self.ask()
        request, body = self.folder / "request", self.folder / "answer"
        request.write_text(json.dumps(asked))
        body.write_bytes(answer.body)
        receipt = answer.headers["limpid-receipt"]
        options = ("receipt", FOLDERS / "bert-pairs", "--request", request)
        self.assertEqual(self.output(*options, "--receipt", receipt, "--answer", body), f"yes: {receipt}\n")
        other = answer.json()
        other["results"][0]["relevance_score"] += 1e-6
        body.write_text(json.dumps(other))
        self.refuses(1, (*options, "--answer", body))

    def test_the_model_is_listed(self):
        self.assertEqual([model["id"] for model in self.server.get("/v1/models").json()["data"]], ["bert", "bert-pairs"])


if __name__ == "__main__":
    unittest.main()
