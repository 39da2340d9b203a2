"""limpid view over HTTP: its numbers are the tool's, and unauthorised requests are refused."""

import base64
import contextlib
import gzip
import http.client
import json
import math
import os
import pathlib
import re
import resource
import select
import shlex
import struct
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "serve"))
import served  # noqa: E402
from served import tool  # noqa: E402


class Page(served.Server):
    """`limpid view` in a process."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([tool.TOOL, "view", *map(str, arguments), "--port", "0", "--no-open"],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self.process.stdout.readline().decode()
        if not line.startswith("http://127.0.0.1:"):
            raise AssertionError(f"{line!r} {self.process.stderr.read().decode()}")
        self.url = line.strip()
        self.origin, self.token = self.url.split("/?token=")
        self.port = int(self.origin.rsplit(":", 1)[1])

    def ask(self, name, request=None, body=None, headers=None):
        """The status and the answer."""
        data = body if body is not None else json.dumps(request or {}).encode()
        asked = urllib.request.Request(f"{self.origin}/api/{name}", data=data,
                                       headers=headers or {"Authorization": f"Bearer {self.token}"})
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())


class View(tool.ToolTest):
    @classmethod
    def setUpClass(cls):
        cls.train_folder = tool.tempfile.TemporaryDirectory(prefix="limpid-view-")
        cls.run_folder = pathlib.Path(cls.train_folder.name) / "digits"
        subprocess.run([tool.TOOL, "train", "--data", "digits:1,count=200", "--layers", "784,16,10", "--epochs", "2",
                        "--threads", "1", "--out", str(cls.run_folder)], stdout=subprocess.DEVNULL, check=True)
        cls.page = Page(cls.run_folder, "--runs", cls.train_folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.page.stop()
        cls.train_folder.cleanup()

    def answered(self, name, **request):
        status, answer = self.page.ask(name, request)
        self.assertEqual(status, 200, answer)
        return answer

    def refused(self, status, name, request, **options):
        code, answer = self.page.ask(name, request, **options)
        self.assertEqual(code, status, answer)
        error = answer["error"]
        sentence = error if isinstance(error, str) else error["message"]
        self.assertNotIn("\n", sentence)
        self.says(sentence)

    def test_a_forward_pass_is_that_of_trace_and_run(self):
        example = {"index": 7}
        answer = self.answered("forward", model="r0", input=example)
        trace = self.document("trace", self.run_folder, "--data", "digits:1,count=200", "--index", "7")
        self.assertEqual(len(answer["rows"]), len(trace["ops"]))
        for row, op in zip(answer["rows"], trace["ops"]):
            self.assertEqual((row["value"], row["layer"], row["op"], row["shape"]),
                             (op["value"], op["layer"], op["op"], op["shape"]))
            for key in ("min", "mean", "std", "max", "zero_share", "nans", "infs"):
                self.assertEqual(row["statistics"][key], op[key])
        run = self.document("run", self.run_folder, "--data", "digits:1,count=200", "--index", "7")["answers"][0]
        self.assertEqual(answer["answer"]["outputs"][0]["values"]["values"], run["logits"])
        self.assertEqual(answer["answer"]["probabilities"], run["probabilities"])
        self.assertEqual(answer["answer"]["class"], run["prediction"])
        self.assertEqual(answer["input"]["target"], [run["label"]])

    def test_pixels_are_answered_as_run_answers_them(self):
        pixels = [round((i * 37 % 101) / 100, 2) for i in range(784)]
        answer = self.answered("forward", model="r0", input={"values": pixels}, values=10)
        run = self.output("run", self.run_folder, "--values", ",".join(map(str, pixels)), "--json")
        self.assertEqual(answer["answer"]["outputs"][0]["values"]["values"], list(json.loads(run).values())[0])

    def test_a_neuron_is_that_of_trace(self):
        answer = self.answered("neuron", model="r0", input={"index": 7}, layer="layers.1", index=5, terms=99)
        document = self.document("trace", self.run_folder, "--data", "digits:1,count=200", "--index", "7",
                                 "--neuron", "layers.1:5")["neuron"]
        self.assertEqual(answer["z"]["value"], document["z"])
        self.assertEqual(answer["bias"]["value"], document["bias"])
        terms = {t["index"]: t for t in answer["terms"]}
        self.assertEqual(len(terms), 16)
        for term in document["terms"]:
            for key in ("weight", "input"):
                shown = terms[term["index"]][key]
                self.assertEqual(shown["value"], term[key])
                self.assertEqual(shown["hex"], struct.pack(">f", term[key]).hex())
        text = self.output("trace", self.run_folder, "--data", "digits:1,count=200", "--index", "7",
                           "--neuron", "layers.1:5")
        self.assertTrue(text.endswith(answer["text"]))

    def test_the_last_step_again_is_the_model(self):
        steps = self.answered("run/log", run="r0")["steps"]["step"][-1]
        again = self.answered("run/step", run="r0", step=steps)
        named = self.document("hash", self.run_folder, "--data", "digits:1,count=20")
        self.assertEqual(again["hash"], named["model"])
        self.assertTrue(again["verified"])
        self.answered("forward", model=again["model"]["id"], input={"index": 0})

    def test_a_playground_is_its_command(self):
        config = {"data": {"name": "circles", "seed": 2, "count": 80}, "hidden": [5], "seed": 7}
        state = ""
        for _ in range(3):
            state = self.answered("play", config=config, state=state, steps=10, grid=8)["state"]
        take = self.answered("play/export", config=config, state=state)
        command = take["command"].split()
        self.assertEqual(command[0], "limpid")
        subprocess.run([tool.TOOL, *command[1:-1], str(self.folder / "play")], stdout=subprocess.DEVNULL, check=True)
        named = self.document("hash", self.folder / "play", "--data", "circles:2,count=20")
        self.assertEqual(take["hash"], named["model"])
        self.assertEqual(base64.b64decode(take["model"])[-64:],
                         (self.folder / "play/model.safetensors").read_bytes()[-64:])

    def test_an_edit_is_its_command(self):
        edits = [{"at": "%1", "index": [5], "set": 2}, {"at": "%2", "scale": 0.5}, {"at": "%x", "noise": {"std": 0.1, "seed": 3}}]
        shown = self.answered("forward", model="r0", input={"index": 7}, edits=edits)
        command = self.answered("edit", model="r0", input={"index": 7}, edits=edits)["command"]
        run = subprocess.run(shlex.split(command.replace("limpid", tool.TOOL, 1)) + ["--json"],
                             stdout=subprocess.PIPE, check=True)
        for row, op in zip(shown["rows"], json.loads(run.stdout)["ops"]):
            self.assertEqual(row["value"], op["value"])
            self.assertEqual(row["statistics"]["mean"], op["mean"])
        self.error(2, "trace", self.run_folder, "--data", "digits:1", "--edit", "%1[5] zero")
        self.error(2, "trace", self.run_folder, "--data", "digits:1", "--edit", "%99 = 0")

    def test_the_lab_has_numbers(self):
        """Those of nobody's choice, too; they are the same on every machine."""
        for name, request in (("softmax", {}), ("softmax", {"logits": [2, 0], "temperature": 2}), ("softmax", {"logits": [1000, 0]}),
                              ("perceptron", {}), ("perceptron", {"target": "AND"}), ("dropout", {"rate": 0.5}),
                              ("dropout", {"rate": 0.99, "values": [0] * 20 + [1] * 20}), ("norms", {}), ("init", {"layers": 3, "width": 16}),
                              ("optimizers", {"names": ["sgd", "adam"], "steps": 3, "rate": 0.5})):
            answer = self.answered(f"lab/{name}", **request)
            answer.pop("surface", None)
            self.says(f"{name} {json.dumps(request)} {json.dumps(answer)}")
        self.refused(404, "lab/optimizers", {"surface": "moon"})

    def test_the_labs_experiments_are_those_of_the_tool(self):
        def curves(*command):
            return {(chart["title"], series["name"]): (series["x"], series["y"])
                    for chart in self.document("lab", *command)["charts"] for series in chart["series"]}

        of_tool = curves("activations")
        for curve in self.answered("lab/activations")["curves"]:
            self.assertEqual(of_tool.pop((curve["name"], "value")), (curve["x"], curve["y"]))
            if curve["slope"]:
                self.assertEqual(of_tool.pop((curve["name"], "slope")), (curve["x"], curve["slope"]))
            below, above = float(curve["flat_below"]), float(curve["flat_above"])
            for x, slope in zip(curve["x"], curve["slope"]):
                if 0 < min(abs(x - below), abs(x - above)) < 0.1:
                    self.assertEqual(abs(slope) < 1e-3, x < below or x > above, (curve["name"], x))
        self.assertEqual(of_tool, {})
        small = {"layers": 3, "width": 16, "seed": 5}
        of_tool = curves("init", *(f"--{key}={value}" for key, value in small.items()))
        for row in self.answered("lab/init", **small)["rows"]:
            self.assertEqual(of_tool.pop((row["layer"], row["scheme"])), ([1, 2, 3], row["stds"]))
        self.assertEqual(of_tool, {})
        sizes = {"in": 4, "hidden": 8, "out": 2, "seed": 3}
        of_tool = self.document("lab", "collapse", *(f"--{key}={value}" for key, value in sizes.items()))
        for row, cells, chart in zip(self.answered("lab/collapse", **sizes)["rows"], of_tool["rows"], of_tool["charts"], strict=True):
            self.assertEqual((row["network"], row["position"], row["y"]), (chart["title"], chart["series"][0]["x"], chart["series"][0]["y"]))
            self.assertEqual([f"{row[key]:.2g}" for key in ("largest", "difference")], cells[4:])
            self.assertEqual(f"{row['before']['flops']:,} -> {row['after']['flops']:,}", cells[3])
            self.assertEqual([note for note in of_tool["notes"] if note.startswith(row["network"] + ": ")],
                             [f"{row['network']}: {done}" for done in row["done"] or ["nothing folds"]])
        of_tool = self.document("lab", "approximation", "--units", "2", "--seed", "1")["rows"]
        for row, cells in zip(self.answered("lab/approximation", units=2, seed=1)["rows"], of_tool, strict=True):
            self.assertEqual([row["task"], f"{row['units']} {row['activation']}", str(row["steps"]), f"{row['loss']:.2g}",
                              f"{row['error']:.2g}"], cells)

    def test_the_lab_has_losses_and_their_slopes(self):
        # At -1 and at 3; the hinge's targets are 1 and, below one half, -1.
        at_places = {"squared error": (4, -4, 4, 4), "absolute error": (2, -1, 2, 1), "huber": (1.5, -1, 1.5, 1),
                     "hinge": (2, -1, 0, 0),
                     "binary cross-entropy of a logit": (math.log(1 + math.exp(1)), -1 / (1 + math.exp(-1)),
                                                         math.log(1 + math.exp(-3)), -1 / (1 + math.exp(3)))}
        for loss in self.answered("lab/losses", target=1)["losses"]:
            self.assertEqual(len(loss["x"]), len(loss["slope"]))
            shown = [loss[key][i] for i in (60, 140) for key in ("y", "slope")]
            for number, expected in zip(shown, at_places.pop(loss["name"])):
                self.assertAlmostEqual(number, expected, places=4, msg=loss["name"])
        self.assertEqual(at_places, {})
        hinge = self.answered("lab/losses", target=0)["losses"][-1]
        self.assertAlmostEqual(hinge["y"][140], 4, places=4)

    def test_the_lab_has_optimizers_and_their_surfaces(self):
        bowl = self.answered("lab/optimizers", surface="bowl", steps=50)
        for path in bowl["paths"]:
            self.assertLess(path["z"][-1], path["z"][0])
            if path["name"] == "adagrad":  # its squares add up
                y = path["y"]
                self.assertLess(abs(y[2] - y[1]), 0.8 * abs(y[1] - y[0]))
        heights = {"bowl": lambda x, y: x * x / 2 + 5 * y * y, "valley": lambda x, y: (1 - x)**2 + 10 * (y - x * x)**2,
                   "saddle": lambda x, y: x * x / 2 - y * y / 2 + y**4 / 10}
        for name, height in heights.items():
            shown = self.answered("lab/optimizers", surface=name, steps=1, names=["sgd"])
            grid = shown["surface"]
            for row, column in ((0, 40), (7, 19), (33, 2)):
                self.assertAlmostEqual(grid["z"][41 * row + column], height(grid["x"][column], grid["y"][row]), places=3)
            path = shown["paths"][0]
            self.assertEqual((path["x"][0], path["y"][0]), (-1.5, 1.5))
            self.assertAlmostEqual(path["z"][0], height(-1.5, 1.5), places=4)

    def test_the_lab_refuses_numbers_out_of_range(self):
        for name, request in (
                ("softmax", {"temperature": 0}), ("softmax", {"temperature": 1001}), ("softmax", {"logits": [0] * 4097}),
                ("softmax", {"logits": []}), ("losses", {"target": -4.5}), ("norms", {"values": [1] * 33}), ("dropout", {"rate": 1}),
                ("optimizers", {"start": [1, 2, 3]}), ("optimizers", {"names": ["sgd"] * 17}), ("init", {"layers": 100000})):
            self.refused(400, f"lab/{name}", request)
        self.assertEqual(len(self.answered("lab/softmax", logits=[0] * 4096)["probabilities"]), 4096)
        self.assertEqual(len(self.answered("lab/optimizers", names=["sgd"] * 16, steps=1)["paths"]), 16)

    def test_the_lab_has_what_a_hidden_layer_learns(self):
        for row in self.answered("lab/approximation", units=2)["rows"]:
            if row["task"].startswith("abs"):
                self.assertEqual(row["y"], [abs(x) for x, in row["x"]])
            answers = row["predictions"] if row["task"] != "XOR" else [1 / (1 + math.exp(-x)) for x in row["predictions"]]
            self.assertAlmostEqual(row["error"], max(abs(a - b) for a, b in zip(answers, row["y"])), places=4)

    def followed(self, runs, **headers):
        """The streams's first event: its id and its data."""
        asked = urllib.request.Request(f"{self.page.origin}/api/run/events?runs={runs}&token={self.page.token}", headers=headers)
        with urllib.request.urlopen(asked, timeout=60) as stream:
            self.assertEqual(stream.headers["Content-Type"], "text/event-stream")
            number, data = (stream.readline().decode() for _ in range(2))
        return number.removeprefix("id: ").strip(), json.loads(data.removeprefix("data: "))

    def test_a_run_is_followed(self):
        number, delta = self.followed("r0:0")
        self.assertEqual(delta["state"], "finished")
        self.assertEqual(len(delta["epochs"]), 2)
        self.assertEqual(number, f"r0:{delta['cursor']}")
        # A browser that connects again tells the last id; the events before do not come again.
        again, delta = self.followed("r0:0", **{"Last-Event-ID": number})
        self.assertEqual((again, delta["epochs"]), (number, []))

    def test_several_runs_are_followed_by_one_stream(self):
        subprocess.run([tool.TOOL, "train", "--data", "moons", "--epochs", "1", "--out", str(self.folder / "a")],
                       stdout=subprocess.DEVNULL, check=True)
        page = Page(self.folder / "a", self.run_folder)
        self.addCleanup(page.stop)
        with urllib.request.urlopen(f"{page.origin}/api/run/events?runs=r0:0,r1:0&token={page.token}", timeout=60) as stream:
            lines = [stream.readline().decode() for _ in range(6)]
        deltas = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
        self.assertEqual([d["run"] for d in deltas], ["r0", "r1"])
        self.assertEqual(lines[3], f"id: r0:{deltas[0]['cursor']},r1:{deltas[1]['cursor']}\n")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{page.origin}/api/run/events?runs=r0:0,r9:0&token={page.token}", timeout=60)
        self.assertEqual(refused.exception.code, 404)
        refused.exception.close()

    def test_a_state_that_no_line_of_the_log_tells_is_told(self):
        config = json.loads((self.run_folder / "config.json").read_text())
        status, run = self.page.ask("run/start", {"name": "long", "config": {**config, "epochs": 100_000}})
        self.assertEqual(status, 200, run)
        run = run["id"]
        asked = f"{self.page.origin}/api/run/events?runs={run}:0&token={self.page.token}"
        with urllib.request.urlopen(asked, timeout=60) as stream:
            for action, state in (("pause", "paused"), ("stop", "stopped")):
                self.assertEqual(self.answered("run/action", run=run, action=action)["state"], state)
                for line in stream:
                    if line.startswith(b"data: ") and json.loads(line[len("data: "):])["state"] == state:
                        break
                else:
                    self.fail(f"the stream ended before the run was {state}")

    def test_the_report_of_a_run_is_its_file(self):
        address = f"{self.page.origin}/api/run/report?run=r0&token="
        with urllib.request.urlopen(address + self.page.token, timeout=60) as answer:
            body = answer.read()
            policy = answer.headers["Content-Security-Policy"]
            self.assertEqual(answer.headers["Content-Type"], "text/html; charset=utf-8")
        self.assertEqual(body, (self.run_folder / "report.html").read_bytes())
        self.assertIn(b"<code>limpid view RUN</code>", body)
        self.assertIn("default-src 'none'", policy)
        self.assertIn("; sandbox;", policy)
        self.assertNotIn("script-src", policy)
        self.assertTrue(self.answered("session")["runs"][0]["report"])
        for status, wrong in ((403, address), (404, f"{address}{self.page.token}".replace("r0", "r99"))):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(wrong, timeout=60)
            self.assertEqual(refused.exception.code, status)
            refused.exception.close()

    def test_who_has_no_token_gets_nothing(self):
        self.assertRegex(self.page.token, "^[0-9a-f]{32}$")  # 128 bits
        for headers in ({"X": "y"}, {"Authorization": "Bearer "}, {"Authorization": "Bearer " + "0" * 32},
                        {"Authorization": self.page.token}):
            self.refused(403, "session", {}, headers=headers)
        self.refused(403, "session?token=" + self.page.token[:-1], {}, headers={"X": "y"})
        status, _ = self.page.ask(f"session?token={self.page.token}", headers={"X": "y"})
        self.assertEqual(status, 200)

    def test_pages_of_other_places_get_nothing(self):
        token = {"Authorization": f"Bearer {self.page.token}"}
        self.refused(403, "session", {}, headers={**token, "Host": f"evil.example:{self.page.port}"})
        self.refused(403, "session", {}, headers={**token, "Host": "127.0.0.1.evil.example"})
        self.refused(403, "session", {}, headers={**token, "Origin": "http://evil.example"})
        self.refused(403, "session", {}, headers={**token, "Origin": "null"})
        for own in ({"Origin": self.page.origin}, {"Host": f"localhost:{self.page.port}"}, {"Host": f"[::1]:{self.page.port}"},
                    {"Host": "127.0.0.1:9000"}, {"Host": "localhost"}):  # of a tunnel
            status, _ = self.page.ask("session", headers={**token, **own})
            self.assertEqual(status, 200, own)

    def test_every_answer_is_strict(self):
        for path in ("/", "/nothing", "/../etc/passwd", "/assets/x.js"):
            asked = urllib.request.Request(self.page.origin + path)
            try:
                answer = urllib.request.urlopen(asked, timeout=60)
            except urllib.error.HTTPError as error:
                answer = error
            with answer:
                policy = answer.headers["Content-Security-Policy"].split("; ")
                for part in ("default-src 'none'", "script-src 'self'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
                             "frame-ancestors 'none'"):
                    self.assertIn(part, policy)
                self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
                self.assertEqual(answer.headers["Referrer-Policy"], "no-referrer")  # the address has the token
                for of in ("Opener", "Resource"):
                    self.assertEqual(answer.headers[f"Cross-Origin-{of}-Policy"], "same-origin")
                if path != "/":
                    self.assertEqual(answer.status, 404)

    def test_a_browser_keeps_assets_but_not_the_page(self):
        def loaded(path):
            with urllib.request.urlopen(self.page.origin + path, timeout=60) as answer:
                return answer.headers["Cache-Control"], gzip.decompress(answer.read())
        try:
            kept, page = loaded("/")
        except urllib.error.HTTPError as error:
            error.close()
            self.skipTest(f"the tool has no page: {error}")
        self.assertEqual(kept, "no-cache")
        with urllib.request.urlopen(urllib.request.Request(self.page.origin, method="HEAD"), timeout=60) as answer:
            self.assertEqual((answer.headers["Cache-Control"], answer.read()), ("no-cache", b""))
        # Their names change with what is in them.
        assets = re.findall(rb'(?:src|href)="[./]*(assets/[^"]+)"', page)
        self.assertTrue(assets, page)
        for asset in assets:
            self.assertEqual(loaded("/" + asset.decode())[0], "public, max-age=31536000, immutable")
        session = urllib.request.Request(f"{self.page.origin}/api/session?token={self.page.token}", data=b"{}")
        with urllib.request.urlopen(session, timeout=60) as answer:
            self.assertEqual(answer.headers["Cache-Control"], "no-store")

    def test_a_request_has_its_method(self):
        token = {"Authorization": f"Bearer {self.page.token}"}
        for method, path, status in (("GET", "/api/session", 405), ("PUT", "/api/forward", 405), ("POST", "/api/run/events", 404),
                                     ("POST", "/api/run/report", 404), ("POST", "/", 405)):
            asked = urllib.request.Request(self.page.origin + path, method=method, headers=token, data=None if method == "GET" else b"{}")
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(asked, timeout=60)
            self.assertEqual(refused.exception.code, status)
            self.says(refused.exception.read().decode())

    def test_requests_that_the_page_gave_up_take_no_place(self):
        with contextlib.ExitStack() as connections:
            def ask(name, request):
                connection = connections.enter_context(
                    contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.page.port, timeout=200)))
                connection.request("POST", f"/api/lab/{name}", json.dumps(request), {"Authorization": f"Bearer {self.page.token}"})
                return connection

            def is_answered(connection, seconds):
                return bool(select.select([connection.sock], [], [], seconds)[0])

            def is_refused(connection):
                """As too many wait. An answer would come after the long one."""
                if not is_answered(connection, 0.1):
                    return False
                self.assertEqual(connection.getresponse().status, 503)
                return True

            long, *others = [ask("init", {"layers": 100, "width": 256}) for _ in range(4)]  # as many as run, for some seconds
            waiting = []
            while len(waiting) < 100 and not is_refused(last := ask("optimizers", {"steps": 1})):
                waiting.append(last)
            self.assertIn(len(waiting), range(12, 17))  # the long ones may have waited, too
            for connection in waiting:
                connection.close()
            while is_refused(last := ask("optimizers", {"steps": 1})):
                pass
            self.assertFalse(is_answered(long, 0), "places were free only after the long one")
            for connection in others:
                connection.close()
            self.assertEqual([c.getresponse().status for c in (long, last)], [200, 200])

    def test_slow_questions_block_no_quick_ones_and_end_with_their_page(self):
        def cpu_seconds():
            fields = pathlib.Path(f"/proc/{self.page.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        # As many as are answered at a time: the first takes a minute, and the others wait for it.
        config = {"data": {"name": "moons", "count": 5000}, "hidden": [64] * 6, "batch": 5000}
        connections = []
        for _ in range(4):
            connections.append(http.client.HTTPConnection("127.0.0.1", self.page.port, timeout=60))
            connections[-1].request("POST", "/api/play", json.dumps({"config": config, "steps": 1000}),
                                    {"Authorization": f"Bearer {self.page.token}"})
        before = cpu_seconds()
        while cpu_seconds() < before + 0.3:
            time.sleep(0.01)
        for name, request in (("session", {}), ("run/config", {"run": "r0"}), ("run/keys", {})):
            self.answered(name, **request)
        self.assertEqual(select.select([c.sock for c in connections], [], [], 0)[0], [], "a slow one was answered first")
        for connection in connections:
            connection.close()
        self.answered("forward", model="r0", input={"index": 7})
        for _ in range(40):
            before = cpu_seconds()
            time.sleep(0.25)
            if cpu_seconds() - before < 0.1:
                return
        self.fail("it still computes what nobody waits for")

    def test_hostile_requests_are_one_sentence(self):
        self.refused(404, "fly", {})
        self.refused(400, "graph", None, body=b"\xff\xfe{")
        self.refused(400, "graph", None, body=b"[" * 100_000)
        self.refused(400, "graph", None, body=b'{"model": "r0", "model": "r0"}')
        self.refused(413, "graph", None, body=b" " * (13 << 20))
        self.refused(400, "forward", {"model": "r0", "input": {"index": 0, "data": "text:/etc/passwd"}})
        self.refused(422, "open?name=a.txt", None, body=b"")
        for name in ("a.safetensors", "b.npz", "c.onnx"):
            for body in (b"", b"PK\x05\x06" + b"\0" * 18, b"\x08\x00\x00\x00\x00\x00\x00\x00{}", b"\xff" * 1000):
                self.page.ask(f"open?name={name}", body=body)
        # Nothing was lost in transit.
        session = self.answered("session")
        self.assertEqual(session["models"][0]["id"], "r0")
        first = session["runs"][0]  # another test may have started more
        self.assertEqual((first["id"], first["state"], first["task"]), ("r0", "finished", "classification"))

    def test_every_documented_request_is_there(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/view-api.md").read_text()
        names = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")][1:]
        self.assertGreater(len(names), 25)
        for name in (n for row in names if "?" not in row for n in row.split(", ")):
            status, answer = self.page.ask(name, {})
            self.assertNotIn("there is no request", str(answer), name)

    def test_a_dropped_file_may_be_large(self):
        """Larger than the bodies that a server takes by default."""
        numbers = 17 << 20
        header = {"w": {"dtype": "F32", "shape": [numbers], "data_offsets": [0, 4 * numbers]}}
        status, info = self.page.ask("open?name=large.safetensors", body=tool.file_of(header, bytes(4 * numbers)))
        self.assertEqual((status, info.get("parameters")), (200, numbers), info)
        self.answered("close", model=info["id"])

    def test_a_dropped_model_answers(self):
        body = (self.run_folder / "model.safetensors").read_bytes()
        status, info = self.page.ask("open?name=mine%20too.safetensor%73", body=body)
        self.assertEqual(status, 200, info)
        self.assertEqual((info["name"], info["origin"]), ("mine too.safetensors", "dropped"))
        here = self.answered("forward", model=info["id"], input={"values": [0.5] * 784})
        there = self.answered("forward", model="r0", input={"values": [0.5] * 784})
        self.assertEqual(here["answer"]["outputs"], there["answer"]["outputs"])
        self.answered("close", model=info["id"])
        status, info = self.page.ask("open?name&more=x&name=50%.%73afetensors&name=y", body=body)
        self.assertEqual((status, info["name"]), (200, "50%.safetensors"))
        self.answered("close", model=info["id"])
        status, info = self.page.ask("open?name=%ff.safetensors", body=body)
        self.assertEqual((status, info["name"]), (200, "\ufffd.safetensors"))
        self.answered("close", model=info["id"])
        self.refused(404, "graph", {"model": info["id"]})


class Tool(tool.ToolTest):
    def test_the_desktops_browser_is_given_the_address(self):
        """Where there is a desktop, and unless it is told not to."""
        told, opener = self.folder / "told", self.folder / "xdg-open"
        os.mkfifo(told)
        opener.write_text(f'#!/bin/sh\nprintf %s "$*" > {told}\n')
        opener.chmod(0o755)
        nowhere = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        for desktop in ("DISPLAY", "WAYLAND_DISPLAY"):
            with open(os.open(told, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
                process = subprocess.Popen([tool.TOOL, "view", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                           env={**nowhere, desktop: ":9", "PATH": f"{self.folder}:{os.environ['PATH']}"})
                try:
                    url = process.stdout.readline().strip()
                    try:
                        urllib.request.urlopen(url.decode(), timeout=60).close()
                    except urllib.error.HTTPError as error:
                        self.skipTest(f"the tool has no page: {error}")
                    self.assertTrue(select.select([pipe], [], [], 60)[0], "it opened nothing")
                    self.assertEqual(pipe.read(4096), url)
                finally:
                    process.terminate()
                    process.communicate()

    def test_a_folder_of_hugging_face_is_a_model(self):
        # It has a config.json as a run does.
        page = Page(pathlib.Path(__file__).parents[1] / "huggingface/gpt2")
        try:
            status, session = page.ask("session")
        finally:
            page.stop()
        self.assertEqual((status, session["runs"]), (200, []))
        self.assertEqual([(model["name"], model["origin"], model["kind"]) for model in session["models"]], [("gpt2", "named", "model")])

    def test_a_machine_without_memory_is_an_error(self):
        limit = 40_000 << 10
        run = subprocess.run([tool.TOOL, "view", "--no-open"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stderr.decode(), r"\Alimpid: [^\n]+\n\Z")

    def test_wrong_uses(self):
        self.refuses(1, "view nothing.safetensors --no-open; view --data nothing:1 --no-open")
        self.refuses(2, "view --port 99999")


if __name__ == "__main__":
    unittest.main()
