"""Limits, deadlines, tokens, logs, metrics, and how a server ends."""

import contextlib
import datetime
import json
import pathlib
import re
import resource
import select
import signal
import struct
import subprocess
import time
import unittest

import served
import tool

INFER = "/v2/models/net/infer"
ROW = [[1.0, -2.0]]


class Limits(served.ServeTest):
    def end_of(self, connection):
        """The bytes that the server sends before it closes the connection."""
        with connection.makefile("rb") as stream:
            return stream.read()

    def test_body(self):
        server = self.serve(self.model, "--max-body", "200")
        self.assertEqual(server.post(INFER, served.infer_json(ROW)).status, 200)
        self.refused(server.post(INFER, served.infer_json(ROW * 50)), 413)

    def test_all_bodies(self):
        server = self.serve(self.model, "--max-bodies", "300")
        with server.connect() as connection:
            connection.sendall(served.request_bytes("POST", INFER, b" " * 250)[:-1])
            while " 249" not in self.metric(server, "limpid_body_bytes"):
                time.sleep(0.01)
            self.refused(server.post(INFER, served.infer_json(ROW)), 503)
        while " 0" not in self.metric(server, "limpid_body_bytes"):
            time.sleep(0.01)
        self.assertEqual(server.post(INFER, served.infer_json(ROW)).status, 200)

    def test_bodies_that_nobody_waits_for_are_let_go(self):
        """They wait for the threads that read large bodies: their clients leave, and their memory is free at once."""
        server = self.serve(self.model, "--max-bodies", 20_000_000)
        long = json.dumps(served.infer_json([[0.123456789, -2.0]] * 400_000)).encode()
        for _ in range(6):
            with server.connect() as connection, contextlib.suppress(OSError):  # 503 while two others are read
                connection.sendall(served.request_bytes("POST", INFER, long))
        while " 0" not in self.metric(server, "limpid_body_bytes"):
            time.sleep(0.01)
        self.assertEqual(server.post(INFER, long).status, 200)

    def test_all_answers(self):
        """A client that reads slowly keeps its answer in memory: others may be refused, but not for ever."""
        def asking(rows, binary_output=True):
            data = struct.pack("<2f", *ROW[0]) * rows
            head = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [rows, 2], "parameters": {"binary_data_size": len(data)}}],
                               "parameters": {"binary_data_output": binary_output}}).encode()
            return head + data, [("Inference-Header-Content-Length", len(head))]

        # Four bytes of answer for each row; about 20 as JSON, which no socket buffers.
        server = self.serve(self.model, "--max-answers", 4_000_000, "--max-answer", 5_000_000, "--slack", "2")
        self.refused(server.post(INFER, *asking(1_000_001)), 413)
        with server.connect() as connection:
            connection.sendall(served.request_bytes("POST", INFER, *asking(900_000, binary_output=False)))
            while " 3600000" not in self.metric(server, "limpid_answer_bytes"):
                time.sleep(0.01)
            answer = server.post(INFER, *asking(110_000))
            self.refused(answer, 503)
            self.assertEqual(answer.headers["retry-after"], "1")
            self.assertEqual(server.post(INFER, served.infer_json(ROW)).status, 200)
        while " 0" not in self.metric(server, "limpid_answer_bytes"):
            time.sleep(0.01)
        self.assertEqual(server.post(INFER, *asking(110_000)).status, 200)
        with server.connect() as kept:  # no longer than the answer
            self.assertEqual(served.exchange(kept, "POST", INFER, *asking(110_000)).status, 200)
            self.until_metric(server, "limpid_answer_bytes 0")

    def metric(self, server, name):
        return next(line for line in server.get("/metrics").body.decode().splitlines() if line.startswith(name))

    def test_connections(self):
        server = self.serve(self.model, "--max-connections", "3")
        held = [server.connect() for _ in range(3)]
        self.assertEqual(served.exchange(held[2], "GET", "/health").status, 200)
        with server.connect() as connection:
            with connection.makefile("rb") as stream:
                answer = served.read_answer(stream)
                self.assertEqual((answer.status, answer.json()), (503, {"error": "too many connections"}))
                self.assertEqual(answer.headers["retry-after"], "1")
                self.assertEqual(stream.read(), b"")
        self.assertIn(b'limpid_requests_total{model="",code="503"} 1\n', served.exchange(held[2], "GET", "/metrics").body)
        for connection in held:
            connection.close()
        while True:  # the server sees the end in its own time
            try:
                if server.get("/health").status == 200:
                    break
            except (OSError, AttributeError):
                pass

    def test_connections_may_be_all_files_that_the_system_allows(self):
        server = self.serve(self.model, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 400)))
        held = []
        self.addCleanup(lambda: [connection.close() for connection in held])
        for _ in range(200):
            held.append(server.connect(timeout=20))
            self.assertEqual(served.exchange(held[-1], "GET", "/health").status, 200)
        # Beyond that, a client learns so at once.
        for _ in range(200):
            held.append(server.connect(timeout=20))
        self.assertIn(b"503 Service Unavailable", self.end_of(held[-1]))

    def test_with_hardly_any_files_there_is_one_connection(self):
        server = self.serve(self.model, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60)))
        with server.connect() as one, server.connect() as other:
            self.assertEqual(served.exchange(one, "GET", "/health").status, 200)
            self.assertIn(b"503 Service Unavailable", self.end_of(other))

    def test_a_dripping_header_is_cut_off(self):
        server = self.serve(self.model, "--header-time", "0.5")
        with server.connect() as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\n")
            try:
                for _ in range(1000):
                    connection.sendall(b"X: y\r\n")
                    time.sleep(0.01)
                self.fail("it may go on for ever")
            except (BrokenPipeError, ConnectionResetError):
                pass

    def test_a_dripping_body_is_cut_off(self):
        server = self.serve(self.model, "--slack", "0.5")
        with server.connect() as connection:
            connection.sendall(served.request_bytes("POST", INFER, b" " * 5000)[:-4000])
            for _ in range(1000):
                connection.sendall(b" ")
                if select.select([connection], [], [], 0.01)[0]:
                    break
            else:
                self.fail("it may go on for ever")
            self.assertTrue(self.end_of(connection).startswith(b"HTTP/1.1 408 "))

    def test_a_fast_beginning_allows_no_longer_pause(self):
        """The rest of the body never comes: the bytes before it would last for minutes at the minimum rate."""
        server = self.serve(self.model, "--slack", "0.3")
        with server.connect() as connection:
            connection.sendall(served.request_bytes("POST", INFER, b" " * 2_000_000)[:-10])
            self.assertTrue(self.end_of(connection).startswith(b"HTTP/1.1 408 "))

    def test_a_large_answer_that_nobody_reads_is_cut_off(self):
        server = self.serve(self.model, "--slack", "0.3")
        body, headers = served.infer_binary([[0.1, 0.2]] * 1_000_000, binary_output=False)
        with server.connect() as connection:
            connection.sendall(served.request_bytes("POST", INFER, body, headers))
            while 'code="499"} 1' not in server.get("/metrics").body.decode():
                time.sleep(0.05)
        self.assertEqual(server.post(INFER, served.infer_json(ROW)).status, 200)

    def test_an_idle_connection_is_closed(self):
        server = self.serve(self.model, "--idle-time", "1.5")
        begin = time.monotonic()
        with server.connect() as connection:
            self.assertEqual(self.end_of(connection), b"")
        self.assertGreater(time.monotonic() - begin, 1.4)  # no sooner

    def test_the_longest_times_are_no_shorter(self):
        """Some that are set in nanoseconds from now would overflow."""
        longest = "1e9"
        server = self.serve(self.model, *(argument for option in ("header", "idle") for argument in (f"--{option}-time", longest)),
                            "--slack", longest, "--deadline", longest, "--drain", longest)
        with server.connect() as connection:
            for _ in range(2):
                body = json.dumps(served.infer_json(ROW)).encode()
                self.assertEqual(served.exchange(connection, "POST", INFER, body).status, 200)
        self.assertEqual(server.stop(), 0)
        self.refuses(2, *(("serve", self.model, "--deadline", wrong) for wrong in ("1e10", "0", "1e-9", "inf", "nan", "-1")))

    def test_bounds(self):
        """Each option has its own, beyond which it is refused before the model is read."""
        most = 2**40
        for option, high in (("port", 65535), ("max-batch", 65536), ("max-delay", 10_000_000), ("workers", 256), ("max-texts", 1024),
                             ("cache-memory", most), ("max-url", 2**20), ("max-header", 2**20), ("max-body", most), ("max-bodies", most),
                             ("max-answers", most), ("max-answer", most), ("max-rows", 2**30), ("max-tokens", 2**30), ("max-completions", 2**16),
                             ("max-connections", 2**20), ("max-queue", 2**20), ("min-rate", 2**30), ("max-stream", most)):
            self.refuses(2, f"serve none --{option}={high + 1}; serve none --{option}=-1")
        self.refuses(1, "serve a=net.safetensors a=net.safetensors; serve none.safetensors; serve net.safetensors --bind here", *(
            ("serve", f"a@{version}=net.safetensors") for version in ("0", "-1", "x", "1x", "", "9" * 30)), *(
            ("serve", "net.safetensors", "--port", "0", "--allow-origin", text) for text in (
                "example.org", "http://a/", "http://a/b", "http://", "http://a b", "")))

    def test_urls_headers_rows_and_answers(self):
        server = self.serve(self.model, "--max-url", "100", "--max-header", "400", "--max-rows", "10", "--max-answer", "20")
        self.refused(server.get("/" + "a" * 200), 414)
        self.refused(server.get("/health", [("X", "a" * 400)]), 431)
        self.refused(server.post(INFER, served.infer_json(ROW * 11)), 413)
        self.refused(server.post(INFER, served.infer_json(ROW * 6)), 413)
        self.assertEqual(server.post(INFER, served.infer_json(ROW * 5)).status, 200)

    def test_requests_that_come_together_need_no_deeper_a_stack(self):
        """Each is answered after the one before it, not within it."""
        server = self.serve()

        def stack():
            return int(re.search(r"VmStk:\s*(\d+) kB", pathlib.Path(f"/proc/{server.process.pid}/status").read_text())[1])

        before, count = stack(), 1700  # a read of 64 KiB
        with server.connect() as connection, connection.makefile("rb") as stream:
            connection.sendall(served.request_bytes("GET", "/health") * count)
            for _ in range(count):
                self.assertEqual(served.read_answer(stream).status, 200)
        self.assertLess(stack(), before + 512)

    def test_slow_clients_keep_nobody_waiting(self):
        server = self.serve()
        held = [server.connect() for _ in range(200)]
        for connection in held:
            connection.sendall(served.request_bytes("POST", INFER, b" " * 100)[:-50])
        self.assertEqual(server.post(INFER, served.infer_json(ROW)).status, 200)
        for connection in held:
            connection.close()


class Waiting(served.ServeTest):
    """A batch waits half a minute for more rows, so requests wait as long as a test needs."""

    def slow(self, *arguments):
        return self.serve(self.model, "--max-delay", "10000000", "--max-batch", "2", *arguments)

    def test_a_deadline(self):
        server = self.slow("--deadline", "0.2")
        self.refused(server.post(INFER, served.infer_json(ROW)), 504)
        self.assertEqual(server.post(INFER, served.infer_json(ROW * 2)).status, 200)
        self.assertIn('limpid_requests_total{model="net",code="504"} 1\n', server.get("/metrics").body.decode())

    def test_the_clients_own_deadline(self):
        server = self.slow()
        self.refused(server.post(INFER, served.infer_json(ROW), [("Limpid-Deadline-Ms", "100")]), 504)
        # It may not be longer than that of the server.
        server = self.slow("--deadline", "0.2")
        self.refused(server.post(INFER, served.infer_json(ROW), [("Limpid-Deadline-Ms", "60000")]), 504)

    def test_a_full_queue_refuses_at_once(self):
        server = self.slow("--max-queue", "1")
        with server.connect() as waiting:
            waiting.sendall(served.request_bytes("POST", INFER, json.dumps(served.infer_json(ROW)).encode()))
            while "limpid_queue_length 1" not in server.get("/metrics").body.decode():
                time.sleep(0.01)
            answer = server.post(INFER, served.infer_json(ROW))
            self.refused(answer, 503)
            self.assertEqual(answer.headers["retry-after"], "1")
            self.assertIn('limpid_requests_total{model="net",code="503"} 1\n', server.get("/metrics").body.decode())

    def test_a_client_that_leaves_is_not_computed_for(self):
        server = self.slow()
        with server.connect() as leaving:
            leaving.sendall(served.request_bytes("POST", INFER, json.dumps(served.infer_json(ROW)).encode()))
            while "limpid_queue_length 1" not in server.get("/metrics").body.decode():
                time.sleep(0.01)
        while 'limpid_requests_total{model="net",code="499"} 1\n' not in server.get("/metrics").body.decode():
            time.sleep(0.01)
        # The row that is left does not fill a batch of two, one more than that does.
        self.assertEqual(server.post(INFER, served.infer_json(ROW * 2)).status, 200)
        self.assertIn('limpid_batch_rows_sum{model="net"} 2\n', server.get("/metrics").body.decode())


class Token(served.ServeTest):
    def test_is_asked_of_all_but_probes(self):
        path = self.folder / "token"
        path.write_text("correct-horse\nThe first line counts.\n")
        server = self.serve(self.model, "--token-file", path)
        good = [("Authorization", "Bearer correct-horse")]
        for target in ("/v2", "/metrics", "/v2/models/net", "/nothing"):
            for headers in ((), [("Authorization", "Bearer correct-hors")], [("Authorization", "Basic x")],
                            [("Authorization", "Bearer correct-horsf")], [("Authorization", "Bearer ")]):
                self.refused(server.get(target, headers), 401)
        self.assertEqual(server.get("/v2", good).status, 200)
        self.assertEqual(server.get("/v2", [("Authorization", "bearer correct-horse")]).status, 200)
        self.assertEqual(server.post(INFER, served.infer_json(ROW), good).status, 200)
        self.assertEqual(server.request("HEAD", "/v2").status, 401)
        for probe in ("/health", "/v2/health/live", "/v2/health/ready"):
            self.assertEqual(server.get(probe).status, 200)
            self.refused(server.post(probe, b""), 401)

    def test_without_one_nobody_sends_large_bodies(self):
        path = self.folder / "token"
        path.write_text("correct-horse\n")
        server = self.serve(self.model, "--token-file", path)
        self.refused(server.request("GET", "/health", b" " * 20_000), 413)
        self.refused(server.request("OPTIONS", INFER, b" " * 20_000, [
            ("Origin", "http://test"), ("Access-Control-Request-Method", "POST")]), 413)

    def test_must_be_one(self):
        path = self.folder / "token"
        for text in ("1234567\n", ""):
            path.write_text(text)
            self.refuses(1, ("serve", self.model, "--token-file", path))
        self.refuses(1, "serve net.safetensors --token-file none", ("serve", self.model, "--token-file", self.folder))


class Log(served.ServeTest):
    def test_has_a_line_for_each_request(self):
        path = self.folder / "log"
        server = self.serve(self.model, "--access-log", path, "--inspect")
        server.post(INFER, served.infer_json(ROW * 3))
        server.get("/\"quoted\"%0a")
        server.request("GET", "/health", b"", [("X", "\x01")])
        server.get("/" + "x" * 3000)
        server.post("/v1/completions", b"?", [("Content-Encoding", "gzip")])
        server.post("/v2/models/net/trace", served.infer_json(ROW))
        self.assertEqual(server.stop(), 0)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        requests = [line for line in lines if "status" in line]
        self.assertEqual([line["status"] for line in requests], [200, 404, 400, 404, 415, 200])
        self.assertEqual(requests[3]["target"], "/" + "x" * 255)
        self.assertLess(max(line["seconds"] for line in requests), 60)
        self.assertEqual([(line["method"], line["target"]) for line in (requests[2], requests[4])], [("", ""), ("POST", "/v1/completions")])
        self.assertEqual((requests[0]["model"], requests[0]["rows"], requests[0]["client"]), ("net", 3, "127.0.0.1"))
        self.assertEqual((requests[5]["model"], requests[5]["rows"]), ("net", 1))
        self.assertEqual(lines[-1]["event"], "drain")

    def test_a_line_says_when_and_how_much(self):
        path = self.folder / "log"
        server = self.serve(self.model, "--access-log", path)
        body = json.dumps(served.infer_json(ROW)).encode()
        answer = server.post(INFER, body)
        self.assertEqual(server.stop(), 0)
        line = json.loads(path.read_text().splitlines()[0])
        self.assertEqual((line["in"], line["out"]), (len(body), len(answer.body)))
        self.assertGreater(line["seconds"], line["compute_seconds"])
        written = datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00"))
        self.assertLess(abs(datetime.datetime.now(datetime.timezone.utc) - written), datetime.timedelta(minutes=10))

    def test_tells_what_was_loaded_and_unloaded(self):
        path = self.folder / "log"
        server = self.serve(self.model, "--access-log", path, "--allow-load")
        for action in ("unload", "load"):
            self.assertEqual(server.post(f"/v2/repository/models/net/{action}", b"").status, 200)
        self.model.unlink()  # the client is not told where it was
        self.refused(server.post("/v2/repository/models/net/load", b""), 400)
        self.assertEqual(server.stop(), 0)
        events = [line for line in map(json.loads, path.read_text().splitlines()) if "event" in line]
        *done, (event, message) = [(line["event"], line["message"]) for line in events[:-1]]
        self.assertEqual((done, event), ([("unload", "net"), ("load", "net")], "load failed"))
        self.assertTrue(message.startswith("net: ") and str(self.model) in message, message)

    def test_a_full_disk_keeps_nobody_from_an_answer(self):
        server = self.serve(self.model, "--access-log", "/dev/full")
        for _ in range(3):
            self.assertEqual(server.post(INFER, served.infer_json(ROW)).status, 200)
        while self.lost(server) == 0:
            time.sleep(0.01)

    def lost(self, server):
        return int(re.search(r"^limpid_log_lines_lost (\d+)$", server.get("/metrics").body.decode(), re.M)[1])

    def test_a_reader_that_leaves_keeps_nobody_from_an_answer(self):
        server = self.serve(self.model, "--access-log", "-")
        server.process.stderr.close()
        while self.lost(server) == 0:
            time.sleep(0.01)
        self.assertEqual(server.post(INFER, served.infer_json(ROW)).status, 200)

    def test_a_line_that_a_full_disk_cuts_is_one_line(self):
        path = self.folder / "log"
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        server = self.serve(self.model, "--access-log", path,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard)))
        while self.lost(server) == 0:
            time.sleep(0.01)
        self.assertEqual(path.stat().st_size, 1000)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        server.get("/health")
        self.assertEqual(server.stop(), 0)
        lines = path.read_text().splitlines()
        whole = [json.loads(line) for line in lines if line.endswith("}")]
        self.assertEqual([line.get("target") for line in whole[-2:]], ["/health", None])  # the last: the server's end
        self.assertLessEqual(len(lines) - len(whole), 1)


class Origins(served.ServeTest):
    """What web pages may do: `--allow-origin`."""

    PAGE = ("Origin", "http://localhost:3000")
    PREFLIGHT = [PAGE, ("Access-Control-Request-Method", "POST"),
                 ("Access-Control-Request-Headers", "content-type, authorization")]

    def test_none_unless_named(self):
        server = self.serve(self.model, "--allow-load")
        answer = server.get("/v2", [self.PAGE])
        self.assertEqual(answer.status, 200)
        self.assertNotIn("access-control-allow-origin", answer.headers)
        self.refused(server.request("OPTIONS", INFER, b"", self.PREFLIGHT), 403)
        self.refused(server.post(INFER, served.infer_json(ROW), [self.PAGE]), 403)
        self.refused(server.post("/v2/repository/models/net/unload", b"", [("Origin", "null")]), 403)
        self.refused(server.post(INFER, served.infer_json(ROW), [("Origin", "https://evil.example")]), 403)
        own = [("Origin", "https://127.0.0.1")]  # the Host of these requests
        self.assertEqual(server.post(INFER, served.infer_json(ROW), own).status, 200)

    def test_own_pages_have_no_strangers_name(self):
        """A hostile page's domain name may resolve to this machine."""
        server = self.serve()
        body = json.dumps(served.infer_json(ROW))
        for host, status in ((f"127.0.0.1:{server.port}", 200), ("localhost", 200), ("localhost:80", 200), ("[::1]:80", 200),
                             ("10.0.0.1", 200), ("evil.example:80", 403), ("127.0.0.1.evil.example", 403), ("localhost.evil", 403),
                             ("e", 403)):
            with self.subTest(host), server.connect() as connection:
                connection.sendall((f"POST {INFER} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
                                    f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
                with connection.makefile("rb") as stream:
                    self.assertEqual(served.read_answer(stream).status, status)

    def test_those_named(self):
        path = self.folder / "token"
        path.write_text("correct-horse\n")
        server = self.serve(self.model, "--allow-origin", self.PAGE[1], "--allow-origin", "https://example.org",
                            "--token-file", path)
        answer = server.request("OPTIONS", INFER, b"", [*self.PREFLIGHT, ("Access-Control-Request-Private-Network", "true")])
        self.assertEqual((answer.status, answer.body), (204, b""))
        self.assertFalse({"content-length", "content-type"} & answer.headers.keys())  # a 204 has neither
        self.assertEqual(answer.headers["access-control-allow-private-network"], "true")
        self.assertEqual(answer.headers["access-control-allow-origin"], self.PAGE[1])
        self.assertEqual(answer.headers["access-control-allow-headers"], "content-type, authorization")
        self.assertIn("POST", answer.headers["access-control-allow-methods"])
        answer = server.post(INFER, served.infer_json(ROW), [self.PAGE, ("Authorization", "Bearer correct-horse")])
        self.assertEqual((answer.status, answer.headers["access-control-allow-origin"]), (200, self.PAGE[1]))
        self.assertIn("Limpid-Receipt", answer.headers["access-control-expose-headers"])
        self.assertEqual(answer.headers["vary"], "Origin")  # caches keep it for this origin alone
        answer = server.post(INFER, served.infer_json(ROW), [self.PAGE])  # a page may read why it was refused
        self.assertEqual((answer.status, answer.headers["access-control-allow-origin"]), (401, self.PAGE[1]))
        self.refused(server.post(INFER, b"", [("Origin", "http://localhost:30001")]), 403)
        self.refused(server.request("OPTIONS", INFER, b"", [("Origin", "http://localhost:3000")]), 401)


class Metrics(served.ServeTest):
    def test_count(self):
        server = self.serve()
        server.post(INFER, served.infer_json(ROW * 3))
        server.post(INFER, b"{")
        text = server.get("/metrics").body.decode()
        self.assertIn('limpid_requests_total{model="net",code="200"} 1\n', text)
        self.assertIn('limpid_requests_total{model="net",code="400"} 1\n', text)
        self.assertIn('limpid_request_seconds_count{model="net"} 1\n', text)
        self.assertIn('limpid_batch_rows_sum{model="net"} 3\n', text)
        self.assertRegex(text, r'(?m)^limpid_compute_seconds_bucket\{model="net",le="\+Inf"\} 1$')
        self.assertRegex(text, r"(?m)^limpid_connections \d+$")
        resident = int(re.search(r"(?m)^limpid_resident_bytes (\d+)$", text)[1])
        self.assertLess(resident / 2, server.resident_kib() * 1024)
        self.assertGreater(resident * 2, server.resident_kib() * 1024)
        for line in text.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"]*",?)+\})? [-+.e\d]+)$')


class Ending(served.ServeTest):
    def test_what_is_under_way_is_finished(self):
        server = self.serve(self.model, "--max-delay", "1000000", "--max-batch", "2")
        with server.connect() as waiting, server.connect() as idle:
            self.assertEqual(served.exchange(idle, "GET", "/health").status, 200)
            waiting.sendall(served.request_bytes("POST", INFER, json.dumps(served.infer_json(ROW)).encode()))
            while "limpid_queue_length 1" not in server.get("/metrics").body.decode():
                time.sleep(0.01)
            server.process.send_signal(signal.SIGTERM)
            with waiting.makefile("rb") as stream:
                answer = served.read_answer(stream)
            self.assertEqual((answer.status, answer.headers["connection"]), (200, "close"))
            with idle.makefile("rb") as stream:
                self.assertEqual(stream.read(), b"")
        self.assertEqual(server.process.wait(timeout=60), 0)

    def test_a_request_that_has_begun_is_told_so(self):
        server = self.serve(self.model, "--slack", "600", "--drain", "600")  # a busy machine takes its time
        expected = {"/health": (200, {"status": "draining"}), "/v2/health/ready": (503, {"ready": False})}
        begun = {path: server.connect() for path in expected}
        for path, connection in begun.items():
            self.addCleanup(connection.close)
            connection.sendall(served.request_bytes("GET", path, b"abc")[:-1])
        while "limpid_body_bytes 4\n" not in server.get("/metrics").body.decode():
            time.sleep(0.01)
        server.process.send_signal(signal.SIGINT)
        while True:  # until it listens no longer
            try:
                server.connect().close()
            except ConnectionResetError:
                continue
            except ConnectionRefusedError:
                break
        for path, connection in begun.items():
            connection.sendall(b"c")
            with connection.makefile("rb") as stream:
                answer = served.read_answer(stream)
                self.assertEqual((answer.status, answer.json()), expected[path])
                self.assertEqual(stream.read(), b"")
            connection.close()
        self.assertEqual(server.process.wait(timeout=60), 0)

    def test_a_second_signal_ends_it_at_once(self):
        server = self.serve(self.model, "--max-delay", "10000000", "--max-batch", "2")
        with server.connect() as waiting:
            waiting.sendall(served.request_bytes("POST", INFER, json.dumps(served.infer_json(ROW)).encode()))
            while "limpid_queue_length 1" not in server.get("/metrics").body.decode():
                time.sleep(0.01)
            server.process.send_signal(signal.SIGTERM)
            # It listens no longer: the first signal was heard.
            while True:
                try:
                    server.connect().close()
                except ConnectionResetError:  # it was in the queue of those that are let in
                    continue
                except ConnectionRefusedError:
                    break
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(timeout=60), 128 + signal.SIGTERM)

    def test_those_that_take_too_long_are_cut_off(self):
        server = self.serve(self.model, "--max-delay", "10000000", "--max-batch", "2", "--drain", "0.2")
        with server.connect() as waiting:
            waiting.sendall(served.request_bytes("POST", INFER, json.dumps(served.infer_json(ROW)).encode()))
            while "limpid_queue_length 1" not in server.get("/metrics").body.decode():
                time.sleep(0.01)
            self.assertEqual(server.stop(), 0)
            self.assertEqual(waiting.recv(1), b"")

    def test_killed_it_starts_again_on_its_port(self):
        first = self.serve()
        first.post(INFER, served.infer_json(ROW))
        first.process.kill()
        first.process.wait()
        line = subprocess.Popen([tool.TOOL, "serve", self.model, "--port", str(first.port)], stdout=subprocess.PIPE)
        self.addCleanup(line.stdout.close)
        self.addCleanup(line.wait)
        self.addCleanup(line.kill)
        self.assertIn(str(first.port).encode(), line.stdout.readline())


if __name__ == "__main__":
    unittest.main()
