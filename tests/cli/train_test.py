"""Training as its users meet it: configurations, checkpoints, signals, full disks, what the log says."""

import fcntl
import json
import os
import pathlib
import pty
import random
import re
import resource
import signal
import subprocess
import termios
import time
import unittest

import tool

KILLS = 50


class TrainTest(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        tool.write_idx_folder(self.data, [i % 3 for i in range(60)], [i % 3 for i in range(20)])
        self.out = self.folder / "run"

    def arguments(self, *more, out=None):
        """A small run that uses much of what there is."""
        return ("train", "--data", f"idx:{self.data}", "--hidden", "6,5", "--dropout", "0.2", "--norm", "batch",
                "--optimizer", "adamw", "--batch", "7", "--accumulate", "2", "--threads", "1",
                "--out", out or self.out, *more)

    def start(self, *arguments, **options):
        return subprocess.Popen([tool.TOOL, *map(str, arguments)], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, **options)

    def interrupted(self, which=signal.SIGTERM, epochs=4000, *more):
        """A run that a signal ended, with the rest of its output."""
        process = self.start(*self.arguments("--epochs", epochs, *more))
        while not (self.out / "checkpoint.safetensors").exists():
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        time.sleep(0.05)
        process.send_signal(which)
        _, message = process.communicate(timeout=60)
        return process.returncode, message.decode()

    def log(self, out=None):
        """The log's events without fields that differ from run to run: times, command line, resumes."""
        events = [json.loads(line) for line in ((out or self.out) / "log.jsonl").read_text().splitlines()]
        for event in events:
            for key in ("samples_per_second", "seconds", "command"):
                event.pop(key, None)
        return [event for event in events if event["event"] != "resume"]

    def model(self, out=None):
        return ((out or self.out) / "model.safetensors").read_bytes()

    def expect_same_run(self, other):
        self.assertEqual(self.model(), self.model(other))
        self.assertEqual(self.log(), self.log(other))


class Folds(tool.ToolTest):
    def test_each_row_is_tested_once_and_the_means_are_of_the_runs(self):
        table = self.folder / "t.csv"
        table.write_text("a,b,y\n" + "".join(f"{i % 7},{i % 5},{'pq'[i % 7 > 3]}\n" for i in range(60)))
        out = self.folder / "folds"
        words = ("train", "--data", f"csv:{table},target=y", "--hidden", "4", "--epochs", "3", "--folds", "3", "--out", out)
        last = json.loads(self.output(*words, "--json").splitlines()[-1])
        scores = [self.document("eval", out / f"fold-{k}", "--data", f"csv:{table},target=y") for k in (1, 2, 3)]
        self.assertEqual([s["part"] for s in scores], ["test"] * 3)
        self.assertEqual([s["examples"] for s in scores], [20] * 3)
        accuracies = [s["accuracy"] for s in scores]
        self.assertEqual(last["test"]["accuracy"]["folds"], accuracies)
        self.assertAlmostEqual(last["test"]["accuracy"]["mean"], sum(accuracies) / 3)
        self.refuses(2, f"train --data moons --folds 3; train --data csv:{table},target=y,split=80/20 --folds 3")


class Killed(TrainTest):
    def test_at_any_moment_nothing_is_lost(self):
        whole = self.folder / "whole"
        arguments = ("--data", f"idx:{self.data},split=80/20", "--patience", "150", "--epochs", "200",
                     "--checkpoint-every", "1", "--log-every", "1")
        start = time.monotonic()
        self.output(*self.arguments(*arguments, out=whole))
        life = (time.monotonic() - start) / 12
        chance = random.Random(1)
        kills = 0
        runs = 0
        while kills < KILLS:
            self.out = self.folder / f"run{runs}"
            runs += 1
            command = self.arguments(*arguments)
            while True:
                process = self.start(*command)
                try:
                    # No kills beyond the requested number: the last run may then finish.
                    _, message = process.communicate(
                        timeout=chance.uniform(0, life) if kills < KILLS else 120)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                    kills += 1
                    if (self.out / "config.json").exists():
                        command = ("train", "--resume", self.out, "--threads", "1")
                    continue
                self.assertEqual((process.returncode, message), (0, b""))
                break
            self.expect_same_run(whole)
        self.assertEqual(sorted(p.name for p in self.out.iterdir()),
                         ["checkpoint.safetensors", "config.json", "log.jsonl", "model.safetensors", "report.html"])


class Stopped(TrainTest):
    def test_without_a_folder_nothing_is_saved(self):
        process = subprocess.Popen([tool.TOOL, "train", "--data", "moons", "--epochs", "100000", "--threads", "1"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while b"samples/s" not in process.stdout.readline():
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        said, message = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        self.assertNotIn(b"on the test set", said)
        self.assertRegex(message, rb"\Alimpid: [^\n]* \d+ of \d+; [^\n]*\n\Z")

    def test_signals_end_a_run_in_good_order(self):
        for which, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            self.out = self.folder / which.name
            returned, message = self.interrupted(which, 1000, "--log-every", 1000)  # epochs are logged, of five steps
            self.assertEqual(returned, code)
            self.assertRegex(message, r"\Alimpid: [^\n]* step \d+ of 5000; [^\n]*\n\Z")
            self.assertEqual(self.log()[-1]["reason"], "interrupted")
            self.assertFalse((self.out / "report.html").exists())
            step = int(re.search(r"after step (\d+)", message)[1])
            run, = self.document("runs", self.out)["runs"]
            self.assertEqual((run["step"], run["state"]), (step, f"interrupted after step {step}"))
            self.output("train", "--resume", self.out, "--threads", "1")
            self.assertEqual(self.log()[-1]["reason"], "finished")
        self.expect_same_run(self.folder / "SIGTERM")

    def test_unfinished_runs_are_not_overwritten_by_chance(self):
        self.interrupted()
        checkpoint = (self.out / "checkpoint.safetensors").read_bytes()
        self.error(2, *self.arguments("--epochs", "1"))
        self.assertEqual((self.out / "checkpoint.safetensors").read_bytes(), checkpoint)
        self.output(*self.arguments("--epochs", "1", "--overwrite"))
        # Before the data is read, which may take minutes.
        self.refuses(2, self.arguments("--epochs", "1"), "train --data csv:none.csv,target=y --out run")

    def test_what_resume_refuses(self):
        self.refuses(1, "train --resume nowhere")
        self.output(*self.arguments("--epochs", "2"))
        finished = self.model()
        self.refuses(2, "train --resume run --batch 3; train --resume run --out run")
        self.output("train", "--resume", self.out)
        self.assertEqual(self.model(), finished)
        self.refuses(1, "train --resume run --epochs 1")
        for what in (self.data / "train-labels-idx1-ubyte", self.out / "config.json"):
            good = what.read_bytes()
            what.write_bytes(good.replace(b"\x01\x02", b"\x02\x01").replace(b'"seed": 0', b'"seed": 1'))
            self.refuses(1, "train --resume run")
            what.write_bytes(good)
        checkpoint = self.out / "checkpoint.safetensors"
        good = checkpoint.read_bytes()
        for broken in (good[:-1], good.replace(b"state.step", b"state.stop"), finished):
            checkpoint.write_bytes(broken)
            self.refuses(1, "train --resume run")
        checkpoint.write_bytes(good)
        (self.out / "log.jsonl").write_text("{}\n{}\n")
        self.refuses(1, "train --resume run")
        self.assertEqual(self.model(), finished)

    def test_a_second_training_in_a_folder_is_refused(self):
        process = self.start(*self.arguments("--epochs", 100000))
        while not (self.out / "checkpoint.safetensors").exists():
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        for arguments in (self.arguments("--epochs", 1), self.arguments("--epochs", 1, "--overwrite"),
                          ("train", "--resume", self.out)):
            self.refuses(1, arguments)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        self.error(2, *self.arguments("--epochs", 1))

    def test_progress_on_a_narrow_terminal(self):
        """The remaining time is whole, or left out. The last epoch has 100 steps."""
        for columns in (40, 50, 100):
            text = tool.on_terminal(columns, "train", "--data", "digits,count=20000", "--steps", "257")
            drawn = [part.split("\r")[0] for part in text.split("\r\x1b[K")[1:] if re.search(r"/\d+   loss ", part)]
            self.assertGreater(len(drawn), 1)
            epochs = set()
            for line in drawn:
                self.assertLess(len(line), columns)
                self.assertRegex(line, r" loss \d+\.\d{4}(   \d+:\d\d left)?$")
                epoch, step, steps = map(int, re.search(r"^ +(\d)/2 .* (\d+)/(\d+)   loss ", line).groups())
                self.assertEqual(steps, 157 if epoch == 1 else 100)
                self.assertTrue(1 <= step <= steps, line)
                bar = "".join(re.findall("[\u2501\u254c]", line))
                full = len(bar) * step // steps
                self.assertEqual(bar, "\u2501" * full + "\u254c" * (len(bar) - full))
                epochs.add(epoch)
            self.assertEqual(epochs, {1, 2})

    def test_a_path_is_not_empty(self):
        self.refuses(2, "train --data moons --out ''; train --data moons --resume ''; train --data moons --config ''")

    def test_a_resumed_run_may_have_more_patience(self):
        """Where nothing is learnt, the first epoch stays the best."""
        self.output("train", "--data", "moons,count=60,split=80/20", "--lr", "1e-30", "--epochs", "9", "--patience", "1", "--threads", "1",
                    "--out", self.out)
        self.output("train", "--resume", self.out, "--patience", "4", "--threads", "1")
        self.assertEqual([event["epoch"] for event in self.log() if event["event"] == "epoch"], [1, 2, 3, 4, 5])


class Signals(TrainTest):
    """A signal at any time: at most one line of output, no partly written files, and --resume continues to the same bits."""

    def setUp(self):
        super().setUp()
        # Checkpoints that are slow to write, after each of the 15 steps.
        self.big = ("--hidden", "900,900", "--epochs", "3", "--checkpoint-every", "1")
        self.whole = self.folder / "whole"
        self.output(*self.arguments(*self.big, out=self.whole))

    def started(self, **options):
        """A run in a new folder that listens to signals."""
        self.out = self.folder / f"run{len(list(self.folder.iterdir()))}"
        process = self.start(*self.arguments(*self.big), **options)
        self.addCleanup(process.stderr.close)
        while not self.listens(process, signal.SIGTERM):
            self.assertIsNone(process.poll())
            time.sleep(0.001)
        return process

    @staticmethod
    def listens(process, which, mask="SigCgt"):
        """Whether the process has a handler for the signal; by another mask, whether it is ShdPnd: sent and not yet received."""
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        return int(re.search(rf"{mask}:\s*(\w+)", status)[1], 16) >> which - 1 & 1 == 1

    @staticmethod
    def stop(process):
        process.send_signal(signal.SIGSTOP)
        while process.poll() is None:
            if pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T":
                break
            time.sleep(0.001)

    def temporary_files(self):
        return [p.name for p in self.out.iterdir() if p.name.endswith(".tmp")]

    def stop_while_it_writes(self, process):
        """Stops the process while a checkpoint is partly written."""
        while True:
            self.assertIsNone(process.poll(), "no checkpoint was seen while it was written")
            if self.temporary_files():
                self.stop(process)
                if self.temporary_files():
                    return
                process.send_signal(signal.SIGCONT)

    def expect_good_order(self, process, which, message):
        self.assertEqual(process.returncode, 128 + which, message)
        self.assertRegex(message, rb"\Alimpid: train: interrupted after step \d+ of 15; [^\n]+\n\Z")
        self.expect_to_go_on("interrupted")

    def expect_to_go_on(self, reason=None):
        if reason:
            self.assertEqual(self.temporary_files(), [])
            self.assertEqual(self.log()[-1].get("reason"), reason)
        self.output("train", "--resume", self.out, "--threads", "1")
        self.assertEqual(self.temporary_files(), [])
        self.expect_same_run(self.whole)

    def test_sigterm_while_a_checkpoint_is_written(self):
        for which in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            process = self.started()
            self.stop_while_it_writes(process)
            process.send_signal(which)
            process.send_signal(signal.SIGCONT)
            while process.poll() is None and self.temporary_files():
                time.sleep(0.001)
            # The terminal closes, too, while the run is on its way out.
            self.stop(process)
            if process.poll() is None and self.listens(process, signal.SIGHUP):
                process.send_signal(signal.SIGHUP)
            process.send_signal(signal.SIGCONT)
            _, message = process.communicate(timeout=60)
            self.expect_good_order(process, which, message)

    def test_the_same_signal_again_ends_it_at_once(self):
        for which in (signal.SIGINT, signal.SIGTERM):
            for _ in range(20):  # until the second signal arrives before the first has ended the run
                process = self.started()
                self.stop_while_it_writes(process)
                process.send_signal(which)
                while process.poll() is None and self.listens(process, which, "ShdPnd"):
                    process.send_signal(signal.SIGCONT)
                    self.stop(process)
                if process.poll() is None:
                    self.assertFalse(self.listens(process, which), "as soon as it is received")
                process.send_signal(which)
                process.send_signal(signal.SIGCONT)
                _, message = process.communicate(timeout=60)
                if process.returncode < 0:
                    break
                self.expect_good_order(process, which, message)
            self.assertEqual((process.returncode, message), (-which, b""))
            self.expect_to_go_on()

    def test_sighup_as_often_as_it_comes(self):
        process = self.started()
        for _ in range(3):
            process.send_signal(signal.SIGHUP)
            time.sleep(0.005)
        _, message = process.communicate(timeout=60)
        self.expect_good_order(process, signal.SIGHUP, message)

    def test_sighup_is_ignored_below_nohup(self):
        process = self.started(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.assertFalse(self.listens(process, signal.SIGHUP))
        process.send_signal(signal.SIGHUP)
        time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, message = process.communicate(timeout=60)
        self.expect_good_order(process, signal.SIGTERM, message)

    def test_a_closed_terminal(self):
        for is_told in (True, False):  # by a SIGHUP, or only by failing writes
            ours, its = pty.openpty()

            def take_terminal():
                os.setsid()
                if is_told:
                    fcntl.ioctl(its, termios.TIOCSCTTY, 0)

            self.out = self.folder / f"terminal{is_told}"
            process = subprocess.Popen([tool.TOOL, *map(str, self.arguments(*self.big))], stdin=its, stdout=its,
                                       stderr=its, preexec_fn=take_terminal)
            os.close(its)
            said = b""
            while b"epoch" not in said:  # the table's heading: training steps have begun
                said += os.read(ours, 1000)
            os.close(ours)
            self.assertEqual(process.wait(timeout=60), 128 + signal.SIGHUP)
            self.expect_to_go_on("interrupted")


class Long(TrainTest):
    def test_the_log_of_any_run_is_bounded(self):
        arguments = ("train", "--data", "xor,count=40", "--hidden", "1", "--batch", "1", "--log-every", "1",
                     "--threads", "1", "--epochs")
        self.output(*arguments, 1500, "--out", self.out)  # 48,000 steps
        log = self.out / "log.jsonl"
        steps = [e["step"] for e in map(json.loads, log.read_text().splitlines()) if e["event"] == "step"]
        self.assertLess(len(steps), 17_000)
        self.assertEqual(steps[0], 1)
        self.assertEqual({b - a for a, b in zip(steps[1:], steps[2:])}, {4})
        self.output("doctor", self.out)
        self.output("train", "--resume", self.out, "--epochs", 1501, "--threads", "1")
        self.assertLess(log.stat().st_size, 4 << 20)


class Disk(TrainTest):
    def limited(self, size):
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    def test_a_full_disk_leaves_the_last_checkpoint(self):
        whole = self.folder / "whole"
        self.output(*self.arguments("--epochs", "1000", out=whole))
        self.interrupted(epochs=1000)
        checkpoint = self.out / "checkpoint.safetensors"
        good = checkpoint.read_bytes()
        log = (self.out / "log.jsonl").stat().st_size
        # Limits of file size: too small for the log; enough for the log but for no checkpoint; enough for both for a while.
        for size in (100, max(log, len(good) - 1), len(good) + log + 5000):
            process = self.start("train", "--resume", self.out, "--threads", "1", preexec_fn=self.limited(size))
            _, message = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1, size)
            self.assertRegex(message.decode(), r"\Alimpid: write '[^\n]*': File too large\n\Z")
            self.assertFalse(list(self.out.glob(".limpid-*")))
            if size < len(good):
                self.assertEqual(checkpoint.read_bytes(), good)
        self.output("train", "--resume", self.out, "--threads", "1")
        self.expect_same_run(whole)

    def test_folders_that_cannot_be(self):
        file = self.folder / "file"
        file.write_text("")
        for out in (file, file / "run", "/proc/run"):
            self.refuses(1, self.arguments("--epochs", "1", out=out))


class Configuration(TrainTest):
    def config(self, content):
        path = self.folder / "config.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def test_what_is_printed_goes_into_no_file_of_the_run(self):
        """A closed standard output is no number for the log to get."""
        run = subprocess.run(["sh", "-c", '"$@" <&- >&- 2>&-', "sh", tool.TOOL, *map(str, self.arguments("--epochs", "2"))], timeout=120)
        self.assertEqual(run.returncode, 1)  # what was to be printed could not be
        self.assertEqual(self.log()[0]["event"], "run")

    def test_the_effective_configuration_repeats_the_run(self):
        self.output(*self.arguments("--epochs", "3", "--warmup", "2", "--clip-norm", "1", "--label-smoothing", "0.1"))
        again = self.folder / "again"
        self.output("train", "--config", self.out / "config.json", "--out", again, "--threads", "1")
        self.expect_same_run(again)
        self.assertEqual((self.out / "config.json").read_text(), (again / "config.json").read_text())

    def test_a_table_stops_early_unless_its_length_is_chosen(self):
        table = self.folder / "t.csv"
        table.write_text("a,b,kind\n" + "".join(f"{i % 7},{i % 5},{'pq'[i % 7 > 3]}\n" for i in range(200)))
        for more, patience in (((), 20), (("--epochs", "2"), 0), (("--patience", "3"), 3)):
            self.output("train", "--data", f"csv:{table},target=kind", *more, "--out", self.out, "--overwrite")
            self.assertEqual(json.loads((self.out / "config.json").read_text())["early_stopping"]["patience"], patience)

    def test_flags_override_the_file(self):
        path = self.config({"data": f"idx:{self.data}", "epochs": 7, "model": {"hidden": [3], "dropout": 0.1},
                            "optimizer": {"name": "sgd", "lr": 0.5}})
        self.output("train", "--config", path, "--epochs", "1", "--hidden", "none", "--out", self.out)
        config = json.loads((self.out / "config.json").read_text())
        self.assertEqual(config["epochs"], 1)
        self.assertEqual(config["model"]["layers"], [4, 3])
        self.assertEqual(config["model"]["dropout"], 0.1)
        self.assertEqual(config["optimizer"]["lr"], 0.5)
        self.assertEqual(config["optimizer"]["momentum"], 0.9)

    def test_another_optimizer_than_the_one_of_a_run(self):
        self.output(*self.arguments("--epochs", "1"))
        again = self.folder / "again"
        self.output("train", "--config", self.out / "config.json", "--optimizer", "sgd", "--out", again, "--threads", "1")
        optimizer = json.loads((again / "config.json").read_text())["optimizer"]
        self.assertEqual((optimizer["name"], optimizer["momentum"], "beta1" in optimizer), ("sgd", 0.9, False))

    def test_all_faults_are_named_at_once(self):
        path = self.config({"epochs": "x", "optimizer": {"lr": "fast", "foo": 1}, "model": 3, "batch": 0, "seed": 1.5,
                            "schedule": {"name": "never"}, "clip": {"norm": 0}, "check_finite": 1, "dropout": 0.5})
        self.refuses(2, ("train", "--config", path))

    def test_no_configuration(self):
        self.refuses(2, ("train", "--config", self.config("[]")))
        self.refuses(1, "train --config missing.json")

    def test_what_contradicts_itself_or_the_data(self):
        self.refuses(2, *(("train", "--data", "idx:data", "--epochs", "0", *wrong.split()) for wrong in (
            "--loss mse", "--metric rmse", "--huber-delta 1", "--epochs 1.5")))

    def test_what_contradicts_itself_is_refused_before_the_data_is_read(self):
        self.refuses(1, "train --data csv:missing.csv")
        self.refuses(2, *(("train", "--data", "csv:missing.csv", *wrong.split()) for wrong in (
            "--optimizer adagrad --nesterov", "--epochs 1 --steps 1")))


class Told(TrainTest):
    def test_json_lines_are_those_of_the_log(self):
        lines = self.output(*self.arguments("--epochs", "3", "--json")).splitlines()
        self.assertEqual(lines, (self.out / "log.jsonl").read_text().splitlines())
        events = [json.loads(line) for line in lines]
        self.assertEqual(events[0]["event"], "run")
        self.assertEqual(events[0]["command"], [tool.TOOL, *map(str, self.arguments("--epochs", "3", "--json"))])
        self.assertEqual(events[0]["data"]["train"], 60)
        self.assertEqual([e["epoch"] for e in events if e["event"] == "epoch"], [1, 2, 3])
        self.assertEqual(len([e for e in events if e["event"] == "step"]), 15)
        self.assertEqual(events[-1]["event"], "end")
        self.assertEqual(events[-1]["reason"], "finished")
        self.assertEqual(sum(map(sum, events[-1]["test"]["confusion"])), 20)

    def test_everything_tells_the_steps_that_were_done(self):
        """Even if the log has only every seventh."""
        self.output("train", "--data", "moons,count=500", "--epochs", "40", "--batch", "50", "--log-every", "7", "--out", self.out,
                    "--threads", "1")
        self.assertEqual([e["step"] for e in self.log() if e["event"] == "step"][-1], 399)
        self.assertEqual(self.log()[-1]["step"], 400)
        self.assertRegex(self.output("doctor", self.out), r"\A\d+ rules found nothing wrong in 400 steps\.\n\Z")
        self.assertEqual([run["step"] for run in self.document("runs", self.out)["runs"]], [400])
        self.assertIn("<dt>steps</dt><dd>400</dd>", (self.out / "report.html").read_text())

    def test_what_training_warned_of_is_told_again(self):
        """Even if the end of the log does not show it, and whatever thresholds other rules get."""
        log = self.out / "log.jsonl"
        self.output("train", "--data", "moons,count=500", "--epochs", "40", "--batch", "50", "--out", self.out, "--threads", "1")
        *lines, end = log.read_text().splitlines(keepends=True)
        finding = {"event": "finding", "rule": "loss_spikes", "severity": "warning", "layer": "", "symptom": "once it leapt",
                   "cause": "?", "fix": "--clip-norm 1.0", "step": 50}
        log.write_text("".join([*lines, json.dumps(finding) + "\n", end]))
        told = "at step 50, no longer at the end: loss_spikes: once it leapt\n"
        self.assertEqual(self.output("doctor", self.out), told)
        self.assertEqual(self.output("doctor", self.out, "--threshold", "dead_share=0.9"), told)
        self.assertEqual([f["rule"] for f in self.document("doctor", self.out)["earlier"]], ["loss_spikes"])
        self.assertIn("found nothing wrong", self.output("doctor", self.out, "--threshold", "spike_rise=2"))
        self.output("report", self.out)
        self.assertIn(told.strip()[1:], (self.out / "report.html").read_text())

    def test_what_was_tried_is_not_recommended(self):
        def train(out, *more):
            self.output("train", "--data", "moons,count=60", "--threads", "1", "--out", self.folder / out, *more)
        train("slow", "--lr", "1e-6", "--epochs", "30")
        fix, = (f["fix"] for f in self.document("doctor", self.folder / "slow")["findings"] if f["rule"] == "update_ratio")
        self.assertRegex(fix, r"\A--lr [\d.]+\Z")
        train("before", *fix.split(), "--epochs", "1")
        os.utime(self.folder / "before/config.json", (0, 0))
        self.assertIn(fix, self.output("doctor", self.folder / "slow"))  # there it cured
        with open(self.folder / "before/log.jsonl", "a") as log:
            log.write('{"event":"finding","rule":"update_ratio"}\n')
        self.assertNotIn(fix, self.output("doctor", self.folder / "slow"))

    def test_writes_nothing_unless_asked(self):
        before = sorted(self.folder.rglob("*"))
        self.output("train", "--data", f"idx:{self.data}", "--epochs", "1")
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_eval_agrees_with_the_end_of_training(self):
        self.output(*self.arguments("--epochs", "2"))
        result = self.document("eval", self.out / "model.safetensors", "--data", f"idx:{self.data}")
        end = self.log()[-1]["test"]
        for name in ("accuracy", "macro_f1", "confusion", "loss"):
            self.assertEqual(result[name], end[name], name)
        self.assertEqual(self.document("eval", self.out, "--data", f"idx:{self.data}"), result)

    def test_eval_of_a_regression_counts_as_training_did(self):
        table = self.folder / "table.csv"
        table.write_text("x,y,z\n" + "".join(f"{i},{i * i % 7},{1000 + 20 * i + i % 3}\n" for i in range(60)))
        test = self.folder / "test.csv"
        test.write_text("x,y,z\n" + "".join(f"{i},{i * i % 7},{1000 + 20 * i + i % 3}\n" for i in range(60, 80)))
        for loss in ("mse", "huber"):
            out = self.folder / loss
            self.output("train", "--data", f"csv:{table},target=z,test={test}", "--epochs", "40", "--loss", loss,
                        "--out", out)
            end = self.log(out)[-1]["test"]
            result = self.document("eval", out / "model.safetensors", "--data", f"csv:{test}")
            for name in ("loss", "rmse", "mae", "r2"):
                self.assertEqual(result[name], end[name], name)
            self.assertGreater(end["r2"], 0.5)
            self.assertGreater(end["rmse"] ** 2, 2 * end["loss"])

    def test_names_are_printed_without_control_characters(self):
        table = self.folder / "table.csv"
        names = ("\x1b[31mred", "日本")
        table.write_text("x,kind\n" + "".join(f"{i % 2},{names[i % 2]}\n" for i in range(40)))
        self.output("train", "--data", f"csv:{table},target=kind", "--epochs", "1", "--out", self.out)
        text = self.output("eval", self.out, "--data", f"csv:{table}")
        header = next(line for line in text.split("\n") if line.startswith("label \\ prediction"))
        for name in ("\\x1b[31mred", "日本"):
            self.assertIn(name, header)

    def test_a_loss_that_is_not_finite(self):
        run = self.run_tool("train", "--data", f"idx:{self.data}", "--lr", "1e30", "--out", self.out)
        self.assertEqual(run.returncode, 1)
        message = run.stderr.decode()
        self.assertRegex(message, r"\Alimpid: train: step \d+ of epoch \d+ gave a loss of nan [^\n]* in "
                                  r"'layers\.\d+' gave [^\n]*; the state before it is in [^\n]*\n\Z")
        self.assertIn("loss_not_finite", run.stdout.decode())
        self.assertEqual(self.log()[-1]["reason"], "non-finite loss")
        self.assertFalse((self.out / "model.safetensors").exists())
        # After resuming, the same step fails in the same way.
        again = self.run_tool("train", "--resume", self.out)
        self.assertEqual((again.returncode, again.stderr.decode()), (1, message))


class Sequences(tool.ToolTest):
    def test_are_learnt_exchanged_and_emitted(self):
        """Whether the first feature's sum of six steps is above 3."""
        draw = random.Random(1)
        x = [draw.random() for _ in range(240 * 6 * 2)]
        labels = [int(sum(x[12 * i:12 * i + 12:2]) > 3) for i in range(240)]
        arrays = tool.npy(self.folder / "x.npy", [240, 6, 2], x)
        targets = tool.npy(self.folder / "y.npy", [240], labels, "q")
        data, run = f"npy:{arrays},targets={targets}", self.folder / "run"
        for kind in ("lstm", "gru"):
            text = self.output("train", "--data", data, "--model", kind, "--width", "8", "--threads", "1", "--out", run, "--overwrite")
            self.assertIn(f"1 {kind} layer of width 8", text)
            accuracy = float(re.search(r"^accuracy +([\d.]+) %$", text, re.M)[1])
            self.assertGreater(accuracy, 80)
            self.assertAlmostEqual(100 * self.document("eval", run, "--data", data)["accuracy"], accuracy, places=1)
            model, other = run / "model.safetensors", self.folder / "model.onnx"
            self.output("convert", model, other)
            answers = [self.document("run", m, "--data", data, "--count", "5")["answers"] for m in (model, other)]
            self.assertEqual([a["logits"] for a in answers[0]], [a["logits"] for a in answers[1]])
            header = self.folder / f"{kind}.h"
            self.output("emit", model, "--cpp", header)
            self.assertIn("for (std::size_t s", header.read_text())
            again = self.folder / "again"
            self.output("train", "--from", run, "--data", data, "--steps", "2", "--threads", "1", "--out", again, "--overwrite")
        self.output("train", "--data", f"npy:{arrays},targets={targets},task=regression", "--model", "gru", "--width", "4", "--steps", "5",
                    "--threads", "1")
        self.refuses(2, ("train", "--data", "moons", "--model", "lstm"))


if __name__ == "__main__":
    unittest.main()
