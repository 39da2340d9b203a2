"""What the commands print."""

import base64
import json
import math
import re
import unittest
import zlib

import tool


class Worked(tool.ToolTest):
    def model(self, worked):
        path = self.folder / "model.safetensors"
        path.write_bytes(tool.model_bytes(*worked))
        return path

    def test_values_may_begin_with_a_minus_and_hold_spaces(self):
        model = self.model(tool.WHOLE)
        for values in ("-2, 1", "\t-2\t, 1 "):
            self.assertEqual(self.output("run", model, "--values", values), "logits = 1\n")
        self.assertEqual(self.output("run", model, "--values=-2,1e0"), "logits = 1\n")

    def test_what_is_shown_of_networks_that_were_worked_out_by_hand(self):
        for name, worked in (("neuron", tool.NEURON), ("whole", tool.WHOLE), ("real", tool.REAL)):
            (self.folder / name).write_bytes(tool.model_bytes(*worked))
        self.shows("""
            run neuron --values 1.5,-2.0,0.8; run whole --values 2,-1; run real --values 1.5,-0.7; run real --values 1.5,-0.7 --json
            trace whole --values 2,-1 --neuron layers.0:0; trace real --values 1.5,-0.7 --neuron layers.0:1
            trace real --values 1.5,-0.7 --neuron layers.1:0 --json; trace whole --values nan,inf --json; show whole; show whole --json
            summary real; summary real --batch 2 --json; summary whole --ops --batch 4; summary whole --ops --batch 4 --json""")

    def test_gradients_agree_with_differences(self):
        model = self.model(tool.REAL)
        rows = self.document("gradcheck", model)["inputs"]
        self.assertTrue(all(row["agrees"] for row in rows), rows)
        self.assertEqual([(row["input"], row["checked"], row["shape"]) for row in rows],
                         [("layers.0.weight", 6, [3, 2]), ("layers.0.bias", 3, [3]), ("layers.1.weight", 3, [1, 3]),
                          ("layers.1.bias", 1, [1]), ("x", 2, [2])])
        self.assertEqual([row["checked"] for row in self.document("gradcheck", model, "--samples", "2")["inputs"]], [2, 2, 2, 1, 2])
        for row in rows:
            self.assertAlmostEqual(row["gradient"], row["difference"], delta=2e-5 * abs(row["gradient"]))
        self.assertEqual(self.document("gradcheck", model, "--tolerance", "0.25")["tolerance"], 0.25)
        # Each seed draws another example.
        self.assertNotEqual(self.document("gradcheck", model, "--seed", "1")["inputs"], rows)
        # ReLU's gradient at 0 is 0, its central difference 1/2.
        text = ("function f(%b: f32[3], %x: f32[3]) {\n  %0 = relu(%b) : f32[3]\n"
                "  %1 = add(%0, %x) : f32[3]\n  return %1\n}\n")
        model = self.model(([], {"b": ([3], [0, 0, 0])}, text))
        row, _ = json.loads(self.run_tool("gradcheck", model, "--json").stdout)["inputs"]
        self.assertFalse(row["agrees"])
        self.assertEqual(row["absolute_error"], abs(row["gradient"] - row["difference"]))
        run = self.run_tool("gradcheck", model)
        self.assertEqual(run.returncode, 1)
        self.says(run.stderr.decode())

    def test_show_elides_large_constants_unless_asked(self):
        numbers = ", ".join(f"{i}.0" for i in range(9))
        text = (f"function f(%x: f32[9]) {{\n  %0 = constant() {{value = f32[9] ({numbers})}} : f32[9]\n"
                "  %1 = add(%x, %0) : f32[9]\n  return %1\n}\n")
        path = self.folder / "m"
        path.write_bytes(tool.file_of(tool.header_of({}, tool.metadata_of(text)), b""))
        self.assertEqual(self.output("show", path), text.replace(f"({numbers})", "..."))
        self.assertEqual(self.output("show", "--full", path), text)


class Types(tool.ToolTest):
    """Models whose outputs are not f32 alone, or have no names."""

    def write(self, body, size, returned):
        path = self.folder / "model"
        path.write_bytes(tool.model_bytes([], {}, f"function f(%x: f32[{size}]) {{\n{body}  return {returned}\n}}\n"))
        return path

    def cast(self, size, *dtypes):
        ops = "".join(f"  %{i} = cast(%x) {{dtype = {t}}} : {t}[{size}]\n" for i, t in enumerate(dtypes))
        return self.write(ops, size, ", ".join(f"{t} = %{i}" for i, t in enumerate(dtypes)))

    def test_every_type_of_output(self):
        """By the name of an input; of an example; of more numbers than are printed."""
        dtypes = ("f32", "f64", "bf16", "f16", "i32", "i64", "i8", "u8", "bool")
        for size in (16, 17):
            self.cast(size, *dtypes)
            tool.npy(self.folder / "x.npy", [size], [0.1, *range(2, size + 1)])
            self.shows("run model --input x=x.npy; run model --input x=x.npy --json")
        self.refuses(2, "run model --input x=x.npy --out out.csv; run model --input =x.npy --out y.npy; run model --input x=")
        for dtype in dtypes[:-1]:
            self.cast(2, dtype)
            self.shows("run model --values 0.1,2; run model --values 0.1,2 --json")
        self.refuses(2, "run model --values 1,2 --out out.csv")
        self.assertFalse((self.folder / "out.csv").exists())
        self.write("  %0 = constant() {value = i64[2] (9223372036854775807, -9223372036854775808)} : i64[2]\n", 17, "y = %0")
        self.shows("run model --input x=x.npy --json")

    def test_columns_of_csv_have_the_name_of_the_output(self):
        out = self.folder / "out.csv"
        for size, name, heading in ((2, "y", "y.0,y.1"), (2, "", "output.0,output.1"), (1, "y", "y"), (1, "", "output")):
            model = self.write(f"  %0 = negate(%x) : f32[{size}]\n", size, f"{name} = %0" if name else "%0")
            self.output("run", model, "--values", "1, 0.1" if size == 2 else "1", "--out", out)
            self.assertEqual(out.read_text(), f"{heading}\n{'-1,-0.1' if size == 2 else '-1'}\n")
            self.assertEqual(self.output("run", model, "--values", "1, 0.1" if size == 2 else "1"),
                             f"{name or 'output'} = {'-1, -0.1' if size == 2 else '-1'}\n")

    def test_hashes_are_the_same_as_text(self):
        model = self.cast(2, "i32", "f64")
        x = tool.npy(self.folder / "x.npy", [2], [1, 2])
        hashes = self.document("hash", model, "--input", f"x={x}")
        self.assertEqual(self.output("hash", model, "--input", f"x={x}"),
                         "model    {model}\ndata     {data}  (1 input)\noutputs  {outputs}\n".format(**hashes))
        self.assertEqual(len(set(hashes.values())), 3)

    def test_names_that_are_not_as_many_as_the_numbers_are_left_out(self):
        """The configuration of a file may say anything."""
        model = self.folder / "model.safetensors"
        sizes, tensors = tool.REAL
        for data in ({"feature_names": ["a", "b", "c"], "target_names": ["y", "z"]}, {"feature_names": ["a"], "target_names": []}):
            config = json.dumps({"data": {"task": "regression", **data}})
            metadata = {**tool.metadata_of(tool.mlp_text(sizes)), "limpid.config": config}
            model.write_bytes(tool.file_of(tool.header_of(tensors, metadata), tool.data_of(tensors)))
            self.shows(("run", model, "--values", "1.5,-0.7"), ("trace", model, "--values", "1.5,-0.7"))
            self.refuses(2, ("run", model, "--values", "1"))

    def test_an_input_by_name_is_traced_as_its_values_are(self):
        model = self.folder / "model.safetensors"
        model.write_bytes(tool.model_bytes(*tool.REAL))
        x = tool.npy(self.folder / "x.npy", [2], [1.5, -0.7])
        for more in ((), ("--neuron", "layers.1:0")):
            traces = [("trace", model, *given, *more) for given in (("--input", f"x={x}"), ("--values", "1.5,-0.7"))]
            self.assertEqual(*(self.output(*trace) for trace in traces))
            self.assertEqual(*(self.document(*trace) for trace in traces))

    def test_gradients_are_not_checked_at_zero(self):
        """Of any type of real numbers; the gradient of x * x is 0 there."""
        for dtype in ("f32", "f64"):
            path = self.folder / "model.safetensors"
            path.write_bytes(tool.model_bytes([], {}, f"function f(%x: {dtype}[3]) {{\n  %0 = multiply(%x, %x) : {dtype}[3]\n"
                                                      "  return %0\n}\n"))
            row, = self.document("gradcheck", path)["inputs"]
            self.assertNotEqual(row["gradient"], 0, dtype)


class Training(tool.ToolTest):
    RUN = ("train", "--data", "moons,count=200,split=70/30", "--threads", "1")

    def test_a_long_run_has_few_rows_and_that_of_the_best(self):
        out = self.folder / "run"
        text = self.output(*self.RUN, "--epochs", "160", "--patience", "160", "--out", out)
        rows = re.findall(r"^ +(\d+)/160 .*?( \*)?$", text, re.MULTILINE)
        self.assertLess(len(rows), 90)
        self.assertEqual(len(set(rows)), len(rows))
        events = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
        best = [event["epoch"] for event in events if event["event"] == "epoch" and event.get("best")][-1]
        self.assertNotEqual(best % 4, 0, "a row that every run of 160 epochs has")
        self.assertIn((str(best), " *"), rows)

    def test_findings_name_their_layers(self):
        """Those that follow from another, too."""
        out = self.folder / "run"
        self.output(*self.RUN, "--hidden", "20,20", "--lr", "30", "--epochs", "10", "--out", out)
        findings = self.document("doctor", out)["findings"]
        heads = [line for line in self.output("doctor", out).splitlines()
                 if not re.match("  (symptom|cause|try) |at step ", line)]
        whats = [f["rule"] + (f" in {f['layer']}" if f["layer"] else "") for f in findings]
        self.assertEqual(heads, [
            f"  from {f['follows_from']} follows {what}: {f['symptom']}" if "follows_from" in f else f"{f['severity']}: {what}"
            for f, what in zip(findings, whats)])
        self.assertTrue(any(f["layer"] and "follows_from" in f for f in findings), heads)

    def test_a_run_says_what_it_trains_and_where_it_ends(self):
        out = self.folder / "run"
        for command in ((*self.RUN, "--hidden", "5", "--epochs", "1", "--out", out), ("train", "--resume", out, "--epochs", "3", "--threads", "2"),
                        ("train", "--data", "moons,count=200", "--threads", "1", "--epochs", "1")):
            first, second, *_, last = self.output(*command).splitlines()
            self.says(f"{first}\n{second}\n{last}")
        self.refuses(2, (*self.RUN, "--out", out))

    def test_each_task_has_its_metrics_in_the_table_of_epochs(self):
        table, text = self.folder / "table.csv", self.folder / "text"
        table.write_text("x,a,b\n" + "".join(f"{i},{i % 2},{i // 2 % 2}\n" for i in range(40)))
        text.write_text("the cat sat on the mat.\n" * 20)
        for data, *names in (("sine,count=40", "rmse", "r2"), (f"csv:{table},target=a,target=b", "accuracy", "macro_f1"),
                             (f"text:{text}", "perplexity", "bits_per_token")):
            lines = self.output("train", "--data", data, "--hidden", "4", "--epochs", "1", "--threads", "1").splitlines()
            self.assertRegex(lines[1], "^ +epoch +train loss +(test|validation) loss" + "".join(rf" +\1 {name}" for name in names) + r" +\|grad\|")

    def test_the_rows_are_the_epochs_of_the_log(self):
        out = self.folder / "run"
        text = self.output(*self.RUN, "--epochs", "3", "--out", out)
        events = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
        for epoch in (event for event in events if event["event"] == "epoch"):
            n, validation = epoch["epoch"], epoch["validation"]
            self.assertRegex(text, rf"\n +{n}/3 +{epoch['train']['loss']:.4f} +{validation['loss']:.4f} "
                                   rf"+{100 * validation['accuracy']:.2f} % +{epoch['gradient_norm']:.3f} "
                                   rf"+{epoch['samples_per_second']:.0f}( |\n)")

    def test_a_report_shows_the_most_confident_errors_first(self):
        out, data = self.folder / "run", "digits:1,count=300"
        self.output("train", "--data", data, "--layers", "784,10", "--epochs", "1", "--threads", "1", "--out", out)
        found = re.findall(r"(\d) predicted as (\d)<br><span class=\"soft\">at ([\d.]+) %, row (\d+)<", (out / "report.html").read_text())
        shown = {int(row): (int(label), int(prediction), float(share)) for label, prediction, share, row in found}
        shares = [share for _, _, share in shown.values()]
        self.assertEqual(shares, sorted(shares, reverse=True))
        wrong = {a["example"]: a for a in self.document("run", out, "--data", data, "--count", "300")["answers"]
                 if a["prediction"] != a["label"]}
        self.assertEqual(len(shown), min(24, len(wrong)))
        for row, (label, prediction, share) in shown.items():
            self.assertEqual((wrong[row]["label"], wrong[row]["prediction"]), (label, prediction))
            self.assertAlmostEqual(100 * wrong[row]["probabilities"][prediction], share, delta=0.051)
        for row in wrong.keys() - shown.keys():
            self.assertLess(100 * max(wrong[row]["probabilities"]), shares[-1] + 0.051)

    def test_a_report_has_pictures_of_square_images_alone(self):
        """Of 8 times 8 numbers from 0 to 1."""
        for columns, most, pictures in ((64, 1, True), (66, 1, False), (64, 4, False), (49, 1, False)):
            numbers = [(i * i * 7 + i // 3) % (most + 1) for i in range(40 * columns)]
            x = tool.npy(self.folder / "x.npy", [40, columns], numbers)
            y = tool.npy(self.folder / "y.npy", [40], [i % 2 for i in range(40)], "q")
            self.output("train", "--data", f"npy:{x},targets={y},split=1/0/1", "--hidden", "3", "--epochs", "1", "--threads", "1",
                        "--overwrite", "--out", self.folder / "run")
            page = (self.folder / "run/report.html").read_text()
            self.assertEqual("<br><span class=\"soft\">at " in page, pictures, (columns, most))
            # Each row of a PNG has a byte before its pixels: here, black and white ones.
            for png in map(base64.b64decode, re.findall(r"data:image/png;base64,([^\"]+)", page)):
                begin = png.index(b"IDAT") + 4
                rows = zlib.decompress(png[begin:begin + int.from_bytes(png[begin - 8:begin - 4], "big")])
                self.assertEqual({pixel for i, pixel in enumerate(rows) if i % 9}, {0, 255})
            self.assertNotIn("not on this page", page)

    def test_what_a_log_lacks_is_noted(self):
        out = self.folder / "run"
        self.output(*self.RUN, "--epochs", "1", "--out", out)
        with open(out / "log.jsonl", "a") as log:
            log.write('{"event": "ep')
        self.shows(("doctor", out), ("doctor", out, "--json"))

    def test_a_run_that_ended_within_an_epoch_goes_on(self):
        """Its last epoch, of three steps of five, was its best; the whole epoch has the numbers of a run that did not end."""
        out, whole = self.folder / "run", self.folder / "whole"
        run = (*self.RUN, "--batch", "32", "--schedule", "constant")
        self.output(*run, "--steps", "3", "--out", out)
        self.output("train", "--resume", out, "--steps", "8", "--threads", "1")
        self.output(*run, "--steps", "8", "--out", whole)
        epochs = [[{name: event[name] for name in ("epoch", "step", "train", "validation", "gradient_norm")}
                   for event in map(json.loads, (folder / "log.jsonl").read_text().splitlines()) if event["event"] == "epoch"]
                  for folder in (out, whole)]
        self.assertEqual([epoch["step"] for epoch in epochs[0]], [3, 5, 8])
        self.assertEqual(epochs[0][1:], epochs[1])
        self.assertEqual((out / "model.safetensors").read_bytes(), (whole / "model.safetensors").read_bytes())

    def test_a_report_says_what_is_missing(self):
        out, table = self.folder / "run", self.folder / "table.csv"
        table.write_text("x,kind\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(40)))
        self.output("train", "--data", f"csv:{table},target=kind", "--epochs", "1", "--threads", "1", "--out", out)
        self.assertNotIn("not on this page", (out / "report.html").read_text())
        table.unlink()
        self.shows(("report", out), ("report", out, "--json"))
        self.assertIn("not on this page: ", (out / "report.html").read_text())


class Quantize(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.safetensors"
        self.model.write_bytes(tool.model_bytes(*tool.template_classifier(4, 2)))
        self.small = self.folder / "small.safetensors"

    def quantize(self, to, *more):
        return self.document("quantize", self.model, "--to", to, "--out", self.small,
                             "--threads", "1", *more)

    def test_a_model_of_two_inputs(self):
        text = ("function m(%w: f32[4, 3], %b: f32[4], %x: f32[3], %y: f32[3]) {\n  %0 = add(%x, %y) : f32[3]\n"
                "  %1 = linear(%0, %w, %b) : f32[4]\n  return z = %1\n}\n")
        tensors = {"w": ([4, 3], [1.0] * 12), "b": ([4], [1.0] * 4)}
        metadata = {**tool.metadata_of(text), "limpid.inputs": "2"}
        self.model.write_bytes(tool.file_of(tool.header_of(tensors, metadata), tool.data_of(tensors)))
        self.assertEqual(list(self.quantize("bf16")["after"]["microseconds"]), ["1", "256"])

    def logits(self, model):
        return self.document("run", model, "--values", "1,0.5,-1,0.25")["logits"]

    def test_sizes_times_and_the_file(self):
        for to in ("bf16", "int8"):
            result = self.quantize(to)
            for side in ("before", "after"):
                self.assertTrue(all(t > 0 for t in result[side].pop("microseconds").values()))
            self.says(json.dumps(result))
            self.shows(*(("summary", self.small, *more) for more in ((), ("--json",))))
            # Weights that are multiples of 1/64 are exact in bf16.
            for before, after in zip(self.logits(self.model), self.logits(self.small)):
                self.assertAlmostEqual(before, after, places=7 if to == "bf16" else 2)

    def test_scores_before_and_after(self):
        data = self.folder / "tiny"
        tool.write_idx_folder(data, test_labels=[1, 0, 1, 1, 0])
        result = self.quantize("int8", "--data", f"idx:{data}")
        for side, model in (("before", self.model), ("after", self.small)):
            scores = self.document("eval", model, "--data", f"idx:{data}")
            for metric in ("loss", "accuracy"):
                self.assertEqual(result[side][metric], scores[metric])

    def test_text(self):
        data = self.folder / "tiny"
        tool.write_idx_folder(data, test_labels=[1, 0, 1, 1, 0])
        text = self.output("quantize", self.model, "--to", "int8", "--threads", "1", "--data", f"idx:{data}", "--out", self.small)
        self.says(re.sub(r"(?m)^.*microseconds.*$", "times", text))
        self.says(re.sub(r"(?m)^.*microseconds.*$", "times", self.output("quantize", self.model, "--to", "int8", "--threads", "1", "--exclude", "layers.0.weight")))


class Emit(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.safetensors"
        self.model.write_bytes(tool.model_bytes(*tool.REAL))

    def test_header_has_the_name_of_its_file_or_the_one_given(self):
        for name, more in (("net", ()), ("control", ("--namespace", "control"))):
            said = self.output("emit", self.model, "--cpp", self.folder / "net.h", *more)
            text = (self.folder / "net.h").read_text()
            self.assertEqual(said, f"{self.folder}/net.h: {name}::run(), {len(text)} bytes of C++17\n")
            self.assertIn(f"namespace {name} {{", text)
            self.assertIn("inline void run(const float* x, float* logits) noexcept {", text)

    def test_what_cannot_be_written_leaves_the_file_alone(self):
        header = self.folder / "2net.h"
        header.write_text("mine")
        self.refuses(2, "emit model.safetensors --cpp 2net.h")
        self.refuses(1, "emit none.safetensors --cpp 2net.h; emit model.safetensors --cpp none/net.h")
        self.assertEqual(header.read_text(), "mine")


class Classifier(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.safetensors"
        self.model.write_bytes(tool.model_bytes(*tool.template_classifier(4, 2)))
        self.data = self.folder / "tiny"
        tool.write_idx_folder(self.data, test_labels=[1, 0, 1, 1, 0])

    def test_run_on_data(self):
        answers = self.document("run", self.model, "--data", f"idx:{self.data}", "--index", "1",
                                "--count", "3")["answers"]
        self.assertEqual([a["example"] for a in answers], [1, 2, 3])
        self.assertEqual([a["label"] for a in answers], [0, 1, 1])
        for answer in answers:
            self.assertAlmostEqual(sum(answer["probabilities"]), 1, places=6)
            self.assertEqual(answer["prediction"],
                             answer["logits"].index(max(answer["logits"])))

    def test_a_file_has_all_rows(self):
        """Also of generated data, which is drawn only as far as it is asked for."""
        self.model.write_bytes(tool.model_bytes(*tool.template_classifier()))
        out = self.folder / "out.npy"
        self.assertEqual(self.output("run", self.model, "--data", "digits,count=30", "--out", out), f"wrote f32[30, 10] to {out}\n")

    def test_eval_agrees_with_run(self):
        answers = self.document("run", self.model, "--data", f"idx:{self.data}",
                                "--count", "5")["answers"]
        losses = [-math.log(a["probabilities"][a["label"]]) for a in answers]
        result = self.document("eval", self.model, "--data", f"idx:{self.data}")
        self.assertEqual((result["data"], result["examples"]), ("tiny", 5))
        self.assertEqual(result["accuracy"],
                         sum(a["prediction"] == a["label"] for a in answers) / 5)
        self.assertAlmostEqual(result["loss"], sum(losses) / 5, places=6)

    def test_scores_by_class_are_those_of_the_confusion_matrix(self):
        self.model.write_bytes(tool.model_bytes(*tool.template_classifier(4, 3)))
        tool.write_idx_folder(self.data, [0, 1, 2], [(i * i + i // 7) % 3 for i in range(40)])
        document = self.document("eval", self.model, "--data", f"idx:{self.data}")
        confusion = document["confusion"]
        self.assertNotEqual(confusion, [list(column) for column in zip(*confusion)], "on its side it is another")
        scores, matrix = self.output("eval", self.model, "--data", f"idx:{self.data}").split("label \\ prediction")
        for c, of_class in enumerate(document["per_class"]):
            labels, predictions = sum(confusion[c]), sum(row[c] for row in confusion)
            precision, recall = (confusion[c][c] / n if n else 0 for n in (predictions, labels))
            self.assertAlmostEqual(of_class["precision"], precision)
            self.assertAlmostEqual(of_class["recall"], recall)
            f1 = of_class["f1"]
            self.assertRegex(scores, rf"\n{c} +{100 * precision:.2f} % +{100 * recall:.2f} % +{100 * f1:.2f} % +{labels}\n")
            self.assertRegex(matrix, rf"\n{c} +" + " +".join(str(n) if n else r"\." for n in confusion[c]) + "\n")

    def test_threads_change_nothing(self):
        self.model.write_bytes(tool.model_bytes(*tool.template_classifier()))
        first = self.output("eval", self.model, "--data", "digits", "--threads", "1", "--json")
        for threads in (2, 3):
            self.assertEqual(first, self.output("eval", self.model, "--data", "digits",
                                                "--threads", threads, "--json"))

    def test_trace_shows_the_digit(self):
        self.model.write_bytes(tool.model_bytes(*tool.template_classifier()))
        text = self.output("trace", self.model, "--data", "digits", "--index", "1", "--neuron",
                           "layers.0:9")
        self.assertIn("\u2588", text)
        self.assertIn("example 1: label ", text)
        self.assertIn("and 776 more", text)


if __name__ == "__main__":
    unittest.main()
