"""Commands that list and describe: data, help, man pages, completions."""

import csv
import json
import os
import pathlib
import re
import shlex
import struct
import subprocess
import unittest
import zlib

import tool

SMALL = ("--hidden", "4", "--threads", "1")


def keys_of(document):
    """The keys of all objects of a document."""
    if isinstance(document, dict):
        return set(document).union(*map(keys_of, document.values()))
    return set().union(*map(keys_of, document)) if isinstance(document, list) else set()


class Data(tool.ToolTest):
    def test_sizes_shapes_and_classes(self):
        self.shows("""
            data digits,count=100,split=80/20; data digits,count=100,split=80/20 --json; data digits,count=100 --json; data and,count=80,split=80/20 --json""")
        self.assertEqual(len(re.findall(r"\nexample \d: label \d\n", self.output("data", "digits,count=100", "--show"))), 3)

    def sheet(self, *arguments):
        """Width and height of the sheet that `data` writes, and its rows of grey pixels."""
        self.output("data", *arguments, "--sheet", "sheet.png", cwd=self.folder)
        png = (self.folder / "sheet.png").read_bytes()
        self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
        width, height, bits, colours = struct.unpack(">IIBB", png[16:26])
        self.assertEqual((bits, colours), (8, 0))
        rows = zlib.decompress(png[41 : png.index(b"IEND") - 8])
        return width, height, [rows[y * (width + 1) + 1 : (y + 1) * (width + 1)] for y in range(height)]

    def test_sheets_of_pictures(self):
        # 28 x 28 pixels, each two wide and two high, with gaps of 4.
        width, height, rows = self.sheet("digits,count=25")
        self.assertEqual((width, height), (10 * 60 + 4, 3 * 60 + 4))
        self.assertGreater(max(rows[30]), 100)
        drawn = self.sheet("digits,count=25", "--augment", "digits")
        self.assertEqual(drawn[:2], (10 * 60 + 4, 8 * 60 + 4))
        # The first of a line is the picture itself; the others differ from it and from each other.
        cells = {b"".join(row[60 * i + 4 : 60 * i + 60] for row in drawn[2][4:60]) for i in range(10)}
        self.assertEqual(len(cells), 10)
        self.assertIn(b"".join(row[4:60] for row in rows[4:60]), cells)
        self.refuses(2, "data moons --sheet a.png; data digits,count=9 --augment flip; data digits,count=9 --sheet a.png --augment flop")
        self.refuses(1, "data digits,count=9 --sheet a.png --augment hue; data digits,count=9 --sheet missing/a.png")

    def test_training_with_an_augmentation(self):
        options = ("--data", "digits,count=60", *SMALL, "--epochs", "2", "--augment", "digits,erase=4@0.5")
        self.output("train", *options, "--out", "one", cwd=self.folder)
        self.output("train", "--config", "one/config.json", "--threads", "2", "--out", "two", cwd=self.folder)
        one, two = ((self.folder / run / "model.safetensors").read_bytes() for run in ("one", "two"))
        self.assertEqual(one, two)
        self.assertEqual(json.loads((self.folder / "one/config.json").read_text())["augment"],
                         "shift=2,rotate=10,scale=0.1,shear=10,elastic=4,erase=4@0.5")
        self.refuses(2, "train --data moons --augment flip; train --data digits,count=9 --augment flip=2")


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

    def test_man_pages_say_what_help_says(self):
        def packed(text):
            return "".join(text.split())

        for command in (("train",), ("run",), ("quantize",), ("lab", "init"), ("convert",)):
            page, text = self.output("help", *command, "--man"), self.output("help", *command)
            for title in ("Arguments", "Options"):
                wanted = re.search(rf"^{title}:\n(.*?)(?=^\S|\Z)", text, re.M | re.S)
                found = re.search(rf"^\.SH {title.upper()}\n(.*?)(?=^\.SH )", page, re.M | re.S)
                self.assertEqual(wanted is None, found is None, command)
                if wanted is None:
                    continue
                self.assertNotRegex(found[1], r"(?<!\\)-", "a hyphen that may be broken")
                entries = re.sub(r"^\.TP\n|\\f[BIR]|\\[&:]", "", found[1], flags=re.M).replace("\\-", "-").replace("\\e", "\\")
                self.assertEqual(packed(entries), packed(wanted[1]), command)

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
                        ("tokenize", self.folder / "writes", "--text", "the"),
                        ("report", run), ("show", run), ("emit", run, "--cpp", self.folder / "moons.h"),
                        ("convert", run, self.folder / "moons.onnx"), ("onnx-ops",), ("selftest",),
                        ("perceptron", "--target", "AND"), ("lab", "perceptron"), ("lab", "collapse")):
            if "onnx-ops" not in listed and command[0] in ("convert", "onnx-ops"):
                continue
            document = self.document(*command)
            for key in keys_of(document) - {"accuracy", "loss", "macro_precision", "macro_recall", "macro_f1", "roc_auc", "average_precision", "calibration_error", "f32", "1", "256"}:
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
                                 (["model.safetensors"], "train", "--resume", "mod"),
                                 (["model.safetensors"], "help", "--man-pages", "mod"),
                                 (["fish"], "completion", "fi"), (["perceptron"], "help", "perc"),
                                 *([(["model.safetensors"], "view", "--runs", "mod")] if "\nServe:\n" in self.output("--help") else [])):
            self.assertEqual(completed("limpid", *words), expected, shell)

    def test_bash_completes_commands_options_and_values(self):
        self.propose("bash", self.by_bash)
        self.assertEqual(self.by_bash("limpid", "tra"), ["train", "trace"])
        for words in (("limpid", "mod"), ("limpid", "lab", "mod")):
            self.assertEqual(self.by_bash(*words), [], "a file is no command")
        self.assertEqual(self.by_bash("limpid", "quantize", "m", "--to", ""), ["bf16", "int8"])
        self.assertEqual(self.by_bash("limpid", "completion", ""), ["bash", "zsh", "fish"])

    def test_fish_completes_them(self):
        self.propose("fish", self.by_fish)
        self.assertEqual(sorted(self.by_fish("limpid", "tra")), ["trace", "train"])
        for words in (("limpid", "mod"), ("limpid", "lab", "mod")):
            self.assertEqual(self.by_fish(*words), [], "a file is no command")
        self.assertEqual(sorted(self.by_fish("limpid", "quantize", "m", "--to", "")), ["bf16", "int8"])

    def test_zsh_completes_them(self):
        """From a folder of its functions, and where the script is sourced."""
        self.propose("zsh", self.by_zsh)
        (self.folder / "site/_limpid").unlink()
        (self.folder / "sourced").write_text("")
        self.assertEqual(self.by_zsh("limpid", "train", "--pati"), ["--patience"])

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
        self.refuses(1, ("train", "--data", f"csv:{table},target=日本"))

    def test_names_that_are_no_text_are_replaced_in_json(self):
        table = self.folder / os.fsdecode(b"\xff.csv")
        table.write_text("a,b\n1,2\n2,3\n3,4\n")
        self.assertEqual(self.document("data", f"csv:{table},target=b")["data"], "\ufffd.csv")


class Tables(tool.ToolTest):
    def test_outputs_as_csv(self):
        table = self.folder / "pets.csv"
        kinds = ('"a, ""b"""', "cat", '"c\nd"', '"e\rf"')
        table.write_text("weight,kind\n" + "".join(f"{i},{kinds[i % 4]}\n" for i in range(40)), newline="")
        run = self.folder / "run"
        self.output("train", "--data", f"csv:{table},target=kind", *SMALL, "--epochs", "1", "--out", run)
        out = self.folder / "out.csv"
        self.assertIn("wrote f32[40, 4] to", self.output("run", run, "--data", f"csv:{table}", "--out", out))
        with out.open(newline="") as file:
            self.assertEqual(file.readline(), 'row,prediction,"probability.a, ""b""","probability.c\n')
            file.seek(0)
            heading, *lines = csv.reader(file)
        names = ['a, "b"', "c\nd", "cat", "e\rf"]
        self.assertEqual(heading, ["row", "prediction", *(f"probability.{name}" for name in names), "problem"])
        self.assertEqual(len(lines), 40)
        answers = self.document("run", run, "--data", f"csv:{table}", "--count", "40")["answers"]
        for i, (line, answer) in enumerate(zip(lines, answers)):
            self.assertEqual((line[0], line[1], line[6]), (str(i), names[answer["prediction"]], ""))
            self.assertEqual([tool.f32(float(n)) for n in line[2:6]], [tool.f32(n) for n in answer["probabilities"]])


if __name__ == "__main__":
    unittest.main()
