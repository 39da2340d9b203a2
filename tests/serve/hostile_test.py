"""Malicious or faulty clients: their answers, and that other clients are not affected."""

import json
import struct
import unittest

import served

INFER = "/v2/models/net/infer"
EVERY = "/v2/models/every/infer"


def get(target="/health", *lines, version="1.1", method="GET"):
    return "\r\n".join([f"{method} {target} HTTP/{version}", "Host: h", *lines, "", ""]).encode()


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

# Name, bytes of the connection, status of each answer in the order on the wire.
CASES = [
    # Lines and headers.
    ("well formed", get(), [200]),
    ("two in a row", get() + get(), [200, 200]),
    ("pipelined with bodies", post(GOOD) + get() + post(GOOD), [200, 200, 200]),
    ("fifty in a row", get() * 50, [200] * 50),
    ("HTTP/1.0", get(version="1.0"), [200]),
    ("HTTP/1.0 without Host", b"GET /health HTTP/1.0\r\n\r\n", [200]),
    ("HTTP/1.0 keeps alive if asked", get("/health", "Connection: keep-alive", version="1.0") + get(), [200, 200]),
    ("HTTP/2.0", get(version="2.0"), [505]),
    ("HTTP/0.9", b"GET /health\r\n\r\n", [400]),
    ("HTTP/1.2", get(version="1.2"), [505]),
    ("HTTP/3", b"GET / HTTP/3\r\nHost: h\r\n\r\n", [505]),
    ("preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [505]),
    ("lower-case version", b"GET / http/1.1\r\nHost: h\r\n\r\n", [505]),
    ("a greeting of TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", [400]),
    ("zeros", b"\0" * 64 + b"\r\n\r\n", [400]),
    ("bytes above 127", b"\xff" * 64 + b"\r\n\r\n", [400]),
    ("an empty line first", b"\r\n" + get(), [400]),
    ("only empty lines", b"\r\n\r\n\r\n", [400]),
    ("no target", b"GET  HTTP/1.1\r\nHost: h\r\n\r\n", [400]),
    ("no version", b"GET /\r\nHost: h\r\n\r\n", [400]),
    ("two spaces", b"GET  /health HTTP/1.1\r\nHost: h\r\n\r\n", [400]),
    ("a tab between", b"GET\t/health\tHTTP/1.1\r\nHost: h\r\n\r\n", [400]),
    ("a space first", b" GET /health HTTP/1.1\r\nHost: h\r\n\r\n", [400]),
    ("more behind the version", b"GET /health HTTP/1.1 x\r\nHost: h\r\n\r\n", [505]),
    ("bare LF", b"GET /health HTTP/1.1\nHost: h\n\n\r\n\r\n", [400]),
    ("bare LF in a header", b"GET /health HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", [400]),
    ("bare CR in a header", b"GET /health HTTP/1.1\r\nHost: h\rX: y\r\n\r\n", [400]),
    ("CR CR LF", b"GET /health HTTP/1.1\r\r\nHost: h\r\n\r\n", [400]),
    ("a folded header", b"GET /health HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", [400]),
    ("a folded header, tab", b"GET /health HTTP/1.1\r\nHost: h\r\nX: a\r\n\tb\r\n\r\n", [400]),
    ("a folded first header", b"GET /health HTTP/1.1\r\n Host: h\r\n\r\n", [400]),
    ("a zero byte in a header", get("/health", "X: a\0b"), [400]),
    ("an escape in a header", get("/health", "X: \x1b[31m"), [400]),
    ("DEL in a header", get("/health", "X: \x7f"), [400]),
    ("a zero byte in a name", get("/health", "X\0: a"), [400]),
    ("a space before the colon", get("/health", "X : a"), [400]),
    ("a header without a colon", get("/health", "nonsense"), [400]),
    ("a header without a name", get("/health", ": a"), [400]),
    ("a name with brackets", get("/health", "X(y): a"), [400]),
    ("an empty value", get("/health", "X:"), [200]),
    ("Latin-1 in a value", b"GET /health HTTP/1.1\r\nHost: h\r\nX: \xe4\r\n\r\n", [200]),
    ("no Host", b"GET /health HTTP/1.1\r\n\r\n", [400]),
    ("two Hosts", get("/health", "Host: i"), [400]),
    ("an empty Host", b"GET /health HTTP/1.1\r\nHost:\r\n\r\n", [200]),
    ("a long header", get("/health", "X: " + "a" * 20000), [431]),
    ("many headers", get("/health", *[f"X{i}: a" for i in range(3000)]), [431]),
    ("a header that never ends", get("/health")[:-2] + b"X: " + b"a" * 40000, [431]),
    ("a long URL", get("/" + "a" * 10000), [414]),
    ("a URL that never ends", b"GET /" + b"a" * 40000, [414]),
    ("a long method", b"A" * 9000 + b" / HTTP/1.1\r\nHost: h\r\n\r\n", [414]),
    ("Upgrade is not taken", get("/health", "Upgrade: websocket", "Connection: Upgrade"), [200]),
    ("Connection: close", get("/health", "Connection: close") + get(), [200]),
    ("Expect of another kind", post(GOOD, "Expect: 200-maybe"), [417]),
    ("Expect", post(GOOD, "Expect: 100-continue"), [200]),
    # Methods.
    ("an unknown method", get(method="BREW"), [405]),
    ("a method in small letters", get(method="get"), [405]),
    ("DELETE", get(method="DELETE"), [405]),
    ("OPTIONS", get(method="OPTIONS"), [405]),
    ("TRACE", get(method="TRACE"), [405]),
    ("CONNECT", b"CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", [400]),
    ("a method with brackets", b"G[T / HTTP/1.1\r\nHost: h\r\n\r\n", [400]),
    ("POST to health", post(GOOD, target="/health"), [405]),
    ("GET of infer", get(INFER), [405]),
    # Targets.
    ("the root", get("/"), [200]),
    ("absolute", get("http://h/health"), [200]),
    ("absolute, capital", get("HTTP://h/health"), [200]),
    ("absolute without path", get("http://h"), [200]),
    ("another scheme", get("ftp://h/health"), [400]),
    ("an asterisk", get("*"), [400]),
    ("no slash", get("health"), [400]),
    ("a query", get("/health?x=%zz"), [200]),
    ("a fragment", get("/health#x"), [400]),
    ("percent alone", get("/%"), [400]),
    ("percent and one digit", get("/%4"), [400]),
    ("percent and no digits", get("/%gg"), [400]),
    ("percent-encoded", get("/%68ealth"), [200]),
    ("a zero byte", get("/health%00"), [400]),
    ("no UTF-8", get("/v2/models/%ff"), [400]),
    ("overlong UTF-8", get("/v2/models/%c0%af"), [400]),
    ("a surrogate", get("/v2/models/%ed%a0%80"), [400]),
    ("raw bytes above 127", b"GET /\xe4 HTTP/1.1\r\nHost: h\r\n\r\n", [400]),
    ("an encoded slash", get("/v2%2fmodels"), [404]),
    ("an empty segment", get("/v2//models"), [404]),
    ("a slash behind", get("/health/"), [404]),
    ("dots", get("/v2/models/../../health"), [404]),
    ("encoded dots", get("/v2/models/%2e%2e/%2e%2e/etc/passwd"), [404]),
    ("a path as a model", get("/v2/models/%2fetc%2fpasswd"), [404]),
    ("a long name", get("/v2/models/" + "n" * 4000), [404]),
    ("an unknown page", get("/admin"), [404]),
    ("an unknown model", post(GOOD, target="/v2/models/nett/infer"), [404]),
    ("a model in capitals", post(GOOD, target="/v2/models/NET/infer"), [404]),
    ("no model", get("/v2/models/"), [404]),
    ("an unknown version", get("/v2/models/net/versions/9"), [404]),
    ("version 0", get("/v2/models/net/versions/0"), [404]),
    ("a version that is none", get("/v2/models/net/versions/latest"), [404]),
    ("a huge version", get("/v2/models/net/versions/99999999999999999999"), [404]),
    ("versions without one", get("/v2/models/net/versions"), [404]),
    ("load is off", post(b"", target="/v2/repository/models/net/load"), [403]),
    ("unload is off", post(b"", target="/v2/repository/models/net/unload"), [403]),
    ("load of a path", post(b"", target="/v2/repository/models/..%2f..%2fetc/load"), [403]),
    ("a version with more behind it", get("/v2/models/net/versions/1x"), [404]),
    ("the repository itself", post(b"", target="/v2/repository"), [404]),
    ("another repository", post(b"", target="/v2/repository/files/net/load"), [404]),
    ("another action", post(b"", target="/v2/repository/models/net/reload"), [404]),
    # Lengths and codings.
    ("both lengths", chunked(b"0\r\n\r\n", "Content-Length: 5"), [400]),
    ("both, the other way round", post(b"0\r\n\r\n", "Transfer-Encoding: chunked"), [400]),
    ("two lengths that agree", post(GOOD, f"Content-Length: {len(GOOD)}"), [400]),
    ("two lengths that do not", post(GOOD, "Content-Length: 1"), [400]),
    ("a list of lengths", post(GOOD, length=f"{len(GOOD)}, {len(GOOD)}"), [400]),
    ("a negative length", post(GOOD, length=-1), [400]),
    ("a length with a sign", post(GOOD, length=f"+{len(GOOD)}"), [400]),
    ("a length in hexadecimal", post(GOOD, length="0x10"), [400]),
    ("a length with a fraction", post(GOOD, length="5.0"), [400]),
    ("an empty length", post(GOOD, length=""), [400]),
    ("a length that overflows", post(GOOD, length=2**64 + 5), [400]),
    ("the largest length", post(GOOD, length=2**64 - 1), [413]),
    ("a large length", post(GOOD, length=10**12), [413]),
    ("gzip, chunked", get(INFER, "Transfer-Encoding: gzip, chunked", method="POST"), [501]),
    ("chunked, identity", get(INFER, "Transfer-Encoding: chunked, identity", method="POST"), [501]),
    ("gzip", get(INFER, "Transfer-Encoding: gzip", method="POST"), [501]),
    ("chunked twice", get(INFER, "Transfer-Encoding: chunked, chunked", method="POST"), [501]),
    ("chunked in two headers", chunked(b"0\r\n\r\n", "Transfer-Encoding: chunked"), [400]),
    ("xchunked", get(INFER, "Transfer-Encoding: xchunked", method="POST"), [501]),
    ("chunked of HTTP/1.0", get(INFER, "Transfer-Encoding: chunked", version="1.0", method="POST"), [400]),
    ("a compressed body", post(GOOD, "Content-Encoding: gzip"), [415]),
    ("a compressed bomb", post(b"\x1f\x8b\x08" + b"\0" * 100, "Content-Encoding: deflate"), [415]),
    ("chunks", chunked(b"%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD)), [200]),
    ("chunks of one byte", chunked(b"".join(b"1\r\n%c\r\n" % b for b in GOOD) + b"0\r\n\r\n"), [200]),
    ("capital hexadecimal", chunked(b"%X\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD)), [200]),
    ("zeros before the size", chunked(b"000%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD)), [200]),
    ("an extension", chunked(b"%x;a=b\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD)), [200]),
    ("a trailer", chunked(b"%x\r\n%s\r\n0\r\nX: y\r\n\r\n" % (len(GOOD), GOOD)), [200]),
    ("a size that overflows", chunked(b"fffffffffffffffff\r\n"), [400]),
    ("the largest size", chunked(b"ffffffffffffffff\r\n"), [413]),
    ("a size above the limit", chunked(b"ffffffff\r\n"), [413]),
    ("a negative size", chunked(b"-5\r\nhello\r\n0\r\n\r\n"), [400]),
    ("a size that is none", chunked(b"xyz\r\nhello\r\n0\r\n\r\n"), [400]),
    ("a size with 0x", chunked(b"0x5\r\nhello\r\n0\r\n\r\n"), [400]),
    ("no size", chunked(b"\r\nhello\r\n0\r\n\r\n"), [400]),
    ("a chunk that is too long", chunked(b"3\r\nhello\r\n0\r\n\r\n"), [400]),
    ("a chunk with LF", chunked(b"5\nhello\n0\n\n"), [400]),
    ("an endless extension", chunked(b"5;" + b"a" * 40000), [400]),
    ("an endless size", chunked(b"0" * 40000), [400]),
    ("an endless trailer", chunked(b"0\r\nX: " + b"a" * 40000), [400]),
    ("smuggled behind chunks", chunked(b"0\r\n\r\n" + get("/v2")), [400, 200]),
    ("smuggled behind a body", post(b"", length=0) + get("/v2"), [400, 200]),
    ("a body for GET", get("/health", "Content-Length: 3") + b"abc" + get("/v2"), [200, 200]),
    # JSON.
    ("no body", post(b""), [400]),
    ("no JSON", post(b"hello"), [400]),
    ("a number", post(b"1"), [400]),
    ("a list", post(b"[]"), [400]),
    ("null", post(b"null"), [400]),
    ("an empty object", post(b"{}"), [400]),
    ("cut off", post(GOOD[:-1]), [400]),
    ("more behind", post(GOOD + b"x"), [400]),
    ("two documents", post(GOOD + GOOD), [400]),
    ("a comma too many", post(GOOD[:-1] + b",}"), [400]),
    ("a comment", post(GOOD + b"// x"), [400]),
    ("no UTF-8 in a string", post(b'{"id":"\xff","inputs":[]}'), [400]),
    ("a lone surrogate", post(b'{"id":"\\ud800","inputs":[]}'), [400]),
    ("a byte order mark", post(b"\xef\xbb\xbf" + GOOD), [400]),
    ("UTF-16", post(GOOD.decode().encode("utf-16")), [400]),
    ("deep lists", post(b"[" * 100000), [400]),
    ("deep lists that close", post(b"[" * 50000 + b"]" * 50000), [400]),
    ("deep data", post(tensor(data="@")).replace(b'"@"', b"[" * 900 + b"]" * 900), [400]),
    ("NaN without quotes", post(GOOD.replace(b"[1, 2]}", b"[NaN, 2]}").replace(b'"data": [1', b'"data": [NaN')), [400]),
    ("a zero byte in JSON", post(GOOD.replace(b"1", b"\0")), [400]),
    ("inputs twice", post(b'{"inputs":[],"inputs":[]}'), [400]),
    ("data twice", post(GOOD.replace(b'"data": [1, 2]', b'"data": [1, 2], "data": [3, 4]')), [400]),
    ("inputs is no list", post({"inputs": {}}), [400]),
    ("no inputs", post({"inputs": []}), [400]),
    ("inputs of numbers", post({"inputs": [1]}), [400]),
    ("an id that is no string", post(dict(tensor(), id=1)), [400]),
    ("parameters that are none", post(dict(tensor(), parameters=[])), [400]),
    # Tensors.
    ("no name", post(tensor(name=None)), [400]),
    ("another name", post(tensor(name="y")), [400]),
    ("a path as a name", post(tensor(name="../x")), [400]),
    ("an input twice", post({"inputs": tensor()["inputs"] * 2}), [400]),
    ("an input too many", post({"inputs": tensor()["inputs"] + tensor(name="z")["inputs"]}), [400]),
    ("no datatype", post(tensor(datatype=None)), [400]),
    ("another datatype", post(tensor(datatype="FP64")), [400]),
    ("an unknown datatype", post(tensor(datatype="BYTES")), [400]),
    ("no shape", post(tensor(shape=None)), [400]),
    ("an empty shape", post(tensor(shape=[])), [400]),
    ("a shape without rows", post(tensor(shape=[2])), [400]),
    ("a shape of another row", post(tensor(shape=[1, 3])), [400]),
    ("a shape with an axis more", post(tensor(shape=[1, 1, 2])), [400]),
    ("a shape of twenty axes", post(tensor(shape=[1] * 20)), [400]),
    ("a negative shape", post(tensor(shape=[-1, 2])), [400]),
    ("two negative axes", post(tensor(shape=[-1, -2])), [400]),
    ("a shape of fractions", post(tensor(shape=[1.0, 2])), [400]),
    ("a shape of text", post(tensor(shape=["1", "2"])), [400]),
    ("a shape that overflows", post(tensor(shape=[2**62, 2])), [413]),
    ("a shape beyond 64 bits", post(tensor(shape=[2**64, 2])), [400]),
    ("a shape that lies, more", post(tensor(shape=[1000000, 2])), [400]),
    ("a shape that lies, less", post(tensor(shape=[0, 2])), [400]),
    ("no data", post(tensor(data=None)), [400]),
    ("data is no list", post(tensor(data=1)), [400]),
    ("too few numbers", post(tensor(data=[1])), [400]),
    ("too many numbers", post(tensor(data=[1, 2, 3])), [400]),
    ("text as numbers", post(tensor(data=["1", "2"])), [400]),
    ("null as a number", post(tensor(data=[None, 1])), [400]),
    ("true as a number", post(tensor(data=[True, 1])), [400]),
    ("an object as a number", post(tensor(data=[{}, 1])), [400]),
    ("nan in small letters", post(tensor(data=["nan", 1])), [400]),
    ("NaN as a string", post(tensor(data=["NaN", "-Infinity"])), [200]),
    ("a number beyond FP32", post(tensor(data=[1e39, 0])), [400]),
    ("a number beyond FP64", post(GOOD.replace(b"[1, 2]}", b"[1e999, 2]}").replace(b'"data": [1,', b'"data": [1e999,')), [400]),
    ("a tiny number", post(tensor(data=[1e-320, 0])), [200]),
    ("lists that are uneven", post(tensor(shape=[2, 2], data=[[1, 2, 3], [4]])), [400]),
    ("lists that are too deep", post(tensor(data=[[[1], [2]]])), [400]),
    ("a list among numbers", post(tensor(data=[1, [2]])), [400]),
    ("numbers among lists", post(tensor(shape=[2, 2], data=[[1, 2], 3])), [400]),
    ("a fraction for INT32", post(every(i32=[1.5, 0]), target=EVERY), [400]),
    ("beyond INT8", post(every(i8=[128, 0]), target=EVERY), [400]),
    ("below UINT8", post(every(u8=[-1, 0]), target=EVERY), [400]),
    ("beyond INT64", post(every(i64=[2**63, 0]), target=EVERY), [400]),
    ("a number for BOOL", post(every(bool=[1, 0]), target=EVERY), [400]),
    ("beyond FP16", post(every(f16=[65536, 0]), target=EVERY), [400]),
    ("an input is missing", post({"inputs": every()["inputs"][1:]}, target=EVERY), [400]),
    ("inputs of other rows", post({"inputs": every()["inputs"][:-1] + [
        {"name": "bool", "datatype": "BOOL", "shape": [2, 2], "data": [True] * 4}]}, target=EVERY), [400]),
    ("all is well", post(every(), target=EVERY), [200]),
    ("another output", post(dict(tensor(), outputs=[{"name": "z"}])), [400]),
    ("an output twice", post(dict(tensor(), outputs=[{"name": "logits"}] * 2)), [400]),
    ("outputs are no list", post(dict(tensor(), outputs="logits")), [400]),
    ("binary_data is no flag", post(dict(tensor(), outputs=[{"name": "logits", "parameters": {"binary_data": 1}}])), [400]),
    # The binary tensor extension.
    ("binary", binary(SIZED, struct.pack("<2f", 1, 2)), [200]),
    ("binary, too short", binary(SIZED, b"1234567"), [400]),
    ("binary, too long", binary(SIZED, b"123456789"), [400]),
    ("binary, no bytes", binary(SIZED, b""), [400]),
    ("binary, another size", binary(tensor(data=None, parameters={"binary_data_size": 4}), b"1234"), [400]),
    ("binary, negative size", binary(tensor(data=None, parameters={"binary_data_size": -8}), b"12345678"), [400]),
    ("binary, huge size", binary(tensor(data=None, parameters={"binary_data_size": 2**64 - 1}), b"12345678"), [400]),
    ("binary, rows that lie", binary(tensor(shape=[2**19, 2], data=None, parameters={"binary_data_size": 2**22}), b""), [400]),
    ("binary and data", binary(tensor(parameters={"binary_data_size": 8}), b"12345678"), [400]),
    ("binary without the header", post(json.dumps(SIZED).encode() + b"12345678"), [400]),
    ("a JSON length beyond the body", binary(SIZED, b"12345678", 10**6), [400]),
    ("a JSON length of 0", binary(SIZED, b"12345678", 0), [400]),
    ("a JSON length in the middle", binary(SIZED, b"12345678", 10), [400]),
    ("a JSON length that is none", binary(SIZED, b"12345678", "x"), [400]),
    ("a JSON length that is negative", binary(SIZED, b"12345678", -1), [400]),
    ("a JSON length that overflows", binary(SIZED, b"12345678", 2**70), [400]),
    # Headers of ours.
    ("a deadline that is none", post(GOOD, "Limpid-Deadline-Ms: soon"), [400]),
    ("a deadline with a unit", post(GOOD, "Limpid-Deadline-Ms: 100s"), [400]),
    ("a deadline of 0", post(GOOD, "Limpid-Deadline-Ms: 0"), [400]),
    ("a long deadline", post(GOOD, "Limpid-Deadline-Ms: 9000000000000000000"), [200]),
    ("a deadline that overflows", post(GOOD, "Limpid-Deadline-Ms: 99999999999999999999"), [400]),
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

    def test_there_are_enough(self):
        self.assertGreaterEqual(len(CASES), 150)
        names = [name for name, _, _ in CASES]
        self.assertEqual(len(names), len(set(names)))

    def test_each_is_answered_so(self):
        for name, sent, statuses in CASES:
            with self.subTest(name):
                answers = self.answers(sent, len(statuses))
                self.assertEqual([a and a.status for a in answers], statuses, (name, answers))
                for answer in answers:
                    if answer.status != 200:
                        self.refused(answer, answer.status)
        self.assertEqual(self.server.post(INFER, GOOD).body, self.expected)
        self.assertIsNone(self.server.process.poll())

    def test_refused_connections_end(self):
        for name, sent, statuses in CASES:
            if statuses != [431] and statuses != [414]:
                continue
            with self.subTest(name), self.server.connect(timeout=20) as connection:
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
