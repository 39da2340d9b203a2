"""Receipts: what a server's headers say, and what `limpid receipt` says of them."""

import re
import unittest

import served

ROWS = [[1.0, -2.0], [0.5, 3.0]]


class Receipt(served.ServeTest):
    def setUp(self):
        super().setUp()
        self.request, self.answer = self.folder / "request", self.folder / "answer"

    def ask(self, body, headers=()):
        answer = self.serve().post("/v2/models/net/infer", body, headers)
        self.assertEqual(answer.status, 200, answer)
        self.request.write_bytes(body)
        self.answer.write_bytes(answer.body)
        return answer

    def test_is_what_hash_prints(self):
        answer = self.ask(served.infer_binary(ROWS)[0], served.infer_binary(ROWS)[1])
        source = self.folder / "x.npy"
        source.write_bytes(served.npy_bytes(ROWS))
        hashes = self.document("hash", self.model, "--input", f"x={source}")
        self.assertEqual(answer.headers["limpid-receipt"],
                         "model={model}; input={data}; output={outputs}".format(**hashes))

    def test_yes(self):
        body, headers = served.infer_binary(ROWS)
        answer = self.ask(body, headers)
        receipt = answer.headers["limpid-receipt"]
        options = ("--request", self.request, "--request-json", headers[0][1])
        self.assertEqual(self.output("receipt", self.model, *options, "--receipt", receipt), f"yes: {receipt}\n")
        self.assertEqual("model={model}; input={input}; output={output}".format(
            **self.document("receipt", self.model, *options, "--receipt", receipt)), receipt)
        self.output("receipt", self.model, *options, "--answer", self.answer,
                    "--answer-json", answer.headers["inference-header-content-length"])

    def test_the_first_difference(self):
        answer = self.ask(b'{"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,-2]}]}')
        options = ("receipt", self.model, "--request", self.request)
        self.output(*options, "--answer", self.answer)
        receipt = answer.headers["limpid-receipt"]
        other = receipt[:-1] + ("0" if receipt[-1] != "0" else "1")
        self.refuses(1, (*options, "--answer", self.answer, "--receipt", other))
        number = str(answer.json()["outputs"][0]["data"][0]).encode()
        for changed in (answer.body.replace(number, b"0.25"), answer.body.replace(number, b'"NaN"'), b'{"outputs":[]}'):
            self.answer.write_bytes(changed)
            self.refuses(1, (*options, "--answer", self.answer))
        for wrong in (other, "model=" + "0" * 16 + receipt[22:], re.sub("input=.{16}", "input=" + "0" * 16, receipt), "model=1"):
            self.refuses(1, (*options, "--receipt", wrong))
        self.refuses(2, options)


if __name__ == "__main__":
    unittest.main()
