"""Pictures as the body of a request."""

import pathlib
import sys
import unittest

import served
import tool

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from png import flat, png, write_halves  # noqa: E402

PNG = [("Content-Type", "image/png")]


class Pictures(served.ServeTest):
    def setUp(self):
        super().setUp()
        write_halves(self.folder / "halves")
        self.output("train", "--data", f"images:{self.folder / 'halves'},size=4x6", "--hidden", "8", "--epochs", "2",
                    "--out", self.folder / "pictures")
        self.server = self.serve(self.folder / "pictures", self.model, "--inspect")

    def ask(self, body, headers=PNG, path="/v2/models/pictures/infer"):
        return self.server.post(path, body, headers)

    def test_the_answer_is_that_of_the_tool(self):
        for file in (flat(9), png([b"\x05\x05\x05" * 15 + b"\xc0\xc8\xd0" * 15] * 20, 3), flat(200, 300, 400, 4)):
            (self.folder / "one.png").write_bytes(file)
            told, = self.document("run", self.folder / "pictures", "--picture", self.folder / "one.png")["answers"]
            answer = self.ask(file)
            self.assertEqual(answer.status, 200, answer.body)
            output, = answer.json()["outputs"]
            self.assertEqual((output["shape"], output["data"]), ([1, 2], told["logits"]))
            self.assertIn("limpid-receipt", {name.lower() for name in answer.headers})
        self.assertIn("ops", self.ask(flat(9), path="/v2/models/pictures/trace").json())

    def test_what_is_refused(self):
        good = flat(9)
        broken = (b"", b"no picture", good[:-20], good[:-9] + b"x" + good[-8:])
        for body, status in [(body, 400) for body in broken] + [(flat(0, 4097, 4097), 501)]:
            answer = self.ask(body)
            self.assertEqual(answer.status, status, answer.body)
            self.says(answer.json()["error"])
        self.assertEqual(self.ask(good, path="/v2/models/net/infer").status, 415)
        # A picture without its type is no JSON.
        self.assertEqual(self.ask(good, []).status, 400)
        # One that is named as another format is read as what it is.
        self.assertEqual(self.ask(good, [("Content-Type", "image/jpeg")]).status, 200)
        # JSON is still taken.
        self.assertEqual(self.ask(served.infer_json([[0.5] * 24], columns=24), []).status, 200)


if __name__ == "__main__":
    unittest.main()
