"""Help, versions, exit codes, and command lines that make no sense."""

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

    def test_threads_are_as_many_as_the_cpus_allowed(self):
        cpus = sorted(os.sched_getaffinity(0))
        for some in (cpus, cpus[-1:]):
            text = subprocess.run([tool.TOOL, "help", "run"], stdout=subprocess.PIPE, text=True, check=True,
                                  preexec_fn=lambda some=some: os.sched_setaffinity(0, some)).stdout
            self.assertRegex(text, rf"--threads N +[^-]+default:\s+{len(some)}\n")

    def test_help_names_what_an_argument_needs(self):
        """An argument that is required, choices, defaults, options that repeat, need others or exclude them."""
        for command in ("quantize", "run"):
            self.says(self.output(command, "--help").replace(f"default: {len(os.sched_getaffinity(0))}\n", "default: CPUS\n"))

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
        self.model = self.folder / "model"
        self.model.write_bytes(tool.model_bytes(*tool.REAL))

    def test_commands_and_options_that_are_not_there(self):
        self.refuses(2, (), ("run\x1b[31m\nred",), """
            fly; --fly; lab; lab fly; lab init --fly; help train init; eval; run; summary; trace; show; show model --fly
            summary model surplus; eval model; run model; trace model --values; quantize model --too int8; train --epoch 3
            summary model --batch; summary model --batch=; summary model --batch 1 --batch 2; summary model --json=please; train --bias=maybe
            emit model; verify-step run --shard 0; verify-step run --step 1; verify-step --step 1 --shard 0; report; runs; completion; data
            convert model; quantize model; hash model; convert a.onnx b.onnx""")
        if "Serve" in GROUPS:
            self.refuses(2, "receipt model --receipt model=1")

    def test_options_that_make_no_sense_together(self):
        self.refuses(2, """
            data moons --show --json; ops relu --json; selftest --print --json; train --resume run --config config.json
            train --resume run --out run; run model --values 1,2 --json --out out.npy; run model --input x=x.npy --data moons
            run model --input x=x.npy --values 1,2; run model --data moons --values 1,2; run model --data moons --prompt a
            run model --prompt a --values 1,2; run model --input x=x.npy --prompt a; trace model --input x=x.npy --data moons
            trace model --input x=x.npy --values 1,2; trace model --input x=x.npy --prompt a; hash model --input x=x.npy --data moons
            run model --values 1,2 --index 3; run model --values 1,2 --count 3""")
        if "onnx-ops" in self.output("--help"):
            self.refuses(2, "onnx-ops --reference --json")

    def test_names_of_several_lines(self):
        name = "fly\nby\n'night'"
        for command in (("ops", name), ("quantize", "model", "--to", "int8", "--exclude", name), ("emit", "model", "--cpp", "a.h", "--namespace", name)):
            self.refuses(2, command)
        # Any other message is one line, too.
        run = self.run_tool("train", "--data", "moons", env={**os.environ, "LIMPID_MPI": "open\nmpi"})
        self.assertEqual(run.returncode, 1)
        self.says(run.stderr.decode().removesuffix("\n"))

    def test_values_that_are_none(self):
        self.refuses(2, """
            run model --values 1,x; run model --values 1; trace model --values 1,2,3; run model --values ''; run model --values ,
            run model --values 1,; run model --values 1,,2; run model --values 1;2; run model --values 1e99,0; run model --values 0x1,2
            run model --values '1 2'; trace model --values 1,2 --edit '%99 = 0'; trace model --values 1,2 --neuron layers.7:0
            trace model --values 1,2 --neuron layers.0:3; trace model --values 1,2 --neuron layers.0:-1; trace model --values 1,2 --neuron ''
            trace model --values 1,2 --neuron layers.0; trace model --values 1,2 --neuron layers.0:; trace model --values 1,2 --neuron :1
            trace model --values 1,2 --neuron layers.0:1x; trace model --values 1,2 --neuron layers.0:99999999999999999999
            quantize model --to f16; quantize model --to int8 --exclude w; quantize --to int8 --exclude v --exclude w model
            run model --out a.txt; gradcheck model --tolerance=-1e-9; generate model --temperature inf; generate model --top-p 2
            generate model --top-p 0; generate model --top-p p; lab init --seed=-1; lab init --seed=1.5; gradcheck model --seed=many
            gradcheck model --seed=18446744073709551616; perceptron --target implies; train --clip-norm -1; train --lr nan""")
        self.refuses(2, "; ".join(f"doctor run --threshold '{t}'" for t in (
            "", "=", "dead_share", "dead_share=", "dead_share=x", "dead_share=1x", "dead_share=1e400", "dead=1", "dead_share=-1")))

    def test_data_that_is_none(self):
        self.refuses(2, ("eval", "model", "--data", "idx\n:x"), """
            run model --data moons,count=2 --index 9; run model --data moons,count=2 --index 1 --count 2; data digits --count 1""")

    def test_integers_have_these_bounds(self):
        most = 2**31 - 1
        for option, low, high, *command in (
                ("--batch", 0, most, "convert", "model", "out.onnx"),
                ("--count", 1, most, "data", "moons", "--show"),
                ("--index", 0, most, "run", "model", "--data", "moons"),
                ("--count", 1, most, "run", "model", "--data", "moons"),
                ("--tokens", 0, most, "generate", "model"),
                ("--sequences", 1, 1024, "generate", "model"),
                ("--top-k", 0, most, "generate", "model"),
                ("--samples", 1, 2**31, "gradcheck", "model"),
                ("--batch", 1, 100_000, "summary", "model"),
                ("--threads", 1, 1024, "eval", "model"),
                ("--epochs", 1, 1000, "perceptron"),
                ("--epochs", 1, 1000, "lab", "perceptron"),
                ("--layers", 1, 200, "lab", "init"),
                ("--width", 1, 1024, "lab", "init"),
                ("--in", 1, 256, "lab", "collapse"),
                ("--hidden", 1, 1024, "lab", "collapse"),
                ("--out", 1, 256, "lab", "collapse"),
                ("--units", 1, 1024, "lab", "approximation")):
            for number in (low - 1, high + 1, "x", "1.5", "99999999999999999999"):
                self.assertRegex(self.error(2, *command, f"{option}={number}"), rf"{option}: .* {low} .* {high}, .*'{number}'")

    def test_perceptron(self):
        self.shows("perceptron --target NOR; perceptron --target and --json; perceptron --epochs 2; perceptron --target xor --json")

    def test_optimizers(self):
        self.refuses(2, "; ".join(f"train --data digits,count=10000 --layers 784,10 --epochs 0 {wrong}" for wrong in (
            "--beta1 0.9", "--optimizer adagrad --nesterov", "--schedule never")))


class Failures(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model"
        self.model.write_bytes(tool.model_bytes(*tool.REAL))

    def test_model_and_data_that_do_not_fit(self):
        (self.folder / "two").write_bytes(tool.model_bytes(*tool.template_classifier(784, 2)))
        (self.folder / "numbers").write_bytes(tool.model_bytes([1, 2], {"layers.0.weight": ([2, 1], [1, 1]), "layers.0.bias": ([2], [0, 0])}))
        self.refuses(1, "eval model --data digits; eval two --data digits; run two --data digits; eval numbers --data sine; run numbers --data sine")

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
