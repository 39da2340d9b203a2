"""`limpid runs`: the runs below a folder, and their order."""

import json
import os
import time
import unittest

import tool

SMALL = ("--hidden", "4", "--threads", "1")


class Runs(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.runs = self.folder / "runs"
        for name, epochs in (("b", 3), ("deep/a", 1), ("c", 0)):
            self.output("train", "--data", "moons,count=60", *SMALL, "--epochs", epochs, "--out", self.runs / name)

    def names(self, *arguments):
        return [run["run"] for run in self.document("runs", self.runs, *arguments)["runs"]]

    def test_every_run_has_a_line(self):
        lines = self.output("runs", self.runs).splitlines()
        self.assertRegex(lines[0], r"^run +data +model +epoch +loss +metric +findings +written +state$")
        self.assertRegex(lines[1], r"^b +moons,count=60 +2-4-2 +\d +[\d.]+ +accuracy [\d.]+ % +\d+ +"
                                   r"\d{4}-\d\d-\d\d \d\d:\d\d +finished$")
        self.assertEqual([line.split()[0] for line in lines[1:]], ["b", "c", "deep/a"])
        self.assertEqual(self.output("runs", self.runs / "b").splitlines()[1].split()[0], ".")
        os.rename(self.runs / "c", os.fsencode(self.runs) + b"/c\xff")
        self.assertEqual(self.names(), ["b", "c\ufffd", "deep/a"], "a name that is not UTF-8")

    def test_sorts(self):
        runs = {run["run"]: run for run in self.document("runs", self.runs)["runs"]}
        self.assertEqual(sorted(runs), ["b", "c", "deep/a"])
        self.assertNotIn("loss", runs["c"])
        by_loss = sorted(("b", "deep/a"), key=lambda name: runs[name]["loss"])
        self.assertEqual(self.names("--sort", "loss"), [*by_loss, "c"])
        by_metric = sorted(("b", "deep/a"), key=lambda name: -runs[name]["metrics"]["accuracy"])
        self.assertEqual(self.names("--sort", "metric"), [*by_metric, "c"])
        self.error(2, "runs", self.runs, "--sort", "beauty")

    def test_a_run_of_nan_comes_last(self):
        def spoil(events):
            for event in events:
                if event["event"] == "epoch":
                    event["validation"] |= {"loss": "nan", "accuracy": "nan"}
            return events

        self.change_log("b", spoil)
        for key in ("loss", "metric"):
            self.assertEqual(self.names("--sort", key)[0], "deep/a")

    def change_log(self, name, change):
        """Replaces the events of a run's log by what change() makes of them."""
        log = self.runs / name / "log.jsonl"
        events = change([json.loads(line) for line in log.read_text().splitlines()])
        log.write_text("".join(json.dumps(event) + "\n" for event in events))

    def test_the_latest_run_comes_first(self):
        for seconds, name in enumerate(("c", "deep/a", "b")):
            os.utime(self.runs / name / "log.jsonl", (seconds, seconds))
        self.assertEqual(self.names("--sort", "time"), ["b", "deep/a", "c"])
        written = 1_100_000_007
        os.utime(self.runs / "b/log.jsonl", (written, written))
        self.assertEqual(self.document("runs", self.runs / "b")["runs"][0]["written"], written)
        self.assertIn(time.strftime("  %Y-%m-%d %H:%M  ", time.localtime(written)), self.output("runs", self.runs / "b"))

    def test_findings_are_warnings_and_errors(self):
        before = {run["run"]: run["findings"] for run in self.document("runs", self.runs)["runs"]}
        found = {"event": "finding", "rule": "r", "layer": "", "symptom": "", "cause": "", "fix": "", "step": 0}
        severities = ("warning", "error", "error") * 5 + ("info",)
        self.change_log("c", lambda events: [*events[:-1], *({**found, "severity": s} for s in severities), events[-1]])
        after = {run["run"]: run["findings"] for run in self.document("runs", self.runs)["runs"]}
        self.assertEqual(after, {**before, "c": before["c"] + 15})
        self.assertEqual(self.names("--sort", "findings")[0], "c")

    def test_a_run_is_as_good_as_its_best_epoch(self):
        def mark(events):
            for event in events:
                if event["event"] == "epoch":
                    event["best"] = event["epoch"] < 3
                    event["validation"]["loss"] = event["epoch"] / 4
            return events

        self.change_log("b", mark)
        run, = self.document("runs", self.runs / "b")["runs"]
        self.assertEqual((run["epoch"], run["loss"]), (2, 0.5))

    def test_a_log_of_half_a_network_hides_no_other_run(self):
        for model in ({"layers": [], "heads": 1, "width": 4}, {"layers": [2], "heads": 1}, {"layers": [2], "width": 4}):
            self.change_log("b", lambda events, model=model: [{**events[0], "config": {"model": {"name": "gpt", **model}}}, *events[1:]])
            runs = {run["run"]: run["model"] for run in self.document("runs", self.runs)["runs"]}
            self.assertEqual((runs["b"], len(runs)), ("", 3))
        # The whole of one has its sizes.
        whole = {"model": {"name": "gpt", "layers": [2], "heads": 1, "width": 4}}
        self.change_log("b", lambda events: [{**events[0], "config": whole}, *events[1:]])
        run, = self.document("runs", self.runs / "b")["runs"]
        self.assertEqual((run["model"], run["data"]), ("a gpt of 2 blocks, 1 head and width 4", "moons"))

    def test_a_run_is_as_its_log_ends(self):
        """Interrupted, or killed."""
        step = self.document("runs", self.runs / "b")["runs"][0]["step"]
        interrupt = {"reason": "interrupted"}
        for last, state in ((lambda end: [{**end, **interrupt}], f"interrupted after step {step}"),
                            (lambda _: [], f"unfinished after step {step}")):
            self.change_log("b", lambda events, last=last: [*events[:-1], *last(events[-1])])
            self.assertEqual(self.document("runs", self.runs / "b")["runs"][0]["state"], state)

    def test_a_run_that_was_not_validated_has_the_loss_of_its_training(self):
        def forget(events):
            for event in events:
                if event["event"] == "epoch":
                    event["validation"] = {}
            return events

        self.change_log("deep/a", forget)
        log = (self.runs / "deep/a/log.jsonl").read_text().splitlines()
        epoch, = (event for event in map(json.loads, log) if event["event"] == "epoch")
        self.assertEqual(self.document("runs", self.runs / "deep/a")["runs"][0]["loss"], epoch["train"]["loss"])

    def test_the_least_error_is_the_best(self):
        folder = self.folder / "curves"
        for name, epochs in (("a", 0), ("b", 1), ("c", 40)):
            self.output("train", "--data", "sine,count=60", *SMALL, "--epochs", epochs, "--out", folder / name)
        runs = self.document("runs", folder, "--sort", "metric")["runs"]
        errors = [run["metrics"]["rmse"] for run in runs[:2]]
        self.assertLess(errors[0], errors[1])
        self.assertEqual(runs[2]["run"], "a")

    def test_a_broken_log_hides_no_other_run(self):
        (self.runs / "b/log.jsonl").write_text("{}\n")
        run = self.run_tool("runs", self.runs)
        self.assertEqual(run.returncode, 0)
        self.assertIn(b"note: ", run.stderr)
        self.assertIn(b"deep/a", run.stdout)

    def test_folders_that_may_not_be_read_hide_no_run(self):
        for i in range(20):  # in any order among the others
            (self.runs / f"mine{i}").mkdir(0)
        self.folder.chmod(0o755)
        user = {"user": 65534, "group": 65534, "extra_groups": ()} if os.geteuid() == 0 else {}
        try:
            run = self.run_tool("runs", self.runs, **user)
        except PermissionError:
            self.skipTest("another user cannot run the tool")
        self.assertEqual((run.returncode, run.stderr), (0, b""))
        self.assertEqual([line.split()[0] for line in run.stdout.splitlines()[1:]], [b"b", b"c", b"deep/a"])

    def test_no_runs(self):
        empty = self.folder / "empty"
        empty.mkdir()
        self.assertIn("no training runs", self.output("runs", empty))
        self.assertEqual(self.document("runs", empty), {"runs": []})
        self.error(1, "runs", self.folder / "nowhere")


if __name__ == "__main__":
    unittest.main()
