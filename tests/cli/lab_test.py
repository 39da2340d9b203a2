"""The experiments of the lab: what they print and the pages they write."""

import html
import html.parser
import unittest

import tool

EXPERIMENTS = ("perceptron", "init", "activations", "collapse", "approximation")


def row(text, begin):
    """The cells of the one line that begins like this."""
    [line] = [line for line in text.splitlines() if line.startswith(begin + "  ")]
    return line[len(begin):].split()


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.links = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("href", "src")]


class Lab(tool.ToolTest):
    def test_perceptron(self):
        text = self.output("lab", "perceptron")
        self.assertEqual(row(text, "AND"), ["1", "3", "3", "2", "1", "0", "learnt", "in", "6"])
        self.assertEqual(row(text, "target"), ["1", "2", "3", "4", "5", "6", "7", "8"])
        self.assertEqual(row(text, "XOR"), ["2", "3", "4", "4", "4", "4", "4", "4", "not", "learnt", "in", "100"])
        self.assertEqual(row(text, "NAND"), ["2", "3", "3", "2", "1", "0", "learnt", "in", "6"])
        document = self.document("lab", "perceptron")
        self.assertEqual([cell for cell in document["rows"][0][1:] if cell][:2], ["1", "3"])
        self.assertEqual(document["charts"][0]["series"][0]["y"][:3], [1, 3, 3])
        self.assertTrue(text.startswith(document["about"] + "\n\ntarget "), text)
        self.assertIn("XOR: Never learnt", " ".join(document["notes"]))
        epochs = self.document("perceptron", "--target", "AND")["epochs"]
        self.assertEqual([epoch["mistakes"] for epoch in epochs], [1, 3, 3, 2, 1, 0])
        self.assertEqual([(epoch["weight"], epoch["bias"]) for epoch in epochs[-2:]], [([2, 1], -2), ([2, 1], -2)])
        self.assertIn("XOR: Never learnt: the weights after epoch 3 equal those after epoch 2, so the epochs repeat", text)
        self.assertIn("OR: Not learnt in 2 epochs", self.output("lab", "perceptron", "--epochs", "2"))

    def test_small_weights_vanish_large_ones_explode_hes_stay(self):
        text = self.output("lab", "init", "--layers", "30", "--width", "64")
        self.assertIn("rows through 30 layers of 64 units without biases", " ".join(text.split()))
        self.assertLess(float(row(text, "ReLU, normal, std 0.01")[-1]), 1e-20)
        self.assertGreater(float(row(text, "ReLU, normal, std 1")[-1]), 1e20)
        self.assertTrue(0.1 < float(row(text, "ReLU, He normal")[-1]) < 10)
        # What a layer adds to its input stays in all that follow.
        self.assertGreater(float(row(text, "x + W relu(x), He normal")[-1]), 1e3)
        self.assertTrue(1 < float(row(text, "x + W relu(x), He's std / sqrt(2 layers)")[-1]) < 10)
        other = self.output("lab", "init", "--layers", "30", "--width", "64", "--seed", "1")
        self.assertNotEqual(other, text)
        self.assertEqual(row(self.output("lab", "init", "--layers", "90", "--width", "32"), "ReLU, normal, std 1")[-1], "over")
        # Each layer is a point, and the table has some of them.
        document = self.document("lab", "init", "--layers", "7", "--width", "32")
        self.assertEqual(document["columns"], ["layer", "1", "2", "4", "5", "7"])
        points = {f"{chart['title']}, {series['name']}": series for chart in document["charts"] for series in chart["series"]}
        for name, *cells in document["rows"]:
            self.assertEqual(points[name]["x"], [*range(1, 8)])
            self.assertEqual([f"{points[name]['y'][int(column) - 1]:.2g}" for column in document["columns"][1:]], cells, name)

    def test_activations_are_as_steep_as_they_are_said_to_be(self):
        text = self.output("lab", "activations")
        self.assertEqual(row(text, "sigmoid")[:4], ["0", "1", "0.25", "0.25"])
        self.assertEqual(row(text, "tanh")[:4], ["-1", "1", "1", "1"])
        self.assertEqual(row(text, "relu")[:3], ["0", "1", "1"])
        below, above = map(float, row(text, "tanh")[4:6])
        self.assertLess(below, -1)
        self.assertGreater(above, 1)

    def test_a_page_to_standard_output_is_all_that_is_printed(self):
        page = self.folder / "page.html"
        self.output("lab", "activations", "--html", page)
        self.assertEqual(self.output("lab", "activations", "--html", "/dev/stdout"), page.read_text())
        self.assertIn("--json: standard output is used for the page",
                      self.error(2, "lab", "activations", "--html", "/dev/stdout", "--json"))

    def test_linear_layers_fold_and_a_relu_between_them_keeps_them_apart(self):
        sizes = ("--in", "4", "--hidden", "8", "--out", "2")
        text = self.output("lab", "collapse", *sizes)
        # 4 * 8 + 8 + 8 * 2 + 2 parameters become 4 * 2 + 2.
        self.assertEqual(row(text, "linear, linear")[:6], ["2", "->", "1", "58", "->", "10"])
        # For 101 examples: a product and a sum for each weight, and a sum for each bias.
        self.assertEqual(row(text, "linear, linear")[6:9], [f"{101 * 106:,}", "->", f"{101 * 18:,}"])
        change = float(row(text, "linear, linear")[-1])
        self.assertGreater(change, 0)  # by rounding
        self.assertLess(change, 1e-4)
        self.assertEqual(row(text, "linear, relu, linear")[:6], ["3", "->", "3", "58", "->", "58"])
        self.assertEqual(row(text, "linear, relu, linear")[-1], "0")
        self.assertIn("linear, relu, linear: nothing folds\n", text)
        self.assertNotEqual(self.output("lab", "collapse", *sizes, "--seed", "7"), text)
        document = self.document("lab", "collapse", *sizes)
        for cells, chart in zip(document["rows"], document["charts"], strict=True):
            first = max(map(abs, chart["series"][0]["y"]))  # of both outputs
            self.assertGreaterEqual(1.05 * float(cells[4]), first, cells[0])
            self.assertEqual([chart["series"][0]["x"][i] for i in (0, 50, 100)], [-3, 0, 3])

    def test_one_hidden_layer(self):
        # A seed gives these numbers on every machine.
        rows = [[cell.strip() for cell in line] for line in self.document("lab", "approximation")["rows"]]
        self.assertEqual(rows, [
            ["XOR", "1 tanh", "500", "0.48", "0.67"], ["XOR", "4 tanh", "500", "0.00068", "0.00075"],
            ["abs(x) on [-1, 1]", "1 relu", "2000", "0.058", "0.58"], ["abs(x) on [-1, 1]", "4 relu", "2000", "1.1e-07", "0.0034"],
            ["sin(x) on [-2 pi, 2 pi]", "2 tanh", "4000", "0.28", "1"],
            ["sin(x) on [-2 pi, 2 pi]", "32 tanh", "4000", "1.5e-06", "0.0031"]])
        charts = self.document("lab", "approximation")["charts"]
        self.assertEqual([(chart["title"], [series["name"] for series in chart["series"]]) for chart in charts], [
            ("abs(x) on [-1, 1]", ["target", "1 relu", "4 relu"]), ("sin(x) on [-2 pi, 2 pi]", ["target", "2 tanh", "32 tanh"])])
        for chart in charts:
            for series in chart["series"]:
                self.assertEqual((len(series["x"]), len(series["y"])), (101, 101), series["name"])
                self.assertEqual(series["x"][0], -series["x"][-1], series["name"])
        text = self.output("lab", "approximation", "--units", "4")
        self.assertLess(float(row(text, "abs(x) on [-1, 1]")[-1]), 0.02)
        self.assertLess(float(row(text, "XOR")[-1]), 0.02)
        self.assertGreater(float(row(text, "sin(x) on [-2 pi, 2 pi]")[-1]), 0.02)

    def test_pages_stand_alone(self):
        path = self.folder / "page.html"
        for experiment in EXPERIMENTS:
            less = ["--width", "32"] if experiment == "init" else []  # it takes minutes in a sanitized tool
            text = self.output("lab", experiment, *less, "--html", path)
            self.assertEqual(text.splitlines()[-1], f"saved {path}")
            page = Page(path.read_text())
            self.assertIn("svg", page.tags, experiment)
            self.assertIn("table", page.tags, experiment)
            self.assertNotIn("script", page.tags, experiment)
            self.assertEqual(page.links, ["data:,"], experiment)
            self.assertNotIn("No values to show", path.read_text(), experiment)
            path.unlink()
        notes = self.document("lab", "perceptron", "--html", path)["notes"]
        self.assertIn("svg", Page(path.read_text()).tags)
        self.assertTrue(notes)
        for note in notes:
            self.assertIn(f"<p>{html.escape(note)}</p>", path.read_text())
        self.error(1, "lab", "perceptron", "--html", self.folder / "none" / "page.html")

    def test_what_there_is_not(self):
        self.assertEqual(self.error(2, "lab", "fly"), "there is no command 'fly'; there are: "
                         + " ".join(EXPERIMENTS))
        self.error(2, "lab")
        for wrong in (("init", "--layers", "0"), ("init", "--width", "x"),
                      ("activations", "--seed", "1"), ("collapse", "--hidden", "1025"),
                      ("approximation", "--units", "0"), ("perceptron", "--epochs", "0")):
            self.error(2, "lab", *wrong)


if __name__ == "__main__":
    unittest.main()
