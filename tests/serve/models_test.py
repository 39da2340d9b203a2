"""A folder of models: models that appear, change, are invalid or disappear, while clients ask."""

import json
import os
import shutil
import threading
import time
import unittest

import served
import tool

ROW = [[1.0, -2.0]]


class Folder(served.ServeTest):
    def setUp(self):
        super().setUp()
        self.models = self.folder / "models"
        self.models.mkdir()
        self.log = self.folder / "log"

    def put(self, name, content):
        """Replaces a file atomically."""
        new = self.models / ".new"
        new.write_bytes(content)
        os.replace(new, self.models / name)

    def network(self, weight):
        return tool.model_bytes([2, 1], {"layers.0.weight": ([1, 2], [weight, 0.0]), "layers.0.bias": ([1], [0.0])})

    def output_of(self, server, name):
        answer = server.post(f"/v2/models/{name}/infer", served.infer_json(ROW))
        return answer.json()["outputs"][0]["data"][0] if answer.status == 200 else answer.status

    def until(self, what, expected):
        while (found := what()) != expected:
            self.assertLess(time.monotonic(), self.end, (found, expected))
            time.sleep(0.02)

    def index(self, server):
        return {entry["name"]: entry for entry in server.post("/v2/repository/index", b"").json()}

    def events(self):
        return [event for event, _ in self.told()]

    def told(self):
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [(line["event"], line["message"]) for line in lines if "event" in line]

    def start(self, *more):
        self.end = time.monotonic() + 60
        return self.serve(*more, "--models", self.models, "--access-log", self.log)

    def test_models_come_change_and_leave(self):
        self.put("one.safetensors", self.network(2.0))
        (self.models / "notes.txt").write_text("no model")
        self.put(".hidden.safetensors", self.network(2.0))
        server = self.start()
        self.assertEqual(self.index(server).keys(), {"one"})
        self.assertEqual(self.output_of(server, "one"), 2.0)

        self.put("two@3.safetensors", self.network(5.0))
        self.until(lambda: self.output_of(server, "two"), 5.0)
        self.assertEqual(server.get("/v2/models/two").json()["versions"], ["3"])
        self.put("one.safetensors", self.network(3.0))
        self.until(lambda: self.output_of(server, "one"), 3.0)
        os.remove(self.models / "one.safetensors")
        self.until(lambda: self.output_of(server, "one"), 404)
        self.assertEqual(self.index(server).keys(), {"two"})
        self.assertEqual(self.output_of(server, "two"), 5.0)
        while len(self.events()) < 4:
            time.sleep(0.02)
        self.assertEqual(self.told(), [("load", "one from one.safetensors"), ("load", "two from two@3.safetensors"),
                                       ("load", "one from one.safetensors"), ("unload", "one: one.safetensors is gone")])

    def test_the_highest_version_answers_where_none_is_named(self):
        for version, weight in ((1, 2.0), (10, 4.0), (9, 3.0)):
            self.put(f"net@{version}.safetensors", self.network(weight))
        server = self.start()
        self.assertEqual(server.get("/v2/models/net").json()["versions"], ["1", "9", "10"])
        self.assertEqual(self.output_of(server, "net"), 4.0)
        self.assertEqual(self.output_of(server, "net/versions/1"), 2.0)
        self.assertEqual(self.output_of(server, "net/versions/9"), 3.0)
        os.remove(self.models / "net@10.safetensors")
        self.until(lambda: self.output_of(server, "net"), 3.0)

    def test_each_version_of_the_command_line_is_read_once(self):
        paths = [self.folder / f"{version}.safetensors" for version in (1, 2, 3)]
        for path in paths:
            path.write_bytes(self.network(2.0))
        with tool.Opens(self.model) as once:
            self.serve(f"net={self.model}")
        with tool.Opens(paths[0]) as first:
            server = self.serve(*(f"net@{version}={path}" for version, path in enumerate(paths, 1)))
        self.assertEqual(first.count, once.count)
        self.assertEqual(server.get("/v2/models/net").json()["versions"], ["1", "2", "3"])

    def test_a_bad_one_leaves_the_old_one_serving(self):
        self.put("net.safetensors", self.network(2.0))
        self.put("bad.safetensors", b"no model")
        server = self.start()
        self.assertEqual(server.get("/v2/health/ready").status, 200)
        self.assertEqual((self.index(server)["bad"]["state"], self.index(server)["net"]["state"]), ("UNAVAILABLE", "READY"))
        self.until(lambda: "load failed" in self.events(), True)  # the log is written beside the answers
        self.assertTrue(dict(self.told())["load failed"].startswith("bad.safetensors: "), self.told())
        self.put("net.safetensors", self.network(3.0)[:-1])
        self.until(lambda: "could not be read" in self.index(server)["net"]["reason"], True)
        self.assertEqual(self.output_of(server, "net"), 2.0)
        self.assertNotIn(str(self.folder), json.dumps(self.index(server)))
        self.put("net.safetensors", self.network(4.0))
        self.put("bad.safetensors", self.network(6.0))
        self.until(lambda: (self.output_of(server, "net"), self.output_of(server, "bad")), (4.0, 6.0))
        self.assertEqual(self.index(server)["net"]["reason"], "")

    def test_a_file_that_grows_is_read_when_it_has_ended(self):
        server = self.start()
        content = self.network(2.0)
        header = content[:8 + int.from_bytes(content[:8], "little")]
        longest = 1.0
        while longest > 0.8:  # seconds between two writes: the server may have seen a file that does not change
            events, longest, last = self.events(), 0.0, time.monotonic()
            with open(self.models / "net.safetensors", "wb", buffering=0) as file:
                for part in range(24):
                    file.write(header[part:part + 1])
                    time.sleep(0.1)
                    longest, last = max(longest, time.monotonic() - last), time.monotonic()
        self.assertEqual(self.events(), events)
        self.put("net.safetensors", content)
        self.until(lambda: self.output_of(server, "net"), 2.0)

    def test_a_file_whose_permissions_changed_is_read_again(self):
        """chmod leaves the time of the last write as it was. Root may read every file: here its content changes, too."""
        path, content = self.models / "net.safetensors", self.network(2.0)
        path.write_bytes(b"x" * len(content))
        before = path.stat()
        server = self.start()
        self.assertEqual(self.index(server)["net"]["state"], "UNAVAILABLE")
        with open(path, "r+b") as file:
            file.write(content)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.until(lambda: self.output_of(server, "net"), 2.0)

    def test_a_folder_in_it_is_a_model(self):
        run = self.folder / "run"
        self.output("train", "--data", "moons", "--layers", "2,8,2", "--epochs", "1", "--out", run)
        server = self.start()
        self.assertEqual(self.index(server), {})
        shutil.copytree(run, self.models / "moons")
        self.until(lambda: server.get("/v2/models/moons/ready").status, 200)
        # A file in it is replaced.
        before = self.output_of(server, "moons")
        self.output("train", "--data", "moons", "--layers", "2,8,2", "--epochs", "1", "--seed", "1", "--out", run, "--overwrite")
        shutil.copy(run / "model.safetensors", self.models / "moons/.new")
        os.replace(self.models / "moons/.new", self.models / "moons/model.safetensors")
        self.until(lambda: self.output_of(server, "moons") != before, True)
        shutil.rmtree(self.models / "moons")
        self.until(lambda: server.get("/v2/models/moons/ready").status, 404)

    def test_names_that_are_taken_or_invalid_are_said(self):
        self.put("net.safetensors", self.network(2.0))
        self.put("a=b.safetensors", self.network(2.0))
        self.put(b"\xff.safetensors".decode(errors="surrogateescape"), self.network(2.0))  # no URL has it, nor may /metrics
        server = self.start(self.model)
        self.assertEqual(self.index(server).keys(), {"net"})
        while self.events() != ["load failed"] * 3:
            time.sleep(0.02)
        # One that left and comes again is said again.
        os.remove(self.models / "a=b.safetensors")
        self.put("other.safetensors", self.network(2.0))
        self.until(lambda: self.output_of(server, "other"), 2.0)
        self.put("a=b.safetensors", self.network(2.0))
        self.until(self.events, ["load failed"] * 3 + ["load", "load failed"])

    def test_the_folder_of_a_path_gives_the_name(self):
        run = self.models / "moons"
        self.output("train", "--data", "moons", "--layers", "2,8,2", "--epochs", "1", "--out", run)
        for path in (".", "../moons", "../moons/.", str(run) + "/"):
            self.assertEqual(self.serve(path, cwd=run).get("/v2/models").json(), {"models": ["moons"]}, path)
        # A folder has no ending to leave out.
        shutil.copytree(run, self.models / "moons-1.5")
        self.assertEqual(self.serve(self.models / "moons-1.5").get("/v2/models").json(), {"models": ["moons-1.5"]})
        self.refuses(1, *(("serve", spec) for spec in (f".={run}", f"..={run}", f"={run}", f"a/b={run}", "", "/")))

    def test_a_name_that_becomes_free_is_taken(self):
        self.put("net.onnx", b"no model")
        self.put("net.safetensors", self.network(2.0))
        server = self.start()
        self.assertEqual(self.output_of(server, "net"), 404)
        os.remove(self.models / "net.onnx")
        self.until(lambda: self.output_of(server, "net"), 2.0)
        self.assertEqual(self.events(), ["load failed", "load failed", "unload", "load"])

    def test_no_request_fails_while_a_model_is_replaced(self):
        self.put("net.safetensors", self.network(1.0))
        server = self.start()
        stop, wrong, answers = threading.Event(), [], set()

        def client():
            with server.connect() as connection:
                while not stop.is_set():
                    answer = served.exchange(connection, "POST", "/v2/models/net/infer", json.dumps(served.infer_json(ROW)).encode())
                    if answer.status != 200:
                        wrong.append(answer)
                    else:
                        answers.add(answer.json()["outputs"][0]["data"][0])

        threads = [threading.Thread(target=client) for _ in range(4)]
        for thread in threads:
            thread.start()
        for weight in (2.0, 3.0):
            self.put("net.safetensors", self.network(weight))
            self.until(lambda: weight in answers, True)
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual((wrong, answers), ([], {1.0, 2.0, 3.0}))

    def test_what_is_no_folder(self):
        self.refuses(1, "serve --port 0 --models none")
        self.refuses(2, "serve --port 0")


if __name__ == "__main__":
    unittest.main()
