"""Malicious or faulty clients: their answers, and that other clients are not affected."""

import json
import struct
import unittest

import served

INFER = "/v2/models/net/infer"
EVERY = "/v2/models/every/infer"


def get(target="/health", *lines, version="1.1", method="GET"):
    return "\r\n".join([f"{method} {target} HTTP/{version}", "Host: 1", *lines, "", ""]).encode()


def post(body=b"", *lines, target=INFER, length=None):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return get(target, f"Content-Length: {len(body) if length is None else length}", *lines, method="POST") + body


def chunked(body, *lines, target=INFER):
    return get(target, "Transfer-Encoding: chunked", *lines, method="POST") + body


def tensor(**changes):
    """A request to `net`, its one input changed; None takes a member away."""
    one = dict({"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}, **changes)
    return {"inputs": [{key: value for key, value in one.items() if value is not None}]}


def binary(head, data, length=None):
    head = json.dumps(head).encode()
    return post(head + data, f"Inference-Header-Content-Length: {len(head) if length is None else length}")


def every(**data):
    """A request to `every`: one row, of which some data is changed."""
    return {"inputs": [{"name": name, "datatype": dtype, "shape": [1, 2],
                        "data": data.get(name, [False, True] if name == "bool" else [0, 1])}
                       for name, dtype in served.DTYPES.items()]}


GOOD = json.dumps(tensor()).encode()
SIZED = tensor(data=None, parameters={"binary_data_size": 8})

# The status of each answer in the order on the wire, and the bytes of connections.
CASES = [
    ([200],
        get(), get(version="1.0"), b"GET /health HTTP/1.0\r\n\r\n", get("/health", "X:"), b"GET /health HTTP/1.1\r\nHost: 1\r\nX: \xe4\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost:\r\n\r\n", get("/health", "Upgrade: websocket", "Connection: Upgrade"), get("/health", "Connection: close") + get(),
        post(GOOD, "Expect: 100-continue"), get("/"), get("http://h/health"), get("HTTP://h/health"), get("http://h"), get("/health?x=%zz"), get("/%68ealth"),
        chunked(b"%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD)), chunked(b"".join(b"1\r\n%c\r\n" % b for b in GOOD) + b"0\r\n\r\n"),
        chunked(b"%X\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD)), chunked(b"000%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD)),
        chunked(b"%x;a=b\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD)), chunked(b"%x\r\n%s\r\n0\r\nX: y\r\n\r\n" % (len(GOOD), GOOD)),
        post(tensor(data=["NaN", "-Infinity"])), post(tensor(data=[1e-320, 0])), post(every(), target=EVERY), binary(SIZED, struct.pack("<2f", 1, 2)),
        post(GOOD, "Limpid-Deadline-Ms: 9000000000000000000"),
    ),
    ([200, 200],
        get() + get(), get("/health", "Connection: keep-alive", version="1.0") + get(), get("/health", "Content-Length: 3") + b"abc" + get("/v2"),
    ),
    ([200, 200, 200], post(GOOD) + get() + post(GOOD)),
    ([200] * 50, get() * 50),
    ([505],
        get(version="2.0"), get(version="1.2"), b"GET / HTTP/3\r\nHost: 1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / http/1.1\r\nHost: 1\r\n\r\n",
        b"GET /health HTTP/1.1 x\r\nHost: 1\r\n\r\n",
    ),
    ([400],
        b"GET /health\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"\0" * 64 + b"\r\n\r\n", b"\xff" * 64 + b"\r\n\r\n",
        b"\r\n" + get(), b"\r\n\r\n\r\n", b"GET  HTTP/1.1\r\nHost: 1\r\n\r\n", b"GET /\r\nHost: 1\r\n\r\n", b"GET  /health HTTP/1.1\r\nHost: 1\r\n\r\n",
        b"GET\t/health\tHTTP/1.1\r\nHost: 1\r\n\r\n", b" GET /health HTTP/1.1\r\nHost: 1\r\n\r\n", b"GET /health HTTP/1.1\nHost: 1\n\n\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: 1\nX: y\r\n\r\n", b"GET /health HTTP/1.1\r\nHost: 1\rX: y\r\n\r\n", b"GET /health HTTP/1.1\r\r\nHost: 1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: 1\r\nX: a\r\n b\r\n\r\n", b"GET /health HTTP/1.1\r\nHost: 1\r\nX: a\r\n\tb\r\n\r\n",
        b"GET /health HTTP/1.1\r\n Host: 1\r\n\r\n", get("/health", "X: a\0b"), get("/health", "X: \x1b[31m"), get("/health", "X: \x7f"),
        get("/health", "X\0: a"), get("/health", "X : a"), get("/health", "nonsense"), get("/health", ": a"), get("/health", "X(y): a"),
        b"GET /health HTTP/1.1\r\n\r\n", get("/health", "Host: i"), b"CONNECT h:80 HTTP/1.1\r\nHost: 1\r\n\r\n", b"G[T / HTTP/1.1\r\nHost: 1\r\n\r\n",
        get("ftp://h/health"), get("*"), get("health"), get("/health#x"), get("/%"), get("/%4"), get("/%gg"), get("/health%00"), get("/v2/models/%ff"),
        get("/v2/models/%c0%af"), get("/v2/models/%ed%a0%80"), b"GET /\xe4 HTTP/1.1\r\nHost: 1\r\n\r\n", chunked(b"0\r\n\r\n", "Content-Length: 5"),
        post(b"0\r\n\r\n", "Transfer-Encoding: chunked"), post(GOOD, f"Content-Length: {len(GOOD)}"), post(GOOD, "Content-Length: 1"),
        post(GOOD, length=f"{len(GOOD)}, {len(GOOD)}"), post(GOOD, length=-1), post(GOOD, length=f"+{len(GOOD)}"), post(GOOD, length="0x10"),
        post(GOOD, length="5.0"), post(GOOD, length=""), post(GOOD, length=2**64 + 5), chunked(b"0\r\n\r\n", "Transfer-Encoding: chunked"),
        get(INFER, "Transfer-Encoding: chunked", version="1.0", method="POST"), chunked(b"fffffffffffffffff\r\n"), chunked(b"-5\r\nhello\r\n0\r\n\r\n"),
        chunked(b"xyz\r\nhello\r\n0\r\n\r\n"), chunked(b"0x5\r\nhello\r\n0\r\n\r\n"), chunked(b"\r\nhello\r\n0\r\n\r\n"), chunked(b"3\r\nhello\r\n0\r\n\r\n"),
        chunked(b"5\nhello\n0\n\n"), chunked(b"5;" + b"a" * 40000), chunked(b"0" * 40000), chunked(b"0\r\nX: " + b"a" * 40000), post(b""), post(b"hello"),
        post(b"1"), post(b"[]"), post(b"null"), post(b"{}"), post(GOOD[:-1]), post(GOOD + b"x"), post(GOOD + GOOD), post(GOOD[:-1] + b",}"),
        post(GOOD + b"// x"), post(b'{"id":"\xff","inputs":[]}'), post(b'{"id":"\\ud800","inputs":[]}'), post(b"\xef\xbb\xbf" + GOOD),
        post(GOOD.decode().encode("utf-16")), post(b"[" * 100000), post(b"[" * 50000 + b"]" * 50000),
        post(tensor(data="@")).replace(b'"@"', b"[" * 900 + b"]" * 900), post(GOOD.replace(b"[1, 2]}", b"[NaN, 2]}").replace(b'"data": [1', b'"data": [NaN')),
        post(GOOD.replace(b"1", b"\0")), post(b'{"inputs":[],"inputs":[]}'), post(GOOD.replace(b'"data": [1, 2]', b'"data": [1, 2], "data": [3, 4]')),
        post({"inputs": {}}), post({"inputs": []}), post({"inputs": [1]}), post(dict(tensor(), id=1)), post(dict(tensor(), parameters=[])),
        post(tensor(name=None)), post(tensor(name="y")), post(tensor(name="../x")), post({"inputs": tensor()["inputs"] * 2}),
        post({"inputs": tensor()["inputs"] + tensor(name="z")["inputs"]}), post(tensor(datatype=None)), post(tensor(datatype="FP64")),
        post(tensor(datatype="BYTES")), post(tensor(shape=None)), post(tensor(shape=[])), post(tensor(shape=[2])), post(tensor(shape=[1, 3])),
        post(tensor(shape=[1, 1, 2])), post(tensor(shape=[1] * 20)), post(tensor(shape=[-1, 2])), post(tensor(shape=[-1, -2])), post(tensor(shape=[1.0, 2])),
        post(tensor(shape=["1", "2"])), post(tensor(shape=[2**64, 2])), post(tensor(shape=[1000000, 2])), post(tensor(shape=[0, 2])), post(tensor(data=None)),
        post(tensor(data=1)), post(tensor(data=[1])), post(tensor(data=[1, 2, 3])), post(tensor(data=["1", "2"])), post(tensor(data=[None, 1])),
        post(tensor(data=[True, 1])), post(tensor(data=[{}, 1])), post(tensor(data=["nan", 1])), post(tensor(data=[1e39, 0])),
        post(GOOD.replace(b"[1, 2]}", b"[1e999, 2]}").replace(b'"data": [1,', b'"data": [1e999,')), post(tensor(shape=[2, 2], data=[[1, 2, 3], [4]])),
        post(tensor(data=[[[1], [2]]])), post(tensor(data=[1, [2]])), post(tensor(shape=[2, 2], data=[[1, 2], 3])), post(every(i32=[1.5, 0]), target=EVERY),
        post(every(i8=[128, 0]), target=EVERY), post(every(u8=[-1, 0]), target=EVERY), post(every(i64=[2**63, 0]), target=EVERY),
        post(every(bool=[1, 0]), target=EVERY), post(every(f16=[65536, 0]), target=EVERY), post({"inputs": every()["inputs"][1:]}, target=EVERY),
        post({'inputs': every()['inputs'][:-1] + [{'name': 'bool', 'datatype': 'BOOL', 'shape': [2, 2], 'data': [True] * 4}]}, target=EVERY),
        post(dict(tensor(), outputs=[{"name": "z"}])), post(dict(tensor(), outputs=[{"name": "logits"}] * 2)), post(dict(tensor(), outputs="logits")),
        post(dict(tensor(), outputs=[{"name": "logits", "parameters": {"binary_data": 1}}])), binary(SIZED, b"1234567"), binary(SIZED, b"123456789"),
        binary(SIZED, b""), binary(tensor(data=None, parameters={"binary_data_size": 4}), b"1234"),
        binary(tensor(data=None, parameters={"binary_data_size": -8}), b"12345678"),
        binary(tensor(data=None, parameters={"binary_data_size": 2**64 - 1}), b"12345678"),
        binary(tensor(shape=[2**19, 2], data=None, parameters={"binary_data_size": 2**22}), b""),
        binary(tensor(parameters={"binary_data_size": 8}), b"12345678"), post(json.dumps(SIZED).encode() + b"12345678"), binary(SIZED, b"12345678", 10**6),
        binary(SIZED, b"12345678", 0), binary(SIZED, b"12345678", 10), binary(SIZED, b"12345678", "x"), binary(SIZED, b"12345678", -1),
        binary(SIZED, b"12345678", 2**70), post(GOOD, "Limpid-Deadline-Ms: soon"), post(GOOD, "Limpid-Deadline-Ms: 100s"),
        post(GOOD, "Limpid-Deadline-Ms: 0"), post(GOOD, "Limpid-Deadline-Ms: 99999999999999999999"),
    ),
    ([431],
        get("/health", "X: " + "a" * 20000), get("/health", *[f"X{i}: a" for i in range(3000)]), get("/health")[:-2] + b"X: " + b"a" * 40000,
    ),
    ([414],
        get("/" + "a" * 10000), b"GET /" + b"a" * 40000, b"A" * 9000 + b" / HTTP/1.1\r\nHost: 1\r\n\r\n",
    ),
    ([417], post(GOOD, "Expect: 200-maybe")),
    ([405],
        get(method="BREW"), get(method="get"), get(method="DELETE"), get(method="OPTIONS"), get(method="TRACE"), post(GOOD, target="/health"), get(INFER),
    ),
    ([404],
        get("/v2%2fmodels"), get("/v2//models"), get("/health/"), get("/v2/models/../../health"), get("/v2/models/%2e%2e/%2e%2e/etc/passwd"),
        get("/v2/models/%2fetc%2fpasswd"), get("/v2/models/" + "n" * 4000), get("/admin"), post(GOOD, target="/v2/models/nett/infer"),
        post(GOOD, target="/v2/models/NET/infer"), get("/v2/models/"), get("/v2/models/net/versions/9"), get("/v2/models/net/versions/0"),
        get("/v2/models/net/versions/latest"), get("/v2/models/net/versions/99999999999999999999"), get("/v2/models/net/versions"),
        get("/v2/models/net/versions/1x"), post(b"", target="/v2/repository"), post(b"", target="/v2/repository/files/net/load"),
        post(b"", target="/v2/repository/models/net/reload"),
    ),
    ([403],
        post(b"", target="/v2/repository/models/net/load"), post(b"", target="/v2/repository/models/net/unload"),
        post(b"", target="/v2/repository/models/..%2f..%2fetc/load"),
    ),
    ([413],
        post(GOOD, length=2**64 - 1), post(GOOD, length=10**12), chunked(b"ffffffffffffffff\r\n"), chunked(b"ffffffff\r\n"), post(tensor(shape=[2**62, 2])),
    ),
    ([501],
        get(INFER, "Transfer-Encoding: gzip, chunked", method="POST"), get(INFER, "Transfer-Encoding: chunked, identity", method="POST"),
        get(INFER, "Transfer-Encoding: gzip", method="POST"), get(INFER, "Transfer-Encoding: chunked, chunked", method="POST"),
        get(INFER, "Transfer-Encoding: xchunked", method="POST"),
    ),
    ([415],
        post(GOOD, "Content-Encoding: gzip"), post(b"\x1f\x8b\x08" + b"\0" * 100, "Content-Encoding: deflate"),
    ),
    ([400, 200],
        chunked(b"0\r\n\r\n" + get("/v2")), post(b"", length=0) + get("/v2"),
    ),
]


class Hostile(served.ServeTest):
    def setUp(self):
        super().setUp()
        self.server = self.serve(self.model, self.every, "--max-body", 2**20)
        self.expected = self.server.post(INFER, GOOD).body

    def answers(self, sent, count):
        """The answers to these bytes, as many as expected, and whether the server then closed the connection."""
        with self.server.connect(timeout=20) as connection:
            try:
                connection.sendall(sent)
            except (BrokenPipeError, ConnectionResetError):
                pass  # refused before all of it was sent
            with connection.makefile("rb") as stream:
                answers = [served.read_answer(stream) for _ in range(count)]
                while answers[0] and answers[0].status == 100:
                    answers = answers[1:] + [served.read_answer(stream)]
        return answers

    def test_each_is_answered_so(self):
        for statuses, *requests in CASES:
            for sent in requests:
                with self.subTest(sent=sent[:200]):
                    answers = self.answers(sent, len(statuses))
                    self.assertEqual([a and a.status for a in answers], statuses, answers)
                    for answer in answers:
                        if answer.status != 200:
                            self.message_of(answer, answer.status)
        self.assertEqual(self.server.post(INFER, GOOD).body, self.expected)
        self.assertIsNone(self.server.process.poll())

    def test_refused_connections_end(self):
        for sent in (sent for statuses, *requests in CASES if statuses in ([431], [414]) for sent in requests):
            with self.subTest(sent=sent[:200]), self.server.connect(timeout=20) as connection:
                connection.sendall(sent)
                with connection.makefile("rb") as stream:
                    self.assertEqual(served.read_answer(stream).headers["connection"], "close")
                    self.assertEqual(stream.read(), b"")

    def test_cut_off_anywhere(self):
        request = post(GOOD)
        for end in range(0, len(request), 3):
            with self.server.connect() as connection:
                connection.sendall(request[:end])
        for end in range(1, len(request), 16):
            with self.server.connect() as connection:
                connection.sendall(request[:end])
                # A reset, not an end.
                connection.setsockopt(served.socket.SOL_SOCKET, served.socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.assertEqual(self.server.post(INFER, GOOD).body, self.expected)

    def test_byte_by_byte(self):
        with self.server.connect() as connection:
            connection.setsockopt(served.socket.IPPROTO_TCP, served.socket.TCP_NODELAY, 1)
            for byte in post(GOOD):
                connection.sendall(bytes([byte]))
            with connection.makefile("rb") as stream:
                self.assertEqual(served.read_answer(stream).body, self.expected)


if __name__ == "__main__":
    unittest.main()
