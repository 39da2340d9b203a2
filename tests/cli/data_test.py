"""The kinds of --data: tables, arrays and generated data, from training to predictions."""

import csv
import json
import math
import pathlib
import shutil
import struct
import subprocess
import unittest
import zipfile

import tool

NUMPY = pathlib.Path(__file__).parents[1] / "formats/numpy"
SMALL = ("--hidden", "4", "--epochs", "2", "--batch", "8", "--threads", "1", "--overwrite")

# Two measurements, a colour, the target; cats are light.
PETS = "".join(
    f"{i},{'cat' if i % 3 else 'dog'},{4 if i % 3 else 20}.{i % 10},{('red', 'blue')[i % 2]}\n"
    for i in range(30)
)


class Data(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.pets = self.put("pets.csv", "id,kind,weight,colour\n" + PETS)
        self.spec = f"csv:{self.pets},target=kind,ignore=id"

    def put(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def train(self, spec):
        """The model of a short training, and the first line of the log."""
        out = self.folder / "run"
        self.output("train", "--data", spec, "--out", out, *SMALL)
        with open(out / "log.jsonl") as log:
            return out / "model.safetensors", json.loads(log.readline())["data"]


class Tables(Data):
    def test_a_model_of_a_table_takes_the_raw_columns_of_others(self):
        model, data = self.train(self.spec)
        self.assertEqual((data["train"], data["validation"], data["test"]), (24, 3, 3))
        self.assertEqual(data["features"], 3)
        self.assertEqual(data["class_names"], ["cat", "dog"])
        new = self.put("new.csv", "colour;more;weight\nblue;x;5\nred;y;21\n")
        answers = self.document("run", model, "--data", f"csv:{new}")["answers"]
        self.assertEqual([a["example"] for a in answers], [0, 1])
        for answer in answers:
            self.assertNotIn("label", answer)
            self.assertEqual(answer["class"], data["class_names"][answer["prediction"]])
            self.assertAlmostEqual(sum(answer["probabilities"]), 1, places=6)
        text = self.output("run", model, "--data", f"csv:{new}")
        self.assertRegex(text, r"\Aexample +prediction +probability\n +0 +(cat|dog) +\d\.\d{6}\n")
        self.assertEqual(len(text.splitlines()), 3)

    def test_columns_and_classes_are_named(self):
        model, _ = self.train(self.spec)
        features = ["weight", "colour=blue", "colour=red"]
        numbers = ("--values", "5,1,0")
        self.assertRegex(self.output("run", model, *numbers), r"\Alogits: cat = -?[\d.]+, dog = -?[\d.]+\n\Z")
        self.assertEqual(self.document("run", model, *numbers)["names"], ["cat", "dog"])
        self.assertTrue(self.output("trace", model, *numbers).startswith(
            ", ".join(f"{name} = {x}" for name, x in zip(features, (5, 1, 0))) + "\n"))
        self.refuses(2, ("run", model, "--values", "5"))
        header = self.folder / "net.h"
        self.output("emit", model, "--cpp", header)
        text = header.read_text()
        for place, name in [*((f"x[{i}]", name) for i, name in enumerate(features)), ("logits[0]", "cat"), ("logits[1]", "dog")]:
            self.assertIn(f"//         {place}  {name}\n", text)

    def test_columns_and_classes_in_other_letters(self):
        pets = self.put("tiere.csv", "größe,farbe,名前\n" + "".join(
            f"{i % 7},{('grün', 'weiß')[i % 2]},{('猫', 'Hündin')[i % 3 > 0]}\n" for i in range(30)))
        model, data = self.train(f"csv:{pets},target=名前")
        self.assertEqual(data["class_names"], ["Hündin", "猫"])
        numbers = ("--values", "5,1,0")
        self.assertRegex(self.output("run", model, *numbers), r"\Alogits: Hündin = -?[\d.]+, 猫 = -?[\d.]+\n\Z")
        header = self.folder / "tiere.h"
        self.assertEqual(self.document("emit", model, "--cpp", header),
                         {"header": str(header), "namespace": "tiere", "bytes": header.stat().st_size})
        self.error(2, "emit", model, "--cpp", "/dev/stdout", "--json")
        for place, name in (("x[0]", "größe"), ("x[1]", "farbe=grün"), ("x[2]", "farbe=weiß"), ("logits[0]", "Hündin"),
                            ("logits[1]", "猫")):
            self.assertIn(f"//         {place}  {name}\n", header.read_text())
        program = self.folder / "program.cc"
        program.write_text('#include "tiere.h"\n#include <cstdio>\nint main() {\n  const float x[] = {5, 1, 0};\n'
                           '  float logits[2];\n  tiere::run(x, logits);\n'
                           '  std::printf("%.9g %.9g", logits[0], logits[1]);\n}\n')
        for compiler in filter(shutil.which, ("g++", "clang++")):
            subprocess.run([compiler, "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", program, "-o",
                            self.folder / "program"], check=True)
            said = subprocess.run([self.folder / "program"], stdout=subprocess.PIPE, check=True, text=True).stdout
            self.assertEqual([tool.f32(float(x)) for x in said.split()],
                             [tool.f32(x) for x in self.document("run", model, *numbers)["logits"]])

    def test_rows_with_their_label_have_it_shown(self):
        model, _ = self.train(self.spec)
        answers = self.document("run", model, "--data", f"csv:{self.pets}")["answers"]
        self.assertEqual([a["label"] for a in answers], [0 if i % 3 else 1 for i in range(30)])
        some = self.document("run", model, "--data", f"csv:{self.pets}", "--index", "3", "--count",
                             "2")["answers"]
        self.assertEqual(some, answers[3:5])
        rest = self.document("run", model, "--data", f"csv:{self.pets}", "--index", "28")["answers"]
        self.assertEqual(rest, answers[28:])
        for line, answer in zip(self.output("run", model, "--data", f"csv:{self.pets}").splitlines()[1:], answers):
            example, prediction, probability, label = line.split()
            self.assertEqual((int(example), prediction, label), (answer["example"], answer["class"], ("cat", "dog")[answer["label"]]))
            self.assertAlmostEqual(float(probability), answer["probabilities"][answer["prediction"]], places=5)
        self.refuses(2, ("run", model, "--data", f"csv:{self.pets}", "--index", "30"))

    def test_eval_takes_the_rows_that_training_held_out(self):
        for split, part, sizes in (("", "test", (24, 3, 3)), (",split=60/20/20,seed=5", "test", (18, 6, 6)),
                                   (",split=90/10", "validation", (27, 3, 0)),
                                   (f",test={self.pets}", "training", (30, 0, 30))):
            with self.subTest(split):
                model, data = self.train(self.spec + split)
                self.assertEqual((data["train"], data["validation"], data["test"]), sizes)
                tested = self.document("eval", model, "--data", f"csv:{self.pets}")
                held_out = {"test": sizes[2], "validation": sizes[1], "training": 30}[part]
                self.assertEqual((tested["examples"], tested["part"], tested["rows"]), (held_out, part, 30))
                if part == "test":
                    with open(self.folder / "run/log.jsonl") as log:
                        end = json.loads(log.readlines()[-1])["test"]
                    self.assertEqual((tested["loss"], tested["confusion"]), (end["loss"], end["confusion"]))
                said = "training saw all of them" if part == "training" else f"the {part} set, which training did not learn from"
                text = self.output("eval", model, "--data", f"csv:{self.pets}")
                self.assertRegex(text, rf"\Aexamples  {held_out}( of 30)?: {said}\n\n")
                quantized = self.output("quantize", model, "--to", "bf16", "--data", f"csv:{self.pets}")
                self.assertRegex(quantized, rf"\nexamples  {held_out}( of 30)?: {said}\n")

    def test_eval_takes_all_rows_where_it_is_asked_to_or_the_table_is_another(self):
        model, _ = self.train(self.spec)
        self.assertEqual(self.document("eval", model, "--data", f"csv:{self.pets},split=60/20/20")["examples"], 6)
        self.refuses(2, ("eval", model, "--data", f"csv:{self.pets},split=80/20"))
        other = self.put("other.csv", "kind,weight,colour\ncat,4,red\ndog,21,blue\n")
        for arguments, rows in (((f"csv:{self.pets}", "--all"), 30), ((f"csv:{other}",), 2), ((f"csv:{other}", "--all"), 2)):
            tested = self.document("eval", model, "--data", *arguments)
            self.assertEqual((tested["examples"], "part" in tested), (rows, False))
            self.assertRegex(self.output("eval", model, "--data", *arguments), rf"\Aexamples  {rows}\n\n")
        for spec in ("moons", f"csv:{self.pets},split=80/10/10", f"csv:{self.pets},test={other}"):
            self.refuses(2, ("eval", model, "--data", spec, "--all"))
        self.refuses(1, ("eval", model, "--data", f"csv:{self.put('x.csv', 'weight,colour' + chr(10) + '1,red')}"))

    def test_eval_says_how_much_of_the_training_set_it_scores(self):
        model, _ = self.train(self.spec)
        rows = PETS.splitlines()
        for name, lines, share in (("more", rows + rows[:2], 1), ("shuffled", rows[::-1], 1), ("half", rows[:15], 0.5)):
            table = self.put(f"{name}.csv", "id,kind,weight,colour\n" + "\n".join(lines) + "\n")
            tested = self.document("eval", model, "--data", f"csv:{table}")
            self.assertEqual(tested["examples"], len(lines))
            self.assertAlmostEqual(tested["of_training"], share, delta=0.2)
            self.assertRegex(self.output("eval", model, "--data", f"csv:{table}"), r"\Aexamples  \d+: about \d+ % of the examples ")

    def test_every_row_is_in_a_file_of_predictions(self):
        model, _ = self.train(self.spec + ",missing=drop")
        new = self.put("new.csv", 'name,weight,colour\n"a, b",5,blue\nc,,red\nd,21,red\n')
        out = self.folder / "out.csv"
        run = self.run_tool("run", model, "--data", f"csv:{new},id=name", "--out", out)
        self.assertEqual(run.returncode, 0)
        self.says(run.stderr.decode())
        with open(out, newline="") as file:
            header, *lines = csv.reader(file)
        self.assertEqual(header, ["row", "name", "prediction", "probability.cat", "probability.dog", "problem"])
        self.assertEqual([line[:2] for line in lines], [["0", "a, b"], ["1", "c"], ["2", "d"]])
        self.assertEqual(lines[1][2:5], ["", "", ""])
        self.says(lines[1][5])
        for line in (lines[0], lines[2]):
            self.assertIn(line[2], ("cat", "dog"))
            self.assertAlmostEqual(float(line[3]) + float(line[4]), 1, places=6)
        answers = json.loads(self.run_tool("run", model, "--data", f"csv:{new},id=name", "--json").stdout)["answers"]
        self.assertEqual([(a["example"], a["id"], "problem" in a) for a in answers], [(0, "a, b", False), (1, "c", True), (2, "d", False)])
        arrays = self.folder / "out.npy"
        self.run_tool("run", model, "--data", f"csv:{new}", "--out", arrays)
        numbers = struct.unpack("<6f", arrays.read_bytes()[128:])
        self.assertEqual([math.isnan(x) for x in numbers], [False, False, True, True, False, False])
        some = json.loads(self.run_tool("run", model, "--data", f"csv:{new}", "--index", "2", "--json").stdout)["answers"]
        self.assertEqual([a["example"] for a in some], [2])
        self.assertEqual(some[0]["logits"], answers[2]["logits"])
        filled = self.document("run", model, "--data", f"csv:{new},missing=impute")["answers"]
        self.assertEqual([("problem" in a) for a in filled], [False] * 3)
        run = self.run_tool("run", model, "--data", f"csv:{new}", "--index", "1", "--count", "1")
        self.assertEqual(run.returncode, 1)

    def test_an_output_is_no_input(self):
        model, _ = self.train(self.spec)
        run = self.folder / "run"
        self.refuses(2, ("run", model, "--data", f"csv:{self.pets}", "--out", "./pets.csv"),
                     ("quantize", run, "--to", "bf16", "--out", model), ("quantize", model, "--to", "bf16", "--out", model),
                     ("emit", model, "--cpp", run / "config.json"), ("emit", run, "--cpp", run / "log.jsonl"),
                     ("convert", model, model))

    def test_a_regression_gives_numbers(self):
        model, data = self.train(f"csv:{self.pets},target=weight,ignore=id")
        self.assertEqual((data["features"], data["outputs"]), (4, 1))
        answers = self.document("run", model, "--data", f"csv:{self.pets}", "--count", "3")["answers"]
        self.assertEqual([a["targets"] for a in answers], [[20], [4.1], [4.2]])
        self.assertTrue(all(math.isfinite(a["outputs"][0]) for a in answers))
        text = self.output("run", model, "--data", f"csv:{self.pets}")
        self.assertRegex(text, r"\Aexample +weight +target weight\n")
        self.assertEqual([float(line.split()[-1]) for line in text.splitlines()[1:4]], [20, 4.1, 4.2])
        self.assertEqual([line.split()[1] for line in text.splitlines()[1:4]], [f"{a['outputs'][0]:.6g}" for a in answers])

    def test_each_of_several_labels_has_a_probability_of_its_own(self):
        labels = [(int(i % 10 > 4), i % 2) for i in range(60)]
        table = self.put("labels.csv", "x,big,odd\n" + "".join(f"{i % 10},{big},{odd}\n" for i, (big, odd) in enumerate(labels)))
        model, _ = self.train(f"csv:{table},target=big,target=odd")
        answers = self.document("run", model, "--data", f"csv:{table}")["answers"]
        self.assertEqual([tuple(a["targets"]) for a in answers], labels)
        text = self.output("run", model, "--data", f"csv:{table}").splitlines()
        self.assertRegex(text[0], r"^example +big +odd +target big +target odd$")
        for line, answer, label in zip(text[1:], answers, labels, strict=True):
            self.assertRegex(line, r"^ *\d+( +[01]\.\d{6}){2} ")
            numbers = [float(cell) for cell in line.split()[1:]]
            self.assertEqual(tuple(numbers[2:]), label)
            for logit, probability, shown in zip(answer["logits"], answer["probabilities"], numbers):
                self.assertAlmostEqual(probability, 1 / (1 + math.exp(-logit)), places=6)
                self.assertAlmostEqual(probability, shown, places=5)
        scores = self.output("eval", model, "--data", f"csv:{table}")
        for metric in ("exact_match", "macro_f1"):
            self.assertRegex(scores, rf"\n{metric} +\d+\.\d\d %\n")


class Described(Data):
    def test_what_is_told_of_data(self):
        rows = "".join(f"{-3 + 4 * (i % 2)},{900 + 200 * (i % 2)},{9 + 2 * (i % 2)},{'ab'[i % 2]}\n" for i in range(40))
        self.put("table.csv", "low,high,middle,kind\n" + rows)
        self.put("some.csv", "x,kind\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(40)))
        self.put("test.csv", "x,kind\n100,a\n4,a\n5,b\n")
        self.put("text", "the cat sat on the mat.\n" * 20)
        self.shows("""
            data csv:pets.csv,target=kind,ignore=id --json; data csv:table.csv,target=kind,split=1/0 --show --count 1
            data csv:some.csv,target=kind,test=test.csv,split=1/0; data text:text --show --count 2; data text:text --json
            data sine,count=40 --show --count 1; data sine,count=40 --json""")

    def test_of_very_many_columns_none_is_listed(self):
        for columns in (63, 64, 65):
            heading = ",".join(f"c{c}" for c in range(columns))
            rows = "".join(",".join(str(i * c % 7) for c in range(columns)) + f",{'ab'[i % 2]}\n" for i in range(40))
            data = f"csv:{self.put('wide.csv', heading + ',kind' + chr(10) + rows)},target=kind,split=1/0"
            text = self.output("data", data, "--show", "--count", "1")
            self.assertEqual("\nfeature " in text, columns < 65)
            self.assertIn("\nclass  training examples\na                     20\n", text)
            numbers = text.split("\nexample 0: label a\n")[1]
            # Columns with names are no picture, though 64 would make a square.
            self.assertEqual(numbers, "" if columns > 64 else ", ".join(f"c{c} = 0" for c in range(columns)) + "\n")

    def test_examples_that_are_traced_have_their_numbers(self):
        new = self.put("new.csv", "weight,colour\n5,blue\n")
        for trained, data in ((self.spec, f"csv:{self.pets}"), (self.spec, f"csv:{new}"), ("sine,count=40", "sine,count=40")):
            model, _ = self.train(trained)
            self.says(self.output("trace", model, "--data", data).split("value ")[0])

    def test_of_many_columns_twelve_are_named(self):
        for columns in (12, 13):
            names = [f"c{c}" for c in range(columns)]
            rows = "".join(",".join(str(i * c % 7) for c in range(columns)) + f",{i}\n" for i in range(40))
            model, _ = self.train(f"csv:{self.put('wide.csv', ','.join(names) + ',y' + chr(10) + rows)},target=y")
            self.refuses(2, ("run", model, "--values", "1"))


class Mistakes(Data):
    def refused(self, code, *specs):
        self.refuses(code, *(("train", "--data", spec) for spec in specs))

    def test_specs_that_mean_nothing(self):
        self.refused(2, "mnist", "csv:a.csv,split=80", "csv:a.csv,separator=;", "npz:a.npz,task=ranking")

    def test_tables_that_are_broken(self):
        broken = self.put("broken.csv", "a,kind\n1,x\n,y\n")
        self.refused(1, f"csv:{broken},target=kind", "csv:none.csv,target=kind", "npz:pets.csv")

    def test_a_category_that_training_did_not_have(self):
        model, _ = self.train(self.spec)
        new = self.put("new.csv", "weight,colour\n1,red\n2,green\n")
        self.refuses(1, ("run", model, "--data", f"csv:{new}"))


class Drawn(Data):
    def test_everything_that_is_drawn_can_be_learnt(self):
        for name in ("xor", "and", "or", "spiral", "moons", "circles", "arms", "sine", "abs"):
            with self.subTest(name):
                model, data = self.train(f"{name}:3,split=75/25")
                count = 4 if data["features"] == 2 and name in ("xor", "and", "or") else 1000
                self.assertEqual((data["train"], data["validation"], data["test"]),
                                 (count * 3 // 4, count // 4, count))
                self.assertEqual(self.document("eval", model, "--data", name)["examples"], count)
                for file in (self.folder / "run").iterdir():
                    file.unlink()

    def test_rows_and_noise_as_asked(self):
        model, data = self.train("moons:1,count=20,noise=0")
        self.assertEqual((data["train"], data["test"]), (20, 20))
        answers = self.document("run", model, "--data", "moons:1,count=20", "--count", "20")["answers"]
        self.assertEqual([a["label"] for a in answers], [0, 1] * 10)


class Arrays(Data):
    def test_a_number_that_is_not_finite_is_told(self):
        tool.npy(self.folder / "x.npy", [4, 1], [1, math.nan, 3, 4])
        tool.npy(self.folder / "y.npy", [4], [0, 1, 0, 1], "q")
        self.shows("data npy:x.npy,targets=y.npy,split=1/0; data npy:x.npy,targets=y.npy,split=1/0 --json")

    def test_outputs_to_a_file_that_numpy_reads(self):
        model, _ = self.train(f"npy:{NUMPY}/f4.npy,targets={NUMPY}/f4.npy,split=1/0")
        data = ("--data", f"npy:{NUMPY}/f4.npy")
        answers = self.document("run", model, *data, "--count", "2")["answers"]
        numbers = [n for answer in answers for n in answer["outputs"]]
        npy, npz = self.folder / "y.npy", self.folder / "y.npz"
        self.assertEqual(self.output("run", model, *data, "--out", npy), f"wrote f32[2, 3] to {npy}\n")
        header, values = npy.read_bytes()[:128], npy.read_bytes()[128:]
        self.assertIn(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", header)
        self.assertEqual(struct.unpack("<6f", values), tuple(map(tool.f32, numbers)))
        self.output("run", model, *data, "--out", npz)
        with zipfile.ZipFile(npz) as archive:
            self.assertEqual(archive.namelist(), ["prediction.npy"])
            self.assertEqual(archive.read("prediction.npy"), npy.read_bytes())
        self.output("run", model, *data, "--index", "1", "--out", npy)
        self.assertEqual(npy.read_bytes()[128:], values[12:])
        self.output("run", model, "--values", "1,2,3", "--out", npy)
        self.assertIn(b"'shape': (1, 3)", npy.read_bytes())

    def test_a_matrix_of_confusion_has_at_most_twenty_classes(self):
        for classes in (20, 21):
            x = tool.npy(self.folder / "x.npy", [90, 1], range(90))
            y = tool.npy(self.folder / "y.npy", [90], [i % classes for i in range(90)], "q")
            data = f"npy:{x},targets={y},split=1/0/1"
            model, _ = self.train(data)
            text = self.output("eval", model, "--data", data)
            self.assertEqual("label \\ prediction" in text, classes == 20)
            self.assertRegex(text, rf"\n{classes - 1} +[\d.]+ % +[\d.]+ % +[\d.]+ % +\d\n")
            self.assertEqual(len(self.document("eval", model, "--data", data)["confusion"]), classes)

    def test_of_very_many_classes_the_worst_are_printed(self):
        x = tool.npy(self.folder / "x.npy", [300, 1], range(300))
        y = tool.npy(self.folder / "y.npy", [300], [i % 150 for i in range(300)], "q")
        data = f"npy:{x},targets={y},split=1/0/1"
        self.train(data)
        text = self.output("eval", self.folder / "run", "--data", data)
        shown = text.split("\nthe 100 of 150 classes with the lowest F1:\n\n")[1].splitlines()
        self.assertEqual(len(shown), 101)
        document = self.document("eval", self.folder / "run", "--data", data)
        scores = [c["f1"] for c in document["per_class"]]
        classes = [int(line.split()[0]) for line in shown[1:]]
        self.assertEqual(classes, sorted(classes))
        self.assertLessEqual(max(scores[c] for c in classes), min(s for c, s in enumerate(scores) if c not in classes))


if __name__ == "__main__":
    unittest.main()
