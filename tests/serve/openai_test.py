"""OpenAI's own client for JavaScript, run against a server: fetched by npm into the build folder.

usage: openai_test.py LIMPID BUILD_FOLDER
"""

import json
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import npm  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop())
import completions_test  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


class Client(completions_test.CompletionsTest):
    def test_reads_what_the_server_says(self):
        token = self.folder / "token"
        token.write_text("correct-horse\n")
        chat = completions_test.chat_folder(self.folder / "chat")
        server = self.serve(self.models["gpt"], self.models["charlm"], chat, "--token-file", token)
        client = BUILD / "openai/client.mjs"
        shutil.copy(HERE / "openai/client.mjs", client)
        run = subprocess.run(["node", client, f"http://127.0.0.1:{server.port}", "gpt", "the cat", "24", "9"],
                             capture_output=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr.decode())
        found = json.loads(run.stdout)
        expected = self.generated("gpt", "the cat", 24, 9)
        self.assertEqual((found["models"], found["model"]), (["charlm", "chat", "gpt"], "gpt"))
        self.assertEqual(found["whole"]["choices"][0]["text"], expected)
        self.assertEqual(len(found["whole"]["choices"][0]["logprobs"]["token_logprobs"]), 24)
        self.assertEqual((found["streamed"], found["reasons"]), (expected, ["length"]))
        self.assertEqual(found["usage"], {"prompt_tokens": 7, "completion_tokens": 24, "total_tokens": 31})
        self.assertEqual(found["first"], "text_completion")
        self.assertEqual(found["unknown"], ["NotFoundError", 404, "404 there is no model 'none'"])
        self.assertEqual(found["wrong"][:2], ["BadRequestError", 400])
        self.assertEqual(found["chat"][:2], ["BadRequestError", 400])
        self.assertIn("no chat template", found["chat"][2])
        self.assertEqual(found["chatWhole"]["choices"][0]["message"]["role"], "assistant")
        self.assertEqual(len(found["chatWhole"]["choices"][0]["logprobs"]["content"][0]["top_logprobs"]), 2)
        self.assertEqual(found["chatStreamed"], found["chatWhole"]["choices"][0]["message"]["content"])
        self.assertEqual(found["chatReasons"], [found["chatWhole"]["choices"][0]["finish_reason"]])
        self.assertEqual(found["stranger"][:2], ["AuthenticationError", 401])


if __name__ == "__main__":
    if not shutil.which("node"):
        npm.skip("no Node.js")
    npm.fetch(HERE / "openai", BUILD / "openai")
    unittest.main(argv=sys.argv[:1], defaultTest="Client")
