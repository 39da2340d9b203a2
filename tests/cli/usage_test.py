"""Help, versions, exit codes, and command lines that make no sense."""

import itertools
import os
import re
import subprocess
import unittest

import tool

GROUPS = {
    "Train": ("data", "train", "runs", "doctor", "report"),
    "Use": ("eval", "run", "generate"),
    "Look inside": ("summary", "trace", "show", "ops"),
    "Convert": ("convert", "quantize", "emit"),
    "Check": ("selftest", "hash", "gradcheck", "verify-step"),
    "Learn": ("perceptron", "lab"),
    "Help": ("help", "completion"),
}
if "\nServe:\n" in subprocess.run([tool.TOOL, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout:
    GROUPS["Serve"] = ("serve", "receipt", "view")  # if the tool is built with them


class Help(tool.ToolTest):
    def test_help_is_everywhere(self):
        for command in (command for commands in GROUPS.values() for command in commands):
            self.assertIn("Usage: limpid " + command, self.output(command, "--help"))
            self.assertEqual(self.output(command, "-h"), self.output(command, "--help"))

    def test_commands_are_listed_by_group(self):
        text = self.output("--help")
        for group, commands in GROUPS.items():
            listed = text.split(f"\n{group}:\n")[1].split("\n\n")[0]
            for command in commands:
                self.assertRegex(listed, rf"(?m)^  {command} ")

    def test_help_states_defaults(self):
        self.assertRegex(self.output("gradcheck", "--help"), r"--seed N +Random seed[^;]+;\s+default: 0")
        self.assertIn("bf16|int8", self.output("quantize", "--help"))

    def test_these_are_the_defaults(self):
        def defaults(*command):
            found = {}
            for entry in re.split(r"\n  (?=--)", self.output(*command, "--help"))[1:]:
                if default := re.search(r";\s+default:\s+([^\s;]+)", entry):
                    found[entry.split()[0]] = default[1]
            return found

        for command, *wanted in (
                ("data", "--count 3"), ("runs", "--sort name"), ("run", "--index 0", "--count 1"), ("summary", "--batch 32"),
                ("generate", "--tokens 500", "--sequences 1", "--temperature 1", "--top-k 0", "--top-p 1", "--seed 0"),
                ("gradcheck", "--samples 64", "--tolerance 1e-05", "--seed 0"), ("perceptron", "--target XOR", "--epochs 20"),
                ("lab perceptron", "--epochs 100"), ("lab init", "--layers 50", "--width 256", "--seed 0"),
                ("lab collapse", "--in 32", "--hidden 128", "--out 16", "--seed 0"), ("lab approximation", "--seed 0"),
                ("view", "--port 0"),
                ("serve", "--port 8000", "--max-batch 64", "--max-delay 0", "--workers 1", "--max-texts 16", f"--cache-memory {1 << 30}",
                 "--max-url 8192", "--max-header 16384", f"--max-body {64 << 20}", f"--max-bodies {1 << 30}", f"--max-answers {1 << 30}",
                 f"--max-answer {256 << 20}", f"--max-rows {1 << 20}", "--max-tokens 4096", "--max-completions 128",
                 "--max-connections 8192", "--max-queue 1024", "--min-rate 4096", f"--max-stream {1 << 20}", "--header-time 10",
                 "--idle-time 75", "--slack 10", "--deadline 60", "--drain 30")):
            if command in ("view", "serve") and "Serve" not in GROUPS:
                continue
            found = defaults(*command.split())
            for option, default in map(str.split, wanted):
                self.assertEqual(found.get(option), default, f"{command} {option}")

    def test_threads_are_as_many_as_the_cpus_allowed(self):
        cpus = sorted(os.sched_getaffinity(0))
        for some in (cpus, cpus[-1:]):
            text = subprocess.run([tool.TOOL, "help", "run"], stdout=subprocess.PIPE, text=True, check=True,
                                  preexec_fn=lambda some=some: os.sched_setaffinity(0, some)).stdout
            self.assertRegex(text, rf"--threads N +[^-]+default:\s+{len(some)}\n")

    def test_help_names_what_an_argument_needs(self):
        text = self.output("quantize", "--help")
        self.assertRegex(text, r"(?m)^Usage: limpid quantize \[OPTIONS\] MODEL$")
        self.assertRegex(text, r"--to bf16\|int8 +Type of [^;]+;\s+required\n")
        self.assertRegex(self.output("run", "--help"), r"--index I +[^;]+; default: 0; needs\s+--data\n")
        self.assertRegex(self.output("run", "--help"), r"--json +Print JSON; not with --out\n")
        text = self.output("train", "--help")
        self.assertRegex(text, r"\n  --bias, --no-bias +Add biases")
        for option in ("--lr X", "--epochs N", "--hidden N,N,...", "--data SPEC", "--tokenizer TEXT", "--out RUN", "--config FILE"):
            self.assertIn(f"\n  {option}", text)
        self.assertRegex(text, r"\n  --seed N +Random seed [^;]+;\s+default: 0\n")
        self.assertIn("\n\n--data: ", text)
        self.assertIn("See docs/training.md", text)
        text = self.output("gradcheck", "--help")
        for option in ("--samples N", "--tolerance X"):
            self.assertIn(f"\n  {option} ", text)
        # Arguments: that may be left out, that may be many, and their choices.
        self.assertIn("\nUsage: limpid ops [OPTIONS] [NAME]\n", self.output("ops", "--help"))
        self.assertIn("\nUsage: limpid help [OPTIONS] [COMMAND...]\n", self.output("help", "--help"))
        self.assertRegex(self.output("completion", "--help"), r"\n  SHELL +Shell that reads the script: bash, zsh, fish\n")

    def test_help_fills_its_lines_with_the_same_words(self):
        # From 70 columns on, texts stand 30 columns behind their names.
        # As on a serial console.
        self.assertEqual(tool.on_terminal(0, "--help"), tool.on_terminal(80, "--help"), "a terminal that does not know its width")
        self.assertEqual(tool.on_terminal(20, "--help"), tool.on_terminal(30, "--help"), "a terminal with no room for a word")
        for command in (("--help",), ("train", "--help"), ("run", "--help"), ("quantize", "--help")):
            texts = set()
            for columns in (70, 80, 100, 200):
                lines = tool.on_terminal(columns, *command).splitlines()
                most = min(columns, 100)
                for line, following in itertools.pairwise(lines):
                    if not re.match(" {30}[^ ]", following) or len(line) <= 30 or line[28:30].strip():
                        continue  # a text begins here
                    word = following.split()[0]
                    if line.endswith("|"):
                        whole = line.split()[-1] + word
                        self.assertGreater(30 + len(whole), most, f"{command}: broken, though it fits on a line: {whole}")
                    elif not set("|,") & set(word):
                        self.assertGreater(len(line) + 1 + len(word), most, f"{command}: there was room for {word!r}: {line}")
                # The same paragraphs and entries, however many lines they have.
                text = re.sub(r"\n( {30}| {4})(?=\S)|(?<=\S)\n(?=\S)", " ", "\n".join(lines))
                texts.add(re.sub(r"(?<=[|,]) ", "", re.sub(r"(?<=\S) +", " ", text)))
            self.assertEqual(len(texts), 1, command)

    def test_help_fits_the_terminal(self):
        for columns in (40, 80, 200):
            for command in (("--help",), ("train", "--help"), ("help", "serve" if "Serve" in GROUPS else "run")):
                lines = tool.on_terminal(columns, *command).splitlines()
                longest = max(lines, key=len)
                self.assertLessEqual(len(longest), min(columns, 100), longest)
                words = " ".join(lines).split()
                self.assertEqual("".join(words), "".join(self.output(*command).split()))

    def test_version(self):
        self.assertRegex(self.output("--version"), re.compile(r"\Alimpid \d+\.\d+\.\d+\n\Z"))


class Usage(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.safetensors"
        self.model.write_bytes(tool.model_bytes(*tool.REAL))

    def usage_error(self, part, *arguments):
        self.assertIn(part, self.error(2, *arguments))

    def test_no_or_unknown_command(self):
        self.error(2)
        self.error(2, "fly")
        self.error(2, "--fly")
        self.error(2, "run\x1b[31m\nred")

    def test_missing_and_unknown_arguments(self):
        for command in ("eval", "run", "summary", "trace", "show"):
            self.usage_error("MODEL", command)
            self.error(2, command, self.model, "--fly")
            self.error(2, command, self.model, "surplus")
        self.usage_error("--data", "eval", self.model)
        self.usage_error("--data", "run", self.model)
        self.usage_error("--values", "trace", self.model)

    def test_what_was_not_expected_is_named(self):
        for message, *arguments in (
                ("expected a command; `limpid --help` lists them",),
                ("expected a command; `limpid lab --help` lists them", "lab"),
                ("unknown option '--fly'; `limpid --help` lists the options", "--fly"),
                ("unknown option '--fly'; `limpid lab init --help` lists the options", "lab", "init", "--fly"),
                ("unknown option '--too'; `limpid quantize --help` lists the options",
                 "quantize", self.model, "--too", "int8"),
                ("unknown option '--epoch'; `limpid train --help` lists the options", "train", "--epoch", "3"),
                ("unexpected argument 'surplus'", "summary", self.model, "surplus"),
                ("train has no commands, got 'init'", "help", "train", "init"),
                ("--batch: expected one value, got none", "summary", self.model, "--batch"),
                ("--batch: expected one value, got none", "summary", self.model, "--batch="),
                ("--batch: expected one value, got 2", "summary", self.model, "--batch", "1", "--batch", "2"),
                ("--json: expected no value", "summary", self.model, "--json=please"),
                ("--bias: expected no value", "train", "--bias=maybe"),
                ("--top-p: expected a number above 0 and at most 1, got '2'", "generate", self.model, "--top-p", "2"),
                ("--top-p: expected a number above 0 and at most 1, got '0'", "generate", self.model, "--top-p", "0"),
                ("--top-p: expected a number above 0 and at most 1, got 'p'", "generate", self.model, "--top-p", "p"),
                ("--edit: there is no value '%99' in function 'mlp'",
                 "trace", self.model, "--values", "1,2", "--edit", "%99 = 0"),
                ("--data: expected 1 example from index 9, got 2 examples, indices 0 to 1",
                 "run", self.model, "--data", "moons,count=2", "--index", "9"),
                ("expected one of --data, --values, --prompt and --input", "run", self.model),
                ("--prompt excludes --input", "run", self.model, "--input", "x=x.npy", "--prompt", "a"),
                ("expected two formats", "convert", "a.onnx", "b.onnx")):
            with self.subTest(arguments):
                self.assertIn(message, self.error(2, *arguments))

    def test_what_is_required_is_named(self):
        for part, *arguments in (
                ("--cpp", "emit", self.model), ("--step", "verify-step", "run", "--shard", "0"), ("RUN", "report"), ("DIR", "runs"),
                ("--shard", "verify-step", "run", "--step", "1"), ("RUN", "verify-step", "--step", "1", "--shard", "0"),
                ("SHELL", "completion"), ("SPEC", "data"), ("OUT", "convert", self.model), ("--to", "quantize", self.model),
                *([("--request", "receipt", self.model, "--receipt", "model=1")] if "Serve" in GROUPS else [])):
            with self.subTest(arguments):
                self.usage_error(f"{part} is required", *arguments)

    def test_options_that_make_no_sense_together(self):
        for arguments in (("data", "moons", "--show", "--json"), ("ops", "relu", "--json"), ("selftest", "--print", "--json"),
                          ("train", "--resume", "run", "--config", "config.json"), ("train", "--resume", "run", "--out", "run"),
                          ("run", self.model, "--values", "1,2", "--json", "--out", "out.npy"),
                          ("run", self.model, "--input", "x=x.npy", "--data", "moons"),
                          ("run", self.model, "--input", "x=x.npy", "--values", "1,2"),
                          ("run", self.model, "--data", "moons", "--values", "1,2"), ("run", self.model, "--data", "moons", "--prompt", "a"),
                          ("run", self.model, "--prompt", "a", "--values", "1,2"),
                          ("trace", self.model, "--input", "x=x.npy", "--data", "moons"),
                          ("trace", self.model, "--input", "x=x.npy", "--values", "1,2"),
                          ("trace", self.model, "--input", "x=x.npy", "--prompt", "a"),
                          ("hash", self.model, "--input", "x=x.npy", "--data", "moons")):
            with self.subTest(arguments):
                self.usage_error(" excludes ", *arguments)
        if "onnx-ops" in self.output("--help"):
            self.usage_error(" excludes ", "onnx-ops", "--reference", "--json")
        self.usage_error("expected one of --data and --input", "hash", self.model)

    def test_names_of_several_lines(self):
        name = "fly\nby\n'night'"
        shown = r"'fly\x0aby\x0a\x27night\x27'"
        self.assertEqual(self.error(2, "ops", name), f"there is no op {shown}; `limpid ops` lists them")
        self.assertEqual(self.error(2, "quantize", self.model, "--to", "int8", "--exclude", name), f"--exclude: the model has no parameter {shown}")
        self.assertIn(f": {shown} is not a valid name of a C++ namespace; --namespace gives another",
                      self.error(2, "emit", self.model, "--cpp", self.folder / "a.h", "--namespace", name))
        # Any other message is one line, too.
        run = self.run_tool("train", "--data", "moons", env={**os.environ, "LIMPID_MPI": "open\nmpi"})
        self.assertEqual((run.returncode, run.stderr), (1, b"limpid: LIMPID_MPI: expected openmpi, mpich or none, got open\\x0ampi\n"))

    def test_quantize(self):
        self.usage_error("--to", "quantize", self.model)
        self.usage_error("f16", "quantize", self.model, "--to", "f16")
        self.usage_error("no parameter 'w'", "quantize", self.model, "--to", "int8", "--exclude", "w")

    def test_data_that_does_not_exist_as_a_kind(self):
        for spec in ("mnist", "", "digits:", "digits:-1", "digits:1x", "digits:18446744073709551616",
                     "idx", "idx:", "idx\n:x"):
            self.error(2, "eval", self.model, "--data", spec)

    def test_values(self):
        self.usage_error("'x'", "run", self.model, "--values", "1,x")
        self.usage_error("expected 2 numbers (f32[2]), got 1", "run", self.model, "--values", "1")
        self.usage_error("expected 2 numbers (f32[2]), got 3", "trace", self.model, "--values", "1,2,3")
        for values in ("", ",", "1,", "1,,2", "1;2", "1e99,0", "0x1,2", "1 2"):
            self.error(2, "run", self.model, "--values", values)
        self.error(2, "run", self.model, "--values", "1,2", "--data", "digits")
        self.error(2, "run", self.model, "--values", "1,2", "--index", "3")
        self.error(2, "run", self.model, "--values", "1,2", "--count", "3")

    def test_indices(self):
        self.model.write_bytes(tool.model_bytes(*tool.template_classifier()))
        for index in ("-1", "10000", "9223372036854775807", "99999999999999999999", "x", "1.5"):
            self.error(2, "run", self.model, "--data", "digits", "--index", index)
        self.usage_error("10000 examples", "run", self.model, "--data", "digits", "--index", "9999",
                         "--count", "2")
        self.error(2, "run", self.model, "--data", "digits", "--count", "0")

    def test_numbers_out_of_range(self):
        for threads in ("0", "-1", "1025", "many"):
            self.error(2, "run", self.model, "--values", "1,2", "--threads", threads)
        for batch in ("0", "-1", "1e3", "99999999999999999999"):
            self.error(2, "summary", self.model, "--batch", batch)
        for seed in ("-1", "1.5", "18446744073709551616", "many", ""):
            for command in (("lab", "init"), ("gradcheck", self.model)):
                self.error(2, *command, f"--seed={seed}")

    def test_integers_have_these_bounds(self):
        most = 2**31 - 1
        for option, low, high, *command in (
                ("--batch", 1, most, "convert", self.model, "out.onnx"),
                ("--count", 1, most, "data", "moons", "--show"),
                ("--index", 0, most, "run", self.model, "--data", "moons"),
                ("--count", 1, most, "run", self.model, "--data", "moons"),
                ("--tokens", 0, most, "generate", self.model),
                ("--sequences", 1, 1024, "generate", self.model),
                ("--top-k", 0, most, "generate", self.model),
                ("--samples", 1, 2**31, "gradcheck", self.model),
                ("--batch", 1, 100_000, "summary", self.model),
                ("--threads", 1, 1024, "eval", self.model),
                ("--epochs", 1, 1000, "perceptron"),
                ("--epochs", 1, 1000, "lab", "perceptron"),
                ("--layers", 1, 200, "lab", "init"),
                ("--width", 1, 1024, "lab", "init"),
                ("--in", 1, 256, "lab", "collapse"),
                ("--hidden", 1, 1024, "lab", "collapse"),
                ("--out", 1, 256, "lab", "collapse"),
                ("--units", 1, 1024, "lab", "approximation")):
            for number in (low - 1, high + 1):
                self.assertIn(f"{option}: expected an integer from {low} to {high}, got '{number}'",
                              self.error(2, *command, f"{option}={number}"))

    def test_messages_say_what_is_expected(self):
        for message, *arguments in (
                ("--batch: expected an integer from 1 to", "summary", self.model, "--batch", "x"),
                ("got 'x'", "summary", self.model, "--batch", "x"),
                ("--tolerance: expected a number of 0 or more, got '-1e-9'", "gradcheck", self.model, "--tolerance=-1e-9"),
                ("--seed: expected an integer from 0 to 2^64 - 1, got '-1'", "lab", "init", "--seed=-1"),
                ("--temperature: expected a number of 0 or more, got 'inf'", "generate", self.model,
                 "--temperature", "inf"),
                ("--to: expected one of bf16, int8, got 'f16'", "quantize", self.model, "--to", "f16"),
                ("--out: expected a .npy, .npz or .csv file, got 'a.txt'", "run", self.model, "--out", "a.txt"),
                ("there is no command 'fly'; there are: data train", "fly"),
                ("there is no command 'fly'; there are: perceptron", "lab", "fly")):
            self.usage_error(message, *arguments)

    def test_an_option_that_may_be_given_more_than_once(self):
        for arguments in (("--exclude", "v", "--exclude", "w", self.model), (self.model, "--exclude", "v")):
            self.usage_error("no parameter 'v'", "quantize", "--to", "int8", *arguments)

    def test_perceptron(self):
        self.assertEqual(self.output("perceptron", "--target", "NOR").splitlines(), [
            "NOR: step(w1 x1 + w2 x2 + b), from zeros, rate 1",
            "epoch   mistakes     w1     w2      b",
            "    1          2      0     -1      0",
            "    2          2     -1     -1      0",
            "    3          1     -1     -1      1",
            "    4          0     -1     -1      1",
            "Learnt: epoch 4 is without a mistake."])
        self.assertIn("Learnt: epoch 6", self.output("perceptron", "--target", "and"))
        self.assertIn("Learnt: epoch 4", self.output("perceptron", "--target", "or"))
        self.assertIn("Never learnt", self.output("perceptron", "--target", "xor"))
        self.assertIn("Not learnt in 2", self.output("perceptron", "--epochs", "2"))
        self.error(2, "perceptron", "--target", "implies")
        self.error(2, "perceptron", "--epochs", "0")

    def test_optimizers(self):
        # Fewer would be trained by the small recipe.
        small = ("train", "--data", "digits,count=10000", "--layers", "784,10", "--epochs", "0")
        self.usage_error("momentum", *small, "--optimizer", "adam", "--momentum", "0.9")
        self.usage_error("beta1", *small, "--beta1", "0.9")
        self.usage_error("nesterov", *small, "--optimizer", "adagrad", "--nesterov")
        for wrong in (("--optimizer", "lion"), ("--schedule", "never"), ("--beta2", "x"),
                      ("--momentum", "1.5"), ("--weight-decay", "-1"), ("--clip-norm", "0"),
                      ("--clip-value", "-1"), ("--warmup", "-1"), ("--decay-factor", "2")):
            self.error(2, *small, *wrong)
        self.assertEqual(self.error(2, *small, "--clip-norm", "-1"),
                         "--clip-norm: expected a positive number, got '-1'")
        self.assertEqual(self.error(2, *small, "--lr", "nan"),
                         "--lr: expected a number of 0 or more, got 'nan'")
        text = self.output(*small, "--data", "digits", "--optimizer", "adamw", "--eps", "1e-6", "--weight-decay", "0.1")
        self.assertTrue(text.startswith("digits: 60000 examples to train on, 10000 to test; "), text)

    def test_thresholds(self):
        for threshold in ("", "=", "dead_share", "dead_share=", "dead_share=x", "dead_share=1x", "dead_share=1e400"):
            self.usage_error("expected NAME=VALUE", "doctor", "run", "--threshold", threshold)
        self.usage_error("there is no threshold 'dead'; there are: few_rows, ", "doctor", "run", "--threshold", "dead=1")
        self.usage_error("threshold dead_share: expected a finite number of at least 0, got -1", "doctor", "run", "--threshold",
                         "dead_share=-1")

    def test_neurons(self):
        def trace(neuron):
            return ("trace", self.model, "--values", "1,2", "--neuron", neuron)

        self.usage_error("the layers are layers.0, layers.1", *trace("layers.7:0"))
        self.usage_error("--neuron: ", *trace("layers.7:0"))
        self.usage_error("3 neurons: expected an index of 0 to 2", *trace("layers.0:3"))
        self.usage_error("3 neurons: expected an index of 0 to 2", *trace("layers.0:-1"))
        for neuron in ("", "layers.0", "layers.0:", ":1", "layers.0:x", "layers.0:1x",
                       "layers.0:99999999999999999999"):
            self.error(2, *trace(neuron))


class Failures(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.safetensors"
        self.model.write_bytes(tool.model_bytes(*tool.REAL))

    def test_model_and_data_that_do_not_fit(self):
        self.assertIn("784", self.error(1, "eval", self.model, "--data", "digits"))
        model = self.folder / "two.safetensors"
        model.write_bytes(tool.model_bytes(*tool.template_classifier(784, 2)))
        self.assertIn("10 classes", self.error(1, "eval", model, "--data", "digits"))
        self.assertIn("10 classes", self.error(1, "run", model, "--data", "digits"))
        model.write_bytes(tool.model_bytes([1, 2], {"layers.0.weight": ([2, 1], [1, 1]), "layers.0.bias": ([2], [0, 0])}))
        for command in ("eval", "run"):
            self.assertIn("the model gives f32[2], 'sine' has 1 targets", self.error(1, command, model, "--data", "sine"))

    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            for arguments in (("summary", self.model), ("show", self.model), ("--help",),
                              ("--version",), ("summary", self.model, "--json")):
                run = self.run_tool(*arguments, stdout=full)
                self.assertEqual(run.returncode, 1, arguments)
                self.assertRegex(run.stderr.decode(), r"\Alimpid: [^\n]*No space[^\n]*\n\Z")

    def test_closed_output(self):
        run = subprocess.run(["sh", "-c", '"$0" show "$1" >&-', tool.TOOL, str(self.model)],
                             stderr=subprocess.PIPE, timeout=120)
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr.decode(), r"\Alimpid: [^\n]+\n\Z")

    def test_an_error_without_standard_error(self):
        for redirection in ("2>&-", "2>/dev/full"):
            run = subprocess.run(["sh", "-c", f'"$0" summary nope {redirection}', tool.TOOL],
                                 cwd=self.folder, stdout=subprocess.PIPE, timeout=120)
            self.assertEqual((run.returncode, run.stdout), (1, b""), redirection)

    @unittest.skipIf(os.geteuid() == 0, "everything is readable to root")
    def test_unreadable_file(self):
        self.model.chmod(0)
        self.error(1, "show", self.model)


if __name__ == "__main__":
    unittest.main()
