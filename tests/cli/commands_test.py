"""Commands that list and describe: runs, data, help, man pages, completions."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import unittest

import tool

SMALL = ("--hidden", "4", "--threads", "1")


def keys_of(document):
    """The keys of all objects of a document."""
    if isinstance(document, dict):
        return set(document).union(*map(keys_of, document.values()))
    return set().union(*map(keys_of, document)) if isinstance(document, list) else set()


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

    def test_sorts(self):
        runs = {run["run"]: run for run in self.document("runs", self.runs)["runs"]}
        self.assertEqual(sorted(runs), ["b", "c", "deep/a"])
        self.assertNotIn("loss", runs["c"])
        by_loss = sorted(("b", "deep/a"), key=lambda name: runs[name]["loss"])
        self.assertEqual(self.names("--sort", "loss"), [*by_loss, "c"])
        by_metric = sorted(("b", "deep/a"), key=lambda name: -runs[name]["metrics"]["accuracy"])
        self.assertEqual(self.names("--sort", "metric"), [*by_metric, "c"])
        self.error(2, "runs", self.runs, "--sort", "beauty")

    def change_log(self, name, change):
        """Replaces the events of a run's log by what change() makes of them."""
        log = self.runs / name / "log.jsonl"
        events = change([json.loads(line) for line in log.read_text().splitlines()])
        log.write_text("".join(json.dumps(event) + "\n" for event in events))

    def test_the_latest_run_comes_first(self):
        for time, name in enumerate(("c", "deep/a", "b")):
            os.utime(self.runs / name / "log.jsonl", (time, time))
        self.assertEqual(self.names("--sort", "time"), ["b", "deep/a", "c"])

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

    def test_no_runs(self):
        empty = self.folder / "empty"
        empty.mkdir()
        self.assertIn("no training runs", self.output("runs", empty))
        self.assertEqual(self.document("runs", empty), {"runs": []})
        self.error(1, "runs", self.folder / "nowhere")


class Data(tool.ToolTest):
    def test_sizes_shapes_and_classes(self):
        text = self.output("data", "digits,count=100,split=80/20")
        self.assertIn("an example is f32[784], its target i32[]", text)
        self.assertRegex(text, r"\ntraining +80\nvalidation +20\ntest +100\n")
        facts = self.document("data", "digits,count=100,split=80/20")
        self.assertEqual(facts["examples"], {"training": 80, "validation": 20, "test": 100})
        self.assertEqual(sum(c["examples"] for c in facts["classes"]), 80)

    def test_shows_examples(self):
        text = self.output("data", "--show", "digits,count=100")
        self.assertEqual(len(re.findall(r"\nexample \d: label \d\n", text)), 3)
        self.assertIn("█", text)
        self.assertEqual(self.output("data", "digits,count=100", "--show", "--count", "1").count("example 0"), 1)
        self.assertEqual(len(re.findall(r"\nexample \d: ", self.output("data", "moons,count=4", "--show", "--count", "9"))), 4)

    def test_a_table_has_its_columns(self):
        table = self.folder / "pets.csv"
        table.write_text("weight,kind\n" + "".join(f"{i},{'日本' if i % 2 else 'cat'}\n" for i in range(40)))
        text = self.output("data", f"csv:{table},target=kind", "--show")
        self.assertRegex(text, r"\nclass +training examples\ncat +\d+\n日本 +\d+\n")
        self.assertRegex(text, r"\nweight +[-\d.]+ ")
        self.assertIn("weight = ", text)

    def test_a_column_has_its_statistics(self):
        table = self.folder / "table.csv"
        table.write_text("low,high,middle,kind\n" + "".join(f"{-3 + 4 * (i % 2)},{900 + 200 * (i % 2)},{9 + 2 * (i % 2)},{'ab'[i % 2]}\n"
                                                            for i in range(40)))
        self.assertRegex(self.output("data", f"csv:{table},target=kind,split=1/0"),
                         r"\nfeature +min +mean +std +max\nlow +-3 +-1 +2 +1\nhigh +900 +1000 +100 +1100\nmiddle +9 +10 +1 +11\n")

    def test_rows_of_the_test_set_that_training_has_too(self):
        table, test = self.folder / "table.csv", self.folder / "test.csv"
        table.write_text("x,kind\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(40)))
        test.write_text("x,kind\n100,a\n4,a\n5,b\n")
        self.assertIn("\nrows of the test set that repeat a row of the training set: 2\n",
                      self.output("data", f"csv:{table},target=kind,test={test},split=1/0"))

    def test_duplicate_rows(self):
        self.assertIn("\nrows of the training set that repeat a row of the training set: 60\n",
                      self.output("data", "and,count=80,split=80/20"))

    def test_what_is_refused(self):
        self.error(2, "data")
        self.error(2, "data", "mnist")
        self.error(2, "data", "digits", "--count", "1")


class Help(tool.ToolTest):
    def test_help_is_that_of_the_option(self):
        for command in ((), ("train",), ("lab", "init")):
            self.assertEqual(self.output("help", *command), self.output(*command, "--help"))
        self.error(2, "help", "fly")

    def test_every_command_has_a_man_page(self):
        pages = self.folder / "man"
        pages.mkdir()
        self.output("help", "--man-pages", pages)
        listed = re.findall(r"^\.TP\n\\fB([a-z][a-z\\-]*)\\fR\n", (pages / "limpid.1").read_text(), re.M)
        self.assertIn("train", listed)
        for name in listed:
            name = name.replace("\\", "")
            page = (pages / f"limpid-{name}.1").read_text()
            self.assertTrue(page.startswith(".TH LIMPID"), name)
            if name != "lab":
                self.assertEqual(page, self.output("help", name, "--man"))
        self.assertTrue((pages / "limpid-lab-init.1").exists())

    def test_man_pages_are_good_troff(self):
        try:
            page = self.output("help", "train", "--man").encode()
            made = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-K", "utf8"], input=page, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=True)
        except FileNotFoundError:
            self.skipTest("there is no groff")
        self.assertEqual(made.stderr, b"")
        self.assertIn("limpid-train", made.stdout.decode())


class Schema(tool.ToolTest):
    def test_every_json_document_is_described(self):
        page = (pathlib.Path(__file__).parents[2] / "docs/json.md").read_text()
        sections = dict(re.findall(r"^## `limpid ([a-z-]+)`\n(.*?)(?=^## |\Z)", page, re.M | re.S))
        listed = re.findall(r"^  ([a-z-]+)  ", self.output("--help"), re.M)
        for optional in {"onnx-ops", "onnx-test", "receipt"} - set(listed):  # the tool was built without them
            del sections[optional]
        pages = {c: self.output(c, "--help") for c in listed}
        self.assertEqual(sorted(sections), sorted(
            c for c in listed if "\n  --json" in pages[c] or c == "lab" and "--json" in self.output(c, "init", "--help")))
        # Servers have no completions, and scripts are for shells alone.
        self.assertLessEqual(set(listed) - set(sections), {"--version", "serve", "view", "help", "completion"})
        run = self.folder / "run"
        self.output("train", "--data", "moons,count=60", *SMALL, "--epochs", "1", "--out", run)
        ill, table = self.folder / "ill", self.folder / "table.csv"
        table.write_text("x,y,kind\n" + "".join(f"{i % 7},{i % 5},{'ab'[i % 2]}\n" for i in range(60)))
        self.output("train", "--data", f"csv:{table},target=kind", *SMALL, "--lr", "100", "--epochs", "30", "--out", ill)
        text = self.folder / "text"
        text.write_text("the cat sat on the mat.\n" * 20)
        self.output("train", "--data", f"text:{text}", "--context", "4", "--embedding", "3", *SMALL, "--epochs", "1", "--out",
                    self.folder / "writes")
        for command in (("data", "moons"), ("runs", run), ("doctor", run), ("eval", run, "--data", "moons"), ("summary", run),
                        ("doctor", ill), ("eval", ill, "--data", f"csv:{table}"),
                        ("quantize", run, "--to", "bf16", "--threads", "1"), ("run", self.folder / "writes", "--prompt", "the"),
                        ("generate", self.folder / "writes", "--tokens", "3"),
                        ("summary", run, "--ops"), ("trace", run, "--values", "1,2", "--neuron", "layers.0:1"), ("ops",),
                        ("run", run, "--data", "moons"), ("hash", run, "--data", "moons"), ("gradcheck", run),
                        ("report", run), ("show", run), ("emit", run, "--cpp", self.folder / "moons.h"),
                        ("convert", run, self.folder / "moons.onnx"), ("onnx-ops",), ("selftest",),
                        ("perceptron", "--target", "AND"), ("lab", "perceptron"), ("lab", "collapse")):
            if "onnx-ops" not in listed and command[0] in ("convert", "onnx-ops"):
                continue
            document = self.document(*command)
            for key in keys_of(document) - {"accuracy", "loss", "macro_precision", "macro_recall", "macro_f1", "f32", "1", "256"}:
                self.assertIn(f"`{key}`", sections[command[0]], command)


class Completion(tool.ToolTest):
    def by_bash(self, *words):
        """The completions that bash proposes for the last word."""
        line = f'source ./script; COMP_WORDS=({" ".join(repr(w) for w in words)}); COMP_CWORD={len(words) - 1}; ' \
               '_limpid; printf "%s\\n" "${COMPREPLY[@]}"'
        return self.shell("bash", "-c", line).split()

    def by_fish(self, *words):
        line = shlex.quote(" ".join(words))
        return [proposed.split("\t")[0] for proposed in self.shell("fish", "-c", f"source ./script; complete -C {line}").splitlines()]

    # A line in zsh's editor, a tab, and then the line as it is written into a file. Keys come one after the other.
    ZSH = """
      zmodload zsh/zpty
      zpty line zsh -f -i
      zpty -w line 'PS1=; fpath=($PWD/site $fpath); autoload -U compinit; compinit -u -D'
      zpty -w line '[[ -e sourced ]] && source ./script'
      zpty -w line 'show() { print -r -- "$BUFFER" > shown; exit }; zle -N show; bindkey "^X" show'
      zpty -w -n line "$1"$'\\t\\x18'
      while zpty -r line out; do :; done
      cat shown
    """

    def by_zsh(self, *words):
        """What zsh makes of the line."""
        made = self.shell("zsh", "-f", "-c", self.ZSH, "zsh", " ".join(words))
        return [made.removeprefix(" ".join(words[:-1])).strip()]

    def shell(self, *command):
        try:
            return subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=self.folder, text=True, timeout=100).stdout
        except FileNotFoundError:
            self.skipTest(f"there is no {command[0]}")

    def propose(self, shell, completed):
        script = self.output("completion", shell)
        (self.folder / "script").write_text(script)
        (self.folder / "site").mkdir()
        (self.folder / "site/_limpid").write_text(script)
        (self.folder / "model.safetensors").write_text("")
        for expected, *words in ((["init"], "lab", "ini"), (["--patience"], "train", "--pati"), (["--width"], "lab", "init", "--wid"),
                                 (["int8"], "quantize", "m", "--to", "i"), (["rmsprop"], "train", "--optimizer", "rms"),
                                 (["model.safetensors"], "summary", "mod"), (["model.safetensors"], "train", "--config", "mod"),
                                 (["fish"], "completion", "fi"), (["perceptron"], "help", "perc")):
            self.assertEqual(completed("limpid", *words), expected, shell)

    def test_bash_completes_commands_options_and_values(self):
        self.propose("bash", self.by_bash)
        self.assertEqual(self.by_bash("limpid", "tra"), ["train", "trace"])
        self.assertEqual(self.by_bash("limpid", "quantize", "m", "--to", ""), ["bf16", "int8"])
        self.assertEqual(self.by_bash("limpid", "completion", ""), ["bash", "zsh", "fish"])

    def test_fish_completes_them(self):
        self.propose("fish", self.by_fish)
        self.assertEqual(sorted(self.by_fish("limpid", "tra")), ["trace", "train"])
        self.assertEqual(sorted(self.by_fish("limpid", "quantize", "m", "--to", "")), ["bf16", "int8"])

    def test_zsh_completes_them(self):
        """From a folder of its functions, and where the script is sourced."""
        self.propose("zsh", self.by_zsh)
        (self.folder / "site/_limpid").unlink()
        (self.folder / "sourced").write_text("")
        self.assertEqual(self.by_zsh("limpid", "train", "--pati"), ["--patience"])

    def test_every_shell_knows_every_option(self):
        options = set(re.findall(r"--[a-z][a-z0-9-]*", self.output("train", "--help").split("--data:")[0]))
        for shell in ("bash", "zsh", "fish"):
            script = self.output("completion", shell)
            for option in ("--patience", "--no-bias", "--resume"):
                self.assertIn(option, options | {"--no-bias"})
                self.assertRegex(script, option if shell != "fish" else f"-l {option[2:]}\\b", shell)
        self.error(2, "completion", "cmd")

    def test_scripts_are_good_shell(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.folder / f"script.{shell}"
            script.write_text(self.output("completion", shell))
            try:
                subprocess.run([shell, "-n", script], check=True)
            except FileNotFoundError:
                continue


class Names(tool.ToolTest):
    def test_names_from_files_reach_a_terminal_as_text(self):
        table = self.folder / "pets\x1b[31m.csv"
        table.write_text("weight\x1b[1m,kind\n" + "".join(
            f"{i},{'日本' if i % 2 else chr(27) + '[31mred'}\n" for i in range(40)))
        data = f"csv:{table},target=kind"
        out = self.folder / "run\x1b[2J"
        text = self.output("train", "--data", data, *SMALL, "--epochs", "2", "--out", out)  # no control characters
        self.assertIn("日本", text)
        self.assertIn("\\x1b[31mred", text)
        for command in (("data", data), ("data", data, "--show"), ("run", out, "--values", "1"), ("eval", out, "--data", data),
                        ("trace", out, "--values", "1"), ("summary", out), ("runs", self.folder), ("doctor", out),
                        ("report", out), ("hash", out, "--data", data)):
            self.output(*command)
        self.assertIn("column '日本'", self.error(1, "train", "--data", f"csv:{table},target=日本"))


class Tables(tool.ToolTest):
    def test_outputs_as_csv(self):
        table = self.folder / "pets.csv"
        table.write_text("weight,kind\n" + "".join(f"{i},cat\n" if i % 2 else f'{i},"a, ""b"""\n' for i in range(40)))
        run = self.folder / "run"
        self.output("train", "--data", f"csv:{table},target=kind", *SMALL, "--epochs", "1", "--out", run)
        out = self.folder / "out.csv"
        self.assertIn("wrote f32[40, 2] to", self.output("run", run, "--data", f"csv:{table}", "--out", out))
        lines = out.read_text().splitlines()
        self.assertEqual(lines[0], '"a, ""b""",cat')
        self.assertEqual(len(lines), 41)
        answers = self.document("run", run, "--data", f"csv:{table}", "--count", "40")["answers"]
        for line, answer in zip(lines[1:], answers):
            self.assertEqual([tool.f32(float(n)) for n in line.split(",")], [tool.f32(n) for n in answer["logits"]])


if __name__ == "__main__":
    unittest.main()
