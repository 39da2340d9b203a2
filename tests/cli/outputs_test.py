"""Where the tool's outputs go: through links, pipes and devices; what a terminal is shown."""

import contextlib
import fcntl
import os
import pty
import re
import resource
import stat
import struct
import subprocess
import termios
import threading
import tty
import unittest

import tool


class Outputs(tool.ToolTest):
    def setUp(self):
        super().setUp()
        sizes, tensors = tool.WHOLE
        self.model = self.folder / "model.safetensors"
        self.model.write_bytes(tool.model_bytes(sizes, tensors))

    def writers(self, out):
        """Commands that write one file."""
        return {"emit": ("emit", self.model, "--cpp", out, "--namespace", "net"),
                "run": ("run", self.model, "--values", "1,2", "--out", out),
                "quantize": ("quantize", self.model, "--to", "bf16", "--out", out)}

    def test_a_file_that_is_replaced_keeps_its_mode(self):
        for name, suffix in (("emit", "h"), ("run", "npy"), ("quantize", "safetensors")):
            out = self.folder / f"out.{suffix}"
            out.write_text("old")
            out.chmod(0o640)
            self.output(*self.writers(out)[name])
            self.assertEqual(stat.S_IMODE(out.stat().st_mode), 0o640)
            self.assertGreater(out.stat().st_size, 3)

    def test_links_lead_to_the_file(self):
        (self.folder / "far").mkdir()
        link = self.folder / "link.h"
        link.symlink_to("far/out.h")
        self.output(*self.writers(link)["emit"])
        self.assertTrue(link.is_symlink())
        self.assertIn("namespace net", (self.folder / "far" / "out.h").read_text())
        loop = self.folder / "loop.h"
        loop.symlink_to("loop.h")
        self.refuses(1, self.writers(loop)["emit"])
        self.assertTrue(loop.is_symlink())

    def test_pipes_and_devices_are_written_to(self):
        header = self.folder / "out.h"
        self.output(*self.writers(header)["emit"])
        self.assertEqual(self.output(*self.writers("/dev/stdout")["emit"]), header.read_text())

        # A model, and nothing but it.
        writers = [("quantize", self.model, "--to", "bf16", "--out")]
        if "onnx-ops" in self.output("--help"):
            self.output("convert", self.model, self.folder / "m.onnx")
            writers.append(("convert", self.folder / "m.onnx"))
        for writer in writers:
            direct = self.folder / "direct.safetensors"
            self.output(*writer, direct)
            self.assertEqual(self.run_tool(*writer, "/dev/stdout").stdout, direct.read_bytes())
            self.refuses(2, (*writer, "/dev/stdout", "--json"))

        redirected = self.folder / "redirected.h"
        with redirected.open("wb") as file:
            self.run_tool(*self.writers("/dev/stdout")["emit"], stdout=file)
        self.assertEqual(redirected.read_text(), header.read_text())

        pipe = self.folder / "pipe.h"
        os.mkfifo(pipe)
        got = []
        reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
        reader.start()
        self.output(*self.writers(pipe)["emit"])
        reader.join()
        self.assertEqual(got, [header.read_text()])
        self.assertTrue(stat.S_ISFIFO(pipe.lstat().st_mode))

        self.refuses(1, self.writers("/dev/full")["emit"])
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))

    @tool.not_sanitized
    def test_no_memory_is_one_line(self):
        """Under limits from almost nothing to enough."""
        ends = set()
        for megabytes in (*range(30, 90, 6), 1 << 20):
            limit = megabytes << 20
            run = self.run_tool("train", "--data", "moons,count=200", "--hidden", "300,300", "--epochs", "1", "--threads", "1",
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            if run.returncode == 127:  # the system could not even load the program
                continue
            ends.add(run.returncode)
            self.assertIn(run.returncode, (0, 1), f"{megabytes} MiB: {run.stderr}")
            if run.returncode == 1:
                self.assertRegex(run.stderr.decode(), r"\Alimpid: [^\n]+\n\Z", f"{megabytes} MiB")
        self.assertEqual(ends, {0, 1})
        # What serves starts threads, which need memory of their own; where there is enough it goes on until it is killed.
        for megabytes in range(20, 64, 4):
            limit = megabytes << 20
            run = subprocess.run(["timeout", "-s", "KILL", "1", tool.TOOL, "view", "--no-open"], capture_output=True, timeout=60,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            self.assertNotIn(b"terminate", run.stderr, f"{megabytes} MiB")
            self.assertNotEqual(run.returncode, 128 + 6, f"{megabytes} MiB")  # SIGABRT
        # Also where the memory is for many small values, not for a tensor.
        config = self.folder / "config.json"
        config.write_text("[" + "0," * 900_000 + "0]")
        limit = 50 << 20
        run = self.run_tool("train", "--config", config, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual((run.returncode, run.stderr), (1, b"limpid: out of memory\n"))


class Terminal(tool.ToolTest):
    def shown(self, columns, term, *arguments):
        """What a run shows on a terminal of so many columns."""
        ours, theirs = pty.openpty()
        tty.setraw(theirs)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([tool.TOOL, *map(str, arguments)], stdout=theirs, env={**os.environ, "TERM": term})
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # how a terminal reports that nobody writes any more
            while part := os.read(ours, 4096):
                shown += part
        os.close(ours)
        self.assertEqual(process.wait(), 0)
        return shown.decode()

    TRAIN = ("train", "--data", "moons,count=3000", "--hidden", "40,40", "--epochs", "3", "--threads", "1")

    def bars(self, text):
        """Lines that are overwritten: a carriage return follows. The rows of epochs end in a newline."""
        return re.findall(r"\r\x1b\[K([^\r\n]+)(?=\r)", text)

    def test_a_bar_fits_the_terminal(self):
        for columns in (20, 40, 60, 80, 200):
            text = self.shown(columns, "xterm", *self.TRAIN)
            bars = [b for b in self.bars(text) if "loss" in b or "/" in b]
            self.assertTrue(bars, columns)
            self.assertLess(max(map(len, bars)), columns)
            # What stays is what a pipe would get.
            self.assertNotRegex(re.sub(r"[^\n]*\r\x1b\[K", "", text), "[━╌\r\x1b]")
        self.assertTrue(any(re.search("[━╌]{20}", b) for b in bars))

    def test_there_are_no_colours(self):
        """Nor anything else that NO_COLOR forbids."""
        self.assertNotRegex(self.shown(80, "xterm-256color", *self.TRAIN, "--lr", "30"), r"\x1b\[[\d;]*m")

    def test_a_terminal_without_orders_gets_none(self):
        for term in ("dumb", ""):
            text = self.shown(80, term, *self.TRAIN)
            self.assertNotIn("\x1b", text)
            self.assertNotIn("\r", text)
            self.assertIn("3/3", text)


if __name__ == "__main__":
    unittest.main()
