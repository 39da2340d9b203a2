"""docs/serving.md: its clients, run against a server of its model, and its proxies, in front of one."""

import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
import unittest

import completions_test
import served
import tool

PAGE_FILE = pathlib.Path(__file__).resolve().parents[2] / "docs/serving.md"
PAGE = PAGE_FILE.read_text()
INFER = "/v2/models/net/infer"


class Page(served.ServeTest):
    def setUp(self):
        super().setUp()
        self.output("train", "--data", "moons", "--layers", "2,8,2", "--epochs", "2", "--out", self.folder / "moons")
        self.server = self.serve(self.folder / "moons")

    def blocks(self, kind):
        """The blocks of a kind that speak to the server, for the port of this one."""
        found = [block for block in re.findall(rf"(?ms)^```{kind}\n(.*?)^```$", PAGE) if "127.0.0.1:8000" in block]
        return [block.replace("127.0.0.1:8000", f"127.0.0.1:{self.server.port}") for block in found]

    def printed(self, command, text):
        run = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_python(self):
        block, = [b for b in self.blocks("python") if "numpy" not in b]
        self.assertRegex(self.printed([sys.executable, "-"], block), r"^\[1, 2\] \(-?[\d.e-]+, -?[\d.e-]+\)\n$")

    def test_numpy(self):
        # The python3 that packages-python.txt brings NumPy to may be another than the first in PATH.
        there = [python for python in (sys.executable, "/usr/bin/python3")
                 if shutil.which(python) and subprocess.run([python, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode == 0]
        if not there:
            self.skipTest("no NumPy")
        block, = [b for b in self.blocks("python") if "numpy" in b]
        self.assertEqual(self.printed([there[0], "-"], block), "(1000, 2)\n")

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze")
    def test_the_unit(self):
        unit = self.folder / "limpid.service"
        text = (PAGE_FILE.parents[1] / "apps/limpid/limpid.service").read_text()
        unit.write_text(text.replace("/usr/bin/limpid", str(pathlib.Path(tool.TOOL).resolve())))
        run = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        command = ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", unit]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stdout[-200:] + run.stderr)
        # Its options are those of the command.
        options = set(re.findall(r"--[a-z-]+", re.search(r"(?m)^ExecStart=(.*)$", text)[1]))
        self.assertEqual(options - set(re.findall(r"--[a-z-]+", self.output("serve", "--help"))), set())

    @unittest.skipUnless(shutil.which("curl"), "no curl")
    def test_curl(self):
        block, = [b for b in self.blocks("sh") if b.startswith("curl") and "/v2" in b]
        self.assertRegex(self.printed(["bash", "-e"], block.replace("curl ", "curl -sf ")),
                         r'^\{"name":"moons",.*\}\{"model_name":"moons",.*"data":\[[^,]+,[^,]+\]\}\]\}$')

    @unittest.skipUnless(shutil.which("node"), "no Node.js")
    def test_javascript(self):
        if int(self.printed(["node", "-p", "process.versions.node"], "").split(".")[0]) < 18:
            self.skipTest("no fetch before Node.js 18")
        block, = [b for b in self.blocks("js") if "import" not in b]
        self.assertEqual(self.printed(["node", "--input-type=module", "-"], block), "2\n")

    def test_options_are_those_of_the_command(self):
        known = set(re.findall(r"--[a-z-]+", self.output("serve", "--help") + self.output("receipt", "--help")))
        shown = set(re.findall(r"`(--[a-z-]+)", PAGE))
        self.assertEqual(shown - known, set())
        limits = set(re.findall(r"--(?:max|min)-[a-z]+|--[a-z]+-time|--slack|--deadline|--drain", self.output("serve", "--help")))
        self.assertEqual(limits - set(re.findall(r"--[a-z-]+", PAGE)), set())


@unittest.skipUnless(shutil.which("openssl") and (shutil.which("nginx") or shutil.which("caddy")), "no nginx, Caddy or OpenSSL")
class Proxies(completions_test.CompletionsTest):
    """The proxies of the page, with a port and a certificate of their own."""

    SITE = "models.example.org"
    TOKENS = 200_000

    def setUp(self):
        super().setUp()
        self.log = self.folder / "log"
        self.server = self.serve(self.model, self.models["charlm"], "--max-tokens", self.TOKENS, "--access-log", self.log,
                                 "--allow-origin", f"https://{self.SITE}")
        self.certificate, self.key = self.folder / "models.pem", self.folder / "models.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.key, "-out", self.certificate,
                        "-days", "2", "-subj", f"/CN={self.SITE}", "-addext", f"subjectAltName=DNS:{self.SITE}"],
                       check=True, capture_output=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    def block(self, kind):
        block, = re.findall(rf"(?ms)^```{kind}\n(.*?)^```$", PAGE)
        self.assertIn(self.SITE, block)
        return block.replace("127.0.0.1:8000", f"127.0.0.1:{self.server.port}")

    def start(self, command):
        proxy = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.folder,
                                 env={**os.environ, "HOME": str(self.folder)})
        self.addCleanup(proxy.communicate, timeout=60)
        self.addCleanup(proxy.terminate)
        while True:
            try:
                return self.connect().close()
            except (ConnectionError, ssl.SSLError):
                self.assertIsNone(proxy.poll(), "the proxy has ended")
                time.sleep(0.02)

    def connect(self):
        context = ssl.create_default_context(cafile=self.certificate)
        return context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), timeout=60), server_hostname=self.SITE)

    def ask(self, path, body, headers=()):
        request = served.request_bytes("POST", path, body, headers).replace(b"Host: 127.0.0.1", f"Host: {self.SITE}".encode())
        connection = self.connect()
        connection.sendall(request)
        return connection

    def answer(self, *request):
        with self.ask(*request) as connection, connection.makefile("rb") as stream:
            return served.read_answer(stream)

    def passes_everything(self):
        # Rows beyond what a proxy keeps in memory.
        for count in (1, 100_000):
            body, headers = served.infer_binary([(0.5, -1.0)] * count)
            expected, found = self.server.post(INFER, body, headers), self.answer(INFER, body, headers)
            self.assertEqual((found.status, found.body), (200, expected.body))
            self.assertEqual(found.headers["limpid-receipt"], expected.headers["limpid-receipt"])
        # The pages of the site itself may ask, those of others may not.
        for origin, status in ((f"https://{self.SITE}", 200), ("https://example.net", 403)):
            found = self.answer(INFER, json.dumps(served.infer_json([(0.5, -1.0)])).encode(), [("Origin", origin)])
            self.assertEqual(found.status, status, found)
        # A stream comes while it is written, and is written no longer once its client has left.
        asked = {"model": "charlm", "prompt": "the", "max_tokens": self.TOKENS, "seed": 1, "stream": True}
        with self.ask(completions_test.PATH, json.dumps(asked).encode()) as connection:
            received = b""
            while received.count(b"data: ") < 100:
                part = connection.recv(65536)
                self.assertTrue(part, received)
                received += part
        self.until(self.server, 'limpid_texts{model="charlm"} 0')
        self.assertEqual(self.server.stop(), 0)
        statuses = [line["status"] for line in map(json.loads, self.log.read_text().splitlines()) if line.get("target") == completions_test.PATH]
        self.assertEqual(statuses, [499])

    @unittest.skipUnless(shutil.which("nginx"), "no nginx")
    def test_nginx(self):
        block = self.block("nginx").replace("listen 443", f"listen 127.0.0.1:{self.port}")
        block = block.replace("/etc/ssl/models", str(self.folder / "models"))
        temporary = "".join(f"  {kind}_temp_path {kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root; " if os.geteuid() == 0 else ""
        (self.folder / "nginx.conf").write_text(f"{user}daemon off; pid nginx.pid; events {{}}\n"
                                                f"http {{\n  access_log off;\n{temporary}{block}}}\n")
        self.start(["nginx", "-p", self.folder, "-e", "stderr", "-c", "nginx.conf"])
        self.passes_everything()

    @unittest.skipUnless(shutil.which("caddy"), "no caddy")
    def test_caddy(self):
        block = self.block("caddy").replace(f"{self.SITE} {{", f"https://{self.SITE}:{self.port} {{\n  bind 127.0.0.1\n"
                                                               f"  tls {self.certificate} {self.key}")
        (self.folder / "Caddyfile").write_text("{\n  admin off\n  auto_https disable_redirects\n}\n" + block)
        self.start(["caddy", "run", "--adapter", "caddyfile", "--config", "Caddyfile"])
        self.passes_everything()


if __name__ == "__main__":
    unittest.main()
