"""Shared by the tests of the server: a server in a process, sockets, parsed answers."""

import ast
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import tool  # noqa: E402

# One input and output of every dtype, which pass through.
DTYPES = {"f32": "FP32", "f64": "FP64", "bf16": "BF16", "f16": "FP16", "i32": "INT32", "i64": "INT64", "i8": "INT8",
          "u8": "UINT8", "bool": "BOOL"}
PACK = {"f32": "f", "f64": "d", "bf16": "H", "f16": "H", "i32": "i", "i64": "q", "i8": "b", "u8": "B", "bool": "B"}


def all_dtypes_model():
    inputs = ", ".join(f"%{name}: {name}[2]" for name in DTYPES)
    outputs = ", ".join(f"out_{name} = %{name}" for name in DTYPES)
    text = f"function every({inputs}) {{\n  return {outputs}\n}}\n"
    metadata = dict(tool.metadata_of(text), **{"limpid.inputs": str(len(DTYPES))})
    return tool.file_of(tool.header_of({}, metadata), b"")


class Server:
    """A server in a process; self.port is where it listens."""

    def __init__(self, *arguments, **options):
        self.process = subprocess.Popen([tool.TOOL, "serve", *map(str, arguments), "--port", "0", "--threads", "1"],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening on http://127.0.0.1:"):
            raise AssertionError(f"{line!r} {self.process.stderr.read().decode()}")
        self.port = int(line.rsplit(":", 1)[1])

    def connect(self, timeout=60):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def stop(self):
        """Asks it to end; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=60)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.process.stderr.close()

    def request(self, method, path, body=b"", headers=()):
        with self.connect() as connection:
            return exchange(connection, method, path, body, headers)

    def get(self, path, headers=()):
        return self.request("GET", path, b"", headers)

    def post(self, path, body, headers=()):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        return self.request("POST", path, body, headers)

    def resident_kib(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise AssertionError("no VmRSS")


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:200]!r}"


def read_answer(stream, head_only=False):
    """The next answer of a connection's file; None at its end."""
    line = stream.readline()
    if not line:
        return None
    version, status = line.split(b" ", 2)[:2]
    assert version == b"HTTP/1.1", line
    headers = {}
    for line in iter(stream.readline, b"\r\n"):
        assert line.endswith(b"\r\n"), line
        name, value = line[:-2].decode().split(": ", 1)
        headers[name.lower()] = value
    if int(status) == 100:
        return Answer(100, headers, b"")
    body = b""
    if headers.get("transfer-encoding") == "chunked":
        while size := int(stream.readline(), 16):
            body += stream.read(size)
            assert stream.readline() == b"\r\n"
        assert stream.readline() == b"\r\n"
    elif not head_only and int(status) != 204:
        body = stream.read(int(headers["content-length"]))
        assert len(body) == int(headers["content-length"]), "the answer is cut off"
    return Answer(int(status), headers, body)


def request_bytes(method, path, body=b"", headers=()):
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers)]
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def exchange(connection, method, path, body=b"", headers=()):
    connection.sendall(request_bytes(method, path, body, headers))
    with connection.makefile("rb") as stream:
        answer = read_answer(stream, method == "HEAD")
        if method == "HEAD" and answer.headers["connection"] == "close":
            assert stream.read() == b"", "an answer to HEAD has no body"
        return answer


def infer_json(rows, name="x", columns=2, binary_output=False):
    """A request to a network: rows of numbers."""
    request = {"inputs": [{"name": name, "datatype": "FP32", "shape": [len(rows), columns],
                           "data": [number for row in rows for number in row]}]}
    if binary_output:
        request["parameters"] = {"binary_data_output": True}
    return request


def infer_binary(rows, name="x", columns=2, binary_output=True):
    """The same with the numbers as bytes: body and headers."""
    data = b"".join(struct.pack(f"<{columns}f", *row) for row in rows)
    head = json.dumps({"inputs": [{"name": name, "datatype": "FP32", "shape": [len(rows), columns],
                                   "parameters": {"binary_data_size": len(data)}}],
                       "parameters": {"binary_data_output": binary_output}}).encode()
    return head + data, [("Inference-Header-Content-Length", len(head)), ("Content-Type", "application/octet-stream")]


def outputs_of(answer):
    """Name -> bytes of every output of an answer: f32 alone where they are JSON."""
    size = int(answer.headers.get("inference-header-content-length", len(answer.body)))
    document, rest, outputs = json.loads(answer.body[:size]), answer.body[size:], {}
    for output in document["outputs"]:
        if "data" in output:
            outputs[output["name"]] = b"".join(struct.pack("<f", float(x)) for x in output["data"])
        else:
            count = output["parameters"]["binary_data_size"]
            outputs[output["name"]], rest = rest[:count], rest[count:]
    assert not rest
    return outputs


def npy_bytes(rows):
    """NumPy's file of f32 [rows, columns]."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    numbers = [x for row in rows for x in row]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(numbers)}f",
                                                                                                 *numbers)


def npy_data(content):
    length, = struct.unpack("<H", content[8:10])
    ast.literal_eval(content[10:10 + length].decode())
    return content[10 + length:]


class ServeTest(tool.ToolTest):
    """Each test has a folder with two networks; serve() starts a server that ends with the test."""

    def setUp(self):
        super().setUp()
        self.model = self.folder / "net.safetensors"
        self.model.write_bytes(tool.model_bytes(*tool.REAL))
        self.every = self.folder / "every.safetensors"
        self.every.write_bytes(all_dtypes_model())

    def serve(self, *arguments, **options):
        server = Server(*(arguments or (self.model,)), **options)
        self.addCleanup(server.stop)
        return server

    def run_rows(self, rows, model=None):
        """The output of `limpid run` for the rows, as bytes."""
        source, result = self.folder / "in.npy", self.folder / "out.npy"
        source.write_bytes(npy_bytes(rows))
        self.output("run", model or self.model, "--input", f"x={source}", "--out", result)
        return npy_data(result.read_bytes())

    def until_metric(self, server, line):
        """Waits for a line of /metrics."""
        end = time.monotonic() + 60
        while line + "\n" not in (metrics := server.get("/metrics").body.decode()):
            self.assertLess(time.monotonic(), end, f"{line} is expected, came {metrics}")
            time.sleep(0.01)

    def refused(self, answer, status):
        """Records the message of an answer with this status."""
        self.says(self.message_of(answer, status))

    def refused_by_openai(self, answer, status):
        """Records the message of an error in OpenAI's form."""
        self.assertEqual(answer.status, status, answer)
        error = answer.json()["error"]
        self.assertEqual(list(error), ["message", "type", "param", "code"])
        self.says(error["message"])
        self.assertNotIn("\n", error["message"])

    def message_of(self, answer, status):
        self.assertEqual(answer.status, status, answer)
        message = answer.json()["error"]
        self.assertNotIn("\n", message)
        self.assertNotIn(str(self.folder), answer.body.decode())
        return message
